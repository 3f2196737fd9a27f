"""Studies: where the data are, what the columns mean, which policies and which sets."""

from __future__ import annotations

import json
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np
import numpy.typing as npt

from seawall import _given, _native
from seawall.learned import Learned, Policy
from seawall.results import Check, Evaluation, Radius

Progress = Callable[[str], object]
# A child process has none of its parent's threads.
os.register_at_fork(after_in_child=_native.after_fork)

PathText = Union[str, "os.PathLike[str]"]
PolicyLike = Union[str, "os.PathLike[str]", Policy]


class SeawallWarning(UserWarning):
    """What a reader should know before trusting a number."""


@runtime_checkable
class ArrowStream(Protocol):
    """Any table that speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def _value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_value(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise _native.ConfigError(f"{value!r} ({type(value).__name__}) cannot be part of a study")


def _section(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_value(str(k))} = {_value(v)}" for k, v in values.items() if v is not None]
    return f"[{name}]\n" + "\n".join(lines) + "\n"


def _policy_section(policy: PolicyLike) -> str:
    text = policy.json if isinstance(policy, Policy) else os.fspath(policy)
    if text.startswith("constant:"):
        values = {"kind": "constant", "action": text.removeprefix("constant:")}
    elif text in ("uniform", "behaviour", "greedy"):
        values = {"kind": text}
    else:
        values = {"kind": "file", "path": os.path.abspath(text)}
    return f"[[policy]]\n" + "\n".join(f"{k} = {_value(v)}" for k, v in values.items()) + "\n"


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Policy)) or not isinstance(value, (Sequence, np.ndarray)):
        return [value]
    return list(value)


def _policies(value: Any) -> list[str]:
    texts = []
    for policy in _listed(value):
        if isinstance(policy, Policy):
            texts.append(policy.json)
        elif isinstance(policy, (str, os.PathLike)):
            texts.append(os.fspath(policy))
        else:
            raise _native.ConfigError(
                f"policy {policy!r}: expected uniform, behaviour, greedy, constant:ACTION, a file or "
                "a seawall.Policy"
            )
    return texts


def _data_name(data: object) -> str:
    module = type(data).__module__.split(".")[0]
    return f"the {module} {type(data).__name__}"


def _stream(data: Any, wanted: set[str]) -> object:
    """An Arrow stream of a table, its columns ready to be told apart."""
    if not hasattr(data, "__arrow_c_stream__"):
        raise _native.InputError(
            f"data is {_data_name(data)}; expected a path, or a table that speaks the Arrow PyCapsule "
            "interface: a pandas (2.2 or later), polars or pyarrow table, or a duckdb relation"
        )
    try:
        if type(data).__module__.split(".")[0] == "polars" and hasattr(data, "select"):
            # What is not asked for need not cross, whatever it holds.
            data = data.select([c for c in data.columns if c in wanted])
        return data if not _is_pandas(data) else _ArrowOnce(data.__arrow_c_stream__())
    except Exception as error:  # whatever the library calls it, it is the data
        raise _native.InputError(f"{_data_name(data)}: {error}") from None


def _named(*parts: Any) -> set[str]:
    """Every name that parts of a study mention: keys and texts."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, str):
            names.add(part)
        elif isinstance(part, Mapping):
            names |= {str(k) for k in part} | _named(*part.values())
    return names


class _ArrowOnce:
    """A stream that was made already, so that a library's own errors can be told."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


def _is_pandas(data: object) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"


class Study:
    """A study: a table of logged decisions, what its columns mean, and what is asked of it.

    >>> import seawall
    >>> study = seawall.Study(
    ...     seawall.demo_data(),
    ...     context={"age": {"kind": "numeric", "bin": 10}, "sex": "nominal"},
    ...     action="arm",
    ...     cost={"dead": {"Y": 3}, "ischaemic": 1},
    ...     propensity={"design": {"treat": 0.5, "control": 0.5}},
    ...     radius=[0.01, 0.05],
    ... )
    >>> study.check().rows
    6000.0
    >>> study.evaluate(policy="constant:treat").policies[0].results[0].status
    'optimal'

    Parameters
    ----------
    data
        A path (CSV, Parquet, JSON lines, compressed or not; a pattern or a folder), or any table that
        speaks the Arrow PyCapsule interface: pandas, polars, pyarrow, duckdb.
    context
        What may differ in another population: for each column its kind (`"numeric"`, `"ordinal"`,
        `"nominal"`, `"fixed"`), or a dictionary as in a study file: `{"kind": "numeric", "bin": 10}`.
    action
        The column of actions, or for each action the conditions that a row must meet.
    cost, reward
        The outcome, lower or higher being better: a column, or a sum over columns.
    propensity
        The column of logged propensities, `"cells"`, `"logistic"`, or `{"design": {...}}`.
    model
        `"tree"`, `"cells"`, or a dictionary as in a study file.
    policy
        The policies to evaluate: `"uniform"`, `"behaviour"`, `"greedy"`, `"constant:ACTION"`, a file.
    radius, set, eta, cost_radius, cost_set, support
        The sets of populations.
    where, weight
        Conditions that rows must meet, and a column of weights.
    """

    def __init__(
        self,
        data: object,
        *,
        context: Mapping[str, Any],
        action: str | Mapping[str, Any],
        cost: str | Mapping[str, Any] | None = None,
        reward: str | Mapping[str, Any] | None = None,
        propensity: str | Mapping[str, Any] | None = None,
        model: str | Mapping[str, Any] | None = None,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        radius: float | Sequence[float] | None = None,
        set: str = "wasserstein",
        eta: float | None = None,
        cost_radius: float | Sequence[float] | None = None,
        cost_set: str = "wasserstein",
        support: str | None = None,
        where: Mapping[str, Any] | None = None,
        weight: str | None = None,
        title: str | None = None,
        outcome: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        is_path = isinstance(data, (str, os.PathLike))
        if not isinstance(context, Mapping):
            raise _native.ConfigError(
                f"context is {context!r}; expected a kind for each column, for example "
                '{"age": "numeric", "sex": "nominal"}'
            )
        for column, kind in context.items():
            if not isinstance(kind, (str, Mapping)):
                raise _native.ConfigError(
                    f"context {column!r} is {kind!r}; expected a kind, or a dictionary with one"
                )
        given = {"model": model, "propensity": propensity, "cost": cost, "reward": reward, "where": where}
        for argument, value in [("action", action), *((k, v) for k, v in given.items() if v is not None)]:
            if not isinstance(value, (str, Mapping)):
                raise _native.ConfigError(f"{argument} is {value!r}; expected a text or a dictionary")
        if eta is not None and "entropic" not in (set, cost_set):
            raise _native.ConfigError("eta belongs to an entropic set: set=\"entropic\"")
        path = os.path.abspath(os.fspath(data)) if isinstance(data, (str, os.PathLike)) else "data"
        columns = {k: {"kind": v} if isinstance(v, str) else v for k, v in context.items()}
        estimate = propensity in ("cells", "logistic")
        logged = propensity if isinstance(propensity, str) and not estimate else None
        if logged is not None and not isinstance(action, str):
            raise _native.ConfigError("a column of propensities needs a column of actions")
        actions = {"column": action, "propensity": logged} if isinstance(action, str) else action
        parts = [
            _section("data", {"path": path, "where": where, "weight": weight}),
            _section("context", columns),
            _section("action", actions),
            _section("outcome", {"cost": cost, "reward": reward}),
        ]
        if model is not None:
            parts.append(_section("model", {"kind": model} if isinstance(model, str) else model))
        if estimate:
            parts.append(_section("propensity", {"estimate": propensity}))
        elif isinstance(propensity, Mapping):
            parts.append(_section("propensity", propensity))
        self._policies = _policies(policy)
        parts += [_policy_section(p) for p in _listed(policy) if not isinstance(p, Policy)]

        def ball(name: str, radius: Any) -> dict[str, Any]:
            shape: dict[str, Any] = {"set": name, "radius": 0 if radius is None else radius}
            return shape | {"eta": eta} if name == "entropic" and eta is not None else shape

        if isinstance(radius, np.ndarray):
            radius = _given.reals("radius", radius)
        robust: dict[str, Any] = {"context": ball(set, radius), "cost": ball(cost_set, cost_radius)}
        parts.append(_section("robust", robust | {"support": support}))
        if title or outcome:
            parts.append(_section("report", {"title": title, "outcome": outcome}))
        text = "\n".join(parts)
        needed = _named(columns, actions, cost, reward, where, weight)
        stream = None if is_path else _stream(data, needed)
        name = path if is_path else _data_name(data)
        workers, told = _given.threads(threads), _given.progress(progress)
        try:
            self._native = _native.Study.from_text(text, os.getcwd(), stream, name, workers, told)
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{name}: {error}") from None

    @classmethod
    def _of(cls, native: _native.Study) -> Study:
        study = cls.__new__(cls)
        study._native, study._policies = native, []
        return study

    @classmethod
    def from_file(
        cls, path: PathText, *, threads: int | None = None, progress: Progress | None = None
    ) -> Study:
        """A study file (TOML) and its data."""
        return cls._of(
            _native.Study.from_file(path, _given.threads(threads), _given.progress(progress))
        )

    @property
    def text(self) -> str:
        """The study file that says the same."""
        return self._native.text()

    @property
    def direction(self) -> str:
        """Whether lower or higher is better."""
        return self._native.direction()

    @property
    def actions(self) -> list[str]:
        """The actions."""
        return self._native.actions()

    def contexts(self) -> dict[str, Any]:
        """Every context of the space, column by column: arrays of numbers, or lists of levels."""
        return self._native.contexts()

    def outcomes(self) -> npt.NDArray[np.float64]:
        """What the outcome model says of each action (a column) in each context (a row, as in
        `contexts()`)."""
        return self._native.outcomes()

    def with_outcomes(self, values: Any) -> Study:
        """The same study with predicted outcomes of your own: a row for each of `contexts()`, a column
        for each of `actions`, in that order, or by name in a frame."""
        if hasattr(values, "columns"):
            names = [str(c) for c in values.columns]
            if sorted(names) != sorted(self.actions):
                raise _native.InputError(
                    f"predicted outcomes have the columns {names}; expected the actions {self.actions}"
                )
            values = np.column_stack([np.asarray(values[a]) for a in self.actions])
        return self._of(self._native.with_outcomes(_given.array("predicted outcomes", values, 2)))

    def check(self) -> Check:
        """Everything about the data, nothing robust."""
        return Check._of(self._native.check())

    def evaluate(
        self,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        radius: float | Sequence[float] | None = None,
        set: str | None = None,
        eta: float | None = None,
        cost_radius: float | Sequence[float] | None = None,
        cost_set: str | None = None,
        support: str | None = None,
        curve: bool = False,
        compare: bool = True,
        bootstrap: int | None = None,
        level: float = 0.95,
        bayesian: bool = False,
        seed: int = 1,
        bounds: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """What policies would have cost, nominally and in the worst case. What is not said is as in
        the study. With `compare=False` the policies are not compared with each other, which takes the
        whole curve of each."""
        if bayesian and bootstrap is None:
            raise _native.ConfigError("bayesian is about a bootstrap: say how many replicates")
        found = self._native.evaluate(
            policy=_policies(policy) or self._policies,
            radius=_given.reals("radius", radius),
            set=set,
            eta=None if eta is None else _given.real("eta", eta),
            cost_radius=_given.reals("cost_radius", cost_radius),
            cost_set=cost_set,
            support=support,
            curve=curve,
            compare=compare,
            bootstrap=None if bootstrap is None else _given.count("bootstrap", bootstrap),
            level=_given.real("level", level),
            bayesian=bayesian,
            seed=_given.count("seed", seed),
            bounds=None if bounds is None else _given.real("bounds", bounds),
            threads=_given.threads(threads),
            progress=_given.progress(progress),
        )
        result = Evaluation._of(found)
        for note in result.diagnostics.notes:
            warnings.warn(note, SeawallWarning, stacklevel=2)
        return result

    def learn(
        self,
        policy: str,
        *,
        method: str = "auto",
        radius: float | None = None,
        set: str | None = None,
        eta: float | None = None,
        cost_radius: float | None = None,
        cost_set: str | None = None,
        support: str | None = None,
        honest: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Learned:
        """Learns a policy whose worst case is as good as it can be: `"greedy"`, `"groups:COL"`,
        `"tree:DEPTH"` or `"softmax"`."""
        return Learned._of(
            self._native.learn(
                policy,
                method=method,
                radius=None if radius is None else _given.real("radius", radius),
                set=set,
                eta=None if eta is None else _given.real("eta", eta),
                cost_radius=None if cost_radius is None else _given.real("cost_radius", cost_radius),
                cost_set=cost_set,
                support=support,
                honest=honest,
                seed=_given.count("seed", seed),
                threads=_given.threads(threads),
                progress=_given.progress(progress),
            )
        )

    def radius(
        self,
        *,
        target: PathText | None = None,
        splits: int = 20,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Radius:
        """Radii that the data suggest; `target` is a file with a sample of the other population."""
        found = self._native.radius(
            target,
            _given.count("splits", splits),
            _given.count("seed", seed),
            _given.threads(threads),
            _given.progress(progress),
        )
        return Radius._of(found)

    def report(
        self,
        path: PathText,
        *,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        learn: str | Sequence[str] | None = "tree:1",
        target: PathText | None = None,
        bootstrap: int | None = 200,
        level: float = 0.95,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Writes the HTML report."""
        self._native.report(
            path,
            _policies(policy) or self._policies,
            [str(kind) for kind in _listed(learn)],
            target,
            None if bootstrap is None else _given.count("bootstrap", bootstrap) or None,
            _given.real("level", level),
            _given.count("seed", seed),
            _given.threads(threads),
            _given.progress(progress),
        )

    def __repr__(self) -> str:
        check = self.check()
        features = ", ".join(f"{f.name} ({f.kind})" for f in check.features)
        return (
            f"Study of {check.rows:g} rows ({self.direction})\n"
            f"context: {features}\nactions: {', '.join(self.actions)}"
        )


def demo_data() -> _native.Table:
    """The synthetic trial that the package carries, as an Arrow table of text."""
    data, _ = _native.demo()
    lines = data.splitlines()
    rows = [line.split(",") for line in lines[1:]]
    return _native.frame({name: [row[k] for row in rows] for k, name in enumerate(lines[0].split(","))})


def demo() -> Study:
    """The synthetic trial that the package carries, as a study.

    >>> import seawall
    >>> seawall.demo().actions
    ['treat', 'control']
    """
    data, text = _native.demo()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "trial.csv"), "w", encoding="utf-8") as file:
            file.write(data)
        return Study._of(_native.Study.from_text(text, folder))

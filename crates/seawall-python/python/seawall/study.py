"""Studies: where the data are, what the columns mean, which policies and which sets."""

from __future__ import annotations

import builtins
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from seawall import _engines, _given, _models, _native
from seawall._elsewhere import (
    Known,
    Progress,
    SeawallWarning,
    Target,
    _Elsewhere,
    _read_twice,
    _Rows,
)
from seawall._tables import _data_name, _stream
from seawall._written import (
    PathText,
    PolicyLike,
    _aside,
    _history_section,
    _listed,
    _named,
    _policies,
    _policy_section,
    _robust_section,
    _section,
    _target_section,
    _whole,
)
from seawall.learned import Learned, Policy
from seawall.results import Check, Evaluation, Radius, SampleDistance

if TYPE_CHECKING:
    from seawall.explanations import Explanation

# For all columns together, or for each of some columns.
Radii = Union[float, Sequence[float], Mapping[str, float]]

# A child process has none of its parent's threads.
os.register_at_fork(after_in_child=_native.after_fork)


class Study(_Elsewhere):
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
        A path (CSV, Parquet, JSON lines, compressed or not; a pattern or a folder), a pandas frame (with or
        without pyarrow installed), or any table that speaks the Arrow PyCapsule interface: polars, pyarrow.
        A table that lives in an engine is
        counted there, and only the counts are brought here: an Ibis table (Spark, BigQuery, Snowflake,
        Trino, DuckDB, PostgreSQL, …), a PySpark DataFrame, a DuckDB relation, a polars LazyFrame.
    context
        What may differ in another population: for each column its kind (`"numeric"`, `"ordinal"`,
        `"nominal"`, `"fixed"`), or a dictionary as in a study file: `{"kind": "numeric", "bin": 10}`.
    action
        The column of actions, or for each action the conditions that a row must meet.
    cost, reward
        The outcome, lower or higher being better: a column, or a sum over columns.
    missing_outcome
        What a row without a value there means: `"drop"` leaves it out, 0 counts it as 0, and a dictionary says
        either by column, `{"dead": 0}`. Where nothing is said it is an error.
    propensity
        The column of logged propensities, `"cells"`, `"logistic"`, or `{"design": {...}}`.
    model
        `"auto"`, `"tree"`, `"additive"`, `"forest"`, `"boosted"`, `"cells"`, a dictionary as in a study
        file (`{"kind": "forest", "trees": 200}`; predictions of the rows, a column per action: `{"kind":
        "column", "predictions": {"treat": "m1", "control": "m0"}}`), or an estimator with `fit` and
        `predict`, or one for each action: see `with_model`.
    policy
        The policies to evaluate: `"uniform"`, `"behaviour"`, `"greedy"`, `"constant:ACTION"`, a file.
    radius, set, eta, cost_radius, cost_set, support
        The sets of populations. `"couplings"` is every population that meets what is known of the target:
        without a radius, within one, or within one for each of some columns, `radius={"age": 0.01}`.
    where, weight
        Conditions that rows must meet, and a column of counts: how many rows a row stands for. Counts
        that are no whole numbers are said to be: `{"column": "n", "fractional": True}`.
    survey_weight
        In place of `weight`, a column of a survey's weights: a row stands for so many people and is
        still one row, so that uneven weights make the errors larger, not smaller.
    cluster
        A column of clusters (hospitals, sessions, a user's visits), within which rows are alike: folds,
        halves and resampled logs take them whole, and standard errors are between them. It is no
        context.
    target
        What is said of a target, as in a study file: a path or a table, or a dictionary with `path` (either),
        `where`, `weight` and `beyond` (`"extend"` or `"error"`), each of which may be left out; without a
        sample, with `known` (as for `transfer`) and `size`. A table is kept.
    history
        What past groups are: the column that names them, several, or a dictionary as in a study file with
        `by`, `path` (or a table), `least`, `order`, `each`, `half_life` and `at_once`. It is no context.
        Groups are counted when `transfer` or `backtest` asks, so a table is kept, and an engine asked again.
    memory
        What counting the rows and a grid of the contexts may take, `"2GB"` or `"500MB"`; 4 GB if not said.
        Counts beyond it go to temporary files; a grid that does not fit is made of the contexts seen.
    """

    def __init__(
        self,
        data: object,
        *,
        context: Mapping[str, Any],
        action: str | Mapping[str, Any],
        cost: str | Mapping[str, Any] | None = None,
        reward: str | Mapping[str, Any] | None = None,
        missing_outcome: str | float | Mapping[str, Any] | None = None,
        propensity: str | Mapping[str, Any] | None = None,
        model: Any = None,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        radius: Radii | None = None,
        set: str = "wasserstein",
        eta: float | None = None,
        cost_radius: float | Sequence[float] | None = None,
        cost_set: str = "wasserstein",
        support: str | None = None,
        where: Mapping[str, Any] | None = None,
        weight: str | Mapping[str, Any] | None = None,
        survey_weight: str | None = None,
        cluster: str | None = None,
        target: Target | Mapping[str, Any] | None = None,
        history: str | Sequence[str] | Mapping[str, Any] | None = None,
        title: str | None = None,
        outcome: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        memory: str | None = None,
    ) -> None:
        is_path = isinstance(data, (str, os.PathLike))
        _given.kinds("context", context)
        model_given, learner = model, _models.estimators(model)
        model = None if learner else model
        given = {
            "model": model, "propensity": propensity, "cost": cost, "reward": reward, "where": where,
            "weight": weight,
        }
        for argument, value in [("action", action), *((k, v) for k, v in given.items() if v is not None)]:
            if not isinstance(value, (str, Mapping)):
                more = ", or an object with fit and predict" if argument == "model" else ""
                raise _native.ConfigError(f"{argument} is {value!r}; expected a text or a dictionary{more}")
        columns_named = {
            "survey_weight": _given.column("survey_weight", survey_weight),
            "cluster": _given.column("cluster", cluster),
        }
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
            _section("data", {"path": path, "where": where, "weight": weight} | columns_named),
            _section("context", columns),
            _section("action", actions),
            _section("outcome", {"cost": cost, "reward": reward, "missing": missing_outcome}),
        ]
        if model is not None:
            parts.append(_section("model", {"kind": model} if isinstance(model, str) else model))
        if estimate:
            parts.append(_section("propensity", {"estimate": propensity}))
        elif isinstance(propensity, Mapping):
            parts.append(_section("propensity", propensity))
        self._policies = _policies(policy)
        parts += [_policy_section(p) for p in _listed(policy) if not isinstance(p, Policy)]

        parts.append(_robust_section((set, radius), (cost_set, cost_radius), eta, support))
        self._aim = self._past = None
        if target is not None:
            section, self._aim = _target_section(target)
            parts.append(section)
        if history is not None:
            section, self._past = _history_section(history)
            parts.append(section)
        if title or outcome:
            parts.append(_section("report", {"title": title, "outcome": outcome}))
        if learner:
            parts.append(f"# The outcome model is {_models.name(learner)}, fitted from Python.\n")
        text = "\n".join(parts)
        brought = model.get("predictions") if isinstance(model, Mapping) else None
        brought = list(brought.values()) if isinstance(brought, Mapping) else []
        needed = _named(
            columns, actions, cost, reward, where, weight, survey_weight, cluster, *brought
        )
        try:
            self._start(text, path if is_path else data, needed, os.getcwd(), threads, progress, memory)
        except _native.ConfigError as error:
            # Here it is an argument, no section of a file.
            said = str(error).replace("under [context]", "in context").replace("[context]", "context")
            raise _native.ConfigError(said) from error.__cause__
        if learner:
            self._native = self.with_model(model_given)._native

    def _start(
        self,
        text: str,
        data: Any,
        needed: builtins.set[str],
        folder: str,
        threads: int | None,
        progress: Progress | None,
        memory: str | None,
    ) -> None:
        """Reads the data of a study that is written down: a path that its text names, or a table."""
        is_path = isinstance(data, (str, os.PathLike))
        name = os.fspath(data) if is_path else _data_name(data)
        workers, told = _given.threads(threads), _given.progress(progress)
        self._toward_own = self._counted_by = None
        self._rows = None if is_path else _Rows(data, name, frozenset(needed))
        in_engine = _engines.is_engine(data)
        try:
            if in_engine:
                stream = _engines.counted(
                    data, lambda *asked: _native.count_query(text, folder, name, *asked)
                )
            else:
                stream = None if is_path else _stream(data, needed)
            self._native = _native.Study.from_text(
                text, folder, stream, name, workers, told, counted=in_engine, memory=_given.memory(memory)
            )
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{name}: {error}") from None
        except _native.SeawallError as error:
            # The lines are those of a text that nobody has seen.
            said = re.sub(r"^study: line \d+: ", "study: ", str(error))
            raise type(error)(said) from error.__cause__

    @classmethod
    def _of(cls, native: _native.Study) -> Study:
        study = cls.__new__(cls)
        study._native, study._policies = native, []
        study._rows = study._aim = study._past = study._toward_own = study._counted_by = None
        return study

    @classmethod
    def from_dict(
        cls,
        study: Mapping[str, Any],
        *,
        folder: PathText = ".",
        threads: int | None = None,
        progress: Progress | None = None,
        memory: str | None = None,
    ) -> Study:
        """A study as a dictionary of what its file (TOML) says, key by key; what is None is not said.

        Where a `path` is asked for, of `data`, `target` and `history`, a table may be given, as for `Study`.
        Paths are from `folder`.

        >>> import seawall
        >>> study = seawall.Study.from_dict({
        ...     "data": {"path": seawall.demo_data()},
        ...     "context": {"age": {"kind": "numeric", "bin": 10}, "sex": {"kind": "nominal"}},
        ...     "action": {"column": "arm"},
        ...     "outcome": {"cost": {"dead": {"Y": 3}, "ischaemic": 1}},
        ...     "policy": [{"kind": "uniform"}, {"kind": "constant", "action": "treat"}],
        ...     "robust": {"context": {"set": "wasserstein", "radius": [0.01, 0.05]}},
        ... })
        >>> [policy.name for policy in study.evaluate(halves=0).policies]
        ['uniform', 'constant:treat']
        """
        if not isinstance(study, Mapping):
            raise _native.ConfigError(
                f"study is a {type(study).__name__}; expected a dictionary as a study file says it: "
                '{"data": {...}, "context": {...}, ...}'
            )
        found, start = cls.__new__(cls), os.path.abspath(folder)
        said, tables = dict(study), {}
        for part in ("data", "target", "history"):
            if isinstance(said.get(part), Mapping):
                said[part], tables[part] = _aside(said[part], part)
        data = tables.get("data")
        if data is not None:
            said["data"] |= {"path": "data"}
        found._policies, found._aim, found._past = [], tables.get("target"), tables.get("history")
        found._start(
            _whole(said), "data" if data is None else data, _named(said), start, threads, progress, memory
        )
        return found

    @classmethod
    def from_file(
        cls,
        path: PathText,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        memory: str | None = None,
    ) -> Study:
        """A study file (TOML) and its data."""
        workers, told = _given.threads(threads), _given.progress(progress)
        return cls._of(_native.Study.from_file(path, workers, told, _given.memory(memory)))

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
        `contexts()`); NaN off the study's support."""
        return self._native.outcomes()

    def with_outcomes(self, values: Any) -> Study:
        """The same study with predicted outcomes of your own: a row for each of `contexts()`, a column
        for each of `actions`, in that order, or by name in a frame. Contexts off the study's support may be
        NaN. They are taken as given: intervals leave out their noise, which `with_model` does not."""
        if hasattr(values, "columns"):
            names = [str(c) for c in values.columns]
            if sorted(names) != sorted(self.actions):
                raise _native.InputError(
                    f"predicted outcomes have the columns {names}; expected the actions {self.actions}"
                )
            values = np.column_stack([np.asarray(values[a]) for a in self.actions])
        given = _given.array("predicted outcomes", values, 2, missing=True)
        return self._with(self._native.with_outcomes(given))

    def with_model(self, model: Any, *, encode: str = "codes", rows: str = "weighted") -> Study:
        """The same study with an outcome model of your own: an object with `fit` and `predict`
        (scikit-learn and its pipelines, LightGBM, CatBoost), or a dictionary with one for each action.

        For each action a fresh copy is fitted to the rows of that action, and predicts every context: for
        the whole log, and again for every fold and half, one fit at a time. With
        a `random_state` (where it has one) results are the same every time and on any number of threads;
        without, they are not. Values are all it gives: a cost radius above 0 is refused.

        >>> import numpy as np, seawall
        >>> class Mean:
        ...     def fit(self, X, y, sample_weight):
        ...         self.mean = np.average(y, weights=sample_weight)
        ...     def predict(self, X):
        ...         return np.full(len(X), self.mean)
        >>> found = seawall.demo().with_model(Mean()).evaluate("constant:treat", radius=[0, 0.1])
        >>> [round(result.value, 3) for result in found.policies[0].results]
        [0.302, 0.302]

        Parameters
        ----------
        model
            What is fitted. A classifier (`predict_proba`) is for outcomes of 0 and 1, and its probability
            of 1 is the value; where all rows of an action have the same outcome, that is, and nothing is
            fitted.
        encode
            How contexts are given, in a pandas frame with the columns' names if pandas is there, else in an
            array. `"codes"`: all as numbers; a bin by its middle, an ordinal level by its position, a
            nominal one by its place among the levels. `"labels"`: ordinal and nominal columns by their
            levels' texts (categories in a frame), for pipelines that encode them
            (`OneHotEncoder(handle_unknown="ignore")`: an action may lack a level that others have) and
            models that take categories. Missing numbers and labels are NaN, a missing nominal level has a
            code of its own.
        rows
            `"weighted"`: rows of the same context and outcome are one with a `sample_weight`, where `fit`
            takes one, else they are repeated. `"repeated"`: always repeated, so that settings that count
            rows (`min_samples_leaf`, a forest's draws) count the log's own; slower.
        """
        learner = _models.Learner(model, self.actions, encode, rows)
        return self._with(self._native.with_model(learner, learner.name))

    def _with(self, native: _native.Study) -> Study:
        study = self._of(native)
        study._policies, study._rows = self._policies, self._rows
        study._aim, study._past = self._aim, self._past
        return study

    def target(
        self,
        target: Target | None = None,
        *,
        known: Known | None = None,
        target_size: float | None = None,
    ) -> Study:
        """The same study about another population: whatever is asked of it without a target is asked about
        this one. `target`, `known` and `target_size` are as for `evaluate`; a table is kept.

        >>> import seawall
        >>> study = seawall.demo()
        >>> older = study.target(known={"age": {"mean": 75}})
        >>> older.evaluate("constant:treat", radius=0.01, halves=0).balance.status
        'matched'
        """
        if target is None and known is None:
            raise _native.ConfigError("target: say which, by a sample (a path or a table) or by known=")
        if target is None:
            study = self._with(_native.with_known(self._native, *_given.known(known, target_size)))
            study._aim = None
        else:
            study = self._with(self._about(self._native, target, known, target_size))
            if isinstance(target, (str, os.PathLike)):
                study._aim = os.path.abspath(target)
            else:
                study._aim = _aside({"path": target}, "target")[1]
        study._toward(None)
        return study

    def check(
        self,
        target: Target | None = None,
        *,
        known: Known | None = None,
        target_size: float | None = None,
    ) -> Check:
        """Everything about the data, nothing robust; and how well they cover a `target`, or can be made
        what is `known` of one (as for `evaluate`)."""
        return Check._of(self._toward(target, known=known, target_size=target_size).check())

    def explain(self, action: str | None = None) -> Explanation:
        """The fitted outcome model, told: a tree by its branches, an additive model by what each level
        adds, forests and boosted trees by what each column is worth to them. Every action, or one."""
        from seawall.explanations import Explanation

        return Explanation._of(self._native.explain(action))

    def evaluate(
        self,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        radius: Radii | None = None,
        set: str | None = None,
        eta: float | None = None,
        cost_radius: float | Sequence[float] | None = None,
        cost_set: str | None = None,
        support: str | None = None,
        curve: bool = False,
        compare: bool = True,
        target: Target | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        by: str | None = None,
        simultaneous: bool = False,
        halves: int | None = None,
        level: float = 0.95,
        seed: int = 1,
        bounds: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """What policies would have cost, nominally and in the worst case. What is not said is as in
        the study.

        With `compare=False` the policies are not compared with each other. `target` is a sample of
        another population, a path or a table with the context columns: the estimates are then those in
        it, and the worst cases are around it; the study's own if it names one. `known` and `target_size`
        are numbers about a population of which there is no sample, as for `transfer`: the worst cases are
        then around the log made like that, which the result's `balance` tells of. The set `"couplings"`
        is every population that meets what is known: without a radius, within one, or within one for each
        of some columns.

        >>> import seawall
        >>> there = {"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
        >>> found = seawall.demo().evaluate("constant:treat", set="couplings", known=there, halves=0)
        >>> found.balance.status, found.policies[0].results[0].radius
        ('matched', inf)
        >>> near = {"age": 0.01, "stroke": 0}
        >>> within = seawall.demo().evaluate(
        ...     "constant:treat", set="couplings", known=there, radius=near, halves=0)
        >>> within.policies[0].results[0].value < found.policies[0].results[0].value
        True

        How much is noise is told by so many `halves` of the rows (20 if not said, fewer where a solve
        takes long): the worst population found on one
        half is valued on the other. Every worst case and difference then has an `honest` value and
        `limits` of a `level`; with `halves=0` they are None.

        >>> import seawall
        >>> found = seawall.demo().evaluate("constant:treat", radius=0.01)
        >>> worst = found.policies[0].results[0]
        >>> worst.limits.lower <= worst.honest.value <= worst.value <= worst.limits.upper
        True
        >>> print(worst.claims[0])
        With 95% confidence no population within 0.01 costs more than 0.50
        >>> seawall.demo().evaluate("constant:treat", radius=0.01, halves=0).policies[0].results[0].limits

        `by` is a context column: the same is asked within each of its levels, too, contexts restricted
        to it and the radius within it; with `simultaneous=True` limits are widened so that those of all
        levels hold at once.

        >>> within = seawall.demo().evaluate("constant:treat", radius=0.01, by="sex", simultaneous=True).by
        >>> [one.level for one in within.levels], within.confidence
        (['F', 'M'], 0.975)
        """
        if simultaneous and by is None:
            raise _native.ConfigError("simultaneous is about the levels of a column: say which with by")
        radii, column_radii = _given.radii(radius)
        found = self._toward(target, threads, progress, known, target_size).evaluate(
            policy=_policies(policy) or self._policies,
            radius=radii,
            column_radii=column_radii,
            set=set,
            eta=None if eta is None else _given.real("eta", eta),
            cost_radius=_given.reals("cost_radius", cost_radius),
            cost_set=cost_set,
            support=support,
            curve=curve,
            compare=compare,
            by=_given.column("by", by),
            simultaneous=simultaneous,
            halves=None if halves is None else _given.count("halves", halves),
            level=_given.real("level", level),
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
        radius: float | Mapping[str, float] | None = None,
        set: str | None = None,
        eta: float | None = None,
        cost_radius: float | None = None,
        cost_set: str | None = None,
        support: str | None = None,
        against: PolicyLike | None = None,
        target: Target | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        by: str | Sequence[str] | None = None,
        history: Target | None = None,
        least: float | None = None,
        each: str | None = None,
        in_time: bool | None = None,
        half_life: float | None = None,
        level: float = 0.95,
        honest: bool = True,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Learned:
        """Learns a policy whose worst case is as good as it can be: `"greedy"`, `"groups:COL"`,
        `"tree:DEPTH"` or `"softmax"`.

        With `against`, a policy as for `evaluate`, its worst difference to that one in the same
        population is as good as it can be. `target`, `known`, `target_size` and the set are as for
        `evaluate`. With `honest=False` it is not also learned on halves of the log, to be valued on the
        rows that did not choose it.

        With `by` it is valued on past groups that did not choose it, too: learned anew without some of
        them, it is predicted for these and looked at, and what they needed makes the bounds in `groups`,
        which are to hold at the `level`. `by`, `history`, `least`, `each`, `in_time` and `half_life` are as
        for `transfer`."""
        baseline = _policies(against, "against")
        if len(baseline) > 1:
            raise _native.ConfigError(f"against is {len(baseline)} policies; expected one")
        column_radii = _given.radii(radius)[1] if isinstance(radius, Mapping) else []
        groups: dict[str, Any] = dict(
            history=history, least=least, each=each, in_time=in_time, half_life=half_life
        )
        if by is None and any(value is not None for value in groups.values()):
            said = next(name for name, value in groups.items() if value is not None)
            raise _native.ConfigError(f"{said} is about past groups: say by=\"COLUMN\"")
        if by is not None:
            _read_twice(target)
        sure = _given.real("level", level)
        workers, told = _given.threads(threads), _given.progress(progress)
        counted = None if by is None else self._grouped(by, threads=threads, progress=progress, **groups)
        found = self._toward(target, threads, progress, known, target_size).learn(
            policy,
            method=method,
            radius=None if radius is None or column_radii else _given.real("radius", radius),
            column_radii=column_radii,
            set=set,
            eta=None if eta is None else _given.real("eta", eta),
            cost_radius=None if cost_radius is None else _given.real("cost_radius", cost_radius),
            cost_set=cost_set,
            support=support,
            against=baseline[0] if baseline else None,
            honest=honest,
            seed=_given.count("seed", seed),
            threads=workers,
            progress=told,
        )
        if counted is not None:
            asked = self._toward(target, threads, progress, known, target_size, counted)
            found = _native.valued_by_group(asked, found, level=sure, threads=workers, progress=told)
        return Learned._of(found)

    def radius(
        self,
        *,
        target: Target | None = None,
        splits: int = 20,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Radius:
        """Radii that the data suggest: what covers chance, and what covers a `target` (as for
        `evaluate`)."""
        found = self._toward(target, threads, progress).radius(
            _given.count("splits", splits),
            _given.count("seed", seed),
            _given.threads(threads),
            _given.progress(progress),
        )
        return Radius._of(*found, self.direction)

    def distance(
        self,
        target: Target | None = None,
        *,
        eta: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> SampleDistance:
        """How far a target is from the log, in the study's own ground cost; with `eta` also the
        entropic distance of that sharpness."""
        sharpness = None if eta is None else _given.real("eta", eta)
        asked = self._toward(target, threads, progress)
        return SampleDistance._of(
            asked.distance(sharpness, _given.threads(threads), _given.progress(progress))
        )

    def report(
        self,
        path: PathText,
        *,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        support: str | None = None,
        learn: str | Sequence[str] | None = "tree:1",
        compare: bool = False,
        target: Target | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        halves: int | None = None,
        level: float = 0.95,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Writes the HTML report; `support`, `target`, `known`, `target_size` and `halves` are as for
        `evaluate`. Its bands are the limits, if there are any. With `compare=True` it has the same policies under every set, too, as `compare` has them."""
        counted = self._grouped(None, None, threads, progress)
        grouped = None
        if counted is not self._native:
            _read_twice(target)
            grouped = self._toward(target, threads, progress, known, target_size, counted)
        self._toward(target, threads, progress, known, target_size).report(
            path,
            grouped,
            _policies(policy) or self._policies,
            support,
            [str(kind) for kind in _listed(learn)],
            compare,
            None if halves is None else _given.count("halves", halves),
            _given.real("level", level),
            _given.count("seed", seed),
            _given.threads(threads),
            _given.progress(progress),
        )

    def __repr__(self) -> str:
        # Of the data alone: a target that cannot be read or a model that cannot be fitted is no reason
        # not to be shown.
        rows, columns = self._native.shown()
        features = ", ".join(f"{name} ({kind})" for name, kind in columns)
        return (
            f"Study of {rows:g} rows ({self.direction})\n"
            f"context: {features}\nactions: {', '.join(self.actions)}"
        )

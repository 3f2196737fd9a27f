"""Studies: where the data are, what the columns mean, which policies and which sets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from seawall import _engines, _given, _models, _native
from seawall._elsewhere import Progress, SeawallWarning, _Elsewhere, _read_twice, _Rows
from seawall._policies import PathText, PolicyLike, listed, policies
from seawall._tables import _aside, _data_name, _stream
from seawall.learned import Learned, Policy
from seawall.options import History, Sample, Splits, Target, as_history, as_splits, as_target
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
        The target population: a `Target`; a path or a table; or a dictionary as in a study file, with `path`
        (either), `where`, `weight` and `beyond` (`"extend"` or `"error"`), each of which may be left out;
        without a sample, with `known` and `size`. A table is kept.
    history
        What past groups are: a `History`; the column that names them, or several; or a dictionary as in a
        study file with `by`, `path` (or a table), `least`, `order`, `each`, `half_life` and `at_once`. It is
        no context. Groups are counted when a question asks about them, so a table is kept, and an engine
        asked again.
    threads, progress
        Of reading the data, and of every question: how many threads (all if not said), and a function that is
        called with words while work goes on. `running` is the same study with others.
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
        target: Target | Sample | Mapping[str, Any] | None = None,
        history: History | str | Sequence[str] | Mapping[str, Any] | None = None,
        title: str | None = None,
        outcome: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        memory: str | None = None,
    ) -> None:
        path = os.path.abspath(data) if isinstance(data, (str, os.PathLike)) else "data"
        learner = _models.estimators(model)
        self._policies = policies(policy)
        target, self._aim = _target_said(target)
        history, self._past = _history_said(history)
        declaration = _native.Declaration.of_arguments(
            {
                "data": path, "context": context, "action": action, "cost": cost, "reward": reward,
                "missing_outcome": missing_outcome, "propensity": propensity, "model": None if learner else model,
                "policy": [p for p in listed(policy) if not isinstance(p, Policy)], "radius": radius, "set": set,
                "eta": eta, "cost_radius": cost_radius, "cost_set": cost_set, "support": support, "where": where,
                "weight": weight, "survey_weight": survey_weight, "cluster": cluster, "target": target,
                "history": history, "title": title, "outcome": outcome,
            },
            os.getcwd(),
            f"\n# The outcome model is {_models.name(learner)}, fitted from Python.\n" if learner else "",
        )
        self._read(declaration, data if path == "data" else path, threads, progress, memory)
        if learner:
            self._native = self.with_model(model)._native

    def _read(
        self,
        declaration: _native.Declaration,
        data: Any,
        threads: int | None,
        progress: Progress | None,
        memory: str | None,
    ) -> None:
        """Reads the data of a study that is declared: a path that it names, or a table."""
        is_path = isinstance(data, (str, os.PathLike))
        name = os.fspath(data) if is_path else _data_name(data)
        self._threads, self._progress = _given.threads(threads), _given.progress(progress)
        self._toward_own = self._counted_by = None
        names = frozenset(declaration.names())
        self._rows = None if is_path else _Rows(data, name, names)
        in_engine = _engines.is_engine(data)
        try:
            if in_engine:
                stream = _engines.counted(data, lambda *asked: declaration.count_query(name, *asked))
            else:
                stream = None if is_path else _stream(data, {*names})
            self._native = declaration.read(
                stream,
                name,
                counted=in_engine,
                threads=self._threads,
                progress=self._progress,
                memory=_given.memory(memory),
            )
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{name}: {error}") from None

    @classmethod
    def _of(cls, native: _native.Study) -> Study:
        study = cls.__new__(cls)
        study._native, study._policies = native, []
        study._rows = study._aim = study._past = study._toward_own = study._counted_by = None
        study._threads = study._progress = None
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
        >>> [policy.name for policy in study.evaluate(splits=0).policies]
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
        declaration = _native.Declaration.of_dict(said, start)
        found._read(declaration, "data" if data is None else data, threads, progress, memory)
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
        study = cls._of(_native.Study.from_file(path, workers, told, _given.memory(memory)))
        study._threads, study._progress = workers, told
        return study

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
        study._threads, study._progress = self._threads, self._progress
        return study

    def running(self, *, threads: int | None = None, progress: Progress | None = None) -> Study:
        """The same study, its questions answered on so many threads (all if not said), and `progress` called with
        words while work goes on.

        >>> import seawall
        >>> seawall.demo().running(threads=1).check().rows
        6000.0
        """
        study = self._with(self._native)
        study._threads, study._progress = _given.threads(threads), _given.progress(progress)
        return study

    def target(self, target: Target | Sample) -> Study:
        """The same study about another population: whatever is asked of it without a target is asked about
        this one. A table is kept.

        >>> import seawall
        >>> study = seawall.demo()
        >>> older = study.target(seawall.Target(known={"age": {"mean": 75}}))
        >>> older.evaluate("constant:treat", radius=0.01, splits=0).balance.status
        'matched'
        """
        aim = as_target(target)
        if aim is None:
            raise _native.ConfigError("target is None; expected a Target, a path or a table")
        study = self._with(self._about(self._native, aim))
        if isinstance(aim.sample, (str, os.PathLike)):
            study._aim = os.path.abspath(aim.sample)
        else:
            study._aim = _aside({"path": aim.sample}, "target")[1]
        study._toward(None)
        return study

    def check(self, target: Target | Sample | None = None) -> Check:
        """The data, their overlap and the outcome model, before anything is evaluated; and how well the data
        cover a target, or can be made what is known of one."""
        return Check._of(self._toward(target).check())

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
        target: Target | Sample | None = None,
        by: str | None = None,
        splits: Splits | int | None = None,
        curve: bool = False,
        compare: bool = True,
    ) -> Evaluation:
        """What policies would have cost, nominally and in the worst case. What is not said is as in
        the study.

        With `compare=False` the policies are not compared with each other, and with `curve=True` the result
        has whole curves against the radius. With a `target` the estimates are those in it, and the worst cases
        are around it: around a sample of it, or around the data reweighted to what is known of it, which the
        result's `balance` tells of. The set `"couplings"` is every population that meets what is known:
        without a radius, within one, or within one for each of some columns.

        >>> import seawall
        >>> there = seawall.Target(known={"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}})
        >>> found = seawall.demo().evaluate("constant:treat", set="couplings", target=there, splits=0)
        >>> found.balance.status, found.policies[0].results[0].radius
        ('matched', inf)
        >>> near = {"age": 0.01, "stroke": 0}
        >>> within = seawall.demo().evaluate(
        ...     "constant:treat", set="couplings", target=there, radius=near, splits=0)
        >>> within.policies[0].results[0].value < found.policies[0].results[0].value
        True

        How much is noise is told by sample `splits` (20 if not said, fewer where a solve takes long): the worst
        population found on one half of the rows is valued on the other. Every worst case and difference then
        has a `held_out` value and `limits`; with `splits=0` they are None.

        >>> import seawall
        >>> found = seawall.demo().evaluate("constant:treat", radius=0.01)
        >>> worst = found.policies[0].results[0]
        >>> worst.limits.lower <= worst.held_out.value <= worst.value <= worst.limits.upper
        True
        >>> print(worst.claims[0].sentence)
        No population within 0.01 of the data costs more than 0.52 under constant:treat (95% confidence, assuming that no three columns act together beyond the model)
        >>> seawall.demo().evaluate("constant:treat", radius=0.01, splits=0).policies[0].results[0].limits

        `by` is a context column: the same is asked within each of its levels, too, contexts restricted
        to it and the radius within it; with `Splits(simultaneous=True)` limits are widened so that those of
        all levels hold at once.

        >>> at_once = seawall.Splits(simultaneous=True)
        >>> within = seawall.demo().evaluate("constant:treat", radius=0.01, by="sex", splits=at_once).by
        >>> [one.level for one in within.levels], within.confidence
        (['F', 'M'], 0.975)
        """
        asked = as_splits(splits)
        if asked.simultaneous and by is None:
            raise _native.ConfigError("simultaneous is about the levels of a column: say which with by")
        radii, column_radii = _given.radii(radius)
        options = {
            "policy": policies(policy) or self._policies,
            "radius": radii,
            "column_radii": column_radii,
            "set": set,
            "eta": _given.maybe_real("eta", eta),
            "cost_radius": _given.reals("cost_radius", cost_radius),
            "cost_set": cost_set,
            "support": support,
            "curve": curve,
            "compare": compare,
            "by": _given.column("by", by),
            "simultaneous": asked.simultaneous,
            "splits": asked.count,
            "level": asked.level,
            "seed": asked.seed,
            "bounds": asked.bounds,
        }
        found = self._toward(target).evaluate(options, **self._workers())
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
        target: Target | Sample | None = None,
        history: History | str | Sequence[str] | None = None,
        splits: Splits | int | None = None,
    ) -> Learned:
        """Learns a policy whose worst case is as good as it can be: `"greedy"`, `"groups:COL"`,
        `"tree:DEPTH"` or `"softmax"`.

        With `against`, a policy as for `evaluate`, its worst difference to that one in the same
        population is as good as it can be. `target` and the set are as for `evaluate`. It is also learned on
        halves of the data, to be valued on the rows that did not choose it, unless `splits=0`.

        With a `history` it is valued on past groups that did not choose it, too: learned anew without some of
        them, it is predicted for these and looked at, and what they needed makes the bounds in `groups`,
        which are to hold at the level of `splits`."""
        baseline = policies(against, "against")
        if len(baseline) > 1:
            raise _native.ConfigError(f"against is {len(baseline)} policies; expected one")
        column_radii = _given.radii(radius)[1] if isinstance(radius, Mapping) else []
        asked = as_splits(splits)
        if asked.count:
            raise _native.ConfigError(f"splits is {asked.count}; a policy is learned with its own number, or with 0")
        past = None if history is None else as_history(history)
        if past is not None and past.by is None:
            raise _native.ConfigError("history is about past groups: say by=\"COLUMN\"")
        if past is not None:
            _read_twice(target)
        counted = None if past is None else self._grouped(past)
        options = {
            "policy": policy,
            "method": method,
            "radius": None if radius is None or column_radii else _given.real("radius", radius),
            "column_radii": column_radii,
            "set": set,
            "eta": _given.maybe_real("eta", eta),
            "cost_radius": _given.maybe_real("cost_radius", cost_radius),
            "cost_set": cost_set,
            "support": support,
            "against": baseline[0] if baseline else None,
            "honest": asked.count is None,
            "seed": asked.seed,
        }
        found = self._toward(target).learn(options, **self._workers())
        if counted is not None:
            among = self._toward(target, counted)
            found = _native.valued_by_group(among, found, level=asked.level, **self._workers())
        return Learned._of(found)

    def radius(
        self, *, target: Target | Sample | None = None, splits: Splits | int | None = None
    ) -> Radius:
        """Radii that the data suggest: what covers chance, and what covers a `target`. `splits` are 20 if not
        said."""
        asked = as_splits(splits)
        count = 20 if asked.count is None else asked.count
        found = self._toward(target).radius(count, asked.seed, **self._workers())
        return Radius._of(*found, self.direction)

    def distance(self, target: Target | Sample | None = None) -> SampleDistance:
        """How far a target is from the data, in the study's own distance."""
        return SampleDistance._of(self._toward(target).distance(**self._workers()))

    def report(
        self,
        path: PathText,
        *,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        support: str | None = None,
        learn: str | Sequence[str] | None = "tree:1",
        compare: bool = False,
        target: Target | Sample | None = None,
        splits: Splits | int | None = None,
    ) -> None:
        """Writes the HTML report; `support`, `target` and `splits` are as for `evaluate`. With
        `compare=True` it has the same policies under every set, too, as `compare` has them."""
        asked = as_splits(splits)
        counted = self._grouped(History())
        grouped = None
        if counted is not self._native:
            _read_twice(target)
            grouped = self._toward(target, counted)
        options = {
            "policy": policies(policy) or self._policies,
            "support": support,
            "learn": [str(kind) for kind in listed(learn)],
            "compare": compare,
            "splits": asked.count,
            "level": asked.level,
            "seed": asked.seed,
        }
        self._toward(target).report(path, options, grouped=grouped, **self._workers())

    def __repr__(self) -> str:
        # Of the data alone: a target that cannot be read or a model that cannot be fitted is no reason
        # not to be shown.
        rows, columns = self._native.shown()
        features = ", ".join(f"{name} ({kind})" for name, kind in columns)
        return (
            f"Study of {rows:g} rows ({self.direction})\n"
            f"context: {features}\nactions: {', '.join(self.actions)}"
        )


def _target_said(target: Any) -> tuple[Any, Any]:
    """What a study is told of its target; and its table, if it is one."""
    if isinstance(target, Target):
        target = {"path": target.sample, "known": target.known, "size": target.size}
    if isinstance(target, (str, os.PathLike)):
        return os.path.abspath(target), None
    if target is None:
        return None, None
    return _from_here(target if isinstance(target, Mapping) else {"path": target}, "target")


def _history_said(history: Any) -> tuple[Any, Any]:
    """What a study is told of past groups; and their table, if it is one."""
    if isinstance(history, History):
        history = history._section()
    if isinstance(history, Mapping):
        return _from_here(history, "history")
    return _given.names("history", history) or None, None


def _from_here(values: Mapping[str, Any], argument: str) -> tuple[dict[str, Any], Any]:
    """What is said, the same wherever one is; a table in the place of a path apart."""
    said, table = _aside(values, argument)
    path = said.get("path")
    return said | {"path": path and os.path.abspath(path)}, table

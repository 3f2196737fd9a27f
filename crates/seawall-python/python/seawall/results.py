"""What comes of a question: plain, typed data with the names that the program's JSON has.

Every result has `to_dict()`, `to_json()` (the bytes that the program prints with `--json`),
`to_frame()` (an Arrow table, which `pandas.DataFrame.from_arrow`, `polars.DataFrame`,
`pyarrow.table` and duckdb take), a `repr` to read and a
table for notebooks.
"""

from __future__ import annotations

import dataclasses
import html
import json
import operator
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from seawall import _native
from seawall._native import Evaluation as NativeEvaluation

Made = TypeVar("Made")


def _number(x: object) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def _build(kind: Any, value: Any) -> Any:
    """A value of JSON as the type that a field asks for."""
    if value is None:
        return float("nan") if kind is float else None
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return [_build(args[0], item) for item in value]
    if origin is tuple:
        return tuple(value)
    if origin is dict or kind is Any or kind is None:
        return value
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return _build(next(a for a in args if a is not type(None)), value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _made(kind, value)
    return value


def _made(kind: type[Made], values: dict[str, Any], **more: Any) -> Made:
    hints = typing.get_type_hints(kind)
    # JSON's `lambda` is no name in Python. A key that a class lacks is an error: nothing is dropped.
    given = {("lambda_" if k == "lambda" else k): v for k, v in values.items()}
    fields = {k: _build(hints.get(k), v) for k, v in given.items()}
    return kind(**fields, **more)


class _Result:
    """What every result has."""

    _json: str

    def __getstate__(self) -> dict[str, Any]:
        """What can be copied to another process: all but the populations."""
        return {k: None if k == "_native" else v for k, v in self.__dict__.items()}

    def __copy__(self) -> Any:
        """Nothing changes, so a copy is the same."""
        return self

    def to_json(self) -> str:
        """The JSON that the program prints, byte for byte."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        found: dict[str, Any] = json.loads(self._json)
        return found

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def _title(self) -> str:
        return type(self).__name__

    def to_frame(self) -> _native.Table:
        """The main table as an Arrow table: `pandas.DataFrame.from_arrow`, `polars.DataFrame`,
        `pyarrow.table` and duckdb take it."""
        return _native.frame(self._columns())

    def __repr__(self) -> str:
        columns = self._columns()
        rows = [list(columns), *([_number(v) for v in row] for row in zip(*columns.values()))]
        widths = [max(len(row[k]) for row in rows) for k in range(len(columns))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        cell = "<td style='text-align:right'>{}</td>".format
        body = "".join(
            "<tr>" + "".join(cell(html.escape(_number(v))) for v in row) + "</tr>"
            for row in zip(*columns.values())
        )
        title = html.escape(self._title())
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class LeftOut:
    """Rows left out, by reason."""

    conditions: int
    no_action: int


@dataclass(frozen=True)
class TreeFacts:
    """How an action's regression tree was grown."""

    max_depth: int
    min_samples_leaf: float
    min_samples_split: float
    ccp_alpha: float
    cross_validated: float | None = None


@dataclass(frozen=True)
class ActionFacts:
    """One action in the data."""

    name: str
    rows: float
    mean: float
    observed_cells_without: int
    cells_without: int
    unseen: int
    leaves: int | None = None
    smallest_leaf: float | None = None
    tree: TreeFacts | None = None


@dataclass(frozen=True)
class FeatureFacts:
    """One context column in the data."""

    name: str
    kind: str
    levels: int
    ends: tuple[str, str]
    missing: float
    empty_levels: int
    weight: float | None


@dataclass(frozen=True)
class PropensityFacts:
    """The propensities."""

    source: str
    smallest: float
    largest: float
    clip: float | None


@dataclass(frozen=True, repr=False)
class Check(_Result):
    """Everything about a study's data, nothing robust."""

    files: list[str]
    rows_read: int
    left_out: LeftOut
    rows: float
    direction: str
    actions: list[ActionFacts]
    features: list[FeatureFacts]
    cells: int
    observed_cells: int
    grid: bool
    outcomes: int
    outcome_range: tuple[float, float]
    propensity: PropensityFacts
    model: str
    unseen: str
    notes: list[str]
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Check:
        return _made(cls, json.loads(text), _json=text)

    def _title(self) -> str:
        return (
            f"{self.rows_read} rows read, {self.rows:g} used; {self.cells} contexts, "
            f"{self.observed_cells} observed; {self.direction}"
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "action": [a.name for a in self.actions],
            "rows": [float(a.rows) for a in self.actions],
            "mean": [a.mean for a in self.actions],
            "observed_cells_without": [a.observed_cells_without for a in self.actions],
            "unseen": [a.unseen for a in self.actions],
        }


@dataclass(frozen=True)
class Estimate:
    """An estimate, its standard error and its 95% interval."""

    value: float
    se: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Nominal:
    """What a policy would have cost if nothing shifts: four estimates."""

    dm: Estimate
    ips: Estimate
    snips: Estimate
    dr: Estimate


@dataclass(frozen=True)
class Overlap:
    """How well the log covers a policy."""

    effective_sample_size: float
    mean_ratio: float
    uncovered: float
    clipped: float


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval."""

    se: float
    percentile: tuple[float, float]
    basic: tuple[float, float]


@dataclass(frozen=True)
class RobustValue:
    """One worst case: the truth is between `lower` and `upper`; with an entropic set those bound the
    smoothed value, and the worst case lies between `exact_lower` and `exact_upper`."""

    set: str
    radius: float
    cost_set: str
    cost_radius: float
    support: str
    value: float
    lower: float
    upper: float
    gap: float
    status: str
    unobserved_mass: float
    lambda_: float | None = None
    eta: float | None = None
    cost_eta: float | None = None
    interval: Interval | None = None
    exact_lower: float | None = None
    exact_upper: float | None = None


@dataclass(frozen=True)
class PolicyResult:
    """One policy's answers."""

    name: str
    nominal: Nominal
    overlap: Overlap
    results: list[RobustValue]


@dataclass(frozen=True)
class Breakdown:
    """From which radius on a policy is no longer better than another; None if from none."""

    policy: str
    against: str
    cost_radius: float
    radius: float | None
    crosses_again: bool = False
    between: tuple[float, float] | None = None
    rough: bool = False
    interval: Interval | None = None


@dataclass(frozen=True)
class Difference:
    """One policy's worst case minus another's, with its interval."""

    policy: str
    against: str
    radius: float
    cost_radius: float
    value: float
    interval: Interval


@dataclass(frozen=True)
class Bounds:
    """The paper's finite-sample bound, term by term."""

    delta: float
    total: float
    sampling: float
    contexts: float
    costs: float
    outcomes: float
    smoothing: float
    needed_rows: float
    rows: float
    holds: bool
    smallest_context_mass: float
    smallest_propensity: float
    largest_outcome: float


@dataclass(frozen=True)
class Share:
    """A level's share, now and in the worst case."""

    feature: str
    level: str
    nominal: float
    worst: float


@dataclass(frozen=True, repr=False)
class Evaluation(_Result):
    """What policies would have cost, nominally and in the worst case."""

    rows: float
    left_out: int
    actions: dict[str, float]
    cells: int
    observed_cells: int
    direction: str
    diagnostics: Check
    policies: list[PolicyResult]
    breakdown: list[Breakdown] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    bounds: Bounds | None = None
    _json: str = ""
    _native: NativeEvaluation | None = field(default=None, compare=False)

    @classmethod
    def _of(cls, native: NativeEvaluation) -> Evaluation:
        text = native.json()
        return _made(cls, json.loads(text), _json=text, _native=native)

    def _title(self) -> str:
        return f"Worst cases ({self.direction})"

    def _columns(self) -> dict[str, list[Any]]:
        rows = [(p, r) for p in self.policies for r in p.results]
        columns: dict[str, list[Any]] = {
            "policy": [p.name for p, _ in rows],
            "set": [r.set for _, r in rows],
            "radius": [float(r.radius) for _, r in rows],
            "cost_radius": [float(r.cost_radius) for _, r in rows],
            "nominal": [p.nominal.dm.value for p, _ in rows],
            "value": [r.value for _, r in rows],
            "lower": [r.lower for _, r in rows],
            "upper": [r.upper for _, r in rows],
            "status": [r.status for _, r in rows],
            "unobserved_mass": [float(r.unobserved_mass) for _, r in rows],
        }
        if any(r.exact_lower is not None for _, r in rows):
            columns["exact_lower"] = [r.exact_lower for _, r in rows]
            columns["exact_upper"] = [r.exact_upper for _, r in rows]
        if any(r.interval for _, r in rows):
            columns["interval_lower"] = [r.interval.basic[0] if r.interval else None for _, r in rows]
            columns["interval_upper"] = [r.interval.basic[1] if r.interval else None for _, r in rows]
        return columns

    def _place(
        self, policy: str | int, radius: float | None, cost_radius: float | None = None
    ) -> tuple[int, int]:
        names = [p.name for p in self.policies]
        if isinstance(policy, str):
            at = names.index(policy) if names.count(policy) == 1 else -1
        else:
            at = operator.index(policy)
        if not 0 <= at < len(names):
            raise _native.ConfigError(
                f"policy {policy!r} was not evaluated, or is one of several of that name; these were, by "
                f"number from 0: {names}"
            )
        results = list(enumerate(self.policies[at].results))
        if cost_radius is not None:
            results = [(k, r) for k, r in results if r.cost_radius == cost_radius]
        if radius is None:
            return at, next((k for k, r in results if r.radius > 0), results[0][0] if results else 0)
        for k, r in results:
            if r.radius == radius:
                return at, k
        asked = [(r.radius, r.cost_radius) for r in self.policies[at].results]
        raise _native.ConfigError(
            f"radius {radius} was not asked for; these radii and cost radii were: {asked}"
        )

    def _found(self) -> NativeEvaluation:
        if self._native is None:
            raise _native.ConfigError("this result was copied without its populations")
        return self._native

    def curve(self, policy: str | int = 0, cost: int = 0) -> Any:
        """A policy's worst case against the radius: whole with `evaluate(curve=True)`; as far as
        comparing policies needs it, if several were evaluated."""
        from seawall.arrays import Curve

        at, _ = self._place(policy, None)
        radius, value, lambda_, error = self._found().curve(at, cost)
        return Curve(radius, value, lambda_, error, reward=self.direction != "lower is better")

    def worst_population(
        self, policy: str | int = 0, radius: float | None = None, cost_radius: float | None = None
    ) -> list[Share]:
        """Each level's share, now and in the worst case of a policy at a radius."""
        at, result = self._place(policy, radius, cost_radius)
        return [
            Share(name, label, now, worst)
            for name, labels, nominal, worst_shares in self._found().marginals(at, result)
            for label, now, worst in zip(labels, nominal, worst_shares)
        ]

    def explain(
        self, policy: str | int = 0, radius: float | None = None, cost_radius: float | None = None
    ) -> str:
        """The worst case of a policy in words: who would become whom."""
        return "\n".join(self._found().words(*self._place(policy, radius, cost_radius)))


@dataclass(frozen=True)
class Spread:
    """A few distances."""

    count: int
    mean: float
    sd: float
    smallest: float
    median: float
    upper: float
    largest: float


@dataclass(frozen=True)
class CostRadius:
    """Cost radii of the order `constant / √n` in a leaf of n rows."""

    constant: float
    median_rows: float
    median: float
    smallest_leaf: float


@dataclass(frozen=True, repr=False)
class Radius(_Result):
    """Radii that the data suggest, and why."""

    halves: Spread
    bootstrap: Spread
    cost: CostRadius
    recommended: list[float]
    words: str
    line: str
    breakdown: list[Breakdown] = field(default_factory=list)
    target: float | None = None
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Radius:
        return _made(cls, json.loads(text), _json=text)

    def _title(self) -> str:
        return f"Recommended radii {self.recommended}: {self.words}"

    def _columns(self) -> dict[str, list[Any]]:
        both = [self.halves, self.bootstrap]
        return {
            "distance": ["between random halves", "from the log drawn again"],
            "mean": [s.mean for s in both],
            "sd": [s.sd for s in both],
            "median": [s.median for s in both],
            "upper": [s.upper for s in both],
        }

"""What comes of a question: plain, typed data with the names that the program's JSON has.

Every result of a study has `to_dict()`, `to_json()` (the bytes that the program prints with `--json`),
`to_pandas()`, `to_polars()` and `to_frame()` (its main table: the last one is what `pyarrow.table`, duckdb
and others that speak Arrow take), a `repr` to read, and in notebooks a small table with the picture of its
values against the radius.
"""

from __future__ import annotations

import json
import math
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seawall import _answers, _native
from seawall._native import Evaluation as NativeEvaluation
from seawall._result import Share, Shares, _by_column, _placed, _Result, _shares
from seawall.balance import Balance, ColumnBalance, FactBalance
from seawall.checks import (
    ActionFacts,
    Check,
    FeatureFacts,
    LeftOut,
    ModelRow,
    PropensityFacts,
    TreeFacts,
)
from seawall.comparisons import RobustnessRadius, Comparison, DifferenceValue, _compared, _linked, _pairs
from seawall.estimates import (
    Bounds,
    Estimate,
    HeldOutEstimate,
    JointEstimate,
    Limits,
    Nominal,
    NominalDifference,
    Overlap,
    Transported,
    _shown,
    _shown_columns,
)
from seawall.radii import CostRadius, PolicyRadii, Radius, Spread, TargetDistance
from seawall.subgroups import ByLevel, LevelAnswer, _by_level
from seawall.targets import (
    ActionCoverage,
    BeyondFacts,
    Coverage,
    SampleDistance,
    StrataShift,
    TargetFacts,
)

if TYPE_CHECKING:
    from seawall._html import Chart, Line
    from seawall.arrays import Curve

__all__ = [
    "ActionCoverage",
    "ActionFacts",
    "Balance",
    "BeyondFacts",
    "Bounds",
    "ByLevel",
    "RobustnessRadius",
    "Check",
    "ColumnBalance",
    "Comparison",
    "CostRadius",
    "Coverage",
    "DifferenceValue",
    "Estimate",
    "Evaluation",
    "FactBalance",
    "FeatureFacts",
    "HeldOutEstimate",
    "JointEstimate",
    "LeftOut",
    "LevelAnswer",
    "Limits",
    "ModelRow",
    "Nominal",
    "NominalDifference",
    "Overlap",
    "PolicyRadii",
    "PolicyResult",
    "PropensityFacts",
    "Radius",
    "RobustValue",
    "SampleDistance",
    "Share",
    "Shares",
    "Spread",
    "StrataShift",
    "TargetDistance",
    "TargetFacts",
    "Transported",
    "TreeFacts",
]


@dataclass(frozen=True)
class RobustValue(_answers.RobustValueFields):
    """One worst case: the truth is between `lower` and `upper`; with an entropic set those bound the
    smoothed value, and the worst case lies between `exact_lower` and `exact_upper`.

    `held_out` and `limits` tell its noise; None without sample splits. `claims` are what can be said with
    confidence, each with the populations, the level, what it assumes of the model, its conditions and a
    `sentence` that can be quoted; if there are none, `no_claim` says why. `noise` says how much of the worst case may be noise, if that is more than its own error.
    `engine` found the inner maxima (`"grid"`, `"tree"` or `"scan"` on a listed support, `"boxes"`,
    `"separable"` or `"descent"` on the whole space; None for a set that has none), in so many `evaluations`
    of the dual. Of couplings without a radius that is `math.inf`;
    `column_radii` are what moves along single columns may cost, where that was said by column.

    Under a set of people with their outcomes (`joint-kl`, `joint-kl-dr`) `estimate` is the value with its
    standard error and interval; None where only the worst outcome is left. Under `joint-wasserstein`
    `best_coupling` is the worst case if one person's outcomes under the actions go together as favorably as
    they can; `value` has them go together as unfavorably, and no data tell which."""

    noise: str | None = None

    @property
    def shown(self) -> tuple[float, float] | None:
        """The interval of the worst case, which is in it: the limits, or that of the
        estimate."""
        return _shown(self.value, self.limits, self.estimate)


class PolicyResult(_answers.PolicyResultFields):
    """One policy's answers; `target` are the estimates in the target, if something is known of one. With
    `chosen_here` the policy was chosen on the very rows that value it: everything is too good."""

    @property
    def estimate(self) -> Estimate | None:
        """The estimate if nothing shifts, or in the target if there is one: doubly robust, else
        direct."""
        there = self.target or self.nominal
        return there.dr or there.direct


@dataclass(frozen=True, repr=False)
class Evaluation(_Result, _answers.EvaluationFields):
    """What policies would have cost, nominally and in the worst case. `target` is the sample that worst
    cases start from; `balance` how the log was made what is known of a target, where that is all there
    is: then they start from there."""

    _json: str = ""
    _native: NativeEvaluation | None = field(default=None, compare=False)

    @classmethod
    def _of(cls, native: NativeEvaluation) -> Evaluation:
        text = native.json()
        values = json.loads(text)
        given, direction = values.pop("comparisons", []), values["direction"]
        found = _compared(given, native.sentences(), direction)
        comparisons = _linked(found, len(values["policies"]), native)
        for policy, said in zip(values["policies"], native.noise()):
            for result, noise in zip(policy["results"], said):
                result |= {"noise": noise}
        levels = [None if one is None else cls._of(one) for one in native.levels()]
        by = _by_level(values.pop("by", None), levels)
        return cls.from_json(values, comparisons=comparisons, by=by, _json=text, _native=native)

    def _title(self) -> str:
        around = f" around {self.target.path}" if self.target else ""
        around = " around the log made like the target" if self.balance else around
        limits = next((r.limits for p in self.policies for r in p.results if r.limits), None)
        beside = f", {100 * limits.level:g}% limits" if limits else ""
        return f"Worst cases{around} ({self.direction}){beside}"

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
        if self.target is not None or self.balance is not None:
            columns["target"] = [None if p.estimate is None else p.estimate.value for p, _ in rows]
        if any(r.exact_lower is not None for _, r in rows):
            columns["exact_lower"] = [r.exact_lower for _, r in rows]
            columns["exact_upper"] = [r.exact_upper for _, r in rows]
        if any(r.best_coupling is not None for _, r in rows):
            columns["best_coupling"] = [r.best_coupling for _, r in rows]
        return columns | _shown_columns([r.shown for _, r in rows], [r.held_out for _, r in rows])

    def _small(self) -> list[str]:
        """Not what is the same in every row and as one would expect."""
        columns = self._columns()
        usual = {"cost_radius": 0.0, "status": "optimal", "unobserved_mass": 0.0}
        small = ["policy", "radius", "cost_radius", "nominal", "target", "value", "interval_lower"]
        small += ["interval_upper", "held_out", "status", "unobserved_mass"]
        small += ["set"] if len({*columns["set"]}) > 1 else []
        kept = [name for name in small if name in columns]
        return [name for name in kept if name not in usual or {*columns[name]} != {usual[name]}]

    def _chart(self) -> Chart | None:
        """Worst cases against the radius: the curves if there are any, else the radii asked about."""
        from seawall._html import Chart

        finite = [r.radius for p in self.policies for r in p.results if r.radius < math.inf]
        last = 1.05 * max(finite, default=0.0)
        if last <= 0:
            return None
        lines = [self._line(k, last) for k in range(len(self.policies))]
        limits = next((r.limits for p in self.policies for r in p.results if r.limits), None)
        bars = f"; bars: {100 * limits.level:g}% limits" if limits else ""
        values = f"worst case ({self.direction}){bars}"
        return Chart("Worst cases against the radius", values, lines, last)

    def _line(self, policy: int, last: float) -> Line:
        """A policy's worst cases at the first cost radius."""
        from seawall._html import Line

        found = self.policies[policy]
        rows = [r for r in found.results if r.cost_radius == found.results[0].cost_radius]
        rows = sorted((r for r in rows if r.radius < math.inf), key=lambda r: r.radius)
        bars = [(r.radius, *r.shown) for r in rows if r.shown is not None]
        whole = self._whole(policy)
        if whole is not None:
            return Line(found.name, whole._points(last), True, bars)
        points = [(r.radius, r.value) for r in rows]
        # Where nothing shifts the worst case is the estimate itself, if nothing else is added to it.
        if points[0][0] > 0 and rows[0].cost_radius == 0 and rows[0].eta is None and self.balance is None:
            here = found.target.direct if found.target else found.nominal.dm
            if here is not None:
                points.insert(0, (0.0, here.value))
        return Line(found.name, points, False, bars)

    def _foot(self) -> list[str]:
        """How the log was made like the target; what is said of each pair, of the two orders the one
        whose policy leads; and of the first policy what can be claimed at its first positive radius, and
        how much is noise."""
        pairs = _pairs(len(self.policies), len(self.comparisons))
        leading = {pair: c.sentence for pair, c in zip(pairs, self.comparisons) if c.leads}
        lines = [self.balance._title()] if self.balance else []
        lines += _by_column(self.policies[0].results[0].column_radii)
        lines += [text for (a, b), text in leading.items() if a < b or (b, a) not in leading]
        for policy in self.policies[:1]:
            at = next((r for r in policy.results if r.radius > 0 and r.claims), None)
            if at is not None:
                noise = f" The worst case is {at.noise}." if at.noise else ""
                lines.append(" ".join(f"{claim.sentence}." for claim in at.claims) + noise)
        return lines

    def _policy(self, policy: str | int) -> int:
        """The place of a policy: by number, by name, or by a constant one's action."""
        names = [p.name for p in self.policies]
        if isinstance(policy, str):
            bare = [name.removeprefix("constant:") for name in names]
            known = names if policy in names else bare
            at = known.index(policy) if known.count(policy) == 1 else -1
        else:
            at = operator.index(policy)
        if not 0 <= at < len(names):
            raise _native.ConfigError(
                f"policy {policy!r} was not evaluated, or is one of several of that name; these were, by "
                f"number from 0: {names}"
            )
        return at

    def _place(
        self, policy: str | int, radius: float | None, cost_radius: float | None = None
    ) -> tuple[int, int]:
        at = self._policy(policy)
        return at, _placed(self.policies[at].results, radius, cost_radius)

    def comparison(self, policy: str | int, against: str | int) -> Comparison:
        """One policy less another in the same population; each by its name, a constant one's action,
        or its number from 0."""
        pair = self._policy(policy), self._policy(against)
        pairs = _pairs(len(self.policies), len(self.comparisons)) if self.comparisons else []
        if pair in pairs:
            return self.comparisons[pairs.index(pair)]
        first, second = (self.policies[k].name for k in pair)
        if pair[0] == pair[1]:
            raise _native.ConfigError(f"policy {first} is not compared with itself")
        compared = [f"{c.policy} with {c.against}" for c in self.comparisons]
        raise _native.ConfigError(
            f"policy {first} was not compared with {second}; "
            + (f"these were: {', '.join(compared)}" if compared else "evaluate(..., compare=True) does")
        )

    def _found(self) -> NativeEvaluation:
        if self._native is None:
            raise _native.ConfigError("this result was copied without its populations")
        return self._native

    def curve(self, policy: str | int = 0, cost: int = 0) -> Curve:
        """A policy's worst case against the radius, at one of the cost radii: with
        `evaluate(curve=True)`."""
        from seawall.arrays import Curve

        radius, value, lambda_, error = self._found().curve(self._policy(policy), cost)
        return Curve(radius, value, lambda_, error, reward=self.direction != "lower is better")

    def _whole(self, policy: int) -> Curve | None:
        """A policy's curve, if curves were asked for and not left behind."""
        try:
            return self.curve(policy)
        except _native.ConfigError:
            return None

    def worst_population(
        self, policy: str | int = 0, radius: float | None = None, cost_radius: float | None = None
    ) -> Shares:
        """Each level's share, now and in the worst case of a policy at a radius; with a target, now is
        in the target."""
        return _shares(self._found().marginals(*self._place(policy, radius, cost_radius)))

    def explain(
        self, policy: str | int = 0, radius: float | None = None, cost_radius: float | None = None
    ) -> str:
        """The worst case of a policy in words: who would become whom."""
        return "\n".join(self._found().words(*self._place(policy, radius, cost_radius)))

"""Pairs of policies in one population: by how much one could be worse than the other, by how much
better, and how far nothing reverses that."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seawall import _answers, _native
from seawall._answers import RobustnessRadius
from seawall._native import Evaluation as NativeEvaluation
from seawall._result import Shares, _placed, _Result, _shares
from seawall.estimates import Estimate, _shown, _shown_columns

__all__ = ["RobustnessRadius", "Comparison", "DifferenceValue"]

if TYPE_CHECKING:
    from seawall._html import Chart
    from seawall.arrays import Curve


class DifferenceValue(_answers.DifferenceValueFields):
    """One policy less the other within a radius (`math.inf` where there is none): in the population
    where that is worst for it (the truth is between `lower` and `upper`), and where it is best
    (`best_lower`, `best_upper`).

    `verdict` is what can be said of the policy, noise allowed for: `"better"`, `"worse"`, `"depends"`
    or `"undecided"`. `held_out` and `limits` are of the worst difference,
    `best_held_out` and `best_limits` of the best one; None without sample splits. `assumes` is what better or worse takes for granted of
    the model, `established` what is established of some population if undecided, and `reversed_by_subgroup` the
    largest subgroup that would reverse the verdict and that the data do not exclude."""

    @property
    def shown(self) -> tuple[float, float] | None:
        """The interval of the worst difference, which is in it: the limits."""
        return _shown(self.worst, self.limits)

    @property
    def best_shown(self) -> tuple[float, float] | None:
        """The same of the best difference."""
        return _shown(self.best, self.best_limits)


@dataclass(frozen=True, repr=False)
class Comparison(_Result, _answers.ComparisonFields):
    """One policy less another, both in the same population.

    >>> import seawall
    >>> found = seawall.demo().evaluate(["greedy", "constant:treat"], radius=0.01)
    >>> pair = found.comparison("greedy", "treat")
    >>> pair.robustness_radius.value, pair.verdicts
    (inf, ['undecided'])
    >>> print(pair.sentence)
    greedy vs constant:treat: undecided. One of them was chosen on these very rows; nothing is claimed of it.
    >>> found.comparison("treat", "greedy").results[0].best == -pair.results[0].worst
    True
    """

    sentence: str = ""
    direction: str = "lower is better"
    _json: str = ""
    _native: NativeEvaluation | None = field(default=None, compare=False)
    _at: int = field(default=0, compare=False)
    _turned: int | None = field(default=None, compare=False)

    @property
    def verdicts(self) -> list[str | None]:
        """What can be said of the policy at each of the results."""
        return [r.verdict for r in self.results]

    @property
    def estimate(self) -> Estimate | None:
        """The difference if nothing shifts, or in the target if there is one: doubly robust, else
        direct."""
        there = self.target or self.nominal
        return there.dr or there.direct

    @property
    def leads(self) -> bool:
        """Whether the policy is the better of the two if nothing shifts, or in the target if there is
        one."""
        there = (self.target or self.nominal).direct
        if there is None:
            return False
        value = there.value
        return value <= 0 if self.direction == "lower is better" else value >= 0

    def to_json(self) -> str:
        """Its part of the JSON that the program prints."""
        return self._json

    def _title(self) -> str:
        return f"{self.policy} less {self.against}, in one population ({self.direction})"

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.results
        columns: dict[str, list[Any]] = {
            "radius": [float(r.radius) for r in rows],
            "cost_radius": [float(r.cost_radius) for r in rows],
            "worst": [r.worst for r in rows],
            "best": [r.best for r in rows],
            "lower": [r.lower for r in rows],
            "upper": [r.upper for r in rows],
            "status": [r.status for r in rows],
            "verdict": [r.verdict for r in rows],
        }
        return columns | _shown_columns([r.shown for r in rows], [r.held_out for r in rows])

    def _small(self) -> list[str]:
        columns = self._columns()
        small = ["radius", "cost_radius", "worst", "best", "interval_lower", "interval_upper", "verdict"]
        kept = [name for name in small if name in columns]
        return [name for name in kept if name != "cost_radius" or any(columns[name])]

    def _chart(self) -> Chart | None:
        """The worst and the best difference against the radius."""
        from seawall._html import Chart, Line

        rows = [r for r in self.results if r.cost_radius == self.results[0].cost_radius]
        rows = sorted((r for r in rows if r.radius < math.inf), key=lambda r: r.radius)
        last = 1.05 * max((r.radius for r in rows), default=0.0)
        if last <= 0:
            return None
        worst = [(r.radius, *r.shown) for r in rows if r.shown is not None]
        best = [(r.radius, *r.best_shown) for r in rows if r.best_shown is not None]
        try:
            lines = [
                Line("in the population where it is worst", self.curve()._points(last), True, worst),
                Line("in the population where it is best", self.best_curve()._points(last), True, best),
            ]
        except _native.ConfigError:
            lines = [
                Line("in the population where it is worst", [(r.radius, r.worst) for r in rows], False, worst),
                Line("in the population where it is best", [(r.radius, r.best) for r in rows], False, best),
            ]
        title = f"{self.policy} less {self.against} against the radius"
        limits = next((r.limits for r in rows if r.limits), None)
        bars = f"; bars: {100 * limits.level:g}% limits" if limits else ""
        return Chart(title, f"difference ({self.direction}){bars}", lines, last, zero=True)

    def _foot(self) -> list[str]:
        return [self.sentence] if self.sentence else []

    def _found(self) -> NativeEvaluation:
        if self._native is None:
            raise _native.ConfigError("this comparison has no populations: it was copied, or is of radii alone")
        return self._native

    def curve(self, cost: int = 0) -> Curve:
        """The worst difference against the radius, at one of the cost radii: with
        `evaluate(curve=True)`."""
        return self._curve(self._at, cost, 1.0)

    def best_curve(self, cost: int = 0) -> Curve:
        """The best difference against the radius: the other's worst one, turned round."""
        self._found()
        if self._turned is None:
            raise _native.ConfigError(f"{self.against} was not compared with {self.policy}")
        return self._curve(self._turned, cost, -1.0)

    def _curve(self, at: int, cost: int, sign: float) -> Curve:
        from seawall.arrays import Curve

        radius, value, lambda_, error = self._found().difference_curve(at, cost)
        return Curve(radius, sign * value, lambda_, error, reward=self.direction != "lower is better")

    def worst_population(
        self, radius: float | None = None, cost_radius: float | None = None
    ) -> Shares:
        """Each level's share, now and where the difference is worst for the policy at a radius."""
        result = _placed(self.results, radius, cost_radius)
        return _shares(self._found().difference_marginals(self._at, result))


def _pairs(policies: int, comparisons: int) -> list[tuple[int, int]]:
    """Which policies each comparison is of: every two in both orders, or the first and each other."""
    every = comparisons == policies * (policies - 1)
    numbers = range(policies)
    return [(a, b) for a in numbers for b in numbers if a != b and (every or 0 in (a, b))]


def _compared(
    given: list[dict[str, Any]], sentences: list[str], direction: str
) -> list[Comparison]:
    """Comparisons as typed data, in the order of the JSON."""
    found = []
    for one, sentence in zip(given, sentences):
        text = json.dumps(one, ensure_ascii=False, separators=(",", ":"))
        found.append(Comparison.from_json(one, sentence=sentence, direction=direction, _json=text))
    return found


def _linked(found: list[Comparison], policies: int, native: NativeEvaluation) -> list[Comparison]:
    """Comparisons that know their populations and curves."""
    pairs = _pairs(policies, len(found))
    places = {pair: k for k, pair in enumerate(pairs)}
    return [
        replace(one, _native=native, _at=k, _turned=places.get(pairs[k][::-1]))
        for k, one in enumerate(found)
    ]

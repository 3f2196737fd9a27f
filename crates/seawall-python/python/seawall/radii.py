"""How far is far enough: radii that the data suggest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from seawall._result import _made, _Result
from seawall.comparisons import Comparison, _compared
from seawall.targets import StrataShift


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


@dataclass(frozen=True)
class PolicyRadii:
    """Radii that mean something to one policy: the least one whose worst case reaches the confidence
    `limit` of its estimate (None if no population within reach does), and the one beyond which its
    worst case worsens no more (`math.inf` where no radius was asked about)."""

    _infinite: ClassVar[tuple[str, ...]] = ("saturation",)

    policy: str
    limit: float
    chance: float | None
    saturation: float


@dataclass(frozen=True)
class TargetDistance:
    """How far a target is on the columns along which the values vary."""

    distance: float
    strata: StrataShift | None = None


@dataclass(frozen=True, repr=False)
class Radius(_Result):
    """Radii that the data suggest, and why."""

    policies: list[PolicyRadii]
    chance: float
    used_columns: list[str]
    unused_columns: list[str]
    cost: CostRadius
    comparisons: list[Comparison]
    recommended: list[float]
    words: str
    line: str
    halves: Spread | None = None
    target: TargetDistance | None = None
    _json: str = ""

    @classmethod
    def _of(cls, text: str, sentences: list[str], direction: str) -> Radius:
        values = json.loads(text)
        comparisons = _compared(values.pop("comparisons"), sentences, direction)
        return _made(cls, values, comparisons=comparisons, _json=text)

    def _title(self) -> str:
        return f"Recommended radii {self.recommended}: {self.words}"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "policy": [p.policy for p in self.policies],
            "limit": [p.limit for p in self.policies],
            "chance": [p.chance for p in self.policies],
            "saturation": [p.saturation for p in self.policies],
        }

    def _foot(self) -> list[str]:
        return [c.sentence for c in self.comparisons]

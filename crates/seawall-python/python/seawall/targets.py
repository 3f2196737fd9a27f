"""Another population, of which contexts are known: what it is, how far, how well the log covers it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall._result import _made, _Result


@dataclass(frozen=True)
class BeyondFacts:
    """A column's values that the log does not have, and the share of the target's people with them."""

    column: str
    values: list[str]
    share: float


@dataclass(frozen=True)
class ActionCoverage:
    """How well one action's rows cover a target: the shares of its people where there are fewer than
    1, 5 and 20 rows, in the very same context and in the same leaf of the outcome model."""

    name: str
    cells: tuple[float, float, float]
    leaves: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Coverage:
    """How well a log covers a target: the share of people in contexts that the log never has, how many
    rows the log is worth when weighed like the target, and the largest odds of a row."""

    unobserved: float
    effective_rows: float
    largest_odds: float
    actions: list[ActionCoverage]


@dataclass(frozen=True)
class TargetFacts:
    """A target, and how well the log covers it."""

    path: str
    rows: int
    left_out: int
    beyond: list[BeyondFacts]
    beyond_share: float
    coverage: Coverage


@dataclass(frozen=True)
class StrataShift:
    """How the strata of fixed columns shift, which no radius covers: half the sum of the differences
    of their shares, and the target's share in strata that the log does not have."""

    columns: list[str]
    total_variation: float
    unmatched: float


@dataclass(frozen=True)
class EntropicDistance:
    """An entropic distance, what it says of the exact one, and the Sinkhorn divergence."""

    eta: float
    distance: float
    exact_lower: float
    exact_upper: float
    divergence: float
    settled: bool


@dataclass(frozen=True, repr=False)
class SampleDistance(_Result):
    """How far a target is from a study's log, in the study's own ground cost: the truth is between
    `lower` and `upper`; `features` says what each column contributes. `kl` is None if it is infinite,
    and `kl_reason` says why."""

    distance: float
    lower: float
    upper: float
    gap: float
    status: str
    kl: float | None
    total_variation: float
    features: dict[str, float]
    from_points: int
    to_points: int
    seconds: float
    kl_reason: str | None = None
    strata: StrataShift | None = None
    entropic: EntropicDistance | None = None
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> SampleDistance:
        return _made(cls, json.loads(text), _json=text)

    def _title(self) -> str:
        return f"The target is {self.distance:.6g} away ({self.status})"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "column": list(self.features),
            "distance": [float(cost) for cost in self.features.values()],
        }

"""Estimates without a shift and in a target, and what is known of their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Estimate:
    """An estimate, its standard error and its 95% interval."""

    value: float
    se: float
    lower: float
    upper: float


@dataclass(frozen=True)
class JointEstimate(Estimate):
    """An estimated worst case of people with their outcomes, its standard error and its interval by
    Student's quantile of so many degrees of `freedom`."""

    _infinite: ClassVar[tuple[str, ...]] = ("freedom",)

    freedom: float


@dataclass(frozen=True)
class Nominal:
    """What a policy would have cost if nothing shifts: four estimates."""

    dm: Estimate
    ips: Estimate
    snips: Estimate
    dr: Estimate

    @property
    def direct(self) -> Estimate:
        """The direct estimate."""
        return self.dm


@dataclass(frozen=True)
class NominalDifference:
    """By how much a policy's value is above another's if nothing shifts; the doubly robust estimate is
    NaN where the log is too small to fold."""

    dm: Estimate
    dr: Estimate

    @property
    def direct(self) -> Estimate:
        """The direct estimate."""
        return self.dm


@dataclass(frozen=True)
class Transported:
    """A policy, or one less another, in the target: the direct method, inverse odds weighting and
    doubly robust transport; and how many rows the reweighted log is worth. The last two estimates are
    NaN where the log has no row of what a policy does. Without a sample of the target, only known
    columns, the doubly robust one is all there is: by the log made like what is known."""

    dr: Estimate
    effective_rows: float
    dm: Estimate | None = None
    odds: Estimate | None = None

    @property
    def direct(self) -> Estimate:
        """The direct estimate; without a sample the doubly robust one."""
        return self.dm or self.dr


@dataclass(frozen=True)
class Overlap:
    """How well the log covers a policy."""

    effective_sample_size: float
    mean_ratio: float
    uncovered: float
    clipped: float


@dataclass(frozen=True)
class HonestEstimate:
    """What the worst population found on one half of the rows costs on the other, over many halvings:
    the model that chose it did not value it."""

    value: float
    se: float


@dataclass(frozen=True)
class Limits:
    """Limits of a worst case: from the honest value to the value as fitted, with their standard errors.
    `smoothing` is how much of the limit on the bad side allows for what the model may have smoothed
    away. They hold both values."""

    lower: float
    upper: float
    level: float
    smoothing: float


@dataclass(frozen=True)
class DoublyRobust:
    """An honest value corrected by held-out residuals; `covered` is the share of the worst population's
    choices that the log has rows of, `effective_rows` how many rows the residuals are worth."""

    value: float
    se: float
    covered: float
    effective_rows: float


def _shown(
    value: float,
    limits: Limits | None,
    estimate: JointEstimate | None = None,
) -> tuple[float, float] | None:
    """The interval beside a value: the limits, or the estimate's; and the value itself, which of a smoothed set may be beyond the limits of the exact worst case."""
    if limits is not None:
        low, high = limits.lower, limits.upper
    elif estimate is not None:
        low, high = estimate.lower, estimate.upper
    else:
        return None
    return min(low, value), max(high, value)


def _shown_columns(
    shown: Sequence[tuple[float, float] | None], honest: Sequence[HonestEstimate | None]
) -> dict[str, list[Any]]:
    """Columns of the intervals beside values, and of honest values, if there are any."""
    columns: dict[str, list[Any]] = {}
    if any(shown):
        columns["interval_lower"] = [ends[0] if ends else None for ends in shown]
        columns["interval_upper"] = [ends[1] if ends else None for ends in shown]
    if any(honest):
        columns["honest"] = [one.value if one else None for one in honest]
    return columns


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

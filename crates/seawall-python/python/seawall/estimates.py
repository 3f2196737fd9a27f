"""Estimates without a shift and in a target, and what is known of their accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seawall import _answers
from seawall._answers import (
    Bounds,
    Estimate,
    HeldOutEstimate,
    JointEstimate,
    Limits,
    Overlap,
)

__all__ = [
    "Bounds",
    "Estimate",
    "HeldOutEstimate",
    "JointEstimate",
    "Limits",
    "Nominal",
    "NominalDifference",
    "Overlap",
    "Transported",
]


class Nominal(_answers.NominalFields):
    """What a policy would have cost if nothing shifts: four estimates."""

    @property
    def direct(self) -> Estimate:
        """The direct estimate."""
        return self.dm


class NominalDifference(_answers.NominalDifferenceFields):
    """By how much a policy's value is above another's if nothing shifts; there is no doubly robust estimate
    where the log is too small to fold."""

    @property
    def direct(self) -> Estimate:
        """The direct estimate."""
        return self.dm


class Transported(_answers.TransportedFields):
    """A policy, or one less another, in the target: the direct method, inverse odds weighting and
    doubly robust transport; and how many rows the reweighted log is worth. The last two estimates are
    None where the log has no row of what a policy does. Without a sample of the target, only known
    columns, the doubly robust one is all there is: by the log made like what is known."""

    @property
    def direct(self) -> Estimate | None:
        """The direct estimate; without a sample the doubly robust one."""
        return self.dm or self.dr


def _shown(
    value: float,
    limits: Limits | None,
    estimate: JointEstimate | None = None,
) -> tuple[float, float] | None:
    """The interval beside a value: the limits, or the estimate's; and the value itself, which of a smoothed set may be beyond the limits of the exact worst case."""
    if limits is not None:
        low, high = limits.lower, limits.upper
    elif estimate is not None and estimate.lower is not None and estimate.upper is not None:
        low, high = estimate.lower, estimate.upper
    else:
        return None
    return min(low, value), max(high, value)


def _shown_columns(
    shown: Sequence[tuple[float, float] | None], held_out: Sequence[HeldOutEstimate | None]
) -> dict[str, list[Any]]:
    """Columns of the intervals beside values, and of held-out values, if there are any."""
    columns: dict[str, list[Any]] = {}
    if any(shown):
        columns["interval_lower"] = [ends[0] if ends else None for ends in shown]
        columns["interval_upper"] = [ends[1] if ends else None for ends in shown]
    if any(held_out):
        columns["held_out"] = [one.value if one else None for one in held_out]
    return columns

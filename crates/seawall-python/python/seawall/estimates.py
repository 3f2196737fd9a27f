"""Estimates without a shift and in a target, and what is known of their accuracy."""

from __future__ import annotations

from dataclasses import dataclass


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
class NominalDifference:
    """By how much a policy's value is above another's if nothing shifts; the doubly robust estimate is
    NaN where the log is too small to fold."""

    dm: Estimate
    dr: Estimate


@dataclass(frozen=True)
class Transported:
    """A policy, or one less another, in the target: the direct method, inverse odds weighting and
    doubly robust transport; and how many rows the reweighted log is worth. The last two estimates are
    NaN where the log has no row of what a policy does."""

    dm: Estimate
    odds: Estimate
    dr: Estimate
    effective_rows: float


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

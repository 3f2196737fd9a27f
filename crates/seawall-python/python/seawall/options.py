"""What several questions of a study are about: a target, past groups, and sample splits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from seawall import _given, _native
from seawall._tables import ArrowStream

__all__ = ["History", "Splits", "Target"]

# A path or a table.
Sample = Union[str, "os.PathLike[str]", ArrowStream]
# For each column its mean, or the shares of its levels.
Known = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Target:
    """A target population: a sample of it, or what is known of it.

    Every question that takes a target takes a sample as it is, too: `target="older.csv"`.

    >>> import seawall
    >>> there = seawall.Target(known={"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}, size=1200)
    >>> seawall.demo().evaluate("constant:treat", radius=0.01, target=there, splits=0).balance.status
    'matched'

    Parameters
    ----------
    sample
        A path or a table with the context columns.
    known
        For single columns their means and shares, as in a study file: exact, as ranges `[low, high]`, or
        `within` so much. `describe` makes it from a table. What is said of a column replaces what the study
        says of it.
    size
        From how many people that is known.
    """

    sample: Sample | None = None
    known: Known | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        if self.sample is None and self.known is None and self.size is None:
            raise _native.ConfigError("a target is a sample (a path or a table), or what is known of it: known={...}")
        if self.sample is not None and (self.known is not None or self.size is not None):
            what = "known" if self.known is not None else "size"
            raise _native.ConfigError(
                f"{what}: the target has a sample, which says more; leave out one of the two"
            )


@dataclass(frozen=True, eq=False)
class History:
    """Past groups, which say how far predictions for another group were off.

    Every question that takes past groups takes the column that names them as it is, too: `history="site"`.

    >>> import seawall
    >>> past = seawall.History("site", least=100)
    >>> len(seawall.demo().backtest(past).groups) > 0
    True

    Parameters
    ----------
    by
        The column, or columns, whose values together name a group: a site, a country, a month. As in the
        study if not said.
    table
        Groups that are not in the data: a path or a table with the study's columns and those of `by`.
    least
        Rows that a group needs to be counted; 20 if not said.
    each, in_time, half_life
        Groups follow each other in time (`in_time=True`): a later one is predicted from earlier ones only.
        `each` (`"year"`, `"quarter"`, `"month"`, `"day"`) cuts the moments of `by` into periods; `half_life`
        is how many groups back one counts half.
    """

    by: str | Sequence[str] | None = None
    table: Sample | None = None
    least: float | None = None
    each: str | None = None
    in_time: bool | None = None
    half_life: float | None = None

    def __post_init__(self) -> None:
        _given.names("by", self.by)
        _given.maybe_real("least", self.least)
        _given.word("each", self.each)
        _given.maybe_truth("in_time", self.in_time)
        _given.maybe_real("half_life", self.half_life)

    def _section(self) -> dict[str, Any]:
        """What a study file says of them."""
        order = None if self.in_time is None else "time" if self.in_time else "none"
        return {
            "by": self.by, "path": self.table, "least": self.least, "order": order, "each": self.each,
            "half_life": self.half_life,
        }


@dataclass(frozen=True)
class Splits:
    """Sample splits, and what confidence is told of.

    Every question that takes splits takes their number as it is, too: `splits=0`.

    >>> import seawall
    >>> found = seawall.demo().evaluate("constant:treat", radius=0.01, splits=seawall.Splits(level=0.9))
    >>> found.policies[0].results[0].limits.level
    0.9

    Parameters
    ----------
    count
        How many; by default 5 to 20, as many as the random error of the limits asks for. The worst population
        found on one half of the rows is valued on the other. With 0 there are no confidence limits.
    level
        The confidence of limits.
    seed
        Of the random numbers.
    simultaneous
        With `by`, limits are widened so that those of all levels hold at once.
    bounds
        The paper's finite-sample bound, which fails with at most this probability.
    """

    count: int | None = None
    level: float = 0.95
    seed: int = 1
    simultaneous: bool = False
    bounds: float | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            _given.count("splits", self.count)
        _given.real("level", self.level)
        _given.count("seed", self.seed)
        _given.maybe_real("bounds", self.bounds)


def as_target(value: Any) -> Target | None:
    """A target, or a sample of one; None for what the study says."""
    return value if value is None or isinstance(value, Target) else Target(value)


def as_history(value: Any) -> History:
    """Past groups, or the columns that name them."""
    if value is None or isinstance(value, History):
        return value or History()
    return History(_given.names("history", value))


def as_splits(value: Any) -> Splits:
    """Splits, or their number."""
    return value if isinstance(value, Splits) else Splits(value)

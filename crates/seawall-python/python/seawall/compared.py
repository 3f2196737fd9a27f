"""The same policies under several sets of populations, side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from seawall import _native
from seawall._result import _made, _Result
from seawall.estimates import Estimate

__all__ = [
    "Agreement",
    "Choice",
    "Compared",
    "ComparedSet",
    "Covers",
    "Feared",
    "LeftOutSet",
    "NoWorse",
    "OnLog",
    "PolicyWorst",
]


@dataclass(frozen=True)
class Covers:
    """What every radius was chosen to cover: `goal` is `"target"`, `"group"` or `"chance"`, `value` what
    the worst case of the first policy is to reach, `nominal` what it costs where nothing shifts, `estimate`
    what it costs there, `lacking` the share of the people there in contexts that the log lacks."""

    goal: str
    containing: bool
    policy: str
    value: float
    nominal: float
    sentence: str
    name: str | None = None
    by: str | None = None
    estimate: Estimate | None = None
    lacking: float | None = None


@dataclass(frozen=True)
class PolicyWorst:
    """A policy's worst case over a set, between bounds that were proved."""

    policy: str
    value: float
    lower: float
    upper: float
    gap: float
    status: str
    unobserved_mass: float | None


@dataclass(frozen=True)
class NoWorse:
    """Whether the best policy is no worse than the others in every population of a set; `by` is by how much
    it could be worse than `against` in one."""

    holds: bool
    by: float
    against: str
    gap: float
    status: str


@dataclass(frozen=True)
class OnLog:
    """A policy beside that of the others which the log itself tells from it least, where nothing shifts:
    `told` if the interval of their paired `difference` leaves out 0 on the policy's side."""

    policy: str
    against: str
    difference: Estimate
    told: bool
    sentence: str


@dataclass(frozen=True)
class ComparedSet:
    """One set: its `radius` (infinite if there is none, and `why`), every policy's worst case at it, the
    policies that are `best` as fitted (several where they are alike), whether the log itself tells the only
    one from the others (`told`), and what changes most in the population where the first is worst
    (`fears`), of which the share `unseen` is where nobody was seen. `covers` is what the first policy's
    worst case is to reach; a set that is `beyond` that at radius 0 already does not count. `away` says what
    a radius measures."""

    _infinite: ClassVar[tuple[str, ...]] = ("radius",)

    set: str
    away: str
    radius: float
    beyond: bool
    policies: list[PolicyWorst]
    best: list[str]
    told: bool | None
    no_worse: NoWorse | None
    fears: str | None
    unseen: float | None
    covers: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class Choice:
    """A policy, and the sets among whose best it is."""

    policy: str
    sets: list[str]


@dataclass(frozen=True)
class Feared:
    """A change, and the sets that fear it; None if nothing changes."""

    change: str | None
    sets: list[str]


@dataclass(frozen=True)
class Agreement:
    """Which sets agree (None with one policy): `choices` and `fears` are those of most sets first,
    `sentences` say it in words."""

    agree: bool | None
    choices: list[Choice]
    fears: list[Feared]
    sentences: list[str]


@dataclass(frozen=True)
class LeftOutSet:
    """A set that is left out unless it is asked for, and why."""

    set: str
    why: str


@dataclass(frozen=True, repr=False)
class Compared(_Result):
    """The same policies under several sets, at radii that cover the same. The table has a row a set and a
    column a policy; `rows` are the sets as typed data."""

    direction: str
    covers: Covers
    policies: list[str]
    sets: list[ComparedSet]
    agreement: Agreement
    notes: list[str]
    on_log: OnLog | None = None
    left_out: list[LeftOutSet] | None = None
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Compared:
        return _made(cls, json.loads(text), _json=text)

    @property
    def rows(self) -> list[ComparedSet]:
        """Set by set."""
        return self.sets

    def set(self, name: str) -> ComparedSet:
        """One of the sets, as it is written or by its name alone."""
        exact = [one for one in self.sets if one.set == name]
        named = [one for one in self.sets if one.set.split(":")[0] == name]
        for found in (exact, named):
            if len(found) == 1:
                return found[0]
        written = [one.set for one in self.sets]
        raise _native.ConfigError(f"set {name!r} was not asked about; these were: {written}")

    def _title(self) -> str:
        return f"{self.covers.sentence} ({self.direction})"

    def _columns(self) -> dict[str, list[Any]]:
        def worst(row: ComparedSet, k: int) -> float | None:
            return float(row.policies[k].value) if row.policies else None

        def differs(row: ComparedSet, what: str) -> Any:
            return None if row.no_worse is None else getattr(row.no_worse, what)

        values = {name: [worst(row, k) for row in self.sets] for k, name in enumerate(self.policies)}
        return {
            "set": [row.set for row in self.sets],
            "radius": [float(row.radius) for row in self.sets],
            **values,
            "best": [", ".join(row.best) if row.best else None for row in self.sets],
            "told": [row.told for row in self.sets],
            "beyond": [row.beyond for row in self.sets],
            "no_worse": [differs(row, "holds") for row in self.sets],
            "by": [differs(row, "by") for row in self.sets],
            "fears": [row.fears for row in self.sets],
            "unseen": [row.unseen for row in self.sets],
        }

    def _foot(self) -> list[str]:
        refused = [f"{row.set}: {row.why}" for row in self.sets if row.why is not None]
        noise = [] if self.on_log is None else [self.on_log.sentence]
        said = self.agreement.sentences
        return [*said[:1], *noise, *said[1:], *refused, *(f"note: {note}" for note in self.notes)]

"""The same policies under several sets of populations, side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall import _answers, _native
from seawall._answers import (
    Agreement,
    Choice,
    ComparedSet,
    Covers,
    Feared,
    LeftOutSet,
    NoWorse,
    OnLog,
    PolicyWorst,
)
from seawall._result import _Result

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


@dataclass(frozen=True, repr=False)
class Compared(_Result, _answers.ComparedFields):
    """The same policies under several sets, at radii that cover the same. The table has a row a set and a
    column a policy; `rows` are the sets as typed data."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Compared:
        return cls.from_json(json.loads(text), _json=text)

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

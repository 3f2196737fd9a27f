"""The same question within each level of a column."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seawall import _answers
from seawall._answers import LevelAnswer
from seawall._result import _Result
from seawall.estimates import _shown_columns

__all__ = ["ByLevel", "LevelAnswer"]

if TYPE_CHECKING:
    from seawall.results import Evaluation


@dataclass(frozen=True, repr=False)
class ByLevel(_Result, _answers.ByLevelFields):
    """The answers within each level of a column that has rows: contexts restricted to the level, the
    radius within it, everything fitted to its rows alone.

    `confidence` is that of each level's limits and intervals, None if there are none; they hold for all
    levels at once if `simultaneous`.

    >>> import seawall
    >>> within = seawall.demo().evaluate("constant:treat", radius=0.01, by="sex").by
    >>> [(one.level, one.evaluation.policies[0].results[0].status) for one in within.levels]
    [('F', 'optimal'), ('M', 'optimal')]
    """

    _json: str = ""

    def to_json(self) -> str:
        """Its part of the JSON that the program prints."""
        return self._json

    def _title(self) -> str:
        sure = "" if self.confidence is None else f", {100 * self.confidence:.6g}% confidence"
        at_once = " for each so that all hold at once" if sure and self.simultaneous else ""
        directions = {one.evaluation.direction for one in self.levels if one.evaluation}
        better = f" ({', '.join(directions)})" if directions else ""
        return f"Worst cases by {self.column}{better}{sure}{at_once}"

    def _columns(self) -> dict[str, list[Any]]:
        rows = [
            (one, p, r)
            for one in self.levels
            for p in (one.evaluation.policies if one.evaluation else [])
            for r in p.results
        ]
        columns: dict[str, list[Any]] = {
            "level": [one.level for one, _, _ in rows],
            "rows": [float(one.rows) for one, _, _ in rows],
            "policy": [p.name for _, p, _ in rows],
            "radius": [float(r.radius) for _, _, r in rows],
            "cost_radius": [float(r.cost_radius) for _, _, r in rows],
            "estimate": [None if p.estimate is None else p.estimate.value for _, p, _ in rows],
            "value": [r.value for _, _, r in rows],
        }
        return columns | _shown_columns([r.shown for _, _, r in rows], [r.held_out for _, _, r in rows])

    def _foot(self) -> list[str]:
        return [f"{self.column} {one.level}: no answer: {one.problem}." for one in self.levels if one.problem]


def _by_level(given: dict[str, Any] | None, found: list[Evaluation | None]) -> ByLevel | None:
    """The levels' answers as typed data, in the order of the JSON."""
    if given is None:
        return None
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    levels = [
        LevelAnswer(**{**one, "evaluation": evaluation})
        for one, evaluation in zip(given["levels"], found)
    ]
    return ByLevel(**{**given, "levels": levels}, _json=text)

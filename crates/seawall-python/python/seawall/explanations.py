"""A fitted outcome model, told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall import _answers
from seawall._answers import (
    AdditiveModel,
    BoostedModel,
    Branch,
    CellsModel,
    Effect,
    ExplainedAction,
    ExplainedModel,
    ForestModel,
    Importance,
    Step,
    TableModel,
    TreeModel,
)
from seawall._result import _Result

__all__ = [
    "AdditiveModel",
    "BoostedModel",
    "Branch",
    "CellsModel",
    "Effect",
    "ExplainedAction",
    "ExplainedModel",
    "Explanation",
    "ForestModel",
    "Importance",
    "Step",
    "TableModel",
    "TreeModel",
]


@dataclass(frozen=True, repr=False)
class Explanation(_Result, _answers.ExplanationFields):
    """A fitted outcome model, action by action."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Explanation:
        return cls.from_json(json.loads(text), _json=text)

    def _title(self) -> str:
        return f"Outcome model: {self.kind}; {self.direction}"

    def _columns(self) -> dict[str, list[Any]]:
        """A line for each branch, step or feature."""
        lines: list[tuple[str, str, float | None, float | None]] = []
        for action in self.actions:
            lines += [(action.name, *line) for line in _lines(action.model)]
        return {
            "action": [line[0] for line in lines],
            "what": [line[1] for line in lines],
            "value": [line[2] for line in lines],
            "rows": [line[3] for line in lines],
        }


def _lines(model: ExplainedModel) -> list[tuple[str, float | None, float | None]]:
    if model.tree is not None:
        branches = model.tree.branches
        return [("  " * b.depth + (b.when or "everyone"), b.mean, b.rows) for b in branches]
    if model.additive is not None:
        lines: list[tuple[str, float | None, float | None]] = [("mean", model.additive.base, None)]
        for effect in model.additive.effects:
            for step in effect.steps:
                named = (f"{f}={level}" for f, level in zip(effect.features, step.levels))
                lines.append((", ".join(named), step.effect, step.rows))
        return lines
    worth = model.forest or model.boosted
    if worth is not None:
        return [(i.feature, i.share, None) for i in worth.importance]
    if model.cells is not None:
        return [("contexts with rows", float(model.cells.cells), None)]
    return [("values as they were given", None, None)]

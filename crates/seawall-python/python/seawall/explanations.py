"""A fitted outcome model, told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall._result import _made, _Result


@dataclass(frozen=True)
class Branch:
    """A branch of a tree: who comes here in words (None at the root), its rows and their mean."""

    depth: int
    when: str | None
    rows: float
    mean: float
    leaf: bool


@dataclass(frozen=True)
class TreeModel:
    """A regression tree: its branches from the root down."""

    branches: list[Branch]


@dataclass(frozen=True)
class Step:
    """One step of an effect: its levels, one text per feature, what it adds, and its rows."""

    levels: list[str]
    effect: float
    rows: float


@dataclass(frozen=True)
class Effect:
    """What a feature adds, or a pair of them; `in_order` if it is a curve."""

    features: list[str]
    in_order: bool
    steps: list[Step]


@dataclass(frozen=True)
class AdditiveModel:
    """A mean and what each feature adds to it; the penalty is in rows."""

    base: float
    penalty: float
    effects: list[Effect]


@dataclass(frozen=True)
class Importance:
    """A feature's share in lowering the squared error."""

    feature: str
    share: float


@dataclass(frozen=True)
class ForestModel:
    """Averaged trees, and what each feature is worth to them, the most first."""

    trees: int
    leaves: float
    importance: list[Importance]


@dataclass(frozen=True)
class BoostedModel:
    """Boosted trees, and what each feature is worth to them, the most first."""

    rounds: int
    depth: int
    shrinkage: float
    importance: list[Importance]


@dataclass(frozen=True)
class CellsModel:
    """Every context by itself: how many have rows."""

    cells: int


@dataclass(frozen=True)
class TableModel:
    """Values that were handed in."""


@dataclass(frozen=True)
class ExplainedModel:
    """One action's model: the field of its kind, the others being None."""

    tree: TreeModel | None = None
    additive: AdditiveModel | None = None
    forest: ForestModel | None = None
    boosted: BoostedModel | None = None
    cells: CellsModel | None = None
    table: TableModel | None = None


@dataclass(frozen=True)
class ExplainedAction:
    """What one action's values hang on."""

    name: str
    rows: float
    mean: float
    model: ExplainedModel


@dataclass(frozen=True, repr=False)
class Explanation(_Result):
    """A fitted outcome model, action by action."""

    kind: str
    direction: str
    actions: list[ExplainedAction]
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Explanation:
        return _made(cls, json.loads(text), _json=text)

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

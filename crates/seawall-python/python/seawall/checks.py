"""What is known of a study's data before any number."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from seawall._result import _made, _Result
from seawall.balance import Balance
from seawall.targets import TargetFacts


@dataclass(frozen=True)
class LeftOut:
    """Rows left out, by reason."""

    conditions: int
    no_action: int
    no_outcome: int = 0


@dataclass(frozen=True)
class TreeFacts:
    """How an action's regression tree was grown."""

    max_depth: int
    min_samples_leaf: float
    min_share: float
    min_samples_split: float
    ccp_alpha: float
    cross_validated: float | None = None


@dataclass(frozen=True)
class ModelRow:
    """One kind of outcome model beside the others: its squared error on rows left out, by how much
    that is above the lowest, and the standard errors of both over the folds; where they were worked
    out, the worst case as fitted, the honest one, and the gap between them."""

    kind: str
    error: float
    se: float
    above: float
    above_se: float
    chosen: bool
    as_fitted: float | None = None
    honest: float | None = None
    gap: float | None = None


@dataclass(frozen=True)
class ActionFacts:
    """One action in the data."""

    name: str
    rows: float
    mean: float
    observed_cells_without: int
    cells_without: int
    unseen: int
    leaves: int | None = None
    smallest_leaf: float | None = None
    tree: TreeFacts | None = None


@dataclass(frozen=True)
class FeatureFacts:
    """One context column in the data; `buys` says what a cost of 0.1 buys along it."""

    name: str
    kind: str
    levels: int
    ends: tuple[str, str]
    missing: float
    empty_levels: int
    weight: float | None
    buys: str


@dataclass(frozen=True)
class PropensityFacts:
    """The propensities."""

    source: str
    smallest: float
    largest: float
    clip: float | None


@dataclass(frozen=True, repr=False)
class Check(_Result):
    """Everything about a study's data, nothing robust. `models` are the kinds that `"auto"` chose
    from; `effective_rows` are those that a survey's uneven weights leave, `clusters` how many there
    are: None without. `balance` says how the log can be made what is known of a target."""

    files: list[str]
    rows_read: int
    left_out: LeftOut
    rows: float
    direction: str
    actions: list[ActionFacts]
    features: list[FeatureFacts]
    scale: str
    cells: int
    observed_cells: int
    needed_cells: int
    grid: bool
    support: str
    outcomes: int
    outcome_range: tuple[float, float]
    propensity: PropensityFacts
    model: str
    unseen: str
    notes: list[str]
    models: list[ModelRow] = field(default_factory=list)
    effective_rows: float | None = None
    clusters: int | None = None
    target: TargetFacts | None = None
    balance: Balance | None = None
    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Check:
        return _made(cls, json.loads(text), _json=text)

    def _title(self) -> str:
        worth = "" if self.effective_rows is None else f", worth {self.effective_rows:g}"
        clusters = "" if self.clusters is None else f" in {self.clusters} clusters"
        return (
            f"{self.rows_read} rows read, {self.rows:g} used{worth}{clusters}; {self.cells} contexts, "
            f"{self.observed_cells} observed; {self.direction}"
        )

    def _foot(self) -> list[str]:
        """How the log can be made like the target; the kinds of model, if they were compared."""
        lines = [self.balance._title()] if self.balance else []
        for row in self.models:
            parts = [f"squared error {row.error:.4g} on rows left out"]
            if row.as_fitted is not None and row.honest is not None:
                parts.append(f"worst case {row.as_fitted:.4g} as fitted, {row.honest:.4g} honest")
            lines.append(f"{row.kind}{' (chosen)' if row.chosen else ''}: {'; '.join(parts)}")
        return lines

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "action": [a.name for a in self.actions],
            "rows": [float(a.rows) for a in self.actions],
            "mean": [a.mean for a in self.actions],
            "observed_cells_without": [a.observed_cells_without for a in self.actions],
            "unseen": [a.unseen for a in self.actions],
        }

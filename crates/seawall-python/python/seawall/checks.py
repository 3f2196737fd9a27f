"""What is known of a study's data before any number."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall import _answers, balance  # noqa: F401
from seawall._answers import ActionFacts, FeatureFacts, LeftOut, ModelRow, PropensityFacts, TreeFacts
from seawall._result import _Result

__all__ = ["ActionFacts", "Check", "FeatureFacts", "LeftOut", "ModelRow", "PropensityFacts", "TreeFacts"]


@dataclass(frozen=True, repr=False)
class Check(_Result, _answers.CheckFields):
    """Everything about a study's data, nothing robust. `models` are the kinds that `"auto"` chose
    from; `effective_rows` are those that a survey's uneven weights leave, `clusters` how many there
    are: None without. `balance` says how the log can be made what is known of a target."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Check:
        return cls.from_json(json.loads(text), _json=text)

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
            if row.plug_in is not None and row.held_out is not None:
                parts.append(f"worst case {row.plug_in:.4g} plug-in, {row.held_out:.4g} held out")
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

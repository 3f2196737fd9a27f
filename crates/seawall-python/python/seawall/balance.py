"""How a log was made what is known of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seawall import _answers
from seawall._answers import ColumnBalance, FactBalance
from seawall._result import _Result

__all__ = ["Balance", "ColumnBalance", "FactBalance"]


@dataclass(frozen=True, repr=False)
class Balance(_Result, _answers.BalanceFields):
    """How the log was made like the target: `"matched"` or `"matched in part"` by what is known of it,
    `"by odds"` where rows weigh by the odds of belonging to a sample; the share of the log's own margins
    `mixed` in, how many rows each action's weighted ones are worth, and the target's share
    on levels that no row has (`unseen`). The table is column by column."""

    _json: str = ""

    def to_json(self) -> str:
        """Its part of the JSON that the program prints."""
        return self._json

    def _title(self) -> str:
        rows = ", ".join(f"{action} {n:.0f}" for action, n in self.effective_rows.items())
        part = f" ({'; '.join(self._why())})" if self._why() else ""
        return f"Balance: {self.status}{part}. Effective rows: {rows}"

    def _why(self) -> list[str]:
        mixed = [f"{100 * self.mixed:.3g}% of the log's own margins mixed in"] if self.mixed else []
        unseen = [f"{100 * self.unseen:.3g}% of the target on levels never seen"] if self.unseen else []
        return mixed + unseen

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "column": [c.name for c in self.columns],
            "before": [float(c.before) for c in self.columns],
            "after": [float(c.after) for c in self.columns],
        }

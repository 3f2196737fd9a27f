"""How far is far enough: radii that the data suggest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall import _answers
from seawall._answers import CostRadius, PolicyRadii, Spread, TargetDistance
from seawall._result import _Result
from seawall.comparisons import _compared

__all__ = ["CostRadius", "PolicyRadii", "Radius", "Spread", "TargetDistance"]


@dataclass(frozen=True, repr=False)
class Radius(_Result, _answers.RadiusFields):
    """Radii that the data suggest, and why."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str, sentences: list[str], direction: str) -> Radius:
        values = json.loads(text)
        comparisons = _compared(values.pop("comparisons"), sentences, direction)
        return cls.from_json(values, comparisons=comparisons, _json=text)

    def _title(self) -> str:
        return f"Recommended radii {self.recommended}: {self.words}"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "policy": [p.policy for p in self.policies],
            "limit": [p.limit for p in self.policies],
            "chance": [p.chance for p in self.policies],
            "saturation": [p.saturation for p in self.policies],
        }

    def _foot(self) -> list[str]:
        return [c.sentence for c in self.comparisons]

"""Another population, of which contexts are known: what it is, how far, how well the log covers it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from seawall import _answers
from seawall._answers import ActionCoverage, BeyondFacts, Coverage, StrataShift, TargetFacts
from seawall._result import _Result

__all__ = ["ActionCoverage", "BeyondFacts", "Coverage", "SampleDistance", "StrataShift", "TargetFacts"]


@dataclass(frozen=True, repr=False)
class SampleDistance(_Result, _answers.SampleDistanceFields):
    """How far a target is from a study's log, in the study's own ground cost: the truth is between
    `lower` and `upper`; `features` says what each column contributes. `kl` is None if it is infinite,
    and `kl_reason` says why."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> SampleDistance:
        return cls.from_json(json.loads(text), _json=text)

    def _title(self) -> str:
        return f"The target is {self.distance:.6g} away ({self.status})"

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "column": list(self.features),
            "distance": [float(cost) for cost in self.features.values()],
        }

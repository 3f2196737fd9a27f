"""Policies, learned ones among them, and what is certified of those."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from seawall import _answers, _native
from seawall._answers import (
    Against,
    HeldOutDifference,
    Honest,
    HonestValue,
    Mixture,
    Range,
    Runs,
    Schedule,
)
from seawall._native import Learned as NativeLearned
from seawall._result import _by_column, _Result

__all__ = [
    "Against",
    "HeldOutDifference",
    "Honest",
    "HonestValue",
    "Learned",
    "Mixture",
    "Policy",
    "Range",
    "Runs",
    "Schedule",
]


@dataclass(frozen=True)
class Policy:
    """A policy as it is saved: for each context, a probability for each action."""

    json: str

    def __post_init__(self) -> None:
        _native.words(self.json)

    @property
    def name(self) -> str:
        """Its name."""
        return str(json.loads(self.json)["name"])

    @property
    def actions(self) -> list[str]:
        """The actions, in the order of the probabilities."""
        return list(json.loads(self.json)["actions"])

    def explain(self) -> str:
        """What it does, in words."""
        return "\n".join(_native.words(self.json))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy file, whole or not at all."""
        path = os.fspath(path)
        part = f"{path}.part"
        with open(part, "w", encoding="utf-8") as file:
            file.write(self.json)
        os.replace(part, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a policy file."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls(file.read())
        except (_native.SeawallError, UnicodeDecodeError) as error:
            raise _native.InputError(f"{os.fspath(path)}: {error}") from None

    def __repr__(self) -> str:
        return f"Policy {self.name}\n{self.explain()}"


@dataclass(frozen=True, repr=False)
class Learned(_Result, _answers.LearnedFields):
    """A learned policy, and what is certified of it: its worst case, or if it was learned `against` a
    baseline its worst difference to that in one population. `no_honest` says why there is no `honest`
    value though it was wanted. `radius` is `math.inf` where there is none, `column_radii` are by column;
    `balance` says how the log was made what is known of a target; `groups` is the value on past groups
    that did not choose it, if `by` asked for it."""

    policy: Policy  # type: ignore[assignment]
    _json: str = ""
    _native: NativeLearned | None = field(default=None, compare=False)

    @classmethod
    def _of(cls, native: NativeLearned) -> Learned:
        text = native.json()
        values = json.loads(text)
        values.pop("policy")
        policy, groups = Policy(native.policy()), None
        given = values.pop("groups", None)
        if given is not None:
            from seawall.transfers import PastGroups

            groups = PastGroups._of(given, values["direction"])
        return cls.from_json(values, policy=policy, groups=groups, _json=text, _native=native)

    def _title(self) -> str:
        against = f" against {self.against.policy}" if self.against else ""
        return f"Learned policy{against} ({self.direction})\n{self.policy.explain()}"

    def _foot(self) -> list[str]:
        lines = [self.balance._title()] if self.balance else []
        lines += _by_column(self.column_radii)
        if self.against:
            certified = "Certified: no worse" if self.against.no_worse else "Not certified to be no worse"
            lines.append(f"{certified} than {self.against.policy} in any population of the set.")
        if self.honest:
            lines.append(f"Held-out worst case {self.honest.worst_case:.6g} ({self.honest.splits} sample splits).")
            for what, v in (("best constant", self.honest.best_constant), ("baseline", self.honest.baseline)):
                d = v.difference
                lines.append(f"Difference to {what} {v.policy} ({v.value:.6g}): {d.value:.3g} (SE {d.se:.2g}).")
        if self.no_honest:
            lines.append(f"Halves of the rows cannot be used to value it: {self.no_honest}.")
        if self.groups:
            lines.append(self.groups._words())
        return lines

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "set": [self.set],
            "radius": [float(self.radius)],
            "value": [self.value],
            "lower": [self.lower],
            "upper": [self.upper],
            "status": [self.status],
            "nominal_value": [self.nominal_value],
            "greedy_floor": [self.greedy_floor],
        }

    def traces(self) -> tuple[list[str], list[list[tuple[int, float, list[float]]]]]:
        """Stochastic runs: the parameters' names, and for each run its steps, λ and parameters."""
        if self._native is None:
            raise _native.ConfigError("this result was copied without its runs")
        return self._native.traces()

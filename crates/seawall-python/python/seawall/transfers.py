"""From here to there: what policies would cost in another population of which something is known, and
what recorded groups say of how wrong that is."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from typing import Any

from seawall import _answers, _native
from seawall._answers import GroupBounds, GroupScore, ProcedureRecord
from seawall._result import _Result
from seawall._tables import Table
from seawall.balance import Balance, ColumnBalance, FactBalance

__all__ = [
    "Allowance",
    "Backtest",
    "Balance",
    "ColumnBalance",
    "Description",
    "FactBalance",
    "GroupBounds",
    "GroupScore",
    "LeftOutGroups",
    "PastGroups",
    "ProcedureRecord",
    "Transfer",
    "Transfers",
]

_METHODS = {
    "rank": "by rank of what past groups needed",
    "prediction": "a prediction from what past groups needed",
    "couplings": "the worst coupling of what is known, and noise",
}


class Allowance(_answers.AllowanceFields):
    """What a bound is away from its centre: noise of the estimate and of what groups really cost, groups
    that differ by more than that, and columns that go together otherwise than in the log."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.sampling + self.between + self.couplings


class LeftOutGroups(_answers.LeftOutGroupsFields):
    """Groups that are not counted: with too few rows, without one of the actions, and those that the
    rest of the log cannot be made like."""

    def _words(self) -> list[str]:
        told = [
            (self.few_rows, "with too few rows (least)"),
            (self.lacking_action, "without one of the actions"),
            (self.unmatched, "that the others cannot be made like"),
        ]
        some = [f"{n} {why}" for n, why in told if n]
        return [f"Groups left out: {', '.join(some)}."] if some else []


@dataclass(frozen=True, repr=False)
class Transfer(_Result, _answers.TransferFields):
    """What a policy would cost in the target, or by how much more than another (`against`): the estimate
    (`centre`), and the `bound` that the cost is not above (the reward not below), None where the effective
    sample size is below 30. The table is of the past groups, `held` of which the allowance would have been
    enough for."""

    direction: str = "lower is better"
    _json: str = ""

    @property
    def name(self) -> str:
        """The policy, or the two."""
        return self.policy if self.against is None else f"{self.policy} − {self.against}"

    def to_json(self) -> str:
        """Its part of the JSON that the program prints."""
        return self._json

    def _title(self) -> str:
        side = "at most" if self.direction == "lower is better" else "at least"
        held = f"; held for {self.held} of {len(self.groups)} past groups" if self.groups else ""
        if self.bound is None:
            return f"{self.name}: {self.centre:.6g} in the target, no bound: too few rows ({self.direction})"
        return (
            f"{self.name}: {self.centre:.6g} in the target, {side} {self.bound:.6g} at {_percent(self.level)} "
            f"({_METHODS.get(self.method, self.method)}; {self.direction}){held}"
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "group": [g.group for g in self.groups],
            "rows": [float(g.rows) for g in self.groups],
            "predicted": [float(g.predicted) for g in self.groups],
            "real": [float(g.real) for g in self.groups],
            "real_se": [float(g.real_se) for g in self.groups],
            "score": [float(g.score) for g in self.groups],
            "held": [g.held for g in self.groups],
        }


@dataclass(frozen=True, repr=False)
class Transfers(_Result, _answers.TransfersFields):
    """What policies would cost in the target, with bounds and the `condition` that these hold on.

    `known` is what is known of the target, in words; `by` what past groups are recorded by, None if they
    are not. `differences` say by how much each policy is above the first one.

    >>> import seawall
    >>> found = seawall.demo().transfer(
    ...     "constant:treat", target=seawall.Target(known={"age": {"mean": 75}}), method="couplings")
    >>> found.transfers[0].allowance.between, found.balance.status
    (0.0, 'matched')
    >>> found.transfers[0].bound > found.transfers[0].centre
    True
    """

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Transfers:
        values = json.loads(text)
        made = {
            name: [_transfer(one, values["direction"]) for one in values.pop(name, [])]
            for name in ("transfers", "differences")
        }
        return cls.from_json(values, **made, _json=text)

    @property
    def balance(self) -> Balance:
        """How the log was made like the target: the same for every policy."""
        return self.transfers[0].balance

    def policy(self, policy: str | int) -> Transfer:
        """One of the policies: by its name, a constant one's action, or its number from 0."""
        names = [t.policy for t in self.transfers]
        if isinstance(policy, str):
            bare = [name.removeprefix("constant:") for name in names]
            among = names if policy in names else bare
            at = among.index(policy) if among.count(policy) == 1 else -1
        else:
            at = operator.index(policy)
        if not 0 <= at < len(names):
            raise _native.ConfigError(
                f"policy {policy!r} was not asked about, or is one of several of that name; these were, by "
                f"number from 0: {names}"
            )
        return self.transfers[at]

    def _title(self) -> str:
        known = "; ".join(self.known) or "nothing"
        first = self.transfers[0]
        how = _METHODS.get(first.method, first.method)
        side = "upper" if self.direction == "lower is better" else "lower"
        return (
            f"Known of the target: {known}\n{self.balance._title()}\n"
            f"{side.capitalize()} bounds at {_percent(first.level)}, {how} ({self.direction})"
        )

    def _columns(self) -> dict[str, list[Any]]:
        rows = [*self.transfers, *(self.differences or [])]
        return {
            "policy": [t.policy for t in rows],
            "against": [t.against for t in rows],
            "centre": [float(t.centre) for t in rows],
            "se": [float(t.se) for t in rows],
            "bound": [None if t.bound is None else float(t.bound) for t in rows],
            "sampling": [float(t.allowance.sampling) for t in rows],
            "between": [float(t.allowance.between) for t in rows],
            "couplings": [float(t.allowance.couplings) for t in rows],
            "held": [t.held if t.groups else None for t in rows],
            "of": [len(t.groups) if t.groups else None for t in rows],
        }

    def _foot(self) -> list[str]:
        return [self.condition, *self.left_out._words(), *(f"note: {note}" for note in self.notes)]


def _transfer(given: dict[str, Any], direction: str) -> Transfer:
    """One policy's answer as typed data."""
    return Transfer.from_json(given, direction=direction)


def _percent(level: float) -> str:
    return f"{100 * level:.6g}%"


class PastGroups(_answers.PastGroupsFields):
    """A learned policy on past groups that did not choose it: learned anew without each of so many
    `folds` of them, which are then predicted and looked at. By how much it is above the baseline in the
    target, and what it costs there by itself, with bounds from what those groups needed."""

    @classmethod
    def _of(cls, given: dict[str, Any], direction: str) -> PastGroups:
        both = {name: _transfer(given[name], direction) for name in ("difference", "value")}
        return cls(**{**given, **both})

    def _words(self) -> str:
        own, alone = self.difference, self.value
        return (
            f"On past groups by {self.by} that did not choose it (learned {self.folds} times without some of "
            f"them): to {own.against} {own.centre:.6g} in the target, {own.bound:.6g} with the allowance of "
            f"{_percent(own.level)} ({_METHODS.get(own.method, own.method)}); by itself {alone.centre:.6g}, "
            f"{alone.bound:.6g} with its allowance. The bound would have held for {own.held} of "
            f"{len(own.groups)} groups."
        )


@dataclass(frozen=True, repr=False)
class Backtest(_Result, _answers.BacktestFields):
    """How every way to a bound did on every past group: `"nominal"`, `"ball"`, `"balanced"`,
    `"couplings"`, `"history"`. `recommended` is the one with the least excess among those that held as
    often as they should. The table is of the procedures; `groups_frame()` is of the groups."""

    _json: str = ""

    @classmethod
    def _of(cls, text: str) -> Backtest:
        return cls.from_json(json.loads(text), _json=text)

    def _title(self) -> str:
        forward = ", each predicted from earlier ones" if self.in_time else ""
        return (
            f"{self.policy} on {len(self.groups)} past groups by {self.by}{forward}: bounds at "
            f"{_percent(self.level)} ({self.direction})"
        )

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "procedure": [p.name for p in self.procedures],
            "held": [p.held for p in self.procedures],
            "of": [p.of for p in self.procedures],
            "mean_excess": [float(p.mean_excess) for p in self.procedures],
            "median_excess": [float(p.median_excess) for p in self.procedures],
        }

    def groups_frame(self) -> Table:
        """The past groups as a table: a column of bounds for each procedure, None where it has
        none."""
        columns: dict[str, list[Any]] = {
            "group": [g.group for g in self.groups],
            "rows": [float(g.rows) for g in self.groups],
            "real": [float(g.real) for g in self.groups],
        }
        bounds = {p.name: [g.bounds.get(p.name) for g in self.groups] for p in self.procedures}
        return Table(columns | bounds)

    def _foot(self) -> list[str]:
        return [
            f"Recommended: {self.recommended}.",
            *self.left_out._words(),
            *(f"note: {note}" for note in self.notes),
        ]


@dataclass(frozen=True, repr=False)
class Description(_Result):
    """What a table says of its people, column by column: `toml` is the block of a study file, `known` the
    same as `known=` takes it, and `size` from how many people that is. Of levels `withheld` the number is
    told; `beyond` are levels that the study's log does not have.

    >>> import seawall
    >>> there = seawall.demo().describe(columns=["sex"])
    >>> list(there.known["sex"]["shares"]), there.size
    (['F', 'M'], 6000)
    """

    path: str
    rows: int
    left_out: int
    at_least: int
    size: int
    known: dict[str, Any]
    withheld: dict[str, int]
    beyond: dict[str, list[str]]
    toml: str
    _json: str = ""

    @classmethod
    def _of(cls, toml: str, text: str) -> Description:
        values = json.loads(text)
        return cls(**values.pop("target"), **values, toml=toml, _json=text)

    def _title(self) -> str:
        return f"What {self.path} says of its people: {self.rows} rows, worth {self.size}"

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[tuple[str, str | None, float | None, float | None, float | None]] = []
        for column, said in self.known.items():
            if "mean" in said:
                rows.append((column, None, None, float(said["mean"]), float(said["sd"])))
            rows += [(column, level, float(s), None, None) for level, s in said.get("shares", {}).items()]
        names = ["column", "level", "share", "mean", "sd"]
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}

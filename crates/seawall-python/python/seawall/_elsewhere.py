"""The questions of a study about other populations and past groups: the part of `seawall.Study` that is
about neither its own rows nor its own target.

Groups are counted when somebody asks about them: a file is read again, a table of an engine counted
again, and a table in memory is kept for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seawall import _engines, _given, _native, _policies
from seawall._native import Study as NativeStudy
from seawall._policies import PolicyLike
from seawall._tables import _data_name, _stream
from seawall.options import History, Sample, Target, as_history, as_target

if TYPE_CHECKING:
    from seawall.compared import Compared
    from seawall.transfers import Backtest, Description, Transfers

Progress = Callable[[str], object]


class SeawallWarning(UserWarning):
    """What a reader should know before trusting a number."""


def _read_twice(target: Any) -> None:
    """Refuses a target that can be read once only, where rows with and without past groups need it."""
    if type(target.sample if isinstance(target, Target) else target).__name__ == "RecordBatchReader":
        raise _native.InputError(
            "target is read once and needed twice, for the rows and for past groups; give a table"
        )


@dataclass(frozen=True)
class _Rows:
    """The table that a study's rows are from, what it is called, and the columns that the study names."""

    data: Any
    name: str
    columns: frozenset[str]

    def stream(self, study: NativeStudy, by: list[str], argument: str = "data") -> object:
        """The rows again, with the columns that name groups; counted by them, in an engine."""
        if _engines.is_engine(self.data):
            return _engines.counted(
                self.data, lambda *asked: _native.group_query(study, self.name, *asked)
            )
        if type(self.data).__name__ == "RecordBatchReader":
            raise _native.InputError(
                f"{self.name} was read once and cannot be read again to be counted by {', '.join(by)}; give "
                "the study a table"
            )
        return _stream(self.data, set(self.columns) | set(by), argument)


class _Elsewhere:
    """What `Study` asks about other populations and past groups."""

    _native: NativeStudy
    _policies: list[str]
    _rows: _Rows | None
    _aim: Any
    _past: Any
    _toward_own: NativeStudy | None
    _counted_by: tuple[tuple[str, ...], NativeStudy] | None

    _threads: int | None
    _progress: Progress | None

    def _workers(self) -> dict[str, Any]:
        """How questions are answered."""
        return {"threads": self._threads, "progress": self._progress}

    def _toward(self, target: Target | Sample | None, of: NativeStudy | None = None) -> NativeStudy:
        """The study asked about a target: without one, about what the study itself names."""
        aim, asked = as_target(target), self._native if of is None else of
        if aim is not None:
            own = aim.known is None and aim.sample is None
            return self._sample(self._about(asked, aim), self._aim if own else aim.sample)
        if asked is not self._native:
            return self._sample(asked, self._aim)
        if self._toward_own is None:
            self._toward_own = self._sample(asked, self._aim)
        return self._toward_own

    def _about(self, asked: NativeStudy, target: Target) -> NativeStudy:
        """A study with what is known of a target of which there is no sample."""
        if target.sample is not None:
            return asked
        return _native.with_known(asked, target.known, target.size)

    def _sample(self, asked: NativeStudy, target: Any) -> NativeStudy:
        """A study asked about a sample of its target; without one, about what it itself says."""
        if target is None:
            return asked.toward(**self._workers())
        if isinstance(target, (str, os.PathLike)):
            return asked.toward(path=target, **self._workers())
        columns, name = asked.target_columns(), _data_name(target)
        if _engines.is_engine(target):
            stream = _engines.selected(target, columns)
        else:
            stream = _stream(target, set(columns), "target")
        try:
            return asked.toward(data=stream, name=name, **self._workers())
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{name}: {error}") from None

    def _grouped(self, past: History) -> NativeStudy:
        """The study with the past groups that are asked about, its rows counted by them."""
        table = self._past if past.table is None else past.table
        is_table = table is not None and not isinstance(table, (str, os.PathLike))
        said: dict[str, Any] = dict(
            by=_given.names("by", past.by),
            path=_data_name(table) if is_table else table,
            least=past.least,
            in_time=past.in_time,
            each=past.each,
            half_life=past.half_life,
        )
        asked = _native.with_history(self._native, **said)
        columns, outside = _native.history(asked)
        if is_table:
            return self._beside(asked, table, columns)
        if not columns:
            return self._native
        if outside:
            return asked
        if self._counted_by is None or self._counted_by[0] != tuple(columns):
            self._counted_by = tuple(columns), self._again(asked, columns)
        return _native.with_history(self._counted_by[1], **said)

    def _again(self, asked: NativeStudy, by: list[str]) -> NativeStudy:
        """The study's own rows, counted by group."""
        if self._rows is None:
            return _native.grouped(asked, None, **self._workers())
        try:
            return _native.grouped(asked, self._rows.stream(asked, by), **self._workers())
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{self._rows.name}: {error}") from None

    def _beside(self, asked: NativeStudy, history: Any, by: list[str]) -> NativeStudy:
        """The study with the past groups of a table beside its own."""
        in_engine = _engines.is_engine(history)
        named = () if in_engine else getattr(history, "columns", ())
        # A polars frame passes on the columns that are named: all, for it need not be the study's own.
        rows = _Rows(history, _data_name(history), frozenset(map(str, named)))
        try:
            stream = rows.stream(asked, by, "table")
            return _native.with_past(asked, stream, rows.name, in_engine, **self._workers())
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{rows.name}: {error}") from None

    def transfer(
        self,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        target: Target | Sample | None = None,
        history: History | str | Sequence[str] | None = None,
        level: float = 0.95,
        method: str | None = None,
        compare: bool = True,
    ) -> Transfers:
        """What policies would cost in another population of which something is known, with a bound that
        past groups say how far to set. What is not said is as in the study.

        The log is weighed to be what is known of the target. Past groups, each left out and predicted from
        the others with the same knowledge, say how much to allow. Without them the allowance is the worst
        coupling of what is known, and noise: outcomes given context are then assumed not to move. The
        result's `condition` says what the bounds cover, and what they do not.

        >>> import seawall
        >>> study = seawall.demo()
        >>> known = {"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
        >>> there = seawall.Target(known=known, size=1200)
        >>> found = study.transfer(["constant:control", "constant:treat"], target=there)
        >>> [t.name for t in [*found.transfers, *found.differences]]
        ['constant:control', 'constant:treat', 'constant:treat − constant:control']

        Parameters
        ----------
        policy
            The policies, as for `evaluate`; the others are compared with the first unless `compare=False`.
        target
            What is known of the target: a sample of its contexts, or numbers about single columns.
        history
            Past groups: the column that names them, or more about them.
        level
            How often bounds are to hold; a level that the groups are too few for is refused with what they
            attain.
        method
            `"rank"`, `"prediction"` or `"couplings"`; if not said, by rank where there are groups enough for
            the level, else by prediction, and without groups by couplings.
        """
        from seawall.transfers import Transfers

        asked = self._toward(target, self._grouped(as_history(history)))
        found = Transfers._of(
            _native.transfer(
                asked,
                policy=_policies.policies(policy) or self._policies,
                level=_given.real("level", level),
                method=_given.word("method", method),
                compare=compare,
                **self._workers(),
            )
        )
        for note in found.notes:
            warnings.warn(note, SeawallWarning, stacklevel=2)
        return found

    def backtest(
        self,
        history: History | str | Sequence[str] | None = None,
        *,
        policy: PolicyLike | None = None,
        level: float = 0.95,
    ) -> Backtest:
        """Every way to a bound, tried on every past group: how often it held, by how much it exceeded what
        really happened, and which one that recommends. What is known of a group is what the study says will
        be known of the target; every column's margin if it says nothing. `policy` is one, the study's first
        if not said; `history` is as for `transfer`."""
        from seawall.transfers import Backtest

        given = _policies.policies(policy)
        if len(given) > 1:
            raise _native.ConfigError(f"policy is {len(given)} policies; expected one")
        return Backtest._of(
            _native.backtest(
                self._toward(None, self._grouped(as_history(history))),
                policy=given or self._policies[:1],
                level=_given.real("level", level),
                **self._workers(),
            )
        )

    def compare(
        self,
        policies: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        sets: str | Sequence[str] | None = None,
        target: Target | Sample | None = None,
        history: History | str | Sequence[str] | None = None,
        group: str | None = None,
        containing: bool = False,
    ) -> Compared:
        """The same policies under several sets of populations, at radii that are comparable: which sets
        agree on the decision, and which population each fears. What is not said is as in the study.

        Radii of different sets are in different units, so each set's is the least that covers the same
        thing: what the first policy costs in a target, or in a group that is left out of the log; else
        chance, the 95% limit of its estimate where nothing shifts. The result's `covers` says which.

        >>> import seawall
        >>> found = seawall.demo().compare(["constant:treat", "constant:control"], sets=["wasserstein", "kl"])
        >>> found.covers.goal, [row.set for row in found.rows]
        ('chance', ['wasserstein', 'kl'])
        >>> [abs(row.policies[0].value - found.covers.value) < 1e-6 for row in found.rows]
        [True, True]

        Parameters
        ----------
        policies
            The policies, as for `evaluate`; the first is the one whose value radii cover.
        sets
            Sets as they are written, `"kl"` or `"entropic:eta=100"`; a parameter that a set needs and that
            is not said is an example of it. If not said, every set whose value bounds the worst case and
            that needs nothing but the log.
        target
            What is to be covered, as for `transfer`.
        history, group
            In place of a target: `group` is one of the past groups (as for `transfer`). It is left out of the
            data, and what it really cost is covered.
        containing
            Each radius is the least at which the set contains the people of the target or the group.
        """
        one = _given.word("group", group)
        if history is not None and one is None:
            raise _native.ConfigError(
                "history names past groups: say with group=\"VALUE\" which of them is left out and covered"
            )
        if one is not None and target is not None:
            raise _native.ConfigError(
                "group and target: either a group or a target is covered; leave out one of the two"
            )
        from seawall.compared import Compared

        asked = self._toward(target) if one is None else self._grouped(as_history(history))

        found = Compared._of(
            _native.compare(
                asked,
                policy=_policies.policies(policies) or self._policies,
                sets=_given.names("sets", sets, "the name of a set"),
                group=one,
                containing=containing,
                **self._workers(),
            )
        )
        for note in found.notes:
            warnings.warn(note, SeawallWarning, stacklevel=2)
        return found

    def describe(
        self,
        target: Target | Sample | None = None,
        *,
        means: bool = False,
        columns: str | Sequence[str] | None = None,
        at_least: int = 0,
    ) -> Description:
        """What a table says of its people column by column: what can be sent where rows may not be. The
        study's own target if not said, or the log where there is none.

        `means=True` is for means in place of shares of binned numeric columns, too; `columns` for these
        alone; levels of fewer than `at_least` rows are withheld, and so many others that they cannot be
        told.

        >>> import seawall
        >>> print(seawall.demo().describe(columns="age", means=True).toml.splitlines()[0])
        # What trial.csv says of its people: 6000 rows.
        """
        asked = self._toward(target)
        names, least = _given.names("columns", columns), _given.count("at_least", at_least)
        from seawall.transfers import Description

        return Description._of(*_native.describe(self._native, asked, names, means, least))

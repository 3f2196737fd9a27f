"""The questions of a study about other populations and past groups: the part of `seawall.Study` that is
about neither its own rows nor its own target.

Groups are counted when somebody asks about them: a file is read again, a table of an engine counted
again, and a table in memory is kept for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from seawall import _engines, _given, _native
from seawall._native import Study as NativeStudy
from seawall._tables import ArrowStream, _data_name, _stream
from seawall._written import PathText, PolicyLike, _policies

if TYPE_CHECKING:
    from seawall.compared import Compared
    from seawall.transfers import Backtest, Description, Transfers

Progress = Callable[[str], object]
Target = Union["str", "os.PathLike[str]", ArrowStream]
Known = Mapping[str, Mapping[str, Any]]


class SeawallWarning(UserWarning):
    """What a reader should know before trusting a number."""


def _read_twice(target: Any) -> None:
    """Refuses a target that can be read once only, where rows with and without past groups need it."""
    if type(target).__name__ == "RecordBatchReader":
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

    def _toward(
        self,
        target: Target | None,
        threads: int | None = None,
        progress: Progress | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        of: NativeStudy | None = None,
    ) -> NativeStudy:
        """The study asked about a target: without one, about what the study itself names."""
        workers, told = _given.threads(threads), _given.progress(progress)
        asked = self._about(self._native if of is None else of, target, known, target_size)
        if target is None and known is None:
            if asked is not self._native:
                return self._sample(asked, self._aim, workers, told)
            if self._toward_own is None:
                self._toward_own = self._sample(asked, self._aim, workers, told)
            return self._toward_own
        return self._sample(asked, target, workers, told)

    def _about(
        self, asked: NativeStudy, target: Any, known: Known | None, target_size: float | None
    ) -> NativeStudy:
        """A study with what is known of a target of which there is no sample."""
        if known is None and target_size is None:
            return asked
        if target is not None and known is not None:
            raise _native.ConfigError("known: target is a sample and says more; leave out one of the two")
        return _native.with_known(asked, *_given.known(known, target_size))

    def _sample(
        self, asked: NativeStudy, target: Any, workers: int | None, told: Progress | None
    ) -> NativeStudy:
        """A study asked about a sample of its target; without one, about what it itself says."""
        if target is None:
            return asked.toward(threads=workers, progress=told)
        if isinstance(target, (str, os.PathLike)):
            return asked.toward(path=target, threads=workers, progress=told)
        columns, name = asked.target_columns(), _data_name(target)
        if _engines.is_engine(target):
            stream = _engines.selected(target, columns)
        else:
            stream = _stream(target, set(columns), "target")
        try:
            return asked.toward(data=stream, name=name, threads=workers, progress=told)
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{name}: {error}") from None

    def _grouped(
        self,
        by: str | Sequence[str] | None,
        history: Target | None,
        threads: int | None,
        progress: Progress | None,
        *,
        least: float | None = None,
        each: str | None = None,
        in_time: bool | None = None,
        half_life: float | None = None,
    ) -> NativeStudy:
        """The study with the past groups that are asked about, its rows counted by them."""
        workers, told = _given.threads(threads), _given.progress(progress)
        history = self._past if history is None else history
        is_table = history is not None and not isinstance(history, (str, os.PathLike))
        path = _data_name(history) if is_table else history
        said: dict[str, Any] = dict(
            by=_given.names("by", by),
            path=path,
            least=_given.maybe_real("least", least),
            in_time=_given.maybe_truth("in_time", in_time),
            each=_given.word("each", each),
            half_life=_given.maybe_real("half_life", half_life),
        )
        asked = _native.with_history(self._native, **said)
        columns, outside = _native.history(asked)
        if is_table:
            return self._beside(asked, history, columns, workers, told)
        if not columns:
            return self._native
        if outside:
            return asked
        if self._counted_by is None or self._counted_by[0] != tuple(columns):
            self._counted_by = tuple(columns), self._again(asked, columns, workers, told)
        return _native.with_history(self._counted_by[1], **said)

    def _again(
        self, asked: NativeStudy, by: list[str], workers: int | None, told: Progress | None
    ) -> NativeStudy:
        """The study's own rows, counted by group."""
        if self._rows is None:
            return _native.grouped(asked, None, workers, told)
        try:
            return _native.grouped(asked, self._rows.stream(asked, by), workers, told)
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{self._rows.name}: {error}") from None

    def _beside(
        self,
        asked: NativeStudy,
        history: Any,
        by: list[str],
        workers: int | None,
        told: Progress | None,
    ) -> NativeStudy:
        """The study with the past groups of a table beside its own."""
        in_engine = _engines.is_engine(history)
        named = () if in_engine else getattr(history, "columns", ())
        # A polars frame passes on the columns that are named: all, for it need not be the study's own.
        rows = _Rows(history, _data_name(history), frozenset(map(str, named)))
        try:
            stream = rows.stream(asked, by, "history")
            return _native.with_past(asked, stream, rows.name, in_engine, workers, told)
        except (TypeError, ValueError) as error:
            raise _native.InputError(f"{rows.name}: {error}") from None

    def transfer(
        self,
        policy: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        target: Target | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        by: str | Sequence[str] | None = None,
        history: Target | None = None,
        least: float | None = None,
        each: str | None = None,
        in_time: bool | None = None,
        half_life: float | None = None,
        level: float = 0.95,
        method: str | None = None,
        compare: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Transfers:
        """What policies would cost in another population of which something is known, with a bound that
        past groups say how far to set. What is not said is as in the study.

        The log is weighed to be what is known of the target. Past groups, each left out and predicted from
        the others with the same knowledge, say how much to allow. Without them the allowance is the worst
        coupling of what is known, and noise: outcomes given context are then assumed not to move. The
        result's `condition` says what the bounds cover, and what they do not.

        >>> import seawall
        >>> study = seawall.demo()
        >>> there = {"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
        >>> found = study.transfer(["constant:control", "constant:treat"], known=there, target_size=1200)
        >>> [t.name for t in [*found.transfers, *found.differences]]
        ['constant:control', 'constant:treat', 'constant:treat − constant:control']

        Parameters
        ----------
        policy
            The policies, as for `evaluate`; the others are compared with the first unless `compare=False`.
        target, known, target_size
            What is known of the target: a sample of its contexts, a path or a table; or for single columns
            their means and shares, as in a study file, `{"AGE": {"mean": 71.4}, "SEX": {"shares": {"F":
            0.47, "M": 0.53}}}` (exact, as ranges `[low, high]`, `within` so much), and from how many people
            that is. `describe` makes it from a table.
        by
            The column, or columns, whose values together name a past group: a site, a country, a month.
        history
            A table of past groups that are not in the log, a path or a frame, with the study's columns and
            those of `by`.
        least
            Rows that a past group needs to be counted; 20 if not said.
        each, in_time, half_life
            Groups follow each other in time (`in_time=True`): a later one is predicted from earlier ones
            only. `each` (`"year"`, `"quarter"`, `"month"`, `"day"`) cuts the moments of `by` into periods;
            `half_life` is how many groups back one counts half.
        level
            How often bounds are to hold; a level that the groups are too few for is refused with what they
            attain.
        method
            `"rank"`, `"prediction"` or `"couplings"`; if not said, by rank where there are groups enough for
            the level, else by prediction, and without groups by couplings.
        """
        asked = self._grouped(
            by, history, threads, progress, least=least, each=each, in_time=in_time, half_life=half_life
        )
        asked = self._toward(target, threads, progress, known, target_size, asked)
        from seawall.transfers import Transfers

        found = Transfers._of(
            _native.transfer(
                asked,
                policy=_policies(policy) or self._policies,
                level=_given.real("level", level),
                method=_given.word("method", method),
                compare=compare,
                threads=_given.threads(threads),
                progress=_given.progress(progress),
            )
        )
        for note in found.notes:
            warnings.warn(note, SeawallWarning, stacklevel=2)
        return found

    def backtest(
        self,
        by: str | Sequence[str] | None = None,
        *,
        policy: PolicyLike | None = None,
        history: Target | None = None,
        least: float | None = None,
        each: str | None = None,
        in_time: bool | None = None,
        half_life: float | None = None,
        level: float = 0.95,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Backtest:
        """Every way to a bound, tried on every past group: how often it held, by how much it exceeded what
        really happened, and which one that recommends. What is known of a group is what the study says will
        be known of the target; every column's margin if it says nothing. `policy` is one, the study's first
        if not said; `by` and the rest are as for `transfer`."""
        given = _policies(policy)
        if len(given) > 1:
            raise _native.ConfigError(f"policy is {len(given)} policies; expected one")
        asked = self._grouped(
            by, history, threads, progress, least=least, each=each, in_time=in_time, half_life=half_life
        )
        from seawall.transfers import Backtest

        return Backtest._of(
            _native.backtest(
                self._toward(None, threads, progress, of=asked),
                policy=given or self._policies[:1],
                level=_given.real("level", level),
                threads=_given.threads(threads),
                progress=_given.progress(progress),
            )
        )

    def compare(
        self,
        policies: PolicyLike | Sequence[PolicyLike] | None = None,
        *,
        sets: str | Sequence[str] | None = None,
        target: Target | None = None,
        known: Known | None = None,
        target_size: float | None = None,
        by: str | Sequence[str] | None = None,
        group: str | None = None,
        history: Target | None = None,
        least: float | None = None,
        each: str | None = None,
        containing: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
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
        target, known, target_size
            What is to be covered, as for `transfer`.
        by, group, history, least, each
            In place of a target: `group` is one of those that the column `by` names (as for `transfer`). It
            is left out of the log, and what it really cost is covered.
        containing
            Each radius is the least at which the set contains the people of the target or the group.
        """
        one = _given.word("group", group)
        if by is not None and one is None:
            raise _native.ConfigError(
                "by names the groups' column: say with group=\"VALUE\" which of them is left out and covered"
            )
        if one is not None and (target is not None or known is not None):
            raise _native.ConfigError(
                "group and target: either a group or a target is covered; leave out one of the two"
            )
        if one is None:
            asked = self._toward(target, threads, progress, known, target_size)
        else:
            asked = self._grouped(by, history, threads, progress, least=least, each=each)
        from seawall.compared import Compared

        found = Compared._of(
            _native.compare(
                asked,
                policy=_policies(policies) or self._policies,
                sets=_given.names("sets", sets, "the name of a set"),
                group=one,
                containing=containing,
                threads=_given.threads(threads),
                progress=_given.progress(progress),
            )
        )
        for note in found.notes:
            warnings.warn(note, SeawallWarning, stacklevel=2)
        return found

    def describe(
        self,
        target: Target | None = None,
        *,
        means: bool = False,
        columns: str | Sequence[str] | None = None,
        at_least: int = 0,
        threads: int | None = None,
        progress: Progress | None = None,
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
        asked = self._toward(target, threads, progress)
        names, least = _given.names("columns", columns), _given.count("at_least", at_least)
        from seawall.transfers import Description

        return Description._of(*_native.describe(self._native, asked, names, means, least))

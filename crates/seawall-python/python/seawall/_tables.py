"""Tables: those of other libraries as Arrow streams, and those that results are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from seawall import _native

if TYPE_CHECKING:
    import pandas
    import polars


@runtime_checkable
class ArrowStream(Protocol):
    """Any table that speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table:
    """A table: `to_pandas()` and `to_polars()` make it a frame, and whatever speaks the Arrow PyCapsule
    interface (pyarrow, duckdb) takes it as it is. None of these libraries is needed to have it.

    >>> import seawall
    >>> table = seawall.demo_data()
    >>> len(table), table.column_names[:3]
    (6000, ['patient', 'conscious', 'sex'])
    """

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self._columns = dict(columns)

    @property
    def column_names(self) -> list[str]:
        """The columns' names."""
        return list(self._columns)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values()), []))

    def __len__(self) -> int:
        return self.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _native.frame(self._columns).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return _native.frame(self._columns).__arrow_c_schema__()

    def to_pydict(self) -> dict[str, list[Any]]:
        """The columns as lists, None where a value is missing."""
        return {name: list(values) for name, values in self._columns.items()}

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame, with or without pyarrow installed: missing numbers are NaN; whole numbers and
        truths of which some are missing are pandas' own nullable ones."""
        import pandas

        columns = {
            name: pandas.Series(values, dtype=_dtype(values)) for name, values in self._columns.items()
        }
        return pandas.DataFrame(columns)

    def to_polars(self) -> polars.DataFrame:
        """A polars frame."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"Table of {self.num_rows} rows: {', '.join(self._columns)}"


def _dtype(values: list[Any]) -> Any:
    """What pandas is to keep a column as; None for what it does with texts by itself."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return object
    whole = None not in values
    if kinds <= {bool}:
        return "bool" if whole else "boolean"
    if kinds <= {int}:
        return "int64" if whole else "Int64"
    return "float64" if all(issubclass(kind, (int, float)) for kind in kinds) else None


class _Tabular:
    """What can be shown as a table."""

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def to_frame(self) -> Table:
        """The main table: `pyarrow.table`, duckdb and others that speak Arrow take it as it is."""
        return Table(self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """The main table as a pandas frame; pyarrow is not needed."""
        return self.to_frame().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The main table as a polars frame."""
        return self.to_frame().to_polars()


def _data_name(data: object) -> str:
    module = type(data).__module__.split(".")[0]
    return f"the {module} {type(data).__name__}"


def _check(data: Any, argument: str) -> None:
    """Refuses what is no table; a column of pandas is none, though it speaks Arrow."""
    column = type(data).__module__.split(".")[0] == "pandas"
    if not _is_pandas(data) and (column or not hasattr(data, "__arrow_c_stream__")):
        raise _native.InputError(
            f"{argument} is {_data_name(data)}; expected a path, or a table: a pandas, polars or pyarrow one, "
            "any other that speaks the Arrow PyCapsule interface, or one of an engine: Ibis, PySpark, a duckdb "
            "relation, a polars LazyFrame"
        )


def _aside(values: Mapping[str, Any], argument: str) -> tuple[dict[str, Any], Any]:
    """What is said; a table that is in the place of a path apart."""
    from seawall import _engines

    path = values.get("path")
    if path is None or isinstance(path, (str, os.PathLike)):
        return dict(values), None
    if not _engines.is_engine(path):
        _check(path, argument)
    if type(path).__name__ == "RecordBatchReader" and argument != "data":
        raise _native.InputError(
            f"{argument} can be read only once, and a study reads it whenever it is asked; give a table"
        )
    return {key: value for key, value in values.items() if key != "path"}, path


def _stream(data: Any, wanted: set[str], argument: str = "data") -> object:
    """An Arrow stream of a table, its columns ready to be told apart."""
    _check(data, argument)
    if _is_pandas(data):
        return _of_pandas(data, wanted)
    try:
        if type(data).__module__.split(".")[0] == "polars" and hasattr(data, "select"):
            # What is not asked for need not cross, whatever it holds.
            data = data.select([c for c in data.columns if c in wanted])
        return data
    except Exception as error:  # whatever the library calls it, it is the data
        raise _native.InputError(f"{_data_name(data)}: {error}") from None


def _of_pandas(data: Any, wanted: set[str]) -> object:
    """A pandas frame by its own Arrow stream, which is quick and needs pyarrow; where that is not there, or
    cannot take a column, by its NumPy arrays. Both say the same."""
    try:
        return _ArrowOnce(data.__arrow_c_stream__())
    except Exception:  # of whatever kind: the arrays are looked at next, and what is wrong is said of them
        from seawall import _pandas

        try:
            return _native.frame(_pandas.columns(data, wanted))
        except (_native.InputError, TypeError, ValueError) as error:
            raise _native.InputError(f"{_data_name(data)}: {error}") from None


class _ArrowOnce:
    """A stream that was made already."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


def _is_pandas(data: object) -> bool:
    """Whether a table is a frame of pandas, or of a library that made its own of one."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas" for kind in type(data).__mro__
    )

"""Tables that live in an engine: counted there by the query that `seawall sql` prints, so that counts
are all that comes here. No engine is imported: whoever has a table of it has imported it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from seawall import _native
from seawall._tables import _data_name

# What Ibis calls a backend, and whose SQL that is; the others' is translated from DuckDB's by Ibis.
_IBIS = {
    "duckdb": "duckdb",
    "postgres": "postgres",
    "pyspark": "spark",
    "databricks": "spark",
    "bigquery": "bigquery",
    "snowflake": "snowflake",
}

Query = Callable[[str, str, list[str]], str]
"""The query, given a dialect, what to call the table, and the columns it has."""


def is_engine(data: object) -> bool:
    """Whether a table is one that its own engine can count."""
    return _engine(data) is not None


def counted(data: Any, query: Query) -> object:
    """The counted table, as something that speaks the Arrow PyCapsule interface."""
    count = _engine(data)
    assert count is not None
    try:
        return count(data, query)
    except _native.SeawallError:
        raise
    except Exception as error:  # whatever the engine calls it
        first = str(error).strip().splitlines()
        raise _native.InputError(
            f"{_data_name(data)}: the engine did not finish the count: "
            f"{first[0] if first else type(error).__name__}. Nothing was kept of it and nothing was lost: "
            "the same call counts from the start"
        ) from error


def selected(data: Any, columns: list[str]) -> object:
    """The rows of some columns, of those that the table has, as something that speaks the Arrow PyCapsule
    interface: a sample of a target is read as it is."""
    try:
        return _rows(data, columns)
    except Exception as error:  # whatever the engine calls it
        first = str(error).strip().splitlines()
        raise _native.InputError(f"{_data_name(data)}: {first[0] if first else type(error).__name__}") from error


def _rows(data: Any, columns: list[str]) -> object:
    module = type(data).__module__.split(".")[0]
    has = data.collect_schema().names() if module == "polars" else data.columns
    # Of a table that has none of them one is enough to tell.
    there = [name for name in dict.fromkeys(columns) if name in has] or list(has)[:1]
    if module == "polars":
        return data.select(there).collect()
    if module == "pyspark":
        return _collected(data.select([data[f"`{name.replace('`', '``')}`"] for name in there]))
    if module == "ibis":
        return data.select(there).to_pyarrow()
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in there)
    return _arrow(data.project(quoted))


def _engine(data: object) -> Callable[[Any, Query], object] | None:
    module, name = type(data).__module__.split("."), type(data).__name__
    if module[0] in ("duckdb", "_duckdb") and name == "DuckDBPyRelation":
        return _duckdb
    if module[:2] == ["pyspark", "sql"] and name == "DataFrame":
        return _spark
    if module[0] == "ibis" and hasattr(data, "get_backend") and hasattr(data, "alias"):
        return _ibis
    if module[0] == "polars" and name == "LazyFrame":
        return _polars
    return None


def _view() -> str:
    import uuid

    return f"seawall_{uuid.uuid4().hex}"


def _duckdb(relation: Any, query: Query) -> object:
    view = _view()
    return _arrow(relation.query(view, query("duckdb", view, relation.columns)))


def _arrow(relation: Any) -> object:
    """A DuckDB relation that has been run."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return _native.frame(dict(zip(relation.columns, _lists(relation.fetchall(), len(relation.columns)))))
    # The name before DuckDB 1.4 is the second.
    return relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.fetch_arrow_table()


def _lists(rows: list[Any], columns: int) -> list[list[Any]]:
    """Rows as columns of truths, numbers and texts."""
    return [[_plain(row[k]) for row in rows] for k in range(columns)]


def _spark(frame: Any, query: Query) -> object:
    view, session = _view(), frame.sparkSession
    frame.createOrReplaceTempView(view)
    try:
        return _collected(session.sql(query("spark", view, frame.columns)))
    finally:
        session.catalog.dropTempView(view)


def _collected(frame: Any) -> object:
    """A frame of Spark's, brought here."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return _native.frame(dict(zip(frame.columns, _lists(frame.collect(), len(frame.columns)))))


def _plain(value: Any) -> Any:
    """A cell as a truth, a number or a text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _ibis(table: Any, query: Query) -> object:
    view, backend = _view(), table.get_backend()
    dialect = _IBIS.get(backend.name)
    text = query(dialect or "duckdb", view, list(table.columns))
    return table.alias(view).sql(text, dialect=None if dialect else "duckdb").to_pyarrow()


def _polars(frame: Any, query: Query) -> object:
    view, polars = _view(), sys.modules["polars"]
    text = query("polars", view, frame.collect_schema().names())
    return polars.SQLContext({view: frame}).execute(text, eager=False).collect()

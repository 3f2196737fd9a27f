"""Tables of other libraries, as Arrow streams."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from seawall import _native


@runtime_checkable
class ArrowStream(Protocol):
    """Any table that speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def _data_name(data: object) -> str:
    module = type(data).__module__.split(".")[0]
    return f"the {module} {type(data).__name__}"


def _stream(data: Any, wanted: set[str], argument: str = "data") -> object:
    """An Arrow stream of a table, its columns ready to be told apart."""
    if not hasattr(data, "__arrow_c_stream__"):
        raise _native.InputError(
            f"{argument} is {_data_name(data)}; expected a path, or a table that speaks the Arrow PyCapsule "
            "interface: a pandas (2.2 or later), polars or pyarrow table, or one of an engine: Ibis, PySpark, "
            "a duckdb relation, a polars LazyFrame"
        )
    try:
        if type(data).__module__.split(".")[0] == "polars" and hasattr(data, "select"):
            # What is not asked for need not cross, whatever it holds.
            data = data.select([c for c in data.columns if c in wanted])
        return data if not _is_pandas(data) else _ArrowOnce(data.__arrow_c_stream__())
    except Exception as error:  # whatever the library calls it, it is the data
        raise _native.InputError(f"{_data_name(data)}: {error}") from None


class _ArrowOnce:
    """A stream that was made already, so that a library's own errors can be told."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


def _is_pandas(data: object) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"

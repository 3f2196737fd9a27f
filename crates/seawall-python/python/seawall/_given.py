"""Arguments, checked once, with errors that name them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seawall import _native

Floats = npt.NDArray[np.float64]


def real(name: str, value: Any) -> float:
    """A number, not a list of them."""
    try:
        if isinstance(value, (str, bytes, bool)) or np.ndim(value) != 0:
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise _native.ConfigError(f"{name} is {value!r}; expected a number") from None


def reals(name: str, value: Any) -> list[float]:
    """A number or a list of them; none for None."""
    if value is None:
        return []
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        return [real(name, v) for v in value]
    return [real(name, value)]


def radii(value: Any) -> tuple[list[float], list[tuple[str, float]]]:
    """Radii for all columns together, or one for each of some columns."""
    if not isinstance(value, Mapping):
        return reals("radius", value), []
    if not value:
        raise _native.ConfigError("radius is {}; expected at least one column with its radius")
    found = [(str(column), real(f"radius of {column!r}", one)) for column, one in value.items()]
    for column, one in found:
        if not (one >= 0 and math.isfinite(one)):
            raise _native.ConfigError(f"radius of {column!r} is {one:g}; expected a finite number ≥ 0")
    return [], found


def count(name: str, value: Any, least: int = 0) -> int:
    """A whole number of at least so many."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise _native.ConfigError(f"{name} is {value!r}; expected a whole number from {least} on")
    return int(value)


def column(name: str, value: Any) -> str | None:
    """A column's name, or None."""
    if value is not None and not isinstance(value, str):
        raise _native.ConfigError(f"{name} is {value!r}; expected the name of a column")
    return value


def threads(value: Any) -> int | None:
    """How many threads, or None for all."""
    return None if value is None else count("threads", value, 1)


def memory(value: Any) -> str | None:
    """A size like 2GB, or None for the default."""
    if value is not None and not isinstance(value, str):
        raise _native.ConfigError(f"memory is {value!r}; expected a text like \"2GB\"")
    return value


def progress(value: Any) -> Callable[[str], object] | None:
    """What is called with words while work goes on."""
    if value is not None and not callable(value):
        raise _native.ConfigError(f"progress is {value!r}; expected a function of a text")
    return value  # type: ignore[no-any-return]


def array(name: str, value: Any, dimensions: int, *, missing: bool = False) -> Floats:
    """An array of finite numbers; with `missing`, NaN too."""
    if value is None:
        raise _native.InputError(f"{name} is missing")
    if not isinstance(value, (np.ndarray, Sequence)) and not hasattr(value, "__array__"):
        raise _native.InputError(
            f"{name} is a {type(value).__name__}; expected an array of {dimensions} dimensions"
        )
    try:
        if isinstance(value, np.ma.MaskedArray):
            value = np.ma.filled(value.astype(np.float64), np.nan)
        found = np.asarray(value)
        if found.dtype == object:
            found = np.array([[np.nan if gone(v) else v for v in np.atleast_1d(r)] for r in found], dtype=np.float64)
            found = found.reshape(np.asarray(value).shape)
        if found.dtype.kind not in "fiub":
            raise TypeError(f"it holds {found.dtype}")
        found = np.ascontiguousarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _native.InputError(f"{name}: expected numbers; {error}") from None
    if found.ndim != dimensions:
        raise _native.InputError(f"{name} has the shape {found.shape}; expected {dimensions} dimensions")
    if found.size == 0:
        raise _native.InputError(f"{name} is empty")
    bad = np.isinf(found) if missing else ~np.isfinite(found)
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        raise _native.InputError(f"{name}{list(at)} is {found[at]}; expected a finite number")
    return found


def gone(value: Any) -> bool:
    """Whether a value is a missing one, whatever a library calls it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def columns(contexts: Any) -> tuple[list[str], list[npt.NDArray[Any]]]:
    """The columns of a frame, a dictionary or an array, with their names."""
    if hasattr(contexts, "column_names") and hasattr(contexts, "to_pydict"):
        contexts = contexts.to_pydict()
    try:
        if isinstance(contexts, Mapping):
            names, raw = [str(c) for c in contexts], [_column(v) for v in contexts.values()]
        elif hasattr(contexts, "columns") and hasattr(contexts, "__getitem__"):
            names = [str(c) for c in contexts.columns]
            raw = [np.asarray(contexts[c]) for c in contexts.columns]
        elif not isinstance(contexts, (np.ndarray, Sequence)) and not hasattr(contexts, "__array__"):
            raise _native.InputError(
                f"contexts is a {type(contexts).__name__}; expected an array of 2 dimensions or a frame"
            )
        else:
            table = _column(contexts)
            table = table[:, None] if table.ndim == 1 else table
            if table.ndim != 2:
                raise _native.InputError(f"contexts has the shape {table.shape}; expected 2 dimensions")
            names, raw = [f"x{k}" for k in range(table.shape[1])], list(table.T)
    except ValueError as error:
        raise _native.InputError(f"contexts: {error}") from None
    if not raw or any(c.size == 0 for c in raw):
        raise _native.InputError("contexts is empty")
    for name, column in zip(names, raw):
        if column.ndim != 1:
            raise _native.InputError(f"contexts[{name!r}] has the shape {column.shape}; expected one dimension")
    return names, raw


def _column(values: Any) -> npt.NDArray[Any]:
    """Values as an array; numbers among texts stay numbers."""
    found = np.asarray(values)
    if found.dtype.kind in "US" and not isinstance(values, np.ndarray):
        return np.asarray(values, dtype=object)
    return found


def is_number(column: npt.NDArray[Any]) -> bool:
    """Whether a column holds numbers, missing ones apart."""
    if column.dtype.kind in "fiub":
        return True
    if column.dtype != object:
        return False
    present = [v for v in column.tolist() if not gone(v)]
    return bool(present) and all(hasattr(v, "__float__") and not isinstance(v, str) for v in present)


def kinds_of(kinds: Any, names: list[str], raw: list[npt.NDArray[Any]]) -> list[str]:
    """The kind of each column."""
    if kinds is None:
        return ["numeric" if is_number(c) else "nominal" for c in raw]
    if isinstance(kinds, Mapping):
        if sorted(map(str, kinds)) != sorted(names):
            raise _native.ConfigError(f"kinds names the columns {list(kinds)}; there are {names}")
        return [str(kinds[n]) for n in names]
    if isinstance(kinds, str):
        raise _native.ConfigError(f"kinds is {kinds!r}; expected a list, one kind for each column")
    found = [str(k) for k in kinds]
    if len(found) != len(names):
        raise _native.ConfigError(f"{len(found)} kinds for {len(names)} columns")
    return found


def coded(
    names: list[str], raw: list[npt.NDArray[Any]], kinds: list[str]
) -> tuple[list[Floats], list[list[str] | None]]:
    """Columns as numbers: those that are not numeric by their levels, in sorted order, and the labels."""
    found: list[Floats] = []
    labels: list[list[str] | None] = []
    for name, kind, column in zip(names, kinds, raw):
        if kind == "numeric":
            found.append(array(f"contexts[{name!r}]", column, 1, missing=True))
            labels.append(None)
            continue
        codes, levels = _levels(name, column)
        found.append(codes)
        labels.append([str(level) for level in levels])
    return found, labels


def _levels(name: str, column: npt.NDArray[Any]) -> tuple[Floats, list[Any]]:
    """Each value's place among the distinct ones in sorted order, NaN where missing; and those. Texts
    are the same level where a table's reader takes them for the same: "1" and "1.0" are."""
    if column.dtype.kind in "US":
        return _native.levels(column.astype(str).tolist())
    if column.dtype.kind in "fiub":
        missing = np.isnan(column) if column.dtype.kind == "f" else None
        levels, places = np.unique(column, return_inverse=True)
        codes = places.reshape(column.shape).astype(np.float64)
        if missing is not None and missing.any():
            codes[missing] = np.nan
            levels = levels[~np.isnan(levels)]
        return codes, levels.tolist()
    values = column.tolist()
    if all(isinstance(v, str) or gone(v) for v in values):
        return _native.levels([None if gone(v) else str(v) for v in values])
    try:
        listed = sorted({v for v in values if not gone(v)})
    except TypeError:
        raise _native.InputError(f"contexts[{name!r}] holds values of several types; expected one") from None
    place = {level: k for k, level in enumerate(listed)}
    return np.array([np.nan if gone(v) else place[v] for v in values], dtype=np.float64), listed


def maybe_real(name: str, value: Any) -> float | None:
    """A number, or None."""
    return None if value is None else real(name, value)


def maybe_truth(name: str, value: Any) -> bool | None:
    """True, False or None."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise _native.ConfigError(f"{name} is {value!r}; expected True or False")
    return None if value is None else bool(value)


def word(name: str, value: Any) -> str | None:
    """A text, or None."""
    if value is not None and not isinstance(value, str):
        raise _native.ConfigError(f"{name} is {value!r}; expected a text")
    return value


def names(name: str, value: Any, what: str = "the name of a column") -> list[str]:
    """A column's name (or what else is expected) or a list of them; none for None."""
    if value is None:
        return []
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (Sequence, np.ndarray)) or not all(isinstance(v, str) for v in listed):
        raise _native.ConfigError(f"{name} is {value!r}; expected {what}, or a list of them")
    return [str(v) for v in listed]

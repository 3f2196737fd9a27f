"""The columns of a pandas frame as the native side takes them, without pyarrow: what pandas' own Arrow
stream would say, from NumPy arrays."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np

from seawall import _native
from seawall._given import gone


def columns(frame: Any, wanted: set[str]) -> dict[str, Any]:
    """Every column by its name as text; those that nobody asks for are there and empty. Levels of an index
    that have names are columns, too, as pandas' own stream has them."""
    found: dict[str, Any] = {}
    for place, name in enumerate(map(str, frame.columns)):
        if name in found and name in wanted:
            raise _native.InputError(f"there are two columns {name!r}")
        found[name] = _named(name, frame.iloc[:, place].array) if name in wanted else None
    if type(frame.index).__name__ != "RangeIndex":
        for level, name in enumerate(frame.index.names):
            if name is not None and str(name) not in found and str(name) in wanted:
                found[str(name)] = _named(str(name), frame.index.get_level_values(level).array)
    return found


def _named(name: str, values: Any) -> Any:
    try:
        return _column(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise _native.InputError(f"column {name!r}: {error}") from None


def _column(values: Any) -> Any:
    """An array of pandas' as `_native.frame` takes it."""
    dtype = values.dtype
    if hasattr(values, "codes") and hasattr(values, "categories"):
        return _categories(values)
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "iufb":
        # A nullable one: its values with something in the gaps, and the gaps.
        filled = values.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _wide(filled), np.asarray(values.isna())
    if getattr(dtype, "kind", "O") == "M":
        return _moments(values)
    plain = np.asarray(values)
    if plain.dtype.kind in "iufb":
        return _wide(plain)
    if plain.dtype.kind not in "OUT" or type(values).__name__ in ("PeriodArray", "IntervalArray"):
        raise TypeError(f"it holds {dtype}; expected numbers, truths, texts or moments")
    import pandas

    if pandas.api.types.infer_dtype(plain, skipna=True) == "string":
        places, labels = pandas.factorize(plain)
        return places.astype(np.int32), [str(label) for label in labels]
    return _objects(plain.astype(object).tolist())


def _wide(plain: Any) -> Any:
    """Numbers as wide as the native side takes them: short floats stay short, for 0.1 is 0.1."""
    kind, size = plain.dtype.kind, plain.dtype.itemsize
    wide = {"i": np.int64, "u": np.uint64, "b": np.bool_, "f": np.float32 if size == 4 else np.float64}
    return np.ascontiguousarray(plain, dtype=wide[kind])


def _moments(values: Any) -> Any:
    """Moments as counts since 1970: which are missing, the unit, and the zone where there is one."""
    zone = getattr(values.dtype, "tz", None)
    plain = np.asarray(values if zone is None else values.tz_convert(None))
    shift = zone.utcoffset(None) if isinstance(zone, datetime.timezone) else datetime.timedelta()
    minutes = int(shift.total_seconds() // 60)
    offset = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    unit = np.datetime_data(plain.dtype)[0]
    return plain.view(np.int64), np.isnat(plain), unit, None if zone is None else offset


def _categories(values: Any) -> Any:
    """Categories by their places among the labels; where these are no texts, as what they are."""
    places = np.asarray(values.codes, dtype=np.int32)
    missing = places < 0
    if len(values.categories) == 0:
        return [None] * len(places)
    labels = _column(values.categories.array)
    if isinstance(labels, np.ndarray):
        return labels[places], missing
    if isinstance(labels, list):
        return [None if absent else labels[place] for absent, place in zip(missing, places)]
    if isinstance(labels[1], list):
        return np.where(missing, np.int32(-1), labels[0][places]), labels[1]
    return (labels[0][places], labels[1][places] | missing, *labels[2:])


def _objects(values: list[Any]) -> Any:
    """Any objects that are not all texts: truths, numbers, decimals or moments, all of one kind, None where missing."""
    cells = [None if gone(value) else value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in cells if value is not None}
    if kinds in (set(), {bool}, {float}, {int, float}):
        return cells
    if kinds == {int}:
        # Beyond what is a number to a machine they are names.
        fit = all(value is None or -(2**63) <= value < 2**63 for value in cells)
        return cells if fit else [None if value is None else str(value) for value in cells]
    if kinds <= {decimal.Decimal, int}:
        return [None if value is None else str(value) for value in cells]
    if kinds == {datetime.date}:
        return [None if value is None else value.isoformat() for value in cells]
    if all(issubclass(kind, datetime.datetime) for kind in kinds):
        import pandas

        return _moments(pandas.to_datetime(pandas.Series(cells)).array)
    named = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"it holds {named}; expected numbers, truths, texts or moments, all of one kind")

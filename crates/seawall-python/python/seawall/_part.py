"""How JSON becomes typed data."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import typing
from typing import Any, ClassVar, TypeVar

Made = TypeVar("Made", bound="Part")


class _Classes(dict[str, Any]):
    """By its name the class that an object of JSON becomes: the generated one, or the one written by hand on it,
    whose module is looked at when it is needed."""

    def __missing__(self, name: str) -> Any:
        from seawall import _answers

        return getattr(importlib.import_module(_answers.MODULES[name]), name)


_CLASSES = _Classes()


class Part:
    """An object of an answer."""

    # Numbers that are infinite where JSON has none.
    _infinite: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        _CLASSES[cls.__name__] = cls

    @classmethod
    def from_json(cls: type[Made], values: dict[str, Any], **more: Any) -> Made:
        """From what JSON says. `more` is what it does not say; a key that the class lacks is an error: nothing
        is dropped."""
        # JSON's `lambda` is no name in Python.
        given = {("lambda_" if key == "lambda" else key): value for key, value in values.items()}
        hints = _hints(typing.cast(Any, cls))
        fields = {
            key: _built(hints.get(key), value, math.inf if key in cls._infinite else math.nan)
            for key, value in given.items()
            if key not in more
        }
        return cls(**fields, **more)


@functools.lru_cache(maxsize=None)
def _hints(kind: type) -> dict[str, Any]:
    """The types of a class's fields."""
    return typing.get_type_hints(kind, localns=_CLASSES)


def _built(kind: Any, value: Any, absent: float) -> Any:
    """A value of JSON as the type that a field asks for; a number that JSON cannot hold is `absent`."""
    if value is None:
        return absent if kind is float else None
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return [_built(args[0], item, absent) for item in value]
    if origin is tuple:
        return tuple(_built(one, item, absent) for one, item in zip(args, value))
    if origin is dict:
        return {key: _built(args[1], item, absent) for key, item in value.items()}
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return _built(next(a for a in args if a is not type(None)), value, absent)
    if isinstance(kind, type) and issubclass(kind, Part) and dataclasses.is_dataclass(kind):
        return kind.from_json(value)
    return value

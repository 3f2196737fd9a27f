"""Arguments as a study file says them, and policies as they are typed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from seawall import _engines, _given, _native, _tables
from seawall.learned import Policy

PathText = Union[str, "os.PathLike[str]"]
PolicyLike = Union[str, "os.PathLike[str]", Policy]


def _value(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_value(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise _native.ConfigError(f"{value!r} ({type(value).__name__}) cannot be part of a study")


def _whole(said: Mapping[str, Any]) -> str:
    """A study as a dictionary, as its file's text; what is None is not said."""
    first, parts = [], []
    for name, value in said.items():
        try:
            if isinstance(value, Mapping):
                parts.append(_section(_value(str(name)), _said(value)))
            elif _is_list(value) and len(value) and all(isinstance(one, Mapping) for one in value):
                parts += [_section(f"[{_value(str(name))}]", _said(one)) for one in value]
            elif value is not None:
                first.append(f"{_value(str(name))} = {_value(value)}\n")
        except _native.ConfigError as error:
            raise _native.ConfigError(f"study: {name}: {error}") from None
    return "\n".join([*first, *parts])


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of something, None left out at every depth."""
    kept = {key: value for key, value in values.items() if value is not None}
    return {key: _said(value) if isinstance(value, Mapping) else value for key, value in kept.items()}


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def _section(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_value(str(k))} = {_value(v)}" for k, v in values.items() if v is not None]
    return f"[{name}]\n" + "\n".join(lines) + "\n"


def _policy_section(policy: PolicyLike) -> str:
    text = policy.json if isinstance(policy, Policy) else os.fspath(policy)
    if text.startswith("constant:"):
        values = {"kind": "constant", "action": text.removeprefix("constant:")}
    elif text in ("uniform", "behaviour", "greedy"):
        values = {"kind": text}
    else:
        values = {"kind": "file", "path": os.path.abspath(text)}
    return f"[[policy]]\n" + "\n".join(f"{k} = {_value(v)}" for k, v in values.items()) + "\n"


def _robust_section(
    context: tuple[str, Any], cost: tuple[str, Any], eta: float | None, support: str | None
) -> str:
    """The sets of contexts and of outcomes, each by its name and radii."""

    def ball(argument: str, name: str, radius: Any) -> dict[str, Any]:
        radius = _given.reals(argument, radius) if isinstance(radius, np.ndarray) else radius
        # Couplings of what is known of the target need no radius.
        shape: dict[str, Any] = {"set": name}
        if radius is not None or name != "couplings":
            shape["radius"] = 0 if radius is None else radius
        return shape | {"eta": eta} if name == "entropic" and eta is not None else shape

    sets = {"context": ball("radius", *context), "cost": ball("cost_radius", *cost)}
    return _section("robust", sets | {"support": support})


def _target_section(target: Any) -> tuple[str, Any]:
    """What is said of a target; and the table, if that is one."""
    values = target if isinstance(target, Mapping) else {"path": target}
    said, table = _aside(values, "target")
    return _section("target", _from_here(said)), table


def _history_section(history: Any) -> tuple[str, Any]:
    """What is said of past groups; and their table, if it is one."""
    is_said = isinstance(history, Mapping)
    values: Mapping[str, Any] = history if is_said else {"by": _given.names("history", history)}
    said, table = _aside(values, "history")
    return _section("history", _from_here(said)), table


def _from_here(said: dict[str, Any]) -> dict[str, Any]:
    """The same wherever one is."""
    path = said.get("path")
    return said | {"path": path and os.path.abspath(path)}


def _aside(values: Mapping[str, Any], argument: str) -> tuple[dict[str, Any], Any]:
    """What is said; a table that is in the place of a path apart."""
    path = values.get("path")
    if path is None or isinstance(path, (str, os.PathLike)):
        return dict(values), None
    if not _engines.is_engine(path):
        _tables._check(path, argument)
    if type(path).__name__ == "RecordBatchReader" and argument != "data":
        raise _native.InputError(
            f"{argument} can be read only once, and a study reads it whenever it is asked; give a table"
        )
    return {key: value for key, value in values.items() if key != "path"}, path


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Policy)) or not isinstance(value, (Sequence, np.ndarray)):
        return [value]
    return list(value)


def _policies(value: Any, argument: str = "policy") -> list[str]:
    """Policies as the native side takes them: as typed, or the JSON of saved ones."""
    texts = []
    for policy in _listed(value):
        if isinstance(policy, Policy):
            texts.append(policy.json)
        elif isinstance(policy, (str, os.PathLike)):
            texts.append(os.fspath(policy))
        else:
            raise _native.ConfigError(
                f"{argument} {policy!r}: expected uniform, behaviour, greedy, constant:ACTION, a file or "
                "a seawall.Policy"
            )
    return texts


def _named(*parts: Any) -> set[str]:
    """Every name that parts of a study mention: keys and texts."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, str):
            names.add(part)
        elif isinstance(part, Mapping):
            names |= {str(k) for k in part} | _named(*part.values())
    return names

"""What every result has, and how JSON becomes typed data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from seawall import _native
from seawall._part import Made, Part
from seawall._tables import _Tabular

if TYPE_CHECKING:
    from seawall._html import Chart


def _number(x: object) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def _part(given: dict[str, Any]) -> str:
    """A part of a result as JSON."""
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


class _Shown(_Tabular):
    """What is shown as a table: by `repr`, and in notebooks with a picture where there is one."""

    def _title(self) -> str:
        return type(self).__name__

    def _foot(self) -> list[str]:
        """Sentences below the table."""
        return []

    def _small(self) -> list[str]:
        """The columns that a notebook shows."""
        return list(self._columns())

    def _chart(self) -> Chart | None:
        """What a notebook draws."""
        return None

    def __repr__(self) -> str:
        from seawall._html import printable

        columns = self._columns()
        rows = [list(columns), *([_number(v) for v in row] for row in zip(*columns.values()))]
        widths = [max(len(row[k]) for row in rows) for k in range(len(columns))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return printable("\n".join([self._title(), *lines, *self._foot()]))

    def _repr_html_(self) -> str:
        from seawall._html import shown

        columns, small = self._columns(), self._small()
        some = {name: columns[name] for name in small}
        more = len(columns) - len(some)
        return shown(self._title(), some, self._foot(), self._chart(), more)


class _Result(_Shown, Part):
    """What every result has."""

    _json: str

    @classmethod
    def from_json(cls: type[Made], values: dict[str, Any], **more: Any) -> Made:
        """From what JSON says; `more` is what it does not say."""
        return super().from_json(values, **({"_json": _part(values)} | more))

    def __getstate__(self) -> dict[str, Any]:
        """What can be copied to another process: all but the populations."""
        return {k: None if k == "_native" else v for k, v in self.__dict__.items()}

    def __copy__(self) -> Any:
        """Nothing changes, so a copy is the same."""
        return self

    def to_json(self) -> str:
        """The JSON that the program prints, byte for byte."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        found: dict[str, Any] = json.loads(self._json)
        return found


@dataclass(frozen=True)
class Share:
    """A level's share, now and in the worst case."""

    feature: str
    level: str
    nominal: float
    worst: float


class Shares(_Shown, list[Share]):
    """A population column by column: a list of every level's share, now and in the worst case, and a
    table of them.

    >>> import seawall
    >>> found = seawall.demo().evaluate("constant:treat", radius=0.01, splits=0)
    >>> list(found.worst_population().to_pandas().columns)
    ['feature', 'level', 'nominal', 'worst']
    """

    def _title(self) -> str:
        return "Shares of the population, now and in the worst case"

    def _columns(self) -> dict[str, list[Any]]:
        names = [f.name for f in dataclasses.fields(Share)]
        return {name: [getattr(share, name) for share in self] for name in names}


def _shares(marginals: list[tuple[str, list[str], list[float], list[float]]]) -> Shares:
    return Shares(
        Share(name, label, now, then)
        for name, labels, nominal, worst in marginals
        for label, now, then in zip(labels, nominal, worst)
    )


def _by_column(radii: dict[str, float]) -> list[str]:
    """What moves along single columns may cost, in a sentence, if that was said by column."""
    each = ", ".join(f"{name} {radius:.6g}" for name, radius in radii.items())
    return [f"Radius by column: {each}."] if each else []


class _AtRadii(Protocol):
    """A result at a radius and a cost radius."""

    @property
    def radius(self) -> float: ...
    @property
    def cost_radius(self) -> float: ...


def _placed(results: Sequence[_AtRadii], radius: float | None, cost_radius: float | None) -> int:
    """The place of the result at a radius: without one the first that is above 0."""
    among = [
        (k, r) for k, r in enumerate(results) if cost_radius is None or r.cost_radius == cost_radius
    ]
    if radius is None and among:
        return next((k for k, r in among if r.radius > 0), among[0][0])
    for k, r in among:
        if r.radius == radius:
            return k
    asked = [(r.radius, r.cost_radius) for r in results]
    at = "" if cost_radius is None else f" at cost radius {cost_radius}"
    raise _native.ConfigError(
        f"radius {radius}{at} was not asked for; these radii and cost radii were: {asked}"
    )

"""Results in notebooks: a small table, and values against the radius as a picture.

No style sheet and no script: what a notebook keeps of a page is markup. Text and axes have the colour that
the notebook gives its text; the lines' colours can be told from a white ground and from a black one, and
each line has its own dashes, too."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

# As many rows as are shown; a frame has them all.
ROWS = 30

_COLOURS = ("#2f7fd1", "#cf6317", "#2b9a5f", "#9a66d0", "#d14d86", "#1c94a6")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, _LINE = 480, 220, 58, 12, 26, 36, 17


@dataclass(frozen=True)
class Line:
    """Values against the radius: a whole curve, or points where it is known (`whole=False`); and bars
    beside some, from low to high at a radius."""

    name: str
    points: list[tuple[float, float]]
    whole: bool = True
    bars: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """Lines against the radius, from 0 to `last`; `values` says what they are of."""

    title: str
    values: str
    lines: list[Line]
    last: float
    zero: bool = False


def printable(text: str) -> str:
    """A text with what would command a terminal or turn the writing round escaped as in JSON."""

    def commands(letter: str) -> bool:
        code = ord(letter)
        control = (code < 0x20 or 0x7F <= code < 0xA0) and letter not in "\n\t"
        return control or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0xFFFE, 0xFFFF)

    return "".join(f"\\u{ord(letter):04x}" if commands(letter) else letter for letter in text)


def _cell(value: object) -> str:
    """A value as a small table has it: four digits of a number, nothing for what is missing."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    return html.escape(printable(text))


def shown(
    title: str,
    columns: dict[str, list[Any]],
    foot: Sequence[str] = (),
    chart: Chart | None = None,
    more: int = 0,
) -> str:
    """A table with its title, the chart and sentences below; `more` columns are in the frame alone."""
    rows = list(zip(*columns.values()))
    numbers = [all(isinstance(v, (int, float)) or v is None for v in values) for values in columns.values()]
    sides = ["right" if one else "left" for one in numbers]
    head = "".join(
        f'<th scope="col" style="text-align:{side}">{_text(name)}</th>' for name, side in zip(columns, sides)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side};white-space:pre">{_text(_cell(value))}</td>'
            for value, side in zip(row, sides)
        )
        + "</tr>"
        for row in rows[:ROWS]
    )
    caption = f'<caption style="text-align:left;white-space:pre-wrap">{_text(title)}</caption>'
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    left = [f"{len(rows) - ROWS} more rows"] if len(rows) > ROWS else []
    left += [f"{more} more column{'s' if more > 1 else ''}"] if more else []
    lines = [*foot, *([f"{' and '.join(left)}: to_pandas() or to_polars()."] if left else [])]
    below = "".join(f"<p>{_text(line)}</p>" for line in lines)
    picture = "" if chart is None else svg(chart)
    return f'<div style="overflow-x:auto">{table}</div>{picture}{below}'


def svg(chart: Chart) -> str:
    """The chart; its title says in words where each line starts and ends."""
    heights = [v for line in chart.lines for _, v in line.points]
    heights += [end for line in chart.lines for _, low, high in line.bars for end in (low, high)]
    heights += [0.0] if chart.zero else []
    low, high = min(heights), max(heights)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room, high + room

    def x(radius: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * radius / chart.last

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low)

    parts = [_axes(chart, x, y, low, high)]
    for k, line in enumerate(chart.lines):
        colour, dashes = _COLOURS[k % len(_COLOURS)], _DASHES[k % len(_DASHES)]
        # Bars of several lines stand beside each other.
        aside = 5.0 * (k - (len(chart.lines) - 1) / 2)
        parts.append(_drawn(line, colour, dashes, x, y, aside))
        at = _HEIGHT + _LINE * k
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + 34}" y1="{at}" y2="{at}" stroke="{colour}" stroke-width="2"'
            f' stroke-dasharray="{dashes}"/>'
            f'<text x="{_LEFT + 42}" y="{at + 4}">{_text(_short(line.name))}</text>'
        )
    words = _text(f"{chart.title}. {' '.join(map(_said, chart.lines))}")
    height = _HEIGHT + _LINE * len(chart.lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" width="{_WIDTH}"'
        f' height="{height}" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12"'
        f' fill="currentColor" style="max-width:100%;height:auto;background:none"><title>{words}</title>'
        f"{''.join(parts)}</svg>"
    )


def _axes(
    chart: Chart, x: Callable[[float], float], y: Callable[[float], float], low: float, high: float
) -> str:
    parts = [f'<text x="4" y="14">{_text(chart.values)}</text>']
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in _ticks(low, high):
        strong = chart.zero and value == 0
        parts.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="currentColor"'
            f' stroke-opacity="{0.8 if strong else 0.2}"/>'
            f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>'
        )
    for radius in _ticks(0.0, chart.last):
        anchor = "end" if x(radius) > right - 14 else "middle"
        parts.append(
            f'<line x1="{x(radius):.1f}" x2="{x(radius):.1f}" y1="{bottom}" y2="{bottom + 4}"'
            f' stroke="currentColor"/>'
            f'<text x="{x(radius):.1f}" y="{bottom + 17}" text-anchor="{anchor}">{radius:.6g}</text>'
        )
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="currentColor"/>')
    parts.append(f'<text x="4" y="{bottom + 17}">radius</text>')
    return "".join(parts)


def _drawn(
    line: Line,
    colour: str,
    dashes: str,
    x: Callable[[float], float],
    y: Callable[[float], float],
    aside: float,
) -> str:
    bars = [
        f'<line x1="{x(r) + aside:.1f}" x2="{x(r) + aside:.1f}" y1="{y(a):.1f}" y2="{y(b):.1f}" stroke="{colour}"'
        f' stroke-width="4" stroke-opacity="0.6"/>'
        for r, a, b in line.bars
    ]
    way = " ".join(f"{x(r):.1f},{y(v):.1f}" for r, v in line.points)
    thin = 2 if line.whole else 1
    drawn = (
        f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="{thin}"'
        f' stroke-dasharray="{dashes}"/>'
    )
    dots = [] if line.whole else [
        f'<circle cx="{x(r):.1f}" cy="{y(v):.1f}" r="3.5" fill="{colour}"/>' for r, v in line.points
    ]
    return "".join([*bars, drawn, *dots])


def _said(line: Line) -> str:
    (first, start), (last, end) = line.points[0], line.points[-1]
    return f"{line.name}: {start:.4g} at radius {first:.4g}, {end:.4g} at radius {last:.4g}."


def _short(name: str, most: int = 56) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers from low to high."""
    size = 10 ** math.floor(math.log10((high - low) / about))
    step = next(size * k for k in (1, 2, 5, 10) if (high - low) / (size * k) <= about + 2)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]

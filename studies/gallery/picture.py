"""The picture of a gallery study: what each policy costs here and there, and one difference against the radius.

SVG as text, the same bytes from the same numbers. It takes the numbers of an answer (answers.py) and decides none.
"""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, MIDDLE, TOP = 760, 90, 430, 112
INK, PALE, COLOURS = "#1f2933", "#9aa5b1", ["#1f6f8b", "#b4531f", "#5b7f2b"]
STEP = 16


def text(x, y, words, size=12, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def line(x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/>')


def mark(x, y, kind, colour):
    """A circle for an estimate; a square for what happened."""
    if kind == "happened":
        return (f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="white" stroke="{colour}" '
                f'stroke-width="2"/>')
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def ticks(low, high):
    """Round numbers between two ends, two to six of them."""
    for power in range(-6, 6):
        for step in (1, 2, 5):
            step *= 10.0**power
            if (high - low) / step < 6:
                first = math.ceil(low / step)
                return [round((first + k) * step, 8) for k in range(7) if (first + k) * step <= high]
    raise ValueError(f"no ticks from {low} to {high}")


class Axis:
    """Numbers on a line across, with room at both ends."""

    def __init__(self, numbers, start, end, zero=False):
        low, high = min(numbers + [0.0] * zero), max(numbers + [0.0] * zero)
        room = 0.06 * (high - low or 1)
        self.low, self.high, self.start, self.end = low - room, high + room, start, end

    def at(self, number):
        return self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start)

    def drawn(self, y, top):
        out = [line(self.start, y, self.end, y, PALE)]
        for number in ticks(self.low, self.high):
            out.append(line(self.at(number), top, self.at(number), y, "#e4e7eb"))
            out.append(text(self.at(number), y + 15, f"{number:g}".replace("-", "−"), 11, "middle"))
        return out


def costs(answer, top):
    """Each policy in each place, with its 95% interval: rows down, the cost across."""
    shown = [(policy, place, place["policies"][policy]) for policy in answer["policies"] for place in answer["places"]
             if policy in place["policies"]]
    # An estimate that too few rows support has no interval.
    ends = [cost.get(end, cost["value"]) for _, _, cost in shown for end in ("lower", "upper")]
    axis = Axis(ends, LEFT, MIDDLE - 70)
    out, y, before = [], top, None
    for policy, place, cost in shown:
        if policy != before:
            y += 6
            out.append(text(12, y + 14, policy, 12, weight="bold"))
        before = policy
        y += STEP
        colour = COLOURS[place["colour"]]
        if "lower" in cost:
            out.append(line(axis.at(cost["lower"]), y - 4, axis.at(cost["upper"]), y - 4, colour, 2))
        out.append(mark(axis.at(cost["value"]), y - 4, place["kind"], colour))
    return axis.drawn(y + 8, top) + out, y + 8


def differences(answer, top):
    """One pair: its difference without a shift and within each radius, around each place that was estimated."""
    pair = answer["pair"]
    shown = []
    for place in answer["places"]:
        found = place["differences"].get(pair)
        if found:
            shown.append((place, "no shift", found))
            shown += [(place, f"radius {at['radius']:g}", at) for at in found.get("radii", [])]
    start = MIDDLE + 70
    ends = [at[end] for _, _, at in shown for end in ("lower", "upper", "worst", "best") if end in at]
    axis = Axis(ends, start, WIDTH - 16, True)
    out, y, before = [], top, None
    for place, words, at in shown:
        if place is not before:
            y += 6
        before = place
        y += STEP
        colour = COLOURS[place["colour"]]
        if place["kind"] == "happened":
            words = "happened"
        out.append(text(start - 6, y, words, 11, "end"))
        if "lower" in at:
            out.append(line(axis.at(at["lower"]), y - 4, axis.at(at["upper"]), y - 4, colour, 1.5))
        if "worst" in at:
            ends = sorted(axis.at(at[end]) for end in ("worst", "best"))
            out.append(line(ends[0] - 1, y - 4, ends[1] + 1, y - 4, colour, 7))
        else:
            out.append(mark(axis.at(at["value"]), y - 4, place["kind"], colour))
    zero = line(axis.at(0), top, axis.at(0), y + 8, INK, 1, "3 3")
    return axis.drawn(y + 8, top) + [zero] + out, y + 8


def drawn(answer):
    """The whole picture."""
    left, low = costs(answer, TOP)
    right, deep = differences(answer, TOP)
    height = max(low, deep) + 48
    first = answer["pair"].split(" − ")[0]
    lower = answer["direction"] == "lower is better"
    better = "costs less" if lower else "brings more"
    legend, x = [], 12
    for place in answer["places"]:
        legend += [mark(x + 4, 60, place["kind"], COLOURS[place["colour"]]), text(x + 14, 64, place["name"], 12)]
        x += 32 + 6.8 * len(place["name"])
    words = f"{answer['title']}. {answer['outcome']}, {answer['direction']}."
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" role="img">',
        f"<title>{escape(words)}</title>",
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
        text(12, 22, answer["title"], 14, weight="bold"),
        text(12, 40, f"{'Cost' if lower else 'Reward'}: {answer['outcome']}; {answer['direction']}.", 12),
        *legend,
        text(LEFT, 98, "each policy, with 95% interval", 12, colour=INK),
        text(MIDDLE + 70, 90, answer["pair"], 12, weight="bold"),
        text(MIDDLE + 70, 104, f"{'left' if lower else 'right'} of 0: {first} {better}", 11),
        *left, *right,
        text(12, height - 10, "Circles: estimates. Squares: what happened. Thin lines: 95%. Thick: best to worst "
             "population within the radius.", 11), "</svg>", ""])

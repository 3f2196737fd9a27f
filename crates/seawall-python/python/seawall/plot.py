"""Pictures on matplotlib axes; every function returns the axes it drew on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seawall import _native
from seawall.arrays import Curve
from seawall.balance import Balance
from seawall.learned import Learned, Policy
from seawall.results import Check, Evaluation
from seawall.transfers import Transfers


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def curve(found: Evaluation | Curve, *, up_to: float | None = None, ax: Any = None) -> Any:
    """The worst case against the radius: one curve, or one for each policy of an evaluation, with the
    limits at the radii that were asked for."""
    axes = _axes(ax)
    curves: list[tuple[str | None, Curve]]
    if isinstance(found, Curve):
        curves, better = [(None, found)], "higher is better" if found.reward else "lower is better"
    else:
        curves = [(p.name, found.curve(k)) for k, p in enumerate(found.policies)]
        better = found.direction
    asked = [r.radius for p in found.policies for r in p.results] if isinstance(found, Evaluation) else []
    asked = [radius for radius in asked if radius < np.inf]
    last = up_to or 1.25 * max(asked, default=0.0) or max(float(c.radius[-1]) for _, c in curves) or 1.0
    for k, (name, one) in enumerate(curves):
        inside = one.radius[one.radius < last]
        radii = np.append(inside, last)
        (line,) = axes.plot(radii, one.at(radii), label=name)
        if isinstance(found, Evaluation):
            results = found.policies[k].results
            for r in results:
                # The curve is that of the first cost radius.
                of_curve = r.cost_radius == results[0].cost_radius
                if r.shown is not None and r.radius <= last and of_curve:
                    axes.plot([r.radius] * 2, r.shown, color=line.get_color(), alpha=0.6, lw=3)
    axes.set_xlabel("radius")
    axes.set_ylabel(f"worst case ({better})")
    if len(curves) > 1:
        axes.legend()
    return axes


def difference(
    found: Evaluation, policy: str | int = 0, against: str | int = 1, *, up_to: float | None = None,
    ax: Any = None,
) -> Any:
    """One policy less another against the radius, in the population where that is worst for it and in
    that where it is best; zero is where they are equal. Whole curves with `evaluate(curve=True)`, else
    the radii that were asked for. Bars are the limits."""
    axes = _axes(ax)
    pair = found.comparison(policy, against)
    asked = [r for r in pair.results if r.cost_radius == pair.results[0].cost_radius]
    certain = pair.robustness_radius.value
    marked = certain if 0 < certain < np.inf else 0.0
    finite = [r.radius for r in asked if r.radius < np.inf]
    last = up_to or 1.25 * max(finite + [marked]) or 1.0
    for label, colour, curve, side in [
        ("worst", "C1", pair.curve, "worst"), ("best", "C0", pair.best_curve, "best"),
    ]:
        radii, values = _against_radius(curve, [(r.radius, getattr(r, side)) for r in asked], last)
        axes.plot(radii, values, label=label, color=colour)
    for r in asked:
        for ends, colour in [(r.shown, "C1"), (r.best_shown, "C0")]:
            if ends is not None and r.radius <= last:
                axes.plot([r.radius] * 2, ends, color=colour, alpha=0.6, lw=3)
    axes.axhline(0.0, color="0.3", lw=1)
    if 0 < marked <= last:
        axes.axvline(marked, color="0.6", lw=1, ls="--", label=f"no worse up to {marked:.3g}")
    axes.set_xlabel("radius")
    axes.set_ylabel(f"{pair.policy} less {pair.against} ({found.direction})", parse_math=False)
    axes.legend()
    return axes


def _against_radius(
    curve: Callable[[], Curve], asked: list[tuple[float, float]], last: float
) -> tuple[list[float], list[float]]:
    """A curve's vertices up to a radius, or what is known at the radii that were asked for."""
    try:
        whole = curve()
    except _native.ConfigError:
        points = sorted(point for point in asked if point[0] <= last)
        return [r for r, _ in points], [v for _, v in points]
    radii = np.append(whole.radius[whole.radius < last], last)
    return radii.tolist(), whole.at(radii).tolist()


def worst_case(
    found: Evaluation, policy: str | int = 0, *, radius: float | None = None, levels: int = 12,
    ax: Any = None,
) -> Any:
    """The shares that change most, now and in the worst case of a policy."""
    axes = _axes(ax)
    shares = found.worst_population(policy, radius)
    most = sorted(shares, key=lambda s: -abs(s.worst - s.nominal))[:levels]
    shown = [s for s in shares if s in most and abs(s.worst - s.nominal) > 5e-4][::-1]
    places = np.arange(len(shown))
    axes.barh(places + 0.2, [s.nominal for s in shown], 0.4, label="now", color="0.6")
    axes.barh(places - 0.2, [s.worst for s in shown], 0.4, label="worst case", color="C1")
    axes.set_yticks(places, [f"{s.feature} = {s.level}" for s in shown])
    axes.set_xlabel("share of the population")
    axes.legend()
    return axes


def balance(found: Transfers | Evaluation | Learned | Check | Balance, *, ax: Any = None) -> Any:
    """How far each column of the log is from what is known of the target, before and after the log was
    weighed: standardised differences, without their signs. Dotted is what trialists call balanced."""
    given = found if isinstance(found, Balance) else found.balance
    if given is None:
        raise _native.ConfigError("nothing was made like a target: say what is known of one with Target(known=...)")
    axes = _axes(ax)
    columns = sorted(given.columns, key=lambda c: abs(c.before))
    places = np.arange(len(columns))
    for label, colour, side in [("before", "0.6", "before"), ("after", "C0", "after")]:
        axes.scatter([abs(getattr(c, side)) for c in columns], places, color=colour, label=label, zorder=2)
    axes.axvline(0.0, color="0.3", lw=1)
    axes.axvline(0.1, color="0.6", lw=1, ls=":")
    axes.set_yticks(places, [c.name for c in columns], parse_math=False)
    axes.set_xlabel("standardised difference to the target")
    axes.set_title(given.status)
    axes.legend()
    return axes


def predicted(found: Transfers, policy: str | int = 0, *, ax: Any = None) -> Any:
    """What each past group was predicted to cost against what it really did: on the line the prediction
    was right, and as far as the band goes the bound would have held. Bars are 95% intervals."""
    axes = _axes(ax)
    given = found.policy(policy)
    if not given.groups:
        raise _native.ConfigError("there are no past groups: transfer(by=\"COLUMN\")")
    for label, colour, marker, held in [("held", "C0", "o", True), ("missed", "C1", "X", False)]:
        some = [g for g in given.groups if g.held == held]
        if some:
            real, guess = [g.real for g in some], [g.predicted for g in some]
            bars = [1.96 * g.real_se for g in some]
            axes.errorbar(guess, real, bars, fmt=marker, color=colour, alpha=0.7, label=label)
    ends = np.array([min(g.predicted for g in given.groups), max(g.predicted for g in given.groups)])
    sign = 1.0 if found.direction == "lower is better" else -1.0
    axes.plot(ends, ends, color="0.3", lw=1)
    allowed = ends + sign * given.allowance.total
    axes.fill_between(ends, ends, allowed, color="C0", alpha=0.12, label="allowed")
    axes.set_xlabel(f"predicted without the group ({found.direction})")
    axes.set_ylabel("what it really was")
    axes.set_title(f"{given.policy}: held for {given.held} of {len(given.groups)}", parse_math=False)
    axes.legend()
    return axes


def policy(found: Learned | Policy, *, ax: Any = None) -> Any:
    """A policy in words."""
    axes = _axes(ax)
    given = found.policy if isinstance(found, Learned) else found
    axes.text(0.02, 0.98, given.explain(), va="top", ha="left", family="monospace", wrap=True, parse_math=False)
    axes.set_title(given.name, parse_math=False)
    axes.set_axis_off()
    return axes


def trace(found: Learned, *, ax: Any = None) -> Any:
    """Stochastic runs: the mean and standard deviation over runs of λ and each parameter."""
    names, runs = found.traces()
    if not runs:
        raise _native.ConfigError("there are no stochastic runs: learn with method=\"bsgd\"")
    axes = _axes(ax)
    length = min(len(run) for run in runs)
    steps = [point[0] for point in runs[0][:length]]
    series = {"lambda": np.array([[p[1] for p in run[:length]] for run in runs])}
    for k, name in enumerate(names):
        series[name] = np.array([[p[2][k] for p in run[:length]] for run in runs])
    for name, values in series.items():
        mean, sd = values.mean(axis=0), values.std(axis=0)
        (line,) = axes.plot(steps, mean, label=name)
        axes.fill_between(steps, mean - sd, mean + sd, color=line.get_color(), alpha=0.2)
    axes.set_xlabel("step")
    axes.legend()
    return axes

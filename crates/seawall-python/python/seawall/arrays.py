"""The operators on plain arrays, for those who have arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seawall import _given, _native
from seawall._given import array as _array
from seawall._result import _number, _Result, _Shown
from seawall._tables import Table
from seawall.estimates import Estimate

if TYPE_CHECKING:
    from seawall._html import Chart

Floats = npt.NDArray[np.float64]


def _rows(name: str, found: npt.NDArray[Any], rows: int) -> None:
    if found.shape[0] != rows:
        raise _native.InputError(f"{name} has {found.shape[0]} rows; expected {rows}")


@dataclass(frozen=True, repr=False, eq=False)
class WorstCase(_Result):
    """The worst-case mean over a set of populations: the truth is between `lower` and `upper`. For an
    entropic set those bound the smoothed value, which alone is no bound of the worst case; that lies
    between `exact_lower` and `exact_upper`.

    `weights` is the worst-case population; `moves` says where its mass came from: from, to, mass and
    what a unit of it pays.
    """

    value: float
    lower: float
    upper: float
    status: str
    lambda_: float
    unobserved_mass: float
    weights: Floats
    move_from: npt.NDArray[np.int64]
    move_to: npt.NDArray[np.int64]
    move_mass: Floats
    move_cost: Floats
    exact_lower: float | None = None
    exact_upper: float | None = None
    direction: str = "lower is better"
    _json: str = field(default="", repr=False)

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """All but the populations."""
        keys = ["value", "lower", "upper", "gap", "status", "lambda_", "unobserved_mass", "direction"]
        found = {k: getattr(self, k) for k in keys}
        if not np.isfinite(self.lambda_):
            found["lambda_"] = None
        if self.exact_lower is not None:
            found |= {"exact_lower": self.exact_lower, "exact_upper": self.exact_upper}
        return found

    def to_json(self) -> str:
        """All but the populations."""
        return json.dumps(self.to_dict())

    def _columns(self) -> dict[str, list[Any]]:
        return {k: [v] for k, v in self.to_dict().items()}

    def moves(self) -> Table:
        """Where the mass goes, as a table."""
        names = ["move_from", "move_to", "move_mass", "move_cost"]
        return Table({n.removeprefix("move_"): getattr(self, n).tolist() for n in names})


@dataclass(frozen=True, eq=False)
class Curve(_Shown):
    """The worst case against the radius, whole: straight between its vertices, constant after the
    last; off by at most `error`."""

    radius: Floats
    value: Floats
    lambda_: Floats
    error: float
    reward: bool = False

    def at(self, radius: npt.ArrayLike) -> Floats:
        """The worst case at radii."""
        return np.asarray(np.interp(np.asarray(radius, dtype=np.float64), self.radius, self.value))

    def to_dict(self) -> dict[str, Any]:
        """As lists."""
        return {"radius": self.radius.tolist(), "value": self.value.tolist(), "lambda": self.lambda_.tolist()}

    def _columns(self) -> dict[str, list[Any]]:
        """The vertices."""
        return self.to_dict()

    def _title(self) -> str:
        return repr(self)

    def _points(self, last: float) -> list[tuple[float, float]]:
        """The curve from its start to a radius."""
        radii = np.append(self.radius[self.radius < last], last)
        return [(float(r), float(v)) for r, v in zip(radii, self.at(radii))]

    def _chart(self) -> Chart | None:
        from seawall._html import Chart, Line

        last = float(self.radius[-1])
        if last <= 0:
            return None
        better = "higher is better" if self.reward else "lower is better"
        line = Line("worst case", self._points(1.1 * last))
        return Chart("Worst case against the radius", f"worst case ({better})", [line], 1.1 * last)

    def __repr__(self) -> str:
        exact = "exact" if self.error == 0 else f"within {self.error:.1e}"
        return (
            f"Curve of {len(self.radius)} vertices ({exact}), from {_number(float(self.value[0]))} at "
            f"radius 0 to {_number(float(self.value[-1]))} from radius {_number(float(self.radius[-1]))} on"
        )


@dataclass(frozen=True, repr=False)
class Distance(_Shown):
    """How far apart two samples are: the truth is between `lower` and `upper`. The table is of what each
    column contributes."""

    value: float
    lower: float
    upper: float
    status: str
    by_feature: dict[str, float]

    def _title(self) -> str:
        return f"The samples are {_number(self.value)} apart ({self.status})"

    def _columns(self) -> dict[str, list[Any]]:
        return {"column": list(self.by_feature), "distance": list(self.by_feature.values())}


@dataclass(frozen=True)
class RobustEstimate:
    """One worst case of a logged policy."""

    radius: float
    value: float
    lower: float
    upper: float
    gap: float
    lambda_: float | None
    status: str
    exact_lower: float | None = None
    exact_upper: float | None = None


@dataclass(frozen=True, repr=False)
class PolicyValue(_Result):
    """What a policy would have brought: four estimates if nothing shifts, and worst cases."""

    direction: str
    dm: Estimate
    ips: Estimate
    snips: Estimate
    dr: Estimate
    effective_sample_size: float
    mean_ratio: float
    results: list[RobustEstimate]
    _json: str = ""

    def _title(self) -> str:
        return f"Policy value ({self.direction}), {self.effective_sample_size:.1f} effective rows"

    def _columns(self) -> dict[str, list[Any]]:
        names = ["dm", "ips", "snips", "dr"]
        estimates = [getattr(self, n) for n in names]
        worst = [f"worst within {r.radius:g}" for r in self.results]
        return {
            "estimate": names + worst,
            "value": [e.value for e in estimates] + [r.value for r in self.results],
            "lower": [e.lower for e in estimates] + [r.lower for r in self.results],
            "upper": [e.upper for e in estimates] + [r.upper for r in self.results],
        }


def _problem(
    values: npt.ArrayLike, weights: npt.ArrayLike | None, contexts: Any, kinds: Any, scales: npt.ArrayLike | None
) -> tuple[Floats, Floats, list[str], list[Floats], list[str], list[list[str] | None], list[float] | None]:
    f = _array("values", values, 1)
    p = np.full(len(f), 1.0) if weights is None else _array("weights", weights, 1)
    _rows("weights", p, len(f))
    names, raw = _given.columns(contexts)
    wanted = _given.kinds_of(kinds, names, raw)
    columns, labels = _given.coded(names, raw, wanted)
    for name, column in zip(names, columns):
        _rows(f"contexts[{name!r}]", column, len(f))
    return f, p, names, columns, wanted, labels, _scales(scales, names)


def _scales(scales: npt.ArrayLike | None, names: list[str]) -> list[float] | None:
    if scales is None:
        return None
    found: list[float] = _array("scales", scales, 1).tolist()
    return found


def worst_case(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    contexts: Any,
    *,
    kinds: Sequence[str] | Mapping[str, str] | None = None,
    scales: npt.ArrayLike | None = None,
    radius: float,
    set: str = "wasserstein",
    eta: float | None = None,
    reward: bool = False,
    threads: int | None = None,
) -> WorstCase:
    """The worst-case mean of `values` over every population within `radius` of the one observed.

    >>> import seawall
    >>> age = [[31.0], [44.0], [52.0], [70.0]]
    >>> worst = seawall.worst_case([0.2, 0.1, 0.4, 0.9], None, age, radius=0.05)
    >>> round(worst.value, 6), worst.status
    (0.56767, 'optimal')

    Parameters
    ----------
    values
        A value for each row, lower being better unless `reward`.
    weights
        A weight for each row; rows of weight 0 are places that mass may move to. None: all the same.
    contexts
        What a move is measured by: an array of rows and columns, a dictionary of columns, or a frame.
        NaN and None are missing values.
    kinds
        `"numeric"`, `"ordinal"`, `"nominal"` or `"fixed"` for each column; numbers are numeric and
        anything else nominal if not said. Levels are taken in sorted order.
    scales
        What multiplies each column's cost: the squared difference of numbers in their own units, the
        squared difference of ordinal levels placed evenly on [0, 1], or 1 for another nominal level. By
        default a column's whole range, or another level, costs 1.
    """
    f, p, names, columns, wanted, labels, sizes = _problem(values, weights, contexts, kinds, scales)
    far, sharp = _given.real("radius", radius), None if eta is None else _given.real("eta", eta)
    found = _native.worst_case(
        f, p, names, columns, wanted, labels, sizes, far, set, sharp, reward, _given.threads(threads)
    )
    return WorstCase(**found, direction="higher is better" if reward else "lower is better")


def curve(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    contexts: Any,
    *,
    kinds: Sequence[str] | Mapping[str, str] | None = None,
    scales: npt.ArrayLike | None = None,
    set: str = "wasserstein",
    eta: float | None = None,
    reward: bool = False,
    tolerance: float | None = None,
    threads: int | None = None,
) -> Curve:
    """The worst case against the radius, whole; the arguments are those of `worst_case`. Exact where
    it is made of straight lines (`"wasserstein"`, `"tv"`); smooth curves are followed to
    `tolerance`.

    >>> import seawall
    >>> found = seawall.curve([0.2, 0.1, 0.4, 0.9], None, [[31.0], [44.0], [52.0], [70.0]])
    >>> found.error, float(found.at(0.0))
    (0.0, 0.4)
    """
    f, p, names, columns, wanted, labels, sizes = _problem(values, weights, contexts, kinds, scales)
    sharp = None if eta is None else _given.real("eta", eta)
    if tolerance is not None:
        tolerance = _given.real("tolerance", tolerance)
    else:
        exact = _native.has_exact_curve(set, sharp)
        tolerance = 0.0 if exact else max(1e-6 * float(np.ptp(f)), 1e-300)
    radius, value, lambda_, error = _native.curve(
        f, p, names, columns, wanted, labels, sizes, set, sharp, reward, tolerance, _given.threads(threads)
    )
    return Curve(radius, value, lambda_, error, reward)


def distance(
    contexts: Any,
    other: Any,
    *,
    kinds: Sequence[str] | Mapping[str, str] | None = None,
    scales: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    other_weights: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> Distance:
    """The transport distance between two samples, exactly.

    >>> import seawall
    >>> seawall.distance([[0.0], [1.0]], [[0.0], [3.0]], scales=[1.0]).value
    2.0
    """
    names, first = _given.columns(contexts)
    others, second = _given.columns(other)
    if sorted(names) != sorted(others):
        raise _native.InputError(f"the samples have other columns: {names} and {others}")
    second = [second[others.index(n)] for n in names]
    wanted = _given.kinds_of(kinds, names, first)
    for name, kind, a, b in zip(names, wanted, first, second):
        if kinds is None and _given.is_number(a) != _given.is_number(b):
            raise _native.InputError(f"column {name!r} holds numbers in one sample and not in the other")
    both = [np.concatenate([a.astype(object), b.astype(object)]) for a, b in zip(first, second)]
    columns, labels = _given.coded(names, both, wanted)
    rows, other_rows = len(first[0]), len(second[0])
    p = np.full(rows, 1.0) if weights is None else _array("weights", weights, 1)
    q = np.full(other_rows, 1.0) if other_weights is None else _array("other_weights", other_weights, 1)
    _rows("weights", p, rows)
    _rows("other_weights", q, other_rows)
    ahead = [np.ascontiguousarray(c[:rows]) for c in columns]
    behind = [np.ascontiguousarray(c[rows:]) for c in columns]
    value, lower, upper, status, costs = _native.distance(
        names, wanted, labels, _scales(scales, names), ahead, behind, p, q, _given.threads(threads)
    )
    return Distance(value, lower, upper, status, dict(zip(names, costs)))


def evaluate_policy(
    context: Any,
    action: npt.ArrayLike,
    reward: npt.ArrayLike | None = None,
    pscore: npt.ArrayLike | None = None,
    action_dist: npt.ArrayLike | None = None,
    *,
    cost: npt.ArrayLike | None = None,
    position: npt.ArrayLike | None = None,
    estimated_rewards_by_reg_model: npt.ArrayLike | None = None,
    kinds: Any = None,
    radius: float | Sequence[float] | None = None,
    set: str = "wasserstein",
    eta: float | None = None,
    threads: int | None = None,
) -> PolicyValue:
    """What a policy would have brought, from logged rows, with the Open Bandit Pipeline's names, shapes
    and sign: a reward, higher being better. With `cost=` instead, lower is better.

    >>> import numpy as np, seawall
    >>> rng = np.random.default_rng(0)
    >>> x, a = rng.integers(0, 4, (500, 2)), rng.integers(0, 2, 500)
    >>> r = ((x[:, 0] > 1) == (a == 1)).astype(float)
    >>> greedy = np.stack([x[:, 0] <= 1, x[:, 0] > 1], axis=1).astype(float)
    >>> found = seawall.evaluate_policy(x, a, r, np.full(500, 0.5), greedy, radius=0.1)
    >>> found.snips.value, found.direction
    (1.0, 'higher is better')

    Parameters
    ----------
    context
        A row for each decision: an array, a dictionary of columns or a frame, `kinds` as in `worst_case`.
    action, reward, pscore
        The action taken (0, 1, …), what it brought, and the probability that it was taken with.
    action_dist
        The policy's probabilities: rows × actions, or rows × actions × positions with `position`.
    estimated_rewards_by_reg_model
        Predicted rewards of the same shape, for the direct method, the doubly robust estimate and the
        worst cases; a regression tree per action if not given, fitted to the same rows.
    radius
        How far the population of contexts may be, for worst cases.
    """
    if (reward is None) == (cost is None):
        raise _native.ConfigError("give reward (higher is better) or cost (lower is better), one of them")
    outcome = _array("reward" if cost is None else "cost", reward if cost is None else cost, 1)
    rows = len(outcome)
    if pscore is None or action_dist is None:
        raise _native.InputError("pscore and action_dist are needed")
    taken = _array("action", action, 1)
    if (taken != np.floor(taken)).any() or (taken < 0).any():
        raise _native.InputError("action: expected whole numbers from 0 on")
    scores = _array("pscore", pscore, 1)
    if (scores <= 0).any() or (scores > 1).any():
        at = int(np.argwhere((scores <= 0) | (scores > 1))[0, 0])
        raise _native.InputError(f"pscore[{at}] is {scores[at]}; expected above 0 and at most 1")
    slot = np.zeros(rows) if position is None else _array("position", position, 1)
    _rows("position", slot, rows)

    def table(name: str, value: npt.ArrayLike) -> Floats:
        try:
            deep = np.ndim(value) == 3
        except ValueError as error:
            raise _native.InputError(f"{name}: {error}") from None
        found = _array(name, value, 3 if deep else 2)
        _rows(name, found, rows)
        if found.ndim == 2:
            return found
        if position is None and found.shape[2] > 1:
            raise _native.InputError(f"{name} has several positions: give position for each row")
        if slot.min() < 0 or slot.max() >= found.shape[2] or (slot != np.floor(slot)).any():
            raise _native.InputError(f"position: expected whole numbers below {found.shape[2]}")
        return np.ascontiguousarray(found[np.arange(rows), :, slot.astype(int)])

    chances = table("action_dist", action_dist)
    bad = np.abs(chances.sum(axis=1) - 1) > 1e-6
    if bad.any() or (chances < 0).any():
        at = int(np.argmax(bad | (chances < 0).any(axis=1)))
        raise _native.InputError(f"action_dist[{at}] is {chances[at]}; expected chances that sum to 1")
    if taken.max() >= chances.shape[1]:
        raise _native.InputError(
            f"action: {int(taken.max())} is beyond the {chances.shape[1]} actions of action_dist"
        )
    estimated = estimated_rewards_by_reg_model
    predicted = None if estimated is None else table("estimated_rewards_by_reg_model", estimated)
    if predicted is not None and predicted.shape != chances.shape:
        raise _native.InputError(
            f"estimated_rewards_by_reg_model has the shape {predicted.shape}; expected {chances.shape}"
        )
    _rows("action", taken, rows)
    _rows("pscore", scores, rows)
    names, raw = _given.columns(context)
    wanted = _given.kinds_of(kinds, names, raw)
    columns, labels = _given.coded(names, raw, wanted)
    for name, column in zip(names, columns):
        _rows(f"context[{name!r}]", column, rows)
    text = _native.evaluate_policy(
        names, columns, wanted, labels, taken.astype(np.int64), outcome, scores, chances, predicted,
        _given.reals("radius", radius), set, None if eta is None else _given.real("eta", eta), cost is None,
        _given.threads(threads),
    )
    values = json.loads(text)
    worst = [RobustEstimate(**{("lambda_" if k == "lambda" else k): v for k, v in r.items()})
             for r in values.pop("results")]
    estimates = {k: Estimate.from_json(values.pop(k)) for k in ["dm", "ips", "snips", "dr"]}
    return PolicyValue(**values, **estimates, results=worst, _json=text)  # type: ignore[arg-type]

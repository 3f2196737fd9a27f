"""The operators on plain arrays, for those who have arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from seawall import _native
from seawall.results import Estimate, _number, _Result

Floats = npt.NDArray[np.float64]


def _array(name: str, value: npt.ArrayLike, dimensions: int, *, missing: bool = False) -> Floats:
    if value is None:
        raise _native.InputError(f"{name} is missing")
    if not isinstance(value, (np.ndarray, Sequence)) and not hasattr(value, "__array__"):
        raise _native.InputError(
            f"{name} is a {type(value).__name__}; expected an array of {dimensions} dimensions"
        )
    try:
        found = np.asarray(value)
        if found.dtype == object:
            found = np.array(found.tolist(), dtype=np.float64)
        if found.dtype.kind not in "fiub":
            raise TypeError(f"it holds {found.dtype}")
        found = np.ascontiguousarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _native.InputError(f"{name}: expected numbers; {error}") from None
    if found.ndim != dimensions:
        raise _native.InputError(f"{name} has the shape {found.shape}; expected {dimensions} dimensions")
    if found.size == 0:
        raise _native.InputError(f"{name} is empty")
    bad = ~np.isfinite(found) if not missing else np.isinf(found)
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        raise _native.InputError(f"{name}{list(at)} is {found[at]}; expected a finite number")
    return found


def _rows(name: str, found: npt.NDArray[Any], rows: int) -> None:
    if found.shape[0] != rows:
        raise _native.InputError(f"{name} has {found.shape[0]} rows; expected {rows}")


def _contexts(
    contexts: Any, kinds: Sequence[str] | None
) -> tuple[list[str], list[Floats], list[str], list[list[Any] | None]]:
    """Columns as numbers: those of text by the numbers of their levels, in sorted order."""
    if hasattr(contexts, "columns") and hasattr(contexts, "__getitem__"):
        names = [str(c) for c in contexts.columns]
        raw = [np.asarray(contexts[c]) for c in contexts.columns]
    elif isinstance(contexts, dict):
        names, raw = [str(c) for c in contexts], [np.asarray(v) for v in contexts.values()]
    else:
        if not isinstance(contexts, (np.ndarray, Sequence)) and not hasattr(contexts, "__array__"):
            raise _native.InputError(
                f"contexts is a {type(contexts).__name__}; expected an array of 2 dimensions or a frame"
            )
        table = np.asarray(contexts)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2:
            raise _native.InputError(f"contexts has the shape {table.shape}; expected 2 dimensions")
        names, raw = [f"x{k}" for k in range(table.shape[1])], list(table.T)
    if not raw or raw[0].size == 0:
        raise _native.InputError("contexts is empty")
    wanted = list(kinds) if kinds is not None else [
        "numeric" if c.dtype.kind in "fiub" else "nominal" for c in raw
    ]
    if len(wanted) != len(raw):
        raise _native.ConfigError(f"{len(wanted)} kinds for {len(raw)} columns")
    columns: list[Floats] = []
    levels: list[list[Any] | None] = []
    for name, kind, column in zip(names, wanted, raw):
        if kind == "numeric":
            columns.append(_array(f"contexts[{name!r}]", column, 1, missing=True))
            levels.append(None)
            continue
        gone = np.array([v is None or v != v for v in column.tolist()])
        present = np.asarray([v for v, g in zip(column.tolist(), gone) if not g])
        found, codes = np.unique(present, return_inverse=True)
        filled = np.full(len(column), np.nan)
        filled[~gone] = codes
        columns.append(filled)
        levels.append(found.tolist())
    return names, columns, wanted, levels


@dataclass(frozen=True, repr=False)
class WorstCase(_Result):
    """The worst-case mean over a set of populations: the truth is between `lower` and `upper`.

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
        if self.exact_lower is not None:
            found |= {"exact_lower": self.exact_lower, "exact_upper": self.exact_upper}
        return found

    def to_json(self) -> str:
        """All but the populations."""
        return json.dumps(self.to_dict())

    def _columns(self) -> dict[str, list[Any]]:
        return {k: [v] for k, v in self.to_dict().items()}

    def moves(self) -> _native.Table:
        """Where the mass goes, as an Arrow table."""
        names = ["move_from", "move_to", "move_mass", "move_cost"]
        return _native.frame({n.removeprefix("move_"): getattr(self, n).tolist() for n in names})


@dataclass(frozen=True)
class Curve:
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

    def to_frame(self) -> _native.Table:
        """The vertices as an Arrow table."""
        return _native.frame(self.to_dict())

    def __repr__(self) -> str:
        exact = "exact" if self.error == 0 else f"within {self.error:.1e}"
        return (
            f"Curve of {len(self.radius)} vertices ({exact}), from {_number(float(self.value[0]))} at "
            f"radius 0 to {_number(float(self.value[-1]))} from radius {_number(float(self.radius[-1]))} on"
        )


@dataclass(frozen=True)
class Distance:
    """How far apart two samples are: the truth is between `lower` and `upper`."""

    value: float
    lower: float
    upper: float
    status: str
    by_feature: dict[str, float]


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
    values: npt.ArrayLike, weights: npt.ArrayLike | None, contexts: Any, kinds: Sequence[str] | None,
    scales: npt.ArrayLike | None,
) -> tuple[Floats, Floats, list[str], list[Floats], list[str], list[float] | None]:
    f = _array("values", values, 1)
    p = np.full(len(f), 1.0) if weights is None else _array("weights", weights, 1)
    _rows("weights", p, len(f))
    names, columns, wanted, _ = _contexts(contexts, kinds)
    for name, column in zip(names, columns):
        _rows(f"contexts[{name!r}]", column, len(f))
    sizes = None if scales is None else _array("scales", scales, 1).tolist()
    return f, p, names, columns, wanted, sizes


def worst_case(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    contexts: Any,
    *,
    kinds: Sequence[str] | None = None,
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
        What multiplies each column's cost; by default a column's whole range costs 1.
    """
    f, p, names, columns, wanted, sizes = _problem(values, weights, contexts, kinds, scales)
    found = _native.worst_case(
        f, p, names, columns, wanted, sizes, float(radius), set, eta, reward, threads
    )
    return WorstCase(**found, direction="higher is better" if reward else "lower is better")


def curve(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    contexts: Any,
    *,
    kinds: Sequence[str] | None = None,
    scales: npt.ArrayLike | None = None,
    set: str = "wasserstein",
    eta: float | None = None,
    reward: bool = False,
    tolerance: float | None = None,
    threads: int | None = None,
) -> Curve:
    """The worst case against the radius, whole; the arguments are those of `worst_case`. Exact for a
    Wasserstein set; smooth curves are followed to `tolerance`.

    >>> import seawall
    >>> found = seawall.curve([0.2, 0.1, 0.4, 0.9], None, [[31.0], [44.0], [52.0], [70.0]])
    >>> found.error, float(found.at(0.0))
    (0.0, 0.4)
    """
    f, p, names, columns, wanted, sizes = _problem(values, weights, contexts, kinds, scales)
    if tolerance is None:
        tolerance = 0.0 if set == "wasserstein" else max(1e-6 * float(np.ptp(f)), 1e-300)
    radius, value, lambda_, error = _native.curve(
        f, p, names, columns, wanted, sizes, set, eta, reward, float(tolerance), threads
    )
    return Curve(radius, value, lambda_, error, reward)


def distance(
    contexts: Any,
    other: Any,
    *,
    kinds: Sequence[str] | None = None,
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
    first, second = _frames(contexts, other)
    names, columns, wanted, _ = _contexts(
        {n: np.concatenate([a, b]) for n, a, b in zip(first[0], first[1], second[1])}, kinds
    )
    rows = len(first[1][0])
    p = np.full(rows, 1.0) if weights is None else _array("weights", weights, 1)
    q = (
        np.full(len(second[1][0]), 1.0)
        if other_weights is None
        else _array("other_weights", other_weights, 1)
    )
    _rows("weights", p, rows)
    _rows("other_weights", q, len(second[1][0]))
    sizes = None if scales is None else _array("scales", scales, 1).tolist()
    ahead = [np.ascontiguousarray(c[:rows]) for c in columns]
    behind = [np.ascontiguousarray(c[rows:]) for c in columns]
    value, lower, upper, status, costs = _native.distance(
        names, wanted, sizes, ahead, behind, p, q, threads
    )
    return Distance(value, lower, upper, status, dict(zip(names, costs)))


def _frames(a: Any, b: Any) -> tuple[tuple[list[str], list[Any]], tuple[list[str], list[Any]]]:
    """The columns of two samples, in the first one's order."""

    def of(frame: Any) -> tuple[list[str], list[Any]]:
        if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
            return [str(c) for c in frame.columns], [np.asarray(frame[c]) for c in frame.columns]
        if isinstance(frame, dict):
            return [str(c) for c in frame], [np.asarray(v) for v in frame.values()]
        names, columns, _, _ = _contexts(frame, None)
        return names, list(columns)

    first, second = of(a), of(b)
    if sorted(first[0]) != sorted(second[0]):
        raise _native.InputError(f"the samples have other columns: {first[0]} and {second[0]}")
    place = dict(zip(*second))
    return first, (first[0], [place[n] for n in first[0]])


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
        A row of numbers for each decision.
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
    outcome = _array("reward" if cost is None else "cost", reward if cost is None else cost, 1)  # type: ignore[arg-type]
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
    shape = np.asarray(action_dist)
    if shape.ndim == 3 and position is None and shape.shape[2] > 1:
        raise _native.InputError("action_dist has several positions: give position for each row")
    slot = np.zeros(rows) if position is None else _array("position", position, 1)
    _rows("position", slot, rows)

    def table(name: str, value: npt.ArrayLike) -> Floats:
        deep = np.asarray(value)
        found = _array(name, value, 3 if deep.ndim == 3 else 2)
        _rows(name, found, rows)
        if found.ndim == 2:
            return found
        if slot.min() < 0 or slot.max() >= found.shape[2]:
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
    names, columns, kinds, _ = _contexts(context, None)
    for name, column in zip(names, columns):
        _rows(f"context[{name!r}]", column, rows)
    radii = [float(r) for r in np.atleast_1d(np.asarray(radius, dtype=float))] if radius is not None else []
    text = _native.evaluate_policy(
        columns, taken.astype(np.int64), outcome, scores, chances, predicted, radii, set, eta,
        cost is None, threads,
    )
    values = json.loads(text)
    worst = [RobustEstimate(**{("lambda_" if k == "lambda" else k): v for k, v in r.items()})
             for r in values.pop("results")]
    estimates = {k: Estimate(**values.pop(k)) for k in ["dm", "ips", "snips", "dr"]}
    return PolicyValue(**values, **estimates, results=worst, _json=text)  # type: ignore[arg-type]

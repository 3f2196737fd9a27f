"""Outcome models of the user's own: any object with `fit` and `predict`, fitted for each action."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from seawall import _native

Floats = npt.NDArray[np.float64]
# Name, kind, numbers or codes, and of levels their labels and positions.
Column = tuple[str, str, npt.NDArray[Any], Optional[list[Optional[str]]], Optional[Floats]]


def _pandas() -> Any:
    """The library if it is there, else None."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def estimators(model: Any) -> list[Any]:
    """The estimators that a model is made of; none if it is said in words."""
    if isinstance(model, Mapping):
        found = list(model.values())
        return found if any(hasattr(m, "fit") for m in found) else []
    return [] if model is None or isinstance(model, str) or not hasattr(model, "fit") else [model]


def name(models: Sequence[Any]) -> str:
    """What estimators are called: their types, each once."""
    names = [m.__name__ if isinstance(m, type) else type(m).__name__ for m in models]
    return " and ".join(dict.fromkeys(names))


class Learner:
    """Fits an estimator for each action to rows that the native side counted."""

    def __init__(self, model: Any, actions: list[str], encode: str, rows: str) -> None:
        if encode not in ("codes", "labels"):
            raise _native.ConfigError(f'encode is {encode!r}; expected "codes" or "labels"')
        if rows not in ("weighted", "repeated"):
            raise _native.ConfigError(f'rows is {rows!r}; expected "weighted" or "repeated"')
        own = dict(model) if isinstance(model, Mapping) else {action: model for action in actions}
        if sorted(map(str, own)) != sorted(actions):
            raise _native.ConfigError(f"model has estimators for {list(own)}; expected the actions {actions}")
        self._models = {str(action): estimator for action, estimator in own.items()}
        for estimator in self._models.values():
            _check(estimator)
        self._encode, self._rows = encode, rows
        self.name = name(list(self._models.values()))

    def table(self, columns: list[Column]) -> Any:
        """The contexts as estimators take them."""
        names = [column[0] for column in columns]
        arrays = [_coded(*column[1:]) if self._encode == "codes" else _labelled(*column[1:]) for column in columns]
        if (pandas := _pandas()) is not None:
            return pandas.DataFrame(dict(zip(names, arrays)))
        kind = np.float64 if self._encode == "codes" else object
        return np.column_stack([np.asarray(array, dtype=kind) for array in arrays])

    def predict(self, table: Any, action: str, places: npt.NDArray[np.int64], y: Floats, weights: Floats) -> Floats:
        """What an action would cost in each context of a table, fitted to rows at some of them."""
        estimator = self._models[action]
        classifies = _classifies(estimator)
        if classifies:
            others = y[(y != 0) & (y != 1)]
            if len(others):
                raise _native.InputError(
                    f"it is a classifier, and an outcome of {action!r} is {others[0]:g}; expected 0 or 1, or a "
                    "regressor"
                )
            if (y == y[0]).all():
                return np.full(len(table), y[0])
        try:
            fitted = _copy(estimator)
            keywords = self._weights(fitted, weights)
            if keywords is None:
                counts = _counts(action, weights)
                places, y, keywords = np.repeat(places, counts), np.repeat(y, counts), {}
            rows = table[places] if isinstance(table, np.ndarray) else table.iloc[places].reset_index(drop=True)
            fitted.fit(rows, y.astype(np.int64) if classifies else y, **keywords)
        except _native.SeawallError:
            raise
        except Exception as error:
            raise _raised("fitting it to", action, weights.sum(), "rows", error) from error
        try:
            found = fitted.predict_proba(table) if classifies else fitted.predict(table)
        except Exception as error:
            raise _raised("predicting", action, len(table), "contexts", error) from error
        return _values(fitted, action, table, found, classifies)

    def _weights(self, estimator: Any, weights: Floats) -> dict[str, Floats] | None:
        """How rows' weights are given to `fit`; None if rows are to be repeated."""
        if self._rows == "repeated" and (weights == np.floor(weights)).all():
            return None
        if _takes_weights(estimator):
            return {"sample_weight": weights}
        steps = getattr(estimator, "steps", None)
        if steps and _takes_weights(steps[-1][1]):
            return {f"{steps[-1][0]}__sample_weight": weights}
        return None


def _check(estimator: Any) -> None:
    """Refuses what cannot be fitted and asked."""
    if isinstance(estimator, type):
        raise _native.ConfigError(
            f"model is the class {estimator.__name__}; expected an object: {estimator.__name__}()"
        )
    for method in ("fit", "predict"):
        if not callable(getattr(estimator, method, None)):
            raise _native.ConfigError(
                f"model {estimator!r} has no {method}; expected an object with fit and predict"
            )
    if _is_classifier(estimator) and not _classifies(estimator):
        raise _native.ConfigError(
            f"model {estimator!r} is a classifier without predict_proba: labels are no means; expected "
            "probabilities, or a regressor"
        )


def _is_classifier(estimator: Any) -> bool:
    try:
        from sklearn.base import is_classifier

        return bool(is_classifier(estimator))
    except Exception:  # no scikit-learn, or an object that is none of its own
        return getattr(estimator, "_estimator_type", None) == "classifier"


def _classifies(estimator: Any) -> bool:
    return hasattr(estimator, "predict_proba")


def _copy(estimator: Any) -> Any:
    """A fresh one, as scikit-learn makes it if it can."""
    try:
        from sklearn.base import clone

        return clone(estimator)
    except Exception:  # no scikit-learn, or not its own, or a constructor that changes what it is given
        return copy.deepcopy(estimator)


def _takes_weights(estimator: Any) -> bool:
    try:
        return "sample_weight" in inspect.signature(estimator.fit).parameters
    except (AttributeError, TypeError, ValueError):
        return False


def _counts(action: str, weights: Floats) -> npt.NDArray[np.int64]:
    """How often each row is repeated."""
    counts = np.rint(weights).astype(np.int64)
    if (counts != weights).any():
        bad = weights[counts != weights][0]
        raise _native.InputError(
            f"its fit takes no sample_weight, and a row of {action!r} weighs {bad:g}; expected whole numbers, "
            "or an estimator that takes weights"
        )
    return counts


def _coded(kind: str, values: npt.NDArray[Any], labels: Any, positions: Floats | None) -> Floats:
    """A column as numbers."""
    if kind == "numeric":
        return np.asarray(values, dtype=np.float64)
    if positions is not None:
        return np.where(values < 0, np.nan, positions[np.maximum(values, 0)])
    known = sum(label is not None for label in labels)
    return np.where(values < 0, known, values).astype(np.float64)


def _labelled(kind: str, values: npt.NDArray[Any], labels: Any, positions: Floats | None) -> Any:
    """A column as numbers, or as the texts of its levels."""
    if kind == "numeric":
        return np.asarray(values, dtype=np.float64)
    if (pandas := _pandas()) is not None:
        known = [label for label in labels if label is not None]
        return pandas.Categorical.from_codes(values, categories=known, ordered=kind == "ordinal")
    texts = np.array([np.nan if label is None else label for label in labels] + [np.nan], dtype=object)
    return texts[values]


def _raised(doing: str, action: str, count: float, what: str, error: Exception) -> _native.InputError:
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _native.InputError(f"{doing} {count:g} {what} of {action!r} raised {told}")


def _values(fitted: Any, action: str, table: Any, found: Any, classifies: bool) -> Floats:
    """Predictions, checked: a finite number for each context."""
    count = len(table)
    expected = f"({count}, 2): a probability of 0 and of 1" if classifies else f"({count},): a number"
    said = f"its predict_proba of {action!r}" if classifies else f"its predict of {action!r}"
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _native.InputError(
            f"{said} returned a {type(found).__name__} that is no array of numbers; expected the shape "
            f"{expected} for each context"
        ) from error
    right = values.shape == (count, 2) if classifies else values.shape in ((count,), (count, 1))
    if not right:
        raise _native.InputError(
            f"{said} returned the shape {values.shape}; expected {expected} for each context"
        )
    if classifies:
        classes = [float(c) for c in getattr(fitted, "classes_", [0, 1])]
        values = values[:, classes.index(1.0)]
    values = np.ascontiguousarray(values.reshape(count))
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        first = int(bad[0])
        row = table[first].tolist() if isinstance(table, np.ndarray) else table.iloc[first].to_dict()
        raise _native.InputError(
            f"{said} returned {values[first]} in {len(bad)} of {count} contexts, the first {row}; expected "
            "finite numbers"
        )
    return values

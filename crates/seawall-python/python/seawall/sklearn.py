"""scikit-learn: an estimator whose policy's worst case is as good as it can be, and a scorer that values any
policy by its worst case on rows that did not make it.

Pipelines, `cross_val_score` and `GridSearchCV` pass one `y` on: `logged` makes one of actions and outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from seawall import _native
from seawall._given import gone, real
from seawall.arrays import evaluate_policy
from seawall.learned import Learned
from seawall.results import Evaluation
from seawall.options import Splits
from seawall.study import Study

Outcome = Union[Any, Callable[[npt.NDArray[np.float64]], npt.ArrayLike], None]


def logged(action: npt.ArrayLike, outcome: npt.ArrayLike) -> npt.NDArray[Any]:
    """The actions taken and the outcomes that followed as one array, which pipelines and cross-validation
    take for `y` and cut up by rows.

    >>> from seawall.sklearn import logged
    >>> logged(["drug", "none"], [0.0, 1.0])["action"]
    array(['drug', 'none'], dtype='<U4')
    """
    actions, outcomes = np.asarray(action), check_array(outcome, ensure_2d=False, dtype=np.float64)
    if actions.ndim != 1 or actions.shape != outcomes.shape:
        raise _native.InputError(
            f"action has the shape {actions.shape} and outcome {outcomes.shape}; expected an action and an "
            "outcome for each row"
        )
    both = np.empty(len(actions), dtype=[("action", actions.dtype), ("outcome", np.float64)])
    both["action"], both["outcome"] = actions, outcomes
    return both


def _apart(a: Any, y: Any) -> tuple[Any, Any]:
    """Actions and outcomes, given apart or as `logged` makes them."""
    if y is not None:
        return a, y
    if getattr(getattr(a, "dtype", None), "names", None) != ("action", "outcome"):
        raise _native.InputError(
            "y is missing: give actions and outcomes, fit(X, a, y), or both in one, fit(X, logged(a, y))"
        )
    return a["action"], a["outcome"]


@dataclass(frozen=True)
class RobustScorer:
    """Values a policy by its worst case on rows that did not make it: for `scoring=` of `cross_val_score`,
    `cross_validate` and `GridSearchCV`, with `y` as `logged` makes it. Higher is better, as scikit-learn
    has it: minus the worst mean cost, or the worst mean reward.

    Any estimator with `classes_` (the actions) and `predict` or `predict_proba` is a policy. Radii are in
    the columns that come in, before a pipeline changes them. A regression tree for each action, fitted to
    the rows that are scored, says what each action costs in each context. All candidates are held against
    the same radius: that of a `RobustPolicyLearner` is its own, and a small one would flatter itself.

    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from seawall.sklearn import RobustPolicyLearner, RobustScorer, logged
    >>> rng = np.random.default_rng(0)
    >>> X, a = rng.integers(0, 8, (400, 2)).astype(float), rng.integers(0, 2, 400)
    >>> y = logged(a, np.where(X[:, 0] > 4, a, 1 - a))
    >>> cross_val_score(RobustPolicyLearner(radius=0.02), X, y, scoring=RobustScorer(0.02), cv=2)
    array([-0., -0.])

    Parameters
    ----------
    radius, set, eta
        The set of populations, as for `seawall.worst_case`.
    kinds
        The kind of each column: numbers are numeric and anything else nominal if not said.
    reward
        Whether outcomes are rewards, higher being better.
    threads
        How many threads to use.
    """

    radius: float = 0.05
    set: str = "wasserstein"
    eta: float | None = None
    kinds: Any = None
    reward: bool = False
    threads: int | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of a fitted estimator on logged rows."""
        actions, outcomes = _apart(y, None)
        classes = np.asarray(estimator.classes_)
        place = {action: k for k, action in enumerate(classes.tolist())}
        strange = [action for action in actions.tolist() if action not in place]
        if strange:
            raise _native.InputError(f"the action {strange[0]!r} is none of the policy's: {classes.tolist()}")
        codes = np.array([place[action] for action in actions.tolist()])
        if hasattr(estimator, "predict_proba"):
            chances = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        else:
            chances = (np.asarray(estimator.predict(X))[:, None] == classes[None, :]).astype(np.float64)
        # Worst cases are of the regression trees; how likely the actions were is for the other estimates.
        shares = np.bincount(codes, minlength=len(classes)) / len(codes)
        found = evaluate_policy(
            X,
            codes,
            outcomes if self.reward else None,
            shares[codes],
            chances,
            cost=None if self.reward else outcomes,
            kinds=self.kinds,
            radius=self.radius,
            set=self.set,
            eta=self.eta,
            threads=self.threads,
        )
        value = found.results[0].value
        return value if self.reward else -value


class RobustPolicyLearner(BaseEstimator):  # type: ignore[misc]
    """Learns a policy from logged decisions that does well in every population near the log's.

    Parameters
    ----------
    policy
        `"tree:1"` to `"tree:3"`, `"softmax"` or `"groups:x0=…"`; columns are called `x0`, `x1`, … or by
        the names of a frame.
    radius
        How far the population of contexts may be; a column's whole range costs 1.
    set, eta
        A set that can be learned from contexts: `"wasserstein"`, `"entropic"` (with eta),
        `"sinkhorn:kappa=0.1"`, `"kl"`, `"tv"`, `"chi2"`, `"cvar"`, …
    outcome_model
        What each action costs in each context: None for a regression tree per action; a scikit-learn
        regressor, of which a copy is fitted to each action's rows; or a function from contexts (rows)
        to predicted outcomes (rows × actions).
    max_depth, min_samples_leaf
        Of the regression trees.
    reward
        Whether `y` is a reward, higher being better.
    random_state, threads
        The seed, and how many threads to use.

    Attributes
    ----------
    classes_
        The actions.
    learned_
        The `seawall.Learned`: value, bounds, status, the policy.
    study_
        The `seawall.Study` that was learned from.

    >>> import numpy as np
    >>> from seawall.sklearn import RobustPolicyLearner
    >>> rng = np.random.default_rng(0)
    >>> X, a = rng.integers(0, 8, (400, 2)).astype(float), rng.integers(0, 2, 400)
    >>> y = np.where(X[:, 0] > 4, a, 1 - a)
    >>> learner = RobustPolicyLearner("tree:1", radius=0.02).fit(X, a, y)
    >>> learner.predict([[7.0, 0.0], [1.0, 0.0]])
    array([0, 1])
    """

    def __init__(
        self,
        policy: str = "tree:1",
        *,
        radius: float = 0.05,
        set: str = "wasserstein",
        eta: float | None = None,
        outcome_model: Outcome = None,
        max_depth: int = 4,
        min_samples_leaf: int = 5,
        reward: bool = False,
        random_state: Any = None,
        threads: int | None = None,
    ) -> None:
        self.policy = policy
        self.radius = radius
        self.set = set
        self.eta = eta
        self.outcome_model = outcome_model
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.reward = reward
        self.random_state = random_state
        self.threads = threads

    def _names(self) -> list[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{k}" for k in range(self.n_features_in_)] if named is None else [str(n) for n in named]

    def fit(self, X: npt.ArrayLike, a: npt.ArrayLike, y: npt.ArrayLike | None = None) -> RobustPolicyLearner:
        """Learns from contexts `X`, the actions `a` taken in them and the outcomes `y` that followed; in
        pipelines `a` is both, as `logged` makes them."""
        a, y = _apart(a, y)
        contexts = validate_data(self, X, dtype=np.float64)
        actions, outcomes = np.asarray(a), check_array(y, ensure_2d=False, dtype=np.float64)
        for name, column in [("a", actions), ("y", outcomes)]:
            if column.shape != (len(contexts),):
                raise _native.InputError(f"{name} has the shape {column.shape}; expected ({len(contexts)},)")
        if any(gone(v) for v in actions.tolist()):
            raise _native.InputError("a holds missing values; expected an action in each row")
        try:
            self.classes_, codes = np.unique(actions, return_inverse=True)
        except TypeError:
            raise _native.InputError("a holds values of several types; expected one") from None
        if len(self.classes_) < 2:
            raise _native.InputError(f"a has {len(self.classes_)} action; expected two or more")
        names = self._names()
        # Actions are told by their numbers, so that their order is that of classes_.
        width = len(str(len(self.classes_)))
        columns: dict[str, list[Any]] = {n: contexts[:, k].tolist() for k, n in enumerate(names)}
        # Names that no column has.
        action, result = "_" * (1 + max(map(len, names))) + "a", "_" * (1 + max(map(len, names))) + "y"
        columns[action] = [f"{code:0{width}d}" for code in codes]
        columns[result] = outcomes.tolist()
        outcome = {"reward" if self.reward else "cost": result}
        study = Study(
            _native.frame(columns),
            context={n: "numeric" for n in names},
            action=action,
            model={
                "kind": "tree",
                "max_depth": self.max_depth,
                "min_samples_leaf": self.min_samples_leaf,
                "unseen": "mean",
            },
            radius=real("radius", self.radius),
            set=self.set,
            eta=self.eta,
            threads=self.threads,
            **outcome,  # type: ignore[arg-type]
        )
        if self.outcome_model is not None:
            everywhere = np.column_stack([study.contexts()[n] for n in names])
            study = study.with_outcomes(self._predicted(contexts, codes, outcomes, everywhere))
        self.study_: Study = study
        state = self.random_state
        seed = 1 if state is None else state if isinstance(state, int) else check_random_state(state).randint(2**31)
        self.learned_: Learned = study.learn(self.policy, splits=Splits(0, seed=seed))
        return self

    def _predicted(
        self,
        contexts: npt.NDArray[np.float64],
        codes: npt.NDArray[np.intp],
        outcomes: npt.NDArray[np.float64],
        everywhere: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        model = self.outcome_model
        if hasattr(model, "fit"):
            fitted = [
                clone(model).fit(contexts[codes == k], outcomes[codes == k])
                for k in range(len(self.classes_))
            ]
            return np.column_stack([m.predict(everywhere) for m in fitted])
        if callable(model):
            return np.asarray(model(everywhere), dtype=np.float64)
        raise _native.ConfigError(
            f"outcome_model is {model!r}; expected a scikit-learn regressor or a function"
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but the study, which belongs to its process."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("study_", None)
        return state

    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probability of each action in each context."""
        check_is_fitted(self)
        contexts = validate_data(self, X, dtype=np.float64, reset=False)
        columns = [np.ascontiguousarray(contexts[:, k]) for k in range(contexts.shape[1])]
        return _native.probabilities(self.learned_.policy.json, self._names(), columns)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest action in each context."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def score(self, X: npt.ArrayLike, a: npt.ArrayLike, y: npt.ArrayLike | None = None) -> float:
        """The policy's worst case on other logged decisions, higher being better: minus the worst
        mean cost, or the worst mean reward. Their own regression trees value it, within the learner's own
        radius: to choose among radii, score with `RobustScorer`."""
        check_is_fitted(self)
        a, y = _apart(a, y)
        validate_data(self, X, dtype=np.float64, reset=False)
        params = self.get_params(deep=False) | {"policy": "tree:1", "outcome_model": None}
        other = RobustPolicyLearner(**params).fit(X, a, y)
        if list(other.classes_) != list(self.classes_):
            raise _native.InputError(
                f"the actions are {list(other.classes_)}; those learned from were {list(self.classes_)}"
            )
        found: Evaluation = other.study_.evaluate(self.learned_.policy)
        value = found.policies[0].results[0].value
        return value if self.reward else -value

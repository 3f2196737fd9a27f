"""The estimator, by scikit-learn's own rules."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import seawall
from seawall import sklearn as package
from seawall.sklearn import RobustPolicyLearner, RobustScorer


class Adapter(RobustPolicyLearner):
    """scikit-learn's checks call fit(X, y): half of what they call y becomes the actions."""

    def fit(self, X, y):
        y = np.asarray(y)
        if y.ndim != 1 or y.dtype.kind not in "fiub" or len(y) < 2:
            return super().fit(X, y, y)
        return super().fit(X, np.arange(len(y)) % 2, y.astype(float))

    def score(self, X, y):
        return super().score(X, np.arange(len(y)) % 2, y)


# Of scikit-learn's checks those that do not apply, and why.
INAPPLICABLE = {
    "check_fit2d_1sample": "one row holds one action; two are needed, and the error says so",
}


def test_scikit_learns_checks():
    results = check_estimator(Adapter(), on_fail=None, on_skip=None)
    failed = [r for r in results if r["status"] == "failed"]
    names = {r["check_name"]: str(r["exception"])[:200] for r in failed}
    assert set(names) <= set(INAPPLICABLE), names
    assert sum(r["status"] == "passed" for r in results) >= 30


def logged(rows=600, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (rows, 3)).astype(float)
    a = rng.choice(["drug", "none"], rows)
    y = np.where(X[:, 0] > 5, a == "drug", a == "none") + 0.1 * rng.random(rows)
    return X, a, y


def test_finds_the_rule_and_predicts_it():
    X, a, y = logged()
    learner = RobustPolicyLearner("tree:1", radius=0.02).fit(X, a, y)
    best = np.where(X[:, 0] > 5, "none", "drug")
    assert (learner.predict(X) == best).all()
    chances = learner.predict_proba(X)
    assert chances.shape == (600, 2) and np.allclose(chances.sum(axis=1), 1)
    assert list(learner.classes_) == ["drug", "none"] and learner.n_features_in_ == 3
    assert learner.learned_.status == "optimal"
    worse = RobustPolicyLearner("tree:1", radius=0.5).fit(X, a, y)
    assert learner.score(*logged(seed=2)) > worse.score(*logged(seed=2)) - 1
    flipped = RobustPolicyLearner("tree:1", radius=0.02, reward=True).fit(X, a, -y)
    assert (flipped.predict(X) == best).all()


@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(5, random_state=0)])
def test_any_regressor_is_an_outcome_model(model):
    X, a, y = logged()
    learner = RobustPolicyLearner("tree:1", radius=0.02, outcome_model=model).fit(X, a, y)
    assert set(learner.predict(X)) <= {"drug", "none"}
    assert learner.get_params()["outcome_model"] is model
    assert clone(learner).fit(X, a, y).learned_.value == learner.learned_.value


def test_a_function_is_an_outcome_model():
    X, a, y = logged()
    asked = lambda x: np.column_stack([x[:, 0] > 3, x[:, 0] <= 3]).astype(float)  # noqa: E731
    learner = RobustPolicyLearner("tree:1", outcome_model=asked).fit(X, a, y)
    assert (learner.predict(X) == np.where(X[:, 0] > 3, "none", "drug")).all()
    with pytest.raises(seawall.SeawallError, match="outcome_model"):
        RobustPolicyLearner(outcome_model=3).fit(X, a, y)


def test_names_of_columns_and_of_states_do_not_matter():
    pd = pytest.importorskip("pandas")
    X, a, y = logged()
    plain = RobustPolicyLearner(radius=0.02).fit(X, a, y).learned_.value
    frame = pd.DataFrame(X, columns=["_action", "_outcome", "__a"])
    state = np.random.RandomState(0)
    assert RobustPolicyLearner(radius=0.02, random_state=state).fit(frame, a, y).learned_.value == plain
    for bad in [np.where(a == "drug", None, a), np.where(a == "drug", np.nan, 1.0)]:
        with pytest.raises(seawall.InputError):
            RobustPolicyLearner().fit(X, bad, y)


def test_softmax_and_frames():
    pd = pytest.importorskip("pandas")
    X, a, y = logged()
    frame = pd.DataFrame(X, columns=["age", "dose", "site"])
    learner = RobustPolicyLearner("softmax", radius=0.02).fit(frame, a, y)
    assert list(learner.feature_names_in_) == ["age", "dose", "site"]
    assert (learner.predict(frame) == np.where(X[:, 0] > 5, "none", "drug")).mean() > 0.8


def test_one_y_of_actions_and_outcomes():
    X, a, y = logged()
    both = package.logged(a, y)
    apart, together = RobustPolicyLearner(radius=0.02).fit(X, a, y), RobustPolicyLearner(radius=0.02).fit(X, both)
    assert apart.learned_.value == together.learned_.value
    others, theirs, what = logged(seed=2)
    assert apart.score(others, theirs, what) == together.score(others, package.logged(theirs, what))
    with pytest.raises(seawall.InputError, match="logged"):
        apart.fit(X, a)
    with pytest.raises(seawall.InputError, match="an action and an outcome for each row"):
        package.logged(a, y[:-1])


def test_pipelines_and_searches_choose_by_the_worst_case():
    pd = pytest.importorskip("pandas")
    X, a, y = logged()
    frame = pd.DataFrame({"age": X[:, 0], "site": np.array(list("abcdefghij"))[X[:, 1].astype(int)]})
    both = package.logged(a, y)
    encode = make_column_transformer((OneHotEncoder(), ["site"]), (StandardScaler(), ["age"]), sparse_threshold=0)
    pipe = make_pipeline(encode, RobustPolicyLearner("tree:1", radius=0.02))
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(pipe, frame, both, scoring=RobustScorer(0.02), cv=folds)
    # The rule is found in every fold, so its worst case is what the best action costs.
    assert scores.shape == (3,) and (scores > -0.2).all()
    # Own scores are of the columns after the pipeline.
    assert np.isfinite(cross_val_score(pipe, frame, both, cv=folds)).all()
    radii = {"robustpolicylearner__radius": [0.0, 0.02]}
    search = GridSearchCV(pipe, radii, scoring=RobustScorer(0.02), cv=folds, n_jobs=2)
    search.fit(frame, both)
    assert search.best_score_ >= scores.mean() - 1e-12
    assert (search.predict(frame) == np.where(X[:, 0] > 5, "none", "drug")).mean() > 0.95


def test_the_score_is_the_worst_case_on_the_rows_given():
    X, a, y = logged()
    both = package.logged(a, y)
    fixed = DummyClassifier(strategy="constant", constant="drug").fit(X, a)
    found = seawall.evaluate_policy(
        X, (a == "none").astype(int), None, np.full(len(a), 0.5), np.tile([1.0, 0.0], (len(a), 1)), cost=y, radius=[0.0, 0.1],
    )
    # Whatever the propensities are said to be.
    assert RobustScorer(0.1)(fixed, X, both) == -found.results[1].value < -found.results[0].value == RobustScorer(0.0)(fixed, X, both)
    gain = package.logged(a, -y)
    assert RobustScorer(0.1, reward=True)(fixed, X, gain) == pytest.approx(RobustScorer(0.1)(fixed, X, both), abs=1e-12)

    class Rule:
        classes_ = np.array(["drug", "none"])

        def predict(self, rows):
            return np.where(rows[:, 0] > 5, "none", "drug")

    assert RobustScorer(0.1)(Rule(), X, both) > RobustScorer(0.1)(fixed, X, both)
    other = package.logged(np.where(a == "drug", "aspirin", a), y)
    with pytest.raises(seawall.InputError, match="'aspirin' is none of the policy's"):
        RobustScorer(0.1)(fixed, X, other)
    with pytest.raises(seawall.InputError, match="logged"):
        RobustScorer(0.1)(fixed, X, y)

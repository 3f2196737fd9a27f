"""Outcome models of one's own: predictions row by row, and anything with `fit` and `predict`."""

import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import seawall
from seawall import _models

sklearn = pytest.importorskip("sklearn")
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

CONTEXT = {
    "age": {"kind": "numeric", "bin": 10},
    "mind": {"kind": "ordinal", "levels": ["clear", "drowsy", "gone"]},
    "sex": {"kind": "nominal", "levels": ["F", "M"]},
}
QUESTION = dict(
    context=CONTEXT,
    action="arm",
    cost="y",
    propensity={"design": {"treat": 0.5, "control": 0.5}},
    policy=["uniform", "constant:treat"],
    radius=[0.0, 0.05],
)


def rows(count=800, binary=False):
    draw = np.random.default_rng(7)
    age, sex = draw.integers(20, 80, count), draw.choice(["F", "M"], count)
    mind, arm = draw.choice(["clear", "drowsy", "gone"], count), draw.choice(["treat", "control"], count)
    risk = age / 100 + 0.3 * (mind == "gone") - 0.2 * (arm == "treat") * (age < 50) + 0.05 * (sex == "M")
    y = (draw.random(count) < risk).astype(float) if binary else risk + 0.1 * draw.normal(size=count)
    return pd.DataFrame({"age": age, "mind": mind, "sex": sex, "arm": arm, "y": y})


def study(data=None, **changes):
    return seawall.Study(rows() if data is None else data, **(QUESTION | changes))


def values(found):
    return [[r.value for r in p.results] for p in found.policies]


class Counting:
    """Each action's mean; counts how often it was fitted. Knows nothing of scikit-learn."""

    fits = 0

    def fit(self, X, y, sample_weight):
        Counting.fits += 1
        self.mean = np.average(y, weights=sample_weight)

    def predict(self, X):
        return np.full(len(X), self.mean)


# Predictions of the rows.


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_predictions_of_rows_in_memory_are_those_of_their_contexts(library):
    data = rows()
    place = data.age // 10 * 10 + 5
    data["m1"], data["m0"] = place / 70 + (data.sex == "M") / 7, place / 90 + (data.mind == "gone") / 3
    # A column that nothing asks for, which need not cross.
    data["other"] = "x"
    table = data if library == "pandas" else pytest.importorskip("polars").from_pandas(data)
    table = table.to_arrow() if library == "pyarrow" else table
    columns = {"treat": "m1", "control": "m0"}
    own = study(table, model={"kind": "column", "predictions": columns}, support="observed")
    contexts = pd.DataFrame(study(data, model="tree").contexts())
    by_hand = pd.DataFrame({
        "treat": contexts.age / 70 + (contexts.sex == "M") / 7,
        "control": contexts.age / 90 + (contexts.mind == "gone") / 3,
    })
    given = study(data, model="tree", support="observed").with_outcomes(by_hand)
    assert own.check().model == "column"
    np.testing.assert_allclose(own.outcomes(), given.outcomes(), rtol=1e-14)
    a, b = own.evaluate(), given.evaluate()
    np.testing.assert_allclose(values(a), values(b), rtol=1e-12)
    for found in (a, b):
        assert any("leave out its noise" in note for note in found.diagnostics.notes)
    assert not any("same context" in note for note in a.diagnostics.notes)
    learned = study(data, model="tree").evaluate()
    assert not any("leave out its noise" in note for note in learned.diagnostics.notes)


def test_rows_without_a_prediction_are_counted():
    data = rows()
    data["m1"], data["m0"] = 0.5, 0.25
    data.loc[[11, 40, 41], "m0"] = np.nan
    data.loc[40, "m1"] = np.inf
    model = {"kind": "column", "predictions": {"treat": "m1", "control": "m0"}}
    with pytest.raises(seawall.InputError, match='3 of the rows used lack a prediction.*row 12, column "m0"'):
        study(data, model=model)
    with pytest.raises(seawall.ConfigError, match='no such action "none"; there are control, treat'):
        study(data.fillna(1.0), model={"kind": "column", "predictions": {"none": "m1", "control": "m0"}})


def test_values_off_the_support_are_not_needed():
    data = rows(60)
    full = study(data, model="cells", support="observed")
    with pytest.raises(seawall.ConfigError, match="observed contexts"):
        full.evaluate()
    data = pd.concat([data.assign(arm=arm) for arm in ("treat", "control")])
    with pytest.raises(seawall.ConfigError, match="of 36 contexts"):
        study(data, model="cells").evaluate()
    typed = study(data, model="cells").evaluate(support="observed")
    own = study(data, model="cells", support="observed")
    assert values(own.evaluate()) == values(typed)
    found = own.outcomes()
    assert 0 < np.isnan(found[:, 0]).sum() < len(found)
    np.testing.assert_allclose(values(own.with_outcomes(found).evaluate()), values(typed), rtol=1e-12)
    assert own.learn("tree:1").support == "observed"
    found[np.isfinite(found)] = np.nan
    with pytest.raises(seawall.InputError, match=r"predicted outcomes\[\d+, 0\] is NaN"):
        own.with_outcomes(found)


# Estimators.


@pytest.mark.parametrize("depth, leaf", [(2, 1), (4, 1), (5, 20)])
def test_a_tree_of_scikit_learn_is_ours(depth, leaf):
    ours = study(model={"kind": "tree", "max_depth": depth, "min_samples_leaf": leaf})
    # Rows in leaves are counted as they are in the log only if they are repeated.
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=0)
    how = "weighted" if leaf == 1 else "repeated"
    theirs = ours.with_model(tree, rows=how)
    np.testing.assert_allclose(theirs.outcomes(), ours.outcomes(), rtol=1e-12)
    a, b = ours.evaluate(), theirs.evaluate()
    np.testing.assert_allclose(values(a), values(b), rtol=1e-12)
    for p, q in zip(a.policies, b.policies):
        assert p.nominal.dr.value == pytest.approx(q.nominal.dr.value, rel=1e-10), "folds refit"
        for r, s in zip(p.results, q.results):
            # Deep trees of few rows have splits that are equally good, of which scikit-learn draws one.
            near = 1e-9 if depth == 2 else 1e-3
            assert r.held_out.value == pytest.approx(s.held_out.value, rel=near), "halves refit"
            assert r.limits.upper == pytest.approx(s.limits.upper, rel=near)
    assert b.diagnostics.model == "learner"
    assert not any("leave out its noise" in note for note in b.diagnostics.notes)


def test_folds_and_splits_refit():
    own = study(model=Counting())
    for ask, fits in [
        (lambda s: s.outcomes(), 1),
        # Five deals of five folds, and two parts of each split; the first ten splits are enough here.
        (lambda s: s.evaluate(), 1 + 5 * 5 + 2 * 10),
        (lambda s: s.evaluate(splits=3), 1 + 5 * 5 + 2 * 3),
        (lambda s: s.evaluate(splits=0), 1 + 5 * 5),
        (lambda s: s.learn("tree:1", splits=0), 1),
    ]:
        Counting.fits = 0
        ask(own.with_model(Counting()))
        assert Counting.fits == 2 * fits
    Counting.fits = 0
    own.with_model(Counting()).learn("tree:1")
    assert Counting.fits >= 2 * (1 + 4)


def test_one_for_each_action_and_a_target():
    data = rows()
    own = study(data, model={"treat": LinearRegression(), "control": Counting()})
    found, contexts = own.outcomes(), pd.DataFrame(own.contexts())
    column = own.actions.index("control")
    np.testing.assert_allclose(found[:, column], data.y[data.arm == "control"].mean())
    part = data[data.arm == "treat"]
    position = {"clear": 0.0, "drowsy": 0.5, "gone": 1.0}
    x = np.column_stack([part.age // 10 * 10 + 5, part.mind.map(position), part.sex == "M"])
    fitted = LinearRegression().fit(x.astype(float), part.y)
    x = np.column_stack([contexts.age, contexts.mind.map(position), contexts.sex == "M"])
    np.testing.assert_allclose(found[:, 1 - column], fitted.predict(x.astype(float)), rtol=1e-9)
    # Ages beyond the log's extend the axis, and are predicted like any other.
    target = pd.DataFrame({"age": [25, 85, 95], "mind": ["clear", "gone", "gone"], "sex": ["F", "M", "M"]})
    there = own.evaluate("constant:treat", radius=0.0, target=target)
    x = np.column_stack([[25, 85, 95], [0.0, 1.0, 1.0], [0, 1, 1]]).astype(float)
    assert there.policies[0].target.dm.value == pytest.approx(fitted.predict(x).mean(), rel=1e-9)
    assert values(own.evaluate(target=target)) != values(own.evaluate())


def test_forests_are_the_same_on_any_number_of_threads(tmp_path):
    forest = RandomForestRegressor(10, random_state=1)
    own = study(model=forest)
    said = {own.with_model(forest).running(threads=n).evaluate(splits=8).to_json() for n in (1, 2, 4)}
    assert len(said) == 1
    assert not hasattr(forest, "estimators_"), "a copy is fitted"
    assert "fitted from Python" in own.text and "RandomForestRegressor" in own.text
    own.report(tmp_path / "r.html", splits=5)
    page = (tmp_path / "r.html").read_text()
    assert "RandomForestRegressor, fitted for each action" in page and "refitted each time" in page
    assert own.check().model == "learner"


def test_pipelines_and_weights():
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
        remainder="passthrough",
    )
    # Weighted rows, repeated rows, and an estimator that takes no weights: the same fit.
    data = rows()
    data["y"] = data.y.round(1)
    own = study(data)
    least = make_pipeline(encoded, LinearRegression())
    found = [own.with_model(least, encode="labels", rows=r).outcomes() for r in ("weighted", "repeated")]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)

    class Plain:
        def fit(self, X, y):
            assert list(X.columns) == ["age", "mind", "sex"] and len(X) == len(y)
            self.fitted = LinearRegression().fit(X, y)

        def predict(self, X):
            return list(self.fitted.predict(X))

    plain, weighted = own.with_model(Plain()), own.with_model(LinearRegression())
    np.testing.assert_allclose(plain.outcomes(), weighted.outcomes(), rtol=1e-9)
    near = KNeighborsRegressor(5)
    assert np.isfinite(own.with_model(near).outcomes()).all()
    data["w"] = np.random.default_rng(1).random(len(data)) + 0.5
    by_weight = study(data, weight={"column": "w", "fractional": True})
    assert np.isfinite(by_weight.with_model(LinearRegression()).outcomes()).all()
    with pytest.raises(seawall.InputError, match="takes no sample_weight, and a row of '.*' weighs"):
        by_weight.with_model(near).outcomes()
    boosted = HistGradientBoostingRegressor(max_iter=20, random_state=0, categorical_features="from_dtype")
    assert np.isfinite(own.with_model(boosted, encode="labels").outcomes()).all()


def test_missing_values():
    data = rows()
    data.loc[::9, "sex"] = None
    data.loc[::7, "age"] = np.nan
    context = {
        "age": {"kind": "numeric", "bin": 10, "missing": True},
        "sex": {"kind": "nominal", "missing": True},
    }
    own = study(data, context=context)
    for encode in ("codes", "labels"):
        table = []

        class Looks(Counting):
            def predict(self, X):
                table.append(X)
                return super().predict(X)

        own.with_model(Looks(), encode=encode).outcomes()
        contexts, seen = own.contexts(), table[0]
        assert np.array_equal(seen.age, contexts["age"], equal_nan=True) and seen.age.isna().any()
        gone = np.array([s is None for s in contexts["sex"]])
        if encode == "codes":
            assert sorted(set(seen.sex)) == [0.0, 1.0, 2.0] and (seen.sex[gone] == 2.0).all()
        else:
            assert seen.sex.isna().to_numpy().tolist() == gone.tolist()
            assert list(seen.sex.cat.categories) == ["F", "M"]


def test_without_pandas(monkeypatch):
    own, tree = study(), DecisionTreeRegressor(max_depth=3, random_state=0)
    framed = own.with_model(tree).outcomes()
    least = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearRegression())
    labelled = own.with_model(least, encode="labels").outcomes()
    monkeypatch.setattr(_models, "_pandas", lambda: None)
    assert (own.with_model(tree).outcomes() == framed).all()
    np.testing.assert_allclose(own.with_model(least, encode="labels").outcomes(), labelled, rtol=1e-9)


def test_classifiers_give_the_probability_of_1():
    data = rows(binary=True)
    own = study(data, model=LogisticRegression(C=1e6, max_iter=1000))
    found, column = own.outcomes(), study(data).actions.index("treat")
    assert ((0 < found) & (found < 1)).all()
    part = data[data.arm == "treat"]
    assert found[:, column].min() < part.y.mean() < found[:, column].max()
    assert own.with_model(RandomForestClassifier(5, random_state=0)).evaluate().policies
    with pytest.raises(seawall.InputError, match="classifier, and an outcome of '.*' is .*; expected 0 or 1"):
        study(model=LogisticRegression()).outcomes()
    with pytest.raises(seawall.ConfigError, match="without predict_proba"):
        own.with_model(SVC())
    # Where all outcomes are the same there is nothing to tell apart.
    data.loc[data.arm == "treat", "y"] = 1.0
    assert (study(data, model=LogisticRegression()).outcomes()[:, column] == 1.0).all()


@pytest.mark.filterwarnings("ignore")
def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    boosted = lightgbm.LGBMRegressor(n_estimators=20, random_state=0, verbosity=-1, n_jobs=1)
    own = study(model=boosted)
    assert own.outcomes().std() > 0.05
    assert values(own.evaluate(splits=3)) == values(own.with_model(boosted).running(threads=1).evaluate(splits=3))
    assert own.with_model(boosted, encode="labels").outcomes().std() > 0.05
    found = study(rows(binary=True), model=lightgbm.LGBMClassifier(n_estimators=10, verbosity=-1)).outcomes()
    assert ((0 < found) & (found < 1)).all()


@pytest.mark.filterwarnings("ignore")
def test_catboost():
    catboost = pytest.importorskip("catboost")
    settings = dict(iterations=20, random_seed=0, verbose=0, allow_writing_files=False)
    own = study(model=catboost.CatBoostRegressor(**settings))
    assert own.evaluate(splits=3).policies and own.outcomes().std() > 0.05
    by_label = catboost.CatBoostRegressor(cat_features=["mind", "sex"], **settings)
    assert own.with_model(by_label, encode="labels").outcomes().std() > 0.05
    found = study(rows(binary=True), model=catboost.CatBoostClassifier(**settings)).outcomes()
    assert ((0 < found) & (found < 1)).all()


# What is refused.


class Answers(Counting):
    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(len(X))


class Raises(Counting):
    def fit(self, X, y, sample_weight=None):
        raise ZeroDivisionError("too few teeth")


BAD = [
    (lambda n: np.zeros((n, 2)), r"Answers: its predict of '(treat|control)' returned the shape \(36, 2\); expected \(36,\)"),
    (lambda n: [0.0] * (n - 1), r"returned the shape \(35,\); expected \(36,\): a number for each context"),
    (lambda n: 1.0, r"returned the shape \(\); expected \(36,\)"),
    (lambda n: ["high"] * n, "returned a list that is no array of numbers"),
    (lambda n: None, r"returned the shape \(\)|no array of numbers|NoneType"),
    (lambda n: [np.nan] * 3 + [1.0] * (n - 3), r"returned nan in 3 of 36 contexts, the first \{'age': 25.0.*expected finite"),
    (lambda n: [1.0] * (n - 1) + [-np.inf], "returned -inf in 1 of 36 contexts"),
]


@pytest.mark.parametrize("answer, words", BAD)
def test_wrong_answers_are_told(answer, words):
    with pytest.raises(seawall.InputError, match=words):
        study(model=Answers(answer)).evaluate()


def test_what_an_estimator_raises_is_the_cause():
    assert "Study of 800 rows" in repr(study(model=Raises())), "nothing is fitted to show it"
    for ask in [lambda s: s.evaluate(), lambda s: s.check(), lambda s: s.outcomes(), lambda s: s.learn("tree:1")]:
        with pytest.raises(seawall.InputError, match="Raises: fitting it to .* rows of '.*' raised ZeroDivisionError: too") as told:
            ask(study(model=Raises()))
        assert isinstance(told.value.__cause__, ZeroDivisionError)

    class Forgets(Counting):
        def predict(self, X):
            raise KeyError("gone")

    with pytest.raises(seawall.InputError, match="predicting 36 contexts of") as told:
        study(model=Forgets()).outcomes()
    assert isinstance(told.value.__cause__, KeyError)


class Halting(Counting):
    """Fails on half of the rows, not on all of them or on all but a fold."""

    most = 0.0

    def fit(self, X, y, sample_weight):
        Halting.most = max(Halting.most, sample_weight.sum())
        if sample_weight.sum() < 0.7 * Halting.most:
            raise ValueError("half of them")
        super().fit(X, y, sample_weight)


def test_an_error_in_a_split_is_told():
    data = rows(50)
    own = study(data, context={"age": "numeric"} | {k: CONTEXT[k] for k in ("mind", "sex")})
    kept = own.with_model(Counting())
    kept.evaluate(splits=3)
    with pytest.raises(seawall.InputError, match="half of them"):
        own.with_model(Halting()).running(threads=2).evaluate(splits=10)


def test_models_that_are_none():
    own = study()
    for model, words in [
        (RandomForestRegressor, r"the class RandomForestRegressor; expected an object: RandomForestRegressor\(\)"),
        (3, "no fit"),
        (OneHotEncoder(), "has no predict"),
        ({"treat": LinearRegression()}, r"estimators for \['treat'\]; expected the actions"),
        ({"treat": LinearRegression(), "control": 1}, "no fit"),
    ]:
        with pytest.raises(seawall.ConfigError, match=words):
            own.with_model(model)
    with pytest.raises(seawall.ConfigError, match="model is 3"):
        study(model=3)
    with pytest.raises(seawall.ConfigError, match="the class RandomForestRegressor"):
        study(model=RandomForestRegressor)
    with pytest.raises(seawall.ConfigError, match="encode is 'onehot'"):
        own.with_model(LinearRegression(), encode="onehot")
    with pytest.raises(seawall.ConfigError, match="rows is 3"):
        own.with_model(LinearRegression(), rows=3)
    with pytest.raises(seawall.ConfigError, match="cost_radius is 0.1"):
        own.with_model(LinearRegression()).evaluate(cost_radius=0.1)


def test_ctrl_c_interrupts_between_fits():
    code = """
import time, numpy as np, seawall
class Slow:
    fits = 0
    def fit(self, X, y, sample_weight):
        time.sleep(0.02)
        Slow.fits += 1
        if Slow.fits == 40:
            print("go", flush=True)
    def predict(self, X):
        return np.zeros(len(X))
seawall.demo().with_model(Slow()).evaluate(splits=10_000)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    child.send_signal(signal.SIGINT)
    # Ten thousand halvings take many minutes: this ends a test that hangs.
    _, err = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in err


def test_a_model_of_ones_own_is_not_what_auto_chose_from():
    sklearn = pytest.importorskip("sklearn.tree")
    auto = seawall.Study(
        seawall.demo_data(), context={"age": {"kind": "numeric", "bin": 20}, "sex": "nominal"}, action="arm",
        cost={"dead": {"Y": 1}}, propensity={"design": {"treat": 0.5, "control": 0.5}}, model="auto", radius=0.05,
    )
    assert auto.evaluate(splits=2).diagnostics.models
    own = auto.with_model(sklearn.DecisionTreeRegressor(max_depth=2))
    assert own.evaluate(splits=2).diagnostics.models == []
    # A model without outcomes is refused, not replaced.
    with pytest.raises(seawall.ConfigError, match="cost_radius"):
        own.evaluate(splits=0, cost_radius=0.01)

"""Outcome models beside scikit-learn's on the same rows, and what is told of them."""

import json

import numpy as np
import pandas as pd
import pytest

import seawall

ROWS, FOLDS = 4000, 4
CONTEXT = {"age": {"kind": "numeric", "bin": 5}, "sex": "nominal", "stage": "nominal",
           "pressure": {"kind": "numeric", "bin": 10}}
COLUMNS = list(CONTEXT)


def rows():
    """A smooth truth with an interaction, and noise of about the same size."""
    random = np.random.default_rng(4)
    age, pressure = random.integers(40, 90, ROWS), random.integers(100, 180, ROWS)
    sex, stage = random.integers(0, 2, ROWS), random.integers(0, 4, ROWS)
    truth = np.sin(age / 12) + 0.4 * stage * sex + 0.02 * (pressure - 140)
    cost = truth + random.normal(0, 1, ROWS)
    return pd.DataFrame({
        "age": age // 5 * 5 + 2.5, "sex": np.array(["F", "M"])[sex],
        "stage": np.array(["I", "II", "III", "IV"])[stage],
        "pressure": pressure // 10 * 10 + 5.0, "arm": "a", "cost": cost,
    })


def study(frame, model):
    return seawall.Study(frame, context=CONTEXT, action="arm", cost="cost", model=model, radius=0.05)


def ours(frame, fold, model):
    """The mean squared error on each fold's rows of what is fitted to the others."""
    squares = 0.0
    for left_out in range(FOLDS):
        fitted = study(frame[fold != left_out], model)
        contexts = pd.DataFrame(fitted.contexts())
        contexts["predicted"] = fitted.outcomes()[:, 0]
        test = frame[fold == left_out].merge(contexts, on=COLUMNS, how="left")
        assert test["predicted"].notna().all()
        squares += ((test["cost"] - test["predicted"]) ** 2).sum()
    return squares / len(frame)


def theirs(frame, fold, make):
    x = frame[COLUMNS].assign(sex=frame["sex"] == "M", stage=frame["stage"].str.len()
                              + 2.5 * (frame["stage"] == "IV")).astype(float).to_numpy()
    y, squares = frame["cost"].to_numpy(), 0.0
    for left_out in range(FOLDS):
        model = make().fit(x[fold != left_out], y[fold != left_out])
        squares += ((y[fold == left_out] - model.predict(x[fold == left_out])) ** 2).sum()
    return squares / len(frame)


def test_errors_on_rows_left_out_are_those_of_scikit_learn():
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame = rows()
    fold = np.random.default_rng(5).integers(0, FOLDS, ROWS)
    mine = ours(frame, fold, {"kind": "forest", "min_samples_leaf": 5})
    peer = theirs(frame, fold, lambda: ensemble.RandomForestRegressor(
        100, max_features=2, min_samples_leaf=5, n_jobs=2, random_state=0))
    print(f"forest {mine:.4f}, scikit-learn {peer:.4f}")
    assert mine < 1.01 * peer
    mine = ours(frame, fold, {"kind": "boosted", "depth": 3, "min_samples_leaf": 20})
    for make in (
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=100, max_leaf_nodes=8),
        lambda: ensemble.GradientBoostingRegressor(min_samples_leaf=20, random_state=0),
    ):
        peer = theirs(frame, fold, make)
        print(f"boosted {mine:.4f}, scikit-learn {peer:.4f}")
        assert mine < 1.01 * peer


def test_models_are_told():
    frame = rows()
    for model, kind in [({"kind": "tree", "max_depth": 2}, "tree"), ("additive", "additive"),
                        ({"kind": "forest", "trees": 10}, "forest"),
                        ({"kind": "boosted", "rounds": 20}, "boosted")]:
        found = study(frame, model).explain()
        assert found.kind == kind
        told = getattr(found.actions[0].model, kind)
        assert told is not None
        assert found.to_dict()["actions"][0]["model"].keys() == {kind}
        assert len(pd.DataFrame.from_arrow(found.to_frame())) > 0
        assert kind in repr(found)
        if kind == "additive":
            for effect in told.effects:
                rows_of = np.array([s.rows for s in effect.steps])
                assert abs(np.dot(rows_of, [s.effect for s in effect.steps])) < 1e-6 * rows_of.sum()
        if kind in ("forest", "boosted"):
            assert abs(sum(i.share for i in told.importance) - 1) < 1e-9
    assert [a.name for a in study(frame, "tree").explain("a").actions] == ["a"]


def test_auto_says_what_it_compared():
    found = study(rows(), "auto").check()
    assert [m.kind for m in found.models][:4] == ["tree", "additive", "forest", "boosted"]
    assert [m.kind for m in found.models if m.chosen] == [found.model]
    assert json.loads(found.to_json())["models"][0]["error"] > 1


def test_a_cost_radius_is_refused_by_name():
    with pytest.raises(seawall.ConfigError, match="cost_radius is 0.1.*forest"):
        study(rows(), "additive").evaluate(cost_radius=0.1)

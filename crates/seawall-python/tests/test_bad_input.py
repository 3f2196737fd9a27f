"""Bad input gets a clear exception of ours, never a panic."""

import numpy as np
import pandas as pd
import pytest

import seawall

OK = dict(values=[1.0, 2.0, 3.0], weights=None, contexts=[[1.0], [2.0], [3.0]], radius=0.1)


@pytest.mark.parametrize("change, error, words", [
    ({"values": [1.0, 2.0]}, seawall.InputError, "rows; expected 2"),
    ({"values": [[1.0], [2.0], [3.0]]}, seawall.InputError, "expected 1 dimensions"),
    ({"values": [1.0, float("nan"), 3.0]}, seawall.InputError, "values[1] is nan"),
    ({"values": ["a", "b", "c"]}, seawall.InputError, "expected numbers"),
    ({"values": [None, 1.0, 2.0]}, seawall.InputError, "values[0] is nan"),
    ({"values": np.ma.array([1.0, 2.0, 9.0], mask=[0, 0, 1])}, seawall.InputError, "values[2] is nan"),
    ({"contexts": [[1.0], [2.0, 3.0], [4.0]]}, seawall.InputError, "contexts"),
    ({"contexts": {"s": ["a", 1, "b"]}}, seawall.InputError, "several types"),
    ({"kinds": "numeric"}, seawall.ConfigError, "kinds is"),
    ({"radius": "x"}, seawall.ConfigError, "radius is 'x'"),
    ({"radius": [0.1, 0.2]}, seawall.ConfigError, "expected a number"),
    ({"threads": -1}, seawall.ConfigError, "threads is -1"),
    ({"values": []}, seawall.InputError, "empty"),
    ({"values": (x for x in [1.0, 2.0, 3.0])}, seawall.InputError, "is a generator"),
    ({"contexts": (x for x in [1.0])}, seawall.InputError, "is a generator"),
    ({"contexts": np.zeros((3, 0))}, seawall.InputError, "empty"),
    ({"contexts": np.zeros((0, 2))}, seawall.InputError, "empty"),
    ({"contexts": np.zeros((3, 2, 2))}, seawall.InputError, "2 dimensions"),
    ({"contexts": [[1.0], [float("inf")], [3.0]]}, seawall.InputError, "inf"),
    ({"weights": [1.0, -1.0, 1.0]}, seawall.InputError, "-1"),
    ({"weights": [0.0, 0.0, 0.0]}, seawall.InputError, ""),
    ({"weights": [1.0]}, seawall.InputError, "weights has 1 rows"),
    ({"radius": -1.0}, seawall.ConfigError, "-1"),
    ({"radius": float("nan")}, seawall.ConfigError, "NaN"),
    ({"set": "chi3"}, seawall.ConfigError, "chi3"),
    ({"set": "entropic"}, seawall.ConfigError, "eta"),
    ({"eta": 5.0}, seawall.ConfigError, "eta"),
    ({"kinds": ["numeric", "nominal"]}, seawall.ConfigError, "2 kinds for 1 columns"),
    ({"kinds": ["colour"]}, seawall.ConfigError, "colour"),
    ({"scales": [1.0, 2.0]}, seawall.ConfigError, "2 scales"),
    ({"scales": [-1.0]}, seawall.SeawallError, "-1"),
    ({"threads": 0}, seawall.ConfigError, "threads is 0"),
])
def test_arrays(change, error, words):
    with pytest.raises(error) as caught:
        seawall.worst_case(**(OK | change))
    assert words in str(caught.value)


def frame(**columns):
    usual = {"x": [1.0, 2.0, 3.0, 4.0], "a": ["l", "r", "l", "r"], "y": [0.0, 1.0, 0.0, 1.0]}
    return pd.DataFrame(usual | columns)


ASKED = dict(
    context={"x": "numeric"}, action="a", cost="y", radius=0.1, model={"kind": "cells", "unseen": "mean"}
)


@pytest.mark.parametrize("asked, words", [
    ({"context": {"x": "numeric", "a": "nominal"}}, 'context["a"]: the column "a" is under context, but it says which action'),
    ({"context": {"x": "numeric", "y": "numeric"}}, 'context["y"]: the column "y" is under context, but it is part of the outcome'),
    ({"action": {"low": {"x": {"max": 2}}, "high": {"x": {"min": 3}}}}, 'context["x"]: the column "x" is under context, but it says'),
])
def test_actions_and_outcomes_are_no_contexts(asked, words):
    with pytest.raises(seawall.ConfigError) as refused:
        seawall.Study(frame(), **(ASKED | asked))
    assert words in str(refused.value) and str(refused.value).endswith("leave it out of context")


def test_a_context_that_tells_the_action_is_warned_of():
    columns = {"x": np.arange(40.0) % 20, "a": ["l" if k % 20 < 9 else "r" for k in range(40)], "y": np.arange(40.0) % 3}
    study = seawall.Study(pd.DataFrame(columns), **ASKED)
    told = 'no overlap: the context column "x" tells the action of 100.0% of rows (a threshold between 8 and 9)'
    assert study.check().notes[0].startswith(told)
    with pytest.warns(seawall.SeawallWarning, match="no overlap"):
        study.evaluate()


@pytest.mark.parametrize("data, asked, error, words", [
    (lambda: (row for row in []), {}, seawall.InputError, "generator"),
    (lambda: [1, 2], {}, seawall.InputError, "list"),
    (lambda: None, {}, seawall.InputError, "NoneType"),
    (lambda: "no-such-file.csv", {}, seawall.InputError, "no-such-file.csv"),
    (lambda: frame(x=[1, "a", object(), 2]), {}, seawall.InputError, "pandas DataFrame"),
    (lambda: frame(x=["1", "a", "2", "3"]), {}, seawall.InputError, "row 2, column \"x\""),
    (lambda: frame(y=[0.0, float("nan"), 1.0, 1.0]), {}, seawall.InputError, "row 2, column \"y\""),
    (lambda: frame(y=[0.0, float("inf"), 1.0, 1.0]), {}, seawall.InputError, "row 2"),
    (lambda: frame(x=pd.Categorical(["1", "2", None, "3"])), {}, seawall.InputError,
     "row 3, column \"x\": the value is missing; say missing = true"),
    (lambda: frame(x=pd.Categorical(["1", "2", "a", "3"])), {}, seawall.InputError, "row 3, column \"x\": \"a\" is not a number"),
    (lambda: frame(y=pd.Categorical(["1", "2", "a", "3"])), {}, seawall.InputError, "row 3, column \"y\": \"a\" is not a number"),
    (lambda: frame(x=pd.Categorical(["l", "r", "m", "l"])), {"context": {"x": {"kind": "nominal", "levels": ["l", "r"]}}},
     seawall.InputError, "row 3, column \"x\": \"m\" is not one of the levels l, r"),
    (lambda: frame().iloc[:0], {}, seawall.InputError, "no rows"),
    (lambda: frame(), {"context": {"z": "numeric"}}, seawall.ConfigError,
     'context["z"]: the pandas DataFrame: no column named "z"'),
    (lambda: frame(), {"context": {"x": "number"}}, seawall.ConfigError,
     'context["x"]: "number" is not one of numeric'),
    (lambda: frame(), {"context": ["x"]}, seawall.ConfigError, "expected a kind for each column"),
    (lambda: frame(), {"context": {"x": {"kind": "numeric", "bins": 3}}}, seawall.ConfigError,
     'context["x"]["bins"]: unknown key; did you mean "bin"?'),
    (lambda: frame(z=["l", "r", "l", "l"]), {"context": {"z": {"kind": "nominal", "levels": ["l"]}}}, seawall.InputError, "\"r\""),
    (lambda: frame().x, {}, seawall.InputError, "Series"),
    (lambda: frame(), {"propensity": 0.5}, seawall.ConfigError, "propensity is 0.5"),
    (lambda: frame(), {"action": None}, seawall.ConfigError, "action is None"),
    (lambda: frame(), {"action": ["a"]}, seawall.ConfigError, "action is"),
    (lambda: frame(), {"model": object()}, seawall.ConfigError, "model is"),
    (lambda: frame(), {"context": {"x": None}}, seawall.ConfigError, 'context["x"] is None; expected a kind'),
    (lambda: frame(), {"eta": 5.0}, seawall.ConfigError, "eta"),
    (lambda: frame(), {"policy": 5}, seawall.ConfigError, "policy 5"),
    (lambda: frame(), {"action": "b"}, seawall.ConfigError, "b"),
    (lambda: frame(), {"cost": None}, seawall.ConfigError, "outcome needs cost = ... or reward = ..."),
    (lambda: frame(), {"radius": "far"}, seawall.ConfigError, "radius: expected a number or a list of numbers"),
    (lambda: frame(), {"model": {"kind": "jungle"}}, seawall.ConfigError, 'model["kind"]: "jungle" is not one of'),
    (lambda: frame(), {"policy": "constant:up"}, seawall.SeawallError, "up"),
    (lambda: frame(), {"context": {"x": object()}}, seawall.ConfigError, "object"),
    (lambda: frame(), {"context": {"x": {"kind": "numeric", "bin": -1}}}, seawall.ConfigError, 'context["x"]["bin"]: -1; expected'),
    (lambda: frame(), {"context": {"x": {"kind": object()}}}, seawall.ConfigError, 'context["x"]["kind"]: <object object'),
    (lambda: frame(), {"model": {"kind": "tree", "max_depth": {"l": 2, "up": 3}}}, seawall.ConfigError, "names the action"),
    (lambda: frame(), {"model": {"kind": "cells", "folds": 0}}, seawall.ConfigError, 'model["folds"]: 0; expected a whole number'),
    (lambda: frame(), {"set": "chi3"}, seawall.ConfigError, 'set: "chi3" is not one of wasserstein'),
    (lambda: frame(), {"cost_set": "joint-kl"}, seawall.ConfigError, "cost_set"),
    (lambda: frame(), {"support": "all"}, seawall.ConfigError, 'support: "all" is not one of grid'),
    (lambda: frame(), {"propensity": {"design": {"l": 0.5, "r": 0.4}}}, seawall.ConfigError, 'propensity["design"]: '),
    (lambda: frame(), {"history": "x"}, seawall.ConfigError, 'history: "x" is a context column'),
    (lambda: frame(), {"target": {"known": {"x": {"mean": "high"}}}}, seawall.ConfigError, 'target["known"]["x"]["mean"]: '),
    (lambda: frame(), {"target": seawall.Target(known={"x": {"mean": "high"}})}, seawall.ConfigError, '["x"]["mean"]: '),
    (lambda: frame(), {"where": {"x": {"min": 3, "max": 2}}}, seawall.ConfigError, 'where["x"]: min 3 is above max 2'),
    (lambda: frame(), {"where": 3}, seawall.ConfigError, "where is 3; expected a text or a dictionary"),
    (lambda: frame(), {"missing_outcome": "zero"}, seawall.ConfigError, "missing_outcome: expected"),
    (lambda: frame(), {"cluster": 3}, seawall.ConfigError, "cluster: expected a text"),
    (lambda: frame(), {"propensity": "p", "action": {"l": {"a": "l"}, "r": {"a": "r"}}}, seawall.ConfigError,
     "propensity: a column of propensities needs a column of actions"),
])
def test_studies(data, asked, error, words):
    with pytest.raises(error) as caught:
        seawall.Study(data(), **(ASKED | asked)).evaluate()
    assert words in str(caught.value), caught.value


@pytest.mark.parametrize("call, words", [
    (lambda s: s.evaluate(radius=-1.0), "-1"),
    (lambda s: s.evaluate(radius="x"), "radius is 'x'"),
    (lambda s: s.evaluate(policy=5), "policy 5"),
    (lambda s: s.evaluate(splits=seawall.Splits(seed=-1)), "seed is -1"),
    (lambda s: s.running(progress=5), "progress is 5"),
    (lambda s: s.running(threads=0), "threads is 0"),
    (lambda s: s.learn("tree:1", radius=[0.1, 0.2]), "radius is"),
    (lambda s: s.report("r.html", learn="zz"), 'learn is "zz"'),
    (lambda s: s.with_outcomes("x"), "predicted outcomes"),
    (lambda s: s.with_outcomes(pd.DataFrame({"l": [1.0] * 4})), "expected the actions"),
    (lambda s: seawall.Policy("garbage"), ""),
    (lambda s: s.evaluate(policy="nowhere.json"), "nowhere.json"),
    (lambda s: s.report("r.html", support="all"), 'support is "all"'),
    (lambda s: s.evaluate(splits=seawall.Splits(5, level=2.0)), "level is 2"),
    (lambda s: s.evaluate(support="all"), "all"),
    (lambda s: s.evaluate(set="entropic"), "eta"),
    (lambda s: s.evaluate().curve("uniform"), "curve"),
    (lambda s: s.evaluate().worst_population("treat"), "was not evaluated"),
    (lambda s: s.evaluate().worst_population(0, 9.0), "was not asked for"),
    (lambda s: s.learn("tree:9"), "depth"),
    (lambda s: s.learn("forest"), "forest"),
    (lambda s: s.learn("tree:1", method="fast"), "fast"),
    (lambda s: s.radius(splits=0), "splits is 0"),
    (lambda s: s.radius(target="none.csv"), "none.csv"),
    (lambda s: s.report("/nowhere/report.html"), "/nowhere/report.html"),
    (lambda s: s.with_outcomes([1.0]), "dimensions"),
    (lambda s: s.with_outcomes([[1.0]]), "shape"),
])
def test_questions(call, words):
    study = seawall.Study(frame(), **ASKED)
    with pytest.raises(seawall.SeawallError) as caught:
        call(study)
    assert words in str(caught.value), caught.value


def test_arrays_that_are_not_contiguous_are_fine():
    wide = np.arange(60, dtype=np.float32).reshape(6, 10)[:, ::3]
    turned = seawall.worst_case(np.arange(12.0)[::2], None, np.asfortranarray(wide), radius=0.1)
    plain = seawall.worst_case(np.arange(12.0)[::2].copy(), None, wide.copy(), radius=0.1)
    assert turned.value == plain.value


def test_what_a_column_holds_is_seen_through_its_wrapping():
    from decimal import Decimal

    plain = seawall.worst_case([1, 2, 3, 4, 5.0], None, {"a": [1, 2, 3, np.nan, 10]}, radius=0.1).value
    for column in [[1, 2, 3, None, 10], [Decimal(1), 2, 3, None, 10], pd.array([1, 2, 3, None, 10], dtype="Int64")]:
        assert seawall.worst_case([1, 2, 3, 4, 5.0], None, {"a": column}, radius=0.1).value == plain
    text = pd.DataFrame({"a": pd.array(["a", None, "b"], dtype="string")})
    assert seawall.worst_case([1, 2, 3.0], None, text, radius=0.1).status == "optimal"


def test_two_samples_share_their_levels():
    pairs = [([["x"], ["y"]], [["p"], ["q"]]), ({"a": ["x", "y"]}, {"a": ["p", "q"]})]
    assert [seawall.distance(a, b).value for a, b in pairs] == [1.0, 1.0]
    assert seawall.distance([["a", 1], ["b", 5]], [["b", 1], ["c", 5]]).value > 0.5
    with pytest.raises(seawall.InputError, match="'s' holds numbers in one"):
        seawall.distance({"s": [1.0, 2.0]}, {"s": ["1", "2"]})
    with pytest.raises(seawall.InputError, match='"a" is "x"'):
        seawall.distance({"a": ["x", "y"]}, {"a": ["x", "x"]}, kinds=["fixed"])


def test_missing_contexts_are_levels():
    found = seawall.worst_case([1.0, 2.0, 3.0], None, {"x": [1.0, np.nan, 3.0], "s": ["a", None, "b"]}, radius=0.2)
    assert found.status == "optimal"


def test_warnings_say_what_the_program_notes():
    study = seawall.Study(frame(), **ASKED)
    with pytest.warns(seawall.SeawallWarning, match="propensities"):
        study.evaluate()

"""The same words, the same bytes: Python against the program and against Rust's numbers."""

import dataclasses
import json
import math
import warnings

import numpy as np
import pytest

import seawall
from given import objects

QUESTIONS = [
    ({}, []),
    (
        {"policy": ["uniform", "constant:treat", "greedy"], "radius": [0.02, 0.2]},
        ["--policy", "uniform", "--policy", "constant:treat", "--policy", "greedy", "--radius", "0.02,0.2"],
    ),
    ({"set": "kl", "radius": 0.1, "cost_radius": 0.01}, ["--set", "kl", "--radius", "0.1", "--outcome-radius", "0.01"]),
    ({"set": "entropic", "eta": 100, "radius": 0.05}, ["--set", "entropic", "--eta", "100", "--radius", "0.05"]),
    ({"support": "observed", "bounds": 0.05}, ["--support", "observed", "--bounds", "0.05"]),
    ({"splits": 5, "level": 0.9, "seed": 7}, ["--splits", "5", "--level", "0.9", "--seed", "7"]),
]


@pytest.mark.parametrize("asked, words", QUESTIONS)
@pytest.mark.parametrize("which", ["demo", "trial"])
def test_evaluate_prints_the_same_bytes(program, request, which, asked, words):
    study = request.getfixturevalue(which)
    study = study / "study.toml" if which == "demo" else study
    said = program("evaluate", study, *words, "--json")
    assert seawall.Study.from_file(study).evaluate(**objects(asked, "splits")).to_json() + "\n" == said


def test_check_and_radius_print_the_same_bytes(program, demo):
    study = seawall.Study.from_file(demo / "study.toml")
    assert study.check().to_json() + "\n" == program("check", demo / "study.toml", "--json")
    said = program("radius", demo / "study.toml", "--splits", 3, "--json")
    assert study.radius(splits=3).to_json() + "\n" == said


COMPARED = [
    ({"policy": ["constant:treat", "constant:control"], "radius": [0.0, 0.01, 0.1]},
     ["--policy", "constant:treat", "--policy", "constant:control", "--radius", "0,0.01,0.1"]),
    ({"policy": ["greedy", "uniform", "behaviour"], "radius": 0.02, "splits": 10},
     ["--policy", "greedy", "--policy", "uniform", "--policy", "behaviour", "--radius", "0.02", "--splits", "10"]),
    ({"set": "kl", "radius": 0.05, "cost_radius": [0.0, 0.02]},
     ["--set", "kl", "--radius", "0.05", "--outcome-radius", "0,0.02"]),
    ({"set": "entropic", "eta": 50, "radius": 0.05}, ["--set", "entropic", "--eta", "50", "--radius", "0.05"]),
]


@pytest.mark.parametrize("asked, words", COMPARED)
@pytest.mark.parametrize("to_target", [False, True])
def test_every_number_of_comparisons_and_targets_is_the_programs(program, demo, older, asked, words, to_target):
    target, more = (older, ["--target", older]) if to_target else (None, [])
    text = program("evaluate", demo / "study.toml", *words, *more, "--json")
    found = seawall.Study.from_file(demo / "study.toml").evaluate(**asked, target=target)
    assert found.to_json() + "\n" == text
    said = json.loads(text)
    assert len(said["comparisons"]) >= 2
    _same(found.comparisons, said["comparisons"])
    _same(found.target, said.get("target"))
    for policy, told in zip(found.policies, said["policies"]):
        _same(policy.target, told.get("target"))
        _same(policy.radii, told["radii"])
    assert (found.target is not None) == to_target


def _same(found, said):
    """A typed result has the JSON's numbers: every one, and nothing else."""
    if isinstance(said, dict) and dataclasses.is_dataclass(found):
        told = {"lambda_" if k == "lambda" else k: v for k, v in said.items()}
        for name, value in told.items():
            if value is None and isinstance(getattr(found, name), float):
                at = getattr(found, name)
                infinite = name in getattr(found, "_infinite", ())
                assert at == math.inf if infinite else math.isnan(at)
            else:
                _same(getattr(found, name), value)
        ours = {"sentence", "direction", "noise"}
        fields = {f.name for f in dataclasses.fields(found) if not f.name.startswith("_")} - ours
        assert all(getattr(found, name) in (None, [], {}) for name in fields - set(told))
    elif isinstance(said, list):
        assert len(found) == len(said)
        for one, other in zip(found, said):
            _same(one, other)
    else:
        assert found == said


@pytest.mark.parametrize("to_target", [False, True])
def test_radius_and_distance_have_the_programs_numbers(program, demo, older, to_target):
    study = seawall.Study.from_file(demo / "study.toml")
    target, more = (older, ["--target", older]) if to_target else (None, [])
    text = program("radius", demo / "study.toml", "--splits", 3, *more, "--json")
    found = study.radius(splits=3, target=target)
    assert found.to_json() + "\n" == text
    _same(found, json.loads(text))
    assert found.comparisons and all(c.leads and c.sentence for c in found.comparisons)
    said = json.loads(program("distance", demo / "study.toml", "--target", older, "--json"))
    far = study.distance(older)
    assert far.to_dict() | {"seconds": 0} == said | {"seconds": 0}
    _same(dataclasses.replace(far, seconds=said["seconds"]), said)


@pytest.mark.parametrize("against", ["constant:control", "behaviour"])
@pytest.mark.parametrize("to_target", [False, True])
def test_learning_against_has_the_programs_numbers(program, demo, older, against, to_target):
    target, more = (older, ["--target", older]) if to_target else (None, [])
    words = ["--policy", "tree:1", "--radius", "0.01", "--against", against]
    said = json.loads(program("learn", demo / "study.toml", *words, *more, "--json"))
    found = seawall.Study.from_file(demo / "study.toml").learn("tree:1", radius=0.01, against=against, target=target)
    assert found.to_dict() | {"seconds": 0} == said | {"seconds": 0}
    assert found.against.policy == against and found.value == said["value"]
    _same(found.against, said["against"])
    _same(found.honest, said["honest"])


def test_honest_values_are_wanted_unless_they_are_not(program, demo):
    study = seawall.Study.from_file(demo / "study.toml")
    said = json.loads(program("learn", demo / "study.toml", "--policy", "tree:1", "--no-honest", "--json"))
    plain = study.learn("tree:1", splits=0)
    assert plain.to_dict() | {"seconds": 0} == said | {"seconds": 0} and plain.honest is None
    honest = study.learn("tree:1").honest
    assert len(honest.halves) == 2 * honest.splits
    assert honest.value == honest.worst_case == pytest.approx(np.mean(honest.halves))
    assert honest.baseline.policy == "behaviour" and honest.best_constant.policy.startswith("constant:")


def test_reports_about_a_target_are_the_same_bytes(program, demo, older, tmp_path):
    program("report", demo / "study.toml", "--splits", 3, "--target", older, "--out", tmp_path / "a.html")
    seawall.Study.from_file(demo / "study.toml").report(tmp_path / "b.html", splits=3, target=older)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("policy", ["tree:1", "groups:sex", "greedy"])
def test_learn_prints_the_same_but_for_the_time(program, demo, policy):
    said = json.loads(program("learn", demo / "study.toml", "--policy", policy, "--json"))
    found = seawall.Study.from_file(demo / "study.toml").learn(policy).to_dict()
    assert found | {"seconds": 0} == said | {"seconds": 0}


def test_reports_are_the_same_bytes(program, demo, tmp_path):
    program("report", demo / "study.toml", "--splits", 5, "--out", tmp_path / "a.html")
    seawall.Study.from_file(demo / "study.toml").report(tmp_path / "b.html", splits=5)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("support", ["grid", "observed"])
def test_reports_on_another_support_are_the_same_bytes(program, demo, tmp_path, support):
    words = ["--support", support, "--splits", 0]
    program("report", demo / "study.toml", *words, "--out", tmp_path / "a.html")
    seawall.Study.from_file(demo / "study.toml").report(tmp_path / "b.html", support=support, splits=0)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("set_, eta", [("wasserstein", None), ("entropic", 50.0), ("kl", None)])
@pytest.mark.parametrize("reward", [False, True])
def test_arrays_equal_the_program_bit_for_bit(program, tmp_path, set_, eta, reward):
    rng = np.random.default_rng(3)
    n = 60
    f, w = rng.normal(size=n), rng.integers(0, 4, n).astype(float)
    age, site = rng.integers(20, 90, n).astype(float), rng.choice(["n", "s", "w"], n)
    lines = [f"{v!r},{k!r},{a!r},{s}" for v, k, a, s in zip(f.tolist(), w.tolist(), age.tolist(), site)]
    (tmp_path / "rows.csv").write_text("\n".join(["loss,weight,age,site", *lines]) + "\n")
    words = ["--set", set_] + (["--eta", eta] if eta else []) + (["--reward"] if reward else [])
    said = json.loads(program(
        "bound", tmp_path / "rows.csv", "--value", "loss", "--weight", "weight", "--context", "age",
        "--context", "site", "--radius", "0.01,0.2", *words, "--json",
    ))
    for answer in said["results"]:
        found = seawall.worst_case(
            f, w, {"age": age, "site": site}, radius=answer["radius"], set=set_, eta=eta, reward=reward
        )
        assert (found.value, found.lower, found.upper) == (answer["value"], answer["lower"], answer["upper"])
        assert found.lambda_ == answer["lambda"] and found.status == answer["status"]
        assert abs(found.weights.sum() - 1) < 1e-12 and abs(found.weights @ f - found.value) < 1e-6 + 1 * (eta is not None)


def test_distance_equals_the_program(program, tmp_path):
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 9, (50, 2)), rng.integers(0, 9, (40, 2))
    for name, rows in [("a", a), ("b", b)]:
        text = "\n".join(["x,y", *(f"{x},{y}" for x, y in rows)])
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    said = json.loads(program("distance", tmp_path / "a.csv", tmp_path / "b.csv", "--context", "x", "--context", "y", "--json"))
    found = seawall.distance({"x": a[:, 0], "y": a[:, 1]}, {"x": b[:, 0], "y": b[:, 1]})
    assert (found.value, found.lower, found.upper) == (said["distance"], said["lower"], said["upper"])
    assert found.by_feature == said["features"]


def test_curves_pass_through_worst_cases():
    rng = np.random.default_rng(5)
    f, x = rng.normal(size=40), rng.normal(size=(40, 2))
    found = seawall.curve(f, None, x)
    for radius in [0.0, 0.01, 0.1, 1.0, 5.0]:
        assert abs(found.at(radius) - seawall.worst_case(f, None, x, radius=radius).value) < 1e-12
    assert found.error == 0 and (np.diff(found.value) >= 0).all()


@pytest.mark.parametrize("set_", ["wasserstein", "tv", "cvar", "kl"])
def test_a_curve_is_exact_where_the_set_has_one(set_):
    rng = np.random.default_rng(6)
    f, x = rng.normal(size=30), rng.normal(size=(30, 2))
    found = seawall.curve(f, None, x, set=set_)
    assert (found.error == 0) == (set_ in ("wasserstein", "tv"))
    own = seawall.worst_case(f, None, x, radius=0.1, set=set_).value
    assert abs(found.at(0.1) - own) < (1e-12 if found.error == 0 else 1e-5)


def _keys(value):
    """Every key of a JSON value, as it is called in Python."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield "lambda_" if key == "lambda" else key
            yield from _keys(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _names(result):
    """Every field of a result and of those within it, and the keys of plain dictionaries."""
    if dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            yield field.name
            yield from _names(getattr(result, field.name))
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _names(item)
    elif isinstance(result, dict):
        yield from _keys(result)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.check(),
        lambda s: s.evaluate(policy=["uniform", "greedy"], radius=[0.02], splits=seawall.Splits(4, bounds=0.1)),
        lambda s: s.evaluate(set="entropic", eta=50, radius=0.02, cost_set="entropic", cost_radius=0.01),
        lambda s: s.evaluate(policy=["uniform", "greedy"], radius=[0.02], splits=3, by="sex"),
        lambda s: s.learn("tree:1"),
        lambda s: s.learn("groups:sex", method="bsgd"),
        lambda s: s.learn("tree:1", against="uniform"),
        lambda s: s.radius(splits=2),
        lambda s: s.radius(splits=2, target=s.older),
        lambda s: s.distance(s.older),
        lambda s: s.evaluate(target=s.older, cost_radius=[0.0, 0.01]),
    ],
)
def test_results_keep_every_key_of_the_json(demo, older, ask):
    study = seawall.Study.from_file(demo / "study.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.older = older
        found = ask(study)
    assert set(_keys(found.to_dict())) <= set(_names(found))


def test_an_eta_without_a_set_changes_the_studys_own_or_is_refused(demo):
    study = seawall.Study.from_file(demo / "study.toml")
    with pytest.raises(seawall.ConfigError, match="eta"):
        study.learn("groups:sex", eta=50.0)
    sharp = study.learn("groups:sex", set="entropic", eta=500.0)
    soft = study.learn("groups:sex", set="entropic", eta=5.0)
    assert sharp.value > soft.value

"""Python's classes are made from the Rust types: nothing of an answer is lost, and what is generated is fresh."""

import ast
import dataclasses
import inspect
import json
import math
import pathlib
import shutil
import subprocess
import sys
import warnings

import pytest

import seawall
from seawall import _answers, _native

ROOT = pathlib.Path(__file__).resolve().parents[3]
TWO = ["constant:treat", "constant:control"]
KNOWN = {"age": {"mean": 75.0}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
THERE = seawall.Target(known=KNOWN)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="the schema is printed by a program that cargo builds")
def test_generated_files_are_fresh():
    done = subprocess.run([sys.executable, ROOT / "scripts/schema", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def reachable(said, found, path):
    """What JSON says is in the object, under the same names, and nothing else."""
    if isinstance(said, dict) and not isinstance(found, dict):
        for key, value in said.items():
            name = "lambda_" if key == "lambda" else key
            assert hasattr(found, name), f"{path}.{key} is lost"
            reachable(value, getattr(found, name), f"{path}.{key}")
    elif isinstance(said, dict):
        assert said.keys() == found.keys(), path
        for key, value in said.items():
            reachable(value, found[key], f"{path}[{key!r}]")
    elif isinstance(said, list):
        assert len(said) == len(found), path
        for k, (one, other) in enumerate(zip(said, found)):
            reachable(one, other, f"{path}[{k}]")
    elif said is None:
        assert found is None or not math.isfinite(found), path
    else:
        assert said == found, path


QUESTIONS = {
    "check": lambda s: s.check(s.older),
    "check, known": lambda s: s.check(THERE),
    "explain": lambda s: s.explain(),
    "evaluate": lambda s: s.evaluate([*TWO, "greedy"], radius=[0.0, 0.02], splits=seawall.Splits(3, bounds=0.1)),
    "evaluate by": lambda s: s.evaluate(TWO, radius=0.02, splits=3, by="sex"),
    "evaluate in a target": lambda s: s.evaluate(TWO, radius=0.02, splits=2, target=s.older),
    "evaluate what is known": lambda s: s.evaluate(TWO, set="couplings", splits=0, target=THERE),
    "evaluate by column": lambda s: s.evaluate(TWO, set="couplings", splits=0, target=THERE, radius={"age": 0.01}),
    "evaluate entropic": lambda s: s.evaluate(
        set="entropic", eta=50, radius=0.02, cost_set="entropic", cost_radius=0.01, splits=0),
    "evaluate joint": lambda s: s.evaluate(TWO, set="joint-kl", radius=0.02, splits=0),
    "evaluate couplings of outcomes": lambda s: s.evaluate(TWO, set="joint-wasserstein:kappa=1", radius=0.02, splits=0),
    "evaluate space": lambda s: s.evaluate(TWO, support="space", radius=0.02, splits=0),
    "learn": lambda s: s.learn("tree:1"),
    "learn stochastic": lambda s: s.learn("groups:sex", method="bsgd", splits=0),
    "learn against": lambda s: s.learn("tree:1", against="uniform", target=THERE, splits=0),
    "learn groups": lambda s: s.learn("tree:1", history="site", splits=0),
    "radius": lambda s: s.radius(splits=2),
    "radius to a target": lambda s: s.radius(splits=2, target=s.older),
    "distance": lambda s: s.distance(s.older),
    "transfer": lambda s: s.transfer(TWO, target=THERE, history="site"),
    "backtest": lambda s: s.backtest("site"),
    "compare": lambda s: s.compare(TWO),
    "compare, a group": lambda s: s.compare(TWO, history="site", group="S12"),
}


@pytest.mark.parametrize("ask", QUESTIONS)
def test_every_field_of_the_json_is_reachable(demo, older, ask):
    study = seawall.Study.from_file(demo / "study.toml")
    study.older = older
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = QUESTIONS[ask](study)
    said = json.loads(found.to_json())
    if isinstance(found, seawall.Learned):
        # Here it is the policy itself.
        assert said.pop("policy") == found.policy.name
    reachable(said, found, type(found).__name__)


@pytest.mark.parametrize("kind", ["cells", "tree", "additive", "forest", "boosted"])
def test_every_model_is_told(kind):
    study = seawall.Study(
        seawall.demo_data(), context={"age": {"kind": "numeric", "bin": 20}, "sex": "nominal"}, action="arm",
        cost={"dead": {"Y": 1}}, model={"kind": kind, "trees": 3} if kind == "forest" else kind,
    )
    found = study.explain()
    reachable(json.loads(found.to_json()), found, "Explanation")


def test_every_class_says_what_its_fields_are():
    for name in _answers.__all__:
        kind = getattr(_answers, name)
        for field in dataclasses.fields(kind):
            assert f"\n    {field.name}\n        " in kind.__doc__, f"{name}.{field.name} has no words"


def test_a_field_that_nobody_knows_is_an_error():
    with pytest.raises(TypeError, match="surprise"):
        _answers.Estimate.from_json({"value": 1.0, "se": 0.1, "lower": 0.8, "upper": 1.2, "surprise": 3})


def test_no_method_has_more_than_twelve_parameters():
    """But for the making of a study, whose arguments are the keys of a study file."""
    for name in seawall.__all__:
        kind = getattr(seawall, name)
        for method, what in inspect.getmembers(kind, callable) if inspect.isclass(kind) else []:
            if method.startswith("_"):
                continue
            try:
                count = len(inspect.signature(what).parameters)
            except ValueError:
                continue
            assert count <= 13, f"{name}.{method} has {count} parameters, self among them"


def stubs():
    """The functions and methods of the stub file, with the names of their parameters."""
    tree = ast.parse((pathlib.Path(seawall.__file__).parent / "_native.pyi").read_text())
    for node in tree.body:
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(part, ast.FunctionDef):
                owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                args = part.args
                yield owner + part.name, [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]


def test_the_stubs_are_those_of_the_native_module():
    told = dict(stubs())
    for name, parameters in told.items():
        found = _native
        for part in name.split("."):
            assert hasattr(found, part), f"{name} is a stub of nothing"
            found = getattr(found, part)
        if name.rsplit(".", 1)[-1].startswith("__"):
            continue
        assert list(inspect.signature(found).parameters) == parameters, name
    for name, found in vars(_native).items():
        if name.startswith("__"):
            continue
        if not inspect.isclass(found):
            assert name in told, f"{name} has no stub"
            continue
        for method in vars(found):
            if not method.startswith("__"):
                assert f"{name}.{method}" in told, f"{name}.{method} has no stub"

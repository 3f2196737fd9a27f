"""Every ambiguity set that the program has, in the program and in Python: the same answers, the same refusals."""

import dataclasses
import json
import math
import re
import warnings

import pytest

import seawall
from seawall import learned

STUDY = """
[data]
path = "people.csv"
[context]
sex = {{ kind = "nominal" }}
woke = {{ kind = "nominal" }}
[action]
treat = {{ arm = "treat" }}
control = {{ arm = "control" }}
[propensity]
design = {{ treat = 0.5, control = 0.5 }}
[outcome]
{direction} = {{ dead = {{ Y = 3 }}, ischaemic = 1 }}
[model]
kind = "tree"
max_depth = 2
[robust]
context = {{ set = "wasserstein", radius = [0.01, 0.1] }}
"""
# What sets need beside a radius; a new set that needs something is refused until it is said here.
NEEDS = {
    "entropic": "eta=50",
    "sinkhorn": "kappa=0.01",
    "cressie-read": "k=3",
    "moments": "gamma1=1,gamma2=2",
    "joint-wasserstein": "kappa=0.5",
}
KNOWN = {"sex": {"shares": {"F": 0.6, "M": 0.4}}}
LEARNED = ["greedy", "groups:sex", "tree:1", "softmax"]


@pytest.fixture(scope="module")
def studies(demo):
    """A few hundred people of the synthetic trial, in few columns: one study of costs, one of rewards."""
    head, *rows = (demo / "trial.csv").read_text().splitlines()
    kept = [head.split(",").index(name) for name in ["sex", "woke", "arm", "dead", "ischaemic"]]
    lines = [",".join(row.split(",")[k] for k in kept) for row in [head, *rows[:400]]]
    (demo / "people.csv").write_text("\n".join(lines) + "\n")
    for direction in ["cost", "reward"]:
        (demo / f"{direction}.toml").write_text(STUDY.format(direction=direction))
    return {direction: demo / f"{direction}.toml" for direction in ["cost", "reward"]}


def _said(name):
    """A set as it is asked for: in Python and on the command line."""
    said = f"{name}:{NEEDS[name]}" if name in NEEDS else name
    return (
        {"set": said} | ({"target": seawall.Target(known=KNOWN)} if name == "couplings" else {}),
        ["--set", said] + (["--target-facts", "sex:F=0.6,M=0.4"] if name == "couplings" else []),
    )


def _holds(found, said, path="answer"):
    """A typed result has the numbers of the program's JSON: every one, under its name."""
    if isinstance(said, dict) and dataclasses.is_dataclass(found):
        for key, value in said.items():
            name = "lambda_" if key == "lambda" else key
            assert hasattr(found, name), f"{path} has {key}, which {type(found).__name__} cannot hold"
            own = getattr(found, name)
            if value is None and isinstance(own, float):
                infinite = name in getattr(found, "_infinite", ())
                assert own == math.inf if infinite else math.isnan(own), f"{path}.{key}"
            else:
                _holds(own, value, f"{path}.{key}")
    elif isinstance(said, list):
        assert len(found) == len(said), path
        for k, (one, other) in enumerate(zip(found, said)):
            _holds(one, other, f"{path}[{k}]")
    elif not (isinstance(said, dict) and isinstance(found, learned.Policy)):
        assert found == said, path


def _policy_aside(said):
    """What a learned policy's JSON calls its policy is that one's name; how long it took is its own."""
    return {k: v for k, v in said.items() if k not in ("policy", "seconds")}


@pytest.mark.parametrize("direction", ["cost", "reward"])
def test_every_set_evaluates_to_the_same_numbers(program, studies, set_name, direction):
    asked, words = _said(set_name)
    study = studies[direction]
    policies = ["constant:treat", "uniform", "greedy"]
    words += [word for policy in policies for word in ("--policy", policy)]
    said = program("evaluate", study, *words, "--splits", 2, "--json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = seawall.Study.from_file(study).evaluate(policies, **asked, splits=2)
    assert found.to_json() + "\n" == said
    _holds(found, json.loads(said))
    assert all(result.value == result.value for policy in found.policies for result in policy.results)
    assert set_name in repr(found) and len(found.to_pandas()) == sum(len(p.results) for p in found.policies)


@pytest.mark.parametrize("direction", ["cost", "reward"])
@pytest.mark.parametrize("policy", LEARNED)
def test_every_set_learns_the_same_or_is_refused_alike(attempt, studies, set_name, policy, direction):
    asked, words = _said(set_name)
    study = studies[direction]
    done = attempt("learn", study, "--policy", policy, "--radius", 0.05, *words, "--no-honest", "--json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask = lambda: seawall.Study.from_file(study).learn(policy, radius=0.05, **asked, splits=0)  # noqa: E731
        if done.returncode == 0:
            found, said = ask(), json.loads(done.stdout)
            assert found.to_dict() | {"seconds": 0} == said | {"seconds": 0}
            _holds(found, _policy_aside(said))
        else:
            assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
            assert set_name in done.stderr
            with pytest.raises(seawall.ConfigError) as refused:
                ask()
            assert _plain(str(refused.value)) == _plain(done.stderr.removeprefix("error: "))


def _plain(words):
    """A refusal without what each front end calls its own options."""
    words = re.sub(r'(try|or) --(\w+) ([\w-]+)', r'\1 \2="\3"', words.strip())
    return words.replace("--", "")


def test_a_set_of_people_with_their_outcomes_has_its_estimate_and_its_coupling(studies):
    study = seawall.Study.from_file(studies["cost"])
    kl = study.evaluate("constant:treat", set="joint-kl", radius=0.05).policies[0].results[0]
    assert kl.estimate.value == kl.value and kl.estimate.lower < kl.value < kl.estimate.upper
    assert kl.shown == (kl.estimate.lower, kl.estimate.upper) and kl.estimate.freedom > 1
    # Where the radius is so large that only the worst outcome is left there is no standard error.
    far = study.evaluate("constant:treat", set="joint-kl", radius=50).policies[0].results[0]
    assert far.estimate is None and far.shown is None
    moved = study.evaluate("uniform", set="joint-wasserstein:kappa=0.5", radius=0.05)
    at = moved.policies[0].results[0]
    assert at.best_coupling <= at.value and moved.to_pandas()["best_coupling"][0] == at.best_coupling

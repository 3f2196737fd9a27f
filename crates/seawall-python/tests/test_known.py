"""What is known of a target, in evaluate, learn and check: the program's bytes, every one of its numbers
typed, no radius as an infinite one; and what cannot be meant is refused by name."""

import json
import math
import pickle

import pandas as pd
import pytest

import seawall
from given import objects
from test_parity import _keys, _names, _same
from test_transfers import KNOWN, OWN, THERE, TWO, TYPED, TYPED_TWO, sites, study  # noqa: F401

EVALUATED = [
    ({}, []),
    ({"set": "couplings"}, ["--set", "couplings"]),
    ({"set": "couplings", "radius": [0.02, 0.2]}, ["--set", "couplings", "--radius", "0.02,0.2"]),
    ({"set": "kl", "radius": 0.05, "target_size": 400},
     ["--set", "kl", "--radius", "0.05", "--target-size", "400"]),
    ({"set": "couplings", "splits": 0}, ["--set", "couplings", "--splits", "0"]),
]


def _all_typed(found, text):
    """Every number of the JSON is in the typed result, and every key has a name in it."""
    said = json.loads(text)
    _same(found.balance, said.get("balance"))
    for policy, told in zip(found.policies, said["policies"], strict=True):
        _same(policy, told)
    _same(found.comparisons, said["comparisons"])
    assert set(_keys(said)) <= set(_names(found))


@pytest.mark.parametrize("asked, words", EVALUATED)
def test_evaluate_prints_the_same_bytes(program, sites, study, asked, words):
    text = program("evaluate", sites / "study.toml", *TYPED_TWO, *TYPED, *words, "--json")
    found = study.evaluate(TWO, **objects({"known": KNOWN} | asked, "target", "splits"))
    assert found.to_json() + "\n" == text
    _all_typed(found, text)
    first = found.policies[0]
    assert first.target.dm is None and first.estimate is first.target.dr is first.target.direct
    assert found.balance.status == "matched" and found.balance._title() in repr(found)
    assert "around the log made like the target" in repr(found)
    frame = pd.DataFrame.from_arrow(found.to_frame())
    assert list(frame["target"]) == [p.target.dr.value for p in found.policies for _ in p.results]
    assert pickle.loads(pickle.dumps(found)) == found


def test_no_radius_is_an_infinite_one(study):
    found = study.evaluate(TWO, target=THERE, set="couplings", curve=True)
    one = found.policies[0]
    assert one.results[0].radius == one.radii.saturation == math.inf
    assert found.comparisons[0].results[0].radius == math.inf
    assert found.to_dict()["policies"][0]["results"][0]["radius"] is None
    assert found.worst_population(0, math.inf) == found.worst_population() and found.explain()
    near = study.evaluate(TWO, target=THERE, set="couplings", radius=0.01).policies[0].results[0]
    assert near.value < one.results[0].value
    pytest.importorskip("matplotlib").use("Agg")
    from seawall import plot

    assert math.isfinite(plot.curve(found).get_xlim()[1]) and math.isfinite(plot.difference(found).get_xlim()[1])
    assert plot.balance(found).get_title() == "matched" and plot.balance(study.check(THERE))
    with pytest.raises(seawall.ConfigError, match="say what is known of one with Target"):
        plot.balance(study.evaluate(TWO, splits=0))


def test_a_sample_gives_its_margins(program, demo, older):
    words = ["--policy", "uniform", "--set", "couplings", "--target", older, "--json"]
    text = program("evaluate", demo / "study.toml", *words)
    found = seawall.Study.from_file(demo / "study.toml").evaluate("uniform", set="couplings", target=older)
    assert found.to_json() + "\n" == text
    assert found.balance is None and found.policies[0].target.dm is found.policies[0].target.direct


BY_COLUMN = {"age": 0.01, "sex": 0}


def test_radii_by_column_are_those_of_a_study_file(program, sites, study):
    said = seawall.Study(str(sites / "trial.csv"), **OWN | {
        "set": "couplings", "radius": BY_COLUMN, "target": {"known": KNOWN},
    })
    (sites / "columns.toml").write_text(said.text)
    text = program("evaluate", sites / "columns.toml", *TYPED_TWO, "--json")
    found = study.evaluate(TWO, target=THERE, set="couplings", radius=BY_COLUMN)
    assert found.to_json() + "\n" == text == said.evaluate(TWO).to_json() + "\n"
    _all_typed(found, text)
    result = found.policies[0].results[0]
    assert result.column_radii == BY_COLUMN and result.radius == math.inf
    assert "Radius by column: age 0.01, sex 0." in repr(found)
    learned = study.learn("tree:1", target=THERE, set="couplings", radius=BY_COLUMN)
    told = json.loads(program("learn", sites / "columns.toml", "--policy", "tree:1", "--json"))
    assert learned.to_dict() | {"seconds": 0} == told | {"seconds": 0}
    assert learned.column_radii == BY_COLUMN and "Radius by column" in repr(learned)


def test_a_study_may_have_couplings_without_a_radius(study, sites):
    said = seawall.Study(
        str(sites / "trial.csv"), **OWN | {"set": "couplings", "radius": None, "target": {"known": KNOWN}}
    )
    text = study.evaluate(TWO, target=THERE, set="couplings").to_json()
    assert said.evaluate(TWO).to_json() == text
    assert said.evaluate(TWO, radius=0.02).policies[0].results[0].radius == 0.02


LEARNED = [
    ({"known": KNOWN}, TYPED),
    ({"known": KNOWN, "set": "couplings"}, [*TYPED, "--set", "couplings"]),
    ({"known": KNOWN, "set": "couplings", "radius": 0.05, "against": "constant:control"},
     [*TYPED, "--set", "couplings", "--radius", "0.05", "--against", "constant:control"]),
    ({"known": KNOWN, "by": "ward"}, [*TYPED, "--by", "ward"]),
    # Too few groups for a rank: a prediction, which allows for the target's own noise.
    ({"known": KNOWN, "target_size": 150, "by": "ward", "level": 0.98},
     [*TYPED, "--target-size", "150", "--by", "ward", "--level", "0.98"]),
    ({"by": ["ward"], "least": 240, "level": 0.9, "splits": 0},
     ["--by", "ward", "--least", "240", "--level", "0.9", "--no-honest"]),
    ({"known": KNOWN, "set": "couplings", "by": "day", "each": "month", "against": "constant:control"},
     [*TYPED, "--set", "couplings", "--by", "day", "--each", "month", "--against", "constant:control"]),
]


@pytest.mark.parametrize("asked, words", LEARNED)
def test_learn_has_the_programs_numbers(program, sites, study, asked, words):
    said = json.loads(program("learn", sites / "study.toml", "--policy", "tree:1", *words, "--json"))
    found = study.learn("tree:1", **objects(asked, "target", "history", "splits"))
    assert found.to_dict() | {"seconds": 0} == said | {"seconds": 0}
    _same(found.balance, said.get("balance"))
    _same(found.groups, said.get("groups"))
    assert found.radius == (math.inf if said["radius"] is None else said["radius"])
    assert set(_keys(found.to_dict())) <= set(_names(found))
    assert (found.groups is None) == ("by" not in asked)
    if found.groups:
        own = found.groups.difference
        assert own.against == said["groups"]["difference"]["against"] and own.direction == found.direction
        assert f"held for {own.held} of {len(own.groups)} groups" in repr(found)
        assert f"{own.bound:.6g} with the allowance" in found._repr_html_()
        assert len(own.to_frame()) == len(own.groups)
    assert pickle.loads(pickle.dumps(found)) == found


def test_past_groups_of_a_table_are_those_of_its_file(program, sites, study):
    path = sites / "past.csv"
    words = ["--policy", "tree:1", *TYPED, "--by", "ward", "--history", path, "--no-honest", "--json"]
    said = json.loads(program("learn", sites / "study.toml", *words))
    asked = dict(target=THERE, splits=0)
    for history in (path, pd.read_csv(path)):
        found = study.learn("tree:1", history=seawall.History("ward", history), **asked)
        assert found.to_dict() | {"seconds": 0} == said | {"seconds": 0}
    own = seawall.Study(pd.read_csv(sites / "trial.csv"), **OWN).learn("tree:1", history="ward", **asked)
    assert own.groups == study.learn("tree:1", history="ward", **asked).groups


def test_check_says_how_the_log_can_be_made_like_the_target(program, sites, study):
    text = program("check", sites / "study.toml", *TYPED, "--target-size", "900", "--json")
    found = study.check(seawall.Target(known=KNOWN, size=900))
    assert found.to_json() + "\n" == text
    _same(found, json.loads(text))
    assert found.balance._title() in repr(found) and study.check().balance is None
    assert json.loads(found.balance.to_json()) == json.loads(text)["balance"]


@pytest.mark.parametrize("asked, words", [
    ({"set": "couplings"}, "nothing is known of one; say what is known (target=Target(known=...), as describe"),
    ({"known": KNOWN, "radius": {"age": 0.1}}, 'radius is given by column, and the set wasserstein has one'),
    ({"known": KNOWN, "set": "couplings", "radius": {"agee": 0.1}},
     'radius: "agee" is not one of the study\'s context columns (there are: age, sex, stroke)'),
    ({"known": KNOWN, "set": "couplings", "radius": {}}, "expected at least one column with its radius"),
    ({"known": KNOWN, "set": "couplings", "radius": {"age": -1}}, "radius of 'age' is -1; expected a finite"),
    ({"known": KNOWN, "set": "couplings", "radius": {"age": "far"}}, "radius of 'age' is 'far'; expected a number"),
    ({"known": KNOWN, "set": "couplings", "radius": math.inf}, "radius is inf; expected a finite number"),
])
def test_what_cannot_be_meant(study, asked, words):
    asked = objects(asked, "target")
    for question in (lambda: study.evaluate(TWO, **asked), lambda: study.learn("tree:1", **asked)):
        with pytest.raises(seawall.ConfigError) as caught:
            question()
        assert words in str(caught.value)


@pytest.mark.parametrize("asked, error, words", [
    ({"history": "past.csv"}, seawall.ConfigError, 'history is about past groups: say by="COLUMN"'),
    ({"least": 30}, seawall.ConfigError, 'history is about past groups: say by="COLUMN"'),
    ({"in_time": True}, seawall.ConfigError, 'history is about past groups'),
    ({"by": 3}, seawall.ConfigError, "by is 3; expected the name of a column"),
    ({"by": "wardd"}, seawall.ConfigError, 'did you mean "ward"?'),
    ({"by": "sex"}, seawall.ConfigError, 'by: "sex" is a context column, too'),
    ({"by": "ward", "level": "high"}, seawall.ConfigError, "level is 'high'; expected a number"),
    ({"by": "ward", "level": 1.5}, seawall.ConfigError, "level is 1.5"),
    ({"by": "ward", "least": 5000}, seawall.InputError, "no group of at least 5000 rows"),
])
def test_what_past_groups_cannot_be(study, asked, error, words):
    with pytest.raises(error) as caught:
        study.learn("tree:1", **objects({"splits": 0} | asked, "history", "splits"))
    assert words in str(caught.value)


def test_a_target_that_is_read_once_is_refused_where_it_is_needed_twice(study, older):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.csv")
    reader = pyarrow.csv.read_csv(older).to_reader()
    with pytest.raises(seawall.InputError, match="target is read once and needed twice"):
        study.learn("tree:1", target=reader, history="ward")


def test_reports_of_a_known_target_are_the_same_bytes(program, sites, tmp_path):
    said = seawall.Study(str(sites / "trial.csv"), **OWN | {
        "target": {"known": KNOWN}, "history": "ward",
    })
    (sites / "all.toml").write_text(said.text)
    words = ["--learn", "tree:1", "--splits", "3", "--out", tmp_path / "a.html"]
    program("report", sites / "all.toml", *words)
    seawall.Study.from_file(sites / "all.toml").report(tmp_path / "b.html", splits=3)
    page = (tmp_path / "a.html").read_bytes()
    assert page == (tmp_path / "b.html").read_bytes() and b'href="#transfer"' in page
    couplings = seawall.Study(str(sites / "trial.csv"), **OWN | {
        "set": "couplings", "radius": None, "target": {"known": KNOWN},
    })
    with pytest.raises(seawall.ConfigError, match="set is couplings, which has no radius for the page"):
        couplings.report(tmp_path / "c.html")


def test_a_report_takes_what_is_known(program, sites, study, tmp_path):
    words = ["--learn", "tree:1", "--splits", "3", "--out", tmp_path / "a.html"]
    program("report", sites / "study.toml", *TYPED, *words)
    study.report(tmp_path / "b.html", target=THERE, splits=3)
    # The command that the page names is typed, and says what is known as it was typed.
    pages = [(tmp_path / name).read_text().splitlines() for name in ("a.html", "b.html")]
    one, other = ([line for line in page if "<dt>Command</dt>" not in line] for page in pages)
    assert one == other and any("From here to there" in line for line in one)

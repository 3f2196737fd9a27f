"""Honest values, limits, clusters, a survey's weights and subgroups: as the program has them."""

import json

import numpy as np
import pandas as pd
import pytest

import seawall
from given import objects
from test_parity import _same

PAIR = ["constant:treat", "constant:control"]
TYPED = ["--policy", "constant:treat", "--policy", "constant:control"]
SPACE = {"age": {"kind": "numeric", "bin": 10}, "sex": "nominal"}
DESIGN = {"design": {"treat": 0.5, "control": 0.5}}
STUDY = """
[data]
path = "rows.csv"
{data}
[context]
age = {{ kind = "numeric", bin = 10 }}
sex = {{ kind = "nominal" }}
[action]
column = "arm"
[outcome]
cost = "y"
[propensity]
design = {{ treat = 0.5, control = 0.5 }}
[model]
kind = "tree"
max_depth = 3
min_samples_leaf = 20
[robust]
context = {{ set = "wasserstein", radius = [0.0, 0.02] }}
"""


@pytest.fixture(scope="module")
def rows():
    """A trial in hospitals, whose patients are alike, with counts and a survey's weights."""
    draw = np.random.default_rng(8)
    count = 600
    hospital = draw.integers(0, 30, count)
    age, sex = draw.integers(20, 80, count), draw.choice(["F", "M"], count)
    arm = draw.choice(["treat", "control"], count)
    y = age / 100 + 0.2 * (arm == "treat") * (sex == "M") + 0.2 * draw.normal(size=30)[hospital]
    return pd.DataFrame({
        "age": age, "sex": sex, "arm": arm, "y": y + 0.1 * draw.normal(size=count),
        "hospital": hospital, "people": draw.uniform(0.5, 3.0, count), "n": draw.integers(1, 4, count),
    })


def study(data, **more):
    tree = {"kind": "tree", "max_depth": 3, "min_samples_leaf": 20}
    asked = {"model": tree, "radius": [0.0, 0.02], "policy": PAIR}
    return seawall.Study(data, context=SPACE, action="arm", cost="y", propensity=DESIGN, **(asked | more))


ASKED = [
    ({}, []),
    ({"splits": 5, "level": 0.9, "seed": 3}, ["--splits", "5", "--level", "0.9", "--seed", "3"]),
    ({"splits": 0}, ["--splits", "0"]),
    ({"splits": 4, "by": "sex"}, ["--splits", "4", "--by", "sex"]),
    ({"splits": 4, "by": "sex", "simultaneous": True}, ["--splits", "4", "--by", "sex", "--simultaneous"]),
    ({"splits": 0, "by": "sex"}, ["--splits", "0", "--by", "sex"]),
]


@pytest.mark.parametrize("asked, words", ASKED)
def test_every_number_is_the_programs(program, demo, asked, words):
    text = program("evaluate", demo / "study.toml", *TYPED, "--radius", "0,0.02", *words, "--json")
    found = seawall.Study.from_file(demo / "study.toml").evaluate(PAIR, radius=[0.0, 0.02], **objects(asked, "splits"))
    assert found.to_json() + "\n" == text
    said = json.loads(text)
    _same(found, said)
    if found.by:
        assert found.by.to_dict() == said["by"]


@pytest.mark.parametrize(
    "given, line",
    [
        ({"cluster": "hospital"}, 'cluster = "hospital"'),
        ({"survey_weight": "people"}, 'survey_weight = "people"'),
        ({"survey_weight": "people", "cluster": "hospital"}, 'survey_weight = "people"\ncluster = "hospital"'),
        ({"weight": "n"}, 'weight = "n"'),
        ({"weight": {"column": "people", "fractional": True}}, 'weight = { column = "people", fractional = true }'),
    ],
)
def test_clusters_and_weights_are_the_programs(program, rows, tmp_path, given, line):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY.format(data=line))
    own = study(tmp_path / "rows.csv", **given)
    said = json.loads(program("evaluate", tmp_path / "study.toml", *TYPED, "--splits", 5, "--json"))
    # The texts of the two studies differ, and so may the names of their files; no number does.
    found = own.evaluate(splits=5)
    _same(found, said)
    assert found.to_dict()["policies"] == said["policies"]
    assert found.to_dict()["comparisons"] == said["comparisons"]
    facts, told = own.check(), json.loads(program("check", tmp_path / "study.toml", "--json"))
    assert (facts.clusters, facts.effective_rows) == (told.get("clusters"), told.get("effective_rows"))
    assert facts.clusters == (30 if "cluster" in given else None)
    assert ("in 30 clusters" in repr(facts)) == ("cluster" in given)
    if "survey_weight" in given:
        assert facts.effective_rows < 600 and ", worth " in repr(facts)
    # A frame says the same as its file.
    assert study(rows, **given).evaluate(splits=5).policies == found.policies


def test_clusters_make_the_errors_larger(rows):
    alone, together = study(rows).evaluate(splits=5), study(rows, cluster="hospital").evaluate(splits=5)
    assert together.policies[0].nominal.dr.se > 1.2 * alone.policies[0].nominal.dr.se


@pytest.mark.parametrize("more", [{}, {"cluster": "hospital"}, {"survey_weight": "people"}])
def test_the_same_on_any_number_of_threads(rows, more):
    asked = {"by": "sex", "splits": seawall.Splits(6, simultaneous=True)}
    said = {study(rows, threads=n, **more).evaluate(**asked).to_json() for n in (1, 2)}
    assert len(said) == 1
    assert study(rows, **more).evaluate(by="sex", splits=seawall.Splits(6, seed=2, simultaneous=True)).to_json() not in said


def test_without_halves_there_is_nothing_of_them(demo):
    found = seawall.Study.from_file(demo / "study.toml").evaluate(PAIR, radius=0.02, splits=0)
    for r in found.policies[0].results:
        assert (r.held_out, r.limits, r.noise, r.claims) == (None, None, None, [])
        assert "the rows were not split" in r.no_claim
        assert r.shown is None
    for r in found.comparisons[0].results:
        assert (r.held_out, r.limits, r.best_held_out, r.best_limits, r.claims) == (None, None, None, None, [])
        assert r.shown is None and r.best_shown is None
    assert "interval_lower" not in found._columns() and "limits" not in repr(found)


@pytest.mark.parametrize("reward", [False, True])
@pytest.mark.parametrize(
    "asked",
    [{}, {"splits": 1}, {"set": "kl"}, {"support": "observed"},
     {"cost_radius": [0.0, 0.02]}, {"set": "entropic", "eta": 20.0}],
)
def test_a_value_is_in_the_interval_beside_it(rows, reward, asked):
    outcome = {"reward": "y"} if reward else {"cost": "y"}
    own = seawall.Study(
        rows.sample(200, random_state=1), context=SPACE, action="arm", propensity=DESIGN, model="tree",
        policy=["uniform", "greedy", *PAIR], radius=[0.0, 0.005, 0.05, 0.5], **outcome,
    )
    found = own.evaluate(**({"splits": 5} | asked))
    # Nothing is claimed of a policy that the rows chose.
    assert all(r.limits is None and r.no_claim for p in found.policies if p.chosen_here for r in p.results)
    for r in [r for p in found.policies if not p.chosen_here for r in p.results]:
        low, high = r.shown
        assert low <= r.value <= high
        if r.limits:
            assert r.limits.level == 0.95
            assert low <= r.limits.lower and r.limits.upper <= high
            if asked.get("set") != "entropic":
                assert (low, high) == (r.limits.lower, r.limits.upper)
    for r in [r for c in found.comparisons for r in c.results if r.shown]:
        assert r.shown[0] <= r.worst <= r.shown[1]
        assert r.best_shown[0] <= r.best <= r.best_shown[1]
    assert (found.policies[0].results[0].limits is not None) is True
    columns = found._columns()
    told = zip(columns["interval_lower"], columns["value"], columns["interval_upper"])
    assert all(a <= v <= b for a, v, b in told if a is not None)


def test_claims_and_noise_are_in_the_programs_words(program, demo):
    text = program("evaluate", demo / "study.toml", *TYPED, "--radius", "0,0.02", "--details")
    found = seawall.Study.from_file(demo / "study.toml").evaluate(PAIR, radius=[0.0, 0.02])
    for policy in found.policies:
        at = policy.results[1]
        strict, none_worse, some_as_bad = at.claims
        assert all(f"{claim.sentence}." in text for claim in at.claims)
        assert at.noise is None or f"The worst case is {at.noise}." in text
        assert (none_worse.assumes, strict.assumes, some_as_bad.assumes) == ("additive", "pairwise", None)
        assert strict.value >= none_worse.value > some_as_bad.value
        assert none_worse.conditions == ["stable-outcomes", "random-by-design", "overlap"]
    assert none_worse.sentence.startswith("No population within 0.02 of the data costs more than")
    first = found.policies[0].results[1]
    assert first.claims[0].sentence in repr(found) and first.claims[1].sentence in found._repr_html_()
    assert "95% limits" in repr(found)


def test_a_noisy_model_is_told(rows):
    draw = np.random.default_rng(2)
    data = pd.concat([rows.assign(arm=arm) for arm in ("treat", "control")])
    data["y"] = 3 * draw.normal(size=len(data))
    at = study(data, model="cells").evaluate("constant:treat", radius=0.2, splits=20).policies[0].results[0]
    assert at.value > at.held_out.value + at.held_out.se
    assert " plug-in, " in at.noise and at.noise.endswith("try a tree or a forest")


def test_models_are_beside_each_other(rows):
    found = study(rows, model="auto").evaluate("constant:treat", radius=0.02, splits=3)
    models = found.diagnostics.models
    assert [m.chosen for m in models].count(True) == 1 and len(models) > 2
    for m in models:
        assert m.gap == pytest.approx(m.plug_in - m.held_out, abs=1e-12)
    chosen, at = next(m for m in models if m.chosen), found.policies[0].results[0]
    assert (chosen.plug_in, chosen.held_out) == (at.value, at.held_out.value)
    told = study(rows, model="auto").check()
    assert [m.kind for m in told.models] == [m.kind for m in models]
    assert all(m.plug_in is None for m in told.models) and f"{chosen.kind} (chosen)" in repr(told)


def test_levels_are_asked_by_themselves(rows):
    found = study(rows).evaluate(by="sex", splits=4)
    by = found.by
    assert (by.column, by.confidence, by.simultaneous) == ("sex", 0.95, False)
    assert [one.level for one in by.levels] == ["F", "M"]
    assert sum(one.rows for one in by.levels) == 600
    for one in by.levels:
        inner = one.evaluation
        assert inner.by is None and one.problem is None and inner.rows == one.rows
        assert [p.name for p in inner.policies] == PAIR and len(inner.comparisons) == 2
        at = inner.policies[0].results[1]
        assert at.claims and at.limits.level == 0.95
        shares = {s.level: s.worst for s in inner.worst_population(0, 0.02) if s.feature == "sex"}
        assert shares.get(one.level, 1.0) == pytest.approx(1.0)
        assert inner.comparison("treat", "control").sentence
        assert inner.to_dict() == found.to_dict()["by"]["levels"][by.levels.index(one)]["evaluation"]
    wide = study(rows).evaluate(by="sex", splits=seawall.Splits(4, simultaneous=True)).by
    assert wide.confidence == 0.975
    for a, b in zip(by.levels, wide.levels):
        p, q = a.evaluation.policies[0], b.evaluation.policies[0]
        assert q.results[1].limits.upper - q.results[1].limits.lower > p.results[1].limits.upper - p.results[1].limits.lower
        assert q.nominal.dr.upper > p.nominal.dr.upper and q.nominal.dr.value == p.nominal.dr.value
    shown = repr(wide)
    assert "Worst cases by sex (lower is better), 97.5% confidence for each so that all hold at once" in shown
    assert len(shown.splitlines()) == 2 + 2 * 2 * 2 and "<table>" in wide._repr_html_()
    assert wide.to_frame().num_rows == 8


def test_a_level_without_answers_does_not_lose_the_others(rows):
    data = rows[(rows.sex == "F") | (rows.arm == "treat")]
    by = study(data).evaluate(by="sex", splits=3).by
    told = {one.level: one for one in by.levels}
    assert told["F"].evaluation is not None and told["M"].evaluation is None
    assert "control" in told["M"].problem and told["M"].problem in repr(by)


def test_bars_are_the_limits(rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from seawall import plot

    found = study(rows, policy=PAIR).evaluate(curve=True, splits=4)
    drawn = [tuple(line.get_ydata()) for line in plot.curve(found).lines]
    assert all(r.shown in drawn for p in found.policies for r in p.results)
    pair = found.comparison("treat", "control")
    drawn = [tuple(line.get_ydata()) for line in plot.difference(found, "treat", "control").lines]
    assert all(r.shown in drawn and r.best_shown in drawn for r in pair.results)


@pytest.mark.parametrize("asked, words", [
    ({}, []),
    ({"splits": 3, "level": 0.9}, ["--splits", "3", "--level", "0.9"]),
    ({"splits": 0}, ["--splits", "0"]),
])
def test_reports_are_the_same_bytes(program, demo, tmp_path, asked, words):
    program("report", demo / "study.toml", *words, "--out", tmp_path / "a.html")
    seawall.Study.from_file(demo / "study.toml").report(tmp_path / "b.html", **objects(asked, "splits"))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("ask, message", [
    (lambda s: s.evaluate(splits=-1), "splits is -1; expected a whole number from 0 on"),
    (lambda s: s.evaluate(splits=2.5), "splits is 2.5; expected a whole number"),
    (lambda s: s.evaluate(splits=True), "splits is True; expected a whole number"),
    (lambda s: s.report("r.html", splits=-2), "splits is -2"),
    (lambda s: s.evaluate(splits=seawall.Splits(level=0.0)), "level is 0; expected a number between 0 and 1"),
    (lambda s: s.evaluate(splits=seawall.Splits(0, level=1.5)), "level is 1.5"),
    (lambda s: s.evaluate(by="hospital"), 'by is "hospital"; expected a context column: age, sex'),
    (lambda s: s.evaluate(by=["sex"]), r"by is \['sex'\]; expected the name of a column"),
    (lambda s: s.evaluate(splits=seawall.Splits(simultaneous=True)), "simultaneous is about the levels of a column"),
])
def test_bad_questions_are_refused(rows, ask, message):
    with pytest.raises(seawall.ConfigError, match=message):
        ask(study(rows))


@pytest.mark.parametrize("given, kind, message", [
    ({"cluster": "sex"}, seawall.ConfigError, '"sex" is a context column, too'),
    ({"cluster": 3}, seawall.ConfigError, "cluster: expected a text"),
    ({"cluster": "ward"}, seawall.SeawallError, "ward"),
    ({"survey_weight": ["n"]}, seawall.ConfigError, "survey_weight: expected a text"),
    ({"survey_weight": "people", "weight": "n"}, seawall.ConfigError, "not both"),
    ({"weight": "people"}, seawall.InputError, "no number of rows: which is meant"),
    ({"weight": {"column": "people"}}, seawall.InputError, "no number of rows: which is meant"),
    ({"weight": {"column": "people", "fraction": True}}, seawall.ConfigError, "fraction"),
    ({"weight": 2}, seawall.ConfigError, "weight is 2; expected a text or a dictionary"),
    ({"survey_weight": "negative"}, seawall.InputError, "the weight is -1; expected a finite number"),
    ({"cluster": "gone"}, seawall.InputError, "the cluster is missing"),
])
def test_bad_columns_are_refused(rows, given, kind, message):
    gone = [None, *["a"] * (len(rows) - 1)]
    with pytest.raises(kind, match=message):
        study(rows.assign(negative=-1.0, gone=gone), **given)


def test_a_question_is_copied_with_its_levels(rows):
    import pickle

    found = study(rows).evaluate(by="sex", splits=3)
    again = pickle.loads(pickle.dumps(found))
    assert again.by == found.by and again.policies[0].results[1].claims == found.policies[0].results[1].claims
    assert repr(again) == repr(found)

"""Two policies in one population, and other populations: what must hold of the answers."""

import math
import pickle

import pandas as pd
import pytest

import seawall

BOTH = ["constant:treat", "constant:control"]
OWN = dict(
    context={"age": {"kind": "numeric", "bin": 10}, "sex": "nominal", "stroke": "nominal"},
    action="arm",
    cost={"dead": {"Y": 3}, "ischaemic": 1},
    propensity={"design": {"treat": 0.5, "control": 0.5}},
    model={"kind": "tree", "max_depth": 3, "min_samples_leaf": 20},
    radius=[0.01, 0.05],
)


@pytest.fixture(scope="module")
def study(demo):
    return seawall.Study.from_file(demo / "study.toml")


FRAMES = {
    "pandas": pd.read_csv,
    "polars": lambda path: pytest.importorskip("polars").read_csv(path).with_columns(nothing=None),
    "pyarrow": lambda path: pytest.importorskip("pyarrow.csv").read_csv(path),
    "batches": lambda path: pytest.importorskip("pyarrow.csv").read_csv(path).to_reader(),
    "polars lazy": lambda path: pytest.importorskip("polars").scan_csv(path),
    "duckdb": lambda path: pytest.importorskip("duckdb").sql(f"select *, 1 as \"no \"\"one\"\"\" from read_csv('{path}')"),
}


def test_one_is_as_bad_as_the_other_is_good(study, older):
    for target in [None, older]:
        found = study.evaluate(["uniform", *BOTH, "greedy"], radius=[0.0, 0.01, 0.1], target=target)
        assert len(found.comparisons) == 12
        for pair in found.comparisons:
            turned = found.comparison(pair.against, pair.policy)
            assert (turned.policy, turned.against) == (pair.against, pair.policy)
            for one, other in zip(pair.results, turned.results):
                assert one.worst == -other.best and one.best == -other.worst
                assert one.lower <= one.worst <= one.upper and one.best <= one.worst


def test_differences_without_a_shift_are_those_of_the_values(study, older):
    for target in [None, older]:
        found = study.evaluate(BOTH, radius=[0.0, 0.02], target=target)
        plain, within = found.comparison(0, 1).results
        # The mean of the modelled effect, which is about the doubly robust difference.
        said = found.comparison(0, 1)
        dr = (said.target or said.nominal).dr
        assert math.isclose(plain.worst, dr.value, abs_tol=dr.se)
        assert math.isclose(plain.worst, plain.best, abs_tol=1e-12)
        assert within.best <= plain.worst <= within.worst


def test_the_robustness_radius_is_where_the_worst_difference_crosses_zero(study):
    pair = study.evaluate(BOTH, curve=True, splits=0).comparison("control", "treat")
    radius = pair.robustness_radius.value
    assert 0 < radius < math.inf and pair.robustness_radius.lower <= radius <= pair.robustness_radius.upper
    assert abs(float(pair.curve().at(radius))) < 1e-9
    for result in pair.results:
        assert math.isclose(float(pair.curve().at(result.radius)), result.worst, abs_tol=1e-9)
        assert math.isclose(float(pair.best_curve().at(result.radius)), result.best, abs_tol=1e-9)


def test_a_policy_that_is_worse_nowhere_is_certain_for_ever(study):
    found = study.evaluate(["greedy", "constant:treat"], radius=0.05, splits=0)
    pair = found.comparison("greedy", "treat")
    assert pair.robustness_radius.value == pair.robustness_radius.upper == math.inf
    assert pair.to_dict()["robustness_radius"]["value"] is None
    # The rows chose one of the two, so nothing is claimed.
    assert pair.verdicts == ["undecided"] and "chosen on these very rows" in pair.sentence
    assert found.comparison("treat", "greedy").robustness_radius.value == 0.0


def test_the_population_of_the_worst_difference(study):
    found = study.evaluate(BOTH, radius=[0.01, 0.1])
    near, far = (found.comparison("treat", "control").worst_population(r) for r in (0.01, 0.1))
    for feature in ["age", "sex"]:
        for side in ["nominal", "worst"]:
            assert math.isclose(sum(getattr(s, side) for s in near if s.feature == feature), 1.0, abs_tol=1e-9)
    def moved(shares):
        return sum(abs(s.worst - s.nominal) for s in shares)
    assert 0 < moved(near) < moved(far)


def test_comparisons_are_found_by_name_action_and_number(study):
    found = study.evaluate(["uniform", *BOTH], radius=0.01)
    assert found.comparison("treat", "uniform") is found.comparison("constant:treat", 0) is found.comparison(1, 0)
    twice = study.evaluate(["uniform", study.learn("tree:1", radius=0.0).policy, study.learn("tree:1", radius=0.1).policy])
    # Two of one kind are told apart.
    assert [p.name for p in twice.policies][1:] == ["tree:1", "tree:1 (2)"]
    assert twice.comparison("tree:1", "tree:1 (2)") is twice.comparison(1, 2)
    assert twice.comparison(1, 2).results[0].worst == -twice.comparison(2, 1).results[0].best
    copied = pickle.loads(pickle.dumps(found.comparison(1, 0)))
    assert copied == found.comparison(1, 0)


@pytest.mark.parametrize("pair, words", [
    (("treat", "aspirin"), "policy 'aspirin' was not evaluated"),
    (("treat", 9), "policy 9 was not evaluated"),
    (("treat", "treat"), "constant:treat is not compared with itself"),
])
def test_comparisons_that_there_are_not(study, pair, words):
    found = study.evaluate(BOTH, radius=0.01)
    with pytest.raises(seawall.ConfigError, match=words):
        found.comparison(*pair)
    alone = study.evaluate(BOTH, radius=0.01, compare=False)
    assert alone.comparisons == []
    with pytest.raises(seawall.ConfigError, match="compare=True"):
        alone.comparison("treat", "control")
    with pytest.raises(seawall.ConfigError, match="curve=True"):
        found.comparison("treat", "control").curve()
    with pytest.raises(seawall.ConfigError, match="0.5 was not asked for"):
        found.comparison("treat", "control").worst_population(0.5)
    with pytest.raises(seawall.ConfigError, match="populations"):
        pickle.loads(pickle.dumps(found.comparison("treat", "control"))).worst_population()


@pytest.mark.parametrize("library", FRAMES)
def test_frames_are_targets_as_files_are(study, older, library):
    def told(found):
        values = found.to_dict() | {"seconds": 0}
        return values | {"target": values["target"] | {"path": ""}} if "target" in values else values

    for ask in [
        lambda t: study.evaluate(BOTH, radius=0.01, target=t),
        lambda t: study.learn("tree:1", target=t, splits=0),
        lambda t: study.radius(splits=2, target=t),
        lambda t: study.distance(t),
    ]:
        assert told(ask(FRAMES[library](older))) == told(ask(older))


def test_targets_change_what_they_should(study, older):
    asked = {"radius": [0.0, 0.01], "splits": 20}
    here, there = study.evaluate(BOTH, **asked), study.evaluate(BOTH, **asked, target=older)
    assert here.target is None and here.policies[0].target is None
    assert there.target.path == str(older) and there.target.rows == len(pd.read_csv(older))
    assert there.target.beyond == [] and there.target.coverage.unobserved == 0.0
    for before, after in zip(here.policies, there.policies):
        assert before.nominal == after.nominal
        assert math.isclose(after.target.dm.value, after.results[0].value, abs_tol=1e-12)
        assert after.target.effective_rows < here.rows
    # The old do worse under treatment: what leads in the trial does not lead there.
    assert there.comparison("control", "treat").leads and there.comparison("control", "treat").target.dr.value < 0
    assert f"around {older}" in repr(there) and there.comparison("control", "treat").sentence in repr(there)


def test_the_log_as_its_own_target_changes_nothing(study, demo):
    here, there = study.evaluate(BOTH, radius=0.01), study.evaluate(BOTH, radius=0.01, target=demo / "trial.csv")
    for one, other in zip(here.policies, there.policies):
        assert math.isclose(one.results[0].value, other.results[0].value, abs_tol=1e-9)
        assert math.isclose(one.nominal.dm.value, other.target.dm.value, abs_tol=1e-9)
    assert study.distance(demo / "trial.csv").distance < 1e-12


def test_a_study_may_name_its_target(demo, older, tmp_path):
    text = (demo / "study.toml").read_text().replace('"trial.csv"', f'"{demo / "trial.csv"}"')
    (tmp_path / "study.toml").write_text(f'{text}\n[target]\npath = "{older}"\n')
    named, plain = seawall.Study.from_file(tmp_path / "study.toml"), seawall.Study.from_file(demo / "study.toml")
    assert named.evaluate(BOTH).to_dict()["policies"] == plain.evaluate(BOTH, target=older).to_dict()["policies"]
    assert named.distance().distance == plain.distance(older).distance > 0
    assert named.radius(splits=2).target.distance == plain.radius(splits=2, target=older).target.distance
    # Another one may still be asked about.
    assert named.distance(demo / "trial.csv").distance < 1e-12
    with pytest.raises(seawall.ConfigError, match="no target"):
        plain.distance()


def test_arguments_say_what_a_study_file_says_of_targets(demo, older):
    frame = pd.read_csv(demo / "trial.csv")
    plain = seawall.Study(frame, **OWN)
    named = seawall.Study(frame, **OWN, target=older)
    assert named.evaluate(BOTH).policies == plain.evaluate(BOTH, target=older).policies
    women = seawall.Study(frame, **OWN, target={"where": {"sex": "F"}})
    asked = pd.read_csv(older)
    found = women.evaluate(BOTH, target=asked)
    assert found.target.rows == (asked["sex"] == "F").sum() and found.target.left_out == (asked["sex"] != "F").sum()
    assert found.policies == plain.evaluate(BOTH, target=asked[asked["sex"] == "F"]).policies
    weighed = seawall.Study(frame, **OWN, target={"weight": "times"})
    twice = weighed.evaluate(BOTH, target=asked.assign(times=1 + (asked["sex"] == "F")))
    copies = plain.evaluate(BOTH, target=pd.concat([asked, asked[asked["sex"] == "F"]]))
    assert math.isclose(twice.policies[0].results[0].value, copies.policies[0].results[0].value, abs_tol=1e-12)


def test_values_that_the_log_does_not_have_are_told(demo, older):
    frame, asked = pd.read_csv(demo / "trial.csv"), pd.read_csv(older)
    asked.loc[asked.index[:10], "age"] = 117
    found = seawall.Study(frame, **OWN).evaluate(BOTH, target=asked)
    (beyond,) = found.target.beyond
    assert beyond.column == "age" and math.isclose(beyond.share, 10 / len(asked))
    assert math.isclose(found.target.coverage.unobserved, 10 / len(asked), abs_tol=1e-9)
    strict = seawall.Study(frame, **OWN, target={"beyond": "error"})
    with pytest.raises(seawall.InputError, match="pandas DataFrame: values that the log does not have: age"):
        strict.evaluate(BOTH, target=asked)


@pytest.mark.parametrize("change, words", [
    (lambda t: t.drop(columns="age"), "age"),
    (lambda t: t.iloc[:0], "the pandas DataFrame: there are no rows"),
    (lambda t: t.assign(age=t["age"] * 365.25), "unit"),
    (lambda t: t.assign(age="old"), "age"),
    (lambda t: t.age, "the pandas Series"),
    (lambda t: [1, 2], "target is the builtins list; expected a path"),
    (lambda t: 5, "target is the builtins int"),
    (lambda t: "nowhere.csv", "nowhere.csv"),
])
def test_bad_targets(study, older, change, words):
    target = change(pd.read_csv(older))
    for ask in [lambda t: study.evaluate(BOTH, target=t), lambda t: study.radius(splits=1, target=t),
                lambda t: study.learn("tree:1", target=t), lambda t: study.distance(t),
                lambda t: study.report("nowhere.html", target=t)]:
        with pytest.raises(seawall.InputError) as caught:
            ask(target)
        assert words in str(caught.value), caught.value


def test_bad_targets_of_studies(demo, older):
    frame = pd.read_csv(demo / "trial.csv")
    for target, words in [
        (5, "target is the builtins int; expected a path"), ({"path": [1]}, "target is the builtins list"),
        ({"were": {}}, "were"), ({"beyond": "clip"}, "clip"),
    ]:
        with pytest.raises(seawall.SeawallError, match=words):
            seawall.Study(frame, **OWN, target=target)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "polars lazy", "duckdb"])
def test_a_study_may_be_about_a_target_that_is_a_table(demo, older, library):
    frame, sample = pd.read_csv(demo / "trial.csv"), FRAMES[library](older)
    plain = seawall.Study(frame, **OWN)
    wanted = plain.evaluate(BOTH, target=older)
    for study in [plain.target(sample), plain.target(older), seawall.Study(frame, **OWN, target=sample)]:
        for _ in range(2):  # It can be asked again.
            assert study.evaluate(BOTH).policies == wanted.policies
        assert study.distance().distance == plain.distance(older).distance > 0
        assert study.check().target.rows == wanted.target.rows
        assert study.describe().rows == wanted.target.rows
        # What is said in a question is asked there.
        assert study.evaluate(BOTH, target=seawall.Target(known={"age": {"mean": 70}})).target is None
        assert study.distance(demo / "trial.csv").distance < 1e-12
    women = seawall.Study(frame, **OWN, target={"path": FRAMES[library](older), "where": {"sex": "F"}})
    assert women.evaluate(BOTH).target.rows == (pd.read_csv(older)["sex"] == "F").sum()
    # The study that it was made of is as it was.
    assert plain.evaluate(BOTH).target is None


def test_a_study_about_a_target_keeps_what_it_was(demo, older):
    study = seawall.Study.from_file(demo / "study.toml")
    there = study.target(pd.read_csv(older))
    assert there.actions == study.actions and there.learn("tree:1", splits=0).value == study.learn(
        "tree:1", splits=0, target=older).value
    known = seawall.Target(known={"age": {"mean": 75}})
    assert study.target(known).transfer().to_json() == study.transfer(target=known).to_json()
    assert there.transfer().to_dict()["transfers"] == study.transfer(target=older).to_dict()["transfers"]
    again = there.target(demo / "trial.csv")
    assert again.distance().distance < 1e-12
    assert there.target(known).evaluate(BOTH).balance.status == "matched"


@pytest.mark.parametrize("ask, words", [
    (lambda s, t: s.target(None), "expected a Target, a path or a table"),
    (lambda s, t: s.target(seawall.Target()), "or what is known of it"),
    (lambda s, t: s.target(5), "target is the builtins int"),
    (lambda s, t: s.target("nowhere.csv"), "nowhere.csv"),
    (lambda s, t: s.target(t.drop(columns="age")), "age"),
    (lambda s, t: s.target(pytest.importorskip("pyarrow").Table.from_pandas(t).to_reader()), "read only once"),
    (lambda s, t: s.target(seawall.Target(t, known={"age": {"mean": 70}})), "leave out one of the two"),
])
def test_targets_are_looked_at_at_once(study, older, ask, words):
    with pytest.raises(seawall.SeawallError, match=words):
        ask(study, pd.read_csv(older))


def test_learning_against_any_policy(study, tmp_path):
    base = study.learn("groups:sex", radius=0.0, splits=0).policy
    base.save(tmp_path / "base.json")
    learned = [study.learn("tree:1", radius=0.01, against=p, splits=0) for p in (base, tmp_path / "base.json")]
    assert learned[0].value == learned[1].value and learned[0].against == learned[1].against
    assert learned[0].against.policy == base.name
    assert learned[0].against.no_worse == (learned[0].upper <= 0)
    # Both were learned on these rows, so nothing is claimed of the two.
    pair = study.evaluate([learned[0].policy, base], radius=0.01).comparison(0, 1)
    assert pair.verdicts == ["undecided"] and pair.results[0].no_claim


@pytest.mark.parametrize("against, error, words", [
    ("constant:aspirin", seawall.SeawallError, "aspirin"),
    ("nowhere.json", seawall.InputError, "nowhere.json"),
    (5, seawall.ConfigError, "against 5: expected"),
    (BOTH, seawall.ConfigError, "against is 2 policies; expected one"),
])
def test_bad_baselines(study, against, error, words):
    with pytest.raises(error) as caught:
        study.learn("tree:1", against=against)
    assert words in str(caught.value), caught.value


def test_a_baseline_of_other_actions_is_refused(study, demo):
    frame = pd.read_csv(demo / "trial.csv").replace({"arm": {"treat": "aspirin"}})
    asked = OWN | {"propensity": {"design": {"aspirin": 0.5, "control": 0.5}}}
    other = seawall.Study(frame, **asked).learn("groups:sex", splits=0).policy
    with pytest.raises(seawall.SeawallError, match="aspirin"):
        study.learn("tree:1", against=other)


def test_check_says_how_well_a_target_is_covered(study, older):
    assert study.check().target is None
    covered = study.check(target=older).target
    assert covered == study.evaluate(BOTH, target=older).target and covered.coverage.effective_rows > 0


def test_a_study_is_shown_though_its_target_cannot_be_read(demo):
    frame = pd.read_csv(demo / "trial.csv")
    study = seawall.Study(frame, **OWN, target="nowhere.csv")
    assert "6000 rows" in repr(study)
    with pytest.raises(seawall.SeawallError, match="nowhere.csv"):
        study.check()

"""From here to there: what Python says of targets and past groups is what the program says, from a file,
a frame or a counted table; and what cannot be meant is refused by name."""

import json
import pickle

import pandas as pd
import pytest

import seawall
from given import objects
from test_parity import _keys, _names, _same

KNOWN = {"age": {"mean": 75.0}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
THERE = seawall.Target(known=KNOWN)
TYPED = ["--target-facts", "age:mean=75", "--target-facts", "sex:F=0.6,M=0.4"]
TWO = ["constant:control", "constant:treat"]
TYPED_TWO = ["--policy", "constant:control", "--policy", "constant:treat"]
# The demo's study, its contexts fewer so that groups are quickly fitted.
OWN = dict(
    context={"age": {"kind": "numeric", "bin": 10}, "sex": "nominal", "stroke": "nominal"},
    action="arm",
    cost={"dead": {"Y": 3}, "ischaemic": 1},
    propensity={"design": {"treat": 0.5, "control": 0.5}},
    model={"kind": "tree", "max_depth": 2, "min_samples_leaf": 20},
    policy="uniform",
    radius=0.05,
)


@pytest.fixture(scope="module")
def sites(demo, tmp_path_factory):
    """A folder with the synthetic trial at 24 sites and in months: `trial.csv`, the study, older `past.csv`."""
    folder = tmp_path_factory.mktemp("sites")
    frame = pd.read_csv(demo / "trial.csv")
    frame["ward"] = [f"w{(7 * p) % 24:02d}" for p in frame["patient"]]
    frame["day"] = [f"2021-{1 + (5 * p) % 8:02d}-{1 + p % 28:02d}" for p in frame["patient"]]
    frame.to_csv(folder / "trial.csv", index=False)
    past = frame[frame["patient"] > 3000].assign(ward=lambda f: "p" + f["ward"])
    past.to_csv(folder / "past.csv", index=False)
    (folder / "study.toml").write_text(seawall.Study(str(folder / "trial.csv"), **OWN).text)
    return folder


@pytest.fixture(scope="module")
def study(sites):
    return seawall.Study.from_file(sites / "study.toml")


QUESTIONS = [
    ({"known": KNOWN}, TYPED),
    ({"known": KNOWN, "target_size": 500, "by": "ward"}, [*TYPED, "--target-size", "500", "--by", "ward"]),
    ({"by": "ward", "level": 0.9, "method": "rank"}, ["--by", "ward", "--level", "0.9", "--method", "rank"]),
    ({"by": "day", "each": "month", "half_life": 3, "known": KNOWN},
     ["--by", "day", "--each", "month", "--half-life", "3", *TYPED]),
    ({"by": ["ward"], "least": 240, "compare": False}, ["--by", "ward", "--least", "240", "--no-compare"]),
    ({"known": {"age": {"mean": [70, 76], "within": 0.5}}, "method": "couplings"},
     ["--target-facts", "age:mean=70..76,within=0.5", "--method", "couplings"]),
]


@pytest.mark.parametrize("asked, words", QUESTIONS)
def test_transfer_prints_the_same_bytes(program, sites, study, asked, words):
    text = program("transport", sites / "study.toml", *TYPED_TWO, *words, "--json")
    found = study.transfer(TWO, **objects(asked, "target", "history"))
    assert found.to_json() + "\n" == text
    said = json.loads(text)
    _same(found.transfers, said["transfers"])
    _same(found.differences, said.get("differences", []))
    _same(found.left_out, said["left_out"])
    assert set(_keys(found.to_dict())) <= set(_names(found))
    assert (found.condition, found.notes, found.known, found.by) == (
        said["condition"], said["notes"], said["known"], said.get("by"))


def test_a_sample_and_past_groups_beside_the_log_print_the_same_bytes(program, sites, study, older):
    words = ["--target", older, "--by", "ward", "--history", sites / "past.csv", "--json"]
    text = program("transport", sites / "study.toml", *words)
    path = sites / "past.csv"
    assert study.transfer(target=older, history=seawall.History("ward", path)).to_json() + "\n" == text
    tables = {"pandas": pd.read_csv(path), "pyarrow": pytest.importorskip("pyarrow.csv").read_csv(path)}
    tables["polars"] = pytest.importorskip("polars").read_csv(path)
    for name, table in tables.items():
        found = study.transfer(target=pd.read_csv(older), history=seawall.History("ward", table))
        assert _but_known(found.to_json()) == _but_known(text.strip()), name


def _but_known(text):
    return {k: v for k, v in json.loads(text).items() if k != "known"}


@pytest.mark.parametrize("asked, words", [
    ({"by": "ward"}, ["--by", "ward"]),
    ({"by": "day", "each": "quarter", "level": 0.8, "policy": "constant:treat"},
     ["--by", "day", "--each", "quarter", "--level", "0.8", "--policy", "constant:treat"]),
])
def test_backtest_prints_the_same_bytes(program, sites, study, asked, words):
    text = program("backtest", sites / "study.toml", *words, "--json")
    found = study.backtest(**objects(asked, "history"))
    assert found.to_json() + "\n" == text
    said = json.loads(text)
    _same(found, said)
    frame = pd.DataFrame.from_arrow(found.to_frame())
    assert list(frame["procedure"]) == [p["name"] for p in said["procedures"]]
    groups = pd.DataFrame.from_arrow(found.groups_frame())
    assert list(groups["group"]) == [g["group"] for g in said["groups"]]
    assert list(groups["ball"]) == [g["bounds"]["ball"] for g in said["groups"]]
    assert f"Recommended: {said['recommended']}." in repr(found) and found.direction in repr(found)


@pytest.mark.parametrize("asked, words", [
    ({}, []),
    ({"means": True, "columns": ["age", "sex"]}, ["--means", "--columns", "age,sex"]),
    ({"at_least": 50}, ["--at-least", "50"]),
])
def test_describe_writes_the_same_block_and_it_is_taken_back(program, sites, study, older, asked, words):
    for target, more in [(None, []), (older, ["--target", older])]:
        found = study.describe(target, **asked)
        assert found.toml == program("describe", sites / "study.toml", *more, *words)
        assert found.to_json() + "\n" == program("describe", sites / "study.toml", *more, *words, "--json")
        there = study.transfer(target=seawall.Target(known=found.known, size=found.size))
        written = study.text + found.toml
        (sites / "known.toml").write_text(written)
        assert there.to_json() + "\n" == program("transport", sites / "known.toml", "--json")
    assert len(pd.DataFrame.from_arrow(found.to_frame())) >= len(found.known)


def test_frames_and_studies_say_what_files_say(sites, study):
    text = study.transfer(TWO, target=THERE, history="ward").to_json()
    path = sites / "trial.csv"
    tables = {"pandas": pd.read_csv(path), "pyarrow": pytest.importorskip("pyarrow.csv").read_csv(path)}
    tables["polars"] = pytest.importorskip("polars").read_csv(path)
    for name, table in tables.items():
        own = seawall.Study(table, **OWN)
        assert own.transfer(TWO, target=THERE, history="ward").to_json() == text, name
        said = seawall.Study(table, **OWN, history="ward", target={"known": KNOWN})
        assert said.transfer(TWO).to_json() == text, name
        assert said.evaluate(splits=0).to_json() is not None
    file = seawall.Study(str(path), **OWN, history={"by": ["ward"], "least": 20})
    assert file.transfer(TWO, target=THERE).to_json() == text
    assert study.describe().known == seawall.Study(table, **OWN).describe().known


def test_a_model_of_ones_own_is_kept_where_groups_are_counted(sites, study):
    flat = study.with_outcomes(study.outcomes() * 0 + 0.3)
    found, usual = flat.transfer(target=THERE, history="ward"), study.transfer(target=THERE, history="ward")
    assert found.transfers[0].centre != usual.transfers[0].centre
    assert study.transfer(target=THERE, history="ward").to_json() == usual.to_json()


def test_rows_that_changed_or_are_gone_are_refused(sites):
    frame = pd.read_csv(sites / "trial.csv")
    study = seawall.Study(frame, **OWN)
    frame.loc[:, "arm"] = frame["arm"].to_numpy()[::-1]
    with pytest.raises(seawall.InputError, match="not those that the study was made of"):
        study.backtest("ward")
    reader = pytest.importorskip("pyarrow.csv").read_csv(sites / "trial.csv").to_reader()
    with pytest.raises(seawall.InputError, match="was read once and cannot be read again to be counted by ward"):
        seawall.Study(reader, **OWN).backtest("ward")


def test_what_is_known_reaches_every_question(study):
    for ask in [lambda **k: study.evaluate(splits=0, **k), lambda **k: study.learn("groups:sex", **k), study.check]:
        with pytest.raises(seawall.ConfigError, match="the share of \"F\" is 1.5"):
            ask(target=seawall.Target(known={"sex": {"shares": {"F": 1.5}}}))
    assert study.evaluate(splits=0, target=seawall.Target(known=KNOWN, size=100)).policies


@pytest.mark.parametrize("asked, error, words", [
    ({}, seawall.ConfigError, "nothing is known of the target"),
    ({"known": 3}, seawall.ConfigError, "known: expected a dictionary"),
    ({"known": {"age": 71}}, seawall.ConfigError, 'known["age"]: expected a dictionary'),
    ({"known": {"age": {"median": 71}}}, seawall.ConfigError, 'known["age"]["median"]: unknown key; did you mean "mean"?'),
    ({"known": {"age": {"mean": "old"}}}, seawall.ConfigError, 'known["age"]["mean"]: expected a number'),
    ({"known": {"age": {"mean": [1, 2, 3]}}}, seawall.ConfigError, "expected a number, or a range [low, high]"),
    ({"known": {"age": {"mean": 400}}}, seawall.ConfigError, 'known["age"]: the mean is 400; expected a number from'),
    ({"known": {"age": {}}}, seawall.ConfigError, 'known["age"]: expected mean'),
    ({"known": {"agee": {"mean": 71}}}, seawall.ConfigError, 'did you mean "age"?'),
    ({"known": {"sex": {"shares": {"F": 0.6, "M": 0.6}}}}, seawall.ConfigError, 'known["sex"]'),
    ({"known": {"sex": {"shares": {"X": 0.6}}}}, seawall.ConfigError, 'known["sex"]'),
    ({"known": {"sex": {"shares": [0.6]}}}, seawall.ConfigError, 'known["sex"]["shares"]: expected a dictionary'),
    ({"known": {"sex": {"mean": 0.6}}}, seawall.ConfigError, "only a numeric one has a mean"),
    ({"known": KNOWN, "target_size": -1}, seawall.ConfigError, "size: the size is -1; expected a number of people"),
    ({"known": KNOWN, "target": "older.csv"}, seawall.ConfigError, "known: the target has a sample, which says more"),
    ({"known": KNOWN, "level": 1.5}, seawall.ConfigError, "level is 1.5"),
    ({"known": KNOWN, "method": "magic"}, seawall.ConfigError, 'method is "magic"; expected "rank"'),
    ({"known": KNOWN, "method": 3}, seawall.ConfigError, "method is 3; expected a text"),
    ({"by": 3}, seawall.ConfigError, "by is 3; expected the name of a column, or a list of them"),
    ({"by": "sex"}, seawall.ConfigError, 'by: "sex" is a context column, too'),
    ({"by": "wardd"}, seawall.ConfigError, 'did you mean "ward"?'),
    ({"by": "arm"}, seawall.InputError, "lack an action"),
    ({"by": "ward", "least": 0}, seawall.ConfigError, "least is 0; expected a number of rows from 1 on"),
    ({"by": "ward", "least": 5000}, seawall.InputError, "no group of at least 5000 rows"),
    ({"by": "ward", "half_life": 3}, seawall.ConfigError, "half_life needs groups in time: say in_time"),
    ({"by": "day", "each": "week"}, seawall.ConfigError, 'each is "week"; expected one of "year"'),
    ({"by": "ward", "each": "month"}, seawall.InputError, "ward"),
    ({"by": "ward", "in_time": "yes"}, seawall.ConfigError, "in_time is 'yes'; expected True or False"),
    ({"by": "ward", "level": 0.99, "method": "rank"}, seawall.SeawallError, "0.96"),
    ({"history": "past.csv"}, seawall.ConfigError, "table needs by"),
    ({"by": "ward", "history": [1, 2]}, seawall.InputError, "table is the builtins list; expected a path"),
    ({"by": "ward", "history": "no-such.csv"}, seawall.InputError, "no-such.csv"),
])
def test_what_cannot_be_meant(study, asked, error, words):
    with pytest.raises(error) as caught:
        study.transfer(**objects(asked, "target", "history"))
    assert words in str(caught.value)


def test_what_cannot_be_tried_or_described(study):
    with pytest.raises(seawall.ConfigError, match="no groups are recorded; say history="):
        study.backtest()
    with pytest.raises(seawall.ConfigError, match="policy is 2 policies; expected one"):
        study.backtest("ward", policy=["uniform", "greedy"])
    with pytest.raises(seawall.ConfigError, match='columns: among the contexts, .*did you mean "age"'):
        study.describe(columns="agee")
    with pytest.raises(seawall.ConfigError, match="at_least is -1"):
        study.describe(at_least=-1)


def test_results_can_be_read_copied_and_looked_up(study):
    found = study.transfer(TWO, target=THERE, history="ward")
    first = found.transfers[0]
    assert found.policy("control") is found.policy(0) is first
    with pytest.raises(seawall.ConfigError, match="'aspirin' was not asked about"):
        found.policy("aspirin")
    assert abs(first.centre + first.allowance.total - first.bound) < 1e-12
    text = repr(found)
    assert found.condition in text and "lower is better" in text and f"{first.bound:.6g}" in text
    assert "at most" in repr(first) and f"held for {first.held} of {len(first.groups)}" in repr(first)
    assert "matched" in repr(found.balance) and "<table>" in found._repr_html_()
    frame = pd.DataFrame.from_arrow(found.to_frame())
    assert list(frame["bound"]) == [t.bound for t in [*found.transfers, *found.differences]]
    assert list(pd.DataFrame.from_arrow(first.to_frame())["real"]) == [g.real for g in first.groups]
    assert pickle.loads(pickle.dumps(found)) == found
    gain = seawall.Study(study_frame(), **(OWN | {"cost": None, "reward": "ischaemic"}))
    assert "at least" in repr(gain.transfer(target=THERE).transfers[0])


def study_frame():
    return seawall.demo_data()


def test_pictures(study):
    pytest.importorskip("matplotlib").use("Agg")
    from seawall import plot

    found = study.transfer(TWO, target=THERE, history="ward")
    drawn = plot.balance(found)
    assert [t.get_text() for t in drawn.get_yticklabels()] and plot.balance(found.balance)
    groups = plot.predicted(found, "treat")
    assert groups.get_title().startswith("constant:treat: held for")
    with pytest.raises(seawall.ConfigError, match="there are no past groups"):
        plot.predicted(study.transfer(target=THERE))

"""Sets side by side: what Python says is what the program says, and what cannot be meant is refused."""

import json
import math
import pickle

import pandas as pd
import pytest

import seawall
from given import objects
from test_parity import _keys, _names, _same

TWO = ["constant:treat", "constant:control"]
TYPED_TWO = ["--policy", "constant:treat", "--policy", "constant:control"]
SETS = ["wasserstein", "kl", "tv"]
TYPED_SETS = [word for name in SETS for word in ("--set", name)]


@pytest.fixture(scope="module")
def wards(demo, tmp_path_factory):
    """The synthetic trial at wards, the last of them of the oldest patients."""
    folder = tmp_path_factory.mktemp("wards")
    frame = pd.read_csv(demo / "trial.csv")
    frame["ward"] = [f"w{p % 5}" if age < 85 else "old" for p, age in zip(frame["patient"], frame["age"])]
    frame.to_csv(folder / "trial.csv", index=False)
    (folder / "study.toml").write_text((demo / "study.toml").read_text())
    return folder


def test_prints_the_same_bytes(program, demo, older):
    study = seawall.Study.from_file(demo / "study.toml")
    for asked, words in [
        ({}, []),
        ({"target": older}, ["--target", older]),
        ({"target": older, "containing": True}, ["--target", older, "--containing"]),
        ({"target": seawall.Target(known={"age": {"mean": 75.0}})}, ["--target-facts", "age:mean=75"]),
    ]:
        said = program("sensitivity", demo / "study.toml", *TYPED_TWO, *TYPED_SETS, *words, "--json")
        found = study.compare(TWO, sets=SETS, **asked)
        assert found.to_json() + "\n" == said
        assert set(_keys(found.to_dict())) <= set(_names(found))
        parts = json.loads(said)
        _same(found.rows, parts["sets"])
        _same(found.agreement, parts["agreement"])
        _same(found.on_log, parts["on_log"])
        assert found.on_log.sentence in repr(found)
        assert found.agreement.sentences[0] in repr(found)


def test_a_group_is_left_out_and_covered(program, wards):
    study = seawall.Study.from_file(wards / "study.toml")
    words = ["--by", "ward", "--group", "old", *TYPED_TWO, *TYPED_SETS, "--json"]
    found = study.compare(TWO, sets=SETS, history="ward", group="old")
    assert found.to_json() + "\n" == program("sensitivity", wards / "study.toml", *words)
    assert (found.covers.goal, found.covers.name, found.covers.by) == ("group", "old", "ward")
    for row in found.rows:
        assert abs(row.policies[0].value - found.covers.value) <= 1e-6 * found.covers.value
    inside = study.compare(TWO, sets=SETS, history="ward", group="old", containing=True)
    assert inside.set("kl").why is None or math.isinf(inside.set("kl").radius)


def test_a_frame_has_a_row_a_set_and_a_column_a_policy(demo):
    found = seawall.Study.from_file(demo / "study.toml").compare(TWO)
    frame = pd.DataFrame.from_arrow(found.to_frame())
    assert list(frame["set"]) == [row.set for row in found.rows]
    assert [*TWO, "radius", "best", "no_worse", "by", "fears", "unseen"] == [
        name for name in [*TWO, "radius", "best", "no_worse", "by", "fears", "unseen"] if name in frame
    ]
    told = [None if pd.isna(one) else bool(one) for one in frame["told"]]
    assert told == [row.told for row in found.rows]
    assert list(frame["beyond"]) == [row.beyond for row in found.rows]
    assert {one.set for one in found.left_out} >= {"entropic", "couplings"}
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.covers.sentence in found._repr_html_()


def test_policies_that_are_alike_are_both_best(demo):
    found = seawall.Study.from_file(demo / "study.toml").compare([TWO[0], TWO[0]], sets=["kl", "tv"])
    assert all(row.best == [TWO[0], f"{TWO[0]} (2)"] and row.told is None for row in found.rows)
    assert found.agreement.agree is True and len(found.agreement.choices) == 2
    frame = pd.DataFrame.from_arrow(found.to_frame())
    assert set(frame["best"]) == {f"{TWO[0]}, {TWO[0]} (2)"}
    alone = seawall.Study.from_file(demo / "study.toml").compare(TWO[0], sets="kl")
    assert alone.agreement.agree is None and alone.on_log is None


@pytest.mark.parametrize("asked, text", [
    ({"sets": "couplings"}, "known="),
    ({"known": {"age": {"mean": 70}}, "containing": True}, "cannot be contained"),
    ({"by": "ward"}, "group="),
    ({"by": "ward", "group": "nowhere"}, "no group \"nowhere\"; there are:"),
    ({"group": "old"}, "no group \"old\""),
    ({"sets": "wassertein"}, "expected one of wasserstein"),
    ({"sets": 3}, "expected the name of a set"),
    ({"containing": True}, "nobody to contain"),
    ({"by": "ward", "group": "old", "known": {"age": {"mean": 70}}}, "leave out one of the two"),
])
def test_slips_are_refused(wards, asked, text):
    study = seawall.Study.from_file(wards / "study.toml")
    with pytest.raises(seawall.SeawallError, match=text.replace("(", "\\(")):
        study.compare(TWO, **objects(asked, "target", "history"))

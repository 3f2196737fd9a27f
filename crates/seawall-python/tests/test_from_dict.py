"""Studies as dictionaries: what a study file says, and its errors."""

import copy
import pathlib

import pandas as pd
import pytest

import seawall

tomllib = pytest.importorskip("tomllib")


@pytest.fixture
def said(demo):
    """What the synthetic trial's study file says."""
    return tomllib.loads((demo / "study.toml").read_text())


def test_says_what_the_file_says(demo, said):
    of_file = seawall.Study.from_file(demo / "study.toml")
    study = seawall.Study.from_dict(said, folder=demo)
    there = seawall.Target(known={"age": {"mean": 76}})
    assert study.evaluate().to_json() == of_file.evaluate().to_json()
    assert study.transfer(target=there).to_json() == of_file.transfer(target=there).to_json()
    assert study.check().to_json() == of_file.check().to_json()


def test_says_what_the_stroke_trials_file_says(trial):
    said = tomllib.loads(trial.read_text())
    study, of_file = seawall.Study.from_dict(said, folder=trial.parent), seawall.Study.from_file(trial)
    asked = dict(policy=["uniform", "constant:treat"], splits=0)
    assert study.evaluate(**asked).to_json() == of_file.evaluate(**asked).to_json()


def test_tables_are_given_where_paths_are(demo, older, said):
    frame, given = pd.read_csv(demo / "trial.csv"), copy.deepcopy(said)
    of_file = seawall.Study.from_file(demo / "study.toml")
    said["data"]["path"] = frame
    study = seawall.Study.from_dict(said)
    assert study.evaluate().policies == of_file.evaluate().policies
    assert study.backtest().procedures == of_file.backtest().procedures
    said["target"] = {"path": pd.read_csv(older)}
    assert seawall.Study.from_dict(said).evaluate().policies == of_file.evaluate(target=older).policies
    # A dictionary is left as it is.
    assert said["data"]["path"] is frame and {k: v for k, v in said.items() if k not in ("data", "target")} == {
        k: v for k, v in given.items() if k != "data"}


def test_past_groups_may_be_a_table(demo, said):
    frame = pd.read_csv(demo / "trial.csv")
    first, rest = frame[frame["site"] < "S12"], frame[frame["site"] >= "S12"]
    said["data"]["path"], said["history"] = first, {"by": "site", "path": rest}
    study = seawall.Study.from_dict(said)
    beside = seawall.Study.from_dict(said | {"history": {"by": "site"}}).backtest(seawall.History(table=rest))
    assert study.backtest().to_json() == beside.to_json() and len(beside.groups) == 13


def test_paths_are_from_the_folder(demo, said, tmp_path, monkeypatch):
    monkeypatch.chdir(demo)
    assert seawall.Study.from_dict(said).check().rows == 6000
    monkeypatch.chdir(tmp_path)
    assert seawall.Study.from_dict(said, folder=demo).check().rows == 6000
    with pytest.raises(seawall.InputError, match="trial.csv"):
        seawall.Study.from_dict(said)


def test_nothing_is_not_said(demo, said):
    said["data"]["weight"] = None
    said["target"] = None
    said["model"]["kind"] = "tree"
    said["context"]["age"]["weight"] = None
    assert seawall.Study.from_dict(said, folder=demo).check().rows == 6000


@pytest.mark.parametrize("change, words", [
    (lambda s: s.pop("data"), 'study["data"] is missing'),
    (lambda s: s["data"].pop("path"), 'study["data"]["path"] is missing'),
    (lambda s: s["data"].update(pth="x"), 'study["data"]["pth"]: unknown key; did you mean "path"? (known: path, counted'),
    (lambda s: s.update(datum={}), 'study["datum"]: unknown key; did you mean "data"?'),
    (lambda s: s["context"]["age"].update(bin="ten"), 'study["context"]["age"]["bin"]: expected a number'),
    (lambda s: s["context"].update(old={"kind": "numeric"}), 'study["context"]["old"]: '),
    (lambda s: s["context"].update(age={"kind": object}), 'study["context"]["age"]["kind"]: <class \'object\'> (type) cannot be part of a study'),
    (lambda s: s.update(policy="uniform"), 'study["policy"]: expected a dictionary'),
    (lambda s: s.update(target={"path": 5}), "target is the builtins int; expected a path"),
    (lambda s: s["data"].update(path=5), "data is the builtins int; expected a path"),
    (lambda s: s["context"].update({"a\x1b]0;b": {"kind": "x"}}), "1b"),
])
def test_errors_are_those_of_a_file(demo, said, change, words):
    change(said)
    with pytest.raises(seawall.SeawallError) as caught:
        seawall.Study.from_dict(said, folder=demo)
    assert words in str(caught.value) and "\x1b" not in str(caught.value), caught.value
    with pytest.raises(seawall.ConfigError, match="study is a list; expected a dictionary"):
        seawall.Study.from_dict([said])


def test_a_path_object_is_a_path(demo, said):
    said["data"]["path"] = pathlib.Path(said["data"]["path"])
    assert seawall.Study.from_dict(said, folder=demo).check().rows == 6000

"""Tables of engines are counted where they are: only counts come here, and the answers are the rows'."""

import csv
import pathlib
import sys

import duckdb
import ibis
import polars as pl
import pytest

import seawall

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
import engines  # noqa: E402

QUESTION = dict(
    context={
        "conscious": {"kind": "ordinal", "levels": ["alert", "drowsy", "unconscious"]},
        "age": {"kind": "numeric", "bin": 10, "min": 25},
        "sex": "nominal",
        "systolic": {"kind": "numeric", "bin": 2.5},
    },
    action={"treat": {"arm": "treat"}, "control": {"arm": "control"}},
    cost={"ischaemic": 1, "dead": {"Y": 3}},
    where={"stroke": {"not": "TACS"}, "patient": {"min": 100}},
    radius=[0.01, 0.05],
    model={"kind": "tree", "max_depth": 3, "min_samples_leaf": 20},
    support="observed",
)
EVERYTHING = dict(
    where={"kind": {"not": ["x", 2]}, "day": {"min": "2020-01-02", "max": "2020-03-01"}, "score": {"min": -1.5}},
    context={
        "dose": {"kind": "numeric", "bin": 0.1, "min": -0.75, "max": 1.25},
        "temp": {"kind": "numeric", "bin": 2.5},
        "level": "ordinal",
        "site": {"kind": "nominal", "missing": True},
        "free": {"kind": "numeric", "missing": 0.5},
    },
    action={"take": {"arm": [1, 2], "flag": {"missing": False}}, "leave": {"arm": {"not": [1, 2, 9]}}},
    cost={"events": 0.5, "died": {"Y": 3}},
    missing_outcome={"died": 0},
    model={"kind": "column", "predictions": {"take": "m1", "leave": "m0"}},
    radius=[0, 0.05],
    support="observed",
)


def tables(path, kinds=("types", "texts")):
    """A table of each engine, its columns typed by it and as texts."""
    connection = ibis.duckdb.connect()
    for kind in kinds:
        texts = kind == "texts"
        read = f"read_csv('{path}', header = true, all_varchar = {str(texts).lower()})"
        yield f"duckdb {kind}", duckdb.sql(f"SELECT * FROM {read}")
        yield f"ibis {kind}", connection.sql(f"SELECT * FROM {read}").mutate(more=ibis.literal(1))
        yield f"polars {kind}", as_texts(path) if texts else pl.scan_csv(path, try_parse_dates=True)


def as_texts(path):
    """A lazy frame of texts: polars itself leaves doubled quotes in a header as they are."""
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return pl.LazyFrame({name: [row[k] or None for row in rows] for k, name in enumerate(names)})


def told(data, question):
    found = seawall.Study(data, **question).evaluate(["uniform", "greedy"], splits=2).to_dict()
    found["diagnostics"].pop("files")
    return repr(found)


def test_every_engine_says_what_the_rows_say(demo):
    raw = told(str(demo / "trial.csv"), QUESTION)
    for name, table in tables(demo / "trial.csv"):
        assert told(table, QUESTION) == raw, name


@pytest.mark.parametrize("weights", [{"cluster": "ward"}, {"weight": "w"}, {"survey_weight": "m1"}])
def test_left_out_missing_weighted_and_at_the_ends_of_bins(tmp_path, weights):
    engines.everything(tmp_path, "clusters")
    raw = told(str(tmp_path / "rows.csv"), EVERYTHING | weights)
    for name, table in tables(tmp_path / "rows.csv"):
        assert told(table, EVERYTHING | weights) == raw, name


def test_names_and_levels_are_never_run(tmp_path):
    engines.hostile(tmp_path)
    names = engines.HOSTILE_NAMES
    half = len(engines.HOSTILE_LEVELS) // 2
    question = dict(
        where={"keep\\": {"not": engines.HOSTILE_LEVELS[:3]}},
        context={name: "nominal" for name in names},
        action={
            "first'); --": {"arm'": engines.HOSTILE_LEVELS[:half]},
            'second"': {"arm'": engines.HOSTILE_LEVELS[half:-1]},
        },
        cost={'out"come': {engines.HOSTILE_LEVELS[0]: 3, engines.HOSTILE_LEVELS[4]: 1}},
        model={"kind": "tree", "max_depth": 2},
        radius=0.05,
        support="observed",
    )
    raw = told(str(tmp_path / "rows.csv"), question)
    for name, table in tables(tmp_path / "rows.csv", ["texts"]):
        assert told(table, question) == raw, name


def test_only_counts_cross(demo, monkeypatch):
    """What is collected has a row for each group, not for each row of the log."""
    from seawall import _engines

    collected, counted = [], _engines.counted

    def kept(*asked):
        collected.append(counted(*asked))
        return collected[-1]

    monkeypatch.setattr(_engines, "counted", kept)
    table = duckdb.sql(f"SELECT * FROM read_csv('{demo / 'trial.csv'}'), range(50)")
    seawall.Study(table, **QUESTION)
    [counts] = collected
    assert counts.num_rows < 5000 and sum(counts["n"].to_pylist()) == 300_000


def test_a_column_that_is_not_there(demo):
    for name, table in tables(demo / "trial.csv"):
        with pytest.raises(seawall.ConfigError, match='no column named "agee"; did you mean "age"'):
            seawall.Study(table, **(QUESTION | {"context": {"agee": "nominal"}}))


def test_an_engine_that_fails_says_that_nothing_was_lost(demo):
    table = duckdb.sql(f"SELECT * REPLACE (error('the cable was cut') AS arm) FROM read_csv('{demo / 'trial.csv'}')")
    with pytest.raises(seawall.InputError, match="did not finish the count: .*the cable was cut.*nothing was lost"):
        seawall.Study(table, **QUESTION)


def test_bad_values_are_refused_as_those_of_rows(demo):
    path = demo / "trial.csv"
    table = duckdb.sql(f"SELECT * REPLACE (CASE WHEN patient = 5 THEN 20 ELSE age END AS age) FROM read_csv('{path}')")
    with pytest.raises(seawall.InputError, match="20 is out of the range that the study declares"):
        seawall.Study(table, **(QUESTION | {"where": None}))


def test_past_groups_are_counted_by_the_engine(demo, tmp_path):
    head, *rows = (demo / "trial.csv").read_text().splitlines()
    wards = [["n", "it's", 'so "called"', "s", "w", "1.0"][k % 6] for k in range(len(rows))]
    quoted = ['"' + ward.replace('"', '""') + '"' for ward in wards]
    lines = [f"{row},{ward}" for row, ward in zip(rows, quoted)]
    path = tmp_path / "wards.csv"
    path.write_text("\n".join([f"{head},ward", *lines]) + "\n")
    known = {"age": {"mean": 75}, "sex": {"shares": {"F": 0.6, "M": 0.4}}}
    asked = dict(policy=["uniform", "constant:treat"], target=seawall.Target(known=known), level=0.8)
    own = seawall.Study(str(path), **QUESTION)
    raw, tried = own.transfer(**asked, history="ward").to_json(), own.backtest("ward", policy="uniform").to_json()
    for name, table in tables(path):
        study = seawall.Study(table, **QUESTION)
        assert study.transfer(**asked, history="ward").to_json() == raw, name
        assert study.backtest("ward", policy="uniform").to_json() == tried, name
        beside = own.transfer(**asked, history=seawall.History("ward", table)).to_json()
        assert beside == own.transfer(**asked, history=seawall.History("ward", path)).to_json(), name
        with pytest.raises(seawall.ConfigError, match='no column named "wardd"; did you mean "ward"'):
            study.backtest("wardd")


def test_tables_of_engines_are_targets(demo, older):
    """A sample of a target is read, of the columns that are asked for alone."""
    study = seawall.Study(demo / "trial.csv", **QUESTION)
    wanted = study.evaluate(["uniform", "greedy"], target=older, splits=0).to_dict()["policies"]
    for name, table in tables(older):
        assert study.evaluate(["uniform", "greedy"], target=table, splits=0).to_dict()["policies"] == wanted, name
        assert study.target(table).evaluate(["uniform", "greedy"], splits=0).to_dict()["policies"] == wanted, name
    for table in [duckdb.sql("SELECT 1 AS other"), ibis.memtable({"other": [1]}), pl.LazyFrame({"other": [1]})]:
        with pytest.raises(seawall.SeawallError, match="no column named"):
            study.evaluate("uniform", target=table)

"""Tables of every kind: what comes in by Arrow is what would come in by a file."""

import json

import numpy as np
import pandas as pd
import pytest

import seawall

QUESTION = dict(
    context={"age": {"kind": "numeric", "bin": 10}, "sex": "nominal", "stroke": "nominal"},
    action="arm",
    cost={"dead": {"Y": 3}, "ischaemic": 1},
    radius=[0.01, 0.05],
    model={"kind": "tree", "max_depth": 3, "min_samples_leaf": 20},
)


def frames(path):
    """The same table in every library that is installed."""
    pandas = pd.read_csv(path)
    yield "pandas", pandas
    yield "pandas categories", pandas.assign(sex=pandas["sex"].astype("category"))
    try:
        import duckdb
        import polars
        import pyarrow.csv
    except ImportError:
        return
    yield "pyarrow", pyarrow.csv.read_csv(path)
    yield "polars", polars.read_csv(path)
    yield "polars categories", polars.read_csv(path).with_columns(polars.col("sex").cast(polars.Categorical))
    yield "duckdb", duckdb.sql(f"select * from read_csv('{path}')")
    yield "path", str(path)


def test_every_frame_says_the_same(demo):
    said = {}
    for name, frame in frames(demo / "trial.csv"):
        study = seawall.Study(frame, **QUESTION)
        found = study.evaluate(["uniform", "greedy"]).to_dict()
        said[name] = json.dumps(found["policies"])
    assert len(said) >= 2 and len(set(said.values())) == 1, said.keys()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "float64", "bool"])
def test_every_dtype_of_a_column(dtype):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "x": rng.integers(0, 2, 200).astype(dtype), "a": rng.choice(["l", "r"], 200),
        "y": rng.integers(0, 2, 200).astype(dtype),
    })
    kind = "nominal" if dtype == "bool" else "numeric"
    study = seawall.Study(frame, context={"x": kind}, action="a", cost="y", radius=0.1, model="tree")
    worst = study.evaluate().policies[0].results[0]
    assert worst.status == "optimal"
    plain = seawall.worst_case(frame["y"], None, frame[["x"]], radius=0.1)
    assert plain.status == "optimal"


def test_the_packages_own_tables_are_contexts():
    assert seawall.distance(seawall.demo_data(), seawall.demo_data()).value == 0.0


def test_arrow_tables_are_contexts_too():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"s": [1.0, 2.0, 4.0], "t": ["a", None, "b"]})
    plain = seawall.worst_case([1.0, 2.0, 3.0], None, {"s": [1.0, 2.0, 4.0], "t": ["a", None, "b"]}, radius=0.1)
    assert seawall.worst_case([1.0, 2.0, 3.0], None, table, radius=0.1).value == plain.value
    assert pyarrow.table(seawall.demo_data()).num_rows == len(seawall.demo_data()) == 6000


def test_results_are_frames_and_words(demo):
    study = seawall.Study.from_file(demo / "study.toml")
    found = study.evaluate()
    far = study.distance(demo / "trial.csv")
    pair = found.comparison("treat", "control")
    for result in [found, pair, far, study.check(), study.radius(splits=2), study.learn("tree:1")]:
        assert len(result.to_pandas()) >= 1
        assert str(result) and "<table>" in result._repr_html_() and result.to_dict()
    assert "constant:treat" in repr(found)
    assert pair.sentence in repr(pair) and all(word in repr(pair) for word in pair.verdicts)
    assert found.policies[0].results[0].limits.lower < found.policies[0].results[0].limits.upper
    assert abs(sum(s.worst for s in found.worst_population(1) if s.feature == "age") - 1) < 1e-9
    assert "age" in found.explain("constant:treat", 0.1)


def results(study, older):
    """Every kind of result that is a table or holds one."""
    known = {"age": {"mean": 75}}
    found = study.evaluate(curve=True, by="sex")
    yield from [found, found.by, found.comparison("treat", "control"), found.curve(), found.worst_population(1)]
    yield found.comparison("treat", "control").worst_population()
    yield from [study.check(), study.explain(), study.radius(splits=2), study.distance(older), study.learn("tree:1")]
    moved = study.transfer(target=seawall.Target(known=known))
    yield from [moved, moved.transfers[0], moved.balance, study.backtest(), study.describe()]
    yield study.compare(["uniform", "constant:treat"], sets=["wasserstein", "kl"])
    values, contexts = [0.2, 0.1, 0.4, 0.9], [[31.0], [44.0], [52.0], [70.0]]
    yield seawall.worst_case(values, None, contexts, radius=0.05)
    yield from [seawall.curve(values, None, contexts), seawall.distance(contexts, contexts[:2])]
    half = [0.5] * 4
    yield seawall.evaluate_policy(contexts, [0, 1, 0, 1], values, half, [[0.5, 0.5]] * 4, radius=0.1)


def test_every_result_is_a_frame_of_pandas_and_of_polars(demo, older):
    polars = pytest.importorskip("polars")
    study = seawall.Study.from_file(demo / "study.toml")
    kinds = set()
    for result in results(study, older):
        pandas, other, plain = result.to_pandas(), result.to_polars(), result.to_frame().to_pydict()
        assert type(pandas) is pd.DataFrame and type(other) is polars.DataFrame
        assert list(pandas) == other.columns == list(plain) and len(pandas) == len(other) >= 1, result
        for name, values in plain.items():
            assert other[name].to_list() == values
            assert [None if gone else value for value, gone in zip(pandas[name], pandas[name].isna())] == values
        assert "<table>" in result._repr_html_() and str(result)
        kinds.add(type(result).__name__)
    assert len(kinds) >= 17, kinds


def test_tables_keep_their_types():
    table = type(seawall.demo_data())({
        "n": [1, 2], "m": [1, None], "x": [0.5, None], "b": [True, False], "c": [None, True], "t": ["a", None], "z": [None, None],
    })
    frame = table.to_pandas()
    dtypes = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert {k: dtypes[k] for k in "nmxbc"} == {"n": "int64", "m": "Int64", "x": "float64", "b": "bool", "c": "boolean"}
    assert frame["t"][0] == "a" and frame["t"].isna()[1] and frame["z"].isna().all()
    assert repr(table) == "Table of 2 rows: n, m, x, b, c, t, z" and len(table) == 2


def test_other_tables_of_results_are_frames_too(demo):
    study = seawall.Study.from_file(demo / "study.toml")
    tried = study.backtest()
    assert list(tried.groups_frame().to_pandas()["group"]) == [g.group for g in tried.groups]
    worst = seawall.worst_case([0.2, 0.1, 0.4, 0.9], None, [[31.0], [44.0], [52.0], [70.0]], radius=0.05)
    assert worst.moves().to_pandas()["mass"].tolist() == worst.move_mass.tolist()
    assert len(seawall.demo_data().to_pandas()) == 6000


def test_a_learned_policy_can_be_saved_loaded_and_evaluated(demo, tmp_path):
    study = seawall.Study.from_file(demo / "study.toml")
    learned = study.learn("tree:1", radius=0.03)
    learned.policy.save(tmp_path / "policy.json")
    again = seawall.Policy.load(tmp_path / "policy.json")
    assert again == learned.policy
    for policy in [learned.policy, tmp_path / "policy.json"]:
        value = study.evaluate(policy, radius=0.03).policies[0].results[0].value
        assert abs(value - learned.value) < 1e-9


def test_a_policy_can_be_part_of_a_study(demo):
    frame = pd.read_csv(demo / "trial.csv")
    study = seawall.Study(frame, **QUESTION)
    learned = study.learn("tree:1")
    again = seawall.Study(frame, **QUESTION, policy=[learned.policy, "uniform"])
    assert [p.name for p in again.evaluate().policies] == ["tree:1", "uniform"]
    both = study.evaluate([study.learn("tree:1").policy, study.learn("tree:2").policy])
    assert [p.name for p in both.policies] == ["tree:1", "tree:2"]


def test_columns_that_nobody_asks_for_do_not_matter(demo):
    polars = pytest.importorskip("polars")
    frame = polars.read_csv(demo / "trial.csv").with_columns(nothing=None)
    assert seawall.Study(frame, **QUESTION).check().rows == 6000


def test_outcomes_of_ones_own(demo):
    study = seawall.Study.from_file(demo / "study.toml")
    contexts = study.contexts()
    age = np.asarray(contexts["age"])
    own = study.with_outcomes(np.column_stack([age / 100, np.full(len(age), 0.5)]))
    found = own.evaluate(["constant:treat", "constant:control"], radius=0.0)
    assert found.policies[1].results[0].value == 0.5
    table = pd.DataFrame({"control": np.full(len(age), 0.5), "treat": age / 100})
    assert (study.with_outcomes(table).outcomes() == own.outcomes()).all()
    assert study.outcomes().shape == (len(age), 2) and (own.outcomes()[:, 1] == 0.5).all()
    same = study.with_outcomes(study.outcomes()).evaluate("uniform", radius=0.1)
    assert same.policies[0].results[0].value == study.evaluate("uniform", radius=0.1).policies[0].results[0].value
    assert 0.6 < found.policies[0].results[0].value < 0.8

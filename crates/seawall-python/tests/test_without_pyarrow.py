"""pandas frames without pyarrow: the same answers, byte for byte, as with it.

Run as a program this prints the answers about every frame; the test runs it where pyarrow cannot be
imported. Where pyarrow is not installed at all, answers are held against those of a file."""

import datetime
import decimal
import importlib.util
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import seawall

ROWS = 240


def columns():
    """A column of every dtype that people have, by name; and the kind of context that it is."""
    rng = np.random.default_rng(3)
    whole = rng.integers(0, 5, ROWS)
    gaps = rng.random(ROWS) < 0.1
    tenths = whole / 10
    letters = np.array(list("abcde"))[whole]
    some = [None if gap else str(text) for gap, text in zip(gaps, letters)]
    days = pd.Timestamp("2024-01-30") + pd.to_timedelta(whole, unit="D")
    for dtype in ["int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]:
        yield f"numpy {dtype}", "numeric", whole.astype(dtype)
        yield f"levels {dtype}", "nominal", whole.astype(dtype)
    yield "short tenths", "nominal", tenths.astype("float32")
    yield "tenths", "numeric", np.where(gaps, np.nan, tenths)
    yield "short tenths with gaps", "numeric", np.where(gaps, np.nan, tenths).astype("float32")
    yield "bool", "nominal", whole > 2
    yield "Int64", "numeric", pd.array([None if g else int(x) for g, x in zip(gaps, whole)], dtype="Int64")
    yield "UInt8 levels", "nominal", pd.array([None if g else int(x) for g, x in zip(gaps, whole)], dtype="UInt8")
    yield "Float64", "numeric", pd.array([None if g else x for g, x in zip(gaps, tenths)], dtype="Float64")
    yield "Float32", "nominal", pd.array([None if g else x for g, x in zip(gaps, tenths)], dtype="Float32")
    yield "boolean", "nominal", pd.array([None if g else bool(x > 2) for g, x in zip(gaps, whole)], dtype="boolean")
    yield "string", "nominal", pd.array(some, dtype="string")
    yield "str", "nominal", pd.Series(some)
    yield "object with None", "nominal", pd.Series(some, dtype=object)
    yield "object with NaN", "nominal", pd.Series([np.nan if g else t for g, t in zip(gaps, letters)], dtype=object)
    yield "object of ints", "numeric", pd.Series([None if g else int(x) for g, x in zip(gaps, whole)], dtype=object)
    yield "object of both", "numeric", pd.Series([int(x) if x % 2 else x / 2 for x in whole], dtype=object)
    yield "object of truths", "nominal", pd.Series([None if g else bool(x > 2) for g, x in zip(gaps, whole)], dtype=object)
    yield "object of decimals", "numeric", pd.Series([decimal.Decimal(int(x)) / 4 for x in whole], dtype=object)
    yield "object of dates", "nominal", pd.Series([day.date() for day in days], dtype=object)
    yield "object of moments", "nominal", pd.Series([day.to_pydatetime() for day in days], dtype=object)
    yield "nothing", "nominal", pd.Series([None] * ROWS, dtype=object)
    yield "numbers as texts", "numeric", pd.Series([str(x) for x in whole])
    yield "names beyond floats", "nominal", whole.astype("uint64") + np.uint64(2**63 + 1)
    yield "beyond integers", "nominal", pd.Series([2**53 + int(x) for x in whole])
    yield "categories", "nominal", pd.Categorical(some)
    yield "ordered categories", "ordinal", pd.Categorical(some, categories=list("edcba"), ordered=True)
    yield "categories of numbers", "numeric", pd.Categorical([None if g else x for g, x in zip(gaps, tenths)])
    yield "categories of ints", "nominal", pd.Categorical([None if g else int(x) for g, x in zip(gaps, whole)])
    yield "categories of truths", "nominal", pd.Categorical([bool(x > 2) for x in whole])
    yield "categories of moments", "nominal", pd.Categorical(days)
    yield "no categories", "nominal", pd.Categorical([None] * ROWS)
    yield "datetime", "nominal", pd.Series(days).where(~pd.Series(gaps))
    for unit in ["s", "ms", "us", "ns"]:
        yield f"datetime in {unit}", "nominal", pd.Series(days + pd.Timedelta(milliseconds=250)).astype(f"datetime64[{unit}]")
    yield "datetime of a zone", "nominal", pd.Series(days).dt.tz_localize("UTC")
    yield "datetime of an offset", "nominal", pd.Series(days).dt.tz_localize(datetime.timezone(datetime.timedelta(hours=-3, minutes=-30)))
    yield "sparse", "numeric", pd.arrays.SparseArray(tenths)


def asked(kind):
    context = {"kind": kind, "missing": True} | ({"levels": list("abcde")} if kind == "ordinal" else {})
    return dict(
        context={"x": context}, action="a", cost="y", propensity="cells", radius=[0.05, 0.2],
        model={"kind": "tree", "max_depth": 2, "min_samples_leaf": 10},
    )


def frame_of(values):
    rng = np.random.default_rng(4)
    return pd.DataFrame({"x": values, "a": rng.choice(["l", "r"], ROWS), "y": rng.integers(0, 3, ROWS)})


def told(found):
    return json.dumps({key: value for key, value in found.to_dict().items() if key != "seconds"}, sort_keys=True)


def answers():
    """What is said about each frame, as data and as a target; the words where it is refused."""
    said = {}
    for name, kind, values in columns():
        frame = frame_of(values)
        study = seawall.Study(frame, **asked(kind))
        said[name] = told(study.evaluate(["uniform", "constant:l"], splits=2))
        said[f"{name}, contexts"] = json.dumps({k: list(map(str, v)) for k, v in study.contexts().items()})
        said[f"{name}, target"] = told(study.evaluate(["uniform"], target=frame.iloc[: ROWS // 2], splits=0))
    frame = frame_of(pd.Series([1.0, 2.0, 3.0] * (ROWS // 3)))
    # Nobody asks for it, and nothing can be made of it.
    strange = frame.assign(unasked=pd.Series([object(), 1, "a"] * (ROWS // 3), dtype=object))
    said["unasked"] = told(seawall.Study(strange, **asked("numeric")).evaluate("uniform", splits=0))
    by = frame.set_index("x")
    said["index"] = told(seawall.Study(by, **asked("numeric")).evaluate("uniform", splits=0))
    many = pd.concat([frame, frame[["y"]].rename(columns={"y": 7})], axis=1)
    said["a name that is no text"] = told(seawall.Study(many, **asked("numeric") | {"cost": "7"}).evaluate("uniform", splits=0))
    months = pd.concat([frame] * 4).assign(month=np.repeat(pd.date_range("2024-01-15", periods=4, freq="MS"), ROWS))
    past = seawall.Study(months, **asked("numeric")).backtest(seawall.History("month", each="month", in_time=True), policy="uniform", level=0.6)
    said["past groups"] = told(past)
    for name, values in refused():
        try:
            seawall.Study(frame_of(values), **asked("nominal"))
            said[name] = "taken"
        except seawall.SeawallError as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def refused():
    """Columns that nothing can be made of."""
    yield "several types", pd.Series([1, "a", 2.5] * (ROWS // 3), dtype=object)
    yield "objects", pd.Series([object()] * ROWS, dtype=object)
    yield "complex", np.full(ROWS, 1j)


@pytest.fixture(scope="module")
def without():
    """What is said where pyarrow cannot be imported."""
    code = (
        "import runpy, sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'pyarrow':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        f"runpy.run_path({__file__!r}, run_name='__main__')\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_answers_byte_for_byte(without):
    if importlib.util.find_spec("pyarrow") is None:
        pytest.skip("SKIPPED: pyarrow is not installed; answers are held against a file's")
    here = answers()
    assert {name for name in here if here[name] != without[name]} == set() and list(here) == list(without)
    assert len(here) > 120


@pytest.mark.parametrize("name, words", [
    ("several types", "InputError: the pandas DataFrame: column 'x': it holds float, int, str; expected"),
    ("objects", "InputError: the pandas DataFrame: column 'x': it holds object; expected"),
    ("complex", "InputError: the pandas DataFrame: column 'x': it holds complex128; expected"),
])
def test_what_is_refused_is_told(without, name, words):
    assert without[name].startswith(words)


def test_the_same_as_a_file(without, tmp_path):
    kinds = {name: (kind, values) for name, kind, values in columns()}
    for name in ["numpy int64", "tenths", "short tenths", "Int64", "str", "categories", "numbers as texts"]:
        kind, values = kinds[name]
        frame_of(values).to_csv(tmp_path / "log.csv", index=False)
        found = seawall.Study(tmp_path / "log.csv", **asked(kind)).evaluate(["uniform", "constant:l"], splits=2)
        assert json.loads(without[name])["policies"] == found.to_dict()["policies"], name


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(answers()))

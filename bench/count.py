"""Reading and counting a log against DuckDB's group-by, and trees against scikit-learn."""

import time

import duckdb
import numpy as np

from common import OUT, ours

STUDY = """[data]
path = "log-{rows}.parquet"

[context]
conscious = {{ kind = "ordinal", levels = ["alert", "drowsy", "unconscious"] }}
sex       = {{ kind = "nominal" }}
age       = {{ kind = "numeric", bin = 10 }}
woke      = {{ kind = "nominal" }}
systolic  = {{ kind = "numeric", bin = 20 }}
stroke    = {{ kind = "ordinal", levels = ["LACS", "POCS", "PACS", "TACS"] }}

[action]
column = "arm"

[outcome]
cost = {{ events = 1, dead = {{ Y = 3 }} }}

[model]
kind = "tree"
max_depth = {depth}
min_samples_leaf = {leaf}
"""


def log(rows, depth=4, leaf=5):
    """A log of so many rows as Parquet, made by DuckDB, and a study file for it."""
    path = OUT / f"log-{rows}.parquet"
    if not path.exists():
        duckdb.sql(f"""COPY (
            SELECT ['alert', 'drowsy', 'unconscious'][1 + (hash(i * 16 + 1) % 100 > 75)::INT
                       + (hash(i * 16 + 1) % 100 > 98)::INT] AS conscious,
                   ['F', 'M'][1 + (hash(i * 16 + 2) % 2)::INT] AS sex,
                   (40 + hash(i * 16 + 3) % 30 + hash(i * 16 + 4) % 30)::INT AS age,
                   ['N', 'Y'][1 + (hash(i * 16 + 5) % 4 = 0)::INT] AS woke,
                   (90 + hash(i * 16 + 6) % 70 + hash(i * 16 + 7) % 90)::INT AS systolic,
                   ['LACS', 'POCS', 'PACS', 'TACS'][1 + (hash(i * 16 + 8) % 4)::INT] AS stroke,
                   ['treat', 'control'][1 + (hash(i * 16 + 9) % 2)::INT] AS arm,
                   (hash(i * 16 + 10) % 20 < 2 + (hash(i * 16 + 1) % 100 > 75)::INT * 3)::INT AS events,
                   ['N', 'Y'][1 + (hash(i * 16 + 11) % 100 < hash(i * 16 + 3) % 30)::INT] AS dead
            FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)""")
    study = OUT / f"log-{rows}.toml"
    study.write_text(STUDY.format(rows=rows, depth=depth, leaf=leaf))
    return path, study


def counting(row):
    rows = 10_000_000
    path, study = log(rows)
    mine = ours("count", study)
    query = f"""SELECT count(*) FROM (SELECT conscious, sex, age // 10, woke, systolic // 20,
                stroke, arm, events, dead, count(*) FROM '{path}' GROUP BY ALL)"""
    times = []
    with duckdb.connect(config={"threads": 1}) as peer:
        for _ in range(3):
            start = time.perf_counter()
            (groups,) = peer.execute(query).fetchone()
            times.append(time.perf_counter() - start)
    theirs = sorted(times)[1]
    speed = rows / mine["seconds"]
    row("counting 10 million rows of Parquet, one core", mine["seconds"],
        "DuckDB group-by, one thread", theirs, "at least 1/3", theirs / mine["seconds"] >= 1 / 3,
        f"{mine['combinations']} = {groups} groups")
    row("rows a second, one core", None, "", None, "at least 2 million", speed >= 2e6,
        f"{speed / 1e6:.1f} million")
    assert mine["combinations"] == groups
    small, large = ours("count", log(1_000_000)[1]), ours("count", log(50_000_000)[1])
    growth = (large["peak_bytes"] - small["peak_bytes"]) / 2**20
    row("peak memory of the whole program, 50 million rows", None, "ours, 1 million rows", None,
        "at most 8 MiB more", growth <= 8, f"{large['peak_bytes'] / 2**20:.0f} MiB for "
        f"{large['combinations']} groups against {small['peak_bytes'] / 2**20:.0f} MiB for "
        f"{small['combinations']}")


TABLE = """[data]
path = "{name}.csv"

[context]
{contexts}

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "cells"
"""


def table(name, contexts, lines):
    """A CSV file of these lines, if it is not there yet, and a study file for it."""
    path, study = OUT / f"{name}.csv", OUT / f"{name}.toml"
    if not path.exists():
        with open(path, "w") as file:
            file.writelines(line + "\n" for line in lines)
    study.write_text(TABLE.format(name=name, contexts="\n".join(contexts)))
    return study


def continuous(rows):
    """The lines of a table of 30 continuous columns, two arms and an outcome."""
    random = np.random.default_rng(0)
    yield ",".join(f"x{k}" for k in range(30)) + ",arm,y"
    for _ in range(rows // 1000):
        numbers, arms = random.normal(size=(1000, 30)), random.integers(0, 2, size=(1000, 2))
        for x, (arm, y) in zip(numbers, arms):
            yield ",".join(f"{v:.8f}" for v in x) + f",{'ab'[arm]},{y}"


def wide(columns):
    """The lines of a table of so many columns that nobody asks for."""
    yield ",".join(["x0", "arm", *(f"c{k}" for k in range(columns)), "y"])
    for k in range(4):
        yield ",".join([str(k % 2), "ab"[k // 2], *["7"] * columns, str(k)])


def shapes(row):
    """Many rows, many columns: rows a second and the whole program's memory."""
    rows, mib = 1_000_000, 2**20
    numbers = [f'x{k} = "numeric"' for k in range(30)]
    bins = [f'x{k} = {{ kind = "numeric", bin = 1 }}' for k in range(6)]
    for what, name, contexts, lines, count, wanted in [
        ("30 continuous columns, CSV, one core", "continuous", numbers, continuous, rows, 1000),
        ("6 of them in bins, CSV, one core", "continuous", bins, continuous, rows, 100),
        ("100,000 columns that nobody asks for, CSV", "wide", ['x0 = "nominal"'], wide, 100_000, 100),
    ]:
        mine = ours("count", table(name, contexts, lines(count)))
        peak = mine["peak_bytes"] / mib
        speed = "" if name == "wide" else f", {rows / mine['seconds'] / 1e6:.2f} million rows a second"
        row(what, mine["seconds"], "", None, f"at most {wanted} MiB", peak <= wanted,
            f"{peak:.0f} MiB{speed}")


def trees(row):
    from sklearn.tree import DecisionTreeRegressor

    rows, depth, leaf = 1_000_000, 4, 5
    path, study = log(rows, depth, leaf)
    frame = duckdb.sql(f"SELECT * FROM '{path}'").df()
    level = {"alert": 0, "drowsy": 1, "unconscious": 2, "LACS": 0, "POCS": 1, "PACS": 2, "TACS": 3,
             "F": 0, "M": 1, "N": 0, "Y": 1}
    columns = [frame[c].map(level) for c in ("conscious", "sex")]
    columns += [frame["age"] // 10 * 10 + 5, frame["woke"].map(level)]
    columns += [frame["systolic"] // 20 * 20 + 10, frame["stroke"].map(level)]
    x = np.column_stack(columns).astype(float)
    y = (frame["events"] + 3 * (frame["dead"] == "Y")).to_numpy(float)
    mine = ours("trees", study)
    theirs, worst = 0.0, 0.0
    cells = np.array(mine["contexts"], dtype=float)
    for action, predicted in zip(mine["actions"], mine["predictions"]):
        own = (frame["arm"] == action).to_numpy()
        tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=0)
        start = time.perf_counter()
        tree.fit(x[own], y[own])
        theirs += time.perf_counter() - start
        worst = max(worst, np.abs(tree.predict(cells) - np.array(predicted)).max())
    row("regression trees on 1 million rows", mine["seconds"], "scikit-learn", theirs,
        "same predictions", worst < 1e-9, f"predictions differ by at most {worst:.1e}")


def bench(row):
    counting(row)
    shapes(row)
    trees(row)

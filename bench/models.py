"""A forest and boosted trees against scikit-learn's, on the same million rows.

Our time is that of reading and counting a Parquet file and of one fit, on two threads; the peers are
handed arrays in memory, and the faster of one and two threads is taken. Errors are on 200,000 fresh rows of the same truth.
"""

import time

import duckdb
import numpy as np
from threadpoolctl import threadpool_limits

from common import OUT, ours

STUDY = """[data]
path = "models-{rows}.parquet"

[context]
stage    = {{ kind = "ordinal", levels = ["0", "1", "2"] }}
sex      = {{ kind = "nominal" }}
age      = {{ kind = "numeric", bin = 5 }}
woke     = {{ kind = "nominal" }}
systolic = {{ kind = "numeric", bin = 10 }}
site     = {{ kind = "ordinal", levels = ["0", "1", "2", "3"] }}

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "cells"
"""


def log(rows, seed):
    """Rows of six columns, two arms, a smooth truth with interactions and noise as large as it."""
    path = OUT / f"models-{rows}.parquet"
    if not path.exists():
        unit = lambda k: f"(hash(i * 32 + {k} + {seed} * 7919) % 1000003 / 1000003.0)"
        normal = f"(sqrt(-2 * ln(1 - {unit(10)})) * cos(2 * pi() * {unit(11)}))"
        duckdb.sql(f"""COPY (
            SELECT *, round(2 * (sin(age / 12.0) + 0.3 * stage * (sex = 'M')::INT + 0.01 * (systolic - 150)
                   + 0.4 * (arm = 'treat')::INT * cos(site) + 0.3 * (woke = 'Y')::INT + noise)) / 2 AS y
            FROM (SELECT floor(3 * {unit(1)})::INT AS stage,
                   ['F', 'M'][1 + ({unit(2)} < 0.5)::INT] AS sex,
                   (40 + floor(25 * {unit(3)} + 25 * {unit(4)}))::INT AS age,
                   ['N', 'Y'][1 + ({unit(5)} < 0.3)::INT] AS woke,
                   (100 + floor(50 * {unit(6)} + 50 * {unit(7)}))::INT AS systolic,
                   floor(4 * {unit(8)})::INT AS site,
                   ['control', 'treat'][1 + ({unit(9)} < 0.5)::INT] AS arm,
                   {normal} AS noise
            FROM range({rows}) AS t(i))) TO '{path}' (FORMAT parquet)""")
    study = OUT / f"models-{rows}.toml"
    study.write_text(STUDY.format(rows=rows))
    return path, study


def arrays(path):
    """The columns as the study bins them, the arm and the outcome."""
    frame = duckdb.sql(f"SELECT * FROM '{path}'").df()
    columns = [frame["stage"], frame["sex"] == "M", frame["age"] // 5 * 5 + 2.5, frame["woke"] == "Y",
               frame["systolic"] // 10 * 10 + 5, frame["site"]]
    x = np.column_stack([np.asarray(c, dtype=float) for c in columns])
    return x, frame["arm"].to_numpy(str), frame["y"].to_numpy(float)


def our_error(mine, x, arm, y):
    places = {tuple(c): k for k, c in enumerate(mine["contexts"])}
    at = np.array([places[tuple(row)] for row in x])
    own = [np.array(p)[at] for p in mine["predictions"]]
    predicted = np.choose([mine["actions"].index(a) for a in arm], own)
    return float(((y - predicted) ** 2).mean())


def their_best(make, train, test):
    """The same on one thread and on two, whichever is faster."""
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append((*their_fit(lambda: make(threads), train, test), threads))
    return min(found)


def their_fit(make, train, test):
    """Seconds of the fits of both arms, and the error on fresh rows."""
    (x, arm, y), (x2, arm2, y2) = train, test
    seconds, squares = 0.0, 0.0
    for action in ("control", "treat"):
        own, other = arm == action, arm2 == action
        model = make()
        start = time.perf_counter()
        model.fit(x[own], y[own])
        seconds += time.perf_counter() - start
        squares += ((y2[other] - model.predict(x2[other])) ** 2).sum()
    return seconds, squares / len(y2)


def bench(row):
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

    rows = 1_000_000
    path, study = log(rows, 1)
    train, test = arrays(path), arrays(log(200_000, 2)[0])
    peers = {
        "forest": ("scikit-learn's forest", lambda threads: RandomForestRegressor(
            100, max_features=2, min_samples_leaf=5, n_jobs=threads, random_state=0)),
        "boosted": ("scikit-learn's HistGradientBoosting", lambda threads: HistGradientBoostingRegressor(
            max_iter=100, early_stopping=False)),
    }
    for kind, (name, make) in peers.items():
        mine = ours("models", study, kind)
        error = our_error(mine, *test)
        theirs, peer_error, threads = their_best(make, train, test)
        row(f"{kind}, 1 million rows from Parquet, count included", mine["seconds"],
            f"{name}, {threads} threads", theirs,
            "10 times, error within 1%", theirs / mine["seconds"] >= 10 and error < 1.01 * peer_error,
            f"count {mine['counting']:.2f} s, fit {mine['fitting']:.2f} s, {mine['entries']} entries; "
            f"squared error {error:.4f} and {peer_error:.4f}")

"""The Python package against what its users have: HiGHS, cvxpy with Clarabel, PyTorch, POT,
scikit-learn, and the Open Bandit Pipeline's definitions. Every call is from Python to its answer."""

import pathlib
import subprocess
import sys
import time

import cvxpy as cp
import numpy as np
import ot
import polars
import seawall
import torch
from count import log
from distance import LEVELS, drawn
from sklearn.tree import DecisionTreeRegressor
from worst import ETA, RADIUS, SHAPE, SQUARED, costs, highs, pytorch, trial

KINDS = ["numeric" if squared else "nominal" for squared in SQUARED]
# The whole of an axis costs 1, whatever part of it a sample spans.
SCALES = [1 / (n - 1) ** 2 if squared else 1.0 for n, squared in zip(SHAPE, SQUARED)]


def timed(call, times=3):
    """The median time of a call, and what it returns."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        found = call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2], found


def exact(row):
    cells, values, weights = trial()
    seen = np.flatnonzero(weights)
    asked = dict(kinds=KINDS, scales=SCALES, radius=RADIUS, threads=1)
    mine, full = timed(lambda: seawall.worst_case(values, weights, cells, **asked))
    _, observed = timed(lambda: seawall.worst_case(values[seen], weights[seen], cells[seen], **asked))
    theirs, value = highs(costs(cells[seen], cells[seen]), values[seen], weights[seen], RADIUS)
    row("Python: exact worst case, full grid", mine, f"highspy, {len(seen)} observed cells only", theirs,
        "", abs(value - observed.value) < 1e-6, f"on the observed cells the values differ by {abs(value - observed.value):.1e}")
    few = seen[:250]
    cost, p = costs(cells[few], cells[few]), weights[few] / weights[few].sum()
    mine, own = timed(lambda: seawall.worst_case(values[few], p, cells[few], **asked))
    price, heights = cp.Variable(nonneg=True), cp.Variable(len(few))
    program = cp.Problem(cp.Minimize(RADIUS * price + p @ heights),
                         [heights[:, None] >= values[few][None, :] - price * cost])
    theirs, _ = timed(lambda: program.solve(solver=cp.CLARABEL), times=1)
    row(f"Python: exact worst case, {len(few)} cells", mine, "cvxpy with Clarabel, the dual", theirs, "",
        abs(program.value - own.value) < 1e-6, f"values differ by {abs(program.value - own.value):.1e}")


def entropic(row):
    torch.set_num_threads(1)
    cells, values, weights = trial()
    seen = np.flatnonzero(weights)
    mine, found = timed(lambda: seawall.worst_case(
        values, weights, cells, kinds=KINDS, scales=SCALES, radius=RADIUS, set="entropic", eta=ETA, threads=1))
    theirs, value = pytorch(costs(cells[seen], cells), values, weights[seen], RADIUS, ETA)
    row("Python: entropic worst case with its population, full grid", mine, "PyTorch L-BFGS, the value alone", theirs, "",
        abs(value - found.value) < 1e-6, f"values differ by {abs(value - found.value):.1e}")


def distances(row):
    rng = np.random.default_rng(2)
    a, b = drawn(rng, 2500), drawn(rng, 2500)
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    mine, found = timed(lambda: seawall.distance(
        LEVELS[i], LEVELS[j], kinds=KINDS, scales=SCALES, weights=a[i], other_weights=b[j], threads=1))
    theirs, value = timed(lambda: ot.emd2(a[i], b[j], costs(LEVELS[i], LEVELS[j]), numItermax=10**9))
    row(f"Python: distance, {len(i)} to {len(j)} cells", mine, "POT emd2 with its cost matrix", theirs, "",
        abs(value - found.value) < 1e-9, f"values differ by {abs(value - found.value):.1e}")


def trees(row):
    rows, depth, leaf = 1_000_000, 4, 5
    path, _ = log(rows, depth, leaf)
    level = {"alert": 0, "drowsy": 1, "unconscious": 2, "LACS": 0, "POCS": 1, "PACS": 2, "TACS": 3, "F": 0, "M": 1}
    frame = polars.read_parquet(path)
    frame = frame.with_columns(
        *(polars.col(c).replace_strict(level, return_dtype=polars.Float64, default=None).alias(c)
          for c in ("conscious", "sex", "stroke")),
        (polars.col("age") // 10 * 10 + 5).cast(polars.Float64), (polars.col("systolic") // 20 * 20 + 10).cast(polars.Float64),
        (polars.col("woke") == "Y").cast(polars.Float64).alias("woke"),
        (polars.col("events") + 3 * (polars.col("dead") == "Y")).cast(polars.Float64).alias("cost"))
    names = ["conscious", "sex", "age", "woke", "systolic", "stroke"]
    model = {"kind": "tree", "max_depth": depth, "min_samples_leaf": leaf}

    def fit():
        study = seawall.Study(frame, context={n: "numeric" for n in names}, action="arm", cost="cost", model=model, threads=1)
        return study, study.outcomes()

    mine, (study, found) = timed(fit)
    contexts = study.contexts()
    cells = np.column_stack([contexts[n] for n in names])
    x, y, arms = frame.select(names).to_numpy(), frame["cost"].to_numpy(), frame["arm"].to_numpy()

    def peer():
        fitted = [DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=0)
                  .fit(x[arms == a], y[arms == a]) for a in study.actions]
        return np.column_stack([t.predict(cells) for t in fitted])

    theirs, predicted = timed(peer)
    apart = np.abs(predicted - found).max()
    row("Python: trees on 1 million rows, from frame to predictions", mine, "scikit-learn", theirs,
        "at most 2 times theirs, same predictions", mine <= 2 * theirs and apart < 1e-9, f"predictions differ by {apart:.1e}")


def nominal(row):
    """The Open Bandit Pipeline's estimators, from its documentation: IPS is the mean of w r, SNIPS divides
    by the sum of w, DM is the mean over rows of the policy's predicted reward, DR adds the mean of
    w (r − q)."""
    rng = np.random.default_rng(0)
    rows, actions = 100_000, 10
    x = rng.integers(0, 10, (rows, 4)).astype(float)
    p = rng.dirichlet(np.ones(actions) * 3, rows)
    a = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    r = (rng.random(rows) < 0.1 + 0.05 * (a == 3)).astype(float)
    dist, q = rng.dirichlet(np.ones(actions), rows), rng.random((rows, actions))
    i = np.arange(rows)

    def definitions():
        w, dm = dist[i, a] / p[i, a], (dist * q).sum(axis=1)
        return (w * r).mean(), (w * r).sum() / w.sum(), dm.mean(), (dm + w * (r - q[i, a])).mean()

    theirs, wanted = timed(definitions)
    mine, found = timed(lambda: seawall.evaluate_policy(
        x, a, r, p[i, a], dist, estimated_rewards_by_reg_model=q, threads=1), times=1)
    got = found.ips.value, found.snips.value, found.dm.value, found.dr.value
    apart = max(abs(g - w) / abs(w) for g, w in zip(got, wanted))
    row("Python: four estimates with standard errors, 100,000 rows", mine,
        "Open Bandit Pipeline's definitions in NumPy, no standard errors", theirs, "same values", apart < 1e-9,
        f"relative difference {apart:.1e}")


def starts(row):
    """What it takes to begin: the import, and a trial from its file to the answer."""
    of = lambda module: timed(lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True), times=5)[0]
    mine, theirs = of("seawall"), of("polars")
    row("Python: a process that imports it", mine, "a process that imports polars", theirs, "no longer", mine < 1.2 * theirs)
    root = pathlib.Path(__file__).resolve().parents[1]
    rows = root.parent / "shared/data/ist/IST_corrected.csv.gz"
    if not rows.exists():
        return
    study = seawall.Study.from_file(root / "studies/ist.toml")
    read, _ = timed(lambda: polars.read_csv(rows, infer_schema_length=None, ignore_errors=True, encoding="utf8-lossy"))
    for what, call in [
        ("evaluated, with limits", lambda: study.evaluate()),
        ("two groups learned", lambda: study.learn("groups:RCONSC=D+U|F")),
        ("past countries predicted", lambda: study.backtest(seawall.History("COUNTRY", least=60))),
    ]:
        mine, _ = timed(call, times=1)
        row(f"Python: the stroke trial, {what}", mine, "polars reads its file", read, "", True)


def bench(row):
    for part in (exact, entropic, distances, trees, nominal, starts):
        part(row)

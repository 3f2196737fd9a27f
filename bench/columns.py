"""Wide tables: the whole program on the whole space, and what HiGHS makes of the observed points."""

import json
import os
import subprocess
import time

import numpy as np

from common import HERE, OUT
from worst import highs

SEAWALL = HERE.parent / "target" / "release" / "seawall"
RADII = [0.01, 0.03, 0.1]
STUDY = """[data]
path = "{data}"
[context]
{columns}
[action]
column = "arm"
[propensity]
design = {{ a = 0.5, b = 0.5 }}
[outcome]
cost = "y"
[model]
kind = "{model}"
{settings}
{policies}
[robust]
context = {{ set = "wasserstein", radius = {radii} }}
support = "{support}"
"""
TREE = "max_depth = 4\nmin_samples_leaf = 50"
UNIFORM = '[[policy]]\nkind = "uniform"\n'
CONSTANT = '[[policy]]\nkind = "constant"\naction = "a"\n'


def table(rows, columns, seed=1):
    """A table of continuous columns with an outcome that a few of them tell."""
    path = OUT / f"wide-{rows}x{columns}.csv"
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, columns))
    arm = random.integers(0, 2, rows)
    step = (x[:, 0] > 0.3) + 2 * (x[:, 1] > 1) * (x[:, 2] < 0) + 0.5 * arm * (x[:, 3] > 0)
    y = (random.random(rows) < 0.1 + 0.2 * step).astype(int)
    if not path.exists():
        OUT.mkdir(exist_ok=True)
        head = ",".join([f"x{k}" for k in range(columns)] + ["arm", "y"])
        with open(path, "w") as out:
            out.write(head + "\n")
            for at in range(0, rows, 100_000):
                part = x[at:at + 100_000]
                lines = [",".join([f"{v:.6g}" for v in r] + ["ab"[arm[at + i]], str(y[at + i])])
                         for i, r in enumerate(part)]
                out.write("\n".join(lines) + "\n")
    return path


def study(rows, columns, support="space", model="tree", settings=TREE, policies=UNIFORM):
    """A study file of such a table."""
    path = OUT / f"wide-{rows}x{columns}-{support}-{model}-{policies.count('[[')}.toml"
    names = "\n".join(f'x{k} = {{ kind = "numeric" }}' for k in range(columns))
    path.write_text(STUDY.format(data=table(rows, columns).name, columns=names, support=support,
                                 model=model, settings=settings, policies=policies, radii=RADII))
    return path


def run(*words):
    """Seconds, peak memory in MiB and the answer of one run of the program."""
    before = time.perf_counter()
    child = subprocess.Popen([SEAWALL, *map(str, words)], stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, words
    answer = json.loads(text) if "--json" in words else text
    return time.perf_counter() - before, usage.ru_maxrss / 1024, answer


def evaluated(*words):
    # The curve is written whole; halves of the rows are another question.
    return run("evaluate", *words, "--splits", 0, "--curve", OUT / "curve.csv", "--json")


def observed(count, wide):
    """The worst mean of a column over the observed points alone, by ours and by HiGHS."""
    random = np.random.default_rng(7)
    x = random.standard_normal((count, wide))
    value = 0.2 + (x[:, 0] > 0.3) + 2.0 * (x[:, 1] > 1) * (x[:, 2] < 0)
    path = OUT / f"points-{count}.csv"
    head = ",".join([f"x{k}" for k in range(wide)] + ["value"])
    np.savetxt(path, np.c_[x, value], delimiter=",", header=head, comments="", fmt="%.17g")
    contexts = [word for k in range(wide) for word in ("--context", f"x{k}:numeric")]
    words = ["bound", path, "--value", "value", *contexts, "--radius", RADII[1], "--json"]
    mine, _, answer = run(*words)
    scaled = x / (x.max(axis=0) - x.min(axis=0))
    squares = (scaled**2).sum(axis=1)
    cost = np.maximum(squares[:, None] + squares[None, :] - 2 * scaled @ scaled.T, 0)
    np.fill_diagonal(cost, 0)
    theirs, found = highs(cost, value, np.full(count, 1 / count), RADII[1])
    return mine, answer["results"][0]["value"], theirs, found


def bench(row):
    rows, wide = 100_000, 30
    seconds, memory, answer = evaluated(study(rows, wide))
    engines = {r["engine"] for r in answer["policies"][0]["results"]}
    row("100,000 rows × 30 columns, a tree, 3 radii and the curve", seconds, "", None, "under 2 s",
        seconds < 2, f"{memory:.0f} MiB, {engines}")
    seconds, memory, _ = evaluated(study(1_000_000, wide))
    row("1,000,000 rows × 30 columns, end to end", seconds, "", None, "under 20 s, 1.5 GB",
        seconds < 20 and memory < 1.5e9 / 2**20, f"{memory:.0f} MiB")
    seconds, memory, _ = run("check", study(1_000_000, wide), "--json")
    row("1,000,000 rows × 30 columns, check", seconds, "", None, "under 20 s, 1 GB",
        seconds < 20 and memory < 1e9 / 2**20, f"{memory:.0f} MiB")
    seconds, memory, _ = evaluated(study(rows, 49, policies=UNIFORM + CONSTANT))
    row("100,000 rows × 49 columns, two policies", seconds, "", None, "under 2 s", seconds < 2,
        f"{memory:.0f} MiB")
    seconds, memory, answer = evaluated(study(rows, wide, model="additive", settings=""))
    engines = {r["engine"] for r in answer["policies"][0]["results"]}
    row("100,000 rows × 30 columns, an additive model", seconds, "", None, "", True,
        f"{memory:.0f} MiB, {engines}")
    # The observed points alone, as a linear program: up to the largest size within ten minutes.
    for count in (500, 1000, 2000, 4000):
        mine, worst, theirs, value = observed(count, wide)
        row(f"observed points alone, {count} × 30 columns", mine, "HiGHS, interior point", theirs, "",
            abs(value - worst) < 1e-6, f"{worst:.6f} = {value:.6f}")
        if theirs > 120:
            break
    for count in (10_000, 20_000, 40_000, 80_000):
        row(f"{count} rows × 30 columns", evaluated(study(count, wide))[0], "", None, "", True)
    for width in (10, 20, 40, 80):
        row(f"20,000 rows × {width} columns", evaluated(study(20_000, width))[0], "", None, "", True)
    for depth in (2, 3, 4, 5):
        settings = f"max_depth = {depth}\nmin_samples_leaf = 50"
        row(f"20,000 rows × 30 columns, depth {depth}",
            evaluated(study(20_000, wide, settings=settings))[0], "", None, "", True)

"""Sizes that used to take minutes: the program itself, from files it is given to its answer."""

import json
import random
import subprocess
import time

from common import HERE, OUT

PROGRAM = HERE.parent / "target" / "release" / "seawall"
STUDY = """[data]
path = "{data}"
[context]
{context}
[action]
column = "action"
[outcome]
cost = "y"
[model]
{model}
[[policy]]
kind = "constant"
action = "a"
[robust]
support = "{support}"
context = {{ set = "wasserstein", radius = [0.01] }}
"""


def study(name, head, rows, context, model='kind = "cells"\nunseen = "mean"', support="grid"):
    """A log and its study file."""
    data = OUT / f"{name}.csv"
    with data.open("w") as out:
        out.write(",".join((*head, "action", "y")) + "\n")
        out.writelines(",".join(map(str, row)) + "\n" for row in rows)
    path = OUT / f"{name}.toml"
    path.write_text(STUDY.format(data=data.name, context=context, model=model, support=support))
    return path


def run(*words):
    """Seconds, and the answer."""
    start = time.perf_counter()
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True,
                          check=True)
    return time.perf_counter() - start, json.loads(done.stdout)


def numeric(rng, rows):
    """One number whose effect changes sign, twenty times over its range."""
    for _ in range(rows):
        x, action = rng.random(), rng.choice("ab")
        sign = 1 if int(20 * x) % 2 == (action == "a") else -1
        yield f"{x:.6f}", action, int(rng.random() < 0.5 + 0.3 * sign)


def nominal(rng, rows, levels):
    """One name of many, each with chances of its own."""
    chances = [(rng.random(), rng.random()) for _ in range(levels)]
    for i in range(rows):
        x, action = (i if i < levels else rng.randrange(levels)), rng.randrange(2)
        yield f"L{x}", "ab"[action], int(rng.random() < chances[x][action])


def wide(rng, rows, columns):
    """Many continuous columns, two of which matter."""
    for _ in range(rows):
        x, action = [rng.gauss(0, 1) for _ in range(columns)], rng.choice("ab")
        y = x[0] * (1 if action == "a" else -1) + x[1] * x[2] + rng.gauss(0, 1)
        yield *(f"{v:.4f}" for v in x), action, f"{y:.4f}"


def table(name, rng, rows, columns, moved):
    path = OUT / f"{name}.csv"
    with path.open("w") as out:
        out.write(",".join(f"x{k}" for k in range(columns)) + "\n")
        for _ in range(rows):
            out.write(",".join(f"{rng.gauss(moved, 1):.4f}" for _ in range(columns)) + "\n")
    return path


def bench(row):
    rng = random.Random(1)
    bins = study("bins", ["x"], numeric(rng, 20_000), 'x = { kind = "numeric", bin = 0.001 }')
    names = study("names", ["x"], nominal(rng, 100_000, 20_000), 'x = { kind = "nominal" }')
    for what, path, words in (
        ("1,000 bins", bins, ()),
        ("1,000 bins, smoothed", bins, ("--set", "entropic", "--eta", 50)),
        ("20,000 levels", names, ()),
        ("20,000 levels, smoothed", names, ("--set", "entropic", "--eta", 50)),
    ):
        seconds, found = run("learn", path, "--policy", "tree:1", "--no-honest", *words)
        row(f"learn tree:1, one column of {what}", seconds, "", None, "under 2 s", seconds < 2,
            f"gap {found['gap']:.1e}")
    for columns in (2, 6):
        by = [word for k in range(columns) for word in ("--context", f"x{k}")]
        a, b = (table(f"side{k}", rng, 400, columns, 0.5 * k) for k in range(2))
        for eta in (10, 100, 1000):
            seconds, found = run("distance", a, b, *by, "--eta", eta)
            row(f"distance --eta {eta}, 400 rows by 400 in {columns} columns", seconds, "", None,
                "under 1 s, settled", seconds < 1 and found["entropic"]["settled"])
    sites = study(
        "sites", ["site", "x"],
        ((s, rng.choice(("low", "mid", "high")), a, y)
         for s, a, y in nominal(rng, 300_000, 200_000)),
        'site = { kind = "nominal" }\nx = { kind = "ordinal", levels = ["low", "mid", "high"] }',
        'kind = "tree"')
    seconds, found = run("evaluate", sites, "--splits", 0)
    row("evaluate, 300,000 rows, 200,000 levels beside 3", seconds, "", None, "under 10 s",
        seconds < 10)
    head = [f"x{k}" for k in range(30)]
    scattered = study("scattered", head, wide(rng, 20_000, 30),
                      "\n".join(f'{x} = {{ kind = "numeric" }}' for x in head),
                      'kind = "tree"\nmax_depth = [4]\nmin_samples_leaf = [50]', "observed")
    seconds, found = run("evaluate", scattered, "--splits", 0)
    row("evaluate, 20,000 points in 30 continuous columns, all pairs", seconds, "", None,
        "under 30 s", seconds < 30)

"""What a second thread brings, and what sample splits cost: the program against itself in the same run.

`threads`: one thread against two, from files to answers; both must write the same bytes.
`splits`: the default against none, and whole commands on small studies.
"""

import random
import resource
import subprocess
import time

from common import OUT
from size import PROGRAM, study, wide


def run(threads, *words):
    """Wall seconds, processor seconds and what was printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([PROGRAM, *map(str, words), "--threads", str(threads)], capture_output=True, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def best(threads, *words, times=3):
    """The fastest of some runs: the machine's other work only adds."""
    return min((run(threads, *words) for _ in range(times)), key=lambda found: found[0])


def long_log(rng, rows, columns=6):
    """A study of many rows and few different contexts, as a recommender's log has."""
    names = [f"x{k}" for k in range(columns)]
    draws = ((*(rng.randrange(6) for _ in names), rng.choice("ab"), rng.randrange(2)) for _ in range(rows))
    return study("long", names, draws, "\n".join(f'{x} = {{ kind = "nominal" }}' for x in names))


def wide_study(rng, rows, columns, support="observed"):
    names = [f"x{k}" for k in range(columns)]
    context = "\n".join(f'{x} = {{ kind = "numeric" }}' for x in names)
    model = 'kind = "tree"\nmax_depth = [4]\nmin_samples_leaf = [50]'
    return study(f"wide{rows}", names, wide(rng, rows, columns), context, model, support)


def gridded(rng, rows, levels):
    """A small study on the grid of some columns, each of so many levels."""
    names = [f"x{k}" for k in range(len(levels))]
    draws = ((*(rng.randrange(n) for n in levels), rng.choice("ab"), rng.randrange(2)) for _ in range(rows))
    context = "\n".join(f'{x} = {{ kind = "ordinal", levels = {[str(v) for v in range(n)]} }}' for x, n in zip(names, levels))
    return study(f"grid{rows}", names, draws, context.replace("'", '"'), 'kind = "tree"')


def bench(row):
    rng = random.Random(1)
    log, columns = long_log(rng, 3_000_000), wide_study(rng, 2_000, 12, "space")
    counted = OUT / "counted.csv"
    for what, words, file in (
        ("counting 3,000,000 CSV rows", ("count", log, "--out", counted), counted),
        ("learn tree:2, 2,000 rows in 12 continuous columns", ("learn", columns, "--policy", "tree:2", "--no-honest", "--json"), None),
        ("evaluate, 20 sample splits, 2,000 rows in 12 continuous columns", ("evaluate", columns, "--splits", 20, "--json"), None),
    ):
        (one, _, first), bytes_one = best(1, *words), file and file.read_bytes()
        (two, _, second), bytes_two = best(2, *words), file and file.read_bytes()
        same = first.split(b'"seconds"')[0] == second.split(b'"seconds"')[0] and bytes_one == bytes_two
        row(f"{what}, two threads", two, "one thread", one, "at least 1.8, same bytes", one / two >= 1.8 and same,
            "same bytes" if same else "OTHER BYTES")
    for rows in (50_000, 100_000):
        path = wide_study(rng, rows, 30, "space")
        _, without, _ = best(1, "evaluate", path, "--splits", 0, times=1)
        _, default, _ = best(1, "evaluate", path, times=1)
        row(f"evaluate, {rows:,} rows in 30 columns, default sample splits (CPU)", default, "no splits", without,
            "default at most 3 times", default <= 3 * without)
    for what, path, goal in (
        ("445 rows, 8 columns, a grid of 209,664 cells", gridded(rng, 445, (2, 2, 2, 2, 13, 14, 12, 6)), 3),
        ("1,566 rows, 9 columns, a grid of 311,040 cells", gridded(rng, 1566, (2, 2, 3, 3, 5, 6, 8, 6, 6)), 6),
    ):
        _, seconds, _ = best(2, "evaluate", path, times=1)
        row(f"evaluate, {what} (CPU)", seconds, "", None, f"under {goal} s", seconds < goal)

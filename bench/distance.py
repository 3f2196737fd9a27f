"""Transport distances against POT's emd2, cost matrix included."""

import time

import numpy as np
import ot

from common import OUT, ours
from worst import SHAPE, costs

LEVELS = np.indices(SHAPE).reshape(len(SHAPE), -1).T.astype(float)


def drawn(rng, rows):
    """A sample on the stroke trial's grid."""
    centre, spread = (0.3, 0.5, 5, 0.3, 11, 1.8), (0.6, 0.5, 1.3, 0.5, 3.0, 0.9)
    cells = tuple(
        np.clip(np.round(rng.normal(c, s, rows)), 0, k - 1).astype(int)
        for c, s, k in zip(centre, spread, SHAPE)
    )
    weights = np.zeros(len(LEVELS))
    np.add.at(weights, np.ravel_multi_index(cells, SHAPE), 1.0)
    return weights / weights.sum()


def both(a, b):
    a.astype("<f8").tofile(OUT / "from.f64")
    b.astype("<f8").tofile(OUT / "to.f64")
    mine = ours("distance", OUT)
    i, j = np.flatnonzero(a), np.flatnonzero(b)
    start = time.perf_counter()
    value = ot.emd2(a[i], b[j], costs(LEVELS[i], LEVELS[j]), numItermax=10**9)
    return mine, time.perf_counter() - start, value


def bench(row):
    rng = np.random.default_rng(3)
    worst = 0.0
    for k in range(50):
        mine, seconds, value = both(drawn(rng, 50 + 100 * k), drawn(rng, 50 + 100 * k))
        worst = max(worst, abs(mine["value"] - value) / value)
    row("50 random instances: relative difference of distances", None, "POT emd2", None,
        "at most 1e-9", worst <= 1e-9, f"{worst:.1e}")
    mine, seconds, value = both(drawn(rng, 2400), drawn(rng, 2400))
    row("distance between two halves of a trial, about 1,250 cells each", mine["seconds"],
        "POT emd2 with its cost matrix", seconds, "at least 3", seconds / mine["seconds"] >= 3,
        f"values differ by {abs(mine['value'] - value):.1e}")
    full = [rng.random(len(LEVELS)) for _ in range(2)]
    mine, seconds, value = both(*(w / w.sum() for w in full))
    row("distance, full grid of 9,936 positive cells", mine["seconds"],
        "POT emd2 with its cost matrix", seconds, "at least 20", seconds / mine["seconds"] >= 20,
        f"values differ by {abs(mine['value'] - value):.1e}")
    far = ours("far", 20_000)
    row("20,000 by 20,000 scattered points in 3-D", far["seconds"], "", None,
        "under 5 minutes and 24 GiB", far["seconds"] < 300,
        f"gap {far['gap']:.1e}, {far['peak_bytes'] / 2**20:.0f} MiB")

"""Transport distances against POT's emd2, cost matrix included."""

import time

import numpy as np
import ot
import pandas as pd

from common import HERE, OUT, ours
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


def trial():
    """The stroke trial's patients as cells of its grid."""
    path = HERE.parent / ".." / "shared" / "data" / "ist" / "IST_corrected.csv.gz"
    rows = pd.read_csv(path, low_memory=False, encoding="latin-1")
    arms = (rows.RXASP == "Y") & rows.RXHEP.isin(["L", "M", "H"])
    arms |= (rows.RXASP == "N") & (rows.RXHEP == "N")
    rows = rows[arms & (rows.STYPE != "OTH")]
    levels = {"F": 0, "D": 1, "U": 2}, {"LACS": 0, "POCS": 1, "PACS": 2, "TACS": 3}
    bins = rows.AGE // 10, rows.RSBP // 10
    codes = (rows.RCONSC.map(levels[0]), rows.SEX == "M", bins[0] - bins[0].min(),
             rows.RSLEEP == "Y", bins[1] - bins[1].min(), rows.STYPE.map(levels[1]))
    return np.ravel_multi_index(tuple(c.astype(int).to_numpy() for c in codes), SHAPE)


def halves(rng, cells, rows):
    """Two random samples of so many patients each."""
    drawn = rng.permutation(cells)[: 2 * rows]
    weights = np.zeros((2, len(LEVELS)))
    for which in range(2):
        np.add.at(weights[which], drawn[which * rows : (which + 1) * rows], 1.0 / rows)
    return weights


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
    for k in range(40):
        rows = 50 + 125 * k
        mine, seconds, value = both(drawn(rng, rows), drawn(rng, rows))
        worst = max(worst, abs(mine["value"] - value) / value)
    cells, real = trial(), []
    for _ in range(10):
        mine, seconds, value = both(*halves(rng, cells, 2150))
        worst = max(worst, abs(mine["value"] - value) / value)
        real.append(mine["value"])
    row("40 random and 10 real instances: relative difference of distances", None, "POT emd2", None,
        "at most 1e-9", worst <= 1e-9, f"{worst:.1e}; 2,150 against 2,150 patients: "
        f"{np.mean(real):.3f} on average, from {min(real):.3f} to {max(real):.3f}")
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

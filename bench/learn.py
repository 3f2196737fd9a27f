"""Learning: cutting planes, tree search, and the rate of stochastic gradients."""

import math

from common import HERE, ours


def bench(row):
    trial = HERE.parent / "studies" / "ist.toml"
    for found, (wanted, seconds, gap) in zip(
        ours("groups", trial), (("0.5 s", 0.5, 1e-9), ("10 s", 10, 1e-7), ("10 s", 10, 1e-4))
    ):
        row(f"{found['groups']} groups of the stroke trial", found["seconds"], "", None,
            f"a gap of {gap:.0e} in under {wanted}",
            found["seconds"] < seconds and found["gap"] <= gap, f"gap {found['gap']:.1e}")
    tree = ours("search", 10_000, 10, 20)
    row("best depth-2 tree, 10,000 rows, 10 features of 20 levels, 3 actions", tree["seconds"], "",
        None, "under 10 s", tree["seconds"] < 10, f"gap {tree['gap']:.1e}")
    steps = (300, 1000, 3000, 10_000, 30_000)
    errors = [ours("descent", t, 20)["error"] for t in steps]
    x, y = [math.log(t) for t in steps], [math.log(e) for e in errors]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
    row("stochastic gradients: error against steps, slope on logarithms", None, "the theorem: -0.5",
        None, "from -0.65 to -0.35", -0.65 <= slope <= -0.35,
        f"slope {slope:.2f}; errors " + ", ".join(f"{e:.4f}" for e in errors)
        + " after " + ", ".join(map(str, steps)))

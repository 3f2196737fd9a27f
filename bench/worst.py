"""Worst cases against HiGHS and PyTorch, and our own growth with size."""

import time

import highspy
import numpy as np
import scipy.sparse as sp
import torch

from common import OUT, ours

SHAPE = (3, 2, 9, 2, 23, 4)
SQUARED = (True, False, True, False, True, True)
RADIUS = 0.03
ETA = 100.0



def trial(seed=1):
    """A problem of the stroke trial's shape: a step function, about 1,200 observed cells."""
    rng = np.random.default_rng(seed)
    levels = np.indices(SHAPE).reshape(6, -1)
    cells = levels.shape[1]
    values = (
        0.2
        + 0.5 * levels[0]
        + 0.3 * (levels[2] > 5)
        + 0.4 * (levels[5] == 3) * (levels[0] > 0)
        + 0.2 * (levels[4] < 3)
        + 0.05 * rng.integers(0, 12, cells) * (rng.random(cells) < 0.3)
    )
    centre, spread = (0.3, 0.5, 5, 0.3, 11, 1.8), (0.6, 0.5, 1.3, 0.5, 3.0, 0.9)
    drawn = tuple(
        np.clip(np.round(rng.normal(c, s, 2400)), 0, k - 1).astype(int)
        for c, s, k in zip(centre, spread, SHAPE)
    )
    weights = np.zeros(cells)
    np.add.at(weights, np.ravel_multi_index(drawn, SHAPE), 1.0)
    values.astype("<f8").tofile(OUT / "values.f64")
    weights.astype("<f8").tofile(OUT / "weights.f64")
    return levels.T.astype(float), values, weights / weights.sum()


def costs(a, b):
    """The ground cost between two sets of cells."""
    total = np.zeros((len(a), len(b)))
    for k, squared in enumerate(SQUARED):
        apart = a[:, k][:, None] - b[:, k][None, :]
        total += (apart / (SHAPE[k] - 1)) ** 2 if squared else apart != 0
    return total


def highs(cost, values, weights, radius):
    """The primal as a linear program, by HiGHS' interior-point method on one thread."""
    n, m = cost.shape
    matrix = sp.vstack([sp.kron(sp.eye(n), np.ones((1, m))), sp.csr_matrix(cost.reshape(1, -1))])
    matrix = matrix.tocsc()
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n * m, n + 1
    program.col_cost_ = -np.tile(values, n)
    program.col_lower_, program.col_upper_ = np.zeros(n * m), np.full(n * m, highspy.kHighsInf)
    program.row_lower_ = np.r_[weights, -highspy.kHighsInf]
    program.row_upper_ = np.r_[weights, radius]
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("solver", "ipm"), ("threads", 1)):
        solver.setOptionValue(option, value)
    solver.passModel(program)
    start = time.perf_counter()
    solver.run()
    return time.perf_counter() - start, -solver.getInfo().objective_function_value


def pytorch(cost, values, weights, radius, eta):
    """The dense entropic dual, minimised over log λ with L-BFGS in double precision."""
    cost, values, weights = (torch.tensor(x, dtype=torch.float64) for x in (cost, values, weights))
    log_m = np.log(len(values))
    start = time.perf_counter()
    log_price = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [log_price], max_iter=60, tolerance_grad=1e-10, tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def dual():
        price = log_price.exp()
        sums = torch.logsumexp(eta * (values[None, :] - price * cost), dim=1) - log_m
        return radius * price[0] + (weights * sums).sum() / eta

    def closure():
        optimiser.zero_grad()
        value = dual()
        value.backward()
        return value

    optimiser.step(closure)
    with torch.no_grad():
        value = dual().item()
    return time.perf_counter() - start, value


def bench(row):
    torch.set_num_threads(1)
    cells, values, weights = trial()
    seen = np.flatnonzero(weights)
    mine = ours("trial", OUT, RADIUS, ETA)
    exact, curve, soft = mine["exact"], mine["curve"], mine["entropic"]

    seconds, value = highs(costs(cells[seen], cells[seen]), values[seen], weights[seen], RADIUS)
    ratio = seconds / exact["seconds"]
    row("exact solve, full grid", exact["seconds"],
        f"HiGHS interior point, {len(seen)} observed cells only", seconds,
        "at least 5000", ratio >= 5000,
        f"observed-only {value:.6f} <= full grid {exact['value']:.6f}")
    assert value <= exact["value"] + 1e-6
    row(f"whole exact curve, {curve['vertices']} vertices", curve["seconds"],
        "the same linear program", seconds, "at least 10", seconds / curve["seconds"] >= 10,
        f"exact: {curve['exact']}")

    seconds, value = pytorch(costs(cells[seen], cells), values, weights[seen], RADIUS, ETA)
    row("entropic solve, eta = 100, full grid", soft["seconds"],
        "PyTorch L-BFGS on the dense dual", seconds, "at least 100",
        seconds / soft["seconds"] >= 100, f"values differ by {abs(value - soft['value']):.1e}")
    assert abs(value - soft["value"]) < 1e-6

    grids = {n: ours("grid", n, 1) for n in (10**5, 10**6, 10**7)}
    for small, large in ((10**5, 10**6), (10**6, 10**7)):
        growth = grids[large]["seconds_per_evaluation"] / grids[small]["seconds_per_evaluation"]
        row(f"one evaluation, {large:.0e} cells", grids[large]["seconds_per_evaluation"],
            f"ours, {small:.0e} cells", grids[small]["seconds_per_evaluation"],
            "grows at most 12 times", growth <= 12, f"grew {growth:.1f} times")
    peak = grids[10**7]["peak_arrays"]
    row("peak memory, 1e+07 cells, all observed", None, "the array of values", None,
        "at most 6 arrays", peak <= 6, f"{peak:.2f} arrays")

    tree, scan = ours("scattered", 200_000, "tree"), ours("scattered", 200_000, "scan-once")
    row("200,000 scattered points in 3-D, one evaluation", tree["seconds_per_evaluation"],
        "our scan engine", scan["seconds_per_evaluation"], "at least 50",
        scan["seconds_per_evaluation"] / tree["seconds_per_evaluation"] >= 50,
        f"whole solve {tree['seconds']:.1f} s, {tree['evaluations']} evaluations")

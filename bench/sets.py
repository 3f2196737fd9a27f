"""Every other set against cvxpy with Clarabel, the `dro` package where it has the set, and what one
writes by hand in NumPy and SciPy.

Ours is timed from arrays to the value with both bounds. A peer is timed over its whole call, as its user
waits for it; the share of it that the solver itself takes stands in the check. `skwdro` smooths by drawing
around each person, another problem than one on a given support, so it is not here.
"""

import time

import cvxpy as cp
import numpy as np
from common import OUT, ours
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

POINTS = 2000
FEW = 150
KAPPA, GAMMA1, GAMMA2, BANDWIDTH = 0.1, 0.1, 1.5, 0.5


def problem(points, seed):
    """Points of three numbers, losses that rise along the first, and equal weights."""
    rng = np.random.default_rng(seed)
    x = rng.random((points, 3))
    values = np.round(1 + 2 * x[:, 0] ** 2 + rng.exponential(0.5, points), 3)
    folder = OUT / f"sets-{points}"
    folder.mkdir(exist_ok=True)
    for name, column in zip(("values", "weights", "x", "y", "z"), (values, np.ones(points), *x.T)):
        np.ascontiguousarray(column, "<f8").tofile(folder / f"{name}.f64")
    return folder, (x - x.min(0)) / np.ptp(x, axis=0), values, np.full(points, 1 / points)


def timed(call, times=3):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        found = call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2], found


def weighed_anew(name):
    """The primal in cvxpy: the weights, or by how much each is multiplied, whichever the solver likes better."""

    def solve(f, p, radius):
        unit = np.ones(len(p)) if name == "kl" else p
        v = cp.Variable(len(p), nonneg=True)
        limit = LIMITS[name](cp.multiply(unit / p, v), p, radius)
        program = cp.Problem(cp.Maximize((f * unit) @ v), [unit @ v == 1, limit])
        value = program.solve(solver=cp.CLARABEL)
        return value, program.solver_stats.solve_time

    return solve


LIMITS = {
    "tv": lambda t, p, r: 0.5 * p @ cp.abs(t - 1) <= r,
    "cvar": lambda t, p, r: t <= 1 / (1 - r),
    "kl": lambda t, p, r: cp.sum(cp.kl_div(cp.multiply(p, t), p)) <= r,
    "chi2": lambda t, p, r: cp.sum_squares(cp.multiply(p**0.5, t - 1)) <= r,
    "cressie-read:k=3": lambda t, p, r: p @ cp.power(t, 3) <= 1 + 6 * r,
    "hellinger": lambda t, p, r: p @ cp.sqrt(t) >= 1 - r / 2,
    "burg": lambda t, p, r: -p @ cp.log(t) <= r,
}
RADII = {"tv": 0.1, "cvar": 0.3, "kl": 0.1, "chi2": 0.2, "cressie-read:k=3": 0.1, "hellinger": 0.05,
         "burg": 0.1}


def by_hand_tv(f, p, r):
    order = np.argsort(f)
    before = np.cumsum(p[order]) - p[order]
    kept = p[order] - np.clip(r - before, 0, p[order])
    return kept @ f[order] + r * f.max()


def by_hand_cvar(f, p, r):
    order = np.argsort(-f)
    before = np.cumsum(p[order]) - p[order]
    return np.clip((1 - r) - before, 0, p[order]) @ f[order] / (1 - r)


def by_hand_kl(f, p, r):
    top = f.max()
    dual = lambda log_price: (np.exp(log_price) * (r + logsumexp((f - top) / np.exp(log_price), b=p)) + top)
    return minimize_scalar(dual, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10}).fun


def by_hand_chi2(f, p, r):
    """The largest values get weight: closed form on every tail of the sorted values, all at once."""
    order = np.argsort(-f)
    g, w = f[order], p[order]
    mass, first, second = np.cumsum(w), np.cumsum(w * g), np.cumsum(w * g * g)
    mean = first / mass
    variance = np.maximum(second / mass - mean**2, 0)
    slack = (1 + r) - 1 / mass
    value = np.where(slack >= 0, mean + np.sqrt(np.maximum(slack * mass * variance, 0)), -np.inf)
    # On the right tail the multiplier is below every value that has weight.
    steep = np.sqrt(np.maximum(slack * mass, 0) / np.maximum(variance, 1e-300)) * mass
    fits = (slack >= 0) & (1 / mass + steep / mass * (g - mean) >= -1e-12)
    return value[fits][-1]


def by_hand_tilt(ratio, divergence, low):
    """Two nested roots: the multiplier of the mass, and the price at which the radius is spent."""

    def solve(f, p, r):
        span = np.ptp(f)

        def weights(price):
            mass = lambda mu: p @ ratio((f - mu) / price) - 1
            return p * ratio((f - brentq(mass, low(f, price), f.max() + span, xtol=1e-13)) / price)

        spent = lambda log_price: p @ divergence(weights(np.exp(log_price)) / p) - r
        return f @ weights(np.exp(brentq(spent, np.log(span) - 3, np.log(span) + 6, xtol=1e-12)))

    return solve


BY_HAND = {
    "tv": by_hand_tv,
    "cvar": by_hand_cvar,
    "kl": by_hand_kl,
    "chi2": by_hand_chi2,
    "cressie-read:k=3": by_hand_tilt(
        lambda s: np.sqrt(np.maximum(1 + 2 * s, 0)), lambda t: (t**3 - 3 * t + 2) / 6,
        lambda f, price: f.min() - 10 * price),
    "hellinger": by_hand_tilt(
        lambda s: (1 - s) ** -2.0, lambda t: (np.sqrt(t) - 1) ** 2,
        lambda f, price: f.max() - price * (1 - 1e-9)),
    "burg": by_hand_tilt(
        lambda s: 1 / (1 - s), lambda t: -np.log(t) + t - 1,
        lambda f, price: f.max() - price * (1 - 1e-9)),
}


def dro_package():
    """The sets that the `dro` package has: its robust objective of a loss that nothing is fitted to."""
    try:
        from dro.linear_model.chi2_dro import Chi2DRO
        from dro.linear_model.cvar_dro import CVaRDRO
        from dro.linear_model.kl_dro import KLDRO
        from dro.linear_model.tv_dro import TVDRO
    except ImportError as missing:
        print(f"  dro is left out: {missing}", flush=True)
        return {}

    def asked(kind, settings):
        def solve(f, p, radius):
            model = kind(input_dim=1, model_type="lad", fit_intercept=False)
            model.update(settings(radius))
            model.fit(np.zeros((len(f), 1)), f)
            return model.robust_obj

        return solve

    eps = lambda radius: {"eps": radius}
    return {"chi2": asked(Chi2DRO, eps), "kl": asked(KLDRO, eps), "tv": asked(TVDRO, eps),
            "cvar": asked(CVaRDRO, lambda radius: {"alpha": 1 - radius})}


def compared(row, name, mine, peer, seconds, value, least, told=""):
    apart = abs(value - mine["value"]) / abs(mine["value"])
    wanted = f"at least {least}" if least else ""
    ratio = seconds / mine["seconds"]
    row(f"{name}", mine["seconds"], peer, seconds, wanted, apart < 1e-4 and ratio >= least,
        f"values differ by {apart:.0e} of themselves{told}")


def scalar_duals(row):
    folder, _, f, p = problem(POINTS, 1)
    package = dro_package()
    for name in LIMITS:
        radius, what = RADII[name], f"{name}, {POINTS} points"
        mine = ours("set", folder, name, radius)
        seconds, (value, inside) = timed(lambda: weighed_anew(name)(f, p, radius))
        compared(row, what, mine, "cvxpy with Clarabel", seconds, value, 100,
                 f"; {inside / mine['seconds']:,.0f} by the solver alone")
        if name in package:
            try:
                seconds, value = timed(lambda: package[name](f, p, radius))
                compared(row, what, mine, "dro", seconds, value, 100)
            except Exception as failed:  # a peer that fails is told, not hidden
                row(what, mine["seconds"], "dro", None, "", True, f"it fails: {type(failed).__name__}")
        seconds, value = timed(lambda: BY_HAND[name](f, p, radius), times=9)
        compared(row, what, mine, "NumPy and SciPy by hand", seconds, value, 1)


def moving(row):
    folder, z, f, p = problem(FEW, 2)
    cost = ((z[:, None] - z[None]) ** 2).sum(-1)
    kernel = np.exp(-cost / KAPPA) / FEW
    kernel /= kernel.sum(1, keepdims=True)

    def sinkhorn(radius):
        plan = cp.Variable((FEW, FEW), nonneg=True)
        spread = KAPPA * cp.sum(cp.rel_entr(plan, p[:, None] * kernel))
        program = cp.Problem(cp.Maximize(cp.sum(plan @ f)), [cp.sum(plan, axis=1) == p, spread <= radius])
        return program.solve(solver=cp.CLARABEL)

    white = (z - z.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T, bias=True))).T

    def moments(radius):
        q = cp.Variable(FEW, nonneg=True)
        second = white.T @ cp.diag(q) @ white
        most = (1 + radius * (GAMMA2 - 1)) * np.eye(3)
        program = cp.Problem(cp.Maximize(f @ q), [
            cp.sum(q) == 1, cp.norm(white.T @ q) <= np.sqrt(radius * GAMMA1), most - (second + second.T) / 2 >> 0])
        return program.solve(solver=cp.CLARABEL)

    gram = np.exp(-cost / (2 * BANDWIDTH**2))
    root = np.linalg.cholesky(gram + 1e-12 * np.eye(FEW))

    def mmd(radius):
        q = cp.Variable(FEW, nonneg=True)
        program = cp.Problem(cp.Maximize(f @ q), [cp.sum(q) == 1, cp.norm(root.T @ (q - p)) <= radius])
        return program.solve(solver=cp.CLARABEL)

    for name, radius, peer in (
        (f"sinkhorn:kappa={KAPPA}", 0.02, sinkhorn),
        (f"moments:gamma1={GAMMA1},gamma2={GAMMA2}", 1.0, moments),
        (f"mmd:kernel=gaussian,bandwidth={BANDWIDTH}", 0.1, mmd),
    ):
        mine = ours("set", folder, name, radius)
        seconds, value = timed(lambda: peer(radius))
        compared(row, f"{name}, {FEW} points", mine, "cvxpy with Clarabel", seconds, value, 0)


def bench(row):
    scalar_duals(row)
    moving(row)

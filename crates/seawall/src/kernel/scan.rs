//! All pairs: the best target of every source, by looking at each.
//!
//! The reference that the other engines are held to, and the best choice for small supports and
//! in many dimensions. Targets are taken in tiles that stay in the first-level cache; a tile's
//! costs to one source are built up feature by feature in loops that become vector
//! instructions.

use super::metric::Metric;
use super::order::{Order, better};
use pulp::{Arch, Simd, WithSimd};

/// Targets in a tile.
pub const TILE: usize = 256;

/// Costs from a source at `x` to targets `from..from + out.len()`.
#[inline(always)]
pub fn costs(metrics: &[Metric], columns: &[Vec<f64>], x: &[f64], from: usize, out: &mut [f64]) {
    out.fill(0.0);
    for ((&metric, column), &x) in metrics.iter().zip(columns).zip(x) {
        let column = &column[from..from + out.len()];
        match metric {
            _ if x.is_nan() => {
                for (c, &z) in out.iter_mut().zip(column) {
                    *c += if z.is_nan() { 0.0 } else { metric.missing() };
                }
            }
            Metric::Square { weight, missing } => {
                for (c, &z) in out.iter_mut().zip(column) {
                    let apart = x - z;
                    let cost = weight * apart * apart;
                    *c += if cost.is_nan() { missing } else { cost };
                }
            }
            Metric::Flat { weight, missing } => {
                for (c, &z) in out.iter_mut().zip(column) {
                    let other = if z.is_nan() { missing } else { weight };
                    *c += if x == z { 0.0 } else { other };
                }
            }
            Metric::Wall => {
                for (c, &z) in out.iter_mut().zip(column) {
                    *c += if x == z { 0.0 } else { f64::INFINITY };
                }
            }
        }
    }
}

/// The best targets of a source at `x`, one for each of some finite prices; a tile's costs are
/// worked out once for all of them.
struct PricedScan<'a> {
    /// One metric per feature.
    metrics: &'a [Metric],
    /// Targets' coordinates, one array per feature.
    columns: &'a [Vec<f64>],
    /// Targets' values.
    values: &'a [f64],
    /// The source's coordinates.
    x: &'a [f64],
    found: &'a mut [ScanFound],
}

/// Targets looked at side by side.
pub(super) const LANES: usize = 8;

/// The best target at a price so far.
#[derive(Clone, Copy, Debug)]
pub struct ScanFound {
    price: f64,
    height: f64,
    /// The target.
    pub target: usize,
    /// Side by side: the best heights, and where the eight begin that have them.
    top: [f64; LANES],
    at: [f64; LANES],
}

impl ScanFound {
    /// A target that costs nothing, to begin with.
    pub fn new(price: f64, height: f64, target: usize) -> Self {
        ScanFound { price, height, target, top: [height; LANES], at: [f64::NAN; LANES] }
    }
}

impl WithSimd for PricedScan<'_> {
    type Output = ();

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut cost = [0.0; TILE];
        let whole = self.values.len() / TILE * TILE;
        for from in (0..whole).step_by(TILE) {
            costs(self.metrics, self.columns, self.x, from, &mut cost);
            let values = &self.values[from..from + TILE];
            for found in &mut *self.found {
                let (mut top, mut at, price) = (found.top, found.at, found.price);
                let eights = values.chunks_exact(LANES).zip(cost.chunks_exact(LANES));
                for (i, (f, c)) in eights.enumerate() {
                    let first = (from + i * LANES) as f64;
                    for l in 0..LANES {
                        let height = f[l] - price * c[l];
                        let higher = height > top[l];
                        top[l] = if higher { height } else { top[l] };
                        at[l] = if higher { first } else { at[l] };
                    }
                }
                (found.top, found.at) = (top, at);
            }
        }
        let rest = &mut cost[..self.values.len() - whole];
        costs(self.metrics, self.columns, self.x, whole, rest);
        for found in self.found {
            for l in 0..LANES {
                if found.top[l] > found.height {
                    (found.height, found.target) = (found.top[l], found.at[l] as usize + l);
                }
            }
            for (i, (f, c)) in self.values[whole..].iter().zip(rest.iter()).enumerate() {
                let height = f - found.price * c;
                if height > found.height {
                    (found.height, found.target) = (height, whole + i);
                }
            }
        }
    }
}

/// The best targets of a source at `x` at finite prices; `found` begins with a target for each.
pub fn best_priced(
    metrics: &[Metric],
    columns: &[Vec<f64>],
    values: &[f64],
    x: &[f64],
    found: &mut [ScanFound],
) {
    Arch::new().dispatch(PricedScan { metrics, columns, values, x, found });
}

/// The best target of a source at `x` in any order; `known` is a target at no cost.
pub fn best<O: Order>(
    metrics: &[Metric],
    columns: &[Vec<f64>],
    values: &[f64],
    x: &[f64],
    order: O,
    known: usize,
) -> usize {
    let mut cost = [0.0; TILE];
    let mut best = known;
    let mut key = order.key(values[known], 0.0);
    for (t, tile) in values.chunks(TILE).enumerate() {
        let cost = &mut cost[..tile.len()];
        costs(metrics, columns, x, t * TILE, cost);
        for (i, (&f, &c)) in tile.iter().zip(cost.iter()).enumerate() {
            let candidate = order.key(f, c);
            if c < f64::INFINITY && better(candidate, key) {
                key = candidate;
                best = t * TILE + i;
            }
        }
    }
    best
}

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

/// The best target of a source at `x` at a finite price, and its height `f − λ c`.
pub struct Priced<'a> {
    /// One metric per feature.
    pub metrics: &'a [Metric],
    /// Targets' coordinates, one array per feature.
    pub columns: &'a [Vec<f64>],
    /// Targets' values.
    pub values: &'a [f64],
    /// The source's coordinates.
    pub x: &'a [f64],
    /// λ.
    pub price: f64,
    /// The best target so far, replaced by a better one.
    pub best: &'a mut (f64, usize),
}

impl WithSimd for Priced<'_> {
    type Output = ();

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        const LANES: usize = 8;
        let mut cost = [0.0; TILE];
        let mut top = [self.best.0; LANES];
        let mut at = [f64::NAN; LANES];
        let whole = self.values.len() / TILE * TILE;
        for from in (0..whole).step_by(TILE) {
            costs(self.metrics, self.columns, self.x, from, &mut cost);
            let values = &self.values[from..from + TILE];
            for (i, (f, c)) in values.chunks_exact(LANES).zip(cost.chunks_exact(LANES)).enumerate()
            {
                let first = (from + i * LANES) as f64;
                for l in 0..LANES {
                    let height = f[l] - self.price * c[l];
                    let higher = height > top[l];
                    top[l] = if higher { height } else { top[l] };
                    at[l] = if higher { first } else { at[l] };
                }
            }
        }
        for l in 0..LANES {
            if top[l] > self.best.0 {
                *self.best = (top[l], at[l] as usize + l);
            }
        }
        let rest = &mut cost[..self.values.len() - whole];
        costs(self.metrics, self.columns, self.x, whole, rest);
        for (i, (f, c)) in self.values[whole..].iter().zip(rest.iter()).enumerate() {
            let height = f - self.price * c;
            if height > self.best.0 {
                *self.best = (height, whole + i);
            }
        }
    }
}

/// The best target of a source at `x` at a finite price; `known` is one of the targets.
pub fn best_priced(
    metrics: &[Metric],
    columns: &[Vec<f64>],
    values: &[f64],
    x: &[f64],
    price: f64,
    known: usize,
) -> usize {
    let mut best = (values[known], known);
    Arch::new().dispatch(Priced { metrics, columns, values, x, price, best: &mut best });
    best.1
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

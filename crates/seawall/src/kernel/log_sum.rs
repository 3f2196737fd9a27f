//! Log-domain sums along each axis of a grid: `L'_k = log Σ_j exp(L_j − s c_kj)`.
//!
//! Beside the logarithm ride the mean and the variance of the cost under the weights that the
//! sum is made of, so that after one pass per axis every cell knows `log Σ exp(·)`, its
//! derivative and its second derivative in `s`:
//!
//! ```text
//! π_j = exp(L_j − s c_kj − L'_k),   m'_k = Σ π_j (m_j + c_kj),
//! v'_k = Σ π_j (v_j + (m_j + c_kj − m'_k)²)
//! ```
//!
//! Weights below `exp(−745)` of the largest one of a line vanish in double precision, with or
//! without this module; nothing else is lost.

use super::lines;
use super::metric::{Metric, penalty};
use pulp::{Arch, Simd, WithSimd};

/// Lines taken at once.
const LANES: usize = 32;
/// One level of those lines.
type Row = [f64; LANES];
type Tile = lines::Tile<3, LANES>;
/// Exponents spread over less than this can be taken out of the logarithm once a line.
const TAME: f64 = 600.0;

/// One axis, prepared.
#[derive(Debug)]
pub struct Axis {
    levels: usize,
    /// `costs[k · levels + j]`.
    costs: Vec<f64>,
    still: bool,
}

impl Axis {
    /// Prepares the axis of a feature whose levels have these coordinates.
    pub fn new(metric: Metric, coords: &[f64]) -> Self {
        let cost = |k: usize, j: usize| metric.cost(coords[k], coords[j]);
        let levels = coords.len();
        let pairs = (0..levels).flat_map(|k| (0..levels).map(move |j| (k, j)));
        let still = levels < 2 || metric == Metric::Wall;
        let costs = if still { Vec::new() } else { pairs.map(|(k, j)| cost(k, j)).collect() };
        Axis { levels, costs, still }
    }

    /// Transforms every line in place at a sharpness s from 0 to ∞.
    ///
    /// `spread` is at least the range of the finite entries that the grid held before the first
    /// axis; it tells whether a line may leave the logarithm without losing anything.
    pub fn pass(&self, inner: usize, s: f64, spread: f64, [log, mean, var]: [&mut [f64]; 3]) {
        if self.still {
            return;
        }
        let weights: Vec<f64> = self.costs.iter().map(|&c| (-penalty(s, c)).exp()).collect();
        let arch = Arch::new();
        lines::for_each(self.levels, inner, [log, mean, var], &|tile: &mut Tile| {
            if tame(&tile.input[0], spread) {
                arch.dispatch(Tame { weights: &weights, costs: &self.costs, tile });
            } else {
                wild(s, &self.costs, tile);
            }
        });
    }
}

/// Whether every line of the tile can be summed outside the logarithm.
fn tame(log: &[Row], spread: f64) -> bool {
    if spread <= TAME {
        return true;
    }
    (0..LANES).all(|l| {
        let range = |(low, high): (f64, f64), row: &Row| (low.min(row[l]), high.max(row[l]));
        let (low, high) = log.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        high - low <= TAME
    })
}

/// Lines lifted out of the logarithm by their own maximum: one exponential a cell.
struct Tame<'a> {
    weights: &'a [f64],
    costs: &'a [f64],
    tile: &'a mut Tile,
}

impl WithSimd for Tame<'_> {
    type Output = ();

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [log, mean, var] = &mut self.tile.input;
        let [log_out, mean_out, var_out] = &mut self.tile.output;
        let levels = log.len();
        let mut top = [f64::NEG_INFINITY; LANES];
        for row in log.iter() {
            for l in 0..LANES {
                top[l] = if row[l] > top[l] { row[l] } else { top[l] };
            }
        }
        for row in log.iter_mut() {
            for l in 0..LANES {
                row[l] = if top[l] == f64::NEG_INFINITY { 0.0 } else { (row[l] - top[l]).exp() };
            }
        }
        for k in 0..levels {
            let weights = &self.weights[k * levels..][..levels];
            let costs = &self.costs[k * levels..][..levels];
            let (mut total, mut first) = ([0.0; LANES], [0.0; LANES]);
            for j in 0..levels {
                for l in 0..LANES {
                    let share = weights[j] * log[j][l];
                    total[l] += share;
                    first[l] += share * (mean[j][l] + costs[j]);
                }
            }
            let mut inverse = [0.0; LANES];
            for l in 0..LANES {
                // A hole of the lattice may be so far from everything that its sum is subnormal
                // and has no inverse: it is nothing to any source, and is left a hole.
                let lost = total[l] < f64::MIN_POSITIVE;
                total[l] = if lost { 0.0 } else { total[l] };
                inverse[l] = if lost { 0.0 } else { 1.0 / total[l] };
                first[l] *= inverse[l];
            }
            let mut second = [0.0; LANES];
            for j in 0..levels {
                for l in 0..LANES {
                    let off = mean[j][l] + costs[j] - first[l];
                    second[l] += weights[j] * log[j][l] * (var[j][l] + off * off);
                }
            }
            for l in 0..LANES {
                log_out[k][l] = top[l] + total[l].ln();
                mean_out[k][l] = first[l];
                var_out[k][l] = second[l] * inverse[l];
            }
        }
    }
}

/// Lines whose exponents span too much: each sum is taken from its own maximum.
fn wild(s: f64, costs: &[f64], tile: &mut Tile) {
    let [log, mean, var] = &tile.input;
    let levels = log.len();
    for k in 0..levels {
        let costs = &costs[k * levels..][..levels];
        for l in 0..LANES {
            let exponent = |j: usize| log[j][l] - penalty(s, costs[j]);
            let top = (0..levels).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            let mut moments = Moments::default();
            if top > f64::NEG_INFINITY {
                for j in 0..levels {
                    moments.add((exponent(j) - top).exp(), mean[j][l] + costs[j], var[j][l]);
                }
            }
            tile.output[0][k][l] = top + moments.weight.ln();
            tile.output[1][k][l] = moments.mean;
            tile.output[2][k][l] = moments.variance();
        }
    }
}

/// Weighted mean and variance, updated one term at a time without cancellation.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    /// The weights' sum.
    pub weight: f64,
    /// The weighted mean.
    pub mean: f64,
    spread: f64,
}

impl Moments {
    /// Adds a term of this weight whose own distribution has this mean and variance.
    #[inline(always)]
    pub fn add(&mut self, weight: f64, mean: f64, variance: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let off = mean - self.mean;
            self.mean += off * (weight / self.weight);
            self.spread += weight * (variance + off * (mean - self.mean));
        }
    }

    /// The weighted variance.
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.spread / self.weight } else { 0.0 }
    }
}

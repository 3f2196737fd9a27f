//! Many lines of a grid at once, which share the exponentials of their costs.

use super::sums::RunningMoments;
use super::{LANES, LogTile};
use crate::kernel::metric::penalty;
use pulp::{Simd, WithSimd};

/// Lines lifted out of the logarithm by their own maximum: one exponential a cell.
pub(super) struct Tame<'a> {
    pub weights: &'a [f64],
    pub costs: &'a [f64],
    pub tile: &'a mut LogTile,
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
pub(super) fn wild(s: f64, costs: &[f64], added: &[f64], tile: &mut LogTile) {
    let [log, mean, var] = &tile.input;
    let levels = log.len();
    for k in 0..levels {
        let [costs, added] = [costs, added].map(|all| &all[k * levels..][..levels]);
        for l in 0..LANES {
            let exponent = |j: usize| log[j][l] - penalty(s, costs[j]);
            let top = (0..levels).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            let mut moments = RunningMoments::default();
            if top > f64::NEG_INFINITY {
                for j in 0..levels {
                    moments.add((exponent(j) - top).exp(), mean[j][l] + added[j], var[j][l]);
                }
            }
            tile.output[0][k][l] = top + moments.weight.ln();
            tile.output[1][k][l] = moments.mean;
            tile.output[2][k][l] = moments.variance();
        }
    }
}

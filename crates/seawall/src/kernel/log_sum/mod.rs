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
//! Or those of something that each cell has of its own ([`Carried::Own`]): then moving adds nothing
//! to it, and `c_kj` is left out of the last line and the one before.
//!
//! An axis of equal costs takes O(K) a line: what a level gets from all others is what comes before
//! it and what comes after. Any other takes all pairs of levels; many lines at once share the
//! exponentials of their costs; a line or two by themselves are summed level by level, and where
//! their levels are evenly apart (bins), the weights of all steps are known from K exponentials.
//!
//! Weights below `exp(−708)` of the largest one of a line vanish in double precision, with or
//! without this module; nothing else is lost.

mod line;
mod sums;
mod tile;

pub use sums::{RunningMoments, exp_sum, log_sum};

use super::exp::exp;
use super::lines;
use super::metric::{Metric, penalty};
use line::{alone, even, flat};
use pulp::Arch;
use sums::SIDE;
use tile::{Tame, wild};

/// Lines taken at once.
const LANES: usize = 32;
type LogTile = lines::Tile<3, LANES>;
/// Exponents spread over less than this can be taken out of the logarithm once a line.
const TAME: f64 = 600.0;

/// Axes of equal costs up to this long are left to the table.
const SHORT: usize = 8;
/// Fewer lines than this are summed one by one.
const FEW: usize = 8;

/// A line by itself.
type LogLine = lines::Tile<3, 1>;

/// Whose mean and variance ride along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// The cost's, to which every move adds.
    Cost,
    /// Those of what a cell has of its own.
    Own,
}

impl Carried {
    /// What moves that cost this much add.
    fn added<'c>(self, costs: &'c [f64], none: &'c mut Vec<f64>) -> &'c [f64] {
        match self {
            Carried::Cost => costs,
            Carried::Own => {
                none.resize(costs.len(), 0.0);
                none
            }
        }
    }
}

/// One axis, prepared.
#[derive(Debug)]
pub struct LogSumAxis {
    levels: usize,
    method: LogSumMethod,
}

#[derive(Debug)]
enum LogSumMethod {
    /// No move is possible, or there is nowhere to go.
    Still,
    /// The same cost between any two levels that are not missing; the missing level and what it
    /// costs to go there or come back.
    Flat { weight: f64, hole: Option<(usize, f64)> },
    /// All pairs: `costs[k · levels + j]`; and where levels are evenly apart, the costs of all
    /// steps from the longest back to the longest ahead, and a few more.
    Table { costs: Vec<f64>, steps: Option<Vec<f64>> },
}

impl LogSumAxis {
    /// Prepares the axis of a feature whose levels have these coordinates.
    pub fn new(metric: Metric, coords: &[f64]) -> Self {
        let levels = coords.len();
        let method = match metric {
            Metric::Wall => LogSumMethod::Still,
            _ if levels < 2 => LogSumMethod::Still,
            Metric::Flat { weight, missing } if levels > SHORT && distinct(coords) => {
                let hole = coords.iter().position(|x| x.is_nan());
                LogSumMethod::Flat { weight, hole: hole.map(|at| (at, missing)) }
            }
            _ => {
                let cost = |k: usize, j: usize| metric.cost(coords[k], coords[j]);
                let pairs = (0..levels).flat_map(|k| (0..levels).map(move |j| (k, j)));
                let costs = pairs.map(|(k, j)| cost(k, j)).collect();
                LogSumMethod::Table { costs, steps: even_steps(metric, coords) }
            }
        };
        LogSumAxis { levels, method }
    }

    /// Transforms every line in place at a sharpness s from 0 to ∞.
    ///
    /// `spread` is at least the range of the finite entries that the grid held before the first
    /// axis; it tells whether a line may leave the logarithm without losing anything.
    pub fn pass(
        &self,
        inner: usize,
        s: f64,
        spread: f64,
        carried: Carried,
        [log, mean, var]: [&mut [f64]; 3],
    ) {
        let (levels, count) = (self.levels, log.len() / self.levels);
        let arrays = [log, mean, var];
        let none = &mut Vec::new();
        match &self.method {
            LogSumMethod::Still => {}
            LogSumMethod::Flat { weight, hole } => {
                lines::for_each(levels, inner, arrays, &|line: &mut LogLine| {
                    flat(s, *weight, *hole, carried, line);
                });
            }
            // Nobody moves, and no two levels of these are in one place.
            LogSumMethod::Table { steps: Some(_), .. } if s == f64::INFINITY => {}
            LogSumMethod::Table { costs, steps } if count < FEW => {
                let weights =
                    |steps: &Vec<f64>| steps.iter().map(|&c| exp(-penalty(s, c))).collect();
                let weights: Option<Vec<f64>> = steps.as_ref().map(weights);
                let mut no_steps = Vec::new();
                let steps = steps.as_ref().map(|steps| carried.added(steps, &mut no_steps));
                let added = carried.added(costs, none);
                lines::for_each(
                    levels,
                    inner,
                    arrays,
                    &|line: &mut LogLine| match (steps, &weights) {
                        (Some(steps), Some(weights)) if tame(&line.input[0], spread) => {
                            even(steps, weights, line);
                        }
                        _ => alone(s, costs, added, line),
                    },
                );
            }
            LogSumMethod::Table { costs, .. } => {
                let weights: Vec<f64> = costs.iter().map(|&c| (-penalty(s, c)).exp()).collect();
                let added = carried.added(costs, none);
                let arch = Arch::new();
                lines::for_each(levels, inner, arrays, &|tile: &mut LogTile| {
                    if tame(&tile.input[0], spread) {
                        arch.dispatch(Tame { weights: &weights, costs: added, tile });
                    } else {
                        wild(s, costs, added, tile);
                    }
                });
            }
        }
    }
}

/// Whether no two coordinates are alike; every NaN is.
fn distinct(coords: &[f64]) -> bool {
    let mut sorted: Vec<f64> = coords.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    coords.len() - sorted.len() <= 1 && sorted.windows(2).all(|w| w[0] != w[1])
}

/// The costs of all steps between levels that are evenly apart, as bins are, from the longest back
/// to the longest ahead; None if they are not, to the rounding of their coordinates.
fn even_steps(metric: Metric, coords: &[f64]) -> Option<Vec<f64>> {
    let (Metric::Square { .. }, [first, .., last]) = (metric, coords) else { return None };
    let count = coords.len();
    let step = (last - first) / (count - 1) as f64;
    let rounding = 4.0 * f64::EPSILON * first.abs().max(last.abs());
    let place = |k: usize| first + step * k as f64;
    // A missing level is nowhere: NaN fails both. Steps that cost nothing are taken at any price.
    let even = step.abs() > 1024.0 * rounding
        && metric.cost(0.0, step) > 0.0
        && coords.iter().enumerate().all(|(k, x)| (x - place(k)).abs() <= rounding);
    let cost = |d: usize| metric.cost(0.0, step * d.abs_diff(count - 1) as f64);
    even.then(|| (0..2 * count - 1 + SIDE).map(cost).collect())
}

/// Whether every line of the tile can be summed outside the logarithm.
fn tame<const L: usize>(log: &[[f64; L]], spread: f64) -> bool {
    if spread <= TAME {
        return true;
    }
    (0..L).all(|l| {
        let range = |(low, high): (f64, f64), row: &[f64; L]| (low.min(row[l]), high.max(row[l]));
        let (low, high) = log.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        high - low <= TAME
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    /// The sums written out: logarithm, mean and variance of every level of one line.
    fn slow(
        metric: Metric,
        coords: &[f64],
        (s, carried): (f64, Carried),
        line: [&[f64]; 3],
    ) -> Vec<(f64, f64, f64)> {
        let [log, mean, var] = line;
        let one = |k: usize| {
            let cost = |j: usize| metric.cost(coords[k], coords[j]);
            let added = |j: usize| if carried == Carried::Cost { cost(j) } else { 0.0 };
            let exponent = |j: usize| log[j] - penalty(s, cost(j));
            let top = (0..coords.len()).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            if top == f64::NEG_INFINITY {
                return (top, 0.0, 0.0);
            }
            let share = |j: usize| (exponent(j) - top).exp();
            let all: f64 = (0..coords.len()).map(share).sum();
            let middle: f64 = (0..coords.len()).map(|j| share(j) * (mean[j] + added(j))).sum();
            let middle = middle / all;
            let off = |j: usize| mean[j] + added(j) - middle;
            let around = |j: usize| share(j) * (var[j] + off(j) * off(j));
            (top + all.ln(), middle, (0..coords.len()).map(around).sum::<f64>() / all)
        };
        (0..coords.len()).map(one).collect()
    }

    #[test]
    fn every_kernel_adds_up_what_is_written_out() {
        let mut random = Random::new(11, 0);
        for round in 0..200usize {
            let levels = 2 + random.below(60);
            let mut coords: Vec<f64> = (0..levels).map(|k| 3.0 + 0.1 * k as f64).collect();
            if round % 3 == 1 {
                coords.iter_mut().for_each(|x| *x += 0.05 * random.normal());
            }
            if round % 5 == 0 {
                coords[levels - 1] = f64::NAN;
            }
            let flat = round % 2 == 0;
            let metric = if flat {
                Metric::Flat { weight: 0.7, missing: 0.4 }
            } else if round % 9 == 1 {
                // A feature that costs nothing is crossed even at an infinite price.
                Metric::Square { weight: 0.0, missing: 0.4 }
            } else {
                Metric::Square { weight: 0.3, missing: 0.4 }
            };
            // A few lines by themselves, or enough to be taken side by side; some wild, some with holes.
            let count = [1, 3, 40][round % 3];
            let (range, holes) = ([1.0, 30.0, 900.0][round % 3], round % 4 == 0);
            let mut log: Vec<f64> = (0..levels * count)
                .map(|_| {
                    if holes && random.below(3) == 0 {
                        f64::NEG_INFINITY
                    } else {
                        range * (random.normal() * 0.3)
                    }
                })
                .collect();
            let mut mean: Vec<f64> = log.iter().map(|_| random.normal().abs()).collect();
            let mut var: Vec<f64> = log.iter().map(|_| random.normal().abs()).collect();
            let finite = || log.iter().copied().filter(|x| x.is_finite());
            let spread =
                finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
            let carried = if round % 7 < 4 { Carried::Cost } else { Carried::Own };
            for s in [0.0, 0.8, 40.0, f64::INFINITY] {
                let before = [log.clone(), mean.clone(), var.clone()];
                // Lines lie one after the other: neighbours of a line are next to each other.
                let arrays = [&mut log[..], &mut mean[..], &mut var[..]];
                LogSumAxis::new(metric, &coords).pass(1, s, spread.max(0.0), carried, arrays);
                for line in 0..count {
                    let here = line * levels..(line + 1) * levels;
                    let given = [0, 1, 2].map(|m| &before[m][here.clone()]);
                    for (k, wanted) in
                        slow(metric, &coords, (s, carried), given).into_iter().enumerate()
                    {
                        let at = here.start + k;
                        let found = (log[at], mean[at], var[at]);
                        let near =
                            |a: f64, b: f64| a == b || (a - b).abs() <= 1e-11 * (1.0 + b.abs());
                        let what = format!("{round} {levels} {count} {s} {found:?} {wanted:?}");
                        assert!(near(found.0, wanted.0), "{what}");
                        // A hole that nobody reaches keeps what it had.
                        if wanted.0 > f64::NEG_INFINITY {
                            assert!(near(found.1, wanted.1) && near(found.2, wanted.2), "{what}");
                        }
                    }
                }
                [log, mean, var] = before;
            }
        }
    }
}

//! The spread scale: two people drawn at random are 1 apart in each column, on average.
//!
//! ```text
//! w_k = 1 / E[c_k(X, X')],   X and X' two independent rows of the log
//! ```
//!
//! with the mean at least a tenth of the largest that it could be, so that a rare flag is not made
//! infinitely dear. A column's unit and its kind no longer matter, and a radius of 0.1 buys drawing
//! one column anew for a tenth of the people.

use super::axis::Axis;
use super::exact_sum::ExactSum;
use seawall::{Kind, Space};

/// Of the largest mean that a column could have, at least this share.
const LEAST: f64 = 0.1;

impl Axis {
    /// Weighs the axis by the spread of its rows: each a code of the column and how many. A weight
    /// that was given stays.
    pub(super) fn spread(&mut self, rows: impl Iterator<Item = (u32, f64)>) {
        if self.weighed {
            return;
        }
        // The feature alone, as a space of its levels, knows its own costs.
        let Ok(space) = Space::grid([self.feature.clone()]) else { return };
        let (mut sums, mut total) = (vec![ExactSum::ZERO; space.len()], ExactSum::ZERO);
        for (code, count) in rows {
            sums[self.level_of[code as usize] as usize].add(count);
            total.add(count);
        }
        let total = total.value();
        let shares: Vec<f64> = sums.iter().map(|sum| sum.value() / total).collect();
        let mean = match space.kind(0) {
            Kind::Fixed => return,
            Kind::Nominal => {
                let most = 1.0 - 1.0 / shares.len() as f64;
                let same: f64 = shares.iter().map(|p| p * p).sum();
                (1.0 - same).max(LEAST * most)
            }
            Kind::Numeric => squares(&space.positions(0), &shares),
            // A weight multiplies what the levels' squared differences cost without one.
            Kind::Ordinal => {
                let positions = space.positions(0);
                let last = positions.iter().rposition(|x| !x.is_nan()).unwrap_or(0);
                let apart = (positions[last] - positions[0]).powi(2);
                squares(&positions, &shares) * space.feature_cost(0, 0, last) / apart
            }
        };
        if mean > 0.0 && mean.is_finite() {
            self.feature = self.feature.clone().weight(1.0 / mean);
        }
    }
}

/// The mean squared difference of two draws; a missing value is as far from every other as the two
/// ends are from each other.
fn squares(positions: &[f64], shares: &[f64]) -> f64 {
    let present = || positions.iter().zip(shares).filter(|(x, _)| !x.is_nan());
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    present()
        .filter(|(_, p)| **p > 0.0)
        .for_each(|(x, _)| (low, high) = (low.min(*x), high.max(*x)));
    if high <= low {
        return 0.0;
    }
    let range = (high - low).powi(2);
    let mass: f64 = present().map(|(_, p)| p).sum();
    let mean = present().map(|(x, p)| p * x).sum::<f64>() / mass;
    let variance = present().map(|(x, p)| p * (x - mean).powi(2)).sum::<f64>();
    let missing = 2.0 * mass * (1.0 - mass) * range;
    // Half at each end; or a third at each and a third missing.
    let most = if positions.iter().any(|x| x.is_nan()) { 2.0 / 3.0 } else { 0.5 } * range;
    (2.0 * mass * variance + missing).max(LEAST * most)
}

//! The spread scale: two people drawn at random are 1 apart in each column, on average.
//!
//! ```text
//! w_k = 1 / E[c_k(X, X')],   X and X' two independent rows of the log
//! ```
//!
//! with the mean at least a tenth of the largest that it could be, so that a rare flag does not get an infinite
//! weight. A column's unit and its kind no longer matter, and a radius of 0.1 buys drawing one column anew for a
//! tenth of the people.

use super::{Feature, Kind, Space};
use crate::kernel::exact_sum::ExactSum;

/// Of the largest mean that a column could have, at least this share.
const LEAST: f64 = 0.1;

/// A feature and the shares of its rows by level: what two draws are apart on average, at the weight that it has;
/// None for a fixed one, and for one without levels.
pub fn mean_cost(feature: &Feature, shares: &[f64]) -> Option<f64> {
    // The feature alone, as a space of its levels, knows its own costs.
    let space = Space::grid([feature.clone()]).ok()?;
    match space.kind(0) {
        Kind::Fixed => None,
        Kind::Nominal => {
            let most = 1.0 - 1.0 / shares.len() as f64;
            let same: f64 = shares.iter().map(|p| p * p).sum();
            Some((1.0 - same).max(LEAST * most))
        }
        Kind::Numeric => Some(mean_square(&space.positions(0), shares)),
        // A weight multiplies what the levels' squared differences cost without one.
        Kind::Ordinal => {
            let positions = space.positions(0);
            let last = positions.iter().rposition(|x| !x.is_nan()).unwrap_or(0);
            let apart = (positions[last] - positions[0]).powi(2);
            Some(mean_square(&positions, shares) * space.feature_cost(0, 0, last) / apart)
        }
    }
}

/// The mean squared difference of two draws; a missing value is as far from every other as the two
/// ends are from each other.
pub fn mean_square(positions: &[f64], shares: &[f64]) -> f64 {
    let present = || positions.iter().zip(shares).filter(|(x, _)| !x.is_nan());
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    present()
        .filter(|(_, p)| **p > 0.0)
        .for_each(|(x, _)| (low, high) = (low.min(*x), high.max(*x)));
    if high <= low {
        return 0.0;
    }
    let range = (high - low).powi(2);
    // Points are in the order in which their values appeared, which must not matter.
    let mass = exact_sum(present().map(|(_, p)| *p));
    let mean = exact_sum(present().map(|(x, p)| p * x)) / mass;
    let variance = exact_sum(present().map(|(x, p)| p * (x - mean).powi(2)));
    let missing = 2.0 * mass * (1.0 - mass) * range;
    // Half at each end; or a third at each and a third missing.
    let most = if positions.iter().any(|x| x.is_nan()) { 2.0 / 3.0 } else { 0.5 } * range;
    (2.0 * mass * variance + missing).max(LEAST * most)
}

/// A sum in any order.
fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sum = ExactSum::ZERO;
    terms.for_each(|x| sum.add(x));
    sum.value()
}

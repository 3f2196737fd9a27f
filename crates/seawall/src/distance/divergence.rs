//! Distances that do not know how far apart two contexts are.

use super::same_space;
use crate::error::Result;
use crate::population::Population;

/// `½ Σ |p − q|`.
pub fn total_variation(from: &Population, to: &Population) -> Result<f64> {
    same_space(from, to)?;
    let apart = from.weights().iter().zip(to.weights()).map(|(p, q)| (p - q).abs());
    Ok(0.5 * apart.sum::<f64>())
}

/// `KL(to ‖ from) = Σ q log(q/p)`, and how many contexts of the second never occur in the first:
/// it is infinite if there is one.
pub fn kl(from: &Population, to: &Population) -> Result<(f64, usize)> {
    same_space(from, to)?;
    let pairs = || from.weights().iter().zip(to.weights()).filter(|(_, q)| **q > 0.0);
    Ok(match pairs().filter(|(p, _)| **p == 0.0).count() {
        0 => (pairs().map(|(p, q)| q * (q / p).ln()).sum::<f64>().max(0.0), 0),
        missing => (f64::INFINITY, missing),
    })
}

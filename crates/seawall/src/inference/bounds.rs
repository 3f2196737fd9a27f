//! The paper's finite-sample bounds (theorems 3.1, 4.1 and 5.1) as calculators.
//!
//! With probability `1 − δ`, if `n ≥ 2 log(4|X||A|/δ) / (μ_π μ_x)²`,
//!
//! ```text
//! |V̂ − V| ≤ Y_max ( √(2 log(2/δ)/n) + √(|X|/n) + √(4 log(4|X||A|/δ)/(n μ_π μ_x))
//!                  + √(2|Ξ|/(n μ_π μ_x)) )   [ + (log|X| + log|Ξ|)/η for entropic sets ]
//! ```
//!
//! μ_x the smallest mass of a context and μ_π the smallest propensity. Two corrections: the paper
//! shows only `log|X|/η` of the smoothing, and its bracket on λ does not cover the smoothed case.
//! The bounds are very wide: they stand beside the confidence limits, not in their place.

use crate::error::{Error, Result};
use crate::log::Log;

/// What enters the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// n: rows.
    pub rows: f64,
    /// |X|: contexts, those observed.
    pub contexts: usize,
    /// The contexts that mass may move to: what a smoothed set spreads over.
    pub support: usize,
    /// |A|: actions.
    pub actions: usize,
    /// |Ξ|: outcomes.
    pub outcomes: usize,
    /// Y_max: the largest value of an outcome, in size.
    pub largest: f64,
    /// μ_x: the smallest mass of an observed context.
    pub context_mass: f64,
    /// μ_π: the smallest propensity.
    pub propensity: f64,
}

impl Constants {
    /// Estimated from a log and its propensities. The assumption that every context has mass can
    /// only be looked at where somebody was seen.
    ///
    /// `support` is how many contexts mass may move to, seen or not.
    pub fn from_log(log: &Log, propensities: &[f64], support: usize) -> Result<Self> {
        let (found, entries) = (propensities.len(), log.entries().len());
        if found != entries {
            return Err(Error::input(format!("{found} propensities for {entries} entries")));
        }
        let population = log.population()?;
        let masses = || population.weights().iter().copied().filter(|p| *p > 0.0);
        Ok(Constants {
            rows: log.effective_rows(),
            contexts: masses().count(),
            support,
            actions: log.actions().len(),
            outcomes: log.outcomes().len(),
            largest: log.values().iter().fold(0.0, |m: f64, v| m.max(v.abs())),
            context_mass: masses().fold(1.0, f64::min),
            propensity: propensities.iter().copied().fold(1.0, f64::min),
        })
    }
}

/// A bound, term by term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiniteSampleBound {
    /// The sampling of contexts: `Y √(2 log(2/δ)/n)`.
    pub sampling: f64,
    /// Their number: `Y √(|X|/n)`.
    pub contexts: f64,
    /// Estimating every cost at once: `Y √(4 log(4|X||A|/δ)/(n μ_π μ_x))`.
    pub costs: f64,
    /// The number of outcomes: `Y √(2|Ξ|/(n μ_π μ_x))`.
    pub outcomes: f64,
    /// The smoothing of contexts and of costs.
    pub smoothing: f64,
    /// Their sum.
    pub total: f64,
    /// The rows that the theorem asks for before it says anything.
    pub needed: f64,
}

/// The bound at a probability of error δ; `eta` of the sets of contexts and of outcomes, if they
/// are entropic. A difference between a learned policy's value and the best has the same bound.
pub fn finite_sample(
    constants: &Constants,
    delta: f64,
    eta: (Option<f64>, Option<f64>),
) -> Result<FiniteSampleBound> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::config(format!("δ is {delta}; expected a number between 0 and 1")));
    }
    let c = constants;
    let (n, y) = (c.rows, c.largest);
    let pairs = 4.0 * c.contexts as f64 * c.actions as f64 / delta;
    let seen = c.propensity * c.context_mass;
    let sampling = y * (2.0 * (2.0 / delta).ln() / n).sqrt();
    let contexts = y * (c.contexts as f64 / n).sqrt();
    let costs = y * (4.0 * pairs.ln() / (n * seen)).sqrt();
    let outcomes = y * (2.0 * c.outcomes as f64 / (n * seen)).sqrt();
    let smooth = |eta: Option<f64>, count: usize| eta.map_or(0.0, |e| (count as f64).ln() / e);
    let smoothing = smooth(eta.0, c.support) + smooth(eta.1, c.outcomes);
    Ok(FiniteSampleBound {
        sampling,
        contexts,
        costs,
        outcomes,
        smoothing,
        total: sampling + contexts + costs + outcomes + smoothing,
        needed: 2.0 * pairs.ln() / (seen * seen),
    })
}

//! The outcomes that a policy would have met, by self-normalised inverse propensity weights:
//!
//! ```text
//! p_k = Σ_i w_i 1{Y_i = y_k} / Σ_i w_i          w_i = π(A_i|X_i)/π₀(A_i|X_i)
//! ```
//!
//! times what a row weighs. Ratios are clipped where the log's options say so; estimated propensities
//! are taken as given.

use super::super::estimate::Term;
use super::super::evaluator::Evaluator;
use super::Law;
use crate::error::{Error, Result};
use crate::kernel::sum::sum;
use crate::policy::Policy;

/// People weighed by what the policy would have done.
pub(super) struct Weighted<'f> {
    fitted: &'f Evaluator,
    ratios: Vec<f64>,
    /// `Σ_i w_i`, by what rows weigh.
    mass: f64,
    weights: Vec<f64>,
}

impl<'f> Weighted<'f> {
    pub fn new(fitted: &'f Evaluator, policy: &Policy) -> Result<Self> {
        let (ratios, _) = fitted.ratios(policy)?;
        let entries = fitted.log().entries();
        let mass = sum(entries.len(), |i| entries[i].weight * ratios[i]);
        if mass == 0.0 {
            return Err(nobody(policy, "joint-kl"));
        }
        let mut weights = vec![0.0; fitted.log().outcomes().len()];
        for (e, ratio) in entries.iter().zip(&ratios) {
            weights[e.outcome as usize] += e.weight * ratio / mass;
        }
        Ok(Weighted { fitted, ratios, mass, weights })
    }
}

/// Refuses a policy that nobody in the log was treated by.
pub(super) fn nobody(policy: &Policy, set: &str) -> Error {
    let name = policy.name();
    Error::input(format!(
        "policy {name:?}: no row of the log has what it does, so {set} has nobody to weigh"
    ))
}

impl Law for Weighted<'_> {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn by_context(&self, ratios: &[f64]) -> Vec<f64> {
        let log = self.fitted.log();
        let mut weights = vec![0.0; log.contexts().len()];
        for (e, ratio) in log.entries().iter().zip(&self.ratios) {
            weights[e.context as usize] += e.weight * ratio * ratios[e.outcome as usize];
        }
        weights
    }

    fn terms(&self, numbers: &[Vec<f64>]) -> Vec<Vec<Term<'_>>> {
        let entries = self.fitted.log().entries();
        let term = |numbers: &Vec<f64>| {
            let own = entries.iter().zip(&self.ratios);
            own.map(|(entry, ratio)| {
                let value = ratio * numbers[entry.outcome as usize] / self.mass;
                Term { entry, weight: entry.weight, value }
            })
            .collect()
        };
        numbers.iter().map(term).collect()
    }
}

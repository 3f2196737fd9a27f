//! What a policy really cost in a recorded group: its rows' own doubly robust estimate.
//!
//! ```text
//! ȳ_g(π) = mean over the group's rows of  l̂(x) + (π/π₀)(y − m̂(x, a))
//! ```
//!
//! with a model that was fitted without the group, so that its rows correct what it gets wrong. That
//! is unbiased where the propensities are right, whatever the model.

use crate::error::{Error, Result};
use crate::evaluate::{Estimate, Evaluator, Term};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::policy::Policy;

/// A recorded group: its rows, and the propensity of each entry's action.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The rows.
    pub log: &'a Log,
    /// One propensity per entry.
    pub propensities: &'a [f64],
}

impl Rows<'_> {
    /// What a policy cost in the group; by how much more than another if one is given. `fitted` must
    /// know nothing of the group.
    pub fn realised(
        &self,
        fitted: &Evaluator,
        policy: &Policy,
        against: Option<&Policy>,
    ) -> Result<Estimate> {
        let log = self.log;
        log.contexts().same_as(fitted.log().contexts())?;
        if self.propensities.len() != log.entries().len() {
            let (found, entries) = (self.propensities.len(), log.entries().len());
            return Err(Error::input(format!("{found} propensities for {entries} entries")));
        }
        let chances: Matrix = match against {
            None => policy.probabilities().clone(),
            Some(other) => policy.probabilities().minus(other.probabilities()),
        };
        let clip = fitted.options().clip.unwrap_or(f64::INFINITY);
        let values = fitted.plain();
        let direct = chances.weighing(values.matrix());
        let ratio = |of: &Policy, x: usize, a: usize, p: f64| (of.probability(x, a) / p).min(clip);
        let terms = log.entries().iter().zip(self.propensities).map(|(entry, &p)| {
            let (x, a) = (entry.context as usize, entry.action as usize);
            let other = against.map_or(0.0, |other| ratio(other, x, a, p));
            let residual = log.value(entry) - values.at(x, a);
            let value = direct[x] + (ratio(policy, x, a, p) - other) * residual;
            Term { entry, weight: entry.weight, value }
        });
        // One cluster says nothing of the spread between them: then rows tell the noise within it.
        let clusters = log.clusters().filter(|count| *count > 1);
        Ok(Estimate::mean(&terms.collect::<Vec<_>>(), clusters))
    }
}

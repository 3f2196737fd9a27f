//! The effect of one policy against another, modelled as itself.
//!
//! The difference of two separately fitted actions carries the noise of both, and a shrunken model of each is confounded
//! although every confounder is a column. So the difference is regressed itself: on the doubly robust pseudo-outcomes of
//! rows, cross-fitted,
//!
//! ```text
//! Γ_i(a) = m(x_i, a) + 1{A_i = a} (Y_i − m(x_i, a)) / e(a|x_i)          m fitted without the row's fold
//! ψ_i = Σ_a (π − π')(a|x_i) Γ_i(a)
//! ```
//!
//! whose mean given x is the difference of the two policies there if the outcome model or the propensities are right. A
//! constant effect leaves nothing for a shift of contexts to change.

use super::evaluator::Evaluator;
use crate::error::Result;
use crate::log::{Entry, Log};
use crate::policy::Policy;
use crate::progress::Watch;
use crate::space::{Feature, Space};
use std::sync::Arc;

/// What the only action of a log of pseudo-outcomes is called.
pub const EFFECT: &str = "effect";

impl Evaluator {
    /// The log's rows with the pseudo-outcomes of a policy less another's in place of their outcomes, entry by entry in the
    /// log's order, as a log of one action ([`EFFECT`]); None where the log is too small to fold, or has no row of what
    /// one of the policies does.
    pub fn pseudo_outcomes(
        &self,
        policy: &Policy,
        against: &Policy,
        watch: Watch<'_>,
    ) -> Result<Option<Log>> {
        let (log, folds) = (self.log(), self.cross_fits(watch)?);
        let ((ratios, _), (others, _)) = (self.ratios(policy)?, self.ratios(against)?);
        let covered = |ratios: &[f64]| ratios.iter().any(|r| *r > 0.0);
        if folds.is_empty() || !covered(&ratios) || !covered(&others) {
            return Ok(None);
        }
        let chances = policy.probabilities().minus(against.probabilities());
        let mut sums = vec![0.0; log.entries().len()];
        for (values, rows) in folds {
            let direct = chances.weighing(values.matrix());
            for (i, e) in log.entries().iter().enumerate().filter(|(i, _)| rows[*i] > 0.0) {
                let (x, a) = (e.context as usize, e.action as usize);
                let residual = log.value(e) - values.at(x, a);
                sums[i] += rows[i] * (direct[x] + (ratios[i] - others[i]) * residual);
            }
        }
        let values = sums.iter().zip(log.entries()).map(|(sum, e)| sum / e.weight).collect();
        // Each entry has an outcome of its own, so entries stay in the log's order. What says which outcome it is decides
        // how rows are dealt to folds: their place in the order in which the log's own are.
        let rank = |(rank, &at): (usize, &u32)| (at as usize, rank as f64);
        let mut ranks = vec![0.0; sums.len()];
        let dealing = log.dealing_order().iter().enumerate().map(rank);
        dealing.for_each(|(at, rank)| ranks[at] = rank);
        let outcomes = Arc::new(Space::points([Feature::numeric("row")], vec![ranks])?);
        let entry = |(i, e): (usize, &Entry)| Entry { action: 0, outcome: i as u32, ..*e };
        let entries = log.entries().iter().enumerate().map(entry).collect();
        let (contexts, actions) = (log.contexts().clone(), vec![EFFECT.to_owned()]);
        Log::new(contexts, actions, outcomes, values, log.direction(), entries).map(Some)
    }
}

//! Stage 6. Policies: for each context, a probability for each action.

use crate::error::{Error, Result};
use crate::log::Log;
use crate::outcome::Values;
use crate::space::Space;

/// How far the probabilities of a context may be from summing to 1.
const SLACK: f64 = 1e-9;

/// A policy on the contexts of a space, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    name: String,
    actions: usize,
    /// `[context · actions + action]`.
    probabilities: Vec<f64>,
}

impl Policy {
    /// Every action with the same probability.
    pub fn uniform(log: &Log) -> Self {
        let actions = log.actions().len();
        let probabilities = vec![1.0 / actions as f64; log.contexts().len() * actions];
        Policy { name: "uniform".to_owned(), actions, probabilities }
    }

    /// Always the same action.
    pub fn constant(log: &Log, action: &str) -> Result<Self> {
        let (chosen, actions) = (log.action(action)?, log.actions().len());
        let choose = |_| (0..actions).map(move |a| f64::from(u8::from(a == chosen)));
        let probabilities = (0..log.contexts().len()).flat_map(choose).collect();
        Ok(Policy { name: format!("constant:{action}"), actions, probabilities })
    }

    /// The log's own: in each context the shares of the actions taken there; in a context that
    /// was never seen, the shares in the whole log.
    pub fn behaviour(log: &Log) -> Self {
        let actions = log.actions().len();
        let overall: Vec<f64> = log.action_totals().iter().map(|n| n / log.total()).collect();
        let shares = |counts: &[f64]| -> Vec<f64> {
            let total: f64 = counts.iter().sum();
            if total > 0.0 { counts.iter().map(|n| n / total).collect() } else { overall.clone() }
        };
        let probabilities = log.cell_totals().chunks(actions).flat_map(shares).collect();
        Policy { name: "behaviour".to_owned(), actions, probabilities }
    }

    /// In each context the action of the best value. With no restriction on the policy it is
    /// optimal at every context radius: the worst case rises with the values at each point, and
    /// this policy's are the lowest at every point at once.
    pub fn greedy(values: &Values, contexts: usize, higher_is_better: bool) -> Self {
        let actions = values.actions();
        let sign = if higher_is_better { -1.0 } else { 1.0 };
        let mut probabilities = vec![0.0; contexts * actions];
        for context in 0..contexts {
            let mut best = 0;
            for a in 1..actions {
                if sign * values.at(context, a) < sign * values.at(context, best) {
                    best = a;
                }
            }
            probabilities[context * actions + best] = 1.0;
        }
        Policy { name: "greedy".to_owned(), actions, probabilities }
    }

    /// Given probabilities, `[context · actions + action]`; the first bad context is named.
    pub fn table(
        name: impl Into<String>,
        space: &Space,
        actions: usize,
        probabilities: Vec<f64>,
    ) -> Result<Self> {
        if probabilities.len() != space.len() * actions {
            return Err(Error::input(format!(
                "{} probabilities for {} contexts and {actions} actions",
                probabilities.len(),
                space.len()
            )));
        }
        for (context, row) in probabilities.chunks(actions).enumerate() {
            let total: f64 = row.iter().sum();
            let valid = row.iter().all(|p| (0.0..=1.0 + SLACK).contains(p));
            if !valid || (total - 1.0).abs() > SLACK {
                return Err(Error::input(format!(
                    "the probabilities for the context {} are {row:?}; expected numbers from 0 \
                     to 1 that sum to 1",
                    space.describe(context)
                )));
            }
        }
        Ok(Policy { name: name.into(), actions, probabilities })
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The probability of an action in a context.
    pub fn probability(&self, context: usize, action: usize) -> f64 {
        self.probabilities[context * self.actions + action]
    }

    /// `l(x) = Σ_a π(a|x) m(x, a)` for every context.
    pub fn values(&self, values: &Values) -> Vec<f64> {
        let value = |(context, row): (usize, &[f64])| {
            row.iter().enumerate().map(|(a, p)| p * values.at(context, a)).sum()
        };
        self.probabilities.chunks(self.actions).enumerate().map(value).collect()
    }
}

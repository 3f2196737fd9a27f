//! Stage 6. Policies: for each context, a probability for each action.
//!
//! A [`Rule`] says what a policy does in words that hold on any space with the features it looks
//! at: the same for everyone, by group, by a decision tree, by a softmax of linear scores, or
//! context by context. A [`Policy`] is a rule worked out on one space. Rules are saved and
//! loaded as JSON ([`mod@file`]).

mod branch;
pub mod file;
mod partition;
mod rule;
mod softmax;
mod words;

pub use branch::{Branch, Test};
pub use partition::{Partition, Parts};
pub use rule::{Rule, TableRow};
pub(crate) use softmax::softmax;
pub use softmax::{Encoded, Encoding, Softmax, encode};
pub use words::{Outline, chances};

use crate::error::{Error, Result};
use crate::log::Log;
use crate::outcome::Values;
use crate::space::{Space, Value};

/// How far the probabilities of a context may be from summing to 1.
const SLACK: f64 = 1e-9;

/// A policy on the contexts of a space, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    name: String,
    rule: Rule,
    actions: usize,
    /// `[context · actions + action]`.
    probabilities: Vec<f64>,
}

impl Policy {
    /// A rule on a space; the first context whose probabilities are no probabilities is named.
    pub fn new(
        name: impl Into<String>,
        rule: Rule,
        space: &Space,
        actions: &[String],
    ) -> Result<Self> {
        let name = name.into();
        let probabilities =
            rule.probabilities(space, actions).map_err(|e| e.within(format!("policy {name:?}")))?;
        for (context, row) in probabilities.chunks(actions.len()).enumerate() {
            if !are_probabilities(row) {
                return Err(Error::input(format!(
                    "policy {name:?}: the probabilities for the context {} are {row:?}; expected \
                     numbers from 0 to 1 that sum to 1",
                    space.describe(context)
                )));
            }
        }
        Ok(Policy { name, rule, actions: actions.len(), probabilities })
    }

    /// Every action with the same probability.
    pub fn uniform(log: &Log) -> Self {
        let actions = log.actions().len();
        let probabilities = vec![1.0 / actions as f64; log.contexts().len() * actions];
        Policy { name: "uniform".to_owned(), rule: Rule::Uniform, actions, probabilities }
    }

    /// Always the same action.
    pub fn constant(log: &Log, action: &str) -> Result<Self> {
        log.action(action)?;
        let rule = Rule::Constant { action: action.to_owned() };
        Self::new(format!("constant:{action}"), rule, log.contexts(), log.actions())
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
        let totals = log.cell_totals();
        let probabilities: Vec<f64> = totals.chunks(actions).flat_map(shares).collect();
        let seen = |context: usize| totals[context * actions..][..actions].iter().any(|n| *n > 0.0);
        let rule = Rule::table(log.contexts(), &probabilities, seen, Some(overall.clone()));
        Policy { name: "behaviour".to_owned(), rule, actions, probabilities }
    }

    /// In each context the action of the best value. With no restriction on the policy it is
    /// optimal at every context radius: the worst case rises with the values at each point, and
    /// this policy's are the lowest at every point at once.
    pub fn greedy(log: &Log, values: &Values) -> Self {
        let actions = values.actions();
        let sign = log.direction().sign();
        let mut probabilities = vec![0.0; values.contexts() * actions];
        for (context, row) in probabilities.chunks_mut(actions).enumerate() {
            let mut best = 0;
            for a in 1..actions {
                if sign * values.at(context, a) < sign * values.at(context, best) {
                    best = a;
                }
            }
            row[best] = 1.0;
        }
        let rule = Rule::table(log.contexts(), &probabilities, |_| true, None);
        Policy { name: "greedy".to_owned(), rule, actions, probabilities }
    }

    /// Given probabilities, `[context · actions + action]`.
    pub fn table(
        name: impl Into<String>,
        space: &Space,
        actions: &[String],
        probabilities: &[f64],
    ) -> Result<Self> {
        if probabilities.len() != space.len() * actions.len() {
            return Err(Error::input(format!(
                "{} probabilities for {} contexts and {} actions",
                probabilities.len(),
                space.len(),
                actions.len()
            )));
        }
        Self::new(name, Rule::table(space, probabilities, |_| true, None), space, actions)
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same policy under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Policy { name: name.into(), ..self }
    }

    /// What the policy does, in words that hold on other spaces too.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The probability of an action in a context.
    pub fn probability(&self, context: usize, action: usize) -> f64 {
        self.probabilities[context * self.actions + action]
    }

    /// The probabilities of a context's actions.
    pub fn row(&self, context: usize) -> &[f64] {
        &self.probabilities[context * self.actions..][..self.actions]
    }

    /// `l(x) = Σ_a π(a|x) m(x, a)` for every context.
    pub fn values(&self, values: &Values) -> Vec<f64> {
        let value = |(context, row): (usize, &[f64])| {
            row.iter().enumerate().map(|(a, p)| p * values.at(context, a)).sum()
        };
        self.probabilities.chunks(self.actions).enumerate().map(value).collect()
    }
}

/// Whether numbers are from 0 to 1 and sum to 1.
fn are_probabilities(row: &[f64]) -> bool {
    let total: f64 = row.iter().sum();
    row.iter().all(|p| (0.0..=1.0 + SLACK).contains(p)) && (total - 1.0).abs() <= SLACK
}

/// A value as it is written in rules: the text of a level or number, None if missing.
fn written(value: Value<'_>) -> Option<String> {
    match value {
        Value::Number(x) => Some(x.to_string()),
        Value::Level(text) => Some(text.to_owned()),
        Value::Missing => None,
    }
}

/// Whether a value is the one written.
fn is(value: Value<'_>, text: Option<&str>) -> bool {
    match (value, text) {
        (Value::Missing, None) => true,
        (Value::Level(level), Some(text)) => level == text,
        (Value::Number(x), Some(text)) => text.parse() == Ok(x),
        _ => false,
    }
}

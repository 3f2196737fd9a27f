//! Stage 6. Policies: for each context, a probability for each action.
//!
//! A [`Rule`] says what a policy does in words that hold on any space with the features it looks
//! at: the same for everyone, by group, by a decision tree, by a softmax of linear scores, or
//! context by context. A [`Policy`] is a rule worked out on one space. Rules are saved and
//! loaded as JSON ([`mod@file`]).
//!
//! ```
//! use seawall::policy::file::PolicyFile;
//! use seawall::policy::{Partition, Parts, Policy, Rule};
//! use seawall::{Feature, Space};
//! use std::sync::Arc;
//! let space = Arc::new(Space::grid([Feature::numeric("age").levels([40.0, 60.0, 80.0])])?);
//! let actions = ["treat", "wait"].map(String::from);
//! let parts = Parts::Cuts(vec![50.0]);
//! let by = vec![Partition { feature: "age".into(), missing: false, parts }];
//! let rule = Rule::Groups { by, probabilities: vec![vec![0.0, 1.0], vec![0.8, 0.2]] };
//! let policy = Policy::new("mostly the old", rule, &space, &actions)?;
//! assert_eq!(policy.row(2), [0.8, 0.2]);
//!
//! let json = PolicyFile::new(&policy, &space, &actions)?.to_json()?;
//! let again = PolicyFile::from_json(&json)?.on(&space, &actions)?;
//! assert_eq!(again.probabilities(), policy.probabilities());
//! # Ok::<(), seawall::Error>(())
//! ```

mod branch;
pub mod file;
mod partition;
mod rule;
mod softmax;
mod steps;
mod words;

pub use branch::{Branch, Test};
pub use partition::{Partition, Parts};
pub use rule::Rule;
pub use softmax::Softmax;
pub(crate) use softmax::{EncodedRows, softmax};

#[doc(hidden)]
pub use self::{
    rule::TableRow,
    softmax::{Encoded, Encoding, encode},
    words::{Outline, chances},
};

use crate::error::{Error, Result};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::outcome::Values;
use crate::space::{Space, Value};
use std::sync::Arc;

/// How far the probabilities of a context may be from summing to 1.
const SLACK: f64 = 1e-9;

/// A policy on the contexts of a space, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    name: String,
    rule: Rule,
    space: Arc<Space>,
    probabilities: Matrix,
}

impl Policy {
    /// A rule on a space; the first context whose probabilities are no probabilities is named.
    pub fn new(
        name: impl Into<String>,
        rule: Rule,
        space: &Arc<Space>,
        actions: &[String],
    ) -> Result<Self> {
        let name = name.into();
        let probabilities = rule
            .probabilities(space, actions)
            .and_then(|cells| Matrix::new(space.len(), actions.len(), cells))
            .map_err(|e| e.within(format!("policy {name:?}")))?;
        for (context, row) in probabilities.rows().enumerate() {
            if !are_probabilities(row) {
                return Err(Error::input(format!(
                    "policy {name:?}: the probabilities for the context {} are {row:?}; expected \
                     numbers from 0 to 1 that sum to 1",
                    space.describe(context)
                )));
            }
        }
        Ok(Policy { name, rule, space: space.clone(), probabilities })
    }

    /// Every action with the same probability.
    pub fn uniform(log: &Log) -> Self {
        let (contexts, actions) = (log.contexts(), log.actions().len());
        let probabilities = Matrix::from_fn(contexts.len(), actions, |_, _| 1.0 / actions as f64);
        let (name, rule) = ("uniform".to_owned(), Rule::Uniform);
        Policy { name, rule, space: contexts.clone(), probabilities }
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
        let (contexts, actions) = (log.contexts(), log.actions().len());
        let overall: Vec<f64> = log.action_totals().iter().map(|n| n / log.total()).collect();
        let totals = log.cell_totals();
        let share = |context: usize, action: usize| {
            let counts = totals.row(context);
            let total: f64 = counts.iter().sum();
            if total > 0.0 { counts[action] / total } else { overall[action] }
        };
        let probabilities = Matrix::from_fn(contexts.len(), actions, share);
        let seen = |context: usize| totals.row(context).iter().any(|n| *n > 0.0);
        let rule = Rule::listed(contexts, &probabilities, seen, Some(overall.clone()));
        Policy { name: "behaviour".to_owned(), rule, space: contexts.clone(), probabilities }
    }

    /// In each context the action of the best value. With no restriction on the policy it is
    /// optimal at every context radius: the worst case rises with the values at each point, and
    /// this policy's are the lowest at every point at once.
    pub fn greedy(log: &Log, values: &Values) -> Result<Self> {
        let (contexts, actions) = (log.contexts(), values.actions());
        contexts.same_as(values.space())?;
        if actions != log.actions().len() {
            let wanted = log.actions().len();
            return Err(Error::input(format!("values of {actions} actions for a log of {wanted}")));
        }
        let sign = log.direction().sign();
        let mut probabilities = Matrix::from_fn(contexts.len(), actions, |_, _| 0.0);
        for context in 0..contexts.len() {
            let mut best = 0;
            for a in 1..actions {
                if sign * values.at(context, a) < sign * values.at(context, best) {
                    best = a;
                }
            }
            probabilities.row_mut(context)[best] = 1.0;
        }
        let rule = Rule::listed(contexts, &probabilities, |_| true, None);
        Ok(Policy { name: "greedy".to_owned(), rule, space: contexts.clone(), probabilities })
    }

    /// Given probabilities.
    pub fn table(
        name: impl Into<String>,
        space: &Arc<Space>,
        actions: &[String],
        probabilities: &Matrix,
    ) -> Result<Self> {
        let rule = Rule::table(space, probabilities, |_| true, None)?;
        Self::new(name, rule, space, actions)
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

    /// The contexts that it is worked out on.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The probabilities of every context's actions.
    pub fn probabilities(&self) -> &Matrix {
        &self.probabilities
    }

    /// The probability of an action in a context.
    pub fn probability(&self, context: usize, action: usize) -> f64 {
        self.probabilities.at(context, action)
    }

    /// The probabilities of a context's actions.
    pub fn row(&self, context: usize) -> &[f64] {
        self.probabilities.row(context)
    }

    /// `l(x) = Σ_a π(a|x) m(x, a)` for every context. Values of another space are refused by the
    /// feature in which it differs.
    pub fn values(&self, values: &Values) -> Result<Vec<f64>> {
        self.check_against(values.space(), values.actions())?;
        Ok(self.probabilities.weighing(values.matrix()))
    }

    /// Refuses other contexts, or another number of actions, than the policy's own.
    pub(crate) fn check_against(&self, space: &Space, actions: usize) -> Result<()> {
        let of_policy = |e: Error| e.within(format!("policy {:?}", self.name));
        self.space.same_as(space).map_err(of_policy)?;
        let own = self.probabilities.actions();
        if own == actions {
            Ok(())
        } else {
            Err(of_policy(Error::input(format!("it has {own} actions, not {actions}"))))
        }
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

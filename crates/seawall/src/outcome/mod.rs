//! Stage 5. Outcome models: what each action would cost in each context, robustly.
//!
//! A model cuts the contexts, for each action, into leaves that share their outcomes: every
//! context a leaf of its own ([`cells`]), or the leaves of a regression tree ([`tree`]). A leaf
//! keeps its empirical outcomes, so that a radius on outcomes can act on them:
//!
//! ```text
//! m(x, a) = worst case of the value over the outcomes of the leaf of (x, a), radius ε_c
//! ```
//!
//! A radius of 0 gives the plain mean. Contexts whose leaf has no outcomes are [`Unseen`].

mod cells;
mod tree;

pub use cells::cells;
pub use tree::{Cut, Split, Tree, TreeSettings, tree};

use crate::ambiguity::{Ambiguity, Detail, Direction, Problem, Settings};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::population::Population;
use rayon::prelude::*;

/// No leaf.
pub(crate) const NONE: u32 = u32::MAX;

/// What to do about contexts where an action was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// Refuse, and say how many there are.
    #[default]
    Error,
    /// The action's mean over the whole log, at the same radius.
    Mean,
    /// The worst value of any outcome.
    Worst,
}

/// Contexts that share their outcomes under one action.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The action.
    pub action: usize,
    /// The outcomes seen, each with its weight.
    pub outcomes: Vec<(u32, f64)>,
}

impl Leaf {
    /// The weight of the rows in here.
    pub fn weight(&self) -> f64 {
        self.outcomes.iter().map(|o| o.1).sum()
    }
}

/// A fitted model: which leaf each context is in under each action.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) actions: usize,
    pub(crate) contexts: usize,
    /// `[action · contexts + context]`, `NONE` where the action was never seen.
    pub(crate) leaf_of: Vec<u32>,
    pub(crate) leaves: Vec<Leaf>,
    /// The trees, one per action, if that is what the model is.
    pub(crate) trees: Vec<Tree>,
}

impl Model {
    /// The leaf of a context under an action, if the action was seen there.
    pub fn leaf(&self, context: usize, action: usize) -> Option<&Leaf> {
        self.leaves.get(self.leaf_of[action * self.contexts + context] as usize)
    }

    /// Every leaf.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The regression trees, one per action; none if the model is made of cells.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// How many contexts each action was never seen in.
    pub fn unseen(&self) -> Vec<usize> {
        let row = |row: &[u32]| row.iter().filter(|&&leaf| leaf == NONE).count();
        self.leaf_of.chunks(self.contexts).map(row).collect()
    }

    /// The robust value of every context and action, for one set of outcomes.
    pub fn values(
        &self,
        log: &Log,
        set: Ambiguity,
        unseen: Unseen,
        settings: &Settings<'_>,
    ) -> Result<Values> {
        let whole = |action: usize| {
            let of = log.entries().iter().filter(|e| e.action as usize == action);
            merge(of.map(|e| (e.outcome, e.weight)))
        };
        let leaf_values: Vec<f64> = self
            .leaves
            .par_iter()
            .map(|leaf| worst(log, &leaf.outcomes, set, settings))
            .collect::<Result<_>>()?;
        let missing = self.unseen();
        let fill: Vec<f64> = match unseen {
            Unseen::Error if missing.iter().any(|&n| n > 0) => {
                let counts = log.actions().iter().zip(&missing).filter(|(_, n)| **n > 0);
                let words: Vec<String> =
                    counts.map(|(name, n)| format!("{n} for {name:?}")).collect();
                return Err(Error::config(format!(
                    "of {} contexts some were never seen with an action: {}; choose \
                     unseen = \"mean\" or unseen = \"worst\", or a tree model",
                    self.contexts,
                    words.join(", ")
                )));
            }
            Unseen::Error => vec![f64::NAN; self.actions],
            Unseen::Mean => (0..self.actions)
                .map(|a| worst(log, &whole(a), set, settings))
                .collect::<Result<_>>()?,
            Unseen::Worst => {
                let sign = if log.direction() == Direction::Cost { 1.0 } else { -1.0 };
                let worst = log.values().iter().map(|v| sign * v).fold(f64::NEG_INFINITY, f64::max);
                vec![sign * worst; self.actions]
            }
        };
        let mut values = Vec::with_capacity(self.leaf_of.len());
        for (action, row) in self.leaf_of.chunks(self.contexts).enumerate() {
            let value =
                |&leaf: &u32| leaf_values.get(leaf as usize).copied().unwrap_or(fill[action]);
            values.extend(row.iter().map(value));
        }
        Ok(Values { contexts: self.contexts, values })
    }
}

/// `m(x, a)` for every context and action.
#[derive(Clone, Debug)]
pub struct Values {
    contexts: usize,
    /// `[action · contexts + context]`.
    values: Vec<f64>,
}

impl Values {
    /// Values that the user brings: one row of contexts per action.
    pub fn new(contexts: usize, values: Vec<f64>) -> Result<Self> {
        if contexts == 0 || !values.len().is_multiple_of(contexts) {
            return Err(Error::input(format!(
                "{} values do not make rows of {contexts} contexts",
                values.len()
            )));
        }
        if let Some(v) = values.iter().find(|v| !v.is_finite()) {
            return Err(Error::input(format!("a value is {v}; expected a finite number")));
        }
        Ok(Values { contexts, values })
    }

    /// The value of an action in a context.
    pub fn at(&self, context: usize, action: usize) -> f64 {
        self.values[action * self.contexts + context]
    }

    /// The values of an action, one per context.
    pub fn action(&self, action: usize) -> &[f64] {
        &self.values[action * self.contexts..][..self.contexts]
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        self.values.len() / self.contexts
    }
}

/// The worst case of the log's values over outcomes around those of a leaf.
fn worst(
    log: &Log,
    outcomes: &[(u32, f64)],
    set: Ambiguity,
    settings: &Settings<'_>,
) -> Result<f64> {
    if set.radius() == 0.0 {
        let total: f64 = outcomes.iter().map(|o| o.1).sum();
        let mean = |o: &(u32, f64)| log.values()[o.0 as usize] * (o.1 / total);
        return Ok(outcomes.iter().map(mean).sum());
    }
    let mut weights = vec![0.0; log.outcomes().len()];
    outcomes.iter().for_each(|&(outcome, weight)| weights[outcome as usize] += weight);
    let population = Population::from_weights(log.outcomes().clone(), weights)?;
    let problem = Problem::new(&population, log.values())?.direction(log.direction());
    let settings = Settings { detail: Detail::Value, watch: None, ..*settings };
    Ok(set.worst_case(&problem, &settings)?.value)
}

/// Adds up the weights of equal outcomes, in order of the outcomes.
pub(crate) fn merge(outcomes: impl Iterator<Item = (u32, f64)>) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = outcomes.collect();
    all.sort_by_key(|o| o.0);
    let mut merged: Vec<(u32, f64)> = Vec::new();
    for (outcome, weight) in all {
        match merged.last_mut() {
            Some(last) if last.0 == outcome => last.1 += weight,
            _ => merged.push((outcome, weight)),
        }
    }
    merged
}

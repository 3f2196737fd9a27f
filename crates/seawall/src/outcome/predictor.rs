//! Robust values at any combination of levels, listed in a support or not.
//!
//! A product of features may have far more combinations than can be enumerated; the leaves of
//! regression trees still say what each would cost.

use super::{Model, Unseen, Values};
use crate::ambiguity::{Ambiguity, Settings};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::outcome::Tree;

/// What each action would cost anywhere.
pub struct Predictor {
    /// Each action's tree, and the value of each of its nodes.
    trees: Vec<(Tree, Vec<f64>)>,
}

impl Predictor {
    /// Of a model of trees: no other says anything about places never seen.
    pub fn new(log: &Log, model: &Model, set: Ambiguity, settings: &Settings<'_>) -> Result<Self> {
        let trees = model.leaves().map_or(&[][..], |leaves| leaves.trees());
        if trees.is_empty() || trees.iter().any(Tree::is_empty) {
            return Err(Error::config(
                "a support that can only be sampled needs a tree model: kind = \"tree\" in [model]",
            ));
        }
        let values: Values = model.values(log, set, Unseen::Error, settings)?;
        let space = log.contexts();
        let of = |(action, tree): (usize, &Tree)| {
            let mut of_node = vec![f64::NAN; tree.len()];
            for context in 0..space.len() {
                of_node[tree.leaf(space, context)] = values.at(context, action);
            }
            (tree.clone(), of_node)
        };
        Ok(Predictor { trees: trees.iter().enumerate().map(of).collect() })
    }

    /// The value of an action at the place of these codes.
    pub(crate) fn at(&self, log: &Log, codes: &[f64], action: usize) -> f64 {
        let (tree, values) = &self.trees[action];
        values[tree.leaf_of(log.contexts(), |feature| codes[feature])]
    }
}

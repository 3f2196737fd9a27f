//! Robust values at any combination of levels, listed in a support or not.
//!
//! A product of features may have far more combinations than can be enumerated; the leaves of
//! regression trees still say what each would cost.

use super::{Model, Unseen, Values};
use crate::ambiguity::{Ambiguity, Settings};
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::outcome::Tree;
use crate::space::Space;
use std::sync::Arc;

/// What each action would cost anywhere.
pub struct Predictor {
    /// Each action's tree, and the value of each of its nodes.
    trees: Vec<(Tree, Vec<f64>)>,
    /// Where the log's contexts are.
    contexts: Arc<Space>,
}

impl Predictor {
    /// Of a model of trees: no other says anything about places never seen.
    pub fn new(log: &Log, model: &Model, costs: Ambiguity, settings: Settings<'_>) -> Result<Self> {
        let trees = model.leaves().map_or(&[][..], |leaves| leaves.trees());
        if trees.is_empty() || trees.iter().any(Tree::is_empty) {
            return Err(Error::config("a support that can only be sampled needs a tree model")
                .advise(Field::Model, &["tree"]));
        }
        let values: Values = model.values(log, costs, Unseen::Error, settings)?;
        let space = log.contexts();
        let of = |(action, tree): (usize, &Tree)| {
            let mut of_node = vec![f64::NAN; tree.len()];
            for context in 0..space.len() {
                of_node[tree.leaf(space, context)] = values.at(context, action);
            }
            (tree.clone(), of_node)
        };
        let trees = trees.iter().enumerate().map(of).collect();
        Ok(Predictor { trees, contexts: space.clone() })
    }

    /// Refuses another log than that it was made for, by the feature in which it differs.
    pub(crate) fn check_against(&self, log: &Log) -> Result<()> {
        self.contexts.same_as(log.contexts())?;
        let (found, actions) = (self.trees.len(), log.actions().len());
        match found == actions {
            true => Ok(()),
            false => {
                Err(Error::input(format!("a model of {found} actions for a log of {actions}")))
            }
        }
    }

    /// The value of an action at the place of these codes.
    pub(crate) fn at(&self, codes: &[f64], action: usize) -> f64 {
        let (tree, values) = &self.trees[action];
        values[tree.leaf_of(&self.contexts, |feature| codes[feature])]
    }
}

//! Robust values at any combination of levels, listed in a support or not.
//!
//! A product of features may have far more combinations than can be enumerated; trees, forests and
//! additive models still say what each would cost.

use super::{Additive, Boosted, Forest, Model, Unseen, Values};
use crate::ambiguity::{Settings, Shift};
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::outcome::Tree;
use crate::space::Space;
use std::sync::Arc;

/// What each action would cost anywhere.
pub struct Predictor {
    anywhere: Anywhere,
    /// How many actions there are.
    actions: usize,
    /// Where the log's contexts are.
    contexts: Arc<Space>,
}

/// What says so.
enum Anywhere {
    /// Each action's tree, and the value of each of its nodes.
    Trees(Vec<(Tree, Vec<f64>)>),
    Forest(Forest),
    Boosted(Boosted),
    Additive(Additive),
}

impl Predictor {
    /// Of a model that says something about places never seen: any but cells and predictions, and
    /// a forest only where outcomes do not shift, since elsewhere each place is a problem of its own.
    pub fn new(log: &Log, model: &Model, costs: Shift, settings: Settings<'_>) -> Result<Self> {
        // Refuses another log, a cost radius that the model cannot have, and actions without rows.
        let values = || model.values(log, costs, Unseen::Error, settings);
        let anywhere = match model {
            Model::Forest(_) if costs.radius > 0.0 || !costs.set.stays_at_zero() => {
                let what = "is not 0: at places that are drawn and not listed, a forest has plain \
                            means only";
                return Err(Error::field(Field::CostRadius, what).advise(Field::Model, &["tree"]));
            }
            Model::Forest(forest) => values().map(|_| Anywhere::Forest(forest.clone()))?,
            Model::Boosted(boosted) => values().map(|_| Anywhere::Boosted(boosted.clone()))?,
            Model::Additive(additive) => values().map(|_| Anywhere::Additive(additive.clone()))?,
            Model::Leaves(leaves)
                if !leaves.trees().is_empty() && !leaves.trees().iter().any(Tree::is_empty) =>
            {
                Anywhere::Trees(of_trees(log, leaves.trees(), &values()?))
            }
            _ => {
                let what = "a support that can only be sampled needs a model that speaks of \
                            contexts never seen";
                return Err(Error::config(what).advise(Field::Model, &["tree", "additive"]));
            }
        };
        let (actions, contexts) = (log.actions().len(), log.contexts().clone());
        Ok(Predictor { anywhere, actions, contexts })
    }

    /// Refuses another log than that it was made for, by the feature in which it differs.
    pub(crate) fn check_against(&self, log: &Log) -> Result<()> {
        self.contexts.same_as(log.contexts())?;
        let (found, actions) = (self.actions, log.actions().len());
        if found == actions {
            Ok(())
        } else {
            Err(Error::input(format!("a model of {found} actions for a log of {actions}")))
        }
    }

    /// The value of an action at the place of these codes.
    pub(crate) fn at(&self, codes: &[f64], action: usize) -> f64 {
        match &self.anywhere {
            Anywhere::Trees(trees) => {
                let (tree, values) = &trees[action];
                values[tree.leaf_of(&self.contexts, |feature| codes[feature])]
            }
            Anywhere::Forest(forest) => forest.mean_at(codes, action),
            Anywhere::Boosted(boosted) => boosted.mean_at(codes, action),
            Anywhere::Additive(additive) => additive.mean_at(codes, action),
        }
    }
}

/// Each tree, and the value of each of its nodes.
fn of_trees(log: &Log, trees: &[Tree], values: &Values) -> Vec<(Tree, Vec<f64>)> {
    let space = log.contexts();
    let of = |(action, tree): (usize, &Tree)| {
        let mut of_node = vec![f64::NAN; tree.len()];
        for context in 0..space.len() {
            of_node[tree.leaf(space, context)] = values.at(context, action);
        }
        (tree.clone(), of_node)
    };
    trees.iter().enumerate().map(of).collect()
}

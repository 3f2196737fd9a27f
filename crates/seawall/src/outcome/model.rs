//! A fitted outcome model.

use super::values::{filled, unseen_in};
use super::{Additive, Boosted, Forest, Leaves, Predictions, Side, Unseen, Values, leaf};
use crate::ambiguity::{Settings, Shift};
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::space::Space;

/// A fitted model.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Model {
    /// Leaves with their empirical outcomes.
    Leaves(Leaves),
    /// Averaged trees, with mixtures of their leaves' outcomes.
    Forest(Forest),
    /// Boosted trees: values only.
    Boosted(Boosted),
    /// An additive model: values only.
    Additive(Additive),
    /// Values as the user gave them.
    Predictions(Predictions),
}

impl Model {
    /// The leaves, if each context has one of its own under each action.
    pub fn leaves(&self) -> Option<&Leaves> {
        match self {
            Model::Leaves(leaves) => Some(leaves),
            _ => None,
        }
    }

    /// The rows that a context's value under an action hangs on: those of its leaf, or of its
    /// leaves on average; None for a model without leaves.
    pub fn rows_behind(&self, context: usize, action: usize) -> Option<f64> {
        match self {
            Model::Leaves(leaves) => {
                let leaf = leaves.leaf_of(context, action);
                Some(leaf.map_or(0.0, |leaf| leaves.all()[leaf].weight()))
            }
            Model::Forest(forest) => Some(forest.rows_behind(context, action)),
            _ => None,
        }
    }

    /// How many contexts each action has no value of its own in.
    pub fn unseen(&self) -> Vec<usize> {
        match self {
            Model::Leaves(leaves) => leaves.unseen(),
            Model::Forest(forest) => forest.unseen(),
            Model::Boosted(boosted) => unseen_in(boosted.means()),
            Model::Additive(additive) => unseen_in(additive.means()),
            Model::Predictions(predictions) => predictions.unseen(),
        }
    }

    /// How many of some contexts each action has no value of its own in.
    pub fn unseen_at(&self, contexts: &[usize]) -> Vec<usize> {
        let count = |action: usize| {
            let unseen = |&&context: &&usize| match self {
                Model::Leaves(leaves) => leaves.leaf_of(context, action).is_none(),
                Model::Forest(forest) => forest.means().at(context, action).is_nan(),
                Model::Boosted(boosted) => boosted.means().at(context, action).is_nan(),
                Model::Additive(additive) => additive.means().at(context, action).is_nan(),
                Model::Predictions(predictions) => predictions.is_unseen(context, action),
            };
            contexts.iter().filter(unseen).count()
        };
        (0..self.unseen().len()).map(count).collect()
    }

    /// The robust value of every context and action, for one set of outcomes: the worst mean.
    pub fn values(
        &self,
        log: &Log,
        costs: Shift,
        unseen: Unseen,
        settings: Settings<'_>,
    ) -> Result<Values> {
        self.extremes(log, costs, Side::Worst, unseen, settings)
    }

    /// The worst or the best mean of every context and action within one set of outcomes.
    pub fn extremes(
        &self,
        log: &Log,
        costs: Shift,
        side: Side,
        unseen: Unseen,
        settings: Settings<'_>,
    ) -> Result<Values> {
        self.check_against(log)?;
        let missing = self.unseen();
        let (fill, slack) = fill(log, &missing, costs, side, unseen, settings)?;
        let mut values = match self {
            Model::Leaves(leaves) => leaves.values(log, costs, side, &fill, settings)?,
            Model::Forest(forest) => forest.values(log, costs, side, &fill, settings)?,
            Model::Boosted(b) => Values {
                everywhere: Some(b.everywhere(&fill)),
                ..filled("boosted trees", b.means(), log, costs, &fill)?
            },
            Model::Additive(a) => Values {
                everywhere: Some(a.everywhere(&fill)),
                ..filled("additive models", a.means(), log, costs, &fill)?
            },
            Model::Predictions(predictions) => predictions.values(log, costs, &fill)?,
        };
        values.slack = values.slack.max(slack);
        Ok(values)
    }

    /// Refuses another log than that it was fitted to.
    fn check_against(&self, log: &Log) -> Result<()> {
        match self {
            Model::Leaves(leaves) => leaves.check_against(log),
            Model::Forest(forest) => {
                let (contexts, outcomes) = forest.space();
                outcomes
                    .same_as(log.outcomes())
                    .map_err(|e| e.within("outcomes of another log"))?;
                same_log(contexts, forest.means().actions(), log)
            }
            Model::Boosted(b) => same_log(b.space(), b.means().actions(), log),
            Model::Additive(a) => same_log(a.space(), a.means().actions(), log),
            Model::Predictions(predictions) => predictions.check_against(log),
        }
    }
}

/// The error that of so many contexts some have no value for an action.
pub(crate) fn lacking(log: &Log, contexts: usize, missing: &[usize]) -> Error {
    let counts = log.actions().iter().zip(missing).filter(|(_, n)| **n > 0);
    let words: Vec<String> = counts.map(|(name, n)| format!("{n} for {name:?}")).collect();
    let (all, elsewhere) = if contexts == log.contexts().len() {
        ("contexts", "the support of observed contexts or ")
    } else {
        ("observed contexts", "")
    };
    Error::config(format!(
        "of {contexts} {all} some have no outcome or prediction for an action: {}; say what \
         stands in there, or use {elsewhere}a tree model",
        words.join(", ")
    ))
    .advise(Field::Unseen, &["mean", "worst"])
}

/// Refuses a log with other contexts or actions than these.
fn same_log(contexts: &Space, found: usize, log: &Log) -> Result<()> {
    contexts.same_as(log.contexts()).map_err(|e| e.within("contexts of another log"))?;
    let actions = log.actions().len();
    if found == actions {
        Ok(())
    } else {
        Err(Error::input(format!("a model of {found} actions for a log of {actions}")))
    }
}

/// What stands in where an action was never seen: one value per action, and by how much they may be
/// too bad.
fn fill(
    log: &Log,
    missing: &[usize],
    costs: Shift,
    side: Side,
    unseen: Unseen,
    settings: Settings<'_>,
) -> Result<(Vec<f64>, f64)> {
    if missing.iter().all(|&n| n == 0) {
        return Ok((vec![f64::NAN; missing.len()], 0.0));
    }
    match unseen {
        Unseen::Error => Err(lacking(log, log.contexts().len(), missing)),
        Unseen::Mean => {
            let worst = |action| leaf::whole(log, action).extreme(log, costs, side, settings);
            let all: Vec<(f64, f64)> = (0..missing.len()).map(worst).collect::<Result<_>>()?;
            let slack = all.iter().map(|v| v.1).fold(0.0, f64::max);
            Ok((all.into_iter().map(|v| v.0).collect(), slack))
        }
        Unseen::Worst => {
            let sign = log.direction().sign();
            let worst = log.values().iter().map(|v| sign * v).fold(f64::NEG_INFINITY, f64::max);
            Ok((vec![sign * worst; missing.len()], 0.0))
        }
    }
}

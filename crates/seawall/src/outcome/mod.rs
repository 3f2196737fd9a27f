//! Stage 5. Outcome models: what each action would cost in each context, robustly.
//!
//! A model cuts the contexts, for each action, into leaves that share their outcomes
//! ([`Leaves`]): every context a leaf of its own ([`cells`]), or the leaves of a regression tree
//! ([`tree`], its settings [`choose`]n by cross-validation if wanted). Or it is a [`Table`] that
//! the user brings. A [`Recipe`] says which, so that a model can be fitted again on other rows.
//!
//! ```text
//! m(x, a) = worst case of the value over the outcomes of the leaf of (x, a), radius ε_c
//! ```
//!
//! A radius of 0 gives the plain mean. Contexts whose leaf has no outcomes are [`Unseen`].

mod cells;
mod choose;
mod leaves;
mod predictor;
mod table;
mod tally;
mod tree;

pub use cells::cells;
pub use choose::{Choice, choose};
pub use leaves::{Leaf, Leaves};
pub use predictor::Predictor;
pub use table::Table;
pub use tree::{Cut, Split, Tree, TreeSettings, tree};

use crate::ambiguity::{Ambiguity, Settings};
use crate::error::{Error, Result};
use crate::log::Log;

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

/// How a model is made from a log.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action, with the settings of each.
    Tree(Vec<TreeSettings>),
    /// Values that the user brings; the log changes nothing.
    Table(Table),
}

impl Recipe {
    /// Fits the model to a log.
    pub fn fit(&self, log: &Log) -> Result<Model> {
        Ok(match self {
            Recipe::Cells => Model::Leaves(cells(log)),
            Recipe::Tree(settings) => Model::Leaves(tree(log, settings)?),
            Recipe::Table(table) => Model::Table(table.clone()),
        })
    }
}

/// A fitted model.
#[derive(Clone, Debug)]
pub enum Model {
    /// Leaves with their empirical outcomes.
    Leaves(Leaves),
    /// Values as the user gave them.
    Table(Table),
}

impl Model {
    /// The leaves, if the model has any.
    pub fn leaves(&self) -> Option<&Leaves> {
        match self {
            Model::Leaves(leaves) => Some(leaves),
            Model::Table(_) => None,
        }
    }

    /// How many contexts each action has no value of its own in.
    pub fn unseen(&self) -> Vec<usize> {
        match self {
            Model::Leaves(leaves) => leaves.unseen(),
            Model::Table(table) => table.unseen(),
        }
    }

    /// The robust value of every context and action, for one set of outcomes.
    pub fn values(
        &self,
        log: &Log,
        set: Ambiguity,
        unseen: Unseen,
        settings: &Settings<'_>,
    ) -> Result<Values> {
        let fill = fill(log, &self.unseen(), set, unseen, settings)?;
        match self {
            Model::Leaves(leaves) => leaves.values(log, set, &fill, settings),
            Model::Table(table) => table.values(set, &fill),
        }
    }
}

/// What stands in where an action was never seen: one value per action.
fn fill(
    log: &Log,
    missing: &[usize],
    set: Ambiguity,
    unseen: Unseen,
    settings: &Settings<'_>,
) -> Result<Vec<f64>> {
    if missing.iter().all(|&n| n == 0) {
        return Ok(vec![f64::NAN; missing.len()]);
    }
    match unseen {
        Unseen::Error => {
            let counts = log.actions().iter().zip(missing).filter(|(_, n)| **n > 0);
            let words: Vec<String> = counts.map(|(name, n)| format!("{n} for {name:?}")).collect();
            Err(Error::config(format!(
                "of {} contexts some have no outcome or prediction for an action: {}; choose \
                 unseen = \"mean\" or unseen = \"worst\" in [model], or a tree model",
                log.contexts().len(),
                words.join(", ")
            )))
        }
        Unseen::Mean => (0..missing.len())
            .map(|action| leaves::whole(log, action).worst(log, set, settings).map(|v| v.0))
            .collect(),
        Unseen::Worst => {
            let sign = log.direction().sign();
            let worst = log.values().iter().map(|v| sign * v).fold(f64::NEG_INFINITY, f64::max);
            Ok(vec![sign * worst; missing.len()])
        }
    }
}

/// `m(x, a)` for every context and action.
#[derive(Clone, Debug)]
pub struct Values {
    contexts: usize,
    /// `[action · contexts + context]`.
    values: Vec<f64>,
    gap: f64,
    smoothing: f64,
}

impl Values {
    /// One row of contexts per action.
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
        Ok(Values { contexts, values, gap: 0.0, smoothing: 0.0 })
    }

    /// The value of an action in a context.
    pub fn at(&self, context: usize, action: usize) -> f64 {
        self.values[action * self.contexts + context]
    }

    /// The values of an action, one per context.
    pub fn action(&self, action: usize) -> &[f64] {
        &self.values[action * self.contexts..][..self.contexts]
    }

    /// The number of contexts.
    pub fn contexts(&self) -> usize {
        self.contexts
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        self.values.len() / self.contexts
    }

    /// The values are on the safe side of the true worst cases by at most this.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Values over an entropic set are on the unsafe side of the exact worst cases by at most
    /// this, `log |Ξ| / η`; 0 for any other set.
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }
}

//! Stage 5. Outcome models: what each action would cost in each context, robustly.
//!
//! A [`Recipe`] names a kind of model with every setting given, so that it can be fitted again on other rows:
//!
//! - `Cells`: every context is a leaf; `Tree`: the leaves of a regression tree per action. A leaf keeps its
//!   outcomes, so outcomes may shift within it.
//! - `Forest`: averaged trees; a context's outcomes are a mixture of its leaves'.
//! - `Boosted` and `Additive`: values only, as with [`Predictions`] that the user brings and with a [`Learner`] of
//!   the user's own.
//!
//! Settings, and the kind itself, are chosen by cross-validation where that is asked. All models are fitted from
//! counted cells: a fit costs the same however many rows the log has.
//!
//! ```text
//! m(x, a) = worst case of the value over the outcomes of the leaf of (x, a), radius ε_c
//! ```
//!
//! A radius of 0 gives the mean. Noise in `m` makes worst cases too large, because the maximum over populations
//! selects it; averaged and smooth models reduce it. Contexts whose leaf has no outcomes are [`Unseen`].
//!
//! Modules, each importing only from those before it: `axes`, `tally`, `cut`, `cuttings`, `noise`, `leaf`,
//! `predictions`, `learner`, `split`, `tree`, `tree_words`, `grower`, `everywhere`, `leaves`, `tree_leaves`,
//! `cells`, `margins`, `left_over`, `boxes`, `folding`, `additive`, `choose`, `choose_additive`, `forest`, `boosted`,
//! `outcome_radius`, `predictor`, `auto`.
//!
//! ```
//! use seawall::outcome::{Recipe, TreeSettings, Unseen};
//! use seawall::{Direction, Feature, Log, Settings, Wasserstein, Watch};
//! let ages = vec![vec![40.0, 40.0, 60.0, 60.0, 80.0, 80.0]];
//! let taken = ["treat", "wait", "treat", "wait", "treat", "wait"];
//! let costs = [3.0, 1.0, 2.0, 2.0, 1.0, 4.0];
//! let age = [Feature::numeric("age")];
//! let log = Log::from_rows(age, ages, &taken, &costs, None, Direction::Cost)?;
//! let stump = TreeSettings { max_depth: 1, ..TreeSettings::default() };
//! let model = Recipe::Tree(vec![stump; 2]).fit(&log, Watch::NOBODY)?;
//! let values = |radius: f64| {
//!     model.values(&log, Wasserstein.at(radius), Unseen::Error, Settings::default())
//! };
//! let (mean, robust) = (values(0.0)?, values(0.05)?);
//! assert_eq!((mean.at(0, 0), mean.at(2, 1)), (3.0, 4.0));
//! assert!(robust.at(2, 0) > mean.at(2, 0), "outcomes may be worse than those seen");
//! # Ok::<(), seawall::Error>(())
//! ```

mod additive;
mod auto;
mod axes;
mod boosted;
mod boxes;
mod cells;
mod choose;
mod choose_additive;
mod cut;
mod cuttings;
mod everywhere;
mod folding;
mod forest;
mod grower;
mod leaf;
mod learner;
mod leaves;
mod left_over;
mod margins;
mod noise;
mod outcome_radius;
mod predictions;
mod predictor;
mod split;
mod tally;
mod tree;
mod tree_leaves;
mod tree_words;

pub use additive::AdditiveSettings;
pub use boosted::BoostedSettings;
pub(crate) use everywhere::Everywhere;
pub use forest::ForestSettings;
pub use learner::Learner;
pub use predictions::Predictions;
pub use tree::TreeSettings;

// Fitted models and choices between them: what the other crates of Seawall are made of, too.
#[doc(hidden)]
pub use self::{
    additive::{Additive, Effect, EffectStep, additive},
    auto::{Auto, AutoSearch, Compared, auto, compare},
    boosted::{Boosted, RoundChoice, boosted, choose_rounds},
    cells::cells,
    choose::{Choice, choose},
    choose_additive::{AdditiveChoice, AdditiveSearch, choose_additive},
    cut::Cut,
    folding::FoldPlan,
    forest::{Forest, forest},
    leaf::Leaf,
    leaves::Leaves,
    left_over::LeftOver,
    outcome_radius::{OutcomeRadius, outcome_radii},
    predictor::Predictor,
    tree::{Split, Tree},
    tree_leaves::tree,
};

use crate::ambiguity::{Direction, Settings, Shift};
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::space::Space;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What to do about contexts where an action was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unseen {
    /// Refuse, and say how many there are.
    #[default]
    Error,
    /// The action's mean over the whole log, at the same radius.
    Mean,
    /// The worst value of any outcome.
    Worst,
}

impl Unseen {
    /// The same, with the mean where this would refuse: parts of a log lose what the whole has.
    #[must_use]
    pub fn never_refusing(self) -> Self {
        if self == Unseen::Error { Unseen::Mean } else { self }
    }
}

/// Which end of a set of outcomes is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Side {
    /// The worst mean: the highest cost, the lowest reward.
    Worst,
    /// The best mean.
    Best,
}

impl Side {
    /// The direction in which this side is the worst one.
    fn of(self, direction: Direction) -> Direction {
        match (self, direction) {
            (Side::Worst, direction) => direction,
            (Side::Best, Direction::Cost) => Direction::Reward,
            (Side::Best, Direction::Reward) => Direction::Cost,
        }
    }
}

/// How a model is made from a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Recipe {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action, with the settings of each.
    Tree(Vec<TreeSettings>),
    /// A forest per action.
    Forest(ForestSettings),
    /// Boosted trees per action, with the settings of each.
    Boosted(Vec<BoostedSettings>),
    /// An additive model per action, with the settings of each.
    Additive(Vec<AdditiveSettings>),
    /// Values that the user brings; the log changes nothing.
    Predictions(Predictions),
    /// A learner of the user's own, fitted to every log anew.
    Learner(Arc<dyn Learner>),
}

impl Recipe {
    /// Fits the model to a log.
    pub fn fit(&self, log: &Log, watch: Watch<'_>) -> Result<Model> {
        watch.tell(Progress::at(Stage::Fitting))?;
        Ok(match self {
            Recipe::Cells => Model::Leaves(cells(log)),
            Recipe::Tree(settings) => Model::Leaves(tree(log, settings, watch)?),
            Recipe::Forest(settings) => Model::Forest(forest(log, settings, watch)?),
            Recipe::Boosted(settings) => Model::Boosted(boosted(log, settings, watch)?),
            Recipe::Additive(settings) => Model::Additive(additive(log, settings, watch)?),
            Recipe::Predictions(predictions) => {
                predictions.check_against(log)?;
                Model::Predictions(predictions.clone())
            }
            Recipe::Learner(learner) => {
                let of_learner = |e: Error| e.within(learner.name());
                let predictions = learner.fit(log, watch).map_err(of_learner)?;
                predictions.check_against(log).map_err(of_learner)?;
                Model::Predictions(predictions)
            }
        })
    }

    /// Which kind of model it makes.
    pub fn kind(&self) -> ModelKind {
        match self {
            Recipe::Cells => ModelKind::Cells,
            Recipe::Tree(_) => ModelKind::Tree,
            Recipe::Forest(_) => ModelKind::Forest,
            Recipe::Boosted(_) => ModelKind::Boosted,
            Recipe::Additive(_) => ModelKind::Additive,
            Recipe::Predictions(_) => ModelKind::Table,
            Recipe::Learner(_) => ModelKind::Learner,
        }
    }

    /// Whether its models keep outcomes, so that a cost radius has something to act on.
    pub fn has_outcomes(&self) -> bool {
        matches!(self, Recipe::Cells | Recipe::Tree(_) | Recipe::Forest(_))
    }

    /// Whether another log makes another model. Predictions are taken as given: whatever resamples
    /// rows, or deals them to folds or halves, leaves out the noise of the model that made them.
    pub fn is_refitted(&self) -> bool {
        !matches!(self, Recipe::Predictions(_))
    }
}

/// A kind of outcome model, as it is written everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[doc(hidden)]
pub enum ModelKind {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action.
    Tree,
    /// Averaged trees per action.
    Forest,
    /// Boosted trees per action.
    Boosted,
    /// A sum of what each feature adds, per action.
    Additive,
    /// Values that the user brings, by context.
    Table,
    /// Values that the user brings, row by row.
    Column,
    /// A learner of the user's own.
    Learner,
}

impl ModelKind {
    /// The kind as it is written.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Cells => "cells",
            ModelKind::Tree => "tree",
            ModelKind::Forest => "forest",
            ModelKind::Boosted => "boosted",
            ModelKind::Additive => "additive",
            ModelKind::Table => "table",
            ModelKind::Column => "column",
            ModelKind::Learner => "learner",
        }
    }
}

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

/// How many contexts each action has no value in.
fn unseen_in(values: &Matrix) -> Vec<usize> {
    let count = |action: usize| values.rows().filter(|row| row[action].is_nan()).count();
    (0..values.actions()).map(count).collect()
}

/// Values without outcomes, filled where there is none; a cost radius has nothing to act on.
fn filled(what: &str, values: &Matrix, log: &Log, costs: Shift, fill: &[f64]) -> Result<Values> {
    if costs.radius > 0.0 {
        return Err(Error::field(
            Field::CostRadius,
            format!(
                "is {}: {what} have no outcomes for it to act on; use 0, or a model of cells, a \
                 tree or a forest",
                costs.radius
            ),
        ));
    }
    let value = |context, action: usize| match values.at(context, action) {
        v if v.is_nan() => fill[action],
        v => v,
    };
    Values::new(log.contexts(), Matrix::from_fn(values.contexts(), values.actions(), value))
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

/// `m(x, a)` for every context and action.
#[derive(Clone, Debug)]
pub struct Values {
    space: Arc<Space>,
    matrix: Matrix,
    slack: f64,
    smoothing: f64,
    /// The same as sums of steps, where they are.
    everywhere: Option<Arc<Everywhere>>,
}

impl Values {
    /// Given values of every context of a space and every action.
    pub fn new(space: &Arc<Space>, matrix: Matrix) -> Result<Self> {
        if matrix.contexts() != space.len() {
            let (found, contexts) = (matrix.contexts(), space.len());
            return Err(Error::input(format!("{found} rows of values for {contexts} contexts")));
        }
        if let Some(v) = matrix.cells().iter().find(|v| !v.is_finite()) {
            return Err(Error::input(format!("a value is {v}; expected a finite number")));
        }
        let (slack, smoothing, everywhere) = (0.0, 0.0, None);
        Ok(Values { space: space.clone(), matrix, slack, smoothing, everywhere })
    }

    /// The contexts that they are of.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The values themselves.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The value of an action in a context.
    #[inline(always)]
    pub fn at(&self, context: usize, action: usize) -> f64 {
        self.matrix.at(context, action)
    }

    /// The number of contexts.
    pub fn contexts(&self) -> usize {
        self.matrix.contexts()
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        self.matrix.actions()
    }

    /// The values are on the safe side of the true worst (or best) means by at most this.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// Other values of the same kind, on another space.
    pub(crate) fn with_matrix(&self, space: &Arc<Space>, matrix: Matrix) -> Result<Self> {
        let (slack, smoothing) = (self.slack, self.smoothing);
        Ok(Values { slack, smoothing, ..Values::new(space, matrix)? })
    }

    /// What each action costs anywhere in the space, listed or not; None where nobody knows.
    pub(crate) fn everywhere(&self) -> Option<&Arc<Everywhere>> {
        self.everywhere.as_ref()
    }

    /// Whether they say what each action costs anywhere in the space, listed or not, as
    /// [`Support::Space`](crate::evaluate::Support::Space) asks for: those of trees, of boosted and
    /// additive models, and of forests where outcomes do not shift.
    pub fn are_everywhere(&self) -> bool {
        self.everywhere.is_some()
    }

    /// Values over a smoothed set are on the unsafe side of the exact worst cases by at most
    /// this, `log |Ξ| / η`; 0 for any other set.
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }
}

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
//! Modules, each importing only from those before it: `side`, `axes`, `tally`, `cut`, `leaf`, `split`, `tree`,
//! `tree_words`, `grower`, `everywhere`, `boxes`, `folding`, `choose`, `forest`, `boosted`, `additive_design`,
//! `additive`, `choose_additive`, `values`, `predictions`, `learner`, `leaves`, `tree_leaves`, `cells`,
//! `left_over`, `forest_values`, `model`, `cuttings`, `noise`, `margins`, `outcome_radius`, `predictor`,
//! `recipe`, `auto`, `model_search`.
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
mod additive_design;
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
mod forest_values;
mod grower;
mod leaf;
mod learner;
mod leaves;
mod left_over;
mod margins;
mod model;
mod model_search;
mod noise;
mod outcome_radius;
mod predictions;
mod predictor;
mod recipe;
mod side;
mod split;
mod tally;
mod tree;
mod tree_leaves;
mod tree_words;
mod values;

pub use additive_design::AdditiveSettings;
pub use boosted::BoostedSettings;
pub(crate) use everywhere::Everywhere;
pub use forest::ForestSettings;
pub use learner::Learner;
pub(crate) use model::lacking;
pub use predictions::Predictions;
pub use recipe::Recipe;
pub use side::Unseen;
pub use tree::TreeSettings;
pub use values::Values;

// Fitted models and choices between them: what the other crates of Seawall are made of, too.
#[doc(hidden)]
pub use self::{
    additive::{Additive, Effect, EffectStep, additive},
    auto::{Auto, AutoSearch, Candidate, Compared, auto, compare},
    boosted::{Boosted, RoundChoice, boosted, choose_rounds},
    cells::cells,
    choose::{Choice, choose},
    choose_additive::{AdditiveChoice, AdditiveSearch, choose_additive},
    cut::Cut,
    folding::FoldPlan,
    forest::{Forest, forest},
    leaf::Leaf,
    leaves::Leaves,
    left_over::{ColumnCorner, LeftOver, ResidualKind, ResidualSteps},
    model::Model,
    model_search::{FoundModel, ModelSearch},
    outcome_radius::{OutcomeRadius, outcome_radii},
    predictor::Predictor,
    recipe::ModelKind,
    side::Side,
    tree::{Split, Tree},
    tree_leaves::tree,
};

#[cfg(test)]
mod split_tests;

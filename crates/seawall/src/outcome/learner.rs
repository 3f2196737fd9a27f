//! A learner of the user's own: anything that fits itself to a log and predicts.
//!
//! It is called for the whole log, for each fold's rest and for the halves of every sample
//! split, so that estimates and intervals count its noise as they do that of trees. It gives
//! values and no outcomes: a cost radius above 0 is refused.
//!
//! ```
//! use seawall::outcome::{Learner, Predictions, Recipe, Unseen};
//! use seawall::{Direction, Feature, Log, Matrix, Result, Settings, Wasserstein, Watch};
//! use std::sync::Arc;
//!
//! /// Every action at its mean.
//! #[derive(Debug)]
//! struct Means;
//!
//! impl Learner for Means {
//!     fn name(&self) -> &str {
//!         "means"
//!     }
//!
//!     fn fit(&self, log: &Log, _: Watch<'_>) -> Result<Predictions> {
//!         let mut sums = vec![0.0; log.actions().len()];
//!         log.entries().iter().for_each(|e| sums[e.action as usize] += e.weight * log.value(e));
//!         let rows = log.action_totals();
//!         let means: Vec<f64> = sums.iter().zip(&rows).map(|(sum, n)| sum / n).collect();
//!         let contexts = log.contexts().len();
//!         Predictions::new(Matrix::new(contexts, rows.len(), means.repeat(contexts))?)
//!     }
//! }
//!
//! let ages = vec![vec![40.0, 60.0, 80.0]];
//! let (taken, costs) = (["treat", "wait", "wait"], [3.0, 1.0, 2.0]);
//! let log = Log::from_rows([Feature::numeric("age")], ages, &taken, &costs, None, Direction::Cost)?;
//! let model = Recipe::Learner(Arc::new(Means)).fit(&log, Watch::NOBODY)?;
//! let values = model.values(&log, Wasserstein.at(0.0), Unseen::Error, Settings::default())?;
//! assert_eq!(values.at(0, 1), 1.5);
//! # Ok::<(), seawall::Error>(())
//! ```

use super::Predictions;
use crate::error::Result;
use crate::log::Log;
use crate::progress::Watch;
use std::fmt;

/// Fits itself to a log and predicts.
pub trait Learner: Send + Sync + fmt::Debug {
    /// What messages and reports call it.
    fn name(&self) -> &str;

    /// Fits to a log and predicts the value of every context and action of it; NaN where it has
    /// none to give, as for an action without rows. Called from several threads at once; the same
    /// log must give the same values every time.
    fn fit(&self, log: &Log, watch: Watch<'_>) -> Result<Predictions>;
}

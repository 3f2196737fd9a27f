//! Values that the user brings: a predicted value for each context and action.

use super::Values;
use crate::ambiguity::Shift;
use crate::error::{Error, Result};
use crate::log::Log;
use crate::matrix::Matrix;

/// Predicted values; NaN where none was given.
#[derive(Clone, Debug)]
pub struct Predictions(Matrix);

impl Predictions {
    /// A row per context; NaN where there is no prediction.
    pub fn new(matrix: Matrix) -> Result<Self> {
        match matrix.cells().iter().find(|v| v.is_infinite()) {
            Some(v) => Err(Error::input(format!("a predicted value is {v}; expected a number"))),
            None => Ok(Predictions(matrix)),
        }
    }

    /// The same on other contexts: which old one each of them is, none where it is new.
    pub fn on(&self, old: &[Option<usize>]) -> Result<Self> {
        if let Some(context) = old.iter().flatten().find(|c| **c >= self.0.contexts()) {
            let contexts = self.0.contexts();
            return Err(Error::input(format!("context {context} of {contexts}")));
        }
        let value =
            |context: usize, action| old[context].map_or(f64::NAN, |c| self.0.at(c, action));
        Ok(Predictions(Matrix::from_fn(old.len(), self.0.actions(), value)))
    }

    /// Refuses predictions for other contexts or actions than a log's.
    pub(super) fn check_against(&self, log: &Log) -> Result<()> {
        let found = (self.0.contexts(), self.0.actions());
        let wanted = (log.contexts().len(), log.actions().len());
        if found == wanted {
            Ok(())
        } else {
            Err(Error::input(format!(
                "predicted values for {} contexts and {} actions; the log has {} and {}",
                found.0, found.1, wanted.0, wanted.1
            )))
        }
    }

    /// Whether there is no prediction of an action in a context.
    pub(super) fn is_unseen(&self, context: usize, action: usize) -> bool {
        self.0.at(context, action).is_nan()
    }

    pub(super) fn unseen(&self) -> Vec<usize> {
        super::values::unseen_in(&self.0)
    }

    pub(super) fn values(&self, log: &Log, costs: Shift, fill: &[f64]) -> Result<Values> {
        super::values::filled("predicted values", &self.0, log, costs, fill)
    }
}

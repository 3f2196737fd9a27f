//! Values that the user brings: a predicted value for each context and action.

use super::Values;
use crate::ambiguity::Ambiguity;
use crate::error::{Error, Result};

/// Predicted values; NaN where none was given.
#[derive(Clone, Debug)]
pub struct Table {
    contexts: usize,
    /// `[action · contexts + context]`.
    values: Vec<f64>,
}

impl Table {
    /// One row of contexts per action; NaN where there is no prediction.
    pub fn new(contexts: usize, values: Vec<f64>) -> Result<Self> {
        if let Some(v) = values.iter().find(|v| v.is_infinite()) {
            return Err(Error::input(format!("a predicted value is {v}; expected a number")));
        }
        let known = |v: &f64| if v.is_nan() { 0.0 } else { *v };
        Values::new(contexts, values.iter().map(known).collect())?;
        Ok(Table { contexts, values })
    }

    pub(super) fn unseen(&self) -> Vec<usize> {
        let row = |row: &[f64]| row.iter().filter(|v| v.is_nan()).count();
        self.values.chunks(self.contexts).map(row).collect()
    }

    pub(super) fn values(&self, set: Ambiguity, fill: &[f64]) -> Result<Values> {
        if set.radius() > 0.0 {
            return Err(Error::config(
                "a table of predicted values has no outcomes for a cost radius to act on; use \
                 cost radius 0, or a model of cells or trees",
            ));
        }
        let row = |(row, fill): (&[f64], &f64)| -> Vec<f64> {
            row.iter().map(|v| if v.is_nan() { *fill } else { *v }).collect()
        };
        Values::new(
            self.contexts,
            self.values.chunks(self.contexts).zip(fill).flat_map(row).collect(),
        )
    }
}

//! The layout made of every combination of levels, in row-major order: the last feature's
//! level changes fastest.

use super::MOST_POINTS;
use crate::error::{Error, Result};

/// Every combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    levels: Vec<usize>,
    strides: Vec<usize>,
    len: usize,
}

impl Grid {
    /// The grid of features with so many levels each.
    pub(crate) fn new(levels: Vec<usize>) -> Result<Self> {
        let cells = levels.iter().try_fold(1usize, |n, &k| n.checked_mul(k));
        let len = cells.filter(|&n| n > 0 && n <= MOST_POINTS).ok_or_else(|| {
            let product: f64 = levels.iter().map(|&k| k as f64).product();
            let shape: Vec<String> = levels.iter().map(usize::to_string).collect();
            Error::config(format!(
                "a grid of {} = {product:.3e} cells is too large (at most {MOST_POINTS}); bin the \
                 features more coarsely, or use points",
                shape.join(" × ")
            ))
        })?;
        let mut strides = vec![1; levels.len()];
        for k in (1..levels.len()).rev() {
            strides[k - 1] = strides[k] * levels[k];
        }
        Ok(Grid { levels, strides, len })
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no cell; never true of a grid that was made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each feature's number of levels.
    pub fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// How far apart a feature's neighbouring levels are in memory.
    pub(crate) fn stride(&self, feature: usize) -> usize {
        self.strides[feature]
    }

    /// The level of a feature in a cell.
    pub fn level(&self, cell: usize, feature: usize) -> usize {
        cell / self.strides[feature] % self.levels[feature]
    }

    /// The cell with these levels.
    pub fn cell(&self, levels: impl IntoIterator<Item = usize>) -> usize {
        levels.into_iter().zip(&self.strides).map(|(k, s)| k * s).sum()
    }
}

//! The layout made of every combination of levels, in row-major order: the last feature's
//! level changes fastest.

use super::MOST_POINTS;
use crate::error::{Error, Result};
use std::sync::{Arc, OnceLock};

/// Levels of all cells that are worth a table.
const MOST_LISTED: usize = 1 << 20;

/// Every combination of levels.
#[derive(Clone, Debug)]
pub struct Grid {
    levels: Vec<usize>,
    strides: Vec<usize>,
    len: usize,
    /// Each cell's levels, made when first asked for: two divisions cost more than a look. Empty for a large grid.
    listed: OnceLock<Arc<[u32]>>,
}

impl PartialEq for Grid {
    fn eq(&self, other: &Self) -> bool {
        self.levels == other.levels
    }
}

impl Eq for Grid {}

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
        Ok(Grid { levels, strides, len, listed: OnceLock::new() })
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
    #[inline]
    pub fn level(&self, cell: usize, feature: usize) -> usize {
        match self.listed.get_or_init(|| self.list()).get(cell * self.levels.len() + feature) {
            Some(level) => *level as usize,
            None => self.divided(cell, feature),
        }
    }

    fn divided(&self, cell: usize, feature: usize) -> usize {
        cell / self.strides[feature] % self.levels[feature]
    }

    fn list(&self) -> Arc<[u32]> {
        let features = self.levels.len();
        let cells = if self.len.saturating_mul(features) > MOST_LISTED { 0 } else { self.len };
        let row = |cell| (0..features).map(move |feature| self.divided(cell, feature) as u32);
        (0..cells).flat_map(row).collect()
    }

    /// The cell with these levels.
    pub fn cell(&self, levels: impl IntoIterator<Item = usize>) -> usize {
        levels.into_iter().zip(&self.strides).map(|(k, s)| k * s).sum()
    }
}

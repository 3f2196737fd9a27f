//! Rows left out, cell by cell: the errors of models that are fitted from sums.

use super::grower::ActionCells;
use crate::error::Result;
use crate::log::{Folds, Log};

/// How rows are dealt to folds: into how many, and by which seed if not the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldPlan {
    /// How many folds.
    pub folds: usize,
    /// The seed; None for the one that every log is dealt by.
    pub seed: Option<u64>,
}

impl From<usize> for FoldPlan {
    fn from(folds: usize) -> Self {
        FoldPlan { folds, seed: None }
    }
}

impl FoldPlan {
    /// Deals a log's rows.
    pub fn deal(self, log: &Log) -> Result<Folds<'_>> {
        match self.seed {
            Some(seed) => log.folds_of(self.folds, seed),
            None => log.folds(self.folds),
        }
    }
}

/// One action's rows of each fold: rows and sum of each cell, around the mean of all.
pub(super) struct HeldOut {
    cells: Vec<Vec<[f64; 2]>>,
    /// Each fold's rows, and sum of squares.
    totals: Vec<(f64, f64)>,
}

impl HeldOut {
    pub fn new(dealt: &Folds<'_>, cells: &ActionCells) -> Self {
        let count = dealt.count();
        let mut held = HeldOut {
            cells: vec![vec![[0.0; 2]; cells.len()]; count],
            totals: vec![(0.0, 0.0); count],
        };
        for &(entry, cell, value, _) in &cells.entries {
            for fold in 0..count {
                let rows = dealt.weight(entry, fold);
                if rows > 0.0 {
                    let to = &mut held.cells[fold][cell as usize];
                    *to = [to[0] + rows, to[1] + rows * value];
                    let total = &mut held.totals[fold];
                    *total = (total.0 + rows, total.1 + rows * value * value);
                }
            }
        }
        held
    }

    /// How many folds there are.
    pub fn folds(&self) -> usize {
        self.totals.len()
    }

    /// All rows.
    pub fn rows(&self) -> f64 {
        self.totals.iter().map(|t| t.0).sum()
    }

    /// Each cell's rows and sum in all folds but one.
    pub fn others(&self, cells: &ActionCells, fold: usize) -> Vec<[f64; 2]> {
        let own = cells.sums.iter().zip(&self.cells[fold]);
        // What is left of rounding is no row.
        let rest = |(all, held): (&[f64; 2], &[f64; 2])| match all[0] - held[0] {
            rows if rows > 1e-9 * all[0] => [rows, all[1] - held[1]],
            _ => [0.0; 2],
        };
        own.map(rest).collect()
    }

    /// Each cell's rows and sum in one fold.
    pub fn own(&self, fold: usize) -> &[[f64; 2]] {
        &self.cells[fold]
    }

    /// The sum of squared errors of a fold's rows, given each cell's value.
    pub fn error(&self, fold: usize, values: &[f64]) -> f64 {
        let change = |([rows, sum], v): (&[f64; 2], &f64)| v * (rows * v - 2.0 * sum);
        let moved: f64 = self.cells[fold].iter().zip(values).map(change).sum();
        (self.totals[fold].1 + moved).max(0.0)
    }
}

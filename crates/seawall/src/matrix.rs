//! Numbers by context and action.

use crate::error::{Error, Result};

/// One number for each context and action: a row per context.
///
/// ```
/// use seawall::Matrix;
/// let chances = Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
/// assert_eq!((chances.row(1), chances.at(0, 2)), (&[1.0, 0.0, 0.0][..], 0.5));
/// let slip = Matrix::new(2, 2, vec![0.5; 3]).unwrap_err().to_string();
/// assert_eq!(slip, "3 numbers do not make 2 contexts by 2 actions");
/// # Ok::<(), seawall::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    actions: usize,
    /// `[context · actions + action]`.
    cells: Vec<f64>,
}

impl Matrix {
    /// Rows of one number per action, one after the other.
    pub fn new(contexts: usize, actions: usize, cells: Vec<f64>) -> Result<Self> {
        if contexts > 0 && actions > 0 && contexts.checked_mul(actions) == Some(cells.len()) {
            Ok(Matrix { actions, cells })
        } else {
            Err(Error::input(format!(
                "{} numbers do not make {contexts} contexts by {actions} actions",
                cells.len()
            )))
        }
    }

    /// The number that a function gives each context and action; there must be an action.
    pub fn from_fn(
        contexts: usize,
        actions: usize,
        mut number: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let mut cells = Vec::with_capacity(contexts * actions);
        for context in 0..contexts {
            cells.extend((0..actions).map(|action| number(context, action)));
        }
        Matrix { actions: actions.max(1), cells }
    }

    /// How many contexts there are.
    pub fn contexts(&self) -> usize {
        self.cells.len() / self.actions
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The number of a context and action.
    #[inline(always)]
    pub fn at(&self, context: usize, action: usize) -> f64 {
        self.cells[context * self.actions + action]
    }

    /// The numbers of a context's actions.
    #[inline(always)]
    pub fn row(&self, context: usize) -> &[f64] {
        &self.cells[context * self.actions..][..self.actions]
    }

    /// Every context's row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.cells.chunks(self.actions)
    }

    /// Every number, row by row.
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// Number by number less another's of the same shape.
    pub fn minus(&self, other: &Matrix) -> Matrix {
        let cells = self.cells.iter().zip(&other.cells).map(|(a, b)| a - b).collect();
        Matrix { actions: self.actions, cells }
    }

    /// The factor that makes these numbers of another's, if one does.
    pub fn multiple_of(&self, other: &Matrix) -> Option<f64> {
        let (at, first) = other.cells.iter().enumerate().find(|(_, b)| **b != 0.0)?;
        let factor = self.cells[at] / first;
        let near = |(a, b): (&f64, &f64)| (a - factor * b).abs() <= 1e-12;
        let all = factor != 0.0 && self.cells.iter().zip(&other.cells).all(near);
        all.then_some(factor)
    }

    /// For each context the sum of another's numbers, weighed by these.
    pub fn weighing(&self, other: &Matrix) -> Vec<f64> {
        let sum = |(p, m): (&[f64], &[f64])| p.iter().zip(m).map(|(p, m)| p * m).sum();
        self.rows().zip(other.rows()).map(sum).collect()
    }

    pub(crate) fn row_mut(&mut self, context: usize) -> &mut [f64] {
        &mut self.cells[context * self.actions..][..self.actions]
    }
}

//! The engines: three exact ways to the inner maxima `h_i(λ) = max_j (f_j − λ c_ij)`.
//!
//! One interface, chosen by the shape of the support; the user may force one. All work in the
//! problem's scaled values and return sums over the sources in a fixed order.

mod few;
mod groups;
mod lattice;
mod scan;
pub(super) mod soft;
mod tree;

pub(super) use groups::{Group, groups};
pub(super) use lattice::Lattice;
pub(super) use scan::{Scan, Source};
use tree::Tree;

use super::problem::Problem;
use super::settings::Engine;
use crate::error::{Error, Result};
use crate::kernel::order::Price;

/// Above this many cells a lattice is not built for scattered points.
const MOST_CELLS: usize = 1 << 27;

/// What a plan spends and reaches: `C(λ) = Σ p_i c_{i,j(i)}`, `F(λ) = Σ p_i f_{j(i)}`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub value: f64,
    pub cost: f64,
}

/// Finds each source's best target.
pub(super) trait Maxima: Send + Sync {
    /// The two sums at a price.
    fn evaluate(&mut self, price: Price) -> Sums;
    /// The target of each source, in the order of [`sources`](Self::sources).
    fn targets(&mut self, price: Price) -> Vec<u32>;
    /// The points of positive weight, in order.
    fn sources(&self) -> Vec<u32>;
    /// Gives back memory that only evaluations need; the next one takes it again.
    fn rest(&mut self) {}
}

/// The engine asked for, or the one that suits.
pub(super) fn maxima<'a>(problem: &Problem<'a>, engine: Engine) -> Result<Box<dyn Maxima + 'a>> {
    Ok(match engine {
        Engine::Auto => match Lattice::shape(problem).filter(|s| lattice_suits(problem, s)) {
            Some(shape) => few::on(problem, shape),
            None if tree_suits(problem) => Box::new(Tree::new(problem)),
            None => Box::new(Scan::new(problem)),
        },
        Engine::Grid => few::on(problem, required_shape(problem)?),
        Engine::Tree => Box::new(Tree::new(problem)),
        Engine::Scan => Box::new(Scan::new(problem)),
    })
}

/// The lattice under the problem's support, or why there is none.
pub(super) fn required_shape(problem: &Problem<'_>) -> Result<lattice::Shape> {
    Lattice::shape(problem).ok_or_else(|| {
        Error::config(format!(
            "the grid engine needs features with few levels: these points' levels span more than \
             {MOST_CELLS} cells; use the tree or the scan engine, or bin the features"
        ))
    })
}

/// Whether passes over the lattice beat looking at all pairs.
pub(super) fn lattice_suits(problem: &Problem<'_>, shape: &lattice::Shape) -> bool {
    let pairs = problem.sources().len() as f64 * problem.space().len() as f64;
    shape.work() <= pairs
}

fn tree_suits(problem: &Problem<'_>) -> bool {
    // Measured: past about eight features a box is near everything and the scan wins.
    problem.space().names().len() <= 8 && problem.space().len() >= 512
}

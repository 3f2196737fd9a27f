//! The master problem of the cutting-plane method: the best parameters against the populations
//! found so far, and a point of a level set near the best so far.

use super::class::{Polytope, Row};
use crate::kernel::quadratic::QuadraticProgram;

/// A population's lower bound of the worst case: `constant + Σ_j row_j θ_j`.
#[derive(Clone, Debug)]
pub(super) struct CuttingPlane {
    pub(super) constant: f64,
    pub(super) row: Vec<f64>,
}

/// What a master problem answers.
pub(super) struct MasterSolution {
    pub(super) theta: Vec<f64>,
    /// The multipliers of the cuts.
    pub(super) cuts: Vec<f64>,
    /// The multipliers of the polytope's rows.
    pub(super) rows: Vec<f64>,
}

/// `min_θ max_k cut_k(θ)` over the polytope.
pub(super) fn least(polytope: &Polytope, cuts: &[CuttingPlane]) -> Option<MasterSolution> {
    solve(polytope, cuts, None)
}

/// The point of `{θ : cut_k(θ) ≤ level}` nearest to `centre`.
pub(super) fn nearest(
    polytope: &Polytope,
    cuts: &[CuttingPlane],
    level: f64,
    centre: &[f64],
) -> Option<MasterSolution> {
    solve(polytope, cuts, Some((level, centre)))
}

fn solve(
    polytope: &Polytope,
    cuts: &[CuttingPlane],
    level: Option<(f64, &[f64])>,
) -> Option<MasterSolution> {
    let count = polytope.len();
    // Heights are divided by the largest: the solver's tolerances are relative to 1.
    let sizes = cuts.iter().flat_map(|c| &c.row).fold(1e-300, |m: f64, x| m.max(x.abs()));
    // One more variable, the height of the cuts, unless a level is given.
    let height = usize::from(level.is_none());
    let cut_row = |cut: &CuttingPlane| {
        let row = cut.row.iter().map(|x| x / sizes).chain(std::iter::repeat_n(-1.0, height));
        (row.collect(), (level.map_or(0.0, |l| l.0) - cut.constant) / sizes)
    };
    let limit_row = |row: &Row| {
        let free = std::iter::repeat_n(0.0, height);
        (row.row.iter().copied().chain(free).collect(), row.most)
    };
    let rows = cuts.iter().map(cut_row).chain(polytope.rows.iter().map(limit_row));
    let free = std::iter::repeat_n(f64::INFINITY, height);
    let program = QuadraticProgram {
        square: if level.is_some() { 1.0 } else { 0.0 },
        linear: match level {
            Some((_, centre)) => centre.iter().map(|c| -c).collect(),
            None => std::iter::repeat_n(0.0, count).chain([1.0]).collect(),
        },
        blocks: polytope.blocks.clone(),
        rows: rows.collect(),
        least: polytope.least.iter().copied().chain(free.clone().map(|x: f64| -x)).collect(),
        most: polytope.most.iter().copied().chain(free).collect(),
    };
    let solution = program.solve(if level.is_none() { 1e-12 } else { 1e-9 })?;
    Some(MasterSolution {
        theta: solution.x[..count].to_vec(),
        cuts: solution.rows[..cuts.len()].to_vec(),
        // Back in the cuts' own units.
        rows: solution.rows[cuts.len()..].iter().map(|z| z * sizes).collect(),
    })
}

//! A space of what was counted: every combination of levels where that can be held, else the points seen.

use super::axis::{Axis, different_numbers};
use seawall::{Error, Layout, Result, Space};
use std::cmp::Ordering;
use std::sync::Arc;

/// A context space that is no grid because it would take too much memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooLarge {
    /// The cells that the grid would have, at least.
    pub cells: f64,
    /// The bytes that a solve on it would take.
    pub bytes: f64,
    /// The bytes that it may take.
    pub memory: u64,
}

/// The bytes that a cell of a grid takes at the peak of `check` and `evaluate` with a tree, measured with 3
/// to 7 features and 2 to 4 actions.
pub(super) fn bytes_per_cell(features: usize, actions: usize) -> f64 {
    (150 + 34 * features + 16 * actions) as f64
}

/// The cells that a grid of so many features may have.
pub fn most_cells(memory: u64, features: usize, actions: usize) -> f64 {
    memory as f64 / bytes_per_cell(features, actions)
}

/// Why a grid is not made, if it is not.
pub(super) fn too_large(
    cells: f64,
    memory: u64,
    features: usize,
    actions: usize,
) -> Option<TooLarge> {
    let bytes = cells * bytes_per_cell(features, actions);
    (cells > most_cells(memory, features, actions)).then_some(TooLarge { cells, bytes, memory })
}

/// The cells of a grid, given those of the columns with levels and the other columns' numbers, and
/// whether one may be missing; of numbers no more are looked for than matter.
pub(super) fn cells<'a>(
    known: f64,
    numbers: impl Iterator<Item = (&'a [f64], bool)>,
    most: f64,
) -> f64 {
    numbers.fold(known, |cells, (numbers, missing)| {
        let enough = (most / cells).clamp(1.0, 1e9) as usize;
        cells * (different_numbers(numbers, enough) + usize::from(missing)).max(1) as f64
    })
}

/// The space of some axes, and where each point counted is in it.
pub(super) fn space_of(axes: Vec<Axis>, on_grid: bool) -> Result<(Arc<Space>, Vec<u32>)> {
    let count = axes.first().map_or(0, |axis| axis.at.len());
    if on_grid {
        let space = Space::grid(axes.iter().map(|axis| axis.feature.clone()))?;
        let Layout::Grid(grid) = space.layout() else {
            return Err(Error::config("a grid was asked for"));
        };
        let cell = |i: usize| grid.cell(axes.iter().map(|axis| axis.at[i] as usize)) as u32;
        let of = (0..count).map(cell).collect();
        return Ok((Arc::new(space), of));
    }
    let compare = |a: usize, b: usize| {
        let along = axes.iter().map(|axis| axis.at[a].total_cmp(&axis.at[b]));
        along.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by(|&a, &b| compare(a as usize, b as usize));
    // Two combinations may be one place: a missing value can be written in two ways.
    let mut of = vec![0; count];
    let mut kept: Vec<u32> = Vec::with_capacity(count);
    for &i in &order {
        if kept.last().is_none_or(|&last| compare(last as usize, i as usize).is_ne()) {
            kept.push(i);
        }
        of[i as usize] = kept.len() as u32 - 1;
    }
    drop(order);
    let (features, columns): (Vec<_>, Vec<Vec<f64>>) = axes
        .into_iter()
        .map(|axis| (axis.feature, kept.iter().map(|&i| axis.at[i as usize]).collect::<Vec<f64>>()))
        .unzip();
    Ok((Arc::new(Space::points(features, columns)?), of))
}

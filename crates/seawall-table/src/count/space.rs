//! The spaces of contexts and of outcomes, made of what was counted.

use super::axis::{Axis, Counted as Column, MOST_NUMBERS};
use super::place::{TooLarge, bytes_per_cell, cells, most_cells, space_of, too_large};
use super::tally::Counted;
use crate::combine::Tuples;
use crate::memory;
use crate::read::{Reading, Seen};
use crate::spec::{DataSpec, Scale};
use seawall::evaluate::Support;
use seawall::{Error, Result, Space};
use std::sync::Arc;

/// An outcome space of more points than this is made of the outcomes seen instead of a grid.
const MOST_OUTCOMES: f64 = 4096.0;

/// Some of the columns with what was counted of them: those of codes and those of numbers are each in
/// order.
fn columns<'a>(
    seen: &Seen<'a>,
    of: &[usize],
    codes: &'a [Vec<u32>],
    numbers: Vec<Vec<f64>>,
) -> Result<Vec<Column<'a>>> {
    let (mut codes, mut numbers) = (codes.iter(), numbers.into_iter());
    let lost = || Error::internal("a column that was not counted");
    let column = |&c: &usize| {
        Ok(match (seen.readings[c], &seen.binned[c]) {
            (Reading::Line(_), _) => Column::Numbers(numbers.next().ok_or_else(lost)?),
            (_, Some(binned)) => Column::Bins(codes.next().ok_or_else(lost)?, binned),
            _ => Column::Values(codes.next().ok_or_else(lost)?, &seen.distinct[c]),
        })
    };
    of.iter().map(column).collect()
}

/// The context space, where each context counted is in it, and why it is no grid if it is none. Takes the
/// contexts' numbers.
pub(super) fn context_space(
    data: &DataSpec,
    of: &[usize],
    counted: &mut Counted,
    seen: &Seen<'_>,
    actions: usize,
) -> Result<(Arc<Space>, Vec<u32>, Option<TooLarge>)> {
    let rows = (data.scale == Scale::Spread).then(|| counted.rows_by_context());
    let numbers = std::mem::take(&mut counted.numbers);
    let columns = columns(seen, of, &counted.codes, numbers)?;
    let features = data.contexts.len();
    let missing = |k: usize| data.contexts[k].missing.is_some();
    // Where mass may go anywhere no grid is made, and any number is a place.
    let anywhere = data.support == Support::Space;
    let axis = |k: usize, column: Column<'_>, on_grid: bool| {
        let most = if anywhere { 0 } else { most_numbers(on_grid) };
        Axis::context(&data.path, &data.contexts[k], column, most)
    };
    let most = if anywhere { 0.0 } else { most_cells(data.memory, features, actions) };
    let found = made(columns, most, missing, axis)?;
    let grid = too_large(found.cells, data.memory, features, actions).filter(|_| !anywhere);
    let on_grid = grid.is_none() && !anywhere;
    let contexts = if on_grid { found.cells } else { counted.contexts as f64 };
    room(contexts, (on_grid, features, actions), data)?;
    let mut axes = found.axes;
    if let Some(rows) = rows {
        axes.iter_mut().for_each(|axis| axis.spread(&rows));
    }
    let (space, of) =
        space_of(axes, on_grid).map_err(|e| e.within(data.declared.path.display()))?;
    Ok((space, of, grid))
}

/// Refuses contexts that take more memory than there is.
fn room(
    contexts: f64,
    (on_grid, features, actions): (bool, usize, usize),
    data: &DataSpec,
) -> Result<()> {
    let bytes = contexts * bytes_per_cell(features, actions);
    let (what, instead) = if on_grid {
        (
            "combinations of levels",
            "cut columns more coarsely (bin = ...), or say a --memory below that: then the contexts seen \
             are all there are",
        )
    } else {
        ("different contexts", "cut numeric columns into bins (bin = ...), or leave columns out")
    };
    let what = format!("{contexts} {what} in {features} columns take");
    memory::needs(bytes, &what, instead).map_err(|e| e.within(data.declared.path.display()))
}

/// How many different numbers of a column have levels: all on a grid, else a few.
fn most_numbers(on_grid: bool) -> usize {
    if on_grid { usize::MAX } else { MOST_NUMBERS }
}

/// Axes, and the cells of their grid.
struct Made {
    axes: Vec<Axis>,
    cells: f64,
}

/// The axes of columns: those with codes first, whose levels say whether numbers may have levels too.
fn made(
    columns: Vec<Column<'_>>,
    most: f64,
    missing: impl Fn(usize) -> bool,
    axis: impl Fn(usize, Column<'_>, bool) -> Result<Axis>,
) -> Result<Made> {
    let mut axes: Vec<Option<Axis>> = Vec::new();
    let mut numbers: Vec<(usize, Vec<f64>)> = Vec::new();
    for (k, column) in columns.into_iter().enumerate() {
        match column {
            Column::Numbers(own) => {
                numbers.push((k, own));
                axes.push(None);
            }
            column => axes.push(Some(axis(k, column, true)?)),
        }
    }
    let levels = |axis: &Axis| axis.levels.map_or(1.0, |levels| levels as f64);
    let known: f64 = axes.iter().flatten().map(levels).product();
    let cells = cells(known, numbers.iter().map(|(k, own)| (own.as_slice(), missing(*k))), most);
    for (k, own) in numbers {
        axes[k] = Some(axis(k, Column::Numbers(own), cells <= most)?);
    }
    Ok(Made { axes: axes.into_iter().flatten().collect(), cells })
}

/// The outcomes.
pub(super) struct Outcomes {
    pub(super) space: Arc<Space>,
    /// Each outcome's value.
    pub(super) values: Vec<f64>,
    /// Where each outcome counted is.
    pub(super) of: Vec<u32>,
}

/// The outcome space.
pub(super) fn outcome_space(
    data: &DataSpec,
    of: &[usize],
    ids: Tuples,
    seen: &Seen<'_>,
) -> Result<Outcomes> {
    let (codes, numbers) = ids.into_columns();
    let columns = columns(seen, of, &codes, numbers)?;
    let axis = |k: usize, column: Column<'_>, on_grid: bool| {
        let (name, term) = &data.outcome.terms[k];
        Axis::outcome(&data.path, name, term, column, most_numbers(on_grid))
    };
    let found = made(columns, MOST_OUTCOMES, |_| false, axis)?;
    let amounts: Vec<(Option<Vec<f64>>, f64)> =
        found.axes.iter().map(|a| (a.levels.map(|_| a.amounts.clone()), a.factor)).collect();
    let on_grid = found.cells <= MOST_OUTCOMES;
    let (space, of) =
        space_of(found.axes, on_grid).map_err(|e| e.within(data.declared.path.display()))?;
    let amount = |i: usize| {
        let along = amounts.iter().enumerate().map(|(k, (amounts, factor))| match amounts {
            Some(amounts) => amounts[space.code(i, k) as usize],
            None => space.code(i, k) * factor + 0.0,
        });
        along.sum()
    };
    let values = (0..space.len()).map(amount).collect();
    Ok(Outcomes { space, values, of })
}

//! Where the rows of a table are: scattered points, or the cells of a grid.

use super::axis::Axis;
use seawall::{Error, Feature, Result, Space};
use seawall_table::read::Table;
use std::collections::HashMap;

/// The context columns of a table, the first of which is column `first`.
pub(super) struct Axes<'t> {
    pub(super) table: &'t Table,
    pub(super) first: usize,
    pub(super) axes: Vec<Axis>,
}

impl Axes<'_> {
    fn codes(&self, axis: usize) -> &[u32] {
        &self.table.codes[self.first + axis]
    }

    /// A row's level on every axis of a grid.
    fn cell(&self, row: usize) -> Vec<usize> {
        let level = |(k, axis): (usize, &Axis)| axis.level(self.codes(k)[row]);
        self.axes.iter().enumerate().map(level).collect()
    }

    /// Every row a point.
    pub(super) fn points(&self) -> Result<(Space, Vec<usize>)> {
        let features: Vec<Feature> = self.axes.iter().map(|axis| axis.feature(false)).collect();
        let column = |(k, axis): (usize, &Axis)| axis.column(self.codes(k));
        let columns = self.axes.iter().enumerate().map(column).collect();
        Ok((Space::points(features, columns)?, (1..=self.table.rows).collect()))
    }

    /// Every row a cell of the grid: returns each cell's row.
    pub(super) fn grid(&self) -> Result<(Space, Vec<usize>)> {
        let levels: Vec<usize> = self.axes.iter().map(Axis::levels).collect();
        let cells: f64 = levels.iter().map(|&k| k as f64).product();
        if cells != self.table.rows as f64 {
            return Err(self.uneven(&levels));
        }
        let space = Space::grid(self.axes.iter().map(|axis| axis.feature(true)))?;
        let seawall::Layout::Grid(shape) = space.layout() else {
            return Err(Error::config("a grid was asked for"));
        };
        let mut row_of = vec![0; space.len()];
        for row in 0..self.table.rows {
            let cell = shape.cell(self.cell(row));
            if row_of[cell] != 0 {
                return Err(self.uneven(&levels));
            }
            row_of[cell] = row + 1;
        }
        Ok((space, row_of))
    }

    /// What is wrong with a grid that has not exactly one row a cell: the first cell with two rows,
    /// or how many cells have none and the first of those.
    fn uneven(&self, levels: &[usize]) -> Error {
        let described = |cell: &[usize]| {
            let each = self.axes.iter().zip(cell).map(|(axis, &k)| axis.describe(k));
            each.collect::<Vec<_>>().join(", ")
        };
        let mut row_at: HashMap<Vec<usize>, usize> = HashMap::with_capacity(self.table.rows);
        for row in 0..self.table.rows {
            let cell = self.cell(row);
            if let Some(before) = row_at.get(&cell) {
                return self.table.error(format!(
                    "rows {before} and {} are both the grid's cell {}; expected one row a cell \
                         (use --support points, or merge them)",
                    row + 1,
                    described(&cell)
                ));
            }
            row_at.insert(cell, row + 1);
        }
        let cells: f64 = levels.iter().map(|&k| k as f64).product();
        self.table.error(format!(
            "the grid of {} = {cells} cells lacks {} of them, the first of which is {}; expected \
                 one row a cell (use --support points, or add rows of weight 0)",
            levels.iter().map(usize::to_string).collect::<Vec<_>>().join(" × "),
            cells - row_at.len() as f64,
            described(&first_missing(levels, &row_at))
        ))
    }
}

/// The first cell, in order, that has no row.
fn first_missing(levels: &[usize], row_at: &HashMap<Vec<usize>, usize>) -> Vec<usize> {
    let mut place = vec![0; levels.len()];
    while row_at.contains_key(&place) {
        for k in (0..levels.len()).rev() {
            place[k] += 1;
            if place[k] < levels[k] {
                break;
            }
            place[k] = 0;
        }
    }
    place
}

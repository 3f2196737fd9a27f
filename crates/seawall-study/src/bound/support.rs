//! Where the rows of a table are: scattered points, or the cells of a grid.

use super::{Context, check_numbers, complaint};
use crate::read::{Column, Table};
use seawall::{Error, Feature, Kind, Result, Space};
use std::collections::HashMap;

/// A context column, resolved: its kind, its levels, and each row's code.
pub(super) struct Axis {
    context: Context,
    kind: Kind,
    labels: Vec<String>,
    /// A numeric column's distinct numbers, in order.
    numbers: Vec<f64>,
    /// A number for a numeric column, else the index of a level; NaN where missing.
    codes: Vec<f64>,
}

impl Axis {
    pub(super) fn new(table: &Table, context: &Context, column: &Column) -> Result<Self> {
        let kind = match (context.kind, column) {
            (Some(kind), _) => kind,
            (None, Column::Numbers(_)) => Kind::Numeric,
            (None, Column::Levels { .. }) => Kind::Nominal,
        };
        let mut axis = Axis {
            context: context.clone(),
            kind,
            labels: Vec::new(),
            numbers: Vec::new(),
            codes: Vec::new(),
        };
        match column {
            Column::Numbers(numbers) => {
                let fits = |x: f64| !x.is_infinite();
                let name = &context.name;
                check_numbers(table, numbers, name, "a finite number, or nothing", fits)?;
                axis.numbers = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
                axis.numbers.sort_unstable_by(f64::total_cmp);
                axis.numbers.dedup();
                axis.codes = match kind {
                    Kind::Numeric => numbers.clone(),
                    // Ordinal levels that are numbers are in the order of those numbers.
                    _ => numbers.iter().map(|&x| axis.level_of(x)).collect(),
                };
                axis.labels = axis.numbers.iter().map(f64::to_string).collect();
            }
            Column::Levels { labels, rows } => {
                axis.labels = labels.clone();
                axis.codes = rows.iter().map(|r| r.map_or(f64::NAN, f64::from)).collect();
            }
        }
        Ok(axis)
    }

    /// The level of a number among the distinct ones.
    fn level_of(&self, x: f64) -> f64 {
        if x.is_nan() { x } else { self.numbers.partition_point(|&n| n < x) as f64 }
    }

    /// A row's level on a grid; the missing one comes last.
    fn level(&self, row: usize) -> usize {
        let code = self.codes[row];
        let code = if self.kind == Kind::Numeric { self.level_of(code) } else { code };
        if code.is_nan() { self.labels.len() } else { code as usize }
    }

    fn any_missing(&self) -> bool {
        self.codes.iter().any(|x| x.is_nan())
    }

    fn feature(&self, on_grid: bool) -> Feature {
        let (name, labels) = (self.context.name.clone(), self.labels.iter().cloned());
        let mut feature = match self.kind {
            Kind::Numeric if on_grid => Feature::numeric(name).levels(self.numbers.iter().copied()),
            Kind::Numeric => Feature::numeric(name),
            Kind::Ordinal => Feature::ordinal(name, labels),
            Kind::Nominal => Feature::nominal(name, labels),
            Kind::Fixed => Feature::fixed(name, labels),
        };
        if let Some(weight) = self.context.weight {
            feature = feature.weight(weight);
        }
        if self.any_missing() { feature.with_missing() } else { feature }
    }
}

/// Every row a point.
pub(super) fn points(axes: Vec<Axis>, rows: usize) -> Result<(Space, Vec<usize>)> {
    let features: Vec<Feature> = axes.iter().map(|axis| axis.feature(false)).collect();
    let columns = axes.into_iter().map(|axis| axis.codes).collect();
    Ok((Space::points(features, columns)?, (1..=rows).collect()))
}

/// Every row a cell of the grid: returns each cell's row.
pub(super) fn grid(table: &Table, axes: Vec<Axis>) -> Result<(Space, Vec<usize>)> {
    let levels: Vec<usize> =
        axes.iter().map(|axis| axis.labels.len() + usize::from(axis.any_missing())).collect();
    let cells: f64 = levels.iter().map(|&k| k as f64).product();
    if cells != table.rows as f64 {
        return Err(uneven(table, &axes, &levels));
    }
    let space = Space::grid(axes.iter().map(|axis| axis.feature(true)))?;
    let seawall::Support::Grid(shape) = space.support() else {
        return Err(Error::config("a grid was asked for"));
    };
    let mut row_of = vec![0; space.len()];
    for row in 0..table.rows {
        let cell = shape.cell(axes.iter().map(|axis| axis.level(row)));
        if row_of[cell] != 0 {
            return Err(uneven(table, &axes, &levels));
        }
        row_of[cell] = row + 1;
    }
    Ok((space, row_of))
}

/// What is wrong with a grid that has not exactly one row a cell: the first cell with two rows,
/// or how many cells have none and the first of those.
fn uneven(table: &Table, axes: &[Axis], levels: &[usize]) -> Error {
    let words = |place: &[usize]| {
        let label = |(axis, &k): (&Axis, &usize)| {
            let label = axis.labels.get(k).map_or("(missing)", String::as_str);
            format!("{}={label}", axis.context.name)
        };
        axes.iter().zip(place).map(label).collect::<Vec<_>>().join(", ")
    };
    let mut row_at: HashMap<Vec<usize>, usize> = HashMap::with_capacity(table.rows);
    for row in 0..table.rows {
        let place: Vec<usize> = axes.iter().map(|axis| axis.level(row)).collect();
        if let Some(before) = row_at.get(&place) {
            return complaint(
                table,
                format!(
                    "rows {before} and {} are both the grid's cell {}; expected one row a cell \
                     (use --support points, or merge them)",
                    row + 1,
                    words(&place)
                ),
            );
        }
        row_at.insert(place, row + 1);
    }
    let cells: f64 = levels.iter().map(|&k| k as f64).product();
    complaint(
        table,
        format!(
            "the grid of {} = {cells} cells lacks {} of them, the first of which is {}; expected \
             one row a cell (use --support points, or add rows of weight 0)",
            levels.iter().map(usize::to_string).collect::<Vec<_>>().join(" × "),
            cells - row_at.len() as f64,
            words(&first_missing(levels, &row_at))
        ),
    )
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

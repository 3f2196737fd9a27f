//! A context column of one or two tables, resolved: its kind, its levels and where each value is.

use super::Context;
use seawall::{Feature, Kind, Result};
use seawall_table::read::{DeclaredLevels, Distinct, Levels, Order, Table};

/// A share of the range whose square is still told from 0.
const VANISHING: f64 = 1e-150;

/// A context column.
pub(crate) struct Axis {
    context: Context,
    pub(crate) kind: Kind,
    pub(crate) labels: Vec<String>,
    /// A numeric column's distinct numbers, in order.
    numbers: Vec<f64>,
    /// By code: a number for a numeric column, else the index of a level; NaN where missing.
    coordinates: Vec<f64>,
    missing: bool,
}

impl Axis {
    /// A column that was read by its values. Without a kind it is numeric if all its values are
    /// numbers, else nominal. Levels that are numbers are in the order of those, others in `order`.
    pub(crate) fn new(
        context: &Context,
        tables: &[Table],
        column: usize,
        distinct: &Distinct,
        order: Order,
    ) -> Result<Self> {
        let usual = if distinct.all_numbers() { Kind::Numeric } else { Kind::Nominal };
        let kind = context.kind.unwrap_or(usual);
        let mut used: Vec<u32> = tables.iter().flat_map(|t| &t.codes[column]).copied().collect();
        used.sort_unstable();
        used.dedup();
        let mut axis = Axis {
            context: context.clone(),
            kind,
            labels: Vec::new(),
            numbers: Vec::new(),
            coordinates: vec![f64::NAN; distinct.len()],
            missing: false,
        };
        if kind == Kind::Numeric {
            axis.take_numbers(tables, column, distinct, &used)?;
        } else {
            // Levels in the order of numbers are numbers: NA is none of them.
            let numbers = kind == Kind::Ordinal && distinct.all_numbers();
            let missing = |code: usize| {
                if numbers { distinct.is_missing_number(code) } else { distinct.is_missing(code) }
            };
            let present = used.iter().map(|&code| code as usize).filter(|&code| !missing(code));
            let levels = if context.order.is_empty() {
                Levels::seen(distinct, present, order)
            } else {
                let mut present = present;
                let levels = ordered(context, distinct)?;
                if let Some(code) = present.find(|&c| levels.level_of[c].is_none()) {
                    let text = distinct.text(code).cloned().unwrap_or_default();
                    let what = format!("{text:?}; expected {}", context.order.join(" < "));
                    return Err(at_row(tables, column, code as u32, &context.name, &what));
                }
                levels
            };
            let place = |level: &Option<u32>| level.map_or(f64::NAN, f64::from);
            axis.coordinates = levels.level_of.iter().map(place).collect();
            axis.labels = levels.labels;
        }
        axis.missing = used.iter().any(|&code| axis.coordinates[code as usize].is_nan());
        Ok(axis)
    }

    fn take_numbers(
        &mut self,
        tables: &[Table],
        column: usize,
        distinct: &Distinct,
        used: &[u32],
    ) -> Result<()> {
        for &code in used {
            let at = code as usize;
            self.coordinates[at] = match distinct.number(at) {
                Some(x) if x.is_finite() => x + 0.0,
                _ if distinct.is_missing_number(at) => f64::NAN,
                found => {
                    let text = distinct.text(at).cloned().unwrap_or_default();
                    let what = match found {
                        Some(x) => format!("{x}; expected a finite number, or nothing"),
                        None => format!("{text:?} is not a number; expected numbers, or nothing"),
                    };
                    return Err(at_row(tables, column, code, &self.context.name, &what));
                }
            };
        }
        let present = used.iter().map(|&code| self.coordinates[code as usize]);
        self.numbers = present.filter(|x| !x.is_nan()).collect();
        self.numbers.sort_unstable_by(f64::total_cmp);
        self.numbers.dedup();
        self.labels = self.numbers.iter().map(f64::to_string).collect();
        self.check_spread(tables, column, used)
    }

    /// Refuses a number beside which the differences of all others, squared, vanish: they would cost nothing.
    fn check_spread(&self, tables: &[Table], column: usize, used: &[u32]) -> Result<()> {
        let half_range = |numbers: &[f64]| match numbers {
            [low, .., high] => 0.5 * high - 0.5 * low,
            _ => 0.0,
        };
        let [low, .., high] = self.numbers[..] else { return Ok(()) };
        let (outlier, others) = if low.abs() > high.abs() {
            (low, &self.numbers[1..])
        } else {
            (high, &self.numbers[..self.numbers.len() - 1])
        };
        if others.len() < 2 || half_range(others) >= VANISHING * half_range(&self.numbers) {
            return Ok(());
        }
        let farthest = used.iter().find(|code| self.coordinates[**code as usize] == outlier);
        let farthest = farthest.copied().unwrap_or_default();
        let what = format!(
            "{:e} is so far from the other numbers that their differences vanish beside it; expected \
             numbers of like size, or nothing",
            outlier
        );
        Err(at_row(tables, column, farthest, &self.context.name, &what))
    }

    /// What each row of a table has: a number or the index of a level, NaN where missing.
    pub(crate) fn column(&self, codes: &[u32]) -> Vec<f64> {
        codes.iter().map(|&code| self.coordinates[code as usize]).collect()
    }

    /// The level on a grid of a code; the missing one comes last.
    pub(super) fn level(&self, code: u32) -> usize {
        match self.coordinates[code as usize] {
            x if x.is_nan() => self.labels.len(),
            x if self.kind == Kind::Numeric => self.numbers.partition_point(|&n| n < x),
            level => level as usize,
        }
    }

    /// How many levels it has on a grid, the missing one among them.
    pub(super) fn levels(&self) -> usize {
        self.labels.len() + usize::from(self.missing)
    }

    /// A level of a grid in words.
    pub(super) fn describe(&self, level: usize) -> String {
        let label = self.labels.get(level).map_or("(missing)", String::as_str);
        format!("{}={label}", self.context.name)
    }

    /// The feature that it is.
    pub(crate) fn feature(&self, on_grid: bool) -> Feature {
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
        if self.missing { feature.with_missing() } else { feature }
    }
}

/// The levels of a column in the order that is said.
fn ordered(context: &Context, distinct: &Distinct) -> Result<Levels> {
    let declared = DeclaredLevels::new(context.order.clone()).map_err(|level| {
        let what = format!("column {:?}: the level {level:?} is in the order twice", context.name);
        seawall::Error::config(what)
    })?;
    Ok(Levels::declared(&declared, distinct))
}

/// An error about the first row that has a value.
fn at_row(tables: &[Table], column: usize, code: u32, name: &str, what: &str) -> seawall::Error {
    let row = |t: &Table| t.codes[column].iter().position(|c| *c == code);
    match tables.iter().find_map(|t| row(t).map(|row| (t, row + 1))) {
        Some((table, row)) => table.error(format!("row {row}, column {name:?}: {what}")),
        None => seawall::Error::input(format!("column {name:?}: {what}")),
    }
}

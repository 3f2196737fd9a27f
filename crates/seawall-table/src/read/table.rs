//! Whole columns of one or more files in memory: numbers, or codes of distinct values.

use super::distinct::Distinct;
use super::stream::{Reading, Stream};
use crate::memory::needs;
use seawall::{Error, Progress, Result, Stage, Watch};
use std::path::{Path, PathBuf};

/// Rows after which the room that is left is looked at.
const MANY: usize = 1 << 19;

/// The columns asked for, in the order they were asked for.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where it came from.
    pub path: PathBuf,
    /// How many rows.
    pub rows: usize,
    /// Each column read as numbers, NaN where missing; empty for others.
    pub numbers: Vec<Vec<f64>>,
    /// Each row's code of the columns read by their values; empty for others.
    pub codes: Vec<Vec<u32>>,
}

impl Table {
    /// Checks every number of a column; the first that does not fit is named.
    pub fn check_numbers(
        &self,
        column: usize,
        name: &str,
        expected: &str,
        fits: impl Fn(f64) -> bool,
    ) -> Result<()> {
        let numbers = &self.numbers[column];
        let Some(row) = numbers.iter().position(|&x| !fits(x)) else { return Ok(()) };
        let found = match numbers[row] {
            x if x.is_nan() => "missing or not a number (NaN)".to_owned(),
            x => x.to_string(),
        };
        Err(self.error(format!("row {}, column {name:?}: {found}; expected {expected}", row + 1)))
    }

    /// Refuses to go on where there is no room for as much again as there is.
    fn room(&self) -> Result<()> {
        let bytes = self.numbers.iter().map(|c| 8 * c.len()).sum::<usize>()
            + self.codes.iter().map(|c| 4 * c.len()).sum::<usize>();
        let what = format!("{}: the rows after row {} take", self.path.display(), self.rows);
        needs(bytes as f64, &what, "take part of the rows, or fewer columns")
    }

    /// An error about the table.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::input(format!("{}: {what}", self.path.display()))
    }
}

/// Reads the columns asked for from each of some files, their distinct values numbered through.
pub fn tables(
    paths: &[&Path],
    wanted: &[(&str, Reading)],
    watch: Watch<'_>,
) -> Result<(Vec<Table>, Vec<Distinct>)> {
    let names = wanted.iter().map(|w| w.0.to_owned()).collect();
    let mut stream = Stream::new(names, wanted.iter().map(|w| w.1).collect());
    let mut found = Vec::new();
    for &path in paths {
        let mut table = Table {
            path: path.to_owned(),
            rows: 0,
            numbers: vec![Vec::new(); wanted.len()],
            codes: vec![Vec::new(); wanted.len()],
        };
        stream.read(path, &mut |columns| {
            for (all, part) in table.numbers.iter_mut().zip(columns.numbers) {
                all.extend_from_slice(part);
            }
            for (all, part) in table.codes.iter_mut().zip(columns.codes) {
                all.extend_from_slice(part);
            }
            // Where columns grow they take as much again.
            if table.rows / MANY != (table.rows + columns.rows) / MANY {
                table.room()?;
            }
            table.rows += columns.rows;
            watch.tell(Progress::at(Stage::Reading).done(table.rows))
        })?;
        found.push(table);
    }
    Ok((found, stream.into_distinct()))
}

//! Columns of numbers or of levels.

use super::file::{batches, unreadable};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use seawall::{Error, Progress, Result, Stage, Watch};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a column must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Numbers.
    Numbers,
    /// Levels: every distinct text is one.
    Levels,
    /// Numbers if every value is one, else levels.
    Either,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers, NaN where missing.
    Numbers(Vec<f64>),
    /// Levels in order of appearance, and each row's, None where missing.
    Levels {
        /// The distinct texts.
        labels: Vec<String>,
        /// Each row's level.
        rows: Vec<Option<u32>>,
    },
}

/// The columns asked for, in the order they were asked for.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where it came from.
    pub path: PathBuf,
    /// How many rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<Column>,
}

/// Texts that mean a missing number.
const MISSING: [&str; 2] = ["", "NA"];

/// Reads the columns asked for.
pub fn table(path: &Path, wanted: &[(&str, Wanted)], watch: Watch<'_>) -> Result<Table> {
    let mut builders: Vec<Builder<'_>> =
        wanted.iter().map(|&(name, wanted)| Builder::new(path, name, wanted)).collect();
    let names: Vec<&str> = wanted.iter().map(|w| w.0).collect();
    let mut rows = 0;
    batches(path, &names, |batch: &RecordBatch| {
        for (builder, column) in builders.iter_mut().zip(batch.columns()) {
            builder.take(column, rows)?;
        }
        rows += batch.num_rows();
        watch.tell(Progress::of(Stage::Reading).done(rows))
    })?;
    if rows == 0 {
        return Err(unreadable(path, "the file has no rows"));
    }
    let columns = builders.into_iter().map(Builder::finish).collect();
    Ok(Table { path: path.to_owned(), rows, columns })
}

struct Builder<'a> {
    path: &'a Path,
    name: &'a str,
    wanted: Wanted,
    numbers: Vec<f64>,
    labels: Vec<String>,
    places: HashMap<String, u32>,
    rows: Vec<Option<u32>>,
}

impl<'a> Builder<'a> {
    fn new(path: &'a Path, name: &'a str, wanted: Wanted) -> Self {
        Builder {
            path,
            name,
            wanted,
            numbers: Vec::new(),
            labels: Vec::new(),
            places: HashMap::new(),
            rows: Vec::new(),
        }
    }

    /// Takes in a batch whose first row is row `from` of the table, counted from 0.
    fn take(&mut self, column: &ArrayRef, from: usize) -> Result<()> {
        let kind = match column.data_type() {
            DataType::Dictionary(_, of) => of,
            kind => kind,
        };
        let countable = kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null);
        match self.wanted {
            Wanted::Numbers if countable => self.take_numbers(column),
            Wanted::Numbers if kind.is_string() => self.parse_numbers(column, from),
            Wanted::Either if kind.is_numeric() => self.take_numbers(column),
            Wanted::Either | Wanted::Levels
                if countable || kind.is_string() || kind.is_temporal() =>
            {
                self.take_levels(column)
            }
            Wanted::Numbers => Err(self.error(format!("it holds {kind}; expected numbers"))),
            _ => Err(self.error(format!("it holds {kind}; expected numbers or text"))),
        }
    }

    fn take_numbers(&mut self, column: &ArrayRef) -> Result<()> {
        let column = self.cast(column, &DataType::Float64)?;
        let column = column.as_primitive::<Float64Type>();
        self.numbers.extend(column.iter().map(|x| x.unwrap_or(f64::NAN)));
        Ok(())
    }

    fn parse_numbers(&mut self, column: &ArrayRef, from: usize) -> Result<()> {
        let column = self.cast(column, &DataType::Utf8)?;
        for (row, text) in column.as_string::<i32>().iter().enumerate() {
            let number = number(text.unwrap_or_default()).ok_or_else(|| {
                let text = text.unwrap_or_default();
                Error::input(format!(
                    "{}: row {}, column {:?}: {text:?} is not a number",
                    self.path.display(),
                    from + row + 1,
                    self.name
                ))
            })?;
            self.numbers.push(number);
        }
        Ok(())
    }

    fn take_levels(&mut self, column: &ArrayRef) -> Result<()> {
        let column = self.cast(column, &DataType::Utf8)?;
        for text in column.as_string::<i32>() {
            let level = text.map(|text| match self.places.get(text) {
                Some(&level) => level,
                None => {
                    let level = self.labels.len() as u32;
                    self.places.insert(text.to_owned(), level);
                    self.labels.push(text.to_owned());
                    level
                }
            });
            self.rows.push(level);
        }
        Ok(())
    }

    fn cast(&self, column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        cast(column, to)
            .map_err(|_| self.error(format!("its {} cannot be read as {to}", column.data_type())))
    }

    fn finish(self) -> Column {
        if self.rows.is_empty() {
            return Column::Numbers(self.numbers);
        }
        let read: Option<Vec<f64>> = self.labels.iter().map(|l| number(l)).collect();
        match read {
            Some(read) if self.wanted == Wanted::Either => {
                let number = |row: &Option<u32>| row.map_or(f64::NAN, |level| read[level as usize]);
                Column::Numbers(self.rows.iter().map(number).collect())
            }
            _ => Column::Levels { labels: self.labels, rows: self.rows },
        }
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        unreadable(self.path, format!("column {:?}: {what}", self.name))
    }
}

/// A text as a number, NaN where it means a missing one; None if it is none.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if MISSING.contains(&text) { Some(f64::NAN) } else { text.parse().ok() }
}

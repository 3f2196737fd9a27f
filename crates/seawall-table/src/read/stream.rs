//! Columns streamed batch by batch, each distinct value numbered as it appears.

use super::convert::{Fault, numbers};
use super::distinct::Distinct;
use super::file::{BATCH, batches, find, unreadable};
use super::guard::guarded;
use super::json::NESTED;
use super::line::{BinnedColumn, Line};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use rayon::prelude::*;
use seawall::Result;
use std::path::Path;

/// How a column is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// By its distinct values.
    Values,
    /// As numbers, whose distinct values are not kept.
    Numbers,
    /// As numbers too, infinite where a value is not allowed: an error only where it is used.
    Line(Line),
    /// By the bins of its numbers.
    Bins(Line),
    /// Not at all: it is passed on as it is.
    Untouched,
}

/// A batch of rows.
pub struct Columns<'a> {
    /// How many rows.
    pub rows: usize,
    /// For each column read by its values or bins, each row's; empty for others.
    pub codes: &'a [Vec<u32>],
    /// For each column read as numbers, those; empty for others.
    pub numbers: &'a [Vec<f64>],
    /// For each column read by its bins, the numbers in them; empty for others.
    pub raw: &'a [Vec<f64>],
    /// For each column, the distinct values so far.
    pub distinct: &'a [Distinct],
    /// For each column read by its bins, those so far.
    pub binned: &'a [Option<BinnedColumn>],
    /// The columns as they came.
    pub arrays: &'a [ArrayRef],
}

/// What was seen of the columns read.
pub struct Seen<'a> {
    /// How each was read.
    pub readings: &'a [Reading],
    /// For each, its distinct values.
    pub distinct: &'a [Distinct],
    /// For each read by its bins, those.
    pub binned: &'a [Option<BinnedColumn>],
}

/// Columns read from files one after the other, their distinct values numbered through.
pub struct Stream {
    names: Vec<String>,
    readings: Vec<Reading>,
    distinct: Vec<Distinct>,
    binned: Vec<Option<BinnedColumn>>,
    /// Rows whose values are looked at; those after them are only passed by.
    first: usize,
    /// For each column that could not be read, why; None where that is an error.
    refused: Option<Vec<Option<String>>>,
}

impl Stream {
    /// Nothing read yet.
    pub fn new(names: Vec<String>, readings: Vec<Reading>) -> Self {
        let distinct = vec![Distinct::default(); names.len()];
        let binned = |reading: &Reading| match reading {
            Reading::Bins(line) => Some(BinnedColumn::new(*line)),
            _ => None,
        };
        let binned = readings.iter().map(binned).collect();
        Stream { names, readings, distinct, binned, first: usize::MAX, refused: None }
    }

    /// Looks at the first rows of each file only; of the batches after them it tells the number
    /// of rows and nothing else.
    #[must_use]
    pub fn first(self, rows: usize) -> Self {
        Stream { first: rows, ..self }
    }

    /// Leaves out columns that cannot be read in place of failing.
    #[must_use]
    pub fn lenient(self) -> Self {
        Stream { refused: Some(vec![None; self.names.len()]), ..self }
    }

    /// The distinct values of each column.
    pub fn into_distinct(self) -> Vec<Distinct> {
        self.distinct
    }

    /// The distinct values of each column, and the bins of those read by them.
    pub fn into_parts(self) -> (Vec<Distinct>, Vec<Option<BinnedColumn>>) {
        (self.distinct, self.binned)
    }

    /// The distinct values of each column, or why it could not be read.
    pub fn into_readable(self) -> Vec<std::result::Result<Distinct, String>> {
        let refused = self.refused.unwrap_or_else(|| vec![None; self.names.len()]);
        self.distinct.into_iter().zip(refused).map(|(d, why)| why.map_or(Ok(d), Err)).collect()
    }

    /// Streams a file through `take`.
    pub fn read(
        &mut self,
        path: &Path,
        take: &mut dyn FnMut(&Columns<'_>) -> Result<()>,
    ) -> Result<()> {
        let before = stamp(path);
        let names = self.names.clone();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut last = LastBatch::new(path, names.len());
        batches(path, &names, |batch| self.pass(batch, &mut last, take))?;
        if last.rows == 0 {
            return Err(unreadable(path, "the file has no rows"));
        }
        if stamp(path) != before {
            return Err(unreadable(path, "the file changed while it was read; run again"));
        }
        Ok(())
    }

    /// Streams batches that are in memory already through `take`, a few rows at a time. `name` is
    /// what messages call them.
    pub fn read_batches(
        &mut self,
        name: &Path,
        batches: &mut dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
        take: &mut dyn FnMut(&Columns<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut last = LastBatch::new(name, self.names.len());
        for batch in batches {
            let batch = batch.map_err(|e| unreadable(name, e))?;
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let picks = find(name, batch.schema_ref(), &names)?;
            let batch = batch.project(&picks).map_err(|e| unreadable(name, e))?;
            for from in (0..batch.num_rows()).step_by(BATCH) {
                let rows = BATCH.min(batch.num_rows() - from);
                self.pass(&batch.slice(from, rows), &mut last, take)?;
            }
        }
        match last.rows {
            0 => Err(unreadable(name, "there are no rows")),
            _ => Ok(()),
        }
    }

    /// Numbers the values of one batch and passes them on.
    fn pass(
        &mut self,
        batch: &RecordBatch,
        last: &mut LastBatch<'_>,
        take: &mut dyn FnMut(&Columns<'_>) -> Result<()>,
    ) -> Result<()> {
        // Exactly the first rows are looked at, wherever batches end.
        let left = self.first.saturating_sub(last.rows);
        if (1..batch.num_rows()).contains(&left) {
            self.pass(&batch.slice(0, left), last, take)?;
            return self.pass(&batch.slice(left, batch.num_rows() - left), last, take);
        }
        let looked_at = if last.rows < self.first { batch.columns() } else { &[] };
        // Each column on its own, whichever thread comes to it: values are numbered as they appear.
        let schema = batch.schema_ref();
        let own = (&self.readings, &mut self.distinct, &mut self.binned);
        let (codes, numbers, raw) = (&mut last.codes, &mut last.numbers, &mut last.raw);
        let parts = (own.0, own.1, own.2, codes, numbers, raw, looked_at);
        let faults: Vec<Option<Fault>> = parts
            .into_par_iter()
            .enumerate()
            .map(|(k, (reading, distinct, binned, codes, numbers, raw, column))| {
                let nested = schema.field(k).metadata().contains_key(NESTED);
                let part = Part { reading: *reading, distinct, binned, codes, numbers, raw };
                let looked = guarded(|| part.look(column, nested));
                looked.unwrap_or_else(|what| Err(Fault { row: None, what })).err()
            })
            .collect();
        for (k, fault) in faults.into_iter().enumerate() {
            let Some(fault) = fault else { continue };
            match &mut self.refused {
                None => {
                    return Err(unreadable(last.path, fault.described(&self.names[k], last.rows)));
                }
                Some(refused) => refused[k] = Some(fault.what),
            }
        }
        last.rows += batch.num_rows();
        take(&Columns {
            rows: batch.num_rows(),
            codes: &last.codes,
            numbers: &last.numbers,
            raw: &last.raw,
            distinct: &self.distinct,
            binned: &self.binned,
            arrays: batch.columns(),
        })
    }
}

/// What is known of one column, and where its part of a batch goes.
struct Part<'a> {
    reading: Reading,
    distinct: &'a mut Distinct,
    binned: &'a mut Option<BinnedColumn>,
    codes: &'a mut Vec<u32>,
    numbers: &'a mut Vec<f64>,
    raw: &'a mut Vec<f64>,
}

impl Part<'_> {
    /// Reads the column's part of a batch.
    fn look(self, column: &ArrayRef, nested: bool) -> std::result::Result<(), Fault> {
        self.codes.clear();
        self.raw.clear();
        match (self.reading, self.binned) {
            (Reading::Untouched, _) => {}
            _ if nested => {
                let what = "it holds lists or objects; expected numbers or text".to_owned();
                return Err(Fault { row: None, what });
            }
            (Reading::Numbers, _) => *self.numbers = numbers(column)?,
            (Reading::Line(line), _) | (Reading::Bins(line), None) => {
                *self.numbers = line.take(column)?;
            }
            (Reading::Bins(_), Some(binned)) => binned.take(column, self.codes, self.raw)?,
            (Reading::Values, _) => self.distinct.take(column, self.codes)?,
        }
        Ok(())
    }
}

/// How far a source has been read, and its last batch.
struct LastBatch<'a> {
    path: &'a Path,
    rows: usize,
    codes: Vec<Vec<u32>>,
    numbers: Vec<Vec<f64>>,
    raw: Vec<Vec<f64>>,
}

impl<'a> LastBatch<'a> {
    fn new(path: &'a Path, columns: usize) -> Self {
        let (codes, numbers) = (vec![Vec::new(); columns], vec![Vec::new(); columns]);
        LastBatch { path, rows: 0, codes, raw: numbers.clone(), numbers }
    }
}

/// A file's length and time of change.
fn stamp(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}

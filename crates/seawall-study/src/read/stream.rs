//! Columns streamed batch by batch, each distinct value numbered as it appears.

use super::file::{BATCH, batches, find, unreadable};
use super::table::number;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use foldhash::fast::FixedState;
use seawall::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// Whole numbers below this have a table of their own.
const WHOLE: usize = 1 << 16;
/// No code yet.
const NONE: u32 = u32::MAX;

/// The distinct values of a column, in order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    texts: Vec<Option<String>>,
    numbers: Vec<Option<f64>>,
    by_text: HashMap<String, u32, FixedState>,
    by_bits: HashMap<u64, u32, FixedState>,
    /// The codes of small whole numbers, the commonest numbers there are.
    by_whole: Vec<u32>,
    missing: Option<u32>,
}

impl Distinct {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// A value as text; None if it is a missing one.
    pub fn text(&self, code: usize) -> Option<&String> {
        self.texts[code].as_ref()
    }

    /// A value as a number, if it is one.
    pub fn number(&self, code: usize) -> Option<f64> {
        self.numbers[code]
    }

    fn add(&mut self, text: Option<String>, number: Option<f64>) -> u32 {
        self.texts.push(text);
        self.numbers.push(number);
        self.texts.len() as u32 - 1
    }

    fn code_of_missing(&mut self) -> u32 {
        match self.missing {
            Some(code) => code,
            None => {
                let code = self.add(None, None);
                self.missing = Some(code);
                code
            }
        }
    }

    fn code_of_text(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return self.code_of_missing() };
        if let Some(&code) = self.by_text.get(text) {
            return code;
        }
        let code = self.add(Some(text.to_owned()), number(text).filter(|x| !x.is_nan()));
        self.by_text.insert(text.to_owned(), code);
        code
    }

    /// Whether a value is missing where numbers are expected: NA is then no text.
    pub fn is_missing_number(&self, code: usize) -> bool {
        self.texts[code].as_deref().is_none_or(|text| number(text).is_some_and(f64::is_nan))
    }

    /// The code of a number, NaN being a missing value.
    #[inline]
    pub(crate) fn code_of_number(&mut self, x: f64) -> u32 {
        let whole = x as u32;
        if f64::from(whole) == x
            && let Some(&code) = self.by_whole.get(whole as usize)
            && code != NONE
        {
            return code;
        }
        self.code_of_other_number(x)
    }

    fn code_of_other_number(&mut self, x: f64) -> u32 {
        if x.is_nan() {
            return self.code_of_missing();
        }
        let bits = (x + 0.0).to_bits();
        if let Some(&code) = self.by_bits.get(&bits) {
            return code;
        }
        // Another file may have written it as text.
        let code = self.code_of_text(Some(&x.to_string()));
        self.by_bits.insert(bits, code);
        let whole = x as usize;
        if whole as f64 == x && whole < WHOLE {
            self.by_whole.resize(self.by_whole.len().max(whole + 1), NONE);
            self.by_whole[whole] = code;
        }
        code
    }

    /// Appends the codes of a column's values.
    fn take(&mut self, column: &ArrayRef, codes: &mut Vec<u32>) -> std::result::Result<(), String> {
        if let Some(column) = column.as_any_dictionary_opt() {
            let mut of_values = Vec::new();
            self.take(column.values(), &mut of_values)?;
            if of_values.is_empty() {
                let missing = self.code_of_missing();
                codes.extend(std::iter::repeat_n(missing, column.len()));
                return Ok(());
            }
            let keys = column.normalized_keys();
            codes.extend(keys.iter().map(|&key| of_values[key]));
            if column.keys().null_count() > 0 {
                let missing = self.code_of_missing();
                let first = codes.len() - keys.len();
                let nulls = (0..keys.len()).filter(|&i| column.keys().is_null(i));
                nulls.for_each(|i| codes[first + i] = missing);
            }
            return Ok(());
        }
        if column.data_type().is_numeric() && !beyond_floats(column) {
            let column = to(column, &DataType::Float64)?;
            let column = column.as_primitive::<Float64Type>();
            if column.null_count() == 0 {
                codes.extend(column.values().iter().map(|&x| self.code_of_number(x)));
            } else {
                let number = |x: Option<f64>| self.code_of_number(x.unwrap_or(f64::NAN));
                codes.extend(column.iter().map(number));
            }
            return Ok(());
        }
        let truth = column.data_type() == &DataType::Boolean;
        let column = to(column, &DataType::Utf8)?;
        codes.extend(column.as_string::<i32>().iter().map(|text| self.code_of_text(text)));
        if truth {
            // True counts as 1 where a number is wanted.
            for (text, truth) in [("false", 0.0), ("true", 1.0)] {
                if let Some(&code) = self.by_text.get(text) {
                    self.numbers[code as usize] = Some(truth);
                }
            }
        }
        Ok(())
    }
}

/// A batch of rows.
pub struct Columns<'a> {
    /// How many rows.
    pub rows: usize,
    /// For each column, each row's distinct value; empty for columns read as plain numbers.
    pub codes: &'a [Vec<u32>],
    /// For each column read as plain numbers, those; empty for others.
    pub numbers: &'a [Vec<f64>],
    /// For each column, the distinct values so far.
    pub distinct: &'a [Distinct],
}

/// Columns read from files one after the other, their distinct values numbered through.
pub struct Stream {
    names: Vec<String>,
    plain: Vec<bool>,
    distinct: Vec<Distinct>,
    /// Rows whose values are looked at; those after them are only passed by.
    first: usize,
}

impl Stream {
    /// Nothing read yet. Where `plain` says so a column is read as numbers and its distinct
    /// values are not kept.
    pub fn new(names: Vec<String>, plain: Vec<bool>) -> Self {
        let distinct = vec![Distinct::default(); names.len()];
        Stream { names, plain, distinct, first: usize::MAX }
    }

    /// Looks at the first rows of each file only; of the batches after them it tells the number
    /// of rows and nothing else.
    #[must_use]
    pub fn first(self, rows: usize) -> Self {
        Stream { first: rows, ..self }
    }

    /// The distinct values of each column.
    pub fn into_distinct(self) -> Vec<Distinct> {
        self.distinct
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
        let mut place = Place::new(path, names.len());
        batches(path, &names, |batch| self.pass(batch, &mut place, take))?;
        if place.rows == 0 {
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
        let mut place = Place::new(name, self.names.len());
        for batch in batches {
            let batch = batch.map_err(|e| unreadable(name, e))?;
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let picks = find(name, batch.schema_ref(), &names)?;
            let batch = batch.project(&picks).map_err(|e| unreadable(name, e))?;
            for from in (0..batch.num_rows()).step_by(BATCH) {
                let rows = BATCH.min(batch.num_rows() - from);
                self.pass(&batch.slice(from, rows), &mut place, take)?;
            }
        }
        match place.rows {
            0 => Err(unreadable(name, "there are no rows")),
            _ => Ok(()),
        }
    }

    /// Numbers the values of one batch and passes them on.
    fn pass(
        &mut self,
        batch: &RecordBatch,
        place: &mut Place<'_>,
        take: &mut dyn FnMut(&Columns<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = place.path;
        let looked_at = if place.rows < self.first { batch.columns() } else { &[] };
        for (k, column) in looked_at.iter().enumerate() {
            let name = &self.names[k];
            if self.plain[k] {
                place.numbers[k] = plain_numbers(path, name, column, place.rows)?;
            } else {
                let bad = |what: String| unreadable(path, format!("column {name:?}: {what}"));
                place.codes[k].clear();
                self.distinct[k].take(column, &mut place.codes[k]).map_err(bad)?;
            }
        }
        place.rows += batch.num_rows();
        take(&Columns {
            rows: batch.num_rows(),
            codes: &place.codes,
            numbers: &place.numbers,
            distinct: &self.distinct,
        })
    }
}

/// How far a source has been read, and its last batch.
struct Place<'a> {
    path: &'a Path,
    rows: usize,
    codes: Vec<Vec<u32>>,
    numbers: Vec<Vec<f64>>,
}

impl<'a> Place<'a> {
    fn new(path: &'a Path, columns: usize) -> Self {
        let (codes, numbers) = (vec![Vec::new(); columns], vec![Vec::new(); columns]);
        Place { path, rows: 0, codes, numbers }
    }
}

/// Whether a column of whole numbers holds one that a float cannot: names, then, not numbers.
fn beyond_floats(column: &ArrayRef) -> bool {
    const LARGEST: u64 = 1 << 53;
    let large = match column.data_type() {
        DataType::Int64 => {
            let all = column.as_primitive::<Int64Type>().iter().flatten();
            all.map(i64::unsigned_abs).max()
        }
        DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().flatten().max(),
        _ => None,
    };
    large.is_some_and(|x| x > LARGEST)
}

/// A file's length and time of change.
fn stamp(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}

fn to(column: &ArrayRef, kind: &DataType) -> std::result::Result<ArrayRef, String> {
    let nested = column.data_type().is_nested();
    match cast(column, kind) {
        Ok(column) if !nested => Ok(column),
        _ => Err(format!("it holds {}; expected numbers or text", column.data_type())),
    }
}

fn plain_numbers(path: &Path, name: &str, column: &ArrayRef, from: usize) -> Result<Vec<f64>> {
    if column.data_type().is_numeric() {
        let bad = |what| unreadable(path, format!("column {name:?}: {what}"));
        let column = to(column, &DataType::Float64).map_err(bad)?;
        let column = column.as_primitive::<Float64Type>();
        return Ok(column.iter().map(|x| x.unwrap_or(f64::NAN)).collect());
    }
    let column = to(column, &DataType::Utf8)
        .map_err(|what| unreadable(path, format!("column {name:?}: {what}")))?;
    let parse = |(row, text): (usize, Option<&str>)| {
        number(text.unwrap_or_default()).ok_or_else(|| {
            Error::input(format!(
                "{}: row {}, column {name:?}: {:?} is not a number",
                path.display(),
                from + row + 1,
                text.unwrap_or_default()
            ))
        })
    };
    column.as_string::<i32>().iter().enumerate().map(parse).collect()
}

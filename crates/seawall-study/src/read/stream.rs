//! Columns streamed batch by batch, each distinct value numbered as it appears.

use super::file::{batches, unreadable};
use super::table::number;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use seawall::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// The distinct values of a column, in order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    texts: Vec<Option<String>>,
    numbers: Vec<Option<f64>>,
    by_text: HashMap<String, u32>,
    by_bits: HashMap<u64, u32>,
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

    fn code_of_number(&mut self, x: Option<f64>) -> u32 {
        let Some(x) = x.filter(|x| !x.is_nan()) else { return self.code_of_missing() };
        let bits = (x + 0.0).to_bits();
        if let Some(&code) = self.by_bits.get(&bits) {
            return code;
        }
        let code = self.add(Some(x.to_string()), Some(x));
        self.by_bits.insert(bits, code);
        code
    }
}

/// A batch of rows.
pub struct Columns<'a> {
    /// How many rows.
    pub rows: usize,
    /// For each column, each row's distinct value; empty for columns read as plain numbers.
    pub codes: Vec<Vec<u32>>,
    /// For each column read as plain numbers, those; empty for others.
    pub numbers: Vec<Vec<f64>>,
    /// For each column, the distinct values so far.
    pub distinct: &'a [Distinct],
}

/// Streams columns through `take` and returns their distinct values. Where `plain` says so a
/// column is read as numbers and its distinct values are not kept.
pub fn stream(
    path: &Path,
    names: &[&str],
    plain: &[bool],
    take: &mut dyn FnMut(&Columns<'_>) -> Result<()>,
) -> Result<Vec<Distinct>> {
    let before = stamp(path);
    let mut distinct = vec![Distinct::default(); names.len()];
    let mut rows = 0;
    batches(path, names, |batch| {
        let (mut codes, mut numbers) = (Vec::new(), Vec::new());
        for (k, column) in batch.columns().iter().enumerate() {
            let bad = |what: String| unreadable(path, format!("column {:?}: {what}", names[k]));
            let is_number = column.data_type().is_numeric();
            if plain[k] {
                numbers.push(plain_numbers(path, names[k], column, rows)?);
                codes.push(Vec::new());
                continue;
            }
            numbers.push(Vec::new());
            codes.push(if is_number {
                let column = to(column, &DataType::Float64).map_err(bad)?;
                let column = column.as_primitive::<Float64Type>();
                column.iter().map(|x| distinct[k].code_of_number(x)).collect()
            } else {
                let column = to(column, &DataType::Utf8).map_err(bad)?;
                column.as_string::<i32>().iter().map(|t| distinct[k].code_of_text(t)).collect()
            });
        }
        rows += batch.num_rows();
        take(&Columns { rows: batch.num_rows(), codes, numbers, distinct: &distinct })
    })?;
    if rows == 0 {
        return Err(unreadable(path, "the file has no rows"));
    }
    if stamp(path) != before {
        return Err(unreadable(path, "the file changed while it was read; run again"));
    }
    Ok(distinct)
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

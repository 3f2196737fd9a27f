//! A counted table that was made here, and its two formats.

use crate::write::csv_field;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use seawall::{Error, Result};
use std::cmp::Ordering;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The cells of a column.
pub(super) enum Cells {
    Texts(Vec<Option<String>>),
    /// True and false; whether they are written as 1 and 0 where there are only texts.
    Truths(Vec<Option<String>>, bool),
    /// NaN where missing.
    Numbers(Vec<f64>),
    Counts(Vec<u64>),
}

impl Cells {
    /// Values of a column as texts, which may all be truths; `numeric` if they are used as numbers.
    pub(super) fn of_values(texts: Vec<Option<String>>, truths: bool, numeric: bool) -> Self {
        if truths { Cells::Truths(texts, numeric) } else { Cells::Texts(texts) }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Cells::Texts(all) | Cells::Truths(all, _) => all[a].cmp(&all[b]),
            Cells::Numbers(all) => all[a].total_cmp(&all[b]),
            Cells::Counts(all) => all[a].cmp(&all[b]),
        }
    }

    fn array(&self, order: &[usize]) -> ArrayRef {
        let truth = |text: &Option<String>| text.as_ref().map(|text| text == "true");
        match self {
            Cells::Texts(all) => {
                Arc::new(order.iter().map(|&k| all[k].as_deref()).collect::<StringArray>())
            }
            Cells::Truths(all, _) => {
                Arc::new(order.iter().map(|&k| truth(&all[k])).collect::<BooleanArray>())
            }
            Cells::Numbers(all) => {
                let number = |&k: &usize| Some(all[k]).filter(|x| !x.is_nan());
                Arc::new(order.iter().map(number).collect::<Float64Array>())
            }
            Cells::Counts(all) => {
                Arc::new(order.iter().map(|&k| all[k] as i64).collect::<Int64Array>())
            }
        }
    }

    fn text(&self, k: usize) -> String {
        match self {
            Cells::Texts(all) | Cells::Truths(all, false) => {
                csv_field(all[k].as_deref().unwrap_or_default())
            }
            Cells::Truths(all, true) => match all[k].as_deref() {
                None => String::new(),
                Some(text) => u8::from(text == "true").to_string(),
            },
            Cells::Numbers(all) if all[k].is_nan() => String::new(),
            Cells::Numbers(all) => all[k].to_string(),
            Cells::Counts(all) => all[k].to_string(),
        }
    }
}

/// A study's rows, counted.
pub struct CountedTable {
    columns: Vec<(String, Cells)>,
    /// Its rows, in order of their values.
    order: Vec<usize>,
}

impl CountedTable {
    pub(super) fn new(columns: Vec<(String, Cells)>) -> Self {
        let rows = match columns.last() {
            Some((_, Cells::Counts(counts))) => counts.len(),
            _ => 0,
        };
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by(|&a, &b| {
            let each = columns.iter().map(|(_, cells)| cells.compare(a, b));
            each.fold(Ordering::Equal, Ordering::then)
        });
        CountedTable { columns, order }
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.order.len()
    }

    /// Whether a table can be written to a file of this name; refused if not.
    pub fn check_name(path: &Path) -> Result<()> {
        match format(path) {
            Some(_) => Ok(()),
            None => Err(Error::input(format!(
                "{}: a counted table is written as .parquet or .csv",
                path.display()
            ))),
        }
    }

    /// The file that a table becomes, by the ending of its name.
    pub fn bytes(&self, path: &Path) -> Result<Vec<u8>> {
        Self::check_name(path)?;
        let failed = |e: &dyn std::fmt::Display| Error::input(format!("{}: {e}", path.display()));
        match format(path) {
            Some(Format::Parquet) => self.parquet().map_err(|e| failed(&e)),
            _ => self.csv().map_err(|e| failed(&e)),
        }
    }

    fn parquet(&self) -> std::result::Result<Vec<u8>, parquet::errors::ParquetError> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|c| c.1.array(&self.order)).collect();
        let field = |((name, _), a): (&(String, Cells), &ArrayRef)| {
            Field::new(name, a.data_type().clone(), true)
        };
        let fields: Vec<Field> = self.columns.iter().zip(&arrays).map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays)?;
        let settings = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(settings))?;
        writer.write(&batch)?;
        writer.into_inner()
    }

    fn csv(&self) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let names: Vec<String> = self.columns.iter().map(|(name, _)| csv_field(name)).collect();
        writeln!(out, "{}", names.join(","))?;
        for &row in &self.order {
            let cells: Vec<String> = self.columns.iter().map(|(_, c)| c.text(row)).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(out)
    }
}

#[derive(Clone, Copy)]
enum Format {
    Parquet,
    Csv,
}

fn format(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "parquet" | "pq" => Some(Format::Parquet),
        "csv" => Some(Format::Csv),
        _ => None,
    }
}

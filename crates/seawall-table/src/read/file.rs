//! A file's format and compression, and its record batches.

use super::csv::{self, Layout, Stopped, separator};
use super::footer;
use super::guard::guarded;
use super::json::{self, JsonBatches};
use super::names::unknown_column;
use super::pages;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use glob::MatchOptions;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use seawall::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows read at a time.
pub(super) const BATCH: usize = 8192;

#[derive(Clone, Copy)]
enum Format {
    Csv { delimiter: u8 },
    JsonLines,
    Parquet,
}

#[derive(Clone, Copy)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Record batches of the columns `names`, in that order, each passed to `take`.
///
/// CSV columns are text whatever they hold, and so are the numbers of JSON lines: as they were
/// written. Parquet keeps its types.
pub(super) fn batches(
    path: &Path,
    names: &[&str],
    mut take: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let (format, compression) = kind(path)?;
    let bad = |error: ArrowError| unreadable(path, plain(&error));
    let mut each = |batch: std::result::Result<RecordBatch, ArrowError>, picks: &[usize]| {
        take(&batch.and_then(|b| b.project(picks)).map_err(bad)?)
    };
    match format {
        Format::Csv { delimiter } => {
            let (delimiter, schema) = csv_header(path, compression, delimiter)?;
            let wanted = find(path, &schema, names)?;
            let (kept, picks) = each_once(&wanted);
            let read = Arc::new(schema.project(&kept).map_err(bad)?);
            let layout = Layout { delimiter, columns: schema.fields().len(), wanted: kept };
            let found = csv::read(open(path, compression)?, &layout, &mut |rows| {
                let count = RecordBatchOptions::new().with_row_count(Some(rows.rows));
                let batch = RecordBatch::try_new_with_options(read.clone(), rows.columns, &count);
                each(batch, &picks)
            });
            found.map_err(|stopped| match stopped {
                Stopped::Refused(error) => error,
                Stopped::Broken(what) => unreadable(path, what),
                Stopped::Row(row, what) => unreadable(path, format!("row {}: {what}", row + 1)),
                Stopped::NoText(row, column) => {
                    let (row, name) = (row + 1, schema.field(column).name());
                    let what = "it is not UTF-8; expected text";
                    unreadable(path, format!("row {row}, column {name:?}: {what}"))
                }
            })
        }
        Format::JsonLines => {
            let schema = json_schema(path, compression)?;
            let wanted = find(path, &schema, names)?;
            let (kept, picks) = each_once(&wanted);
            let schema = Arc::new(schema.project(&kept).map_err(bad)?);
            let mut reader = JsonBatches::new(open(path, compression)?, schema);
            while let Some(batch) = reader.next(BATCH).map_err(bad)? {
                each(Ok(batch), &picks)?;
            }
            Ok(())
        }
        Format::Parquet => {
            let file = parquet_file(path, compression)?;
            let again = file.try_clone().map_err(|e| unreadable(path, e))?;
            let builder = whole(path, || parquet_builder(file))?;
            let wanted = find(path, builder.schema(), names)?;
            let leaves = builder.parquet_schema();
            let is_wanted = |leaf| wanted.contains(&leaves.get_column_root_idx(leaf));
            whole(path, || pages::check(again, builder.metadata(), is_wanted))?;
            let promised = usize::try_from(builder.metadata().file_metadata().num_rows());
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
            let picks = each_once(&wanted).1;
            let builder = builder.with_projection(mask).with_batch_size(BATCH);
            let mut reader = whole(path, || builder.build())?;
            // A damaged count could promise rows without an end, or hide some.
            let (mut rows, promised) = (0, promised.unwrap_or(0));
            while let Some(batch) = whole(path, || Ok(reader.next()))? {
                rows += batch.as_ref().map_or(0, RecordBatch::num_rows);
                if rows > promised {
                    break;
                }
                each(batch, &picks)?;
            }
            if rows == promised {
                Ok(())
            } else {
                let than = if rows > promised { "more" } else { "fewer" };
                let what = format!("damaged: it holds {than} rows than the {promised} it tells");
                Err(unreadable(path, what))
            }
        }
    }
}

/// The columns wanted, each once and in the file's order, and where each wanted one is among them.
fn each_once(wanted: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut kept = wanted.to_vec();
    kept.sort_unstable();
    kept.dedup();
    let picks = wanted.iter().map(|w| kept.partition_point(|k| k < w)).collect();
    (kept, picks)
}

/// The names of a file's columns.
pub fn columns(path: &Path) -> Result<Vec<String>> {
    let (format, compression) = kind(path)?;
    let schema = match format {
        Format::Csv { delimiter } => csv_header(path, compression, delimiter)?.1,
        Format::JsonLines => json_schema(path, compression)?,
        Format::Parquet => {
            let file = parquet_file(path, compression)?;
            whole(path, || parquet_builder(file))?.schema().as_ref().clone()
        }
    };
    Ok(schema.fields().iter().map(|f| f.name().clone()).collect())
}

/// A CSV file's separator and its columns, all of text. A file with another separator than its
/// name says is known by its header.
fn csv_header(path: &Path, compression: Compression, named: u8) -> Result<(u8, Schema)> {
    let delimiter = match named {
        b',' => separator(open(path, compression)?).map_err(|e| unreadable(path, e))?,
        named => named,
    };
    let names =
        csv::header(open(path, compression)?, delimiter).map_err(|e| unreadable(path, e))?;
    let text = |name: String| Field::new(name, DataType::Utf8, true);
    Ok((delimiter, Schema::new(names.into_iter().map(text).collect::<Vec<Field>>())))
}

/// The columns of JSON lines.
fn json_schema(path: &Path, compression: Compression) -> Result<Schema> {
    json::schema(open(path, compression)?).map_err(|e| unreadable(path, e))
}

/// What the file's name says it is.
fn kind(path: &Path) -> Result<(Format, Compression)> {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let (stem, compression) = match name.rsplit_once('.') {
        Some((stem, "gz" | "gzip")) => (stem, Compression::Gzip),
        Some((stem, "zst" | "zstd")) => (stem, Compression::Zstd),
        _ => (&*name, Compression::None),
    };
    let format = match stem.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv") => Format::Csv { delimiter: b',' },
        Some("tsv") => Format::Csv { delimiter: b'\t' },
        Some("jsonl" | "ndjson" | "json") => Format::JsonLines,
        Some("parquet" | "pq") => Format::Parquet,
        _ => {
            return Err(unreadable(
                path,
                "its name does not say what it is; expected one ending in .csv, .tsv, .parquet, \
                 .jsonl or .ndjson, with .gz or .zst after it if compressed",
            ));
        }
    };
    Ok((format, compression))
}

/// The file's bytes, decompressed, without a byte-order mark.
fn open(path: &Path, compression: Compression) -> Result<Box<dyn BufRead + Send>> {
    let file = File::open(path).map_err(|e| unreadable(path, e))?;
    let mut reader: Box<dyn BufRead + Send> = match compression {
        Compression::None => Box::new(BufReader::new(file)),
        Compression::Gzip => {
            let decoder = flate2::read::MultiGzDecoder::new(file);
            Box::new(BufReader::new(Unpacked { decoder, name: "gzip" }))
        }
        Compression::Zstd => {
            let decoder = zstd::Decoder::new(file).map_err(|e| unreadable(path, e))?;
            Box::new(BufReader::new(Unpacked { decoder, name: "zstd" }))
        }
    };
    let start = reader.fill_buf().map_err(|e| unreadable(path, e))?;
    if start.is_empty() {
        return Err(unreadable(path, "the file is empty"));
    }
    if start.starts_with(b"\xEF\xBB\xBF") {
        reader.consume(3);
    }
    Ok(reader)
}

/// A decompressor whose errors say what a person can do about them.
struct Unpacked<R> {
    decoder: R,
    name: &'static str,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = guarded(|| self.decoder.read(buffer)).map_err(std::io::Error::other)?;
        read.map_err(|e| {
            let name = self.name;
            std::io::Error::other(format!(
                "cut short, followed by other bytes, or not a {name} file ({e})"
            ))
        })
    }
}

/// A Parquet file is read from its end: a compressed one is first unpacked to a nameless file.
fn parquet_file(path: &Path, compression: Compression) -> Result<File> {
    if let Compression::None = compression {
        return File::open(path).map_err(|e| unreadable(path, e));
    }
    let unpack = |mut from: Box<dyn BufRead + Send>| -> std::io::Result<File> {
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut from, &mut file)?;
        file.rewind()?;
        Ok(file)
    };
    unpack(open(path, compression)?).map_err(|e| unreadable(path, e))
}

/// What a library makes of a file, whatever is wrong with its bytes.
fn whole<T>(path: &Path, read: impl FnOnce() -> std::result::Result<T, ParquetError>) -> Result<T> {
    let read = guarded(read).map_err(|what| unreadable(path, what))?;
    read.map_err(|e| unreadable(path, plain(&e)))
}

/// Text comes as dictionaries, which is how Parquet mostly holds it: each distinct text is looked
/// at once a batch.
fn parquet_builder(
    file: File,
) -> std::result::Result<ParquetRecordBatchReaderBuilder<File>, ParquetError> {
    if footer::promises_too_much(&file) {
        let what = "damaged: its footer tells of more than it holds";
        return Err(ParquetError::General(what.to_owned()));
    }
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    let field = |f: &Arc<Field>| match f.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let of = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            f.as_ref().clone().with_data_type(of)
        }
        _ => f.as_ref().clone(),
    };
    let fields: Vec<Field> = metadata.schema().fields().iter().map(field).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    let metadata = ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

/// The files that a path means: itself, those of a folder, or those that match a pattern. Hidden
/// files do not count, and a file that is there under two names counts once.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let bad = |e: &dyn Display| unreadable(path, e);
    let mut files: Vec<PathBuf> = if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|e| bad(&e))?;
        let paths = entries.map(|e| e.map(|e| e.path()).map_err(|e| bad(&e)));
        let paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
        paths.into_iter().filter(|p| p.is_file() && !hidden(p) && kind(p).is_ok()).collect()
    } else if !path.exists() && path.to_string_lossy().contains(['*', '?', '[']) {
        let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
        let found = glob::glob_with(&path.to_string_lossy(), options).map_err(|e| bad(&e))?;
        found.collect::<std::result::Result<_, _>>().map_err(|e| bad(&e))?
    } else {
        return Ok(vec![path.to_owned()]);
    };
    if files.is_empty() {
        return Err(unreadable(
            path,
            "no data file is there; expected .csv, .tsv, .parquet, .jsonl or .ndjson, compressed or not",
        ));
    }
    // A file before the links to it, so that messages call it by its own name.
    files.sort_by_key(|p| (p.is_symlink(), p.clone()));
    let mut known = HashSet::new();
    files.retain(|p| known.insert(p.canonicalize().unwrap_or_else(|_| p.clone())));
    files.sort();
    Ok(files)
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The places of the columns asked for.
pub(super) fn find(path: &Path, schema: &Schema, names: &[&str]) -> Result<Vec<usize>> {
    let mut places: HashMap<&str, (usize, bool)> = HashMap::new();
    for (at, field) in schema.fields().iter().enumerate() {
        places.entry(field.name()).and_modify(|place| place.1 = true).or_insert((at, false));
    }
    let place = |name: &&str| match places.get(name) {
        Some((at, false)) => Ok(*at),
        Some((_, true)) => Err(unreadable(path, format!("two columns are named {name:?}"))),
        None => {
            let all: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            Err(unreadable(path, unknown_column(name, &all)))
        }
    };
    names.iter().map(place).collect()
}

/// An error about a file.
pub(super) fn unreadable(path: &Path, what: impl Display) -> Error {
    Error::input(format!("{}: {what}", path.display()))
}

/// A library's error without its own name in front, on one line.
fn plain(error: &impl Display) -> String {
    let text = error.to_string();
    let text = ["Json error: ", "Parser error: ", "Io error: ", "Parquet error: "]
        .iter()
        .fold(text.as_str(), |text, name| text.strip_prefix(name).unwrap_or(text));
    let mut line = String::new();
    for part in text.lines() {
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(part.trim());
    }
    line
}

//! Damaged files: whatever byte is wrong, an answer or one line that names the file; never a panic,
//! a hang or memory without end.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::folder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use assert_cmd::Command;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STUDY: &str = r#"[data]
path = "FILE"
[context]
g = { kind = "nominal" }
[action]
column = "a"
[outcome]
cost = "y"
[model]
kind = "cells"
unseen = "mean"
[robust]
context = { set = "wasserstein", radius = 0 }
"#;

/// A policy that looks at nothing.
const UNIFORM: &str = r#"{"format":"seawall-policy","version":1,"name":"u","actions":["c","d"],
"features":[],"rule":{"kind":"uniform"}}"#;

const ROWS: usize = 60;

/// Levels, a number with gaps and a whole one, in one or two encodings.
fn parquet(compression: Compression, version: WriterVersion) -> Vec<u8> {
    let text = |k: usize| format!("level {}", k % 5);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("g", Arc::new(StringArray::from_iter((0..ROWS).map(|k| (k % 11 > 0).then(|| text(k)))))),
        ("a", Arc::new(StringArray::from_iter_values((0..ROWS).map(|k| ["c", "d"][k % 2])))),
        ("y", Arc::new(Float64Array::from_iter_values((0..ROWS).map(|k| (k * k % 17) as f64)))),
        ("n", Arc::new(Int64Array::from_iter((0..ROWS).map(|k| (k % 7 > 0).then_some(k as i64))))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let settings = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(40))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn lines() -> Vec<u8> {
    let line = |k: usize| format!("{{\"g\":\"level {}\",\"a\":\"{}\",\"y\":{k}}}\n", k % 5, k % 2);
    (0..ROWS).map(line).collect::<String>().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A generator of damage.
struct Damage(u64);

impl Damage {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// A byte changed, sometimes two or three, or the end cut off.
    fn of(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        if self.next(20) == 0 {
            bytes.truncate(self.next(bytes.len()));
            return bytes;
        }
        for _ in 0..[1, 1, 1, 2, 3][self.next(5)] {
            let at = self.next(bytes.len());
            bytes[at] = match self.next(4) {
                0 => 0xff,
                1 => bytes[at] ^ (1 << self.next(8)),
                _ => self.next(256) as u8,
            };
        }
        bytes
    }
}

/// Runs the program with no more than 8 GB of address space, and for no longer than a minute.
fn limited(there: &Path, args: &str) -> (Option<i32>, String) {
    let output = Command::new("sh")
        .current_dir(there)
        .args(["-c", &format!("ulimit -v 8000000; exec \"$SEAWALL\" --threads 2 {args}")])
        .env("SEAWALL", env!("CARGO_BIN_EXE_seawall"))
        .timeout(Duration::from_secs(60))
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Damages a file again and again; what every run said.
fn damaged(file: &str, whole: &[u8], times: usize, command: &str) -> Vec<String> {
    let study = STUDY.replace("FILE", file);
    let there = folder(&[("s.toml", study.as_bytes()), ("u.json", UNIFORM.as_bytes())]);
    let mut damage = Damage(file.len() as u64 * 7919 + times as u64);
    let mut said = Vec::new();
    for k in 0..times {
        let bytes = damage.of(whole);
        std::fs::write(there.path().join(file), &bytes).unwrap();
        let (code, err) = limited(there.path(), command);
        let kept = || {
            let copy = std::env::temp_dir().join(format!("damaged-{k}-{file}"));
            std::fs::write(&copy, &bytes).unwrap();
            copy
        };
        match code {
            Some(0) => assert_eq!(err, "", "{:?}", kept()),
            Some(2) => {
                let named = err.starts_with("error: ") && err.contains(file);
                assert!(named && err.lines().count() == 1, "{err} {:?}", kept());
            }
            _ => panic!("code {code:?}: {err} {:?}", kept()),
        }
        said.push(err);
    }
    said
}

#[test]
fn a_damaged_parquet_file_is_an_error_that_names_it() {
    let plain = parquet(Compression::UNCOMPRESSED, WriterVersion::PARQUET_1_0);
    let said = damaged("d.parquet", &plain, 250, "check s.toml");
    let gave_up = said.iter().filter(|s| s.contains("d.parquet: damaged: ")).count();
    assert!(gave_up > 0, "nothing made the reader give up: {said:?}");
    let newer = parquet(Compression::SNAPPY, WriterVersion::PARQUET_2_0);
    damaged("d.parquet", &newer, 150, "check s.toml");
}

#[test]
fn other_damaged_files_are_errors_too() {
    let parquet = parquet(Compression::ZSTD(Default::default()), WriterVersion::PARQUET_1_0);
    damaged("d.pq", &parquet, 60, "distance d.pq d.pq --context g:nominal --context n:numeric");
    damaged("d.pq", &parquet, 60, "predict u.json d.pq");
    damaged("d.parquet.gz", &gzip(&parquet), 40, "check s.toml");
    damaged("d.jsonl", &lines(), 60, "check s.toml");
    damaged("d.jsonl.gz", &gzip(&lines()), 60, "check s.toml");
    let zstd = zstd::encode_all(&*lines(), 3).unwrap();
    damaged("d.jsonl.zst", &zstd, 60, "check s.toml");
}

/// Two billion, as Parquet writes it.
const BILLIONS: [u8; 5] = [0xfe, 0xff, 0xff, 0xff, 0x0f];

/// A Parquet file of one column.
fn one_column(column: ArrayRef, encoding: Option<Encoding>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let mut settings = WriterProperties::builder().set_dictionary_enabled(encoding.is_none());
    if let Some(encoding) = encoding {
        settings = settings.set_encoding(encoding);
    }
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// The same bytes with others in place of the one after `before`.
fn changed(mut bytes: Vec<u8>, before: &[u8], others: &[u8]) -> Vec<u8> {
    let at = bytes.windows(before.len()).position(|part| part == before).unwrap() + before.len();
    bytes.splice(at..=at, others.iter().copied());
    bytes
}

/// The same of a byte of the footer, whose length stands at the file's end.
fn footer_changed(bytes: Vec<u8>, before: &[u8], others: &[u8]) -> Vec<u8> {
    let mut bytes = changed(bytes, before, others);
    let at = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let longer = length + others.len() as u32 - 1;
    bytes[at..at + 4].copy_from_slice(&longer.to_le_bytes());
    bytes
}

#[test]
fn what_tells_of_two_billion_values_is_refused_before_room_is_made_for_them() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..60).map(|k| k % 7)));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..60).map(|k| format!("level {k}"))));
    let plain = one_column(numbers, None);
    let of_texts = |encoding| {
        // A list of lengths: blocks of 128 in 4 parts, then the count.
        changed(one_column(texts.clone(), Some(encoding)), &[0x80, 0x01, 0x04], &BILLIONS)
    };
    // A list of things, whose count comes after.
    let list = [&[0xfc], &BILLIONS[..]].concat();
    let (page, footer) =
        ("a page tells of more values than it holds", "its footer tells of more than it holds");
    let files = [
        (changed(plain.clone(), &[0x4c, 0x15], &BILLIONS), "numeric", page),
        (of_texts(Encoding::DELTA_LENGTH_BYTE_ARRAY), "nominal", page),
        (of_texts(Encoding::DELTA_BYTE_ARRAY), "nominal", page),
        // The row groups, after the 60 rows; the columns of the root.
        (footer_changed(plain.clone(), &[0x16, 120, 0x19], &list), "numeric", footer),
        (footer_changed(plain, b"arrow_schema\x15", &BILLIONS), "numeric", footer),
    ];
    for (bytes, kind, what) in files {
        let there = folder(&[("d.parquet", &bytes)]);
        let command = format!("distance d.parquet d.parquet --context n:{kind}");
        let (code, err) = limited(there.path(), &command);
        assert_eq!((code, err), (Some(2), format!("error: d.parquet: damaged: {what}\n")));
    }
}

#[test]
fn a_record_of_three_gigabytes_is_refused() {
    let there = folder(&[("s.toml", STUDY.replace("FILE", "d.csv").as_bytes())]);
    let path = there.path().join("d.csv");
    std::fs::write(&path, "g,a,y\nn,c,1\nn,d,2\ns,").unwrap();
    // A hole in the file: zeros that take no room.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
    let (code, err) = limited(there.path(), "check s.toml");
    assert_eq!((code, err.as_str()), (Some(2), "error: d.csv: a record is longer than 1 GiB\n"));
}

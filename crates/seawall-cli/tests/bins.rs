//! Bins are cut in decimals, as the study and the data are written: the same in counting, in cuts,
//! in tables that are read back and in `apply`.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::path::Path;
use std::sync::Arc;

const STUDY: &str = r#"[data]
path = "d.csv"
[context]
x = { kind = "numeric", bin = 0.1 }
[action]
column = "a"
[outcome]
cost = "y"
[model]
kind = "cells"
unseen = "mean"
[robust]
context = { set = "wasserstein", radius = 0.01 }
"#;

/// Tenths from 0 to 100; below 0.3 d is better, from there on c.
fn tenths() -> Vec<(String, &'static str, f64)> {
    let mut rows = Vec::new();
    for k in 0..=1000 {
        for action in ["c", "d"] {
            let cost = f64::from(u8::from((k < 3) == (action == "c")));
            rows.push((format!("{}.{}", k / 10, k % 10), action, cost));
        }
    }
    rows
}

fn csv(rows: &[(String, &str, f64)]) -> String {
    let lines = rows.iter().map(|(x, a, y)| format!("{x},{a},{y}\n"));
    format!("x,a,y\n{}", lines.collect::<String>())
}

fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_multiple_of_the_width_is_in_its_own_bin_in_every_format() {
    let rows = tenths();
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", csv(&rows).as_bytes())]);
    let path = there.path();
    let lines = rows.iter().map(|(x, a, y)| format!("{{\"x\":{x},\"a\":\"{a}\",\"y\":{y}}}\n"));
    std::fs::write(path.join("d.jsonl"), lines.collect::<String>()).unwrap();
    let x: Vec<f64> = rows.iter().map(|r| r.0.parse().unwrap()).collect();
    let a: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.1)));
    let y: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.2)));
    let double: ArrayRef = Arc::new(Float64Array::from(x.clone()));
    let single: ArrayRef = Arc::new(Float32Array::from_iter_values(x.iter().map(|x| *x as f32)));
    parquet(&path.join("d64.parquet"), vec![("x", double), ("a", a.clone()), ("y", y.clone())]);
    parquet(&path.join("d32.parquet"), vec![("x", single), ("a", a), ("y", y)]);
    for data in ["d.csv", "d.jsonl", "d64.parquet", "d32.parquet"] {
        std::fs::write(path.join("t.toml"), STUDY.replace("d.csv", data)).unwrap();
        let found = json(path, "check t.toml --json");
        let x = &found["features"][0];
        assert_eq!((&x["levels"], &x["empty_levels"]), (&1001.into(), &0.into()), "{data}");
        assert_eq!(x["ends"], serde_json::json!(["0.05", "100.05"]), "{data}");
    }
}

#[test]
fn what_is_learned_is_what_is_applied() {
    let rows = tenths();
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", csv(&rows).as_bytes())]);
    let path = there.path();
    for policy in ["groups:x=0.3", "tree:1", "greedy"] {
        let command = format!("learn s.toml --policy {policy} --out p.json");
        let found = run(path, &command);
        assert_eq!(found.code, 0, "{}", found.err);
        let words = run(path, "explain p.json").out;
        match policy {
            "groups:x=0.3" => assert!(words.contains("x ≥ 0.3: c."), "{words}"),
            "tree:1" => assert!(words.contains("If x ≥ 0.3: c."), "{words}"),
            _ => assert!(words.contains("x=0.25: d.") && words.contains("x=0.35: c."), "{words}"),
        }
        let applied = run(path, "predict p.json d.csv").out;
        for line in applied.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let x: f64 = fields[0].parse().unwrap();
            let expected = if x < 0.3 { ["0", "1"] } else { ["1", "0"] };
            assert_eq!(fields[3..], expected, "{policy}: {line}");
        }
    }
    // A cut inside a bin is refused by its ends, as they are written.
    let found = run(path, "learn s.toml --policy groups:x=0.62");
    assert!(found.code == 2 && found.err.contains("the bin from 0.6 to 0.7,"), "{}", found.err);
}

#[test]
fn labels_and_bin_ends_have_no_stray_digits() {
    let there = folder(&[
        ("s.toml", STUDY.as_bytes()),
        ("d.csv", b"x,a,y\n2.6,c,1\n2.6,d,2\n2.7,c,2\n2.7,d,1\n0.7,c,1\n"),
    ]);
    let path = there.path();
    assert_eq!(run(path, "evaluate s.toml --worst w.csv").code, 0);
    let worst = std::fs::read_to_string(path.join("w.csv")).unwrap();
    assert!(worst.contains(",0,2.65,") && !worst.contains("00000"), "{worst}");
    let found = run(path, "learn s.toml --policy groups:x=2.65");
    assert!(found.err.contains("the bin from 2.6 to 2.7,"), "{}", found.err);
    let found = run(path, "learn s.toml --policy tree:1");
    assert!(found.out.contains("x < 2.7:"), "{}", found.out);
}

#[test]
fn a_declared_range_is_closed_and_its_labels_are_read_back() {
    // 80 is in the bin from 70 to 80; 65 stands for the bin that a range to 63 ends in.
    for (range, last, refused, end) in [
        ("min = 20, max = 80", "80", "81", "75"),
        ("min = 20, max = 63", "63", "65", "65"),
        ("min = 20, max = 80, missing = true", "80", "81", "75"),
    ] {
        let study = STUDY.replace("bin = 0.1", &format!("bin = 10, {range}"));
        let data = format!("x,a,y\n20,c,1\n20,d,2\n{last},c,3\n{last},d,4\n");
        let data = if range.contains("missing") { format!("{data},c,5\n,d,5\n") } else { data };
        let there = folder(&[("s.toml", study.as_bytes()), ("d.csv", data.as_bytes())]);
        let path = there.path();
        let found = json(path, "check s.toml --json");
        assert_eq!(found["features"][0]["ends"][0], "25", "{range}");
        assert_eq!(
            found["features"][0]["levels"],
            if end == "75" { 6 } else { 5 } + i32::from(range.contains("missing")),
            "{range}"
        );
        // The labels that are printed, as a policy and as predictions.
        assert_eq!(run(path, "evaluate s.toml --worst w.csv --radius 0").code, 0);
        let worst = std::fs::read_to_string(path.join("w.csv")).unwrap();
        let labels: Vec<&str> =
            worst.lines().skip(1).map(|l| l.split(',').nth(3).unwrap()).collect();
        assert!(labels.contains(&end), "{worst}");
        let every = json(path, "check s.toml --json")["features"][0]["levels"].as_u64().unwrap();
        let mut table = "x,c,d\n".to_owned();
        for k in 0..every - u64::from(range.contains("missing")) {
            table.push_str(&format!("{},0.5,0.5\n", 25 + 10 * k));
        }
        if range.contains("missing") {
            assert!(labels.contains(&"(missing)"), "{worst}");
            table.push_str("(missing),0.5,0.5\n");
        }
        std::fs::write(path.join("table.csv"), &table).unwrap();
        let given = json(path, "evaluate s.toml --policy table.csv --json");
        let uniform = json(path, "evaluate s.toml --policy uniform --json");
        let value = |v: &serde_json::Value| v["policies"][0]["results"][0]["value"].clone();
        assert_eq!(value(&given), value(&uniform), "{range}");
        // A target sample holds numbers, not labels.
        std::fs::write(path.join("t.csv"), format!("x\n{last}\n")).unwrap();
        assert_eq!(run(path, "distance s.toml --target t.csv").code, 0);
        std::fs::write(path.join("t.csv"), format!("x\n{refused}\n")).unwrap();
        let found = run(path, "distance s.toml --target t.csv");
        // What is beyond the range but in its last bin has a place; any other is nobody's.
        match refused {
            "65" => assert_eq!(found.code, 0),
            _ => assert!(found.code == 2 && found.err.contains("same unit?"), "{}", found.err),
        }
        // Beside others it extends the axis, bins without gaps.
        std::fs::write(path.join("t.csv"), format!("x\n{last}\n{refused}\n")).unwrap();
        assert_eq!(run(path, "distance s.toml --target t.csv").code, 0);
    }
    // A value equal to max that the log lacks is in the last bin too.
    let study = STUDY.replace("bin = 0.1", "bin = 10, min = 20, max = 80");
    let there = folder(&[("s.toml", study.as_bytes()), ("d.csv", b"x,a,y\n25,c,1\n25,d,2\n")]);
    std::fs::write(there.path().join("t.csv"), "x\n80\n").unwrap();
    let found = run(there.path(), "distance s.toml --target t.csv");
    assert_eq!(found.code, 0, "{}", found.err);
}

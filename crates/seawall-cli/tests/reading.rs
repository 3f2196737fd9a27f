//! What a file says is what is read: missing values, numbers that are names, separators, quotes,
//! folders, columns that nobody asked for; alike in CSV, JSON lines and Parquet.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, close, folder, json, run};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    ListArray, RecordBatch, StringArray, TimestampSecondArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

const STUDY: &str = r#"[data]
path = "d.csv"
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

fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn texts(all: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(all))
}

fn floats(all: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(all.to_vec()))
}

/// What `check` says of a study with a change and some data.
fn checked(there: &Path, change: (&str, &str), data: (&str, &str)) -> Value {
    assert!(STUDY.contains(change.0), "{change:?}");
    std::fs::write(
        there.join("s.toml"),
        STUDY.replace(change.0, change.1).replace("d.csv", data.0),
    )
    .unwrap();
    if !data.1.is_empty() {
        std::fs::write(there.join(data.0), data.1).unwrap();
    }
    json(there, "check s.toml --json")
}

fn filter(condition: &str) -> String {
    format!("[data]\nwhere = {{ {condition} }}")
}

#[test]
fn missing_numbers_are_left_out_by_the_filter_that_the_message_recommends() {
    let there = folder(&[]);
    let path = there.path();
    let csv = "g,a,y\nn,c,1\nn,d,NA\ns,c,\ns,d,2\ns,c,nan\n";
    std::fs::write(path.join("s.toml"), STUDY).unwrap();
    std::fs::write(path.join("d.csv"), csv).unwrap();
    let found = run(path, "check s.toml --json");
    assert!(
        found.err.contains("row 2, column \"y\": the value is missing, in 3 rows"),
        "{}",
        found.err
    );
    let keep = filter("y = { missing = false }");
    let found = checked(path, ("[data]", &keep), ("d.csv", csv));
    assert_eq!(found["left_out"]["conditions"], 3);
    let lines = "{\"g\":\"n\",\"a\":\"c\",\"y\":1}\n{\"g\":\"n\",\"a\":\"d\",\"y\":\"NA\"}\n{\"g\":\"s\",\"a\":\"c\"}\n{\"g\":\"s\",\"a\":\"d\",\"y\":2}\n";
    let found = checked(path, ("[data]", &keep), ("d.jsonl", lines));
    assert_eq!(found["left_out"]["conditions"], 2);
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", texts(&["n", "s", "s"])),
            ("a", texts(&["c", "d", "c"])),
            ("y", floats(&[1.0, 2.0, f64::NAN])),
        ],
    );
    let found = checked(path, ("[data]", &keep), ("d.parquet", ""));
    assert_eq!(found["left_out"]["conditions"], 1);
    // An ordinal feature without levels expects numbers too.
    let csv = "g,a,y\n1,c,1\nNA,d,2\n,c,1\n2,d,1\n";
    let ordinal = "\"ordinal\", missing = true";
    let found = checked(path, ("\"nominal\"", ordinal), ("d.csv", csv));
    assert_eq!(
        (&found["features"][0]["levels"], &found["features"][0]["missing"]),
        (&3.into(), &0.5.into())
    );
    let found = json(path, "distance d.csv d.csv --context g:ordinal --json");
    assert_eq!(found["from_points"], 3);
    // Namibia is a level where levels are read, and so is a country that a condition names.
    let csv = "g,a,y,h\nNA,c,1,NA\nDE,d,1,DE\n,c,1,DE\n";
    let keep = filter("g = { missing = false }");
    let found = checked(path, ("[data]", &keep), ("d.csv", csv));
    assert_eq!((&found["left_out"]["conditions"], &found["rows"]), (&1.into(), &2.0.into()));
    let keep = filter("g = { missing = false }, h = { not = \"NA\", missing = false }");
    let found = checked(path, ("[data]", &keep), ("d.csv", csv));
    assert_eq!(found["rows"], 1.0);
}

/// A policy that looks at nothing.
const UNIFORM: &str = r#"{"format":"seawall-policy","version":1,"name":"u","actions":["c","d"],
"features":[],"rule":{"kind":"uniform"}}"#;

#[test]
fn blank_lines_of_one_column_are_rows() {
    let there = folder(&[
        ("u.json", UNIFORM.as_bytes()),
        ("t.csv", b"y\n1\n\n3\n"),
        ("u.csv", b"y\r\n1\r\n\r\n3\r\n"),
    ]);
    for file in ["t.csv", "u.csv"] {
        let command = format!("bound {file} --value y --context y --radius 0");
        let found = run(there.path(), &command);
        assert!(found.code == 2, "{}", found.out);
        let found = run(there.path(), &format!("predict u.json {file}"));
        assert_eq!(
            found.out, "y,p_c,p_d\n1,0.5,0.5\n,0.5,0.5\n3,0.5,0.5\n",
            "{file}: {}",
            found.err
        );
    }
    // In a file of more columns they are no rows.
    std::fs::write(there.path().join("v.csv"), "x,y\n1,1\n\n2,2\n").unwrap();
    let found = json(there.path(), "bound v.csv --value y --context x --radius 0 --json");
    assert_eq!(found["rows"], 2);
}

#[test]
fn long_whole_numbers_stay_apart_in_every_format() {
    let there = folder(&[]);
    let path = there.path();
    let large: Vec<u64> = (0..4).map(|k| (1 << 63) + k).collect();
    let csv: String = large.iter().map(|g| format!("{g},c,1\n{g},d,2\n")).collect();
    let found = checked(path, ("", ""), ("d.csv", &format!("g,a,y\n{csv}")));
    assert_eq!(found["features"][0]["levels"], 4);
    let lines: String = large
        .iter()
        .map(|g| format!("{{\"g\":{g},\"a\":\"c\",\"y\":1}}\n{{\"g\":{g},\"a\":\"d\",\"y\":2}}\n"))
        .collect();
    let found = checked(path, ("", ""), ("d.jsonl", &lines));
    assert_eq!(found["features"][0]["levels"], 4);
    // A condition finds one of them by all its digits.
    let keep = filter("g = 9223372036854775809");
    let found = checked(path, ("[data]", &keep), ("d.jsonl", &lines));
    assert_eq!(found["rows"], 2.0);
    let both = [large.clone(), large].concat();
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", Arc::new(UInt64Array::from(both))),
            ("a", texts(&["c", "c", "c", "c", "d", "d", "d", "d"])),
            ("y", floats(&[1.0; 8])),
        ],
    );
    let found = checked(path, ("", ""), ("d.parquet", ""));
    assert_eq!(found["features"][0]["levels"], 4);
}

#[test]
fn bytes_that_are_no_text_are_refused_by_row() {
    let there = folder(&[]);
    let path = there.path();
    let bytes: Vec<&[u8]> = vec![b"north", b"\xFF\xFE", b"south"];
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", Arc::new(BinaryArray::from(bytes))),
            ("a", texts(&["c", "d", "c"])),
            ("y", floats(&[1.0, 2.0, 3.0])),
        ],
    );
    let study = STUDY.replace("\"nominal\"", "\"nominal\", missing = true");
    std::fs::write(path.join("s.toml"), study.replace("d.csv", "d.parquet")).unwrap();
    let found = run(path, "check s.toml");
    assert_eq!(found.code, 2, "{}", found.out);
    assert!(found.err.contains("d.parquet: row 2, column \"g\": it is not UTF-8"), "{}", found.err);
}

#[test]
fn decimals_are_read_by_their_digits() {
    let there = folder(&[]);
    let path = there.path();
    // 0.1, 0.2, 0.3 and a name of 20 digits, none of which a float holds.
    let x = Decimal128Array::from(vec![1, 2, 3, 3]).with_precision_and_scale(3, 1).unwrap();
    let long: i128 = 12_345_678_901_234_567_890;
    let g = Decimal128Array::from(vec![long, long + 1, long, long + 1]);
    parquet(
        &path.join("d.parquet"),
        vec![
            ("x", Arc::new(x)),
            ("g", Arc::new(g.with_precision_and_scale(38, 0).unwrap())),
            ("a", texts(&["c", "d", "c", "d"])),
            ("y", floats(&[1.0, 2.0, 3.0, 4.0])),
        ],
    );
    let both = ("[context]", "[context]\nx = { kind = \"numeric\", bin = 0.1 }");
    let found = checked(path, both, ("d.parquet", ""));
    assert_eq!(found["features"][0]["ends"], serde_json::json!(["0.15", "0.35"]));
    assert_eq!(found["features"][1]["levels"], 2);
}

#[test]
fn one_number_is_one_level_however_it_is_written() {
    let there = folder(&[]);
    let path = there.path();
    let csv = "g,a,y\n1,c,1\n1.0,d,1\n1e0,c,1\n-0,d,1\n0,c,1\n0.0,d,1\n01,c,1\n";
    let found = checked(path, ("", ""), ("d.csv", csv));
    // 0, 1 and the name 01.
    assert_eq!(found["features"][0]["levels"], 3, "{found}");
    for (declared, levels) in [("[0, 1, \"01\"]", 3), ("[\"0.0\", \"1.00\", \"01\", 2]", 4)] {
        for kind in ["ordinal", "nominal", "fixed"] {
            let change = format!("\"{kind}\", levels = {declared}");
            let found = checked(path, ("\"nominal\"", &change), ("d.csv", csv));
            assert_eq!(found["features"][0]["levels"], levels, "{change}");
        }
    }
    // As written in two files, one of text and one of numbers.
    std::fs::create_dir(path.join("f")).unwrap();
    std::fs::write(path.join("f/a.csv"), "g,a,y\n1.0,1.0,1\n2.0,2.0,1\n").unwrap();
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    parquet(
        &path.join("f/b.parquet"),
        vec![("g", ones.clone()), ("a", ones), ("y", floats(&[1.0, 3.0]))],
    );
    let found = checked(path, ("", ""), ("f", ""));
    assert_eq!(found["features"][0]["levels"], 2);
    let names: Vec<&Value> =
        found["actions"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    assert_eq!(names, ["1", "2"]);
    // A level that is listed twice in two spellings is a slip.
    let twice = STUDY.replace("\"nominal\"", "\"nominal\", levels = [\"1\", \"1.0\"]");
    std::fs::write(path.join("s.toml"), twice).unwrap();
    assert!(run(path, "check s.toml").err.contains("\"1.0\" is listed twice"));
    // In bound and distance too.
    std::fs::write(path.join("t.csv"), "g,y\n1,0\n1.0,1\n2,3\n").unwrap();
    std::fs::write(path.join("u.csv"), "g\n1.00\n1\n2.0\n").unwrap();
    let found = run(path, "bound t.csv --value y --context g:nominal --radius 0 --json");
    let found: Value = serde_json::from_str(&found.out).unwrap();
    // 0 and 1 share a place, so a move from one to the other is free.
    close(&found["results"][0]["value"], &(5.0 / 3.0).into(), "bound");
    let found = json(path, "distance t.csv u.csv --context g:nominal --json");
    assert_eq!((&found["distance"], &found["from_points"]), (&0.0.into(), &2.into()));
}

#[test]
fn conditions_compare_numbers_as_json_writes_them() {
    let there = folder(&[]);
    let path = there.path();
    let csv = "g,a,y,id\nn,c,1,1\nn,d,1,01\ns,c,1, 1.0\ns,d,1,\"+1\"\n";
    for (condition, rows) in [
        ("id = 1", 2.0),
        ("id = 1.0", 2.0),
        ("id = \"1\"", 2.0),
        ("id = \"01\"", 1.0),
        ("id = { not = \"01\" }", 3.0),
        ("id = [\"01\", \"+1\"]", 2.0),
    ] {
        let found = checked(path, ("[data]", &filter(condition)), ("d.csv", csv));
        assert_eq!(found["rows"], rows, "{condition}");
    }
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", texts(&["n", "s", "s"])),
            ("a", texts(&["c", "d", "c"])),
            ("y", floats(&[1.0, 2.0, 3.0])),
            ("id", Arc::new(Int64Array::from(vec![1, 2, 1]))),
            ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ],
    );
    for (condition, rows) in [
        ("id = \"1.0\"", Some(2.0)),
        ("id = \"01\"", None),
        ("flag = true", Some(2.0)),
        ("flag = 1", Some(2.0)),
        ("flag = \"0\"", Some(1.0)),
    ] {
        let study = STUDY.replace("[data]", &filter(condition)).replace("d.csv", "d.parquet");
        std::fs::write(path.join("s.toml"), study).unwrap();
        let found = run(path, "check s.toml --json");
        let found: Option<Value> = serde_json::from_str(&found.out).ok();
        assert_eq!(found.map(|f| f["rows"].as_f64().unwrap()), rows, "{condition}");
    }
}

#[test]
fn a_level_may_be_called_missing() {
    let there = folder(&[]);
    let path = there.path();
    let csv = "g,a,y\n(missing),c,1\n(missing),d,2\n,c,3\n,d,1\nn,c,2\nn,d,1\n";
    let nominal = ("\"nominal\"", "\"nominal\", missing = true");
    let found = checked(path, nominal, ("d.csv", csv));
    assert_eq!(found["features"][0]["levels"], 3);
    // Quotes say that the level of that name is meant.
    let learn = |groups: &str| {
        let found = assert_cmd::Command::cargo_bin("seawall")
            .unwrap()
            .current_dir(path)
            .args(["learn", "s.toml", "--radius", "0", "--policy", groups, "--out", "p.json"])
            .output()
            .unwrap();
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        let policy = std::fs::read_to_string(path.join("p.json")).unwrap();
        let policy: Value = serde_json::from_str(&policy).unwrap();
        policy["rule"]["by"][0]["levels"].clone()
    };
    assert_eq!(
        learn("groups:g=\"(missing)\"|(missing)+n"),
        serde_json::json!([["(missing)"], [null, "n"]])
    );
    // And a move between the two is a move.
    std::fs::write(path.join("t.csv"), "g,y\n(missing),1\n,9\n").unwrap();
    let found = run(path, "bound t.csv --value y --context g:nominal --radius 1");
    assert!(found.out.contains("g (missing) → (missing)"), "{}", found.out);
}

#[test]
fn a_folder_holds_each_file_once_and_no_hidden_ones() {
    let there = folder(&[]);
    let path = there.path();
    let f = path.join("f");
    std::fs::create_dir(&f).unwrap();
    std::fs::write(f.join("a.csv"), "g,a,y\nn,c,1\nn,d,2\n").unwrap();
    std::fs::write(f.join("b.csv"), "g,a,y\ns,c,1\ns,d,2\n").unwrap();
    std::fs::write(f.join(".a.csv"), "g,a,y\nn,c,7\n").unwrap();
    std::fs::write(f.join("._b.csv"), b"\0\x05\x16\x07").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(f.join("b.csv"), f.join("aa.csv")).unwrap();
    for data in ["f", "f/*.csv", "f/*"] {
        let found = checked(path, ("", ""), (data, ""));
        assert_eq!(found["rows_read"], 4, "{data}");
        let files = found["files"].as_array().unwrap();
        let own = |f: &Value| {
            f.as_str().unwrap().ends_with("/a.csv") || f.as_str().unwrap().ends_with("/b.csv")
        };
        assert!(files.len() == 2 && files.iter().all(own), "{files:?}");
    }
}

#[test]
fn separators_and_quotes_as_people_write_them() {
    let there = folder(&[]);
    let path = there.path();
    let csv = "g,a,y\nn,c,1\n\"s;t\",d,2\n";
    let expected = checked(path, ("", ""), ("d.csv", csv));
    for other in ["g;a;y\nn;c;1\n\"s;t\";d;2\n", "g\ta\ty\nn\tc\t1\n\"s;t\"\td\t2\n"] {
        let found = checked(path, ("", ""), ("d.csv", other));
        assert_eq!(found["features"], expected["features"], "{other}");
    }
    // A quote inside a field is a letter: inches.
    let found = checked(path, ("", ""), ("d.csv", "g,a,y\n5\"2,c,1\nn,d,2\n\"n\",c,1\n"));
    assert_eq!(found["features"][0]["levels"], 2);
    // One that opens a field must be closed.
    for open in ["g,a,y\nn,c,1\n\"n,d,2\nn,c,1\n", "g,a,y\n5\"2,c,1\nn,d,\"2\nn,c,1\n"] {
        std::fs::write(path.join("d.csv"), open).unwrap();
        let found = run(path, "check s.toml");
        assert!(found.code == 2, "{}", found.out);
        assert!(found.err.contains("a quote (\") is opened and never closed"), "{}", found.err);
    }
}

#[test]
fn dates_and_times_can_be_conditions() {
    let there = folder(&[]);
    let path = there.path();
    let days = ["2019-11-26", "2019-11-27", "2019-11-27T23:59:59", "2019-11-28 00:00:00", "NA"];
    let lines: String = days.iter().map(|day| format!("n,c,1,{day}\n")).collect();
    let csv = format!("g,a,y,day\n{lines}n,d,1,2019-11-27\n");
    for (condition, rows) in [
        ("day = { min = \"2019-11-27\" }", 4.0),
        ("day = { max = \"2019-11-27\" }", 4.0),
        ("day = { min = \"2019-11-27\", max = \"2019-11-27\" }", 3.0),
        ("day = { min = 2019-11-27, max = 2019-11-27T12:00:00 }", 2.0),
        ("day = { min = \"2019-11-27T01:00:00+01:00\", missing = false }", 4.0),
    ] {
        let found = checked(path, ("[data]", &filter(condition)), ("d.csv", &csv));
        assert_eq!(found["rows"], rows, "{condition}");
    }
    // 2019-11-26, 27 and 28, as days and as instants at noon, of no zone and of a named one.
    let noon = |k: i64| (18226 + k) * 86_400 + 43_200;
    let instants = || TimestampSecondArray::from_iter_values((0..3).map(noon));
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", texts(&["n", "n", "n"])),
            ("a", texts(&["c", "d", "c"])),
            ("y", floats(&[1.0, 2.0, 3.0])),
            ("day", Arc::new(Date32Array::from(vec![18226, 18227, 18228]))),
            ("at", Arc::new(instants())),
            ("zoned", Arc::new(instants().with_timezone("Europe/Berlin"))),
        ],
    );
    for column in ["day", "at", "zoned"] {
        for (condition, rows) in [
            ("{ min = \"2019-11-27\" }", 2.0),
            ("{ max = \"2019-11-27\" }", 2.0),
            ("{ min = \"2019-11-27\", max = 2019-11-27 }", 1.0),
        ] {
            let keep = filter(&format!("{column} = {condition}"));
            let found = checked(path, ("[data]", &keep), ("d.parquet", ""));
            assert_eq!(found["rows"], rows, "{column} {condition}");
        }
    }
    for (condition, word) in [
        ("day = { min = \"yesterday\" }", "a date or time like"),
        ("day = { min = 3, max = \"2019-11-27\" }", "both ends alike"),
        ("day = { min = \"2019-11-28\", max = \"2019-11-27\" }", "min is after max"),
    ] {
        let study = STUDY.replace("[data]", &filter(condition));
        std::fs::write(path.join("s.toml"), study).unwrap();
        let found = run(path, "check s.toml");
        assert!(found.code == 2 && found.err.contains(word), "{}", found.err);
        assert!(found.err.contains("s.toml: line 2"), "{}", found.err);
    }
}

#[test]
fn a_kind_alone_describes_a_column() {
    let there = folder(&[("t.csv", DATA.as_bytes())]);
    let csv = "g,a,y\nn,c,1\ns,d,2\n";
    let long = checked(there.path(), ("", ""), ("d.csv", csv));
    let short = checked(there.path(), ("{ kind = \"nominal\" }", "\"nominal\""), ("d.csv", csv));
    assert_eq!(long, short);
    let study = STUDY.replace("{ kind = \"nominal\" }", "\"nominl\"");
    std::fs::write(there.path().join("s.toml"), study).unwrap();
    let found = run(there.path(), "check s.toml");
    assert!(found.err.contains("line 4") && found.err.contains("nominal\"?"), "{}", found.err);
}

#[test]
fn columns_that_nobody_asked_for_are_passed_on_or_left_out() {
    let there = folder(&[("u.json", UNIFORM.as_bytes())]);
    let path = there.path();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![]),
    ]);
    let at = TimestampSecondArray::from(vec![1_574_812_800; 3]).with_timezone("Europe/Berlin");
    parquet(
        &path.join("d.parquet"),
        vec![
            ("g", texts(&["n", "s", "s"])),
            ("a", texts(&["c", "d", "c"])),
            ("y", floats(&[1.0, 2.5, 3.0])),
            ("tags", Arc::new(list)),
            ("at", Arc::new(at)),
        ],
    );
    let lines = "{\"g\":\"n\",\"a\":\"c\",\"y\":1.50,\"tags\":[1,2],\"who\":{\"id\":7},\"mixed\":[{}]}\n{\"g\":\"s\",\"a\":\"d\",\"y\":2,\"mixed\":3}\n";
    std::fs::write(path.join("d.jsonl"), lines).unwrap();
    for (data, row) in [
        ("d.parquet", "n,c,1,\"[1, 2]\",2019-11-27T00:00:00Z,0.5,0.5\n"),
        ("d.jsonl", "n,c,1.50,\"[1,2]\",\"{\"\"id\"\":7}\",[{}],0.5,0.5\ns,d,2,,,3,0.5,0.5\n"),
    ] {
        let _ = std::fs::remove_file(path.join("study.toml"));
        let found = run(path, &format!("init {data} --action a --out study.toml"));
        assert_eq!(found.code, 0, "{data}: {}", found.err);
        let study = std::fs::read_to_string(path.join("study.toml")).unwrap();
        let mut lines = study.lines();
        let told =
            |line: &str| line.starts_with("# tags") && line.contains(": left out: it holds ");
        assert!(lines.any(told), "{study}");
        let found = run(path, &format!("predict u.json {data}"));
        assert!(found.code == 0 && found.out.contains(row), "{data}: {}{}", found.out, found.err);
        // One that is asked for is refused by its name.
        let context = STUDY.replace("g =", "tags =").replace("d.csv", data);
        std::fs::write(path.join("s.toml"), context).unwrap();
        let found = run(path, "check s.toml");
        assert!(
            found.code == 2 && found.err.contains("column \"tags\": it holds"),
            "{}",
            found.err
        );
    }
    // A table is written as it was read.
    std::fs::write(path.join("t.csv"), "g,a,x\nn,c,1.50\ns,d,1.5\n").unwrap();
    let found = run(path, "predict u.json t.csv");
    assert!(
        found.out.contains("n,c,1.50,0.5") && found.out.contains("s,d,1.5,0.5"),
        "{}",
        found.out
    );
}

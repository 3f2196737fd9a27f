//! Any number of rows and columns: memory is bounded by what is asked for, and neither threads nor
//! temporary files change an answer.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A command under a cap on its memory, in kilobytes.
fn capped(there: &Path, kilobytes: usize, command: &str) -> std::process::Output {
    let program = assert_cmd::cargo::cargo_bin("seawall");
    let line = format!("ulimit -v {kilobytes}; exec {} {command}", program.display());
    Command::new("sh").args(["-c", &line]).current_dir(there).output().unwrap()
}

fn succeeds(there: &Path, kilobytes: usize, command: &str) -> String {
    let found = capped(there, kilobytes, command);
    assert!(found.status.success(), "{command}: {}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap()
}

const CELLS: &str = "[data]\npath = \"DATA\"\n[context]\nx = \"nominal\"\n[action]\ncolumn = \"arm\"\n\
                     [outcome]\ncost = \"y\"\n[model]\nkind = \"cells\"\n";

#[test]
fn columns_that_nobody_asked_for_cost_nothing() {
    let there = folder(&[]);
    let path = there.path();
    let wide = 100_000;
    let mut csv = "x,arm".to_owned();
    let mut lines = String::new();
    (0..wide).for_each(|k| write!(csv, ",c{k}").unwrap());
    csv += ",y\n";
    for row in 0..4 {
        let (x, arm) = (row % 2, ["a", "b"][row / 2]);
        writeln!(csv, "{x},{arm}{},{row}", ",7".repeat(wide)).unwrap();
        write!(lines, "{{\"x\":\"{x}\",\"arm\":\"{arm}\"").unwrap();
        (0..wide).for_each(|k| write!(lines, ",\"c{k}\":7").unwrap());
        lines += &format!(",\"y\":{row}}}\n");
    }
    std::fs::write(path.join("d.csv"), csv).unwrap();
    std::fs::write(path.join("d.jsonl"), lines).unwrap();
    std::fs::write(path.join("c.toml"), CELLS.replace("DATA", "d.csv")).unwrap();
    std::fs::write(path.join("j.toml"), CELLS.replace("DATA", "d.jsonl")).unwrap();
    // Threads reserve address space that they do not use: two of them.
    let from_csv = succeeds(path, 600_000, "check c.toml --json --threads 2");
    let from_lines = succeeds(path, 600_000, "check j.toml --json --threads 2");
    assert_eq!(from_csv.replace("d.csv", "d.jsonl"), from_lines);
    // Init looks at every one of them.
    let made = "init d.csv --action arm --cost y --out made.toml --threads 2";
    succeeds(path, 1_500_000, made);
}

#[test]
fn a_grid_that_does_not_fit_is_not_made() {
    let there = folder(&[]);
    let path = there.path();
    let (mut csv, mut state) = ("a,b,c,d,e,f,g,arm,y\n".to_owned(), 1u64);
    for row in 0..300 {
        for _ in 0..7 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            write!(csv, "{},", (state >> 33) % 11).unwrap();
        }
        writeln!(csv, "{},{}", ["p", "q"][row % 2], row % 5).unwrap();
    }
    std::fs::write(path.join("d.csv"), csv).unwrap();
    let contexts: String =
        ["a", "b", "c", "d", "e", "f", "g"].map(|k| format!("{k} = \"numeric\"\n")).concat();
    let study = CELLS.replace("DATA", "d.csv").replace("x = \"nominal\"\n", &contexts);
    let study = study.replace("\"cells\"", "\"tree\"\nmax_depth = 3");
    std::fs::write(path.join("s.toml"), study).unwrap();
    let found = succeeds(path, 600_000, "check s.toml --json --threads 2");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["grid"], &found["cells"]), (&false.into(), &300.into()));
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.contains("too large") && note.contains("4 GB is allowed"), "{note}");
    // A small one is a grid until less is allowed.
    let small = std::fs::read_to_string(path.join("s.toml")).unwrap();
    let small =
        small.replace("d = \"numeric\"\ne = \"numeric\"\nf = \"numeric\"\ng = \"numeric\"\n", "");
    std::fs::write(path.join("s.toml"), small).unwrap();
    assert_eq!(json(path, "check s.toml --json")["cells"], 1331);
    let found = run(path, "check s.toml --memory 100KB");
    assert!(found.code == 2 && found.err.contains("at least 1MB"), "{}", found.err);
}

/// Contexts that recur, numbers as they are and in bins, and notes that span lines.
fn recurring(rows: usize) -> String {
    let (mut csv, mut state) = ("x,z,b,g,arm,y,w,note\n".to_owned(), 5u64);
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    for row in 0..rows {
        let point = draw(9000);
        let (x, z) = (point as f64 / 7.0, (point * 7919 % 10_007) as f64 / 1000.0);
        let (b, g) = (point as f64 / 900.0, ["n", "s", ""][point as usize % 3]);
        let note = if row % 3 == 0 { "\"one\nline, \"\"more\"\"\"" } else { "none" };
        let (arm, y, w) = (["p", "q"][draw(2) as usize], draw(3), draw(1000) as f64 / 1000.0);
        writeln!(csv, "{x},{z},{b},{g},{arm},{y},{w},{note}").unwrap();
    }
    csv
}

const RECURRING: &str = "[data]\npath = \"d.csv\"\nWEIGHT[context]\nx = \"numeric\"\nz = \"numeric\"\n\
    b = { kind = \"numeric\", bin = 0.5 }\ng = { kind = \"nominal\", missing = true }\n[action]\n\
    column = \"arm\"\n[propensity]\ndesign = { p = 0.5, q = 0.5 }\n[outcome]\ncost = \"y\"\n[model]\n\
    kind = \"boosted\"\n[robust]\ncontext = { set = \"tv\", radius = 0.1 }\n";

/// An answer without the note that says how much memory there was.
fn answer(there: &Path, command: &str) -> String {
    let mut found = json(there, command);
    let notes = found["notes"].as_array_mut().or(None);
    notes.into_iter().for_each(|notes| notes.retain(|n| !n.as_str().unwrap().contains("--memory")));
    found.to_string()
}

#[test]
fn temporary_files_and_threads_change_nothing() {
    let there = folder(&[("d.csv", recurring(60_000).as_bytes())]);
    let path = there.path();
    for weight in ["", "weight = { column = \"w\", fractional = true }\n"] {
        std::fs::write(path.join("s.toml"), RECURRING.replace("WEIGHT", weight)).unwrap();
        let whole = answer(path, "check s.toml --json");
        for command in ["--memory 5MB", "--threads 1", "--threads 3 --memory 4.5MB"] {
            assert_eq!(answer(path, &format!("check s.toml --json {command}")), whole, "{command}");
        }
        // That files were written is seen where none can be.
        let program = assert_cmd::cargo::cargo_bin("seawall");
        let found = Command::new(program)
            .args(["check", "s.toml", "--memory", "5MB"])
            .env("TMPDIR", "/nowhere")
            .current_dir(path)
            .output()
            .unwrap();
        let words = String::from_utf8(found.stderr).unwrap();
        assert!(words.contains("/nowhere") && words.contains("TMPDIR"), "{words}");
        // What does not fit after that is refused with what would do.
        let found = run(path, "check s.toml --memory 1MB");
        assert!(found.code == 2 && found.err.contains("different contexts of 4 columns"));
        assert!(found.err.contains("bin = ...") && found.err.contains("--memory"), "{}", found.err);
    }
}

#[test]
fn errors_name_the_row_on_any_number_of_threads() {
    let there = folder(&[]);
    let path = there.path();
    std::fs::write(path.join("s.toml"), RECURRING.replace("WEIGHT", "")).unwrap();
    // Records of two lines count once; blocks end somewhere among these.
    let good = recurring(60_000);
    assert!(good.len() > 3 << 20);
    let mut records: Vec<String> = good.split_inclusive("none\n").map(str::to_owned).collect();
    let before: usize = records[..20_000].iter().map(|r| r.matches("\"one\n").count() + 1).sum();
    for (bad, words) in [
        ("1,2,x,n,p,1,1,none\n", "column \"b\": \"x\" is not a number"),
        ("inf,2,3,n,p,1,1,none\n", "column \"x\": \"inf\" is not a number"),
        ("1,,3,n,p,1,1,none\n", "column \"z\": the value is missing"),
        ("1,2,3,n,p,,1,none\n", "column \"y\": the value is missing"),
        ("1,2,3,n,p,1,1\n", "expected 8 got 7 fields"),
    ] {
        records.insert(20_000, bad.to_owned());
        // The header is no row; what is put in is the row after those before it.
        std::fs::write(path.join("d.csv"), records.concat()).unwrap();
        records.remove(20_000);
        let found = [1, 2, 5].map(|n| run(path, &format!("check s.toml --threads {n}")).err);
        assert!(found.iter().all(|err| *err == found[0]), "{found:?}");
        let row = format!("row {}", before + 1);
        assert!(found[0].contains(&row) && found[0].contains(words), "{row}: {}", found[0]);
    }
}

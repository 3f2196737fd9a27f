//! Limits told in advance: more memory than there is, is refused with the number before it is taken;
//! more than a minute is said first, with what takes less, and the work goes on.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, run};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Rows of numbers below some limits, drawn by a simple generator, an action and a cost.
fn table(rows: usize, limits: &[u64]) -> String {
    let mut state = 7u64;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let names: String = (0..limits.len()).map(|k| format!("x{k},")).collect();
    let mut text = format!("{names}arm,y\n");
    for k in 0..rows {
        limits.iter().for_each(|below| text += &format!("{},", next(*below)));
        text += &format!("{},{}\n", ["C", "T"][k % 2], next(1000));
    }
    text
}

/// A study of such rows; `column` is what is said of each context.
fn study(rows: usize, limits: &[u64], column: &str) -> TempDir {
    let columns: String =
        (0..limits.len()).map(|k| format!("x{k} = {{ kind = \"numeric\"{column} }}\n")).collect();
    let study = format!(
        "[data]\npath = \"t.csv\"\n[context]\n{columns}[action]\ncolumn = \"arm\"\n[outcome]\ncost = \
         \"y\"\n[propensity]\ndesign = {{ C = 0.5, T = 0.5 }}\n[model]\nkind = \"tree\"\n\
         min_samples_leaf = 100\n[robust]\ncontext = {{ set = \"wasserstein\", radius = 0.05 }}\n"
    );
    folder(&[("s.toml", study.as_bytes()), ("t.csv", table(rows, limits).as_bytes())])
}

/// Runs the program with so much address space, in MB.
fn capped(there: &Path, megabytes: usize, args: &str) -> (Option<i32>, String) {
    let line = format!("ulimit -v {}; exec \"$SEAWALL\" --threads 2 {args}", megabytes * 1000);
    let output = Command::new("sh")
        .current_dir(there)
        .args(["-c", &line])
        .env("SEAWALL", env!("CARGO_BIN_EXE_seawall"))
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A refusal for want of memory: one line with two sizes.
fn refused(found: (Option<i32>, String), words: &[&str]) {
    let (code, err) = found;
    assert_eq!(code, Some(2), "{err}");
    assert!(err.starts_with("error: ") && err.lines().count() == 1, "{err}");
    for word in ["take about ", " of memory, and ", " is at hand; "].iter().chain(words) {
        assert!(err.contains(word), "{word:?} is not in {err}");
    }
}

#[test]
fn a_grid_that_does_not_fit_is_refused_before_it_is_made() {
    let there = study(2000, &[20; 5], ", bin = 1, min = 0, max = 20");
    let path = there.path();
    for args in ["check s.toml", "evaluate s.toml", "learn s.toml --policy groups:x0 --out p.json"]
    {
        let found = capped(path, 700, args);
        refused(
            found,
            &["s.toml: 3200000 combinations of levels in 5 columns", "1.1 GB", "bin = "],
        );
    }
    assert!(!path.join("p.json").exists());
    // What the message advises.
    let (code, err) = capped(path, 700, "--memory 200MB check s.toml");
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn contexts_and_matrices_that_do_not_fit_are_refused() {
    let there = study(80_000, &[1_000_000, 1_000_000], "");
    let path = there.path();
    let args = "evaluate s.toml --support observed --splits 0 --set";
    refused(capped(path, 600, &format!("{args} mmd")), &["mmd: its matrices for ", "another set"]);
    assert_eq!(capped(path, 600, &format!("{args} tv")), (Some(0), String::new()));
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let there = study(400_000, &[1_000_000; 4], "");
    let path = there.path();
    let policy = r#"{"format":"seawall-policy","version":1,"name":"u","actions":["C","T"],
"features":[],"rule":{"kind":"uniform"}}"#;
    std::fs::write(path.join("u.json"), policy).unwrap();
    let megabytes = path.join("t.csv").metadata().unwrap().len() / 1_000_000;
    assert!(megabytes > 10);
    // Counting under a limit goes to temporary files, or is refused: it never runs into it.
    for megabytes in [400, 600] {
        let (code, err) = capped(path, megabytes, "check s.toml");
        assert!(matches!(code, Some(0 | 2)) && err.lines().count() <= 1, "{megabytes} MB: {err}");
    }
}

/// Starts the program, waits for its first line on standard error, interrupts it; that line, and the rest.
fn first_line(there: &Path, args: &str) -> (String, Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .current_dir(there)
        .args(args.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    (line, child.wait().unwrap().code(), rest)
}

#[test]
fn what_takes_more_than_a_minute_is_said_first() {
    let there = study(8000, &[1_000_000, 1_000_000], "");
    let path = there.path();
    let mmd = "evaluate s.toml --support observed --splits 10000 --set mmd";
    let compare = "sensitivity s.toml --set sinkhorn:kappa=0.01";
    let repeated = "evaluate s.toml --support observed --set tv --splits 10000 --policy uniform \
                    --policy constant:C --policy constant:T --radius 0.01,0.02,0.05,0.1,0.2,0.3";
    for (args, starts, holds) in [
        (mmd, "note: about ", "points in 2 columns, systems with all of them are solved for mmd; "),
        (compare, "note: about ", "points in 2 columns, every pair of them is looked at; "),
        (repeated, "note: about ", " of 10000 took "),
    ] {
        let (line, code, rest) = first_line(path, args);
        assert!(line.starts_with(starts) && line.contains(holds), "{args}: {line}{rest}");
        // How long depends on the machine: the forecast is timed on it.
        assert!(["second", "minute", "hour", "day"].iter().any(|u| line.contains(u)), "{line}");
        assert_eq!((code, rest.as_str()), (Some(130), "error: interrupted\n"), "{args}");
    }
    let trees = "learn s.toml --support observed --no-honest --policy tree:3 --out p.json";
    let (line, code, rest) = first_line(path, trees);
    assert!(
        line.contains("8,000 places in 2 columns, trees of depth 3 are searched for"),
        "{line}"
    );
    assert!(line.starts_with("note: about ") && line.contains("a lower depth"), "{line}");
    assert!(code == Some(130), "{rest}");
    // What is quick on as many points says nothing.
    let found = run(path, "evaluate s.toml --support observed --splits 0 --set tv");
    assert_eq!((found.code, found.err.as_str()), (0, ""));
}

#[test]
fn distances_that_take_more_than_a_minute_are_said_first() {
    let there = folder(&[
        ("a.csv", table(60_000, &[1_000_000; 3]).as_bytes()),
        ("b.csv", table(60_001, &[1_000_000; 3]).as_bytes()),
    ]);
    let path = there.path();
    let columns = "--context x0 --context x1 --context x2";
    let (line, code, rest) = first_line(path, &format!("distance a.csv b.csv {columns}"));
    assert!(line.starts_with("note: about ") && line.contains(" minutes: 60,000 points"), "{line}");
    assert!(line.contains("a plan to 60,001 others is found; wider bins"), "{line}");
    assert_eq!((code, rest.as_str()), (Some(130), "error: interrupted\n"));
}

//! The paper's program, built: what it writes, with the stroke trial and without.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(words: &[&str], out: &Path) {
    let done = Command::new(env!("CARGO_BIN_EXE_seawall-paper"))
        .args(words)
        .args(["--out", out.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn text(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).unwrap()
}

/// The lines of a CSV without quotes.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|l| l.split(',').map(str::to_owned).collect()).collect()
}

/// How many splits each promise holds in, of how many.
fn promises(page: &str) -> Vec<(usize, usize)> {
    let ends = page.lines().filter(|l| l.starts_with("- ")).filter_map(|l| l.rsplit_once(": "));
    let count = |end: &str| {
        let (a, b) = end.split_once(" of ")?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    ends.filter_map(|(_, end)| count(end)).collect()
}

#[test]
fn everything_is_written_without_the_trial_and_says_so() {
    let out = folder("synthetic");
    run(&["all", "--splits", "2"], &out);
    for page in ["table1.md", "convergence.md"] {
        assert!(text(&out, page).contains("synthetic trial"), "{page}");
    }
    let kept = promises(&text(&out, "table1.md"));
    assert_eq!(kept.len(), 6);
    // The first four are theorems; the last two are about the trial.
    assert!(kept[..4].iter().all(|(n, of)| n == of), "{kept:?}");
    // Published numbers to the digits printed.
    for row in rows(&text(&out, "table2.csv")) {
        let (ours, paper): (f64, f64) = (row[4].parse().unwrap(), row[5].parse().unwrap());
        assert!((ours - paper).abs() < 0.015, "{row:?}");
    }
    let figure = rows(&text(&out, "figure1.csv"));
    for (row, far) in figure.iter().zip([2.07, 1.42]) {
        assert_eq!(row[1], "0.210000");
        assert_eq!(row[2].parse::<f64>().unwrap(), far);
    }
    let sizes = rows(&text(&out, "sample-size.csv"));
    let error = |k: usize| sizes[k][1].parse::<f64>().unwrap();
    let slope = (error(6) / error(3)).ln() / 8f64.ln();
    assert!((-0.7..-0.3).contains(&slope), "the error falls as n^{slope}");
    for picture in ["ope-dual-kl", "opl-policy-wasserstein", "figure1b", "sample-size"] {
        assert!(text(&out, &format!("{picture}.svg")).starts_with("<svg"));
    }
}

#[test]
fn on_the_stroke_trial_every_ordering_holds() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !data.exists() {
        eprintln!("SKIPPED: the stroke trial is not at {}", data.display());
        return;
    }
    let out = folder("trial");
    run(&["table1", "--splits", "2", "--data", data.to_str().unwrap()], &out);
    let page = text(&out, "table1.md");
    assert!(!page.contains("synthetic"));
    let kept = promises(&page);
    assert!(kept[..5].iter().all(|kept| *kept == (2, 2)), "{page}");
}

#[test]
fn a_path_that_is_not_the_trial_is_refused() {
    let done = Command::new(env!("CARGO_BIN_EXE_seawall-paper"))
        .args(["table1", "--data", "/nowhere", "--out", folder("none").to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("/nowhere: expected IST_corrected"));
}

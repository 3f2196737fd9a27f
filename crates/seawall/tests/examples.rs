//! The examples do what their comments say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;

/// What a built example prints. Cargo builds the examples with the tests, in the folder beside
/// theirs.
fn printed(name: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let program: PathBuf = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(&program).output().unwrap_or_else(|error| {
        let path = program.display();
        panic!("{path}: {error}; `cargo test` builds the examples, `cargo test --test` does not")
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{name}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every line is there, in order.
fn check_lines(text: &str, expected: &[&str]) {
    let mut lines = text.lines();
    for line in expected {
        assert!(lines.any(|found| found == *line), "{line:?} is not in its place in\n{text}");
    }
}

#[test]
fn grid_worst_case() {
    check_lines(
        &printed("grid_worst_case"),
        &[
            "nominal 0.2030",
            "worst case at radius 0.1: 0.4183, gap 0e0",
            "23.8% of it where nobody was seen",
            "  25.0% from age=45, site=north to age=60, site=north",
            "  age 75: 0.0% before, 23.8% after",
            "the curve has 10 vertices, exact: true",
            "the mean stays below 0.5 up to radius 0.1664",
        ],
    );
}

#[test]
fn policy_from_arrays() {
    check_lines(
        &printed("policy_from_arrays"),
        &[
            "treat: 4.02 days in the data (standard error 1.20); 5.37 in the worst population, gap 0e0",
            "wait: 4.86 days in the data (standard error 0.62); 5.13 in the worst population, gap 0e0",
        ],
    );
}

#[test]
fn learned_tree() {
    check_lines(
        &printed("learned_tree"),
        &[
            "depth 1: 1.3300, no tree below 1.3300: optimal",
            "  If age < 55: wait.",
            "  If age ≥ 55: treat.",
            "depth 2: 1.0000, no tree below 1.0000: optimal",
            "no policy whatever below 1.0000",
        ],
    );
}

#[test]
fn own_engine() {
    let text = printed("own_engine");
    let values: Vec<&str> = text.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(values, ["6.800000, optimal"; 2], "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("all pairs"), "{text}");
}

#[test]
fn progress_and_stop() {
    let text = printed("progress_and_stop");
    check_lines(&text, &["optimal: 0.991280", "the bounds hold: true", "the distance: stopped"]);
    let told = text.lines().filter(|line| line.starts_with("  solving: ")).count();
    assert_eq!(told, 3, "it was told three times and then stopped: {text}");
    assert!(text.contains("stopped: between"), "{text}");
}

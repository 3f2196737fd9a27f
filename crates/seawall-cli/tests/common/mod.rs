//! The built program, run in a folder of files.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

#[path = "../../../seawall/tests/common/cases.rs"]
pub mod cases;

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a run left behind.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs the program in a folder; arguments are split at spaces.
pub fn run(folder: &Path, args: &str) -> Run {
    let output = Command::cargo_bin("seawall")
        .unwrap()
        .current_dir(folder)
        .args(args.split_whitespace())
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Ends a test that hangs; nothing is measured by it.
pub const HANGS: std::time::Duration = std::time::Duration::from_secs(120);

/// Waits until a program that was started has worked for so many hundredths of a second of a processor, however
/// many others want it; false if it ended before.
#[cfg(target_os = "linux")]
pub fn has_worked(child: &mut std::process::Child, hundredths: u64) -> bool {
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        // After the name, which may hold anything: state is the first, user and system time the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let time = |at: usize| fields.get(at).and_then(|t| t.parse().ok()).unwrap_or(0u64);
        if time(11) + time(12) >= hundredths {
            return true;
        }
        assert!(begun.elapsed() < HANGS, "it hangs");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    false
}

/// The same, by the clock.
#[cfg(not(target_os = "linux"))]
pub fn has_worked(child: &mut std::process::Child, hundredths: u64) -> bool {
    std::thread::sleep(std::time::Duration::from_millis(10 * hundredths));
    child.try_wait().unwrap().is_none()
}

/// A folder with these files.
pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// Runs a command that must succeed and print one JSON object. A slow machine may be told how long it
/// takes.
pub fn json(folder: &Path, args: &str) -> Value {
    let found = run(folder, args);
    let complaints = found.err.lines().filter(|line| !line.starts_with("note: "));
    assert_eq!((found.code, complaints.collect::<String>().as_str()), (0, ""), "{args}");
    serde_json::from_str(&found.out).unwrap()
}

/// A file of the shared folder, or None (said loudly) where it is absent. In CI it must be there.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
    eprintln!("SKIPPED: {} is absent", path.display());
    None
}

/// A small study.
pub const STUDY: &str = r#"[data]
path = "t.csv"

[context]
age  = { kind = "numeric", bin = 10, min = 20, max = 80 }
site = { kind = "nominal" }

[action]
column = "arm"
propensity = "p"

[outcome]
cost = { events = 1, died = { Y = 3 } }

[model]
kind = "cells"
unseen = "mean"

[robust]
context = { set = "wasserstein", radius = [0, 0.1] }
"#;

/// Its data.
pub const DATA: &str = "age,site,arm,p,events,died
31,north,A,0.5,1,N
33,north,B,0.5,0,N
47,south,B,0.25,0,Y
52,south,A,0.75,2,N
55,south,B,0.25,1,N
58,south,A,0.75,0,N
";

/// Two numbers that agree to eight digits.
pub fn close(found: &Value, expected: &Value, what: &str) {
    let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
    assert!((found - expected).abs() <= 1e-8, "{what}: {found}, expected {expected}");
}

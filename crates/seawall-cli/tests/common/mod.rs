//! The built program, run in a folder of files.
#![allow(dead_code)]

use assert_cmd::Command;
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

/// A folder with these files.
pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// Runs a command that must succeed and print one JSON object.
pub fn json(folder: &Path, args: &str) -> serde_json::Value {
    let found = run(folder, args);
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{args}");
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

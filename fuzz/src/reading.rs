//! A file of a fuzzer's bytes, read in every way that the program reads one.

use crate::told;
use seawall::Watch;
use seawall_study::init::{Asked, init};
use seawall_study::study::study_of;
use seawall_table::count::count;
use seawall_table::read::{Distinct, Reading, Table, tables};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Columns that the seeds have, each read as it is meant.
const STUDY: &str = r#"[data]
path = "FILE"
where = { n = { min = -1e9 } }
[context]
g = { kind = "nominal", missing = true }
n = { kind = "numeric", bin = 5, missing = true }
[action]
column = "a"
[outcome]
cost = "y"
"#;

/// A folder of this process, where the environment says; `scripts/fuzz` clears it away.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder")).path()
}

/// Writes a file of this name.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

/// A study of a file.
fn study(name: &str) -> seawall_study::study::Study {
    let text = STUDY.replace("FILE", name);
    study_of(&folder().join("s.toml"), folder(), &text).expect("the study is right")
}

/// What a command does with a file: an answer, or one line that names the file.
pub fn read(name: &str, bytes: &[u8]) {
    let path = file(name, bytes);
    let named = |error: &seawall::Error| {
        let text = told(error);
        assert!(text.contains(name), "{text:?} does not name {name}");
    };
    // Every column by its values, whatever it is called.
    let _ = init(&path, name, &Asked::default()).map_err(|e| named(&e));
    // The seeds' columns in other ways.
    let _ = count(&study(name).data, Watch::NOBODY).map_err(|e| told(&e));
    let wanted = [("y", Reading::Numbers), ("g", Reading::Values)];
    let _ = columns(&path, &wanted).map_err(|e| named(&e));
}

/// Some columns of a file.
pub fn columns(path: &Path, wanted: &[(&str, Reading)]) -> seawall::Result<(Table, Vec<Distinct>)> {
    let (mut tables, distinct) = tables(&[path], wanted, Watch::NOBODY)?;
    Ok((tables.remove(0), distinct))
}

//! The integration tests of the studies, a module for each subject, in one binary: linked once, and run side
//! by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ist;
mod learn;
mod obd;
mod sql;
mod study;

/// A file that is not named above would never run.
#[test]
fn every_file_is_a_module() {
    let main = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(module) = name.strip_suffix(".rs").filter(|m| *m != "main") {
            assert!(
                main.contains(&format!("mod {module};")),
                "tests/main.rs does not name {module}"
            );
        }
    }
}

//! The integration tests of the program, a module for each subject, in one binary: linked once, and run side
//! by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// A test that goes through one case from end to end is read from top to bottom.
#![allow(clippy::too_many_lines)]

mod asking;
mod bin_means;
mod bins;
mod bound;
mod bound_columns;
mod common;
mod compare;
mod compare_sets;
mod compare_studies;
mod completions;
mod counted;
mod damage;
mod describe;
mod distance;
mod evaluate;
mod faults;
mod faults_reading;
mod init;
mod init_released;
mod invariance;
mod joint;
mod known;
mod learn;
mod limits;
mod means_shift;
mod missing;
mod models;
mod names;
mod noise;
mod out_of_scale;
mod policy_names;
mod predictions;
mod reading;
mod report;
mod rows;
mod scale;
mod sets;
mod slips;
mod space;
mod stopping;
mod target;
mod thin;
mod transfer;

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

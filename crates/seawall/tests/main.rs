//! The integration tests of the core, a module for each subject, in one binary: linked once, and run side
//! by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// A test that goes through one case from end to end is read from top to bottom.
#![allow(clippy::too_many_lines)]

mod allowance;
mod balance;
mod balance_extremes;
mod balance_simulation;
mod clusters;
mod common;
mod couplings;
mod couplings_learning;
mod difference;
mod distance;
mod entropic;
mod every_set;
mod exact;
mod examples;
mod extremes;
mod fixture;
mod geometry;
mod identities;
mod inference;
mod joint_kl;
mod joint_kl_learning;
mod joint_kl_simulation;
mod joint_wasserstein;
mod joint_wasserstein_limits;
mod joint_wasserstein_scattered;
mod kl;
mod learn;
mod many;
mod mmd;
mod models;
mod models_chosen;
mod models_told;
mod moments;
mod nominal;
mod own_models;
mod policy;
mod reweighting;
mod reweighting_extremes;
mod robust;
mod sinkhorn;
mod sizes;
mod splits;
mod stopping;
mod transfer;
mod tree_search;
mod tree_ties;
mod tv;
mod whole;

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

//! The published comparison of KL and Wasserstein worst cases, from the shared fixture.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::{Feature, Kl, Population, Problem, Settings, Space, Wasserstein};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// A fixture, or None (said loudly) where the shared folder is absent. In CI it must be there.
fn fixture(name: &str) -> Option<Value> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = here.join("../../../shared/fixtures").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{}: {error}", path.display());
            eprintln!("SKIPPED: {}: {error}", path.display());
            None
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn kl_versus_wasserstein() {
    let Some(fixture) = fixture("kl-versus-wasserstein.json") else { return };
    let (published, reference) = (&fixture["published"], &fixture["reference"]);
    let settings = Settings::default();
    println!("{:24} {:>7} {:>16} {:>16} {:>10}", "", "factor", "ours", "reference", "published");
    for (support, prefix) in [("support", ""), ("outlier_support", "outlier_")] {
        let x = numbers(&fixture[support]);
        let values: Vec<f64> = x.iter().map(|x| x * x).collect();
        // The paper's cost: (x − ζ)², weight 1.
        let feature = Feature::numeric("x").levels(x.iter().copied()).weight(1.0);
        let space = Arc::new(Space::grid([feature]).unwrap());
        let on =
            |name: &str| Population::from_weights(space.clone(), numbers(&fixture[name])).unwrap();
        if prefix.is_empty() {
            let mean = on("testing").mean(&values).unwrap();
            assert!((mean - reference["expectation_testing"].as_f64().unwrap()).abs() < 1e-8);
        }
        let training = on("training");
        let problem = Problem::new(&training, &values).unwrap();
        for (set, radius_name) in
            [("kl", "kl_radius"), ("wasserstein", &*format!("{prefix}wasserstein_radius"))]
        {
            let radius = reference[radius_name].as_f64().unwrap();
            let name = format!("{prefix}{set}");
            for (k, factor) in numbers(&reference["factors"]).into_iter().enumerate() {
                let set = match set {
                    "kl" => Kl.at(factor * radius),
                    _ => Wasserstein.at(factor * radius),
                };
                let worst = set.worst_case(&problem, settings).unwrap();
                let expected = reference[&name][k].as_f64().unwrap();
                let printed = published[&name][k].as_f64().unwrap();
                let ours = worst.value();
                println!("{name:24} {factor:>7} {ours:>16.10} {expected:>16.10} {printed:>10}");
                assert!((ours - expected).abs() <= 1e-8, "{name} at {factor}: {ours}");
            }
        }
    }
}

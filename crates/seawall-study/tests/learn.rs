//! Learning on the stroke trial, against published numbers.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::evaluate::{Robust, Support};
use seawall::learn::{Groups, Task, groups};
use seawall::outcome::{Unseen, Values};
use seawall::policy::{Partition, Parts, Rule};
use seawall::{Settings, Wasserstein, Watch};
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::study::study;
use serde_json::Value;
use std::path::PathBuf;

/// The trial and its plain values, or None (said loudly) where it is absent. In CI it must be
/// there.
fn trial() -> Option<(PreparedStudy, Values, Value)> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let shared = here.join("../../../shared");
    for name in ["fixtures/stroke-trial.json", "data/ist/IST_corrected.csv.gz"] {
        let path = shared.join(name);
        if !path.exists() {
            assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
            eprintln!("SKIPPED: {} is absent", path.display());
            return None;
        }
    }
    let fixture = std::fs::read_to_string(shared.join("fixtures/stroke-trial.json")).unwrap();
    let fixture = serde_json::from_str(&fixture).unwrap();
    let loaded = load(study(&here.join("../../studies/ist.toml")).unwrap(), Watch::NOBODY).unwrap();
    let model = loaded.model.recipe.fit(loaded.log(), Watch::NOBODY).unwrap();
    let plain = Wasserstein.at(0.0);
    let values = model.values(loaded.log(), plain, Unseen::Error, Settings::default()).unwrap();
    Some((loaded, values, fixture))
}

fn by_levels(feature: &str, parts: &[&[&str]]) -> Partition {
    let part = |levels: &&[&str]| levels.iter().map(|l| Some((*l).to_owned())).collect();
    Partition {
        feature: feature.to_owned(),
        missing: false,
        parts: Parts::Levels(parts.iter().map(part).collect()),
    }
}

#[test]
fn two_groups_as_published() {
    let Some((loaded, values, fixture)) = trial() else { return };
    let log = loaded.log();
    let expected = &fixture["learned_by_group_alert_or_not"];
    let robust = Robust::new(log, Support::All).unwrap();
    let by = vec![by_levels("RCONSC", &[&["D", "U"], &["F"]])];
    for (k, radius) in expected["radius"].as_array().unwrap().iter().enumerate() {
        let set = Wasserstein.at(radius.as_f64().unwrap());
        let task = Task::new(log, &robust, &values, set).unwrap();
        let found = groups(&task, &Groups::new(by.clone()), Settings::default()).unwrap();
        let Rule::Groups { probabilities, .. } = found.policy().rule() else { panic!("no groups") };
        assert!((found.value() - expected["value"][k].as_f64().unwrap()).abs() < 1e-8);
        assert!(found.gap() <= 1e-9, "{}", found.gap());
        for (at, name) in ["not_alert", "alert"].iter().enumerate() {
            let wanted = expected[name][k].as_f64().unwrap();
            assert!((probabilities[at][0] - wanted).abs() < 1e-4, "{probabilities:?}");
        }
    }
}

#[test]
fn many_groups_in_a_few_hundred_solves() {
    let Some((loaded, values, _)) = trial() else { return };
    let log = loaded.log();
    let robust = Robust::new(log, Support::All).unwrap();
    let set = Wasserstein.at(0.03);
    let task = Task::new(log, &robust, &values, set).unwrap();
    let levels = |f: &str| Partition::of_levels(log.contexts(), f).unwrap();
    for (by, tolerance) in [
        (vec![levels("STYPE"), levels("RCONSC")], 1e-7),
        (vec![levels("STYPE"), levels("RCONSC"), levels("AGE")], 1e-4),
    ] {
        // The method's tolerance is relative to the largest cost, about 3.
        let asked = Groups { tolerance: 0.1 * tolerance, ..Groups::new(by) };
        let found = groups(&task, &asked, Settings::default()).unwrap();
        assert!(found.gap() <= tolerance, "{}", found.gap());
        println!("{} iterations", found.iterations());
        assert!(found.iterations() <= 300, "{} iterations", found.iterations());
    }
}

//! The International Stroke Trial, from the file to the robust value, against published numbers.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::evaluate::{Robust, Support};
use seawall::outcome::Unseen;
use seawall::policy::Policy;
use seawall::{Entropic, Kl, Settings, Shift, Wasserstein, Watch};
use seawall_study::prepare::load;
use seawall_study::study::study;
use seawall_table::count::count;
use serde_json::Value;
use std::path::PathBuf;

/// A file of the shared folder, or None (said loudly) where it is absent. In CI it must be there.
fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
    eprintln!("SKIPPED: {} is absent", path.display());
    None
}

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-8, "{what}: {found}, expected {expected}");
}

#[test]
fn every_published_value() {
    let Some(fixture) = shared("fixtures/stroke-trial.json") else { return };
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let study = study(&here.join("../../studies/ist.toml")).unwrap();
    let counted = count(&study.data, Watch::NOBODY).unwrap();
    let log = &counted.log;
    assert_eq!(log.total(), fixture["rows"].as_f64().unwrap());
    assert_eq!(log.contexts().len() as u64, fixture["cells"].as_u64().unwrap());
    let population = log.population().unwrap();
    let observed = population.weights().iter().filter(|p| **p > 0.0).count();
    assert_eq!(observed as u64, fixture["observed_cells"].as_u64().unwrap());
    assert_eq!(log.outcomes().len(), 128, "seven events");
    let totals = log.action_totals();
    assert_eq!(totals[0], fixture["treat"].as_f64().unwrap());
    assert_eq!(totals[1], fixture["control"].as_f64().unwrap());
    let mean = |of: &dyn Fn(usize) -> bool| {
        let rows = log.entries().iter().filter(|e| of(e.action as usize));
        let (sum, n) =
            rows.fold((0.0, 0.0), |(s, n), e| (s + e.weight * log.value(e), n + e.weight));
        sum / n
    };
    close(mean(&|_| true), &fixture["mean_cost"]["all"], "mean cost");
    close(mean(&|a| a == 0), &fixture["mean_cost"]["treat"], "mean cost of treat");
    close(mean(&|a| a == 1), &fixture["mean_cost"]["control"], "mean cost of control");

    let loaded = load(study, Watch::NOBODY).unwrap();
    let model = loaded.model.recipe.fit(log, Watch::NOBODY).unwrap();
    let solve = Settings::default();
    let plain = Wasserstein.at(0.0);
    let values = model.values(log, plain, Unseen::Error, solve).unwrap();
    let uniform = Policy::uniform(log);
    let policies = [
        ("uniform", uniform.clone()),
        ("treat", Policy::constant(log, "treat").unwrap()),
        ("control", Policy::constant(log, "control").unwrap()),
        ("greedy", Policy::greedy(log, &values).unwrap()),
    ];
    for (name, policy) in &policies {
        let direct = population.mean(&policy.values(&values).unwrap()).unwrap();
        close(direct, &fixture["direct_method"][name], &format!("direct method, {name}"));
    }
    let all = Robust::new(log, Support::All).unwrap();
    let seen = Robust::new(log, Support::Observed).unwrap();
    let at = |robust: &Robust, policy: &Policy, set: Shift| {
        robust.worst_case(policy, &values, set, solve).unwrap()
    };
    let expected = &fixture["wasserstein_uniform"];
    for (k, radius) in expected["radius"].as_array().unwrap().iter().enumerate() {
        let radius = radius.as_f64().unwrap();
        let set = Wasserstein.at(radius);
        let worst = at(&all, &uniform, set);
        close(worst.value(), &expected["grid"][k], &format!("grid, radius {radius}"));
        close(at(&seen, &uniform, set).value(), &expected["observed"][k], "observed");
    }
    let expected = &fixture["entropic_uniform_grid_radius_0.03"];
    for (k, eta) in expected["eta"].as_array().unwrap().iter().enumerate() {
        let set = Entropic { eta: eta.as_f64().unwrap() }.at(0.03);
        close(at(&all, &uniform, set).value(), &expected["value"][k], "entropic");
    }
    let expected = &fixture["kl_uniform"];
    for (k, radius) in expected["radius"].as_array().unwrap().iter().enumerate() {
        let set = Kl.at(radius.as_f64().unwrap());
        close(at(&all, &uniform, set).value(), &expected["value"][k], "kl");
    }
    for (name, policy) in &policies[1..] {
        let worst = at(&all, policy, Wasserstein.at(0.03));
        close(worst.value(), &fixture["wasserstein_grid_radius_0.03"][name], name);
    }
}

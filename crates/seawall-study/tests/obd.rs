//! Open Bandit logs: nominal estimators of the uniform policy against numbers computed elsewhere.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::evaluate::{Estimator, Nominal, Propensity};
use seawall::outcome::Recipe;
use seawall::policy::Policy;
use seawall_study::count::count;
use seawall_study::study::study;
use std::path::PathBuf;

/// The uniform policy's estimates on a log, or None (said loudly) where the data are absent. In
/// CI they must be there.
fn uniform(log: &str) -> Option<(Nominal, usize)> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let data = here.join(format!("../../../shared/data/obd/{log}_men.csv.gz"));
    if !data.exists() {
        assert!(std::env::var_os("CI").is_none(), "{} is absent", data.display());
        eprintln!("SKIPPED: {} is absent", data.display());
        return None;
    }
    let study = study(&here.join(format!("../../studies/obd-{log}.toml"))).unwrap();
    let log = count(&study, &|_| {}).unwrap().log;
    assert_eq!(log.total(), 10_000.0);
    let estimator = Estimator::new(&log, &Recipe::Cells, &Propensity::Known, None, 5).unwrap();
    Some((estimator.nominal(&Policy::uniform(&log)), log.actions().len()))
}

#[test]
fn the_thompson_sampling_log() {
    let Some((found, actions)) = uniform("bts") else { return };
    assert_eq!(actions, 34);
    assert!((found.ips.value - 0.003_008_6).abs() < 5e-8, "{:?}", found.ips);
    assert!((found.snips.value - 0.003_189_4).abs() < 5e-8, "{:?}", found.snips);
    assert!((found.overlap.effective - 655.71).abs() < 5e-3, "{:?}", found.overlap);
    assert!(found.overlap.smallest > 0.0 && found.overlap.clipped == 0.0);
    for estimate in [found.dm, found.ips, found.snips, found.dr] {
        assert!(estimate.se > 0.0 && estimate.lower < estimate.value);
        assert!(estimate.value < estimate.upper);
    }
}

#[test]
fn the_uniform_log() {
    let Some((found, _)) = uniform("random") else { return };
    // Every ratio is 1: both estimators are the mean, with the binomial standard error.
    assert!((found.ips.value - 0.0046).abs() < 1e-12, "{:?}", found.ips);
    assert!((found.snips.value - 0.0046).abs() < 1e-12);
    assert!((found.overlap.effective - 10_000.0).abs() < 1e-6);
    let binomial = (0.0046f64 * (1.0 - 0.0046) / 10_000.0).sqrt();
    assert!((found.ips.se - binomial).abs() < 1e-6 && (found.snips.se - binomial).abs() < 1e-6);
}

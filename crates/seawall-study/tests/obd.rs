//! Open Bandit logs: nominal estimators of the uniform policy against numbers computed elsewhere.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::Watch;
use seawall::evaluate::{Evaluator, FitOptions, Nominal, Propensity};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{Entry, Log};
use seawall_study::study::study;
use seawall_table::count::count;
use std::path::PathBuf;
use std::sync::Arc;

/// A log, or None (said loudly) where the data are absent. In CI they must be there.
fn read(log: &str) -> Option<Arc<Log>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let data = here.join(format!("../../../shared/data/obd/{log}_men.csv.gz"));
    if !data.exists() {
        assert!(std::env::var_os("CI").is_none(), "{} is absent", data.display());
        eprintln!("SKIPPED: {} is absent", data.display());
        return None;
    }
    let study = study(&here.join(format!("../../studies/obd-{log}.toml"))).unwrap();
    let log = count(&study.data, Watch::NOBODY).unwrap().log;
    assert_eq!(log.total(), 10_000.0);
    Some(log)
}

/// The uniform policy's estimates.
fn uniform(log: &Arc<Log>) -> Nominal {
    let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
    let (recipe, known) = (Recipe::Cells, Propensity::Known);
    let fitted = Evaluator::new(log, &recipe, &known, options, Watch::NOBODY).unwrap();
    fitted.nominal(&Policy::uniform(log), Watch::NOBODY).unwrap()
}

#[test]
fn the_thompson_sampling_log() {
    let Some(log) = read("bts") else { return };
    assert_eq!(log.actions().len(), 34);
    let found = uniform(&log);
    assert!((found.ips.unwrap().value - 0.003_008_6).abs() < 5e-8, "{:?}", found.ips);
    assert!((found.snips.unwrap().value - 0.003_189_4).abs() < 5e-8, "{:?}", found.snips);
    assert!((found.overlap.effective_sample_size - 655.71).abs() < 5e-3, "{:?}", found.overlap);
    assert!(found.overlap.clipped == 0.0);
    for estimate in [Some(found.dm), found.ips, found.snips, found.dr] {
        let estimate = estimate.unwrap();
        assert!(estimate.se > 0.0 && estimate.covers(estimate.value));
    }
}

#[test]
fn the_uniform_log() {
    let Some(log) = read("random") else { return };
    let found = uniform(&log);
    // Every ratio is 1: both estimators are the mean, with the binomial standard error.
    assert!((found.ips.unwrap().value - 0.0046).abs() < 1e-12, "{:?}", found.ips);
    assert!((found.snips.unwrap().value - 0.0046).abs() < 1e-12);
    assert!((found.overlap.effective_sample_size - 10_000.0).abs() < 1e-6);
    let binomial = (0.0046f64 * (1.0 - 0.0046) / 10_000.0).sqrt();
    assert!(
        (found.ips.unwrap().se - binomial).abs() < 1e-6
            && (found.snips.unwrap().se - binomial).abs() < 1e-6
    );
}

/// Rows drawn again with replacement: the estimates' spread is what their standard errors say.
#[test]
fn standard_errors_agree_with_a_bootstrap() {
    let Some(log) = read("bts") else { return };
    let (entries, draws) = (log.entries(), 400);
    let ends: Vec<f64> = entries
        .iter()
        .scan(0.0, |sum, e| {
            *sum += e.weight;
            Some(*sum)
        })
        .collect();
    let mut state = 1u64;
    let mut unit = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let ratio = |e: &Entry| 1.0 / 34.0 / e.propensity;
    let (mut ips, mut snips) = (Vec::new(), Vec::new());
    for _ in 0..draws {
        let (mut sum, mut mass) = (0.0, 0.0);
        for _ in 0..10_000 {
            let drawn = &entries[ends.partition_point(|&end| end <= 10_000.0 * unit())];
            sum += ratio(drawn) * log.value(drawn);
            mass += ratio(drawn);
        }
        ips.push(sum / 10_000.0);
        snips.push(sum / mass);
    }
    let spread = |all: &[f64]| {
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64).sqrt()
    };
    let found = uniform(&log);
    for (what, se, all) in
        [("ips", found.ips.unwrap().se, ips), ("snips", found.snips.unwrap().se, snips)]
    {
        let ratio = se / spread(&all);
        assert!((0.88..1.14).contains(&ratio), "{what}: {se} against {}", spread(&all));
    }
}

//! Rows in clusters and rows of a survey: what folds, draws and standard errors make of them.
#![allow(clippy::unwrap_used)]

use crate::common::Random;
use rayon::prelude::*;
use seawall::evaluate::{Estimate, Evaluator, FitOptions, Propensity};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{Direction, Entry, Feature, Log, Space, Watch};
use std::sync::Arc;

/// Standard normal.
fn normal(draws: &mut Random) -> f64 {
    let (u, v) = (1.0 - draws.unit(), draws.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

const CLUSTERS: usize = 30;
/// The share of the outcomes' variance that is between clusters.
const CORRELATION: f64 = 0.1;
/// What the actions cost on average.
const MEANS: [f64; 2] = [0.3, 0.1];

/// Patients of 30 hospitals, 20 to 40 each, treated by a fair coin; outcomes in steps of 0.05.
fn hospitals(seed: u64) -> Vec<Entry> {
    let mut draws = Random(seed);
    let mut entries = Vec::new();
    for cluster in 0..CLUSTERS as u32 {
        let own = CORRELATION.sqrt() * normal(&mut draws);
        for _ in 0..20 + (draws.unit() * 21.0) as usize {
            let context = (draws.unit() * 4.0) as u32;
            let action = u32::from(draws.unit() < 0.5);
            let noise = own + (1.0 - CORRELATION).sqrt() * normal(&mut draws);
            let y = MEANS[action as usize] + 0.2 * (f64::from(context) - 1.5) + noise;
            let outcome = ((y + 6.0) / 0.05).round().clamp(0.0, 240.0) as u32;
            entries.push(Entry { context, action, outcome, cluster, ..Entry::default() });
        }
    }
    entries
}

fn log(entries: Vec<Entry>) -> Log {
    let space = Space::grid([Feature::numeric("age").levels(vec![1.0, 2.0, 3.0, 4.0])]).unwrap();
    let levels: Vec<f64> = (0..=240).map(|k| -6.0 + 0.05 * f64::from(k)).collect();
    let outcomes = Space::grid([Feature::numeric("cost").levels(levels.clone())]).unwrap();
    let actions = vec!["treat".to_owned(), "control".to_owned()];
    Log::new(Arc::new(space), actions, Arc::new(outcomes), levels, Direction::Cost, entries)
        .unwrap()
}

fn fitted(log: Log, options: FitOptions) -> Evaluator {
    let design = Propensity::Design(vec![0.5, 0.5]);
    let options = FitOptions { unseen: Unseen::Mean, ..options };
    Evaluator::new(&log.shared(), &Recipe::Cells, &design, options, Watch::NOBODY).unwrap()
}

/// The four estimates of treating everyone.
fn estimates(log: Log) -> [Estimate; 4] {
    let fitted = fitted(log, FitOptions { repeats: 1, ..FitOptions::default() });
    let policy = Policy::constant(fitted.log(), "treat").unwrap();
    let found = fitted.nominal(&policy, Watch::NOBODY).unwrap();
    [found.dm, found.ips.unwrap(), found.snips.unwrap(), found.dr.unwrap()]
}

/// The share of simulated logs in which each estimate's interval holds the truth.
fn held(logs: u64, clustered: bool) -> [f64; 4] {
    let each = |seed: u64| {
        let mut entries = hospitals(1 + seed);
        if !clustered {
            entries.iter_mut().for_each(|e| e.cluster = Entry::ALONE);
        }
        let held = |e: Estimate| f64::from(u8::from(e.covers(MEANS[0])));
        estimates(log(entries)).map(held)
    };
    let all: Vec<[f64; 4]> = (0..logs).into_par_iter().map(each).collect();
    [0, 1, 2, 3].map(|k| all.iter().map(|one| one[k]).sum::<f64>() / logs as f64)
}

/// With clusters every estimate's interval holds the truth in 93% to 97% of logs; without them in
/// visibly less.
#[test]
fn intervals_of_clustered_rows_hold_the_truth() {
    let (with, without) = (held(2000, true), held(500, false));
    println!(
        "direct, IPS, self-normalised, doubly robust: {with:.3?} with clusters, {without:.3?} without"
    );
    for (with, without) in with.iter().zip(without) {
        assert!((0.93..=0.97).contains(with), "{with}");
        assert!(without < 0.9, "{without}");
    }
}

#[test]
fn clusters_stay_whole() {
    let log = log(hospitals(3));
    assert_eq!(log.clusters(), Some(CLUSTERS));
    let folds = log.folds(5).unwrap();
    for (i, e) in log.entries().iter().enumerate() {
        let parts: Vec<f64> = (0..5).map(|k| folds.weight(i, k)).collect();
        assert_eq!(parts.iter().filter(|w| **w > 0.0).count(), 1);
        assert_eq!(parts.iter().sum::<f64>(), e.weight);
        let other = log.entries().iter().position(|o| o.cluster == e.cluster).unwrap();
        let fold = parts.iter().position(|w| *w > 0.0).unwrap();
        assert!(folds.weight(other, fold) > 0.0, "cluster {} in two folds", e.cluster);
    }
    let sizes: Vec<f64> = (0..5).map(|k| folds.only(k).unwrap().total()).collect();
    let (low, high) =
        (sizes.iter().copied().fold(f64::MAX, f64::min), sizes.iter().copied().fold(0.0, f64::max));
    assert!(high < 1.5 * low, "{sizes:?}");
    let err = log.folds(31).unwrap_err().to_string();
    assert!(err.contains("31") && err.contains("30 clusters"), "{err}");
    let mixed = vec![Entry::default(), Entry { cluster: 1, action: 1, ..Entry::default() }];
    let space = Space::grid([Feature::numeric("x").levels(vec![1.0, 2.0])]).unwrap();
    let space = Arc::new(space);
    let names = vec!["a".to_owned(), "b".to_owned()];
    let made = Log::new(space.clone(), names, space, vec![1.0, 2.0], Direction::Cost, mixed);
    assert!(made.unwrap_err().to_string().contains("clusters"));
}

/// Clusters of one row are rows that stand for themselves, but for Student's quantile and G/(G−1).
#[test]
fn clusters_of_one_row_are_rows() {
    let mut rows = hospitals(9);
    rows.iter_mut().enumerate().for_each(|(k, e)| e.cluster = k as u32);
    let alone = rows.iter().map(|e| Entry { cluster: Entry::ALONE, ..*e }).collect();
    let (a, b) = (estimates(log(rows)), estimates(log(alone)));
    for k in [1, 2] {
        assert!((a[k].value - b[k].value).abs() < 1e-12);
        assert!((a[k].se / b[k].se - 1.0).abs() < 2e-3, "{} {}", a[k].se, b[k].se);
    }
}

/// Weights that are no counts: the estimate is weighted, its error is of rows and not of weight, and
/// nothing depends on the weights' unit.
#[test]
fn survey_weights_are_not_rows() {
    let rows: Vec<Entry> =
        hospitals(5).into_iter().map(|e| Entry { cluster: Entry::ALONE, ..e }).collect();
    let weigh = |unit: f64| -> Vec<Entry> {
        let weight = |k: usize| unit * (1.0 + (k % 3) as f64);
        let weighed = |(k, e): (usize, &Entry)| Entry { weight: weight(k), unit: weight(k), ..*e };
        rows.iter().enumerate().map(weighed).collect()
    };
    let (one, thousand) = (estimates(log(weigh(1.0))), estimates(log(weigh(1000.0))));
    let counted =
        estimates(log(weigh(1000.0).into_iter().map(|e| Entry { unit: 1.0, ..e }).collect()));
    for k in 0..4 {
        assert!((one[k].value - thousand[k].value).abs() < 1e-9, "{k}");
        assert!((one[k].se / thousand[k].se - 1.0).abs() < 1e-9, "{k}");
    }
    // Taken for counts they would look thirty times as sure.
    assert!(counted[1].se < 0.05 * thousand[1].se);
    // By hand: the weighted mean of w y and its standard error.
    let log = log(weigh(1.0));
    let n = log.effective_rows();
    let terms: Vec<(f64, f64)> = log
        .entries()
        .iter()
        .map(|e| (e.unit, if e.action == 0 { 2.0 * log.value(e) } else { 0.0 }))
        .collect();
    assert_eq!(log.rows(), rows.len() as f64);
    let total: f64 = terms.iter().map(|t| t.0).sum();
    let squares: f64 = terms.iter().map(|t| t.0 * t.0).sum();
    assert!((n - total * total / squares).abs() < 1e-9);
    let mean = terms.iter().map(|t| t.0 * t.1).sum::<f64>() / total;
    let spread: f64 = terms.iter().map(|t| (t.0 * (t.1 - mean) / total).powi(2)).sum();
    assert!((one[1].value - mean).abs() < 1e-12);
    assert!((one[1].se - (spread * n / (n - 1.0)).sqrt()).abs() < 1e-12);
}

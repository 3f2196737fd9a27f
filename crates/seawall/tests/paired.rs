//! Intervals of worst differences against simulated truths: smooth ones, clear ones, and flat ones,
//! where every action costs the same everywhere and an adversary finds only noise.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::Random;
use rayon::prelude::*;
use seawall::evaluate::{FitOptions, Fitted, Propensity, Robust, Support, ValueRange};
use seawall::inference::{Resampling, bootstrap};
use seawall::outcome::{Recipe, TreeSettings};
use seawall::policy::Policy;
use seawall::{Detail, Direction, Entry, Feature, Log, Settings, Space, Wasserstein, Watch};
use std::sync::Arc;

const RADIUS: f64 = 0.02;

/// A truth: the chance of the bad outcome by age (0 to 9) and action.
type Risk = fn(usize, usize) -> f64;

const TRUTHS: [(&str, Risk); 3] = [
    ("flat", |_, _| 0.3),
    ("clear", |age, action| 0.2 + 0.01 * age as f64 + 0.2 * action as f64),
    ("crossing", |age, action| 0.2 + if action == 1 { 0.05 * age as f64 } else { 0.1 }),
];

fn space() -> Arc<Space> {
    let age = Feature::numeric("age").levels((0..10).map(f64::from));
    Arc::new(Space::grid([age, Feature::nominal("sex", ["F", "M"])]).unwrap())
}

/// Rows drawn from a truth; or the truth itself, every cell by its probability.
fn log(risk: Risk, rows: Option<usize>, seed: u64) -> Arc<Log> {
    let r = &mut Random(seed);
    let entry = |context: usize, action: usize, outcome: u32, weight: f64| {
        let (context, action) = (context as u32, action as u32);
        Entry { context, action, outcome, propensity: 0.5, weight, ..Entry::default() }
    };
    let mut entries = Vec::new();
    match rows {
        Some(rows) => {
            for _ in 0..rows {
                let (context, action) = (r.below(20), r.below(2));
                let bad = r.chance(risk(context / 2, action));
                entries.push(entry(context, action, u32::from(bad), 1.0));
            }
        }
        None => {
            for k in 0..40 {
                let p = risk(k / 4, k % 2);
                entries.push(entry(k / 2, k % 2, 0, 1.0 - p));
                entries.push(entry(k / 2, k % 2, 1, p));
            }
        }
    }
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap());
    let actions = ["a", "b"].map(str::to_owned).to_vec();
    let (values, direction) = (vec![0.0, 1.0], Direction::Cost);
    Log::new(space(), actions, outcomes, values, direction, entries).unwrap().shared()
}

/// The worst difference of always a to always b.
fn worst(log: &Arc<Log>, recipe: &Recipe) -> f64 {
    let options = FitOptions { unseen: seawall::outcome::Unseen::Mean, ..FitOptions::default() };
    let fitted = Fitted::new(log, recipe, &Propensity::Known, options, Watch::NOBODY).unwrap();
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let range: ValueRange = fitted.value_range(Wasserstein.at(0.0), settings).unwrap();
    let robust = Robust::new(log, Support::All).unwrap();
    let [a, b] = ["a", "b"].map(|name| Policy::constant(log, name).unwrap());
    let (cases, _) =
        robust.worst_difference((&a, &b), &range, Wasserstein, &[RADIUS], None, settings).unwrap();
    cases[0].value()
}

/// Of so many logs, in how many the shown 95% interval (the basic one and the value) held the true
/// worst difference; and in how many it lay below 0 though the truth does not.
fn coverage(risk: Risk, recipe: &Recipe, rows: usize, runs: u64, replicates: usize) -> (f64, f64) {
    let truth = worst(&log(risk, None, 0), &Recipe::Cells);
    let one = |run: u64| {
        let drawn = log(risk, Some(rows), 1000 + run);
        let estimate = worst(&drawn, recipe);
        let ask =
            |log: &Log, _: usize, _: Watch<'_>| Ok(vec![worst(&Arc::new(log.clone()), recipe)]);
        let all = bootstrap(&drawn, replicates, Resampling::Multinomial, run, Watch::NOBODY, &ask);
        let (low, high) = all.unwrap().interval(0, estimate, 0.95).unwrap().basic;
        let (low, high) = (low.min(estimate), high.max(estimate));
        let held = low - 1e-12 <= truth && truth <= high + 1e-12;
        (f64::from(u8::from(held)), f64::from(u8::from(high < 0.0 && truth >= 0.0)))
    };
    let found: Vec<(f64, f64)> = (0..runs).into_par_iter().map(one).collect();
    let share = |of: fn(&(f64, f64)) -> f64| found.iter().map(of).sum::<f64>() / runs as f64;
    (share(|f| f.0), share(|f| f.1))
}

fn trees(depth: usize, leaf: f64) -> Recipe {
    let tree = TreeSettings { max_depth: depth, min_samples_leaf: leaf, ..TreeSettings::default() };
    Recipe::Tree(vec![tree; 2])
}

#[test]
#[ignore = "slow"]
fn coverage_of_paired_intervals() {
    let models = [
        ("cells", Recipe::Cells),
        ("tree 4, 5 rows", trees(4, 5.0)),
        ("tree 2, 100 rows", trees(2, 100.0)),
    ];
    for (name, risk) in TRUTHS {
        for (model, recipe) in &models {
            for rows in [500, 2000] {
                let (held, crowned) = coverage(risk, recipe, rows, 400, 200);
                println!(
                    "{name}, {model}, {rows} rows: held {:.1}%, wrongly crowned {:.1}%",
                    100.0 * held,
                    100.0 * crowned
                );
                assert!(crowned <= 0.05, "{name} {model} {rows}: {crowned}");
                // Below what DESIGN.md tells of them, something broke.
                assert!(held >= 0.5, "{name} {model} {rows}: {held}");
            }
        }
    }
}

#[test]
fn noise_crowns_nobody() {
    for (name, risk) in TRUTHS {
        let (_, crowned) = coverage(risk, &trees(2, 50.0), 500, 40, 60);
        assert!(crowned <= 0.05, "{name}: {crowned}");
    }
    // What is clear is held.
    let (held, _) = coverage(TRUTHS[1].1, &trees(2, 100.0), 2000, 40, 60);
    assert!(held >= 0.6, "{held}");
}

//! The search for trees: stopped at any moment, and with more levels than anyone would list.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::Random;
use seawall::evaluate::{Robust, Support};
use seawall::learn::{Learned, Task, Trees, trees};
use seawall::outcome::Values;
use seawall::{
    Direction, Entry, Feature, Log, Matrix, Progress, Settings, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A log with one row in every context and random values of two actions.
fn everywhere(contexts: Space, value: impl Fn(usize, usize) -> f64) -> (Log, Values) {
    let count = contexts.len();
    let outcomes = Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap();
    let entry = |context: usize| Entry {
        context: context as u32,
        action: (context % 2) as u32,
        outcome: 0,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let log = Log::new(
        Arc::new(contexts),
        vec!["p".to_owned(), "q".to_owned()],
        Arc::new(outcomes),
        vec![0.0, 1.0],
        Direction::Cost,
        (0..count).map(entry).collect(),
    );
    let log = log.unwrap();
    let cells = (0..count).flat_map(|i| [value(0, i), value(1, i)]).collect();
    let values = Values::new(log.contexts(), Matrix::new(count, 2, cells).unwrap()).unwrap();
    (log, values)
}

fn learned(
    (log, values): &(Log, Values),
    radius: f64,
    depth: usize,
    watch: &(dyn Fn(Progress<'_>) -> bool + Sync),
) -> Learned {
    let robust = Robust::new(log, Support::All).unwrap();
    let task = Task::new(log, &robust, values, Wasserstein.at(radius)).unwrap();
    let settings = Settings { watch: Watch::new(watch), ..Settings::default() };
    trees(&task, Trees::new(depth), settings).unwrap()
}

fn small() -> (Log, Values) {
    let r = &mut Random(5);
    let drawn: Vec<f64> = (0..200).map(|_| (10.0 * r.unit()).round() / 4.0).collect();
    let space = Space::grid([
        Feature::numeric("u").levels((0..6).map(f64::from)),
        Feature::nominal("v", ["a", "b", "c"]),
        Feature::ordinal("w", ["low", "high"]),
    ]);
    everywhere(space.unwrap(), move |a, i| drawn[a * 100 + i])
}

#[test]
fn a_search_stopped_at_any_question_has_true_bounds() {
    let problem = small();
    for depth in 1..=3 {
        let calls = AtomicUsize::new(0);
        let count = |_: Progress<'_>| calls.fetch_add(1, Ordering::Relaxed) < usize::MAX;
        let whole = learned(&problem, 0.05, depth, &count);
        assert_eq!(whole.status(), Status::Optimal);
        let all = calls.load(Ordering::Relaxed);
        assert!(all > 3, "{all} looks in the whole search of depth {depth}");
        for most in (0..all).step_by(1 + all / 25) {
            let calls = AtomicUsize::new(0);
            let stop = |_: Progress<'_>| calls.fetch_add(1, Ordering::Relaxed) < most;
            let found = learned(&problem, 0.05, depth, &stop);
            let truth = whole.value();
            assert!(found.lower() <= truth + 1e-12, "stopped at {most}: {found:?} {truth}");
            assert!(truth <= found.upper() + 1e-12, "stopped at {most}: {found:?} {truth}");
            assert!(found.lower().is_finite() && found.upper().is_finite());
            let mixture = found.mixture().unwrap();
            assert!(mixture.lower().is_finite() && mixture.lower() <= mixture.upper());
            if found.upper() - found.lower() > 1e-6 {
                assert_eq!(found.status(), Status::Stopped, "stopped at {most}");
            }
        }
    }
}

#[test]
fn a_long_search_stops_soon_after_it_is_told_to() {
    let r = &mut Random(8);
    let drawn: Vec<f64> = (0..40_000).map(|_| r.unit()).collect();
    let columns: Vec<Vec<f64>> =
        (0..6).map(|_| (0..20_000).map(|_| r.below(200) as f64).collect()).collect();
    let names = ["a", "b", "c", "d", "e", "f"];
    let space = Space::points(names.map(Feature::numeric), columns).unwrap();
    let problem = everywhere(space, move |a, i| drawn[a * 20_000 + i]);
    // All trees of three questions would take hours.
    let asked = AtomicUsize::new(0);
    let stop = |_: Progress<'_>| asked.fetch_add(1, Ordering::Relaxed) < 100;
    let found = learned(&problem, 0.0, 3, &stop);
    assert_eq!(found.status(), Status::Stopped);
    let after = asked.into_inner() - 100;
    println!("asked {after} times more");
    assert!(after <= 100, "asked {after} times more");
}

#[test]
fn many_levels_are_ranked_and_listed_in_a_few_steps() {
    let count = 20_000;
    let space = Space::points(
        [Feature::nominal("site", (0..count).map(|k| format!("site {k}"))), Feature::numeric("x")],
        vec![
            (0..count).map(|k| f64::from((k * 7919) % count)).collect(),
            (0..count).map(|k| f64::from(k % 1000)).collect(),
        ],
    );
    // The second action is better from x = 600 on.
    let value = |a: usize, i: usize| f64::from(u8::from((i % 1000 >= 600) == (a == 0)));
    let problem = everywhere(space.unwrap(), value);
    let found = learned(&problem, 0.0, 1, &|_| true);
    assert_eq!(found.value(), 0.0);
    assert_eq!(found.status(), Status::Optimal);
    assert!(found.iterations() <= 10, "{} iterations", found.iterations());
}

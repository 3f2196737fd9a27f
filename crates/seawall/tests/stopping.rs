//! Everything that may take long asks often whether to go on, and stops where it is told to.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::Random;
use seawall::distance::distance;
use seawall::evaluate::{Robust, Support, logistic};
use seawall::learn::{Bsgd, Class, Gradient, Groups, Schedule, Task, bsgd, groups, softmax};
use seawall::outcome::{Recipe, TreeSettings, Unseen, Values, choose};
use seawall::policy::Partition;
use seawall::{
    Detail, Direction, EngineKind, Entropic, Entry, Error, Feature, Log, Matrix, Population,
    Problem, Progress, Settings, Shift, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many questions are answered with "go on": work that asks seldom takes minutes to get there.
const QUESTIONS: usize = 30;
/// So many more may be asked then: each part of the evaluation under way asks once and does nothing.
const MORE: usize = 3000;
/// So many questions are asked by work that nobody stops, at least.
const MANY: usize = 10 * QUESTIONS;

/// A piece of work; it says whether it was stopped.
type Work = fn(Watch<'_>) -> bool;

const WORKS: [(&str, Work); 11] = [
    ("a worst case", worst_case),
    ("the plan of a worst case", plan),
    ("a smoothed worst case", smoothed),
    ("a curve", curve),
    ("a distance", exact_distance),
    ("values over outcomes", outcome_values),
    ("groups", by_group),
    ("softmax", by_softmax),
    ("stochastic gradients", by_descent),
    ("a choice of trees", chosen),
    ("logistic propensities", propensities),
];

/// How often a work asks after it was told to stop at one of its questions.
fn questions_after(name: &str, work: Work, stop_at: usize) -> usize {
    let asked = AtomicUsize::new(0);
    let watcher = |_: Progress<'_>| asked.fetch_add(1, Ordering::Relaxed) + 1 < stop_at;
    let stopped = work(Watch::new(&watcher));
    let after = asked.into_inner() - stop_at;
    println!("{name}: asked {after} times after question {stop_at}");
    assert!(stopped, "{name}: does not say that it was stopped");
    after
}

#[test]
fn everything_stops_where_it_is_told_to() {
    for (name, work) in WORKS {
        for stop_at in [1, QUESTIONS] {
            let after = questions_after(name, work, stop_at);
            assert!(after <= MORE, "{name}: asked {after} times after question {stop_at}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn nothing_here_is_done_in_no_time() {
    for (name, work) in WORKS {
        let asked = AtomicUsize::new(0);
        let watcher = |_: Progress<'_>| asked.fetch_add(1, Ordering::Relaxed) + 1 < MANY;
        work(Watch::new(&watcher));
        let asked = asked.into_inner();
        println!("{name}: {asked} questions");
        assert!(asked >= MANY, "{name}: {asked} questions");
    }
}

fn noise(r: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| r.unit()).collect()
}

fn cloud(r: &mut Random, points: usize) -> Arc<Space> {
    let columns = (0..3).map(|_| noise(r, points)).collect();
    Arc::new(Space::points(["x", "y", "z"].map(Feature::numeric), columns).unwrap())
}

/// A grid of four features of so many levels each.
fn grid(levels: usize) -> Arc<Space> {
    let feature = |name| Feature::numeric(name).levels((0..levels).map(|k| k as f64));
    Arc::new(Space::grid(["a", "b", "c", "d"].map(feature)).unwrap())
}

/// A log of rows at random on a space, with outcomes of its own.
fn random_log(contexts: Arc<Space>, outcomes: Arc<Space>, rows: usize, actions: usize) -> Log {
    let r = &mut Random(3);
    let values = noise(r, outcomes.len());
    let entry = |k: usize| Entry {
        context: (if k < contexts.len() { k } else { r.below(contexts.len()) }) as u32,
        action: if k < actions { k } else { r.below(actions) } as u32,
        outcome: r.below(outcomes.len()) as u32,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let entries: Vec<Entry> = (0..rows).map(entry).collect();
    let names = (0..actions).map(|a| format!("a{a}")).collect();
    Log::new(contexts, names, outcomes, values, Direction::Cost, entries).unwrap()
}

fn two_outcomes() -> Arc<Space> {
    Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap())
}

/// Whether work that has nothing to show says that it was stopped.
fn is_stopped<T>(found: Result<T, Error>) -> bool {
    match found {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_stopped(), "{error}");
            true
        }
    }
}

/// Solves on so many scattered points by looking at all pairs.
fn by_scan(points: usize, within: Shift, detail: Detail, watch: Watch<'_>) -> bool {
    let r = &mut Random(1);
    let population = Population::from_weights(cloud(r, points), noise(r, points)).unwrap();
    let values = noise(r, points);
    let problem = Problem::new(&population, &values).unwrap().engine(EngineKind::Scan);
    match within.worst_case(&problem, Settings::default().detail(detail).watched(watch)) {
        Ok(worst) => {
            assert!(worst.lower() <= worst.upper());
            worst.status() == Status::Stopped
        }
        // Stopped in the middle of an evaluation, before there was a population to show.
        error => is_stopped(error),
    }
}

fn worst_case(watch: Watch<'_>) -> bool {
    by_scan(32_000, Wasserstein.at(0.001), Detail::Value, watch)
}

/// One evaluation alone takes seconds.
fn plan(watch: Watch<'_>) -> bool {
    by_scan(100_000, Wasserstein.at(0.001), Detail::Plan, watch)
}

fn smoothed(watch: Watch<'_>) -> bool {
    by_scan(20_000, Entropic { eta: 50.0 }.at(0.001), Detail::Population, watch)
}

/// A curve has no status: what it leaves open is its error.
fn curve(watch: Watch<'_>) -> bool {
    let r = &mut Random(2);
    let space = grid(16);
    let population = Population::from_weights(space.clone(), noise(r, space.len())).unwrap();
    let values = noise(r, space.len());
    let problem = Problem::new(&population, &values).unwrap();
    let settings = Settings::default().watched(watch);
    let curve = match Wasserstein.solver(&problem, settings).and_then(|mut s| s.curve(0.0)) {
        Ok(curve) => curve,
        error => return is_stopped(error),
    };
    !curve.is_exact() && curve.error() > 0.0
}

fn exact_distance(watch: Watch<'_>) -> bool {
    let r = &mut Random(4);
    let space = cloud(r, 40_000);
    let half =
        |first: bool| (0..40_000).map(|i| f64::from(u8::from((i < 20_000) == first))).collect();
    let from = Population::from_weights(space.clone(), half(true)).unwrap();
    let to = Population::from_weights(space, half(false)).unwrap();
    is_stopped(distance(&from, &to, watch))
}

fn outcome_values(watch: Watch<'_>) -> bool {
    let contexts = Feature::numeric("x").levels((0..1600).map(f64::from));
    let contexts = Arc::new(Space::grid([contexts]).unwrap());
    let log = random_log(contexts, grid(10), 16_000, 2);
    let model = Recipe::Cells.fit(&log, Watch::NOBODY).unwrap();
    let settings = Settings::default().watched(watch);
    is_stopped(model.values(&log, Wasserstein.at(0.05), Unseen::Mean, settings))
}

/// Something to learn: a log on a grid of 10,000 contexts, its support, and values of three actions.
fn lesson() -> (Log, Robust, Values) {
    let contexts = grid(10);
    let count = contexts.len();
    let log = random_log(contexts, two_outcomes(), 2 * count, 3);
    let matrix = Matrix::new(count, 3, noise(&mut Random(6), 3 * count)).unwrap();
    let values = Values::new(log.contexts(), matrix).unwrap();
    let robust = Robust::new(&log, Support::All).unwrap();
    (log, robust, values)
}

fn by_group(watch: Watch<'_>) -> bool {
    let (log, robust, values) = lesson();
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.03)).unwrap();
    let level = |name| Partition::of_levels(log.contexts(), name).unwrap();
    let asked = Groups::new(vec![level("a"), level("b")]);
    let found = match groups(&task, &asked, Settings::default().watched(watch)) {
        Ok(found) => found,
        error => return is_stopped(error),
    };
    assert!(found.lower() <= found.upper());
    found.status() == Status::Stopped
}

fn by_softmax(watch: Watch<'_>) -> bool {
    let (log, robust, values) = lesson();
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.03)).unwrap();
    let asked = Gradient { restarts: 64, ..Gradient::default() };
    let found = match softmax(&task, asked, Settings::default().watched(watch)) {
        Ok(found) => found,
        error => return is_stopped(error),
    };
    assert!(found.lower() <= found.upper());
    found.status() == Status::Stopped
}

fn by_descent(watch: Watch<'_>) -> bool {
    let (log, robust, values) = lesson();
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.03)).unwrap();
    let asked = Bsgd {
        class: Class::Softmax(1.0),
        schedule: Schedule { steps: 1_000_000, points: 500, step: 1.0, contexts: 1 },
        eta: 50.0,
        seeds: 2,
        seed: 1,
        traced: 10,
    };
    let found = match bsgd(&task, &asked, None, None, Settings::default().watched(watch)) {
        Ok(found) => found,
        error => return is_stopped(error),
    };
    assert!(!found.finished);
    found.learned.status() == Status::Stopped
}

fn chosen(watch: Watch<'_>) -> bool {
    let log = random_log(grid(12), two_outcomes(), 60_000, 2);
    let offered: Vec<TreeSettings> =
        (0..20).map(|k| TreeSettings { max_depth: 5 + k, ..TreeSettings::default() }).collect();
    is_stopped(choose(&log, &[offered.clone(), offered], 10, watch))
}

fn propensities(watch: Watch<'_>) -> bool {
    let labels = || (0..18).map(|k| format!("l{k}"));
    let contexts = Space::grid(["a", "b", "c", "d"].map(|name| Feature::nominal(name, labels())));
    let log = random_log(Arc::new(contexts.unwrap()), two_outcomes(), 200_000, 6);
    is_stopped(logistic(&log, 1e-6, watch))
}

//! Intervals for robust values against simulated truths, and the finite-sample bound by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::World;
use seawall::evaluate::{Robust, Support};
use seawall::inference::{Constants, Resampling, bootstrap, finite_sample};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{Detail, Direction, Entry, Log, Matrix, Settings, Wasserstein, Watch};

const RADIUS: f64 = 0.05;

fn policy(log: &Log) -> Policy {
    let all: Vec<f64> = (0..6).flat_map(|x| [1.0 - World::policy(x), World::policy(x)]).collect();
    let all = Matrix::new(6, 2, all).unwrap();
    Policy::table("p", log.contexts(), log.actions(), &all).unwrap()
}

fn robust(log: &Log) -> f64 {
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let plain = Wasserstein.at(0.0);
    let model = Recipe::Cells.fit(log, Watch::NOBODY).unwrap();
    let values = model.values(log, plain, Unseen::Mean, settings).unwrap();
    let contexts = Robust::new(log, Support::All).unwrap();
    contexts.evaluate(&policy(log), &values, Wasserstein, &[RADIUS], None, settings).unwrap().0[0]
        .value()
}

/// The whole population as a log: every context, action and outcome by its probability.
fn truth(world: &World) -> Log {
    let mut entries = Vec::new();
    for context in 0..6 {
        for action in 0..2 {
            let one = World::propensity(context);
            let taken = World::SHARES[context] * if action == 1 { one } else { 1.0 - one };
            let (p1, p2) = World::outcome(context, action);
            for (outcome, share) in [(0, 1.0 - p1 - p2), (1, p1), (2, p2)] {
                let (context, action) = (context as u32, action as u32);
                let weight = taken * share;
                entries.push(Entry {
                    context,
                    action,
                    outcome,
                    propensity: f64::NAN,
                    weight,
                    ..Entry::default()
                });
            }
        }
    }
    let actions = vec!["zero".to_owned(), "one".to_owned()];
    let (contexts, outcomes) = (world.contexts.clone(), world.outcomes.clone());
    Log::new(contexts, actions, outcomes, vec![0.0, 1.0, 2.0], Direction::Cost, entries).unwrap()
}

/// How often 95% intervals hold the true robust value, and how often their upper end holds the
/// true value of a shifted population inside the ball.
fn coverage(simulations: usize, rows: usize, replicates: usize) -> (f64, f64) {
    let world = World::new();
    let whole = truth(&world);
    let true_robust = robust(&whole);
    // A shift inside the ball: some of each context's mass goes to the next level of z, a quarter
    // of the squared range away.
    let value = |x: usize| {
        let of = |a: usize| World::outcome(x, a).0 + 2.0 * World::outcome(x, a).1;
        World::policy(x) * of(1) + (1.0 - World::policy(x)) * of(0)
    };
    let moved = 4.0 * RADIUS;
    let shifted: f64 = (0..6)
        .map(|x| {
            let next = if x % 3 < 2 && value(x + 1) > value(x) { x + 1 } else { x };
            World::SHARES[x] * ((1.0 - moved) * value(x) + moved * value(next))
        })
        .sum();
    assert!(shifted <= true_robust + 1e-12, "{shifted} {true_robust}");
    let (mut held, mut above) = (0, 0);
    for seed in 0..simulations {
        let log = world.log(rows, 77_000 + seed as u64);
        let estimate = robust(&log);
        let ask = |log: &Log, _: usize, _: Watch<'_>| Ok(vec![robust(log)]);
        let drawn =
            bootstrap(&log, replicates, Resampling::Multinomial, seed as u64, Watch::NOBODY, &ask)
                .unwrap();
        let interval = drawn.interval(0, estimate, 0.95).unwrap();
        let (low, high) = interval.basic;
        held += usize::from(low <= true_robust && true_robust <= high);
        above += usize::from(shifted <= high);
    }
    (held as f64 / simulations as f64, above as f64 / simulations as f64)
}

#[test]
fn intervals_hold_the_true_robust_value_about_as_often_as_they_say() {
    let (held, above) = coverage(150, 2000, 100);
    assert!(held > 0.86 && above >= 0.95, "{held} {above}");
}

#[test]
#[ignore = "slow"]
fn coverage_of_bootstrap_intervals() {
    let (held, above) = coverage(1000, 2000, 300);
    println!(
        "95% intervals held the true robust value in {held}, their upper end a true shifted value in {above}"
    );
    assert!((0.92..=0.98).contains(&held) && above >= 0.95, "{held} {above}");
}

#[test]
fn both_bootstraps_agree_and_repeat_themselves() {
    let log = World::new().log(1500, 5);
    let ask = |log: &Log, _: usize, _: Watch<'_>| Ok(vec![robust(log), log.total()]);
    let draw = |resampling| bootstrap(&log, 300, resampling, 9, Watch::NOBODY, &ask).unwrap();
    let (a, b) = (draw(Resampling::Multinomial), draw(Resampling::Bayesian));
    assert_eq!(a, draw(Resampling::Multinomial));
    assert!(a.all.iter().all(|r| r[1] == 1500.0));
    let se = |r: &seawall::inference::Replicates| r.interval(0, robust(&log), 0.95).unwrap().se;
    assert!((se(&a) / se(&b) - 1.0).abs() < 0.2, "{} {}", se(&a), se(&b));
    assert!(a.interval(0, 0.0, 1.0).is_err());
}

#[test]
fn the_finite_sample_bound_by_hand() {
    let constants = Constants {
        rows: 1e4,
        contexts: 10,
        support: 24,
        actions: 2,
        outcomes: 3,
        largest: 2.0,
        context_mass: 0.05,
        propensity: 0.4,
    };
    let found = finite_sample(&constants, 0.1, (None, None)).unwrap();
    let pairs = (4.0f64 * 10.0 * 2.0 / 0.1).ln();
    let expected = 2.0
        * ((2.0 * 20f64.ln() / 1e4).sqrt()
            + (10.0f64 / 1e4).sqrt()
            + (4.0 * pairs / (1e4 * 0.02)).sqrt()
            + (6.0f64 / (1e4 * 0.02)).sqrt());
    assert!((found.total - expected).abs() < 1e-12 && found.smoothing == 0.0);
    assert!((found.needed - 2.0 * pairs / 0.0004).abs() < 1e-6);
    // Smoothing counts twice: every context that mass may move to, and outcomes.
    let soft = finite_sample(&constants, 0.1, (Some(5.0), Some(5.0))).unwrap();
    assert!((soft.total - found.total - (24f64.ln() + 3f64.ln()) / 5.0).abs() < 1e-12);
    assert!(finite_sample(&constants, 1.0, (None, None)).is_err());
}

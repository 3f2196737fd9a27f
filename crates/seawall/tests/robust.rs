//! The two-step robust value against nested linear programs, and what must hold between radii.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Case, Random, linear_program, log, repeatable};
use proptest::prelude::*;
use seawall::evaluate::{Robust, Support};
use seawall::outcome::{Recipe, TreeSettings, Unseen, Values};
use seawall::policy::Policy;
use seawall::{
    Direction, Entropic, Entry, Feature, Kl, Log, Matrix, Population, Settings, Space, Wasserstein,
    Watch,
};
use std::sync::Arc;

/// The worst case of values around a population, by a linear program.
fn worst(population: Population, values: &[f64], direction: Direction, radius: f64) -> f64 {
    let sign = direction.sign();
    let values = values.iter().map(|v| sign * v).collect();
    sign * linear_program(&Case { population, values }, radius)
}

/// Both steps by linear programs: one for each context and action, then one over contexts.
fn nested(log: &Log, policy: &Policy, radius: f64, cost_radius: f64) -> f64 {
    let value = |context: usize, action: usize| {
        let mut weights = vec![0.0; log.outcomes().len()];
        for e in log.entries() {
            if (e.context as usize, e.action as usize) == (context, action) {
                weights[e.outcome as usize] += e.weight;
            }
        }
        let cell = Population::from_weights(log.outcomes().clone(), weights).unwrap();
        worst(cell, log.values(), log.direction(), cost_radius)
    };
    let all = (0..log.contexts().len()).map(|x| {
        let row = policy.row(x).iter().enumerate();
        row.map(|(a, p)| p * value(x, a)).sum::<f64>()
    });
    let values: Vec<f64> = all.collect();
    worst(log.population().unwrap(), &values, log.direction(), radius)
}

fn random_policy(log: &Log, seed: u64) -> Policy {
    let (r, actions) = (&mut Random(seed), log.actions().len());
    let row = |r: &mut Random| {
        let raw: Vec<f64> = (0..actions).map(|_| r.unit() + 1e-3).collect();
        let total: f64 = raw.iter().sum();
        raw.into_iter().map(move |p| p / total).collect::<Vec<_>>()
    };
    let contexts = log.contexts().len();
    let all: Vec<f64> = (0..contexts).flat_map(|_| row(r)).collect();
    let all = Matrix::new(contexts, actions, all).unwrap();
    Policy::table("random", log.contexts(), log.actions(), &all).unwrap()
}

fn cell_values(log: &Log, cost_radius: f64) -> Values {
    let set = Wasserstein.at(cost_radius);
    let model = Recipe::Cells.fit(log, Watch::NOBODY).unwrap();
    model.values(log, set, Unseen::Error, Settings::default()).unwrap()
}

fn robust(log: &Log, policy: &Policy, radius: f64, cost_radius: f64) -> seawall::WorstCase {
    let values = cell_values(log, cost_radius);
    let contexts = Robust::new(log, Support::All).unwrap();
    let found = contexts
        .evaluate(policy, &values, Wasserstein, &[radius], None, Settings::default())
        .unwrap();
    found.0.into_iter().next().unwrap()
}

const RADII: [f64; 4] = [0.0, 0.03, 0.2, 0.8];

proptest! {
    #![proptest_config(repeatable(60))]

    #[test]
    fn both_steps_equal_nested_linear_programs(seed in any::<u64>()) {
        let log = log(seed);
        let policy = random_policy(&log, seed ^ 1);
        let sign = log.direction().sign();
        for (k, &cost_radius) in RADII.iter().enumerate() {
            let mut before = f64::NEG_INFINITY;
            for &radius in &RADII {
                let found = robust(&log, &policy, radius, cost_radius);
                let expected = nested(&log, &policy, radius, cost_radius);
                prop_assert!((found.value() - expected).abs() < 1e-6, "{found:?} {expected}");
                prop_assert!(found.lower() - 1e-6 <= expected && expected <= found.upper() + 1e-6);
                // Monotone in the context radius, and in the cost radius.
                prop_assert!(sign * found.value() >= before - 1e-12);
                before = sign * found.value();
                if k > 0 {
                    let less = robust(&log, &policy, radius, RADII[k - 1]);
                    prop_assert!(sign * found.value() >= sign * less.value() - 1e-12);
                }
            }
        }
    }

    #[test]
    fn a_cost_radius_of_zero_is_the_plain_mean(seed in any::<u64>()) {
        let log = log(seed);
        let (values, model) = (cell_values(&log, 0.0), Recipe::Cells.fit(&log, Watch::NOBODY).unwrap());
        let leaves = model.leaves().unwrap();
        for context in 0..log.contexts().len() {
            for action in 0..log.actions().len() {
                let own = log.entries().iter().filter(|e| {
                    (e.context as usize, e.action as usize) == (context, action)
                });
                let (sum, n) = own.fold((0.0, 0.0), |(s, n), e| (s + e.weight * log.value(e), n + e.weight));
                prop_assert!((values.at(context, action) - sum / n).abs() < 1e-12);
                let leaf = &leaves.all()[leaves.leaf_of(context, action).unwrap()];
                prop_assert!((leaf.weight() - n).abs() < 1e-12);
            }
        }
        // The observed support is a lower bound of the full one: here all contexts are observed.
        let policy = random_policy(&log, seed);
        let ask = |support| {
            let contexts = Robust::new(&log, support).unwrap();
            contexts.evaluate(&policy, &values, Wasserstein, &[0.1], None, Settings::default()).unwrap().0[0].value()
        };
        prop_assert!((ask(Support::All) - ask(Support::Observed)).abs() < 1e-12);
    }
}

/// Seven events, each of which happened or not: a grid of 2⁷ outcomes, as in the stroke trial.
#[test]
fn seven_events_make_a_grid_of_outcomes() {
    let r = &mut Random(7);
    let event = |k: usize| Feature::numeric(format!("e{k}")).levels([0.0, 1.0]);
    let outcomes = Space::grid((0..7).map(event)).unwrap();
    assert_eq!(outcomes.len(), 128);
    let weight = |k: usize| if k == 6 { 3.0 } else { 1.0 };
    let values: Vec<f64> = (0..128)
        .map(|i| (0..7).map(|k| weight(k) * outcomes.number_at(i, k).unwrap()).sum())
        .collect();
    let contexts = Space::grid([Feature::nominal("x", ["a", "b", "c"])]).unwrap();
    let entries = (0..60).map(|_| Entry {
        context: r.below(3) as u32,
        action: r.below(2) as u32,
        outcome: (r.below(128) & r.below(128)) as u32,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    });
    let entries: Vec<Entry> = entries.collect();
    let actions = vec!["treat".to_owned(), "control".to_owned()];
    let (contexts, outcomes) = (Arc::new(contexts), Arc::new(outcomes));
    let log = Log::new(contexts, actions, outcomes, values, Direction::Cost, entries).unwrap();
    let policy = Policy::uniform(&log);
    for cost_radius in [0.05, 0.5] {
        let found = robust(&log, &policy, 0.1, cost_radius).value();
        let expected = nested(&log, &policy, 0.1, cost_radius);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    // Moving everybody across one event costs 1: at radius 7 everything happens to everyone.
    assert!((robust(&log, &policy, 0.0, 7.0).value() - 9.0).abs() < 1e-9);
    // Any set will do for costs.
    let model = Recipe::Tree(vec![TreeSettings { max_depth: 1, ..TreeSettings::default() }; 2]);
    let model = model.fit(&log, Watch::NOBODY).unwrap();
    let mean = model.values(&log, Kl.at(0.0), Unseen::Error, Settings::default());
    for set in [Kl.at(0.1), Entropic { eta: 1e3 }.at(0.1)] {
        let values = model.values(&log, set, Unseen::Error, Settings::default()).unwrap();
        for context in 0..3 {
            let plain = mean.as_ref().unwrap().at(context, 0);
            assert!(values.at(context, 0) > plain && values.at(context, 0) < 9.0);
        }
    }
}

/// What stands in where an action was never seen.
#[test]
fn unseen_actions_are_refused_or_filled() {
    let contexts = Arc::new(Space::grid([Feature::nominal("x", ["a", "b"])]).unwrap());
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0, 5.0])]).unwrap());
    let entry = |context, action, outcome| Entry {
        context,
        action,
        outcome,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let entries = vec![entry(0, 0, 0), entry(0, 0, 1), entry(0, 1, 1), entry(1, 1, 2)];
    let actions = vec!["p".to_owned(), "q".to_owned()];
    let log = Log::new(contexts, actions, outcomes, vec![0.0, 1.0, 5.0], Direction::Cost, entries)
        .unwrap();
    let model = Recipe::Cells.fit(&log, Watch::NOBODY).unwrap();
    let plain = Wasserstein.at(0.0);
    let ask = |unseen| model.values(&log, plain, unseen, Settings::default());
    let error = ask(Unseen::Error).unwrap_err().to_string();
    assert!(error.contains("1 for \"p\"") && error.contains("unseen = \"mean\""), "{error}");
    assert_eq!(ask(Unseen::Mean).unwrap().at(1, 0), 0.5);
    assert_eq!(ask(Unseen::Worst).unwrap().at(1, 0), 5.0);
}

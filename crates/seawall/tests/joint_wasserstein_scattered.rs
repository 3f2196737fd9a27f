//! Joint Wasserstein sets: scattered people, a trial of ten thousand cells, forests.

use crate::common::Random;
use crate::joint_wasserstein::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::outcome::{ForestSettings, Recipe, TreeSettings};
use seawall::policy::Policy;
use seawall::{
    Direction, Entry, Feature, JointWasserstein, Log, Settings, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;

/// A log of so many people in these contexts under actions drawn evenly, worse with the sum of codes.
fn drawn(space: &Arc<Space>, rows: usize, actions: usize, grades: usize, seed: u64) -> Evaluator {
    let r = &mut Random(seed);
    let levels = (0..grades).map(|k| k as f64);
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels(levels)]).unwrap());
    let values = (0..grades).map(|k| (k as f64).sqrt()).collect();
    let entry = |_| {
        let (context, action) = (r.below(space.len()) as u32, r.below(actions) as u32);
        let outcome = r.below(grades).min(r.below(grades) + action as usize) as u32;
        Entry { context, action, outcome, propensity: f64::NAN, weight: 1.0, ..Entry::default() }
    };
    let entries: Vec<Entry> = (0..rows).map(entry).collect();
    let names = (0..actions).map(|a| format!("a{a}")).collect();
    let direction = Direction::Cost;
    let log =
        Log::new(space.clone(), names, outcomes, values, direction, entries).unwrap().shared();
    let tree = TreeSettings { max_depth: 4, ..TreeSettings::default() };
    let recipe = Recipe::Tree(vec![tree; actions]);
    let options = FitOptions::default();
    Evaluator::new(&log, &recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap()
}

/// The dual at a price, by all pairs of points and with `min_t t + Σ_a E (Z_a − t)₊` searched whole.
fn dual(fitted: &Evaluator, policy: &Policy, kappa: f64, radius: f64, price: f64) -> f64 {
    let (log, robust) = (fitted.log(), fitted.robust(Support::All).unwrap());
    let (space, weights) = (robust.population().space(), robust.population().weights());
    let leaves = fitted.model().leaves().unwrap();
    let top = log.values().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mu = (price * kappa).min(1.0);
    let mut total = price * radius;
    for i in (0..space.len()).filter(|&i| weights[i] > 0.0) {
        let mut met = Vec::new();
        for action in 0..log.actions().len() {
            let there = (0..space.len()).filter(|&j| policy.row(j)[action] == 1.0);
            let cost = there.map(|j| space.cost(i, j)).fold(f64::INFINITY, f64::min);
            let leaf = &leaves.all()[leaves.leaf_of(i, action).unwrap()];
            if cost.is_finite() {
                met.extend(leaf.outcomes.iter().map(|o| {
                    let y = log.values()[o.0 as usize];
                    (mu * y + (1.0 - mu) * top - price * cost, o.1 / leaf.weight())
                }));
            }
        }
        let at = |t: f64| t + met.iter().map(|z| z.1 * (z.0 - t).max(0.0)).sum::<f64>();
        total += weights[i] * met.iter().map(|z| at(z.0)).fold(f64::INFINITY, f64::min);
    }
    total
}

/// Scattered points, three and four actions: no price has a lower dual than the value, and its own has
/// just that.
#[test]
fn scattered_people_agree_with_the_dual_written_out() {
    let r = &mut Random(5);
    for actions in [2, 3, 4] {
        let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..600).map(|_| r.unit()).collect()).collect();
        let features = [Feature::numeric("u"), Feature::numeric("v")];
        let space = Arc::new(Space::points(features, columns).unwrap());
        let fitted = drawn(&space, 3000, actions, 9, 77 + actions as u64);
        let region = |x: usize| (space.code(x, 0) * 2.0 * actions as f64) as usize % actions;
        let matrix = table(space.len(), actions, |x, a| f64::from(u8::from(region(x) == a)));
        let log = fitted.log();
        let policy = Policy::table("strips", log.contexts(), log.actions(), &matrix).unwrap();
        let robust = fitted.robust(Support::All).unwrap();
        let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
        let (kappa, settings) = (0.3, Settings::default());
        let (set, radii) = (JointWasserstein { kappa }, [0.001, 0.01, 0.2]);
        let ask =
            || fitted.worst_cases(&robust, &policy, &plain, set, &radii, None, settings).unwrap().0;
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for ((worst, alone), radius) in ask().into_iter().zip(one.install(ask)).zip(radii) {
            let (value, lambda) = (worst.value(), worst.lambda());
            assert_eq!(value.to_bits(), alone.value().to_bits(), "on one thread");
            let own = dual(&fitted, &policy, kappa, radius, lambda);
            assert!((own - value).abs() <= 1e-10 * value, "{actions}: {own} {value}");
            for factor in [0.3, 0.9, 0.999, 1.001, 1.1, 4.0] {
                assert!(dual(&fitted, &policy, kappa, radius, lambda * factor) >= value - 1e-10);
            }
            assert!(worst.best_coupling().unwrap() <= value);
        }
    }
}

/// Cells, actions and people as many as the stroke trial's; `--nocapture` shows how long it takes.
#[test]
fn a_trial_of_ten_thousand_cells_is_solved_exactly() {
    let binary = |name: &str| Feature::nominal(name, ["N", "Y"]);
    let three = |name: &str| Feature::ordinal(name, ["l", "m", "h"]);
    let age = Feature::numeric("age").levels((0..23).map(|k| 4.0 * k as f64));
    let space = Arc::new(
        Space::grid([
            age,
            three("c"),
            three("p"),
            three("s"),
            binary("f"),
            binary("g"),
            binary("h"),
            Feature::fixed("sex", ["F", "M"]),
        ])
        .unwrap(),
    );
    assert_eq!(space.len(), 9936);
    let fitted = drawn(&space, 19_435, 2, 6, 3);
    let log = fitted.log();
    let old = |x: usize| usize::from(x / 432 > 12 && !x.is_multiple_of(3));
    let matrix = table(space.len(), 2, |x, a| f64::from(u8::from(old(x) == a)));
    let policy = Policy::table("old", log.contexts(), log.actions(), &matrix).unwrap();
    let robust = fitted.robust(Support::All).unwrap();
    let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
    let (set, settings) = (JointWasserstein { kappa: 0.5 }, Settings::default());
    for radius in [0.01, 0.1, 0.5] {
        let (worst, _) =
            fitted.worst_cases(&robust, &policy, &plain, set, &[radius], None, settings).unwrap();
        let worst = &worst[0];
        println!("radius {radius}: {} evaluations", worst.evaluations());
        assert!(worst.evaluations() <= 60, "radius {radius}: {} evaluations", worst.evaluations());
        assert!(worst.status() == Status::Optimal && worst.gap() < 1e-12, "{}", worst.gap());
    }
}

/// A forest's outcomes are the mixtures of its leaves': at radius 0 the mean is the forest's.
#[test]
fn forests_keep_outcomes_too() {
    for seed in 0..20 {
        let trial = Trial::new(5000 + seed, 2, Acts::Certainly);
        let (log, options) = (trial.fitted.log(), trial.fitted.options());
        let settings =
            ForestSettings { trees: 7, min_samples_leaf: 1.0, ..ForestSettings::default() };
        let recipe = Recipe::Forest(settings);
        let fitted =
            Evaluator::new(log, &recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap();
        let robust = fitted.robust(Support::Observed).unwrap();
        let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
        let policy = Policy::constant(log, "a0").unwrap();
        let mean = robust.population().mean(&robust.values(&policy, &plain).unwrap()).unwrap();
        let (set, settings) = (trial.set(), Settings::default());
        let (worst, _) =
            fitted.worst_cases(&robust, &policy, &plain, set, &[0.0], None, settings).unwrap();
        assert!((worst[0].value() - mean).abs() < 1e-12 * (1.0 + mean.abs()), "{seed}");
    }
}

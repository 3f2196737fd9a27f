//! Two policies in one population, and learning against a baseline: against linear programs and brute
//! force, outcomes shifting or not.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Case, Random, linear_program, log, reference, repeatable};
use proptest::prelude::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support, ValueRange};
use seawall::learn::{Gradient, Groups, Task, Trees, greedy, groups, softmax, trees};
use seawall::outcome::Recipe;
use seawall::policy::{Partition, Policy};
use seawall::{
    Direction, Feature, Log, Matrix, Population, Settings, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;

const RADII: [f64; 4] = [0.0, 0.03, 0.2, 0.8];

fn random_policy(log: &Log, seed: u64) -> Policy {
    let (r, actions) = (&mut Random(seed), log.actions().len());
    let sure = r.chance(0.4);
    let contexts = log.contexts().len();
    let mut cells = Vec::new();
    for _ in 0..contexts {
        let mut row: Vec<f64> = (0..actions).map(|_| r.unit() + 1e-3).collect();
        if sure {
            let taken = r.below(actions);
            row.iter_mut().enumerate().for_each(|(a, p)| *p = f64::from(u8::from(a == taken)));
        }
        let total: f64 = row.iter().sum();
        cells.extend(row.iter().map(|p| p / total));
    }
    let cells = Matrix::new(contexts, actions, cells).unwrap();
    Policy::table(format!("random {seed}"), log.contexts(), log.actions(), &cells).unwrap()
}

fn fitted(log: &Log) -> Evaluator {
    let (log, options) = (Arc::new(log.clone()), FitOptions::default());
    Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY).unwrap()
}

fn range(fitted: &Evaluator, cost_radius: f64) -> ValueRange {
    fitted.value_range(Wasserstein.at(cost_radius), Settings::default()).unwrap()
}

/// The highest and the lowest mean of a context and action within the cost radius, by two linear
/// programs.
fn ends(log: &Log, context: usize, action: usize, cost_radius: f64) -> (f64, f64) {
    let mut weights = vec![0.0; log.outcomes().len()];
    for e in log.entries() {
        if (e.context as usize, e.action as usize) == (context, action) {
            weights[e.outcome as usize] += e.weight;
        }
    }
    let population = Population::from_weights(log.outcomes().clone(), weights).unwrap();
    let values = log.values().to_vec();
    let high = linear_program(&Case { population: population.clone(), values }, cost_radius);
    let values = log.values().iter().map(|v| -v).collect();
    let low = -linear_program(&Case { population, values }, cost_radius);
    (low, high)
}

/// The most that `values` can be on average within a radius of the log: two exact ways.
fn most(log: &Log, values: Vec<f64>, radius: f64) -> f64 {
    let case = Case { population: log.population().unwrap(), values };
    let (exact, program) = (reference(&case, radius), linear_program(&case, radius));
    assert!((exact - program).abs() < 1e-9, "{exact} {program}");
    exact
}

/// The largest difference of costs by brute force: every choice of the highest or the lowest mean for
/// each context and action, then every population of contexts.
fn brute_force(log: &Log, (a, b): (&Policy, &Policy), radius: f64, cost_radius: f64) -> f64 {
    let (sign, actions) = (log.direction().sign(), log.actions().len());
    let cells = log.contexts().len() * actions;
    let ends: Vec<(f64, f64)> =
        (0..cells).map(|k| ends(log, k / actions, k % actions, cost_radius)).collect();
    // Contexts are valued apart, so their choices are tried one context at a time.
    let worst: Vec<f64> = (0..log.contexts().len())
        .map(|x| {
            let choices = 0..1usize << actions;
            let value = |choice: usize| -> f64 {
                let term = |action: usize| {
                    let (low, high) = ends[x * actions + action];
                    let mean = if choice >> action & 1 == 1 { high } else { low };
                    sign * (a.probability(x, action) - b.probability(x, action)) * mean
                };
                (0..actions).map(term).sum()
            };
            choices.map(value).fold(f64::NEG_INFINITY, f64::max)
        })
        .collect();
    most(log, worst, radius)
}

proptest! {
    #![proptest_config(repeatable(60))]

    #[test]
    fn differences_equal_brute_force_over_two_step_populations(seed in any::<u64>()) {
        let log = log(seed);
        let (a, b) = (random_policy(&log, seed ^ 1), random_policy(&log, seed ^ 2));
        let sign = log.direction().sign();
        let fitted = fitted(&log);
        let robust = Robust::new(&log, Support::All).unwrap();
        for cost_radius in RADII {
            let range = range(&fitted, cost_radius);
            let solve = |pair| {
                let settings = Settings::default();
                robust.worst_difference(pair, &range, Wasserstein, &RADII, Some(0.0), settings).unwrap()
            };
            let (cases, curve) = solve((&a, &b));
            let curve = curve.unwrap();
            let mut before = f64::NEG_INFINITY;
            for (case, radius) in cases.iter().zip(RADII) {
                let expected = sign * brute_force(&log, (&a, &b), radius, cost_radius);
                prop_assert!((case.value() - expected).abs() < 1e-9, "{} {expected}", case.value());
                prop_assert!(case.lower() - 1e-9 <= expected && expected <= case.upper() + 1e-9);
                prop_assert!((curve.at(radius).value - expected).abs() < 1e-9);
                // Worse with the radius, and no better than no worse: a difference to oneself is 0.
                prop_assert!(sign * case.value() >= before - 1e-12);
                before = sign * case.value();
            }
            let (same, _) = solve((&a, &a));
            prop_assert!(same.iter().all(|case| case.value() == 0.0));
            // The best difference, found the other way round: as the worst one of the opposite log.
            let (turned, _) = solve((&b, &a));
            for (case, radius) in turned.iter().zip(RADII) {
                let best = sign * -brute_force(&log, (&b, &a), radius, cost_radius);
                prop_assert!((-case.value() - best).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_robustness_radius_is_the_root_of_the_curve(seed in any::<u64>()) {
        let log = log(seed);
        let (a, b) = (random_policy(&log, seed ^ 1), random_policy(&log, seed ^ 2));
        let sign = log.direction().sign();
        let robust = Robust::new(&log, Support::All).unwrap();
        let range = range(&fitted(&log), 0.0);
        let ask = |radii: &[f64], settings| {
            robust.worst_difference((&a, &b), &range, Wasserstein, radii, Some(0.0), settings).unwrap()
        };
        let near = Settings { crossing: Some(0.0), ..Settings::default() };
        let (whole, focused) = (ask(&[], Settings::default()).1.unwrap(), ask(&[], near).1.unwrap());
        let (exact, found) = (whole.breakdown(0.0), focused.breakdown(0.0));
        prop_assert_eq!(exact.is_some(), found.is_some());
        let at = |radius: f64| sign * ask(&[radius], Settings::default()).0[0].value();
        let Some(found) = found else {
            // Nowhere worse: not where everyone who can has moved either.
            prop_assert!(at(1e6) <= 1e-9);
            return Ok(());
        };
        let exact = exact.unwrap();
        prop_assert!((exact.radius - found.radius).abs() < 1e-12, "{exact:?} {found:?}");
        prop_assert!(found.lower <= found.radius + 1e-12 && found.radius <= found.upper + 1e-12);
        if found.radius > 0.0 {
            prop_assert!(at(found.radius).abs() < 1e-9);
            prop_assert!(at(0.999 * found.radius) <= 1e-9);
        }
        prop_assert!(at(found.radius + 1e-3) > -1e-9);
        // Bisection knows nothing of curves.
        let (mut low, mut high) = (0.0, found.radius + 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if at(middle) <= 1e-11 { low = middle } else { high = middle }
        }
        prop_assert!((low - found.radius).abs() < 1e-6, "{low} {found:?}");
    }

    #[test]
    fn groups_against_a_baseline_equal_the_joint_linear_program(seed in any::<u64>()) {
        let log = log(seed);
        let base = random_policy(&log, seed ^ 5);
        let fitted = fitted(&log);
        let robust = Robust::new(&log, Support::All).unwrap();
        let by = match seed % 3 {
            0 => vec![],
            1 => vec![Partition::of_levels(log.contexts(), "site").unwrap()],
            _ => vec![Partition::of_levels(log.contexts(), "age").unwrap()],
        };
        let group = Partition::groups(&by, log.contexts()).unwrap();
        for (radius, cost_radius) in [(0.0, 0.0), (0.1, 0.0), (0.1, 0.05), (0.5, 0.3)] {
            let range = range(&fitted, cost_radius);
            let task = Task::against(&log, &robust, &range, Wasserstein.at(radius), &base).unwrap();
            let found = groups(&task, &Groups::new(by.clone()), Settings::default()).unwrap();
            let truth = joint_program(&log, &range, &group, &base, radius);
            prop_assert!((found.value() - truth).abs() < 1e-6, "{truth} {found:?}");
            prop_assert!(found.lower() - 1e-6 <= truth && truth <= found.upper() + 1e-6);
            prop_assert_eq!(found.status(), Status::Optimal);
            own_difference(&robust, &range, found.policy(), &base, radius, found.value());
            let floor = greedy(&task, Settings::default()).unwrap();
            let sign = log.direction().sign();
            prop_assert!(sign * floor.value() <= sign * found.value() + 1e-9, "nothing beats greedy");
            prop_assert!(sign * floor.value() <= 1e-12, "the baseline itself has a difference of 0");
        }
    }

    #[test]
    fn trees_against_a_baseline_equal_brute_force(seed in any::<u64>()) {
        let log = log(seed);
        let base = random_policy(&log, seed ^ 5);
        let fitted = fitted(&log);
        let robust = Robust::new(&log, Support::All).unwrap();
        let sign = log.direction().sign();
        for (radius, cost_radius) in [(0.1, 0.0), (0.1, 0.05), (0.5, 0.3)] {
            let range = range(&fitted, cost_radius);
            let task = Task::against(&log, &robust, &range, Wasserstein.at(radius), &base).unwrap();
            let found = trees(&task, Trees::new(1), Settings::default()).unwrap();
            let mut best = f64::INFINITY;
            for policy in every_stump(&log) {
                let pair = (&policy, &base);
                let settings = Settings::default();
                let (cases, _) =
                    robust.worst_difference(pair, &range, Wasserstein, &[radius], None, settings).unwrap();
                best = best.min(sign * cases[0].value());
            }
            prop_assert!((sign * found.value() - best).abs() < 1e-9, "{best} {found:?}");
            prop_assert_eq!(found.status(), Status::Optimal);
            // Mixtures are only told where they cost what their parts do.
            prop_assert_eq!(found.mixture().is_some(), cost_radius == 0.0);
        }
    }
}

/// A policy's worst difference is the value told.
fn own_difference(
    robust: &Robust,
    range: &ValueRange,
    policy: &Policy,
    base: &Policy,
    radius: f64,
    told: f64,
) {
    let settings = Settings::default();
    let (cases, _) = robust
        .worst_difference((policy, base), range, Wasserstein, &[radius], None, settings)
        .unwrap();
    assert!((cases[0].value() - told).abs() < 1e-9, "{} {told}", cases[0].value());
}

/// Every policy of at most one question, by its probabilities.
fn every_stump(log: &Log) -> Vec<Policy> {
    let (space, actions) = (log.contexts(), log.actions().len());
    let mut sides: Vec<Vec<bool>> = vec![vec![true; space.len()]];
    for feature in 0..space.names().len() {
        for level in 0..space.levels(feature).len() {
            let ordered = space.kind(feature) == seawall::Kind::Numeric;
            let holds = |i: usize| {
                if ordered {
                    space.code(i, feature) as usize <= level
                } else {
                    space.code(i, feature) as usize == level
                }
            };
            sides.push((0..space.len()).map(holds).collect());
        }
    }
    let mut all = Vec::new();
    for side in &sides {
        for pair in 0..actions * actions {
            let taken = |i: usize| if side[i] { pair / actions } else { pair % actions };
            let cells = (0..space.len() * actions)
                .map(|k| f64::from(u8::from(taken(k / actions) == k % actions)))
                .collect();
            let cells = Matrix::new(space.len(), actions, cells).unwrap();
            all.push(Policy::table("stump", space, log.actions(), &cells).unwrap());
        }
    }
    all
}

/// `min ελ + Σ p_i s_i` with `s_i ≥ d_θ(j) − λ c_ij` and the difference's two lines for each action:
/// a variable that is at least each of them.
fn joint_program(
    log: &Log,
    range: &ValueRange,
    group: &[usize],
    base: &Policy,
    radius: f64,
) -> f64 {
    let (space, actions) = (log.contexts(), log.actions().len());
    let (sign, population) = (log.direction().sign(), log.population().unwrap());
    let count = 1 + group.iter().max().unwrap();
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
    let theta: Vec<Vec<_>> =
        (0..count).map(|_| (0..actions).map(|_| lp.add_var(0.0, (0.0, 1.0))).collect()).collect();
    for row in &theta {
        let mut sum = microlp::LinearExpr::empty();
        row.iter().for_each(|&t| sum.add(t, 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, 1.0);
    }
    let price = lp.add_var(radius, (0.0, f64::INFINITY));
    let mut parts: Vec<Vec<_>> = Vec::new();
    for j in 0..space.len() {
        let mut own = Vec::new();
        for (a, &t) in theta[group[j]].iter().enumerate() {
            let part = lp.add_var(0.0, (f64::NEG_INFINITY, f64::INFINITY));
            for slope in [sign * range.worst.at(j, a), sign * range.best.at(j, a)] {
                let mut line = microlp::LinearExpr::empty();
                line.add(part, 1.0);
                line.add(t, -slope);
                let right = -slope * base.probability(j, a);
                lp.add_constraint(line, microlp::ComparisonOp::Ge, right);
            }
            own.push(part);
        }
        parts.push(own);
    }
    for (i, &p) in population.weights().iter().enumerate().filter(|(_, p)| **p > 0.0) {
        let height = lp.add_var(p, (f64::NEG_INFINITY, f64::INFINITY));
        for (j, own) in parts.iter().enumerate() {
            let mut row = microlp::LinearExpr::empty();
            row.add(height, 1.0);
            row.add(price, space.cost(i, j));
            own.iter().for_each(|&part| row.add(part, -1.0));
            lp.add_constraint(row, microlp::ComparisonOp::Ge, 0.0);
        }
    }
    sign * lp.solve().unwrap().solution().unwrap().objective()
}

#[test]
fn softmax_against_a_baseline_is_valued_as_a_difference() {
    for seed in 0..10 {
        let log = log(seed);
        let base = random_policy(&log, seed ^ 5);
        let robust = Robust::new(&log, Support::All).unwrap();
        let range = range(&fitted(&log), 0.1);
        let task = Task::against(&log, &robust, &range, Wasserstein.at(0.05), &base).unwrap();
        let asked = Gradient { restarts: 2, ..Gradient::default() };
        let found = softmax(&task, asked, Settings::default()).unwrap();
        own_difference(&robust, &range, found.policy(), &base, 0.05, found.value());
        let sign = log.direction().sign();
        let floor = greedy(&task, Settings::default()).unwrap();
        assert!(sign * floor.value() <= sign * found.value() + 1e-9);
    }
}

/// A shift that makes the older patients commoner reverses which action is better.
#[test]
fn one_population_tells_policies_apart_where_two_do_not() {
    let ages = vec![vec![40.0, 40.0, 80.0, 80.0]];
    let taken = ["treat", "wait", "treat", "wait"];
    // Treating costs 1 less among the young, and the worst cases are the same: all old.
    let costs = [1.0, 2.0, 3.0, 3.0];
    let age = [Feature::numeric("age")];
    let log = Log::from_rows(age, ages, &taken, &costs, None, Direction::Cost).unwrap();
    let robust = Robust::new(&log, Support::All).unwrap();
    let range = range(&fitted(&log), 0.0);
    let [treat, wait] = ["treat", "wait"].map(|a| Policy::constant(&log, a).unwrap());
    let within = Wasserstein.at(1.0);
    let worst =
        |p: &Policy| robust.worst_case(p, &range.worst, within, Settings::default()).unwrap();
    assert_eq!((worst(&treat).value(), worst(&wait).value()), (3.0, 3.0));
    let settings = Settings::default();
    let (cases, curve) = robust
        .worst_difference((&treat, &wait), &range, Wasserstein, &[1.0], Some(0.0), settings)
        .unwrap();
    assert_eq!((cases[0].value(), curve.unwrap().breakdown(0.0)), (0.0, None));
    let space = Arc::new(Space::grid([Feature::numeric("age").levels([1.0, 2.0])]).unwrap());
    let other = ["treat", "wait"].map(str::to_owned);
    let foreign = Policy::table("other", &space, &other, &Matrix::new(2, 2, vec![0.5; 4]).unwrap());
    assert!(robust.difference(&foreign.unwrap(), &wait, &range).is_err());
}

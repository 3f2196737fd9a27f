//! Joint KL: against a cone program, a dense search and plain loops over rows; limits, the population
//! that is shown, and the identity with KL on contexts.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Random, log, repeatable};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use proptest::prelude::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support};
use seawall::outcome::{ForestSettings, Recipe, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{
    Direction, Entry, Feature, JointEstimator, JointKl, Kl, Log, Matrix, Population, Problem, Set,
    Settings, Space, Watch, WorstCase,
};
use std::sync::Arc;

const WEIGHTED: JointKl = JointKl { estimator: JointEstimator::Weighted };
const DOUBLY_ROBUST: JointKl = JointKl { estimator: JointEstimator::DoublyRobust };

const OPTIONS: FitOptions =
    FitOptions { clip: None, unseen: Unseen::Mean, folds: 3, repeats: 2, seed: 4 };

fn fit(log: &Log, recipe: &Recipe, options: FitOptions) -> Evaluator {
    let log = log.clone().shared();
    Evaluator::new(&log, recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap()
}

/// A policy with chances of its own in every context, some of them 0.
fn some_policy(log: &Log, seed: u64) -> Policy {
    let r = &mut Random(seed ^ 0x5eed);
    let (contexts, actions) = (log.contexts().len(), log.actions().len());
    let mut chances = Vec::new();
    for _ in 0..contexts {
        let own: Vec<f64> =
            (0..actions).map(|_| if r.chance(0.3) { 0.0 } else { r.unit() }).collect();
        let total: f64 = own.iter().sum();
        let only = r.below(actions);
        chances
            .extend((0..actions).map(|a| {
                if total > 0.0 { own[a] / total } else { f64::from(u8::from(a == only)) }
            }));
    }
    let chances = Matrix::new(contexts, actions, chances).unwrap();
    Policy::table("some", log.contexts(), log.actions(), &chances).unwrap()
}

fn worst(fitted: &Evaluator, policy: &Policy, set: Set, radius: f64) -> WorstCase {
    let robust = fitted.robust(Support::All).unwrap();
    let values = fitted.values(seawall::Wasserstein.at(0.0), Settings::default()).unwrap();
    let settings = Settings::default();
    let solved = fitted.worst_cases(&robust, policy, &values, set, &[radius], None, settings);
    solved.unwrap().0.pop().unwrap()
}

/// Rows one by one: what each weighs under the policy, and what followed, worse when larger.
fn rows(fitted: &Evaluator, policy: &Policy) -> Vec<(f64, f64)> {
    let (log, sign) = (fitted.log(), fitted.log().direction().sign());
    let totals = log.cell_totals();
    let row = |e: &Entry| {
        let (x, a) = (e.context as usize, e.action as usize);
        let propensity = totals.at(x, a) / totals.row(x).iter().sum::<f64>();
        (e.weight * policy.probability(x, a) / propensity, sign * log.value(e))
    };
    log.entries().iter().map(row).filter(|r| r.0 > 0.0).collect()
}

/// `max Σ q y` with `Σ q = 1` and `Σ q log(q/p) ≤ δ` over rows.
fn cone_program(rows: &[(f64, f64)], radius: f64) -> f64 {
    let (n, mass) = (rows.len(), rows.iter().map(|r| r.0).sum::<f64>());
    let (mut at, mut cols, mut entries, mut b) = (vec![], vec![], vec![], vec![]);
    let mut put = |r: usize, c: usize, x: f64| {
        at.push(r);
        cols.push(c);
        entries.push(x);
    };
    (0..n).for_each(|i| put(0, i, 1.0));
    b.push(1.0);
    (0..n).for_each(|i| put(1, n + i, 1.0));
    b.push(radius);
    for (i, row) in rows.iter().enumerate() {
        put(2 + 3 * i, n + i, 1.0);
        put(3 + 3 * i, i, -1.0);
        b.extend([0.0, 0.0, row.0 / mass]);
    }
    let a = CscMatrix::new_from_triplets(2 + 3 * n, 2 * n, at, cols, entries);
    let cost: Vec<f64> = rows.iter().map(|r| -r.1).chain(vec![0.0; n]).collect();
    let mut cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(1)];
    cones.extend((0..n).map(|_| SupportedConeT::ExponentialConeT()));
    let settings = DefaultSettings {
        verbose: false,
        tol_feas: 1e-10,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        ..DefaultSettings::default()
    };
    let zero = CscMatrix::zeros((2 * n, 2 * n));
    let mut solver = DefaultSolver::new(&zero, &cost, &a, &b, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

/// `min_α αδ + α log Σ p e^{y/α}` by a dense search that is refined around the best.
fn dense_search(rows: &[(f64, f64)], radius: f64) -> f64 {
    let mass: f64 = rows.iter().map(|r| r.0).sum();
    let highest = rows.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
    let dual = |log_alpha: f64| {
        let alpha = log_alpha.exp();
        let tilted: f64 = rows.iter().map(|r| r.0 / mass * ((r.1 - highest) / alpha).exp()).sum();
        highest + alpha * radius + alpha * tilted.ln()
    };
    let (mut low, mut high) = (1e-6_f64.ln(), 1e6_f64.ln());
    for _ in 0..12 {
        let at = |k: usize| low + (high - low) * k as f64 / 200.0;
        let best = (0..=200).min_by(|a, b| dual(at(*a)).total_cmp(&dual(at(*b)))).unwrap();
        (low, high) = (at(best.saturating_sub(1)), at((best + 1).min(200)));
    }
    dual(0.5 * (low + high)).min(highest)
}

proptest! {
    #![proptest_config(repeatable(500))]

    #[test]
    fn the_value_is_that_of_a_program_and_of_a_search(seed in any::<u64>()) {
        let log = log(seed);
        let (fitted, policy) = (fit(&log, &Recipe::Cells, OPTIONS), some_policy(&log, seed));
        let (rows, sign) = (rows(&fitted, &policy), log.direction().sign());
        let mass: f64 = rows.iter().map(|r| r.0).sum();
        let highest = rows.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
        let top: f64 = rows.iter().filter(|r| r.1 == highest).map(|r| r.0).sum();
        let limit = -(top / mass).ln();
        let nominal = fitted.nominal(&policy, Watch::NOBODY).unwrap();
        let none = worst(&fitted, &policy, WEIGHTED.into(), 0.0);
        prop_assert!((none.value() - nominal.snips.unwrap().value).abs() < 1e-12);
        let beyond = worst(&fitted, &policy, WEIGHTED.into(), limit + 1e-9);
        prop_assert_eq!(beyond.value(), sign * highest);
        let mut before = sign * none.value();
        for share in [0.03, 0.2, 0.7] {
            let radius = share * limit;
            if radius < 1e-4 { continue; }
            let found = worst(&fitted, &policy, WEIGHTED.into(), radius);
            let value = sign * found.value();
            prop_assert!(found.lower() <= found.upper() && found.gap() < 1e-9);
            let (program, search) = (cone_program(&rows, radius), dense_search(&rows, radius));
            prop_assert!((value - program).abs() < 1e-6, "{value} and {program}");
            prop_assert!((value - search).abs() < 1e-9, "{value} and {search}");
            prop_assert!(value >= before - 1e-12);
            before = value;
            // On the space of outcomes the population is feasible and attains the bound.
            let met = fitted.outcomes_met(&policy, WEIGHTED, Watch::NOBODY).unwrap();
            let problem = Problem::new(&met, log.values()).unwrap().direction(log.direction());
            let tilted = Kl.at(radius).worst_case(&problem, Settings::default()).unwrap().weights();
            let spent: f64 = tilted.iter().zip(met.weights()).filter(|(q, _)| **q > 0.0)
                .map(|(q, p)| q * (q / p).ln()).sum();
            let mean: f64 = tilted.iter().zip(log.values()).map(|(q, y)| q * y).sum();
            prop_assert!(spent <= radius * (1.0 + 1e-9) && (mean - found.value()).abs() < 1e-9);
            // Told by contexts: as many people, weighed by what becomes of their outcomes.
            let ratio = |k: u32| tilted[k as usize] / met.weights()[k as usize];
            let mut own = vec![0.0; log.contexts().len()];
            for e in log.entries() {
                let (x, a) = (e.context as usize, e.action as usize);
                let totals = log.cell_totals();
                let propensity = totals.at(x, a) / totals.row(x).iter().sum::<f64>();
                let weight = e.weight * policy.probability(x, a) / propensity / mass;
                if weight > 0.0 { own[x] += weight * ratio(e.outcome); }
            }
            let told = found.weights();
            prop_assert!(told.iter().zip(&own).all(|(a, b)| (a - b).abs() < 1e-9), "{told:?} {own:?}");
            prop_assert!(found.unobserved_mass() == 0.0);
        }
        // The curve holds the value at every radius.
        let robust = fitted.robust(Support::All).unwrap();
        let values = fitted.values(seawall::Wasserstein.at(0.0), Settings::default()).unwrap();
        let all = [0.0, 0.05, 0.4];
        let (cases, curve) = fitted
            .worst_cases(&robust, &policy, &values, WEIGHTED, &all, Some(1e-4), Settings::default())
            .unwrap();
        for (radius, case) in all.iter().zip(&cases) {
            let read = curve.as_ref().unwrap().at(*radius);
            prop_assert!(read.lower <= case.value() + 1e-9 && case.value() <= read.upper + 1e-9);
        }
    }
}

/// What the doubly robust distribution is, row by row and value by value; the nearest that rises by the
/// largest of the smallest means.
fn by_loops(log: &Log, recipe: &Recipe, options: FitOptions, policy: &Policy) -> Vec<(f64, f64)> {
    let mut values: Vec<f64> = log.entries().iter().map(|e| log.value(e)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let totals = log.cell_totals();
    let mut steps = vec![0.0; values.len()];
    let ratio_of = |e: &Entry| {
        let (x, a) = (e.context as usize, e.action as usize);
        policy.probability(x, a) * totals.row(x).iter().sum::<f64>() / totals.at(x, a)
    };
    let mass: f64 = log.entries().iter().map(|e| e.weight * ratio_of(e)).sum();
    for repeat in 0..options.repeats {
        let seed = options.seed.wrapping_add((repeat as u64) << 32);
        let folds = log.folds_of(options.folds, 0x05EA_0A11u64.wrapping_add(seed)).unwrap();
        for fold in 0..options.folds {
            let others = folds.without(fold).unwrap();
            let model = recipe.fit(&others, Watch::NOBODY).unwrap();
            let leaves = model.leaves().unwrap();
            // The share of outcomes up to a value in the leaf of a context and action.
            let up_to = |x: usize, a: usize, y: f64| {
                let own: Vec<(f64, f64)> = match leaves.leaf_of(x, a) {
                    Some(leaf) => leaves.all()[leaf]
                        .outcomes
                        .iter()
                        .map(|o| (log.values()[o.0 as usize], o.1))
                        .collect(),
                    None => {
                        let own = |all: bool| {
                            others
                                .entries()
                                .iter()
                                .filter(move |e| all || e.action as usize == a)
                                .map(|e| (others.value(e), e.weight))
                                .collect::<Vec<_>>()
                        };
                        if own(false).is_empty() { own(true) } else { own(false) }
                    }
                };
                let all: f64 = own.iter().map(|o| o.1).sum();
                own.iter().filter(|o| o.0 <= y).map(|o| o.1).sum::<f64>() / all
            };
            for (i, e) in log.entries().iter().enumerate() {
                let (x, a) = (e.context as usize, e.action as usize);
                let ratio = ratio_of(e) * log.total() / mass;
                let weight = folds.weight(i, fold) / options.repeats as f64 / log.total();
                if weight == 0.0 {
                    continue;
                }
                for (step, &y) in steps.iter_mut().zip(&values) {
                    let direct: f64 = (0..log.actions().len())
                        .map(|b| policy.probability(x, b) * up_to(x, b, y))
                        .sum();
                    let here = f64::from(u8::from(log.value(e) <= y));
                    *step += weight * (direct + ratio * (here - up_to(x, a, y)));
                }
            }
        }
    }
    let last = values.len() - 1;
    let gap = |k: usize| values[k + 1] - values[k];
    let mean = |s: usize, t: usize| {
        let total: f64 = (s..=t).map(gap).sum();
        (s..=t).map(|k| gap(k) * steps[k]).sum::<f64>() / total
    };
    let least = |s: usize, k: usize| (k..last).map(|t| mean(s, t)).fold(f64::INFINITY, f64::min);
    let mut risen: Vec<f64> = (0..last)
        .map(|k| (0..=k).map(|s| least(s, k)).fold(f64::NEG_INFINITY, f64::max).clamp(0.0, 1.0))
        .collect();
    risen.push(1.0);
    let before = |k: usize| if k == 0 { 0.0 } else { risen[k - 1] };
    (0..=last).map(|k| (values[k], risen[k] - before(k))).collect()
}

proptest! {
    #![proptest_config(repeatable(120))]

    #[test]
    fn the_doubly_robust_law_is_that_of_plain_loops(seed in any::<u64>()) {
        let log = log(seed);
        let policy = some_policy(&log, seed);
        let tree = TreeSettings { min_samples_leaf: 3.0, ..TreeSettings::default() };
        for recipe in [Recipe::Cells, Recipe::Tree(vec![tree; log.actions().len()])] {
            let fitted = fit(&log, &recipe, OPTIONS);
            let met = fitted.outcomes_met(&policy, DOUBLY_ROBUST, Watch::NOBODY).unwrap();
            let expected = by_loops(&log, &recipe, OPTIONS, &policy);
            for &(value, share) in &expected {
                let own = met.weights().iter().zip(log.values()).filter(|(_, y)| **y == value);
                let found: f64 = own.map(|(p, _)| p).sum();
                prop_assert!((found - share).abs() < 1e-9, "{value}: {found} {share}");
            }
            // At radius 0 it is the mean of the law.
            let none = worst(&fitted, &policy, DOUBLY_ROBUST.into(), 0.0).value();
            let mean: f64 = expected.iter().map(|(y, p)| y * p).sum();
            prop_assert!((none - mean).abs() < 1e-9);
            // The value is the law's, and rises with the radius.
            let sign = log.direction().sign();
            let rows: Vec<(f64, f64)> =
                expected.iter().filter(|e| e.1 > 1e-12).map(|(y, p)| (*p, sign * y)).collect();
            let mut before = sign * none;
            for radius in [0.01, 0.1, 0.5] {
                let found = sign * worst(&fitted, &policy, DOUBLY_ROBUST.into(), radius).value();
                prop_assert!((found - dense_search(&rows, radius)).abs() < 1e-8);
                prop_assert!(found >= before - 1e-12);
                before = found;
            }
        }
    }

    /// With outcomes that contexts and actions decide and a policy that does what was done, only
    /// contexts vary: the factored set.
    #[test]
    fn with_known_outcomes_it_is_kl_on_contexts(seed in any::<u64>()) {
        let r = &mut Random(seed);
        let contexts = Arc::new(Space::grid([Feature::numeric("x").levels((0..6).map(f64::from))]).unwrap());
        let levels: Vec<f64> = (0..6).map(|_| (r.unit() * 8.0).round()).collect();
        let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels((0..6).map(f64::from))]).unwrap());
        let entry = |x: usize, weight: f64| Entry {
            context: x as u32, action: (x % 2) as u32, outcome: x as u32, weight, ..Entry::default()
        };
        let entries: Vec<Entry> = (0..6).map(|x| entry(x, 1.0 + r.below(9) as f64)).collect();
        let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
        let actions = vec!["a".to_owned(), "b".to_owned()];
        let log = Log::new(contexts, actions, outcomes, levels.clone(), direction, entries).unwrap();
        let fitted = fit(&log, &Recipe::Cells, OPTIONS);
        let policy = Policy::behaviour(&log);
        for radius in [0.0, 0.02, 0.3, 5.0] {
            let population = log.population().unwrap();
            let problem = Problem::new(&population, &levels).unwrap().direction(direction);
            let factored = Kl.at(radius).worst_case(&problem, Settings::default()).unwrap();
            let joint = worst(&fitted, &policy, WEIGHTED.into(), radius);
            prop_assert!((joint.value() - factored.value()).abs() < 1e-12);
            let (a, b) = (joint.weights(), factored.weights());
            prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}

/// A forest's law is the average of its trees', whose mean is the doubly robust estimate.
#[test]
fn a_forest_has_a_law_too() {
    for seed in 0..30 {
        let log = log(seed);
        let recipe = Recipe::Forest(ForestSettings {
            trees: 7,
            min_samples_leaf: 2.0,
            ..ForestSettings::default()
        });
        let fitted = fit(&log, &recipe, OPTIONS);
        let policy = Policy::uniform(&log);
        let none = worst(&fitted, &policy, DOUBLY_ROBUST.into(), 0.0).value();
        let nominal = fitted.nominal(&policy, Watch::NOBODY).unwrap().dr.unwrap().value;
        assert!((none - nominal).abs() < 1e-9, "{seed}: {none} {nominal}");
        let settings = Settings::default();
        let all = fitted.joint_estimates(&policy, DOUBLY_ROBUST, &[0.0, 0.1], settings).unwrap();
        let dr = fitted.nominal(&policy, Watch::NOBODY).unwrap().dr.unwrap();
        let se = all[0].unwrap().estimate.se;
        // But for the degree of freedom that a mean takes, and the mean of the weights.
        assert!((se / dr.se - 1.0).abs() < 0.2, "{se} {}", dr.se);
    }
}

/// At radius 0 the standard error is that of the self-normalised estimate, clusters and weights too.
#[test]
fn at_radius_0_errors_are_those_of_the_nominal_estimates() {
    for seed in crate::common::cases(50) {
        let plain = log(seed);
        let r = &mut Random(seed);
        let clustered =
            plain.entries().iter().map(|e| Entry { cluster: r.below(6) as u32, unit: 0.5, ..*e });
        let (contexts, outcomes) = (plain.contexts().clone(), plain.outcomes().clone());
        let (actions, values) = (plain.actions().to_vec(), plain.values().to_vec());
        let direction = plain.direction();
        let clustered =
            Log::new(contexts, actions, outcomes, values, direction, clustered.collect()).unwrap();
        for log in [plain, clustered] {
            for clip in [None, Some(1.5)] {
                let fitted = fit(&log, &Recipe::Cells, FitOptions { clip, ..OPTIONS });
                let policy = some_policy(&log, seed);
                let nominal = fitted.nominal(&policy, Watch::NOBODY).unwrap().snips.unwrap();
                let settings = Settings::default();
                let found = fitted.joint_estimates(&policy, WEIGHTED, &[0.0], settings).unwrap();
                let found = found[0].unwrap().estimate;
                assert!((found.value - nominal.value).abs() < 1e-12);
                assert!((found.se - nominal.se).abs() < 1e-9 * nominal.se.max(1e-6));
            }
        }
    }
}

/// A standard error is how much the value moves as rows weigh a little more or less.
#[test]
fn scores_are_derivatives() {
    let log = log(11);
    let policy = Policy::uniform(&log);
    let design = Propensity::Design(vec![1.0 / log.actions().len() as f64; log.actions().len()]);
    let value = |log: Log| {
        let fitted =
            Evaluator::new(&log.shared(), &Recipe::Cells, &design, OPTIONS, Watch::NOBODY).unwrap();
        worst(&fitted, &policy, WEIGHTED.into(), 0.1).value()
    };
    let fitted =
        Evaluator::new(&log.clone().shared(), &Recipe::Cells, &design, OPTIONS, Watch::NOBODY)
            .unwrap();
    let found = fitted.joint_estimates(&policy, WEIGHTED, &[0.1], Settings::default()).unwrap();
    let mut squares = 0.0;
    for at in 0..log.entries().len() {
        let moved = |by: f64| {
            value(log.reweighted(|i, e| if i == at { e.weight + by } else { e.weight }).unwrap())
        };
        let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
        squares += log.entries()[at].weight * slope * slope;
    }
    let se = found[0].unwrap().estimate.se;
    assert!((se / squares.sqrt() - 1.0).abs() < 1e-5, "{se} {}", squares.sqrt());
}

/// Where an action was never tried the worst outcome stands in, which may be on no row at all.
#[test]
fn the_worst_outcome_stands_in_though_no_row_has_it() {
    let grid = |name: &str, n: u32| {
        Arc::new(Space::grid([Feature::numeric(name).levels((0..n).map(f64::from))]).unwrap())
    };
    let entry = |context: u32, action: u32, outcome: u32| Entry {
        context,
        action,
        outcome,
        weight: 5.0,
        ..Entry::default()
    };
    // Action b only in the second context; outcomes 1 to 3 of 0 to 4.
    let met = [(0, 0, 1), (0, 0, 2), (1, 0, 2), (1, 0, 3), (1, 1, 1), (1, 1, 3)];
    let entries: Vec<Entry> = met.into_iter().map(|(x, a, y)| entry(x, a, y)).collect();
    let values: Vec<f64> = (0..5).map(f64::from).collect();
    let actions = vec!["a".to_owned(), "b".to_owned()];
    for (direction, stands_in) in [(Direction::Cost, 4.0), (Direction::Reward, 0.0)] {
        let (contexts, outcomes) = (grid("x", 2), grid("y", 5));
        let log = Log::new(
            contexts,
            actions.clone(),
            outcomes,
            values.clone(),
            direction,
            entries.clone(),
        );
        let log = log.unwrap();
        let options = FitOptions { unseen: Unseen::Worst, ..OPTIONS };
        let fitted = fit(&log, &Recipe::Cells, options);
        let policy = Policy::constant(&log, "b").unwrap();
        let none = worst(&fitted, &policy, DOUBLY_ROBUST.into(), 0.0).value();
        // A third of the people are where b was never tried; elsewhere its mean is 2.
        let (there, here) = (stands_in / 3.0, 2.0 * 2.0 / 3.0);
        assert!((none - there - here).abs() < 0.05, "{direction:?}: {none}");
        let sign = direction.sign();
        let some = sign * worst(&fitted, &policy, DOUBLY_ROBUST.into(), 0.1).value();
        assert!(some > sign * none && some <= sign * stands_in, "{direction:?}: {some}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused_by_name() {
    let log = log(3);
    let fitted = fit(&log, &Recipe::Cells, OPTIONS);
    let population = log.population().unwrap();
    let values = vec![1.0; log.contexts().len()];
    let problem = Problem::new(&population, &values).unwrap();
    for set in [Set::from(WEIGHTED), Set::from(DOUBLY_ROBUST)] {
        assert!(set.needs_actions() && !set.moves_mass());
        let slip = set.solver(&problem, Settings::default()).err().unwrap().to_string();
        assert!(slip.contains(set.name()) && slip.contains("a log and a policy"), "{slip}");
    }
    // Another population than the log's.
    let other = Population::from_weights(log.contexts().clone(), values.clone()).unwrap();
    let robust = Robust::around(&log, &other, Support::All).unwrap();
    let plain = fitted.values(seawall::Wasserstein.at(0.0), Settings::default()).unwrap();
    let policy = Policy::uniform(&log);
    let settings = Settings::default();
    let asked = fitted.worst_cases(&robust, &policy, &plain, WEIGHTED, &[0.1], None, settings);
    assert!(asked.unwrap_err().to_string().contains("the log's own people"));
    // A model that keeps no outcomes.
    let additive = Recipe::Additive(vec![Default::default(); log.actions().len()]);
    let fitted = fit(&log, &additive, OPTIONS);
    let robust = fitted.robust(Support::All).unwrap();
    let asked = fitted.worst_cases(&robust, &policy, &plain, DOUBLY_ROBUST, &[0.1], None, settings);
    let slip = asked.unwrap_err().to_string();
    assert!(slip.contains("additive keeps none"), "{slip}");
    assert_eq!(fitted.joint_estimates(&policy, Kl, &[0.1], settings).unwrap(), [None]);
    assert!(fitted.outcomes_met(&policy, Kl, Watch::NOBODY).is_err());
}

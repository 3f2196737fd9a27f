//! Learning under joint KL against an enumeration of all policies of a class.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Random, log};
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::learn::{Budget, Gradient, Groups, JointTask, Method, Trees};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::{Partition, Parts, Policy};
use seawall::{
    Direction, Entry, Feature, JointEstimator, JointKl, Log, Matrix, Settings, Space, Status, Watch,
};
use std::sync::Arc;

const WEIGHTED: JointKl = JointKl { estimator: JointEstimator::Weighted };
const DOUBLY_ROBUST: JointKl = JointKl { estimator: JointEstimator::DoublyRobust };

const OPTIONS: FitOptions =
    FitOptions { clip: None, unseen: Unseen::Mean, folds: 2, repeats: 1, seed: 0 };

fn fit(log: &Log) -> Evaluator {
    let log = log.clone().shared();
    Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, OPTIONS, Watch::NOBODY).unwrap()
}

/// A policy's worst case as a cost; None if no row has what it does.
fn worst(fitted: &Evaluator, policy: &Policy, radius: f64) -> Option<f64> {
    let (robust, settings) = (fitted.robust(Support::All).unwrap(), Settings::default());
    let values = fitted.values(seawall::Wasserstein.at(0.0), settings).unwrap();
    let found =
        fitted.worst_cases(&robust, policy, &values, WEIGHTED, &[radius], None, settings).ok()?;
    Some(fitted.log().direction().sign() * found.0[0].value())
}

fn table(log: &Log, chosen: &dyn Fn(usize) -> Vec<f64>) -> Policy {
    let cells = (0..log.contexts().len()).flat_map(chosen).collect();
    let all = Matrix::new(log.contexts().len(), log.actions().len(), cells).unwrap();
    Policy::table("p", log.contexts(), log.actions(), &all).unwrap()
}

fn one(actions: usize, action: usize) -> Vec<f64> {
    (0..actions).map(|a| f64::from(u8::from(a == action))).collect()
}

/// Whether some rows of these contexts have an action, or there are none.
fn has_rows(log: &Log, of: &dyn Fn(usize) -> bool, action: usize) -> bool {
    let mut own = log.entries().iter().filter(|e| of(e.context as usize)).peekable();
    own.peek().is_none() || own.any(|e| e.action as usize == action)
}

#[test]
fn trees_groups_and_greedy_are_the_best_of_all() {
    for seed in 0..12 {
        let log = log(seed);
        let (actions, sign) = (log.actions().len(), log.direction().sign());
        let fitted = fit(&log);
        let robust = fitted.robust(Support::All).unwrap();
        for radius in [0.0, 0.05, 0.4] {
            let task = JointTask::new(&fitted, &robust, WEIGHTED.at(radius)).unwrap();
            let settings = Settings::default();
            // By site: every pair of actions is a vertex, and mixtures are drawn at random.
            let parts = Parts::Levels(vec![vec![Some("a".to_owned())], vec![Some("b".to_owned())]]);
            let by = vec![Partition { feature: "site".into(), missing: false, parts }];
            let found = task.groups(&Groups::new(by.clone()), settings).unwrap();
            let (gap, steps) = (found.gap(), found.iterations());
            assert_eq!(
                found.status(),
                Status::Optimal,
                "seed {seed} radius {radius}: {gap} {steps}"
            );
            let value = sign * found.value();
            let own = worst(&fitted, found.policy(), radius).unwrap();
            assert!((own - value).abs() < 1e-12);
            let r = &mut Random(seed);
            for k in 0..40 {
                let draw = |r: &mut Random| -> Vec<f64> {
                    let all: Vec<f64> = (0..actions).map(|_| r.unit().powi(3)).collect();
                    let total: f64 = all.iter().sum();
                    all.iter().map(|x| x / total).collect()
                };
                let (first, second) = if k < actions * actions {
                    (one(actions, k / actions), one(actions, k % actions))
                } else {
                    (draw(r), draw(r))
                };
                let policy =
                    table(&log, &|x| if x % 2 == 0 { first.clone() } else { second.clone() });
                let own = |side: usize, chances: &[f64]| {
                    let here = |x: usize| x % 2 == side;
                    chances.iter().enumerate().all(|(a, p)| *p == 0.0 || has_rows(&log, &here, a))
                };
                if !own(0, &first) || !own(1, &second) {
                    continue;
                }
                if let Some(other) = worst(&fitted, &policy, radius) {
                    assert!(value <= other + 1e-8, "seed {seed} radius {radius}: {value} {other}");
                }
            }
            // A budget that binds is kept.
            let mut asked = Groups::new(by);
            asked.budgets.push(Budget { action: 0, most: 0.3, worst_case: false });
            let limited = task.groups(&asked, settings).unwrap();
            assert!(sign * limited.value() >= value - 1e-8);
            let share: f64 = (0..log.contexts().len())
                .map(|x| {
                    log.population().unwrap().weights()[x] * limited.policy().probability(x, 0)
                })
                .sum();
            assert!(share <= 0.3 + 1e-8, "{share}");
            // Trees of one question: every one of them.
            let tree = task.trees(Trees::new(1), settings).unwrap();
            assert_eq!(tree.status(), Status::Optimal);
            let value = sign * tree.value();
            let mut least = f64::INFINITY;
            let levels = log.contexts().len() / 2;
            for a in 0..actions {
                for b in 0..actions {
                    let mut try_one = |left: &dyn Fn(usize) -> bool| {
                        let right = |x: usize| !left(x);
                        if !has_rows(&log, left, a) || !has_rows(&log, &right, b) {
                            return;
                        }
                        let policy = table(&log, &|x| one(actions, if left(x) { a } else { b }));
                        least = least.min(worst(&fitted, &policy, radius).unwrap_or(f64::INFINITY));
                    };
                    try_one(&|x| x % 2 == 0);
                    (0..levels).for_each(|cut| try_one(&|x| x / 2 <= cut));
                }
            }
            assert!((value - least).abs() < 1e-7, "seed {seed} radius {radius}: {value} {least}");
            // No policy of any form is better than the greedy one, all cells being seen.
            let greedy = task.greedy(settings).unwrap();
            assert_eq!(greedy.status(), Status::Optimal);
            assert!(sign * greedy.value() <= value + 1e-8);
            let floor = task.floor(settings).unwrap();
            let floor = if sign > 0.0 { floor.lower } else { -floor.upper };
            assert!(floor <= sign * greedy.value() + 1e-12);
            if log.contexts().len() <= 4 {
                let count = actions.pow(log.contexts().len() as u32);
                let all = (0..count).filter_map(|k| {
                    let chosen = |x: usize| one(actions, k / actions.pow(x as u32) % actions);
                    worst(&fitted, &table(&log, &chosen), radius)
                });
                let least = all.fold(f64::INFINITY, f64::min);
                let value = sign * greedy.value();
                assert!((value - least).abs() < 1e-7, "seed {seed}: {value} {least}");
            }
        }
    }
}

/// People whom no row shows under an action are not given it to be rid of them: trees and groups of the
/// same rules find the same best, and say the same of it.
#[test]
fn nobody_is_given_what_nobody_like_them_got() {
    let contexts = Arc::new(Space::grid([Feature::nominal("g", ["common", "rare"])]).unwrap());
    let levels = [0.0, 1.0, 5.0];
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels(levels)]).unwrap());
    let entry = |context: u32, action: u32, outcome: u32, weight: f64| Entry {
        context,
        action,
        outcome,
        weight,
        propensity: 0.5,
        ..Entry::default()
    };
    // Eight rare rows, all of the second action, all at the largest cost.
    let entries = vec![
        entry(0, 0, 0, 40.0),
        entry(0, 0, 2, 60.0),
        entry(0, 1, 0, 70.0),
        entry(0, 1, 1, 30.0),
        entry(1, 1, 2, 8.0),
    ];
    let actions = vec!["a".to_owned(), "b".to_owned()];
    let log = Log::new(contexts, actions, outcomes, levels.to_vec(), Direction::Cost, entries);
    let log = log.unwrap().shared();
    let fitted =
        Evaluator::new(&log, &Recipe::Cells, &Propensity::Known, OPTIONS, Watch::NOBODY).unwrap();
    let robust = fitted.robust(Support::All).unwrap();
    let parts = Parts::Levels(vec![vec![Some("common".to_owned())], vec![Some("rare".to_owned())]]);
    let by = vec![Partition { feature: "g".into(), missing: false, parts }];
    for radius in [0.0, 0.03, 0.3] {
        let task = JointTask::new(&fitted, &robust, WEIGHTED.at(radius)).unwrap();
        let settings = Settings::default();
        let groups = task.groups(&Groups::new(by.clone()), settings).unwrap();
        let tree = task.trees(Trees::new(1), settings).unwrap();
        assert!((groups.value() - tree.value()).abs() < 1e-9, "{radius}");
        for learned in [groups, tree] {
            assert_eq!(learned.policy().probability(1, 1), 1.0);
        }
        // By name it is answered as ever, and is below: those people are then left out.
        let rid = worst(&fitted, &table(&log, &|x| one(2, 1 - x)), radius).unwrap();
        assert!(rid < task.trees(Trees::new(1), settings).unwrap().value());
        assert!(task.floor(settings).unwrap().lower <= rid + 1e-9);
    }
}

#[test]
fn what_is_not_learned_is_refused_by_name() {
    let log = log(5);
    let fitted = fit(&log);
    let robust = fitted.robust(Support::All).unwrap();
    let slip = JointTask::new(&fitted, &robust, DOUBLY_ROBUST.at(0.1)).err().unwrap().to_string();
    assert!(slip.contains("joint-kl-dr") && slip.contains("nothing is learned"), "{slip}");
    let clipped = FitOptions { clip: Some(2.0), ..OPTIONS };
    let shared = log.clone().shared();
    let fitted =
        Evaluator::new(&shared, &Recipe::Cells, &Propensity::Cells, clipped, Watch::NOBODY)
            .unwrap();
    assert!(JointTask::new(&fitted, &robust, WEIGHTED.at(0.1)).is_err());
}

#[test]
fn softmax_beats_uniform_and_stays_above_the_floor() {
    for seed in 0..12 {
        let log = log(seed);
        let (actions, sign) = (log.actions().len(), log.direction().sign());
        let fitted = fit(&log);
        let robust = fitted.robust(Support::All).unwrap();
        for radius in [0.0, 0.05, 0.4] {
            let task = JointTask::new(&fitted, &robust, WEIGHTED.at(radius)).unwrap();
            let settings = Settings::default();
            let asked = Gradient { ridge: 0.0, ..Gradient::default() };
            let found = task.softmax(asked, settings).unwrap();
            assert_eq!(found.method(), Method::Gradient);
            let value = sign * found.value();
            let own = worst(&fitted, found.policy(), radius).unwrap();
            assert!((own - value).abs() < 1e-12, "seed {seed} radius {radius}: {own} {value}");
            let uniform = table(&log, &|_| vec![1.0 / actions as f64; actions]);
            let plain = worst(&fitted, &uniform, radius).unwrap();
            assert!(value <= plain + 1e-9, "seed {seed} radius {radius}: {value} {plain}");
            let floor = task.floor(settings).unwrap();
            let floor = if sign > 0.0 { floor.lower } else { -floor.upper };
            assert!(value >= floor - 1e-9, "seed {seed} radius {radius}: {value} {floor}");
            let lower = if sign > 0.0 { found.lower() } else { -found.upper() };
            assert!(lower <= floor + 1e-9 && found.gap() >= 0.0);
            // Scores with a constant alone reach every constant policy but for rounding.
            for action in 0..actions {
                let constant = table(&log, &|_| one(actions, action));
                let other = worst(&fitted, &constant, radius).unwrap_or(f64::INFINITY);
                assert!(value <= other + 1e-3, "seed {seed} radius {radius}: {value} {other}");
            }
            // The same on one thread.
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let again = alone.install(|| task.softmax(asked, settings)).unwrap();
            assert_eq!(again.value(), found.value());
        }
    }
    let log = log(1);
    let fitted = fit(&log);
    let robust = fitted.robust(Support::All).unwrap();
    let task = JointTask::new(&fitted, &robust, WEIGHTED.at(0.1)).unwrap();
    let none = Gradient { restarts: 0, ..Gradient::default() };
    assert!(task.softmax(none, Settings::default()).is_err());
}

#[test]
fn a_softmax_that_is_stopped_keeps_its_policy_and_has_bounds() {
    let log = log(3);
    let fitted = fit(&log);
    let robust = fitted.robust(Support::All).unwrap();
    let task = JointTask::new(&fitted, &robust, WEIGHTED.at(0.1)).unwrap();
    let never = |_: seawall::Progress<'_>| false;
    let settings = Settings { watch: Watch::new(&never), ..Settings::default() };
    let found = task.softmax(Gradient::default(), settings).unwrap();
    assert_eq!(found.status(), Status::Stopped);
    let own = worst(&fitted, found.policy(), 0.1).unwrap();
    assert!((own - log.direction().sign() * found.value()).abs() < 1e-12);
    let full = task.softmax(Gradient::default(), Settings::default()).unwrap();
    assert!(found.lower() <= full.lower() + 1e-12 || found.upper() >= full.upper() - 1e-12);
}

/// Eight rows of outcomes 0 and 1. Where nobody of a context had an action, a softmax gives those who had the
/// worse outcome ever smaller chances, down to the smallest numbers there are.
#[test]
fn softmax_of_a_few_rows_is_a_number() {
    for seed in crate::common::cases(40) {
        let r = &mut Random(seed);
        let column = vec![(0..8).map(|_| r.below(2) as f64).collect()];
        let taken: Vec<&str> =
            (0..8).map(|k| if k < 2 { ["a", "b"][k] } else { ["a", "b"][r.below(2)] }).collect();
        let costs: Vec<f64> = (0..8).map(|_| r.below(2) as f64).collect();
        let x = [Feature::nominal("x", ["n", "y"])];
        let log = Log::from_rows(x, column, &taken, &costs, None, Direction::Cost).unwrap();
        let fitted = fit(&log);
        let robust = fitted.robust(Support::All).unwrap();
        for radius in [0.0, 0.01, 0.1, 1.0] {
            let task = JointTask::new(&fitted, &robust, WEIGHTED.at(radius)).unwrap();
            let found = task.softmax(Gradient::default(), Settings::default());
            let found = found.unwrap_or_else(|e| panic!("seed {seed} at {radius}: {e}"));
            assert!(
                (-1e-9..=1.0 + 1e-9).contains(&found.value()),
                "seed {seed}: {}",
                found.value()
            );
            let own = worst(&fitted, found.policy(), radius).unwrap();
            assert!((own - found.value()).abs() <= 1e-12, "seed {seed} at {radius}");
            assert!(found.lower() <= found.upper());
        }
    }
}

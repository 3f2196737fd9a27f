//! The whole space as a support: the same as a grid where one can be listed, and as every place that
//! can matter where none can.
#![allow(clippy::unwrap_used)]

use crate::common::Random;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support};
use seawall::learn::{Groups, Learned, Task, Trees, WholeTask, groups, trees};
use seawall::outcome::{AdditiveSettings, Recipe, TreeSettings};
use seawall::policy::{Branch, Partition, Parts, Policy, Rule, Test};
use seawall::{
    Detail, Direction, Entry, Feature, Kl, Log, Settings, Space, TotalVariation, Wasserstein, Watch,
};
use std::sync::Arc;

/// A grid that can be listed: levels of every kind, fixed and missing ones, moves that cost nothing.
fn grid(random: &mut Random) -> Space {
    let count = 1 + random.below(4);
    let features = (0..count).map(|k| {
        let (name, levels) = (format!("f{k}"), 1 + random.below(5));
        let labels = (0..levels).map(|l| format!("l{l}"));
        let feature = match random.below(5) {
            0 | 1 => {
                let step = 1.0 + random.below(3) as f64;
                Feature::numeric(name).levels((0..levels).map(|l| step * l as f64 - 1.5))
            }
            2 => Feature::ordinal(name, labels),
            3 => Feature::nominal(name, labels),
            _ => Feature::fixed(name, labels),
        };
        let feature = if random.below(4) == 0 { feature.with_missing() } else { feature };
        if random.below(8) == 0 { feature.weight(0.0) } else { feature }
    });
    Space::grid(features.collect::<Vec<_>>()).unwrap()
}

/// A log of some rows on a space.
fn log_on(space: &Arc<Space>, rows: usize, direction: Direction, random: &mut Random) -> Arc<Log> {
    let outcomes = Space::grid([Feature::numeric("y").levels([0.0, 0.5, 2.0, 3.0])]).unwrap();
    let names = vec!["a".to_owned(), "b".to_owned()];
    let entries = (0..rows).map(|k| Entry {
        context: random.below(space.len()) as u32,
        action: (k % 2) as u32,
        outcome: random.below(4) as u32,
        ..Entry::default()
    });
    let entries = entries.collect();
    let values = vec![0.0, 0.5, 2.0, 3.0];
    Log::new(space.clone(), names, Arc::new(outcomes), values, direction, entries).unwrap().shared()
}

fn tree(depth: usize) -> Recipe {
    let settings = TreeSettings { max_depth: depth, ..TreeSettings::default() };
    Recipe::Tree(vec![settings; 2])
}

fn fitted(log: &Arc<Log>, recipe: &Recipe) -> Evaluator {
    let options = FitOptions::default();
    Evaluator::new(log, recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap()
}

/// A policy by group of one feature's levels, or by a tree about one.
fn policies(log: &Arc<Log>, random: &mut Random) -> Vec<Policy> {
    let space = log.contexts();
    let feature = space.names().next().unwrap().to_owned();
    let by = vec![Partition::of_levels(space, &feature).unwrap()];
    let probabilities = (0..space.levels(0).len()).map(|_| {
        let p = random.unit();
        vec![p, 1.0 - p]
    });
    let groups = Rule::Groups { by, probabilities: probabilities.collect() };
    let levels = vec![space.level_values(0).next().map(|v| match v {
        seawall::Value::Number(x) => x.to_string(),
        seawall::Value::Level(text) => text.to_owned(),
        seawall::Value::Missing => String::new(),
    })];
    let root = Branch::Split {
        test: Test::OneOf { feature, levels },
        yes: Box::new(Branch::Leaf(vec![1.0, 0.0])),
        no: Box::new(Branch::Leaf(vec![0.2, 0.8])),
    };
    vec![
        Policy::uniform(log),
        Policy::constant(log, "b").unwrap(),
        Policy::new("groups", groups, space, log.actions()).unwrap(),
        Policy::new("tree", Rule::Tree { root }, space, log.actions()).unwrap(),
    ]
}

/// 1,000 grids: value, bounds and curve of policies and differences, trees and additive models, are
/// those of the listed grid; the worst population is within the radius and attains the lower bound.
#[test]
fn the_whole_of_a_grid_is_the_grid() {
    let mut random = Random(7);
    for round in crate::common::cases(1000).map(|k| k as usize) {
        let space = Arc::new(grid(&mut random));
        let direction = if round % 3 == 0 { Direction::Reward } else { Direction::Cost };
        let log = log_on(&space, 2 + random.below(40), direction, &mut random);
        let recipe = match round % 4 {
            3 => Recipe::Additive(vec![AdditiveSettings::default(); 2]),
            depth => tree(1 + depth),
        };
        let fitted = fitted(&log, &recipe);
        let settings = Settings::default();
        let costs = Wasserstein.at(if round % 8 == 0 { 0.02 } else { 0.0 });
        let values = fitted.values(costs, settings).unwrap();
        let range = fitted.value_range(costs, settings).unwrap();
        let (grid, whole) =
            (fitted.robust(Support::All).unwrap(), fitted.robust(Support::Space).unwrap());
        let policies = policies(&log, &mut random);
        let radii = [0.0, 0.003, 0.05, 0.3, 40.0];
        let ask = |robust: &Robust, policy: &Policy| {
            robust.evaluate(policy, &values, Wasserstein, &radii, Some(0.0), settings).unwrap()
        };
        let against = |robust: &Robust, policy: &Policy| {
            let pair = (policy, &policies[0]);
            robust.worst_difference(pair, &range, Wasserstein, &radii, Some(0.0), settings).unwrap()
        };
        for policy in &policies {
            for (listed, found) in [
                (ask(&grid, policy), ask(&whole, policy)),
                (against(&grid, policy), against(&whole, policy)),
            ] {
                for ((a, b), radius) in listed.0.iter().zip(&found.0).zip(radii) {
                    let case = format!("round {round}, {}, radius {radius}", policy.name());
                    assert!((a.value() - b.value()).abs() < 1e-12, "{case}: {a:?}\n{b:?}");
                    assert!(b.gap() <= a.gap() + 1e-12 && b.status() == a.status(), "{case}");
                    let spent: f64 = b.plan().iter().map(|m| m.mass * m.cost).sum();
                    assert!(spent <= radius + 1e-12, "{case}: {spent}");
                    let total: f64 = b.weights().iter().sum();
                    assert!((total - 1.0).abs() < 1e-12, "{case}: {total}");
                    assert_eq!(b.engine().unwrap(), "boxes");
                }
                let (a, b) = (listed.1.unwrap(), found.1.unwrap());
                for radius in [0.0, 0.01, 0.1, 0.5, 2.0] {
                    assert!((a.at(radius).value - b.at(radius).value).abs() < 1e-11);
                }
            }
        }
    }
}

/// Off a grid: every place that can matter is a combination, feature by feature, of a source's own
/// number and the numbers on either side of a threshold; they are listed for a few sources.
#[test]
fn off_a_grid_no_place_is_worse() {
    let mut random = Random(11);
    for round in crate::common::cases(120).map(|k| k as usize) {
        let rows = 4 + random.below(8);
        let mut columns: Vec<Vec<f64>> = vec![
            (0..rows).map(|_| random.unit()).collect(),
            (0..rows).map(|_| random.below(4) as f64).collect(),
            (0..rows).map(|_| random.below(3) as f64).collect(),
        ];
        if round % 5 == 0 {
            columns[0][0] = f64::NAN;
            columns[1][1] = f64::NAN;
        }
        let features = || {
            [Feature::numeric("u"), Feature::numeric("v"), Feature::nominal("w", ["x", "y", "z"])]
        };
        let actions: Vec<&str> = (0..rows).map(|k| ["a", "b"][k % 2]).collect();
        let costs: Vec<f64> = (0..rows).map(|_| random.below(5) as f64).collect();
        let direction = Direction::Cost;
        let log = Log::from_rows(features(), columns, &actions, &costs, None, direction).unwrap();
        let log = log.shared();
        let fitted = fitted(&log, &tree(1 + round % 3));
        let settings = Settings::default();
        let values = fitted.values(Wasserstein.at(0.0), settings).unwrap();
        let whole = fitted.robust(Support::Space).unwrap();
        let cut = Parts::Cuts(vec![0.3, 0.6]);
        let by = vec![Partition { feature: "u".into(), missing: true, parts: cut }];
        let probabilities = vec![vec![0.9, 0.1], vec![0.1, 0.9], vec![1.0, 0.0], vec![0.5, 0.5]];
        let rule = Rule::Groups { by, probabilities };
        let policy = Policy::new("groups", rule, log.contexts(), log.actions()).unwrap();
        let greedy = Policy::greedy_everywhere(&log, &values).unwrap();
        let listed = Policy::greedy(&log, &values).unwrap();
        assert_eq!(greedy.probabilities(), listed.probabilities(), "round {round}");

        // Every number that is a source's own, a threshold, or the next after one.
        let space = log.contexts();
        let leaves = fitted.model().leaves().unwrap();
        let mut numbers: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for (k, numbers) in numbers.iter_mut().enumerate() {
            let own = (0..space.len()).map(|i| space.code(i, k));
            numbers.extend(own);
            let ends = (
                numbers.iter().copied().fold(f64::INFINITY, f64::min),
                numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            );
            let mut cuts: Vec<f64> = if k == 0 { vec![0.3, 0.6] } else { Vec::new() };
            cuts.extend(cuts.clone().iter().map(|c| c.next_down()));
            for tree in leaves.trees() {
                for split in (0..tree.len()).filter_map(|n| tree.split(n)) {
                    if let (true, seawall::outcome::Cut::AtMost(t)) =
                        (split.feature == k, &split.cut)
                    {
                        // A coordinate is the number times a power of two.
                        let power = (-(ends.1 - ends.0).log2().floor()).exp2();
                        cuts.extend([t / power, (t / power).next_up()]);
                    }
                }
            }
            numbers.extend(cuts.into_iter().filter(|c| (ends.0..=ends.1).contains(c)));
            numbers.sort_by(f64::total_cmp);
            numbers.dedup_by(|a, b| a.total_cmp(b).is_eq());
        }
        let mut places: Vec<Vec<f64>> = vec![Vec::new(); 3];
        for &u in &numbers[0] {
            for &v in &numbers[1] {
                for w in 0..3 {
                    places.iter_mut().zip([u, v, f64::from(w)]).for_each(|(c, x)| c.push(x));
                }
            }
        }
        // The log again, with every such place a context.
        let everything = Arc::new(Space::points(features(), places).unwrap());
        let place_of = |i: u32| {
            let same = |j: &usize| {
                (0..3).all(|k| {
                    let (a, b) = (space.code(i as usize, k), everything.code(*j, k));
                    a == b || (a.is_nan() && b.is_nan())
                })
            };
            (0..everything.len()).find(same).unwrap() as u32
        };
        let larger = log.on_contexts(&everything, place_of).unwrap().shared();
        let again = self::fitted(&larger, &tree(1 + round % 3));
        let all = again.values(Wasserstein.at(0.0), settings).unwrap();
        let grid = again.robust(Support::All).unwrap();
        for policy in [policy, greedy, Policy::uniform(&log)] {
            let rule = policy.rule().clone();
            let there = Policy::new("there", rule, &everything, log.actions()).unwrap();
            for radius in [0.0, 0.001, 0.01, 0.1, 1.0, 9.0] {
                let within = Wasserstein.at(radius);
                let found = whole.worst_case(&policy, &values, within, settings).unwrap();
                let listed = grid.worst_case(&there, &all, within, settings).unwrap();
                let apart = (found.value() - listed.value()).abs();
                assert!(apart < 1e-12, "round {round}, {}, {radius}: {apart:e}", policy.name());
                assert!(found.gap() < 1e-9);
            }
        }
    }
}

/// 200 columns, and a model that asks about three of them.
#[test]
fn columns_that_nobody_asks_about_cost_nothing() {
    let mut random = Random(3);
    let (rows, columns) = (300, 200);
    let numbers: Vec<Vec<f64>> =
        (0..columns).map(|_| (0..rows).map(|_| random.unit()).collect()).collect();
    let costs: Vec<f64> = (0..rows)
        .map(|r| numbers[5][r] + 2.0 * f64::from(u8::from(numbers[150][r] > 0.8)))
        .collect();
    let actions: Vec<&str> = (0..rows).map(|k| ["a", "b"][k % 2]).collect();
    let features = (0..columns).map(|k| Feature::numeric(format!("x{k}")));
    let log = Log::from_rows(features, numbers, &actions, &costs, None, Direction::Cost).unwrap();
    let log = log.shared();
    let fitted = fitted(&log, &tree(3));
    let values = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
    let robust = fitted.robust(Support::Space).unwrap();
    let policy = Policy::uniform(&log);
    let worst =
        robust.worst_case(&policy, &values, Wasserstein.at(0.05), Settings::default()).unwrap();
    assert!(
        worst.gap() < 1e-9
            && worst.value()
                > robust.population().mean(&robust.values(&policy, &values).unwrap()).unwrap()
    );
    // Who moves, moves along columns that the model asks about.
    let space = worst.nominal().space();
    for step in worst.plan().iter().filter(|m| m.from != m.to) {
        let moved = (0..columns).filter(|&k| space.code(step.from, k) != space.code(step.to, k));
        assert!(moved.count() <= 6);
    }
    // Places beyond those observed count as such.
    let (weights, nominal) = (worst.weights(), worst.nominal().weights());
    let unseen: f64 = weights.iter().zip(nominal).filter(|(_, p)| **p == 0.0).map(|(q, _)| q).sum();
    assert!((unseen - worst.unobserved_mass()).abs() < 1e-12 && unseen > 0.0);
    assert_eq!(worst.marginal(150).unwrap().labels.len(), 10);
}

#[test]
fn what_is_not_made_of_steps_is_refused() {
    let mut random = Random(5);
    let space = Arc::new(grid(&mut random));
    let log = log_on(&space, 60, Direction::Cost, &mut random);
    let cells = {
        let options =
            FitOptions { unseen: seawall::outcome::Unseen::Mean, ..FitOptions::default() };
        let watch = Watch::NOBODY;
        Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, watch).unwrap()
    };
    let (settings, radius) = (Settings::default(), Wasserstein.at(0.1));
    let values = cells.values(Wasserstein.at(0.0), settings).unwrap();
    assert!(!values.are_everywhere());
    let robust = cells.robust(Support::Space).unwrap();
    let refused = robust.worst_case(&Policy::uniform(&log), &values, radius, settings).unwrap_err();
    assert!(refused.to_string().contains("expected a tree"), "{refused}");
    let fitted = fitted(&log, &tree(2));
    let values = fitted.values(Wasserstein.at(0.0), settings).unwrap();
    let robust = fitted.robust(Support::Space).unwrap();
    let behaviour = Policy::behaviour(&log);
    let refused = robust.worst_case(&behaviour, &values, radius, settings).unwrap_err();
    assert!(refused.to_string().contains("\"behaviour\""), "{refused}");
    let uniform = Policy::uniform(&log);
    let tv = TotalVariation.at(0.1);
    assert!(robust.worst_case(&uniform, &values, tv, settings).is_err());
    // Where nobody moves, the places observed are all that matters.
    let observed = fitted.robust(Support::Observed).unwrap();
    let kl =
        |r: &Robust| r.worst_case(&uniform, &values, Kl.at(0.1), settings.detail(Detail::Value));
    assert_eq!(kl(&robust).unwrap().value(), kl(&observed).unwrap().value());
}

/// What is learned on the whole of a grid is what is learned on the grid: groups and trees, with and
/// without a baseline, as costs and as rewards.
#[test]
fn learning_on_the_whole_of_a_grid_is_learning_on_the_grid() {
    let mut random = Random(23);
    for round in crate::common::cases(60).map(|k| k as usize) {
        let space = Arc::new(grid(&mut random));
        let direction = if round % 3 == 0 { Direction::Reward } else { Direction::Cost };
        let log = log_on(&space, 20 + random.below(60), direction, &mut random);
        let fitted = fitted(&log, &tree(1 + round % 3));
        let settings = Settings::default();
        let costs = Wasserstein.at(if round % 4 == 0 { 0.02 } else { 0.0 });
        let range = fitted.value_range(costs, settings).unwrap();
        let (all, whole) =
            (fitted.robust(Support::All).unwrap(), fitted.robust(Support::Space).unwrap());
        let within = Wasserstein.at([0.0, 0.02, 0.2][round % 3]);
        let baseline = (round % 2 == 1).then(|| Policy::uniform(&log));
        let against = baseline.as_ref();
        let listed = match against {
            None => Task::new(&log, &all, &range.worst, within).unwrap(),
            Some(policy) => Task::against(&log, &all, &range, within, policy).unwrap(),
        };
        let anywhere = WholeTask { log: &log, robust: &whole, range: &range, within, against };
        let name = space.names().next().unwrap();
        let asked = Groups::new(vec![Partition::of_levels(&space, name).unwrap()]);
        type Learner<'l> = &'l dyn Fn(&Task<'_>) -> seawall::Result<Learned>;
        let by_group: Learner<'_> = &|task| groups(task, &asked, settings);
        let by_tree: Learner<'_> = &|task| trees(task, Trees::new(1), settings);
        for (what, learner, tolerance) in [("groups", by_group, 1e-10), ("tree", by_tree, 1e-9)] {
            let (known, found) =
                (learner(&listed).unwrap(), anywhere.learn(learner, (tolerance, 60), settings));
            let found = found.unwrap().learned;
            let case = format!("round {round}, {what}: {known:?}\n{found:?}");
            assert!((known.value() - found.value()).abs() < 1e-8, "{case}");
            assert!(found.lower() <= known.upper() + 1e-9 && found.upper() >= known.lower() - 1e-9);
            // What is said of the policy is so.
            let worst = match against {
                None => whole.worst_case(found.policy(), &range.worst, within, settings).unwrap(),
                Some(base) => {
                    let (pair, set) = ((found.policy(), base), within.set);
                    let radii = [within.radius];
                    let found = whole.worst_difference(pair, &range, set, &radii, None, settings);
                    found.unwrap().0.pop().unwrap()
                }
            };
            assert!((worst.value() - found.value()).abs() < 1e-12, "{case}");
        }
    }
}

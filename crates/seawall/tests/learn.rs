//! Learning against brute force: joint linear programs for groups, every tree for trees.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Random, log, repeatable};
use proptest::prelude::*;
use seawall::evaluate::{Robust, Support};
use seawall::learn::{Budget, Groups, Learned, Task, Trees, groups, trees};
use seawall::outcome::Values;
use seawall::policy::{Partition, Policy};
use seawall::{
    Direction, Entropic, Entry, Feature, Kl, Log, Matrix, Settings, Space, Status, Wasserstein,
    Watch,
};
use std::sync::Arc;

/// A log and random values of every context and action, ties included.
fn problem(seed: u64) -> (Log, Values) {
    let log = log(seed);
    let r = &mut Random(seed ^ 7);
    let cells = log.contexts().len() * log.actions().len();
    let tied = r.chance(0.3);
    let values = (0..cells).map(|_| if tied { r.below(3) as f64 } else { 2.0 * r.unit() - 0.5 });
    let values = values_of(&log, values.collect());
    (log, values)
}

/// Values of every context and action of a log, a row per context.
fn values_of(log: &Log, cells: Vec<f64>) -> Values {
    let matrix = Matrix::new(log.contexts().len(), log.actions().len(), cells).unwrap();
    Values::new(log.contexts(), matrix).unwrap()
}

/// `min ελ + Σ p_i s_i` with `s_i ≥ Σ_a θ_{g(j),a} m(j, a) − λ c_ij`, θ in simplices with bounds,
/// shares of action 0 limited: nominally by a row, in the worst case by a dual of its own.
fn joint_program(
    log: &Log,
    values: &Values,
    group: &[usize],
    radius: f64,
    asked: &Groups,
) -> Option<f64> {
    let (space, actions) = (log.contexts(), log.actions().len());
    let population = log.population().unwrap();
    let sign = log.direction().sign();
    let count = 1 + group.iter().max().unwrap();
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
    let bound = |all: &[f64], a: usize, usual: f64| all.get(a).copied().unwrap_or(usual);
    let theta: Vec<Vec<_>> = (0..count)
        .map(|_| {
            (0..actions)
                .map(|a| lp.add_var(0.0, (bound(&asked.least, a, 0.0), bound(&asked.most, a, 1.0))))
                .collect()
        })
        .collect();
    for row in &theta {
        let mut sum = microlp::LinearExpr::empty();
        row.iter().for_each(|&t| sum.add(t, 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, 1.0);
    }
    let mut limits = vec![(None, 0.0)];
    limits.extend(asked.budgets.iter().map(|b| (Some(*b), b.most)));
    for (budget, most) in limits {
        if let Some(Budget { action, worst_case: false, .. }) = budget {
            let mut share = microlp::LinearExpr::empty();
            let mut by_group = vec![0.0; count];
            population.weights().iter().zip(group).for_each(|(p, &g)| by_group[g] += p);
            by_group.iter().enumerate().for_each(|(g, p)| share.add(theta[g][action], *p));
            lp.add_constraint(share, microlp::ComparisonOp::Le, most);
            continue;
        }
        let objective = if budget.is_none() { 1.0 } else { 0.0 };
        let price = lp.add_var(objective * radius, (0.0, f64::INFINITY));
        let mut total = microlp::LinearExpr::empty();
        total.add(price, radius);
        for (i, &p) in population.weights().iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let height = lp.add_var(objective * p, (f64::NEG_INFINITY, f64::INFINITY));
            total.add(height, p);
            for j in 0..space.len() {
                let cost = space.cost(i, j);
                if !cost.is_finite() {
                    continue;
                }
                let mut row = microlp::LinearExpr::empty();
                row.add(height, 1.0);
                row.add(price, cost);
                for (a, &t) in theta[group[j]].iter().enumerate() {
                    let m = match budget {
                        None => sign * values.at(j, a),
                        Some(b) => f64::from(u8::from(a == b.action)),
                    };
                    row.add(t, -m);
                }
                lp.add_constraint(row, microlp::ComparisonOp::Ge, 0.0);
            }
        }
        if budget.is_some() {
            lp.add_constraint(total, microlp::ComparisonOp::Le, most);
        }
    }
    Some(sign * lp.solve().ok()?.solution()?.objective())
}

/// Bounds in order, the policy's own worst case on the safe one, and the truth between them.
fn check(log: &Log, values: &Values, radius: f64, found: &Learned, truth: f64, what: &str) {
    let robust = Robust::new(log, Support::All).unwrap();
    let set = Wasserstein.at(radius);
    let own = robust
        .evaluate(found.policy(), values, Wasserstein, &[radius], None, Settings::default())
        .unwrap()
        .0[0]
        .value();
    assert!(
        (own - found.value()).abs() < 1e-9,
        "{what}: its worst case is {own}, not {}",
        found.value()
    );
    assert!(
        found.lower() - 1e-6 <= truth && truth <= found.upper() + 1e-6,
        "{what}: {truth} {found:?}"
    );
    assert!((found.value() - truth).abs() < 1e-6, "{what}: {truth} {found:?}");
    assert_eq!(found.status(), Status::Optimal, "{what}: gap {}", found.gap());
    let task = Task::new(log, &robust, values, set).unwrap();
    let floor = task.floor(Settings::default()).unwrap();
    let sign = log.direction().sign();
    let greedy = if sign > 0.0 { floor.upper } else { floor.lower };
    assert!(sign * greedy <= sign * found.value() + 1e-9, "{what}: nothing beats greedy");
}

proptest! {
    #![proptest_config(repeatable(60))]

    #[test]
    fn groups_equal_the_joint_linear_program(seed in any::<u64>()) {
        let (log, values) = problem(seed);
        let r = &mut Random(seed ^ 3);
        let by = match r.below(3) {
            0 => vec![],
            1 => vec![Partition::of_levels(log.contexts(), "site").unwrap()],
            _ => vec![
                Partition::of_levels(log.contexts(), "site").unwrap(),
                Partition::of_levels(log.contexts(), "age").unwrap(),
            ],
        };
        let mut asked = Groups::new(by);
        let actions = log.actions().len();
        if r.chance(0.3) {
            asked.least = vec![0.1; actions];
            asked.most = vec![0.75; actions];
        }
        if r.chance(0.4) {
            asked.budgets.push(Budget { action: 0, most: 0.2 + 0.3 * r.unit(), worst_case: false });
        }
        if r.chance(0.4) {
            asked.budgets.push(Budget { action: 1, most: 0.2 + 0.3 * r.unit(), worst_case: true });
        }
        let group = Partition::groups(&asked.by, log.contexts()).unwrap();
        let robust = Robust::new(&log, Support::All).unwrap();
        for radius in [0.0, 0.05, 0.4] {
            let set = Wasserstein.at(radius);
            let task = Task::new(&log, &robust, &values, set).unwrap();
            let truth = joint_program(&log, &values, &group, radius, &asked);
            let found = match (groups(&task, &asked, Settings::default()), truth) {
                (Err(error), None) => {
                    prop_assert!(error.to_string().contains("met"), "{error}");
                    continue;
                }
                (found, _) => found.unwrap(),
            };
            let truth = truth.unwrap();
            check(&log, &values, radius, &found, truth, &format!("radius {radius}, {asked:?}"));
        }
    }

    /// For smoothed and KL sets: no policy by group, of a fine lattice of them, is below the
    /// reported bound, and none is much better than the one learned.
    #[test]
    fn other_sets_are_bounded_too(seed in any::<u64>()) {
        let (log, values) = problem(seed);
        let by = vec![Partition::of_levels(log.contexts(), "site").unwrap()];
        let robust = Robust::new(&log, Support::All).unwrap();
        let sign = log.direction().sign();
        for set in [Kl.at(0.2), Entropic { eta: 5.0 }.at(0.1)] {
            let task = Task::new(&log, &robust, &values, set).unwrap();
            let asked = Groups { tolerance: 1e-7, ..Groups::new(by.clone()) };
            let found = groups(&task, &asked, Settings::default()).unwrap();
            prop_assert!(found.gap() <= 1e-5, "{set:?} {}", found.gap());
            let actions = log.actions().len();
            for k in 0..=20u32 {
                let row = |p: f64| -> Vec<f64> { (0..actions).map(|a| if a == 0 { p } else { (1.0 - p) / (actions - 1) as f64 }).collect() };
                let rows = [row(f64::from(k) / 20.0), row(f64::from(20 - k) / 20.0)];
                let group = Partition::groups(&by, log.contexts()).unwrap();
                let all: Vec<f64> = group.iter().flat_map(|&g| rows[g].clone()).collect();
                let all = Matrix::new(group.len(), actions, all).unwrap();
                let policy = Policy::table("p", log.contexts(), log.actions(), &all).unwrap();
                let own = robust.evaluate(&policy, &values, set.set, &[set.radius], None, Settings::default()).unwrap().0[0].value();
                let bound = if sign > 0.0 { found.lower() } else { found.upper() };
                prop_assert!(sign * own >= sign * bound - 1e-9, "{set:?}: {own} {bound}");
            }
        }
    }
}

/// A problem with three features for trees.
fn wide(seed: u64, rows: usize, levels: usize, actions: usize) -> (Log, Values) {
    let r = &mut Random(seed);
    let contexts = Space::grid([
        Feature::numeric("u").levels((0..levels).map(|k| k as f64)),
        Feature::nominal("v", (0..3).map(|k| format!("v{k}"))),
        Feature::ordinal("w", ["low", "high"]),
    ]);
    let contexts = Arc::new(contexts.unwrap());
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap());
    let mut entries: Vec<Entry> = Vec::new();
    for k in 0..rows.max(actions) {
        let context = r.below(contexts.len()) as u32;
        let action = if k < actions { k } else { r.below(actions) } as u32;
        entries.push(Entry {
            context,
            action,
            outcome: 0,
            propensity: f64::NAN,
            weight: 1.0,
            ..Entry::default()
        });
    }
    let names = (0..actions).map(|a| format!("a{a}")).collect();
    let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
    let cells = contexts.len() * actions;
    let values = (0..cells).map(|_| (8.0 * r.unit()).round() / 4.0).collect();
    let log = Log::new(contexts, names, outcomes, vec![0.0, 1.0], direction, entries).unwrap();
    let values = values_of(&log, values);
    (log, values)
}

/// Every tree of a depth as the action of each context.
fn every_tree(
    space: &Space,
    actions: usize,
    depth: usize,
    points: &[usize],
) -> Vec<Vec<(usize, usize)>> {
    let mut all: Vec<Vec<(usize, usize)>> =
        (0..actions).map(|a| points.iter().map(|&i| (i, a)).collect()).collect();
    if depth == 0 {
        return all;
    }
    for feature in 0..3 {
        let code = |i: usize| space.code(i, feature) as usize;
        for level in 0..space.levels(feature).len() {
            let holds = |i: usize| if feature == 1 { code(i) == level } else { code(i) <= level };
            let (left, right): (Vec<usize>, Vec<usize>) = points.iter().partition(|&&i| holds(i));
            if left.is_empty() || right.is_empty() {
                continue;
            }
            let rights = every_tree(space, actions, depth - 1, &right);
            for yes in every_tree(space, actions, depth - 1, &left) {
                for no in &rights {
                    all.push(yes.iter().chain(no).copied().collect());
                }
            }
        }
    }
    for tree in &mut all {
        tree.sort_unstable();
    }
    all.sort_unstable();
    all.dedup();
    all
}

proptest! {
    #![proptest_config(repeatable(25))]

    #[test]
    fn trees_equal_brute_force_over_all_trees(seed in any::<u64>()) {
        let depth = 1 + (seed % 2) as usize;
        let (log, values) = wide(seed, 12, 3, 2);
        let robust = Robust::new(&log, Support::All).unwrap();
        let points: Vec<usize> = (0..log.contexts().len()).collect();
        let all = every_tree(log.contexts(), 2, depth, &points);
        let sign = log.direction().sign();
        for radius in [0.0, 0.1, 0.5] {
            let set = Wasserstein.at(radius);
            let task = Task::new(&log, &robust, &values, set).unwrap();
            let found = trees(&task, Trees::new(depth), Settings::default()).unwrap();
            let value = |tree: &Vec<(usize, usize)>| {
                let row = |&(_, a): &(usize, usize)| [f64::from(u8::from(a == 0)), f64::from(u8::from(a == 1))];
                let probabilities: Vec<f64> = tree.iter().flat_map(row).collect();
                let probabilities = Matrix::new(tree.len(), 2, probabilities).unwrap();
                let policy = Policy::table("t", log.contexts(), log.actions(), &probabilities).unwrap();
                let found = robust.evaluate(&policy, &values, Wasserstein, &[radius], None, Settings::default());
                sign * found.unwrap().0[0].value()
            };
            let truth = sign * all.iter().map(value).fold(f64::INFINITY, f64::min);
            check(&log, &values, radius, &found, truth, &format!("depth {depth}, radius {radius}"));
            // The mixture is no worse than the best tree, and its bounds meet.
            let mixture = found.mixture().unwrap();
            prop_assert!(sign * mixture.value() <= sign * truth + 1e-7);
            prop_assert!(mixture.upper() - mixture.lower() <= 1e-7, "{mixture:?}");
            let total: f64 = mixture.parts().iter().map(|p| p.0).sum();
            prop_assert!((total - 1.0).abs() < 1e-9);
        }
    }

    /// The matrix game written out: all trees against the population, as one linear program.
    #[test]
    fn mixtures_equal_the_matrix_game(seed in any::<u64>()) {
        let (log, values) = wide(seed, 8, 2, 2);
        let points: Vec<usize> = (0..log.contexts().len()).collect();
        let all = every_tree(log.contexts(), 2, 1, &points);
        let (space, sign, radius) = (log.contexts(), log.direction().sign(), 0.2);
        let population = log.population().unwrap();
        let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
        let shares: Vec<_> = all.iter().map(|_| lp.add_var(0.0, (0.0, 1.0))).collect();
        let mut sum = microlp::LinearExpr::empty();
        shares.iter().for_each(|&s| sum.add(s, 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, 1.0);
        let price = lp.add_var(radius, (0.0, f64::INFINITY));
        for (i, &p) in population.weights().iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let height = lp.add_var(p, (f64::NEG_INFINITY, f64::INFINITY));
            for j in 0..space.len() {
                let mut row = microlp::LinearExpr::empty();
                row.add(height, 1.0);
                row.add(price, space.cost(i, j));
                shares.iter().zip(&all).for_each(|(&s, tree)| row.add(s, -sign * values.at(j, tree[j].1)));
                lp.add_constraint(row, microlp::ComparisonOp::Ge, 0.0);
            }
        }
        let truth = sign * lp.solve().unwrap().solution().unwrap().objective();
        let robust = Robust::new(&log, Support::All).unwrap();
        let task = Task::new(&log, &robust, &values, Wasserstein.at(radius)).unwrap();
        let found = trees(&task, Trees::new(1), Settings::default()).unwrap();
        let mixture = found.mixture().unwrap();
        prop_assert!((mixture.value() - truth).abs() < 1e-6, "{truth} {mixture:?}");
    }
}

/// At radius 0 a tree's worst case is its mean: the search against brute force on 500 rows.
#[test]
fn at_radius_zero_the_search_is_exact_with_three_actions() {
    for seed in 0..3 {
        let (log, values) = wide(seed, 500, 4, 3);
        let points: Vec<usize> = (0..log.contexts().len()).collect();
        let (population, sign) = (log.population().unwrap(), log.direction().sign());
        let mean = |tree: &Vec<(usize, usize)>| {
            tree.iter().map(|&(i, a)| population.weights()[i] * sign * values.at(i, a)).sum::<f64>()
        };
        let all = every_tree(log.contexts(), 3, 1, &points);
        let best = |depth: usize| {
            let robust = Robust::new(&log, Support::All).unwrap();
            let task = Task::new(&log, &robust, &values, Wasserstein.at(0.0)).unwrap();
            sign * trees(&task, Trees::new(depth), Settings::default()).unwrap().value()
        };
        let one = all.iter().map(mean).fold(f64::INFINITY, f64::min);
        assert!((best(1) - one).abs() < 1e-9, "{one}");
        // Depth 2: each root question, then the best depth-1 tree on either side.
        let mut two = one;
        for feature in 0..3 {
            for level in 0..log.contexts().levels(feature).len() {
                let code = |i: usize| log.contexts().code(i, feature) as usize;
                let holds =
                    |i: usize| if feature == 1 { code(i) == level } else { code(i) <= level };
                let (left, right): (Vec<usize>, Vec<usize>) =
                    points.iter().partition(|&&i| holds(i));
                let side = |points: &[usize]| {
                    every_tree(log.contexts(), 3, 1, points)
                        .iter()
                        .map(mean)
                        .fold(f64::INFINITY, f64::min)
                };
                if !left.is_empty() && !right.is_empty() {
                    two = two.min(side(&left) + side(&right));
                }
            }
        }
        assert!((best(2) - two).abs() < 1e-9, "{two} {}", best(2));
        assert!(best(3) <= two + 1e-9);
    }
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let (log, values) = problem(1);
    let robust = Robust::new(&log, Support::All).unwrap();
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.1)).unwrap();
    let settings = Settings::default();
    for depth in [0, 9] {
        let error = trees(&task, Trees::new(depth), settings).unwrap_err().to_string();
        assert!(error.contains(&format!("depth {depth}")), "{error}");
    }
    assert!(Partition::of_levels(log.contexts(), "agee").unwrap_err().to_string().contains("age"));
    let actions = log.actions().len();
    let asked = Groups { least: vec![0.6; actions], ..Groups::new(Vec::new()) };
    assert!(groups(&task, &asked, settings).unwrap_err().to_string().contains("above 1"));
    let budget = Budget { action: 0, most: 0.05, worst_case: false };
    let asked =
        Groups { least: vec![0.1; actions], budgets: vec![budget], ..Groups::new(Vec::new()) };
    let error = groups(&task, &asked, settings).unwrap_err().to_string();
    assert!(error.contains("\"a0\"") && error.contains("cannot be met"), "{error}");
    let stopped = settings.watched(Watch::new(&|_| false));
    let found = trees(&task, Trees::new(2), stopped).unwrap();
    assert!(found.lower() <= found.upper());
}

/// The unit of the costs changes nothing: values, bounds and status scale with it.
#[test]
fn certificates_do_not_depend_on_the_unit_of_cost() {
    let (log, values) = problem(5);
    let robust = Robust::new(&log, Support::All).unwrap();
    let by = vec![Partition::of_levels(log.contexts(), "site").unwrap()];
    let settings = Settings::default();
    let ask = |factor: f64| {
        let all = values.matrix().cells().iter().map(|v| v * factor);
        let scaled = values_of(&log, all.collect());
        let task = Task::new(&log, &robust, &scaled, Wasserstein.at(0.1)).unwrap();
        let group = groups(&task, &Groups::new(by.clone()), settings).unwrap();
        let tree = trees(&task, Trees::new(2), settings).unwrap();
        [group, tree].map(|l| (l.value() / factor, l.lower() / factor, l.status()))
    };
    let plain = ask(1.0);
    for factor in [1e-9, 1e-5, 1e5, 1e10, 1e13] {
        for (found, expected) in ask(factor).iter().zip(&plain) {
            assert!((found.0 - expected.0).abs() < 1e-8, "{factor}: {found:?} {expected:?}");
            assert!((found.1 - expected.1).abs() < 1e-8, "{factor}: {found:?} {expected:?}");
            assert_eq!(found.2, Status::Optimal, "{factor}");
        }
    }
}

/// A leaf of exactly the least share is allowed, however the shares round.
#[test]
fn leaves_of_exactly_the_least_share_are_allowed() {
    for (count, right, share) in
        [(20, 6, 0.3), (5, 2, 0.4), (12, 6, 0.5), (40, 10, 0.25), (30, 3, 0.1)]
    {
        let contexts =
            Space::grid([Feature::numeric("x").levels((0..count).map(f64::from))]).unwrap();
        let outcomes = Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap();
        let entry = |k: i32| Entry {
            context: k as u32,
            action: (k % 2) as u32,
            outcome: 0,
            propensity: f64::NAN,
            weight: 1.0,
            ..Entry::default()
        };
        let entries = (0..count).map(entry).collect();
        let actions = vec!["p".to_owned(), "q".to_owned()];
        let log = Log::new(
            Arc::new(contexts),
            actions,
            Arc::new(outcomes),
            vec![0.0, 1.0],
            Direction::Cost,
            entries,
        )
        .unwrap();
        // Action p is right below, q above.
        let cost = |a: i32, x: i32| f64::from(u8::from((x >= count - right) == (a == 0)));
        let values = (0..count).flat_map(|x| (0..2).map(move |a| cost(a, x))).collect();
        let values = values_of(&log, values);
        let robust = Robust::new(&log, Support::All).unwrap();
        let task = Task::new(&log, &robust, &values, Wasserstein.at(0.0)).unwrap();
        for depth in 1..=2 {
            let asked = Trees { least_share: share, ..Trees::new(depth) };
            let found = trees(&task, asked, Settings::default()).unwrap();
            assert!(found.value().abs() < 1e-12, "{count} {right} {share}: {}", found.value());
        }
    }
}

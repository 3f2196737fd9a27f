//! What is known of the target in the two steps and in learning, against linear programs and brute force.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Case, Random, coupling_program as program, log};
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support, ValueRange};
use seawall::learn::{Groups, Learned, Task, Trees, greedy, groups, trees};
use seawall::outcome::{Recipe, Values};
use seawall::policy::{Partition, Policy};
use seawall::{
    Couplings, Direction, Entry, Fact, Feature, Kind, Known, Log, Matrix, Population, Quantity,
    Settings, Shift, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;

const NO_RADIUS: f64 = f64::INFINITY;

fn loosened(fact: Fact, r: &mut Random) -> Fact {
    if r.chance(0.3) { fact.give_or_take(0.1 * r.unit()) } else { fact }
}

/// A log that has rows at some contexts of its grid only.
fn sparse_log() -> Log {
    let contexts = Space::grid([
        Feature::numeric("age").levels([40.0, 60.0, 80.0]),
        Feature::nominal("site", ["a", "b", "c"]),
    ]);
    let outcomes = Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap();
    let at = [(0, 0, 3.0), (1, 1, 2.0), (3, 0, 1.0), (4, 1, 4.0), (7, 0, 2.0), (3, 1, 1.0)];
    let entry = |&(context, action, weight): &(u32, u32, f64)| Entry {
        context,
        action,
        outcome: 0,
        propensity: f64::NAN,
        weight,
        ..Entry::default()
    };
    let entries = at.iter().map(entry).collect();
    let names = vec!["no".to_owned(), "yes".to_owned()];
    Log::new(
        Arc::new(contexts.unwrap()),
        names,
        Arc::new(outcomes),
        vec![0.0, 1.0],
        Direction::Cost,
        entries,
    )
    .unwrap()
}

#[test]
fn what_is_known_is_told_of_the_grid_or_of_the_observed() {
    let log = sparse_log();
    let r = &mut Random(3);
    // Nobody was seen at (80, a), where it is worst.
    let cells = (0..18).map(|k| if k / 2 == 6 { 5.0 } else { r.unit() }).collect();
    let cells = Matrix::new(9, 2, cells).unwrap();
    let values = Values::new(log.contexts(), cells).unwrap();
    let policy = Policy::constant(&log, "yes").unwrap();
    let share = |level, value| Fact::exact(1, Quantity::Share(level), value);
    let facts =
        vec![Fact::exact(0, Quantity::Mean, 60.0), share(0, 0.4), share(1, 0.6), share(2, 0.0)];
    let known = Known::new(log.contexts().clone(), facts.clone()).unwrap();
    let mut means = Vec::new();
    for support in [Support::All, Support::Observed] {
        let plain = Robust::new(&log, support).unwrap();
        let points = plain.points().to_vec();
        let robust = plain.knowing(&known).unwrap();
        let case = Case {
            population: robust.population().clone(),
            values: points.iter().map(|&i| values.at(i, 1)).collect(),
        };
        let own = known.on(robust.population().space()).unwrap();
        for radius in [NO_RADIUS, 0.5] {
            let worst = robust
                .worst_case(&policy, &values, Couplings.at(radius), Settings::default())
                .unwrap();
            let truth = program(&case, &own, radius, 1.0, false).unwrap();
            assert!((worst.value() - truth).abs() < 1e-9, "{support} {radius}");
            means.push(worst.value());
        }
    }
    assert!(means[0] > means[2] + 1e-6, "{means:?}: more places, worse cases");
    // Nobody was seen at site c: on the observed contexts no population has a share there.
    let there = vec![share(0, 0.4), share(1, 0.4), share(2, 0.2)];
    let known = Known::new(log.contexts().clone(), there).unwrap();
    let within = Couplings.at(NO_RADIUS);
    let robust = Robust::new(&log, Support::All).unwrap().knowing(&known).unwrap();
    robust.worst_case(&policy, &values, within, Settings::default()).unwrap();
    let robust = Robust::new(&log, Support::Observed).unwrap().knowing(&known);
    let error = robust
        .and_then(|robust| robust.worst_case(&policy, &values, within, Settings::default()))
        .unwrap_err();
    let words = error.to_string();
    assert!(words.contains("\"site\"") && words.contains("no points"), "{words}");
}

/// `min λε + Σ_j (high_j ν_j⁺ − low_j ν_j⁻) + Σ_i p_i s_i`, `s_i ≥ Σ_a θ_{g(z),a} m(z, a) − λ c_iz − Σ_j ν_j φ_j(z)`,
/// θ in simplices: the best policy by group and its worst case at once.
fn joint(
    log: &Log,
    known: &Known,
    group: &[usize],
    cost: impl Fn(usize, usize) -> f64,
    radius: f64,
) -> f64 {
    let (space, actions) = (log.contexts(), log.actions().len());
    let population = log.population().unwrap();
    let free = (f64::NEG_INFINITY, f64::INFINITY);
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
    let mut theta = Vec::new();
    for _ in 0..=*group.iter().max().unwrap() {
        let row: Vec<_> = (0..actions).map(|_| lp.add_var(0.0, (0.0, 1.0))).collect();
        let mut sum = microlp::LinearExpr::empty();
        row.iter().for_each(|&t| sum.add(t, 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, 1.0);
        theta.push(row);
    }
    let prices: Vec<_> = known
        .facts()
        .iter()
        .map(|fact| {
            let (low, high) = fact.range();
            (lp.add_var(high, (0.0, f64::INFINITY)), lp.add_var(-low, (0.0, f64::INFINITY)))
        })
        .collect();
    let lambda = radius.is_finite().then(|| lp.add_var(radius, (0.0, f64::INFINITY)));
    let sources: Vec<(usize, f64)> = match lambda {
        None => vec![(0, 1.0)],
        Some(_) => population.weights().iter().copied().enumerate().filter(|s| s.1 > 0.0).collect(),
    };
    for (i, mass) in sources {
        let height = lp.add_var(mass, free);
        for (z, &g) in group.iter().enumerate() {
            let mut row = microlp::LinearExpr::empty();
            row.add(height, 1.0);
            if let Some(lambda) = lambda {
                row.add(lambda, space.cost(i, z));
            }
            for (fact, (up, down)) in known.facts().iter().zip(&prices) {
                row.add(*up, fact.at(space, z));
                row.add(*down, -fact.at(space, z));
            }
            theta[g].iter().enumerate().for_each(|(a, &t)| row.add(t, -cost(z, a)));
            lp.add_constraint(row, microlp::ComparisonOp::Ge, 0.0);
        }
    }
    lp.solve().unwrap().solution().unwrap().objective()
}

/// Every tree of one question about a level, and every policy that asks none.
fn every_stump(log: &Log) -> Vec<Policy> {
    let (space, actions) = (log.contexts(), log.actions().len());
    let mut all: Vec<Vec<usize>> = (0..actions).map(|a| vec![a; space.len()]).collect();
    for k in 0..space.names().len() {
        for level in 0..space.levels(k).len() {
            let holds = |i: usize| {
                if space.kind(k) == Kind::Numeric {
                    space.code(i, k) <= level as f64
                } else {
                    space.code(i, k) == level as f64
                }
            };
            for (yes, no) in (0..actions * actions).map(|p| (p / actions, p % actions)) {
                all.push((0..space.len()).map(|i| if holds(i) { yes } else { no }).collect());
            }
        }
    }
    let policy = |chosen: &Vec<usize>| {
        let row =
            |a: &usize| (0..actions).map(|b| f64::from(u8::from(*a == b))).collect::<Vec<_>>();
        let cells =
            Matrix::new(space.len(), actions, chosen.iter().flat_map(row).collect()).unwrap();
        Policy::table("stump", space, log.actions(), &cells).unwrap()
    };
    all.iter().map(policy).collect()
}

fn mixed_policy(log: &Log, r: &mut Random) -> Policy {
    let (contexts, actions) = (log.contexts().len(), log.actions().len());
    let mut cells = Vec::new();
    for _ in 0..contexts {
        let row: Vec<f64> = (0..actions).map(|_| r.unit() + 1e-3).collect();
        let total: f64 = row.iter().sum();
        cells.extend(row.iter().map(|p| p / total));
    }
    let cells = Matrix::new(contexts, actions, cells).unwrap();
    Policy::table("base", log.contexts(), log.actions(), &cells).unwrap()
}

/// Learned is what brute force finds, within bounds, and optimal.
fn agrees(found: &Learned, truth: f64, what: &str) {
    assert!((found.value() - truth).abs() < 1e-7, "{what}: {truth} {found:?}");
    assert!(
        found.lower() - 1e-7 <= truth && truth <= found.upper() + 1e-7,
        "{what}: {truth} {found:?}"
    );
    assert_eq!(found.status(), Status::Optimal, "{what}: {found:?}");
}

/// Groups against one joint linear program, trees against every tree, the greedy policy against the
/// program of the least costs; with a radius and without, with a baseline and without.
#[test]
fn learned_policies_equal_brute_force() {
    for seed in crate::common::cases(40) {
        let log = log(seed);
        let r = &mut Random(seed ^ 0x1EA);
        let (space, sign) = (log.contexts(), log.direction().sign());
        let weights = (0..space.len()).map(|_| r.unit()).collect();
        let target = Population::from_weights(space.clone(), weights).unwrap();
        let margins = Known::margins_of(&target).unwrap();
        let facts = margins.facts().iter().map(|fact| loosened(*fact, r)).collect();
        let known = if r.chance(0.5) { margins } else { Known::new(space.clone(), facts).unwrap() };
        let population = log.population().unwrap();
        let case = Case { population, values: vec![0.0; space.len()] };
        let least = -program(&case, &known, NO_RADIUS, 1.0, true).unwrap();
        let robust = Robust::new(&log, Support::All).unwrap().knowing(&known).unwrap();
        let owned = Arc::new(log.clone());
        let fitted = Evaluator::new(
            &owned,
            &Recipe::Cells,
            &Propensity::Cells,
            FitOptions::default(),
            Watch::NOBODY,
        )
        .unwrap();
        let range = fitted.value_range(Wasserstein.at(0.0), Settings::default()).unwrap();
        let base = mixed_policy(&log, r);
        let by = match seed % 3 {
            0 => vec![],
            1 => vec![Partition::of_levels(space, "site").unwrap()],
            _ => vec![Partition::of_levels(space, "age").unwrap()],
        };
        let group = Partition::groups(&by, space).unwrap();
        let alone = |z: usize, a: usize| sign * range.worst.at(z, a);
        let beside = |z: usize, a: usize| {
            let of_base: f64 = base.row(z).iter().enumerate().map(|(b, p)| p * alone(z, b)).sum();
            alone(z, a) - of_base
        };
        for radius in [NO_RADIUS, 1.1 * least + 0.02] {
            let within = Couplings.at(radius);
            for against in [None, Some(&base)] {
                let what = format!("{seed}, radius {radius}, baseline {}", against.is_some());
                let cost =
                    |z: usize, a: usize| if against.is_some() { beside(z, a) } else { alone(z, a) };
                let task = match against {
                    None => Task::new(&log, &robust, &range.worst, within).unwrap(),
                    Some(base) => Task::against(&log, &robust, &range, within, base).unwrap(),
                };
                let found = groups(&task, &Groups::new(by.clone()), Settings::default()).unwrap();
                agrees(
                    &found,
                    sign * joint(&log, &known, &group, cost, radius),
                    &format!("groups {what}"),
                );
                let own = own_value(&robust, &range, found.policy(), against, within);
                assert!((own - found.value()).abs() < 1e-9, "{what}: {own} {found:?}");
                let found = trees(&task, Trees::new(1), Settings::default()).unwrap();
                let stumps = every_stump(&log);
                let values =
                    stumps.iter().map(|p| sign * own_value(&robust, &range, p, against, within));
                let best = values.fold(f64::INFINITY, f64::min);
                agrees(&found, sign * best, &format!("trees {what}"));
                let mixture = found.mixture().unwrap();
                assert!(
                    sign * mixture.value() <= best + 1e-8
                        && mixture.upper() - mixture.lower() < 1e-8
                );
                let cheapest = (0..space.len()).map(|z| {
                    (0..log.actions().len()).map(|a| cost(z, a)).fold(f64::INFINITY, f64::min)
                });
                let least =
                    Case { population: case.population.clone(), values: cheapest.collect() };
                let truth = program(&least, &known, radius, 1.0, false).unwrap();
                agrees(
                    &greedy(&task, Settings::default()).unwrap(),
                    sign * truth,
                    &format!("greedy {what}"),
                );
            }
        }
    }
}

fn own_value(
    robust: &Robust,
    range: &ValueRange,
    policy: &Policy,
    against: Option<&Policy>,
    within: Shift,
) -> f64 {
    let (set, radii, settings) = (within.set, [within.radius], Settings::default());
    match against {
        None => {
            robust.evaluate(policy, &range.worst, set, &radii, None, settings).unwrap().0[0].value()
        }
        Some(base) => {
            let pair = (policy, base);
            robust.worst_difference(pair, range, set, &radii, None, settings).unwrap().0[0].value()
        }
    }
}

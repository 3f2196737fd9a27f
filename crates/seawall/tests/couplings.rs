//! The worst case given what is known of the target, against linear programs written out.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Case, Random, case, log};
use seawall::evaluate::{FitOptions, Fitted, Propensity, Robust, Support, ValueRange};
use seawall::learn::{Groups, Learned, Task, Trees, greedy, groups, trees};
use seawall::outcome::Recipe;
use seawall::policy::{Partition, Policy};
use seawall::{
    Ambiguity, Couplings, Direction, Entry, Fact, Feature, Geometry, Kind, Known, Log, Matrix,
    Population, Problem, Quantity, Settings, Space, Status, Wasserstein, Watch,
};
use std::sync::Arc;

const NO_RADIUS: f64 = f64::INFINITY;

/// A population on the points of a case, some of them empty.
fn target(case: &Case, r: &mut Random) -> Population {
    let space = case.population.space().clone();
    let mut weights: Vec<f64> =
        (0..space.len()).map(|_| if r.chance(0.4) { 0.0 } else { r.unit() }).collect();
    weights[r.below(space.len())] = 1.0;
    Population::from_weights(space, weights).unwrap()
}

/// Some of what is so of a population: shares of some levels or all, means, exact or within a range;
/// and now and then a limit on a column.
fn known_of(target: &Population, r: &mut Random) -> Known {
    let space = target.space();
    let mut facts = Vec::new();
    let few = r.chance(0.3);
    for k in 0..space.names().len() {
        if few && r.chance(0.5) {
            continue;
        }
        let every = r.chance(0.6);
        for level in 0..space.levels(k).len() {
            if every || r.chance(0.5) {
                let is = |i: &usize| space.code(*i, k) == level as f64;
                let share: f64 = (0..space.len()).filter(is).map(|i| target.weights()[i]).sum();
                facts.push(loosened(Fact::exact(k, Quantity::Share(level), share.min(1.0)), r));
            }
        }
        let numbers = (0..space.len()).filter_map(|i| Some((space.number_at(i, k)?, i)));
        let there = numbers.filter(|(_, i)| target.weights()[*i] > 0.0);
        let there: Vec<(f64, f64)> = there.map(|(x, i)| (x, target.weights()[i])).collect();
        if space.kind(k) == Kind::Numeric && !there.is_empty() && r.chance(0.7) {
            let mass: f64 = there.iter().map(|t| t.1).sum();
            let mean = there.iter().map(|t| t.0 * t.1).sum::<f64>() / mass;
            let ends = |(l, h): (f64, f64), t: &(f64, f64)| (l.min(t.0), h.max(t.0));
            let (low, high) = there.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
            facts.push(loosened(Fact::exact(k, Quantity::Mean, mean.clamp(low, high)), r));
        }
    }
    let known = Known::new(space.clone(), facts).unwrap();
    match r.chance(0.2) {
        true => known.moving_at_most(r.below(space.names().len()), 0.4 * r.unit()).unwrap(),
        false => known,
    }
}

fn loosened(fact: Fact, r: &mut Random) -> Fact {
    if r.chance(0.3) { fact.give_or_take(0.1 * r.unit()) } else { fact }
}

/// What a linear program says: the largest mean, or minus the least cost; None if nothing is feasible.
fn program(case: &Case, known: &Known, radius: f64, sign: f64, cheapest: bool) -> Option<f64> {
    let (space, n) = (case.space(), case.space().len());
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Maximize);
    let mut columns = Vec::new();
    let free = radius == NO_RADIUS && known.limits().is_empty() && !cheapest;
    let sources: Vec<usize> = match free {
        true => vec![0],
        false => (0..n).filter(|&i| case.weights()[i] > 0.0).collect(),
    };
    for i in sources {
        let mut all = microlp::LinearExpr::empty();
        for z in 0..n {
            let cost = if free { 0.0 } else { space.cost(i, z) };
            if cost.is_finite() {
                let gain = if cheapest { -cost } else { sign * case.values[z] };
                let mass = lp.add_var(gain, (0.0, f64::INFINITY));
                all.add(mass, 1.0);
                columns.push((mass, i, z, cost));
            }
        }
        let mass = if free { 1.0 } else { case.weights()[i] };
        lp.add_constraint(all, microlp::ComparisonOp::Eq, mass);
    }
    let mut row = |of: &dyn Fn(usize, usize, f64) -> f64, low: f64, high: f64| {
        let sum = || {
            let mut sum = microlp::LinearExpr::empty();
            columns.iter().for_each(|&(mass, i, z, cost)| sum.add(mass, of(i, z, cost)));
            sum
        };
        if low == high {
            lp.add_constraint(sum(), microlp::ComparisonOp::Eq, low);
            return;
        }
        if low.is_finite() {
            lp.add_constraint(sum(), microlp::ComparisonOp::Ge, low);
        }
        if high.is_finite() {
            lp.add_constraint(sum(), microlp::ComparisonOp::Le, high);
        }
    };
    if radius.is_finite() && !cheapest {
        row(&|_, _, cost| cost, f64::NEG_INFINITY, radius);
    }
    for &(k, limit) in known.limits() {
        row(&|i, z, _| space.feature_cost(k, i, z), f64::NEG_INFINITY, limit);
    }
    for (at, fact) in known.facts().iter().enumerate() {
        // The last of all of a column's shares follows from the others, but for rounding.
        let of = known.of(fact.feature);
        let shares = || of.iter().filter(|f| f.quantity != Quantity::Mean);
        let every = shares().count() == space.levels(fact.feature).len();
        let last = shares().next_back() == Some(fact) && at > 0;
        if every && last && shares().all(Fact::is_exact) {
            continue;
        }
        match fact.quantity {
            Quantity::Share(_) => row(&|_, z, _| fact.at(space, z), fact.low, fact.high),
            Quantity::Mean => {
                let above = |z, end: f64| space.number_at(z, fact.feature).map_or(0.0, |x| x - end);
                if fact.is_exact() {
                    row(&|_, z, _| above(z, fact.value), 0.0, 0.0);
                } else {
                    row(&|_, z, _| above(z, fact.low), 0.0, f64::INFINITY);
                    row(&|_, z, _| above(z, fact.high), f64::NEG_INFINITY, 0.0);
                }
            }
        }
    }
    match lp.solve() {
        Ok(found) => Some(found.solution().unwrap().objective()),
        Err(microlp::Error::Infeasible) => None,
        Err(error) => {
            println!("the linear program has no answer: {error}");
            Some(f64::NAN)
        }
    }
}

fn geometry(case: &Case, known: &Known) -> Arc<Geometry> {
    Geometry::new(&case.population).knowing(Arc::new(known.clone())).unwrap().shared()
}

#[test]
fn equal_to_a_linear_program_with_certified_bounds() {
    let (mut solved, mut refused) = (0, 0);
    for seed in 0..400 {
        let case = case(seed);
        let r = &mut Random(seed ^ 0xC0);
        let target = if r.chance(0.3) { case.population.clone() } else { target(&case, r) };
        let known = known_of(&target, r);
        let geometry = geometry(&case, &known);
        let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
        let problem = Problem::on(&geometry, &case.values).unwrap().direction(direction);
        let mut solver = Couplings.solver(&problem, Settings::default()).unwrap();
        let scale = case.scale().max(0.1);
        for radius in [NO_RADIUS, 0.05 * scale, 0.4 * scale * r.unit(), scale] {
            let truth = program(&case, &known, radius, direction.sign(), false);
            let worst = match (solver.worst_case(radius), truth) {
                (Ok(worst), Some(_)) => worst,
                (Err(error), None) => {
                    assert!(!error.is_numeric() && !error.is_internal(), "{seed}: {error}");
                    refused += 1;
                    continue;
                }
                (_, Some(truth)) if truth.is_nan() => continue,
                (found, truth) => panic!("{seed} {radius}: {found:?} but {truth:?}"),
            };
            let truth = direction.sign() * truth.unwrap();
            if truth.is_nan() {
                continue;
            }
            let (lower, upper) = (worst.lower(), worst.upper());
            let size = case.values.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            assert!(
                lower - 1e-9 <= truth && truth <= upper + 1e-9,
                "{seed} {radius}: {lower} {truth} {upper}"
            );
            assert!(worst.gap() <= 1e-9 * size, "{seed} {radius}: {lower} to {upper}, {truth}");
            assert_eq!(worst.status(), Status::Optimal, "{seed}");
            let weights = worst.weights();
            let found = Population::from_weights(case.population.space().clone(), weights).unwrap();
            // A mean among those who have a value says nothing where nobody has one.
            let anyone = |k: usize| {
                let space = case.space();
                (0..space.len())
                    .any(|i| found.weights()[i] > 1e-6 && space.number_at(i, k).is_some())
            };
            let empty = |f: &Fact| f.quantity == Quantity::Mean && !anyone(f.feature);
            if !known.facts().iter().any(empty) {
                assert!(known.holds_for(&found, 1e-9).unwrap(), "{seed} {radius}");
            }
            let mean: f64 = found.weights().iter().zip(&case.values).map(|(q, f)| q * f).sum();
            let attained = if direction == Direction::Cost { lower } else { upper };
            assert!((mean - attained).abs() < 1e-9, "{seed} {radius}: {mean} {attained}");
            if radius.is_finite() {
                let spent: f64 = worst.plan().iter().map(|m| m.mass * m.cost).sum();
                assert!(spent <= radius * (1.0 + 1e-9) + 1e-9, "{seed} {radius}: {spent}");
            }
            solved += 1;
        }
    }
    println!("{solved} solved, {refused} refused");
    assert!(solved > 900 && refused > 50, "{solved} {refused}");
}

#[test]
fn all_margins_of_one_column_leave_a_number() {
    let space = Arc::new(Space::grid([Feature::nominal("x", ["a", "b", "c", "d"])]).unwrap());
    let seen = Population::from_counts(space.clone(), &[4, 3, 2, 1]).unwrap();
    let other = Population::from_counts(space, &[1, 0, 2, 7]).unwrap();
    let known = Arc::new(Known::margins_of(&other).unwrap());
    let geometry = Geometry::new(&seen).knowing(known).unwrap().shared();
    let values = [0.3, 0.9, 0.1, 0.7];
    let truth: f64 = other.weights().iter().zip(&values).map(|(q, f)| q * f).sum();
    for direction in [Direction::Cost, Direction::Reward] {
        let problem = Problem::on(&geometry, &values).unwrap().direction(direction);
        let worst = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap();
        assert!((worst.lower() - truth).abs() < 1e-12 && (worst.upper() - truth).abs() < 1e-12);
    }
}

#[test]
fn the_least_radius_is_offered_and_works_when_typed_back() {
    let (mut offered, mut seed) = (0, 1000);
    while offered < 20 && seed < 1400 {
        seed += 1;
        let case = case(seed);
        let r = &mut Random(seed ^ 0xC0);
        let known = known_of(&target(&case, r), r);
        let least = program(&case, &known, NO_RADIUS, 1.0, true).filter(|least| !least.is_nan());
        let Some(least) = least.map(|cost| -cost).filter(|least| *least > 1e-4) else { continue };
        let geometry = geometry(&case, &known);
        let problem = Problem::on(&geometry, &case.values).unwrap();
        let mut solver = Couplings.solver(&problem, Settings::default()).unwrap();
        let error = solver.worst_case(0.5 * least).unwrap_err();
        assert_eq!(error.about(), Some(seawall::Field::Radius), "{seed}: {error}");
        let words = error.to_string();
        let typed: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(typed >= least - 1e-9 && typed <= least * 1.002, "{seed}: {typed} {least}");
        solver.worst_case(typed).unwrap();
        solver.worst_case(0.999 * least).unwrap_err();
        offered += 1;
    }
    assert!(offered >= 20, "{offered}");
}

#[test]
fn the_curve_equals_solves_at_many_radii() {
    let (mut curves, mut late, mut bent) = (0, 0, 0);
    for seed in 0..200 {
        let case = case(seed);
        let r = &mut Random(seed ^ 0xC1);
        let target = if r.chance(0.3) { case.population.clone() } else { target(&case, r) };
        let known = known_of(&target, r);
        let geometry = geometry(&case, &known);
        let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
        let problem = Problem::on(&geometry, &case.values).unwrap().direction(direction);
        let mut solver = Couplings.solver(&problem, Settings::default()).unwrap();
        let least = program(&case, &known, NO_RADIUS, 1.0, true).map(|least| -least);
        let curve = match (solver.curve(0.0), least) {
            (Err(error), None) => {
                assert!(!error.is_numeric() && !error.is_internal(), "{seed}: {error}");
                assert!(solver.value_at_zero().is_nan(), "{seed}");
                continue;
            }
            (curve, _) => curve.unwrap_or_else(|error| panic!("{seed} {least:?}: {error}")),
        };
        let least = least.unwrap();
        if least.is_nan() {
            continue;
        }
        curves += 1;
        let sign = direction.sign();
        let vertices = curve.vertices();
        let (first, last) = (vertices[0], vertices[vertices.len() - 1]);
        assert!((first.radius - least).abs() < 1e-8, "{seed}: {} {least}", first.radius);
        assert!(curve.error() == 0.0, "{seed}: {}", curve.error());
        if first.radius > 1e-6 {
            late += 1;
            assert!(curve.at(0.5 * first.radius).value.is_nan(), "{seed}");
            assert!(solver.value_at_zero().is_nan(), "{seed}: nothing is at 0");
            solver.worst_case(0.99 * first.radius).unwrap_err();
        } else {
            assert!((solver.value_at_zero() - first.value).abs() < 1e-8, "{seed}");
        }
        bent += usize::from(vertices.len() > 2);
        // Rising and concave.
        let rise = |a: usize| sign * (vertices[a + 1].value - vertices[a].value);
        let slope = |a: usize| rise(a) / (vertices[a + 1].radius - vertices[a].radius);
        assert!((1..vertices.len()).all(|a| rise(a - 1) > -1e-12), "{seed}: {vertices:?}");
        let size = case.values.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let bends = |a: usize| slope(a) <= slope(a - 1) * (1.0 + 1e-6) + 1e-6 * size;
        assert!((2..vertices.len()).all(|a| bends(a - 1)), "{seed}: {vertices:?}");
        // Solves know nothing of the curve.
        let mut radii: Vec<f64> =
            vertices.windows(2).map(|v| 0.5 * (v[0].radius + v[1].radius)).collect();
        radii.truncate(6);
        let across = last.radius - first.radius;
        radii.extend((0..6).map(|k| first.radius + across * (f64::from(k) + 0.01) / 5.0));
        for radius in radii {
            let (at, worst) =
                (curve.at(radius + 1e-10), solver.worst_case(radius + 1e-10).unwrap());
            assert!(
                (at.value - worst.value()).abs() < 1e-7 * size,
                "{seed} {radius}: {at:?} {} {vertices:?}",
                worst.value()
            );
            assert!(
                at.lower <= worst.upper() + 1e-7 * size && worst.lower() <= at.upper + 1e-7 * size
            );
        }
        // The end is the least radius beyond which nothing gets worse.
        let far = solver.worst_case(10.0 * case.scale() + 1.0).unwrap().value();
        assert!((last.value - far).abs() < 1e-9 * size, "{seed}: {} {far}", last.value);
        if vertices.len() > 1 {
            let before = curve.at(last.radius - 1e-3 * across).value;
            assert!(sign * before < sign * far, "{seed}: {vertices:?}");
        }
        let none = solver.worst_case(NO_RADIUS).unwrap().value();
        assert!(sign * none > sign * far - 1e-9 * size, "{seed}: {none} {far}");
        if !known.limits().is_empty() || !has_walls(&case) {
            assert!((none - far).abs() < 1e-9 * size, "{seed}: {none} {far}");
        }
    }
    println!("{curves} curves, {late} that begin later, {bent} with corners");
    assert!(curves > 100 && late > 30 && bent > 30, "{curves} {late} {bent}");
}

/// Whether somebody cannot go somewhere.
fn has_walls(case: &Case) -> bool {
    let n = case.space().len();
    (0..n).any(|i| (0..n).any(|j| case.space().cost(i, j).is_infinite()))
}

#[test]
fn rising_and_concave_in_the_radius() {
    let mut checked = 0;
    for seed in 2000..2060 {
        let case = case(seed);
        let r = &mut Random(seed ^ 0xC2);
        let known = known_of(&target(&case, r), r);
        let geometry = geometry(&case, &known);
        let problem = Problem::on(&geometry, &case.values).unwrap();
        let mut solver = Couplings.solver(&problem, Settings::default()).unwrap();
        let step = 0.1 * case.scale().max(0.1);
        let values: Vec<f64> = (0..=10)
            .filter_map(|k| solver.worst_case(step * f64::from(k)).ok())
            .map(|worst| worst.value())
            .collect();
        let rises = values.windows(2).all(|v| v[1] >= v[0] - 1e-9);
        let concave = values.windows(3).all(|v| v[2] - v[1] <= v[1] - v[0] + 2e-9);
        assert!(rises && concave, "{seed}: {values:?}");
        checked += usize::from(values.len() > 2);
    }
    assert!(checked > 30, "{checked}");
}

/// Of two columns whose margins are known the couplings are the transport polytope. Where the value is
/// the product of two numbers the worst one is known in closed form: the highest with the highest, or
/// for rewards with the lowest.
#[test]
fn two_margins_leave_the_transport_polytope() {
    for seed in 0..40 {
        let r = &mut Random(seed);
        let (rows, columns) = (2 + r.below(5), 2 + r.below(5));
        let levels = |n: usize| (0..n).map(|l| l as f64);
        let space = Space::grid([
            Feature::numeric("x").levels(levels(rows)),
            Feature::numeric("y").levels(levels(columns)),
        ]);
        let space = Arc::new(space.unwrap());
        let some = |r: &mut Random| (0..rows * columns).map(|_| r.unit()).collect::<Vec<f64>>();
        let seen = Population::from_weights(space.clone(), some(r)).unwrap();
        let other = Population::from_weights(space.clone(), some(r)).unwrap();
        let known = Arc::new(Known::margins_of(&other).unwrap());
        let geometry = Geometry::new(&seen).knowing(known).unwrap().shared();
        let margin = |k: usize, level: usize| -> f64 {
            let is = |i: &usize| space.code(*i, k) == level as f64;
            (0..space.len()).filter(is).map(|i| other.weights()[i]).sum()
        };
        let of_x: Vec<f64> = (0..rows).map(|l| margin(0, l)).collect();
        let of_y: Vec<f64> = (0..columns).map(|l| margin(1, l)).collect();
        for direction in [Direction::Cost, Direction::Reward] {
            let product: Vec<f64> =
                (0..space.len()).map(|i| space.code(i, 0) * space.code(i, 1)).collect();
            let problem = Problem::on(&geometry, &product).unwrap().direction(direction);
            let worst = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap();
            let turned: Vec<usize> = match direction {
                Direction::Cost => (0..columns).collect(),
                Direction::Reward => (0..columns).rev().collect(),
            };
            let truth = in_order(&of_x, &of_y, &turned);
            let (lower, upper) = (worst.lower(), worst.upper());
            assert!(
                (lower - truth).abs() < 1e-11 && (upper - truth).abs() < 1e-11,
                "{seed} {truth} {worst:?}"
            );
            // Any values: the transport program.
            let values: Vec<f64> = (0..space.len()).map(|_| r.unit()).collect();
            let problem = Problem::on(&geometry, &values).unwrap().direction(direction);
            let worst = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap();
            let value = |x: usize, y: usize| values[x * columns + y];
            let truth = transport(&of_x, &of_y, value, direction.sign());
            assert!((worst.value() - truth).abs() < 1e-9, "{seed} {truth} {worst:?}");
        }
    }
}

/// The mean product of the levels of two margins, each level's mass meeting the other's in order.
fn in_order(of_x: &[f64], of_y: &[f64], order: &[usize]) -> f64 {
    let (mut x, mut y, mut mean) = (0, 0, 0.0);
    let (mut left, mut right) = (of_x[0], of_y[order[0]]);
    loop {
        let mass = left.min(right);
        mean += mass * x as f64 * order[y] as f64;
        (left, right) = (left - mass, right - mass);
        if left <= right {
            x += 1;
            if x == of_x.len() {
                return mean;
            }
            left = of_x[x];
        } else {
            y += 1;
            if y == order.len() {
                return mean;
            }
            right = of_y[order[y]];
        }
    }
}

fn transport(of_x: &[f64], of_y: &[f64], value: impl Fn(usize, usize) -> f64, sign: f64) -> f64 {
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Maximize);
    let mass: Vec<Vec<_>> = (0..of_x.len())
        .map(|x| {
            (0..of_y.len()).map(|y| lp.add_var(sign * value(x, y), (0.0, f64::INFINITY))).collect()
        })
        .collect();
    for (row, total) in mass.iter().zip(of_x) {
        let mut sum = microlp::LinearExpr::empty();
        row.iter().for_each(|&m| sum.add(m, 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, *total);
    }
    // The last follows from the others, but for rounding.
    for (y, total) in of_y.iter().enumerate().skip(1) {
        let mut sum = microlp::LinearExpr::empty();
        mass.iter().for_each(|row| sum.add(row[y], 1.0));
        lp.add_constraint(sum, microlp::ComparisonOp::Eq, *total);
    }
    sign * lp.solve().unwrap().solution().unwrap().objective()
}

#[test]
fn without_what_is_known_it_is_refused() {
    let space = Arc::new(Space::grid([Feature::nominal("x", ["a", "b"])]).unwrap());
    let seen = Population::from_counts(space, &[4, 3]).unwrap();
    let problem = Problem::new(&seen, &[0.0, 1.0]).unwrap();
    let error = Couplings.at(0.1).worst_case(&problem, Settings::default()).unwrap_err();
    assert_eq!(error.about(), Some(seawall::Field::Set), "{error}");
    let error = Wasserstein.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap_err();
    assert_eq!(error.about(), Some(seawall::Field::Radius), "{error}");
}

/// As large as the stroke trial: 9,936 cells, 3,409 sources, 45 facts.
#[test]
fn all_couplings_of_a_trials_margins_take_a_moment() {
    let axes = [3usize, 2, 12, 23, 3, 2];
    let features = axes.iter().enumerate().map(|(k, &n)| match k {
        2 | 3 => Feature::numeric(format!("x{k}")).levels((0..n).map(|l| l as f64)),
        _ => Feature::nominal(format!("x{k}"), (0..n).map(|l| l.to_string())),
    });
    let space = Arc::new(Space::grid(features).unwrap());
    let r = &mut Random(5);
    let mut counts = vec![0u64; space.len()];
    for _ in 0..9000 {
        let cell = axes.iter().enumerate().fold(0, |cell, (k, &n)| {
            let shape = 0.3 + 0.1 * k as f64;
            cell * n + (r.unit() * r.unit().powf(shape) * n as f64) as usize
        });
        counts[cell] += 1;
    }
    let seen = Population::from_counts(space.clone(), &counts).unwrap();
    let values: Vec<f64> = (0..space.len()).map(|_| r.unit()).collect();
    let known = Known::margins_of(&seen).unwrap();
    assert_eq!(known.facts().len(), 45);
    let geometry = Geometry::new(&seen).knowing(Arc::new(known.clone())).unwrap().shared();
    let problem = Problem::on(&geometry, &values).unwrap();
    let begun = std::time::Instant::now();
    let worst = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap();
    let taken = begun.elapsed();
    println!("no radius: {taken:?}, {} looks, gap {:.1e}", worst.evaluations(), worst.gap());
    assert!(worst.gap() <= 1e-9 && taken.as_secs_f64() < 1.0, "{taken:?}");
    let found = Population::from_weights(space, worst.weights()).unwrap();
    assert!(known.holds_for(&found, 1e-9).unwrap());
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
    let values = seawall::outcome::Values::new(log.contexts(), cells).unwrap();
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
            let holds = |i: usize| match space.kind(k) == Kind::Numeric {
                true => space.code(i, k) <= level as f64,
                false => space.code(i, k) == level as f64,
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
    for seed in 0..40 {
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
        let fitted = Fitted::new(
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
    within: Ambiguity,
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

//! The worst case given what is known of the target, against linear programs written out.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Case, Random, case, coupling_program as program};
use seawall::{
    Couplings, Direction, Fact, Feature, Geometry, Kind, Known, Population, Problem, Quantity,
    Settings, Space, Status, Wasserstein,
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
    if r.chance(0.2) {
        known.moving_at_most(r.below(space.names().len()), 0.4 * r.unit()).unwrap()
    } else {
        known
    }
}

fn loosened(fact: Fact, r: &mut Random) -> Fact {
    if r.chance(0.3) { fact.give_or_take(0.1 * r.unit()) } else { fact }
}

fn geometry(case: &Case, known: &Known) -> Arc<Geometry> {
    Geometry::new(&case.population).knowing(Arc::new(known.clone())).unwrap().shared()
}

#[test]
fn equal_to_a_linear_program_with_certified_bounds() {
    let (mut solved, mut refused) = (0, 0);
    for seed in crate::common::cases(400) {
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
    assert!(
        solved >= crate::common::cases::enough(900) && refused >= crate::common::cases::enough(50),
        "{solved} {refused}"
    );
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

/// GubSimplex below 0 by rounding were taken neither for 0 nor for a contradiction, so that the search never ended.
#[test]
fn a_mass_below_zero_by_rounding_ends_the_search() {
    let case = case(4236738605466055343);
    let r = &mut Random(4236738605466055343 ^ 0xC1);
    let target = if r.chance(0.3) { case.population.clone() } else { target(&case, r) };
    let known = known_of(&target, r);
    let geometry = geometry(&case, &known);
    let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
    let problem = Problem::on(&geometry, &case.values).unwrap().direction(direction);
    let mut solver = Couplings.solver(&problem, Settings::default()).unwrap();
    let curve = solver.curve(0.0).unwrap();
    let end = curve.vertices().last().unwrap();
    let worst = solver.worst_case(end.radius + 1e-10).unwrap();
    assert!((end.value - worst.value()).abs() < 1e-8, "{} {}", end.value, worst.value());
}

#[test]
fn the_curve_equals_solves_at_many_radii() {
    let (mut curves, mut late, mut bent) = (0, 0, 0);
    for seed in crate::common::cases(200) {
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
        assert!((none - far).abs() < 1e-9 * size, "{seed}: {none} {far}");
    }
    println!("{curves} curves, {late} that begin later, {bent} with corners");
    assert!(
        curves >= crate::common::cases::enough(100)
            && late >= crate::common::cases::enough(30)
            && bent >= crate::common::cases::enough(30),
        "{curves} {late} {bent}"
    );
}

/// Without a radius as with any: a column that is fixed keeps its shares, and its place beside others that
/// are fixed, whatever is known of the rest.
#[test]
fn nobody_crosses_a_fixed_column_without_a_radius() {
    let features = [Feature::fixed("sex", ["F", "M"]), Feature::nominal("stage", ["I", "II"])];
    let space = Arc::new(Space::grid(features).unwrap());
    // In order: F I, F II, M I, M II.
    let seen = Population::from_counts(space.clone(), &[6, 3, 1, 0]).unwrap();
    let half = Fact::exact(1, Quantity::Share(1), 0.3);
    let known = Known::new(space.clone(), vec![half]).unwrap();
    let values = [0.0, 1.0, 4.0, 5.0];
    let geometry = Geometry::new(&seen).knowing(Arc::new(known)).unwrap().shared();
    let problem = Problem::on(&geometry, &values).unwrap();
    let worst = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap();
    // A tenth are men and stay so: 0.9 women and 0.1 men, 0.3 of all at stage II.
    assert!((worst.value() - (0.3 + 0.1 * 4.0)).abs() < 1e-12, "{}", worst.value());
    let men = worst.weights()[2] + worst.weights()[3];
    assert!((men - 0.1).abs() < 1e-12, "{men}");
    // More men than there are is what no move can bring about, and the message says why.
    let men = Known::new(space, vec![Fact::exact(0, Quantity::Share(1), 0.5)]).unwrap();
    let geometry = Geometry::new(&seen).knowing(Arc::new(men)).unwrap().shared();
    let problem = Problem::on(&geometry, &values).unwrap();
    let refused = Couplings.at(NO_RADIUS).worst_case(&problem, Settings::default()).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("\"sex\"") && told.contains("nobody crosses a fixed column"), "{told}");
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
    for seed in crate::common::cases(40) {
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

/// As large as the stroke trial: 9,936 cells, some 3,400 sources, 45 facts. Rows drawn with this bend.
fn trial(seed: u64, bend: f64) -> (Arc<Space>, Vec<u64>) {
    let axes = [3usize, 2, 12, 23, 3, 2];
    let features = axes.iter().enumerate().map(|(k, &n)| match k {
        2 | 3 => Feature::numeric(format!("x{k}")).levels((0..n).map(|l| l as f64)),
        _ => Feature::nominal(format!("x{k}"), (0..n).map(|l| l.to_string())),
    });
    let space = Arc::new(Space::grid(features).unwrap());
    let r = &mut Random(seed);
    let mut counts = vec![0u64; space.len()];
    for _ in 0..9000 {
        let cell = axes.iter().enumerate().fold(0, |cell, (k, &n)| {
            let shape = bend + 0.1 * k as f64;
            cell * n + (r.unit() * r.unit().powf(shape) * n as f64) as usize
        });
        counts[cell] += 1;
    }
    (space, counts)
}

/// Looks at all places of a search at most.
const MOST_LOOKS: usize = 400;

/// The margins of the trial itself, and those of others at a distance.
#[test]
fn a_trials_margins_take_a_few_looks() {
    let (space, counts) = trial(5, 0.3);
    let seen = Population::from_counts(space.clone(), &counts).unwrap();
    let r = &mut Random(6);
    let values: Vec<f64> = (0..space.len()).map(|_| r.unit()).collect();
    let own = Known::margins_of(&seen).unwrap();
    assert_eq!(own.facts().len(), 45);
    let others = Population::from_counts(space.clone(), &trial(7, 0.5).1).unwrap();
    let others = Known::margins_of(&others).unwrap();
    for (known, radii) in
        [(own, [0.003, 0.01, 0.03, 0.1, NO_RADIUS]), (others, [0.24, 0.25, 0.3, 0.4, NO_RADIUS])]
    {
        let geometry = Geometry::new(&seen).knowing(Arc::new(known.clone())).unwrap().shared();
        let problem = Problem::on(&geometry, &values).unwrap();
        for radius in radii {
            let worst = Couplings.at(radius).worst_case(&problem, Settings::default()).unwrap();
            let looks = worst.evaluations();
            println!("{radius}: {looks} looks, gap {:.1e}", worst.gap());
            assert!(looks <= MOST_LOOKS, "{radius}: {looks} looks");
            assert!(worst.gap() <= 1e-9, "{radius}: {}", worst.gap());
            let found = Population::from_weights(space.clone(), worst.weights()).unwrap();
            assert!(known.holds_for(&found, 1e-9).unwrap(), "{radius}");
        }
    }
}

//! The worst case given what is known of the target, against linear programs written out.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Case, Random, case};
use seawall::{
    Couplings, Direction, Fact, Feature, Geometry, Kind, Known, Population, Problem, Quantity,
    Settings, Space, Wasserstein,
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
            assert_eq!(worst.status(), seawall::Status::Optimal, "{seed}");
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

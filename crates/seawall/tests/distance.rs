//! Transport distances against linear programs, and their certificates.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Case, Random, case, repeatable};
use proptest::prelude::*;
use seawall::distance::{Distance, distance};
use seawall::{Feature, Population, Progress, Space, Status, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Another population on a case's space.
fn other(case: &Case, seed: u64) -> Population {
    let r = &mut Random(seed);
    let n = case.space().len();
    let mut weights: Vec<f64> =
        (0..n).map(|_| if r.chance(0.4) { 0.0 } else { r.unit() + 0.01 }).collect();
    weights[r.below(n)] += 0.5;
    Population::from_weights(case.population.space().clone(), weights).unwrap()
}

fn linear_program(a: &Population, b: &Population) -> Option<f64> {
    let n = a.space().len();
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
    let mut out: Vec<_> = (0..n).map(|_| microlp::LinearExpr::empty()).collect();
    let mut into: Vec<_> = (0..n).map(|_| microlp::LinearExpr::empty()).collect();
    for i in (0..n).filter(|&i| a.weights()[i] > 0.0) {
        for j in (0..n).filter(|&j| b.weights()[j] > 0.0) {
            let cost = a.space().cost(i, j);
            if cost.is_finite() {
                let mass = lp.add_var(cost, (0.0, f64::INFINITY));
                out[i].add(mass, 1.0);
                into[j].add(mass, 1.0);
            }
        }
    }
    for (i, row) in out.into_iter().enumerate().filter(|(i, _)| a.weights()[*i] > 0.0) {
        lp.add_constraint(row, microlp::ComparisonOp::Eq, a.weights()[i]);
    }
    for (j, row) in into.into_iter().enumerate().filter(|(j, _)| b.weights()[*j] > 0.0) {
        // A little slack, for the two sums differ by rounding.
        lp.add_constraint(row, microlp::ComparisonOp::Le, b.weights()[j] * (1.0 + 1e-12));
    }
    Some(lp.solve().ok()?.solution()?.objective())
}

/// Marginals, cost and potentials of a distance.
fn check(a: &Population, b: &Population, found: &Distance) {
    let n = a.space().len();
    let (mut left, mut came, mut cost) = (vec![0.0; n], vec![0.0; n], 0.0);
    for step in &found.plan {
        assert!(step.mass > 0.0 && step.cost == a.space().cost(step.from, step.to));
        left[step.from] += step.mass;
        came[step.to] += step.mass;
        cost += step.mass * step.cost;
    }
    for i in 0..n {
        assert!((left[i] - a.weights()[i]).abs() < 1e-12, "{i}: {} {}", left[i], a.weights()[i]);
        assert!((came[i] - b.weights()[i]).abs() < 1e-12);
    }
    assert!((cost - found.value).abs() <= 1e-12 * cost.max(1.0));
    assert!(found.lower <= found.upper && found.status == Status::Optimal, "{found:?}");
    // The potentials alone prove the lower bound.
    let phi = |j: usize| found.potentials[j];
    let dual: f64 = (0..n)
        .filter(|&i| a.weights()[i] > 0.0)
        .map(|i| {
            let reachable = (0..n).filter(|&j| b.weights()[j] > 0.0);
            a.weights()[i]
                * reachable.map(|j| a.space().cost(i, j) - phi(j)).fold(f64::INFINITY, f64::min)
        })
        .sum::<f64>()
        + (0..n).filter(|&j| b.weights()[j] > 0.0).map(|j| b.weights()[j] * phi(j)).sum::<f64>();
    assert!((dual - found.value).abs() <= 1e-9 * found.value.max(1.0), "{dual} {}", found.value);
    let parts: f64 = found.by_feature().iter().sum();
    assert!((parts - found.value).abs() <= 1e-9 * found.value.max(1.0));
}

proptest! {
    #![proptest_config(repeatable(400))]

    #[test]
    fn distances_equal_linear_programs(seed in any::<u64>()) {
        let case = case(seed);
        let (a, b) = (&case.population, &other(&case, seed ^ 5));
        match (distance(a, b, Watch::NOBODY), linear_program(a, b)) {
            (Ok(found), Some(expected)) => {
                prop_assert!((found.value - expected).abs() <= 1e-9 * expected.max(1.0), "{} {expected}", found.value);
                check(a, b, &found);
                let back = distance(b, a, Watch::NOBODY).unwrap();
                prop_assert!((back.value - found.value).abs() <= 1e-9 * found.value.max(1.0));
                let same = distance(a, a, Watch::NOBODY).unwrap();
                prop_assert!(same.value.abs() < 1e-12);
            }
            (Err(error), _) => prop_assert!(error.to_string().contains("fixed"), "{error}"),
            (Ok(found), None) => prop_assert!(false, "no program, but {found:?}"),
        }
    }
}

#[test]
fn larger_problems_are_certified() {
    let r = &mut Random(4);
    let levels = |n: usize| (0..n).map(|k| k as f64);
    let space = Arc::new(
        Space::grid([
            Feature::numeric("a").levels(levels(12)),
            Feature::nominal("b", ["x", "y", "z"]),
            Feature::numeric("c").levels(levels(15)),
        ])
        .unwrap(),
    );
    for sparse in [0.0, 0.7] {
        let weights = |r: &mut Random| {
            (0..space.len()).map(|_| if r.chance(sparse) { 0.0 } else { r.unit() }).collect()
        };
        let a = Population::from_weights(space.clone(), weights(r)).unwrap();
        let b = Population::from_weights(space.clone(), weights(r)).unwrap();
        check(&a, &b, &distance(&a, &b, Watch::NOBODY).unwrap());
    }
    let points = |r: &mut Random| (0..3).map(|_| (0..500).map(|_| r.unit()).collect()).collect();
    let features = || [Feature::numeric("x"), Feature::numeric("y"), Feature::numeric("z")];
    let space = Arc::new(Space::points(features(), points(r)).unwrap());
    let half = |odd: bool| (0..500).map(|i| f64::from(u8::from((i % 2 == 1) == odd))).collect();
    let a = Population::from_weights(space.clone(), half(true)).unwrap();
    let b = Population::from_weights(space, half(false)).unwrap();
    check(&a, &b, &distance(&a, &b, Watch::NOBODY).unwrap());
}

#[test]
fn different_spaces_are_refused_by_feature() {
    let space = |second: Feature| {
        Arc::new(Space::grid([Feature::nominal("x", ["a", "b"]), second]).unwrap())
    };
    let on = |space: Arc<Space>| {
        Population::from_weights(space.clone(), vec![1.0; space.len()]).unwrap()
    };
    let first = on(space(Feature::nominal("y", ["c", "d"])));
    let refused = |second: Feature| {
        distance(&first, &on(space(second)), Watch::NOBODY).unwrap_err().to_string()
    };
    assert!(refused(Feature::nominal("z", ["c", "d"])).contains("\"y\""));
    assert!(refused(Feature::nominal("y", ["c", "e"])).contains("\"y\" differs"));
    assert!(refused(Feature::ordinal("y", ["c", "d"])).contains("\"y\" differs"));
    // The same space made twice is the same.
    let again = on(space(Feature::nominal("y", ["c", "d"])));
    assert!(distance(&first, &again, Watch::NOBODY).unwrap().value.abs() < 1e-12);
}

/// Two long samples: sorted, not compared pair by pair.
#[test]
fn long_samples_on_a_line_are_not_compared_pair_by_pair() {
    let count = 200_000;
    let r = &mut Random(4);
    let column: Vec<f64> =
        (0..2 * count).map(|k| r.unit() + if k < count { 0.0 } else { 0.3 * r.unit() }).collect();
    let space = Arc::new(Space::points([Feature::numeric("x")], vec![column]).unwrap());
    let half = |first: bool| {
        let weight = |k: usize| f64::from(u8::from((k < count) == first));
        Population::from_weights(space.clone(), (0..2 * count).map(weight).collect()).unwrap()
    };
    let (a, b) = (half(true), half(false));
    let asked = AtomicUsize::new(0);
    let count = |_: Progress<'_>| asked.fetch_add(1, Ordering::Relaxed) < usize::MAX;
    let found = distance(&a, &b, Watch::new(&count)).unwrap();
    // A network simplex on pairs asks at every round of its thousands.
    assert!(asked.into_inner() <= 10, "sorted, not compared pair by pair");
    assert_eq!(found.status, Status::Optimal, "gap {}", found.gap());
    assert!(found.value > 0.02 / 1.7 && found.lower <= found.value);
}

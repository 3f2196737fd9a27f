//! The total variation worst case against a linear program, its limits, its plan and its curve.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, case};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection};
use proptest::prelude::*;
use seawall::{Direction, Problem, Settings, Status, TotalVariation, WorstCase};

const RADII: [f64; 8] = [0.0, 1e-9, 0.01, 0.1, 0.35, 0.8, 1.0, 3.0];

fn solve(case: &Case, radius: f64) -> WorstCase {
    TotalVariation.at(radius).worst_case(&case.problem(), Settings::default()).unwrap()
}

fn size(case: &Case) -> f64 {
    case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()))
}

fn highest(case: &Case) -> f64 {
    case.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// `max Σ q f` with `q = p + more − less`, `Σ q = 1` and `½ Σ (more + less) ≤ ε`.
fn linear_program(case: &Case, radius: f64) -> f64 {
    let mut lp = microlp::Problem::new(OptimizationDirection::Maximize);
    let (mut balance, mut apart) = (LinearExpr::empty(), LinearExpr::empty());
    for (p, f) in case.weights().iter().zip(&case.values) {
        let more = lp.add_var(*f, (0.0, 1.0));
        let less = lp.add_var(-f, (0.0, *p));
        balance.add(more, 1.0);
        balance.add(less, -1.0);
        apart.add(more, 0.5);
        apart.add(less, 0.5);
    }
    lp.add_constraint(balance, ComparisonOp::Eq, 0.0);
    lp.add_constraint(apart, ComparisonOp::Le, radius);
    case.problem().nominal() + lp.solve().unwrap().solution().unwrap().objective()
}

/// Bounds in order, gap closed; the plan a population within the radius that attains the lower one.
fn check_certificate(case: &Case, radius: f64, worst: &WorstCase, what: &str) {
    let size = size(case);
    assert_eq!(worst.status(), Status::Optimal, "{what}");
    assert!(worst.lower() <= worst.value() && worst.value() <= worst.upper(), "{what}");
    assert!(worst.gap() <= 1e-12 * size, "{what}: gap {}", worst.gap());
    let weights = worst.weights();
    assert!(weights.iter().all(|q| *q >= 0.0), "{what}: {weights:?}");
    let total: f64 = weights.iter().sum();
    assert!((total - 1.0).abs() <= 1e-12, "{what}: mass {total}");
    let apart: f64 = weights.iter().zip(case.weights()).map(|(q, p)| 0.5 * (q - p).abs()).sum();
    assert!(apart <= radius + 1e-14, "{what}: {apart} apart");
    let mean: f64 = weights.iter().zip(&case.values).map(|(q, f)| q * f).sum();
    assert!((mean - worst.lower()).abs() <= 1e-12 * size, "{what}: {mean} {}", worst.lower());
    // What the plan says was spent is how far apart the populations are.
    let spent: f64 = worst.plan().iter().map(|step| step.mass * step.cost).sum();
    assert!((spent - apart).abs() <= 1e-12, "{what}: {spent} spent, {apart} apart");
    let seen = case.weights().iter().zip(&weights).filter(|(p, _)| **p == 0.0);
    let unseen: f64 = seen.map(|(_, q)| q).sum();
    assert!((unseen - worst.unobserved_mass()).abs() <= 1e-14, "{what}");
}

proptest! {
    #![proptest_config(common::repeatable(500))]

    #[test]
    fn matches_a_linear_program(seed in any::<u64>()) {
        let case = case(seed);
        for radius in RADII {
            let (worst, program) = (solve(&case, radius), linear_program(&case, radius));
            let what = format!("seed {seed}, radius {radius}");
            prop_assert!((worst.value() - program).abs() <= 1e-7, "{what}: {} {program}", worst.value());
            check_certificate(&case, radius, &worst, &what);
        }
    }

    #[test]
    fn the_ends_are_exact_and_the_curve_rises_and_bends_down(seed in any::<u64>()) {
        let case = case(seed);
        let tolerance = 1e-12 * size(&case);
        let nominal = case.problem().nominal();
        prop_assert!((solve(&case, 0.0).value() - nominal).abs() <= tolerance);
        for beyond in [1.0, 2.0, 1e9] {
            let worst = solve(&case, beyond);
            prop_assert_eq!(worst.value(), highest(&case));
            prop_assert_eq!((worst.gap(), worst.lambda()), (0.0, 0.0));
        }
        let values: Vec<f64> = (0..=16).map(|k| solve(&case, f64::from(k) / 16.0).value()).collect();
        for pair in values.windows(2) {
            prop_assert!(pair[1] >= pair[0] - tolerance, "{values:?}");
        }
        for triple in values.windows(3) {
            prop_assert!(2.0 * triple[1] >= triple[0] + triple[2] - 4.0 * tolerance, "{values:?}");
        }
    }

    #[test]
    fn the_exact_curve_is_the_value_at_every_radius(seed in any::<u64>()) {
        let case = case(seed);
        let mut solver = TotalVariation.solver(&case.problem(), Settings::default()).unwrap();
        let curve = solver.curve(0.0).unwrap();
        prop_assert!(curve.is_exact() && curve.error() <= 1e-12 * size(&case));
        for radius in RADII {
            let (read, value) = (curve.at(radius).value, solve(&case, radius).value());
            prop_assert!((read - value).abs() <= 1e-12 * size(&case), "{radius}: {read} {value}");
            prop_assert_eq!(solver.worst_case(radius).unwrap().value(), value);
        }
        // One straight line for each value below the largest at which somebody is, at most.
        let seen = case.weights().iter().zip(&case.values).filter(|(p, _)| **p > 0.0);
        let mut below: Vec<f64> = seen.map(|(_, f)| *f).filter(|f| *f < highest(&case)).collect();
        below.sort_by(f64::total_cmp);
        below.dedup();
        prop_assert!(curve.vertices().len() <= below.len() + 1, "{:?} {below:?}", curve.vertices());
        let rough = solver.curve(0.05).unwrap();
        for radius in RADII {
            let (read, value) = (rough.at(radius), solve(&case, radius).value());
            prop_assert!(read.lower <= value + 1e-12 && value <= read.upper + 1e-12);
        }
    }

    #[test]
    fn rewards_are_costs_upside_down(seed in any::<u64>()) {
        let case = case(seed);
        let flipped: Vec<f64> = case.values.iter().map(|f| -f).collect();
        let rewards = Problem::new(&case.population, &flipped).unwrap().direction(Direction::Reward);
        for radius in RADII {
            let cost = solve(&case, radius);
            let set = TotalVariation.at(radius);
            let reward = set.worst_case(&rewards, Settings::default()).unwrap();
            prop_assert_eq!(cost.value(), -reward.value());
            prop_assert_eq!((cost.lower(), cost.upper()), (-reward.upper(), -reward.lower()));
            prop_assert_eq!(cost.lambda(), reward.lambda());
            prop_assert_eq!(cost.weights(), reward.weights());
        }
    }
}

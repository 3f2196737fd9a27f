//! The exact Wasserstein worst case against a linear program, against the dual written out, and
//! against itself on every engine.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, case, dual, linear_program, radii, reference};
use proptest::prelude::*;
use seawall::{Direction, EngineKind, Problem, Settings, Status, Wasserstein, WorstCase};

const ENGINES: [EngineKind; 3] = [EngineKind::Grid, EngineKind::Tree, EngineKind::Scan];

fn solve(case: &Case, radius: f64, engine: EngineKind) -> WorstCase {
    let problem = case.problem().engine(engine);
    Wasserstein.at(radius).worst_case(&problem, Settings::default()).unwrap()
}

/// Bounds in order, gap closed, plan feasible and its mean the lower bound.
fn check_certificate(case: &Case, radius: f64, worst: &WorstCase, what: &str) {
    let size = case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()));
    assert_eq!(worst.status(), Status::Optimal, "{what}");
    assert!(worst.lower() <= worst.upper(), "{what}");
    assert!(worst.gap() <= 1e-12 * size, "{what}: gap {}", worst.gap());
    assert!(worst.lower() <= worst.value() && worst.value() <= worst.upper(), "{what}");
    let (mut left, mut spent, mut mean) = (vec![0.0; case.space().len()], 0.0, 0.0);
    let mut entries_of = vec![0; case.space().len()];
    for step in worst.plan().iter() {
        assert!(step.mass > 0.0 && step.cost == case.space().cost(step.from, step.to));
        left[step.from] += step.mass;
        entries_of[step.from] += 1;
        spent += step.mass * step.cost;
        mean += step.mass * case.values[step.to];
    }
    for (i, (left, p)) in left.iter().zip(case.weights()).enumerate() {
        assert!((left - p).abs() <= 1e-14, "{what}: {left} leaves point {i}, which has {p}");
    }
    assert!(entries_of.iter().filter(|&&n| n > 1).count() <= 1, "{what}: two sources are split");
    let budget = radius + 1e-12 * case.scale();
    assert!(spent <= budget, "{what}: {spent} spent of {radius}");
    assert!(
        (mean - worst.lower()).abs() <= 1e-13 * size,
        "{what}: {mean} is not {}",
        worst.lower()
    );
    let unseen: f64 =
        worst.plan().iter().filter(|s| case.weights()[s.to] == 0.0).map(|s| s.mass).sum();
    assert!((unseen - worst.unobserved_mass()).abs() <= 1e-14, "{what}");
}

proptest! {
    #![proptest_config(common::repeatable(3000))]

    #[test]
    fn every_engine_is_exact(seed in any::<u64>()) {
        let case = case(seed);
        for radius in radii(&case) {
            let truth = reference(&case, radius);
            let program = linear_program(&case, radius);
            // The program may overspend by its own tolerance, which buys much at a high price.
            let beyond = reference(&case, radius + 1e-8 * case.scale().max(1.0));
            prop_assert!(
                program >= truth - 1e-6 && program <= beyond + 1e-6,
                "reference {truth} to {beyond}, program {program}"
            );
            for engine in ENGINES {
                let worst = solve(&case, radius, engine);
                let what = format!("seed {seed}, {engine:?}, radius {radius}");
                check_certificate(&case, radius, &worst, &what);
                let size = case.values.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
                prop_assert!(
                    (worst.value() - truth).abs() <= 1e-12 * size,
                    "{what}: {} is not {truth}", worst.value()
                );
                // λ is a minimiser of the dual.
                let at = dual(&case, radius, worst.lambda());
                prop_assert!(at - truth <= 1e-10 * (1.0 + size), "{what}: dual at λ is {at}");
            }
        }
    }

    #[test]
    fn the_whole_curve_is_the_value_at_every_radius(seed in any::<u64>()) {
        let case = case(seed);
        let settings = Settings::default();
        let mut solver =
            Wasserstein.solver(&case.problem(), settings).unwrap();
        let curve = solver.curve(0.0).unwrap();
        prop_assert!(curve.is_exact());
        for radius in radii(&case) {
            let (read, truth) = (curve.at(radius).value, reference(&case, radius));
            prop_assert!((read - truth).abs() <= 1e-11, "at {radius}: {read}, not {truth}");
        }
        let rough = solver.curve(0.05).unwrap();
        prop_assert!(rough.error() <= 0.05);
        for radius in radii(&case) {
            let (read, truth) = (rough.at(radius), reference(&case, radius));
            prop_assert!(read.lower <= truth + 1e-11 && truth <= read.upper + 1e-11);
            prop_assert!(read.upper - read.lower <= 0.05 + 1e-12);
        }
        // The breakdown radius of a limit is where the curve has that height.
        let limit = 0.5 * (curve.at(0.0).value + curve.at(f64::MAX).value);
        if let Some(at) = curve.breakdown(limit) {
            prop_assert!((reference(&case, at.radius) - limit).abs() <= 1e-10);
        }
    }

    #[test]
    fn rewards_are_costs_upside_down(seed in any::<u64>()) {
        let case = case(seed);
        let flipped: Vec<f64> = case.values.iter().map(|f| -f).collect();
        let settings = Settings::default();
        for radius in radii(&case) {
            let set = Wasserstein.at(radius);
            let cost = set.worst_case(&case.problem(), settings).unwrap();
            let rewards = Problem::new(&case.population, &flipped).unwrap();
            let reward = set.worst_case(&rewards.direction(Direction::Reward), settings).unwrap();
            prop_assert_eq!(cost.value(), -reward.value());
            prop_assert_eq!((cost.lower(), cost.upper()), (-reward.upper(), -reward.lower()));
            prop_assert_eq!(cost.lambda(), reward.lambda());
        }
    }
}

//! Reweighting sets at the edges: extreme weights, small radii, many points.

use crate::common::Random;
use crate::reweighting::*;
use seawall::{
    Cvar, Feature, Geometry, Kl, Population, PowerDivergence, Problem, Set, Settings, Space, Status,
};
use std::sync::Arc;

fn plain(weights: Vec<f64>) -> Population {
    let column = (0..weights.len()).map(|i| i as f64).collect();
    let space = Arc::new(Space::points([Feature::numeric("x")], vec![column]).unwrap());
    Population::from_weights(space, weights).unwrap()
}

#[test]
fn extremes_are_answered() {
    let cases: [(Vec<f64>, Vec<f64>); 7] = [
        (vec![1.0], vec![3.0]),
        (vec![0.5, 0.5, 0.0], vec![2.0, 2.0, 2.0]),
        (vec![0.5, 0.3, 0.2], vec![1e300, -1e300, 5e299]),
        (vec![0.5, 0.3, 0.2], vec![1e-300, 2e-300, -3e-300]),
        (vec![1e-300, 1.0, 1e-12], vec![1.0, 0.0, 0.5]),
        (vec![0.4, 0.6, 0.0], vec![1.0, 0.0, 1e-9]),
        (vec![0.5, 0.5], vec![1.0, 1.0 + 1e-13]),
    ];
    for (weights, values) in cases {
        let population = plain(weights);
        let problem = Problem::new(&population, &values).unwrap();
        let size = values.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
        for set in everything() {
            for radius in [0.0, 1e-300, 1e-20, 1e-9, 0.1, 0.9, 7.0, 1e9, 1e300] {
                if set.name() == "cvar" && radius >= 1.0 {
                    continue;
                }
                let worst = set.at(radius).worst_case(&problem, Settings::default()).unwrap();
                let what = format!("{set} {values:?} {radius}");
                assert!(worst.lower() <= worst.upper(), "{what}");
                // At radii that no population spends, beside weights whose squares are lost, the bounds
                // hold and need not meet.
                let lost =
                    radius >= 1e9 || population.weights().iter().any(|p| *p > 0.0 && *p < 1e-150);
                let closed = if lost { 2.0 } else { 1e-9 };
                assert!(
                    worst.gap() <= closed * size,
                    "{what}: {} {}",
                    worst.lower(),
                    worst.upper()
                );
                let mass: f64 = worst.weights().iter().sum();
                assert!((mass - 1.0).abs() < 1e-9, "{what}: {mass}");
            }
            let curve =
                set.solver(&problem, Settings::default()).unwrap().curve(0.01 * size).unwrap();
            assert!(curve.error() <= 0.011 * size, "{set} {values:?}: {}", curve.error());
        }
    }
}

#[test]
fn small_radii_keep_their_digits() {
    // V(ε) = mean + σ √(2ε/φ''(1)) + O(ε).
    let population = plain(vec![0.5, 0.5]);
    let values = [10.0, 12.0];
    let problem = Problem::new(&population, &values).unwrap();
    for set in divergences() {
        let bend = match set.name() {
            "chi2" => 2.0,
            "hellinger" => 0.5,
            _ => 1.0,
        };
        for radius in [1e-20, 1e-16, 1e-12, 1e-8] {
            let worst = set.at(radius).worst_case(&problem, Settings::default()).unwrap();
            let rise = (2.0 * radius / bend).sqrt();
            let off = (worst.value() - 11.0 - rise).abs();
            assert!(off <= 20.0 * radius + 4e-15, "{set} at {radius}: off by {off}");
        }
    }
}

#[test]
fn cvar_refuses_what_is_no_share() {
    for (radius, told) in [(1.0, "1"), (1.2, "1.2")] {
        let error = Set::from(Cvar).check_radius(radius).unwrap_err().to_string();
        let words = "cvar leaves out a share of the people: expected a number ≥ 0 and < 1";
        assert_eq!(error, format!("radius is {told}; {words}"));
    }
    let space = plain(vec![0.5, 0.5, 0.0]);
    let other = Population::from_weights(space.space().clone(), vec![0.5, 0.25, 0.25]).unwrap();
    let from = |set: Set| set.containing(&Geometry::new(&space), &other).unwrap().unwrap();
    assert!(from(Cvar.into()).is_infinite() && from(PowerDivergence::CHI2.into()).is_infinite());
    assert!(
        from(PowerDivergence::HELLINGER.into()).is_finite()
            && from(PowerDivergence::BURG.into()).is_finite()
    );
}

#[test]
fn many_points_take_a_few_evaluations() {
    let mut random = Random(7);
    let n = 2000;
    let population = plain((0..n).map(|_| random.unit() + 0.01).collect());
    let values: Vec<f64> = (0..n).map(|_| random.unit()).collect();
    let geometry = Geometry::new(&population).shared();
    let mut sets = everything();
    sets.push(Kl.into());
    for set in sets {
        for radius in [0.1, 0.9] {
            let settings = Settings::default().detail(seawall::Detail::Value);
            let problem = Problem::on(&geometry, &values).unwrap();
            let worst = set.at(radius).worst_case(&problem, settings).unwrap();
            let found = worst.evaluations();
            println!("{set} at {radius}: {found} evaluations");
            assert_eq!(worst.status(), Status::Optimal, "{set}");
            assert!(found <= 40, "{set} at {radius}: {found} evaluations");
        }
    }
}

//! The KL worst case: exact limits, an exponential-cone program, and tiny radii.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, case};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use proptest::prelude::*;
use seawall::{Feature, Kl, Population, Problem, Settings, Space, Status, WorstCase};
use std::sync::Arc;

fn solve(case: &Case, radius: f64) -> WorstCase {
    Kl.at(radius).worst_case(&case.problem(), Settings::default()).unwrap()
}

/// `max Σ q f` with `Σ q = 1` and `Σ q log(q/p) ≤ ε` as a cone program in (q, t):
/// `q exp(−t/q) ≤ p` and `Σ t ≤ ε`.
fn cone_program(p: &[f64], f: &[f64], radius: f64) -> f64 {
    let n = p.len();
    let (mut rows, mut cols, mut entries, mut b) = (vec![], vec![], vec![], vec![]);
    let mut put = |r: usize, c: usize, x: f64| {
        rows.push(r);
        cols.push(c);
        entries.push(x);
    };
    (0..n).for_each(|i| put(0, i, 1.0));
    b.push(1.0);
    (0..n).for_each(|i| put(1, n + i, 1.0));
    b.push(radius);
    for (i, p) in p.iter().enumerate() {
        let first = 2 + 3 * i;
        put(first, n + i, 1.0); // −t
        put(first + 1, i, -1.0); // q
        b.extend([0.0, 0.0, *p]);
    }
    let a = CscMatrix::new_from_triplets(2 + 3 * n, 2 * n, rows, cols, entries);
    let cost: Vec<f64> = f.iter().map(|f| -f).chain(vec![0.0; n]).collect();
    let mut cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(1)];
    cones.extend((0..n).map(|_| SupportedConeT::ExponentialConeT()));
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let zero = CscMatrix::zeros((2 * n, 2 * n));
    let mut solver = DefaultSolver::new(&zero, &cost, &a, &b, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

/// The points of positive weight, with their values.
fn observed(case: &Case) -> (Vec<f64>, Vec<f64>) {
    let pairs = case.weights().iter().zip(&case.values).filter(|(p, _)| **p > 0.0);
    pairs.map(|(p, f)| (*p, *f)).unzip()
}

proptest! {
    #![proptest_config(common::repeatable(300))]

    #[test]
    fn matches_an_exponential_cone_program(seed in any::<u64>()) {
        let case = case(seed);
        let (p, f) = observed(&case);
        let highest = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let top: f64 = p.iter().zip(&f).filter(|(_, f)| **f == highest).map(|(p, _)| *p).sum();
        let limit = -top.ln();
        for share in [0.02, 0.2, 0.6] {
            let radius = share * limit;
            if radius <= 1e-6 { continue; }
            let worst = solve(&case, radius);
            let program = cone_program(&p, &f, radius);
            prop_assert!((worst.value() - program).abs() <= 1e-6, "{} and {program}", worst.value());
            prop_assert_eq!(worst.status(), Status::Optimal);
            // The plan reweights in place; what it pays is the divergence.
            let (mut mass, mut spent, mut mean) = (0.0, 0.0, 0.0);
            for step in worst.plan().iter() {
                prop_assert_eq!(step.from, step.to);
                mass += step.mass;
                spent += step.mass * step.cost;
                mean += step.mass * case.values[step.to];
            }
            prop_assert!((mass - 1.0).abs() < 1e-12 && (spent - radius).abs() < 1e-9 * radius.max(1e-3));
            prop_assert!((mean - worst.value()).abs() < 1e-9);
            prop_assert!(worst.unobserved_mass() == 0.0);
        }
        // The limits, exactly.
        let nominal = case.problem().nominal();
        prop_assert!((solve(&case, 0.0).value() - nominal).abs() <= 1e-15 * nominal.abs().max(1.0));
        for beyond in [limit, limit * 1.5 + 0.1, 700.0] {
            let worst = solve(&case, beyond.max(limit + 1e-12));
            prop_assert_eq!(worst.value(), highest);
            prop_assert_eq!(worst.lambda(), 0.0);
        }
    }
}

#[test]
fn small_radii_keep_their_digits() {
    // V(ε) = mean + σ √(2ε) + O(ε).
    let space = Arc::new(Space::points([Feature::numeric("x")], vec![vec![0.0, 1.0]]).unwrap());
    let population = Population::from_weights(space, vec![0.5, 0.5]).unwrap();
    let values = [10.0, 12.0];
    let problem = Problem::new(&population, &values).unwrap();
    for radius in [1e-20, 1e-16, 1e-12, 1e-8] {
        let set = Kl.at(radius);
        let worst = set.worst_case(&problem, Settings::default()).unwrap();
        let rise = (2.0 * radius).sqrt();
        assert!(
            (worst.value() - 11.0 - rise).abs() <= 2.0 * radius + 4e-15,
            "at {radius}: rose by {}, expected {rise}",
            worst.value() - 11.0
        );
    }
}

#[test]
fn the_curve_holds_the_value_at_every_radius() {
    for seed in common::cases(100) {
        let case = case(seed);
        let settings = Settings::default();
        let mut solver = Kl.solver(&case.problem(), settings).unwrap();
        let curve = solver.curve(1e-4).unwrap();
        assert!(curve.error() <= 1e-4);
        for radius in [0.0, 1e-6, 0.01, 0.3, 2.0] {
            let (value, read) = (solver.worst_case(radius).unwrap().value(), curve.at(radius));
            assert!(read.lower <= value + 1e-9 && value <= read.upper + 1e-9, "{seed} {radius}");
        }
        assert!(solver.curve(0.0).is_err(), "a smooth curve has no finite list of vertices");
    }
}

#[test]
fn a_search_that_ends_early_shows_a_population_of_the_set() {
    for seed in common::cases(200) {
        let case = case(seed);
        for radius in [0.01, 0.3] {
            for max_evaluations in 1..4 {
                let settings = Settings { max_evaluations, ..Settings::default() };
                let worst = Kl.at(radius).worst_case(&case.problem(), settings).unwrap();
                let (p, q) = (case.weights(), worst.weights());
                let divergence: f64 =
                    q.iter().zip(p).filter(|(q, _)| **q > 0.0).map(|(q, p)| q * (q / p).ln()).sum();
                assert!(divergence <= radius * (1.0 + 1e-8), "seed {seed}: {divergence}");
                let mean: f64 = q.iter().zip(&case.values).map(|(q, f)| q * f).sum();
                let size = case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()));
                assert!((mean - worst.lower()).abs() <= 1e-9 * size, "seed {seed}");
            }
        }
    }
}

#[test]
fn almost_nobody_with_the_worst_outcome() {
    // A share q of people at 1 costs q log(q/p) + (1 − q) log((1 − q)/(1 − p)).
    let space = Arc::new(Space::points([Feature::numeric("x")], vec![vec![0.0, 1.0]]).unwrap());
    for k in (1..=323).step_by(7).chain(305..324) {
        let p: f64 = format!("1e-{k}").parse().unwrap();
        let population = Population::from_weights(space.clone(), vec![1.0, p]).unwrap();
        for values in [[0.0, 1.0], [0.0, 1e-300], [-3.0, 1e300]] {
            let problem = Problem::new(&population, &values).unwrap();
            for radius in [1e-300, 1e-12, 0.01, 0.1, 1.0, 100.0, 700.0] {
                let worst = Kl.at(radius).worst_case(&problem, Settings::default());
                let worst = worst.unwrap_or_else(|e| panic!("{p:e} {radius:e}: {e}"));
                let size = values[1] - values[0];
                assert!(worst.gap() <= 1e-9 * size, "{p:e} {radius:e}: {worst:?}");
                let q = (worst.value() - values[0]) / size;
                // The smallest numbers have few digits.
                let rough = 1e-9 + 1e-322 / p;
                let least = p / (1.0 + p) - 1e-15;
                assert!(q >= least && q <= 1.0 + rough, "{p:e} {radius:e}: {q}");
                let total: f64 = worst.weights().iter().sum();
                assert!((total - 1.0).abs() <= rough, "{p:e} {radius:e}: {total}");
                // All of the radius is spent, unless everybody has the worst outcome.
                let q = q.min(1.0);
                let rest = if q < 1.0 { (1.0 - q) * ((-q).ln_1p() + p.ln_1p()) } else { 0.0 };
                let own = if q > 0.0 { q * (q.ln() - p.ln() + p.ln_1p()) } else { 0.0 };
                let spent = own + rest;
                let over = if q < 1.0 { (spent - radius).abs() } else { spent - radius };
                assert!(over <= 1e3 * rough, "{p:e} {radius:e}: {q:e} spends {spent:e}");
            }
        }
    }
}

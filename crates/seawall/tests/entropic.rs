//! The entropic worst case against dense sums written out, over twelve orders of η.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, case, radii};
use proptest::prelude::*;
use seawall::{EngineKind, Entropic, Settings, Status, Wasserstein};

/// `ελ + Σ p_i (1/η) log Σ_j exp(η (f_j − λ c_ij)) / M`, and its slope in λ.
fn dual(case: &Case, radius: f64, eta: f64, price: f64) -> (f64, f64) {
    let n = case.space().len();
    let (mut value, mut slope) = (radius * price, radius);
    for i in (0..n).filter(|&i| case.weights()[i] > 0.0) {
        let reached: Vec<(f64, f64)> = (0..n)
            .map(|j| (case.space().cost(i, j), case.values[j]))
            .filter(|x| x.0.is_finite())
            .map(|(c, f)| (c, eta * (f - price * c)))
            .collect();
        let top = reached.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = reached.iter().map(|x| (x.1 - top).exp()).sum();
        let spent: f64 = reached.iter().map(|x| x.0 * (x.1 - top).exp()).sum::<f64>() / total;
        value += case.weights()[i] * (top + total.ln() - (n as f64).ln()) / eta;
        slope -= case.weights()[i] * spent;
    }
    (value, slope)
}

/// The minimum by bisecting the slope: slow and obvious.
fn reference(case: &Case, radius: f64, eta: f64) -> f64 {
    if dual(case, radius, eta, 0.0).1 >= 0.0 {
        return dual(case, radius, eta, 0.0).0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while dual(case, radius, eta, high).1 < 0.0 {
        high *= 2.0;
        if high > 1e200 {
            return dual(case, radius, eta, high).0;
        }
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if dual(case, radius, eta, middle).1 < 0.0 { low = middle } else { high = middle }
    }
    dual(case, radius, eta, low).0.min(dual(case, radius, eta, high).0)
}

proptest! {
    #![proptest_config(common::repeatable(400))]

    #[test]
    fn both_engines_match_dense_sums(seed in any::<u64>()) {
        let case = case(seed);
        let size = case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()));
        let points = case.space().len() as f64;
        for eta in [1e-3, 0.1, 10.0, 1e3, 1e6] {
            for radius in radii(&case).into_iter().filter(|&r| r > 0.0) {
                let truth = reference(&case, radius, eta);
                let exact = Wasserstein.at(radius);
                let exact = exact.worst_case(&case.problem(), Settings::default()).unwrap();
                for engine in [EngineKind::Grid, EngineKind::Scan] {
                    let set = Entropic { eta }.at(radius);
                    let problem = case.problem().engine(engine);
                    let worst = set.worst_case(&problem, Settings::default()).unwrap();
                    let what = format!("seed {seed} {engine:?} eta {eta} radius {radius}");
                    // At a small η the value is a large negative number: log M / η.
                    let scale = size + points.ln() / eta;
                    prop_assert!((worst.value() - truth).abs() <= 1e-10 * scale,
                        "{what}: {} is not {truth}", worst.value());
                    prop_assert_eq!(worst.status(), Status::Optimal, "{} gap {}", what, worst.gap());
                    prop_assert!(worst.lower() <= truth + 1e-12 * scale, "{}", what);
                    prop_assert!(truth <= worst.upper() + 1e-12 * scale, "{}", what);
                    // The two-sided bound of the exact worst case.
                    let slack = 1e-11 * scale;
                    prop_assert!(worst.value() <= exact.value() + slack, "{}", what);
                    prop_assert!(exact.value() <= worst.value() + points.ln() / eta + slack);
                    let bounds = worst.smoothed().unwrap();
                    prop_assert!(bounds.exact_lower <= exact.value() + slack);
                    prop_assert!(exact.value() <= bounds.exact_upper + slack);
                    prop_assert!(bounds.entropy >= 0.0 && bounds.entropy <= points.ln() + 1e-9 * eta + 1e-9,
                        "{what}: entropy {}", bounds.entropy);
                    // The Gibbs plan spends at most the radius and is a plan.
                    let (mut mass, mut spent) = (0.0, 0.0);
                    for step in worst.plan().iter() {
                        mass += step.mass;
                        spent += step.mass * step.cost;
                    }
                    prop_assert!((mass + worst.plan().left_out() - 1.0).abs() < 1e-9, "{}", what);
                    prop_assert!(spent <= radius * (1.0 + 1e-9) + 1e-12, "{what}: {spent}");
                    let arrived: f64 = worst.weights().iter().sum();
                    prop_assert!((arrived - 1.0).abs() < 1e-9, "{what}: {arrived}");
                }
            }
        }
    }
}

#[test]
fn holes_in_the_lattice_are_nothing_to_anyone() {
    // Points on part of a lattice: its holes may be so far from everything that their sums
    // vanish, and must not spoil those of the points.
    for seed in common::cases(120) {
        let r = &mut common::Random(seed);
        let cells: Vec<(f64, f64)> = (0..10)
            .flat_map(|x| (0..10).map(move |y| (f64::from(x), f64::from(y))))
            .filter(|_| r.chance(0.65))
            .collect();
        let columns =
            vec![cells.iter().map(|c| c.0).collect(), cells.iter().map(|c| c.1).collect()];
        let features = ["a", "b"].map(seawall::Feature::numeric);
        let space = std::sync::Arc::new(seawall::Space::points(features, columns).unwrap());
        let weights = cells.iter().map(|_| r.unit() + 0.01).collect();
        let population = seawall::Population::from_weights(space, weights).unwrap();
        let case = Case { population, values: cells.iter().map(|_| r.unit()).collect() };
        let eta = 10f64.powf(4.0 * r.unit());
        let radius = 0.05 * r.unit() * r.unit();
        let set = Entropic { eta }.at(radius);
        let value = |engine| {
            let problem = case.problem().engine(engine);
            set.worst_case(&problem, Settings::default()).unwrap().value()
        };
        let (grid, scan) = (value(EngineKind::Grid), value(EngineKind::Scan));
        assert!((grid - scan).abs() <= 1e-10, "seed {seed}, eta {eta}: {grid} and {scan}");
    }
}

#[test]
fn radius_zero_leaves_everyone_where_they_are() {
    for seed in common::cases(50) {
        let case = case(seed);
        // Free features and duplicates move mass at no cost; they are not of interest here.
        let n = case.space().len();
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        if pairs.filter(|(i, j)| i != j).any(|(i, j)| case.space().cost(i, j) == 0.0) {
            continue;
        }
        let set = Entropic { eta: 3.0 }.at(0.0);
        let worst = set.worst_case(&case.problem(), Settings::default()).unwrap();
        let expected = case.problem().nominal() - (n as f64).ln() / 3.0;
        assert!((worst.value() - expected).abs() < 1e-12, "seed {seed}");
        assert!((worst.smoothed().unwrap().exact_upper - case.problem().nominal()).abs() < 1e-12);
    }
}

#[test]
fn at_radius_zero_free_moves_are_made_on_every_engine() {
    // Levels evenly apart that cost nothing to cross, and others that do.
    let free = seawall::Feature::numeric("a").levels([0.0, 1.0, 2.0]).weight(0.0);
    let dear = seawall::Feature::numeric("b").levels([0.0, 1.0]);
    let space = std::sync::Arc::new(seawall::Space::grid([free, dear]).unwrap());
    let weights = vec![1.0, 2.0, 0.0, 3.0, 1.0, 0.0];
    let population = seawall::Population::from_weights(space, weights).unwrap();
    let case = Case { population, values: vec![0.5, -1.0, 2.0, 0.0, -1.0, 1.0] };
    for eta in [0.1, 3.0, 1e3] {
        let free = |b: f64| {
            let here = || (0..6).filter(|&i| case.space().code(i, 1) == b).map(|i| case.values[i]);
            let top = here().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = here().map(|f| (eta * (f - top)).exp()).sum();
            top + (sum.ln() - 6f64.ln()) / eta
        };
        let each = (0..6).map(|i| case.weights()[i] * free(case.space().code(i, 1)));
        let expected: f64 = each.sum();
        for engine in [EngineKind::Grid, EngineKind::Scan] {
            let set = Entropic { eta }.at(0.0);
            let problem = case.problem().engine(engine);
            let worst = set.worst_case(&problem, Settings::default()).unwrap();
            let (value, what) = (worst.value(), format!("{engine:?}, eta {eta}"));
            assert!(
                (value - expected).abs() <= 1e-10 * (1.0 + value.abs()),
                "{what}: {value} {expected}"
            );
            let exact =
                Wasserstein.at(0.0).worst_case(&case.problem(), Settings::default()).unwrap();
            let upper = worst.smoothed().unwrap().exact_upper;
            assert!(exact.value() <= upper + 1e-10, "{what}: {} is above {upper}", exact.value());
        }
    }
}

#[test]
fn the_curve_holds_the_value_at_every_radius() {
    for seed in common::cases(60) {
        let case = case(seed);
        let set = Entropic { eta: 4.0 };
        let settings = Settings::default();
        let mut solver = set.solver(&case.problem(), settings).unwrap();
        let curve = solver.curve(1e-4).unwrap();
        assert!(curve.error() <= 1e-4);
        for radius in radii(&case) {
            let (value, read) = (solver.worst_case(radius).unwrap().value(), curve.at(radius));
            assert!(read.lower <= value + 1e-9 && value <= read.upper + 1e-9, "{seed} {radius}");
        }
    }
}

#[test]
fn the_tree_engine_says_why_it_cannot() {
    let case = case(3);
    let problem = case.problem().engine(EngineKind::Tree);
    let set = Entropic { eta: 1.0 }.at(0.1);
    let error = set.worst_case(&problem, Settings::default()).unwrap_err();
    let said = error.to_string();
    assert!(error.is_config() && said.contains("sums over every point"), "{said}");
    assert!(said.contains("try engine = \"grid\" or engine = \"scan\""), "{said}");
}

#[test]
fn a_reference_of_its_own_weighs_the_targets() {
    let case = case(12);
    let n = case.space().len();
    let doubled: Vec<f64> = (0..n).map(|_| 2.0).collect();
    let problem = case.problem().reference(&doubled).unwrap();
    let set = Entropic { eta: 2.0 }.at(0.1);
    let (a, b) = (
        set.worst_case(&problem, Settings::default()).unwrap(),
        set.worst_case(&case.problem(), Settings::default()).unwrap(),
    );
    assert!((a.value() - b.value()).abs() < 1e-12, "a constant reference is the uniform one");
    assert!(case.problem().reference(&doubled[1..]).is_err());
    assert!(case.problem().reference(&vec![0.0; n]).is_err());
}

//! The worst case over balls of the maximum mean discrepancy against a second-order cone program, its
//! limits, its population and its curve.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, case};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use proptest::prelude::*;
use seawall::{
    Direction, Feature, Geometry, Kernel, Kind, Mmd, Population, Problem, Set, Settings, Space,
    Status, WorstCase,
};
use std::sync::Arc;

const RADII: [f64; 6] = [1e-4, 0.01, 0.1, 0.3, 0.8, 2.0];

fn set(seed: u64) -> Mmd {
    let kernel = if seed.is_multiple_of(2) { Kernel::Gaussian } else { Kernel::Laplace };
    Mmd { kernel, bandwidth: Some([0.3, 1.0, 4.0][seed as usize / 2 % 3]) }
}

fn solve(case: &Case, set: Mmd, radius: f64) -> WorstCase {
    set.at(radius).worst_case(&case.problem(), Settings::default()).unwrap()
}

/// The kernel, written out from what the module says of it.
fn kernel(case: &Case, set: Mmd) -> Vec<Vec<f64>> {
    let (space, n, b) = (case.space(), case.space().len(), set.bandwidth.unwrap());
    let mut all = vec![vec![1.0; n]; n];
    for k in 0..space.names().len() {
        let of = |i: usize, j: usize| match set.kernel {
            Kernel::Gaussian => (-space.feature_cost(k, i, j) / (2.0 * b * b)).exp(),
            _ => (-space.feature_cost(k, i, j).sqrt() / b).exp(),
        };
        let missing = |i: usize| {
            let code = space.code(i, k);
            // On a grid a missing value is the last level.
            let last = space.levels(k).last().is_some_and(|l| l == "(missing)");
            code.is_nan() || (last && code as usize + 1 == space.levels(k).len())
        };
        let missing: Vec<bool> = (0..n).map(missing).collect();
        let wall = space.kind(k) == Kind::Fixed;
        let mean = |i: usize| {
            let known = || (0..n).filter(|&j| !missing[j]).map(|j| (case.weights()[j], j));
            let mass: f64 = known().map(|(p, _)| p).sum();
            if mass > 0.0 && !wall {
                known().map(|(p, j)| p * of(i, j)).sum::<f64>() / mass
            } else {
                0.0
            }
        };
        for i in 0..n {
            for j in 0..n {
                all[i][j] *= match (missing[i], missing[j]) {
                    (true, true) => 1.0,
                    (true, false) => mean(j),
                    (false, true) => mean(i),
                    (false, false) => of(i, j),
                };
            }
        }
    }
    all
}

/// A factor of a semidefinite matrix, pivot by pivot: rows of `L` with `K = L Lᵀ`.
fn root(k: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = k.len();
    let (mut left, mut rows) = (k.to_vec(), vec![Vec::new(); n]);
    for _ in 0..n {
        let most = (0..n).max_by(|&a, &b| left[a][a].total_cmp(&left[b][b])).unwrap();
        let own = left[most][most];
        if own <= 1e-13 {
            break;
        }
        let column: Vec<f64> = (0..n).map(|i| left[i][most] / own.sqrt()).collect();
        for i in 0..n {
            for j in 0..n {
                left[i][j] -= column[i] * column[j];
            }
            rows[i].push(column[i]);
        }
    }
    rows
}

/// `max f·w` with `w ≥ 0`, `Σ w = 1`, `‖Lᵀ(w − p)‖ ≤ ε`.
fn cone_program(case: &Case, set: Mmd, radius: f64) -> f64 {
    let (n, root) = (case.space().len(), root(&kernel(case, set)));
    let rank = root[0].len();
    let (mut rows, mut cols, mut entries) = (vec![], vec![], vec![]);
    let mut b = vec![1.0];
    let mut put = |r: usize, c: usize, x: f64| {
        rows.push(r);
        cols.push(c);
        entries.push(x);
    };
    for (j, row) in root.iter().enumerate().take(n) {
        put(0, j, 1.0);
        put(1 + j, j, -1.0);
        (0..rank).for_each(|k| put(2 + n + k, j, -row[k]));
    }
    b.extend(vec![0.0; n]);
    b.push(radius);
    let mean = |k: usize| (0..n).map(|j| case.weights()[j] * root[j][k]).sum::<f64>();
    b.extend((0..rank).map(|k| -mean(k)));
    let a = CscMatrix::new_from_triplets(2 + n + rank, n, rows, cols, entries);
    let cost: Vec<f64> = case.values.iter().map(|f| -f).collect();
    let cones = [
        SupportedConeT::ZeroConeT(1),
        SupportedConeT::NonnegativeConeT(n),
        SupportedConeT::SecondOrderConeT(1 + rank),
    ];
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-9,
        tol_gap_rel: 1e-9,
        tol_feas: 1e-10,
        ..DefaultSettings::default()
    };
    let zero = CscMatrix::zeros((n, n));
    let mut solver = DefaultSolver::new(&zero, &cost, &a, &b, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

fn distance(kernel: &[Vec<f64>], p: &[f64], q: &[f64]) -> f64 {
    let x: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
    let n = x.len();
    let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    all.map(|(i, j)| x[i] * x[j] * kernel[i][j]).sum::<f64>().max(0.0).sqrt()
}

fn size(case: &Case) -> f64 {
    case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()))
}

proptest! {
    #![proptest_config(common::repeatable(500))]

    #[test]
    fn matches_a_cone_program(seed in any::<u64>()) {
        let (case, set) = (case(seed), set(seed));
        let (kernel, size) = (kernel(&case, set), size(&case));
        let geometry = Geometry::new(&case.population);
        let mut last = f64::NEG_INFINITY;
        for radius in RADII {
            let (worst, program) = (solve(&case, set, radius), cone_program(&case, set, radius));
            let what = format!("seed {seed}, {} at {radius}", Set::from(set));
            prop_assert!((worst.value() - program).abs() <= 1e-6 * size.max(1.0),
                "{what}: {} {program}", worst.value());
            prop_assert!(worst.gap() <= 1e-8 * size, "{what}: gap {}", worst.gap());
            prop_assert!(worst.value() >= last - 1e-9 * size, "{what}");
            last = worst.value();
            let weights = worst.weights();
            prop_assert!(weights.iter().all(|w| *w >= 0.0));
            let total: f64 = weights.iter().sum();
            prop_assert!((total - 1.0).abs() <= 1e-12, "{what}: {total}");
            let away = distance(&kernel, case.weights(), &weights);
            prop_assert!(away <= radius * (1.0 + 1e-7) + 1e-8, "{what}: {away} away");
            let mean: f64 = weights.iter().zip(&case.values).map(|(w, f)| w * f).sum();
            prop_assert!((mean - worst.lower()).abs() <= 1e-10 * size, "{what}");
            let other = Population::from_weights(Arc::new(case.space().clone()), weights).unwrap();
            let least = Set::from(set).containing(&geometry, &other).unwrap().unwrap();
            prop_assert!((least - away).abs() <= 1e-7, "{what}: {least} {away}");
        }
    }

    #[test]
    fn rewards_are_costs_upside_down_and_the_ends_are_exact(seed in any::<u64>()) {
        let (case, set) = (case(seed), set(seed));
        let flipped: Vec<f64> = case.values.iter().map(|f| -f).collect();
        let rewards = Problem::new(&case.population, &flipped).unwrap().direction(Direction::Reward);
        for radius in [0.0, 0.05, 0.5, 3.0] {
            let cost = solve(&case, set, radius);
            let reward = set.at(radius).worst_case(&rewards, Settings::default()).unwrap();
            prop_assert_eq!(cost.value(), -reward.value());
            prop_assert_eq!((cost.lower(), cost.upper()), (-reward.upper(), -reward.lower()));
        }
        let highest = case.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let far = solve(&case, set, 2.0);
        prop_assert_eq!((far.value(), far.gap(), far.lambda()), (highest, 0.0, 0.0));
        let (still, kernel) = (solve(&case, set, 0.0), kernel(&case, set));
        let best = |i: usize| {
            let same = (0..kernel.len()).filter(|&j| kernel[i][j] == 1.0);
            same.map(|j| case.values[j]).fold(case.values[i], f64::max)
        };
        let mean: f64 = (0..kernel.len()).map(|i| case.weights()[i] * best(i)).sum();
        prop_assert!((still.value() - mean).abs() <= 1e-12 * size(&case), "{} {mean}", still.value());
    }
}

#[test]
fn the_curve_holds_the_value_at_every_radius() {
    for seed in common::cases(60) {
        let (case, set) = (case(seed), set(seed));
        let mut solver = set.solver(&case.problem(), Settings::default()).unwrap();
        let curve = solver.curve(1e-3).unwrap();
        for radius in [0.0, 0.01, 0.05, 0.2, 0.7, 1.5] {
            let (read, value) = (curve.at(radius), solver.worst_case(radius).unwrap());
            assert!(read.lower <= value.upper() + 1e-9, "seed {seed} at {radius}");
            assert!(value.lower() <= read.upper + 1e-9, "seed {seed} at {radius}");
            assert!(curve.error() <= 2e-3, "seed {seed}: {}", curve.error());
        }
    }
}

#[test]
fn extremes_are_answered() {
    let features = || [Feature::numeric("x"), Feature::nominal("g", ["a", "b"])];
    let columns = vec![vec![-1e9, 0.0, 1.0, f64::NAN, 2.0], vec![0.0, 1.0, 0.0, 1.0, 1.0]];
    let space = Arc::new(Space::points(features(), columns).unwrap());
    let weights = vec![1e-300, 0.5, 0.5, 0.0, 1e-12];
    let population = Population::from_weights(space, weights).unwrap();
    for scale in [1e-300, 1.0, 1e300] {
        let values: Vec<f64> = [1.0, -1.0, 0.5, 0.9, 0.2].iter().map(|v| v * scale).collect();
        let problem = Problem::new(&population, &values).unwrap();
        for kernel in [Kernel::Gaussian, Kernel::Laplace] {
            for radius in [0.0, 1e-12, 1e-3, 0.5, 10.0] {
                let set = Mmd { kernel, bandwidth: None };
                let worst = set.at(radius).worst_case(&problem, Settings::default()).unwrap();
                assert!(worst.value() >= problem.nominal() - 1e-9 * scale);
                assert!(
                    worst.value() <= scale && worst.gap() <= 1e-6 * scale,
                    "{radius}: {} {}",
                    worst.lower(),
                    worst.upper()
                );
            }
        }
    }
    let one = Space::points([Feature::numeric("x")], vec![vec![3.0]]).unwrap();
    let one = Population::from_weights(Arc::new(one), vec![1.0]).unwrap();
    let problem = Problem::new(&one, &[2.0]).unwrap();
    let worst = Mmd::default().at(0.3).worst_case(&problem, Settings::default()).unwrap();
    assert_eq!((worst.value(), worst.status()), (2.0, Status::Optimal));
}

#[test]
fn a_bandwidth_out_of_scale_is_refused() {
    let space = Space::grid([Feature::numeric("x").levels([0.0, 1.0, 2.0, 3.0, 5.0])]).unwrap();
    let population = Population::from_weights(Arc::new(space), vec![1.0; 5]).unwrap();
    let values = [0.0, 1.0, 2.0, 3.0, 5.0];
    let problem = Problem::new(&population, &values).unwrap();
    for kernel in [Kernel::Gaussian, Kernel::Laplace] {
        let asked = |bandwidth: f64, radius: f64| {
            let set = Mmd { kernel, bandwidth: Some(bandwidth) };
            set.at(radius).worst_case(&problem, Settings::default())
        };
        for radius in [0.0, 1e-9, 1.0] {
            let slip = asked(3e8, radius).unwrap_err().to_string();
            assert!(slip.contains("bandwidth = 300000000 is out of scale"), "{slip}");
        }
        assert_eq!(asked(100.0, 0.0).unwrap().value(), problem.nominal());
        let some = asked(100.0, 1e-9).unwrap();
        assert!(some.value() < problem.nominal() + 1e-3, "{}", some.value());
    }
    // Where nobody is apart from anybody there is nothing to be out of scale with.
    let space = Space::grid([Feature::numeric("x").levels([2.0])]).unwrap();
    let population = Population::from_weights(Arc::new(space), vec![1.0]).unwrap();
    let problem = Problem::new(&population, &[4.0]).unwrap();
    let set = Mmd { kernel: Kernel::Gaussian, bandwidth: Some(1e8) };
    let worst = set.at(0.0).worst_case(&problem, Settings::default()).unwrap();
    assert_eq!((worst.value(), worst.gap()), (4.0, 0.0));
}

#[test]
fn the_bandwidth_is_the_median_distance_and_is_told() {
    let space = Space::points([Feature::numeric("x").weight(1.0)], vec![vec![0.0, 1.0, 5.0]]);
    let population = Population::from_weights(Arc::new(space.unwrap()), vec![1.0; 3]).unwrap();
    let set = Set::from(Mmd::default()).resolved(&Geometry::new(&population)).unwrap();
    assert_eq!(set.to_string(), "mmd:kernel=gaussian,bandwidth=4");
    assert_eq!("mmd".parse::<Set>().unwrap().to_string(), "mmd:kernel=gaussian");
    let slip = "mmd:kernel=cubic".parse::<Set>().unwrap_err().to_string();
    assert!(slip.contains("kernel is cubic; expected one of gaussian, laplace"), "{slip}");
}

//! The Sinkhorn ball: exponential cones, the scalar dual written out, its limits, grids against all
//! pairs, and what it says of itself.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, Random, case};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use seawall::{
    Direction, EngineKind, Feature, Geometry, Kl, Population, Problem, Set, Settings, Sinkhorn,
    Space, Status, Wasserstein, WorstCase,
};
use std::sync::Arc;

const KAPPAS: [f64; 4] = [0.05, 0.3, 1.0, 10.0];

fn solve(case: &Case, kappa: f64, radius: f64) -> WorstCase {
    Sinkhorn { kappa }.at(radius).worst_case(&case.problem(), Settings::default()).unwrap()
}

/// `log K_i(j)`, `K_i(j) ∝ w_j exp(−c_ij/κ)`, for every source: written out.
fn kernel(case: &Case, kappa: f64, reference: &[f64]) -> Vec<(f64, Vec<f64>)> {
    let n = case.space().len();
    let sources = (0..n).filter(|&i| case.weights()[i] > 0.0);
    let row = |i: usize| {
        let logs: Vec<f64> =
            (0..n).map(|j| reference[j].ln() - case.space().cost(i, j) / kappa).collect();
        let total = log_sum(&logs);
        (case.weights()[i], logs.iter().map(|l| l - total).collect())
    };
    sources.map(row).collect()
}

fn log_sum(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
}

fn uniform(case: &Case) -> Vec<f64> {
    vec![1.0; case.space().len()]
}

/// The dual at β = 1/(λκ): `ε/(κβ) + (1/β) Σ p_i log Σ_j K_i(j) exp(β f_j)`.
fn dual(rows: &[(f64, Vec<f64>)], f: &[f64], kappa: f64, radius: f64, beta: f64) -> f64 {
    let inner =
        |row: &[f64]| log_sum(&row.iter().zip(f).map(|(k, f)| k + beta * f).collect::<Vec<_>>());
    (radius / kappa + rows.iter().map(|(p, row)| p * inner(row)).sum::<f64>()) / beta
}

/// Its least value by golden sections in log β.
fn searched(rows: &[(f64, Vec<f64>)], f: &[f64], kappa: f64, radius: f64) -> f64 {
    let at = |t: f64| dual(rows, f, kappa, radius, t.exp());
    // A look everywhere first.
    let grid: Vec<f64> = (0..=400).map(|k| -14.0 + 0.07 * f64::from(k)).collect();
    let best = (0..grid.len()).min_by(|&a, &b| at(grid[a]).total_cmp(&at(grid[b]))).unwrap();
    let (mut low, mut high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(grid.len() - 1)]);
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..80 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if at(a) < at(b) { high = b } else { low = a }
    }
    at(0.5 * (low + high))
}

/// The radius beyond which nothing worsens, and the value there.
fn limit(rows: &[(f64, Vec<f64>)], f: &[f64], kappa: f64) -> (f64, f64) {
    let (mut cost, mut value) = (0.0, 0.0);
    for (p, row) in rows {
        let reached = || row.iter().zip(f).filter(|(k, _)| **k > f64::NEG_INFINITY);
        let top = reached().map(|(_, f)| *f).fold(f64::NEG_INFINITY, f64::max);
        let logs: Vec<f64> = reached().filter(|(_, f)| **f == top).map(|(k, _)| *k).collect();
        cost -= kappa * p * log_sum(&logs);
        value += p * top;
    }
    (cost, value)
}

/// `max Σ p_i π_ij f_j` with `Σ_j π_ij = 1` and `κ Σ p_i KL(π_i ‖ K_i) ≤ ε` as a cone program in
/// (π, t): `π exp(−t/π) ≤ K` and `Σ p_i t_ij ≤ ε/κ`.
fn cone_program(rows: &[(f64, Vec<f64>)], f: &[f64], kappa: f64, radius: f64) -> f64 {
    let entries: Vec<(usize, usize)> = (0..rows.len())
        .flat_map(|i| (0..f.len()).map(move |j| (i, j)))
        .filter(|&(i, j)| rows[i].1[j] > -60.0)
        .collect();
    let (m, n) = (entries.len(), rows.len());
    let (mut r, mut c, mut x, mut b) = (vec![], vec![], vec![], vec![1.0; n]);
    let mut put = |row: usize, col: usize, value: f64| {
        r.push(row);
        c.push(col);
        x.push(value);
    };
    for (e, &(i, _)) in entries.iter().enumerate() {
        put(i, e, 1.0);
        put(n, m + e, rows[i].0);
    }
    b.push(radius / kappa);
    for (e, &(i, j)) in entries.iter().enumerate() {
        let first = n + 1 + 3 * e;
        put(first, m + e, 1.0); // −t
        put(first + 1, e, -1.0); // π
        b.extend([0.0, 0.0, rows[i].1[j].exp()]);
    }
    let a = CscMatrix::new_from_triplets(n + 1 + 3 * m, 2 * m, r, c, x);
    let gains = entries.iter().map(|&(i, j)| -rows[i].0 * f[j]);
    let cost: Vec<f64> = gains.chain(vec![0.0; m]).collect();
    let mut cones = vec![SupportedConeT::ZeroConeT(n), SupportedConeT::NonnegativeConeT(1)];
    cones.extend((0..m).map(|_| SupportedConeT::ExponentialConeT()));
    // What the cones leave open, times the slope, is what the value is off by.
    let settings = DefaultSettings {
        verbose: false,
        tol_feas: 1e-10,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        ..DefaultSettings::default()
    };
    let zero = CscMatrix::zeros((2 * m, 2 * m));
    let mut solver = DefaultSolver::new(&zero, &cost, &a, &b, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

/// Whether the kernel has numbers that an interior point method can tell from 0.
fn mild(rows: &[(f64, Vec<f64>)]) -> bool {
    rows.iter().flat_map(|row| &row.1).all(|k| *k > -12.0 || *k == f64::NEG_INFINITY)
}

/// What a plan of all entries spends: `κ Σ p_i KL(π_i ‖ K_i)`.
fn spent(case: &Case, kappa: f64, worst: &WorstCase) -> f64 {
    let rows = kernel(case, kappa, &uniform(case));
    let sources: Vec<usize> =
        (0..case.space().len()).filter(|&i| case.weights()[i] > 0.0).collect();
    let term = |m: seawall::Move| {
        let s = sources.iter().position(|&i| i == m.from).unwrap();
        m.mass * ((m.mass / rows[s].0).ln() - rows[s].1[m.to])
    };
    kappa * worst.plan().iter().map(term).sum::<f64>()
}

#[test]
fn random_problems_match_the_dual_and_exponential_cones() {
    let (mut cones, mut duals) = (0, 0);
    for seed in common::cases(700) {
        let case = case(seed);
        let kappa = KAPPAS[seed as usize % 4];
        let rows = kernel(&case, kappa, &uniform(&case));
        let f = &case.values;
        let (most, highest) = limit(&rows, f, kappa);
        for share in [0.02, 0.3, 0.8] {
            let radius = share * most;
            if radius <= 1e-6 {
                continue;
            }
            let worst = solve(&case, kappa, radius);
            let what = format!("seed {seed}, kappa {kappa}, share {share}");
            assert_eq!(worst.status(), Status::Optimal, "{what}: {}", worst.gap());
            let wanted = searched(&rows, f, kappa, radius);
            assert!((worst.value() - wanted).abs() <= 1e-9, "{what}: {} {wanted}", worst.value());
            duals += 1;
            if case.space().len() <= 6 && share == 0.3 && mild(&rows) {
                let program = cone_program(&rows, f, kappa, radius);
                assert!(
                    (worst.value() - program).abs() <= 1e-6,
                    "{what}: {} {program}",
                    worst.value()
                );
                cones += 1;
            }
            // The population attains the lower bound, and its plan spends the radius.
            let weights = worst.weights();
            let mean: f64 = weights.iter().zip(f).map(|(q, f)| q * f).sum();
            assert!((mean - worst.lower()).abs() <= 1e-9, "{what}: {mean} {}", worst.lower());
            let settings = Settings { plan_floor: 0.0, ..Settings::default() };
            let all = Sinkhorn { kappa }.at(radius).worst_case(&case.problem(), settings).unwrap();
            let paid = spent(&case, kappa, &all);
            assert!(paid <= radius * (1.0 + 1e-9) + 1e-13, "{what}: {paid} of {radius}");
            let arrived = all.plan().arrivals();
            let off = arrived.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off <= 1e-12, "{what}: {off}");
        }
        // The limits.
        let spread = |row: &[f64]| row.iter().zip(f).map(|(k, f)| k.exp() * f).sum::<f64>();
        let still: f64 = rows.iter().map(|(p, row)| p * spread(row)).sum();
        let zero = solve(&case, kappa, 0.0);
        assert!((zero.value() - still).abs() <= 1e-12, "seed {seed}: {} {still}", zero.value());
        assert_eq!(zero.status(), Status::Optimal);
        for beyond in [most * (1.0 + 1e-12) + 1e-12, 2.0 * most + 1.0, 1e300] {
            let worst = solve(&case, kappa, beyond);
            let near = (worst.value() - highest).abs() <= 1e-12;
            assert!(near, "seed {seed}: {} {highest}", worst.value());
            assert_eq!(worst.lambda(), 0.0);
        }
    }
    println!("{duals} duals, {cones} cone programs");
    assert!(
        duals >= common::cases::enough(500) && cones >= common::cases::enough(20),
        "{duals} {cones}"
    );
}

/// Problems of at most six points: every one against the dual, and against cones wherever the kernel
/// has no number that an interior point method cannot tell from 0.
#[test]
fn small_problems_match_exponential_cones() {
    let mut cones = 0;
    for seed in common::cases(1000) {
        let r = &mut Random(seed ^ 0xC0FE);
        let n = 2 + r.below(5);
        let x: Vec<f64> = (0..n).map(|_| 2.0 * r.unit()).collect();
        let sex: Vec<f64> = (0..n).map(|_| r.below(2) as f64).collect();
        let features = [Feature::numeric("x").weight(1.0), Feature::nominal("s", ["F", "M"])];
        let space = Arc::new(Space::points(features, vec![x, sex]).unwrap());
        let mut weights: Vec<f64> =
            (0..n).map(|_| if r.chance(0.3) { 0.0 } else { 0.05 + r.unit() }).collect();
        weights[0] += 0.1;
        let values = (0..n).map(|_| 2.0 * r.unit() - 1.0).collect();
        let case = Case { population: Population::from_weights(space, weights).unwrap(), values };
        let kappa = [0.1, 0.3, 1.0, 10.0][r.below(4)];
        let rows = kernel(&case, kappa, &uniform(&case));
        let radius = (0.05 + 0.8 * r.unit()) * limit(&rows, &case.values, kappa).0;
        let worst = solve(&case, kappa, radius);
        let wanted = searched(&rows, &case.values, kappa, radius);
        assert!((worst.value() - wanted).abs() <= 1e-9, "{seed}: {} {wanted}", worst.value());
        if mild(&rows) {
            let program = cone_program(&rows, &case.values, kappa, radius);
            assert!((worst.value() - program).abs() <= 1e-6, "{seed}: {} {program}", worst.value());
            cones += 1;
        }
    }
    println!("{cones} cone programs");
    assert!(cones >= common::cases::enough(500), "{cones}");
}

#[test]
fn it_lies_between_its_limits() {
    for seed in common::cases(150) {
        let case = case(seed);
        let problem = case.problem();
        let points = (case.space().len() as f64).ln();
        let scale = case.scale();
        if scale == 0.0 {
            continue;
        }
        // A small κ: within κ log M of radius either way, a Wasserstein ball. The plans of the one
        // cost at most ε + ε₀ ≤ ε + κ log M, and those of the other have at most log M nats.
        let kappa = 1e-3 * scale;
        let radius = 0.05 * scale;
        let found = solve(&case, kappa, radius);
        let exact = |r: f64| Wasserstein.at(r).worst_case(&problem, Settings::default()).unwrap();
        let (above, below) =
            (exact(radius + kappa * points).value(), exact((radius - kappa * points).max(0.0)));
        assert!(found.lower() <= above + 1e-9, "{seed}: {} {above}", found.lower());
        assert!(found.upper() >= below.value() - 1e-9, "{seed}");
        // A large κ: a KL ball around the reference weights of radius ε/κ, behind no wall.
        let walls =
            (0..case.space().names().len()).any(|k| case.space().kind(k) == seawall::Kind::Fixed);
        if walls {
            continue;
        }
        let kappa = 1e9 * scale;
        let found = solve(&case, kappa, 0.2 * kappa);
        let around = Population::from_weights(case.population.space().clone(), uniform(&case));
        let around = around.unwrap();
        let around = Problem::new(&around, &case.values).unwrap();
        let kl = Kl.at(0.2).worst_case(&around, Settings::default()).unwrap();
        assert!((found.value() - kl.value()).abs() <= 1e-7, "{seed}: {}", found.value());
    }
}

#[test]
fn grids_and_all_pairs_agree() {
    for seed in common::cases(300) {
        let case = case(seed);
        let kappa = KAPPAS[seed as usize % 4];
        let at = |kind, radius| {
            let geometry = Geometry::with(&case.population, kind).shared();
            let problem = Problem::on(&geometry, &case.values).unwrap();
            Sinkhorn { kappa }.at(radius).worst_case(&problem, Settings::default())
        };
        for radius in common::radii(&case) {
            let (Ok(grid), scan) = (at(EngineKind::Grid, radius), at(EngineKind::Scan, radius))
            else {
                continue;
            };
            let scan = scan.unwrap();
            let what = format!("{seed} at {radius}: {} {}", grid.value(), scan.value());
            assert!((grid.value() - scan.value()).abs() <= 1e-12, "{what}");
            let off = grid.weights().into_iter().zip(scan.weights()).map(|(a, b)| (a - b).abs());
            let settled = radius == 0.0 || grid.gap() == 0.0;
            assert!(!settled || off.fold(0.0, f64::max) <= 1e-6, "{what}");
        }
    }
}

#[test]
fn it_worsens_with_the_radius_and_has_two_sides() {
    for seed in common::cases(150) {
        let case = case(seed);
        let mut before = f64::NEG_INFINITY;
        for radius in common::radii(&case) {
            let worst = solve(&case, 0.3, radius);
            assert!(worst.value() >= before - 1e-12, "{seed} at {radius}");
            before = worst.value();
            // Rewards are costs turned round.
            let turned: Vec<f64> = case.values.iter().map(|f| -f).collect();
            let problem =
                Problem::new(&case.population, &turned).unwrap().direction(Direction::Reward);
            let other =
                Sinkhorn { kappa: 0.3 }.at(radius).worst_case(&problem, Settings::default());
            assert_eq!(other.unwrap().value(), -worst.value());
        }
    }
}

#[test]
fn the_curve_holds_the_value_at_every_radius() {
    for seed in common::cases(60) {
        let case = case(seed);
        let mut solver =
            Sinkhorn { kappa: 0.3 }.solver(&case.problem(), Settings::default()).unwrap();
        let curve = solver.curve(1e-4).unwrap();
        assert!(curve.error() <= 1e-4 * (1.0 + 1e-9), "{seed}: {}", curve.error());
        let zero = solver.worst_case(0.0).unwrap().value();
        assert_eq!(solver.value_at_zero(), zero);
        for radius in common::radii(&case) {
            let (found, wanted) = (curve.at(radius), solver.worst_case(radius).unwrap().value());
            assert!(
                found.lower <= wanted + 1e-9 && wanted <= found.upper + 1e-9,
                "{seed} at {radius}: {wanted} not in {} to {}",
                found.lower,
                found.upper
            );
        }
        assert!(solver.curve(0.0).is_err());
    }
}

#[test]
fn small_radii_keep_their_digits() {
    // V(ε) = V(0) + σ √(2ε/κ) + O(ε), σ² the mean variance of f under the spread.
    let space = Space::grid([Feature::numeric("x").levels([0.0, 1.0]).weight(1.0)]).unwrap();
    let population = Population::from_weights(Arc::new(space), vec![1.0, 0.0]).unwrap();
    let values = [1e6, 1e6 + 2.0];
    let problem = Problem::new(&population, &values).unwrap();
    let kappa = 0.5;
    let q = (-1.0f64 / kappa).exp() / (1.0 + (-1.0f64 / kappa).exp());
    let (mean, deviation) = (1e6 + 2.0 * q, 2.0 * (q * (1.0 - q)).sqrt());
    for radius in [1e-20, 1e-16, 1e-12, 1e-8] {
        let worst =
            Sinkhorn { kappa }.at(radius).worst_case(&problem, Settings::default()).unwrap();
        let rise = deviation * (2.0 * radius / kappa).sqrt();
        let found = worst.value() - mean;
        assert!((found - rise).abs() <= 10.0 * radius + 1e-9, "{radius}: {found} {rise}");
        // The price is the slope: σ / √(2εκ).
        let slope = deviation / (2.0 * radius * kappa).sqrt();
        assert!((worst.lambda() / slope - 1.0).abs() <= 1e-3, "{radius}: {}", worst.lambda());
        assert!(worst.gap() <= 1e-8, "{}", worst.gap());
    }
}

#[test]
fn extremes_are_answered_or_refused() {
    let space = Arc::new(
        Space::grid([
            Feature::numeric("x").levels([0.0, 1.0, 2.0]),
            Feature::nominal("s", ["a", "b"]),
        ])
        .unwrap(),
    );
    let population =
        Population::from_weights(space, vec![1.0, 1e-300, 0.0, 0.5, 0.0, 1e-300]).unwrap();
    for size in [1e-300, 1.0, 1e300] {
        let values: Vec<f64> = (0..6).map(|j| size * (f64::from(j) - 2.0)).collect();
        let problem = Problem::new(&population, &values).unwrap();
        for kappa in [1e-3, 1.0, 1e6] {
            for radius in [0.0, 1e-12, 0.01, 1.0, 1e12] {
                let set = Sinkhorn { kappa }.at(radius);
                let worst = set.worst_case(&problem, Settings::default()).unwrap();
                let inside = |v: f64| (-2.0 * size..=3.0 * size * (1.0 + 1e-12)).contains(&v);
                assert!(inside(worst.value()), "{size} {kappa} {radius}: {}", worst.value());
                assert!(worst.gap() <= 1e-9 * size, "{size} {kappa} {radius}: {}", worst.gap());
            }
        }
    }
    let values = [1.0; 6];
    let problem = Problem::new(&population, &values).unwrap();
    let worst = Sinkhorn { kappa: 0.1 }.at(0.3).worst_case(&problem, Settings::default()).unwrap();
    assert!((worst.value() - 1.0).abs() <= 1e-15 && worst.gap() <= 1e-15);
    for kappa in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Sinkhorn { kappa }.at(0.1).worst_case(&problem, Settings::default()).is_err());
    }
}

#[test]
fn reference_weights_say_where_people_may_be() {
    for seed in common::cases(150) {
        let case = case(seed);
        let r = &mut Random(seed ^ 7);
        let reference: Vec<f64> =
            case.values.iter().map(|_| if r.chance(0.3) { 0.0 } else { r.unit() + 0.1 }).collect();
        let problem = case.problem();
        let Ok(problem) = problem.reference(&reference) else { continue };
        let kappa = KAPPAS[seed as usize % 4];
        let rows = kernel(&case, kappa, &reference);
        let nowhere = rows.iter().any(|(_, row)| row.iter().all(|k| k.is_nan()));
        let found = Sinkhorn { kappa }.solver(&problem, Settings::default());
        if nowhere {
            assert!(found.err().unwrap().to_string().contains("nowhere to be"), "{seed}");
            continue;
        }
        let most = limit(&rows, &case.values, kappa).0;
        if most <= 1e-6 {
            continue;
        }
        let worst = found.unwrap().worst_case(0.3 * most).unwrap();
        let wanted = searched(&rows, &case.values, kappa, 0.3 * most);
        assert!((worst.value() - wanted).abs() <= 1e-9, "{seed}: {} {wanted}", worst.value());
        let out = worst.weights().iter().zip(&reference).all(|(q, w)| *w > 0.0 || *q == 0.0);
        assert!(out, "{seed}: somebody is where nobody may be");
    }
}

#[test]
fn the_least_radius_that_contains_a_population_is_just_enough() {
    for seed in common::cases(60) {
        let case = case(seed);
        let kappa = [0.3, 1.0, 10.0][seed as usize % 3] * case.scale().max(0.1);
        let set = Set::from(Sinkhorn { kappa });
        let geometry = Geometry::new(&case.population);
        // The worst population of a radius is contained from that radius on, or a little before if
        // another plan leads there more cheaply.
        let rows = kernel(&case, kappa, &uniform(&case));
        let radius = 0.3 * limit(&rows, &case.values, kappa).0.max(0.0);
        let worst = solve(&case, kappa, radius);
        let space = case.population.space().clone();
        let other = Population::from_weights(space, worst.weights()).unwrap();
        let Some(least) = set.containing(&geometry, &other).unwrap() else {
            panic!("{seed}: no answer")
        };
        assert!(least <= radius * (1.0 + 1e-6) + 1e-9, "{seed}: {least} of {radius}");
        // It has the largest mean of its radius, so none below has it too.
        assert!(least >= radius * (1.0 - 1e-4) - 1e-7, "{seed}: {least} of {radius}");
    }
}

#[test]
fn it_says_what_it_is() {
    let set: Set = "sinkhorn:kappa=0.1".parse().unwrap();
    assert_eq!(set, Sinkhorn { kappa: 0.1 }.into());
    assert!(set.moves_mass() && set.reaches_unseen() && !set.is_smoothed());
    assert!(!set.contains_nominal() && !set.stays_at_zero() && !set.has_exact_curve());
    assert!(!set.needs_known() && set.exact() == set);
    let slip = |text: &str| text.parse::<Set>().unwrap_err().to_string();
    assert!(slip("sinkhorn").contains("sinkhorn needs kappa"), "{}", slip("sinkhorn"));
    assert!(slip("sinkhorn:kappa=0").contains("expected a finite number > 0"));
}

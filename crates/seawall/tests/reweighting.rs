//! Sets that weigh people anew against cone programs, dense search, identities, limits and extremes.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, Random, case};
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{
    ExponentialConeT, NonnegativeConeT, PowerConeT, SecondOrderConeT, ZeroConeT,
};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use proptest::prelude::*;
use seawall::{
    Cvar, Direction, Geometry, Kl, Population, PowerDivergence, Problem, Set, Settings, Status,
    TotalVariation, WorstCase,
};

pub(crate) fn divergences() -> Vec<Set> {
    let orders = [3.0, 1.5, 6.0, 0.3, 0.9, -0.5, -2.0];
    let mut all = vec![
        PowerDivergence::CHI2.into(),
        PowerDivergence::HELLINGER.into(),
        PowerDivergence::BURG.into(),
    ];
    all.extend(orders.map(|k| Set::from(PowerDivergence::cressie_read(k))));
    all
}

pub(crate) fn everything() -> Vec<Set> {
    let mut all = divergences();
    all.push(Cvar.into());
    all
}

/// φ and what it is the larger argument of, by name: plain formulas.
fn phi(set: Set, t: f64) -> f64 {
    match (set.name(), set.parameter("k")) {
        ("chi2", _) => (t - 1.0) * (t - 1.0),
        ("hellinger", _) => (t.sqrt() - 1.0).powi(2),
        ("burg", _) => -t.ln() + t - 1.0,
        (_, Some(k)) => (t.powf(k) - k * t + k - 1.0) / (k * (k - 1.0)),
        _ => panic!("{set}"),
    }
}

/// What a unit of mass costs where nobody was seen.
fn slope(set: Set) -> f64 {
    match (set.name(), set.parameter("k")) {
        ("hellinger" | "burg", _) => 1.0,
        (_, Some(k)) if k < 1.0 => 1.0 / (1.0 - k),
        _ => f64::INFINITY,
    }
}

fn divergence(set: Set, p: &[f64], q: &[f64]) -> f64 {
    p.iter()
        .zip(q)
        .map(|(&p, &q)| match (p, q) {
            (0.0, 0.0) => 0.0,
            (0.0, q) => q * slope(set),
            (p, q) => p * phi(set, q / p),
        })
        .sum()
}

fn solve(set: Set, case: &Case, radius: f64) -> WorstCase {
    set.at(radius).worst_case(&case.problem(), Settings::default()).unwrap()
}

pub(crate) fn size(case: &Case) -> f64 {
    case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()))
}

/// The largest value that can gain mass.
fn highest(set: Set, case: &Case) -> f64 {
    let reached = case.weights().iter().zip(&case.values);
    let reached = reached.filter(|(p, _)| **p > 0.0 || set.reaches_unseen());
    reached.map(|(_, f)| *f).fold(f64::NEG_INFINITY, f64::max)
}

/// Bounds in order and closed; the population within the radius, attaining the lower one.
fn check(set: Set, case: &Case, radius: f64, worst: &WorstCase, what: &str) {
    let size = size(case);
    assert_eq!(worst.status(), Status::Optimal, "{what}: gap {}", worst.gap());
    assert!(worst.gap() <= 1e-10 * size, "{what}: gap {}", worst.gap());
    let (p, q) = (case.weights(), worst.weights());
    assert!(q.iter().all(|q| *q >= 0.0), "{what}");
    let total: f64 = q.iter().sum();
    assert!((total - 1.0).abs() <= 1e-11, "{what}: mass {total}");
    let mean: f64 = q.iter().zip(&case.values).map(|(q, f)| q * f).sum();
    assert!((mean - worst.lower()).abs() <= 1e-10 * size, "{what}: {mean} {}", worst.lower());
    let spent: f64 = worst.plan().iter().map(|step| step.mass * step.cost).sum();
    let there = Population::from_weights(case.population.space().clone(), q.clone()).unwrap();
    let least = set.containing(&Geometry::new(&case.population), &there).unwrap().unwrap();
    let slack = 1e-8 * radius + 1e-12;
    assert!(least <= radius + slack, "{what}: contained from {least}");
    if set.name() == "cvar" {
        assert!(p.iter().zip(&q).all(|(p, q)| q * (1.0 - radius) <= p * (1.0 + 1e-11) + 1e-15));
    } else {
        let apart = divergence(set, p, &q);
        assert!(apart <= radius + slack + 1e-13 * slope_size(set), "{what}: {apart} apart");
        assert!((apart - least).abs() <= 1e-7 * apart.max(1e-4), "{what}: {apart} and {least}");
    }
    assert!((spent - least).abs() <= 1e-7 * least.max(1e-4), "{what}: {spent} spent, {least}");
}

fn slope_size(set: Set) -> f64 {
    if slope(set).is_finite() { slope(set) } else { 1.0 }
}

/// A cone program, row by row.
#[derive(Default)]
struct Program {
    entries: Vec<(usize, usize, f64)>,
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// Rows `right − Σ entries` in a cone.
    fn put(&mut self, cone: SupportedConeT<f64>, rows: &[(&[(usize, f64)], f64)]) {
        for (entries, right) in rows {
            let row = self.right.len();
            self.entries.extend(entries.iter().map(|&(column, x)| (row, column, x)));
            self.right.push(*right);
        }
        self.cones.push(cone);
    }

    fn maximum(self, gain: &[f64]) -> f64 {
        let rows = self.entries.iter().map(|e| e.0).collect();
        let columns = self.entries.iter().map(|e| e.1).collect();
        let numbers = self.entries.iter().map(|e| e.2).collect();
        let n = gain.len();
        let a = CscMatrix::new_from_triplets(self.right.len(), n, rows, columns, numbers);
        let cost: Vec<f64> = gain.iter().map(|f| -f).collect();
        // A violation of 1e-8 in every cone, its default, may move the value by more than 1e-6.
        let settings = DefaultSettings {
            verbose: false,
            tol_feas: 1e-11,
            tol_gap_abs: 1e-11,
            tol_gap_rel: 1e-11,
            ..DefaultSettings::default()
        };
        let zero = CscMatrix::zeros((n, n));
        let mut solver =
            DefaultSolver::new(&zero, &cost, &a, &self.right, &self.cones, settings).unwrap();
        solver.solve();
        -solver.solution.obj_val
    }
}

/// `max Σ q f` over the set, with a variable for every point that may have mass and one for what each
/// observed point spends.
fn cone_program(set: Set, case: &Case, radius: f64) -> f64 {
    let points = case.weights().iter().zip(&case.values);
    let points: Vec<(f64, f64)> =
        points.map(|(p, f)| (*p, *f)).filter(|(p, _)| *p > 0.0 || slope(set).is_finite()).collect();
    let n = points.len();
    let mut program = Program::default();
    let all: Vec<(usize, f64)> = (0..n).map(|i| (i, 1.0)).collect();
    program.put(ZeroConeT(1), &[(&all, 1.0)]);
    for i in 0..n {
        program.put(NonnegativeConeT(1), &[(&[(i, -1.0)], 0.0)]);
    }
    let seen = || (0..n).filter(|&i| points[i].0 > 0.0);
    let mut budget: Vec<(usize, f64)> = Vec::new();
    let mut right = radius;
    match (set.name(), set.parameter("k")) {
        ("cvar", _) => {
            for (i, (p, _)) in points.iter().enumerate() {
                program.put(NonnegativeConeT(1), &[(&[(i, 1.0)], p / (1.0 - radius))]);
            }
        }
        ("chi2", _) => {
            let each: Vec<[(usize, f64); 1]> =
                (0..n).map(|i| [(i, -1.0 / points[i].0.sqrt())]).collect();
            let mut rows: Vec<(&[(usize, f64)], f64)> = vec![(&[], radius.sqrt())];
            rows.extend((0..n).map(|i| (&each[i][..], -points[i].0.sqrt())));
            program.put(SecondOrderConeT(n + 1), &rows);
        }
        ("hellinger", _) => {
            // z² ≤ q p; Σ q + p − 2 z ≤ ε.
            for i in seen() {
                let (p, z) = (points[i].0, n + i);
                let rows: [(&[(usize, f64)], f64); 3] =
                    [(&[(i, -1.0)], p), (&[(i, -1.0)], -p), (&[(z, -2.0)], 0.0)];
                program.put(SecondOrderConeT(3), &rows);
                budget.push((z, -2.0));
                right -= p;
            }
            budget.extend((0..n).map(|i| (i, 1.0)));
        }
        ("burg", _) => {
            // p exp(s/p) ≤ q; Σ q − p − s ≤ ε.
            for i in seen() {
                let (p, s) = (points[i].0, n + i);
                let rows: [(&[(usize, f64)], f64); 3] =
                    [(&[(s, -1.0)], 0.0), (&[], p), (&[(i, -1.0)], 0.0)];
                program.put(ExponentialConeT(), &rows);
                budget.push((s, -1.0));
                right += p;
            }
            budget.extend((0..n).map(|i| (i, 1.0)));
        }
        (_, Some(k)) => {
            let factor = k * (k - 1.0);
            for i in seen() {
                let (p, t) = (points[i].0, n + i);
                let own: &[(usize, f64)] = &[(t, -1.0)];
                let one: &[(usize, f64)] = &[];
                let q: &[(usize, f64)] = &[(i, -1.0)];
                if k > 1.0 {
                    // q ≤ t^(1/k) p^(1 − 1/k)
                    program.put(PowerConeT(1.0 / k), &[(own, 0.0), (one, p), (q, 0.0)]);
                } else if k > 0.0 {
                    // t ≤ q^k p^(1 − k)
                    program.put(PowerConeT(k), &[(q, 0.0), (one, p), (own, 0.0)]);
                } else {
                    // p ≤ t^(1/(1 − k)) q^(−k/(1 − k))
                    let cone = PowerConeT(1.0 / (1.0 - k));
                    program.put(cone, &[(own, 0.0), (q, 0.0), (one, p)]);
                }
                budget.push((t, 1.0 / factor));
                right -= (k - 1.0) * p / factor;
            }
            budget.extend((0..n).map(|i| (i, -k / factor)));
        }
        _ => panic!("{set}"),
    }
    if !budget.is_empty() {
        program.put(NonnegativeConeT(1), &[(&budget, right)]);
    }
    let mut gain: Vec<f64> = points.iter().map(|(_, f)| *f).collect();
    if !matches!(set.name(), "cvar" | "chi2") {
        gain.resize(2 * n, 0.0);
        for i in (0..n).filter(|&i| points[i].0 == 0.0) {
            program.put(ZeroConeT(1), &[(&[(n + i, 1.0)], 0.0)]);
        }
    }
    program.maximum(&gain)
}

/// The least of a function that falls and then rises, between two numbers.
fn least(from: f64, to: f64, steps: usize, f: &mut dyn FnMut(f64) -> f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (from, to);
    let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    for _ in 0..steps {
        if at_c <= at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - golden * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + golden * (b - a);
            at_d = f(d);
        }
    }
    at_c.min(at_d)
}

/// `min_{λ,μ} λε + μ + Σ p λ φ*((f − μ)/λ)` by search, φ* written out for each set.
fn dense_search(set: Set, case: &Case, radius: f64) -> f64 {
    let conjugate = |s: f64| match (set.name(), set.parameter("k")) {
        ("chi2", _) => {
            if s > -2.0 {
                s + s * s / 4.0
            } else {
                -1.0
            }
        }
        ("hellinger", _) => s / (1.0 - s),
        ("burg", _) => -(-s).ln_1p(),
        (_, Some(k)) => {
            let base = (1.0 + (k - 1.0) * s).max(0.0);
            (base.powf(k / (k - 1.0)) - 1.0) / k
        }
        _ => panic!("{set}"),
    };
    let top = highest(set, case);
    let seen: Vec<(f64, f64)> = case
        .weights()
        .iter()
        .zip(&case.values)
        .filter(|(p, _)| **p > 0.0)
        .map(|(p, f)| (*p, *f))
        .collect();
    let bottom = seen.iter().map(|x| x.1).fold(f64::INFINITY, f64::min);
    let mut dual = |log: f64| {
        let price = log.exp();
        let low = bottom.max(top - price * slope(set));
        least(low, top, 90, &mut |mu| {
            let each = seen.iter().map(|(p, f)| p * price * conjugate((f - mu) / price));
            let total = price * radius + mu + each.sum::<f64>();
            if total.is_nan() { f64::INFINITY } else { total }
        })
    };
    least(-25.0, 12.0, 80, &mut dual)
}

/// The radius from which a set changes nothing more, if there is one.
fn largest(set: Set, case: &Case) -> f64 {
    let top = highest(set, case);
    let at_top = |(p, f): &(&f64, &f64)| if **f == top { **p } else { 0.0 };
    let mass: f64 = case.weights().iter().zip(&case.values).map(|x| at_top(&x)).sum();
    match set.name() {
        "cvar" => 1.0 - mass,
        _ if mass >= 1.0 - 1e-15 => 0.0,
        _ if mass == 0.0 => phi(set, 0.0) + slope(set),
        _ => mass * phi(set, 1.0 / mass) + (1.0 - mass) * phi(set, 0.0),
    }
}

proptest! {
    #![proptest_config(common::repeatable(500))]

    #[test]
    fn match_a_cone_program(seed in any::<u64>()) {
        let case = case(seed);
        let mut random = Random(seed);
        let mut sets = everything();
        // All of the named sets and one order of the last family.
        let order = 3 + random.below(7);
        sets = [&sets[..3], &sets[order..=order], &sets[10..]].concat();
        for set in sets {
            let limit = largest(set, &case).min(5.0);
            let radius = limit * (0.02 + 0.9 * random.unit());
            if radius <= 1e-6 { continue; }
            let worst = solve(set, &case, radius);
            let program = cone_program(set, &case, radius);
            let what = format!("{set} {seed} {radius}");
            prop_assert!((worst.value() - program).abs() <= 1e-6, "{}: {} and {program}", what, worst.value());
            check(set, &case, radius, &worst, &what);
        }
    }

    #[test]
    fn match_dense_search(seed in any::<u64>()) {
        let case = case(seed);
        let mut random = Random(seed);
        let sets = divergences();
        for set in [sets[random.below(3)], sets[3 + random.below(7)]] {
            let limit = largest(set, &case).min(5.0);
            let radius = limit * (0.02 + 0.9 * random.unit());
            if radius <= 1e-6 { continue; }
            let worst = solve(set, &case, radius);
            let found = dense_search(set, &case, radius);
            prop_assert!((worst.value() - found).abs() <= 1e-9, "{} {}: {} and {found}", set, radius, worst.value());
        }
    }

    #[test]
    fn limits_order_and_direction(seed in any::<u64>()) {
        let case = case(seed);
        let size = size(&case);
        let nominal = case.problem().nominal();
        for set in everything() {
            let worst = solve(set, &case, 0.0);
            prop_assert!((worst.value() - nominal).abs() <= 1e-15 * nominal.abs().max(1.0));
            check(set, &case, 0.0, &worst, &format!("{set} {seed} at 0"));
            let limit = largest(set, &case);
            let top = highest(set, &case);
            let mut before = nominal - 1e-15 * size;
            for radius in [1e-12, 1e-6, 0.01, 0.2, 0.7, 0.99, 3.0, 40.0, 1e3] {
                if set.name() == "cvar" && radius >= 1.0 { continue; }
                let worst = solve(set, &case, radius);
                let what = format!("{set} {seed} {radius}");
                prop_assert!(worst.value() >= before - 1e-12 * size, "{what}");
                prop_assert!(worst.value() <= top + 1e-12 * size, "{what}");
                before = worst.value();
                if radius > limit * (1.0 + 1e-12) + 1e-15 {
                    prop_assert_eq!(worst.value(), top, "{}", what);
                    prop_assert_eq!(worst.lambda(), 0.0);
                }
                // Large radii of what never ends are at the edge of what numbers can say.
                if radius < 30.0 || limit.is_finite() {
                    check(set, &case, radius, &worst, &what);
                } else {
                    prop_assert!(worst.gap() <= 1e-9 * size, "{}: {}", what, worst.gap());
                }
            }
            let values: Vec<f64> = case.values.iter().map(|f| -f).collect();
            let rewards = Problem::new(&case.population, &values).unwrap().direction(Direction::Reward);
            let reward = set.at(0.2).worst_case(&rewards, Settings::default()).unwrap();
            let cost = solve(set, &case, 0.2);
            prop_assert!(reward.value() == -cost.value() && reward.lower() == -cost.upper());
        }
    }

    #[test]
    fn curves_hold_the_value_at_every_radius(seed in 0u64..10_000) {
        let case = case(seed);
        let size = size(&case);
        for set in everything() {
            let mut solver = set.solver(&case.problem(), Settings::default()).unwrap();
            prop_assert!(solver.curve(0.0).is_err());
            let curve = solver.curve(1e-3).unwrap();
            prop_assert!(curve.error() <= 1e-3, "{set}: {}", curve.error());
            for radius in [0.0, 1e-6, 0.01, 0.1, 0.3, 0.55, 0.9, 2.0, 20.0] {
                if set.name() == "cvar" && radius >= 1.0 { continue; }
                let (value, read) = (solver.worst_case(radius).unwrap().value(), curve.at(radius));
                let near = 1e-10 * size;
                prop_assert!(
                    read.lower <= value + near && value <= read.upper + near,
                    "{set} {seed} {radius}: {value} {read:?}"
                );
                prop_assert!((read.value - value).abs() <= 1.001e-3 + near, "{set} {seed} {radius}");
            }
            if let Some(found) = curve.breakdown(0.5) {
                let below = solver.worst_case(found.lower * (1.0 - 1e-9)).unwrap().value();
                prop_assert!(found.lower == 0.0 || below <= 0.5 + 1e-9, "{set}: {below} at {found:?}");
                if found.upper.is_finite() && (set.name() != "cvar" || found.upper < 0.999) {
                    let above = solver.worst_case(found.upper * (1.0 + 1e-9) + 1e-12).unwrap().value();
                    prop_assert!(above >= 0.5 - 1e-9, "{set}: {above} at {found:?}");
                }
            }
        }
    }

    #[test]
    fn identities_between_sets(seed in any::<u64>()) {
        let case = case(seed);
        let size = size(&case);
        let at = |set: Set, radius: f64| solve(set, &case, radius).value();
        for radius in [0.003, 0.05, 0.4] {
            let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * size;
            let order = |k: f64| Set::from(PowerDivergence::cressie_read(k));
            prop_assert!(near(at(order(2.0), 0.5 * radius), at(PowerDivergence::CHI2.into(), radius), 1e-10));
            prop_assert!(near(at(order(0.5), 2.0 * radius), at(PowerDivergence::HELLINGER.into(), radius), 1e-10));
            for tiny in [1e-7, -1e-7, 1e-12] {
                prop_assert!(near(at(order(tiny), radius), at(PowerDivergence::BURG.into(), radius), 1e-5), "{tiny}");
            }
            // From above the order KL reaches nobody unseen.
            for tiny in [1e-7, 1e-12] {
                prop_assert!(near(at(order(1.0 + tiny), radius), at(Kl.into(), radius), 1e-5), "{tiny}");
            }
            // CVaR at level α is the worst reweighting by at most 1/α: its own sum, sorted.
            let alpha = 1.0 - radius;
            let mut people: Vec<(f64, f64)> =
                case.values.iter().copied().zip(case.weights().iter().copied()).collect();
            people.sort_by(|a, b| b.0.total_cmp(&a.0));
            let tail = |share: f64| {
                let mut left = share;
                people.iter().map(|(f, p)| {
                    let part = p.min(left);
                    left -= part;
                    part * f
                }).sum::<f64>()
            };
            prop_assert!(near(at(Cvar.into(), radius), tail(alpha) / alpha, 1e-11));
            // Total variation: ε of the largest value there is, and 1 − ε of CVaR at level 1 − ε.
            let top = case.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mixed = radius * top + (1.0 - radius) * at(Cvar.into(), radius);
            prop_assert!(near(at(TotalVariation.into(), radius), mixed, 1e-11));
        }
    }

    #[test]
    fn a_search_that_ends_early_shows_a_population_of_the_set(seed in any::<u64>()) {
        let case = case(seed);
        for set in divergences() {
            for max_evaluations in 1..4 {
                let settings = Settings { max_evaluations, ..Settings::default() };
                let worst = set.at(0.1).worst_case(&case.problem(), settings).unwrap();
                let apart = divergence(set, case.weights(), &worst.weights());
                prop_assert!(apart <= 0.1 * (1.0 + 1e-8), "{set}: {apart}");
                let mean: f64 = worst.weights().iter().zip(&case.values).map(|(q, f)| q * f).sum();
                prop_assert!(mean >= worst.lower() - 1e-9 * size(&case), "{set}");
            }
        }
    }
}

//! What must hold of any worst case, whatever the problem.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Case, Random, case, radii};
use proptest::prelude::*;
use seawall::{
    Entropic, Feature, Kl, Population, Problem, Settings, Shift, Space, Wasserstein, WorstCase,
};
use std::sync::Arc;

fn solve(set: Shift, case: &Case) -> WorstCase {
    set.worst_case(&case.problem(), Settings::default()).unwrap()
}

fn sets(radius: f64) -> [Shift; 3] {
    [Wasserstein.at(radius), Entropic { eta: 5.0 }.at(radius), Kl.at(radius)]
}

fn size(case: &Case) -> f64 {
    case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()))
}

/// A case's points, in another order and one of them listed twice, as points.
fn reshuffled(case: &Case, seed: u64) -> (Case, f64) {
    let space = case.space();
    let mut r = Random(seed);
    let mut order: Vec<usize> = (0..space.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, r.below(i + 1));
    }
    let split = order[0];
    order.push(split);
    let features = (0..space.names().len()).map(|k| {
        let numbers = (0..space.len()).map(|i| space.code(i, k));
        assert!(numbers.clone().all(|x| !x.is_nan()));
        Feature::numeric(format!("x{k}")).weight(1.0)
    });
    let columns = (0..space.names().len())
        .map(|k| order.iter().map(|&i| space.code(i, k)).collect())
        .collect();
    let points = Arc::new(Space::points(features, columns).unwrap());
    let share = r.unit();
    let weights = order.iter().enumerate().map(|(at, &i)| match () {
        () if i != split => case.weights()[i],
        () if at == 0 => share * case.weights()[i],
        () => (1.0 - share) * case.weights()[i],
    });
    let population = Population::from_weights(points, weights.collect()).unwrap();
    (Case { population, values: order.iter().map(|&i| case.values[i]).collect() }, share)
}

/// A few scattered points in one to three dimensions.
fn scattered(seed: u64) -> Case {
    let mut r = Random(seed);
    let (n, d) = (2 + r.below(12), 1 + r.below(3));
    let columns: Vec<Vec<f64>> =
        (0..d).map(|_| (0..n).map(|_| r.below(6) as f64).collect()).collect();
    let features = (0..d).map(|k| Feature::numeric(format!("x{k}")).weight(1.0));
    let space = Arc::new(Space::points(features, columns).unwrap());
    let weights = (0..n).map(|i| if i == 0 { 1.0 } else { r.unit() }).collect();
    let values = (0..n).map(|_| r.unit()).collect();
    Case { population: Population::from_weights(space, weights).unwrap(), values }
}

proptest! {
    #![proptest_config(common::repeatable(400))]

    #[test]
    fn monotone_and_concave_in_the_radius(seed in any::<u64>()) {
        let case = case(seed);
        let (scale, tolerance) = (case.scale().max(0.1), 1e-10 * size(&case));
        for at in 0..3 {
            let value = |r: f64| solve(sets(r * scale)[at], &case).value();
            let grid: Vec<f64> = (0..9).map(|k| value(f64::from(k) / 8.0)).collect();
            for pair in grid.windows(2) {
                prop_assert!(pair[1] >= pair[0] - tolerance, "{grid:?}");
            }
            for triple in grid.windows(3) {
                prop_assert!(2.0 * triple[1] >= triple[0] + triple[2] - tolerance, "{grid:?}");
            }
        }
    }

    #[test]
    fn the_bounds_are_in_order_and_the_mean_is_between(seed in any::<u64>()) {
        let case = case(seed);
        let nominal = case.problem().nominal();
        let highest = case.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for radius in radii(&case) {
            for set in sets(radius) {
                let worst = solve(set, &case);
                prop_assert!(worst.lower() <= worst.value() && worst.value() <= worst.upper());
                prop_assert!(worst.gap() <= 1e-9 * worst.value().abs().max(1e-4 * size(&case)),
                    "{set:?}: gap {}", worst.gap());
                prop_assert!(worst.value() <= highest + 1e-12 * size(&case));
                if !set.set.is_smoothed() {
                    prop_assert!(worst.value() >= nominal - 1e-12 * size(&case));
                }
                let total: f64 = worst.weights().iter().sum();
                prop_assert!((total - 1.0).abs() < 1e-9, "{set:?}: mass {total}");
                for feature in 0..case.space().names().len() {
                    let marginal = worst.marginal(feature).unwrap();
                    for shares in [&marginal.nominal, &marginal.worst] {
                        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn order_and_splitting_a_point_do_not_matter(seed in any::<u64>()) {
        let case = scattered(seed);
        let (other, _) = reshuffled(&case, seed);
        for radius in radii(&case) {
            for set in [Wasserstein.at(radius), Kl.at(radius)] {
                let (a, b) = (solve(set, &case).value(), solve(set, &other).value());
                prop_assert!((a - b).abs() <= 1e-12, "{set:?}: {a} and {b}");
            }
        }
    }

    #[test]
    fn scaling_the_values_or_the_cost_scales_the_answer(seed in any::<u64>()) {
        let case = scattered(seed);
        let tripled: Vec<f64> = case.values.iter().map(|f| 3.0 * f - 7.0).collect();
        let problem = Problem::new(&case.population, &tripled).unwrap();
        let dear: Vec<Feature> = (0..case.space().names().len())
            .map(|k| Feature::numeric(format!("x{k}")).weight(100.0))
            .collect();
        let columns = (0..dear.len())
            .map(|k| (0..case.space().len()).map(|i| case.space().code(i, k)).collect())
            .collect();
        let space = Arc::new(Space::points(dear, columns).unwrap());
        let weights = case.weights().to_vec();
        let dear = Case {
            population: Population::from_weights(space, weights).unwrap(),
            values: case.values.clone(),
        };
        for radius in radii(&case) {
            let plain = solve(Wasserstein.at(radius), &case).value();
            let set = Wasserstein.at(radius);
            let scaled = set.worst_case(&problem, Settings::default()).unwrap().value();
            prop_assert!((scaled - (3.0 * plain - 7.0)).abs() <= 1e-12);
            let further = Wasserstein.at(100.0 * radius);
            prop_assert!((solve(further, &dear).value() - plain).abs() <= 1e-12);
        }
    }
}

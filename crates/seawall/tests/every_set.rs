//! What must hold of the worst case over every set of contexts, whichever sets there are.
#![allow(clippy::unwrap_used)]

use crate::common::{Case, case, cases};
use seawall::{Direction, Set, Settings, WorstCase};

/// Every set of contexts that needs nothing but a population, parameters at their first example.
fn sets() -> impl Iterator<Item = Set> {
    let all = Set::names().map(|name| Set::example(name, &[]).unwrap());
    all.filter(|set| !set.needs_actions() && !set.needs_known())
}

fn worst(set: Set, case: &Case, radius: f64, direction: Direction) -> WorstCase {
    let problem = case.problem().direction(direction);
    set.at(radius).worst_case(&problem, Settings::default()).unwrap()
}

/// Radii below 1: what a share may be, too.
fn radii(set: Set, case: &Case) -> [f64; 4] {
    let unit = if set.uses_ground_cost() { case.scale().max(0.1) } else { 1.0 };
    [0.0, 0.05, 0.3, 0.9].map(|r| if unit == 1.0 { r } else { r * unit })
}

#[test]
fn bounds_hold_the_value_and_larger_radii_are_worse() {
    for seed in cases(120) {
        let case = case(seed);
        let size = case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()));
        for set in sets() {
            let mut before = f64::NEG_INFINITY;
            for radius in radii(set, &case) {
                let found = worst(set, &case, radius, Direction::Cost);
                let slack = 1e-7 * size;
                let (lower, upper) = (found.lower(), found.upper());
                assert!(lower <= upper + slack, "{seed} {set} {radius}: {lower} {upper}");
                assert!(
                    (lower - slack..=upper + slack).contains(&found.value()),
                    "{seed} {set} {radius}"
                );
                assert!(
                    found.value() >= before - slack,
                    "{seed} {set} {radius}: {} after {before}",
                    found.value()
                );
                before = found.value();
                let population = found.weights();
                let mass: f64 = population.iter().sum();
                assert!((mass - 1.0).abs() < 1e-9, "{seed} {set} {radius}: mass {mass}");
                // The population shown attains the lower bound; a smoothed value is not a mean.
                if !set.is_smoothed() {
                    let mean: f64 = population.iter().zip(&case.values).map(|(q, f)| q * f).sum();
                    assert!(
                        (mean - lower).abs() <= 1e-6 * size,
                        "{seed} {set} {radius}: {mean} {lower}"
                    );
                }
            }
        }
    }
}

#[test]
fn without_a_radius_nothing_shifts_where_the_set_says_so() {
    for seed in cases(120) {
        let case = case(seed);
        let nominal = case.problem().nominal();
        for set in // Where mass may go to other places, moves between equal ones are free.
            sets().filter(|set| set.stays_at_zero() && !set.reaches_unseen())
        {
            let found = worst(set, &case, 0.0, Direction::Cost);
            let size = case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()));
            assert!(
                (found.value() - nominal).abs() <= 1e-7 * size,
                "{seed} {set}: {} {nominal}",
                found.value()
            );
        }
    }
}

#[test]
fn rewards_are_costs_turned_round() {
    for seed in cases(60) {
        let case = case(seed);
        let turned = Case {
            population: case.population.clone(),
            values: case.values.iter().map(|f| -f).collect(),
        };
        let size = case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()));
        for set in sets() {
            for radius in radii(set, &case) {
                let cost = worst(set, &case, radius, Direction::Cost).value();
                let reward = worst(set, &turned, radius, Direction::Reward).value();
                assert!(
                    (cost + reward).abs() <= 1e-9 * size,
                    "{seed} {set} {radius}: {cost} {reward}"
                );
            }
        }
    }
}

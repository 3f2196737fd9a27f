//! Regression trees whose splits tie: the first in order wins, exactly, whatever the rounding.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Random, repeatable};
use proptest::prelude::*;
use seawall::outcome::{Cut, Recipe, Tree, TreeSettings};
use seawall::{Direction, Entry, Feature, Log, Space, Watch};
use std::sync::Arc;

/// How the values of outcomes are drawn: each is the whole number times this.
const STEPS: [f64; 6] = [1.0, 0.1, 0.01, 0.25, 1.0 / 3.0, std::f64::consts::PI];

/// Rows of a level of x, a level of y and a whole number from 0 to 9.
type Rows = Vec<(u32, u32, u32)>;

fn rows(seed: u64, levels: usize) -> Rows {
    let r = &mut Random(seed);
    let count = 6 + r.below(40);
    (0..count).map(|_| (r.below(levels) as u32, r.below(3) as u32, r.below(10) as u32)).collect()
}

/// The tree of one action over contexts of some features.
fn fitted(features: Vec<Feature>, entries: Vec<(u32, u32)>, values: Vec<f64>) -> Tree {
    let outcomes = Space::grid([Feature::numeric("y").levels((0..10).map(f64::from))]).unwrap();
    let entry = |&(context, outcome): &(u32, u32)| Entry {
        context,
        action: 0,
        outcome,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let log = Log::new(
        Arc::new(Space::grid(features).unwrap()),
        vec!["p".to_owned()],
        Arc::new(outcomes),
        values,
        Direction::Cost,
        entries.iter().map(entry).collect(),
    );
    let model =
        Recipe::Tree(vec![TreeSettings::default()]).fit(&log.unwrap(), Watch::NOBODY).unwrap();
    model.leaves().unwrap().trees()[0].clone()
}

fn values(step: f64) -> Vec<f64> {
    (0..10).map(|k| f64::from(k) * step).collect()
}

fn splits(tree: &Tree) -> Vec<Option<(usize, Cut)>> {
    (0..tree.len()).map(|n| tree.split(n).map(|s| (s.feature, s.cut.clone()))).collect()
}

/// `(n S_L − n_L S)² / (n_L n_R)` as a fraction, of every cut of one ordered feature.
fn gains(rows: &Rows, level: impl Fn(&(u32, u32, u32)) -> u32) -> Vec<(u32, i128, i128)> {
    let mut seen: Vec<u32> = rows.iter().map(&level).collect();
    seen.sort_unstable();
    seen.dedup();
    let sum = |of: &dyn Fn(u32) -> bool| {
        let in_side = rows.iter().filter(|r| of(level(r)));
        in_side.fold((0i128, 0i128), |(n, s), r| (n + 1, s + i128::from(r.2)))
    };
    let (n, s) = sum(&|_| true);
    seen[..seen.len() - 1]
        .iter()
        .map(|&cut| {
            let (left, left_sum) = sum(&|l| l <= cut);
            (cut, (n * left_sum - left * s).pow(2), left * (n - left))
        })
        .collect()
}

proptest! {
    #![proptest_config(repeatable(300))]

    /// A copy of a feature, and its mirror image, tie with it at every cut: the first by name is asked.
    #[test]
    fn copies_of_a_feature_are_never_asked(seed in any::<u64>()) {
        let drawn = rows(seed, 5);
        for step in STEPS {
            let numeric = |name: &str, sign: f64| {
                Feature::numeric(name).levels((0..5).map(|k| sign * f64::from(k)))
            };
            let nominal = |name: &str| Feature::nominal(name, (0..5).map(|k| format!("l{k}")));
            for kind in 0..3 {
                let features = match kind {
                    0 => vec![numeric("a", 1.0), numeric("copy", 1.0)],
                    1 => vec![numeric("a", 1.0), numeric("mirror", -1.0)],
                    _ => vec![nominal("a"), nominal("copy")],
                };
                let entries = drawn.iter().map(|r| (r.0 * 5 + r.0, r.2)).collect();
                let tree = fitted(features, entries, values(step));
                let asked = splits(&tree);
                prop_assert!(
                    asked.iter().flatten().all(|(feature, _)| *feature == 0),
                    "step {}: {:?}", step, asked
                );
            }
        }
    }

    /// The root is the first of the best cuts in whole numbers.
    #[test]
    fn the_first_of_the_best_cuts_wins(seed in any::<u64>()) {
        let drawn = rows(seed, 4);
        let mut best: Option<(usize, u32, i128, i128)> = None;
        let one = gains(&drawn, |r| r.0).into_iter().map(|g| (0, g));
        for (feature, (cut, top, bottom)) in one.chain(gains(&drawn, |r| r.1).into_iter().map(|g| (1, g))) {
            if best.is_none_or(|(_, _, t, b)| top * b > t * bottom) {
                best = Some((feature, cut, top, bottom));
            }
        }
        let first = drawn[0].2;
        let Some((feature, cut, ..)) = best.filter(|_| drawn.iter().any(|r| r.2 != first)) else {
            return Ok(());
        };
        for step in STEPS {
            let levels = |n: u32| (0..n).map(f64::from);
            let features = vec![
                Feature::numeric("x").levels(levels(4)),
                Feature::numeric("y").levels(levels(3)),
            ];
            let entries = drawn.iter().map(|r| (r.0 * 3 + r.1, r.2)).collect();
            let tree = fitted(features, entries, values(step));
            let found = tree.split(0).unwrap();
            prop_assert_eq!(found.feature, feature, "step {}", step);
            // Positions are scaled, so the cut is told by the rows on the left.
            let level = |r: &(u32, u32, u32)| if feature == 0 { r.0 } else { r.1 };
            let left = drawn.iter().filter(|r| level(r) <= cut).count() as f64;
            prop_assert_eq!(tree.summary(found.left).0, left, "step {}", step);
        }
    }

    /// Neither the order of rows nor a power of two changes a tree.
    #[test]
    fn order_and_powers_of_two_change_nothing(seed in any::<u64>(), power in -60..60i32) {
        let drawn = rows(seed, 5);
        for step in STEPS {
            let tree = |drawn: &Rows, factor: f64| {
                let features = vec![
                    Feature::numeric("x").levels((0..5).map(f64::from)),
                    Feature::nominal("y", ["a", "b", "c"]),
                ];
                let entries = drawn.iter().map(|r| (r.0 * 3 + r.1, r.2)).collect();
                let values = values(step).iter().map(|v| v * factor).collect();
                splits(&fitted(features, entries, values))
            };
            let plain = tree(&drawn, 1.0);
            let mut turned = drawn.clone();
            turned.reverse();
            prop_assert_eq!(&tree(&turned, 1.0), &plain);
            prop_assert_eq!(&tree(&drawn, f64::from(power).exp2()), &plain);
        }
    }
}

/// Levels of equal mean stay in their own order, however their sums round.
#[test]
fn levels_of_equal_mean_keep_their_order() {
    // The means of a, b and c are all 0.2; d is above.
    let rows = [(0, 2), (1, 1), (1, 3), (2, 0), (2, 1), (2, 5), (3, 9)];
    for step in STEPS {
        let features = vec![Feature::nominal("x", ["a", "b", "c", "d"])];
        let tree = fitted(features, rows.to_vec(), values(step));
        assert_eq!(tree.split(0).unwrap().cut, Cut::Levels(vec![0, 1, 2]), "step {step}");
        let left = tree.split(tree.split(0).unwrap().left).unwrap();
        assert_eq!(left.cut, Cut::Levels(vec![0]), "step {step}");
    }
}

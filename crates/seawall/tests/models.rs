//! Forests, boosted trees and additive models against slow, obvious versions of themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Random, repeatable};
use proptest::prelude::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity};
use seawall::outcome::{
    AdditiveSearch, AdditiveSettings, BoostedSettings, ForestSettings, Model, Recipe, TreeSettings,
    Unseen, choose_additive, choose_rounds,
};
use seawall::policy::Policy;
use seawall::{Direction, Entry, Feature, Log, Settings, Space, Wasserstein, Watch};
use std::sync::Arc;

/// Rows of an ordered, a nominal and an ordered feature with a missing level; and an outcome.
pub(crate) type Row = ([u32; 3], f64);

pub(crate) const LEVELS: [u32; 3] = [7, 5, 4];

pub(crate) fn space() -> Arc<Space> {
    let space = Space::grid([
        Feature::numeric("age").levels([1.0, 2.0, 4.0, 5.0, 9.0, 10.0, 20.0]),
        Feature::nominal("site", ["a", "b", "c", "d", "e"]),
        Feature::ordinal("stage", ["i", "ii", "iii"]).with_missing(),
    ]);
    Arc::new(space.unwrap())
}

pub(crate) fn context([a, b, c]: [u32; 3]) -> u32 {
    (a * LEVELS[1] + b) * LEVELS[2] + c
}

/// Rows with whole outcomes, so that splits tie, or with outcomes that never do.
pub(crate) fn rows(seed: u64, count: usize, ties: bool) -> Vec<Row> {
    let r = &mut Random(seed);
    (0..count)
        .map(|_| {
            let levels = LEVELS.map(|n| r.below(n as usize) as u32);
            let noise = if ties { r.below(4) as f64 } else { 3.0 * r.unit() };
            (levels, (f64::from(levels[0]) * 0.5 + f64::from(levels[1] % 2)).round() + noise)
        })
        .collect()
}

/// A log with these rows under one action.
pub(crate) fn log_of(rows: &[Row]) -> Log {
    log_toward(rows, Direction::Cost)
}

pub(crate) fn log_toward(rows: &[Row], direction: Direction) -> Log {
    let mut values: Vec<f64> = rows.iter().map(|r| r.1).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let outcomes = Space::grid([Feature::numeric("y").levels(values.clone())]).unwrap();
    let entry = |row: &Row| Entry {
        context: context(row.0),
        action: 0,
        outcome: values.iter().position(|v| *v == row.1).unwrap() as u32,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let entries = rows.iter().map(entry).collect();
    let (space, actions) = (space(), vec!["p".to_owned()]);
    Log::new(space, actions, Arc::new(outcomes), values, direction, entries).unwrap()
}

pub(crate) fn plain(log: &Log, model: &Model) -> Vec<f64> {
    let values = model.values(log, Wasserstein.at(0.0), Unseen::Mean, Settings::default()).unwrap();
    values.matrix().cells().to_vec()
}

pub(crate) fn fit(log: &Log, recipe: &Recipe) -> Vec<f64> {
    plain(log, &recipe.fit(log, Watch::NOBODY).unwrap())
}

/// One tree on the log's own rows.
pub(crate) fn lone(max_depth: usize, min_samples_leaf: f64) -> Recipe {
    Recipe::Forest(ForestSettings {
        trees: 1,
        features: Some(3),
        min_samples_leaf,
        max_depth,
        resample: false,
        ..ForestSettings::default()
    })
}

pub(crate) fn mean(rows: &[Row]) -> f64 {
    rows.iter().map(|r| r.1).sum::<f64>() / rows.len() as f64
}

pub(crate) fn squares(rows: &[Row]) -> f64 {
    let mean = mean(rows);
    rows.iter().map(|r| (r.1 - mean).powi(2)).sum()
}

/// A tree by definition: every set of levels that a cut can make is tried, and its error taken from
/// the rows themselves. Fills in the value of every context that comes this way.
pub(crate) fn slow(
    rows: &[Row],
    among: Vec<[u32; 3]>,
    depth: usize,
    least: usize,
    values: &mut [f64],
) {
    let position = [1.0, 2.0, 4.0, 5.0, 9.0, 10.0, 20.0];
    let mut best: Option<(f64, usize, Vec<u32>)> = None;
    for k in 0..3 {
        let mut seen: Vec<u32> = rows.iter().map(|r| r.0[k]).collect();
        seen.sort_unstable();
        seen.dedup();
        if k == 1 {
            let own = |level: &u32| {
                mean(&rows.iter().copied().filter(|r| r.0[1] == *level).collect::<Vec<_>>())
            };
            seen.sort_by(|a, b| own(a).total_cmp(&own(b)));
        }
        for cut in 1..seen.len() {
            // Which levels go left: those seen, or all that are nearer to them; missing ones never.
            let (last, next) = (seen[cut - 1], seen[cut]);
            let left: Vec<u32> = match k {
                1 => seen[..cut].to_vec(),
                0 => {
                    let middle = 0.5 * (position[last as usize] + position[next as usize]);
                    (0..7).filter(|l| position[*l as usize] <= middle).collect()
                }
                _ if next == 3 => (0..3).collect(),
                _ => (0..3).filter(|l| f64::from(*l) <= 0.5 * f64::from(last + next)).collect(),
            };
            let (one, two): (Vec<Row>, Vec<Row>) =
                rows.iter().partition(|r| left.contains(&r.0[k]));
            if one.len() < least || two.len() < least {
                continue;
            }
            let gain = squares(rows) - squares(&one) - squares(&two);
            if gain > 1e-9 && best.as_ref().is_none_or(|b| gain > b.0 * (1.0 + 1e-9)) {
                best = Some((gain, k, left));
            }
        }
    }
    match best.filter(|_| depth > 0) {
        None => among.iter().for_each(|x| values[context(*x) as usize] = mean(rows)),
        Some((_, k, left)) => {
            let (one, two): (Vec<Row>, Vec<Row>) =
                rows.iter().partition(|r| left.contains(&r.0[k]));
            let (near, far) = among.into_iter().partition(|x| left.contains(&x[k]));
            slow(&one, near, depth - 1, least, values);
            slow(&two, far, depth - 1, least, values);
        }
    }
}

pub(crate) fn all_contexts() -> Vec<[u32; 3]> {
    let each = |a| (0..LEVELS[1]).flat_map(move |b| (0..LEVELS[2]).map(move |c| [a, b, c]));
    (0..LEVELS[0]).flat_map(each).collect()
}

proptest! {
    #![proptest_config(repeatable(200))]

    /// Histograms grow the tree that all splits by definition do, ties and all.
    #[test]
    fn histograms_grow_the_tree_by_definition(
        seed: u64, count in 4..80usize, ties: bool, depth in 0..5usize, least in 1..4usize,
    ) {
        let rows = rows(seed, count, ties);
        let mut expected = vec![f64::NAN; space().len()];
        // Which of levels of equal mean comes first is a matter of rounding: with leaves of one row
        // it makes no difference.
        let least = if ties { 1 } else { least };
        slow(&rows, all_contexts(), depth, least, &mut expected);
        let found = fit(&log_of(&rows), &lone(depth, least as f64));
        for (x, (a, b)) in found.iter().zip(&expected).enumerate() {
            prop_assert!((a - b).abs() < 1e-9, "context {x}: {a}, expected {b}");
        }
    }

    /// One tree of all features on the log's own rows is the regression tree.
    #[test]
    fn a_forest_of_one_tree_is_the_tree(seed: u64, count in 4..200usize, depth in 0..6usize) {
        let log = log_of(&rows(seed, count, false));
        let tree = TreeSettings { max_depth: depth, min_samples_leaf: 3.0, ..Default::default() };
        let (one, two) = (fit(&log, &lone(depth, 3.0)), fit(&log, &Recipe::Tree(vec![tree])));
        for (a, b) in one.iter().zip(&two) {
            prop_assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
        // And so is its noise.
        let fitted = |recipe: &Recipe| {
            let log = log.clone().shared();
            let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
            let fitted =
                Evaluator::new(&log, recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap();
            fitted.nominal(&Policy::uniform(&log), Watch::NOBODY).unwrap().dm.se
        };
        let (a, b) = (fitted(&lone(depth, 3.0)), fitted(&Recipe::Tree(vec![tree])));
        prop_assert!((a - b).abs() < 1e-9 * b.max(1e-9), "{a} {b}");
    }

    /// One round of depth one, unshrunk, is a stump; two more by hand follow the residuals.
    #[test]
    fn boosting_fits_what_is_left_over(seed: u64, count in 10..120usize) {
        let rows = rows(seed, count, false);
        let log = log_of(&rows);
        let boost = |rounds, shrinkage| {
            let settings = BoostedSettings { rounds, depth: 1, shrinkage, min_samples_leaf: 1.0 };
            fit(&log, &Recipe::Boosted(vec![settings]))
        };
        let mut stump = vec![f64::NAN; space().len()];
        slow(&rows, all_contexts(), 1, 1, &mut stump);
        for (a, b) in boost(1, 1.0).iter().zip(&stump) {
            prop_assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        let mut expected = vec![mean(&rows); space().len()];
        for _ in 0..3 {
            let left: Vec<Row> =
                rows.iter().map(|r| (r.0, r.1 - expected[context(r.0) as usize])).collect();
            let mut step = vec![0.0; space().len()];
            slow(&left, all_contexts(), 1, 1, &mut step);
            expected.iter_mut().zip(step).for_each(|(v, s)| *v += 0.3 * s);
        }
        for (a, b) in boost(3, 0.3).iter().zip(&expected) {
            prop_assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    /// The additive model is the ridge regression on the rows' indicators, the penalty as it is
    /// written, solved here by elimination.
    #[test]
    fn additive_models_are_penalised_regressions(seed: u64, count in 20..100usize) {
        let rows = rows(seed, count, true);
        let penalty = 4.0;
        let settings = AdditiveSettings { penalty, pairs: vec![(0, 1)], steps: 32 };
        let found = fit(&log_of(&rows), &Recipe::Additive(vec![settings]));
        let expected = dense(&rows, penalty);
        for (a, b) in found.iter().zip(&expected) {
            prop_assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

/// The minimum of squared errors and penalty, by Gaussian elimination with the mean unpenalised.
pub(crate) fn dense(rows: &[Row], penalty: f64) -> Vec<f64> {
    // Mean; 7 ages; 5 sites; 3 stages and missing; 6 groups of ages by 5 sites.
    let mut counts = [0.0; 7];
    rows.iter().for_each(|r| counts[r.0[0] as usize] += 1.0);
    let coarse = coarse_steps(&counts);
    let pair = |x: [u32; 3]| 17 + coarse[x[0] as usize] * 5 + x[1] as usize;
    let size = 17 + 5 * (coarse[6] + 1);
    let place =
        |x: [u32; 3]| [0, 1 + x[0] as usize, 8 + x[1] as usize, 13 + x[2] as usize, pair(x)];
    let mut system = vec![vec![0.0; size + 1]; size];
    for (x, y) in rows {
        for i in place(*x) {
            place(*x).iter().for_each(|j| system[i][*j] += 1.0);
            system[i][size] += y;
        }
    }
    let mut neighbours = |first: usize, count: usize| {
        let weight = penalty * (count - 1) as f64;
        for i in first..first + count - 1 {
            system[i][i] += weight;
            system[i + 1][i + 1] += weight;
            system[i][i + 1] -= weight;
            system[i + 1][i] -= weight;
        }
    };
    neighbours(1, 7);
    neighbours(13, 3);
    (8..13).chain(17..size).for_each(|i| system[i][i] += penalty);
    // The missing stage against the mean of the others: (v · f)².
    let mut v = [0.0, 0.0, 0.0, -1.0];
    let known = rows.iter().filter(|r| r.0[2] < 3);
    let all = known.clone().count() as f64;
    known.for_each(|r| v[r.0[2] as usize] += 1.0 / all);
    for (i, a) in v.iter().enumerate() {
        for (j, b) in v.iter().enumerate() {
            system[13 + i][13 + j] += penalty * a * b;
        }
    }
    // Moving a whole curve into the mean changes nothing: each starts at 0.
    for first in [1, 13] {
        system[first][first] += 1e3;
    }
    for i in 0..size {
        let pivot = (i..size).max_by(|a, b| system[*a][i].abs().total_cmp(&system[*b][i].abs()));
        system.swap(i, pivot.unwrap());
        for j in 0..size {
            if j != i {
                let factor = system[j][i] / system[i][i];
                let pivot = system[i].clone();
                system[j].iter_mut().zip(&pivot).skip(i).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    let solution: Vec<f64> = (0..size).map(|i| system[i][size] / system[i][i]).collect();
    all_contexts().iter().map(|x| place(*x).iter().map(|i| solution[*i]).sum()).collect()
}

/// Seven levels in six runs: the definition by quantiles, once more.
pub(crate) fn coarse_steps(counts: &[f64; 7]) -> Vec<usize> {
    let mut left: f64 = counts.iter().sum();
    let (mut run, mut taken, mut steps) = (0, 0.0, Vec::new());
    for n in counts {
        let share = left / (6 - run) as f64;
        if run < 5 && taken > 0.0 && taken + 0.5 * n > share {
            left -= taken;
            (run, taken) = (run + 1, 0.0);
        }
        taken += n;
        steps.push(run);
    }
    steps
}

/// A log of two actions on a grid of 6 features, a smooth truth and noise.
pub(crate) fn trial(rows: usize, seed: u64, effect: f64) -> Log {
    let r = &mut Random(seed);
    let counts = [3, 2, 9, 2, 23, 4];
    let columns: Vec<Vec<f64>> =
        counts.iter().map(|n| (0..rows).map(|_| r.below(*n) as f64).collect()).collect();
    let actions: Vec<&str> = (0..rows).map(|_| ["a", "b"][r.below(2)]).collect();
    let outcome = |i: usize| {
        let wave = (columns[2][i] / 3.0).sin() + 0.5 * columns[0][i] * columns[1][i];
        let noise = r.unit() + r.unit() + r.unit() - 1.5;
        ((effect * wave + 2.0 * noise) * 4.0).round() / 4.0
    };
    let outcomes: Vec<f64> = (0..rows).map(outcome).collect();
    let levels = |n: usize| (0..n).map(|k| k as f64);
    let features = counts.iter().enumerate().map(|(k, n)| match k {
        1 | 3 => Feature::nominal(format!("x{k}"), levels(*n).map(|l| l.to_string())),
        _ => Feature::numeric(format!("x{k}")).levels(levels(*n)),
    });
    let grid = Arc::new(Space::grid(features).unwrap());
    let seawall::Layout::Grid(cells) = grid.layout() else { unreachable!() };
    let mut values = outcomes.clone();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let entry = |i: usize| Entry {
        context: cells.cell(columns.iter().map(|c| c[i] as usize)) as u32,
        action: u32::from(actions[i] == "b"),
        outcome: values.partition_point(|v| *v < outcomes[i]) as u32,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let entries = (0..rows).map(entry).collect();
    let space = Space::grid([Feature::numeric("y").levels(values.clone())]).unwrap();
    let names = vec!["a".to_owned(), "b".to_owned()];
    Log::new(grid.clone(), names, Arc::new(space), values, Direction::Cost, entries).unwrap()
}

#[test]
fn one_seed_is_one_forest_on_any_number_of_threads() {
    let log = trial(2000, 1, 1.0);
    let recipe = Recipe::Forest(ForestSettings { trees: 20, ..ForestSettings::default() });
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&log, &recipe))
    };
    assert_eq!(on(1), on(3));
    let other = Recipe::Forest(ForestSettings { trees: 20, seed: 1, ..ForestSettings::default() });
    assert_ne!(fit(&log, &recipe), fit(&log, &other));
}

#[test]
fn rounds_are_where_the_curve_is_lowest() {
    let log = trial(1500, 2, 1.0);
    let settings = BoostedSettings { rounds: 80, ..BoostedSettings::default() };
    let found = choose_rounds(&log, &[settings; 2], 5, Watch::NOBODY).unwrap();
    let dealt = log.folds(5).unwrap();
    for (action, choice) in found.iter().enumerate() {
        let lowest = choice.curve.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(choice.curve.iter().position(|e| *e == lowest), Some(choice.rounds));
        // The curve is the error of what is fitted without each fold.
        let (mut squares, mut rows) = (0.0, 0.0);
        for fold in 0..5 {
            let others = dealt.without(fold).unwrap();
            let recipe =
                Recipe::Boosted(vec![BoostedSettings { rounds: choice.rounds, ..settings }; 2]);
            let values = fit(&others, &recipe);
            for (i, e) in
                log.entries().iter().enumerate().filter(|(_, e)| e.action as usize == action)
            {
                let error = log.value(e) - values[e.context as usize * 2 + action];
                squares += dealt.weight(i, fold) * error * error;
                rows += dealt.weight(i, fold);
            }
        }
        let (found, expected) = (choice.curve[choice.rounds], squares / rows);
        assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
    }
}

#[test]
fn a_flat_truth_gives_a_nearly_flat_additive_model() {
    let log = trial(3000, 3, 0.0);
    let choice = choose_additive(&log, &AdditiveSearch::default(), 5, Watch::NOBODY).unwrap();
    let settings = choice.into_iter().map(|c| c.settings).collect();
    let values = fit(&log, &Recipe::Additive(settings));
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    // Outcomes have a standard deviation of 1; a cell holds a third of a row.
    assert!(high - low < 0.25, "from {low} to {high}");
}

/// The penalty is the largest that is not clearly worse than the best, by fitting everything again.
#[test]
fn the_smoothest_of_the_penalties_that_cannot_be_told_apart_is_taken() {
    for seed in 20..26 {
        let log = trial(800, seed, 0.5);
        let penalties = vec![1.0, 1e4, 10.0, 100.0, 1e3];
        let search = AdditiveSearch { penalties: penalties.clone(), pairs: 0, steps: 32 };
        let found = choose_additive(&log, &search, 5, Watch::NOBODY).unwrap();
        let dealt = log.folds(5).unwrap();
        for (action, found) in found.iter().enumerate() {
            let errors = |penalty: &f64| -> Vec<f64> {
                let settings = AdditiveSettings { penalty: *penalty, ..Default::default() };
                let recipe = Recipe::Additive(vec![settings; 2]);
                let of_fold = |fold| {
                    let values = fit(&dealt.without(fold).unwrap(), &recipe);
                    let own = log.entries().iter().enumerate();
                    own.filter(|(_, e)| e.action as usize == action)
                        .map(|(i, e)| {
                            let error = log.value(e) - values[e.context as usize * 2 + action];
                            dealt.weight(i, fold) * error * error
                        })
                        .sum::<f64>()
                };
                (0..5).map(of_fold).collect()
            };
            let all: Vec<Vec<f64>> = penalties.iter().map(errors).collect();
            let sum = |e: &&Vec<f64>| e.iter().sum::<f64>();
            let best = all.iter().min_by(|a, b| sum(a).total_cmp(&sum(b))).unwrap();
            let as_good = |e: &Vec<f64>| {
                let apart: Vec<f64> = e.iter().zip(best).map(|(a, b)| a - b).collect();
                let mean = apart.iter().sum::<f64>() / 5.0;
                let spread: f64 = apart.iter().map(|x| (x - mean).powi(2)).sum();
                mean <= (spread / 20.0).sqrt()
            };
            let within = penalties.iter().zip(&all).filter(|(_, e)| as_good(e)).map(|(p, _)| *p);
            assert_eq!(found.settings.penalty, within.fold(0.0, f64::max));
        }
    }
}

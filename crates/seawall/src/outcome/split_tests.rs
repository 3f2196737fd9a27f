//! Splits held to the slow, obvious version.
#![allow(clippy::unwrap_used)]

use super::cut::{Cell, Cut};
use super::split::*;
use super::tally::{Gain, Tally, Units};
use super::tree::{Scale, sums};
use crate::ambiguity::Direction;
use crate::kernel::random::Random;
use crate::log::{Entry, Log};
use crate::space::Feature;
use crate::space::{Kind, Space};
use std::sync::Arc;

/// The slow, obvious version: every feature's levels are sorted, and every cut is looked at.
fn by_sorting(space: &Space, cells: &[Cell], least: f64, units: &Units) -> Option<(usize, Cut)> {
    let mut best: Option<(Gain, usize, Cut)> = None;
    let mut whole = Tally::default();
    cells.iter().for_each(|c| whole.add(c.tally));
    for feature in by_name(space) {
        let nominal = matches!(space.kind(feature), Kind::Nominal | Kind::Fixed);
        let mut all: Vec<(f64, f64, f64, Tally)> = Vec::new();
        for c in cells {
            let code = space.code(c.context as usize, feature);
            all.push((code, space.coordinate(feature, code), c.rows, c.tally));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut levels: Vec<(f64, f64, f64, Tally)> = Vec::new();
        for level in all {
            match levels.last_mut() {
                Some(last) if last.0.to_bits() == level.0.to_bits() => {
                    last.2 += level.2;
                    last.3.add(level.3);
                }
                _ => levels.push(level),
            }
        }
        if nominal {
            levels.sort_by(|a, b| units.by_mean(a.3, b.3))
        } else {
            levels.sort_by(|a, b| a.1.total_cmp(&b.1))
        }
        let rows: f64 = levels.iter().map(|l| l.2).sum();
        let (mut left_rows, mut left) = (0.0, Tally::default());
        for (k, pair) in levels.windows(2).enumerate() {
            left_rows += pair[0].2;
            left.add(pair[0].3);
            if left_rows < least || rows - left_rows < least {
                continue;
            }
            let Some(gain) = units.gain(whole, left) else { continue };
            if best.as_ref().is_none_or(|(most, ..)| units.above(gain, *most)) {
                let cut = match (nominal, pair[1].1.is_nan()) {
                    (true, _) => {
                        let mut left: Vec<u32> = levels[..=k].iter().map(|l| l.0 as u32).collect();
                        left.sort_unstable();
                        Cut::Levels(left)
                    }
                    (false, true) => Cut::AtMost(f64::INFINITY),
                    (false, false) => Cut::AtMost(0.5 * (pair[0].1 + pair[1].1)),
                };
                best = Some((gain, feature, cut));
            }
        }
    }
    best.map(|(_, feature, cut)| (feature, cut))
}

/// Columns of every kind: numbers all different, in heaps, rounded, missing, signed zeros, one
/// column twice and once backwards, and levels with an order, without, and many of them.
fn space(rows: usize, random: &mut Random) -> Space {
    let different: Vec<f64> = (0..rows).map(|_| random.normal()).collect();
    let twice = different.clone();
    let backwards = different.iter().map(|x| -x).collect();
    let rounded = (0..rows).map(|_| (8.0 * random.normal()).round()).collect();
    let in_heaps = (0..rows).map(|_| [0.0, -0.0, random.unit()][random.below(3)]).collect();
    let missing = (0..rows).map(|_| if random.unit() < 0.2 { f64::NAN } else { random.unit() });
    let missing = missing.collect();
    let tiny = (0..rows).map(|_| 1e-310 * random.unit()).collect();
    let mut levels = |n: usize| (0..rows).map(|_| random.below(n) as f64).collect::<Vec<f64>>();
    let names = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let mut gaps = levels(6);
    gaps.iter_mut().filter(|x| **x == 5.0).for_each(|x| *x = f64::NAN);
    let all: Vec<(Feature, Vec<f64>)> = vec![
        (Feature::nominal("many", names(3000)), levels(3000)),
        (Feature::numeric("missing"), missing),
        (Feature::numeric("rounded"), rounded),
        (Feature::numeric("different"), different),
        (Feature::nominal("nominal", names(7)), levels(7)),
        (Feature::numeric("twice"), twice),
        (Feature::numeric("backwards"), backwards),
        (Feature::ordinal("ordinal", names(5)).with_missing(), gaps),
        (Feature::numeric("heaps"), in_heaps),
        (Feature::numeric("tiny"), tiny),
        (Feature::numeric("levels").levels((0..40).map(f64::from)), levels(40)),
        (Feature::fixed("fixed", names(2)), levels(2)),
    ];
    let start = random.below(all.len());
    let kept = (0..1 + random.below(all.len())).map(|k| all[(start + k) % all.len()].clone());
    let (features, columns): (Vec<_>, Vec<_>) = kept.unzip();
    Space::points(features, columns).unwrap()
}

/// A log of one action with values that have a unit or not, and weights likewise; what decides
/// is a step along one column, or nothing.
fn log(random: &mut Random) -> Log {
    let rows = [90, 200, 700, 2500][random.below(4)];
    let space = space(rows, random);
    let steps = [1.0, 0.1, 1.0 / 3.0, std::f64::consts::PI][random.below(4)];
    let count = [2, 10, 5000][random.below(3)];
    let values: Vec<f64> = (0..count).map(|k| k as f64 * steps).collect();
    let heavy = random.below(4);
    let along = random.below(space.names().len());
    let effect = [0.0, 0.3, 1.0][random.below(3)];
    let entry = |context: usize| {
        let high = space.code(context, along) > 0.5 && random.unit() < effect;
        let outcome = if high { count - 1 - random.below(count / 2) } else { random.below(count) };
        let weight = match heavy {
            0 => 1.0,
            1 => 0.5 * (1 + random.below(4)) as f64,
            2 => 1.0 / (1 + random.below(9)) as f64,
            _ => 1.0 / 3.0,
        };
        let (context, outcome) = (context as u32, outcome as u32);
        Entry { context, outcome, weight, ..Entry::default() }
    };
    let entries: Vec<Entry> = (0..rows).map(entry).collect();
    let outcomes = Space::grid([Feature::numeric("y").levels((0..count).map(|k| k as f64))]);
    let names = vec!["a".to_owned()];
    let outcomes = Arc::new(outcomes.unwrap());
    Log::new(Arc::new(space), names, outcomes, values, Direction::Cost, entries).unwrap()
}

#[test]
fn what_is_found_is_what_sorting_finds() {
    let mut random = Random::new(15, 4);
    let mut pruned = 0;
    for _ in 0..300 {
        let log = log(&mut random);
        let units = Units::new(&log, log.entries().iter());
        let cells = sums(&log, 0, Scale::from_log(&log, 0).unwrap(), &units);
        // The whole, a part, and a part of that: bins are those of all.
        let parts = [1.0, 0.6, 0.2].map(|share| {
            cells.iter().filter(|_| random.unit() < share).copied().collect::<Vec<Cell>>()
        });
        for cells in parts.iter().filter(|cells| !cells.is_empty()) {
            let all: f64 = cells.iter().map(|c| c.rows).sum();
            let nearly: f64 = cells.iter().take(20).map(|c| c.rows).sum();
            for least in [1.0, 20.0, 0.1 * all, nearly] {
                let found = best_split(log.contexts(), cells, least, &units);
                let expected = by_sorting(log.contexts(), cells, least, &units);
                assert_eq!(found, expected, "{} cells, least {least}", cells.len());
                let numbers = found.is_some_and(|f| log.contexts().bins(f.0).is_some());
                pruned += usize::from(numbers && cells.len() >= FEW);
            }
        }
    }
    assert!(pruned > 300, "{pruned}");
}

#[test]
fn bins_stay_closed_where_they_cannot_win_and_only_there() {
    let mut random = Random::new(16, 4);
    let (mut open, mut all) = (0, 0);
    for _ in 0..60 {
        let log = log(&mut random);
        let units = Units::new(&log, log.entries().iter());
        let cells = sums(&log, 0, Scale::from_log(&log, 0).unwrap(), &units);
        let mut whole = Tally::default();
        cells.iter().for_each(|c| whole.add(c.tally));
        let node =
            NodeCells { space: log.contexts(), cells: &cells, least: 0.0, units: &units, whole };
        let scans = node.scans();
        let Some(known) = node.known_gain(&scans) else { continue };
        for (feature, scan) in scans.iter().enumerate() {
            let Some((bins, scan)) = scan else { continue };
            let may = node.open(scan, known);
            open += may.iter().filter(|o| **o).count();
            all += scan.iter().filter(|s| s[0] > 0.0).count();
            let mut left = Tally::default();
            for level in node.levels(feature) {
                left.add(level.tally);
                let of = |c: &&Cell| {
                    log.contexts().code(c.context as usize, feature).to_bits()
                        == level.code.to_bits()
                };
                let bin = bins.of(cells.iter().find(of).unwrap().context);
                if let Some(gain) = units.gain(whole, left) {
                    assert!(may[bin] || gain.height() < known);
                }
            }
        }
    }
    assert!(2 * open < all, "{open} of {all}");
}

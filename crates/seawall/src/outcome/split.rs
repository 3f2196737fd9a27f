//! The best split of a node of a regression tree, found without sorting the node.
//!
//! Every cut between two neighbouring levels of every feature is a candidate; the first of those
//! with the largest gain wins, and what is equal is decided by [`Units::above`]. Features come in the
//! order of their names, so that ties do not depend on the order of columns. Levels of a feature
//! that has them are counted. Numbers off a grid are looked at by bin ([`Bins`]): with `n` rows,
//! `C = Σ (y − ȳ)` up to a cut, and `N` rows in the node, the gain is `C² N² / (n (N − n))`. Within a bin
//! that starts at `C₀` and whose values above and below the node's mean sum to `P` and `Q`,
//!
//! ```text
//! C₀ − Q ≤ C ≤ C₀ + P,   n (N − n) ≥ its lower end,
//! ```
//!
//! which bounds every gain inside. A bin whose bound is clearly below a gain that is known cannot
//! hold the winner and stays closed; the few others are sorted and looked at cut by cut, in whole
//! numbers.
//!
//! Gains count as equal within a tolerance, which is not transitive, so that a candidate that does
//! not win might still change who does. It cannot if no gain is near the height below which bins
//! stay closed: whatever is above it then beats whatever is below, closed or not. If one is near, a
//! lower height is tried, and at last everything is sorted.

use super::cut::{Cell, Cut};
use super::tally::{Gain, Tally, Units};
use crate::space::{Bins, Kind, Space};
use rayon::prelude::*;

/// Nodes of fewer cells are sorted.
const FEW: usize = 128;
/// By how much the height below which bins stay closed is lower than a gain that is known.
const LOWER: [f64; 4] = [1e-6, 1e-5, 1e-4, 1e-3];
/// Gains nearer to that height than this share are not told from it: more than what counts as equal.
const NEAR: f64 = 1e-8;
/// What rounding may do to sums, as a share of the sum of their terms' sizes.
const ROUNDING: f64 = 1e-9;
/// Cells and features that are worth another thread.
const MUCH: usize = 1 << 17;

/// One level's share of a node, or that of a bin which stays closed.
#[derive(Clone, Copy)]
struct NodeLevel {
    code: f64,
    coordinate: f64,
    rows: f64,
    tally: Tally,
    /// Whether a cut behind it may win.
    open: bool,
}

/// The best split of a node: its feature and where it cuts; None if nothing can be split.
pub(super) fn best_split(
    space: &Space,
    cells: &[Cell],
    least: f64,
    units: &Units,
) -> Option<(usize, Cut)> {
    let mut whole = Tally::default();
    cells.iter().for_each(|c| whole.add(c.tally));
    let node = NodeCells { space, cells, least, units, whole };
    if cells.len() >= FEW {
        let scans = node.scans();
        if let Some(known) = node.known_gain(&scans).filter(|known| *known > 0.0) {
            for lower in LOWER {
                let height = known * (1.0 - lower);
                if let Some(found) = node.search(Some((&scans, height))) {
                    return found;
                }
            }
        }
    }
    node.search(None).flatten()
}

/// The features in the order of their names.
fn by_name(space: &Space) -> Vec<usize> {
    let names: Vec<&str> = space.names().collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_unstable_by_key(|&feature| names[feature]);
    order
}

/// The cells of a node, and what a split of it must leave on either side.
struct NodeCells<'n> {
    space: &'n Space,
    cells: &'n [Cell],
    least: f64,
    units: &'n Units,
    whole: Tally,
}

/// A node's rows by bin of one feature: how many, `Σ (y − ȳ)`, and the part of it above 0.
type Scan<'n> = Option<(&'n Bins, Vec<[f64; 3]>)>;

impl NodeCells<'_> {
    fn features(&self) -> usize {
        self.space.names().len()
    }

    /// Goes through the candidates, those above a height at least; None if one is too near to it.
    fn search(&self, above: Option<(&[Scan<'_>], f64)>) -> Option<Option<(usize, Cut)>> {
        let mut best: Option<Gain> = None;
        let mut chosen = None;
        for feature in by_name(self.space) {
            let mut better = None;
            let levels =
                match above.and_then(|(scans, height)| Some((scans[feature].as_ref()?, height))) {
                    Some(((bins, scan), height)) => self.opened(feature, bins, scan, height),
                    None => self.levels(feature),
                };
            let rows: f64 = levels.iter().map(|l| l.rows).sum();
            let (mut left_rows, mut left) = (0.0, Tally::default());
            for (k, pair) in levels.windows(2).enumerate() {
                left_rows += pair[0].rows;
                left.add(pair[0].tally);
                if !pair[0].open || left_rows < self.least || rows - left_rows < self.least {
                    continue;
                }
                let Some(gain) = self.units.gain(self.whole, left) else { continue };
                if let Some((_, height)) = above
                    && (gain.height() - height).abs() <= NEAR * height
                {
                    return None;
                }
                if best.is_none_or(|most| self.units.above(gain, most)) {
                    (best, better) = (Some(gain), Some(k));
                }
            }
            // A cut is made of a feature's best only: of every better one it would be quadratic.
            if let Some(k) = better {
                chosen = Some((feature, self.cut(feature, &levels, k)));
            }
        }
        Some(chosen)
    }

    /// The cut behind a level.
    fn cut(&self, feature: usize, levels: &[NodeLevel], k: usize) -> Cut {
        let (own, next) = (levels[k].coordinate, levels[k + 1].coordinate);
        if matches!(self.space.kind(feature), Kind::Nominal | Kind::Fixed) {
            let mut left: Vec<u32> = levels[..=k].iter().map(|l| l.code as u32).collect();
            left.sort_unstable();
            return Cut::Levels(left);
        }
        // Whatever is not missing, if what comes next is.
        Cut::AtMost(if next.is_nan() { f64::INFINITY } else { 0.5 * (own + next) })
    }

    fn level(&self, cell: &Cell, feature: usize) -> NodeLevel {
        let code = self.space.code(cell.context as usize, feature);
        let coordinate = self.space.coordinate(feature, code);
        NodeLevel { code, coordinate, rows: cell.rows, tally: cell.tally, open: true }
    }

    /// A feature's levels that the node holds, in the order in which they are cut: by position, or
    /// by mean value where levels have none, those of equal mean in their own order. The missing
    /// level comes last.
    fn levels(&self, feature: usize) -> Vec<NodeLevel> {
        let mut levels = self.counted(feature).unwrap_or_else(|| {
            let all = self.cells.iter().map(|c| self.level(c, feature)).collect();
            merged(all)
        });
        match self.space.kind(feature) {
            Kind::Numeric | Kind::Ordinal => {
                levels.sort_by(|a, b| a.coordinate.total_cmp(&b.coordinate));
            }
            Kind::Nominal | Kind::Fixed => {
                levels.sort_by(|a, b| self.units.by_mean(a.tally, b.tally));
            }
        }
        levels
    }

    /// The levels in order of their codes, counted; None if codes are no levels, or if there are
    /// many more levels than cells.
    fn counted(&self, feature: usize) -> Option<Vec<NodeLevel>> {
        let count = self.space.levels(feature).len();
        if count == 0 || count > 4 * self.cells.len() {
            return None;
        }
        let mut levels: Vec<Option<NodeLevel>> = vec![None; count];
        for cell in self.cells {
            let code = self.space.code(cell.context as usize, feature);
            // A number that is missing has no level, and −0 is not the level 0.
            if code.is_nan() || code.is_sign_negative() {
                return None;
            }
            match &mut levels[code as usize] {
                Some(level) => level.add(cell.rows, cell.tally),
                empty => *empty = Some(self.level(cell, feature)),
            }
        }
        Some(levels.into_iter().flatten().collect())
    }

    /// Rows by bin, feature by feature.
    fn scans(&self) -> Vec<Scan<'_>> {
        let mean = self.whole.sum() / self.whole.rows();
        let terms: Vec<(u32, f64, f64)> = self
            .cells
            .iter()
            .map(|c| (c.context, c.tally.rows(), c.tally.sum() - c.tally.rows() * mean))
            .collect();
        let scan = |feature: usize| {
            let bins = self.space.bins(feature)?;
            let mut sums = vec![[0.0; 3]; bins.count()];
            for &(context, rows, apart) in &terms {
                let to = &mut sums[bins.of(context)];
                *to = [to[0] + rows, to[1] + apart, to[2] + apart.max(0.0)];
            }
            Some((bins, sums))
        };
        let each = (0..self.features()).into_par_iter().with_min_len(MUCH / self.cells.len() + 1);
        each.map(scan).collect()
    }

    /// The least and the most rows that a cut may leave to the left, in whole numbers, and by how
    /// much these may be wrong.
    fn ends(&self) -> (f64, f64, f64) {
        let (all, least) = (self.whole.rows(), self.units.rows(self.least));
        let wrong = if self.units.weights_are_whole() { 0.0 } else { self.cells.len() as f64 };
        (least.max(1.0), all - least.max(1.0), wrong)
    }

    /// The largest gain behind a bin: that of a split that may be made.
    fn known_gain(&self, scans: &[Scan<'_>]) -> Option<f64> {
        let (all, (low, high, wrong)) = (self.whole.rows(), self.ends());
        let mut best: Option<(f64, usize, usize)> = None;
        for (feature, scan) in scans.iter().enumerate() {
            let (mut rows, mut apart) = (0.0, 0.0);
            for (bin, [n, c, _]) in scan.iter().flat_map(|(_, scan)| scan.iter().enumerate()) {
                (rows, apart) = (rows + n, apart + c);
                if rows >= low + wrong && rows <= high - wrong {
                    let height = apart * apart / (rows * (all - rows));
                    if best.is_none_or(|(most, ..)| height > most) {
                        best = Some((height, feature, bin));
                    }
                }
            }
        }
        let (_, feature, bin) = best?;
        let bins = scans[feature].as_ref()?.0;
        let mut left = Tally::default();
        let own = self.cells.iter().filter(|c| bins.of(c.context) <= bin);
        own.for_each(|c| left.add(c.tally));
        Some(self.units.gain(self.whole, left)?.height())
    }

    /// Which bins may hold a gain of a height.
    fn open(&self, scan: &[[f64; 3]], height: f64) -> Vec<bool> {
        let (all, (low, high, wrong)) = (self.whole.rows(), self.ends());
        let size: f64 = scan.iter().map(|[_, c, above]| 2.0 * above - c).sum();
        let (mut rows, mut apart) = (0.0, 0.0);
        let mut open = Vec::with_capacity(scan.len());
        for [n, c, above] in scan {
            let (first, last) = (f64::max(rows, low - wrong), f64::min(rows + n, high + wrong));
            let farthest = (apart + above).max(above - c - apart) + ROUNDING * size;
            let sides = (first * (all - first)).min(last * (all - last));
            // N times C, squared: the root of a gain squared.
            let bound = (all * farthest).powi(2) / sides.max(0.0) * (1.0 + ROUNDING);
            open.push(*n > 0.0 && first <= last && bound >= height * (1.0 - 2.0 * NEAR));
            (rows, apart) = (rows + n, apart + c);
        }
        open
    }

    /// The levels of a feature off a grid in order, those of bins that cannot reach a height
    /// together.
    fn opened(
        &self,
        feature: usize,
        bins: &Bins,
        scan: &[[f64; 3]],
        height: f64,
    ) -> Vec<NodeLevel> {
        let open = self.open(scan, height);
        if !open.contains(&true) {
            return Vec::new();
        }
        let mut closed: Vec<Option<NodeLevel>> = vec![None; bins.count()];
        let mut inside: Vec<Vec<NodeLevel>> = vec![Vec::new(); bins.count()];
        for cell in self.cells {
            let (bin, level) = (bins.of(cell.context), self.level(cell, feature));
            if open[bin] && !bins.is_single(bin) {
                inside[bin].push(level);
                continue;
            }
            match &mut closed[bin] {
                Some(known) => {
                    known.add(cell.rows, cell.tally);
                    // A cut before this bin is halfway to its first number.
                    if level.code.total_cmp(&known.code).is_lt() {
                        (known.code, known.coordinate) = (level.code, level.coordinate);
                    }
                }
                empty => *empty = Some(NodeLevel { open: open[bin], ..level }),
            }
        }
        let both = closed.into_iter().zip(inside);
        let levels = both.flat_map(|(closed, inside)| closed.into_iter().chain(merged(inside)));
        let levels: Vec<NodeLevel> = levels.collect();
        if self.units.weights_are_whole() || self.is_certain(&levels) {
            levels
        } else {
            self.levels(feature)
        }
    }

    /// Whether no cut leaves so nearly the least on a side that the order of the sums decides.
    fn is_certain(&self, levels: &[NodeLevel]) -> bool {
        let rows: f64 = levels.iter().map(|l| l.rows).sum();
        let wrong = 4.0 * f64::EPSILON * self.cells.len() as f64 * rows;
        let near = |rows: f64| (rows - self.least).abs() <= wrong;
        let mut left = 0.0;
        levels.iter().all(|level| {
            left += level.rows;
            !level.open || !(near(left) || near(rows - left))
        })
    }
}

impl NodeLevel {
    fn add(&mut self, rows: f64, tally: Tally) {
        self.rows += rows;
        self.tally.add(tally);
    }
}

/// Levels in order of their codes, equal ones added up in the order given.
fn merged(mut all: Vec<NodeLevel>) -> Vec<NodeLevel> {
    all.sort_by(|a, b| a.code.total_cmp(&b.code));
    let mut levels: Vec<NodeLevel> = Vec::new();
    for level in all {
        match levels.last_mut() {
            Some(last) if last.code.to_bits() == level.code.to_bits() => {
                last.add(level.rows, level.tally);
            }
            _ => levels.push(level),
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tree::{Scale, sums};
    use super::*;
    use crate::ambiguity::Direction;
    use crate::kernel::random::Random;
    use crate::log::{Entry, Log};
    use crate::space::Feature;
    use std::sync::Arc;

    /// The slow, obvious version: every feature's levels are sorted, and every cut is looked at.
    fn by_sorting(
        space: &Space,
        cells: &[Cell],
        least: f64,
        units: &Units,
    ) -> Option<(usize, Cut)> {
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
                            let mut left: Vec<u32> =
                                levels[..=k].iter().map(|l| l.0 as u32).collect();
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
            let outcome =
                if high { count - 1 - random.below(count / 2) } else { random.below(count) };
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
            let node = NodeCells {
                space: log.contexts(),
                cells: &cells,
                least: 0.0,
                units: &units,
                whole,
            };
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
}

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
pub(super) const FEW: usize = 128;
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
pub(super) struct NodeLevel {
    pub(super) code: f64,
    coordinate: f64,
    rows: f64,
    pub(super) tally: Tally,
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
pub(super) fn by_name(space: &Space) -> Vec<usize> {
    let names: Vec<&str> = space.names().collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_unstable_by_key(|&feature| names[feature]);
    order
}

/// The cells of a node, and what a split of it must leave on either side.
pub(super) struct NodeCells<'n> {
    pub(super) space: &'n Space,
    pub(super) cells: &'n [Cell],
    pub(super) least: f64,
    pub(super) units: &'n Units,
    pub(super) whole: Tally,
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
    pub(super) fn levels(&self, feature: usize) -> Vec<NodeLevel> {
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
    pub(super) fn scans(&self) -> Vec<Scan<'_>> {
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
    pub(super) fn known_gain(&self, scans: &[Scan<'_>]) -> Option<f64> {
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
    pub(super) fn open(&self, scan: &[[f64; 3]], height: f64) -> Vec<bool> {
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
pub(super) fn merged(mut all: Vec<NodeLevel>) -> Vec<NodeLevel> {
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

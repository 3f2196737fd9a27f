//! Trees for averaging and boosting, grown from histograms.
//!
//! Levels are numbered once for all trees ([`Axes`]); at a node the rows and sums of its cells are
//! added up by level, and the levels, in order of position or of mean, cut where
//!
//! ```text
//! S_L² / n_L + S_R² / n_R − S² / n
//! ```
//!
//! is largest: `O(cells · features tried)` a node, and no sorting of cells. A cut that lowers
//! nothing is not made. Missing values go right, as everywhere.
//!
//! Plain floating-point sums: two cuts whose gains agree to about ten digits are a tie, which goes
//! to the first. Single trees decide ties exactly and do not come from here.

use super::axes::Axes;
use super::leaf::NONE;
use crate::ambiguity::Direction;
use crate::kernel::random::Random;
use crate::log::Log;
use std::ops::Range;

/// Gains that differ by less than this share are a tie.
const TIE: f64 = 1e-10;
/// A gain below this share of all squares is none.
const NOTHING: f64 = 1e-12;

/// Rows that may be drawn, and what one of them weighs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawable {
    pub rows: f64,
    pub unit: f64,
}

/// The contexts of one action's rows, with their levels.
#[derive(Clone, Debug)]
pub(super) struct ActionCells {
    /// The contexts.
    pub contexts: Vec<u32>,
    /// `[feature · cells + cell]`.
    codes: Vec<u32>,
    /// The mean of the action's rows, which all sums are taken around.
    pub mean: f64,
    /// Each entry of the log that is of the action: its place in the log, its cell, its value
    /// less the mean, and its rows.
    pub entries: Vec<(usize, u32, f64, Drawable)>,
    /// Each cell's rows and sum.
    pub sums: Vec<[f64; 2]>,
    /// The sum of squares of all values less the mean.
    pub squares: f64,
    /// What low values mean: levels that a node does not hold go to its worse side.
    direction: Direction,
}

impl ActionCells {
    /// One action's cells; None if it has no rows.
    pub fn new(log: &Log, axes: &Axes, action: usize) -> Option<Self> {
        let own = || log.entries().iter().enumerate().filter(|(_, e)| e.action as usize == action);
        let rows: f64 = own().map(|(_, e)| e.weight).sum();
        if rows <= 0.0 {
            return None;
        }
        let mean = own().map(|(_, e)| e.weight / rows * log.value(e)).sum();
        let (mut contexts, mut sums, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut squares = 0.0;
        for (at, e) in own() {
            // Entries are in order of context.
            if contexts.last() != Some(&e.context) {
                contexts.push(e.context);
                sums.push([0.0, 0.0]);
            }
            let (cell, value) = (contexts.len() - 1, log.value(e) - mean);
            sums[cell][0] += e.weight;
            sums[cell][1] += e.weight * value;
            squares += e.weight * value * value;
            entries.push((at, cell as u32, value, Drawable { rows: e.rows(), unit: e.unit }));
        }
        let code = |k: usize| contexts.iter().map(move |x| axes.row(*x as usize)[k]);
        let codes = (0..axes.axes.len()).flat_map(code).collect();
        let direction = log.direction();
        Some(ActionCells { contexts, codes, mean, entries, sums, squares, direction })
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// All rows.
    pub fn rows(&self) -> f64 {
        self.sums.iter().map(|s| s[0]).sum()
    }

    /// Every cell's level of a feature.
    pub fn column(&self, feature: usize) -> &[u32] {
        &self.codes[feature * self.len()..][..self.len()]
    }
}

/// How a tree may grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Splits from the root to a leaf, at most.
    pub max_depth: usize,
    /// Rows in a leaf, at least.
    pub min_leaf: f64,
    /// Features looked at for a split: those with two levels in the node, drawn at random.
    pub tried: usize,
}

/// A grown tree; node 0 is the root.
#[derive(Clone, Debug)]
pub(super) struct Grown {
    steps: Vec<Step>,
    /// What each node holds.
    pub nodes: Vec<GrownNode>,
    /// Sets of levels that go left, a bit each, for splits on levels without an order.
    sets: Vec<u64>,
}

/// Where a node sends a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The feature that is looked at; `NONE` at a leaf.
    feature: u32,
    /// The last level that goes left.
    cut: u32,
    /// Where the set of levels that go left starts, `NONE` if levels have an order.
    set: u32,
    /// Where those that go left go; the others go to the next one.
    left: u32,
}

impl Step {
    /// The feature that is looked at.
    pub fn feature(self) -> usize {
        self.feature as usize
    }

    /// The node for those that go left; the others go to the next one.
    pub fn left(self) -> usize {
        self.left as usize
    }
}

/// What a node of a grown tree holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GrownNode {
    /// The rows in here.
    pub rows: f64,
    /// Their mean, above that of the cells.
    pub mean: f64,
    /// By how much the split lowers the sum of squared errors; 0 at a leaf.
    pub gain: f64,
}

impl Grown {
    /// The leaf of a place, by its levels.
    #[inline]
    pub fn leaf(&self, levels: &[u32]) -> usize {
        let mut at = 0;
        loop {
            let step = self.steps[at];
            if step.feature == NONE {
                return at;
            }
            let left = self.goes_left(step, levels[step.feature as usize]);
            at = step.left as usize + usize::from(!left);
        }
    }

    /// Where a node sends a place; None at a leaf.
    pub fn split(&self, node: usize) -> Option<Step> {
        Some(self.steps[node]).filter(|step| step.feature != NONE)
    }

    /// Whether a level goes left.
    #[inline]
    pub fn goes_left(&self, step: Step, level: u32) -> bool {
        match step.set {
            NONE => level <= step.cut,
            set => self.sets[set as usize + level as usize / 64] >> (level % 64) & 1 == 1,
        }
    }

    /// Adds each feature's gains.
    pub fn add_gains(&self, to: &mut [f64]) {
        let splits = self.steps.iter().zip(&self.nodes).filter(|(s, _)| s.feature != NONE);
        splits.for_each(|(step, node)| to[step.feature as usize] += node.gain);
    }

    /// Adds a leaf.
    fn add(&mut self) -> usize {
        self.steps.push(Step { feature: NONE, cut: 0, set: NONE, left: 0 });
        self.nodes.push(GrownNode::default());
        self.nodes.len() - 1
    }
}

/// Grows trees on the same cells, again and again.
pub(super) struct Grower<'c> {
    axes: &'c Axes,
    cells: &'c ActionCells,
    /// The cells with rows, those of a node together.
    order: Vec<u32>,
    spare: Vec<u32>,
    /// Rows and sum of each of a node's cells, in their order.
    gathered: Vec<[f64; 2]>,
    /// Rows and sum of each level, all 0 between two uses; every other cell is counted in a second
    /// half, so that neighbours of the same level need not wait for each other.
    histogram: Vec<[f64; 2]>,
    /// A feature's levels in the order in which they are cut.
    in_order: Vec<u32>,
    /// The levels that the best split sends left, where they have no order.
    goes_left: Vec<u32>,
    features: Vec<usize>,
    /// The leaf that each cell came to.
    pub leaf_of: Vec<u32>,
}

/// The best split found so far.
#[derive(Clone, Copy)]
struct BestCut {
    gain: f64,
    feature: usize,
    /// The last level that goes left, and the first that does not, in order; how many do, where
    /// levels have no order.
    cut: usize,
    next: usize,
}

impl<'c> Grower<'c> {
    /// With room for these cells.
    pub fn new(axes: &'c Axes, cells: &'c ActionCells) -> Self {
        let widest = axes.axes.iter().map(|a| a.count).max().unwrap_or(0);
        Grower {
            axes,
            cells,
            order: Vec::new(),
            spare: vec![0; cells.len()],
            gathered: Vec::new(),
            histogram: vec![[0.0; 2]; 2 * widest],
            in_order: Vec::new(),
            goes_left: Vec::new(),
            features: Vec::new(),
            leaf_of: vec![0; cells.len()],
        }
    }

    /// Grows a tree on cells with these rows and sums; where it tries fewer features than there
    /// are, `random` says which.
    pub fn grow(&mut self, sums: &[[f64; 2]], growth: Growth, random: &mut Random) -> Grown {
        self.order.clear();
        self.order.extend((0..self.cells.len() as u32).filter(|c| sums[*c as usize][0] > 0.0));
        let squares: f64 = sums.iter().filter(|s| s[0] > 0.0).map(|s| s[1] * s[1] / s[0]).sum();
        let nothing = NOTHING * squares;
        let mut tree = Grown { steps: Vec::new(), nodes: Vec::new(), sets: Vec::new() };
        // What is still to be grown: its node, its cells, its depth.
        let mut waiting = vec![(tree.add(), 0, self.order.len(), 0)];
        while let Some((at, first, last, depth)) = waiting.pop() {
            self.gathered.clear();
            self.gathered.extend(self.order[first..last].iter().map(|&c| sums[c as usize]));
            let [rows, sum] = self.gathered.iter().fold([0.0; 2], |[n, s], g| [n + g[0], s + g[1]]);
            tree.nodes[at].rows = rows;
            tree.nodes[at].mean = if rows > 0.0 { sum / rows } else { 0.0 };
            let may = depth < growth.max_depth && rows >= 2.0 * growth.min_leaf;
            let best = if may {
                self.best(first..last, [rows, sum], growth, nothing, random)
            } else {
                None
            };
            let Some(best) = best else {
                self.order[first..last].iter().for_each(|&c| self.leaf_of[c as usize] = at as u32);
                continue;
            };
            let left = tree.add();
            tree.add();
            tree.nodes[at].gain = best.gain;
            tree.steps[at] = self.step(best, left, first..last, &mut tree.sets);
            let middle = first + self.partition(&tree, at, first..last);
            waiting.push((left + 1, middle, last, depth + 1));
            waiting.push((left, first, middle, depth + 1));
        }
        // Cells without rows of their own follow the splits.
        for (cell, _) in sums.iter().enumerate().filter(|(_, s)| s[0] <= 0.0) {
            let levels = self.axes.row(self.cells.contexts[cell] as usize);
            self.leaf_of[cell] = tree.leaf(levels) as u32;
        }
        tree
    }

    /// The best split of a node's cells, if any lowers the error.
    fn best(
        &mut self,
        node: Range<usize>,
        total: [f64; 2],
        growth: Growth,
        nothing: f64,
        random: &mut Random,
    ) -> Option<BestCut> {
        let count = self.axes.axes.len();
        self.features.clear();
        self.features.extend(0..count);
        let all = growth.tried >= count;
        let (mut tried, mut best) = (0, None);
        for k in 0..count {
            if !all {
                let other = k + random.below(count - k);
                self.features.swap(k, other);
            }
            let feature = self.features[k];
            let levels = self.count(node.clone(), feature);
            if levels.len() > 1 {
                tried += 1;
                let least = best.map_or(nothing, |b: BestCut| b.gain * (1.0 + TIE));
                if let Some(found) = self.best_cut(feature, levels.clone(), total, growth.min_leaf)
                    && found.gain > least
                {
                    self.goes_left.clear();
                    if !self.axes.axes[feature].ordered {
                        self.goes_left.extend(&self.in_order[..found.cut]);
                    }
                    best = Some(found);
                }
            }
            self.histogram[levels].fill([0.0; 2]);
            if tried >= growth.tried {
                break;
            }
        }
        best
    }

    /// Adds up a node's rows by level; from the first to the last level that has any.
    fn count(&mut self, node: Range<usize>, feature: usize) -> Range<usize> {
        let codes = self.cells.column(feature);
        let (even, odd) = self.histogram.split_at_mut(self.axes.axes[feature].count);
        let (mut low, mut high) = (usize::MAX, 0);
        let mut add = |to: &mut [[f64; 2]], cell: u32, [rows, sum]: [f64; 2]| {
            let level = codes[cell as usize] as usize;
            let to = &mut to[level];
            *to = [to[0] + rows, to[1] + sum];
            low = low.min(level);
            high = high.max(level);
        };
        let pairs = self.order[node].chunks(2).zip(self.gathered.chunks(2));
        for (cells, sums) in pairs {
            add(even, cells[0], sums[0]);
            if let (Some(cell), Some(sums)) = (cells.get(1), sums.get(1)) {
                add(odd, *cell, *sums);
            }
        }
        let levels = low.min(high)..high + 1;
        for level in levels.clone() {
            let [rows, sum] = std::mem::take(&mut odd[level]);
            even[level] = [even[level][0] + rows, even[level][1] + sum];
        }
        levels
    }

    /// Puts the levels that have rows in the order in which they are cut.
    fn arrange(&mut self, feature: usize, levels: Range<usize>) {
        let histogram = &self.histogram;
        let present = levels.filter(|l| histogram[*l][0] > 0.0).map(|l| l as u32);
        self.in_order.clear();
        self.in_order.extend(present);
        if !self.axes.axes[feature].ordered {
            let mean = |level: &u32| histogram[*level as usize][1] / histogram[*level as usize][0];
            self.in_order.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        }
    }

    /// The best cut of one feature's levels.
    fn best_cut(
        &mut self,
        feature: usize,
        levels: Range<usize>,
        [rows, sum]: [f64; 2],
        least: f64,
    ) -> Option<BestCut> {
        self.arrange(feature, levels);
        let ordered = self.axes.axes[feature].ordered;
        let (mut left_rows, mut left_sum) = (0.0, 0.0);
        let mut best: Option<BestCut> = None;
        let before = sum * sum / rows;
        for (k, pair) in self.in_order.windows(2).enumerate() {
            let [n, s] = self.histogram[pair[0] as usize];
            left_rows += n;
            left_sum += s;
            let (right_rows, right_sum) = (rows - left_rows, sum - left_sum);
            if right_rows < least {
                break;
            }
            if left_rows < least {
                continue;
            }
            let gain =
                left_sum * left_sum / left_rows + right_sum * right_sum / right_rows - before;
            if gain > best.map_or(0.0, |b| b.gain * (1.0 + TIE)) {
                let cut = if ordered { pair[0] as usize } else { k + 1 };
                best = Some(BestCut { gain, feature, cut, next: pair[1] as usize });
            }
        }
        best
    }

    /// A split of a node's cells, its set of levels added to the others.
    fn step(&self, best: BestCut, left: usize, node: Range<usize>, sets: &mut Vec<u64>) -> Step {
        let axis = &self.axes.axes[best.feature];
        let (feature, left) = (best.feature as u32, left as u32);
        if !axis.ordered {
            let set = sets.len();
            // Low values are left, and high ones right: levels that the node does not hold go to the
            // worse of them, whichever that is.
            let low_is_worse = self.cells.direction == Direction::Reward;
            sets.resize(set + axis.count.div_ceil(64), if low_is_worse { u64::MAX } else { 0 });
            if low_is_worse {
                let codes = self.cells.column(best.feature);
                for level in self.order[node].iter().map(|&cell| codes[cell as usize]) {
                    sets[set + level as usize / 64] &= !(1 << (level % 64));
                }
            }
            for &level in &self.goes_left {
                sets[set + level as usize / 64] |= 1 << (level % 64);
            }
            return Step { feature, cut: 0, set: set as u32, left };
        }
        // Levels that the node does not hold go to the nearer side; missing ones right.
        let cut = if Some(best.next) == axis.missing {
            best.next - 1
        } else {
            let middle = 0.5 * (axis.ends[best.cut].1 + axis.ends[best.next].0);
            let goes_left = |l: &usize| axis.ends[*l].1 <= middle;
            (best.cut..best.next).rev().find(goes_left).unwrap_or(best.cut)
        };
        Step { feature, cut: cut as u32, set: NONE, left }
    }

    /// Moves a node's cells that go left to the front, keeping both orders; returns how many.
    fn partition(&mut self, tree: &Grown, at: usize, node: Range<usize>) -> usize {
        let step = tree.steps[at];
        let codes = self.cells.column(step.feature as usize);
        let order = &mut self.order[node];
        let (mut left, mut right) = (0, 0);
        for k in 0..order.len() {
            let cell = order[k];
            let goes_left = tree.goes_left(step, codes[cell as usize]);
            // Written to both, so that there is nothing to guess.
            order[left] = cell;
            self.spare[right] = cell;
            left += usize::from(goes_left);
            right += usize::from(!goes_left);
        }
        order[left..].copy_from_slice(&self.spare[..right]);
        left
    }
}

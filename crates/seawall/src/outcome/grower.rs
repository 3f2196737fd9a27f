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
use super::leaves::NONE;
use crate::kernel::random::Random;
use crate::log::Log;

/// Gains that differ by less than this share are a tie.
const TIE: f64 = 1e-10;
/// A gain below this share of all squares is none.
const NOTHING: f64 = 1e-12;

/// The contexts of one action's rows, with their levels.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    /// The contexts.
    pub contexts: Vec<u32>,
    /// `[feature · cells + cell]`.
    codes: Vec<u32>,
    /// The mean of the action's rows, which all sums are taken around.
    pub mean: f64,
    /// Each entry of the log that is of the action: its place in the log, its cell, its value
    /// less the mean, and its weight.
    pub entries: Vec<(usize, u32, f64, f64)>,
    /// Each cell's rows and sum.
    pub sums: Vec<[f64; 2]>,
    /// The sum of squares of all values less the mean.
    pub squares: f64,
}

impl Cells {
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
            entries.push((at, cell as u32, value, e.weight));
        }
        let code = |k: usize| contexts.iter().map(move |x| axes.row(*x as usize)[k]);
        let codes = (0..axes.axes.len()).flat_map(code).collect();
        Some(Cells { contexts, codes, mean, entries, sums, squares })
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
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Sets of levels that go left, a bit each, for splits on levels without an order.
    sets: Vec<u64>,
}

/// A node of a grown tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The feature that is looked at; `NONE` at a leaf.
    pub feature: u32,
    /// The last level that goes left.
    cut: u32,
    /// Where the set of levels that go left starts, `NONE` if levels have an order.
    set: u32,
    /// Where those that go left go.
    pub left: u32,
    /// Where the others go.
    pub right: u32,
    /// The rows in here.
    pub rows: f64,
    /// Their mean, above that of the cells.
    pub mean: f64,
    /// By how much the split lowers the sum of squared errors.
    pub gain: f64,
}

impl Grown {
    /// The leaf of a place, by its levels.
    #[inline]
    pub fn leaf(&self, levels: &[u32]) -> usize {
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            if node.feature == NONE {
                return at;
            }
            let left = self.goes_left(node, levels[node.feature as usize]);
            at = if left { node.left } else { node.right } as usize;
        }
    }

    #[inline]
    fn goes_left(&self, node: &Node, level: u32) -> bool {
        match node.set {
            NONE => level <= node.cut,
            set => self.sets[set as usize + level as usize / 64] >> (level % 64) & 1 == 1,
        }
    }

    /// Adds each feature's gains.
    pub fn add_gains(&self, to: &mut [f64]) {
        let splits = self.nodes.iter().filter(|n| n.feature != NONE);
        splits.for_each(|n| to[n.feature as usize] += n.gain);
    }
}

/// Grows trees on the same cells, again and again.
pub(super) struct Grower<'c> {
    axes: &'c Axes,
    cells: &'c Cells,
    /// The cells, those of a node together.
    order: Vec<u32>,
    spare: Vec<u32>,
    /// Rows and sum of each level, all 0 between two uses.
    histogram: Vec<[f64; 2]>,
    /// A feature's levels in the order in which they are cut.
    in_order: Vec<u32>,
    features: Vec<usize>,
    /// The leaf that each cell came to.
    pub leaf_of: Vec<u32>,
}

/// The best split found so far.
#[derive(Clone, Copy)]
struct Best {
    gain: f64,
    feature: usize,
    /// The last level that goes left, or how many levels in order of mean do.
    cut: usize,
}

impl<'c> Grower<'c> {
    /// With room for these cells.
    pub fn new(axes: &'c Axes, cells: &'c Cells) -> Self {
        let widest = axes.axes.iter().map(|a| a.count).max().unwrap_or(0);
        Grower {
            axes,
            cells,
            order: Vec::new(),
            spare: vec![0; cells.len()],
            histogram: vec![[0.0; 2]; widest],
            in_order: Vec::new(),
            features: Vec::new(),
            leaf_of: vec![0; cells.len()],
        }
    }

    /// Grows a tree on cells with these rows and sums; where it tries fewer features than there
    /// are, `random` says which.
    pub fn grow(&mut self, sums: &[[f64; 2]], growth: Growth, random: &mut Random) -> Grown {
        self.order.clear();
        self.order.extend(0..self.cells.len() as u32);
        let squares: f64 = sums.iter().filter(|s| s[0] > 0.0).map(|s| s[1] * s[1] / s[0]).sum();
        let nothing = NOTHING * squares;
        let mut tree = Grown { nodes: Vec::new(), sets: Vec::new() };
        // What is still to be grown: its node, its cells, its depth.
        let mut waiting = vec![(tree.add(), 0, self.cells.len(), 0)];
        while let Some((at, first, last, depth)) = waiting.pop() {
            let [rows, sum] = self.order[first..last].iter().fold([0.0; 2], |[n, s], &c| {
                let [rows, sum] = sums[c as usize];
                [n + rows, s + sum]
            });
            tree.nodes[at].rows = rows;
            tree.nodes[at].mean = if rows > 0.0 { sum / rows } else { 0.0 };
            let may = depth < growth.max_depth && rows >= 2.0 * growth.min_leaf;
            let best = match may {
                true => self.best(first..last, sums, [rows, sum], growth, nothing, random),
                false => None,
            };
            let Some(best) = best else {
                self.order[first..last].iter().for_each(|&c| self.leaf_of[c as usize] = at as u32);
                continue;
            };
            self.split(&mut tree, at, best, first..last, sums);
            let middle = first + self.partition(&tree, at, first..last);
            let (left, right) = (tree.add(), tree.add());
            tree.nodes[at].left = left as u32;
            tree.nodes[at].right = right as u32;
            waiting.push((right, middle, last, depth + 1));
            waiting.push((left, first, middle, depth + 1));
        }
        tree
    }

    /// The best split of a node's cells, if any lowers the error.
    fn best(
        &mut self,
        node: std::ops::Range<usize>,
        sums: &[[f64; 2]],
        total: [f64; 2],
        growth: Growth,
        nothing: f64,
        random: &mut Random,
    ) -> Option<Best> {
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
            let (low, high) = self.count(node.clone(), sums, feature);
            if low < high {
                let found = self.best_cut(feature, low..high + 1, total, growth.min_leaf);
                tried += 1;
                let least = best.map_or(nothing, |b: Best| b.gain * (1.0 + TIE));
                best = found.filter(|b| b.gain > least).or(best);
            }
            self.histogram[low..(high + 1).max(low)].fill([0.0; 2]);
            if tried >= growth.tried {
                break;
            }
        }
        best
    }

    /// Adds up a node's rows by level; the first and the last one with cells.
    fn count(
        &mut self,
        node: std::ops::Range<usize>,
        sums: &[[f64; 2]],
        feature: usize,
    ) -> (usize, usize) {
        let codes = self.cells.column(feature);
        let (mut low, mut high) = (u32::MAX, 0);
        for &cell in &self.order[node] {
            let level = codes[cell as usize];
            let [rows, sum] = sums[cell as usize];
            let to = &mut self.histogram[level as usize];
            to[0] += rows;
            to[1] += sum;
            low = low.min(level);
            high = high.max(level);
        }
        (low.min(high) as usize, high as usize)
    }

    /// Puts the levels that have rows in the order in which they are cut.
    fn arrange(&mut self, feature: usize, levels: std::ops::Range<usize>) {
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
        levels: std::ops::Range<usize>,
        [rows, sum]: [f64; 2],
        least: f64,
    ) -> Option<Best> {
        self.arrange(feature, levels);
        let ordered = self.axes.axes[feature].ordered;
        let (mut left_rows, mut left_sum) = (0.0, 0.0);
        let mut best: Option<Best> = None;
        let before = sum * sum / rows;
        for (k, &level) in self.in_order.iter().enumerate() {
            let [n, s] = self.histogram[level as usize];
            left_rows += n;
            left_sum += s;
            let (right_rows, right_sum) = (rows - left_rows, sum - left_sum);
            if right_rows < least || k + 1 == self.in_order.len() {
                break;
            }
            if left_rows < least {
                continue;
            }
            let gain =
                left_sum * left_sum / left_rows + right_sum * right_sum / right_rows - before;
            if gain > best.map_or(0.0, |b| b.gain * (1.0 + TIE)) {
                best =
                    Some(Best { gain, feature, cut: if ordered { level as usize } else { k + 1 } });
            }
        }
        best
    }

    /// Writes a split down.
    fn split(
        &mut self,
        tree: &mut Grown,
        at: usize,
        best: Best,
        node: std::ops::Range<usize>,
        sums: &[[f64; 2]],
    ) {
        let axis = &self.axes.axes[best.feature];
        let (low, high) = self.count(node, sums, best.feature);
        tree.nodes[at].feature = best.feature as u32;
        tree.nodes[at].gain = best.gain;
        if axis.ordered {
            // Levels that the node does not hold go to the nearer side; missing ones right.
            let next = (best.cut + 1..=high).find(|l| self.histogram[*l][0] > 0.0).unwrap_or(high);
            let cut = match Some(next) == axis.missing {
                true => next - 1,
                false => {
                    let middle = 0.5 * (axis.ends[best.cut].1 + axis.ends[next].0);
                    let goes_left = |l: &usize| axis.ends[*l].1 <= middle;
                    (best.cut..next).rev().find(goes_left).unwrap_or(best.cut)
                }
            };
            tree.nodes[at].cut = cut as u32;
        } else {
            tree.nodes[at].set = tree.sets.len() as u32;
            tree.sets.resize(tree.sets.len() + axis.count.div_ceil(64), 0);
            self.arrange(best.feature, low..high + 1);
            let set = &mut tree.sets[tree.nodes[at].set as usize..];
            for &level in &self.in_order[..best.cut] {
                set[level as usize / 64] |= 1 << (level % 64);
            }
        }
        self.histogram[low..=high].fill([0.0; 2]);
    }

    /// Moves a node's cells that go left to the front, keeping both orders; returns how many.
    fn partition(&mut self, tree: &Grown, at: usize, node: std::ops::Range<usize>) -> usize {
        let split = &tree.nodes[at];
        let codes = self.cells.column(split.feature as usize);
        let order = &mut self.order[node];
        let (mut left, mut right) = (0, 0);
        for k in 0..order.len() {
            let cell = order[k];
            if tree.goes_left(split, codes[cell as usize]) {
                order[left] = cell;
                left += 1;
            } else {
                self.spare[right] = cell;
                right += 1;
            }
        }
        order[left..].copy_from_slice(&self.spare[..right]);
        left
    }
}

impl Grown {
    /// Adds a leaf.
    fn add(&mut self) -> usize {
        self.nodes.push(Node {
            feature: NONE,
            cut: 0,
            set: NONE,
            left: 0,
            right: 0,
            rows: 0.0,
            mean: 0.0,
            gain: 0.0,
        });
        self.nodes.len() - 1
    }
}

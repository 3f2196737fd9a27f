//! Regression trees (CART, squared error), one per action, whose leaves partition all contexts.
//!
//! A split sends levels to the left or to the right. Numeric and ordinal levels are cut at the
//! midpoint between two neighbours seen in the node; nominal ones are first put in order of
//! their mean value, which loses nothing for squared error; levels that the node does not hold go to
//! the worse side. The split chosen maximises
//! `S_L²/n_L + S_R²/n_R`, the first one winning ties, features and thresholds in order; ties are
//! decided in whole numbers (`tally`). As in scikit-learn, a node that may be split is split even where nothing is gained.
//!
//! Everything is computed from sums per context cell, so a fit costs the same however many rows
//! the log has.

use super::cut::{Cell, Cut};
use super::split::best_split;
use super::tally::Units;
use crate::ambiguity::Direction;
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};
use crate::space::Space;

/// How a tree may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeSettings {
    /// Splits from the root to a leaf, at most.
    pub max_depth: usize,
    /// Rows in a leaf, at least.
    pub min_samples_leaf: f64,
    /// Rows in a leaf, at least, as a share of the rows of its action: it stays in proportion on a
    /// part of the log. The larger of the two counts.
    pub min_share: f64,
    /// Rows in a node that may be split, at least.
    pub min_samples_split: f64,
    /// Cost-complexity pruning: branches that lower the mean squared error by less than this a
    /// leaf are cut.
    pub ccp_alpha: f64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings {
            max_depth: 4,
            min_samples_leaf: 1.0,
            min_share: 0.0,
            min_samples_split: 2.0,
            ccp_alpha: 0.0,
        }
    }
}

impl TreeSettings {
    fn check_numbers(&self) -> Result<()> {
        check_leaf(self.min_samples_leaf, self.min_share)?;
        let counts = [
            (Field::MinSamplesSplit, self.min_samples_split, 2.0),
            (Field::CcpAlpha, self.ccp_alpha, 0.0),
        ];
        for (field, value, least) in counts {
            if !(value >= least && value.is_finite()) {
                let what = format!("is {value}; expected a finite number ≥ {least}");
                return Err(Error::field(field, what));
            }
        }
        Ok(())
    }
}

/// Refuses sizes of leaves that cannot be: rows, and a share of all rows.
pub(super) fn check_leaf(rows: f64, share: f64) -> Result<()> {
    if !(rows >= 1.0 && rows.is_finite()) {
        let what = format!("is {rows}; expected a finite number ≥ 1");
        return Err(Error::field(Field::MinSamplesLeaf, what));
    }
    if (0.0..=0.5).contains(&share) {
        Ok(())
    } else {
        Err(Error::field(Field::MinShare, format!("is {share}; expected a number from 0 to 0.5")))
    }
}

/// A split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The feature that is looked at.
    pub feature: usize,
    /// Where it sends a context.
    pub cut: Cut,
    /// The node for the left, by its place in the tree.
    pub left: usize,
    /// The node for the right.
    pub right: usize,
}

/// A regression tree. Node 0 is the root.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<TreeNode>,
}

#[derive(Clone, Debug)]
struct TreeNode {
    rows: f64,
    mean: f64,
    /// The sum of squared deviations from the mean, values scaled.
    error: f64,
    split: Option<Split>,
}

impl Tree {
    /// The tree of an action without rows.
    pub(super) fn empty() -> Self {
        Tree { nodes: Vec::new() }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node: the action had no rows.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.nodes.iter().filter(|n| n.split.is_none()).count()
    }

    /// The number of leaves of the tree cut off at a depth.
    pub(super) fn leaf_count_at(&self, depth: usize) -> usize {
        let mut count = 0;
        let mut open = vec![(0, 0)];
        while let Some((node, level)) = open.pop() {
            match self.nodes.get(node).and_then(|n| n.split.as_ref()) {
                Some(split) if level < depth => {
                    open.extend([(split.left, level + 1), (split.right, level + 1)]);
                }
                _ => count += 1,
            }
        }
        count
    }

    /// The leaf that a context falls into where the tree is cut off at a depth.
    pub(super) fn node_at(&self, space: &Space, context: usize, depth: usize) -> usize {
        let (mut at, mut level) = (0, 0);
        while let Some(split) = self.nodes[at].split.as_ref().filter(|_| level < depth) {
            let left = split.goes_left(space, space.code(context, split.feature));
            (at, level) = (if left { split.left } else { split.right }, level + 1);
        }
        at
    }

    /// A node's split; None for a leaf.
    pub fn split(&self, node: usize) -> Option<&Split> {
        self.nodes[node].split.as_ref()
    }

    /// A node's rows and their mean value.
    pub fn summary(&self, node: usize) -> (f64, f64) {
        (self.nodes[node].rows, self.nodes[node].mean)
    }

    /// The leaf that a context falls into.
    pub fn leaf(&self, space: &Space, context: usize) -> usize {
        self.leaf_of(space, |feature| space.code(context, feature))
    }

    /// The leaf of a place given by its features' codes.
    pub(crate) fn leaf_of(&self, space: &Space, code: impl Fn(usize) -> f64) -> usize {
        let mut at = 0;
        while let Some(split) = &self.nodes[at].split {
            let left = split.goes_left(space, code(split.feature));
            at = if left { split.left } else { split.right };
        }
        at
    }
}

impl Split {
    fn goes_left(&self, space: &Space, code: f64) -> bool {
        match &self.cut {
            Cut::AtMost(threshold) => space.coordinate(self.feature, code) <= *threshold,
            Cut::Levels(levels) => levels.binary_search(&(code as u32)).is_ok(),
        }
    }
}

/// The tree of one action; None if the action has no rows.
pub(super) fn fitted(
    log: &Log,
    action: usize,
    settings: &TreeSettings,
    watch: Watch<'_>,
) -> Result<Option<Tree>> {
    settings.check_numbers()?;
    let Some(scale) = Scale::from_log(log, action) else { return Ok(None) };
    let units = Units::new(log, log.entries().iter().filter(|e| e.action as usize == action));
    let mut cells = sums(log, action, scale, &units);
    let rows: f64 = cells.iter().map(|c| c.rows).sum();
    let least = settings.min_samples_leaf.max(settings.min_share * rows);
    let settings = &TreeSettings { min_samples_leaf: least, ..*settings };
    let rules = Rules { settings, units: &units, direction: log.direction(), watch };
    let mut tree = fit(log.contexts(), &mut cells, scale, rules)?;
    for node in &mut tree.nodes {
        node.mean = scale.middle + scale.range * node.mean;
    }
    Ok(Some(tree))
}

/// One action's values are moved to the middle and divided by their range, so that neither a
/// large offset nor a small range is lost in the sums of squares.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    middle: f64,
    range: f64,
}

impl Scale {
    pub(super) fn from_log(log: &Log, action: usize) -> Option<Self> {
        let values = log.entries().iter().filter(|e| e.action as usize == action);
        let values = values.map(|e| log.value(e));
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let range = if high > low { high - low } else { 1.0 };
        (low <= high).then_some(Scale { middle: 0.5 * low + 0.5 * high, range })
    }
}

/// The sums of one action's rows in each context.
pub(super) fn sums(log: &Log, action: usize, scale: Scale, units: &Units) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for e in log.entries().iter().filter(|e| e.action as usize == action) {
        let value = (log.value(e) - scale.middle) / scale.range;
        let (sum, squares) = (e.weight * value, e.weight * value * value);
        let tally = units.tally(log.value(e), e.weight);
        match cells.last_mut() {
            Some(cell) if cell.context == e.context => {
                cell.rows += e.weight;
                cell.sum += sum;
                cell.squares += squares;
                cell.tally.add(tally);
            }
            _ => cells.push(Cell { context: e.context, rows: e.weight, sum, squares, tally }),
        }
    }
    cells
}

/// What growing goes by.
#[derive(Clone, Copy)]
struct Rules<'r> {
    settings: &'r TreeSettings,
    units: &'r Units,
    direction: Direction,
    watch: Watch<'r>,
}

fn fit(space: &Space, cells: &mut [Cell], scale: Scale, rules: Rules<'_>) -> Result<Tree> {
    let mut tree = Tree::empty();
    grow(&mut tree, space, cells, rules, 0)?;
    let alpha = rules.settings.ccp_alpha;
    if alpha > 0.0 {
        let rows = tree.nodes[0].rows;
        prune(&mut tree, alpha * rows / (scale.range * scale.range));
    }
    Ok(tree)
}

fn grow(
    tree: &mut Tree,
    space: &Space,
    cells: &mut [Cell],
    rules: Rules<'_>,
    depth: usize,
) -> Result<()> {
    let Rules { settings, units, direction, watch } = rules;
    let at = tree.nodes.len();
    watch.tell(Progress::at(Stage::Fitting).done(at))?;
    let total = |of: fn(&Cell) -> f64| cells.iter().map(of).sum::<f64>();
    let (rows, sum, squares) = (total(|c| c.rows), total(|c| c.sum), total(|c| c.squares));
    let error = (squares - sum * sum / rows).max(0.0);
    tree.nodes.push(TreeNode { rows, mean: sum / rows, error, split: None });
    let pure = error <= rows * f64::EPSILON;
    let enough = rows >= settings.min_samples_split && rows >= 2.0 * settings.min_samples_leaf;
    if depth >= settings.max_depth || pure || !enough {
        return Ok(());
    }
    let least = settings.min_samples_leaf;
    let Some((feature, mut cut)) = best_split(space, cells, least, units) else {
        return Ok(());
    };
    // Low values are left, where levels that the node does not hold are not looked for.
    if let (Cut::Levels(left), Direction::Reward) = (&mut cut, direction) {
        add_unseen(left, space, cells, feature);
    }
    let mut split = Split { feature, cut, left: at + 1, right: 0 };
    let middle =
        partition(cells, |c| split.goes_left(space, space.code(c.context as usize, feature)));
    let (left, right) = cells.split_at_mut(middle);
    grow(tree, space, left, rules, depth + 1)?;
    split.right = tree.nodes.len();
    grow(tree, space, right, rules, depth + 1)?;
    tree.nodes[at].split = Some(split);
    Ok(())
}

/// Adds the levels of a feature that a node does not hold.
fn add_unseen(levels: &mut Vec<u32>, space: &Space, cells: &[Cell], feature: usize) {
    let mut seen = vec![false; space.levels(feature).len()];
    cells.iter().for_each(|c| seen[space.code(c.context as usize, feature) as usize] = true);
    levels.extend((0..seen.len() as u32).filter(|level| !seen[*level as usize]));
    levels.sort_unstable();
}

/// Moves the cells that go left to the front, keeping both orders; returns how many there are.
fn partition(cells: &mut [Cell], goes_left: impl Fn(&Cell) -> bool) -> usize {
    let (left, right): (Vec<Cell>, Vec<Cell>) = cells.iter().partition(|c| goes_left(c));
    cells[..left.len()].copy_from_slice(&left);
    cells[left.len()..].copy_from_slice(&right);
    left.len()
}

/// Cuts the branch that gains least a leaf, again and again, while that is below `alpha`.
fn prune(tree: &mut Tree, alpha: f64) {
    loop {
        let mut weakest: Option<(f64, usize)> = None;
        for node in 0..tree.nodes.len() {
            if tree.nodes[node].split.is_some() {
                let (error, leaves) = branch(tree, node);
                let gain = (tree.nodes[node].error - error) / (leaves - 1) as f64;
                if weakest.is_none_or(|(g, _)| gain < g) {
                    weakest = Some((gain, node));
                }
            }
        }
        match weakest {
            Some((gain, node)) if gain <= alpha => tree.nodes[node].split = None,
            _ => return compact(tree),
        }
    }
}

/// The error of a branch's leaves, and their number.
fn branch(tree: &Tree, node: usize) -> (f64, usize) {
    match &tree.nodes[node].split {
        None => (tree.nodes[node].error, 1),
        Some(split) => {
            let (left, right) = (branch(tree, split.left), branch(tree, split.right));
            (left.0 + right.0, left.1 + right.1)
        }
    }
}

/// Drops the nodes that nothing leads to.
fn compact(tree: &mut Tree) {
    fn copy(from: &Tree, node: usize, to: &mut Vec<TreeNode>) -> usize {
        let at = to.len();
        to.push(from.nodes[node].clone());
        if let Some(split) = &from.nodes[node].split {
            let left = copy(from, split.left, to);
            let right = copy(from, split.right, to);
            to[at].split = Some(Split { left, right, ..split.clone() });
        }
        at
    }
    let mut nodes = Vec::new();
    copy(tree, 0, &mut nodes);
    tree.nodes = nodes;
}

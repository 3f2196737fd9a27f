//! Branch and bound over scattered targets: the best target of a source at a price.
//!
//! A kd-tree over the targets; each node knows the box of its points and the largest value in
//! it. A node is opened only if its largest value at the cost of its box's nearest corner could
//! beat the best target known so far. Exact in any dimension, fast in few.
//!
//! Fixed features are not the tree's affair: the caller builds one tree for each of their
//! combinations.

use super::metric::Metric;
use super::order::{Order, better};

/// Points in a leaf at most: few enough to scan at once. Measured with packets of queries.
const LEAF: usize = 8;

/// A tree over targets.
#[derive(Clone, Debug)]
pub struct KdTree {
    metrics: Vec<Metric>,
    nodes: Vec<KdNode>,
    /// For each node and feature: lowest and highest coordinate, and whether any is missing.
    boxes: Vec<KdExtent>,
    /// Coordinates in tree order, one array per feature.
    coords: Vec<Vec<f64>>,
    values: Vec<f64>,
    /// The caller's names, in tree order.
    names: Vec<u32>,
    /// The points, by their index among the caller's, in tree order.
    order: Vec<u32>,
    /// Each feature's weight, if all are squared differences with nothing missing.
    plain: Option<Vec<f64>>,
}

#[derive(Clone, Copy, Debug)]
struct KdNode {
    largest: f64,
    from: u32,
    to: u32,
    /// The right child; the left one follows its parent. 0 for a leaf.
    right: u32,
}

/// What a node's points span along one feature. `low > high`: only missing values.
#[derive(Clone, Copy, Debug)]
struct KdExtent {
    low: f64,
    high: f64,
    missing: bool,
}

impl KdExtent {
    const NONE: KdExtent = KdExtent { low: f64::INFINITY, high: f64::NEG_INFINITY, missing: false };

    fn include(&mut self, x: f64) {
        if x.is_nan() {
            self.missing = true;
        } else {
            self.low = self.low.min(x);
            self.high = self.high.max(x);
        }
    }

    /// The least cost from `x` to any coordinate in here.
    #[inline(always)]
    fn nearest(&self, metric: Metric, x: f64) -> f64 {
        if x.is_nan() {
            return if self.missing { 0.0 } else { metric.missing() };
        }
        let present = match metric {
            _ if self.low > self.high => f64::INFINITY,
            Metric::Square { weight, .. } => {
                let beyond = (self.low - x).max(x - self.high).max(0.0);
                weight * beyond * beyond
            }
            Metric::Flat { .. } | Metric::Wall if x >= self.low && x <= self.high => 0.0,
            Metric::Flat { weight, .. } => weight,
            Metric::Wall => f64::INFINITY,
        };
        if self.missing { present.min(metric.missing()) } else { present }
    }

    /// How much a split along here could separate, in units of cost.
    fn worth(&self, metric: Metric) -> f64 {
        let between = if self.high > self.low { metric.cost(self.low, self.high) } else { 0.0 };
        let across = if self.missing && self.low <= self.high { metric.missing() } else { 0.0 };
        between.max(across)
    }
}

/// The best target of one source.
#[derive(Clone, Copy, Debug)]
pub struct BestTarget {
    /// The target, by the caller's name for it.
    pub target: u32,
    /// Its value.
    pub value: f64,
    /// What getting there costs.
    pub cost: f64,
}

impl KdTree {
    /// Builds a tree over points with coordinates `columns[feature][point]`; `names` is what
    /// [`BestTarget::target`] calls them. Every value is 0 until some are [loaded](Self::loaded).
    pub fn new(metrics: &[Metric], columns: &[Vec<f64>], names: &[u32]) -> Self {
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        let mut tree = KdTree {
            metrics: metrics.to_vec(),
            nodes: Vec::new(),
            boxes: Vec::new(),
            coords: Vec::new(),
            values: vec![0.0; names.len()],
            names: Vec::new(),
            order: Vec::new(),
            plain: plain(metrics, columns),
        };
        tree.grow(columns, &mut order, 0);
        let sorted = |c: &[f64]| order.iter().map(|&i| c[i as usize]).collect();
        tree.coords = columns.iter().map(|c| sorted(c)).collect();
        tree.names = order.iter().map(|&i| names[i as usize]).collect();
        tree.order = order;
        tree
    }

    /// The points, by their index among the caller's, in tree order: neighbours in space are near
    /// each other.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The same tree with values, one per point in the caller's order.
    pub fn loaded(&self, values: &[f64]) -> Self {
        let mut tree = self.clone();
        // Highest first in each leaf: nothing after a point that cannot win at no cost can win.
        let mut places: Vec<u32> = (0..values.len() as u32).collect();
        let value = |at: u32| values[self.order[at as usize] as usize];
        for node in self.nodes.iter().filter(|node| node.right == 0) {
            places[node.from as usize..node.to as usize].sort_unstable_by(|&a, &b| {
                let index = |at: u32| self.order[at as usize];
                value(b).total_cmp(&value(a)).then(index(a).cmp(&index(b)))
            });
        }
        for (column, from) in tree.coords.iter_mut().zip(&self.coords) {
            column.iter_mut().zip(&places).for_each(|(x, &at)| *x = from[at as usize]);
        }
        for (at, &from) in places.iter().enumerate() {
            tree.order[at] = self.order[from as usize];
            tree.names[at] = self.names[from as usize];
            tree.values[at] = value(from);
        }
        // Children follow their parents, so from the last node to the first both are known.
        for at in (0..tree.nodes.len()).rev() {
            let KdNode { from, to, right, .. } = tree.nodes[at];
            tree.nodes[at].largest = match right {
                0 => tree.values[from as usize..to as usize]
                    .iter()
                    .copied()
                    .fold(f64::NEG_INFINITY, f64::max),
                right => tree.nodes[at + 1].largest.max(tree.nodes[right as usize].largest),
            };
        }
        tree
    }

    /// Whether every feature is a squared difference with nothing missing.
    pub fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// A plain tree's weights, one per feature.
    #[inline(always)]
    pub(super) fn weights(&self) -> &[f64] {
        self.plain.as_deref().unwrap_or_default()
    }

    /// A node's points, and its right child, 0 for a leaf.
    #[inline(always)]
    pub(super) fn node(&self, node: u32) -> (usize, usize, u32) {
        let KdNode { from, to, right, .. } = self.nodes[node as usize];
        (from as usize, to as usize, right)
    }

    /// The largest value in a node.
    #[inline(always)]
    pub(super) fn largest(&self, node: u32) -> f64 {
        self.nodes[node as usize].largest
    }

    /// A node's lowest and highest coordinate along each feature.
    #[inline(always)]
    pub(super) fn extents(&self, node: u32) -> impl Iterator<Item = (f64, f64)> {
        let features = self.metrics.len();
        self.boxes[node as usize * features..][..features].iter().map(|e| (e.low, e.high))
    }

    /// The points' coordinates in tree order, one column per feature.
    #[inline(always)]
    pub(super) fn columns(&self) -> &[Vec<f64>] {
        &self.coords
    }

    /// A point's name and value, by its place in tree order.
    #[inline(always)]
    pub(super) fn point(&self, at: usize) -> (u32, f64) {
        (self.names[at], self.values[at])
    }

    fn grow(&mut self, columns: &[Vec<f64>], order: &mut [u32], from: usize) {
        let at = self.nodes.len();
        let span = (from as u32, (from + order.len()) as u32);
        self.nodes.push(KdNode { largest: 0.0, from: span.0, to: span.1, right: 0 });
        let extents: Vec<KdExtent> = columns.iter().map(|c| extent(c, order)).collect();
        let worth = |k: usize| extents[k].worth(self.metrics[k]);
        let axis = (0..columns.len()).max_by(|&a, &b| worth(a).total_cmp(&worth(b)));
        let splits = axis.filter(|&k| order.len() > LEAF && worth(k) > 0.0);
        self.boxes.extend(&extents);
        let Some(axis) = splits else { return };
        let middle = order.len() / 2;
        // total_cmp puts NaN last, so missing values gather at one end.
        let key = |i: u32| columns[axis][i as usize].abs_nan();
        order.select_nth_unstable_by(middle, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        let (left, right) = order.split_at_mut(middle);
        self.grow(columns, left, from);
        self.nodes[at].right = self.nodes.len() as u32;
        self.grow(columns, right, from + middle);
    }

    /// The best target of a source at `x`, given one that is known.
    pub fn best<O: Order>(
        &self,
        order: O,
        x: &[f64],
        known: BestTarget,
        stack: &mut Stack,
    ) -> BestTarget {
        let mut best = known;
        let mut key = order.key(known.value, known.cost);
        stack.0.clear();
        stack.0.push((0, self.bound(order, 0, x)));
        while let Some((at, bound)) = stack.0.pop() {
            if !better(bound, key) {
                continue;
            }
            let node = self.nodes[at as usize];
            if node.right == 0 {
                self.scan(order, node, x, &mut best, &mut key);
                continue;
            }
            let (a, b) = (at + 1, node.right);
            let (bound_a, bound_b) = (self.bound(order, a, x), self.bound(order, b, x));
            if better(bound_b, bound_a) {
                stack.push(a, bound_a, key);
                stack.push(b, bound_b, key);
            } else {
                stack.push(b, bound_b, key);
                stack.push(a, bound_a, key);
            }
        }
        best
    }

    #[inline(always)]
    fn bound<O: Order>(&self, order: O, node: u32, x: &[f64]) -> (f64, f64) {
        let features = self.metrics.len();
        let extents = &self.boxes[node as usize * features..][..features];
        let mut cost = 0.0;
        for ((extent, &metric), &x) in extents.iter().zip(&self.metrics).zip(x) {
            cost += extent.nearest(metric, x);
        }
        order.key(self.nodes[node as usize].largest, cost)
    }

    #[inline(always)]
    fn scan<O: Order>(
        &self,
        order: O,
        node: KdNode,
        x: &[f64],
        best: &mut BestTarget,
        key: &mut (f64, f64),
    ) {
        for i in node.from as usize..node.to as usize {
            let value = self.values[i];
            // Leaves are sorted by value: nothing after this can win even at no cost.
            if !better(order.key(value, 0.0), *key) {
                break;
            }
            let mut cost = 0.0;
            for ((column, &metric), &x) in self.coords.iter().zip(&self.metrics).zip(x) {
                cost += metric.cost(x, column[i]);
            }
            let candidate = order.key(value, cost);
            if better(candidate, *key) {
                *key = candidate;
                *best = BestTarget { target: self.names[i], value, cost };
            }
        }
    }
}

/// Nodes still to be opened, with their bounds; reused from query to query.
#[derive(Default)]
pub struct Stack(Vec<(u32, (f64, f64))>);

impl Stack {
    #[inline(always)]
    fn push(&mut self, node: u32, bound: (f64, f64), key: (f64, f64)) {
        if better(bound, key) {
            self.0.push((node, bound));
        }
    }
}

/// The features' weights, if all are squared differences and nothing is missing.
fn plain(metrics: &[Metric], columns: &[Vec<f64>]) -> Option<Vec<f64>> {
    let weight = |(metric, column): (&Metric, &Vec<f64>)| match metric {
        Metric::Square { weight, .. } if !column.iter().any(|x| x.is_nan()) => Some(*weight),
        _ => None,
    };
    metrics.iter().zip(columns).map(weight).collect()
}

fn extent(column: &[f64], order: &[u32]) -> KdExtent {
    let mut extent = KdExtent::NONE;
    order.iter().for_each(|&i| extent.include(column[i as usize]));
    extent
}

/// NaN with its sign cleared, so that every missing value sorts to the same end.
trait AbsNan {
    fn abs_nan(self) -> f64;
}

impl AbsNan for f64 {
    #[inline(always)]
    fn abs_nan(self) -> f64 {
        if self.is_nan() { f64::NAN.abs() } else { self }
    }
}

//! Several neighbouring queries walk a kd-tree together.
//!
//! Sources that follow each other in tree order want nearly the same nodes. A packet of them is
//! held in vector registers: a node is opened if any of them needs it, and a leaf's points are
//! offered to all of them at once. For finite prices on features that are all squared
//! differences with nothing missing; [`KdTree::best`] serves the rest. The arithmetic is the
//! same, operation by operation, so the answers are too.

use super::kd_tree::{BestTarget, KdTree};
use pulp::{Arch, Simd, WithSimd};

/// Vectors in a packet.
const HELD: usize = 2;

/// Finds the best targets of queries at a price, given one known for each.
///
/// `rows` holds the queries' coordinates, one row each. The tree must be
/// [plain](KdTree::is_plain).
pub fn best_all(tree: &KdTree, price: f64, rows: &[f64], found: &mut [BestTarget]) {
    Arch::new().dispatch(Packets { tree, price, rows, found });
}

struct Packets<'a> {
    tree: &'a KdTree,
    price: f64,
    rows: &'a [f64],
    found: &'a mut [BestTarget],
}

/// What each lane of a packet knows: its best height, that target's cost, and which it is.
#[derive(Clone, Copy)]
struct PacketKnown<S: Simd> {
    height: [S::f64s; HELD],
    cost: [S::f64s; HELD],
    target: [S::f64s; HELD],
}

/// A node to be opened, with each lane's bound on it.
struct Open<S: Simd> {
    node: u32,
    height: [S::f64s; HELD],
    cost: [S::f64s; HELD],
}

impl WithSimd for Packets<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let features = self.tree.weights().len();
        let lanes = HELD * S::F64_LANES;
        let mut x = vec![[simd.splat_f64s(0.0); HELD]; features];
        let mut stack: Vec<Open<S>> = Vec::with_capacity(64);
        for (packet, found) in self.found.chunks_mut(lanes).enumerate() {
            // Lanes past the last query repeat the first.
            let query = |l: usize| if l < found.len() { l } else { 0 };
            let rows = &self.rows[packet * lanes * features..];
            for (k, x) in x.iter_mut().enumerate() {
                *x = fill::<S>(simd, |l| rows[query(l) * features + k]);
            }
            let mut known = PacketKnown::<S> {
                height: fill::<S>(simd, |l| {
                    let best = found[query(l)];
                    best.value - self.price * best.cost
                }),
                cost: fill::<S>(simd, |l| found[query(l)].cost),
                target: fill::<S>(simd, |_| -1.0),
            };
            self.tree.walk(simd, self.price, &x, &mut known, &mut stack);
            for (l, best) in found.iter_mut().enumerate() {
                let target = lane::<S>(&known.target, l);
                if target >= 0.0 {
                    let at = target as usize;
                    let (target, value) = self.tree.point(at);
                    *best = BestTarget { target, value, cost: lane::<S>(&known.cost, l) };
                }
            }
        }
    }
}

impl KdTree {
    #[inline(always)]
    fn walk<S: Simd>(
        &self,
        simd: S,
        price: f64,
        x: &[[S::f64s; HELD]],
        known: &mut PacketKnown<S>,
        stack: &mut Vec<Open<S>>,
    ) {
        stack.clear();
        stack.push(self.open(simd, price, 0, x));
        while let Some(open) = stack.pop() {
            if !known.wants(simd, &open.height, &open.cost) {
                continue;
            }
            let (from, to, right) = self.node(open.node);
            if right == 0 {
                self.offer(simd, price, from..to, x, known);
                continue;
            }
            let a = self.open(simd, price, open.node + 1, x);
            let b = self.open(simd, price, right, x);
            // The one that promises the first lane more is opened first.
            let promise = |o: &Open<S>| lane::<S>(&o.height, 0);
            let (first, second) = if promise(&a) >= promise(&b) { (a, b) } else { (b, a) };
            for open in [second, first] {
                if known.wants(simd, &open.height, &open.cost) {
                    stack.push(open);
                }
            }
        }
    }

    /// Each lane's bound on a node.
    #[inline(always)]
    fn open<S: Simd>(&self, simd: S, price: f64, node: u32, x: &[[S::f64s; HELD]]) -> Open<S> {
        let zero = simd.splat_f64s(0.0);
        let mut cost = [zero; HELD];
        for ((x, weight), (low, high)) in x.iter().zip(self.weights()).zip(self.extents(node)) {
            let weight = simd.splat_f64s(*weight);
            let (low, high) = (simd.splat_f64s(low), simd.splat_f64s(high));
            for v in 0..HELD {
                let below = simd.sub_f64s(low, x[v]);
                let above = simd.sub_f64s(x[v], high);
                let beyond = simd.max_f64s(simd.max_f64s(below, above), zero);
                let squared = simd.mul_f64s(simd.mul_f64s(weight, beyond), beyond);
                cost[v] = simd.add_f64s(cost[v], squared);
            }
        }
        let (price, largest) = (simd.splat_f64s(price), simd.splat_f64s(self.largest(node)));
        let height = cost.map(|c| simd.sub_f64s(largest, simd.mul_f64s(price, c)));
        Open { node, height, cost }
    }

    /// Offers the points of a leaf, highest first, to every lane.
    #[inline(always)]
    fn offer<S: Simd>(
        &self,
        simd: S,
        price: f64,
        leaf: std::ops::Range<usize>,
        x: &[[S::f64s; HELD]],
        known: &mut PacketKnown<S>,
    ) {
        let zero = [simd.splat_f64s(0.0); HELD];
        let price = simd.splat_f64s(price);
        for i in leaf {
            let value = simd.splat_f64s(self.point(i).1);
            if !known.wants(simd, &[value; HELD], &zero) {
                break;
            }
            let mut cost = zero;
            for ((x, weight), column) in x.iter().zip(self.weights()).zip(self.columns()) {
                let (weight, z) = (simd.splat_f64s(*weight), simd.splat_f64s(column[i]));
                for v in 0..HELD {
                    let apart = simd.sub_f64s(x[v], z);
                    let squared = simd.mul_f64s(simd.mul_f64s(weight, apart), apart);
                    cost[v] = simd.add_f64s(cost[v], squared);
                }
            }
            let target = simd.splat_f64s(i as f64);
            for (v, cost) in cost.into_iter().enumerate() {
                let height = simd.sub_f64s(value, simd.mul_f64s(price, cost));
                let higher = known.better(simd, height, cost, v);
                known.height[v] = simd.select_f64s(higher, height, known.height[v]);
                known.cost[v] = simd.select_f64s(higher, cost, known.cost[v]);
                known.target[v] = simd.select_f64s(higher, target, known.target[v]);
            }
        }
    }
}

impl<S: Simd> PacketKnown<S> {
    /// Where a candidate is strictly higher, or as high and cheaper.
    #[inline(always)]
    fn better(&self, simd: S, height: S::f64s, cost: S::f64s, v: usize) -> S::m64s {
        let higher = simd.greater_than_f64s(height, self.height[v]);
        let level = simd.equal_f64s(height, self.height[v]);
        let cheaper = simd.less_than_f64s(cost, self.cost[v]);
        simd.or_m64s(higher, simd.and_m64s(level, cheaper))
    }

    /// Whether any lane could be better off.
    #[inline(always)]
    fn wants(&self, simd: S, height: &[S::f64s; HELD], cost: &[S::f64s; HELD]) -> bool {
        let mut any = self.better(simd, height[0], cost[0], 0);
        for v in 1..HELD {
            any = simd.or_m64s(any, self.better(simd, height[v], cost[v], v));
        }
        simd.first_true_m64s(any) < S::F64_LANES
    }
}

/// Vectors from a function of the lane.
#[inline(always)]
fn fill<S: Simd>(simd: S, of: impl Fn(usize) -> f64) -> [S::f64s; HELD] {
    let mut vectors = [simd.splat_f64s(0.0); HELD];
    for (v, vector) in vectors.iter_mut().enumerate() {
        let lanes: &mut [f64] = pulp::bytemuck::cast_slice_mut(std::slice::from_mut(vector));
        for (l, lane) in lanes.iter_mut().enumerate() {
            *lane = of(v * S::F64_LANES + l);
        }
    }
    vectors
}

/// One lane of a packet's vectors.
#[inline(always)]
fn lane<S: Simd>(vectors: &[S::f64s; HELD], l: usize) -> f64 {
    let lanes: &[f64] = pulp::bytemuck::cast_slice(vectors);
    lanes[l]
}

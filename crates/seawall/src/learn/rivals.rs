//! Populations already met, and the trees that they rule out.
//!
//! A population `q` with its constant bounds every tree's worst case from below:
//! `V(l) ≥ constant + Σ_x q(x) l(x)`. What a tree of at most two questions costs against `q` is
//! read off sums by pairs of levels, a few additions a tree; deeper trees, and features of so many
//! levels that the sums would not fit, are walked point by point.

use super::node::Node;
use super::ranks::RankQuestion;
use super::search::RankedPoints;

/// Numbers that the tables of all populations together may hold: 256 MiB.
const ROOM: usize = 1 << 25;
/// What is left of earlier counts when new ones come in.
const FADE: f64 = 0.875;

/// A population already met. Only the points with mass.
pub(super) struct Rival {
    constant: f64,
    shares: Vec<(u32, f64)>,
    sums: Option<RivalSums>,
    /// How many trees it was the first to rule out lately.
    ruled_out: f64,
}

/// Sums of `q(x) c_a(x)` over the points where questions hold; ordered levels are summed up to
/// each rank, so a question's sum is found at its own bin.
struct RivalSums {
    /// `[action]`.
    all: Vec<f64>,
    /// `[bin · actions + action]`.
    one: Vec<f64>,
    /// `[(bin · bins + bin) · actions + action]`, for trees of two questions.
    both: Vec<f64>,
}

/// The populations met so far, in the order in which they are tried.
pub(super) struct Rivals<'p> {
    points: &'p RankedPoints,
    /// `[action][point]`.
    costs: &'p [Vec<f64>],
    depth: usize,
    met: Vec<Rival>,
    /// Those that ruled out most lately come first.
    order: Vec<usize>,
}

impl<'p> Rivals<'p> {
    /// None met yet, for trees of a depth.
    pub(super) fn new(points: &'p RankedPoints, costs: &'p [Vec<f64>], depth: usize) -> Self {
        Rivals { points, costs, depth, met: Vec::new(), order: Vec::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.met.len()
    }

    /// Adds a population; it is tried before those that are no better known.
    pub(super) fn add(&mut self, constant: f64, population: &[f64]) {
        let shares = population.iter().enumerate().filter(|(_, q)| **q > 0.0);
        let shares: Vec<(u32, f64)> = shares.map(|(i, q)| (i as u32, *q)).collect();
        let bins = self.points.bins;
        let size = if self.depth > 1 { bins.saturating_mul(bins) } else { bins } * self.costs.len();
        let fits = self.depth <= 2 && size.saturating_mul(self.met.len() + 1) <= ROOM;
        let sums = fits.then(|| self.sums(&shares));
        self.order.insert(0, self.met.len());
        self.met.push(Rival { constant, shares, sums, ruled_out: 0.0 });
    }

    /// The first population, in the order tried, by which a tree's worst case is at least
    /// `upper`.
    pub(super) fn ruling_out(&self, tree: &Node, upper: f64) -> Option<usize> {
        self.order.iter().copied().find(|&rival| self.bound(rival, tree) >= upper)
    }

    /// Whether one of those from `first` on rules a tree out.
    pub(super) fn newer_rules_out(&self, first: usize, tree: &Node, upper: f64) -> bool {
        (first..self.met.len()).any(|rival| self.bound(rival, tree) >= upper)
    }

    /// Counts whom each of these trees was ruled out by, and puts the most useful first. Earlier
    /// counts fade: trees of one part of a list are alike. (Measured on the stroke trial: a
    /// quarter of the bounds that the order of meeting takes, two thirds of unfaded counts'.)
    pub(super) fn learn(&mut self, ruling_out: &[Option<usize>]) {
        self.met.iter_mut().for_each(|rival| rival.ruled_out *= FADE);
        for &rival in ruling_out.iter().flatten() {
            self.met[rival].ruled_out += 1.0;
        }
        let useful = |rival: usize| self.met[rival].ruled_out;
        self.order.sort_by(|&a, &b| useful(b).total_cmp(&useful(a)));
    }

    /// A tree's worst case is at least this, by a population already met.
    fn bound(&self, rival: usize, tree: &Node) -> f64 {
        let Rival { constant, shares, sums, .. } = &self.met[rival];
        let read = sums.as_ref().and_then(|sums| self.read(sums, tree));
        constant
            + read.unwrap_or_else(|| {
                let cost = |&(i, q): &(u32, f64)| {
                    q * self.costs[self.points.chosen(tree, i as usize)][i as usize]
                };
                shares.iter().map(cost).sum::<f64>()
            })
    }

    fn bin(&self, question: RankQuestion) -> usize {
        self.points.offset[question.feature] + question.rank
    }

    /// A tree's cost off the sums; None if it asks more than two questions.
    fn read(&self, sums: &RivalSums, tree: &Node) -> Option<f64> {
        match tree {
            Node::Action(action) => Some(sums.all[*action]),
            Node::Ask(question, yes, no) => {
                let root = self.bin(*question);
                Some(self.side(sums, root, true, yes)? + self.side(sums, root, false, no)?)
            }
        }
    }

    /// The cost of one side of the root's question.
    fn side(&self, sums: &RivalSums, root: usize, holds: bool, tree: &Node) -> Option<f64> {
        let actions = self.costs.len();
        let of_side = |both: f64, whole: f64| if holds { both } else { whole - both };
        let leaf = |action: usize| of_side(sums.one[root * actions + action], sums.all[action]);
        match tree {
            Node::Action(action) => Some(leaf(*action)),
            Node::Ask(question, yes, no) => match (&**yes, &**no) {
                (Node::Action(yes), Node::Action(no)) if !sums.both.is_empty() => {
                    let bin = self.bin(*question);
                    let true_there = |action: usize| {
                        let both = sums.both[(root * self.points.bins + bin) * actions + action];
                        of_side(both, sums.one[bin * actions + action])
                    };
                    Some(true_there(*yes) + (leaf(*no) - true_there(*no)))
                }
                _ => None,
            },
        }
    }

    fn sums(&self, shares: &[(u32, f64)]) -> RivalSums {
        let (actions, bins) = (self.costs.len(), self.points.bins);
        let ranks = |f: usize| &self.points.features[f].of_point;
        let weighted: Vec<f64> = shares
            .iter()
            .flat_map(|&(i, q)| self.costs.iter().map(move |c| q * c[i as usize]))
            .collect();
        let rows = || shares.iter().zip(weighted.chunks_exact(actions));
        let mut all = vec![0.0; actions];
        rows().for_each(|(_, row)| add(&mut all, row));
        let mut one = vec![0.0; bins * actions];
        let mut both = vec![0.0; if self.depth > 1 { bins * bins * actions } else { 0 }];
        for (f, &offset) in self.points.offset.iter().enumerate() {
            for (&(i, _), row) in rows() {
                let bin = offset + ranks(f)[i as usize] as usize;
                add(&mut one[bin * actions..][..actions], row);
            }
            for (g, &other) in self.points.offset.iter().enumerate().filter(|_| self.depth > 1) {
                for (&(i, _), row) in rows() {
                    let bin = offset + ranks(f)[i as usize] as usize;
                    let pair = bin * bins + other + ranks(g)[i as usize] as usize;
                    add(&mut both[pair * actions..][..actions], row);
                }
            }
        }
        self.accumulate(&mut one, actions, 1);
        self.accumulate(&mut both, bins * actions, 1);
        self.accumulate(&mut both, actions, bins);
        RivalSums { all, one, both }
    }

    /// Sums ordered features' levels up to each rank, in each of `outer` groups of all bins of
    /// `inner` numbers.
    fn accumulate(&self, table: &mut [f64], inner: usize, outer: usize) {
        if table.is_empty() {
            return;
        }
        for group in table.chunks_exact_mut(table.len() / outer) {
            for (f, offset) in self.points.features.iter().zip(&self.points.offset) {
                let ranks = &mut group[offset * inner..][..f.len() * inner];
                for k in (1..f.len()).filter(|_| f.ordered) {
                    let (before, here) = ranks[(k - 1) * inner..].split_at_mut(inner);
                    add(&mut here[..inner], before);
                }
            }
        }
    }
}

fn add(total: &mut [f64], row: &[f64]) {
    total.iter_mut().zip(row).for_each(|(t, x)| *t += x);
}

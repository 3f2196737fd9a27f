//! Exact search for the best decision tree against weighted points.
//!
//! Point `i` costs `c_a(i)` under action `a`. A tree of depth `d` asks up to `d` questions of a
//! point (is a number or rank at most this? is a level this one?) and chooses an action; its cost
//! is the sum over points. For every root question in turn the histograms of both sides are kept
//! up as points cross from one side to the other, and trees of one question are read off them, so
//! a depth-2 tree over `n` points, `F` features of `K` levels and `A` actions takes
//! `O(F² n A + (F K)² A)`, and each further level of depth a factor of the number of questions.
//!
//! A leaf's mass may be asked to be at least so much, and to take only an action that some of its points
//! have rows of ([`RankedPoints::taking_only`]). Every search asks, once a root question, whether to go on.
//!
//! Root questions are searched side by side. Each sum is taken in the order of the points and the best of
//! several trees is the first one in the order of the questions, so the tree does not depend on the threads.

use super::node::Node;
use super::ranks::{FeatureRanks, RankQuestion};
use crate::policy::Branch;
use crate::space::Space;
use rayon::prelude::*;
use std::ops::Range;

/// Asked between questions: false means stop.
pub(super) type GoOn<'g> = &'g (dyn Fn() -> bool + Sync);

/// The points of a support with their features' levels ranked.
pub(super) struct RankedPoints {
    pub(super) features: Vec<FeatureRanks>,
    /// Where each feature's levels begin in a histogram, and the number of all.
    pub(super) offset: Vec<usize>,
    pub(super) bins: usize,
    pub(super) actions: usize,
    /// Which actions each point has rows of, `[point · actions + action]`; nothing if any may be taken.
    seen: Vec<bool>,
}

/// What points cost and weigh.
pub(super) struct Costs<'c> {
    /// `[point · actions + action]`.
    pub(super) costs: &'c [f64],
    /// The mass of each point.
    pub(super) mass: &'c [f64],
    /// The mass of a leaf, at least.
    pub(super) least: f64,
}

/// Root questions of one feature are searched in so many parts at most.
const PARTS: usize = 16;
/// Sums that are too few to be shared out.
const FEW: usize = 1 << 14;

/// Sums by level: `[bin · width + action]`, then the mass and the number of points; then, where that
/// counts, how many of the points have rows of each action.
type Histogram = Vec<f64>;

impl RankedPoints {
    /// Ranks the features of a space's points.
    pub(super) fn new(space: &Space, actions: usize) -> Self {
        let ranked = space.names().enumerate().map(|(k, name)| FeatureRanks::new(space, k, name));
        let features: Vec<FeatureRanks> = ranked.collect();
        let mut offset = Vec::new();
        let mut bins = 0;
        for f in &features {
            offset.push(bins);
            bins += f.len();
        }
        RankedPoints { features, offset, bins, actions, seen: Vec::new() }
    }

    /// Sums that [`RankedPoints::best`] takes at a depth, about.
    pub(super) fn work(&self, depth: usize) -> f64 {
        let (width, features) = (self.width() as f64, self.features.len() as f64);
        let points = self.features.first().map_or(0, |f| f.of_point.len()) as f64;
        let questions = self.questions().count() as f64;
        let histogram = self.bins as f64 * width;
        // What goes with the points, which a question divides, and with the levels, which both sides have.
        let (mut by_point, mut by_level) = (points * features * width, histogram);
        if depth >= 2 {
            by_point *= 1.0 + features;
            by_level += 3.0 * questions * histogram;
        }
        for _ in 2..depth {
            by_point += questions * by_point;
            by_level += 2.0 * questions * by_level;
        }
        by_point + by_level
    }

    /// A leaf takes only what rows of its points have, unless they have none at all.
    pub(super) fn taking_only(self, seen: Vec<bool>) -> Self {
        RankedPoints { seen, ..self }
    }

    fn width(&self) -> usize {
        self.actions + 2 + if self.seen.is_empty() { 0 } else { self.actions }
    }

    /// Whether a leaf of these sums may take an action.
    pub(super) fn takes(&self, sums: &[f64], action: usize) -> bool {
        let seen = &sums[self.actions + 2..];
        seen.is_empty() || seen[action] > 0.0 || seen.iter().all(|n| *n == 0.0)
    }

    fn mass(&self, sums: &[f64]) -> f64 {
        sums[self.actions]
    }

    fn count(&self, sums: &[f64]) -> f64 {
        sums[self.actions + 1]
    }

    pub(super) fn holds(&self, question: RankQuestion, point: usize) -> bool {
        let f = &self.features[question.feature];
        let rank = f.of_point[point] as usize;
        if f.ordered { rank <= question.rank } else { rank == question.rank }
    }

    /// Every question that can tell two points apart.
    pub(super) fn questions(&self) -> impl Iterator<Item = RankQuestion> {
        self.features.iter().enumerate().flat_map(|(feature, f)| {
            (0..f.questions()).map(move |rank| RankQuestion { feature, rank })
        })
    }

    fn add(&self, histogram: &mut [f64], costs: &Costs<'_>, point: usize) {
        let width = self.width();
        for (f, offset) in self.features.iter().zip(&self.offset) {
            self.add_to(&mut histogram[offset * width..], f, costs, point);
        }
    }

    /// Adds a point to the bins of one feature.
    fn add_to(&self, bins: &mut [f64], feature: &FeatureRanks, costs: &Costs<'_>, point: usize) {
        let width = self.width();
        let row = &costs.costs[point * self.actions..][..self.actions];
        let bin = &mut bins[feature.of_point[point] as usize * width..][..width];
        bin.iter_mut().zip(row).for_each(|(b, c)| *b += c);
        bin[self.actions] += costs.mass[point];
        bin[self.actions + 1] += 1.0;
        if !self.seen.is_empty() {
            let own = &self.seen[point * self.actions..][..self.actions];
            let counts = bin[self.actions + 2..].iter_mut().zip(own);
            counts.for_each(|(n, seen)| *n += f64::from(u8::from(*seen)));
        }
    }

    pub(super) fn histogram(&self, costs: &Costs<'_>, points: &[u32]) -> Histogram {
        let few = points.len() * self.features.len() * self.width() <= FEW;
        let of_feature = |f: &FeatureRanks| {
            let mut bins = vec![0.0; f.len() * self.width()];
            points.iter().for_each(|&i| self.add_to(&mut bins, f, costs, i as usize));
            bins
        };
        let least = if few { self.features.len() } else { 1 };
        let each = self.features.par_iter().with_min_len(least.max(1)).map(of_feature);
        each.collect::<Vec<Vec<f64>>>().concat()
    }

    pub(super) fn totals(&self, histogram: &[f64]) -> Vec<f64> {
        let width = self.width();
        let mut sums = vec![0.0; width];
        for bin in histogram.chunks_exact(width).take(self.features[0].len()) {
            sums.iter_mut().zip(bin).for_each(|(s, b)| *s += b);
        }
        sums
    }

    /// The cheapest action that may be taken.
    pub(super) fn action(&self, sums: &[f64]) -> (f64, usize) {
        let mut best = (0..self.actions).find(|&a| self.takes(sums, a)).unwrap_or(0);
        for a in best + 1..self.actions {
            if sums[a] < sums[best] && self.takes(sums, a) {
                best = a;
            }
        }
        (sums[best], best)
    }

    /// Whether both sides of a question hold points and enough mass.
    pub(super) fn divides(&self, left: &[f64], right: &[f64], least: f64) -> bool {
        let enough = |side: &[f64]| self.count(side) > 0.0 && self.mass(side) >= least;
        enough(left) && enough(right)
    }

    /// Calls `visit` with every question that divides a histogram, and the sums of its sides.
    pub(super) fn each_division(
        &self,
        histogram: &[f64],
        least: f64,
        mut visit: impl FnMut(RankQuestion, &[f64], &[f64]),
    ) {
        let (width, totals) = (self.width(), self.totals(histogram));
        let (mut left, mut right) = (vec![0.0; width], vec![0.0; width]);
        for (feature, f) in self.features.iter().enumerate() {
            left.fill(0.0);
            let bins = histogram[self.offset[feature] * width..].chunks_exact(width);
            for (rank, bin) in bins.enumerate().take(f.questions()) {
                if !f.ordered {
                    left.fill(0.0);
                }
                left.iter_mut().zip(bin).for_each(|(l, b)| *l += b);
                right.iter_mut().zip(&totals).zip(&left).for_each(|((r, t), l)| *r = t - l);
                if self.divides(&left, &right, least) {
                    visit(RankQuestion { feature, rank }, &left, &right);
                }
            }
        }
    }

    /// The root questions in parts, in order: few where a part would add up as many points again as it
    /// reads trees off sums.
    fn parts(&self, points: usize) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        for (feature, f) in self.features.iter().enumerate() {
            let questions = f.questions();
            let reading = questions * 2 * self.bins;
            let adding = if f.ordered { points * self.features.len() } else { points };
            let count = (reading / adding.max(1)).clamp(1, PARTS).min(questions.max(1));
            all.extend(
                (0..count).map(|k| (feature, k * questions / count..(k + 1) * questions / count)),
            );
        }
        all
    }

    /// Calls `visit` with every question that divides the points, and the histograms of its
    /// sides, part by part of the questions, each with something of its own, until it says no; what
    /// becomes of those, in the order of the questions. None if it was stopped.
    pub(super) fn each_split<T: Send>(
        &self,
        (costs, points): (&Costs<'_>, &[u32]),
        whole: &[f64],
        go_on: GoOn<'_>,
        begin: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, RankQuestion, (&[f64], &[f64])) -> bool + Sync,
    ) -> Option<Vec<T>> {
        let part = |(feature, ranks): (usize, Range<usize>)| {
            let (f, mut own) = (&self.features[feature], begin());
            let mut by_rank: Vec<Vec<u32>> = vec![Vec::new(); f.len()];
            points.iter().for_each(|&i| by_rank[f.of_point[i as usize] as usize].push(i));
            let mut left = vec![0.0; whole.len()];
            let mut right = whole.to_vec();
            if f.ordered {
                let before = by_rank[..ranks.start].iter().flatten();
                before.for_each(|&i| self.add(&mut left, costs, i as usize));
            }
            for rank in ranks {
                if !go_on() {
                    return None;
                }
                if !f.ordered {
                    left.fill(0.0);
                }
                by_rank[rank].iter().for_each(|&i| self.add(&mut left, costs, i as usize));
                right.iter_mut().zip(whole).zip(&left).for_each(|((r, w), l)| *r = w - l);
                let divides = self.divides(&self.totals(&left), &self.totals(&right), costs.least);
                if divides && !visit(&mut own, RankQuestion { feature, rank }, (&left, &right)) {
                    break;
                }
            }
            Some(own)
        };
        let parts = self.parts(points.len());
        let work = (points.len() * self.features.len() + self.bins * self.bins) * self.width();
        let least = if work <= FEW { parts.len() } else { 1 };
        parts.into_par_iter().with_min_len(least.max(1)).map(part).collect()
    }

    /// The best tree of at most one question, from a histogram.
    pub(super) fn stump(&self, histogram: &[f64], least: f64) -> (f64, Node) {
        let (cost, action) = self.action(&self.totals(histogram));
        let mut best = (cost, Node::Action(action));
        self.each_division(histogram, least, |question, left, right| {
            let ((a, yes), (b, no)) = (self.action(left), self.action(right));
            if a + b < best.0 && yes != no {
                best = (a + b, Node::ask(question, Node::Action(yes), Node::Action(no)));
            }
        });
        best
    }

    /// The best tree of at most two questions on the way to a leaf; None if it was stopped.
    fn pair(&self, costs: &Costs<'_>, points: &[u32], go_on: GoOn<'_>) -> Option<(f64, Node)> {
        let whole = self.histogram(costs, points);
        let cheapest =
            |best: &mut Option<(f64, Node)>, question, (left, right): (&[f64], &[f64])| {
                let (a, yes) = self.stump(left, costs.least);
                let (b, no) = self.stump(right, costs.least);
                if a + b < best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost) {
                    *best = Some((a + b, Node::ask(question, yes, no)));
                }
                true
            };
        let found = self.each_split((costs, points), &whole, go_on, || None, cheapest)?;
        Some(first_best(self.stump(&whole, costs.least), found))
    }

    /// The best tree of a depth, and its cost; None if it was stopped.
    pub(super) fn best(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        depth: usize,
        go_on: GoOn<'_>,
    ) -> Option<(f64, Node)> {
        match depth {
            0 => {
                let (cost, action) = self.action(&self.totals(&self.histogram(costs, points)));
                Some((cost, Node::Action(action)))
            }
            1 => Some(self.stump(&self.histogram(costs, points), costs.least)),
            2 => self.pair(costs, points, go_on),
            _ => {
                let below = |question: RankQuestion| {
                    let Some((left, right)) = self.divide(costs, points, question) else {
                        return Some(None);
                    };
                    let (a, yes) = self.best(costs, &left, depth - 1, go_on)?;
                    let (b, no) = self.best(costs, &right, depth - 1, go_on)?;
                    Some(Some((a + b, Node::ask(question, yes, no))))
                };
                let pair = self.pair(costs, points, go_on)?;
                let questions: Vec<RankQuestion> = self.questions().collect();
                let found: Option<Vec<_>> = questions.into_par_iter().map(below).collect();
                Some(first_best(pair, found?))
            }
        }
    }

    /// The points on either side of a question; None if one side is empty or too light.
    pub(super) fn divide(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        question: RankQuestion,
    ) -> Option<(Vec<u32>, Vec<u32>)> {
        let (left, right): (Vec<u32>, Vec<u32>) =
            points.iter().partition(|&&i| self.holds(question, i as usize));
        let heavy = |side: &[u32]| {
            !side.is_empty()
                && side.iter().map(|&i| costs.mass[i as usize]).sum::<f64>() >= costs.least
        };
        (heavy(&left) && heavy(&right)).then_some((left, right))
    }

    /// The action of a point.
    pub(super) fn chosen(&self, node: &Node, point: usize) -> usize {
        let mut at = node;
        loop {
            match at {
                Node::Action(action) => return *action,
                Node::Ask(question, yes, no) => {
                    at = if self.holds(*question, point) { yes } else { no };
                }
            }
        }
    }

    /// The tree as a policy's branch, without questions whose two sides are alike.
    pub(super) fn branch(&self, node: &Node) -> Branch {
        self.grown(&node.collapsed())
    }

    pub(super) fn grown(&self, node: &Node) -> Branch {
        match node {
            Node::Action(action) => {
                Branch::Leaf((0..self.actions).map(|a| f64::from(u8::from(a == *action))).collect())
            }
            Node::Ask(question, yes, no) => Branch::Split {
                test: self.features[question.feature].test(question.rank),
                yes: Box::new(self.grown(yes)),
                no: Box::new(self.grown(no)),
            },
        }
    }
}

/// The cheapest of a tree and others, the first one of equals.
fn first_best(first: (f64, Node), others: Vec<Option<(f64, Node)>>) -> (f64, Node) {
    let cheaper =
        |best: (f64, Node), other: (f64, Node)| if other.0 < best.0 { other } else { best };
    others.into_iter().flatten().fold(first, cheaper)
}

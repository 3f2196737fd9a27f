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
use std::sync::atomic::{AtomicUsize, Ordering};

/// Asked between questions: false means stop.
pub(super) type GoOn<'g> = &'g (dyn Fn() -> bool + Sync);

/// Trees and their costs, cheapest first.
pub(super) type Listed = Vec<(f64, Node)>;

/// What became of a list of trees.
pub(super) enum Listing {
    All(Listed),
    TooMany,
    Stopped,
}

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

/// Which trees to list.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Those that cost less than this.
    pub(super) limit: f64,
    /// So many at most.
    pub(super) most: usize,
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
    fn takes(&self, sums: &[f64], action: usize) -> bool {
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
    fn questions(&self) -> impl Iterator<Item = RankQuestion> {
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

    fn histogram(&self, costs: &Costs<'_>, points: &[u32]) -> Histogram {
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

    fn totals(&self, histogram: &[f64]) -> Vec<f64> {
        let width = self.width();
        let mut sums = vec![0.0; width];
        for bin in histogram.chunks_exact(width).take(self.features[0].len()) {
            sums.iter_mut().zip(bin).for_each(|(s, b)| *s += b);
        }
        sums
    }

    /// The cheapest action that may be taken.
    fn action(&self, sums: &[f64]) -> (f64, usize) {
        let mut best = (0..self.actions).find(|&a| self.takes(sums, a)).unwrap_or(0);
        for a in best + 1..self.actions {
            if sums[a] < sums[best] && self.takes(sums, a) {
                best = a;
            }
        }
        (sums[best], best)
    }

    /// Whether both sides of a question hold points and enough mass.
    fn divides(&self, left: &[f64], right: &[f64], least: f64) -> bool {
        let enough = |side: &[f64]| self.count(side) > 0.0 && self.mass(side) >= least;
        enough(left) && enough(right)
    }

    /// Calls `visit` with every question that divides a histogram, and the sums of its sides.
    fn each_division(
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
    fn each_split<T: Send>(
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
    fn stump(&self, histogram: &[f64], least: f64) -> (f64, Node) {
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
    fn divide(
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

    /// Every tree of a depth that costs less than the window's limit, cheapest first.
    pub(super) fn list(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        depth: usize,
        window: Window,
        go_on: GoOn<'_>,
    ) -> Listing {
        let whole = self.histogram(costs, points);
        if depth <= 1 {
            return self.stumps(&whole, costs.least, depth, window);
        }
        let mut all = self.leaves(&self.totals(&whole), window.limit);
        // How many there are so far, whoever found them: too many once are too many.
        let count = AtomicUsize::new(all.len());
        let joined = |question, (yes, no): (Listing, Listing), own: &mut Listed| {
            let before = own.len();
            match (yes, no) {
                (Listing::Stopped, _) | (_, Listing::Stopped) => Some(Listing::Stopped),
                (Listing::All(yes), Listing::All(no)) => {
                    let fits = join(question, &yes, &no, window, own);
                    let more = own.len() - before;
                    let fits =
                        fits && count.fetch_add(more, Ordering::Relaxed) + more <= window.most;
                    (!fits).then_some(Listing::TooMany)
                }
                _ => Some(Listing::TooMany),
            }
        };
        let gone = || count.load(Ordering::Relaxed) > window.most;
        let found: Vec<Listing> = if depth == 2 {
            let least = costs.least;
            let visit = |own: &mut Listing, question, (left, right): (&[f64], &[f64])| {
                let (a, b) = (self.stump(left, least).0, self.stump(right, least).0);
                if a + b >= window.limit {
                    return true;
                }
                let stumps = |side: &[f64], other: f64| {
                    let limit = window.limit - other;
                    self.stumps(side, least, 1, Window { limit, ..window })
                };
                let Listing::All(listed) = own else { return false };
                match joined(question, (stumps(left, b), stumps(right, a)), listed) {
                    _ if gone() => *own = Listing::TooMany,
                    None => return true,
                    Some(end) => *own = end,
                }
                false
            };
            let begin = || Listing::All(Vec::new());
            match self.each_split((costs, points), &whole, go_on, begin, visit) {
                Some(found) => found,
                None => return Listing::Stopped,
            }
        } else {
            let below = |question: RankQuestion| {
                let mut own = Vec::new();
                let Some((left, right)) = self.divide(costs, points, question) else {
                    return Listing::All(own);
                };
                let best = |side: &[u32]| self.best(costs, side, depth - 1, go_on);
                let (Some((a, _)), Some((b, _))) = (best(&left), best(&right)) else {
                    return Listing::Stopped;
                };
                if a + b >= window.limit {
                    return Listing::All(own);
                }
                let list = |side: &[u32], other: f64| {
                    if gone() {
                        Listing::TooMany
                    } else {
                        let window = Window { limit: window.limit - other, ..window };
                        self.list(costs, side, depth - 1, window, go_on)
                    }
                };
                let sides = (list(&left, b), list(&right, a));
                joined(question, sides, &mut own).unwrap_or(Listing::All(own))
            };
            let questions: Vec<RankQuestion> = self.questions().collect();
            questions.into_par_iter().map(below).collect()
        };
        let stopped = found.iter().any(|part| matches!(part, Listing::Stopped));
        for part in found {
            match part {
                Listing::All(own) => all.extend(own),
                _ if stopped => return Listing::Stopped,
                _ => return Listing::TooMany,
            }
        }
        sorted(all)
    }

    /// Every action that may be taken and costs less than a limit, in order.
    fn leaves(&self, sums: &[f64], limit: f64) -> Listed {
        let actions = (0..self.actions).filter(|&a| sums[a] < limit && self.takes(sums, a));
        actions.map(|a| (sums[a], Node::Action(a))).collect()
    }

    /// Every tree of at most `depth` ≤ 1 questions that costs less than the window's limit, from
    /// a histogram.
    fn stumps(&self, histogram: &[f64], least: f64, depth: usize, window: Window) -> Listing {
        let mut all = self.leaves(&self.totals(histogram), window.limit);
        let mut fits = all.len() <= window.most;
        if depth == 1 {
            self.each_division(histogram, least, |question, left, right| {
                let (a, b) = (self.action(left).0, self.action(right).0);
                if fits && a + b < window.limit {
                    let mut yes = self.leaves(left, window.limit - b);
                    let mut no = self.leaves(right, window.limit - a);
                    yes.sort_by(|x, y| x.0.total_cmp(&y.0));
                    no.sort_by(|x, y| x.0.total_cmp(&y.0));
                    fits = join(question, &yes, &no, window, &mut all);
                }
            });
        }
        if fits { sorted(all) } else { Listing::TooMany }
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

    fn grown(&self, node: &Node) -> Branch {
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

/// Adds every pair of sides that costs less than the limit; false if that is too many.
fn join(
    question: RankQuestion,
    yes: &Listed,
    no: &Listed,
    window: Window,
    all: &mut Listed,
) -> bool {
    for (a, yes) in yes {
        for (b, no) in no.iter().take_while(|(b, _)| a + b < window.limit) {
            // The same on both sides is no question at all.
            if yes == no {
                continue;
            }
            all.push((a + b, Node::ask(question, yes.clone(), no.clone())));
            if all.len() > window.most {
                return false;
            }
        }
    }
    true
}

fn sorted(mut all: Listed) -> Listing {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    Listing::All(all)
}

#[cfg(test)]
mod tests {
    use super::super::rivals::Rivals;
    use super::*;
    use crate::space::Feature;
    use proptest::prelude::*;

    fn space() -> Space {
        Space::grid([
            Feature::numeric("u").levels([0.0, 1.0, 2.0, 4.0]),
            Feature::nominal("v", ["a", "b", "c"]),
            Feature::ordinal("w", ["low", "high"]),
        ])
        .unwrap()
    }

    /// Every tree of a depth whose questions divide the points, none with alike sides.
    fn every(points: &RankedPoints, of: &[u32], depth: usize) -> Vec<Node> {
        let mut all: Vec<Node> = (0..points.actions).map(Node::Action).collect();
        for question in points.questions().filter(|_| depth > 0) {
            let (left, right): (Vec<u32>, Vec<u32>) =
                of.iter().partition(|&&i| points.holds(question, i as usize));
            if left.is_empty() || right.is_empty() {
                continue;
            }
            let rights = every(points, &right, depth - 1);
            for yes in every(points, &left, depth - 1) {
                let others = rights.iter().filter(|no| **no != yes);
                all.extend(others.map(|no| Node::ask(question, yes.clone(), no.clone())));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn leaves_take_only_what_their_points_have(
            quarters in proptest::collection::vec(0..9u32, 48),
            rows in proptest::collection::vec(0..4u32, 48),
            depth in 0..3usize,
        ) {
            let seen: Vec<bool> = rows.iter().map(|n| *n == 0).collect();
            let points = RankedPoints::new(&space(), 2).taking_only(seen.clone());
            let costs: Vec<f64> = quarters.iter().map(|q| f64::from(*q) / 4.0).collect();
            let all: Vec<u32> = (0..24).collect();
            let fits = |tree: &Node| allowed(&points, &seen, tree, &all);
            let cost = |tree: &Node| -> f64 {
                all.iter().map(|&i| costs[2 * i as usize + points.chosen(tree, i as usize)]).sum()
            };
            let every = every(&points, &all, depth);
            let least = every.iter().filter(|t| fits(t)).map(cost).fold(f64::INFINITY, f64::min);
            let given = Costs { costs: &costs, mass: &[1.0; 24], least: 0.0 };
            let best = points.best(&given, &all, depth, &|| true);
            prop_assert_eq!(best.as_ref().map(|b| b.0), Some(least));
            prop_assert!(best.is_some_and(|b| fits(&b.1)));
        }
    }

    /// Whether every leaf takes what some of its points have, or has none that have anything.
    fn allowed(points: &RankedPoints, seen: &[bool], tree: &Node, of: &[u32]) -> bool {
        match tree {
            Node::Action(a) => {
                let has = |a: usize| of.iter().any(|&i| seen[2 * i as usize + a]);
                has(*a) || !(has(0) || has(1))
            }
            Node::Ask(question, yes, no) => {
                let (left, right): (Vec<u32>, Vec<u32>) =
                    of.iter().partition(|&&i| points.holds(*question, i as usize));
                allowed(points, seen, yes, &left) && allowed(points, seen, no, &right)
            }
        }
    }

    proptest! {
        #[test]
        fn a_list_holds_every_tree_below_its_limit(
            quarters in proptest::collection::vec(0..9u32, 48),
            depth in 1..3usize,
            share in 0.0..1.0f64,
        ) {
            let points = RankedPoints::new(&space(), 2);
            let costs: Vec<f64> = quarters.iter().map(|q| f64::from(*q) / 4.0).collect();
            let all: Vec<u32> = (0..24).collect();
            let cost = |tree: &Node| -> f64 {
                all.iter().map(|&i| costs[2 * i as usize + points.chosen(tree, i as usize)]).sum()
            };
            let every = every(&points, &all, depth);
            let least = every.iter().map(cost).fold(f64::INFINITY, f64::min);
            let most = every.iter().map(cost).fold(0.0, f64::max);
            let window = Window { limit: least + share * (most - least), most: usize::MAX };
            let given = Costs { costs: &costs, mass: &[1.0; 24], least: 0.0 };
            let Listing::All(listed) = points.list(&given, &all, depth, window, &|| true) else {
                return Err(TestCaseError::fail("the list was not finished"));
            };
            // Quarters add up exactly, whatever the order.
            prop_assert!(listed.iter().all(|(c, tree)| *c == cost(tree)));
            prop_assert!(listed.is_sorted_by(|a, b| a.0 <= b.0));
            let expected = every.iter().filter(|tree| cost(tree) < window.limit);
            prop_assert_eq!(listed.len(), expected.clone().count());
            prop_assert!(expected.clone().all(|tree| listed.iter().any(|(_, t)| t == tree)));
            let best = points.best(&given, &all, depth, &|| true);
            prop_assert_eq!(best.map(|b| b.0), Some(least));

            // What rivals read off their sums is what the points add up to.
            let columns: Vec<Vec<f64>> =
                (0..2).map(|a| costs.iter().skip(a).step_by(2).copied().collect()).collect();
            let mut rivals = Rivals::new(&points, &columns, depth);
            rivals.add(1.0, &[1.0; 24]);
            for tree in &every {
                prop_assert!(rivals.ruling_out(tree, 1.0 + cost(tree)).is_some());
                prop_assert!(rivals.ruling_out(tree, 1.25 + cost(tree)).is_none());
            }
        }
    }

    #[test]
    fn questions_whose_sides_are_alike_are_not_asked() {
        let points = RankedPoints::new(&space(), 2);
        let asked = |feature: usize, yes: Node, no: Node| {
            Node::ask(RankQuestion { feature, rank: 0 }, yes, no)
        };
        let leaf = Node::Action;
        let stump = || asked(1, leaf(0), leaf(1));
        let alike = asked(0, stump(), asked(2, stump(), stump()));
        assert_eq!(points.branch(&alike), points.branch(&stump()));
        assert_eq!(points.branch(&asked(0, leaf(1), leaf(1))), Branch::Leaf(vec![0.0, 1.0]));
        assert_eq!(points.branch(&stump()), points.grown(&stump()));
    }
}

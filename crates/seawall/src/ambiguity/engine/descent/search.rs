//! One source's best place at one price, by branch and bound.
//!
//! A node is a box `Q` with the boxes of each block that meet it. Its bound lets every block have a
//! box of its own, and charges each for its way by a share of each feature's cost:
//!
//! ```text
//! base − λ c(x, Q) + Σ_t max_b (v_tb − λ Σ_k α_tk (d_k(x, b) − d_k(x, Q))⁺),   Σ_t α_tk ≤ 1
//! ```
//!
//! It holds for any shares, since a place is in one box of every block and `d_k` of any of them is at
//! most its own cost; the shares go to the blocks whose favourite is far. Boxes that cannot be part of
//! anything better than what is known are dropped, a place is made of the favourites that fit
//! together, and the node is cut where the favourite that lost most does not fit.

use super::blocks::{Blocks, RegionCut};
use crate::kernel::metric::penalty;
use crate::kernel::order::Price;
use crate::steps::{BoxSide, Extent, Question, StepFunction};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Rounds of sharing costs out, at most, for a node.
const ROUNDS: usize = 4;
/// Regions that are looked at even if no work is left.
const LOOKS: usize = 4;
/// Heights this close are the same but for rounding.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// A place, and what it is worth to the source.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub codes: Box<[f64]>,
    pub height: f64,
    pub cost: f64,
}

/// A source's search at a price.
pub(super) struct PlaceSearch<'s> {
    pub blocks: &'s Blocks,
    pub extent: &'s Extent,
    pub function: &'s StepFunction,
    pub codes: &'s [f64],
    pub price: Price,
    /// What the source pays to get to each side.
    distances: Vec<f64>,
    /// The best place so far: one that was known before, or a new one.
    best: (f64, f64),
    fresh: Option<Place>,
    /// Work that is left: boxes that may be looked at.
    left: usize,
}

/// A box that may hold something better.
struct BoxNode {
    region: usize,
    sides: Vec<BoxSide>,
    /// What the source pays to get to each side.
    near: Vec<f64>,
    /// The boxes of each member that meet it.
    alive: Vec<Vec<u32>>,
    /// Each member's share of each of its features' cost.
    shares: Vec<Vec<f64>>,
    cut: Option<(usize, Question)>,
}

/// What is to be opened next: the highest bound first, then what came first.
struct OpenBox {
    bound: f64,
    number: u32,
    /// None for a region that nothing is known of yet.
    node: Option<Box<BoxNode>>,
    region: usize,
}

impl PartialEq for OpenBox {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for OpenBox {}
impl PartialOrd for OpenBox {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OpenBox {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.number.cmp(&self.number))
    }
}

/// Each member's scores, and its favourite.
struct Scores {
    of: Vec<Vec<f64>>,
    tops: Vec<(f64, usize)>,
    bound: f64,
}

impl<'s> PlaceSearch<'s> {
    pub fn new(
        (blocks, extent, function): (&'s Blocks, &'s Extent, &'s StepFunction),
        codes: &'s [f64],
        price: Price,
        known: (f64, f64),
        work: usize,
    ) -> Self {
        let distance =
            |((feature, side), by_level): (&(usize, BoxSide), &Option<Vec<f64>>)| match by_level {
                Some(by_level) => by_level[codes[*feature] as usize],
                None => extent.landing(*feature, side, codes[*feature]).1,
            };
        let distances = blocks.sides.iter().zip(&blocks.by_level).map(distance).collect();
        let (best, left) = (known, work);
        PlaceSearch { blocks, extent, function, codes, price, distances, best, fresh: None, left }
    }

    /// The best place found, if it is better than the one that was known; and by how much another may
    /// be better still.
    pub fn run(mut self) -> (Option<Place>, f64) {
        let mut open = BinaryHeap::new();
        let mut number = 0;
        for (region, of) in self.blocks.regions.iter().enumerate() {
            let cost: f64 = of.cuts.iter().map(|side| self.distances[*side as usize]).sum();
            let bound = of.top - self.taken(cost);
            open.push(OpenBox { bound, number, node: None, region });
            number += 1;
        }
        let (mut excess, mut looks) = (0.0, 0);
        while let Some(OpenBox { bound, node, region, .. }) = open.pop() {
            if bound < self.worth() - self.rounding() {
                break;
            }
            if node.as_ref().is_some_and(|node| self.is_closed(bound, &node.near)) {
                continue;
            }
            // A region that nothing is known of is worth a look in any case, but not all of many.
            if self.left == 0 && (node.is_some() || looks >= LOOKS) {
                excess = (bound - self.worth()).max(0.0);
                break;
            }
            looks += usize::from(node.is_none());
            let children = match node {
                None => vec![self.root(region)],
                Some(node) => self.halves(&node),
            };
            for mut child in children {
                let bound = self.look(&mut child).min(bound);
                if child.cut.is_some() && !self.is_closed(bound, &child.near) {
                    open.push(OpenBox { bound, number, region, node: Some(Box::new(child)) });
                    number += 1;
                }
            }
        }
        (self.fresh, excess)
    }

    /// What a cost takes off at the price. Where moves are dearest only those that cost nothing are
    /// ever looked at, where they are cheapest costs decide between equals alone.
    fn taken(&self, cost: f64) -> f64 {
        match self.price {
            Price::Zero if cost < f64::INFINITY => 0.0,
            Price::Zero => cost,
            price => penalty(price.get(), cost),
        }
    }

    fn worth(&self) -> f64 {
        self.best.0 - self.taken(self.best.1)
    }

    fn rounding(&self) -> f64 {
        ROUNDING * (1.0 + self.best.0.abs())
    }

    /// Whether a box of this bound and these distances can hold nothing better.
    fn is_closed(&self, bound: f64, near: &[f64]) -> bool {
        let (worth, rounding) = (self.worth(), self.rounding());
        match self.price {
            Price::Zero if bound <= worth + rounding => {
                bound < worth - rounding || near.iter().sum::<f64>() >= self.best.1
            }
            _ => bound <= worth + rounding,
        }
    }

    /// A region's node: what can be reached of it.
    fn root(&self, region: usize) -> BoxNode {
        let of = &self.blocks.regions[region];
        let mut near = vec![0.0; of.sides.len()];
        for &side in &of.cuts {
            near[self.blocks.sides[side as usize].0] = self.distances[side as usize];
        }
        let far = |cut: &RegionCut| match self.price {
            Price::Infinite => self.distances[cut.side as usize] > 0.0,
            _ => self.distances[cut.side as usize] == f64::INFINITY,
        };
        let mut users = vec![0u32; near.len()];
        let mut alive = Vec::with_capacity(of.members.len());
        for ((number, _), boxes) in of.members.iter().zip(&of.alive) {
            let block = &self.blocks.blocks[*number];
            let reached = boxes.iter().copied().filter(|b| !block.cuts(*b).iter().any(far));
            alive.push(reached.collect());
            block.features.iter().for_each(|k| users[*k] += 1);
        }
        let share = |(number, _): &(usize, f64)| {
            let features = &self.blocks.blocks[*number].features;
            features.iter().map(|k| 1.0 / f64::from(users[*k])).collect()
        };
        let shares = of.members.iter().map(share).collect();
        BoxNode { region, sides: of.sides.clone(), near, alive, shares, cut: None }
    }

    /// Both sides of a node's cut.
    fn halves(&self, node: &BoxNode) -> Vec<BoxNode> {
        let Some((feature, question)) = &node.cut else { return Vec::new() };
        let half = |yes: bool| {
            let side = node.sides[*feature].part(question, yes);
            if side.is_empty() {
                return None;
            }
            let near = self.extent.landing(*feature, &side, self.codes[*feature]).1;
            let out = match self.price {
                Price::Infinite => near > 0.0,
                _ => near == f64::INFINITY,
            };
            if out {
                return None;
            }
            let meets = |cut: &RegionCut, slot: usize| {
                cut.slot as usize != slot || self.blocks.sides[cut.side as usize].1.meets(&side)
            };
            let mut alive = Vec::with_capacity(node.alive.len());
            let members = &self.blocks.regions[node.region].members;
            for ((number, _), boxes) in members.iter().zip(&node.alive) {
                let block = &self.blocks.blocks[*number];
                alive.push(match block.features.binary_search(feature) {
                    Err(_) => boxes.clone(),
                    Ok(slot) => {
                        let inside = |b: &u32| block.cuts(*b).iter().all(|cut| meets(cut, slot));
                        boxes.iter().copied().filter(inside).collect()
                    }
                });
            }
            let (mut sides, mut nears) = (node.sides.clone(), node.near.clone());
            sides[*feature] = side;
            nears[*feature] = near;
            let shares = node.shares.clone();
            Some(BoxNode { region: node.region, sides, near: nears, alive, shares, cut: None })
        };
        [true, false].into_iter().filter_map(half).collect()
    }

    /// Bounds a node, tries a place in it and says where to cut it; not at all if it holds nothing
    /// better.
    fn look(&mut self, node: &mut BoxNode) -> f64 {
        let mut bound = f64::INFINITY;
        let mut scores = None;
        for round in 0..ROUNDS {
            let found = self.scores(node);
            bound = bound.min(found.bound);
            let priced = matches!(self.price, Price::At(_));
            if !priced || self.is_closed(bound, &node.near) || round + 1 == ROUNDS {
                scores = Some(found);
                break;
            }
            self.share(node, &found);
        }
        let Some(scores) = scores else { return bound };
        if self.is_closed(bound, &node.near) {
            return bound;
        }
        let fitting = self.fit(node, &scores);
        self.offer(&fitting.0);
        node.cut = self.cut(node, &scores, &fitting);
        // What would lose more than there is to win is no part of anything better.
        let slack = scores.bound - self.worth() + self.rounding();
        for ((boxes, scores), (top, _)) in node.alive.iter_mut().zip(&scores.of).zip(&scores.tops) {
            let mut score = scores.iter();
            boxes.retain(|_| score.next().is_some_and(|s| *s >= top - slack));
        }
        bound
    }

    /// What each box is worth to its block, and the bound.
    fn scores(&mut self, node: &BoxNode) -> Scores {
        let region = &self.blocks.regions[node.region];
        let price = if let Price::At(price) = self.price { price } else { 0.0 };
        let cost: f64 = node.near.iter().sum();
        let mut found = Scores {
            of: Vec::with_capacity(node.alive.len()),
            tops: Vec::with_capacity(node.alive.len()),
            bound: region.base - self.taken(cost),
        };
        for (m, (number, factor)) in region.members.iter().enumerate() {
            let block = &self.blocks.blocks[*number];
            let rates: Vec<(f64, f64)> = block
                .features
                .iter()
                .zip(&node.shares[m])
                .map(|(k, share)| (price * share, node.near[*k]))
                .collect();
            let score = |&b: &u32| {
                let way = block.cuts(b).iter().map(|cut| {
                    let (rate, near) = rates[cut.slot as usize];
                    rate * (self.distances[cut.side as usize] - near).max(0.0)
                });
                factor * block.values[b as usize] - way.sum::<f64>()
            };
            let scores: Vec<f64> = node.alive[m].iter().map(score).collect();
            let top = scores.iter().enumerate().fold((f64::NEG_INFINITY, 0), |top, (at, s)| {
                if *s > top.0 { (*s, at) } else { top }
            });
            self.left = self.left.saturating_sub(scores.len());
            found.bound += top.0;
            found.of.push(scores);
            found.tops.push(top);
        }
        found
    }

    /// Moves shares to the blocks whose favourites are far.
    fn share(&self, node: &mut BoxNode, scores: &Scores) {
        let members = &self.blocks.regions[node.region].members;
        let mut total = vec![0.0; node.near.len()];
        let mut ways: Vec<Vec<f64>> = Vec::with_capacity(members.len());
        for (m, (number, _)) in members.iter().enumerate() {
            let block = &self.blocks.blocks[*number];
            let mut way = vec![0.0; block.features.len()];
            if let Some(&top) = node.alive[m].get(scores.tops[m].1) {
                for cut in block.cuts(top) {
                    let feature = block.features[cut.slot as usize];
                    let more = (self.distances[cut.side as usize] - node.near[feature]).max(0.0);
                    way[cut.slot as usize] = more;
                    total[feature] += more;
                }
            }
            ways.push(way);
        }
        for ((number, _), (shares, way)) in members.iter().zip(node.shares.iter_mut().zip(ways)) {
            let features = &self.blocks.blocks[*number].features;
            for ((share, way), feature) in shares.iter_mut().zip(way).zip(features) {
                if total[*feature] > 0.0 {
                    *share += 0.5 * (way / total[*feature] - *share);
                }
            }
        }
    }

    /// A box made of favourites that fit together, those first that matter most; and what each member
    /// lost by it.
    fn fit(&mut self, node: &BoxNode, scores: &Scores) -> (Vec<BoxSide>, Vec<f64>) {
        let members = &self.blocks.regions[node.region].members;
        let spread = |m: usize| {
            let low = scores.of[m].iter().copied().fold(f64::INFINITY, f64::min);
            scores.tops[m].0 - low
        };
        let spreads: Vec<f64> = (0..members.len()).map(spread).collect();
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| spreads[b].total_cmp(&spreads[a]));
        let mut sides = node.sides.clone();
        let mut losses = vec![0.0; members.len()];
        for m in order {
            let block = &self.blocks.blocks[members[m].0];
            let fits = |b: u32| {
                let side = |cut: &RegionCut| &self.blocks.sides[cut.side as usize];
                block.cuts(b).iter().map(side).all(|(k, side)| side.meets(&sides[*k]))
            };
            let mut best: Option<(f64, u32)> = None;
            for (&b, &score) in node.alive[m].iter().zip(&scores.of[m]) {
                if best.is_none_or(|(known, _)| score > known) && fits(b) {
                    best = Some((score, b));
                }
            }
            if let Some((score, b)) = best {
                losses[m] = scores.tops[m].0 - score;
                for cut in block.cuts(b) {
                    let (k, side) = &self.blocks.sides[cut.side as usize];
                    sides[*k] = sides[*k].common(side);
                }
            } else {
                losses[m] = spreads[m];
            }
        }
        (sides, losses)
    }

    /// Takes the place of a box that is nearest to the source if it is better than what is known.
    fn offer(&mut self, sides: &[BoxSide]) {
        let mut codes: Box<[f64]> = self.codes.into();
        for (k, side) in sides.iter().enumerate() {
            codes[k] = self.extent.landing(k, side, codes[k]).0;
        }
        let mut best = self.value(codes);
        if self.is_better(&best) {
            // Nothing is paid for what is not needed.
            for k in 0..sides.len() {
                if best.codes[k].to_bits() != self.codes[k].to_bits() {
                    let mut codes = best.codes.clone();
                    codes[k] = self.codes[k];
                    let back = self.value(codes);
                    let (old, new) = (self.worth_of(&best), self.worth_of(&back));
                    if new >= old {
                        best = back;
                    }
                }
            }
            self.best = (best.height, best.cost);
            self.fresh = Some(best);
        }
    }

    fn value(&self, codes: Box<[f64]>) -> Place {
        let height = self.blocks.units.scaled(self.function.at(self.extent, |k| codes[k]));
        let coordinate = |k: usize, code: f64| {
            if self.extent.is_line(k) {
                code * self.extent.scales[k]
            } else {
                self.extent.coords[k][code as usize]
            }
        };
        let cost = |(k, metric): (usize, &crate::kernel::metric::Metric)| {
            metric.cost(coordinate(k, self.codes[k]), coordinate(k, codes[k]))
        };
        let cost = self.extent.metrics.iter().enumerate().map(cost).sum();
        Place { codes, height, cost }
    }

    fn worth_of(&self, place: &Place) -> f64 {
        place.height - self.taken(place.cost)
    }

    fn is_better(&self, place: &Place) -> bool {
        let (worth, known) = (self.worth_of(place), self.worth());
        match self.price {
            Price::Zero if (worth - known).abs() <= self.rounding() => place.cost < self.best.1,
            _ => worth > known,
        }
    }

    /// Where the favourite that lost most does not fit; else where one goes that does not hold all of
    /// the node. None if all of them do: then the place that fits is the best of the node.
    fn cut(
        &self,
        node: &BoxNode,
        scores: &Scores,
        (sides, losses): &(Vec<BoxSide>, Vec<f64>),
    ) -> Option<(usize, Question)> {
        let members = &self.blocks.regions[node.region].members;
        let mut best: Option<((f64, f64), (usize, Question))> = None;
        for (m, (number, _)) in members.iter().enumerate() {
            let Some(&top) = node.alive[m].get(scores.tops[m].1) else { continue };
            if best.as_ref().is_some_and(|(known, _)| known.0 > losses[m]) {
                continue;
            }
            for cut in self.blocks.blocks[*number].cuts(top) {
                let (k, side) = &self.blocks.sides[cut.side as usize];
                let more = (self.distances[cut.side as usize] - node.near[*k]).max(0.0);
                let clash = if side.meets(&sides[*k]) { 0.0 } else { 1.0 };
                let rank = (losses[m], clash + more / (1.0 + more));
                if best.as_ref().is_some_and(|(known, _)| *known >= rank) {
                    continue;
                }
                if let Some(question) = node.sides[*k].question(side, &sides[*k]) {
                    best = Some((rank, (*k, question)));
                }
            }
        }
        best.map(|(_, cut)| cut)
    }
}

//! Inner maxima over listed boxes, for every price at once.
//!
//! What a source can reach is one point a box: the cost of getting there and the height. At a price λ
//! the best has the largest `f − λc`, so only corners of the upper hull of these points are ever the
//! answer, and for all λ. The hulls are made once, and the steps from corner to corner of all of them
//! sorted by what they gain for their cost: at a price those are taken that gain more, a prefix.
//!
//! ```text
//! O(sources · boxes · sides + corners · log corners) once,   O(log corners) a price
//! ```
//!
//! Boxes are gone through from the highest down, for a block of sources side by side: one that costs
//! as much as a higher one is no corner, and once a source's own box is met nothing below it is.

use crate::ambiguity::plan::Plan;
use crate::ambiguity::transport_oracle::{Assignment, AssignmentPlan, OracleSums, TransportOracle};
use crate::ambiguity::values::{Direction, ValueUnits};
use crate::ambiguity::whole_space::WholeSpace;
use crate::error::Result;
use crate::kernel::order::Price;
use crate::kernel::sum::sums;
use crate::population::Population;
use crate::progress::{Progress, Stage, Watch};
use crate::space::bits;
use crate::steps::{BoxList, BoxSide};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Sources side by side.
const LANES: usize = 64;
/// Blocks between two questions to the watch.
const BLOCKS: usize = 256;
/// Sources that are looked at to see whether many are alike.
const PROBE: usize = 1024;

/// A corner of a source's hull.
#[derive(Clone, Copy, Debug)]
struct Corner {
    cost: f64,
    height: f64,
    of_box: u32,
}

/// A population on the whole of a space, and every source's hull.
pub(in crate::ambiguity) struct ListedBoxes<'w> {
    pub whole: &'w WholeSpace,
    pub hulls: Arc<Hulls>,
}

/// Every source's hull.
#[derive(Debug)]
pub(in crate::ambiguity) struct Hulls {
    boxes: BoxList,
    units: ValueUnits,
    /// Which hull each source has; its own if sources differ.
    hull_of: Option<Vec<u32>>,
    /// The mass of the sources of each hull.
    mass: Vec<f64>,
    /// Where each hull begins, and where the last one ends.
    starts: Vec<u32>,
    /// By rising cost and height.
    corners: Vec<Corner>,
    /// What each corner's step gains for its cost over the one before; infinite for a first one.
    gains: Vec<f64>,
    /// All steps' gains, falling, and what those up to each of them add up to, beginning with none.
    sorted: Vec<f64>,
    reached: Vec<[f64; 2]>,
}

impl Hulls {
    /// Makes the hulls.
    pub fn new(
        whole: &WholeSpace,
        boxes: BoxList,
        direction: Direction,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let largest = boxes.values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let units = ValueUnits::new(largest, direction);
        let features = boxes.features();
        let (firsts, hull_of) = alike(whole, &features);
        let mut mass = vec![0.0; firsts.len()];
        for source in 0..whole.sources.len() {
            mass[hull_of.as_ref().map_or(source, |of| of[source] as usize)] += whole.mass(source);
        }
        let coster = Coster::new(whole, &boxes, &features, units);
        let (corners, gains, sorted, reached) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let starts = vec![0];
        let mut found =
            Hulls { units, hull_of, mass, starts, corners, gains, sorted, reached, boxes };
        for some in firsts.chunks(LANES * BLOCKS) {
            watch.tell(Progress::at(Stage::Evaluating).done(found.starts.len() - 1))?;
            let hulls: Vec<Vec<Vec<Corner>>> =
                some.par_chunks(LANES).map(|block| coster.hulls(&found.boxes, block)).collect();
            for hull in hulls.into_iter().flatten() {
                found.corners.extend(hull.into_iter().rev());
                found.starts.push(found.corners.len() as u32);
            }
        }
        found.sort();
        Ok(found)
    }

    /// Sorts the steps by what they gain.
    fn sort(&mut self) {
        let mut steps: Vec<(f64, u32, u32)> = Vec::new();
        self.gains = vec![f64::INFINITY; self.corners.len()];
        for hull in 0..self.mass.len() {
            let (first, end) = (self.starts[hull] as usize, self.starts[hull + 1] as usize);
            for at in first + 1..end {
                let (a, b) = (self.corners[at - 1], self.corners[at]);
                // Falling along a hull but for rounding.
                let gain = ((b.height - a.height) / (b.cost - a.cost)).min(self.gains[at - 1]);
                self.gains[at] = gain;
                steps.push((gain, at as u32, hull as u32));
            }
        }
        steps.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let this = &*self;
        let start = sums(this.mass.len(), &|hull| {
            let corner = this.corners[this.starts[hull] as usize];
            [this.mass[hull] * corner.height, this.mass[hull] * corner.cost]
        });
        let mut total = start.map(Total::new);
        let mut reached = vec![start];
        for &(_, at, hull) in &steps {
            let (a, b) = (this.corners[at as usize - 1], this.corners[at as usize]);
            let mass = this.mass[hull as usize];
            total[0].add(mass * (b.height - a.height));
            total[1].add(mass * (b.cost - a.cost));
            reached.push([total[0].sum(), total[1].sum()]);
        }
        self.reached = reached;
        self.sorted = steps.into_iter().map(|step| step.0).collect();
    }

    /// The corner that is best at a price, the cheaper one of two as good.
    fn best(&self, hull: usize, price: Price) -> usize {
        let (first, end) = (self.starts[hull] as usize, self.starts[hull + 1] as usize);
        match price {
            Price::Infinite => first,
            Price::Zero => end - 1,
            Price::At(price) => {
                first + self.gains[first + 1..end].partition_point(|gain| *gain > price)
            }
        }
    }

    fn hull(&self, source: usize) -> usize {
        self.hull_of.as_ref().map_or(source, |of| of[source] as usize)
    }
}

impl TransportOracle for ListedBoxes<'_> {
    fn len(&self) -> usize {
        self.whole.sources.len()
    }

    fn mass(&self, source: usize) -> f64 {
        self.whole.mass(source)
    }

    fn start(&mut self) -> OracleSums {
        self.evaluate(Price::Infinite)
    }

    fn evaluate(&mut self, price: Price) -> OracleSums {
        let taken = match price {
            Price::Infinite => 0,
            Price::Zero => self.hulls.sorted.len(),
            Price::At(price) => self.hulls.sorted.partition_point(|gain| *gain > price),
        };
        let [value, cost] = self.hulls.reached[taken];
        OracleSums { value, cost, excess: 0.0 }
    }

    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>> {
        let assignment = |source: usize| {
            let to = self.hulls.best(self.hulls.hull(source), price);
            let Corner { cost, height, .. } = self.hulls.corners[to];
            Assignment { to: to as u32, cost, height }
        };
        Ok((0..self.len()).map(assignment).collect())
    }

    fn plan(&mut self, ways: AssignmentPlan) -> Result<(Plan, Population)> {
        let space = self.whole.population.space();
        self.whole.plan(ways.moves(|s| self.whole.mass(s)), |source, to, changes| {
            let of_box = self.hulls.corners[to as usize].of_box as usize;
            let point = self.whole.sources[source] as usize;
            for &side in self.hulls.boxes.sides_of(of_box) {
                let (feature, side) = &self.hulls.boxes.sides.all[side as usize];
                let own = space.code(point, *feature);
                let there = self.whole.extent.landing(*feature, side, own).0;
                changes.push((*feature as u32, there));
            }
        })
    }

    fn population(&self) -> &Population {
        &self.whole.population
    }

    fn engine(&self) -> &'static str {
        "boxes"
    }

    fn units(&self) -> ValueUnits {
        self.hulls.units
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// A running sum that keeps what rounding takes off.
#[derive(Clone, Copy)]
struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    fn new(sum: f64) -> Self {
        Total { sum, lost: 0.0 }
    }

    fn add(&mut self, term: f64) {
        let (own, next) = (self.sum, self.sum + term);
        let (large, small) = if own.abs() >= term.abs() { (own, term) } else { (term, own) };
        self.lost += (large - next) + small;
        self.sum = next;
    }

    fn sum(self) -> f64 {
        self.sum + self.lost
    }
}

/// The first source of each kind, sources being alike if they are in the features that matter; and
/// which kind each source is, unless (nearly) all differ.
pub(super) fn alike(whole: &WholeSpace, features: &[usize]) -> (Vec<u32>, Option<Vec<u32>>) {
    let space = whole.population.space();
    let key = |source: usize| -> Vec<u64> {
        let point = whole.sources[source] as usize;
        features.iter().map(|&k| bits(space.code(point, k))).collect()
    };
    let count = whole.sources.len();
    let probe = count.min(PROBE);
    // Spread over all, for neighbours may be alike by their order.
    let looked: std::collections::HashSet<Vec<u64>> =
        (0..probe).map(|k| key(k * count / probe)).collect();
    if 2 * looked.len() > probe {
        return ((0..count as u32).collect(), None);
    }
    let mut kinds: HashMap<Vec<u64>, u32> = HashMap::new();
    let (mut firsts, mut kind_of) = (Vec::new(), Vec::with_capacity(count));
    for source in 0..count {
        let next = firsts.len() as u32;
        let kind = *kinds.entry(key(source)).or_insert(next);
        if kind == next {
            firsts.push(source as u32);
        }
        kind_of.push(kind);
    }
    (firsts, Some(kind_of))
}

/// What it costs sources to get to boxes.
struct Coster<'w> {
    whole: &'w WholeSpace,
    /// The boxes by falling height, and these.
    order: Vec<u32>,
    heights: Vec<f64>,
    /// For each side that matters: its number among those, its feature, and the cost from each level
    /// where the feature has levels.
    sides: Vec<(usize, Option<Vec<f64>>, u32)>,
    /// Where a side is in `sides`.
    place: Vec<u32>,
}

impl<'w> Coster<'w> {
    fn new(whole: &'w WholeSpace, boxes: &BoxList, features: &[usize], units: ValueUnits) -> Self {
        let heights: Vec<f64> = boxes.values.iter().map(|v| units.scaled(*v)).collect();
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let height = |b: u32| heights[b as usize];
        order.sort_unstable_by(|&a, &b| height(b).total_cmp(&height(a)).then(a.cmp(&b)));
        let mut place = vec![u32::MAX; boxes.sides.all.len()];
        let mut sides = Vec::new();
        for &side in (0..boxes.len()).flat_map(|b| boxes.sides_of(b)) {
            if place[side as usize] == u32::MAX {
                place[side as usize] = sides.len() as u32;
                let (feature, own) = &boxes.sides.all[side as usize];
                let costs = if whole.extent.is_line(*feature) {
                    None
                } else {
                    Some(whole.extent.level_costs(*feature, own))
                };
                sides.push((*feature, costs, side));
            }
        }
        debug_assert!(sides.iter().all(|s| features.contains(&s.0)));
        Coster { whole, order, heights, sides, place }
    }

    /// The hulls of a block of sources, by falling cost.
    fn hulls(&self, boxes: &BoxList, block: &[u32]) -> Vec<Vec<Corner>> {
        let costs = self.side_costs(boxes, block);
        let mut hulls: Vec<Vec<Corner>> = vec![Vec::new(); block.len()];
        let mut least = [f64::INFINITY; LANES];
        least[block.len()..].fill(0.0);
        for &b in &self.order {
            let mut cost = [0.0; LANES];
            for &side in boxes.sides_of(b as usize) {
                let of_side = &costs[self.place[side as usize] as usize];
                cost.iter_mut().zip(of_side).for_each(|(c, s)| *c += s);
            }
            let cheaper = cost.iter().zip(&least).fold(false, |any, (c, l)| any | (c < l));
            if !cheaper {
                continue;
            }
            let height = self.heights[b as usize];
            for (lane, hull) in hulls.iter_mut().enumerate() {
                if cost[lane] < least[lane] {
                    least[lane] = cost[lane];
                    push(hull, Corner { cost: cost[lane], height, of_box: b });
                }
            }
            if least.iter().all(|l| *l == 0.0) {
                break;
            }
        }
        hulls
    }

    /// What getting into each side costs each source of a block.
    fn side_costs(&self, boxes: &BoxList, block: &[u32]) -> Vec<[f64; LANES]> {
        let space = self.whole.population.space();
        let code = |source: u32, feature: usize| {
            space.code(self.whole.sources[source as usize] as usize, feature)
        };
        let mut all = vec![[0.0; LANES]; self.sides.len()];
        for (costs, (feature, by_level, side)) in all.iter_mut().zip(&self.sides) {
            let lanes = costs.iter_mut().zip(block);
            match by_level {
                Some(by_level) => {
                    lanes.for_each(|(cost, &s)| *cost = by_level[code(s, *feature) as usize]);
                }
                None => {
                    let own: &BoxSide = &boxes.sides.all[*side as usize].1;
                    let extent = &self.whole.extent;
                    let into = |s: u32| extent.line_cost(*feature, own, code(s, *feature));
                    lanes.for_each(|(cost, &s)| *cost = into(s));
                }
            }
        }
        all
    }
}

/// Adds a corner that is cheaper and no higher than all before.
fn push(hull: &mut Vec<Corner>, corner: Corner) {
    if hull.last().is_some_and(|last| last.height == corner.height) {
        hull.pop();
    }
    while let [.., a, b] = hull[..] {
        // Below or on the line from the corner to `a`: never the only best.
        let steep = (b.height - corner.height) * (a.cost - b.cost);
        if steep > (a.height - b.height) * (b.cost - corner.cost) {
            break;
        }
        hull.pop();
    }
    hull.push(corner);
}

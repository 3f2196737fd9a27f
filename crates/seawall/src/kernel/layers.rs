//! Max-plus transforms for few sources: heights alone go up, and each source finds its way back.
//!
//! `out_k = max_j (h_j − λ c_kj)` along each axis, as in [`max_plus`](super::max_plus), but with
//! nothing riding along: half the arithmetic. The heights before every pass are kept, so where a
//! source's height came from is found by looking at its own lines, last axis first. The last axis
//! is looked at from the sources alone, and the one before it only where their last lines lie.
//! Heights, costs and targets have the same bits as those of the passes that carry them.
//!
//! Worth it while all layers fit in a cache and sources are few among the cells.

use super::max_plus::{MaxPlusAxis, PassMethod};
use super::pass::{Pass, Tiles};
use super::pull::Pull;

/// Work (cells times levels) above which several threads would do the passes.
const MOST_WORK: usize = 1 << 19;
/// Cells a source, at least: a way back costs about this many cells' share of the passes.
const FEW: usize = 4;

/// Where a source's best height is, and what it costs to go there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// `max_j (h_j − λ c_j)`.
    pub height: f64,
    /// The cost of the way.
    pub cost: f64,
    /// The cell it leads to.
    pub cell: u32,
}

/// A grid's heights before each pass.
#[derive(Clone)]
pub struct Layers {
    passes: Vec<Pass>,
    start: Vec<f64>,
    /// The range of `start`.
    span: f64,
    /// The cells of the sources, and pass by pass their levels along its axis.
    sources: Vec<u32>,
    levels: Vec<u32>,
    /// The heights before the second pass, the third, and so on.
    above: Vec<Vec<f64>>,
    /// In place of the layer before the last pass, if few of its rows are looked at.
    pull: Option<Pull>,
    tiles: Tiles,
}

/// Whether keeping layers beats carrying what is asked for through every pass.
pub fn suit(axes: &[MaxPlusAxis], cells: usize, sources: usize) -> bool {
    let short = |a: &MaxPlusAxis| !matches!(a.method, PassMethod::Envelope { .. });
    let work = axes.iter().map(|a| a.levels.saturating_mul(cells)).max().unwrap_or(0);
    work < MOST_WORK && sources.saturating_mul(FEW) <= cells && axes.iter().all(short)
}

impl Layers {
    /// Over a grid of so many cells with these axes (each with its stride); nothing is loaded.
    pub fn new(axes: Vec<(MaxPlusAxis, usize)>, cells: usize, sources: Vec<u32>) -> Self {
        let start = vec![0.0; cells];
        let moving = axes.into_iter().filter(|(a, _)| !matches!(a.method, PassMethod::Still));
        let passes: Vec<Pass> = moving.map(|(axis, inner)| Pass::new(axis, inner)).collect();
        let levels = passes.iter().flat_map(|p| sources.iter().map(|&s| p.level(s) as u32));
        let levels = levels.collect();
        let pull = match &passes[..] {
            [.., pass, _] => Pull::new(pass, &sources, start.len()),
            _ => None,
        };
        let (above, tiles, span) = (Vec::new(), Tiles::default(), span(&start));
        Layers { passes, start, span, sources, levels, above, pull, tiles }
    }

    /// The same grid with other heights, one per cell.
    pub fn loaded(&self, start: Vec<f64>) -> Self {
        Layers { span: span(&start), start, ..self.clone() }
    }

    /// Every source's best way at a price above 0.
    pub fn ways(&mut self, price: f64) -> Vec<Way> {
        self.price(price, self.span);
        if self.passes.iter().all(Pass::stays) {
            let stay = |&cell: &u32| Way { height: self.start[cell as usize], cost: 0.0, cell };
            return self.sources.iter().map(stay).collect();
        }
        self.climb();
        self.back()
    }

    /// As the price falls to 0: the largest height within each source's reach, and the nearest
    /// way to a cell that has it.
    /// `open` is whether everyone can go everywhere.
    pub fn ways_to_highest(&mut self, open: bool) -> (Vec<f64>, Vec<Way>) {
        let there = |own: f64, top: f64| if own == top { 0.0 } else { f64::NEG_INFINITY };
        let (highest, goals) = if open {
            let top = self.start.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let goals = self.start.iter().map(|&own| there(own, top)).collect();
            (vec![top; self.sources.len()], goals)
        } else {
            self.price(0.0, f64::INFINITY);
            self.raise(self.passes.len());
            let reached = self.above.last().unwrap_or(&self.start);
            let highest = self.sources.iter().map(|&s| reached[s as usize]).collect();
            let goals = self.start.iter().zip(reached).map(|(&own, &top)| there(own, top));
            (highest, goals.collect())
        };
        let start = std::mem::replace(&mut self.start, goals);
        // A height is now minus the cost of the nearest goal.
        self.price(1.0, f64::INFINITY);
        self.climb();
        let ways = self.back();
        self.start = start;
        (highest, ways)
    }

    /// Gives back what only a climb needs.
    pub fn rest(&mut self) {
        self.above = Vec::new();
    }

    /// Takes on a price, for heights that are at most `span` apart.
    fn price(&mut self, price: f64, span: f64) {
        self.passes.iter_mut().for_each(|pass| pass.set(price, span));
    }

    /// Every pass but the last, the one before it where it is looked at.
    fn climb(&mut self) {
        let count = self.passes.len();
        match self.pull.take() {
            Some(mut pull) => {
                self.raise(count - 2);
                pull.run(&self.passes[count - 2], self.layer(count - 2));
                self.pull = Some(pull);
            }
            None => self.raise(count.saturating_sub(1)),
        }
    }

    /// The first `count` passes over the whole grid.
    fn raise(&mut self, count: usize) {
        self.above.resize_with(count, Vec::new);
        let mut below = &self.start;
        for (pass, layer) in self.passes.iter().zip(&mut self.above) {
            layer.resize(self.start.len(), 0.0);
            pass.raise(below, layer, &mut self.tiles);
            below = layer;
        }
    }

    /// From every source along its own lines, the last axis first, all sources pass by pass.
    fn back(&self) -> Vec<Way> {
        let count = self.sources.len();
        let mut cells = self.sources.clone();
        let mut costs = vec![0.0; count * self.passes.len()];
        let (heights, whole) = match &self.pull {
            Some(pull) => (self.pulled_back(pull, &mut cells, &mut costs), self.passes.len() - 2),
            None => (self.arrivals(), self.passes.len()),
        };
        let mut above = match &self.pull {
            Some(_) => cells.iter().map(|&cell| self.layer(whole)[cell as usize]).collect(),
            None => heights.clone(),
        };
        for (p, pass) in self.passes[..whole].iter().enumerate().rev() {
            let (below, from) = (self.layer(p), p * count..(p + 1) * count);
            let sources = cells.iter_mut().zip(&mut above);
            let steps = self.levels[from.clone()].iter().zip(&mut costs[from]);
            for ((cell, above), (&level, cost)) in sources.zip(steps) {
                let (here, level) = (*cell as usize, level as usize);
                // Nothing was higher along this axis: it stayed.
                if below[here] == *above {
                    continue;
                }
                let (from, spent) = pass.origin(below, here, level, *above);
                let there = here + from * pass.inner - level * pass.inner;
                (*cell, *cost, *above) = (there as u32, spent, below[there]);
            }
        }
        let cost = |s: usize| costs.iter().skip(s).step_by(count).fold(0.0, |sum, c| sum + c);
        let way = |(s, &cell): (usize, &u32)| Way { height: heights[s], cost: cost(s), cell };
        cells.iter().enumerate().map(way).collect()
    }

    /// The way back through the last two passes, and the heights that sources reach.
    fn pulled_back(&self, pull: &Pull, cells: &mut [u32], costs: &mut [f64]) -> Vec<f64> {
        let (count, passes) = (self.sources.len(), self.passes.len());
        let (before, last) = (&self.passes[passes - 2], &self.passes[passes - 1]);
        let [levels, last_levels] =
            [passes - 2, passes - 1].map(|p| &self.levels[p * count..][..count]);
        let (costs, last_costs) = costs[(passes - 2) * count..].split_at_mut(count);
        let mut heights = Vec::with_capacity(count);
        for (s, cell) in cells.iter_mut().enumerate() {
            let (level, place) = (last_levels[s] as usize, pull.places[s] as usize);
            let height = last.height(&pull.heights, place, level);
            let (mut there, mut moved) = (*cell as usize, place);
            if height != pull.heights[place] {
                let (from, cost) = last.origin(&pull.heights, place, level, height);
                there = there + from * last.inner - level * last.inner;
                moved = moved + from * last.inner - level * last.inner;
                last_costs[s] = cost;
            }
            let (level, from) = (levels[s] as usize, pull.from[moved] as usize);
            costs[s] = before.cost(level, from);
            *cell = (there + from * before.inner - level * before.inner) as u32;
            heights.push(height);
        }
        heights
    }

    /// The heights that sources reach by the last pass, which is done for them alone.
    fn arrivals(&self) -> Vec<f64> {
        let cells = self.sources.iter().map(|&cell| cell as usize);
        let Some((last, pass)) = self.passes.iter().enumerate().next_back() else {
            return cells.map(|cell| self.start[cell]).collect();
        };
        let (below, levels) = (self.layer(last), &self.levels[last * self.sources.len()..]);
        cells.zip(levels).map(|(cell, &level)| pass.height(below, cell, level as usize)).collect()
    }

    /// The heights before a pass.
    fn layer(&self, pass: usize) -> &[f64] {
        if pass == 0 { &self.start } else { &self.above[pass - 1] }
    }
}

/// The range of heights; infinite if a cell holds none.
fn span(heights: &[f64]) -> f64 {
    let ends = |(low, high): (f64, f64), &h: &f64| (low.min(h), high.max(h));
    let (low, high) = heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    if low == f64::NEG_INFINITY { f64::INFINITY } else { high - low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::max_plus::Carry;
    use crate::kernel::metric::Metric;
    use proptest::prelude::*;

    type Feature = (Metric, Vec<f64>);

    fn feature() -> impl Strategy<Value = Feature> {
        (0..5usize, 1..7usize, any::<bool>(), 0..3usize).prop_map(|(kind, levels, hole, weight)| {
            let weight = [0.0, 0.5, 1.0][weight];
            let metric = match kind {
                0 | 1 => Metric::Square { weight: weight / 9.0, missing: weight },
                2 | 3 => Metric::Flat { weight, missing: 0.75 * weight },
                _ => Metric::Wall,
            };
            let mut coords: Vec<f64> = (0..levels).map(|k| k as f64).collect();
            if hole {
                coords[levels - 1] = f64::NAN;
            }
            (metric, coords)
        })
    }

    /// A grid's axes, their strides and the number of cells.
    fn axes(features: &[Feature]) -> (Vec<(MaxPlusAxis, usize)>, usize) {
        let (mut all, mut cells) = (Vec::new(), 1);
        for (metric, coords) in features.iter().rev() {
            all.push((MaxPlusAxis::new(*metric, coords), cells));
            cells *= coords.len();
        }
        all.reverse();
        (all, cells)
    }

    /// The same by passes that carry cost and index.
    fn carried(features: &[Feature], price: f64, start: &[f64]) -> Vec<Way> {
        let mut found = [Carry::Cost, Carry::Index].map(|carry| {
            let mut h = start.to_vec();
            let mut ride: Vec<f64> = match carry {
                Carry::Cost => vec![0.0; h.len()],
                Carry::Index => (0..h.len()).map(|i| i as f64).collect(),
            };
            for (axis, inner) in &axes(features).0 {
                axis.pass(*inner, price, carry, &mut h, &mut ride);
            }
            (h, ride)
        });
        let (_, index) = std::mem::take(&mut found[1]);
        let (height, cost) = std::mem::take(&mut found[0]);
        let way = |i: usize| Way { height: height[i], cost: cost[i], cell: index[i] as u32 };
        (0..start.len()).map(way).collect()
    }

    proptest! {
        #[test]
        fn the_way_back_ends_where_passes_that_carry_end(
            features in proptest::collection::vec(feature(), 1..5),
            steps in proptest::collection::vec(0..5u32, 1..50),
            drawn in proptest::collection::vec(any::<u32>(), 1..6),
            price in prop_oneof![Just(f64::INFINITY), 0.01..20.0f64, Just(1.0)],
            holes in any::<bool>(),
        ) {
            let (all, cells) = axes(&features);
            let height = |i: usize| match steps[i * 7 % steps.len()] {
                0 if holes => f64::NEG_INFINITY,
                step => 0.3 * f64::from(step) + if i.is_multiple_of(3) { 0.1 } else { 0.0 },
            };
            let start: Vec<f64> = (0..cells).map(height).collect();
            let mut sources: Vec<u32> = drawn.iter().map(|d| d % cells as u32).collect();
            sources.sort_unstable();
            sources.dedup();
            let mut layers = Layers::new(all, start.len(), sources.clone()).loaded(start.clone());
            let at = |ways: &[Way]| sources.iter().map(|&s| ways[s as usize]).collect::<Vec<_>>();
            prop_assert_eq!(layers.ways(price), at(&carried(&features, price, &start)));

            let highest: Vec<f64> =
                carried(&features, 0.0, &start).iter().map(|way| way.height).collect();
            let goal = |(own, top): (&f64, &f64)| if own == top { 0.0 } else { f64::NEG_INFINITY };
            let goals: Vec<f64> = start.iter().zip(&highest).map(goal).collect();
            let (reached, ways) = layers.ways_to_highest(false);
            prop_assert_eq!(ways, at(&carried(&features, 1.0, &goals)));
            prop_assert!(reached.iter().zip(&sources).all(|(r, &s)| *r == highest[s as usize]));
        }
    }
}

//! Max-plus transforms: `out_k = max_j (h_j − λ c_kj)` along each axis of a grid.
//!
//! The ground cost is a sum over features, so the maximum over all cells for all cells is one
//! such pass per axis. A second array rides along: the cost of the moves made so far, or the
//! index of the cell that the value came from ([`Carry`]).
//!
//! Three kernels, all exact: a dense one for any short axis, an O(K) one for an axis of equal
//! costs, and the O(K) envelope of parabolas for a long axis of squared differences.

use super::envelope::Envelope;
use super::lines;
use super::metric::{Metric, penalty};
use pulp::{Arch, Simd, WithSimd};
use std::cell::RefCell;

/// Squared-difference axes longer than this are transformed by the envelope. Measured: the dense
/// kernel wins up to about this length, although it does K times the work.
const LONG: usize = 48;
/// Flat axes up to this long are left to the dense kernel.
const SHORT: usize = 3;

/// Lines that a vector kernel takes at once: a multiple of what any machine holds in registers.
const LANES: usize = 32;
/// Lines that the envelope takes at once: its rows are single cache lines, and tiles of long
/// axes stay small.
const FEW: usize = 8;
/// One level of the lines of a vector kernel.
type LineRow = [f64; LANES];
type LineTile = lines::Tile<2, LANES>;
/// A line by itself.
type SingleLine = lines::Tile<2, 1>;

/// What the second array holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carry {
    /// The cost of the moves made so far.
    Cost,
    /// Where the value came from: nothing is added on the way.
    Index,
}

/// One axis, prepared.
#[derive(Clone, Debug)]
pub struct MaxPlusAxis {
    pub(super) levels: usize,
    pub(super) metric: Metric,
    pub(super) method: PassMethod,
}

#[derive(Clone, Debug)]
pub(super) enum PassMethod {
    /// No move is possible, or there is nowhere to go.
    Still,
    /// All pairs: `costs[k · levels + j]`.
    Dense { costs: Vec<f64> },
    /// The same cost between any two levels that are not missing.
    Flat { missing: Option<usize> },
    /// Squared differences: the levels in order of position, and those positions.
    Envelope { order: Vec<usize>, positions: Vec<f64>, missing: Option<usize> },
}

impl MaxPlusAxis {
    /// Prepares the axis of a feature whose levels have these coordinates.
    pub fn new(metric: Metric, coords: &[f64]) -> Self {
        let levels = coords.len();
        let missing = coords.iter().position(|x| x.is_nan());
        let method = match metric {
            Metric::Wall => PassMethod::Still,
            _ if levels < 2 => PassMethod::Still,
            Metric::Flat { .. } if levels > SHORT => PassMethod::Flat { missing },
            Metric::Square { .. } if levels > LONG => {
                let mut order: Vec<usize> = (0..levels).filter(|&k| !coords[k].is_nan()).collect();
                order.sort_by(|&a, &b| coords[a].total_cmp(&coords[b]));
                let positions = order.iter().map(|&k| coords[k]).collect();
                PassMethod::Envelope { order, positions, missing }
            }
            _ => {
                let cost = |k: usize, j: usize| metric.cost(coords[k], coords[j]);
                let pairs = (0..levels).flat_map(|k| (0..levels).map(move |j| (k, j)));
                PassMethod::Dense { costs: pairs.map(|(k, j)| cost(k, j)).collect() }
            }
        };
        MaxPlusAxis { levels, metric, method }
    }

    /// Transforms every line of the grid in place at a price λ from 0 to ∞.
    pub fn pass(&self, inner: usize, price: f64, carry: Carry, h: &mut [f64], ride: &mut [f64]) {
        let keep = if carry == Carry::Cost { 1.0 } else { 0.0 };
        // Lines of a long axis by themselves: a tile of copies would take more than they do.
        let alone = h.len() < FEW * self.levels;
        let arch = Arch::new();
        match &self.method {
            PassMethod::Still => {}
            PassMethod::Dense { costs } => {
                let moves: Vec<(f64, f64)> =
                    costs.iter().map(|&c| (penalty(price, c), keep * c)).collect();
                lines::for_each(self.levels, inner, [h, ride], &|tile: &mut LineTile| {
                    arch.dispatch(Dense { moves: &moves, tile });
                });
            }
            PassMethod::Flat { missing } => {
                let missing = missing.map(|at| (at, self.metric.missing()));
                let weight = match self.metric {
                    Metric::Flat { weight, .. } => weight,
                    _ => 0.0,
                };
                if alone {
                    lines::for_each(self.levels, inner, [h, ride], &|line: &mut SingleLine| {
                        flat_line(price, keep, weight, missing, line);
                    });
                    return;
                }
                lines::for_each(self.levels, inner, [h, ride], &|tile: &mut LineTile| {
                    arch.dispatch(Flat { price, keep, weight, missing, tile });
                });
            }
            PassMethod::Envelope { order, positions, missing } => {
                let missing = missing.map(|at| (at, self.metric.missing()));
                let weight = match self.metric {
                    Metric::Square { weight, .. } => weight,
                    _ => 0.0,
                };
                let long = Long { price, keep, weight, missing, order, positions };
                if alone {
                    lines::for_each(self.levels, inner, [h, ride], &|line: &mut SingleLine| {
                        ROOM.with_borrow_mut(|room| long.run(room, line));
                    });
                    return;
                }
                lines::for_each(self.levels, inner, [h, ride], &|tile: &mut lines::Tile<
                    2,
                    FEW,
                >| {
                    ROOM.with_borrow_mut(|room| long.run(room, tile));
                });
            }
        }
    }
}

/// About how many steps a pass over an axis of so many levels takes for each cell.
pub fn steps(metric: Metric, levels: usize) -> usize {
    match metric {
        Metric::Flat { .. } => levels.min(SHORT + 1),
        Metric::Square { .. } => levels.min(LONG),
        Metric::Wall => 1,
    }
}

/// Vectors held in registers at once: their best heights, and what rides with those.
const HELD: usize = 4;

/// Heights and rides of a few vectors' worth of lanes.
struct LineBest<S: Simd> {
    height: [S::f64s; HELD],
    ride: [S::f64s; HELD],
}

impl<S: Simd> LineBest<S> {
    /// The lanes of block `b` of a row.
    #[inline(always)]
    fn load(h: &LineRow, from: &LineRow, b: usize) -> Self {
        LineBest { height: block::<S>(h, b), ride: block::<S>(from, b) }
    }

    /// Takes the candidate where it is strictly higher.
    #[inline(always)]
    fn take(&mut self, simd: S, candidate: &Self, penalty: f64, step: f64) {
        let (penalty, step) = (simd.splat_f64s(penalty), simd.splat_f64s(step));
        for v in 0..HELD {
            let height = simd.sub_f64s(candidate.height[v], penalty);
            let ride = simd.add_f64s(candidate.ride[v], step);
            let higher = simd.greater_than_f64s(height, self.height[v]);
            self.height[v] = simd.select_f64s(higher, height, self.height[v]);
            self.ride[v] = simd.select_f64s(higher, ride, self.ride[v]);
        }
    }

    #[inline(always)]
    fn store(self, out: &mut LineRow, ride: &mut LineRow, b: usize) {
        S::as_mut_simd_f64s(out).0[b * HELD..][..HELD].copy_from_slice(&self.height);
        S::as_mut_simd_f64s(ride).0[b * HELD..][..HELD].copy_from_slice(&self.ride);
    }
}

/// Block `b` of a row, as vectors.
#[inline(always)]
fn block<S: Simd>(row: &LineRow, b: usize) -> [S::f64s; HELD] {
    let vectors = &S::as_simd_f64s(row).0[b * HELD..][..HELD];
    std::array::from_fn(|v| vectors[v])
}

/// How many blocks of vectors a row has: whole ones, for LANES is a multiple of any.
#[inline(always)]
fn blocks<S: Simd>() -> usize {
    LANES / (HELD * S::F64_LANES)
}

/// All pairs of levels; `moves` holds each pair's penalty and what it adds to the ride.
struct Dense<'a> {
    moves: &'a [(f64, f64)],
    tile: &'a mut LineTile,
}

impl WithSimd for Dense<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [h, from] = &self.tile.input;
        let [out, ride] = &mut self.tile.output;
        let levels = h.len();
        for b in 0..blocks::<S>() {
            for (k, moves) in self.moves.chunks_exact(levels).enumerate() {
                let mut best = LineBest::<S>::load(&h[k], &from[k], b);
                for ((h, from), &(penalty, step)) in h.iter().zip(from).zip(moves) {
                    best.take(simd, &LineBest::load(h, from, b), penalty, step);
                }
                best.store(&mut out[k], &mut ride[k], b);
            }
        }
    }
}

/// Equal costs between levels: stay, or go to the best level of the line.
struct Flat<'a> {
    price: f64,
    keep: f64,
    weight: f64,
    missing: Option<(usize, f64)>,
    tile: &'a mut LineTile,
}

impl WithSimd for Flat<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [h, from] = &self.tile.input;
        let [out, ride] = &mut self.tile.output;
        let (hole, to_missing) = self.missing.unwrap_or((usize::MAX, self.weight));
        let present = usize::from(hole == 0);
        for b in 0..blocks::<S>() {
            let mut top = LineBest::<S>::load(&h[present], &from[present], b);
            for (k, (h, from)) in h.iter().zip(from).enumerate() {
                if k != hole {
                    top.take(simd, &LineBest::load(h, from, b), 0.0, 0.0);
                }
            }
            for k in 0..h.len() {
                let mut best = LineBest::<S>::load(&h[k], &from[k], b);
                let to_top = if k == hole { to_missing } else { self.weight };
                best.take(simd, &top, penalty(self.price, to_top), self.keep * to_top);
                if let Some((at, cost)) = self.missing
                    && at != k
                {
                    let candidate = LineBest::load(&h[at], &from[at], b);
                    best.take(simd, &candidate, penalty(self.price, cost), self.keep * cost);
                }
                best.store(&mut out[k], &mut ride[k], b);
            }
        }
    }
}

/// The same for one line.
fn flat_line(
    price: f64,
    keep: f64,
    weight: f64,
    missing: Option<(usize, f64)>,
    line: &mut SingleLine,
) {
    let [h, from] = line.input.each_ref().map(|rows| rows.as_flattened());
    let [out, ride] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    let (hole, to_missing) = missing.unwrap_or((usize::MAX, weight));
    let mut top = usize::from(hole == 0);
    for k in (0..h.len()).filter(|&k| k != hole) {
        if h[k] > h[top] {
            top = k;
        }
    }
    for k in 0..h.len() {
        (out[k], ride[k]) = (h[k], from[k]);
        let mut offer = |j: usize, cost: f64| {
            let height = h[j] - penalty(price, cost);
            if height > out[k] {
                (out[k], ride[k]) = (height, from[j] + keep * cost);
            }
        };
        offer(top, if k == hole { to_missing } else { weight });
        if let Some((at, cost)) = missing.filter(|(at, _)| *at != k) {
            offer(at, cost);
        }
    }
}

/// A long axis of squared differences.
struct Long<'a> {
    price: f64,
    keep: f64,
    weight: f64,
    missing: Option<(usize, f64)>,
    order: &'a [usize],
    positions: &'a [f64],
}

/// Room for one line, kept by each thread.
#[derive(Default)]
struct LineRoom {
    envelope: Envelope,
    h: Vec<f64>,
}

thread_local! {
    static ROOM: RefCell<LineRoom> = RefCell::default();
}

impl Long<'_> {
    fn run<const L: usize>(&self, room: &mut LineRoom, tile: &mut lines::Tile<2, L>) {
        for lane in 0..L {
            self.line(room, tile, lane);
        }
    }

    fn line<const L: usize>(&self, room: &mut LineRoom, tile: &mut lines::Tile<2, L>, l: usize) {
        let [h, from] = &tile.input;
        let [out, ride] = &mut tile.output;
        for k in 0..h.len() {
            out[k][l] = h[k][l];
            ride[k][l] = from[k][l];
        }
        let mut offer = |k: usize, j: usize, cost: f64| {
            let candidate = h[j][l] - penalty(self.price, cost);
            if candidate > out[k][l] {
                out[k][l] = candidate;
                ride[k][l] = from[j][l] + self.keep * cost;
            }
        };
        let steepness = self.price * self.weight;
        if steepness > 0.0 {
            room.h.clear();
            room.h.extend(self.order.iter().map(|&k| h[k][l]));
            room.envelope.build(self.positions, &room.h, steepness, |k, j| {
                let apart = self.positions[k] - self.positions[j];
                offer(self.order[k], self.order[j], self.weight * apart * apart);
            });
        } else if let Some(&j) = self.highest(h, l) {
            // Distance is free here: the highest entry is best everywhere.
            self.order.iter().for_each(|&k| offer(k, j, 0.0));
        }
        if let Some((at, cost)) = self.missing {
            self.order.iter().for_each(|&k| offer(k, at, cost));
            if let Some(&j) = self.highest(h, l) {
                offer(at, j, cost);
            }
        }
    }

    fn highest<const L: usize>(&self, h: &[[f64; L]], l: usize) -> Option<&usize> {
        self.order.iter().max_by(|&&a, &&b| h[a][l].total_cmp(&h[b][l]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    #[test]
    fn a_line_by_itself_is_transformed_as_among_others() {
        let mut random = Random::new(7, 0);
        for round in 0..60usize {
            let levels = 50 + random.below(80);
            let mut coords: Vec<f64> = (0..levels).map(|_| random.normal()).collect();
            if round % 3 == 0 {
                coords[levels / 2] = f64::NAN;
            }
            let metric = if round % 2 == 0 {
                Metric::Flat { weight: 0.5, missing: 0.25 }
            } else {
                Metric::Square { weight: 0.5, missing: 0.25 }
            };
            let axis = MaxPlusAxis::new(metric, &coords);
            // Ties, and places that do not exist.
            let height = |_| match random.below(9) {
                0 => f64::NEG_INFINITY,
                k => k as f64 / 4.0,
            };
            let line: Vec<f64> = (0..levels).map(height).collect();
            let index: Vec<f64> = (0..levels).map(|k| k as f64).collect();
            for price in [0.0, 0.3, 2.0, f64::INFINITY] {
                for carry in [Carry::Cost, Carry::Index] {
                    let (mut h, mut ride) = (line.clone(), index.clone());
                    axis.pass(1, price, carry, &mut h, &mut ride);
                    let (mut many, mut rides) = (line.repeat(40), index.repeat(40));
                    axis.pass(1, price, carry, &mut many, &mut rides);
                    assert_eq!(many, h.repeat(40), "{round} {price}");
                    assert_eq!(rides, ride.repeat(40), "{round} {price}");
                }
            }
        }
    }
}

//! Log-domain sums along each axis of a grid: `L'_k = log Σ_j exp(L_j − s c_kj)`.
//!
//! Beside the logarithm ride the mean and the variance of the cost under the weights that the
//! sum is made of, so that after one pass per axis every cell knows `log Σ exp(·)`, its
//! derivative and its second derivative in `s`:
//!
//! ```text
//! π_j = exp(L_j − s c_kj − L'_k),   m'_k = Σ π_j (m_j + c_kj),
//! v'_k = Σ π_j (v_j + (m_j + c_kj − m'_k)²)
//! ```
//!
//! Or those of something that each cell has of its own ([`Carried::Own`]): then moving adds nothing
//! to it, and `c_kj` is left out of the last line and the one before.
//!
//! An axis of equal costs takes O(K) a line: what a level gets from all others is what comes before
//! it and what comes after. Any other takes all pairs of levels; many lines at once share the
//! exponentials of their costs; a line or two by themselves are summed level by level, and where
//! their levels are evenly apart (bins), the weights of all steps are known from K exponentials.
//!
//! Weights below `exp(−708)` of the largest one of a line vanish in double precision, with or
//! without this module; nothing else is lost.

use super::exp::exp;
use super::lines;
use super::metric::{Metric, penalty};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Lines taken at once.
const LANES: usize = 32;
type Tile = lines::Tile<3, LANES>;
/// Exponents spread over less than this can be taken out of the logarithm once a line.
const TAME: f64 = 600.0;

/// Axes of equal costs up to this long are left to the table.
const SHORT: usize = 8;
/// Fewer lines than this are summed one by one.
const FEW: usize = 8;
/// Pairs of levels below which a second thread costs more than it saves.
const FORK: usize = 1 << 16;

/// A line by itself.
type Line = lines::Tile<3, 1>;

/// Whose mean and variance ride along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carried {
    /// The cost's, to which every move adds.
    Cost,
    /// Those of what a cell has of its own.
    Own,
}

impl Carried {
    /// What moves that cost this much add.
    fn added<'c>(self, costs: &'c [f64], none: &'c mut Vec<f64>) -> &'c [f64] {
        match self {
            Carried::Cost => costs,
            Carried::Own => {
                none.resize(costs.len(), 0.0);
                none
            }
        }
    }
}

/// One axis, prepared.
#[derive(Debug)]
pub struct Axis {
    levels: usize,
    method: Method,
}

#[derive(Debug)]
enum Method {
    /// No move is possible, or there is nowhere to go.
    Still,
    /// The same cost between any two levels that are not missing; the missing level and what it
    /// costs to go there or come back.
    Flat { weight: f64, hole: Option<(usize, f64)> },
    /// All pairs: `costs[k · levels + j]`; and where levels are evenly apart, the costs of all
    /// steps from the longest back to the longest ahead, and a few more.
    Table { costs: Vec<f64>, steps: Option<Vec<f64>> },
}

impl Axis {
    /// Prepares the axis of a feature whose levels have these coordinates.
    pub fn new(metric: Metric, coords: &[f64]) -> Self {
        let levels = coords.len();
        let method = match metric {
            Metric::Wall => Method::Still,
            _ if levels < 2 => Method::Still,
            Metric::Flat { weight, missing } if levels > SHORT && distinct(coords) => {
                let hole = coords.iter().position(|x| x.is_nan());
                Method::Flat { weight, hole: hole.map(|at| (at, missing)) }
            }
            _ => {
                let cost = |k: usize, j: usize| metric.cost(coords[k], coords[j]);
                let pairs = (0..levels).flat_map(|k| (0..levels).map(move |j| (k, j)));
                let costs = pairs.map(|(k, j)| cost(k, j)).collect();
                Method::Table { costs, steps: even_steps(metric, coords) }
            }
        };
        Axis { levels, method }
    }

    /// Transforms every line in place at a sharpness s from 0 to ∞.
    ///
    /// `spread` is at least the range of the finite entries that the grid held before the first
    /// axis; it tells whether a line may leave the logarithm without losing anything.
    pub fn pass(
        &self,
        inner: usize,
        s: f64,
        spread: f64,
        carried: Carried,
        [log, mean, var]: [&mut [f64]; 3],
    ) {
        let (levels, count) = (self.levels, log.len() / self.levels);
        let arrays = [log, mean, var];
        let none = &mut Vec::new();
        match &self.method {
            Method::Still => {}
            Method::Flat { weight, hole } => {
                lines::for_each(levels, inner, arrays, &|line: &mut Line| {
                    flat(s, *weight, *hole, carried, line);
                });
            }
            // Nobody moves, and no two levels of these are in one place.
            Method::Table { steps: Some(_), .. } if s == f64::INFINITY => {}
            Method::Table { costs, steps } if count < FEW => {
                let weights =
                    |steps: &Vec<f64>| steps.iter().map(|&c| exp(-penalty(s, c))).collect();
                let weights: Option<Vec<f64>> = steps.as_ref().map(weights);
                let mut no_steps = Vec::new();
                let steps = steps.as_ref().map(|steps| carried.added(steps, &mut no_steps));
                let added = carried.added(costs, none);
                lines::for_each(
                    levels,
                    inner,
                    arrays,
                    &|line: &mut Line| match (steps, &weights) {
                        (Some(steps), Some(weights)) if tame(&line.input[0], spread) => {
                            even(steps, weights, line);
                        }
                        _ => alone(s, costs, added, line),
                    },
                );
            }
            Method::Table { costs, .. } => {
                let weights: Vec<f64> = costs.iter().map(|&c| (-penalty(s, c)).exp()).collect();
                let added = carried.added(costs, none);
                let arch = Arch::new();
                lines::for_each(levels, inner, arrays, &|tile: &mut Tile| {
                    if tame(&tile.input[0], spread) {
                        arch.dispatch(Tame { weights: &weights, costs: added, tile });
                    } else {
                        wild(s, costs, added, tile);
                    }
                });
            }
        }
    }
}

/// Whether no two coordinates are alike; every NaN is.
fn distinct(coords: &[f64]) -> bool {
    let mut sorted: Vec<f64> = coords.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    coords.len() - sorted.len() <= 1 && sorted.windows(2).all(|w| w[0] != w[1])
}

/// The costs of all steps between levels that are evenly apart, as bins are, from the longest back
/// to the longest ahead; None if they are not, to the rounding of their coordinates.
fn even_steps(metric: Metric, coords: &[f64]) -> Option<Vec<f64>> {
    let (Metric::Square { .. }, [first, .., last]) = (metric, coords) else { return None };
    let count = coords.len();
    let step = (last - first) / (count - 1) as f64;
    let rounding = 4.0 * f64::EPSILON * first.abs().max(last.abs());
    let place = |k: usize| first + step * k as f64;
    // A missing level is nowhere: NaN fails both. Steps that cost nothing are taken at any price.
    let even = step.abs() > 1024.0 * rounding
        && metric.cost(0.0, step) > 0.0
        && coords.iter().enumerate().all(|(k, x)| (x - place(k)).abs() <= rounding);
    let cost = |d: usize| metric.cost(0.0, step * d.abs_diff(count - 1) as f64);
    even.then(|| (0..2 * count - 1 + SIDE).map(cost).collect())
}

/// A line of evenly spaced levels: the weights of all steps are known, and each level's are a
/// window of them.
fn even(steps: &[f64], weights: &[f64], line: &mut Line) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let levels = log.len();
    let top = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lift = |&l: &f64| if l == f64::NEG_INFINITY { 0.0 } else { (l - top).exp() };
    // Whole chunks: what is added weighs nothing.
    let padded = levels.next_multiple_of(SIDE);
    let pad = |of: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        of.chain(std::iter::repeat(0.0)).take(padded).collect()
    };
    let lifted = pad(&mut log.iter().map(lift));
    let (mean, var) = (pad(&mut mean.iter().copied()), pad(&mut var.iter().copied()));
    let arch = Arch::new();
    let one = |k: usize| {
        let window = levels - 1 - k..levels - 1 - k + padded;
        let (steps, weights) = (&steps[window.clone()], &weights[window]);
        let (total, mean, second) =
            arch.dispatch(Windowed { steps, weights, lifted: &lifted, mean: &mean, var: &var });
        (top + total.ln(), mean, second)
    };
    let found: Vec<(f64, f64, f64)> = match levels * levels >= FORK {
        true => (0..levels).into_par_iter().with_min_len(64).map(one).collect(),
        false => (0..levels).map(one).collect(),
    };
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    for (k, found) in found.into_iter().enumerate() {
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}

/// One level's sum over a line that left the logarithm: the total, the mean and the variance.
struct Windowed<'a> {
    steps: &'a [f64],
    weights: &'a [f64],
    lifted: &'a [f64],
    mean: &'a [f64],
    var: &'a [f64],
}

impl WithSimd for Windowed<'_> {
    type Output = (f64, f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Windowed { steps, weights, lifted, mean, var } = self;
        let [steps, weights, lifted, mean, var] =
            [steps, weights, lifted, mean, var].map(|of| of.as_chunks::<SIDE>().0);
        let (mut total, mut first) = ([0.0; SIDE], [0.0; SIDE]);
        for (((w, e), c), m) in weights.iter().zip(lifted).zip(steps).zip(mean) {
            for l in 0..SIDE {
                let share = w[l] * e[l];
                total[l] += share;
                first[l] += share * (m[l] + c[l]);
            }
        }
        let (total, first): (f64, f64) = (total.iter().sum(), first.iter().sum());
        // A hole so far from everything that its sum has no inverse is left a hole.
        if total < f64::MIN_POSITIVE {
            return (0.0, 0.0, 0.0);
        }
        let middle = first / total;
        let mut second = [0.0; SIDE];
        for ((((w, e), c), m), v) in weights.iter().zip(lifted).zip(steps).zip(mean).zip(var) {
            for l in 0..SIDE {
                let off = m[l] + c[l] - middle;
                second[l] += w[l] * e[l] * (v[l] + off * off);
            }
        }
        (total, middle, second.iter().sum::<f64>() / total)
    }
}

/// A line of equal costs: each level takes its own, what the others hold, and what is missing.
fn flat(s: f64, weight: f64, hole: Option<(usize, f64)>, carried: Carried, line: &mut Line) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    let levels = log.len();
    let present = |k: &usize| hole.is_none_or(|(at, _)| at != *k);
    let top = (0..levels).filter(present).map(|k| log[k]).fold(f64::NEG_INFINITY, f64::max);
    let lifted = |k: usize| if log[k] == f64::NEG_INFINITY { 0.0 } else { (log[k] - top).exp() };
    let mut after = vec![Moments::default(); levels + 1];
    for k in (0..levels).rev() {
        after[k] = after[k + 1];
        if present(&k) {
            after[k].add(lifted(k), mean[k], var[k]);
        }
    }
    let added = |cost: f64| if carried == Carried::Cost { cost } else { 0.0 };
    let others = |all: Moments, cost: f64| {
        (top + all.weight.ln() - penalty(s, cost), all.mean + added(cost), all.variance())
    };
    let mut before = Moments::default();
    for k in 0..levels {
        let own = (log[k], mean[k], var[k]);
        let found = match hole {
            Some((at, cost)) if at == k => total(&[own, others(after[0], cost)]),
            _ => {
                let mut rest = before;
                rest.add(after[k + 1].weight, after[k + 1].mean, after[k + 1].variance());
                before.add(lifted(k), mean[k], var[k]);
                let rest = others(rest, weight);
                match hole {
                    None => total(&[own, rest]),
                    Some((at, cost)) => {
                        let missing = (log[at] - penalty(s, cost), mean[at] + added(cost), var[at]);
                        total(&[own, rest, missing])
                    }
                }
            }
        };
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}

/// The sum of a few terms: logarithm, mean and variance of each and of all.
fn total(parts: &[(f64, f64, f64)]) -> (f64, f64, f64) {
    let top = parts.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return (top, 0.0, 0.0);
    }
    let mut moments = Moments::default();
    for &(log, mean, variance) in parts {
        moments.add((log - top).exp(), mean, variance);
    }
    (top + moments.weight.ln(), moments.mean, moments.variance())
}

/// A line by itself, level by level: each sum is taken from its own maximum.
fn alone(s: f64, costs: &[f64], added: &[f64], line: &mut Line) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let levels = log.len();
    let arch = Arch::new();
    let one = |room: &mut [Vec<f64>; 2], k: usize| {
        let [costs, added] = [costs, added].map(|all| &all[k * levels..][..levels]);
        let [exponents, moved] = room;
        exponents.clear();
        exponents.extend(log.iter().zip(costs).map(|(l, &c)| l - penalty(s, c)));
        moved.clear();
        moved.extend(mean.iter().zip(added).map(|(m, c)| m + c));
        arch.dispatch(Total { exponents, costs: moved, variances: var })
    };
    let found: Vec<(f64, f64, f64)> = match levels * levels >= FORK {
        true => (0..levels).into_par_iter().map_init(Default::default, one).collect(),
        false => {
            let mut room = Default::default();
            (0..levels).map(|k| one(&mut room, k)).collect()
        }
    };
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    for (k, found) in found.into_iter().enumerate() {
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}

/// `log Σ_j exp(e_j)`, and the mean and variance of costs under those weights. The exponents are
/// used up.
pub fn log_sum(exponents: &mut [f64], costs: &[f64]) -> (f64, f64, f64) {
    Arch::new().dispatch(Total { exponents, costs, variances: &[] })
}

/// `Σ_j exp(e_j)`.
pub fn exp_sum(exponents: &[f64]) -> f64 {
    Arch::new().dispatch(ExpSum(exponents))
}

/// `log Σ_j exp(h_j − s c_j)`.
pub fn log_sum_less(h: &[f64], s: f64, costs: &[f64]) -> f64 {
    Arch::new().dispatch(Less { h, s, costs })
}

struct Less<'a> {
    h: &'a [f64],
    s: f64,
    costs: &'a [f64],
}

impl WithSimd for Less<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Less { h, s, costs } = self;
        let mut tops = [f64::NEG_INFINITY; SIDE];
        for (h, c) in h.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for (t, (h, c)) in tops.iter_mut().zip(h.iter().zip(c)) {
                let e = h - s * c;
                *t = if e > *t { e } else { *t };
            }
        }
        let top = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return top;
        }
        let mut total = [0.0; SIDE];
        for (h, c) in h.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for (t, (h, c)) in total.iter_mut().zip(h.iter().zip(c)) {
                *t += exp(h - s * c - top);
            }
        }
        top + total.iter().sum::<f64>().ln()
    }
}

/// `log Σ_i exp(h_i − s c_ij)` for some columns `j` of a matrix of `columns` columns, from `first`.
pub fn log_sum_columns(
    h: &[f64],
    s: f64,
    costs: &[f64],
    columns: usize,
    first: usize,
    out: &mut [f64],
) {
    Arch::new().dispatch(Columns { h, s, costs, columns, first, out });
}

struct Columns<'a> {
    h: &'a [f64],
    s: f64,
    costs: &'a [f64],
    columns: usize,
    first: usize,
    out: &'a mut [f64],
}

impl WithSimd for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Columns { h, s, costs, columns, first, out } = self;
        let mut top = vec![f64::NEG_INFINITY; out.len()];
        let row = |i: usize| &costs[i * columns + first..][..top.len()];
        let rows: Vec<&[f64]> = (0..h.len()).map(row).collect();
        for (h, row) in h.iter().zip(&rows) {
            for (t, c) in top.iter_mut().zip(*row) {
                let e = h - s * c;
                *t = if e > *t { e } else { *t };
            }
        }
        out.fill(0.0);
        for (h, row) in h.iter().zip(&rows) {
            for ((o, t), c) in out.iter_mut().zip(&top).zip(*row) {
                *o += exp(h - s * c - t);
            }
        }
        for (o, t) in out.iter_mut().zip(&top) {
            *o = if *t == f64::NEG_INFINITY { *t } else { t + o.ln() };
        }
    }
}

/// Terms side by side in a sum.
const SIDE: usize = 16;

/// One sum in the log domain. Each term may be a distribution itself, of this variance.
struct Total<'a> {
    exponents: &'a mut [f64],
    costs: &'a [f64],
    variances: &'a [f64],
}

impl WithSimd for Total<'_> {
    type Output = (f64, f64, f64);

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Total { exponents, costs, variances } = self;
        let mut tops = [f64::NEG_INFINITY; SIDE];
        for some in exponents.chunks(SIDE) {
            for (t, &e) in tops.iter_mut().zip(some) {
                *t = if e > *t { e } else { *t };
            }
        }
        let top = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return (top, 0.0, 0.0);
        }
        exponents.iter_mut().for_each(|e| *e = exp(*e - top));
        let weights = &*exponents;
        let (mut total, mut first) = ([0.0; SIDE], [0.0; SIDE]);
        for (w, c) in weights.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for ((t, f), (&w, &c)) in total.iter_mut().zip(&mut first).zip(w.iter().zip(c)) {
                *t += w;
                // A place out of reach has no weight and an infinite cost.
                *f += if w > 0.0 { w * c } else { 0.0 };
            }
        }
        let (total, first): (f64, f64) = (total.iter().sum(), first.iter().sum());
        let mean = first / total;
        let mut second = [0.0; SIDE];
        for (w, c) in weights.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for (s, (&w, &c)) in second.iter_mut().zip(w.iter().zip(c)) {
                let off = c - mean;
                *s += if w > 0.0 { w * (off * off) } else { 0.0 };
            }
        }
        for (w, v) in weights.chunks(SIDE).zip(variances.chunks(SIDE)) {
            for (s, (&w, &v)) in second.iter_mut().zip(w.iter().zip(v)) {
                *s += w * v;
            }
        }
        (top + total.ln(), mean, second.iter().sum::<f64>() / total)
    }
}

/// A sum of exponentials.
struct ExpSum<'a>(&'a [f64]);

impl WithSimd for ExpSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut total = [0.0; SIDE];
        for some in self.0.chunks(SIDE) {
            for (t, &e) in total.iter_mut().zip(some) {
                *t += exp(e);
            }
        }
        total.iter().sum()
    }
}

/// Whether every line of the tile can be summed outside the logarithm.
fn tame<const L: usize>(log: &[[f64; L]], spread: f64) -> bool {
    if spread <= TAME {
        return true;
    }
    (0..L).all(|l| {
        let range = |(low, high): (f64, f64), row: &[f64; L]| (low.min(row[l]), high.max(row[l]));
        let (low, high) = log.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        high - low <= TAME
    })
}

/// Lines lifted out of the logarithm by their own maximum: one exponential a cell.
struct Tame<'a> {
    weights: &'a [f64],
    costs: &'a [f64],
    tile: &'a mut Tile,
}

impl WithSimd for Tame<'_> {
    type Output = ();

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [log, mean, var] = &mut self.tile.input;
        let [log_out, mean_out, var_out] = &mut self.tile.output;
        let levels = log.len();
        let mut top = [f64::NEG_INFINITY; LANES];
        for row in log.iter() {
            for l in 0..LANES {
                top[l] = if row[l] > top[l] { row[l] } else { top[l] };
            }
        }
        for row in log.iter_mut() {
            for l in 0..LANES {
                row[l] = if top[l] == f64::NEG_INFINITY { 0.0 } else { (row[l] - top[l]).exp() };
            }
        }
        for k in 0..levels {
            let weights = &self.weights[k * levels..][..levels];
            let costs = &self.costs[k * levels..][..levels];
            let (mut total, mut first) = ([0.0; LANES], [0.0; LANES]);
            for j in 0..levels {
                for l in 0..LANES {
                    let share = weights[j] * log[j][l];
                    total[l] += share;
                    first[l] += share * (mean[j][l] + costs[j]);
                }
            }
            let mut inverse = [0.0; LANES];
            for l in 0..LANES {
                // A hole of the lattice may be so far from everything that its sum is subnormal
                // and has no inverse: it is nothing to any source, and is left a hole.
                let lost = total[l] < f64::MIN_POSITIVE;
                total[l] = if lost { 0.0 } else { total[l] };
                inverse[l] = if lost { 0.0 } else { 1.0 / total[l] };
                first[l] *= inverse[l];
            }
            let mut second = [0.0; LANES];
            for j in 0..levels {
                for l in 0..LANES {
                    let off = mean[j][l] + costs[j] - first[l];
                    second[l] += weights[j] * log[j][l] * (var[j][l] + off * off);
                }
            }
            for l in 0..LANES {
                log_out[k][l] = top[l] + total[l].ln();
                mean_out[k][l] = first[l];
                var_out[k][l] = second[l] * inverse[l];
            }
        }
    }
}

/// Lines whose exponents span too much: each sum is taken from its own maximum.
fn wild(s: f64, costs: &[f64], added: &[f64], tile: &mut Tile) {
    let [log, mean, var] = &tile.input;
    let levels = log.len();
    for k in 0..levels {
        let [costs, added] = [costs, added].map(|all| &all[k * levels..][..levels]);
        for l in 0..LANES {
            let exponent = |j: usize| log[j][l] - penalty(s, costs[j]);
            let top = (0..levels).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            let mut moments = Moments::default();
            if top > f64::NEG_INFINITY {
                for j in 0..levels {
                    moments.add((exponent(j) - top).exp(), mean[j][l] + added[j], var[j][l]);
                }
            }
            tile.output[0][k][l] = top + moments.weight.ln();
            tile.output[1][k][l] = moments.mean;
            tile.output[2][k][l] = moments.variance();
        }
    }
}

/// Weighted mean and variance, updated one term at a time without cancellation.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    /// The weights' sum.
    pub weight: f64,
    /// The weighted mean.
    pub mean: f64,
    spread: f64,
}

impl Moments {
    /// Adds a term of this weight whose own distribution has this mean and variance.
    #[inline(always)]
    pub fn add(&mut self, weight: f64, mean: f64, variance: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let off = mean - self.mean;
            self.mean += off * (weight / self.weight);
            self.spread += weight * (variance + off * (mean - self.mean));
        }
    }

    /// The weighted variance.
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.spread / self.weight } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    /// The sums written out: logarithm, mean and variance of every level of one line.
    fn slow(
        metric: Metric,
        coords: &[f64],
        (s, carried): (f64, Carried),
        line: [&[f64]; 3],
    ) -> Vec<(f64, f64, f64)> {
        let [log, mean, var] = line;
        let one = |k: usize| {
            let cost = |j: usize| metric.cost(coords[k], coords[j]);
            let added = |j: usize| if carried == Carried::Cost { cost(j) } else { 0.0 };
            let exponent = |j: usize| log[j] - penalty(s, cost(j));
            let top = (0..coords.len()).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            if top == f64::NEG_INFINITY {
                return (top, 0.0, 0.0);
            }
            let share = |j: usize| (exponent(j) - top).exp();
            let all: f64 = (0..coords.len()).map(share).sum();
            let middle: f64 = (0..coords.len()).map(|j| share(j) * (mean[j] + added(j))).sum();
            let middle = middle / all;
            let off = |j: usize| mean[j] + added(j) - middle;
            let around = |j: usize| share(j) * (var[j] + off(j) * off(j));
            (top + all.ln(), middle, (0..coords.len()).map(around).sum::<f64>() / all)
        };
        (0..coords.len()).map(one).collect()
    }

    #[test]
    fn every_kernel_adds_up_what_is_written_out() {
        let mut random = Random::new(11, 0);
        for round in 0..200usize {
            let levels = 2 + random.below(60);
            let mut coords: Vec<f64> = (0..levels).map(|k| 3.0 + 0.1 * k as f64).collect();
            if round % 3 == 1 {
                coords.iter_mut().for_each(|x| *x += 0.05 * random.normal());
            }
            if round % 5 == 0 {
                coords[levels - 1] = f64::NAN;
            }
            let flat = round % 2 == 0;
            let metric = match flat {
                true => Metric::Flat { weight: 0.7, missing: 0.4 },
                // A feature that costs nothing is crossed even at an infinite price.
                false if round % 9 == 1 => Metric::Square { weight: 0.0, missing: 0.4 },
                false => Metric::Square { weight: 0.3, missing: 0.4 },
            };
            // A few lines by themselves, or enough to be taken side by side; some wild, some with holes.
            let count = [1, 3, 40][round % 3];
            let (range, holes) = ([1.0, 30.0, 900.0][round % 3], round % 4 == 0);
            let mut log: Vec<f64> = (0..levels * count)
                .map(|_| match holes && random.below(3) == 0 {
                    true => f64::NEG_INFINITY,
                    false => range * (random.normal() * 0.3),
                })
                .collect();
            let mut mean: Vec<f64> = log.iter().map(|_| random.normal().abs()).collect();
            let mut var: Vec<f64> = log.iter().map(|_| random.normal().abs()).collect();
            let finite = || log.iter().copied().filter(|x| x.is_finite());
            let spread =
                finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
            let carried = if round % 7 < 4 { Carried::Cost } else { Carried::Own };
            for s in [0.0, 0.8, 40.0, f64::INFINITY] {
                let before = [log.clone(), mean.clone(), var.clone()];
                // Lines lie one after the other: neighbours of a line are next to each other.
                let arrays = [&mut log[..], &mut mean[..], &mut var[..]];
                Axis::new(metric, &coords).pass(1, s, spread.max(0.0), carried, arrays);
                for line in 0..count {
                    let here = line * levels..(line + 1) * levels;
                    let given = [0, 1, 2].map(|m| &before[m][here.clone()]);
                    for (k, wanted) in
                        slow(metric, &coords, (s, carried), given).into_iter().enumerate()
                    {
                        let at = here.start + k;
                        let found = (log[at], mean[at], var[at]);
                        let near =
                            |a: f64, b: f64| a == b || (a - b).abs() <= 1e-11 * (1.0 + b.abs());
                        let what = format!("{round} {levels} {count} {s} {found:?} {wanted:?}");
                        assert!(near(found.0, wanted.0), "{what}");
                        // A hole that nobody reaches keeps what it had.
                        if wanted.0 > f64::NEG_INFINITY {
                            assert!(near(found.1, wanted.1) && near(found.2, wanted.2), "{what}");
                        }
                    }
                }
                [log, mean, var] = before;
            }
        }
    }
}

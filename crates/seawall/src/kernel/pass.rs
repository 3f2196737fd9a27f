//! One max-plus pass over a grid, heights alone: `out_k = max_j (h_j − λ c_kj)` along an axis.
//!
//! The same for one cell, and where its height came from.

use super::lines::{gather, scatter};
use super::max_plus::{MaxPlusAxis, PassMethod};
use super::metric::{Metric, penalty};
use pulp::{Arch, Simd, WithSimd};

/// Lines that the vector kernel takes at once: a multiple of what any machine holds in registers.
const LANES: usize = 32;
/// Vectors held in registers at once.
const HELD: usize = 4;

/// Room for lines laid side by side, before a pass and after it.
pub type Tiles = [Vec<[f64; LANES]>; 2];

/// One axis that can be moved along, at a price.
#[derive(Clone)]
pub struct Pass {
    pub axis: MaxPlusAxis,
    /// How far apart the cells of a line are.
    pub inner: usize,
    /// Minus the penalties at the price, for a dense axis.
    pub moves: Vec<f64>,
    /// For each level, the first and one past the last level that it may pay to come from.
    pub windows: Vec<(usize, usize)>,
    /// For an axis of equal costs: minus what a move takes off.
    flat: Option<FlatPass>,
}

/// Moves of equal cost: to the best level, and to or from the missing one.
#[derive(Clone, Copy)]
struct FlatPass {
    to_top: f64,
    hole: usize,
    to_hole: f64,
}

impl Pass {
    /// Along an axis whose lines' cells are `inner` apart; it has no price yet.
    pub fn new(axis: MaxPlusAxis, inner: usize) -> Self {
        let windows = vec![(0, 0); axis.levels];
        Pass { axis, inner, moves: Vec::new(), windows, flat: None }
    }

    /// The level of a cell along the axis.
    pub fn level(&self, cell: u32) -> usize {
        cell as usize / self.inner % self.axis.levels
    }

    /// Takes on a price. A move that takes off more than the whole span of heights never pays:
    /// it would end below any height, also after rounding, which keeps order.
    pub fn set(&mut self, price: f64, span: f64) {
        let none = usize::MAX;
        let levels = self.axis.levels;
        self.flat = match (&self.axis.method, self.axis.metric) {
            // Every move is free: the highest level is best for all.
            _ if price == 0.0 => Some(FlatPass { to_top: 0.0, hole: none, to_hole: 0.0 }),
            (PassMethod::Flat { missing }, Metric::Flat { weight, missing: cost }) => {
                Some(FlatPass {
                    to_top: -penalty(price, weight),
                    hole: missing.unwrap_or(none),
                    to_hole: -penalty(price, cost),
                })
            }
            _ => None,
        };
        let PassMethod::Dense { costs } = &self.axis.method else { return };
        self.moves.clear();
        self.moves.extend(costs.iter().map(|&c| -penalty(price, c)));
        for (row, window) in self.moves.chunks_exact(levels).zip(&mut self.windows) {
            let pays = |m: &f64| -m <= span && *m > f64::NEG_INFINITY;
            let first = row.iter().position(pays).unwrap_or(0);
            *window = (first, row.iter().rposition(pays).map_or(first, |last| last + 1));
        }
    }

    /// Whether no move pays at the price, so that everything stays.
    pub fn stays(&self) -> bool {
        match self.flat {
            Some(FlatPass { to_top, to_hole, .. }) => to_top.max(to_hole) == f64::NEG_INFINITY,
            None => self.windows.iter().enumerate().all(|(k, w)| *w == (k, k + 1)),
        }
    }

    /// The pass: heights below in, heights above out.
    pub fn raise(&self, below: &[f64], above: &mut [f64], [from, to]: &mut Tiles) {
        let (levels, inner) = (self.axis.levels, self.inner);
        if inner >= LANES {
            return Arch::new().dispatch(Raise { pass: self, inner, below, above });
        }
        // Lines are short steps apart: as many whole blocks as fit, side by side.
        from.resize(levels, [0.0; LANES]);
        to.resize(levels, [0.0; LANES]);
        let some = (LANES / inner) * levels * inner;
        for (below, above) in below.chunks(some).zip(above.chunks_mut(some)) {
            gather(inner, below, from);
            let (below, out) = (from.as_flattened(), to.as_flattened_mut());
            Arch::new().dispatch(Raise { pass: self, inner: LANES, below, above: out });
            scatter(inner, above, to);
        }
    }

    /// The height of one cell after the pass.
    pub fn height(&self, below: &[f64], cell: usize, level: usize) -> f64 {
        let first = cell - level * self.inner;
        let higher = |best: f64, height: f64| if height > best { height } else { best };
        let Some(flat) = self.flat else {
            let (start, end) = self.windows[level];
            let moves = &self.moves[level * self.axis.levels..][..end];
            let line = &below[first..][..(end - 1) * self.inner + 1];
            let heights = (start..end).map(|j| line[j * self.inner] + moves[j]);
            return heights.fold(below[cell], higher);
        };
        let (top, to_top) = (self.top(below, first, flat), flat.to_top);
        let to_top = if level == flat.hole { flat.to_hole } else { to_top };
        let best = higher(below[cell], below[first + top * self.inner] + to_top);
        if flat.hole < self.axis.levels && level != flat.hole {
            higher(best, below[first + flat.hole * self.inner] + flat.to_hole)
        } else {
            best
        }
    }

    /// Where a cell's height after the pass came from, if it was not its own: the first level
    /// that gives it, and the cost of that move.
    pub fn origin(&self, below: &[f64], cell: usize, level: usize, height: f64) -> (usize, f64) {
        let first = cell - level * self.inner;
        if let (None, PassMethod::Dense { costs }) = (self.flat, &self.axis.method) {
            let (start, end) = self.windows[level];
            let row = level * self.axis.levels;
            let moves = &self.moves[row..][..end];
            let line = &below[first..][..(end - 1) * self.inner + 1];
            let gives = |&j: &usize| line[j * self.inner] + moves[j] == height;
            let from = (start..end).find(gives).unwrap_or(level);
            return (from, costs[row + from]);
        }
        let (Some(flat), missing) = (self.flat, self.axis.metric.missing()) else {
            return (level, 0.0);
        };
        let top = self.top(below, first, flat);
        if level == flat.hole {
            (top, missing)
        } else if below[first + top * self.inner] + flat.to_top == height {
            (top, self.weight())
        } else {
            (flat.hole, missing)
        }
    }

    /// What a move between two levels of a dense axis costs.
    pub fn cost(&self, level: usize, from: usize) -> f64 {
        match &self.axis.method {
            PassMethod::Dense { costs } => costs[level * self.axis.levels + from],
            _ => 0.0,
        }
    }

    /// The first of the highest levels of a line, the missing one apart.
    fn top(&self, below: &[f64], first: usize, flat: FlatPass) -> usize {
        let height = |j: usize| below[first + j * self.inner];
        let mut top = usize::from(flat.hole == 0);
        for j in (0..self.axis.levels).filter(|&j| j != flat.hole) {
            if height(j) > height(top) {
                top = j;
            }
        }
        top
    }

    /// What a move between two levels costs, where that is one number.
    fn weight(&self) -> f64 {
        match self.axis.metric {
            Metric::Square { weight, .. } | Metric::Flat { weight, .. } => weight,
            Metric::Wall => f64::INFINITY,
        }
    }
}

/// One pass over whole blocks whose rows are `inner ≥ LANES` long.
struct Raise<'a> {
    pass: &'a Pass,
    inner: usize,
    below: &'a [f64],
    above: &'a mut [f64],
}

impl WithSimd for Raise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (wide, block) = (HELD * S::F64_LANES, self.inner * self.pass.axis.levels);
        let blocks = self.below.chunks_exact(block).zip(self.above.chunks_exact_mut(block));
        for (below, above) in blocks {
            for column in (0..self.inner).step_by(wide) {
                // The last columns are worked out twice rather than one by one.
                let column = column.min(self.inner - wide);
                let rows = Columns { inner: self.inner, column, below, above: &mut *above };
                match self.pass.flat {
                    Some(flat) => rows.flat(simd, flat),
                    None => rows.dense(simd, &self.pass.moves, &self.pass.windows),
                }
            }
        }
    }
}

/// A few vectors' worth of neighbouring lines.
struct Columns<'a> {
    inner: usize,
    column: usize,
    below: &'a [f64],
    above: &'a mut [f64],
}

impl Columns<'_> {
    #[inline(always)]
    fn load<S: Simd>(&self, level: usize) -> [S::f64s; HELD] {
        let row = &self.below[level * self.inner + self.column..][..HELD * S::F64_LANES];
        let vectors = S::as_simd_f64s(row).0;
        std::array::from_fn(|v| vectors[v])
    }

    #[inline(always)]
    fn store<S: Simd>(&mut self, level: usize, heights: [S::f64s; HELD]) {
        let row = &mut self.above[level * self.inner + self.column..][..HELD * S::F64_LANES];
        S::as_mut_simd_f64s(row).0.copy_from_slice(&heights);
    }

    /// Two levels at a time, so that what is loaded is used twice. A window that is too wide
    /// changes nothing.
    #[inline(always)]
    fn dense<S: Simd>(mut self, simd: S, moves: &[f64], windows: &[(usize, usize)]) {
        let levels = windows.len();
        for (k, (windows, moves)) in windows.chunks(2).zip(moves.chunks(2 * levels)).enumerate() {
            match *windows {
                [a, b] => {
                    let (first, second) = moves.split_at(levels);
                    let (mut one, mut two) = (self.load::<S>(2 * k), self.load::<S>(2 * k + 1));
                    for j in a.0.min(b.0)..a.1.max(b.1) {
                        let candidate = self.load::<S>(j);
                        take(simd, &mut one, candidate, first[j]);
                        take(simd, &mut two, candidate, second[j]);
                    }
                    self.store::<S>(2 * k, one);
                    self.store::<S>(2 * k + 1, two);
                }
                [(start, end)] => {
                    let mut best = self.load::<S>(2 * k);
                    for (j, &step) in moves.iter().enumerate().take(end).skip(start) {
                        take(simd, &mut best, self.load::<S>(j), step);
                    }
                    self.store::<S>(2 * k, best);
                }
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn flat<S: Simd>(mut self, simd: S, flat: FlatPass) {
        let levels = self.below.len() / self.inner;
        let mut top = self.load::<S>(usize::from(flat.hole == 0));
        for j in (0..levels).filter(|&j| j != flat.hole) {
            take(simd, &mut top, self.load::<S>(j), 0.0);
        }
        for k in 0..levels {
            let mut best = self.load::<S>(k);
            if k == flat.hole {
                take(simd, &mut best, top, flat.to_hole);
            } else {
                take(simd, &mut best, top, flat.to_top);
                if flat.hole < levels {
                    take(simd, &mut best, self.load::<S>(flat.hole), flat.to_hole);
                }
            }
            self.store::<S>(k, best);
        }
    }
}

/// Raises the best to a candidate after a move.
#[inline(always)]
fn take<S: Simd>(simd: S, best: &mut [S::f64s; HELD], candidate: [S::f64s; HELD], step: f64) {
    let step = simd.splat_f64s(step);
    for (best, candidate) in best.iter_mut().zip(candidate) {
        *best = simd.max_f64s(simd.add_f64s(candidate, step), *best);
    }
}

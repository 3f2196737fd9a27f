//! The grid engine: one max-plus pass per feature over all cells at once.
//!
//! A grid is its own lattice. Points are laid on the lattice of the levels they use; cells where
//! no point lies hold `−∞`, and of several points in one cell the highest stands for them, since
//! moves between them are free. In memory: two numbers a cell beside the problem's own.

use super::{Engine, EngineKind, MOST_CELLS, Maxima, Patience, Sums};
use crate::ambiguity::geometry::Geometry;
use crate::ambiguity::problem::Heights;
use crate::kernel::max_plus::{self, Axis, Carry};
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::kernel::sum;
use crate::population::Population;
use crate::progress::Watch;
use crate::space::{Grid, Space, Support};
use std::sync::Arc;

/// A lattice and how the support lies on it.
pub(in crate::ambiguity) struct Shape {
    /// Each feature's coordinates.
    pub coords: Vec<Vec<f64>>,
    pub grid: Grid,
    /// For points: the cell of each.
    pub cells: Option<Vec<u32>>,
    /// Steps that a cell takes in the passes over all axes.
    steps: usize,
}

impl Shape {
    /// The lattice under a support, if it is not too large.
    pub fn new(space: &Space) -> Option<Self> {
        match space.support() {
            Support::Grid(grid) => {
                let features = grid.levels().len();
                let coords = (0..features).map(|k| space.coords(k).to_vec()).collect();
                let steps = steps(space, grid);
                Some(Shape { coords, grid: grid.clone(), cells: None, steps })
            }
            Support::Points(points) => points_shape(space, points.len()),
        }
    }

    /// The cost of one pass over every axis, in cell-steps.
    pub fn work(&self) -> f64 {
        self.grid.len() as f64 * self.steps as f64
    }

    /// The cell of a point.
    #[inline(always)]
    pub fn cell(&self, point: usize) -> usize {
        self.cells.as_ref().map_or(point, |cells| cells[point] as usize)
    }
}

/// Steps that a cell takes in the passes over all axes.
fn steps(space: &Space, grid: &Grid) -> usize {
    let levels = grid.levels().iter().zip(space.metrics());
    levels.map(|(&k, metric)| max_plus::steps(metric, k)).sum()
}

/// The engine.
pub(super) struct Lattice {
    population: Population,
    shape: Arc<Shape>,
    axes: Vec<Axis>,
    sources: Arc<[u32]>,
    /// Whether no wall keeps anyone from the highest place.
    open: bool,
}

/// The engine, loaded.
struct Loaded<'v> {
    engine: Arc<Lattice>,
    heights: Heights<'v>,
    /// For points: which of them stands for each cell, `u32::MAX` for none.
    owners: Option<Vec<u32>>,
    h: Vec<f64>,
    ride: Vec<f64>,
    /// Asked between passes.
    patience: Patience<'v>,
}

impl Lattice {
    /// The engine over a lattice.
    pub fn new(geometry: &Geometry, shape: &Arc<Shape>, axes: Vec<Axis>) -> Self {
        let metrics = geometry.population().space().metrics();
        Lattice {
            population: geometry.population().clone(),
            axes,
            sources: geometry.shared_sources(),
            open: !metrics.contains(&Metric::Wall),
            shape: shape.clone(),
        }
    }
}

impl Engine for Lattice {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn kind(&self) -> Option<EngineKind> {
        Some(EngineKind::Grid)
    }

    fn load<'v>(self: Arc<Self>, heights: Heights<'v>, watch: Watch<'v>) -> Box<dyn Maxima + 'v> {
        let owners = self.shape.cells.as_ref();
        let owners = owners.map(|cells| owners_of(&heights, cells, self.shape.grid.len()));
        let steps = self.shape.work() as usize / self.axes.len().max(1);
        let patience = Patience::new(watch, self.axes.len(), steps);
        Box::new(Loaded {
            engine: self,
            heights,
            owners,
            h: Vec::new(),
            ride: Vec::new(),
            patience,
        })
    }
}

impl Loaded<'_> {
    /// The value of a cell before any pass.
    #[inline(always)]
    fn start(&self, cell: usize) -> f64 {
        match &self.owners {
            None => self.heights.at(cell),
            Some(owners) => match owners[cell] {
                u32::MAX => f64::NEG_INFINITY,
                owner => self.heights.at(owner as usize),
            },
        }
    }

    /// Fills the arrays with what a cell holds before any pass.
    fn fill(&mut self, carry: Carry, height: impl Fn(&Self, usize) -> f64) {
        let (mut h, mut ride) = (std::mem::take(&mut self.h), std::mem::take(&mut self.ride));
        h.resize(self.engine.shape.grid.len(), 0.0);
        ride.resize(self.engine.shape.grid.len(), 0.0);
        for (cell, h) in h.iter_mut().enumerate() {
            *h = height(self, cell);
        }
        match carry {
            Carry::Cost => ride.fill(0.0),
            Carry::Index => {
                for (cell, ride) in ride.iter_mut().enumerate() {
                    *ride = self.owners.as_ref().map_or(cell as f64, |o| f64::from(o[cell]));
                }
            }
        }
        (self.h, self.ride) = (h, ride);
    }

    fn passes(&mut self, price: f64, carry: Carry) {
        for (k, axis) in self.engine.axes.iter().enumerate() {
            if !self.patience.go_on() {
                return;
            }
            let inner = self.engine.shape.grid.stride(k);
            axis.pass(inner, price, carry, &mut self.h, &mut self.ride);
        }
    }

    /// As the price falls to 0: the largest value within reach, then the nearest place that has
    /// it. Returns the mean of those values.
    fn transform_at_zero(&mut self, carry: Carry) -> f64 {
        if self.engine.open {
            // Everyone can reach the highest place there is.
            let highest = (0..self.heights.len())
                .map(|point| self.heights.at(point))
                .fold(f64::NEG_INFINITY, f64::max);
            self.fill(
                carry,
                |s, cell| {
                    if s.start(cell) == highest { 0.0 } else { f64::NEG_INFINITY }
                },
            );
            self.passes(1.0, carry);
            return self.total(|_, _| highest);
        }
        self.fill(carry, Self::start);
        self.passes(0.0, Carry::Index);
        let value = self.total(|s, cell| s.h[cell]);
        let reached = std::mem::take(&mut self.h);
        self.fill(
            carry,
            |s, cell| {
                if s.start(cell) == reached[cell] { 0.0 } else { f64::NEG_INFINITY }
            },
        );
        drop(reached);
        self.passes(1.0, carry);
        value
    }

    /// `Σ p_i term(cell of i)`.
    fn total(&self, term: impl Fn(&Self, usize) -> f64 + Sync) -> f64 {
        let weights = self.engine.population.weights();
        sum::sum(self.engine.sources.len(), |s| {
            let i = self.engine.sources[s] as usize;
            weights[i] * term(self, self.engine.shape.cell(i))
        })
    }
}

impl Maxima for Loaded<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        self.patience.begin();
        if price == Price::Zero {
            let value = self.transform_at_zero(Carry::Cost);
            return Sums { value, cost: self.total(|s, cell| s.ride[cell]) };
        }
        self.fill(Carry::Cost, Self::start);
        self.passes(price.get(), Carry::Cost);
        let spent = if price == Price::Infinite { 0.0 } else { price.get() };
        let weights = self.engine.population.weights();
        let [value, cost] = sum::sums(self.engine.sources.len(), &|s: usize| {
            let i = self.engine.sources[s] as usize;
            let cell = self.engine.shape.cell(i);
            let cost = self.ride[cell];
            [weights[i] * (self.h[cell] + spent * cost), weights[i] * cost]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        self.patience.begin();
        if price == Price::Zero {
            self.transform_at_zero(Carry::Index);
        } else {
            self.fill(Carry::Index, Self::start);
            self.passes(price.get(), Carry::Index);
        }
        self.engine
            .sources
            .iter()
            .map(|&i| self.ride[self.engine.shape.cell(i as usize)] as u32)
            .collect()
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }

    fn rest(&mut self) {
        (self.h, self.ride) = (Vec::new(), Vec::new());
    }
}

/// The highest point of each cell.
pub(super) fn owners_of(heights: &Heights<'_>, cells: &[u32], count: usize) -> Vec<u32> {
    let mut owners = vec![u32::MAX; count];
    for (point, &cell) in cells.iter().enumerate() {
        let owner = &mut owners[cell as usize];
        if *owner == u32::MAX || heights.at(point) > heights.at(*owner as usize) {
            *owner = point as u32;
        }
    }
    owners
}

/// Levels up to which distinct coordinates are found by looking each one up.
const FEW_LEVELS: usize = 64;

/// The distinct coordinates of a column in order, one for all missing values, last.
fn distinct_coordinates(mut column: Vec<f64>) -> Vec<f64> {
    let mut few: Vec<f64> = Vec::new();
    let mut missing = false;
    for &x in &column {
        if x.is_nan() {
            missing = true;
            continue;
        }
        let at = few.partition_point(|&level| level < x);
        if few.get(at) != Some(&x) {
            few.insert(at, x);
        }
        if few.len() > FEW_LEVELS {
            break;
        }
    }
    if few.len() <= FEW_LEVELS {
        few.extend(missing.then_some(f64::NAN));
        return few;
    }
    // NaN has one bit pattern per sign; missing is one level.
    column.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f64::NAN);
    column.sort_unstable_by(f64::total_cmp);
    column.dedup_by(|a, b| a == b || (a.is_nan() && b.is_nan()));
    column
}

/// The lattice of the coordinates that scattered points use.
fn points_shape(space: &Space, points: usize) -> Option<Shape> {
    let features = space.names().len();
    let mut coords: Vec<Vec<f64>> = Vec::with_capacity(features);
    let mut cells = 1usize;
    for k in 0..features {
        let distinct = distinct_coordinates(space.column(k));
        cells = cells.checked_mul(distinct.len()).filter(|&n| n <= MOST_CELLS)?;
        coords.push(distinct);
    }
    let grid = Grid::new(coords.iter().map(Vec::len).collect()).ok()?;
    let mut place = vec![0u32; points];
    for (k, levels) in coords.iter().enumerate() {
        for (place, x) in place.iter_mut().zip(space.column(k)) {
            let level =
                if x.is_nan() { levels.len() - 1 } else { levels.partition_point(|&l| l < x) };
            *place += (level * grid.stride(k)) as u32;
        }
    }
    let steps = steps(space, &grid);
    Some(Shape { coords, grid, cells: Some(place), steps })
}

//! The grid engine: one max-plus pass per feature over all cells at once.
//!
//! A grid is its own lattice. Points are laid on the lattice of the levels they use; cells where
//! no point lies hold `−∞`, and of several points in one cell the highest stands for them, since
//! moves between them are free. In memory: two numbers a cell beside the problem's own.

use super::{Engine, EngineKind, InnerMaximizer, Patience, Sums};
use crate::ambiguity::indexed::IndexedPopulation;
use crate::ambiguity::shape::Shape;
use crate::ambiguity::values::ScaledValues;
use crate::kernel::max_plus::{Carry, MaxPlusAxis};
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::kernel::sum;
use crate::population::Population;
use crate::progress::Watch;
use std::sync::Arc;

/// The engine.
pub(super) struct Lattice {
    population: Population,
    shape: Arc<Shape>,
    axes: Vec<MaxPlusAxis>,
    sources: Arc<[u32]>,
    /// Whether no wall keeps anyone from the highest place.
    open: bool,
}

/// The engine, loaded.
struct LatticeMaximizer<'v> {
    engine: Arc<Lattice>,
    heights: ScaledValues<'v>,
    /// For points: which of them stands for each cell, `u32::MAX` for none.
    owners: Option<Vec<u32>>,
    h: Vec<f64>,
    ride: Vec<f64>,
    /// Asked between passes.
    patience: Patience<'v>,
}

impl Lattice {
    /// The engine over a lattice.
    pub fn new(indexed: &IndexedPopulation, shape: &Arc<Shape>, axes: Vec<MaxPlusAxis>) -> Self {
        let metrics = indexed.population().space().metrics();
        Lattice {
            population: indexed.population().clone(),
            axes,
            sources: indexed.shared_sources(),
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

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        watch: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let owners = self.shape.cells.as_ref();
        let owners = owners.map(|cells| owners_of(&heights, cells, self.shape.grid.len()));
        let steps = self.shape.work() as usize / self.axes.len().max(1);
        let patience = Patience::new(watch, self.axes.len(), steps);
        Box::new(LatticeMaximizer {
            engine: self,
            heights,
            owners,
            h: Vec::new(),
            ride: Vec::new(),
            patience,
        })
    }
}

impl LatticeMaximizer<'_> {
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

impl InnerMaximizer for LatticeMaximizer<'_> {
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
pub(super) fn owners_of(heights: &ScaledValues<'_>, cells: &[u32], count: usize) -> Vec<u32> {
    let mut owners = vec![u32::MAX; count];
    for (point, &cell) in cells.iter().enumerate() {
        let owner = &mut owners[cell as usize];
        if *owner == u32::MAX || heights.at(point) > heights.at(*owner as usize) {
            *owner = point as u32;
        }
    }
    owners
}

//! The grid engine where sources are few among the cells: no pass carries anything, and each
//! source finds its own way back.

use super::lattice::{Lattice, owners_of};
use super::{Engine, EngineKind, InnerMaximizer, Sums};
use crate::ambiguity::indexed::IndexedPopulation;
use crate::ambiguity::shape::Shape;
use crate::ambiguity::values::ScaledValues;
use crate::kernel::layers::{self, Layers, Way};
use crate::kernel::max_plus::MaxPlusAxis;
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::kernel::sum;
use crate::population::Population;
use crate::progress::Watch;
use std::collections::VecDeque;
use std::sync::Arc;

/// Evaluations whose targets are kept: the two that bracket an answer are among the latest.
const RECENT: usize = 8;

/// The engine over a lattice that suits its size and its sources.
pub(super) fn on(indexed: &IndexedPopulation, shape: &Arc<Shape>) -> Arc<dyn Engine> {
    let metrics = indexed.population().space().metrics();
    let axes: Vec<MaxPlusAxis> =
        metrics.iter().zip(&shape.coords).map(|(&m, c)| MaxPlusAxis::new(m, c)).collect();
    let (cells, sources) = (shape.grid.len(), indexed.sources());
    if !layers::suit(&axes, cells, sources.len()) {
        return Arc::new(Lattice::new(indexed, shape, axes));
    }
    let at = sources.iter().map(|&i| shape.cell(i as usize) as u32).collect();
    let strides = (0..axes.len()).map(|k| shape.grid.stride(k));
    let layers = Layers::new(axes.into_iter().zip(strides).collect(), cells, at);
    let population = indexed.population().clone();
    let (sources, shape) = (indexed.shared_sources(), shape.clone());
    let open = !metrics.contains(&Metric::Wall);
    Arc::new(Few { population, sources, shape, layers, open })
}

/// The engine.
struct Few {
    population: Population,
    sources: Arc<[u32]>,
    shape: Arc<Shape>,
    /// The grid, without heights.
    layers: Layers,
    /// Whether no wall keeps anyone from the highest place.
    open: bool,
}

/// The engine, loaded.
struct FewMaximizer {
    engine: Arc<Few>,
    /// For points: which of them stands for each cell.
    owners: Option<Vec<u32>>,
    layers: Layers,
    /// The latest prices, and the cells that each sent the sources to.
    recent: VecDeque<(Price, Vec<u32>)>,
}

impl Engine for Few {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn kind(&self) -> Option<EngineKind> {
        Some(EngineKind::Grid)
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let cells = self.shape.grid.len();
        let owners = self.shape.cells.as_ref().map(|of| owners_of(&heights, of, cells));
        let start = match &owners {
            None => (0..cells).map(|cell| heights.at(cell)).collect(),
            Some(owners) => {
                let height = |&o: &u32| match o {
                    u32::MAX => f64::NEG_INFINITY,
                    owner => heights.at(owner as usize),
                };
                owners.iter().map(height).collect()
            }
        };
        let layers = self.layers.loaded(start);
        Box::new(FewMaximizer { engine: self, owners, layers, recent: VecDeque::new() })
    }
}

impl FewMaximizer {
    /// Keeps the cells that a price sends the sources to.
    fn keep(&mut self, price: Price, ways: &[Way]) {
        self.recent.truncate(RECENT - 1);
        self.recent.push_front((price, ways.iter().map(|way| way.cell).collect()));
    }

    /// `Σ p_i term_i`, two sums at once.
    fn sums(&self, term: impl Fn(usize) -> [f64; 2] + Sync) -> Sums {
        let (weights, sources) = (self.engine.population.weights(), &self.engine.sources);
        let [value, cost] = sum::sums(sources.len(), &|s: usize| {
            let weight = weights[sources[s] as usize];
            term(s).map(|x| weight * x)
        });
        Sums { value, cost }
    }
}

impl InnerMaximizer for FewMaximizer {
    fn evaluate(&mut self, price: Price) -> Sums {
        if price == Price::Zero {
            let (highest, ways) = self.layers.ways_to_highest(self.engine.open);
            self.keep(price, &ways);
            return self.sums(|s| [highest[s], ways[s].cost]);
        }
        let ways = self.layers.ways(price.get());
        self.keep(price, &ways);
        let spent = if price == Price::Infinite { 0.0 } else { price.get() };
        self.sums(|s| [ways[s].height + spent * ways[s].cost, ways[s].cost])
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        if !self.recent.iter().any(|(p, _)| *p == price) {
            self.evaluate(price);
        }
        let kept = self.recent.iter().find(|(p, _)| *p == price);
        let cells = kept.map(|(_, cells)| cells.clone()).unwrap_or_default();
        match &self.owners {
            None => cells,
            Some(owners) => cells.iter().map(|&cell| owners[cell as usize]).collect(),
        }
    }

    fn rest(&mut self) {
        self.layers.rest();
        self.recent.clear();
    }
}

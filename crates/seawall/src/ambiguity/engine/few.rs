//! The grid engine where sources are few among the cells: no pass carries anything, and each
//! source finds its own way back.

use super::lattice::{Lattice, Shape, owners};
use super::{Maxima, Problem, Sums};
use crate::kernel::layers::{self, Layers, Way};
use crate::kernel::max_plus::Axis;
use crate::kernel::order::Price;
use crate::kernel::sum;
use std::collections::VecDeque;

/// Evaluations whose targets are kept: the two that bracket an answer are among the latest.
const RECENT: usize = 8;

/// The engine over a lattice that suits its size and its sources.
pub(super) fn on<'a>(problem: &Problem<'a>, shape: Shape) -> Box<dyn Maxima + 'a> {
    let sources = problem.sources();
    let metrics = problem.space().metrics();
    let axes: Vec<Axis> =
        metrics.iter().zip(&shape.coords).map(|(&m, c)| Axis::new(m, c)).collect();
    let cells = shape.grid.len();
    if !layers::suit(&axes, cells, sources.len()) {
        return Box::new(Lattice::new(problem, shape));
    }
    let owners = shape.cells.as_ref().map(|of| owners(problem, of, cells));
    let start = match &owners {
        None => (0..cells).map(|cell| problem.scaled(cell)).collect(),
        Some(owners) => owners
            .iter()
            .map(|&o| if o == u32::MAX { f64::NEG_INFINITY } else { problem.scaled(o as usize) })
            .collect(),
    };
    let at = sources.iter().map(|&i| shape.cell(i as usize) as u32).collect();
    let strides = (0..axes.len()).map(|k| shape.grid.stride(k));
    let layers = Layers::new(axes.into_iter().zip(strides).collect(), start, at);
    Box::new(Few { problem: *problem, sources, owners, layers, recent: VecDeque::new() })
}

/// The engine.
struct Few<'a> {
    problem: Problem<'a>,
    sources: Vec<u32>,
    /// For points: which of them stands for each cell.
    owners: Option<Vec<u32>>,
    layers: Layers,
    /// The latest prices, and the cells that each sent the sources to.
    recent: VecDeque<(Price, Vec<u32>)>,
}

impl Few<'_> {
    /// Keeps the cells that a price sends the sources to.
    fn keep(&mut self, price: Price, ways: &[Way]) {
        self.recent.truncate(RECENT - 1);
        self.recent.push_front((price, ways.iter().map(|way| way.cell).collect()));
    }

    /// `Σ p_i term_i`, two sums at once.
    fn sums(&self, term: impl Fn(usize) -> [f64; 2] + Sync) -> Sums {
        let weights = self.problem.population.weights();
        let [value, cost] = sum::sums(self.sources.len(), &|s: usize| {
            let weight = weights[self.sources[s] as usize];
            term(s).map(|x| weight * x)
        });
        Sums { value, cost }
    }
}

impl Maxima for Few<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        if price == Price::Zero {
            let (highest, ways) = self.layers.ways_to_highest();
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

    fn sources(&self) -> Vec<u32> {
        self.sources.clone()
    }

    fn rest(&mut self) {
        self.layers.rest();
        self.recent.clear();
    }
}

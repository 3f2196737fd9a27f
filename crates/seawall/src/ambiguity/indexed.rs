//! A population with what engines look up in it: the points that mass comes from, and the lattice
//! under its support.

use super::shape::Shape;
use crate::kernel::metric::Metric;
use crate::population::Population;
use crate::space::bits;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// A population, its sources and its lattice; what takes long is made when it is first asked for.
pub(super) struct IndexedPopulation {
    population: Population,
    /// Shared with the engines: there may be millions.
    sources: Arc<[u32]>,
    shape: OnceLock<Option<Arc<Shape>>>,
    free_moves: OnceLock<bool>,
}

impl IndexedPopulation {
    pub fn new(population: &Population) -> Self {
        let weights = population.weights();
        let sources = (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
        IndexedPopulation {
            population: population.clone(),
            sources,
            shape: OnceLock::new(),
            free_moves: OnceLock::new(),
        }
    }

    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The points that mass comes from, in order.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    pub fn shared_sources(&self) -> Arc<[u32]> {
        self.sources.clone()
    }

    /// The lattice under the support, if it is not too large.
    pub fn shape(&self) -> Option<&Arc<Shape>> {
        let shape = || Shape::new(self.population.space()).map(Arc::new);
        self.shape.get_or_init(shape).as_ref()
    }

    /// Whether some move between points may cost nothing: a feature whose moves are free, or two
    /// points in one place.
    pub fn has_free_moves(&self) -> bool {
        *self.free_moves.get_or_init(|| {
            let space = self.population.space();
            let free = |metric: &Metric| match metric {
                Metric::Square { weight, missing } | Metric::Flat { weight, missing } => {
                    *weight == 0.0 || *missing == 0.0
                }
                Metric::Wall => false,
            };
            if space.metrics().iter().any(free) {
                return true;
            }
            // On a grid two cells are in one place only if two levels of a feature are.
            if let crate::space::Layout::Grid(grid) = space.layout() {
                return (0..grid.levels().len()).any(|k| repeats(space.coords(k)));
            }
            if let Some(cells) = self.shape().and_then(|shape| shape.cells.as_ref()) {
                let most = cells.iter().copied().max().unwrap_or(0) as usize;
                let mut taken = vec![false; most + 1];
                let again = |cell: &u32| std::mem::replace(&mut taken[*cell as usize], true);
                return cells.iter().any(again);
            }
            let columns: Vec<Vec<f64>> =
                (0..space.names().len()).map(|k| space.column(k)).collect();
            let mut places = HashSet::with_capacity(space.len());
            !(0..space.len()).all(|i| {
                let place: Vec<u64> = columns.iter().map(|column| bits(column[i])).collect();
                places.insert(place)
            })
        })
    }
}

/// Whether two of the numbers are the same; every NaN is.
fn repeats(numbers: &[f64]) -> bool {
    let mut seen = HashSet::with_capacity(numbers.len());
    !numbers.iter().all(|x| seen.insert(bits(*x)))
}

//! A population prepared for inner maxima: built once, loaded with values as often as wanted.
//!
//! What an engine needs of a space and a population (a lattice, kd-trees, groups behind walls) does
//! not depend on the function whose worst case is asked for. Distances, learning and resampling ask
//! about thousands of functions on one population: they share one geometry.
//!
//! ```
//! use seawall::{Feature, Geometry, Population, Problem, Settings, Wasserstein};
//! let seen = Population::from_samples([Feature::numeric("age")], vec![vec![31.0, 44.0, 70.0]])?;
//! let geometry = Geometry::new(&seen).shared();
//! for loss in [[0.1, 0.2, 0.9], [0.3, 0.2, 0.1]] {
//!     let problem = Problem::on(&geometry, &loss)?;
//!     let worst = Wasserstein.at(0.05).worst_case(&problem, Settings::default())?;
//!     assert!(worst.value() >= problem.nominal());
//! }
//! # Ok::<(), seawall::Error>(())
//! ```

use super::engine::{Engine, EngineKind, Shape, SoftEngine, hard, soft};
use super::problem::{Direction, Heights};
use crate::error::{Error, Result};
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::known::Known;
use crate::population::Population;
use crate::progress::Watch;
use crate::space::bits;
use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A space and a population, ready for inner maxima. What an engine needs is built when it is
/// first asked for.
pub struct Geometry {
    population: Population,
    /// Shared with the engines: there may be millions.
    sources: Arc<[u32]>,
    kind: EngineKind,
    shape: OnceLock<Option<Arc<Shape>>>,
    hard: OnceLock<Result<Arc<dyn Engine>>>,
    soft: OnceLock<Result<Arc<dyn SoftEngine>>>,
    free_moves: OnceLock<bool>,
    /// What is known of the population that is asked about.
    known: Option<Arc<Known>>,
    /// What sets made of it for themselves, by what they call it.
    prepared: Mutex<Vec<(String, Arc<dyn Any + Send + Sync>)>>,
}

impl Geometry {
    /// With the engine that suits the support.
    pub fn new(population: &Population) -> Self {
        Geometry::with(population, EngineKind::Auto)
    }

    /// With an engine by name. That it does not suit the support is said when it is first used.
    pub fn with(population: &Population, kind: EngineKind) -> Self {
        let weights = population.weights();
        let sources = (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
        Geometry {
            population: population.clone(),
            sources,
            kind,
            shape: OnceLock::new(),
            hard: OnceLock::new(),
            soft: OnceLock::new(),
            free_moves: OnceLock::new(),
            known: None,
            prepared: Mutex::default(),
        }
    }

    /// With an engine of one's own. Smoothed sets, which sum over every point, do not use it.
    pub fn with_engine(population: &Population, engine: impl Engine + 'static) -> Self {
        let geometry = Geometry::new(population);
        let engine: Arc<dyn Engine> = Arc::new(engine);
        // The cell is new, so nobody was before us.
        let _ = geometry.hard.set(Ok(engine));
        geometry
    }

    /// The same, where something is known of the population that is asked about; refused if it is of
    /// another space.
    pub fn knowing(self, known: Arc<Known>) -> Result<Self> {
        known.space().same_as(self.population.space())?;
        Ok(Geometry { known: Some(known), ..self })
    }

    /// What is known of the population that is asked about.
    pub fn known(&self) -> Option<&Arc<Known>> {
        self.known.as_ref()
    }

    /// To be shared by problems.
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// The population.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The points that mass comes from, in order.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    pub(super) fn shared_sources(&self) -> Arc<[u32]> {
        self.sources.clone()
    }

    /// The engine that finds the inner maxima.
    pub fn engine(&self) -> Result<&Arc<dyn Engine>> {
        self.hard.get_or_init(|| hard(self)).as_ref().map_err(Error::clone)
    }

    /// Each source's target of the largest `f_j − c_ij`: source, then target, by point.
    pub(crate) fn best_targets(&self, values: &[f64], watch: Watch<'_>) -> Result<Vec<(u32, u32)>> {
        let heights = Heights::new(values, Direction::Cost);
        let mut maxima = self.engine()?.clone().load(heights, watch);
        let targets = maxima.targets(Price::At(heights.scale()));
        if maxima.stopped() {
            return Err(Error::stopped());
        }
        Ok(self.sources.iter().copied().zip(targets).collect())
    }

    /// What a set makes of the geometry alone: made once for every name.
    pub(super) fn prepared<T: Send + Sync + 'static>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let own = || {
            let all = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            let found = all.iter().find(|(n, _)| n == name).map(|(_, made)| made.clone());
            found.and_then(|made| made.downcast::<T>().ok())
        };
        if let Some(made) = own() {
            return Ok(made);
        }
        let made = Arc::new(make()?);
        let mut all = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((name.to_owned(), made.clone()));
        Ok(made)
    }

    /// From each source the nearest point of those marked by 1 among zeros, and the ground cost of going
    /// there; None where none is within reach.
    pub(crate) fn nearest(
        &self,
        marks: &[f64],
        watch: Watch<'_>,
    ) -> Result<Vec<Option<(u32, f64)>>> {
        let space = self.population.space();
        let mut maxima = self.engine()?.clone().load(Heights::new(marks, Direction::Cost), watch);
        // As the price falls to 0: the highest within reach, then the nearest of those.
        let targets = maxima.targets(Price::Zero);
        if maxima.stopped() {
            return Err(Error::stopped());
        }
        let nearest = |(&from, to): (&u32, u32)| match marks[from as usize] > 0.0 {
            true => Some((from, 0.0)),
            false => {
                let reached = marks[to as usize] > 0.0;
                reached.then(|| (to, space.cost(from as usize, to as usize)))
            }
        };
        Ok(self.sources.iter().zip(targets).map(nearest).collect())
    }

    pub(super) fn soft_engine(&self) -> Result<&Arc<dyn SoftEngine>> {
        self.soft.get_or_init(|| soft(self)).as_ref().map_err(Error::clone)
    }

    pub(super) fn kind(&self) -> EngineKind {
        self.kind
    }

    /// About how many steps one evaluation of the dual takes: what a long question can be told by
    /// before it is asked.
    pub fn work(&self) -> f64 {
        let space = self.population.space();
        let pairs = self.sources.len() as f64 * space.len() as f64 * space.names().len() as f64;
        match self.shape() {
            Some(shape) => shape.work().min(pairs),
            None => pairs,
        }
    }

    /// The lattice under the support, if it is not too large.
    pub(super) fn shape(&self) -> Option<&Arc<Shape>> {
        let shape = || Shape::new(self.population.space()).map(Arc::new);
        self.shape.get_or_init(shape).as_ref()
    }

    /// Whether some move between points may cost nothing: a feature whose moves are free, or two
    /// points in one place.
    pub(crate) fn has_free_moves(&self) -> bool {
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
            if let crate::space::Support::Grid(grid) = space.support() {
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

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.hard.get().and_then(|e| e.as_ref().ok()).map(|e| e.name());
        f.debug_struct("Geometry")
            .field("points", &self.population.space().len())
            .field("sources", &self.sources.len())
            .field("engine", &engine)
            .finish()
    }
}

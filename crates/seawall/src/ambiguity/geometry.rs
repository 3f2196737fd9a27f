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

use super::engine::{Engine, EngineKind, SoftEngine, hard, soft};
use super::indexed::IndexedPopulation;
use super::values::{Direction, ScaledValues};
use crate::error::{Error, Result};
use crate::kernel::order::Price;
use crate::known::Known;
use crate::population::Population;
use crate::progress::Watch;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A space and a population, ready for inner maxima. What an engine needs is built when it is
/// first asked for.
pub struct Geometry {
    indexed: IndexedPopulation,
    kind: EngineKind,
    hard: OnceLock<Result<Arc<dyn Engine>>>,
    soft: OnceLock<Result<Arc<dyn SoftEngine>>>,
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
        Geometry {
            indexed: IndexedPopulation::new(population),
            kind,
            hard: OnceLock::new(),
            soft: OnceLock::new(),
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
        known.space().same_as(self.population().space())?;
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
        self.indexed.population()
    }

    /// The points that mass comes from, in order.
    pub fn sources(&self) -> &[u32] {
        self.indexed.sources()
    }

    pub(super) fn shared_sources(&self) -> Arc<[u32]> {
        self.indexed.shared_sources()
    }

    /// The engine that finds the inner maxima.
    pub fn engine(&self) -> Result<&Arc<dyn Engine>> {
        self.hard.get_or_init(|| hard(&self.indexed, self.kind)).as_ref().map_err(Error::clone)
    }

    /// Each source's target of the largest `f_j − c_ij`: source, then target, by point.
    pub(crate) fn best_targets(&self, values: &[f64], watch: Watch<'_>) -> Result<Vec<(u32, u32)>> {
        let heights = ScaledValues::new(values, Direction::Cost);
        let mut maxima = self.engine()?.clone().load(heights, watch);
        let targets = maxima.targets(Price::At(heights.scale()));
        if maxima.stopped() {
            return Err(Error::stopped());
        }
        Ok(self.sources().iter().copied().zip(targets).collect())
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
        let space = self.population().space();
        let mut maxima =
            self.engine()?.clone().load(ScaledValues::new(marks, Direction::Cost), watch);
        // As the price falls to 0: the highest within reach, then the nearest of those.
        let targets = maxima.targets(Price::Zero);
        if maxima.stopped() {
            return Err(Error::stopped());
        }
        let nearest = |(&from, to): (&u32, u32)| {
            if marks[from as usize] > 0.0 {
                Some((from, 0.0))
            } else {
                let reached = marks[to as usize] > 0.0;
                reached.then(|| (to, space.cost(from as usize, to as usize)))
            }
        };
        Ok(self.sources().iter().zip(targets).map(nearest).collect())
    }

    pub(super) fn soft_engine(&self) -> Result<&Arc<dyn SoftEngine>> {
        self.soft.get_or_init(|| soft(&self.indexed, self.kind)).as_ref().map_err(Error::clone)
    }

    pub(super) fn indexed(&self) -> &IndexedPopulation {
        &self.indexed
    }

    /// About how many steps one evaluation of the dual takes: what a long question can be told by
    /// before it is asked.
    pub fn work(&self) -> f64 {
        let space = self.population().space();
        let pairs = self.sources().len() as f64 * space.len() as f64 * space.names().len() as f64;
        match self.indexed.shape() {
            Some(shape) => shape.work().min(pairs),
            None => pairs,
        }
    }

    /// Whether some move between points may cost nothing.
    pub(crate) fn has_free_moves(&self) -> bool {
        self.indexed.has_free_moves()
    }
}

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.hard.get().and_then(|e| e.as_ref().ok()).map(|e| e.name());
        f.debug_struct("Geometry")
            .field("points", &self.population().space().len())
            .field("sources", &self.sources().len())
            .field("engine", &engine)
            .finish()
    }
}

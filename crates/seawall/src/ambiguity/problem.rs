//! What is asked: a population, one value per point, and which direction is worse.

use super::engine::EngineKind;
use super::geometry::Geometry;
use super::values::{Direction, ScaledValues, ValueUnits};
use crate::error::{Error, Result};
use crate::population::Population;
use crate::space::Space;
use std::sync::Arc;

/// A population and the function whose worst-case mean is asked for.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub(super) geometry: Arc<Geometry>,
    pub(super) heights: ScaledValues<'a>,
    pub(super) direction: Direction,
    pub(super) reference: Option<&'a [f64]>,
}

impl<'a> Problem<'a> {
    /// One finite value per point of the population's space; higher is worse. To ask about many
    /// functions on one population use [`on`](Self::on).
    pub fn new(population: &Population, values: &'a [f64]) -> Result<Self> {
        Problem::on(&Geometry::new(population).shared(), values)
    }

    /// The same on a population that was prepared before.
    pub fn on(geometry: &Arc<Geometry>, values: &'a [f64]) -> Result<Self> {
        let points = geometry.population().space().len();
        if values.len() != points {
            return Err(Error::input(format!("{} values for {points} points", values.len())));
        }
        if let Some(i) = values.iter().position(|f| !f.is_finite()) {
            let f = values[i];
            return Err(Error::input(format!(
                "the value of point {i} is {f}; expected a finite number"
            )));
        }
        let direction = Direction::Cost;
        let heights = ScaledValues::new(values, direction);
        Ok(Problem { geometry: geometry.clone(), heights, direction, reference: None })
    }

    /// The same problem in a given direction.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self.heights.factor = direction.sign() * self.heights.factor.abs();
        self
    }

    /// The same problem, its inner maxima found by a named engine.
    #[must_use]
    pub fn engine(mut self, kind: EngineKind) -> Self {
        self.geometry = Geometry::with(self.population(), kind).shared();
        self
    }

    /// The reference weights of the entropic set, in place of uniform ones: one per point, not
    /// negative. A point of weight 0 is out of reach.
    pub fn reference(mut self, weights: &'a [f64]) -> Result<Self> {
        let points = self.heights.len();
        let valid = |w: &f64| *w >= 0.0 && w.is_finite();
        if weights.len() != points || !weights.iter().all(valid) {
            return Err(Error::input(format!(
                "the reference needs {points} finite weights ≥ 0, one per point"
            )));
        }
        if !weights.iter().any(|&w| w > 0.0) {
            return Err(Error::input("all reference weights are 0; expected one above 0"));
        }
        self.reference = Some(weights);
        Ok(self)
    }

    /// The population.
    pub fn population(&self) -> &Population {
        self.geometry.population()
    }

    /// What turns values into heights.
    pub(super) fn units(&self) -> ValueUnits {
        ValueUnits { factor: self.heights.factor, direction: self.direction }
    }

    /// The nominal mean: the answer if nothing shifts.
    pub fn nominal(&self) -> f64 {
        self.heights.unscaled(self.nominal_height())
    }

    pub(super) fn nominal_height(&self) -> f64 {
        let weights = self.population().weights();
        crate::kernel::sum::sum(weights.len(), |i| weights[i] * self.heights.at(i))
    }

    pub(super) fn space(&self) -> &Arc<Space> {
        self.population().space()
    }

    /// The points that mass comes from.
    pub(super) fn sources(&self) -> &[u32] {
        self.geometry.sources()
    }
}

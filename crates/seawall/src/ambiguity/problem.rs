//! What is asked: a population, one value per point, and which direction is worse.

use super::engine::EngineKind;
use super::geometry::Geometry;
use crate::error::{Error, Result};
use crate::population::Population;
use crate::space::Space;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Whether the values are costs or rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Direction {
    /// Higher values are worse: the worst case is the largest mean.
    #[default]
    #[serde(rename = "lower is better")]
    Cost,
    /// Lower values are worse: the worst case is the smallest mean.
    #[serde(rename = "higher is better")]
    Reward,
}

impl Direction {
    /// What turns a value into one that is worse when larger: 1 for costs, −1 for rewards.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Cost => 1.0,
            Direction::Reward => -1.0,
        }
    }

    /// Bounds of something worse when larger, as bounds in this direction.
    pub(crate) fn turned(self, lower: f64, upper: f64) -> (f64, f64) {
        match self {
            Direction::Cost => (lower, upper),
            Direction::Reward => (-upper, -lower),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Cost => "lower is better",
            Direction::Reward => "higher is better",
        })
    }
}

/// What turns a caller's values into heights and back: a signed power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Units {
    factor: f64,
    pub(super) direction: Direction,
}

impl Units {
    /// For values of at most this size.
    pub(super) fn new(largest: f64, direction: Direction) -> Self {
        let factor = match largest > 0.0 {
            true => (-largest.log2().floor()).clamp(-1022.0, 1022.0).exp2(),
            false => 1.0,
        };
        Units { factor: direction.sign() * factor, direction }
    }

    /// What multiplies values, without its sign.
    pub(super) fn scale(self) -> f64 {
        self.factor.abs()
    }

    /// A value as a height.
    pub(super) fn scaled(self, value: f64) -> f64 {
        value * self.factor
    }

    /// A height as a value.
    pub(super) fn unscaled(self, height: f64) -> f64 {
        height / self.factor
    }
}

/// Values as an adversary sees them: of magnitude below 2, worse when larger.
///
/// They are the caller's values times a signed power of two, which is exact, so that no answer
/// depends on it and ties stay ties.
#[derive(Clone, Copy, Debug)]
pub struct Heights<'a> {
    values: &'a [f64],
    factor: f64,
}

impl<'a> Heights<'a> {
    pub(super) fn new(values: &'a [f64], direction: Direction) -> Self {
        let largest = values.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
        Heights { values, factor: Units::new(largest, direction).factor }
    }

    /// The height of a point.
    #[inline(always)]
    pub fn at(&self, point: usize) -> f64 {
        self.values[point] * self.factor
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What multiplies the caller's values, without its sign: prices are in these units too.
    pub fn scale(&self) -> f64 {
        self.factor.abs()
    }

    /// A height in the caller's units and direction.
    pub fn unscaled(&self, height: f64) -> f64 {
        height / self.factor
    }
}

/// A population and the function whose worst-case mean is asked for.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub(super) geometry: Arc<Geometry>,
    pub(super) heights: Heights<'a>,
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
        let heights = Heights::new(values, direction);
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
    pub(super) fn units(&self) -> Units {
        Units { factor: self.heights.factor, direction: self.direction }
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

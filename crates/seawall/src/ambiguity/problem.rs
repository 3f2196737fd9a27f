//! What is asked: a population, one value per point, and which direction is worse.

use crate::error::{Error, Result};
use crate::population::Population;
use crate::space::Space;

/// Whether the values are costs or rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Higher values are worse: the worst case is the largest mean.
    #[default]
    Cost,
    /// Lower values are worse: the worst case is the smallest mean.
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

    /// The direction in words.
    pub fn words(self) -> &'static str {
        match self {
            Direction::Cost => "lower is better",
            Direction::Reward => "higher is better",
        }
    }
}

/// A population and the function whose worst-case mean is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    pub(super) population: &'a Population,
    pub(super) values: &'a [f64],
    pub(super) direction: Direction,
    pub(super) reference: Option<&'a [f64]>,
    /// A signed power of two: `f · factor` has a largest magnitude in [1, 2) and is worse when
    /// larger. Multiplying by it is exact, so no answer depends on it.
    pub(super) factor: f64,
}

impl<'a> Problem<'a> {
    /// One finite value per point of the population's space; higher is worse.
    pub fn new(population: &'a Population, values: &'a [f64]) -> Result<Self> {
        let points = population.space().len();
        if values.len() != points {
            return Err(Error::input(format!("{} values for {points} points", values.len())));
        }
        if let Some(i) = values.iter().position(|f| !f.is_finite()) {
            let f = values[i];
            return Err(Error::input(format!(
                "the value of point {i} is {f}; expected a finite number"
            )));
        }
        let largest = values.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
        let factor = if largest > 0.0 {
            (-largest.log2().floor()).clamp(-1022.0, 1022.0).exp2()
        } else {
            1.0
        };
        Ok(Problem { population, values, direction: Direction::Cost, reference: None, factor })
    }

    /// The same problem in a given direction.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self.factor = match direction {
            Direction::Cost => self.factor.abs(),
            Direction::Reward => -self.factor.abs(),
        };
        self
    }

    /// The reference weights of the entropic set, in place of uniform ones: one per point, not
    /// negative. A point of weight 0 is out of reach.
    pub fn reference(mut self, weights: &'a [f64]) -> Result<Self> {
        let points = self.values.len();
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
    pub fn population(&self) -> &'a Population {
        self.population
    }

    /// The nominal mean: the answer if nothing shifts.
    pub fn nominal(&self) -> f64 {
        self.unscaled(self.nominal_scaled())
    }

    pub(super) fn nominal_scaled(&self) -> f64 {
        let weights = self.population.weights();
        crate::kernel::sum::sum(weights.len(), |i| weights[i] * self.scaled(i))
    }

    pub(super) fn space(&self) -> &'a Space {
        self.population.space()
    }

    /// The points that mass comes from.
    pub(super) fn sources(&self) -> Vec<u32> {
        let weights = self.population.weights();
        (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect()
    }

    /// A point's value as the solvers see it: of magnitude below 2, worse when larger.
    #[inline(always)]
    pub(super) fn scaled(&self, point: usize) -> f64 {
        self.values[point] * self.factor
    }

    /// A solver's value in the user's units and direction.
    pub(super) fn unscaled(&self, value: f64) -> f64 {
        value / self.factor
    }
}

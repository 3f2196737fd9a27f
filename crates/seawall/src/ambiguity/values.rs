//! Values as solvers see them: which direction is worse, and the units in which worse is larger and
//! the largest is of the size of 1.

use serde::{Deserialize, Serialize};
use std::fmt;

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
pub(super) struct ValueUnits {
    pub(super) factor: f64,
    pub(super) direction: Direction,
}

impl ValueUnits {
    /// For values of at most this size.
    pub(super) fn new(largest: f64, direction: Direction) -> Self {
        let factor = if largest > 0.0 {
            (-largest.log2().floor()).clamp(-1022.0, 1022.0).exp2()
        } else {
            1.0
        };
        ValueUnits { factor: direction.sign() * factor, direction }
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
pub struct ScaledValues<'a> {
    values: &'a [f64],
    pub(super) factor: f64,
}

impl<'a> ScaledValues<'a> {
    pub(super) fn new(values: &'a [f64], direction: Direction) -> Self {
        let largest = values.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
        ScaledValues { values, factor: ValueUnits::new(largest, direction).factor }
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

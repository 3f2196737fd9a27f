//! What one feature's move costs: `c_k(x, z)`, already multiplied by the feature's weight.
//!
//! A coordinate is a plain `f64`: a position for [`Metric::Square`], a level's code for the
//! other two, and NaN for a missing value. The ground cost of a space is the sum of its
//! features' costs; that sum is taken by the callers, one feature at a time.

/// What a move of this cost takes off a value at price λ; a move that costs nothing takes nothing,
/// at an infinite price too.
#[inline(always)]
pub fn penalty(price: f64, cost: f64) -> f64 {
    if cost == 0.0 { 0.0 } else { price * cost }
}

/// The cost of moving along one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// `weight · (x − z)²`; to or from a missing value, `missing`.
    Square {
        /// What multiplies the squared difference.
        weight: f64,
        /// What a move to or from the missing value costs.
        missing: f64,
    },
    /// `weight` where the codes differ; to or from a missing value, `missing`.
    Flat {
        /// What a change of level costs.
        weight: f64,
        /// What a move to or from the missing value costs.
        missing: f64,
    },
    /// No move at all: infinite where the codes differ (missing is a code of its own).
    Wall,
}

impl Metric {
    /// The cost between two coordinates.
    #[inline(always)]
    pub fn cost(self, x: f64, z: f64) -> f64 {
        if x.is_nan() || z.is_nan() {
            return if x.is_nan() && z.is_nan() { 0.0 } else { self.missing() };
        }
        match self {
            Metric::Square { weight, .. } => weight * (x - z) * (x - z),
            Metric::Flat { weight, .. } if x != z => weight,
            Metric::Wall if x != z => f64::INFINITY,
            Metric::Flat { .. } | Metric::Wall => 0.0,
        }
    }

    /// The cost between a missing value and any other.
    #[inline(always)]
    pub fn missing(self) -> f64 {
        match self {
            Metric::Square { missing, .. } | Metric::Flat { missing, .. } => missing,
            Metric::Wall => f64::INFINITY,
        }
    }
}

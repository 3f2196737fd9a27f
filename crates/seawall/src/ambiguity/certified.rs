//! A number with the bounds that certify it: what every answer with bounds is told by.

use super::curve::CurveValue;
use super::worst_case::{Status, WorstCase};
use serde::{Deserialize, Serialize};

/// Bounds that agree to this share of their size leave nothing open.
const AGREE: f64 = 1e-9;
/// Of numbers that are smaller than this, that share of it.
const SMALL: f64 = 1e-4;

/// A number that an optimisation found, with bounds on the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertifiedValue {
    /// The number that was found; of a worst case the bound on the safe side.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How the optimisation ended.
    pub status: Status,
}

impl CertifiedValue {
    /// The same number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        CertifiedValue { value: -self.value, lower: -self.upper, upper: -self.lower, ..self }
    }
}

impl WorstCase {
    /// The worst case with its bounds, without its population.
    pub fn certified(&self) -> CertifiedValue {
        CertifiedValue {
            value: self.value(),
            lower: self.lower(),
            upper: self.upper(),
            gap: self.gap(),
            status: self.status(),
        }
    }
}

impl CurveValue {
    /// The value with its bounds: optimal where these agree.
    pub fn certified(&self) -> CertifiedValue {
        let gap = self.upper - self.lower;
        let optimal = gap <= AGREE * self.upper.abs().max(self.lower.abs()).max(SMALL);
        let status = if optimal { Status::Optimal } else { Status::Inexact };
        let CurveValue { value, lower, upper } = *self;
        CertifiedValue { value, lower, upper, gap, status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_change_places_with_the_sign() {
        let status = Status::Inexact;
        let own = CertifiedValue { value: 2.0, lower: 1.0, upper: 2.5, gap: 1.5, status };
        let turned = CertifiedValue { value: -2.0, lower: -2.5, upper: -1.0, gap: 1.5, status };
        assert_eq!((own.negated(), own.negated().negated()), (turned, own));
    }

    #[test]
    fn what_is_read_off_a_curve_is_optimal_where_its_bounds_agree() {
        let read = |lower: f64, upper: f64| CurveValue { value: upper, lower, upper }.certified();
        assert_eq!(read(1.0, 1.0 + 1e-10).status, Status::Optimal);
        assert_eq!(read(1.0, 1.0 + 1e-8).status, Status::Inexact);
        assert_eq!(read(0.0, 1e-14).status, Status::Optimal);
    }
}

//! To how many digits the page tells a number: two of its standard error's, and none that its bounds
//! leave open. The tables beneath the figures keep every digit.

use seawall::Estimate;
use seawall_study::evaluate::{DifferenceValue, PolicyResult, RobustValue};
use seawall_study::words::{limit, short, supported};

/// A worst case.
pub(super) fn worst_case(policy: &PolicyResult, result: &RobustValue) -> Digits {
    let plain = policy.target.map_or(Some(policy.nominal.dm), |there| there.direct());
    let own = result.shown_se().filter(|se| *se > 0.0);
    Digits::new(own.or(plain.map(|e| e.se)).unwrap_or(f64::NAN), result.worst.gap)
}

/// A difference; `plain` is the standard error of the one without a shift.
pub(super) fn difference(result: &DifferenceValue, plain: f64) -> Digits {
    let own = result.shown_se().filter(|se| *se > 0.0);
    let worst = &result.bounds.worst;
    Digits::new(own.unwrap_or(plain), worst.upper - worst.lower)
}

/// An estimate by its own standard error; nothing where the data have no rows for one.
pub(super) fn estimated(estimate: Option<Estimate>) -> String {
    estimate.map_or(String::new(), |e| Digits::new(e.se, 0.0).of(e.value))
}

/// What is known of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    se: f64,
    gap: f64,
}

impl Digits {
    /// By a standard error, if there is one, and how far apart bounds are.
    pub(super) fn new(se: f64, gap: f64) -> Self {
        Digits { se, gap: if gap.is_finite() { gap.abs() } else { 0.0 } }
    }

    /// The number; four digits where nothing is known of its noise.
    pub(super) fn of(self, x: f64) -> String {
        // One digit of the gap.
        let coarse = 10.0 * self.gap;
        if self.se > 0.0 && self.se.is_finite() {
            return supported(x, self.se.max(coarse));
        }
        let fourth = 10f64.powf(x.abs().log10().floor() - 3.0);
        if self.gap > fourth { supported(x, coarse) } else { short(x) }
    }

    /// The two ends of an interval, each rounded to the side on which it still holds.
    pub(super) fn ends(self, (low, high): (f64, f64)) -> String {
        let se = self.se.max(self.gap);
        format!("{} to {}", limit(low, se, false), limit(high, se, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_is_told_that_is_not_known() {
        assert_eq!(Digits::new(0.0312, 1e-12).of(0.279_388_123), "0.279");
        assert_eq!(Digits::new(0.0312, 0.004).of(0.279_388_123), "0.279");
        assert_eq!(Digits::new(0.000_31, 0.004).of(0.279_388_123), "0.279");
        assert_eq!(Digits::new(f64::NAN, 0.0).of(0.279_388_123), "0.2794");
        assert_eq!(Digits::new(f64::NAN, 0.02).of(0.279_388_123), "0.28");
        assert_eq!(Digits::new(f64::NAN, f64::NAN).of(0.0), "0");
        assert_eq!(Digits::new(12.0, 0.0).ends((1234.5, 1300.4)), "1234 to 1301");
    }
}

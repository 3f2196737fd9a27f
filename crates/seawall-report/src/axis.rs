//! The axis of radii: its scale, its ticks and what it is called.
//!
//! ```text
//! linear        share = radius / largest
//! square root   share = √(radius / largest)
//! ```
//!
//! The second is taken where a radius that matters, one of the study's or one that is marked, would lie
//! within the first twentieth of the width: near radii can then be told apart beside a far one. A zero
//! stays a zero, which a logarithm would not leave it.

use seawall_study::report::nice;

/// A radius that matters and takes less of the width than this is squeezed.
const SQUEEZED: f64 = 0.05;

/// From radii to shares of a chart's width.
#[derive(Clone, Copy, Debug)]
pub(super) struct RadiusAxis {
    largest: f64,
    root: bool,
}

impl RadiusAxis {
    /// The axis up to the largest radius on which those that matter can be told apart.
    pub(super) fn new(largest: f64, matter: impl Iterator<Item = f64>) -> Self {
        let least = matter.filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min);
        RadiusAxis { largest, root: least < SQUEEZED * largest }
    }

    /// The share of the width at which a radius is.
    pub(super) fn share(self, radius: f64) -> f64 {
        let share = (radius / self.largest).clamp(0.0, 1.0);
        if self.root { share.sqrt() } else { share }
    }

    /// What the axis is called.
    pub(super) fn label(self) -> &'static str {
        if self.root { "radius (square-root scale)" } else { "radius" }
    }

    /// Round radii, at least so much of the width apart.
    pub(super) fn ticks(self, apart: f64) -> Vec<f64> {
        if !self.root {
            return ticks(0.0, self.largest, 2.0 / (3.0 * apart)).collect();
        }
        let mut kept = Vec::new();
        let mut before = f64::INFINITY;
        for radius in round_below(self.largest) {
            let at = self.share(radius);
            if at < apart {
                break;
            }
            if before - at >= apart {
                kept.push(radius);
                before = at;
            }
        }
        kept.push(0.0);
        kept.reverse();
        kept
    }

    /// Radii between which a straight line on a linear scale bends on this one.
    pub(super) fn bends(self) -> Vec<f64> {
        let steps = if self.root { 120 } else { 0 };
        let radius = |k: usize| self.largest * (k as f64 / steps as f64).powi(2);
        (1..steps).map(radius).collect()
    }
}

/// Two ends with some room beyond; some where there are none.
pub(super) fn padded(ends: (f64, f64)) -> (f64, f64) {
    match ends {
        (low, high) if high - low > 1e-9 * high.abs().max(low.abs()) => {
            (low - 0.04 * (high - low), high + 0.04 * (high - low))
        }
        (low, _) if low.is_finite() => {
            (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0))
        }
        _ => (0.0, 1.0),
    }
}

/// Round numbers between two ends, about so many steps.
pub(super) fn ticks(low: f64, high: f64, steps: f64) -> impl Iterator<Item = f64> {
    let step = nice((high - low) / steps);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(move |k| k as f64 * step)
}

/// 5, 2 and 1 times powers of ten, from the largest that is not above a number.
fn round_below(most: f64) -> impl Iterator<Item = f64> {
    let power = most.log10().floor() as i32;
    let of_power = |power: i32| [5.0, 2.0, 1.0].map(move |digit| digit * 10f64.powi(power));
    (0..12).flat_map(move |k| of_power(power - k)).filter(move |r| *r <= most * (1.0 + 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_radius_makes_near_ones_wider_and_ticks_stay_round() {
        let near = RadiusAxis::new(0.12, [0.01, 0.1].into_iter());
        assert!(near.label() == "radius" && (near.share(0.03) - 0.25).abs() < 1e-12);
        assert!(near.bends().is_empty());
        let far = RadiusAxis::new(4.0, [0.0, 0.02, 3.0].into_iter());
        assert_eq!(far.label(), "radius (square-root scale)");
        assert_eq!((far.share(0.0), far.share(1.0), far.share(9.0)), (0.0, 0.5, 1.0));
        assert!(far.share(0.02) > 0.07);
        let told = far.ticks(0.1);
        assert_eq!(told[0], 0.0);
        assert!(told.contains(&2.0) && told.contains(&0.05), "{told:?}");
        assert!(told.windows(2).all(|w| far.share(w[1]) - far.share(w[0]) >= 0.1 - 1e-12));
        // Nothing that matters, nothing squeezed.
        assert!(!RadiusAxis::new(0.1, [0.0].into_iter()).root);
    }
}

//! Limits of many worst cases brought together: kept within what means can be, nested over the radii, and read
//! off between radii that were solved.
//!
//! ```text
//! within     the range of outcomes, or the value itself where a model goes beyond it
//! nested     L(ε) = max_{ε' ≤ ε} L(ε'),   U(ε) = max_{ε' ≤ ε} U(ε')        (costs; rewards turned round)
//! between    H(ε) = V(ε) − [(1 − s)(V − H)(ε₁) + s (V − H)(ε₂)],   s = (ε − ε₁)/(ε₂ − ε₁)
//! ```

use super::halves::{Limits, SplitNoise};
use crate::ambiguity::Direction;

impl Limits {
    /// Within the range that means can have; a value beyond it, of a model that goes there, stays
    /// within its limits.
    #[must_use]
    pub fn clamped(self, (low, high): (f64, f64), value: f64) -> Self {
        let (low, high) = (low.min(value), high.max(value));
        let (lower, upper) = (self.lower.clamp(low, high), self.upper.clamp(low, high));
        Limits { lower, upper, ..self }
    }

    /// Of the same number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Limits { lower: -self.upper, upper: -self.lower, ..self }
    }

    /// Of a set that contains a population whose own interval is `plain`: some population of the set is as bad
    /// as that interval's good end, or as the value itself if that is better.
    #[must_use]
    pub fn no_better_than(self, plain: (f64, f64), value: f64, direction: Direction) -> Self {
        match direction {
            Direction::Cost => Limits { lower: self.lower.max(plain.0.min(value)), ..self },
            Direction::Reward => Limits { upper: self.upper.min(plain.1.max(value)), ..self },
        }
    }
}

/// Limits at several radii made to fit each other, for larger sets hold smaller ones: what some population
/// within a radius costs, one within any larger radius does, and what none within a radius costs is no less for
/// a larger one. A value is never outside its limits.
pub fn nested(
    radii: &[f64],
    values: &[f64],
    limits: &[Option<Limits>],
    direction: Direction,
) -> Vec<Option<Limits>> {
    let mut order: Vec<usize> = (0..limits.len()).collect();
    order.sort_by(|&a, &b| radii[a].total_cmp(&radii[b]));
    let sign = direction.sign();
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut all = limits.to_vec();
    for at in order {
        let Some(own) = limits[at] else { continue };
        let (good, bad) = match direction {
            Direction::Cost => (own.lower, own.upper),
            Direction::Reward => (own.upper, own.lower),
        };
        least = least.max(sign * good);
        most = most.max(sign * bad);
        let (good, bad) = (sign * least.min(sign * values[at]), sign * most);
        let (lower, upper) = match direction {
            Direction::Cost => (good, bad),
            Direction::Reward => (bad, good),
        };
        all[at] = Some(Limits { lower, upper, ..own });
    }
    all
}

/// What sample splits say at a radius that was solved.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    /// The radius.
    pub radius: f64,
    /// The value as fitted there.
    pub value: f64,
    /// Its noise.
    pub noise: SplitNoise,
    /// By how much it rises with what is left in the model's residuals added back.
    pub rise: f64,
}

/// The noise at a radius between anchors of rising radii, given the value as fitted there, and by how much that
/// value rises: how far the honest value is from the value as fitted, on a straight line. The corrected value
/// is that of the upper anchor, and has no meaning.
pub fn between(anchors: &[Anchor], radius: f64, value: f64) -> (SplitNoise, f64) {
    let above = anchors.partition_point(|a| a.radius < radius).min(anchors.len() - 1);
    let (low, high) = (&anchors[above.saturating_sub(1)], &anchors[above]);
    let share = if high.radius > low.radius {
        ((radius - low.radius) / (high.radius - low.radius)).clamp(0.0, 1.0)
    } else {
        1.0
    };
    let mix = |of: fn(&Anchor) -> f64| (1.0 - share) * of(low) + share * of(high);
    let noise = SplitNoise {
        honest: value - mix(|a| a.value - a.noise.honest),
        honest_se: mix(|a| a.noise.honest_se),
        fitted_se: mix(|a| a.noise.fitted_se),
        ..high.noise
    };
    (noise, mix(|a| a.rise))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(lower: f64, upper: f64) -> Limits {
        Limits { lower, upper, level: 0.95, smoothing: 0.0 }
    }

    fn ends(all: &[Option<Limits>]) -> Vec<Option<(f64, f64)>> {
        all.iter().map(|l| l.map(|l| (l.lower, l.upper))).collect()
    }

    #[test]
    fn limits_never_get_better_with_the_radius() {
        // In any order of radii, and with one that has no limits.
        let radii = [0.3, 0.0, 0.1, 0.2];
        let values = [3.0, 1.0, 2.0, 2.5];
        let all = [Some(limits(0.4, 2.9)), Some(limits(0.5, 3.0)), None, Some(limits(0.7, 2.8))];
        let found = ends(&nested(&radii, &values, &all, Direction::Cost));
        assert_eq!(found, [Some((0.7, 3.0)), Some((0.5, 3.0)), None, Some((0.7, 3.0))]);
        // Rewards are costs with the other sign.
        let turned: Vec<f64> = values.iter().map(|v| -v).collect();
        let all: Vec<Option<Limits>> = all.iter().map(|l| l.map(Limits::negated)).collect();
        let found = nested(&radii, &turned, &all, Direction::Reward);
        let back: Vec<Option<Limits>> = found.iter().map(|l| l.map(Limits::negated)).collect();
        assert_eq!(ends(&back), [Some((0.7, 3.0)), Some((0.5, 3.0)), None, Some((0.7, 3.0))]);
    }

    #[test]
    fn a_value_stays_within_its_limits() {
        assert_eq!(limits(-1.0, 9.0).clamped((0.0, 1.0), 0.5).lower, 0.0);
        let beyond = limits(-1.0, 9.0).clamped((0.0, 1.0), 1.5);
        assert_eq!((beyond.lower, beyond.upper), (0.0, 1.5));
        // The best population's own limit is no better than the nominal one's.
        let raised = limits(0.1, 0.9).no_better_than((0.3, 0.6), 0.5, Direction::Cost);
        assert_eq!((raised.lower, raised.upper), (0.3, 0.9));
        let value = limits(0.1, 0.9).no_better_than((0.3, 0.6), 0.2, Direction::Cost);
        assert_eq!(value.lower, 0.2);
        let reward = limits(0.1, 0.9).no_better_than((0.3, 0.6), 0.5, Direction::Reward);
        assert_eq!((reward.lower, reward.upper), (0.1, 0.6));
    }

    #[test]
    fn between_anchors_the_distance_to_the_value_is_on_a_straight_line() {
        let noise = |honest: f64, se: f64| SplitNoise {
            honest,
            honest_se: se,
            fitted_se: 2.0 * se,
            ..SplitNoise::new(&[])
        };
        let anchors = [
            Anchor { radius: 0.0, value: 1.0, noise: noise(0.9, 0.1), rise: 0.0 },
            Anchor { radius: 0.2, value: 2.0, noise: noise(1.6, 0.3), rise: 0.2 },
        ];
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let (middle, rise) = between(&anchors, 0.1, 1.7);
        assert!(near(middle.honest, 1.7 - 0.25) && near(middle.honest_se, 0.2));
        assert!(near(middle.fitted_se, 0.4) && near(rise, 0.1));
        // At an anchor it is the anchor, and beyond the last one its distance stays.
        let (end, rise) = between(&anchors, 0.2, 2.0);
        assert!(near(end.honest, 1.6) && near(rise, 0.2));
        assert!(near(between(&anchors, 0.5, 2.5).0.honest, 2.1));
    }
}

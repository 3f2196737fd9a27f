//! Confidence limits of worst cases by sample splits.
//!
//! The fitted model `m` may have smoothed something away. What is left in its residuals, column by column (`ρ₁`) or by pairs of
//! columns (`ρ₂`, [`LeftOver`](crate::outcome::LeftOver)), makes models that are under-smoothed: less biased and noisier. For
//! each of the three, H, V and their standard errors being as in [`super::splits`] and larger being worse,
//!
//! ```text
//! U_k = H_k + γ (V_k − H_k)⁺ + c max(se_V, se_H)
//!
//! L  = H − c se_H          there is a population that costs at least L
//! U₀                       none costs more: if the model's class holds
//! U  = max(U₀, U₁)         if what the model missed is additive in the columns
//! U₂ = max(U₀, U₁, U₂)     if what it missed is at most pairwise
//! ```
//!
//! c is Student's quantile with as many degrees as there are splits (clusters less one, if fewer), at a level that makes the
//! limits of several numbers hold together ([`simultaneous`]). Holding out takes the
//! noise of `ρ` off again: adding the rise of the plug-in value, `V(m + ρ) − V(m)`, to U₀ would count it in full. Every limit
//! is valid for its class and for no other. Limits are then kept within what means can be, nested over the radii
//! (larger sets hold smaller ones), and interpolated between radii that were solved.

use super::splits::SplitNoise;
use crate::ambiguity::Direction;
use crate::evaluate::critical;
use serde::{Deserialize, Serialize};

/// The share of the gap between held-out and plug-in value at which the truth lies, for models fitted to halves.
const SHARE: f64 = 2.0 / 3.0;

/// Confidence limits of a worst case: each one-sided, together an interval of their level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The lower limit.
    pub lower: f64,
    /// The upper limit.
    pub upper: f64,
    /// Their level.
    pub level: f64,
    /// The end on the bad side if the class of the fitted model holds: `upper` for costs, `lower` for rewards, is
    /// this and an allowance for effects of single columns that the model missed.
    pub in_class: f64,
    /// The end on the bad side that also allows for effects of pairs of columns; None where those were not computed.
    pub pairwise: Option<f64>,
}

/// A plug-in worst case and its noise.
#[derive(Clone, Copy, Debug)]
pub struct NoisyValue {
    /// The plug-in value.
    pub plug_in: f64,
    /// Its noise.
    pub noise: SplitNoise,
}

/// How limits are made.
#[derive(Clone, Copy, Debug)]
pub struct LimitPlan {
    /// Whether larger or smaller is worse.
    pub direction: Direction,
    /// The level at which limits hold.
    pub level: f64,
    /// How many numbers they hold for together.
    pub together: usize,
    /// How many clusters there are, if rows are in any.
    pub clusters: Option<usize>,
    /// Whether the rougher values are of what is left in the residuals alone, to be added: where the sum of the two
    /// cannot be solved.
    pub apart: bool,
}

/// The level of each of so many intervals that hold together at a level, by Bonferroni.
pub fn simultaneous(level: f64, together: usize) -> f64 {
    1.0 - (1.0 - level) / together.max(1) as f64
}

impl LimitPlan {
    fn reach(&self, noise: &SplitNoise) -> f64 {
        let freedom = self.clusters.map_or(noise.splits, |n| noise.splits.min(n.saturating_sub(1)));
        critical(simultaneous(self.level, self.together), Some(freedom + 1))
    }

    /// The end on the bad side, larger being worse.
    fn bad_end(&self, of: &NoisyValue) -> f64 {
        let (sign, noise) = (self.direction.sign(), &of.noise);
        let (value, held_out) = (sign * of.plug_in, sign * noise.held_out);
        let centre = held_out + SHARE * (value - held_out).max(0.0);
        centre + self.reach(noise) * noise.plug_in_se.max(noise.held_out_se)
    }

    /// Limits around a plug-in value; `rougher` are the values of under-smoothed models: with effects of single columns,
    /// and with effects of pairs of columns, too, where they were computed.
    pub fn limits(&self, own: &NoisyValue, rougher: [Option<&NoisyValue>; 2]) -> Limits {
        let sign = self.direction.sign();
        let (value, held_out) = (sign * own.plug_in, sign * own.noise.held_out);
        let least = (held_out - self.reach(&own.noise) * own.noise.held_out_se).min(value);
        let in_class = self.bad_end(own).max(value);
        let beyond = |other: &NoisyValue| {
            if self.apart { in_class + self.bad_end(other).max(0.0) } else { self.bad_end(other) }
        };
        let [additive, pairwise] = rougher.map(|other| other.map(beyond));
        let additive = additive.map_or(in_class, |end| end.max(in_class));
        let pairwise = pairwise.map(|end| sign * end.max(additive));
        let (lower, upper) = match self.direction {
            Direction::Cost => (least, additive),
            Direction::Reward => (-additive, -least),
        };
        Limits { lower, upper, level: self.level, in_class: sign * in_class, pairwise }
    }
}

impl Limits {
    /// Within the range that means can have; a value beyond it, of a model that goes there, stays
    /// within its limits.
    #[must_use]
    pub fn clamped(self, (low, high): (f64, f64), value: f64) -> Self {
        let (low, high) = (low.min(value), high.max(value));
        self.map(|end| end.clamp(low, high))
    }

    /// Of the same number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        let Limits { lower, upper, .. } = self;
        Limits { lower: -upper, upper: -lower, ..self.map(|end| -end) }
    }

    fn map(self, to: impl Fn(f64) -> f64) -> Self {
        Limits {
            lower: to(self.lower),
            upper: to(self.upper),
            level: self.level,
            in_class: to(self.in_class),
            pairwise: self.pairwise.map(to),
        }
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
    // The good end, and the three bad ones, larger being worse.
    let (mut least, mut most) = (f64::NEG_INFINITY, [f64::NEG_INFINITY; 3]);
    let mut all = limits.to_vec();
    for at in order {
        let Some(own) = limits[at] else { continue };
        let (good, bad) = match direction {
            Direction::Cost => (own.lower, own.upper),
            Direction::Reward => (own.upper, own.lower),
        };
        least = least.max(sign * good);
        let ends = [own.in_class, bad, own.pairwise.unwrap_or(f64::NEG_INFINITY * sign)];
        most.iter_mut().zip(ends).for_each(|(most, end)| *most = most.max(sign * end));
        let (good, [in_class, bad, pairwise]) =
            (sign * least.min(sign * values[at]), most.map(|end| sign * end));
        let (lower, upper) = match direction {
            Direction::Cost => (good, bad),
            Direction::Reward => (bad, good),
        };
        let pairwise = own.pairwise.map(|_| pairwise);
        all[at] = Some(Limits { lower, upper, in_class, pairwise, ..own });
    }
    all
}

/// What sample splits say at a radius that was solved.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    /// The radius.
    pub radius: f64,
    /// The plug-in value there.
    pub value: f64,
    /// Its noise.
    pub noise: SplitNoise,
    /// Its limits.
    pub limits: Limits,
}

/// Noise and limits at a radius between anchors of rising radii, given the plug-in value there: how far each is from the
/// plug-in value, on a straight line.
pub fn between(anchors: &[Anchor], radius: f64, value: f64) -> (SplitNoise, Limits) {
    let above = anchors.partition_point(|a| a.radius < radius).min(anchors.len() - 1);
    let (low, high) = (&anchors[above.saturating_sub(1)], &anchors[above]);
    let share = if high.radius > low.radius {
        ((radius - low.radius) / (high.radius - low.radius)).clamp(0.0, 1.0)
    } else {
        1.0
    };
    let mix = |of: &dyn Fn(&Anchor) -> f64| (1.0 - share) * of(low) + share * of(high);
    let from = |of: &dyn Fn(&Anchor) -> f64| value + mix(&|a| of(a) - a.value);
    let noise = SplitNoise {
        held_out: from(&|a| a.noise.held_out),
        held_out_se: mix(&|a| a.noise.held_out_se),
        plug_in_se: mix(&|a| a.noise.plug_in_se),
        ..high.noise
    };
    let both = low.limits.pairwise.zip(high.limits.pairwise);
    let limits = Limits {
        lower: from(&|a| a.limits.lower),
        upper: from(&|a| a.limits.upper),
        in_class: from(&|a| a.limits.in_class),
        pairwise: both
            .map(|(a, b)| value + (1.0 - share) * (a - low.value) + share * (b - high.value)),
        ..high.limits
    };
    (noise, limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(lower: f64, upper: f64) -> Limits {
        Limits { lower, upper, level: 0.95, in_class: upper, pairwise: None }
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
        let noise = |held_out: f64, se: f64| SplitNoise {
            held_out,
            held_out_se: se,
            plug_in_se: 2.0 * se,
            ..SplitNoise::new(&[])
        };
        let anchors = [
            Anchor { radius: 0.0, value: 1.0, noise: noise(0.9, 0.1), limits: limits(0.7, 1.2) },
            Anchor { radius: 0.2, value: 2.0, noise: noise(1.6, 0.3), limits: limits(1.5, 2.6) },
        ];
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        let (middle, ends) = between(&anchors, 0.1, 1.7);
        assert!(near(middle.held_out, 1.7 - 0.25) && near(middle.held_out_se, 0.2));
        assert!(near(middle.plug_in_se, 0.4) && near(ends.lower, 1.3) && near(ends.upper, 2.1));
        // At an anchor it is the anchor, and beyond the last one its distance stays.
        let (end, ends) = between(&anchors, 0.2, 2.0);
        assert!(near(end.held_out, 1.6) && near(ends.upper, 2.6));
        assert!(near(between(&anchors, 0.5, 2.5).0.held_out, 2.1));
    }
}

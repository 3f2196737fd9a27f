//! What can be said of one policy beside another within a radius, and what that rests on.

use super::comparison::{DifferenceBounds, DifferenceNoise};
use super::reversal::ReversingSubgroup;
use super::{EffectClass, HeldOutEstimate};
use seawall::Direction;
use seawall::evaluate::Estimate;
use seawall::inference::Limits;
use serde::Serialize;

/// What can be said of one policy beside another within a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is better in every population, with confidence.
    Better,
    /// It is worse in every population, with confidence.
    Worse,
    /// With confidence there is a population in which it is better, and one in which it is worse.
    Depends,
    /// None of these is established.
    Undecided,
}

/// What a verdict or a claim takes for granted of the fitted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// What the model misses is at most pairwise: no three columns act together beyond it.
    Pairwise,
    /// What the model misses is additive: no two columns act together beyond it.
    Additive,
    /// The difference is the same for everybody.
    ConstantEffect,
    /// The difference is a sum of what each column adds.
    AdditiveEffect,
    /// The difference is that of a small tree.
    TreeEffect,
    /// The model of outcomes has no error but noise.
    Model,
    /// The rows were not split: only the estimate without a shift has an interval.
    NoSplits,
}

impl Assumption {
    /// That the class of the fitted model holds.
    pub(super) fn class(effect: Option<EffectClass>) -> Self {
        match effect {
            Some(EffectClass::Constant) => Assumption::ConstantEffect,
            Some(EffectClass::Additive) => Assumption::AdditiveEffect,
            Some(EffectClass::Tree) => Assumption::TreeEffect,
            None => Assumption::Model,
        }
    }

    /// In a few words: "assuming ...".
    pub fn words(self) -> &'static str {
        match self {
            Assumption::Pairwise => "no three columns act together beyond the model",
            Assumption::Additive => "no two columns act together beyond the model",
            Assumption::ConstantEffect => "the difference is the same for everybody",
            Assumption::AdditiveEffect => "the difference is a sum over columns",
            Assumption::TreeEffect => "the difference is that of the fitted tree's kind",
            Assumption::Model => "the outcome model is of the right kind",
            Assumption::NoSplits => {
                "the plug-in worst case is right: only the estimate without a shift has an interval"
            }
        }
    }
}

/// A verdict with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// What can be said of the policy beside the other.
    pub verdict: Verdict,
    /// What better or worse takes for granted of the model; with `pairwise` it is the strict verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumes: Option<Assumption>,
    /// If undecided: what is established of some population, though not of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub established: Option<Established>,
    /// The largest subgroup by two columns that the model does not have, that would reverse the verdict, and that the data
    /// do not exclude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversed_by_subgroup: Option<ReversingSubgroup>,
}

/// What is established of some population.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Established {
    /// In some population the policy is better.
    SomewhereBetter,
    /// In some population the policy is worse.
    SomewhereWorse,
}

impl Decision {
    /// Nothing is established.
    pub(super) const NONE: Self = Decision {
        verdict: Verdict::Undecided,
        assumes: None,
        established: None,
        reversed_by_subgroup: None,
    };

    /// Whether better or worse holds though pairs of columns may act together beyond the model.
    pub fn is_strict(&self) -> bool {
        self.assumes == Some(Assumption::Pairwise)
    }
}

/// What is known of a pair at one radius.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) bounds: &'a DifferenceBounds,
    pub(super) noise: &'a DifferenceNoise,
    /// The estimate without a shift.
    pub(super) plain: Option<Estimate>,
    pub(super) effect: Option<EffectClass>,
    pub(super) direction: Direction,
}

impl Evidence<'_> {
    /// By both ends: better if the upper limit of the largest difference is below 0, worse if the lower limit of the smallest
    /// one is above 0, and it depends if both signs are confirmed.
    pub(super) fn decision(&self) -> Decision {
        let (worst, best) = (End::worst(self), End::best(self));
        match (self.noise.limits, self.noise.best_limits) {
            (Some(_), Some(_)) => {}
            _ => return self.without_limits(worst, best),
        }
        let class = Assumption::class(self.effect);
        let both = worst.some_beyond() && best.some_beyond();
        let (verdict, assumes) = match (worst.none_beyond(class), best.none_beyond(class)) {
            _ if both => (Verdict::Depends, None),
            (Some(assumes), None) if !self.is_plain_noisy() => (Verdict::Better, Some(assumes)),
            (None, Some(assumes)) if !self.is_plain_noisy() => (Verdict::Worse, Some(assumes)),
            _ => (Verdict::Undecided, None),
        };
        let established = match (verdict, worst.some_beyond(), best.some_beyond()) {
            (Verdict::Undecided, true, _) => Some(Established::SomewhereWorse),
            (Verdict::Undecided, _, true) => Some(Established::SomewhereBetter),
            _ => None,
        };
        Decision { verdict, assumes, established, reversed_by_subgroup: None }
    }

    /// Whether the estimate without a shift does not tell the two apart: the data's own population is in every ball.
    fn is_plain_noisy(&self) -> bool {
        self.plain.is_some_and(|plain| plain.covers(0.0))
    }

    fn without_limits(&self, worst: End, best: End) -> Decision {
        let verdict = match (worst.bounds.1 <= 0.0, best.bounds.1 <= 0.0) {
            _ if self.is_plain_noisy() || self.plain.is_none() => Verdict::Undecided,
            (true, false) => Verdict::Better,
            (false, true) => Verdict::Worse,
            _ => Verdict::Undecided,
        };
        let assumes = (verdict != Verdict::Undecided).then_some(Assumption::NoSplits);
        Decision { verdict, assumes, ..Decision::NONE }
    }
}

/// One end of the differences, turned so that larger is further from the claim that none is beyond 0.
#[derive(Clone, Copy)]
struct End {
    /// The solver's bounds.
    bounds: (f64, f64),
    limits: Option<Limits>,
    held_out: Option<HeldOutEstimate>,
    sign: f64,
}

impl End {
    /// The largest difference: beyond 0 the policy is worse.
    fn worst(of: &Evidence<'_>) -> Self {
        let (worst, sign) = (of.bounds.worst, of.direction.sign());
        let bounds = turned((worst.lower, worst.upper), sign);
        End { bounds, limits: of.noise.limits, held_out: of.noise.held_out, sign }
    }

    /// The smallest difference: beyond 0 the policy is better.
    fn best(of: &Evidence<'_>) -> Self {
        let (best, sign) = (of.bounds.best, -of.direction.sign());
        let bounds = turned((best.lower, best.upper), sign);
        End { bounds, limits: of.noise.best_limits, held_out: of.noise.best_held_out, sign }
    }

    /// What it takes that no population is beyond 0; None if even the class of the model does not do.
    fn none_beyond(&self, class: Assumption) -> Option<Assumption> {
        let limits = self.limits.filter(|_| self.bounds.1 <= 0.0)?;
        let below = |end: f64| self.sign * end < 0.0;
        if limits.pairwise.is_some_and(below) {
            return Some(Assumption::Pairwise);
        }
        below(limits.in_class).then_some(class)
    }

    /// Whether some population is beyond 0 with confidence.
    fn some_beyond(&self) -> bool {
        let Some(limits) = self.limits else { return false };
        let (low, _) = turned((limits.lower, limits.upper), self.sign);
        low > 0.0 && self.bounds.0 > 0.0 && self.held_out.is_none_or(|h| self.sign * h.value > 0.0)
    }
}

fn turned((low, high): (f64, f64), sign: f64) -> (f64, f64) {
    if sign > 0.0 { (low, high) } else { (-high, -low) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seawall::{CertifiedValue, Status};

    fn certified(value: f64) -> CertifiedValue {
        CertifiedValue { value, lower: value, upper: value, gap: 0.0, status: Status::Optimal }
    }

    /// Limits of costs: `bad` in class, with what single columns may add, with what pairs may add.
    fn limits(lower: f64, bad: [f64; 3]) -> Limits {
        Limits { lower, upper: bad[1], level: 0.95, in_class: bad[0], pairwise: Some(bad[2]) }
    }

    fn decided(worst: (f64, Limits), best: (f64, Limits)) -> Decision {
        let bounds = DifferenceBounds { worst: certified(worst.0), best: certified(best.0) };
        let noise = DifferenceNoise {
            limits: Some(worst.1),
            best_limits: Some(best.1.negated()),
            ..DifferenceNoise::default()
        };
        let evidence = Evidence {
            bounds: &bounds,
            noise: &noise,
            plain: None,
            effect: Some(EffectClass::Constant),
            direction: Direction::Cost,
        };
        evidence.decision()
    }

    #[test]
    fn verdicts_use_both_ends_and_say_what_they_rest_on() {
        // The best difference as the worst one of the other policy.
        let far = limits(0.1, [0.4, 0.5, 0.6]);
        let strict = decided((-0.2, limits(-0.4, [-0.1, -0.05, -0.01])), (-0.3, far));
        assert_eq!((strict.verdict, strict.assumes), (Verdict::Better, Some(Assumption::Pairwise)));
        let assumed = decided((-0.2, limits(-0.4, [-0.1, 0.05, 0.1])), (-0.3, far));
        let class = Some(Assumption::ConstantEffect);
        assert_eq!((assumed.verdict, assumed.assumes), (Verdict::Better, class));
        let worse = decided((0.3, far), (0.2, limits(-0.4, [-0.1, 0.05, 0.1])));
        assert_eq!((worse.verdict, worse.assumes), (Verdict::Worse, class));
        let either = decided((0.3, far), (-0.3, far));
        assert_eq!((either.verdict, either.assumes), (Verdict::Depends, None));
        let open = decided((0.3, far), (-0.1, limits(-0.2, [0.3, 0.4, 0.5])));
        assert_eq!(open.verdict, Verdict::Undecided);
        assert_eq!(open.established, Some(Established::SomewhereWorse));
        let nothing = limits(-0.2, [0.3, 0.4, 0.5]);
        assert_eq!(decided((0.1, nothing), (-0.1, nothing)), Decision::NONE);
    }
}

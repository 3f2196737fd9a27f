//! The robustness radius of a pair: the largest radius within which a policy is no worse than another in any population,
//! by the fitted model (plug-in) and with confidence (confirmed).
//!
//! Limits are worked out at the radii asked about, and without a shift by the interval of the estimate. Between two of them
//! the distance of the limit to the plug-in value is on a straight line, and the plug-in value is solved.

use super::basis::EvaluationBasis;
use super::effects::{Effects, PairValues};
use seawall::evaluate::Estimate;
use seawall::inference::{Limits, simultaneous};
use seawall::{Detail, Result, Settings, Watch, WorstCase};
use serde::Serialize;

/// Solves that find where a limit passes 0.
const STEPS: usize = 14;

/// The largest radius within which one policy is no worse than another in every population.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RobustnessRadius {
    /// By the fitted model.
    #[serde(flatten)]
    pub plug_in: PlugInRadius,
    /// With confidence; None if not even without a shift, or if nothing tells the noise.
    pub confirmed: Option<ConfirmedRadius>,
}

/// The same by the fitted model.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlugInRadius {
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius: 0 if the policy is worse already, infinite (null) if it is worse nowhere within reach.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub value: f64,
    /// The truth is not below this.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub lower: f64,
    /// The truth is not above this.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub upper: f64,
}

/// The largest radius within which a policy is better with confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfirmedRadius {
    /// Assuming the class of the difference's model.
    pub in_class: f64,
    /// Also if pairs of columns act together beyond the model; None where that was not worked out.
    pub pairwise: Option<f64>,
    /// The largest radius that was asked about: a radius that is equal to it may be larger.
    pub up_to: f64,
}

/// What is known of a pair's largest difference, larger being worse.
pub(super) struct ConfirmTask<'a> {
    pub(super) basis: &'a EvaluationBasis<'a>,
    pub(super) effects: &'a Effects,
    pub(super) values: &'a PairValues,
    pub(super) cost: usize,
    /// By rising radius: the plug-in value and its limits.
    pub(super) at: Vec<(f64, f64, Limits)>,
    /// The estimate without a shift, and the plug-in value there.
    pub(super) plain: Option<Estimate>,
}

impl ConfirmTask<'_> {
    pub(super) fn confirmed(&self, watch: Watch<'_>) -> Result<Option<ConfirmedRadius>> {
        let sign = self.basis.robust.direction().sign();
        let (Some(plain), Some((_, _, first))) = (self.plain, self.at.first()) else {
            return Ok(None);
        };
        let level = simultaneous(first.level, self.effects.contrasts());
        let Some(interval) = plain.at_level(level, self.basis.fitted.log().clusters()).interval
        else {
            return Ok(None);
        };
        let end = (sign * interval.lower).max(sign * interval.upper);
        if end >= 0.0 {
            return Ok(None);
        }
        let value = match self.at.first() {
            Some((radius, value, _)) if *radius == 0.0 => *value,
            _ => self.plug_in(0.0, watch)?,
        };
        let start = (0.0, sign * value, end);
        let passes = |of: &dyn Fn(&Limits) -> f64| -> Result<f64> {
            let mut last = start;
            for (radius, value, limits) in self.at.iter().filter(|(radius, ..)| *radius > 0.0) {
                let next = (*radius, sign * value, sign * of(limits));
                if next.2 >= 0.0 {
                    return self.crossing(last, next, watch);
                }
                last = next;
            }
            Ok(last.0)
        };
        let in_class = passes(&|l| l.in_class)?;
        let strict = self.at.iter().all(|(_, _, l)| l.pairwise.is_some());
        let pairwise =
            if strict { Some(passes(&|l| l.pairwise.unwrap_or(f64::NAN))?) } else { None };
        let up_to = self.at.last().map_or(0.0, |(radius, ..)| *radius);
        Ok(Some(ConfirmedRadius { in_class, pairwise, up_to }))
    }

    /// Where the limit passes 0 between two radii, the first below and the second not.
    fn crossing(
        &self,
        low: (f64, f64, f64),
        high: (f64, f64, f64),
        watch: Watch<'_>,
    ) -> Result<f64> {
        let sign = self.basis.robust.direction().sign();
        let (mut a, mut b) = (low.0, high.0);
        for _ in 0..STEPS {
            let radius = 0.5 * (a + b);
            let share = (radius - low.0) / (high.0 - low.0);
            let offset = (1.0 - share) * (low.2 - low.1) + share * (high.2 - high.1);
            if sign * self.plug_in(radius, watch)? + offset < 0.0 { a = radius } else { b = radius }
        }
        Ok(a)
    }

    fn plug_in(&self, radius: f64, watch: Watch<'_>) -> Result<f64> {
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let (found, _) =
            self.values.solve((self.basis, self.effects), self.cost, &[radius], None, settings)?;
        Ok(found.first().map_or(f64::NAN, WorstCase::value))
    }
}

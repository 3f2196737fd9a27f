//! The tilt of the worst law, the score that follows from it, and its standard error.

use super::super::estimate::{Estimate, Interval, Term, variance};
use crate::ambiguity::WorstCase;
use crate::kernel::quantile::student;
use serde::Serialize;

/// An estimated worst case with its standard error and degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JointEstimate {
    /// The estimate with its 95% interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The degrees of freedom of the standard error, by which Student's quantile is taken.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub freedom: f64,
}

impl JointEstimate {
    /// Of what each of the people brings to the mean of the score; None where that is out of scale.
    pub(super) fn new(value: f64, terms: &[Term<'_>], clusters: Option<usize>) -> Option<Self> {
        let spread = variance(terms.iter().copied(), clusters);
        // By Satterthwaite: how well rows tell the variance, from their fourth powers.
        let fourth: f64 =
            terms.iter().map(|t| t.weight * t.entry.unit.powi(3) * t.value.powi(4)).sum();
        let freedom = match clusters {
            Some(count) => count as f64 - 1.0,
            None if fourth > 0.0 => (2.0 * spread * spread / fourth).max(1.0),
            None => f64::INFINITY,
        };
        let se = spread.sqrt();
        let estimate = Estimate { value, se, interval: None };
        (se.is_finite()).then(|| JointEstimate { estimate, freedom }.at_level(0.95))
    }

    /// The same with an interval of another level.
    #[must_use]
    pub fn at_level(self, level: f64) -> Self {
        let Estimate { value, se, .. } = self.estimate;
        let reach =
            if se > 0.0 { se * student(0.5 + 0.5 * level, self.freedom.min(1e6)) } else { 0.0 };
        let interval = Interval { lower: value - reach, upper: value + reach };
        let estimate = Estimate { value, se, interval: Some(interval) };
        JointEstimate { estimate, ..self }
    }
}

/// The tilt `e^{h/α} / Σ p e^{h/α}` of a law of heights.
pub(super) struct HeightTilt<'h> {
    heights: &'h [f64],
    mean: f64,
    alpha: f64,
    /// `log Σ p e^{(h − mean)/α}`.
    log_total: f64,
}

impl<'h> HeightTilt<'h> {
    /// At a price; None at 0, where the worst outcome alone is left.
    pub fn new(weights: &[f64], heights: &'h [f64], alpha: f64) -> Option<Self> {
        if alpha <= 0.0 {
            return None;
        }
        let own = || weights.iter().zip(heights).filter(|(p, _)| **p > 0.0);
        let mean: f64 = own().map(|(p, h)| p * h).sum();
        let highest = own().map(|(_, h)| *h).fold(f64::NEG_INFINITY, f64::max);
        let log_total = match (highest - mean) / alpha {
            far if far <= 0.5 => {
                own().map(|(p, h)| p * ((h - mean) / alpha).exp_m1()).sum::<f64>().ln_1p()
            }
            far => far + own().map(|(p, h)| p * ((h - highest) / alpha).exp()).sum::<f64>().ln(),
        };
        Some(HeightTilt { heights, mean, alpha, log_total })
    }

    /// `α (e^{h/α} / Σ p e^{h/α} − 1)` of every outcome.
    pub fn scores(&self) -> Vec<f64> {
        let score = |h: &f64| {
            if self.alpha.is_finite() {
                self.alpha * self.log_ratio(*h).exp_m1()
            } else {
                h - self.mean
            }
        };
        self.heights.iter().map(score).collect()
    }

    fn log_ratio(&self, height: f64) -> f64 {
        (height - self.mean) / self.alpha - self.log_total
    }
}

/// What every outcome weighs in a worst case over what it weighed: where it had no weight, as much as one
/// of its height would, or as the worst that had some.
pub(super) fn ratios(weights: &[f64], heights: &[f64], case: &WorstCase) -> Vec<f64> {
    let after = case.weights();
    let own = weights.iter().zip(heights).filter(|(p, _)| **p > 0.0);
    let highest = own.map(|(_, h)| *h).fold(f64::NEG_INFINITY, f64::max);
    let tilt = HeightTilt::new(weights, heights, case.lambda());
    let elsewhere = |h: f64| match &tilt {
        Some(tilt) => tilt.log_ratio(h.min(highest)).exp(),
        None => f64::from(h >= highest),
    };
    let each = weights.iter().zip(&after).zip(heights);
    each.map(|((p, q), h)| if *p > 0.0 { q / p } else { elsewhere(*h) }).collect()
}

//! What the levels of a numeric feature stand for where they are bins: mean and variance of the numbers in
//! each. Costs go by where a level is, means by what it stands for.

use super::checked::Checked;
use crate::error::Result;

/// Mean and variance of the numbers that one level of a numeric feature stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelMoments {
    /// Their mean.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

impl Checked {
    /// Mean and variance of the numbers that a code stands for; None if it is no number.
    pub(super) fn moments_of(&self, code: f64) -> Option<LevelMoments> {
        let itself = || self.number_of(code).map(|mean| LevelMoments { mean, variance: 0.0 });
        if self.moments.is_empty() || code.is_nan() {
            return itself();
        }
        // The missing level is after all that have moments.
        self.moments.get(code as usize).copied()
    }

    /// The same feature, whose levels stand for numbers with these moments.
    pub(super) fn with_moments(&self, of: impl Fn(f64) -> Option<LevelMoments>) -> Result<Checked> {
        if self.numbers.is_empty() {
            return Err(self.error("only the levels of a numeric feature stand for other numbers"));
        }
        let own = |x: &f64| of(*x).unwrap_or(LevelMoments { mean: *x, variance: 0.0 });
        let moments: Vec<LevelMoments> = self.numbers.iter().map(own).collect();
        let fits = |m: &LevelMoments| m.mean.is_finite() && m.variance >= 0.0;
        match moments.iter().find(|m| !fits(m) || m.variance.is_infinite()) {
            Some(m) => Err(self.error(format!(
                "a level's mean is {} and its variance {}; expected finite numbers, the variance ≥ 0",
                m.mean, m.variance
            ))),
            None => {
                let mut found = self.clone();
                found.moments = moments;
                Ok(found)
            }
        }
    }
}

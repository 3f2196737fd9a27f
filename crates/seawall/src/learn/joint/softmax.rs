//! Softmax policies under a joint KL ball, by exact gradients.
//!
//! ```text
//! V(θ) = min_α αδ + α log (Σ_i w_i(θ) e^{y_i/α} / Σ_i w_i(θ))        w_i(θ) = n_i π_θ(a_i|x_i)/p_i
//! ```
//!
//! is smooth in θ, and its derivative is that at the best `α` held still: by a probability it is
//! `Σ w_i z_i / Σ_i w_i(θ)` over the rows that took the action there, `z` being the score of the worst case.
//! Parameters, starts and ridge are those of any softmax. A local optimum, valued exactly, with the best of
//! all policies as the only lower bound. Chances of what no row has are weighed like those of trees: not.

use super::super::gradient::{Design, Gradient, Smooth, descend};
use super::super::{Bounds, Learned, Method};
use super::JointTask;
use crate::ambiguity::{Settings, Status};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::policy::Policy;

impl JointTask<'_> {
    /// Softmax policies of linear scores.
    pub fn softmax(&self, asked: Gradient, settings: Settings<'_>) -> Result<Learned> {
        let design = Design::new(self.fitted.log().contexts(), self.robust.points())?;
        let found = descend(self, &design, asked, settings)?;
        let direction = self.fitted.log().direction();
        let floor = self.floor(settings)?;
        let lower = direction.turned(floor.lower, floor.upper).0.min(found.upper);
        let status = match (found.upper - lower <= 1e-9 * self.size(), found.stopped) {
            (true, _) => Status::Optimal,
            (false, true) => Status::Stopped,
            (false, false) => Status::Inexact,
        };
        let (lower, upper) = direction.turned(lower, found.upper);
        Ok(Learned {
            policy: found.policy,
            method: Method::Gradient,
            value: direction.sign() * found.upper,
            bounds: Bounds { lower, upper },
            status,
            iterations: found.iterations,
            mixture: None,
        })
    }
}

impl Smooth for JointTask<'_> {
    fn log(&self) -> &Log {
        self.fitted.log()
    }

    fn size(&self) -> f64 {
        let (low, high) = self.range();
        low.abs().max(high.abs()).max(1e-300)
    }

    fn at(&self, chances: &[f64], slopes: &mut [f64], settings: Settings<'_>) -> Result<f64> {
        let log = self.fitted.log();
        let mass: f64 = self.rows.iter().map(|(cell, weight, _)| weight * chances[*cell]).sum();
        slopes.fill(0.0);
        if mass == 0.0 {
            // Nobody is left: no step leads there.
            return Ok(f64::NAN);
        }
        let mut law = vec![0.0; log.outcomes().len()];
        for (e, (cell, weight, _)) in log.entries().iter().zip(&self.rows) {
            law[e.outcome as usize] += weight * chances[*cell] / mass;
        }
        let (value, scores) = self.fitted.outcome_score(&law, self.within.radius, settings)?;
        for (e, (cell, weight, _)) in log.entries().iter().zip(&self.rows) {
            slopes[*cell] += weight * scores[e.outcome as usize] / mass;
        }
        Ok(value)
    }

    fn exact(&self, policy: &Policy, settings: Settings<'_>) -> Result<f64> {
        let found = self.value(policy, settings)?;
        let nobody = || Error::input("no row of the log has what a softmax policy does");
        found.map(|(upper, _)| upper).ok_or_else(nobody)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::gradient::off_by;
    use super::*;
    use crate::evaluate::{Evaluator, FitOptions, Propensity, Support};
    use crate::kernel::random::Random;
    use crate::outcome::{Recipe, Unseen};
    use crate::{Direction, Feature, JointKl, Watch};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut random = Random::new(4, 4);
        for trial in 0..20 {
            let rows = 60;
            let ages = vec![(0..rows).map(|_| (random.unit() * 5.0).floor()).collect()];
            let taken: Vec<&str> =
                (0..rows).map(|_| ["a", "b", "c"][(random.unit() * 3.0) as usize]).collect();
            let costs: Vec<f64> = (0..rows).map(|_| (4.0 * random.normal()).round()).collect();
            let direction = [Direction::Cost, Direction::Reward][trial % 2];
            let age = [Feature::numeric("age")];
            let log = Log::from_rows(age, ages, &taken, &costs, None, direction).unwrap().shared();
            let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
            let (recipe, propensity) = (Recipe::Cells, Propensity::Cells);
            let fitted =
                Evaluator::new(&log, &recipe, &propensity, options, Watch::NOBODY).unwrap();
            let robust = fitted.robust(Support::All).unwrap();
            let design = Design::new(log.contexts(), robust.points()).unwrap();
            for radius in [0.0, 0.01, 0.3, 1.0] {
                let task = JointTask::new(&fitted, &robust, JointKl::default().at(radius)).unwrap();
                let asked = Gradient { temperature: 0.7, ridge: 0.01, ..Gradient::default() };
                let theta: Vec<f64> = (0..2 * design.width).map(|_| random.normal()).collect();
                let off = off_by(&task, &design, asked, &theta).unwrap();
                assert!(off < 2e-5, "{trial} {radius}: {off}");
            }
        }
    }
}

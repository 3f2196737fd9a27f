//! The nominal estimators on plain rows: no cells, predicted values given.
//!
//! ```text
//! w_i = π(a_i|x_i)/p_i          d_i = Σ_a π(a|x_i) q(x_i, a)
//! DM = mean d      IPS = mean w y      SNIPS = Σ w y / Σ w      DR = mean (d + w (y − q(x_i, a_i)))
//! ```
//!
//! For logs in which every row has chances of its own. Nothing is fitted here, and an action that
//! was never taken needs only its predicted value.

use super::nominal::{Estimate, Nominal, Overlap};
use crate::error::{Error, Result};

/// Logged rows, the policy's chances and predicted values, `[row · actions + action]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The action taken in each row.
    pub actions: &'a [usize],
    /// What followed.
    pub outcomes: &'a [f64],
    /// The probability with which the action was taken.
    pub propensities: &'a [f64],
    /// The policy's chances.
    pub chances: &'a [f64],
    /// The predicted values.
    pub predicted: &'a [f64],
    /// How many actions there are.
    pub count: usize,
}

impl Rows<'_> {
    /// Refuses columns of different lengths and actions that there are not.
    fn check(&self) -> Result<()> {
        let rows = self.actions.len();
        let lengths = [
            ("outcomes", self.outcomes.len(), rows),
            ("propensities", self.propensities.len(), rows),
            ("chances", self.chances.len(), rows * self.count),
            ("predicted values", self.predicted.len(), rows * self.count),
        ];
        if let Some((name, found, wanted)) = lengths.iter().find(|(_, a, b)| a != b) {
            return Err(Error::input(format!("{found} {name}; expected {wanted}")));
        }
        match self.actions.iter().position(|a| *a >= self.count) {
            Some(row) => Err(Error::input(format!(
                "row {}: action {} of {}",
                row + 1,
                self.actions[row],
                self.count
            ))),
            None => Ok(()),
        }
    }

    /// What the policy would bring in each row, by the predicted values.
    pub fn direct(&self) -> Vec<f64> {
        let rows = self.chances.chunks(self.count).zip(self.predicted.chunks(self.count));
        rows.map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * q).sum()).collect()
    }

    /// Estimates the policy's value.
    pub fn nominal(&self) -> Result<Nominal> {
        self.check()?;
        let rows = 0..self.actions.len();
        let place = |i: usize| i * self.count + self.actions[i];
        let ratios: Vec<f64> =
            rows.clone().map(|i| self.chances[place(i)] / self.propensities[i]).collect();
        let direct = self.direct();
        let of = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            rows.clone().map(|i| (1.0, value(i))).collect()
        };
        let mass: f64 = ratios.iter().sum();
        let squares: f64 = ratios.iter().map(|w| w * w).sum();
        let overlap = Overlap {
            effective: if mass > 0.0 { mass * mass / squares } else { 0.0 },
            mean_ratio: mass / self.actions.len() as f64,
            // Contexts are not told apart here.
            uncovered: f64::NAN,
            clipped: 0.0,
        };
        let dm = Estimate::mean(&of(&|i| direct[i]));
        if mass == 0.0 {
            let none = Estimate::new(f64::NAN, f64::NAN);
            return Ok(Nominal { dm, ips: none, snips: none, dr: none, overlap });
        }
        let snips = rows.clone().map(|i| ratios[i] * self.outcomes[i]).sum::<f64>() / mass;
        let spread: f64 =
            rows.clone().map(|i| (ratios[i] * (self.outcomes[i] - snips)).powi(2)).sum();
        Ok(Nominal {
            dm,
            ips: Estimate::mean(&of(&|i| ratios[i] * self.outcomes[i])),
            snips: Estimate::new(snips, spread.sqrt() / mass),
            dr: Estimate::mean(&of(&|i| {
                direct[i] + ratios[i] * (self.outcomes[i] - self.predicted[place(i)])
            })),
            overlap,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_rows_by_hand() {
        let rows = Rows {
            actions: &[0, 1, 0, 1],
            outcomes: &[1.0, 0.0, 2.0, 4.0],
            propensities: &[0.5, 0.5, 0.25, 0.5],
            chances: &[1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0],
            predicted: &[1.0, 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 3.0],
            count: 2,
        };
        // Ratios 2, 1, 2, 2; direct 1, 1, 1, 3.
        let found = rows.nominal().unwrap();
        assert_eq!(found.dm.value, 1.5);
        assert_eq!(found.ips.value, (2.0 + 0.0 + 4.0 + 8.0) / 4.0);
        assert_eq!(found.snips.value, 14.0 / 7.0);
        assert_eq!(found.dr.value, (1.0 + (1.0 - 1.0) + 1.0 + (3.0 + 2.0)) / 4.0);
        assert_eq!(found.overlap.effective, 49.0 / 13.0);
        assert!(Rows { actions: &[0, 2, 0, 1], ..rows }.nominal().is_err());
        assert!(Rows { outcomes: &[1.0], ..rows }.nominal().is_err());
    }
}

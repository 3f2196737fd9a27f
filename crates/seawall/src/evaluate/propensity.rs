//! Propensities: with which probability each logged action was taken in its context.
//!
//! Known row by row from the log, known by design (one probability per action), or estimated:
//! the shares of the actions in each context cell, or a multinomial logistic model
//!
//! ```text
//! p(a|x) ∝ exp(b_a + Σ_j w_aj φ_j(x)),   minimising  Σ_i −log p(a_i|x_i) + (ridge/2) Σ w²
//! ```
//!
//! over the encoded features `φ` of [`crate::policy::encode`], intercepts unpenalised.

use crate::error::{Error, Field, Result};
use crate::kernel::lbfgs::minimise;
use crate::log::Log;
use crate::policy::{Policy, Rule, Softmax, encode};
use crate::progress::{Progress, Stage, Watch};
use serde::{Deserialize, Serialize};

/// Iterations of the logistic fit at most.
const ITERATIONS: usize = 2000;

/// A kind of source of propensities, as it is written everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PropensitySource {
    /// The log, row by row.
    Known,
    /// The design.
    Design,
    /// Shares in each context cell.
    Cells,
    /// A multinomial logistic model.
    Logistic,
}

/// Where the propensities come from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Propensity {
    /// The log says, row by row.
    Known,
    /// The design says: one probability per action, the same for everyone.
    Design(Vec<f64>),
    /// The shares of the actions in each context cell.
    Cells,
    /// A multinomial logistic model.
    Logistic {
        /// What multiplies half the squared weights.
        ridge: f64,
    },
}

impl Propensity {
    /// Which kind of source it is.
    pub fn source(&self) -> PropensitySource {
        match self {
            Propensity::Known => PropensitySource::Known,
            Propensity::Design(_) => PropensitySource::Design,
            Propensity::Cells => PropensitySource::Cells,
            Propensity::Logistic { .. } => PropensitySource::Logistic,
        }
    }

    /// The propensity of each entry's action.
    pub fn propensities(&self, log: &Log, watch: Watch<'_>) -> Result<Vec<f64>> {
        let entries = log.entries().iter();
        let under = |policy: &Policy| {
            let of = |e: &crate::Entry| policy.probability(e.context as usize, e.action as usize);
            log.entries().iter().map(of).collect()
        };
        match self {
            Propensity::Known if log.knows_propensities() => {
                Ok(entries.map(|e| e.propensity).collect())
            }
            Propensity::Known => Err(Error::config(
                "the log does not say with which probability its actions were taken; estimate them",
            )),
            Propensity::Design(shares) => {
                check_design(log, shares)?;
                Ok(entries.map(|e| shares[e.action as usize]).collect())
            }
            Propensity::Cells => {
                // The behaviour policy's, without listing the contexts that nobody was in.
                let (totals, all) = (log.cell_totals(), log.action_totals());
                let of = |e: &crate::Entry| {
                    let (counts, action) = (totals.row(e.context as usize), e.action as usize);
                    let total: f64 = counts.iter().sum();
                    if total > 0.0 { counts[action] / total } else { all[action] / log.total() }
                };
                Ok(entries.map(of).collect())
            }
            Propensity::Logistic { ridge } => Ok(under(&logistic(log, *ridge, watch)?)),
        }
    }
}

fn check_design(log: &Log, shares: &[f64]) -> Result<()> {
    let total: f64 = shares.iter().sum();
    let valid = shares.iter().all(|p| *p > 0.0 && *p <= 1.0);
    if shares.len() != log.actions().len() || !valid || (total - 1.0).abs() > 1e-9 {
        return Err(Error::field(
            Field::Propensity,
            format!(
                "by design is {shares:?} for the actions {}; expected one number above 0 for each, \
                 1 in sum",
                log.actions().join(", ")
            ),
        ));
    }
    Ok(())
}

/// Fits the multinomial logistic model of the actions taken.
pub fn logistic(log: &Log, ridge: f64, watch: Watch<'_>) -> Result<Policy> {
    if !(ridge >= 0.0 && ridge.is_finite()) {
        let what = format!("is {ridge}; expected a finite number ≥ 0");
        return Err(Error::field(Field::Ridge, what));
    }
    let (space, actions) = (log.contexts(), log.actions().len());
    let encoded = encode(space);
    let totals = log.cell_totals();
    let seen: Vec<usize> =
        (0..space.len()).filter(|&i| totals.row(i).iter().any(|n| *n > 0.0)).collect();
    // One row per context seen: a constant, then its encoded features.
    let width = encoded.len() + 1;
    let mut rows = vec![1.0; seen.len() * width];
    for (j, column) in encoded.iter().enumerate() {
        let column = column.column(space)?;
        seen.iter().enumerate().for_each(|(r, &i)| rows[r * width + j + 1] = column[i]);
    }
    let share = 1.0 / log.total();
    let mut scores = vec![0.0; actions];
    let mut function = |theta: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (row, &context) in rows.chunks(width).zip(&seen) {
            let counts = totals.row(context);
            for (score, theta) in scores.iter_mut().zip(theta.chunks(width)) {
                *score = theta.iter().zip(row).map(|(t, x)| t * x).sum();
            }
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            let log_sum = most + sum.ln();
            let total: f64 = counts.iter().sum();
            for ((count, score), gradient) in
                counts.iter().zip(&scores).zip(gradient.chunks_mut(width))
            {
                loss += share * count * (log_sum - score);
                let excess = share * (total * (score - log_sum).exp() - count);
                gradient.iter_mut().zip(row).for_each(|(g, x)| *g += excess * x);
            }
        }
        for (k, (g, t)) in gradient.iter_mut().zip(theta).enumerate() {
            if k % width > 0 {
                loss += 0.5 * ridge * share * t * t;
                *g += ridge * share * t;
            }
        }
        loss
    };
    let start = vec![0.0; actions * width];
    let go_on = |done, _| watch.go_on(Progress::at(Stage::Fitting).done(done));
    let found = minimise(start, 1e-10, ITERATIONS, &mut function, &go_on);
    // A search that was stopped has not settled either.
    watch.tell(Progress::at(Stage::Fitting))?;
    if !found.converged || !found.value.is_finite() {
        return Err(Error::config(format!(
            "the logistic propensities did not settle in {ITERATIONS} iterations; raise the ridge"
        )));
    }
    let softmax = Softmax {
        temperature: 1.0,
        columns: encoded,
        intercepts: found.point.chunks(width).map(|row| row[0]).collect(),
        weights: found.point.chunks(width).map(|row| row[1..].to_vec()).collect(),
    };
    Policy::new("logistic propensities", Rule::Softmax(softmax), space, log.actions())
}

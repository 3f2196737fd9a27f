//! Nominal estimators: what a policy would have cost on the log's own population.
//!
//! With `w_i = π(a_i|x_i)/p_i` the ratio of the policy to the propensity of what was done, and
//! `l(x) = Σ_a π(a|x) m(x, a)`:
//!
//! ```text
//! direct method      mean of l(x_i)
//! IPS                mean of w_i y_i
//! self-normalised    Σ w_i y_i / Σ w_i
//! doubly robust      mean of l(x_i) + w_i (y_i − m(x_i, a_i)), m fitted on other rows
//! ```
//!
//! Standard errors are of these means over rows; the self-normalised one by its own linearised
//! variance `Σ w_i² (y_i − v)² / (Σ w_i)²`. The direct method's adds the noise of the model's
//! leaves, `Σ_L W_L² s_L² / n_L` with `W_L` the policy's mass on leaf `L`; where the leaves are
//! (the shape of a tree) is taken as given, and so are values that the user brings. A forest's and
//! an additive model's noise is that of the rows they are linear in; boosted trees add none, since
//! one fit does not tell it.
//!
//! Estimated propensities are taken as given, which makes the intervals a little too wide.

use super::fitted::Fitted;
use crate::error::Result;
use crate::log::{Entry, Log};
use crate::matrix::Matrix;
use crate::outcome::{Leaf, Leaves, Values};
use crate::policy::Policy;
use crate::progress::Watch;
use serde::{Deserialize, Serialize};

/// The 97.5% point of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// An estimate with its standard error and 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The lower end of the 95% interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Estimate {
    /// With the normal 95% interval.
    pub(crate) fn new(value: f64, se: f64) -> Self {
        Estimate { value, se, lower: value - NORMAL * se, upper: value + NORMAL * se }
    }

    /// The mean of terms over rows, each with the number of its rows.
    pub(super) fn mean(terms: &[(f64, f64)]) -> Self {
        let total: f64 = terms.iter().map(|t| t.0).sum();
        let value = terms.iter().map(|t| t.0 * t.1).sum::<f64>() / total;
        let squares: f64 = terms.iter().map(|t| t.0 * (t.1 - value).powi(2)).sum();
        Estimate::new(value, (squares / (total - 1.0).max(1.0) / total).sqrt())
    }
}

/// How well the log covers a policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// `(Σ w)² / Σ w²`: how many rows the weighted ones are worth.
    pub effective_sample_size: f64,
    /// The mean ratio: 1 but for noise if the propensities are right and cover the policy.
    pub mean_ratio: f64,
    /// The policy's share of choices that were never made in the context they are made in.
    pub uncovered: f64,
    /// Rows whose ratio was clipped.
    pub clipped: f64,
}

/// All nominal estimates of one policy. All but the direct method's are NaN where the log has no
/// row of what the policy does; the doubly robust one also where the log is too small to fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Nominal {
    /// The direct method.
    pub dm: Estimate,
    /// Inverse propensity scores.
    pub ips: Estimate,
    /// Self-normalised inverse propensity scores.
    pub snips: Estimate,
    /// Doubly robust, cross-fitted.
    pub dr: Estimate,
    /// How well the log covers the policy.
    #[serde(skip)]
    pub overlap: Overlap,
}

/// By how much one policy's value is above another's, if nothing shifts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NominalDifference {
    /// The direct method.
    pub dm: Estimate,
    /// Doubly robust, cross-fitted; NaN where the log is too small to fold, or has no row of what one
    /// of the policies does.
    pub dr: Estimate,
}

impl Fitted {
    /// Estimates a policy's value.
    pub fn nominal(&self, policy: &Policy, watch: Watch<'_>) -> Result<Nominal> {
        let (log, entries) = (self.log(), self.log().entries());
        let (ratios, clipped) = self.ratios(policy)?;
        let weight = |of: &dyn Fn(usize, &Entry) -> f64| -> f64 {
            entries.iter().enumerate().map(|(i, e)| e.weight * of(i, e)).sum()
        };
        let terms: Vec<(f64, f64)> =
            entries.iter().zip(&ratios).map(|(e, r)| (e.weight, r * log.value(e))).collect();
        let mass = weight(&|i, _| ratios[i]);
        let snips = weight(&|i, e| ratios[i] * log.value(e)) / mass;
        let spread = weight(&|i, e| (ratios[i] * (log.value(e) - snips)).powi(2));
        let squares = weight(&|i, _| ratios[i] * ratios[i]);
        let overlap = Overlap {
            effective_sample_size: if mass > 0.0 { mass * mass / squares } else { 0.0 },
            mean_ratio: mass / log.total(),
            uncovered: self.uncovered(policy),
            clipped,
        };
        let chances = policy.probabilities();
        let dm = self.direct(chances);
        if mass == 0.0 {
            let none = Estimate::new(f64::NAN, f64::NAN);
            return Ok(Nominal { dm, ips: none, snips: none, dr: none, overlap });
        }
        Ok(Nominal {
            dm,
            ips: Estimate::mean(&terms),
            snips: Estimate::new(snips, spread.sqrt() / mass),
            dr: self.doubly_robust(chances, &ratios, watch)?,
            overlap,
        })
    }

    /// Estimates by how much a policy's value is above another's, row by row: what the two have in
    /// common cancels in the standard error too.
    pub fn nominal_difference(
        &self,
        policy: &Policy,
        against: &Policy,
        watch: Watch<'_>,
    ) -> Result<NominalDifference> {
        let ((ratios, _), (others, _)) = (self.ratios(policy)?, self.ratios(against)?);
        let apart: Vec<f64> = ratios.iter().zip(&others).map(|(a, b)| a - b).collect();
        let chances = policy.probabilities().minus(against.probabilities());
        let covered = |ratios: &[f64]| ratios.iter().any(|r| *r > 0.0);
        let dr = match covered(&ratios) && covered(&others) {
            true => self.doubly_robust(&chances, &apart, watch)?,
            false => Estimate::new(f64::NAN, f64::NAN),
        };
        Ok(NominalDifference { dm: self.direct(&chances), dr })
    }

    /// The ratio of a policy to the propensity of what was done, entry by entry, and the rows whose
    /// ratio was clipped.
    pub(crate) fn ratios(&self, policy: &Policy) -> Result<(Vec<f64>, f64)> {
        let log = self.log();
        policy.check_against(log.contexts(), log.actions().len())?;
        let mut clipped = 0.0;
        let ratio = |(e, p): (&Entry, &f64)| {
            let ratio = policy.probability(e.context as usize, e.action as usize) / p;
            match self.options().clip {
                Some(most) if ratio > most => {
                    clipped += e.weight;
                    most
                }
                _ => ratio,
            }
        };
        let ratios = log.entries().iter().zip(self.propensities()).map(ratio).collect();
        Ok((ratios, clipped))
    }

    /// The policy's mass on choices that the log has no row of in the same context.
    fn uncovered(&self, policy: &Policy) -> f64 {
        let log = self.log();
        let mut uncovered = 0.0;
        for (context, counts) in log.cell_totals().rows().enumerate() {
            let total: f64 = counts.iter().sum();
            let row = policy.row(context).iter().zip(counts);
            uncovered += total * row.filter(|(_, n)| **n == 0.0).map(|(p, _)| p).sum::<f64>();
        }
        uncovered / log.total()
    }

    /// Each context's share of the log.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.log().contexts().len()];
        let total = self.log().total();
        self.log().entries().iter().for_each(|e| shares[e.context as usize] += e.weight / total);
        shares
    }

    /// The variance that the noise of the model's values brings into the mean of a policy's chances
    /// over contexts with these shares; 0 where it is not known (see `outcome::noise`).
    pub(crate) fn leaf_noise(&self, shares: &[f64], chances: &Matrix) -> f64 {
        if let Some(leaves) = self.model().leaves() {
            return noise(self.log(), leaves, shares, chances);
        }
        let mass = |x: usize, action: usize| shares[x] * chances.at(x, action);
        let mass = Matrix::from_fn(shares.len(), chances.actions(), mass);
        self.model().noise(self.log(), &mass).unwrap_or(0.0)
    }

    /// The direct method of a policy's chances, or of the difference of two policies'.
    fn direct(&self, chances: &Matrix) -> Estimate {
        let direct = chances.weighing(self.plain().matrix());
        let entries = self.log().entries().iter();
        let terms: Vec<(f64, f64)> =
            entries.map(|e| (e.weight, direct[e.context as usize])).collect();
        let mean = Estimate::mean(&terms);
        let noise = self.leaf_noise(&self.shares(), chances);
        Estimate::new(mean.value, (mean.se * mean.se + noise).sqrt())
    }

    /// Each row is corrected by a model that was fitted without it.
    fn doubly_robust(
        &self,
        chances: &Matrix,
        ratios: &[f64],
        watch: Watch<'_>,
    ) -> Result<Estimate> {
        let folds: &[(Values, Vec<f64>)] = self.cross_fits(watch)?;
        if folds.is_empty() {
            return Ok(Estimate::new(f64::NAN, f64::NAN));
        }
        let log = self.log();
        let mut terms: Vec<(f64, f64)> = Vec::new();
        for (values, rows) in folds {
            let direct = chances.weighing(values.matrix());
            for ((e, rows), ratio) in log.entries().iter().zip(rows).zip(ratios) {
                if *rows > 0.0 {
                    let (x, a) = (e.context as usize, e.action as usize);
                    let term = direct[x] + ratio * (log.value(e) - values.at(x, a));
                    terms.push((*rows, term));
                }
            }
        }
        Ok(Estimate::mean(&terms))
    }
}

/// The variance that the leaves' means bring in: `Σ_L W_L² s_L² / n_L`, contexts weighed by
/// `shares`. A leaf of fewer than two rows borrows the spread within the action's other leaves.
fn noise(log: &Log, leaves: &Leaves, shares: &[f64], chances: &Matrix) -> f64 {
    let actions = log.actions().len();
    let mut mass = vec![0.0; leaves.all().len()];
    let mut elsewhere = vec![0.0; actions];
    for (context, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        for (action, p) in chances.row(context).iter().enumerate() {
            match leaves.leaf_of(context, action) {
                Some(leaf) => mass[leaf] += share * p,
                None => elsewhere[action] += share * p,
            }
        }
    }
    // Within each action: squared deviations from the leaves' means, and degrees of freedom.
    let mut pooled = vec![(0.0, 0.0); actions];
    for leaf in leaves.all() {
        let pool: &mut (f64, f64) = &mut pooled[leaf.action];
        pool.0 += leaf.deviations(log);
        pool.1 += (leaf.weight() - 1.0).max(0.0);
    }
    let variance = |leaf: &Leaf| {
        let freedom = leaf.weight() - 1.0;
        let (squares, pooled) = pooled[leaf.action];
        match freedom >= 1.0 {
            true => leaf.deviations(log) / freedom,
            false if pooled > 0.0 => squares / pooled,
            false => 0.0,
        }
    };
    let each = leaves.all().iter().zip(&mass).filter(|(_, m)| **m != 0.0);
    let within: f64 = each.map(|(leaf, m)| m * m * variance(leaf) / leaf.weight()).sum();
    // Where the action was never seen, its mean over all its rows stood in.
    let mut own = vec![(0.0, 0.0, 0.0); actions];
    for e in log.entries() {
        let sums: &mut (f64, f64, f64) = &mut own[e.action as usize];
        let y = log.value(e);
        *sums = (sums.0 + e.weight, sums.1 + e.weight * y, sums.2 + e.weight * y * y);
    }
    let outside = own.iter().zip(&elsewhere).filter(|(sums, m)| **m != 0.0 && sums.0 > 1.0);
    let outside = outside.map(|(&(n, sum, squares), m)| {
        m * m * ((squares - sum * sum / n).max(0.0) / (n - 1.0)) / n
    });
    within + outside.sum::<f64>()
}

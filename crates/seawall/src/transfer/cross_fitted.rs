//! The log's rows as the cross-fits deal them, and what estimates in a target have in common there:
//! weights, residuals of rows that the model was not fitted to, the model's values of a policy, and the
//! noise of the model.
//!
//! ```text
//! residual          r_i = y_i − m̂_{−fold(i)}(x_i, a_i)
//! effective rows    (Σ ωρ)² / Σ (ωρ)²
//! leaf's noise      (mass_T(L) − mass_w(L)) (y_i − m_L)/n_L     of a row in leaf L
//! ```
//!
//! The last is what the policy weighs on a leaf in the target less what the weighted log does.

use crate::error::Result;
use crate::evaluate::{Evaluator, Term, variance};
use crate::matrix::Matrix;
use crate::outcome::{Leaves, Unseen};
use crate::policy::Policy;
use crate::progress::Watch;

/// Part of an entry's rows.
#[derive(Clone, Copy)]
pub(super) struct EntryPart {
    /// The entry's place in the log.
    pub entry: usize,
    /// How many of its rows.
    pub rows: f64,
    /// Whose model was fitted without them.
    pub fold: usize,
}

/// A log's rows, dealt.
pub(super) struct CrossFittedRows<'a> {
    pub fitted: &'a Evaluator,
    pub parts: Vec<EntryPart>,
    folds: usize,
    watch: Watch<'a>,
}

impl<'a> CrossFittedRows<'a> {
    /// Deals the rows; all to one fold if the log is too small.
    pub fn new(fitted: &'a Evaluator, watch: Watch<'a>) -> Result<Self> {
        let folds = fitted.cross_fits(watch)?;
        let mut parts = Vec::new();
        for (fold, (_, rows)) in folds.iter().enumerate() {
            let some = rows.iter().enumerate().filter(|(_, n)| **n > 0.0);
            parts.extend(some.map(|(entry, n)| EntryPart { entry, rows: *n, fold }));
        }
        if folds.is_empty() {
            let all = fitted.log().entries().iter().enumerate();
            parts.extend(all.map(|(entry, e)| EntryPart { entry, rows: e.weight, fold: 0 }));
        }
        Ok(CrossFittedRows { fitted, parts, folds: folds.len(), watch })
    }

    /// The context of a part.
    pub fn context(&self, part: &EntryPart) -> usize {
        self.fitted.log().entries()[part.entry].context as usize
    }

    /// The action of a part.
    pub fn action(&self, part: &EntryPart) -> usize {
        self.fitted.log().entries()[part.entry].action as usize
    }

    /// The outcome of a part.
    pub fn outcome(&self, part: &EntryPart) -> f64 {
        let log = self.fitted.log();
        log.value(&log.entries()[part.entry])
    }

    /// `ω π/π₀` of each part.
    pub fn weighed(&self, policy: &Policy, odds: impl Fn(usize) -> f64) -> Result<Vec<f64>> {
        let (ratios, _) = self.fitted.ratios(policy)?;
        Ok(self.parts.iter().map(|p| ratios[p.entry] * odds(self.context(p))).collect())
    }

    /// How many rows the weighted ones are worth.
    pub fn effective(&self, weighed: &[f64]) -> f64 {
        let parts = || self.parts.iter().zip(weighed);
        let sum: f64 = parts().map(|(p, w)| p.rows * w).sum();
        let unit = |p: &EntryPart| self.fitted.log().entries()[p.entry].unit;
        let squares: f64 = parts().map(|(p, w)| p.rows * unit(p) * w * w).sum();
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// What the models say wrong about rows that they were not fitted to; NaN without folds.
    pub fn residuals(&self) -> Result<Vec<f64>> {
        let folds = self.fitted.cross_fits(self.watch)?;
        let residual = |p: &EntryPart| match folds.get(p.fold) {
            Some((values, _)) => self.outcome(p) - values.at(self.context(p), self.action(p)),
            None => f64::NAN,
        };
        Ok(self.parts.iter().map(residual).collect())
    }

    /// A policy's value at every context: that of all the folds' models, each by its rows.
    pub fn direct(&self, policy: &Policy) -> Result<Vec<f64>> {
        let (log, folds) = (self.fitted.log(), self.fitted.cross_fits(self.watch)?);
        let mut direct = vec![0.0; log.contexts().len()];
        let mut rows_of = vec![0.0; self.folds];
        self.parts.iter().filter(|p| p.fold < self.folds).for_each(|p| rows_of[p.fold] += p.rows);
        for ((values, _), rows) in folds.iter().zip(&rows_of) {
            let share = rows / log.total();
            let own = policy.values(values)?;
            direct.iter_mut().zip(own).for_each(|(d, v)| *d += share * v);
        }
        Ok(direct)
    }

    /// The variance of a sum of influences.
    pub fn variance(&self, influences: &[f64]) -> f64 {
        let log = self.fitted.log();
        let parts = self.parts.iter().zip(influences).map(|(part, &value)| Term {
            entry: &log.entries()[part.entry],
            weight: part.rows,
            value,
        });
        variance(parts, log.clusters())
    }

    /// Adds the noise of the model to the parts' influences, of a policy in a population with these
    /// shares of contexts, where a part weighs so much in the estimate.
    pub fn add_model_noise(
        &self,
        policy: &Policy,
        shares: &[f64],
        weights: &[f64],
        to: &mut [f64],
    ) {
        match self.fitted.model().leaves() {
            Some(leaves) => self.add_leaves(policy, shares, weights, leaves, to),
            None => self.add_pulls(policy, shares, weights, to),
        }
    }

    /// Adds the noise of a model that is linear in the outcomes and has no leaves of its own.
    fn add_pulls(&self, policy: &Policy, shares: &[f64], weights: &[f64], to: &mut [f64]) {
        let log = self.fitted.log();
        let mass = |x: usize, action: usize| shares[x] * policy.row(x)[action];
        let mut mass = Matrix::from_fn(shares.len(), log.actions().len(), mass);
        for (part, w) in self.parts.iter().zip(weights) {
            mass.row_mut(self.context(part))[self.action(part)] -= w;
        }
        let Some((pulls, _)) = self.fitted.model().pulls(&mass) else { return };
        let plain = self.fitted.plain();
        for (part, influence) in self.parts.iter().zip(to) {
            let (x, action) = (self.context(part), self.action(part));
            *influence += pulls.at(x, action) * (self.outcome(part) - plain.at(x, action));
        }
    }

    /// Adds the noise of the leaves' means, and of an action's mean where that stood in.
    fn add_leaves(
        &self,
        policy: &Policy,
        shares: &[f64],
        weights: &[f64],
        leaves: &Leaves,
        to: &mut [f64],
    ) {
        let log = self.fitted.log();
        let mut mass = vec![0.0; leaves.all().len()];
        let mut elsewhere = vec![0.0; log.actions().len()];
        for (x, q) in shares.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            for (action, p) in policy.row(x).iter().enumerate() {
                match leaves.leaf_of(x, action) {
                    Some(leaf) => mass[leaf] += q * p,
                    None => elsewhere[action] += q * p,
                }
            }
        }
        let leaf_of = |part: &EntryPart| leaves.leaf_of(self.context(part), self.action(part));
        for (part, w) in self.parts.iter().zip(weights) {
            if let Some(leaf) = leaf_of(part) {
                mass[leaf] -= w;
            }
        }
        let means: Vec<(f64, f64)> =
            leaves.all().iter().map(|l| (l.mean(log), l.weight())).collect();
        for (part, influence) in self.parts.iter().zip(&mut *to) {
            if let Some(leaf) = leaf_of(part) {
                let (mean, rows) = means[leaf];
                *influence += mass[leaf] * (self.outcome(part) - mean) / rows;
            }
        }
        if self.fitted.options().unseen == Unseen::Worst {
            return;
        }
        let (rows, mut sums) = (log.action_totals(), vec![0.0; elsewhere.len()]);
        log.entries().iter().for_each(|e| sums[e.action as usize] += e.weight * log.value(e));
        for (part, influence) in self.parts.iter().zip(to) {
            let action = self.action(part);
            let (n, mass) = (rows[action], elsewhere[action]);
            *influence += mass * (self.outcome(part) - sums[action] / n) / n;
        }
    }
}

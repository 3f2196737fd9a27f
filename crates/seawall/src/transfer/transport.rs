//! Estimates of a policy's value in a target, with standard errors that count both samples.
//!
//! An estimate is close to a sum of one small number per row of either sample, its influence; the
//! sum of their squares is the variance. For doubly robust transport, `W = Σ_log ω ρ`, `ρ = π/π₀`,
//! `c` the weighted mean of the residuals `r`:
//!
//! ```text
//! a row of the target   (l̂(x) − E_T l̂)/m + s_β(x)
//! a row of the log      ω ρ (r − c)/W + s_β(x) + (mass_T(L) − mass_ω(L)) (y − m_L)/n_L
//! ```
//!
//! `s_β` is the noise of the fitted odds ([`Odds`]). The last term is the noise of the row's leaf L:
//! what the policy weighs on it in the target less what the reweighted log does. It vanishes where
//! the odds are right, and is what keeps the interval honest where they are not. The shape of the
//! trees and the propensities are taken as given.

use super::{Coverage, Odds, Target};
use crate::error::Result;
use crate::evaluate::{Estimate, Fitted, Term, variance};
use crate::matrix::Matrix;
use crate::outcome::{Leaves, Unseen};
use crate::policy::Policy;
use crate::progress::Watch;
use serde::Serialize;

/// All estimates of a policy, or of the difference of two, in a target. The last two are NaN where
/// the log has no row of what a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Transported {
    /// The direct method: the model's values over the target.
    pub dm: Estimate,
    /// Inverse odds weighting.
    pub odds: Estimate,
    /// Doubly robust transport; NaN also where the log is too small to fold.
    pub dr: Estimate,
    /// `(Σ ωρ)² / Σ (ωρ)²`: how many rows of the log the reweighted ones are worth. Of a
    /// difference, the smaller of the two.
    pub effective_rows: f64,
}

/// A log, a target, and the odds between them.
pub struct Transport<'a> {
    fitted: &'a Fitted,
    target: &'a Target,
    odds: Odds,
    /// The log's rows as the cross-fits deal them: entry, rows, and the values of a model fitted
    /// without them.
    dealt: Vec<(usize, f64, usize)>,
    folds: usize,
    watch: Watch<'a>,
}

/// An estimate and each row's influence on it.
struct Influence {
    value: f64,
    /// By part of the log, as dealt.
    log: Vec<f64>,
    /// By context of the target.
    target: Vec<f64>,
}

impl<'a> Transport<'a> {
    /// Fits the odds.
    pub fn new(fitted: &'a Fitted, target: &'a Target, watch: Watch<'a>) -> Result<Self> {
        let log = fitted.log();
        log.contexts().same_as(target.population().space())?;
        let odds = Odds::new(log, target, watch)?;
        let folds = fitted.cross_fits(watch)?;
        let mut dealt = Vec::new();
        for (fold, (_, rows)) in folds.iter().enumerate() {
            let some = rows.iter().enumerate().filter(|(_, n)| **n > 0.0);
            dealt.extend(some.map(|(entry, n)| (entry, *n, fold)));
        }
        if folds.is_empty() {
            dealt.extend(log.entries().iter().enumerate().map(|(i, e)| (i, e.weight, 0)));
        }
        Ok(Transport { fitted, target, odds, dealt, folds: folds.len(), watch })
    }

    /// The odds.
    pub fn odds(&self) -> &Odds {
        &self.odds
    }

    /// How well the log covers the target.
    pub fn coverage(&self) -> Coverage {
        Coverage::new(self.fitted, self.target, &self.odds)
    }

    /// Estimates a policy's value in the target.
    pub fn estimates(&self, policy: &Policy) -> Result<Transported> {
        let weighed = self.weighed(policy)?;
        Ok(Transported {
            dm: self.direct(policy.probabilities()),
            odds: self.estimate(&self.inverse_odds(&weighed)),
            dr: self.estimate(&self.doubly_robust(policy, &weighed)?),
            effective_rows: self.effective(&weighed),
        })
    }

    /// Estimates by how much a policy's value in the target is above another's.
    pub fn difference(&self, policy: &Policy, against: &Policy) -> Result<Transported> {
        let (a, b) = (self.weighed(policy)?, self.weighed(against)?);
        let chances = policy.probabilities().minus(against.probabilities());
        let odds = self.inverse_odds(&a).minus(&self.inverse_odds(&b));
        let dr = self.doubly_robust(policy, &a)?.minus(&self.doubly_robust(against, &b)?);
        Ok(Transported {
            dm: self.direct(&chances),
            odds: self.estimate(&odds),
            dr: self.estimate(&dr),
            effective_rows: self.effective(&a).min(self.effective(&b)),
        })
    }

    /// `ω π/π₀` of each part of the log.
    fn weighed(&self, policy: &Policy) -> Result<Vec<f64>> {
        let (ratios, _) = self.fitted.ratios(policy)?;
        let entries = self.fitted.log().entries();
        let of = |&(entry, _, _): &(usize, f64, usize)| {
            ratios[entry] * self.odds.at(entries[entry].context as usize)
        };
        Ok(self.dealt.iter().map(of).collect())
    }

    /// How many rows the weighted ones are worth for the people whom they can stand for.
    fn effective(&self, weighed: &[f64]) -> f64 {
        let parts = || self.dealt.iter().zip(weighed);
        let sum: f64 = parts().map(|((_, rows, _), w)| rows * w).sum();
        let unit = |entry: usize| self.fitted.log().entries()[entry].unit;
        let squares: f64 = parts().map(|(&(entry, rows, _), w)| rows * unit(entry) * w * w).sum();
        if squares > 0.0 { self.target.within() * sum * sum / squares } else { 0.0 }
    }

    fn estimate(&self, influence: &Influence) -> Estimate {
        let log = self.fitted.log();
        let parts = self.dealt.iter().zip(&influence.log).map(|(&(entry, weight, _), &value)| {
            Term { entry: &log.entries()[entry], weight, value }
        });
        let own = variance(parts, log.clusters());
        let there = self.target.squares().iter().zip(&influence.target);
        let target: f64 = there.filter(|(s, _)| **s > 0.0).map(|(s, i)| s * i * i).sum();
        Estimate::new(influence.value, (own + target).sqrt(), log.clusters())
    }

    /// The direct method, its noise that of the target's sample and of the model's leaves.
    fn direct(&self, chances: &Matrix) -> Estimate {
        let values = chances.weighing(self.fitted.plain().matrix());
        let (value, spread) = self.over_target(&values);
        let squares = self.target.squares().iter().zip(&spread);
        let sampling: f64 = squares.filter(|(s, _)| **s > 0.0).map(|(s, i)| s * i * i).sum();
        let shares = self.target.population().weights();
        let noise = self.fitted.leaf_noise(shares, chances);
        Estimate::new(value, (sampling + noise).sqrt(), self.fitted.log().clusters())
    }

    /// The mean over the target of one value per context, and what each row adds to it.
    fn over_target(&self, values: &[f64]) -> (f64, Vec<f64>) {
        let shares = self.target.population().weights();
        let there = || shares.iter().zip(values).filter(|(q, _)| **q > 0.0);
        let mean: f64 = there().map(|(q, v)| q * v).sum();
        let total = self.target.total();
        (mean, values.iter().map(|v| (v - mean) / total).collect())
    }

    /// The weighted mean of a number per part of the log, with the noise of the odds.
    fn weighted_mean(&self, weighed: &[f64], of: &[f64]) -> Influence {
        let entries = self.fitted.log().entries();
        let context = |entry: usize| entries[entry].context as usize;
        let parts = || self.dealt.iter().zip(weighed).zip(of);
        let mass: f64 = parts().map(|(((_, rows, _), w), _)| rows * w).sum();
        let value = parts().map(|(((_, rows, _), w), y)| rows * w * y).sum::<f64>() / mass;
        let pulls = parts()
            .map(|((&(entry, rows, _), w), y)| (context(entry), rows * w * (y - value) / mass));
        let lever = self.odds.lever(pulls);
        let log = parts().map(|((&(entry, _, _), w), y)| {
            w * (y - value) / mass + self.odds.influence(&lever, context(entry), false)
        });
        let log = log.collect();
        let (shares, scale) = (self.target.population().weights(), self.target.scale());
        let target = shares.iter().enumerate().map(|(x, q)| match *q > 0.0 {
            true => scale * self.odds.influence(&lever, x, true),
            false => 0.0,
        });
        Influence { value, log, target: target.collect() }
    }

    fn inverse_odds(&self, weighed: &[f64]) -> Influence {
        let log = self.fitted.log();
        let outcome = |&(entry, _, _): &(usize, f64, usize)| log.value(&log.entries()[entry]);
        let outcomes: Vec<f64> = self.dealt.iter().map(outcome).collect();
        self.weighted_mean(weighed, &outcomes)
    }

    fn doubly_robust(&self, policy: &Policy, weighed: &[f64]) -> Result<Influence> {
        let (log, folds) = (self.fitted.log(), self.fitted.cross_fits(self.watch)?);
        let entries = log.entries();
        let residual = |&(entry, _, fold): &(usize, f64, usize)| match folds.get(fold) {
            Some((values, _)) => {
                let e = &entries[entry];
                log.value(e) - values.at(e.context as usize, e.action as usize)
            }
            None => f64::NAN,
        };
        let residuals: Vec<f64> = self.dealt.iter().map(residual).collect();
        let mut found = self.weighted_mean(weighed, &residuals);
        // The values over the target are those of all the folds' models, each by its rows.
        let mut direct = vec![0.0; log.contexts().len()];
        let mut rows_of = vec![0.0; self.folds];
        self.dealt.iter().filter(|d| d.2 < self.folds).for_each(|d| rows_of[d.2] += d.1);
        for ((values, _), rows) in folds.iter().zip(&rows_of) {
            let share = rows / log.total();
            let own = policy.values(values)?;
            direct.iter_mut().zip(own).for_each(|(d, v)| *d += share * v);
        }
        let (mean, spread) = self.over_target(&direct);
        found.value += mean;
        found.target.iter_mut().zip(spread).for_each(|(t, s)| *t += s);
        if let Some(leaves) = self.fitted.model().leaves() {
            self.add_leaves(policy, weighed, leaves, &mut found);
        } else {
            self.add_pulls(policy, weighed, &mut found);
        }
        Ok(found)
    }

    /// Adds the noise of a model that is linear in the outcomes and has no leaves of its own.
    fn add_pulls(&self, policy: &Policy, weighed: &[f64], to: &mut Influence) {
        let log = self.fitted.log();
        let shares = self.target.population().weights();
        let mass = |x: usize, action: usize| shares[x] * policy.row(x)[action];
        let mut mass = Matrix::from_fn(shares.len(), log.actions().len(), mass);
        let total: f64 = self.dealt.iter().zip(weighed).map(|((_, rows, _), w)| rows * w).sum();
        for (&(entry, rows, _), w) in self.dealt.iter().zip(weighed) {
            let e = &log.entries()[entry];
            mass.row_mut(e.context as usize)[e.action as usize] -= rows * w / total;
        }
        let Some((pulls, _)) = self.fitted.model().pulls(&mass) else { return };
        let plain = self.fitted.plain();
        for (&(entry, _, _), influence) in self.dealt.iter().zip(&mut to.log) {
            let e = &log.entries()[entry];
            let (x, action) = (e.context as usize, e.action as usize);
            *influence += pulls.at(x, action) * (log.value(e) - plain.at(x, action));
        }
    }

    /// Adds the noise of the leaves' means, and of an action's mean where that stood in.
    fn add_leaves(&self, policy: &Policy, weighed: &[f64], leaves: &Leaves, to: &mut Influence) {
        let log = self.fitted.log();
        let mut mass = vec![0.0; leaves.all().len()];
        let mut elsewhere = vec![0.0; log.actions().len()];
        let shares = self.target.population().weights().iter().enumerate();
        for (x, q) in shares.filter(|(_, q)| **q > 0.0) {
            for (action, p) in policy.row(x).iter().enumerate() {
                match leaves.leaf_of(x, action) {
                    Some(leaf) => mass[leaf] += q * p,
                    None => elsewhere[action] += q * p,
                }
            }
        }
        let leaf_of = |entry: usize| {
            let e = &log.entries()[entry];
            leaves.leaf_of(e.context as usize, e.action as usize)
        };
        let total: f64 = self.dealt.iter().zip(weighed).map(|((_, rows, _), w)| rows * w).sum();
        for (&(entry, rows, _), w) in self.dealt.iter().zip(weighed) {
            if let Some(leaf) = leaf_of(entry) {
                mass[leaf] -= rows * w / total;
            }
        }
        let means: Vec<(f64, f64)> =
            leaves.all().iter().map(|l| (l.mean(log), l.weight())).collect();
        for (&(entry, _, _), influence) in self.dealt.iter().zip(&mut to.log) {
            if let Some(leaf) = leaf_of(entry) {
                let (mean, rows) = means[leaf];
                *influence += mass[leaf] * (log.value(&log.entries()[entry]) - mean) / rows;
            }
        }
        if self.fitted.options().unseen == Unseen::Worst {
            return;
        }
        let (rows, mut sums) = (log.action_totals(), vec![0.0; elsewhere.len()]);
        log.entries().iter().for_each(|e| sums[e.action as usize] += e.weight * log.value(e));
        for (&(entry, _, _), influence) in self.dealt.iter().zip(&mut to.log) {
            let (e, action) = (&log.entries()[entry], log.entries()[entry].action as usize);
            let (n, mass) = (rows[action], elsewhere[action]);
            *influence += mass * (log.value(e) - sums[action] / n) / n;
        }
    }
}

impl Influence {
    fn minus(&self, other: &Influence) -> Influence {
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        Influence {
            value: self.value - other.value,
            log: apart(&self.log, &other.log),
            target: apart(&self.target, &other.target),
        }
    }
}

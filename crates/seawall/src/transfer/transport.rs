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

use super::cross_fitted::CrossFittedRows;
use super::{BalanceSummary, Coverage, Odds, TargetSample};
use crate::error::Result;
use crate::evaluate::{Estimate, Evaluator};
use crate::matrix::Matrix;
use crate::policy::Policy;
use crate::progress::Watch;
use serde::Serialize;

/// All estimates of a policy, or of the difference of two, in a target. The last two are None where
/// the log has no row of what a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transported {
    /// The direct method: the model's values over the target.
    pub dm: Estimate,
    /// Inverse odds weighting.
    pub odds: Option<Estimate>,
    /// Doubly robust transport; None also where the log is too small to fold.
    pub dr: Option<Estimate>,
    /// `(Σ ωρ)² / Σ (ωρ)²`: how many rows of the log the reweighted ones are worth. Of a
    /// difference, the smaller of the two.
    pub effective_rows: f64,
}

/// A log, a target, and the odds between them.
pub struct Transport<'a> {
    target: &'a TargetSample,
    odds: Odds,
    dealt: CrossFittedRows<'a>,
}

/// An estimate and each row's influence on it.
struct RowInfluence {
    value: f64,
    /// By part of the log, as dealt.
    log: Vec<f64>,
    /// By context of the target.
    target: Vec<f64>,
}

impl<'a> Transport<'a> {
    /// Fits the odds.
    pub fn new(fitted: &'a Evaluator, target: &'a TargetSample, watch: Watch<'a>) -> Result<Self> {
        let log = fitted.log();
        log.contexts().same_as(target.population().space())?;
        let odds = Odds::new(log, target, watch)?;
        Ok(Transport { target, odds, dealt: CrossFittedRows::new(fitted, watch)? })
    }

    /// The odds.
    pub fn odds(&self) -> &Odds {
        &self.odds
    }

    /// How like the target the odds make the log.
    pub fn balance(&self) -> Result<BalanceSummary> {
        BalanceSummary::of_odds(self.dealt.fitted.log(), self.target, &self.odds)
    }

    /// How well the log covers the target.
    pub fn coverage(&self) -> Coverage {
        Coverage::new(self.dealt.fitted, self.target, &self.odds)
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

    fn weighed(&self, policy: &Policy) -> Result<Vec<f64>> {
        self.dealt.weighed(policy, |x| self.odds.at(x))
    }

    /// How many rows the weighted ones are worth for the people whom they can stand for.
    fn effective(&self, weighed: &[f64]) -> f64 {
        self.target.within() * self.dealt.effective(weighed)
    }

    fn clusters(&self) -> Option<usize> {
        self.dealt.fitted.log().clusters()
    }

    fn estimate(&self, influence: &RowInfluence) -> Option<Estimate> {
        let own = self.dealt.variance(&influence.log);
        let there = self.target.squares().iter().zip(&influence.target);
        let target: f64 = there.filter(|(s, _)| **s > 0.0).map(|(s, i)| s * i * i).sum();
        let known = !influence.value.is_nan();
        known.then(|| Estimate::new(influence.value, (own + target).sqrt(), self.clusters()))
    }

    /// The direct method, its noise that of the target's sample and of the model's leaves.
    fn direct(&self, chances: &Matrix) -> Estimate {
        let values = chances.weighing(self.dealt.fitted.plain().matrix());
        let (value, spread) = self.over_target(&values);
        let squares = self.target.squares().iter().zip(&spread);
        let sampling: f64 = squares.filter(|(s, _)| **s > 0.0).map(|(s, i)| s * i * i).sum();
        let shares = self.target.population().weights();
        let noise = self.dealt.fitted.leaf_noise(shares, chances);
        Estimate::new(value, (sampling + noise).sqrt(), self.clusters())
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
    fn weighted_mean(&self, weighed: &[f64], of: &[f64]) -> RowInfluence {
        let parts = || self.dealt.parts.iter().zip(weighed).zip(of);
        let mass: f64 = parts().map(|((part, w), _)| part.rows * w).sum();
        let value = parts().map(|((part, w), y)| part.rows * w * y).sum::<f64>() / mass;
        let pulls = parts()
            .map(|((part, w), y)| (self.dealt.context(part), part.rows * w * (y - value) / mass));
        let lever = self.odds.lever(pulls);
        let log = parts().map(|((part, w), y)| {
            let noise = self.odds.influence(&lever, self.dealt.context(part), false);
            w * (y - value) / mass + noise
        });
        let log = log.collect();
        let (shares, scale) = (self.target.population().weights(), self.target.scale());
        let target = shares.iter().enumerate().map(|(x, q)| {
            if *q > 0.0 { scale * self.odds.influence(&lever, x, true) } else { 0.0 }
        });
        RowInfluence { value, log, target: target.collect() }
    }

    fn inverse_odds(&self, weighed: &[f64]) -> RowInfluence {
        let outcomes = self.dealt.parts.iter().map(|part| self.dealt.outcome(part));
        self.weighted_mean(weighed, &outcomes.collect::<Vec<f64>>())
    }

    fn doubly_robust(&self, policy: &Policy, weighed: &[f64]) -> Result<RowInfluence> {
        let mut found = self.weighted_mean(weighed, &self.dealt.residuals()?);
        let (mean, spread) = self.over_target(&self.dealt.direct(policy)?);
        found.value += mean;
        found.target.iter_mut().zip(spread).for_each(|(t, s)| *t += s);
        let rows = || self.dealt.parts.iter().zip(weighed).map(|(part, w)| part.rows * w);
        let total: f64 = rows().sum();
        let weights: Vec<f64> = rows().map(|w| w / total).collect();
        let shares = self.target.population().weights();
        self.dealt.add_model_noise(policy, shares, &weights, &mut found.log);
        Ok(found)
    }
}

impl RowInfluence {
    fn minus(&self, other: &RowInfluence) -> RowInfluence {
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        RowInfluence {
            value: self.value - other.value,
            log: apart(&self.log, &other.log),
            target: apart(&self.target, &other.target),
        }
    }
}

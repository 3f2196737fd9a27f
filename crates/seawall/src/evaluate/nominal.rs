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

use super::estimate::{Estimate, Term, variance};
use super::evaluator::Evaluator;
use crate::ambiguity::Settings;
use crate::ambiguity::sets::Wasserstein;
use crate::error::Result;
use crate::log::{Entry, Log};
use crate::matrix::Matrix;
use crate::outcome::{Leaf, Leaves, Model, Unseen, Values};
use crate::policy::Policy;
use crate::progress::Watch;
use serde::{Deserialize, Serialize};

/// How well the log covers a policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overlap {
    /// `(Σ w)² / Σ w²`: how many rows the weighted ones are worth.
    pub effective_sample_size: f64,
    /// The mean ratio: 1 but for noise if the propensities are right and cover the policy.
    pub mean_ratio: f64,
    /// The policy's share of choices that were never made in the context they are made in; None where contexts
    /// are not told apart.
    pub uncovered: Option<f64>,
    /// Rows whose ratio was clipped.
    pub clipped: f64,
}

/// All estimates of one policy's value without a shift. All but the direct method's are None where the log has no
/// row of what the policy does; the doubly robust one also where the log is too small to fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nominal {
    /// The direct method.
    pub dm: Estimate,
    /// Inverse propensity scores.
    pub ips: Option<Estimate>,
    /// Self-normalised inverse propensity scores.
    pub snips: Option<Estimate>,
    /// Doubly robust, cross-fitted.
    pub dr: Option<Estimate>,
    /// How well the log covers the policy.
    #[serde(skip)]
    pub overlap: Overlap,
}

/// By how much one policy's value is above another's, if nothing shifts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NominalDifference {
    /// The direct method.
    pub dm: Estimate,
    /// Doubly robust, cross-fitted; None where the log is too small to fold, or has no row of what one
    /// of the policies does.
    pub dr: Option<Estimate>,
}

impl Nominal {
    /// The doubly robust estimate; the direct one where there is none.
    pub fn best(&self) -> Estimate {
        self.dr.unwrap_or(self.dm)
    }
}

impl NominalDifference {
    /// The doubly robust estimate; the direct one where there is none.
    pub fn best(&self) -> Estimate {
        self.dr.unwrap_or(self.dm)
    }
}

impl Evaluator {
    /// Estimates a policy's value.
    pub fn nominal(&self, policy: &Policy, watch: Watch<'_>) -> Result<Nominal> {
        let (log, entries) = (self.log(), self.log().entries());
        let (ratios, clipped) = self.ratios(policy)?;
        let weight = |of: &dyn Fn(usize, &Entry) -> f64| -> f64 {
            entries.iter().enumerate().map(|(i, e)| e.weight * of(i, e)).sum()
        };
        let each = |of: &dyn Fn(&Entry, f64) -> f64| -> Vec<Term<'_>> {
            let term =
                |(entry, r): (_, &f64)| Term { entry, weight: entry.weight, value: of(entry, *r) };
            entries.iter().zip(&ratios).map(term).collect()
        };
        let terms = each(&|e, ratio| ratio * log.value(e));
        let mass = weight(&|i, _| ratios[i]);
        let snips = weight(&|i, e| ratios[i] * log.value(e)) / mass;
        let influences = each(&|e, ratio| ratio * (log.value(e) - snips) / mass);
        let spread = variance(influences.into_iter(), log.clusters());
        let squares = weight(&|i, e| e.unit * ratios[i] * ratios[i]);
        let overlap = Overlap {
            effective_sample_size: if mass > 0.0 { mass * mass / squares } else { 0.0 },
            mean_ratio: mass / log.total(),
            uncovered: Some(self.uncovered(policy)),
            clipped,
        };
        let chances = policy.probabilities();
        let dm = self.direct(chances);
        if mass == 0.0 {
            return Ok(Nominal { dm, ips: None, snips: None, dr: None, overlap });
        }
        Ok(Nominal {
            dm,
            ips: Some(Estimate::mean(&terms, log.clusters())),
            snips: Some(Estimate::new(snips, spread.sqrt(), log.clusters())),
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
        let dr = if covered(&ratios) && covered(&others) {
            self.doubly_robust(&chances, &apart, watch)?
        } else {
            None
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

    /// The variance that the noise of the model brings into the mean of a policy's chances over
    /// contexts with these shares; 0 where the model does not say.
    pub(crate) fn leaf_noise(&self, shares: &[f64], chances: &Matrix) -> f64 {
        leaf_noise(self.log(), self.model(), shares, chances).unwrap_or(0.0)
    }

    /// All rows, with a number per entry.
    fn terms<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = Term<'a>> {
        let all = self.log().entries().iter().zip(values);
        all.map(|(entry, &value)| Term { entry, weight: entry.weight, value })
    }

    /// The direct method of a policy's chances, or of the difference of two policies'.
    fn direct(&self, chances: &Matrix) -> Estimate {
        let log = self.log();
        let direct = chances.weighing(self.plain().matrix());
        let own: Vec<f64> = log.entries().iter().map(|e| direct[e.context as usize]).collect();
        let terms: Vec<Term<'_>> = self.terms(&own).collect();
        let mean = Estimate::mean(&terms, log.clusters());
        let shares = self.shares();
        let pulls = log.clusters().and_then(|_| pulls(log, self.model(), &shares, chances));
        let Some(pulls) = pulls else {
            let noise = self.leaf_noise(&shares, chances);
            return Estimate::new(mean.value, (mean.se * mean.se + noise).sqrt(), log.clusters());
        };
        // Within a cluster, contexts and the noise of outcomes go together.
        let both: Vec<f64> =
            own.iter().zip(&pulls).map(|(l, p)| (l - mean.value) / log.total() + p).collect();
        let spread = variance(self.terms(&both), log.clusters());
        Estimate::new(mean.value, spread.sqrt(), log.clusters())
    }

    /// Each row is corrected by a model that was fitted without it.
    fn doubly_robust(
        &self,
        chances: &Matrix,
        ratios: &[f64],
        watch: Watch<'_>,
    ) -> Result<Option<Estimate>> {
        let folds: &[(Values, Vec<f64>)] = self.cross_fits(watch)?;
        if folds.is_empty() {
            return Ok(None);
        }
        let log = self.log();
        let mut terms: Vec<Term<'_>> = Vec::new();
        for (values, rows) in folds {
            let direct = chances.weighing(values.matrix());
            for ((entry, &weight), ratio) in log.entries().iter().zip(rows).zip(ratios) {
                if weight > 0.0 {
                    let (x, a) = (entry.context as usize, entry.action as usize);
                    let value = direct[x] + ratio * (log.value(entry) - values.at(x, a));
                    terms.push(Term { entry, weight, value });
                }
            }
        }
        Ok(Some(Estimate::mean(&terms, log.clusters())))
    }
}

/// The variance that the noise of a model fitted to a log brings into the mean of a policy's chances
/// over contexts with these shares; None where the model does not say.
pub(crate) fn leaf_noise(
    log: &Log,
    model: &Model,
    shares: &[f64],
    chances: &Matrix,
) -> Option<f64> {
    let mass = |x: usize, action: usize| shares[x] * chances.at(x, action);
    let mass = || Matrix::from_fn(shares.len(), chances.actions(), mass);
    match (model.leaves(), log.is_plain()) {
        (Some(leaves), _) => {
            Some(noise_of_leaves(log, leaves, &leaf_masses(log, leaves, shares, chances)))
        }
        (None, true) => model.noise(log, &mass()),
        (None, false) => pulls(log, model, shares, chances).map(|p| variance_of(log, &p)),
    }
}

/// The variance that leaves bring into a mean that weighs them by `masses`.
pub(crate) fn noise_of_leaves(log: &Log, leaves: &Leaves, masses: &LeafMasses) -> f64 {
    if log.is_plain() {
        noise(log, leaves, masses)
    } else {
        variance_of(log, &leaf_pulls(log, leaves, masses))
    }
}

/// The variance of a mean that a unit of each entry's weight pulls by so much.
fn variance_of(log: &Log, pulls: &[f64]) -> f64 {
    let all = log.entries().iter().zip(pulls);
    let terms = all.map(|(entry, &value)| Term { entry, weight: entry.weight, value });
    variance(terms, log.clusters())
}

/// What a policy weighs on each leaf, and for each action where it has no leaf.
pub(crate) struct LeafMasses {
    pub(crate) mass: Vec<f64>,
    pub(crate) elsewhere: Vec<f64>,
}

/// What the policy weighs on each leaf, contexts weighed by `shares`.
fn leaf_masses(log: &Log, leaves: &Leaves, shares: &[f64], chances: &Matrix) -> LeafMasses {
    let mut mass = vec![0.0; leaves.all().len()];
    let mut elsewhere = vec![0.0; log.actions().len()];
    for (context, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        for (action, p) in chances.row(context).iter().enumerate() {
            match leaves.leaf_of(context, action) {
                Some(leaf) => mass[leaf] += share * p,
                None => elsewhere[action] += share * p,
            }
        }
    }
    LeafMasses { mass, elsewhere }
}

/// By how much a unit of each entry's weight pulls the mean; None where the model does not say.
fn pulls(log: &Log, model: &Model, shares: &[f64], chances: &Matrix) -> Option<Vec<f64>> {
    if let Some(leaves) = model.leaves() {
        let masses = leaf_masses(log, leaves, shares, chances);
        return Some(leaf_pulls(log, leaves, &masses));
    }
    let mass = |x: usize, action: usize| shares[x] * chances.at(x, action);
    let (slopes, own) = model.pulls(&Matrix::from_fn(shares.len(), chances.actions(), mass))?;
    let means = model.values(log, Wasserstein.at(0.0), Unseen::Mean, Settings::default()).ok()?;
    let pull = |e: &Entry| {
        let (x, action) = (e.context as usize, e.action as usize);
        // A row's own share in its fitted value takes as much off its residual.
        let rest = own.as_ref().map_or(1.0, |own| (1.0 - own.at(x, action)).max(0.1));
        slopes.at(x, action) * (log.value(e) - means.at(x, action)) / rest.sqrt()
    };
    Some(log.entries().iter().map(pull).collect())
}

/// Of leaves: `W_L (y − m_L) / n_L`, residuals by their degrees of freedom: what one row says of its own
/// spread is nothing, so it borrows that of the action's other leaves.
fn leaf_pulls(log: &Log, leaves: &Leaves, masses: &LeafMasses) -> Vec<f64> {
    let LeafMasses { mass, elsewhere } = masses;
    let of: Vec<(f64, f64)> = leaves.all().iter().map(|l| (l.mean(log), l.weight())).collect();
    let (weights, mut means) = (log.action_totals(), vec![0.0; elsewhere.len()]);
    let mut rows = vec![0.0; of.len()];
    let leaf_of = |e: &Entry| leaves.leaf_of(e.context as usize, e.action as usize);
    for e in log.entries() {
        let action = e.action as usize;
        means[action] += e.weight * log.value(e) / weights[action];
        if let Some(leaf) = leaf_of(e) {
            rows[leaf] += e.rows();
        }
    }
    // Within each action: squared residuals of rows, and degrees of freedom.
    let mut pooled = vec![(0.0, 0.0); elsewhere.len()];
    for e in log.entries() {
        if let Some(leaf) = leaf_of(e) {
            pooled[e.action as usize].0 += e.rows() * (log.value(e) - of[leaf].0).powi(2);
        }
    }
    for (leaf, rows) in leaves.all().iter().zip(&rows) {
        pooled[leaf.action].1 += (rows - 1.0).max(0.0);
    }
    let pull = |e: &Entry| {
        let (y, action) = (log.value(e), e.action as usize);
        // Where the action was never seen, its mean over all its rows stood in.
        let outside = elsewhere[action] * (y - means[action]) / weights[action];
        let inside = leaf_of(e).map_or(0.0, |leaf| {
            let (mean, weight) = of[leaf];
            let residual = match rows[leaf] {
                n if n >= 2.0 => (y - mean) * (n / (n - 1.0)).sqrt(),
                _ if pooled[action].1 > 0.0 => (pooled[action].0 / pooled[action].1).sqrt(),
                _ => 0.0,
            };
            mass[leaf] * residual / weight
        });
        outside + inside
    };
    log.entries().iter().map(pull).collect()
}

/// The variance that the leaves' means bring in: `Σ_L W_L² s_L² / n_L`. A leaf of fewer than two rows borrows the spread within the action's other leaves.
fn noise(log: &Log, leaves: &Leaves, masses: &LeafMasses) -> f64 {
    let actions = log.actions().len();
    let LeafMasses { mass, elsewhere } = masses;
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
        if freedom >= 1.0 {
            leaf.deviations(log) / freedom
        } else if pooled > 0.0 {
            squares / pooled
        } else {
            0.0
        }
    };
    let each = leaves.all().iter().zip(mass).filter(|(_, m)| **m != 0.0);
    let within: f64 = each.map(|(leaf, m)| m * m * variance(leaf) / leaf.weight()).sum();
    // Where the action was never seen, its mean over all its rows stood in.
    let mut own = vec![(0.0, 0.0, 0.0); actions];
    for e in log.entries() {
        let sums: &mut (f64, f64, f64) = &mut own[e.action as usize];
        let y = log.value(e);
        *sums = (sums.0 + e.weight, sums.1 + e.weight * y, sums.2 + e.weight * y * y);
    }
    let outside = own.iter().zip(elsewhere).filter(|(sums, m)| **m != 0.0 && sums.0 > 1.0);
    let outside = outside.map(|(&(n, sum, squares), m)| {
        m * m * ((squares - sum * sum / n).max(0.0) / (n - 1.0)) / n
    });
    within + outside.sum::<f64>()
}

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
//! variance `Σ w_i² (y_i − v)² / (Σ w_i)²`. The direct method's takes the model as given.

use crate::error::{Error, Result};
use crate::log::{Entry, Log};
use crate::outcome::{Model, Unseen, Values};
use crate::policy::Policy;
use crate::{Ambiguity, Settings};

/// The 97.5% point of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Where the propensities come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propensity {
    /// The log says.
    Known,
    /// The shares of the actions in each context cell.
    Cells,
}

/// An estimate with its standard error and 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    fn new(value: f64, se: f64) -> Self {
        Estimate { value, se, lower: value - NORMAL * se, upper: value + NORMAL * se }
    }
}

/// How well the log covers a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The smallest propensity.
    pub smallest: f64,
    /// The largest propensity.
    pub largest: f64,
    /// `(Σ w)² / Σ w²`: how many rows the weighted ones are worth.
    pub effective: f64,
    /// Rows whose ratio was clipped.
    pub clipped: f64,
}

/// All nominal estimates of one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    pub overlap: Overlap,
}

/// Estimates a policy's value. `fit` refits the outcome model on the rows of a log, for
/// cross-fitting; ratios above `clip` are clipped and counted.
pub fn nominal(
    log: &Log,
    policy: &Policy,
    propensity: Propensity,
    clip: Option<f64>,
    folds: usize,
    fit: &dyn Fn(&Log) -> Result<Model>,
) -> Result<Nominal> {
    if folds < 2 {
        return Err(Error::config(format!("{folds} folds; expected at least 2")));
    }
    if clip.is_some_and(|c| c.is_nan() || c <= 0.0) {
        return Err(Error::config("the clip must be a number > 0"));
    }
    let propensities = propensities(log, propensity)?;
    let entries = log.entries();
    let total = log.total();
    let mut clipped = 0.0;
    let ratios: Vec<f64> = entries
        .iter()
        .zip(&propensities)
        .map(|(e, p)| {
            let ratio = policy.probability(e.context as usize, e.action as usize) / p;
            match clip {
                Some(most) if ratio > most => {
                    clipped += e.weight;
                    most
                }
                _ => ratio,
            }
        })
        .collect();
    let weight = |of: &dyn Fn(usize, &Entry) -> f64| -> f64 {
        entries.iter().enumerate().map(|(i, e)| e.weight * of(i, e)).sum()
    };
    // The mean of a term over the rows, with its standard error.
    let mean = |of: &dyn Fn(usize, &Entry) -> f64| {
        let value = weight(of) / total;
        let variance = weight(&|i, e| (of(i, e) - value).powi(2)) / (total - 1.0).max(1.0);
        Estimate::new(value, (variance / total).sqrt())
    };

    let whole = plain(&fit(log)?, log)?;
    let direct = policy.values(&whole);
    let dm = mean(&|_, e| direct[e.context as usize]);
    let ips = mean(&|i, e| ratios[i] * log.value(e));
    let mass = weight(&|i, _| ratios[i]);
    let snips = weight(&|i, e| ratios[i] * log.value(e)) / mass;
    let spread = weight(&|i, e| (ratios[i] * (log.value(e) - snips)).powi(2));
    let snips = Estimate::new(snips, spread.sqrt() / mass);
    let dr = doubly_robust(log, policy, &ratios, folds, fit)?;
    let effective = mass * mass / weight(&|i, _| ratios[i] * ratios[i]);
    let extreme = |of: fn(f64, f64) -> f64, start| propensities.iter().copied().fold(start, of);
    let overlap = Overlap {
        smallest: extreme(f64::min, f64::INFINITY),
        largest: extreme(f64::max, 0.0),
        effective,
        clipped,
    };
    Ok(Nominal { dm, ips, snips, dr, overlap })
}

/// The propensity of each entry's action.
fn propensities(log: &Log, propensity: Propensity) -> Result<Vec<f64>> {
    match propensity {
        Propensity::Known if log.knows_propensities() => {
            Ok(log.entries().iter().map(|e| e.propensity).collect())
        }
        Propensity::Known => Err(Error::config(
            "the log does not say with which probability \
                                                its actions were taken; estimate them",
        )),
        Propensity::Cells => {
            let behaviour = Policy::behaviour(log);
            let of = |e: &Entry| behaviour.probability(e.context as usize, e.action as usize);
            Ok(log.entries().iter().map(of).collect())
        }
    }
}

/// The plain means of a model; where an action was never seen, its mean over the log.
fn plain(model: &Model, log: &Log) -> Result<Values> {
    let nothing = Ambiguity::Wasserstein { radius: 0.0 };
    model.values(log, nothing, Unseen::Mean, &Settings::default())
}

/// Each row is corrected by a model that was fitted without it. Rows are dealt to the folds one
/// after the other in the log's order, so that every fold has its share of every context.
fn doubly_robust(
    log: &Log,
    policy: &Policy,
    ratios: &[f64],
    folds: usize,
    fit: &dyn Fn(&Log) -> Result<Model>,
) -> Result<Estimate> {
    let dealt = deal(log, folds);
    // Rows of one entry and fold have the same term.
    let mut terms: Vec<(f64, f64)> = Vec::new();
    for fold in 0..folds {
        let rest = log
            .entries()
            .iter()
            .zip(&dealt)
            .map(|(e, counts)| Entry { weight: e.weight - counts[fold], ..*e });
        let others = Log::new(
            log.contexts().clone(),
            log.actions().to_vec(),
            log.outcomes().clone(),
            log.values().to_vec(),
            log.direction(),
            rest.collect(),
        )?;
        let values = plain(&fit(&others)?, &others)?;
        let direct = policy.values(&values);
        for ((e, counts), ratio) in log.entries().iter().zip(&dealt).zip(ratios) {
            if counts[fold] > 0.0 {
                let (x, a) = (e.context as usize, e.action as usize);
                let term = direct[x] + ratio * (log.value(e) - values.at(x, a));
                terms.push((counts[fold], term));
            }
        }
    }
    let total: f64 = terms.iter().map(|t| t.0).sum();
    let value = terms.iter().map(|t| t.0 * t.1).sum::<f64>() / total;
    let squares: f64 = terms.iter().map(|t| t.0 * (t.1 - value).powi(2)).sum();
    Ok(Estimate::new(value, (squares / (total - 1.0).max(1.0) / total).sqrt()))
}

/// How much of each entry's weight is in each fold. Whole rows are dealt one by one; an entry of
/// a fractional weight goes to one fold.
fn deal(log: &Log, folds: usize) -> Vec<Vec<f64>> {
    let mut next = 0;
    let mut dealt = Vec::with_capacity(log.entries().len());
    for entry in log.entries() {
        let mut counts = vec![0.0; folds];
        if entry.weight.fract() == 0.0 && entry.weight < 1e15 {
            let rows = entry.weight as usize;
            for (k, count) in counts.iter_mut().enumerate() {
                let after = (k + folds - next) % folds;
                *count = (rows / folds + usize::from(after < rows % folds)) as f64;
            }
            next = (next + rows) % folds;
        } else {
            counts[next] = entry.weight;
            next = (next + 1) % folds;
        }
        dealt.push(counts);
    }
    dealt
}

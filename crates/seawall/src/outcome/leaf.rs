//! A leaf: contexts that share their empirical outcomes under one action.

use super::Side;
use crate::ambiguity::{Detail, Problem, Settings, Shift, Status};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::population::Population;

/// No leaf.
pub(super) const NONE: u32 = u32::MAX;

/// Contexts that share their outcomes under one action.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The action.
    pub action: usize,
    /// The outcomes seen, each with its weight.
    pub outcomes: Vec<(u32, f64)>,
}

impl Leaf {
    /// Adds up the weights of equal outcomes, in order of the outcomes.
    pub(super) fn new(action: usize, outcomes: impl Iterator<Item = (u32, f64)>) -> Self {
        let mut all: Vec<(u32, f64)> = outcomes.collect();
        all.sort_by_key(|o| o.0);
        let mut merged: Vec<(u32, f64)> = Vec::new();
        for (outcome, weight) in all {
            match merged.last_mut() {
                Some(last) if last.0 == outcome => last.1 += weight,
                _ => merged.push((outcome, weight)),
            }
        }
        Leaf { action, outcomes: merged }
    }

    /// The weight of the rows in here.
    pub fn weight(&self) -> f64 {
        self.outcomes.iter().map(|o| o.1).sum()
    }

    /// The mean value of the rows in here.
    pub fn mean(&self, log: &Log) -> f64 {
        let total = self.weight();
        let mean = |o: &(u32, f64)| log.values()[o.0 as usize] * (o.1 / total);
        self.outcomes.iter().map(mean).sum()
    }

    /// The sum of squared deviations from the mean.
    pub fn deviations(&self, log: &Log) -> f64 {
        let mean = self.mean(log);
        let square = |o: &(u32, f64)| o.1 * (log.values()[o.0 as usize] - mean).powi(2);
        self.outcomes.iter().map(square).sum()
    }

    /// The worst (or best) mean of the value over outcomes around those in here, and its gap.
    pub(super) fn extreme(
        &self,
        log: &Log,
        costs: Shift,
        side: Side,
        settings: Settings<'_>,
    ) -> Result<(f64, f64)> {
        if costs.radius == 0.0 && costs.set.stays_at_zero() {
            return Ok((self.mean(log), 0.0));
        }
        let mut weights = vec![0.0; log.outcomes().len()];
        self.outcomes.iter().for_each(|&(outcome, weight)| weights[outcome as usize] += weight);
        let population = Population::from_weights(log.outcomes().clone(), weights)?;
        let problem = Problem::new(&population, log.values())?.direction(side.of(log.direction()));
        let worst = costs.worst_case(&problem, settings.detail(Detail::Value))?;
        match worst.status() {
            Status::Stopped => Err(Error::stopped()),
            _ => Ok((worst.value(), worst.gap())),
        }
    }
}

/// All rows of one action as a leaf; all rows of the log if the action has none, which happens
/// only to parts of a log.
pub(super) fn whole(log: &Log, action: usize) -> Leaf {
    let of = |all: bool| {
        let entries = log.entries().iter().filter(move |e| all || e.action as usize == action);
        Leaf::new(action, entries.map(|e| (e.outcome, e.weight)))
    };
    let own = of(false);
    if own.outcomes.is_empty() { of(true) } else { own }
}

//! Leaves: contexts that share their empirical outcomes under one action.

use super::{Tree, Values};
use crate::ambiguity::{Ambiguity, Detail, Problem, Settings};
use crate::error::Result;
use crate::log::Log;
use crate::population::Population;
use rayon::prelude::*;

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

/// Which leaf each context is in under each action.
#[derive(Clone, Debug)]
pub struct Leaves {
    pub(super) contexts: usize,
    /// `[action · contexts + context]`, `NONE` where the action was never seen.
    pub(super) leaf_of: Vec<u32>,
    pub(super) leaves: Vec<Leaf>,
    /// The trees, one per action, if that is where the leaves come from.
    pub(super) trees: Vec<Tree>,
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

    /// The worst case of the value over outcomes around those in here, and its gap.
    pub(super) fn worst(
        &self,
        log: &Log,
        set: Ambiguity,
        settings: &Settings<'_>,
    ) -> Result<(f64, f64)> {
        if set.radius() == 0.0 && !matches!(set, Ambiguity::Entropic { .. }) {
            return Ok((self.mean(log), 0.0));
        }
        let mut weights = vec![0.0; log.outcomes().len()];
        self.outcomes.iter().for_each(|&(outcome, weight)| weights[outcome as usize] += weight);
        let population = Population::from_weights(log.outcomes().clone(), weights)?;
        let problem = Problem::new(&population, log.values())?.direction(log.direction());
        let settings = Settings { detail: Detail::Value, watch: None, ..*settings };
        let worst = set.worst_case(&problem, &settings)?;
        Ok((worst.value, worst.gap()))
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

impl Leaves {
    /// The place in [`all`](Self::all) of a context's leaf, if the action was seen there.
    pub fn place(&self, context: usize, action: usize) -> Option<usize> {
        let leaf = self.leaf_of[action * self.contexts + context];
        (leaf != NONE).then_some(leaf as usize)
    }

    /// Every leaf.
    pub fn all(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The regression trees, one per action; none if the leaves are cells.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    pub(super) fn unseen(&self) -> Vec<usize> {
        let row = |row: &[u32]| row.iter().filter(|&&leaf| leaf == NONE).count();
        self.leaf_of.chunks(self.contexts).map(row).collect()
    }

    pub(super) fn values(
        &self,
        log: &Log,
        set: Ambiguity,
        fill: &[f64],
        settings: &Settings<'_>,
    ) -> Result<Values> {
        let worst = |leaf: &Leaf| leaf.worst(log, set, settings);
        let found: Vec<(f64, f64)> = self.leaves.par_iter().map(worst).collect::<Result<_>>()?;
        let mut values = Vec::with_capacity(self.leaf_of.len());
        for (row, fill) in self.leaf_of.chunks(self.contexts).zip(fill) {
            let value = |&leaf: &u32| found.get(leaf as usize).map_or(*fill, |v| v.0);
            values.extend(row.iter().map(value));
        }
        let gap = found.iter().map(|v| v.1).fold(0.0, f64::max);
        let smoothing = match set {
            Ambiguity::Entropic { eta, .. } => (log.outcomes().len() as f64).ln() / eta,
            _ => 0.0,
        };
        Ok(Values { contexts: self.contexts, values, gap, smoothing })
    }
}

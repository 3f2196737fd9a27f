//! The outcomes that a policy would have met, doubly robustly: for every value `y`
//!
//! ```text
//! F(y) = mean over people of  Σ_a π(a|X) F_{X,a}(y) + w (1{Y ≤ y} − F_{X,A}(y))      w = π/π₀
//! ```
//!
//! with `F_{x,a}` the outcomes of the leaf of `(x, a)` in a model fitted without the person's fold, and `w`
//! divided by its mean, which steadies it where the model is rough; then made to rise from 0 to 1 by the
//! nearest rising function, gaps between values as weights, so that its mean stays the doubly robust estimate
//! of the mean, residuals self-normalised, unless `F` had left [0, 1].
//!
//! `F` is a sum of jumps, each at the outcome of a row or at that which stands in for what was never seen: a
//! leaf's mass, what people in it weigh with the sign they have, is shared out among its rows. No table of
//! people by values is made.

use super::super::estimate::Term;
use super::super::evaluator::{CrossModels, Evaluator};
use super::Law;
use super::kl::nobody;
use crate::error::{Error, Field, Result};
use crate::kernel::isotonic::rising;
use crate::log::{Entry, Log};
use crate::matrix::Matrix;
use crate::outcome::{Model, Unseen};
use crate::policy::Policy;
use crate::progress::Watch;
use rayon::prelude::*;

/// No leaf.
const NONE: u32 = u32::MAX;
/// A smaller share of people than this is rounding.
const CRUMB: f64 = 1e-13;

/// The corrected distribution, and what it is made of.
pub(super) struct Corrected<'f> {
    fitted: &'f Evaluator,
    models: &'f CrossModels,
    ratios: Vec<f64>,
    chances: Matrix,
    people: People,
    weights: Vec<f64>,
}

/// The contexts that people are in: each entry's place among them.
struct People {
    contexts: Vec<usize>,
    place: Vec<u32>,
}

impl People {
    fn new(log: &Log) -> Self {
        let (mut contexts, mut place) = (Vec::new(), Vec::new());
        for e in log.entries() {
            // Entries are in order of context.
            if contexts.last() != Some(&(e.context as usize)) {
                contexts.push(e.context as usize);
            }
            place.push(contexts.len() as u32 - 1);
        }
        People { contexts, place }
    }
}

/// A model fitted without a fold.
struct Fold<'f> {
    log: &'f Log,
    people: &'f People,
    model: &'f Model,
    /// What of each entry's weight is in the fold, and what the model was fitted to.
    inside: &'f [f64],
    left: &'f [f64],
    unseen: Unseen,
}

impl<'f> Corrected<'f> {
    pub fn new(fitted: &'f Evaluator, policy: &Policy, watch: Watch<'_>) -> Result<Self> {
        let kind = fitted.recipe().kind();
        if !fitted.recipe().has_outcomes() {
            return Err(Error::field(
                Field::Set,
                format!(
                    "is joint-kl-dr, which needs a model that keeps outcomes, and {} keeps none",
                    kind.name()
                ),
            )
            .advise(Field::Model, &["tree", "forest", "cells"]));
        }
        let (mut ratios, _) = fitted.ratios(policy)?;
        if ratios.iter().all(|r| *r == 0.0) {
            return Err(nobody(policy, "joint-kl-dr"));
        }
        let entries = fitted.log().entries();
        let mass: f64 = entries.iter().zip(&ratios).map(|(e, r)| e.weight * r).sum();
        ratios.iter_mut().for_each(|ratio| *ratio *= fitted.log().total() / mass);
        let models = fitted.cross_models(watch)?;
        if models.is_empty() {
            return Err(Error::input(
                "the log is too small for folds, and joint-kl-dr fits its model on other rows than it \
                 corrects; joint-kl needs none",
            ));
        }
        let (log, chances) = (fitted.log(), policy.probabilities().clone());
        let people = People::new(log);
        let mut found = Corrected { fitted, models, ratios, chances, people, weights: Vec::new() };
        let jumps: Vec<Vec<f64>> = found.folds().par_iter().map(|fold| found.jumps(fold)).collect();
        let mut weights = vec![0.0; log.outcomes().len()];
        for part in jumps {
            weights.iter_mut().zip(part).for_each(|(w, jump)| *w += jump);
        }
        distribution(log, &mut weights);
        found.weights = weights;
        Ok(found)
    }

    fn folds(&self) -> Vec<Fold<'_>> {
        let (log, unseen) = (self.fitted.log().as_ref(), self.fitted.options().unseen);
        let fold = |((model, left), inside): &'f ((Model, Vec<f64>), Vec<f64>)| Fold {
            log,
            people: &self.people,
            model,
            inside,
            left,
            unseen,
        };
        self.models.iter().map(fold).collect()
    }

    /// What a fold's people add to each outcome's jump.
    fn jumps(&self, fold: &Fold<'_>) -> Vec<f64> {
        let (log, actions) = (fold.log, self.chances.actions());
        let total = log.total();
        let mut jumps = vec![0.0; log.outcomes().len()];
        let mut mass = vec![0.0; self.people.contexts.len() * actions];
        for (i, e) in log.entries().iter().enumerate().filter(|(i, _)| fold.inside[*i] > 0.0) {
            let share = fold.inside[i] / total;
            let own = &mut mass[self.people.place[i] as usize * actions..][..actions];
            for (mass, p) in own.iter_mut().zip(self.chances.row(e.context as usize)) {
                *mass += share * p;
            }
            own[e.action as usize] -= share * self.ratios[i];
            jumps[e.outcome as usize] += share * self.ratios[i];
        }
        fold.share_out(&mass, actions, &mut jumps);
        jumps
    }
}

impl Fold<'_> {
    /// For each action and each way in which its model cuts contexts into leaves: the share of that
    /// cutting, the leaf of every context that has people, and what each leaf's rows weigh.
    fn each_cutting(&self, actions: usize, mut visit: impl FnMut(usize, f64, &[u32], &[f64])) {
        for action in 0..actions {
            let own = || {
                let entries = self.log.entries().iter().enumerate();
                entries.filter(move |(_, e)| e.action as usize == action)
            };
            let cuttings = self.model.cuttings(action);
            if cuttings == 0 {
                visit(action, 1.0, &vec![NONE; self.people.contexts.len()], &[]);
            }
            for cutting in 0..cuttings {
                let mut totals = vec![0.0; self.model.leaves_in(cutting, action)];
                let leaf = |x: &usize| {
                    self.model.leaf_in(cutting, *x, action).map_or(NONE, |leaf| leaf as u32)
                };
                let leaf_of: Vec<u32> = self.people.contexts.iter().map(leaf).collect();
                for (i, _) in own().filter(|(i, _)| self.left[*i] > 0.0) {
                    if let Some(total) = totals.get_mut(self.leaf(i, &leaf_of)) {
                        *total += self.left[i];
                    }
                }
                visit(action, 1.0 / cuttings as f64, &leaf_of, &totals);
            }
        }
    }

    fn leaf(&self, entry: usize, leaf_of: &[u32]) -> usize {
        leaf_of[self.people.place[entry] as usize] as usize
    }

    /// The outcomes that stand in for an action where it was never seen, as shares.
    fn fill(&self, action: usize) -> Vec<(u32, f64)> {
        let entries = self.log.entries();
        if self.unseen == Unseen::Worst {
            let (values, sign) = (self.log.values(), self.log.direction().sign());
            let worse = |a: &usize, b: &usize| (sign * values[*a]).total_cmp(&(sign * values[*b]));
            return (0..values.len()).max_by(worse).map(|k| (k as u32, 1.0)).into_iter().collect();
        }
        let of = |all: bool| -> Vec<(u32, f64)> {
            let own = |e: &Entry| all || e.action as usize == action;
            let rows = entries.iter().zip(self.left).filter(|(e, left)| own(e) && **left > 0.0);
            rows.map(|(e, left)| (e.outcome, *left)).collect()
        };
        let own = of(false);
        let rows = if own.is_empty() { of(true) } else { own };
        let total: f64 = rows.iter().map(|r| r.1).sum();
        rows.into_iter().map(|(outcome, weight)| (outcome, weight / total)).collect()
    }

    /// Shares masses of contexts and actions out among the outcomes of their leaves.
    fn share_out(&self, mass: &[f64], actions: usize, jumps: &mut [f64]) {
        self.each_cutting(actions, |action, share, leaf_of, totals| {
            let (mut of_leaf, mut elsewhere) = (vec![0.0; totals.len()], 0.0);
            for (place, &leaf) in leaf_of.iter().enumerate() {
                let mass = share * mass[place * actions + action];
                match totals.get(leaf as usize) {
                    Some(total) if *total > 0.0 => of_leaf[leaf as usize] += mass / total,
                    _ => elsewhere += mass,
                }
            }
            for (i, e) in self.log.entries().iter().enumerate() {
                if e.action as usize == action && self.left[i] > 0.0 {
                    let mass = of_leaf.get(self.leaf(i, leaf_of)).copied().unwrap_or(0.0);
                    jumps[e.outcome as usize] += mass * self.left[i];
                }
            }
            if elsewhere != 0.0 {
                for (outcome, part) in self.fill(action) {
                    jumps[outcome as usize] += elsewhere * part;
                }
            }
        });
    }

    /// The mean of numbers given by outcome in every context that has people, under each action:
    /// `[number][place · actions + action]`.
    fn means(&self, numbers: &[Vec<f64>], actions: usize) -> Vec<Vec<f64>> {
        let mut means = vec![vec![0.0; self.people.contexts.len() * actions]; numbers.len()];
        self.each_cutting(actions, |action, share, leaf_of, totals| {
            let unseen = |leaf: &u32| totals.get(*leaf as usize).is_none_or(|t| *t == 0.0);
            let fill = if leaf_of.iter().any(unseen) { self.fill(action) } else { Vec::new() };
            for (numbers, means) in numbers.iter().zip(&mut means) {
                let mut of_leaf = vec![0.0; totals.len()];
                for (i, e) in self.log.entries().iter().enumerate() {
                    if e.action as usize == action && self.left[i] > 0.0 {
                        let leaf = self.leaf(i, leaf_of);
                        if let Some(mean) = of_leaf.get_mut(leaf) {
                            *mean += numbers[e.outcome as usize] * (self.left[i] / totals[leaf]);
                        }
                    }
                }
                let elsewhere: f64 = fill.iter().map(|(k, part)| numbers[*k as usize] * part).sum();
                for (place, leaf) in leaf_of.iter().enumerate() {
                    let mean = if unseen(leaf) { elsewhere } else { of_leaf[*leaf as usize] };
                    means[place * actions + action] += share * mean;
                }
            }
        });
        means
    }
}

/// Makes jumps at outcomes a distribution: by rising values, the nearest that rises from 0 to 1.
fn distribution(log: &Log, jumps: &mut [f64]) {
    // Not only outcomes of rows: what stands for contexts never seen may be on no row.
    let rows = log.entries().iter().map(|e| e.outcome);
    let moved = (0..jumps.len() as u32).filter(|&k| jumps[k as usize] != 0.0);
    let mut order: Vec<u32> = rows.chain(moved).collect();
    order.sort_unstable();
    order.dedup();
    let value = |k: u32| log.values()[k as usize];
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    // The first outcome of each value stands for all of that value.
    let (mut firsts, mut steps): (Vec<u32>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut below = 0.0;
    for &k in &order {
        below += jumps[k as usize];
        match firsts.last() {
            Some(first) if value(*first) == value(k) => {
                if let Some(last) = steps.last_mut() {
                    *last = below;
                }
            }
            _ => {
                firsts.push(k);
                steps.push(below);
            }
        }
    }
    let gaps: Vec<f64> = firsts.windows(2).map(|two| value(two[1]) - value(two[0])).collect();
    let last = steps.len() - 1;
    rising(&mut steps[..last], &gaps);
    steps[last] = 1.0;
    jumps.fill(0.0);
    let (mut before, mut kept) = (0.0, 0.0);
    for (&k, &step) in firsts.iter().zip(&steps) {
        let step = step.clamp(0.0, 1.0);
        if step - before > CRUMB {
            jumps[k as usize] = step - before;
            kept += step - before;
        }
        before = step;
    }
    jumps.iter_mut().for_each(|p| *p /= kept);
}

impl Law for Corrected<'_> {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// By the model alone: corrections are of everybody together.
    fn by_context(&self, ratios: &[f64]) -> Vec<f64> {
        let (log, actions) = (self.fitted.log(), self.chances.actions());
        let numbers = [ratios.to_vec()];
        let mut weights = vec![0.0; log.contexts().len()];
        for fold in self.folds() {
            let means = &fold.means(&numbers, actions)[0];
            for (i, e) in log.entries().iter().enumerate().filter(|(i, _)| fold.inside[*i] > 0.0) {
                let own = &means[self.people.place[i] as usize * actions..][..actions];
                let chances = self.chances.row(e.context as usize);
                let mean: f64 = chances.iter().zip(own).map(|(p, m)| p * m).sum();
                weights[e.context as usize] += fold.inside[i] * mean;
            }
        }
        weights
    }

    fn terms(&self, numbers: &[Vec<f64>]) -> Vec<Vec<Term<'_>>> {
        let (log, actions) = (self.fitted.log(), self.chances.actions());
        let folds = self.folds();
        let all: Vec<Vec<Vec<f64>>> =
            folds.par_iter().map(|fold| fold.means(numbers, actions)).collect();
        let mut terms: Vec<Vec<Term<'_>>> = vec![Vec::new(); numbers.len()];
        let mut residuals = vec![0.0; numbers.len()];
        let each = |visit: &mut dyn FnMut(usize, usize, &Fold<'_>, f64, f64)| {
            for (fold, means) in folds.iter().zip(&all) {
                for (i, entry) in log.entries().iter().enumerate() {
                    if fold.inside[i] > 0.0 {
                        let place = self.people.place[i] as usize * actions;
                        let chances = self.chances.row(entry.context as usize);
                        for (k, (means, numbers)) in means.iter().zip(numbers).enumerate() {
                            let own = &means[place..place + actions];
                            let direct: f64 = chances.iter().zip(own).map(|(p, m)| p * m).sum();
                            let off = numbers[entry.outcome as usize] - own[entry.action as usize];
                            visit(k, i, fold, direct, off);
                        }
                    }
                }
            }
        };
        each(&mut |k, i, fold, _, off| {
            residuals[k] += fold.inside[i] * self.ratios[i] * off / log.total();
        });
        // Residuals about their mean, as the weights' mean is estimated, too.
        each(&mut |k, i, fold, direct, off| {
            let mean = residuals[k];
            let value = (direct + mean + self.ratios[i] * (off - mean)) / log.total();
            terms[k].push(Term { entry: &log.entries()[i], weight: fold.inside[i], value });
        });
        terms
    }
}

//! The choice of a tree's settings by cross-validation.
//!
//! Each action's tree is chosen by itself. For each of the settings offered, trees are fitted on all
//! folds but one and their squared error is taken on the rows of the one left out. Of those whose
//! mean error is within one standard error of the lowest one, the **simplest** is taken: errors that
//! close cannot be told apart, and what a larger tree adds is then as likely noise, which a worst
//! case would find. The standard error is that of the best settings' mean errors over the folds,
//! `s / √folds`.
//!
//! Simplest is the fewest leaves, on average over the folds; then larger leaves, a smaller depth,
//! more pruning; then whatever was offered first.

use super::folding::FoldPlan;
use super::tree::{Tree, TreeSettings, fitted};
use crate::error::{Error, Result};
use crate::log::{Folds, Log};
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The settings chosen for one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The settings.
    pub settings: TreeSettings,
    /// Their mean squared error on rows left out.
    pub error: f64,
    /// The lowest error of any settings offered.
    pub lowest: f64,
    /// The standard error of that one over the folds.
    pub se: f64,
}

/// What came of settings on the folds.
#[derive(Clone, Copy)]
struct SettingsTrial {
    error: f64,
    se: f64,
    leaves: f64,
}

/// Chooses each action's settings among those offered to it.
pub fn choose(
    log: &Log,
    offered: &[Vec<TreeSettings>],
    folds: impl Into<FoldPlan>,
    watch: Watch<'_>,
) -> Result<Vec<Choice>> {
    if offered.len() != log.actions().len() || offered.iter().any(Vec::is_empty) {
        return Err(Error::config("every action needs at least one setting to choose from"));
    }
    let dealt = folds.into().deal(log)?;
    let parts: Vec<Log> =
        (0..dealt.count()).map(|fold| dealt.without(fold)).collect::<Result<_>>()?;
    let all: Vec<(usize, TreeSettings)> = offered
        .iter()
        .enumerate()
        .flat_map(|(action, settings)| settings.iter().map(move |s| (action, *s)))
        .collect();
    let done = AtomicUsize::new(0);
    let tried = |&(action, settings): &(usize, TreeSettings)| -> Result<SettingsTrial> {
        let mut trial = Errors::default();
        for (fold, rest) in parts.iter().enumerate() {
            let done = done.fetch_add(1, Ordering::Relaxed);
            watch.tell(Progress::at(Stage::Fitting).done(done).out_of(parts.len() * all.len()))?;
            let Some(tree) = fitted(rest, action, &settings, watch)? else { continue };
            trial.add(log, &dealt, fold, action, &tree);
        }
        Ok(trial.summary())
    };
    let trials: Vec<SettingsTrial> = all.par_iter().map(tried).collect::<Result<_>>()?;
    let chosen = |action: usize| {
        let own = all.iter().zip(&trials).filter(|((a, _), _)| *a == action);
        simplest(own.map(|((_, settings), trial)| (*settings, *trial)).collect())
    };
    Ok((0..offered.len()).filter_map(chosen).collect())
}

/// Of those within one standard error of the best, the simplest.
fn simplest(all: Vec<(TreeSettings, SettingsTrial)>) -> Option<Choice> {
    let best = all.iter().map(|t| t.1).reduce(|a, b| if b.error < a.error { b } else { a })?;
    let within = all.into_iter().filter(|t| t.1.error <= best.error + best.se);
    let simpler = |a: &(TreeSettings, SettingsTrial), b: &(TreeSettings, SettingsTrial)| {
        let larger = |a: f64, b: f64| b.total_cmp(&a);
        let (one, two) = (&a.0, &b.0);
        (a.1.leaves.total_cmp(&b.1.leaves))
            .then(larger(one.min_share, two.min_share))
            .then(larger(one.min_samples_leaf, two.min_samples_leaf))
            .then(one.max_depth.cmp(&two.max_depth))
            .then(larger(one.ccp_alpha, two.ccp_alpha))
    };
    let first = |a, b| if simpler(&a, &b).is_gt() { b } else { a };
    let (settings, trial) = within.reduce(first)?;
    Some(Choice { settings, error: trial.error, lowest: best.error, se: best.se })
}

/// The errors of one action's trees, fold by fold.
#[derive(Default)]
struct Errors {
    /// Each fold's rows and sum of squared errors.
    folds: Vec<(f64, f64)>,
    leaves: f64,
}

impl Errors {
    fn add(&mut self, log: &Log, dealt: &Folds<'_>, fold: usize, action: usize, tree: &Tree) {
        let (mut rows, mut squares) = (0.0, 0.0);
        for (i, e) in log.entries().iter().enumerate() {
            let weight = dealt.weight(i, fold);
            if e.action as usize == action && weight > 0.0 {
                let node = tree.leaf(log.contexts(), e.context as usize);
                squares += weight * (log.value(e) - tree.summary(node).1).powi(2);
                rows += weight;
            }
        }
        self.leaves += tree.leaf_count() as f64;
        self.folds.push((rows, squares));
    }

    fn summary(&self) -> SettingsTrial {
        let (rows, squares) = self.folds.iter().fold((0.0, 0.0), |t, f| (t.0 + f.0, t.1 + f.1));
        let means = self.folds.iter().filter(|f| f.0 > 0.0).map(|f| f.1 / f.0).collect::<Vec<_>>();
        let leaves = self.leaves / self.folds.len().max(1) as f64;
        let error = if rows > 0.0 { squares / rows } else { 0.0 };
        SettingsTrial { error, se: standard_error(&means), leaves }
    }
}

/// The standard error of the mean of a few numbers; 0 of fewer than two.
pub(super) fn standard_error(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let mean = numbers.iter().sum::<f64>() / count;
    let spread: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    (spread / (count - 1.0) / count).sqrt()
}

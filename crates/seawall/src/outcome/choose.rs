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
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The settings.
    pub settings: TreeSettings,
    /// Their mean squared error on rows left out.
    pub error: f64,
    /// The lowest error of any settings offered.
    pub lowest: f64,
    /// The standard error of that one over the folds.
    pub se: f64,
    /// The sum of squared errors of the settings on each fold's rows; none if a fold leaves the action without any.
    pub squares: Vec<f64>,
}

/// What came of settings on the folds.
#[derive(Clone)]
struct SettingsTrial {
    error: f64,
    se: f64,
    leaves: f64,
    squares: Vec<f64>,
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
    let families = families(&all);
    let done = AtomicUsize::new(0);
    // A shallower tree is the deeper one cut off: one fit serves all depths.
    let tried = |family: &Family| -> Result<Vec<(usize, SettingsTrial)>> {
        let depths: Vec<usize> = family.members.iter().map(|member| member.1).collect();
        let tell = || {
            let done = done.fetch_add(1, Ordering::Relaxed);
            let out_of = parts.len() * families.len();
            watch.tell(Progress::at(Stage::Fitting).done(done).out_of(out_of))
        };
        let of = (family.action, &family.deepest);
        let trials = depth_errors((log, &dealt, &parts), of, &depths, (&tell, watch))?;
        Ok(family.members.iter().map(|m| m.0).zip(trials.iter().map(Errors::summary)).collect())
    };
    let tried: Vec<Vec<(usize, SettingsTrial)>> =
        families.par_iter().map(tried).collect::<Result<_>>()?;
    let mut trials: Vec<(usize, SettingsTrial)> = tried.into_iter().flatten().collect();
    trials.sort_unstable_by_key(|(place, _)| *place);
    let trials: Vec<SettingsTrial> = trials.into_iter().map(|(_, trial)| trial).collect();
    let chosen = |action: usize| {
        let own = all.iter().zip(&trials).filter(|((a, _), _)| *a == action);
        simplest(own.map(|((_, settings), trial)| (*settings, trial.clone())).collect())
    };
    Ok((0..offered.len()).filter_map(chosen).collect())
}

/// The errors of one action's trees cut off at each of some depths, fold by fold, the deepest of them grown once on all
/// rows but a fold's.
pub(super) fn depth_errors(
    (log, dealt, parts): (&Log, &Folds<'_>, &[Log]),
    (action, deepest): (usize, &TreeSettings),
    depths: &[usize],
    (tell, watch): (&dyn Fn() -> Result<()>, Watch<'_>),
) -> Result<Vec<Errors>> {
    let mut errors = vec![Errors::default(); depths.len()];
    for (fold, rest) in parts.iter().enumerate() {
        tell()?;
        let Some(tree) = fitted(rest, action, deepest, watch)? else { continue };
        for (errors, &depth) in errors.iter_mut().zip(depths) {
            errors.add((log, dealt), fold, action, (&tree, depth));
        }
    }
    Ok(errors)
}

/// Settings of one action that differ in their depth alone.
struct Family {
    action: usize,
    deepest: TreeSettings,
    /// The place of each among all settings, and its depth.
    members: Vec<(usize, usize)>,
}

fn families(all: &[(usize, TreeSettings)]) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for (place, &(action, settings)) in all.iter().enumerate() {
        let like = |other: &TreeSettings| TreeSettings { max_depth: settings.max_depth, ..*other };
        // What is pruned depends on the whole tree.
        let same = |f: &&mut Family| {
            f.action == action && settings.ccp_alpha == 0.0 && like(&f.deepest) == settings
        };
        match families.iter_mut().find(same) {
            Some(family) => {
                family.deepest.max_depth = family.deepest.max_depth.max(settings.max_depth);
                family.members.push((place, settings.max_depth));
            }
            None => families.push(Family {
                action,
                deepest: settings,
                members: vec![(place, settings.max_depth)],
            }),
        }
    }
    families
}

/// Of those within one standard error of the best, the simplest.
fn simplest(all: Vec<(TreeSettings, SettingsTrial)>) -> Option<Choice> {
    let lower = |a: (f64, f64), b: (f64, f64)| if b.0 < a.0 { b } else { a };
    let best = all.iter().map(|t| (t.1.error, t.1.se)).reduce(lower)?;
    let within = all.into_iter().filter(|t| t.1.error <= best.0 + best.1);
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
    let SettingsTrial { error, squares, .. } = trial;
    Some(Choice { settings, error, lowest: best.0, se: best.1, squares })
}

/// The errors of one action's trees, fold by fold.
#[derive(Clone, Default)]
pub(super) struct Errors {
    /// Each fold's rows and sum of squared errors.
    folds: Vec<(f64, f64)>,
    leaves: f64,
}

impl Errors {
    fn add(
        &mut self,
        (log, dealt): (&Log, &Folds<'_>),
        fold: usize,
        action: usize,
        (tree, depth): (&Tree, usize),
    ) {
        let (mut rows, mut squares) = (0.0, 0.0);
        for (i, e) in log.entries().iter().enumerate() {
            let weight = dealt.weight(i, fold);
            if e.action as usize == action && weight > 0.0 {
                let node = tree.node_at(log.contexts(), e.context as usize, depth);
                squares += weight * (log.value(e) - tree.summary(node).1).powi(2);
                rows += weight;
            }
        }
        self.leaves += tree.leaf_count_at(depth) as f64;
        self.folds.push((rows, squares));
    }

    /// Each fold's sum of squared errors.
    pub(super) fn squares(&self) -> Vec<f64> {
        self.folds.iter().map(|fold| fold.1).collect()
    }

    fn summary(&self) -> SettingsTrial {
        let (rows, squares) = self.folds.iter().fold((0.0, 0.0), |t, f| (t.0 + f.0, t.1 + f.1));
        let means = self.folds.iter().filter(|f| f.0 > 0.0).map(|f| f.1 / f.0).collect::<Vec<_>>();
        let leaves = self.leaves / self.folds.len().max(1) as f64;
        let error = if rows > 0.0 { squares / rows } else { 0.0 };
        SettingsTrial { error, se: standard_error(&means), leaves, squares: self.squares() }
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

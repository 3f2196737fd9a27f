//! The choice of a tree's settings by cross-validation.
//!
//! Each action's tree is chosen by itself: of the settings offered, those whose trees, fitted on
//! all folds but one, have the lowest mean squared error on the rows of the one left out. Ties go
//! to the settings offered first.

use super::tree::{TreeSettings, fitted};
use crate::error::{Error, Result};
use crate::log::Log;
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
}

/// Chooses each action's settings among those offered to it.
pub fn choose(
    log: &Log,
    offered: &[Vec<TreeSettings>],
    folds: usize,
    watch: Watch<'_>,
) -> Result<Vec<Choice>> {
    if offered.len() != log.actions().len() || offered.iter().any(Vec::is_empty) {
        return Err(Error::config("every action needs at least one setting to choose from"));
    }
    let dealt = log.folds(folds)?;
    let parts: Vec<Log> = (0..folds).map(|fold| dealt.without(fold)).collect::<Result<_>>()?;
    let all: Vec<(usize, TreeSettings)> = offered
        .iter()
        .enumerate()
        .flat_map(|(action, settings)| settings.iter().map(move |s| (action, *s)))
        .collect();
    let fitted_so_far = AtomicUsize::new(0);
    let error = |&(action, settings): &(usize, TreeSettings)| -> Result<f64> {
        let (mut squares, mut rows) = (0.0, 0.0);
        for (fold, rest) in parts.iter().enumerate() {
            let done = fitted_so_far.fetch_add(1, Ordering::Relaxed);
            watch.tell(Progress::at(Stage::Fitting).done(done).out_of(folds * all.len()))?;
            let Some(tree) = fitted(rest, action, &settings, watch)? else { continue };
            for (i, e) in log.entries().iter().enumerate() {
                let weight = dealt.weight(i, fold);
                if e.action as usize == action && weight > 0.0 {
                    let node = tree.leaf(log.contexts(), e.context as usize);
                    squares += weight * (log.value(e) - tree.summary(node).1).powi(2);
                    rows += weight;
                }
            }
        }
        Ok(if rows > 0.0 { squares / rows } else { 0.0 })
    };
    let errors: Vec<f64> = all.par_iter().map(error).collect::<Result<_>>()?;
    let best = |action: usize| {
        let own = all.iter().zip(&errors).filter(|((a, _), _)| *a == action);
        own.map(|((_, settings), error)| Choice { settings: *settings, error: *error })
            .reduce(|best, next| if next.error < best.error { next } else { best })
    };
    Ok((0..offered.len()).filter_map(best).collect())
}

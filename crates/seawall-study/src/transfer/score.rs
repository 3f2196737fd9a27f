//! Leaving groups out: what the log without a group predicts for it, and what the group really cost.

use super::contrast::{Contrast, predicted};
use super::history::History;
use crate::prepare::PreparedStudy;
use crate::reference::Target;
use rayon::prelude::*;
use seawall::evaluate::{Estimate, Evaluator};
use seawall::transfer::Past;
use seawall::{Progress, Result, Stage, Watch};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A group that was left out, for one policy or difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    pub(crate) predicted: Estimate,
    pub(crate) real: Estimate,
    /// What it cost more than was predicted; of rewards, what it brought less.
    pub(crate) needed: f64,
}

impl Score {
    /// As a past group that counts for so much.
    pub(crate) fn past(&self, weight: f64) -> Past {
        let variance = self.predicted.se.powi(2) + self.real.se.powi(2);
        Past { score: self.needed, variance, weight }
    }
}

/// What is asked of every group.
pub(crate) struct Trial<'a> {
    pub(crate) prepared: &'a PreparedStudy,
    pub(crate) history: &'a History,
    pub(crate) target: &'a Target,
    pub(crate) contrasts: &'a [Contrast],
}

impl Trial<'_> {
    /// What is fitted to the log without a group, and without another.
    pub(crate) fn fitted_without(
        &self,
        group: usize,
        another: Option<usize>,
        watch: Watch<'_>,
    ) -> Result<Evaluator> {
        let rest = self.history.log_without(group, another)?;
        self.prepared.fitted_to(&rest, watch)
    }

    /// A group's scores, given what was fitted without it; none where the rest cannot be made like it.
    pub(crate) fn scores(
        &self,
        fitted: &Evaluator,
        group: usize,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<Score>>> {
        let own = &self.history.groups[group];
        let known = self.target.measured_on(&own.log)?;
        let contrasts = self.contrasts.iter().map(|c| c.chosen_by(self.prepared, fitted, watch));
        let contrasts: Vec<Contrast> = contrasts.collect::<Result<_>>()?;
        let Some(predicted) = possible(predicted(fitted, &known, &contrasts, watch))? else {
            return Ok(None);
        };
        let sign = fitted.log().direction().sign();
        let score = |(c, predicted): (&Contrast, Estimate)| {
            let real = own.rows().realised(fitted, &c.policy, c.against.as_ref())?;
            Ok(Score { predicted, real, needed: sign * (real.value - predicted.value) })
        };
        let scores: Vec<Score> =
            contrasts.iter().zip(predicted).map(score).collect::<Result<_>>()?;
        // Too few clusters to fold, or a policy that no row of the rest follows.
        let told = |s: &Score| s.past(1.0).variance.is_finite() && s.needed.is_finite();
        Ok(scores.iter().all(told).then_some(scores))
    }

    /// Every group's scores, each left out of the log; none where it cannot be predicted.
    pub(crate) fn all(&self, watch: Watch<'_>) -> Result<Vec<Option<Vec<Score>>>> {
        let count = self.history.len();
        // Groups that are not in the log leave nothing out of it.
        let whole = if self.history.groups.iter().any(|g| g.inside) {
            None
        } else {
            Some(self.prepared.fitted_to(&self.history.log, watch)?)
        };
        each(count, watch, |group, inside| match &whole {
            Some(fitted) => self.scores(fitted, group, inside),
            None => {
                let Some(fitted) = possible(self.fitted_without(group, None, inside))? else {
                    return Ok(None);
                };
                self.scores(&fitted, group, inside)
            }
        })
    }
}

/// What there is; none where the data at hand do not give it.
pub(crate) fn possible<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.is_input() || e.is_config() => Ok(None),
        Err(e) => Err(e),
    }
}

/// Does something for each of so many, on all cores, in order.
pub(crate) fn each<T: Send>(
    count: usize,
    watch: Watch<'_>,
    of: impl Fn(usize, Watch<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done = AtomicUsize::new(0);
    let progress = || {
        let so_far = done.load(Ordering::Relaxed);
        Progress::at(Stage::Groups).done(so_far).out_of(count)
    };
    let inside = |_: Progress<'_>| watch.go_on(progress());
    let one = |k: usize| {
        watch.tell(progress())?;
        let found = of(k, Watch::new(&inside));
        done.fetch_add(1, Ordering::Relaxed);
        found
    };
    (0..count).into_par_iter().map(one).collect()
}

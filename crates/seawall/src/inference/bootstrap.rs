//! The bootstrap over a log's rows: everything that depends on the rows is worked out again.
//!
//! A replicate draws rows with replacement (multinomial), or weighs them by exponential weights
//! (Bayesian), clusters whole where there are any, refits what the caller refits, and returns a few numbers. Replicate `b` has a random
//! stream of its own, so the answers are the same on any number of threads.

use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::log::{Entry, Log, clusters_of};
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How rows are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resampling {
    /// As many rows as there are, with replacement.
    #[default]
    Multinomial,
    /// Every row by an exponential weight.
    Bayesian,
}

/// Rows drawn one by one up to this; beyond it each entry's count by its Poisson limit.
const ONE_BY_ONE: f64 = 5e6;

/// What the replicates said: a list of numbers each.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicates {
    /// `[replicate][number]`.
    pub all: Vec<Vec<f64>>,
}

/// An interval for one number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The replicates' standard deviation.
    pub se: f64,
    /// The percentile interval: quantiles of the replicates.
    pub percentile: (f64, f64),
    /// The basic interval: quantiles turned round the estimate.
    pub basic: (f64, f64),
}

impl Replicates {
    /// The interval of one number at a level, given its estimate. Replicates in which it is not
    /// finite are left out.
    pub fn interval(&self, number: usize, estimate: f64, level: f64) -> Result<Interval> {
        check_level(level)?;
        if let Some(short) = self.all.iter().find(|r| r.len() <= number) {
            return Err(Error::input(format!("number {number} of {}", short.len())));
        }
        let mut sorted: Vec<f64> =
            self.all.iter().map(|r| r[number]).filter(|x| x.is_finite()).collect();
        if sorted.is_empty() {
            let none = (f64::NAN, f64::NAN);
            return Ok(Interval { se: f64::NAN, percentile: none, basic: none });
        }
        // Sums before sorting, and each tail counted from its own end: negated replicates give the
        // negated interval to the last digit.
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = 0.5 * (1.0 - level) * (count - 1.0);
        let (near, far) = (at.floor() as usize, at.ceil() as usize);
        let between = |a: f64, b: f64| a + (b - a) * at.fract();
        let last = sorted.len() - 1;
        let low = between(sorted[near], sorted[far]);
        let high = between(sorted[last - near], sorted[last - far]);
        Ok(Interval {
            se: (squares / (count - 1.0).max(1.0)).sqrt(),
            percentile: (low, high),
            basic: (2.0 * estimate - high, 2.0 * estimate - low),
        })
    }
}

/// Refuses a level that is none.
pub(crate) fn check_level(level: f64) -> Result<()> {
    match level > 0.0 && level < 1.0 {
        true => Ok(()),
        false => {
            let what = format!("is {level}; expected a number between 0 and 1");
            Err(Error::field(Field::Level, what))
        }
    }
}

/// What is asked of a log drawn again: given the log, its number among the replicates, and a watch.
pub type Ask<'a> = dyn Fn(&Log, usize, Watch<'_>) -> Result<Vec<f64>> + Sync + 'a;

/// Runs `ask` on so many resampled logs, each with its number and a watch that tells how many are
/// done and stops with `watch`; a stopped bootstrap is an error that says so.
pub fn bootstrap(
    log: &Log,
    replicates: usize,
    resampling: Resampling,
    seed: u64,
    watch: Watch<'_>,
    ask: &Ask<'_>,
) -> Result<Replicates> {
    if replicates == 0 {
        return Err(Error::field(Field::Bootstrap, "is 0; expected at least 1"));
    }
    let ends: Vec<f64> = log
        .entries()
        .iter()
        .scan(0.0, |sum, e| {
            *sum += e.rows();
            Some(*sum)
        })
        .collect();
    let clusters = clusters_of(log.entries());
    let done = AtomicUsize::new(0);
    let one = |b: usize| -> Result<Vec<f64>> {
        let progress = || {
            let so_far = done.load(Ordering::Relaxed);
            Progress::at(Stage::Resampling).done(so_far).out_of(replicates)
        };
        watch.tell(progress())?;
        let inside = |_: Progress<'_>| watch.go_on(progress());
        let mut random = Random::new(seed, b as u64);
        let weights = match (&clusters, resampling) {
            (Some(clusters), _) => by_cluster(log, clusters, resampling, &mut random),
            (None, Resampling::Multinomial) => multinomial(log, &ends, &mut random),
            (None, Resampling::Bayesian) => exponential(log, &mut random),
        };
        let numbers = ask(&log.reweighted(|i, _| weights[i])?, b, Watch::new(&inside))?;
        // A solve that was stopped may have given what it had.
        watch.tell(progress())?;
        done.fetch_add(1, Ordering::Relaxed);
        Ok(numbers)
    };
    let all = (0..replicates).into_par_iter().map(one).collect::<Result<_>>()?;
    Ok(Replicates { all })
}

/// Rows are drawn, and each brings what it weighs.
fn multinomial(log: &Log, ends: &[f64], random: &mut Random) -> Vec<f64> {
    let rows = log.rows();
    if rows > ONE_BY_ONE {
        let mut count = |n: f64| (n + n.sqrt() * random.normal()).round().max(0.0);
        return log.entries().iter().map(|e| e.unit * count(e.rows())).collect();
    }
    let mut weights = vec![0.0; ends.len()];
    for _ in 0..(rows.round() as usize).max(1) {
        let drawn = random.unit() * rows;
        let at = ends.partition_point(|&end| end <= drawn).min(ends.len() - 1);
        weights[at] += log.entries()[at].unit;
    }
    weights
}

/// Each entry the sum of as many exponential weights as it has rows: a gamma weight, by its normal
/// limit where there are many.
fn exponential(log: &Log, random: &mut Random) -> Vec<f64> {
    let mut weight = |rows: f64| {
        if rows > 200.0 {
            return (rows + rows.sqrt() * random.normal()).max(0.0);
        }
        let whole: f64 = (0..rows.floor() as usize).map(|_| -(1.0 - random.unit()).ln()).sum();
        // A fraction of a row weighs that fraction of an exponential.
        whole + rows.fract() * -(1.0 - random.unit()).ln()
    };
    log.entries().iter().map(|e| e.unit * weight(e.rows())).collect()
}

/// Whole clusters are drawn, or weighed.
fn by_cluster(
    log: &Log,
    clusters: &[u32],
    resampling: Resampling,
    random: &mut Random,
) -> Vec<f64> {
    let mut times = vec![0.0; clusters.len()];
    match resampling {
        Resampling::Multinomial => {
            clusters.iter().for_each(|_| times[random.below(clusters.len())] += 1.0);
        }
        Resampling::Bayesian => times.iter_mut().for_each(|t| *t = -(1.0 - random.unit()).ln()),
    }
    let place = |e: &Entry| clusters.partition_point(|c| *c < e.cluster);
    log.entries().iter().map(|e| e.weight * times[place(e)]).collect()
}

//! How much of a worst case is noise: populations chosen on one half of the rows, valued on the other.
//!
//! The worst case is convex in the values, so their noise raises it: an adversary finds noise. With
//! the rows dealt at random to halves A and B, `q_A` the worst population found on A alone, `l_B`
//! the values fitted to B alone,
//!
//! ```text
//! H = E_{q_A}[l_B],   averaged both ways and over R halvings
//! ```
//!
//! does not favour the noise of B, whatever A chose: in expectation there is a population within the
//! radius that costs at least H, and the worst case as fitted is too bad. Together they are a bracket,
//!
//! ```text
//! honest ≤ worst ≤ as fitted      (costs; the other way round for rewards)
//! limits:  H − t se(H)  and  V + S + t se(V)
//! ```
//!
//! up to what the model smooths away. For the upper limit that is allowed for by
//! `S = max(0, V(m + ρ) − V(m))`, the worst case of the model with what is left in its residuals
//! added back ([`LeftOver`](crate::outcome::LeftOver)). `t` is Student's quantile, its freedom the
//! number of halvings, or that of the clusters less one if they are fewer. `se(H)² = max(mean of Σ_L W_L² s_L²/n_L over the halves valued
//! on, mean of (H_AB − H_BA)²/2)`: half the rows' noise, and no less than the halves disagree.
//! `se(V)² = mean of (V_A − V_B)²/4`, the variance by half-samples, which refits everything that
//! depends on the rows. Neither is divided by R: the halvings share their rows.
//!
//! Where the log has rows in the places that `q_A` favours, residuals held out by it correct what the
//! model smooths away (`w` the policy's ratio to the propensity, p the log's share of a context):
//!
//! ```text
//! H_dr = E_{q_A}[l_A] + 1/n_B Σ_{i in B} (q_A(x_i)/p(x_i)) w_i (y_i − m_A(x_i, a_i))
//! ```
//!
//! with `l_B` in the place of `l_A` where the log has no row of what the policy does.
//!
//! How many splits: those that the first few show to be needed ([`SplitNoise::splits_needed`]), for what dealing
//! the rows anew would change falls with their number while what is left to say does not.
//!
//! Not here: what is solved on a half. The caller says it ([`Crossing`]).

use crate::ambiguity::Direction;
use crate::error::{Error, Field, Result};
use crate::evaluate::critical;
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one number is on two halves; the first of each pair is of the first half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The worst case on each half, as fitted there.
    pub fitted: [f64; 2],
    /// The population found on each half, valued on the other.
    pub honest: [f64; 2],
    /// The variance of that value given the population: the noise of the model on the other half. NaN
    /// where the model does not say.
    pub noise: [f64; 2],
    /// The value corrected by held-out residuals, and its variance; NaN where it was not asked for.
    pub corrected: [(f64, f64); 2],
}

/// How much of a number is noise, by halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitNoise {
    /// The honest value.
    pub honest: f64,
    /// Its standard error.
    pub honest_se: f64,
    /// The standard error of the value as fitted.
    pub fitted_se: f64,
    /// The honest value corrected by held-out residuals, and its standard error; NaN where it was not
    /// asked for.
    pub corrected: (f64, f64),
    /// How far single splits of the rows are apart: the standard deviation of the honest value over splits.
    pub spread: f64,
    /// How many halvings there were.
    pub halvings: usize,
}

/// One-sided limits of a worst case: together an interval of their level, each alone of more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The lower limit.
    pub lower: f64,
    /// The upper one.
    pub upper: f64,
    /// Their level.
    pub level: f64,
    /// How much of the limit on the bad side allows for what the model may have smoothed away.
    pub smoothing: f64,
}

impl SplitNoise {
    /// Sums up what the halvings found of one number.
    pub fn new(found: &[Crossing]) -> Self {
        let count = found.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Crossing) -> f64| found.iter().map(of).sum::<f64>() / count;
        let both = |pair: [f64; 2]| 0.5 * (pair[0] + pair[1]);
        let apart = |pair: [f64; 2]| (pair[0] - pair[1]).powi(2);
        let known = mean(&|c| both(c.noise));
        let seen = mean(&|c| 0.5 * apart(c.honest));
        let corrected = |of: fn(&(f64, f64)) -> f64| {
            mean(&|c| both([of(&c.corrected[0]), of(&c.corrected[1])]))
        };
        let spread = mean(&|c| 0.5 * apart([c.corrected[0].0, c.corrected[1].0]));
        let honest = mean(&|c| both(c.honest));
        let squares: f64 = found.iter().map(|c| (both(c.honest) - honest).powi(2)).sum();
        SplitNoise {
            honest,
            // Not NaN where the model does not say.
            honest_se: known.max(seen).sqrt(),
            fitted_se: 0.5 * mean(&|c| apart(c.fitted)).sqrt(),
            corrected: (corrected(|c| c.0), corrected(|c| c.1).max(spread).sqrt()),
            spread: (squares / (count - 1.0).max(1.0)).sqrt(),
            halvings: found.len(),
        }
    }

    /// How many splits bring the Monte Carlo error of the honest value, `spread/√R`, below a tenth of the
    /// width of its limits. That the standard errors are averages over splits, too, is what Student's quantile
    /// with R degrees of freedom pays for.
    pub fn splits_needed(&self, limits: &Limits) -> usize {
        let width = limits.upper - limits.lower;
        // Where splits agree there is nothing to be made smaller; a width of 0 asks for as many as there may be.
        if self.spread > 0.0 { (self.spread / (ERROR * width)).powi(2).ceil() as usize } else { 0 }
    }

    fn freedom(&self, clusters: Option<usize>) -> usize {
        clusters.map_or(self.halvings, |count| self.halvings.min(count.saturating_sub(1)))
    }

    /// The limits of a level around a value as fitted, `rough` being the value with what is left in
    /// the model's residuals added back; they hold both the value and the honest one.
    pub fn limits(
        &self,
        (value, rough): (f64, f64),
        direction: Direction,
        level: f64,
        clusters: Option<usize>,
    ) -> Limits {
        let reach = critical(level, Some(self.freedom(clusters) + 1));
        let sign = direction.sign();
        // Larger is worse.
        let (fitted, honest) = (sign * value, sign * self.honest);
        let smoothing = (sign * rough - fitted).max(0.0);
        let most = (fitted + smoothing + reach * self.fitted_se).max(honest);
        let least = (honest - reach * self.honest_se).min(fitted);
        let (lower, upper) = match direction {
            Direction::Cost => (least, most),
            Direction::Reward => (-most, -least),
        };
        Limits { lower, upper, level, smoothing }
    }
}

/// What is asked of two halves of a log: their crossings, one per number, given also the number of
/// the halving and a watch.
pub type AskHalves<'a> = dyn Fn(&Log, &Log, usize, Watch<'_>) -> Result<Vec<Crossing>> + Sync + 'a;

/// Splits of the rows that are tried before it is decided how many there are to be.
pub const FIRST_SPLITS: usize = 5;
/// The Monte Carlo error of a value over splits, at most, as a share of its limits' width.
const ERROR: f64 = 0.1;

/// How many splits of the rows there are to be.
pub enum Splits<'a> {
    /// So many.
    Exactly(usize),
    /// As many as what the first few found asks for ([`FIRST_SPLITS`]), and no more than this. It depends on
    /// the rows and the seed alone.
    Enough(usize, &'a dyn Fn(&[SplitNoise]) -> usize),
}

/// Deals the rows to halves so many times, clusters whole, and sums up what is found of each number.
/// The same on any number of threads.
pub fn halves(
    log: &Log,
    splits: &Splits<'_>,
    seed: u64,
    watch: Watch<'_>,
    ask: &AskHalves<'_>,
) -> Result<Vec<SplitNoise>> {
    let most = match splits {
        Splits::Exactly(count) | Splits::Enough(count, _) => *count,
    };
    if most == 0 {
        return Err(Error::field(Field::Halves, "is 0; expected at least 1"));
    }
    let done = AtomicUsize::new(0);
    let deal = |range: Range<usize>| -> Result<Vec<Vec<Crossing>>> {
        let count = range.end;
        let one = |halving: usize| {
            let progress = || {
                let so_far = done.load(Ordering::Relaxed);
                Progress::at(Stage::Halving).done(so_far).out_of(count)
            };
            watch.tell(progress())?;
            let inside = |_: Progress<'_>| watch.go_on(progress());
            let folds = log.split(seed, halving)?;
            let found = ask(&folds.only(0)?, &folds.only(1)?, halving, Watch::new(&inside))?;
            // A solve that was stopped may have given what it had.
            watch.tell(progress())?;
            done.fetch_add(1, Ordering::Relaxed);
            Ok(found)
        };
        range.into_par_iter().map(one).collect()
    };
    let summed = |all: &[Vec<Crossing>]| -> Vec<SplitNoise> {
        let numbers = all.iter().map(Vec::len).min().unwrap_or(0);
        let of = |k: usize| SplitNoise::new(&all.iter().map(|found| found[k]).collect::<Vec<_>>());
        (0..numbers).map(of).collect()
    };
    let Splits::Enough(_, enough) = splits else { return Ok(summed(&deal(0..most)?)) };
    let first = FIRST_SPLITS.min(most);
    let mut all = deal(0..first)?;
    let halved = summed(&all);
    let count = enough(&halved).clamp(first, most);
    if count == first {
        return Ok(halved);
    }
    all.extend(deal(first..count)?);
    Ok(summed(&all))
}

//! How much of a worst case is noise: populations found on one part of the rows, valued on the other.
//!
//! A worst case is convex in the values, so their noise raises it. With the rows dealt at random to parts A and B,
//! settings, models and rules chosen and fitted on each part alone, `V_A` the worst case on A, `q_A` its population and
//! `l_B` the values fitted to B,
//!
//! ```text
//! H_AB = E_{q_A}[l_B],    H = mean of H_AB and H_BA over R splits,    V = the plug-in worst case on all rows
//! se_H² = ½ max( mean leaf noise, mean (H_AB − H_BA)²/2 )              se_V² = mean (V_A − V_B)²/4
//! ```
//!
//! H does not favor the noise of B, whatever A chose: in expectation there is a population within the radius that costs
//! at least H. Where V is locally quadratic in the values, H is too low by a multiple of what V is too high by, and the
//! truth lies at the share `γ = 1/(1 + f)` of the gap for a model fitted to a share f of the rows: 2/3 for halves.
//! Where the truth is flat, H is unbiased. `[H, H + γ (V − H)⁺]` contains both ends ([`super::limits`]).
//!
//! How many splits: those that the first few show to be needed ([`SplitNoise::splits_needed`]).
//!
//! Not here: what is solved on a part. The caller says it.

use crate::error::{Error, Field, Result};
use crate::log::{Folds, Log};
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One number on the two parts of a split; the first of each pair is of the first part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitValue {
    /// The worst case on each part.
    pub plug_in: [f64; 2],
    /// The population found on each part, valued on the other.
    pub held_out: [f64; 2],
    /// The variance of that value given the population: the noise of the model on the other part. None where the
    /// model does not say.
    pub noise: [Option<f64>; 2],
}

/// How much of a number is noise, over all splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitNoise {
    /// The held-out value.
    pub held_out: f64,
    /// Its standard error.
    pub held_out_se: f64,
    /// The standard error of the plug-in value.
    pub plug_in_se: f64,
    /// The standard deviation of the held-out value over splits.
    pub spread: f64,
    /// How many splits there were.
    pub splits: usize,
}

impl SplitValue {
    /// So many times the same number.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        SplitValue {
            plug_in: self.plug_in.map(|v| factor * v),
            held_out: self.held_out.map(|v| factor * v),
            noise: self.noise.map(|v| v.map(|v| factor * factor * v)),
        }
    }
}

impl SplitNoise {
    /// Sums up what the splits found of one number.
    pub fn new(found: &[SplitValue]) -> Self {
        let count = found.len().max(1) as f64;
        let mean = |of: &dyn Fn(&SplitValue) -> f64| found.iter().map(of).sum::<f64>() / count;
        let both = |pair: [f64; 2]| 0.5 * (pair[0] + pair[1]);
        let apart = |pair: [f64; 2]| (pair[0] - pair[1]).powi(2);
        let told = |s: &SplitValue| both(s.noise.map(|noise| noise.unwrap_or(0.0)));
        let (known, seen) = (mean(&told), mean(&|s| 0.5 * apart(s.held_out)));
        let held_out = mean(&|s| both(s.held_out));
        let squares: f64 = found.iter().map(|s| (both(s.held_out) - held_out).powi(2)).sum();
        SplitNoise {
            held_out,
            held_out_se: (0.5 * known.max(seen)).sqrt(),
            plug_in_se: 0.5 * mean(&|s| apart(s.plug_in)).sqrt(),
            spread: (squares / (count - 1.0).max(1.0)).sqrt(),
            splits: found.len(),
        }
    }

    /// How many splits bring the Monte Carlo error of the held-out value, `spread/√R`, below a tenth of the
    /// width of its limits, which is given. That the standard errors are averages over splits, too, is what Student's quantile
    /// with R degrees of freedom pays for.
    pub fn splits_needed(&self, width: f64) -> usize {
        // Where splits agree there is nothing to be made smaller; a width of 0 asks for as many as there may be.
        if self.spread > 0.0 { (self.spread / (ERROR * width)).powi(2).ceil() as usize } else { 0 }
    }
}

/// What is found on the two parts of a split, one value per number; given the dealt rows, the number of the split and
/// a watch.
pub type AskParts<'a> = dyn Fn(&Folds<'_>, usize, Watch<'_>) -> Result<Vec<SplitValue>> + Sync + 'a;

/// Splits of the rows that are tried before it is decided how many there are to be.
pub const FIRST_SPLITS: usize = 10;
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

/// Deals the rows to two parts so many times, clusters whole, and sums up what is found of each number.
/// The same on any number of threads.
pub fn split_noise(
    log: &Log,
    splits: &Splits<'_>,
    seed: u64,
    watch: Watch<'_>,
    ask: &AskParts<'_>,
) -> Result<Vec<SplitNoise>> {
    let most = match splits {
        Splits::Exactly(count) | Splits::Enough(count, _) => *count,
    };
    if most == 0 {
        return Err(Error::field(Field::Halves, "is 0; expected at least 1"));
    }
    let done = AtomicUsize::new(0);
    let deal = |range: Range<usize>| -> Result<Vec<Vec<SplitValue>>> {
        let count = range.end;
        let one = |split: usize| {
            let progress = || {
                let so_far = done.load(Ordering::Relaxed);
                Progress::at(Stage::Halving).done(so_far).out_of(count)
            };
            watch.tell(progress())?;
            let inside = |_: Progress<'_>| watch.go_on(progress());
            let found = ask(&log.split(seed, split)?, split, Watch::new(&inside))?;
            // A solve that was stopped may have given what it had.
            watch.tell(progress())?;
            done.fetch_add(1, Ordering::Relaxed);
            Ok(found)
        };
        range.into_par_iter().map(one).collect()
    };
    let summed = |all: &[Vec<SplitValue>]| -> Vec<SplitNoise> {
        let numbers = all.iter().map(Vec::len).min().unwrap_or(0);
        let of = |k: usize| SplitNoise::new(&all.iter().map(|found| found[k]).collect::<Vec<_>>());
        (0..numbers).map(of).collect()
    };
    let Splits::Enough(_, enough) = splits else { return Ok(summed(&deal(0..most)?)) };
    let first = FIRST_SPLITS.min(most);
    let mut all = deal(0..first)?;
    let so_far = summed(&all);
    let count = enough(&so_far).clamp(first, most);
    if count == first {
        return Ok(so_far);
    }
    all.extend(deal(first..count)?);
    Ok(summed(&all))
}

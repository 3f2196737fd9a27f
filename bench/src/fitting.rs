//! Fitting on a wide log: rows of numbers that are all different, as an unbinned table has them.

use crate::{Result, peak_bytes};
use seawall::evaluate::{Evaluator, FitOptions, Propensity};
use seawall::outcome::{Recipe, ResidualKind, TreeSettings};
use seawall::policy::Policy;
use seawall::{Direction, Feature, Log, Watch};
use serde_json::{Value, json};
use std::sync::Arc;

/// A tree of depth 4 for each of two actions: processor seconds of the log, the first fit, another
/// fit, five fits without a fold each, and what is left over.
pub(crate) fn fitting(rows: usize, columns: usize) -> Result<Value> {
    let (log, counting) = timed(|| wide(rows, columns))?;
    let log: Arc<Log> = log.shared();
    let leaf = TreeSettings { min_samples_leaf: 20.0, ..TreeSettings::default() };
    let recipe = Recipe::Tree(vec![leaf; 2]);
    let fit = || {
        let (options, design) = (FitOptions::for_log(&log), Propensity::Design(vec![0.5; 2]));
        let options = FitOptions { repeats: 1, ..options };
        Ok(Evaluator::new(&log, &recipe, &design, options, Watch::NOBODY)?)
    };
    let (_, first) = timed(fit)?;
    let (fitted, again) = timed(fit)?;
    let policy = Policy::constant(&log, "treat")?;
    let (nominal, across) = timed(|| Ok(fitted.nominal(&policy, Watch::NOBODY)?))?;
    let (_, left_over) = timed(|| Ok(fitted.left_over(&[ResidualKind::Additive])?))?;
    Ok(json!({ "rows": rows, "columns": columns, "log": counting, "first_fit": first,
               "fit": again, "across_folds": across, "left_over": left_over,
               "dr": nominal.best().value, "bytes": peak_bytes()? }))
}

/// Rows whose outcomes hang on three columns.
fn wide(rows: usize, columns: usize) -> Result<Log> {
    let mut state = 12_345_u64;
    let mut unit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let all: Vec<Vec<f64>> = (0..columns).map(|_| (0..rows).map(|_| unit()).collect()).collect();
    let actions: Vec<&str> =
        (0..rows).map(|_| if unit() < 0.5 { "treat" } else { "wait" }).collect();
    let outcome = |i: usize| {
        let step = if all[1 % columns][i] > 0.6 { 0.2 } else { 0.0 };
        0.3 * all[0][i] + step + 0.1 * all[2 % columns][i] + unit() - 0.5
    };
    let outcomes: Vec<f64> = (0..rows).map(outcome).collect();
    let features: Vec<Feature> = (0..columns).map(|k| Feature::numeric(format!("x{k}"))).collect();
    Ok(Log::from_rows(features, all, &actions, &outcomes, None, Direction::Cost)?)
}

/// What some work gives, and the processor seconds that it took on all threads.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let before = processor_seconds()?;
    let found = work()?;
    Ok((found, processor_seconds()? - before))
}

/// The user time of this process, in the hundredths of a second that the kernel counts.
fn processor_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().ok_or("no fields")?;
    let ticks: f64 = fields.split_whitespace().nth(11).ok_or("no user time")?.parse()?;
    Ok(ticks / 100.0)
}

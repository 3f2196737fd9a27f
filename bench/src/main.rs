//! Seawall's side of the benchmarks: runs one on plain arrays and prints its times as JSON.
//!
//! `bench/peers.py` makes the problems, runs the peers on the same ones, calls this program and
//! prints one table. Files are raw little-endian `f64`.

mod fitting;
mod learning;

use seawall::outcome::{BoostedSettings, ForestSettings, Recipe, Values};
use seawall::{
    Detail, EngineKind, Entropic, Feature, Geometry, Log, Population, Problem, Progress, Set,
    Settings, Space, Wasserstein, Watch,
};
use serde_json::{Value, json};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let found = match words[..] {
        ["trial", folder, radius, eta] => on(1, || trial(folder, radius.parse()?, eta.parse()?))?,
        ["grid", cells, threads] => on(threads.parse()?, || grid(cells.parse()?))?,
        ["scattered", points, engine] => on(2, || scattered(points.parse()?, engine))?,
        ["descent", steps, seeds] => on(2, || learning::descent(steps.parse()?, seeds.parse()?))?,
        ["search", rows, features, levels] => {
            on(1, || learning::search(rows.parse()?, features.parse()?, levels.parse()?))?
        }
        ["groups", study] => on(2, || learning::groups(study))?,
        ["distance", folder] => on(1, || distance(folder))?,
        ["far", points] => on(2, || far(points.parse()?))?,
        ["count", study] => on(1, || count(study))?,
        ["trees", study] => on(1, || trees(study))?,
        ["fitting", rows, columns] => on(2, || fitting::fitting(rows.parse()?, columns.parse()?))?,
        ["set", folder, set, radius] => on(1, || set_at(folder, set, radius.parse()?))?,
        ["models", study, kind] => on(2, || models(study, kind))?,
        _ => {
            return Err("usage: seawall-bench trial FOLDER RADIUS ETA | grid CELLS THREADS | \
                        scattered POINTS tree|scan|scan-once | count STUDY | trees STUDY | models STUDY forest|boosted | fitting ROWS COLUMNS | descent STEPS SEEDS | \
                        search ROWS FEATURES LEVELS | groups STUDY | distance FOLDER | far POINTS | \
                        set FOLDER NAME RADIUS"
                .into());
        }
    };
    println!("{found}");
    Ok(())
}

/// Runs on so many threads.
fn on<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    // The error type of a benchmark need not cross threads: it is turned into text.
    let found = pool.install(|| work().map_err(|e| e.to_string()));
    Ok(found?)
}

/// The median time of `work`, repeated for about half a second, and its last result.
fn median<T>(mut work: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
    let (mut times, started) = (Vec::new(), Instant::now());
    loop {
        let start = Instant::now();
        let found = work()?;
        times.push(start.elapsed().as_secs_f64());
        if started.elapsed().as_secs_f64() > 0.5 && times.len() > 2 {
            times.sort_unstable_by(f64::total_cmp);
            return Ok((times[times.len() / 2], found));
        }
    }
}

fn read(path: &str) -> Result<Vec<f64>> {
    let bytes = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
}

/// A grid of the stroke trial's shape: 3 × 2 × 9 × 2 × 23 × 4.
fn trial_space() -> Result<Space> {
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    Ok(Space::grid([
        Feature::ordinal("consciousness", levels(3)),
        Feature::nominal("sex", levels(2)),
        Feature::numeric("age").levels((0..9).map(f64::from)),
        Feature::nominal("asleep", levels(2)),
        Feature::numeric("pressure").levels((0..23).map(f64::from)),
        Feature::ordinal("stroke", levels(4)),
    ])?)
}

fn trial(folder: &str, radius: f64, eta: f64) -> Result<Value> {
    let values = read(&format!("{folder}/values.f64"))?;
    let weights = read(&format!("{folder}/weights.f64"))?;
    let population = Population::from_weights(Arc::new(trial_space()?), weights)?;
    // A problem made anew for every solve: one that was solved before keeps its engine.
    let problem = || Problem::new(&population, &values);
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let exact = Wasserstein.at(radius);
    let (exact_seconds, worst) = median(|| Ok(exact.worst_case(&problem()?, settings)?))?;
    let geometry = Geometry::new(&population).shared();
    let (prepared_seconds, _) =
        median(|| Ok(exact.worst_case(&Problem::on(&geometry, &values)?, settings)?))?;
    let (curve_seconds, curve) =
        median(|| Ok(Wasserstein.solver(&problem()?, settings)?.curve(0.0)?))?;
    let smooth = Entropic { eta }.at(radius);
    let (entropic_seconds, soft) = median(|| Ok(smooth.worst_case(&problem()?, settings)?))?;
    Ok(json!({
        "exact": {"seconds": exact_seconds, "value": worst.value(), "gap": worst.gap(),
                  "evaluations": worst.evaluations(), "prepared_seconds": prepared_seconds},
        "curve": {"seconds": curve_seconds, "vertices": curve.vertices().len(),
                  "exact": curve.is_exact(), "value": curve.at(radius).value},
        "entropic": {"seconds": entropic_seconds, "value": soft.value(), "gap": soft.gap(),
                     "evaluations": soft.evaluations()},
    }))
}

/// One worst case over a set by name, on points of three numbers: the value with both bounds, from
/// arrays to the answer.
fn set_at(folder: &str, set: &str, radius: f64) -> Result<Value> {
    let column = |name: &str| read(&format!("{folder}/{name}.f64"));
    let (values, weights) = (column("values")?, column("weights")?);
    let columns = vec![column("x")?, column("y")?, column("z")?];
    let space = Arc::new(Space::points(["x", "y", "z"].map(Feature::numeric), columns)?);
    let population = Population::from_weights(space, weights)?;
    let set: Set = set.parse()?;
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let (seconds, worst) = median(|| {
        let problem = Problem::new(&population, &values)?;
        Ok(set.at(radius).worst_case(&problem, settings)?)
    })?;
    Ok(json!({ "seconds": seconds, "value": worst.value(), "gap": worst.gap() }))
}

/// A grid of so many cells: three features of 10 levels and a long one.
fn grid(cells: usize) -> Result<Value> {
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let long = cells / 1000;
    let space = Arc::new(Space::grid([
        Feature::ordinal("a", levels(10)),
        Feature::nominal("b", levels(10)),
        Feature::numeric("c").levels((0..10).map(f64::from)),
        Feature::numeric("d").levels((0..long).map(|k| k as f64)),
    ])?);
    let n = space.len();
    let draw = |i: usize, salt: u64| {
        let mut z = (i as u64 ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (z >> 11) as f64 / (1u64 << 53) as f64
    };
    let values: Vec<f64> = (0..n).map(|i| 3.0 * draw(i, 1).powi(4)).collect();
    let population = Population::from_weights(space, (0..n).map(|i| draw(i, 2)).collect())?;
    let problem = Problem::new(&population, &values)?;
    let start = Instant::now();
    let worst = Wasserstein.at(0.03).worst_case(&problem, Settings::default())?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(json!({
        "cells": n, "seconds": seconds, "evaluations": worst.evaluations(),
        "seconds_per_evaluation": seconds / worst.evaluations() as f64,
        "peak_arrays": peak_bytes()? / (8.0 * n as f64), "gap": worst.gap(),
    }))
}

/// Scattered points in three dimensions, all observed.
fn scattered(points: usize, engine: &str) -> Result<Value> {
    let (engine, most) = match engine {
        "tree" => (EngineKind::Tree, usize::MAX),
        "scan" => (EngineKind::Scan, usize::MAX),
        // A whole solve by scanning takes minutes; what one evaluation takes is enough.
        "scan-once" => (EngineKind::Scan, 1),
        _ => return Err(format!("no engine {engine:?}").into()),
    };
    let mut state = 7u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let columns: Vec<Vec<f64>> = (0..3).map(|_| (0..points).map(|_| draw()).collect()).collect();
    let values: Vec<f64> = (0..points)
        .map(|i| (6.0 * columns[0][i]).sin() + columns[1][i] * columns[2][i] + 0.3 * draw())
        .collect();
    let features = ["x", "y", "z"].map(Feature::numeric);
    let space = Arc::new(Space::points(features, columns)?);
    let population = Population::from_weights(space, vec![1.0; points])?;
    let problem = Problem::new(&population, &values)?;
    let calls = AtomicUsize::new(0);
    let watcher = |_: Progress<'_>| calls.fetch_add(1, Ordering::Relaxed) + 1 < most;
    let settings = Settings::default().watched(Watch::new(&watcher));
    let start = Instant::now();
    let mut solver = Wasserstein.solver(&problem.engine(engine), settings)?;
    let ready = start.elapsed().as_secs_f64();
    let worst = solver.worst_case(0.01)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(json!({
        "seconds": seconds, "evaluations": worst.evaluations(), "value": worst.value(),
        "seconds_per_evaluation": (seconds - ready) / worst.evaluations() as f64,
        "gap": worst.gap(),
    }))
}

/// The distance between two populations on the trial's grid.
fn distance(folder: &str) -> Result<Value> {
    let space = Arc::new(trial_space()?);
    let population = |name: &str| -> Result<Population> {
        Ok(Population::from_weights(space.clone(), read(&format!("{folder}/{name}.f64"))?)?)
    };
    let (a, b) = (population("from")?, population("to")?);
    let start = Instant::now();
    let found = seawall::distance::distance(&a, &b, Watch::NOBODY)?;
    Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "value": found.value, "gap": found.gap(),
               "status": found.status.to_string() }))
}

/// The distance between two clouds of scattered points in three dimensions.
fn far(points: usize) -> Result<Value> {
    let mut state = 1u64;
    let mut unit = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let columns = (0..3).map(|_| (0..2 * points).map(|_| unit()).collect()).collect();
    let features = ["x", "y", "z"].map(Feature::numeric);
    let space = Arc::new(Space::points(features, columns)?);
    let half =
        |first: bool| (0..2 * points).map(move |i| f64::from(u8::from((i < points) == first)));
    let a = Population::from_weights(space.clone(), half(true).collect())?;
    let b = Population::from_weights(space, half(false).collect())?;
    let start = Instant::now();
    let found = seawall::distance::distance(&a, &b, Watch::NOBODY)?;
    Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "value": found.value, "gap": found.gap(),
               "status": found.status.to_string(), "peak_bytes": peak_bytes()? }))
}

/// Reads and counts a study's data.
fn count(study: &str) -> Result<Value> {
    let study = seawall_study::study::study(study.as_ref())?;
    let start = Instant::now();
    let counted = seawall_table::count::count(&study.data, Watch::NOBODY)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(json!({ "seconds": seconds, "rows": counted.rows, "peak_bytes": peak_bytes()?,
               "combinations": counted.combinations, "cells": counted.log.contexts().len() }))
}

/// Fits a study's trees and predicts every context.
fn trees(study: &str) -> Result<Value> {
    let study = seawall_study::study::study(study.as_ref())?;
    let loaded = seawall_study::prepare::load(study, Watch::NOBODY)?;
    let log = loaded.log();
    let (seconds, model) = median(|| Ok(loaded.model.recipe.fit(log, Watch::NOBODY)?))?;
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let plain = Wasserstein.at(0.0);
    let values = model.values(log, plain, seawall::outcome::Unseen::Error, settings)?;
    let (contexts, predictions) = predicted(log, &values);
    Ok(json!({ "seconds": seconds, "actions": log.actions(), "predictions": predictions,
               "contexts": contexts }))
}

/// A forest or boosted trees on a study's data: the time of the count and of one fit.
fn models(study: &str, kind: &str) -> Result<Value> {
    let study = seawall_study::study::study(study.as_ref())?;
    let start = Instant::now();
    let counted = seawall_table::count::count(&study.data, Watch::NOBODY)?;
    let counting = start.elapsed().as_secs_f64();
    let log = &counted.log;
    let recipe = match kind {
        "forest" => Recipe::Forest(ForestSettings::default()),
        "boosted" => {
            let settings = BoostedSettings { rounds: 100, depth: 5, ..Default::default() };
            Recipe::Boosted(vec![settings; log.actions().len()])
        }
        _ => return Err(format!("no model {kind:?}").into()),
    };
    let start = Instant::now();
    let model = recipe.fit(log, Watch::NOBODY)?;
    let fitting = start.elapsed().as_secs_f64();
    let (plain, settings) = (Wasserstein.at(0.0), Settings::default());
    let values = model.values(log, plain, seawall::outcome::Unseen::Error, settings)?;
    let (contexts, predictions) = predicted(log, &values);
    Ok(json!({ "seconds": counting + fitting, "counting": counting, "fitting": fitting,
               "entries": log.entries().len(), "actions": log.actions(),
               "predictions": predictions, "contexts": contexts }))
}

/// Every context as numbers, and each action's values in them.
fn predicted(log: &Log, values: &Values) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let space = log.contexts();
    let context = |i: usize| {
        let each = |k: usize| space.number_at(i, k).unwrap_or(space.code(i, k));
        (0..space.names().len()).map(each).collect::<Vec<f64>>()
    };
    let of_action = |a: usize| values.matrix().rows().map(|row| row[a]).collect::<Vec<f64>>();
    ((0..space.len()).map(context).collect(), (0..log.actions().len()).map(of_action).collect())
}

/// The most memory this process has held.
pub(crate) fn peak_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with("VmHWM")).ok_or("no VmHWM")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(1024.0 * kilobytes)
}

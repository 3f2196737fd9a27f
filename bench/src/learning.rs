//! Learning: how stochastic gradients converge, and how fast trees and groups are found.

use crate::Result;
use seawall::evaluate::{Robust, Support};
use seawall::learn::{Bsgd, Class, Groups, Schedule, Task, Trees, bsgd, groups as by_group, trees};
use seawall::outcome::{Unseen, Values};
use seawall::policy::Partition;
use seawall::{
    Direction, Entropic, Entry, Feature, Log, Matrix, Settings, Space, Wasserstein, Watch,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
}

/// A log of random contexts on a grid, and random values for every context and action.
fn problem(
    features: usize,
    levels: usize,
    rows: usize,
    actions: usize,
    points: bool,
) -> Result<(Log, Values)> {
    let mut r = Random(7);
    let feature =
        |k: usize| Feature::numeric(format!("x{k}")).levels((0..levels).map(|l| l as f64));
    let features: Vec<Feature> = (0..features).map(feature).collect();
    let space = if points {
        let column = |_: usize| (0..rows).map(|_| r.below(levels) as f64).collect::<Vec<f64>>();
        let columns = (0..features.len()).map(column).collect();
        Space::points(features, columns)?
    } else {
        Space::grid(features)?
    };
    let mut r = Random(11);
    let contexts = Arc::new(space);
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])])?);
    let entry = |k: usize| Entry {
        context: if points { k as u32 } else { r.below(contexts.len()) as u32 },
        action: (k % actions) as u32,
        outcome: 0,
        propensity: f64::NAN,
        weight: 1.0,
        ..Entry::default()
    };
    let entries: Vec<Entry> = (0..rows).map(entry).collect();
    let names = (0..actions).map(|a| format!("a{a}")).collect();
    let mut r = Random(13);
    // Drawn action by action.
    let drawn: Vec<f64> = (0..contexts.len() * actions).map(|_| r.unit()).collect();
    let cell = |k: usize| drawn[k % actions * contexts.len() + k / actions];
    let cells = (0..drawn.len()).map(cell).collect();
    let values = Values::new(&contexts, Matrix::new(contexts.len(), actions, cells)?)?;
    Ok((Log::new(contexts, names, outcomes, vec![0.0, 1.0], Direction::Cost, entries)?, values))
}

/// The distance from the smoothed optimum of the averaged parameters and dual variable, after so
/// many steps, the mean over runs: `F(θ̄, λ̄) − F*` with
/// `F = ελ + Σ p_i (1/η) log mean_j exp(η(l_θ(j) − λ c_ij))`.
pub(crate) fn descent(steps: usize, seeds: usize) -> Result<Value> {
    let (log, values) = problem(2, 8, 300, 3, false)?;
    let robust = Robust::new(&log, Support::All)?;
    let (radius, eta) = (0.05, 20.0);
    let set = Entropic { eta }.at(radius);
    let task = Task::new(&log, &robust, &values, set)?;
    let by = vec![Partition::of_levels(log.contexts(), "x0")?];
    let exact = by_group(
        &task,
        &Groups { tolerance: 1e-10, ..Groups::new(by.clone()) },
        Settings::default(),
    )?;
    let schedule = Schedule {
        steps,
        points: (4.0 * (steps as f64).sqrt()).ceil() as usize,
        step: 0.5,
        contexts: 1,
    };
    let class = Class::Groups(by.clone());
    let asked = Bsgd { class, schedule, eta, seeds, seed: 1, traced: 1 };
    let found = bsgd(&task, &asked, None, None, Settings::default())?;
    let group = Partition::groups(&by, log.contexts())?;
    let population = log.population()?;
    let space = log.contexts();
    let objective = |theta: &[f64], lambda: f64| {
        let cost =
            |j: usize| (0..3).map(|a| theta[group[j] * 3 + a] * values.at(j, a)).sum::<f64>();
        let costs: Vec<f64> = (0..space.len()).map(cost).collect();
        let inner = |i: usize| {
            let terms: Vec<f64> =
                (0..space.len()).map(|j| eta * (costs[j] - lambda * space.cost(i, j))).collect();
            let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = terms.iter().map(|t| (t - most).exp()).sum::<f64>() / terms.len() as f64;
            (most + mean.ln()) / eta
        };
        let weights = population.weights().iter().enumerate().filter(|(_, p)| **p > 0.0);
        radius * lambda + weights.map(|(i, p)| p * inner(i)).sum::<f64>()
    };
    let errors = found
        .state
        .traces()
        .filter_map(|t| t.last())
        .map(|t| objective(&t.theta, t.lambda) - exact.value());
    let errors: Vec<f64> = errors.collect();
    Ok(json!({ "steps": steps, "error": errors.iter().sum::<f64>() / errors.len() as f64,
               "exact": exact.value(), "gap": exact.gap() }))
}

/// The best depth-2 tree on so many rows, at radius 0.
pub(crate) fn search(rows: usize, features: usize, levels: usize) -> Result<Value> {
    let (log, values) = problem(features, levels, rows, 3, true)?;
    let robust = Robust::new(&log, Support::All)?;
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.0))?;
    let start = Instant::now();
    let found = trees(&task, Trees::new(2), Settings::default())?;
    Ok(
        json!({ "seconds": start.elapsed().as_secs_f64(), "value": found.value(), "gap": found.gap() }),
    )
}

/// Groups of the stroke trial: two, twelve and a hundred and eight.
pub(crate) fn groups(study: &str) -> Result<Value> {
    let study = seawall_study::study::study(study.as_ref())?;
    let loaded = seawall_study::prepare::load(study, Watch::NOBODY)?;
    let log = loaded.log();
    let settings = Settings::default();
    let model = loaded.model.recipe.fit(log, Watch::NOBODY)?;
    let plain = Wasserstein.at(0.0);
    let values = model.values(log, plain, Unseen::Error, settings)?;
    let robust = Robust::new(log, Support::All)?;
    let task = Task::new(log, &robust, &values, Wasserstein.at(0.03))?;
    let mut rows = Vec::new();
    for (names, tolerance) in [
        (&["RCONSC"][..], 1e-10),
        (&["STYPE", "RCONSC"], 1e-8),
        (&["STYPE", "RCONSC", "AGE"], 1e-5),
    ] {
        let by: Vec<Partition> = names
            .iter()
            .map(|name| Partition::of_levels(log.contexts(), name))
            .collect::<seawall::Result<_>>()?;
        let count: usize = by.iter().map(Partition::len).product();
        let start = Instant::now();
        let found = by_group(&task, &Groups { tolerance, ..Groups::new(by) }, settings)?;
        rows.push(json!({ "groups": count, "seconds": start.elapsed().as_secs_f64(),
                          "gap": found.gap(), "value": found.value() }));
    }
    Ok(json!(rows))
}

//! Joint KL on simulated logs whose truth is known by quadrature: squared errors, coverage, and that no
//! run diverges, in two worlds. `SEAWALL_LOGS=50` takes fewer logs than the 1,000 of a cell.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::Random;
use rayon::prelude::*;
use seawall::evaluate::{Estimate, Evaluator, FitOptions, Propensity};
use seawall::outcome::{ForestSettings, Recipe, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{
    Detail, Direction, Entry, Feature, JointEstimator, JointKl, Log, Matrix, Set, Settings, Space,
    Watch,
};
use std::sync::Arc;

const WEIGHTED: JointKl = JointKl { estimator: JointEstimator::Weighted };
const DOUBLY_ROBUST: JointKl = JointKl { estimator: JointEstimator::DoublyRobust };

const RADII: [f64; 3] = [0.05, 0.1, 0.3];

/// Two numeric features, two actions, a cost with noise that is bounded and not symmetric.
struct World {
    name: &'static str,
    contexts: Arc<Space>,
    /// Levels of each feature.
    levels: usize,
    /// What multiplies the noise.
    loud: f64,
}

impl World {
    fn new(name: &'static str, count: usize, loud: f64) -> Self {
        let levels = || (0..count).map(|k| k as f64 / (count - 1) as f64);
        let features =
            [Feature::numeric("u").levels(levels()), Feature::numeric("v").levels(levels())];
        let contexts = Arc::new(Space::grid(features).unwrap());
        World { name, contexts, levels: count, loud }
    }

    /// 25 contexts with much noise.
    fn loud() -> Self {
        World::new("loud", 5, 2.0)
    }

    /// 16 contexts with half of it.
    fn calm() -> Self {
        World::new("calm", 4, 1.0)
    }

    fn place(&self, context: usize) -> (f64, f64) {
        let unit = |k: usize| k as f64 / (self.levels - 1) as f64;
        (unit(context / self.levels), unit(context % self.levels))
    }

    /// The chance that action 1 is taken.
    fn propensity(&self, context: usize) -> f64 {
        let (u, v) = self.place(context);
        1.0 / (1.0 + (-(0.8 * u - 1.2 * v + 0.3)).exp())
    }

    fn mean(&self, context: usize, action: usize) -> f64 {
        let (u, v) = self.place(context);
        if action == 1 { 1.0 + u - 1.5 * v } else { 0.5 + u * v + 0.5 * v }
    }

    fn spread(&self, context: usize) -> f64 {
        self.loud * (0.25 + 0.25 * self.place(context).0)
    }

    /// The noise of a number from 0 to 1: from −1 to 2 with mean 0, skewed.
    fn noise(unit: f64) -> f64 {
        3.0 * unit * unit - 1.0
    }

    /// The chance of action 1 under the policy.
    fn chance(&self, stochastic: bool, context: usize) -> f64 {
        let (u, v) = self.place(context);
        if stochastic { 1.0 / (1.0 + (-(2.0 * v - u)).exp()) } else { f64::from(v >= 0.5 * u) }
    }

    fn policy(&self, stochastic: bool, log: &Log) -> Policy {
        let chances: Vec<f64> = (0..self.contexts.len())
            .flat_map(|x| [1.0 - self.chance(stochastic, x), self.chance(stochastic, x)])
            .collect();
        let chances = Matrix::new(self.contexts.len(), 2, chances).unwrap();
        Policy::table("p", log.contexts(), log.actions(), &chances).unwrap()
    }

    /// `min_α αδ + α log E e^{Y/α}`, the mean over the noise by Simpson's rule.
    fn truth(&self, stochastic: bool, radius: f64) -> f64 {
        const NODES: usize = 400;
        let simpson = |of: &dyn Fn(f64) -> f64| {
            let weight = |k: usize| match k {
                0 | NODES => 1.0,
                k if k % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let term = |k: usize| weight(k) * of(k as f64 / NODES as f64);
            (0..=NODES).map(term).sum::<f64>() / (3 * NODES) as f64
        };
        let dual = |alpha: f64| {
            let mean = |x: usize, a: usize| {
                let (mean, spread) = (self.mean(x, a), self.spread(x));
                simpson(&|t| ((mean + spread * Self::noise(t)) / alpha).exp())
            };
            let of = |x: usize| {
                let p = self.chance(stochastic, x);
                p * mean(x, 1) + (1.0 - p) * mean(x, 0)
            };
            let all: f64 = (0..self.contexts.len()).map(of).sum();
            alpha * radius + alpha * (all / self.contexts.len() as f64).ln()
        };
        // Golden sections of the logarithm of α.
        let (mut low, mut high) = (0.02_f64.ln(), 50_f64.ln());
        let ratio = 0.5 * (5_f64.sqrt() - 1.0);
        while high - low > 1e-7 {
            let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
            if dual(a.exp()) < dual(b.exp()) { high = b } else { low = a }
        }
        dual((0.5 * (low + high)).exp())
    }

    fn log(&self, rows: usize, seed: u64) -> Log {
        let r = &mut Random(seed);
        let mut drawn = Vec::new();
        for _ in 0..rows {
            let context = r.below(self.contexts.len());
            let one = self.propensity(context);
            let action = usize::from(r.chance(one));
            let propensity = if action == 1 { one } else { 1.0 - one };
            let y = self.mean(context, action) + self.spread(context) * Self::noise(r.unit());
            drawn.push((context, action, propensity, y));
        }
        let mut levels: Vec<f64> = drawn.iter().map(|d| d.3).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let entries = drawn.iter().map(|&(context, action, propensity, y)| Entry {
            context: context as u32,
            action: action as u32,
            outcome: levels.partition_point(|l| *l < y) as u32,
            propensity,
            ..Entry::default()
        });
        let entries = entries.collect();
        let outcomes = Space::grid([Feature::numeric("y").levels(levels.clone())]).unwrap();
        let actions = vec!["zero".to_owned(), "one".to_owned()];
        let contexts = self.contexts.clone();
        Log::new(contexts, actions, Arc::new(outcomes), levels, Direction::Cost, entries).unwrap()
    }
}

/// What happened at one radius: squared error, error, intervals that hold the truth, their width, and
/// runs that failed or diverged.
#[derive(Clone, Copy, Default)]
struct Found {
    squares: f64,
    errors: f64,
    held: f64,
    width: f64,
    lost: usize,
}

/// What is farther off than this diverged: all costs are within it.
const FAR: f64 = 3.0;

impl Found {
    fn of(estimate: Option<Estimate>, truth: f64) -> Self {
        let Some(e) = estimate.filter(|e| e.value.is_finite()) else {
            return Found { lost: 1, ..Found::default() };
        };
        let error = e.value - truth;
        Found {
            squares: error * error,
            errors: error,
            held: f64::from(u8::from(e.covers(truth))),
            width: e.interval.map_or(f64::INFINITY, |i| i.upper - i.lower),
            lost: usize::from(error.abs() > FAR),
        }
    }

    fn add(&mut self, other: &Found, logs: usize) {
        let share = 1.0 / logs as f64;
        self.squares += share * other.squares;
        self.errors += share * other.errors;
        self.held += share * other.held;
        self.width += share * other.width;
        self.lost += other.lost;
    }
}

/// By policy (deterministic, stochastic), set (plain, doubly robust) and radius.
type All = [[[Found; 3]; 2]; 2];

fn simulate(world: &World, recipe: &Recipe, rows: usize, seeds: std::ops::Range<u64>) -> All {
    let truth = [false, true].map(|stochastic| RADII.map(|r| world.truth(stochastic, r)));
    let options =
        FitOptions { unseen: Unseen::Mean, folds: 5, repeats: 2, ..FitOptions::default() };
    let settings = Settings::default().detail(Detail::Value);
    let logs = (seeds.end - seeds.start) as usize;
    let one = |seed: u64| -> All {
        let log = world.log(rows, seed).shared();
        let fitted =
            Evaluator::new(&log, recipe, &Propensity::Known, options, Watch::NOBODY).unwrap();
        [0, 1].map(|p| {
            let policy = world.policy(p == 1, &log);
            [Set::from(WEIGHTED), Set::from(DOUBLY_ROBUST)].map(|set| {
                let found = fitted.joint_estimates(&policy, set, &RADII, settings);
                let found = found.unwrap_or_else(|_| vec![None; RADII.len()]);
                [0, 1, 2].map(|k| Found::of(found[k].map(|e| e.estimate), truth[p][k]))
            })
        })
    };
    let all: Vec<All> = seeds.into_par_iter().map(one).collect();
    let mut sum = All::default();
    for one in all {
        let parts = sum.iter_mut().flatten().flatten();
        parts.zip(one.iter().flatten().flatten()).for_each(|(sum, one)| sum.add(one, logs));
    }
    sum
}

fn recipes() -> [(&'static str, Recipe); 3] {
    let tree = TreeSettings { min_samples_leaf: 20.0, ..TreeSettings::default() };
    let forest = ForestSettings { trees: 25, ..ForestSettings::default() };
    [
        ("tree", Recipe::Tree(vec![tree; 2])),
        ("cells", Recipe::Cells),
        ("forest", Recipe::Forest(forest)),
    ]
}

/// Prints a line for each policy and radius and returns how many are not as promised.
fn lines(
    world: &World,
    (name, recipe): (&str, &Recipe),
    rows: usize,
    seeds: std::ops::Range<u64>,
    check: &dyn Fn(&Found, &Found) -> bool,
) -> usize {
    let logs = seeds.end - seeds.start;
    let mut bad = 0;
    for (which, [plain, dr]) in
        ["determ.", "stoch."].iter().zip(simulate(world, recipe, rows, seeds))
    {
        for ((p, d), radius) in plain.iter().zip(&dr).zip(RADII) {
            let fine = check(p, d);
            bad += usize::from(!fine);
            println!(
                "{:5} {rows:5} {logs:5} {which:8} {name:7} {radius:5} | {:.6} {:.6} {:.3} | {:+.4} {:+.4} | {:.3} {:.3} | {:.4} {:.4} | {} {}{}",
                world.name,
                p.squares,
                d.squares,
                d.squares / p.squares,
                p.errors,
                d.errors,
                p.held,
                d.held,
                p.width,
                d.width,
                p.lost,
                d.lost,
                if fine { "" } else { "  <-" }
            );
        }
    }
    bad
}

const HEADER: &str = "world  rows  logs policy   model   radius | squared error: plain, dr, ratio | error: plain, dr | coverage: plain, dr | width: plain, dr | lost: plain, dr";

#[test]
fn a_few_logs_are_estimated_as_promised() {
    println!("{HEADER}");
    let check = |p: &Found, d: &Found| p.lost + d.lost == 0 && d.squares < 1.2 * p.squares;
    for (name, recipe) in recipes() {
        let bad = lines(&World::calm(), (name, &recipe), 300, 77_000..77_040, &check);
        assert_eq!(bad, 0, "{name}");
    }
}

/// What is known of it: no run diverges, 95% intervals hold the truth 93 to 97 times in a hundred, and the
/// squared error is no larger than without a model, but for cells of a few rows each: at 300 rows of the
/// loud world and a deterministic policy theirs was 1.06 to 1.08 times the plain one's.
#[test]
#[ignore = "slow"]
fn errors_and_coverage_of_joint_kl() {
    let logs = std::env::var("SEAWALL_LOGS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    println!("{HEADER}");
    let mut bad = 0;
    for rows in [1_000, 300] {
        for (name, recipe) in recipes() {
            for world in [World::loud(), World::calm()] {
                bad += lines(&world, (name, &recipe), rows, 910_000..910_000 + logs, &|p, d| {
                    let most = if rows < 1_000 && name == "cells" { 1.1 } else { 1.0 };
                    let held = [p.held, d.held].iter().all(|h| (0.93..=0.97).contains(h));
                    p.lost + d.lost == 0 && held && d.squares <= most * p.squares
                });
            }
        }
    }
    assert_eq!(bad, 0, "lines that are not as promised");
}

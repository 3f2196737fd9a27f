//! Softmax policies by exact gradients of the smoothed worst case.
//!
//! `F(θ) = V(l_θ) + (ridge/2) Σ w²` with `l_θ(x) = Σ_a π_θ(a|x) m(x, a)`. V's gradient by `l` is the
//! worst-case population `q`, so
//!
//! ```text
//! ∂F/∂w_aj = Σ_x q(x) φ_j(x) π(a|x) (m(x, a) − l(x)) / τ + ridge · w_aj
//! ```
//!
//! A Wasserstein set is smoothed by an entropic one of the same radius; the policy found is then
//! valued exactly. F is not convex: several starts, and the greedy floor as the only lower bound.
//!
//! Any other worst case that has a derivative by a policy's probabilities ([`Smooth`]) takes the place of
//! `q(x) m(x, a)` with it, and is descended alike.

use super::{Ending, Learned, MOST_RUNS, Method, Task, check_count};
use crate::ambiguity::{Argument, Detail, Settings, Shift};
use crate::error::{Error, Field, Result};
use crate::kernel::lbfgs::minimise;
use crate::kernel::random::Random;
use crate::log::Log;
use crate::policy::{Encoded, EncodedRows, Policy, Rule, Softmax, encode, softmax as normalise};
use crate::progress::{Progress, Stage, Watch};
use crate::space::Space;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Beyond these, scores and penalties are no numbers.
const LEAST: f64 = 1e-100;
const MOST: f64 = 1e100;

/// What is asked of a softmax policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    /// τ: towards 0 the best score takes all.
    pub temperature: f64,
    /// What multiplies half the squared weights, intercepts apart, relative to the largest cost.
    pub ridge: f64,
    /// η of the smoothing of a Wasserstein set, in units of 1/(largest cost).
    pub sharpness: f64,
    /// Starts: the first at 0, others at random.
    pub restarts: usize,
    /// Iterations of each at most.
    pub iterations: usize,
    /// The seed of the random starts.
    pub seed: u64,
}

impl Default for Gradient {
    fn default() -> Self {
        Gradient {
            temperature: 1.0,
            ridge: 1e-4,
            sharpness: 300.0,
            restarts: 4,
            iterations: 200,
            seed: 1,
        }
    }
}

/// The encoded features of every point, a constant first.
pub(super) struct Design {
    pub(super) columns: Vec<Encoded>,
    pub(super) width: usize,
    rows: EncodedRows,
    /// The contexts that points are.
    points: Vec<usize>,
}

impl Design {
    /// Of some of a space's contexts.
    pub(super) fn new(contexts: &Space, points: &[usize]) -> Result<Self> {
        let columns = encode(contexts);
        let width = columns.len() + 1;
        let rows = EncodedRows::new(&columns, contexts)?;
        Ok(Design { columns, width, rows, points: points.to_vec() })
    }

    /// The features of a point that are not 0.
    fn of(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        let rest = self.rows.of(self.points[point]).map(|(j, x)| (j + 1, x));
        std::iter::once((0, 1.0)).chain(rest)
    }

    /// All features of a point.
    pub(super) fn row(&self, point: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.width];
        self.of(point).for_each(|(j, x)| row[j] = x);
        row
    }

    /// The probabilities at a point; parameters are `[action · width + j]`, the last action's 0.
    fn probabilities(&self, point: usize, theta: &[f64], temperature: f64, out: &mut [f64]) {
        out.fill(0.0);
        for (p, theta) in out.iter_mut().zip(theta.chunks(self.width)) {
            *p = self.of(point).map(|(j, x)| theta[j] * x).sum::<f64>() / temperature;
        }
        normalise(out);
    }

    /// The same at any encoded features, a constant first.
    pub(super) fn at(&self, row: &[f64], theta: &[f64], temperature: f64, out: &mut [f64]) {
        out.fill(0.0);
        for (p, theta) in out.iter_mut().zip(theta.chunks(self.width)) {
            *p = theta.iter().zip(row).map(|(t, x)| t * x).sum::<f64>() / temperature;
        }
        normalise(out);
    }

    /// The rule that parameters stand for.
    pub(super) fn rule(&self, theta: &[f64], actions: usize, temperature: f64) -> Rule {
        let mut all: Vec<Vec<f64>> = theta.chunks(self.width).map(<[f64]>::to_vec).collect();
        all.resize(actions, vec![0.0; self.width]);
        Rule::Softmax(Softmax {
            temperature,
            columns: self.columns.clone(),
            intercepts: all.iter().map(|row| row[0]).collect(),
            weights: all.iter().map(|row| row[1..].to_vec()).collect(),
        })
    }
}

/// A worst case with a derivative by the probabilities of a policy.
pub(super) trait Smooth: Sync {
    fn log(&self) -> &Log;

    /// What tolerances are relative to.
    fn size(&self) -> f64;

    /// The worst case, as a cost, at probabilities by point and action; writes its derivative by each.
    fn at(&self, chances: &[f64], slopes: &mut [f64], settings: Settings<'_>) -> Result<f64>;

    /// The exact worst case of a policy, as a cost.
    fn exact(&self, policy: &Policy, settings: Settings<'_>) -> Result<f64>;
}

/// A task's worst case, smoothed.
struct SmoothedTask<'o, 't> {
    task: &'o Task<'t>,
    within: Shift,
}

impl Smooth for SmoothedTask<'_, '_> {
    fn log(&self) -> &Log {
        self.task.log
    }

    fn size(&self) -> f64 {
        self.task.size()
    }

    fn at(&self, chances: &[f64], slopes: &mut [f64], settings: Settings<'_>) -> Result<f64> {
        let (task, actions) = (self.task, self.task.costs.len());
        let rows = chances.chunks(actions);
        let costs: Vec<f64> = rows.clone().enumerate().map(|(i, p)| task.cost_at(i, p)).collect();
        let worst = task.worst_over(self.within, &costs, Detail::Population, settings)?;
        let each = worst.population.iter().zip(rows).zip(slopes.chunks_mut(actions));
        for (i, ((&q, row), slopes)) in each.enumerate() {
            for (a, (slope, p)) in slopes.iter_mut().zip(row).enumerate() {
                *slope = if q == 0.0 { 0.0 } else { q * task.slope(i, a, *p) };
            }
        }
        Ok(worst.upper)
    }

    fn exact(&self, policy: &Policy, settings: Settings<'_>) -> Result<f64> {
        let task = self.task;
        Ok(task.worst(&task.policy_costs(policy)?, Detail::Value, settings)?.upper)
    }
}

/// The objective and its gradient.
struct Objective<'o> {
    smooth: &'o dyn Smooth,
    design: &'o Design,
    asked: Gradient,
    settings: Settings<'o>,
}

impl Objective<'_> {
    fn at(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (design, tau) = (self.design, self.asked.temperature);
        let (width, actions) = (design.width, self.smooth.log().actions().len());
        let mut chances = vec![0.0; design.points.len() * actions];
        for (i, row) in chances.chunks_mut(actions).enumerate() {
            design.probabilities(i, theta, tau, row);
        }
        let mut slopes = vec![0.0; chances.len()];
        let mut value = self.smooth.at(&chances, &mut slopes, self.settings)?;
        gradient.fill(0.0);
        for (i, (row, slopes)) in chances.chunks(actions).zip(slopes.chunks(actions)).enumerate() {
            if slopes.iter().all(|slope| *slope == 0.0) {
                continue;
            }
            let mean: f64 = row.iter().zip(slopes).map(|(p, slope)| p * slope).sum();
            for (a, gradient) in gradient.chunks_mut(width).enumerate() {
                let pull = row[a] * (slopes[a] - mean) / tau;
                design.of(i).for_each(|(j, x)| gradient[j] += pull * x);
            }
        }
        let ridge = self.asked.ridge * self.smooth.size();
        for (k, (g, t)) in gradient.iter_mut().zip(theta).enumerate() {
            if k % width > 0 {
                value += 0.5 * ridge * t * t;
                *g += ridge * t;
            }
        }
        Ok(value)
    }
}

fn check_asked(asked: &Gradient) -> Result<()> {
    let numbers = [
        (Field::Temperature, asked.temperature, LEAST..MOST),
        (Field::Ridge, asked.ridge, 0.0..MOST),
        (Field::Sharpness, asked.sharpness, LEAST..MOST),
    ];
    for (field, value, fits) in numbers {
        if !fits.contains(&value) {
            let (value, least) = (Argument::Number(value), Argument::Number(fits.start));
            let most = Argument::Number(fits.end);
            let what = format!("is {value}; expected a number ≥ {least} and < {most}");
            return Err(Error::field(field, what));
        }
    }
    check_count(Field::Restarts, asked.restarts, MOST_RUNS)
}

/// Learns a softmax policy.
pub fn softmax(task: &Task<'_>, asked: Gradient, settings: Settings<'_>) -> Result<Learned> {
    check_asked(&asked)?;
    task.needs_gradient("softmax")?;
    let design = Design::new(task.log.contexts(), task.robust.points())?;
    let set = task.within.set.smoothed(asked.sharpness / task.size());
    let smooth = SmoothedTask { task, within: Shift { set, ..task.within } };
    let found = descend(&smooth, &design, asked, settings)?;
    let floor = task.greedy_worst(settings.watched(Watch::NOBODY))?.0;
    let ending = Ending { iterations: found.iterations, tolerance: 1e-9, stopped: found.stopped };
    Ok(task.learned(found.policy, Method::Gradient, (floor, found.upper), &ending))
}

/// The best policy of several starts.
pub(super) struct Descended {
    pub(super) policy: Policy,
    /// Its exact worst case, as a cost.
    pub(super) upper: f64,
    pub(super) iterations: usize,
    pub(super) stopped: bool,
}

/// Descends a worst case from several starts.
pub(super) fn descend(
    smooth: &dyn Smooth,
    design: &Design,
    asked: Gradient,
    settings: Settings<'_>,
) -> Result<Descended> {
    check_asked(&asked)?;
    let (stopped, steps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = || {
        Progress::at(Stage::Learning)
            .done(steps.load(Ordering::Relaxed))
            .out_of(asked.restarts * asked.iterations)
    };
    let go_on = || {
        let more = settings.watch.go_on(progress());
        stopped.fetch_or(!more, Ordering::Relaxed);
        more
    };
    let quiet = |_: Progress<'_>| go_on();
    let inner = settings.watched(Watch::new(&quiet));
    let objective = Objective { smooth, design, asked, settings: inner };
    let log = smooth.log();
    let actions = log.actions().len();
    let count = (actions - 1) * design.width;
    // What was found so far is valued in any case, stopped or not.
    let unhurried = settings.watched(Watch::NOBODY);
    let valued = |theta: &[f64]| -> Result<(f64, Policy)> {
        let rule = design.rule(theta, actions, asked.temperature);
        let policy = Policy::new("softmax", rule, log.contexts(), log.actions())?;
        Ok((smooth.exact(&policy, unhurried)?, policy))
    };
    // The policy of a start, its worst case and the iterations; none of a start that had not begun
    // when everything was to stop, for it has nothing to show.
    let run = |start: usize| -> Result<Option<(f64, Policy, usize)>> {
        if start > 0 && stopped.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut random = Random::new(asked.seed, start as u64);
        let first = (0..count).map(|_| if start == 0 { 0.0 } else { random.normal() });
        let mut failed = None;
        let mut iterations = 0;
        let mut function = |theta: &[f64], gradient: &mut [f64]| {
            iterations += 1;
            steps.fetch_add(1, Ordering::Relaxed);
            objective.at(theta, gradient).unwrap_or_else(|error| {
                failed = Some(error);
                f64::NAN
            })
        };
        let tolerance = 1e-7 * smooth.size();
        let keep_on = |_, _| go_on();
        let found = minimise(first.collect(), tolerance, asked.iterations, &mut function, &keep_on);
        // Stopped in the middle of a solve: the point before it stands.
        if let Some(error) = failed.filter(|error: &Error| !error.is_stopped()) {
            return Err(error);
        }
        let (upper, policy) = valued(&found.point)?;
        Ok(Some((upper, policy, iterations)))
    };
    let runs: Vec<Option<(f64, Policy, usize)>> =
        (0..asked.restarts).into_par_iter().map(run).collect::<Result<_>>()?;
    let runs: Vec<(f64, Policy, usize)> = runs.into_iter().flatten().collect();
    let iterations = runs.iter().map(|run| run.2).sum();
    let best = runs.into_iter().reduce(|best, next| if next.0 < best.0 { next } else { best });
    let (upper, policy, _) = best.ok_or_else(|| Error::numeric("no start led anywhere"))?;
    Ok(Descended { policy, upper, iterations, stopped: stopped.into_inner() })
}

/// By how much an objective's gradient is off finite differences at most, at parameters.
#[cfg(test)]
pub(super) fn off_by(
    smooth: &dyn Smooth,
    design: &Design,
    asked: Gradient,
    theta: &[f64],
) -> Result<f64> {
    let objective = Objective { smooth, design, asked, settings: Settings::default() };
    let (mut gradient, mut ignored) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
    objective.at(theta, &mut gradient)?;
    let mut most: f64 = 0.0;
    for j in 0..theta.len() {
        let mut shifted = |by: f64| {
            let mut theta = theta.to_vec();
            theta[j] += by;
            objective.at(&theta, &mut ignored)
        };
        let slope = (shifted(1e-5)? - shifted(-1e-5)?) / 2e-5;
        most = most.max((slope - gradient[j]).abs());
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::evaluate::{Robust, Support};
    use crate::outcome::Values;
    use crate::{Direction, Entropic, Entry, Feature, Kl, Log, Matrix, Space};
    use std::sync::Arc;

    #[test]
    fn gradients_agree_with_finite_differences() {
        let contexts = Space::grid([
            Feature::numeric("u").levels([0.0, 1.0, 3.0]),
            Feature::nominal("v", ["a", "b", "c"]),
        ]);
        let contexts = Arc::new(contexts.unwrap());
        let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap());
        let mut random = Random::new(9, 9);
        let entries = (0..40).map(|k| Entry {
            context: (random.unit() * 9.0) as u32,
            action: k % 3,
            outcome: 0,
            propensity: f64::NAN,
            weight: 1.0,
            ..Entry::default()
        });
        let entries = entries.collect();
        let actions = ["p", "q", "r"].map(str::to_owned).to_vec();
        let log = Log::new(contexts, actions, outcomes, vec![0.0, 1.0], Direction::Reward, entries)
            .unwrap();
        let robust = Robust::new(&log, Support::All).unwrap();
        for within in [Entropic { eta: 4.0 }.at(0.2), Kl.at(0.3)] {
            for trial in 0..10 {
                let values = (0..27).map(|_| random.normal()).collect();
                let values = Matrix::new(9, 3, values).unwrap();
                let values = Values::new(log.contexts(), values).unwrap();
                let task = Task::new(&log, &robust, &values, within).unwrap();
                let design = Design::new(log.contexts(), robust.points()).unwrap();
                let asked = Gradient { temperature: 0.7, ridge: 0.01, ..Gradient::default() };
                let theta: Vec<f64> = (0..2 * design.width).map(|_| random.normal()).collect();
                let smooth = SmoothedTask { task: &task, within };
                let off = off_by(&smooth, &design, asked, &theta).unwrap();
                assert!(off < 1e-5, "{within:?} {trial}: {off}");
            }
        }
    }
}

//! Biased stochastic gradient descent: the paper's algorithm 1.
//!
//! Each step draws one context `x` from the nominal population (a batch of them) and `m` points
//! `ζ_j` uniformly from the support, weighs them by `g_j ∝ exp(η(l_θ(ζ_j) − λ c(x, ζ_j)))`, and moves
//!
//! ```text
//! θ ← project(θ − γ Σ_j g_j ∇l_θ(ζ_j))        λ ← max(λ − γ_λ (ε − Σ_j g_j c(x, ζ_j)), 0)
//! ```
//!
//! The gradient is biased, by less the larger `m`. For accuracy δ the theorem asks for steps of
//! the order `δ⁻²` and `m` of the order `δ⁻¹` where `l` is convex in θ (groups, or a fixed policy),
//! `δ⁻⁴` and `δ⁻²` where it is only smooth (softmax), and step sizes of the order `T^(−1/2)`. The answer
//! is the average of the iterates, valued exactly: never the noisy running objective. (The step
//! size of λ has its own scale, for λ has its own unit.)
//!
//! The cost of a step does not depend on the size of the support.

use super::gradient::Design;
use super::{Learned, Task, go_on};
use crate::ambiguity::{Ambiguity, Detail, Settings, Watch};
use crate::error::{Error, Result};
use crate::kernel::random::Random;
use crate::policy::{Partition, Policy, Rule, softmax as normalise};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Which policies are searched.
#[derive(Clone, Debug)]
pub enum Class {
    /// None: the policy is given and only λ moves.
    Fixed(Policy),
    /// Probabilities by group.
    Groups(Vec<Partition>),
    /// Softmax of linear scores, of this temperature; weights are kept within ±10.
    Softmax(f64),
}

/// How many steps, how many points a step, how long the steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// T: steps.
    pub steps: usize,
    /// m: points drawn from the support each step.
    pub points: usize,
    /// γ√T: the step sizes are this over √T.
    pub step: f64,
    /// Contexts drawn each step.
    pub contexts: usize,
}

impl Schedule {
    /// The theorem's orders for accuracy δ, relative to the largest cost.
    pub fn for_accuracy(delta: f64, convex: bool) -> Result<Self> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::config(format!(
                "the accuracy δ is {delta}; expected a number between 0 and 1"
            )));
        }
        let (steps, points) =
            if convex { (delta.powi(-2), 1.0 / delta) } else { (delta.powi(-4), delta.powi(-2)) };
        if steps > 1e10 {
            return Err(Error::config(format!(
                "the accuracy δ = {delta} asks for {steps:.0e} steps; at most 1e10 are possible"
            )));
        }
        Ok(Schedule {
            steps: (4.0 * steps).ceil() as usize,
            points: (8.0 * points).ceil() as usize,
            step: 1.0,
            contexts: 1,
        })
    }

    fn check(&self) -> Result<()> {
        let counts = [("steps", self.steps), ("points", self.points), ("contexts", self.contexts)];
        if let Some((name, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return Err(Error::config(format!("0 {name}; expected at least 1")));
        }
        match self.step > 0.0 && self.step.is_finite() {
            true => Ok(()),
            false => {
                Err(Error::config(format!("the step is {}; expected a number > 0", self.step)))
            }
        }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Bsgd {
    /// Which policies.
    pub class: Class,
    /// The schedule.
    pub schedule: Schedule,
    /// η of the smoothing; that of an entropic set, if the task's is one.
    pub eta: f64,
    /// How many independent runs.
    pub seeds: usize,
    /// The seed of them all.
    pub seed: u64,
    /// Points of each run's trace.
    pub traced: usize,
}

/// One run as it stands: everything that is needed to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    step: usize,
    lambda: f64,
    theta: Vec<f64>,
    lambda_sum: f64,
    theta_sum: Vec<f64>,
    /// Where the run's random stream is.
    position: u64,
    trace: Vec<TracePoint>,
}

/// The averages of a run at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// The step.
    pub step: usize,
    /// λ averaged so far.
    pub lambda: f64,
    /// θ averaged so far.
    pub theta: Vec<f64>,
}

/// All runs as they stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The runs.
    pub runs: Vec<Run>,
}

/// What the runs led to.
#[derive(Clone, Debug)]
pub struct Descent {
    /// The policy of the average over runs, valued exactly.
    pub learned: Learned,
    /// λ averaged over runs.
    pub lambda: f64,
    /// Each run's own policy, valued exactly in the log's direction, if it was not stopped.
    pub values: Vec<f64>,
    /// The state that a further call can go on from.
    pub state: State,
    /// Whether every run took all its steps.
    pub finished: bool,
}

impl State {
    /// Each run's trace.
    pub fn traces(&self) -> impl Iterator<Item = &[TracePoint]> {
        self.runs.iter().map(|run| run.trace.as_slice())
    }
}

/// A class on a task's support.
enum Model {
    Fixed(Vec<f64>),
    Groups { actions: usize, group: Vec<usize>, by: Vec<Partition> },
    Softmax { design: Design, temperature: f64 },
}

impl Model {
    fn new(task: &Task<'_>, class: &Class) -> Result<Self> {
        Ok(match class {
            Class::Fixed(policy) => Model::Fixed(task.policy_costs(policy)),
            Class::Groups(by) => {
                let all = Partition::groups(by, task.log.contexts())?;
                let group = task.robust.points().iter().map(|&i| all[i]).collect();
                Model::Groups { actions: task.costs.len(), group, by: by.clone() }
            }
            Class::Softmax(temperature) => {
                Model::Softmax { design: Design::new(task)?, temperature: *temperature }
            }
        })
    }

    fn start(&self, actions: usize) -> Vec<f64> {
        match self {
            Model::Fixed(_) => Vec::new(),
            Model::Groups { by, .. } => {
                let groups: usize = by.iter().map(Partition::len).product();
                vec![1.0 / actions as f64; groups * actions]
            }
            Model::Softmax { design, .. } => vec![0.0; (actions - 1) * design.width],
        }
    }

    /// The cost at a point, and what the gradient needs of it: the probabilities.
    fn cost(&self, task: &Task<'_>, theta: &[f64], point: usize, row: &mut [f64]) -> f64 {
        match self {
            Model::Fixed(costs) => return costs[point],
            Model::Groups { actions, group, .. } => {
                row.copy_from_slice(&theta[group[point] * actions..][..*actions]);
            }
            Model::Softmax { design, temperature } => {
                design.probabilities(point, theta, *temperature, row);
            }
        }
        row.iter().zip(&task.costs).map(|(p, c)| p * c[point]).sum()
    }

    /// Adds `weight · ∇l_θ(point)` to a gradient.
    fn add(
        &self,
        task: &Task<'_>,
        point: usize,
        (cost, row): (f64, &[f64]),
        weight: f64,
        gradient: &mut [f64],
    ) {
        match self {
            Model::Fixed(_) => {}
            Model::Groups { actions, group, .. } => {
                let block = &mut gradient[group[point] * actions..][..*actions];
                block.iter_mut().zip(&task.costs).for_each(|(g, c)| *g += weight * c[point]);
            }
            Model::Softmax { design, temperature } => {
                let features = design.row(point);
                for (a, block) in gradient.chunks_mut(design.width).enumerate() {
                    let pull = weight * row[a] * (task.costs[a][point] - cost) / temperature;
                    block.iter_mut().zip(features).for_each(|(g, x)| *g += pull * x);
                }
            }
        }
    }

    /// Back into the set of parameters.
    fn project(&self, theta: &mut [f64]) {
        match self {
            Model::Fixed(_) => {}
            Model::Groups { actions, .. } => theta.chunks_mut(*actions).for_each(onto_simplex),
            Model::Softmax { .. } => theta.iter_mut().for_each(|t| *t = t.clamp(-10.0, 10.0)),
        }
    }

    fn policy(&self, task: &Task<'_>, theta: &[f64], class: &Class) -> Result<Policy> {
        let (space, names) = (task.log.contexts(), task.log.actions());
        match self {
            Model::Fixed(_) => match class {
                Class::Fixed(policy) => Ok(policy.clone()),
                _ => Err(Error::config("no policy was given")),
            },
            Model::Groups { actions, by, .. } => {
                let mut probabilities: Vec<Vec<f64>> =
                    theta.chunks(*actions).map(<[f64]>::to_vec).collect();
                probabilities.iter_mut().for_each(|row| onto_simplex(row));
                Policy::new("groups", Rule::Groups { by: by.clone(), probabilities }, space, names)
            }
            Model::Softmax { design, temperature } => {
                let rule = design.rule(theta, names.len(), *temperature);
                Policy::new("softmax", rule, space, names)
            }
        }
    }
}

/// The nearest point of the simplex: what exceeds a common height is cut to sum to 1.
fn onto_simplex(row: &mut [f64]) {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut height) = (0.0, 0.0);
    for (k, x) in sorted.iter().enumerate() {
        sum += x;
        let level = (sum - 1.0) / (k + 1) as f64;
        if *x > level {
            height = level;
        }
    }
    row.iter_mut().for_each(|x| *x = (*x - height).max(0.0));
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= total);
}

/// Runs the descent from the start, or from a state. `watch` is told the steps so far.
pub fn bsgd(
    task: &Task<'_>,
    asked: &Bsgd,
    state: Option<State>,
    watch: Option<Watch<'_>>,
    settings: &Settings<'_>,
) -> Result<Descent> {
    asked.schedule.check()?;
    if asked.seeds == 0 {
        return Err(Error::config("0 seeds; expected at least 1"));
    }
    let (radius, eta) = match task.set {
        Ambiguity::Wasserstein { radius } => (radius, asked.eta),
        Ambiguity::Entropic { radius, eta } => (radius, eta),
        Ambiguity::Kl { .. } => {
            return Err(Error::config(
                "stochastic gradients are for Wasserstein sets; a KL set is solved exactly",
            ));
        }
    };
    if !(eta > 0.0 && eta.is_finite()) {
        return Err(Error::config(format!("eta is {eta}; expected a finite number > 0")));
    }
    let model = Model::new(task, &asked.class)?;
    let start = model.start(task.costs.len());
    let fresh = |_| Run {
        step: 0,
        lambda: 0.0,
        theta: start.clone(),
        lambda_sum: 0.0,
        theta_sum: vec![0.0; start.len()],
        position: 0,
        trace: Vec::new(),
    };
    let runs = match state {
        None => (0..asked.seeds).map(fresh).collect(),
        Some(state) => {
            let fits =
                |run: &Run| run.theta.len() == start.len() && run.step <= asked.schedule.steps;
            if state.runs.len() != asked.seeds || !state.runs.iter().all(fits) {
                return Err(Error::config(
                    "the saved state is of another question: other seeds, steps or parameters",
                ));
            }
            state.runs
        }
    };
    let walk = Walk { task, model: &model, asked, radius, eta, scales: scales(task, radius) };
    let runs: Vec<Run> =
        runs.into_par_iter().enumerate().map(|(k, run)| walk.run(k, run, watch)).collect();
    let finished = runs.iter().all(|run| run.step == asked.schedule.steps);
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let taken = |run: &Run| run.step.max(1) as f64;
    let theta: Vec<f64> = (0..start.len())
        .map(|j| mean(&|run| average(run.theta_sum[j], run.theta[j], run.step)))
        .collect();
    let lambda = mean(&|run| run.lambda_sum / taken(run));
    let settings = Settings { watch: None, ..*settings };
    let value = |theta: &[f64]| -> Result<(Policy, f64)> {
        let policy = model.policy(task, theta, &asked.class)?;
        let upper = task.worst(&task.policy_costs(&policy), Detail::Value, &settings)?.upper;
        Ok((policy, upper))
    };
    let (policy, upper) = value(&theta)?;
    let own = |run: &Run| -> Result<f64> {
        let theta: Vec<f64> = run
            .theta_sum
            .iter()
            .zip(&run.theta)
            .map(|(sum, now)| average(*sum, *now, run.step))
            .collect();
        Ok(task.sign() * value(&theta)?.1)
    };
    let values = runs.iter().map(own).collect::<Result<_>>()?;
    let floor = task.sign() * task.floor(&settings)?;
    let steps = runs.iter().map(|run| run.step).sum();
    let learned = task.learned(policy, "bsgd", (floor, upper), steps, (1e-9, !finished));
    Ok(Descent { learned, lambda, values, state: State { runs }, finished })
}

/// The mean of the iterates; before the first step, the start.
fn average(sum: f64, now: f64, steps: usize) -> f64 {
    if steps == 0 { now } else { sum / steps as f64 }
}

/// What a step of θ and of λ is measured in: gradients by θ are as large as costs differ, those by
/// λ as moves cost; λ itself is as large as the one over the other.
fn scales(task: &Task<'_>, radius: f64) -> (f64, f64) {
    let (low, high) = task
        .costs
        .iter()
        .flatten()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), c| (l.min(*c), h.max(*c)));
    let range = (high - low).max(1e-300);
    let (space, count) = (task.population().space(), task.population().space().len());
    let mut random = Random::new(0, 0);
    let mut far = 0.0;
    for _ in 0..200 {
        let (i, j) = (random.below(count), random.below(count));
        let cost = space.cost(i, j);
        far += if cost.is_finite() { cost / 200.0 } else { 0.0 };
    }
    let far = far.max(radius).max(1e-300);
    (1.0 / range, range / (far * far))
}

/// What every run shares.
struct Walk<'w, 't> {
    task: &'w Task<'t>,
    model: &'w Model,
    asked: &'w Bsgd,
    radius: f64,
    eta: f64,
    /// What a step of θ and of λ is measured in.
    scales: (f64, f64),
}

impl Walk<'_, '_> {
    fn run(&self, number: usize, mut run: Run, watch: Option<Watch<'_>>) -> Run {
        let schedule = self.asked.schedule;
        let population = self.task.population();
        let ends: Vec<f64> = population
            .weights()
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p;
                Some(*sum)
            })
            .collect();
        let mut random = Random::new(self.asked.seed, number as u64);
        random.seek(run.position);
        let every = (schedule.steps / self.asked.traced.max(1)).max(1);
        let mut scratch = Scratch::new(self.task.costs.len(), schedule.points, run.theta.len());
        let rate = schedule.step / (schedule.steps as f64).sqrt();
        while run.step < schedule.steps {
            if run.step % 64 == 0 && !go_on(watch, run.step, f64::NAN) {
                break;
            }
            scratch.gradient.fill(0.0);
            let mut spent = 0.0;
            for _ in 0..schedule.contexts {
                let unit = random.unit() * ends.last().copied().unwrap_or(1.0);
                let source = ends.partition_point(|&end| end <= unit).min(ends.len() - 1);
                spent += self.sample(source, &run, &mut random, &mut scratch);
            }
            let share = rate / schedule.contexts as f64;
            for (t, g) in run.theta.iter_mut().zip(&scratch.gradient) {
                *t -= share * self.scales.0 * g;
            }
            self.model.project(&mut run.theta);
            let slope = self.radius - spent / schedule.contexts as f64;
            run.lambda = (run.lambda - rate * self.scales.1 * slope).max(0.0);
            run.step += 1;
            run.lambda_sum += run.lambda;
            run.theta_sum.iter_mut().zip(&run.theta).for_each(|(s, t)| *s += t);
            if run.step % every == 0 || run.step == schedule.steps {
                let steps = run.step as f64;
                run.trace.push(TracePoint {
                    step: run.step,
                    lambda: run.lambda_sum / steps,
                    theta: run.theta_sum.iter().map(|s| s / steps).collect(),
                });
            }
            run.position = random.position();
        }
        run
    }

    /// One context: adds its gradient by θ, returns the mean cost of its moves.
    fn sample(&self, source: usize, run: &Run, random: &mut Random, s: &mut Scratch) -> f64 {
        let (task, actions) = (self.task, self.task.costs.len());
        let space = task.population().space();
        let count = space.len();
        for k in 0..s.points.len() {
            let point = random.below(count);
            let row = &mut s.rows[k * actions..][..actions];
            s.points[k] = point;
            s.costs[k] = self.model.cost(task, &run.theta, point, row);
            s.moves[k] = space.cost(source, point);
            s.weights[k] = self.eta * (s.costs[k] - run.lambda * s.moves[k].min(1e290));
        }
        normalise(&mut s.weights);
        let mut spent = 0.0;
        for k in 0..s.points.len() {
            let weight = s.weights[k];
            if weight > 0.0 {
                let row = &s.rows[k * actions..][..actions];
                self.model.add(task, s.points[k], (s.costs[k], row), weight, &mut s.gradient);
                spent += weight * s.moves[k].min(1e290);
            }
        }
        spent
    }
}

/// Room for one step.
struct Scratch {
    points: Vec<usize>,
    rows: Vec<f64>,
    costs: Vec<f64>,
    moves: Vec<f64>,
    weights: Vec<f64>,
    gradient: Vec<f64>,
}

impl Scratch {
    fn new(actions: usize, points: usize, parameters: usize) -> Self {
        Scratch {
            points: vec![0; points],
            rows: vec![0.0; points * actions],
            costs: vec![0.0; points],
            moves: vec![0.0; points],
            weights: vec![0.0; points],
            gradient: vec![0.0; parameters],
        }
    }
}

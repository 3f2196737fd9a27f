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

mod draw;
mod model;

use self::draw::{Draw, DrawnPlace};
use self::model::ClassModel;
use super::{Ending, Learned, MOST_RUNS, Method, Task, check_count};
use crate::ambiguity::{Argument, Detail, Settings};
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::outcome::Predictor;
use crate::policy::{Partition, Policy, softmax as normalise};
use crate::progress::{Progress, Stage, Watch};
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

/// A larger step leaves no numbers behind.
const MOST_STEP: f64 = 1e9;
/// Steps at most: more than a year of them.
const MOST_STEPS: usize = 1_000_000_000_000;
/// Points and contexts drawn each step at most: every run keeps the points of its step.
const MOST_POINTS: usize = 10_000_000;

/// How many steps, how many points a step, how long the steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            let what = format!("is {delta}; expected a number between 0 and 1");
            return Err(Error::field(Field::Accuracy, what));
        }
        let (steps, points) =
            if convex { (delta.powi(-2), 1.0 / delta) } else { (delta.powi(-4), delta.powi(-2)) };
        if steps > 1e10 {
            let delta = Argument::Number(delta);
            let what = format!(
                "is {delta}: more than 1e10 steps, the most that are possible; take a larger one"
            );
            return Err(Error::field(Field::Accuracy, what));
        }
        Ok(Schedule {
            steps: (4.0 * steps).ceil() as usize,
            points: (8.0 * points).ceil() as usize,
            step: 1.0,
            contexts: 1,
        })
    }

    fn check_counts(&self) -> Result<()> {
        let counts = [
            (Field::Steps, self.steps),
            (Field::Batch, self.points),
            (Field::Contexts, self.contexts),
        ];
        for ((field, count), most) in counts.into_iter().zip([MOST_STEPS, MOST_POINTS, MOST_POINTS])
        {
            check_count(field, count, most)?;
        }
        if self.step > 0.0 && self.step <= MOST_STEP {
            Ok(())
        } else {
            let step = Argument::Number(self.step);
            let what = format!("is {step}; expected a number > 0 and at most {MOST_STEP:e}");
            Err(Error::field(Field::Step, what))
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

/// Runs the descent from the start, or from a state. With a
/// `product` places are drawn from every combination of levels, which may be too many to list; the
/// policy found is then valued on the task's support, a part of it.
pub fn bsgd(
    task: &Task<'_>,
    asked: &Bsgd,
    product: Option<&Predictor>,
    state: Option<State>,
    settings: Settings<'_>,
) -> Result<Descent> {
    asked.schedule.check_counts()?;
    check_count(Field::Seeds, asked.seeds, MOST_RUNS)?;
    task.needs_gradient("bsgd")?;
    let (set, radius) = (task.within.set, task.within.radius);
    if !(set.moves_mass() && set.contains_nominal()) {
        let what = "bsgd is for sets that move people and no more; this one is solved exactly";
        return Err(Error::field(Field::Method, what));
    }
    let eta = set.parameter("eta").unwrap_or(asked.eta);
    if !(eta > 0.0 && eta.is_finite()) {
        let what = format!("is {eta}; expected a finite number > 0");
        return Err(Error::field(Field::Eta, what));
    }
    let model = ClassModel::new(task, &asked.class)?;
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
            let long = |all: &[f64]| all.len() == start.len();
            let fits = |run: &Run| {
                long(&run.theta)
                    && long(&run.theta_sum)
                    && run.trace.iter().all(|t| long(&t.theta))
                    && run.step <= asked.schedule.steps
            };
            if state.runs.len() != asked.seeds || !state.runs.iter().all(fits) {
                return Err(Error::config(
                    "the saved state is of another question: other seeds, steps or parameters",
                ));
            }
            state.runs
        }
    };
    let draw = Draw::new(task, &asked.class, product)?;
    let scales = scales(task, radius);
    let walk = Walk { task, model: &model, draw: &draw, asked, radius, eta, scales };
    let runs: Vec<Run> =
        runs.into_par_iter().enumerate().map(|(k, run)| walk.run(k, run, settings.watch)).collect();
    let finished = runs.iter().all(|run| run.step == asked.schedule.steps);
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let taken = |run: &Run| run.step.max(1) as f64;
    let theta: Vec<f64> = (0..start.len())
        .map(|j| mean(&|run| average(run.theta_sum[j], run.theta[j], run.step)))
        .collect();
    let lambda = mean(&|run| run.lambda_sum / taken(run));
    // What was found so far is valued in any case, stopped or not.
    let settings = settings.watched(Watch::NOBODY);
    let value = |theta: &[f64]| -> Result<(Policy, f64)> {
        let policy = model.policy(task, theta, &asked.class)?;
        let upper = task.worst(&task.policy_costs(&policy)?, Detail::Value, settings)?.upper;
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
    let floor = task.greedy_worst(settings)?.0;
    let iterations = runs.iter().map(|run| run.step).sum();
    let ending = Ending { iterations, tolerance: 1e-9, stopped: !finished };
    let learned = task.learned(policy, Method::Bsgd, (floor, upper), &ending);
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
    let range = if high > low { high - low } else { 1.0 };
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
    model: &'w ClassModel,
    draw: &'w Draw<'w>,
    asked: &'w Bsgd,
    radius: f64,
    eta: f64,
    /// What a step of θ and of λ is measured in.
    scales: (f64, f64),
}

impl Walk<'_, '_> {
    fn run(&self, number: usize, mut run: Run, watch: Watch<'_>) -> Run {
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
            let progress = Progress::at(Stage::Descending).done(run.step).out_of(schedule.steps);
            if run.step.is_multiple_of(64) && !watch.go_on(progress) {
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
            if run.step.is_multiple_of(every) || run.step == schedule.steps {
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
        let actions = self.task.costs.len();
        s.places.clear();
        for (k, weight) in s.weights.iter_mut().enumerate() {
            let place = self.draw.draw(self, source, random);
            let row = &mut s.rows[k * actions..][..actions];
            s.costs[k] = self.model.cost(self.task, &run.theta, &place, row);
            // Where nobody can go weighs nothing, at any λ.
            *weight = if place.away.is_finite() {
                self.eta * (s.costs[k] - run.lambda * place.away)
            } else {
                f64::NEG_INFINITY
            };
            s.places.push(place);
        }
        if s.weights.iter().all(|w| *w == f64::NEG_INFINITY) {
            // Every place is behind a wall: the source stays where it is.
            return 0.0;
        }
        normalise(&mut s.weights);
        let mut spent = 0.0;
        for (k, (place, &weight)) in s.places.iter().zip(&s.weights).enumerate() {
            if weight > 0.0 {
                let row = &s.rows[k * actions..][..actions];
                self.model.add(self.task, place, row, weight, &mut s.gradient);
                spent += weight * place.away;
            }
        }
        spent
    }
}

/// Room for one step.
struct Scratch {
    places: Vec<DrawnPlace>,
    rows: Vec<f64>,
    costs: Vec<f64>,
    weights: Vec<f64>,
    gradient: Vec<f64>,
}

impl Scratch {
    fn new(actions: usize, points: usize, parameters: usize) -> Self {
        Scratch {
            places: Vec::with_capacity(points),
            rows: vec![0.0; points * actions],
            costs: vec![0.0; points],
            weights: vec![0.0; points],
            gradient: vec![0.0; parameters],
        }
    }
}

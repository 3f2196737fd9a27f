//! Stage 9. Learning: policies whose worst case is as good as it can be.
//!
//! The worst case rises with `l(x) = Σ_a π(a|x) m(x, a)` at every point, so with no restriction on
//! the policy the greedy rule, the best action in each context, is optimal for **every** context
//! radius and every set: no policy can do better, and [`Task::floor`] says how well it does.
//! Robustness to a shift of contexts matters for *restricted* policies:
//!
//! - probabilities by group ([`groups`]): the worst case is convex in them, and a cutting-plane
//!   method closes the gap with certified bounds;
//! - shallow decision trees ([`trees`]): a game between trees and populations brackets the best
//!   mixture of trees, and an enumeration under its bound finds the best single one;
//! - softmax of linear scores ([`softmax`]): exact gradients of the smoothed worst case, a local
//!   optimum;
//! - all of them under a joint KL ball, from people of a log ([`JointTask`]);
//! - any of the smooth ones by stochastic gradients ([`bsgd`]), the paper's algorithm 1.
//!
//! All of them also learn against a baseline ([`Task::against`]): then values and bounds are worst-case
//! differences to it, in one population, and a value that is not above 0 certifies a policy that is no
//! worse than the baseline in any population of the set.
//!
//! Everything here lowers a cost; rewards are costs upside down.
//!
//! ```
//! use seawall::evaluate::{Robust, Support};
//! use seawall::learn::{Task, Trees, trees};
//! use seawall::outcome::{Recipe, Unseen};
//! use seawall::{Direction, Feature, Log, Settings, Status, Wasserstein, Watch};
//! let ages = vec![vec![40.0, 40.0, 60.0, 60.0, 80.0, 80.0]];
//! let taken = ["treat", "wait", "treat", "wait", "treat", "wait"];
//! let costs = [3.0, 1.0, 2.0, 2.5, 1.0, 4.0];
//! let age = [Feature::numeric("age")];
//! let log = Log::from_rows(age, ages, &taken, &costs, None, Direction::Cost)?;
//! let model = Recipe::Cells.fit(&log, Watch::NOBODY)?;
//! let values = model.values(&log, Wasserstein.at(0.0), Unseen::Error, Settings::default())?;
//! let robust = Robust::new(&log, Support::All)?;
//! let task = Task::new(&log, &robust, &values, Wasserstein.at(0.02))?;
//! let found = trees(&task, Trees::new(1), Settings::default())?;
//! assert_eq!((found.status(), found.policy().row(0)), (Status::Optimal, &[0.0, 1.0][..]));
//! assert!(found.value() >= task.floor(Settings::default())?.lower);
//! # Ok::<(), seawall::Error>(())
//! ```

mod anywhere;
mod bsgd;
mod class;
mod cutting_plane;
mod game;
mod gradient;
mod groups;
mod joint;
mod listing;
mod master;
mod node;
mod ranks;
mod regret;
mod rivals;
mod search;
mod single;

pub use bsgd::{Bsgd, Class, Descent, Run, Schedule, State, TracePoint, bsgd};
pub use game::{Trees, trees};
pub use gradient::{Gradient, softmax};
pub use groups::{Budget, Groups, groups};

#[doc(hidden)]
pub use self::{
    anywhere::{LearnedAnywhere, WholeTask},
    joint::JointTask,
};

use crate::ambiguity::{CertifiedValue, Detail, Direction, Problem, Settings, Shift, Status};
use crate::error::{Error, Field, Result};
use crate::evaluate::Robust;
use crate::log::Log;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::progress::{Progress, Stage};
use regret::Baseline;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;

/// What is to be learned from: a log's contexts on a support, robust values, and a set.
pub struct Task<'a> {
    log: &'a Log,
    robust: &'a Robust,
    values: &'a Values,
    within: Shift,
    /// `[action][point of the support]`, as costs.
    costs: Vec<Vec<f64>>,
    /// What is learned against, if anything is.
    baseline: Option<Baseline<'a>>,
    /// Bounds of the greedy policy's worst case, once somebody asked.
    greedy: OnceLock<(f64, f64)>,
}

/// How a policy was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// Exactly, with bounds that meet but for the gap.
    Exact,
    /// By exact gradients: a local optimum.
    Gradient,
    /// By stochastic gradients.
    Bsgd,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Exact => "exact",
            Method::Gradient => "gradient",
            Method::Bsgd => "bsgd",
        })
    }
}

/// Bounds of a number, in the log's own direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
}

/// A learned policy, with what is known of it. Costs and rewards are in the log's own direction.
/// Only the methods of this stage make one, with both bounds.
#[derive(Clone, Debug)]
pub struct Learned {
    policy: Policy,
    method: Method,
    value: f64,
    bounds: Bounds,
    status: Status,
    iterations: usize,
    mixture: Option<Mixture>,
}

/// A policy drawn at random among a few.
#[derive(Clone, Debug)]
pub struct Mixture {
    parts: Vec<(f64, Policy)>,
    value: f64,
    bounds: Bounds,
}

impl Mixture {
    /// The shares and the policies.
    pub fn parts(&self) -> &[(f64, Policy)] {
        &self.parts
    }

    /// Its worst case.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// See [`Learned::lower`].
    pub fn lower(&self) -> f64 {
        self.bounds.lower
    }

    /// See [`Learned::upper`].
    pub fn upper(&self) -> f64 {
        self.bounds.upper
    }
}

impl Learned {
    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How it was found.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Its worst case: the bound on the safe side.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// No policy of the class has a worst case below this (cost), or the learned one's is not
    /// below this (reward).
    pub fn lower(&self) -> f64 {
        self.bounds.lower
    }

    /// The learned policy's worst case is not above this (cost), or no policy of the class has
    /// one above this (reward).
    pub fn upper(&self) -> f64 {
        self.bounds.upper
    }

    /// How far apart the bounds are.
    pub fn gap(&self) -> f64 {
        self.bounds.upper - self.bounds.lower
    }

    /// Its worst case with these bounds.
    pub fn certified(&self) -> CertifiedValue {
        CertifiedValue {
            value: self.value,
            lower: self.bounds.lower,
            upper: self.bounds.upper,
            gap: self.gap(),
            status: self.status,
        }
    }

    /// Whether the bounds agree to the tolerance.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Steps taken.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Where several policies drawn at random do better than any one: those, with their shares,
    /// and the bounds of that mixture.
    pub fn mixture(&self) -> Option<&Mixture> {
        self.mixture.as_ref()
    }
}

/// The worst case of a cost, and the population that is it.
struct Worst {
    lower: f64,
    upper: f64,
    population: Vec<f64>,
}

/// How a search ended.
struct Ending {
    /// Steps taken.
    iterations: usize,
    /// The gap, relative to the largest cost, up to which it is optimal.
    tolerance: f64,
    /// Whether it was told to stop.
    stopped: bool,
}

impl<'a> Task<'a> {
    /// Learning from a log's robust values over a set of contexts. Values or a support of another
    /// space are refused by the feature in which it differs.
    pub fn new(
        log: &'a Log,
        robust: &'a Robust,
        values: &'a Values,
        within: Shift,
    ) -> Result<Self> {
        if within.set.needs_actions() {
            let what = format!(
                "is {}, which is about people with their outcomes under every action: nothing is learned \
                 under it; learn under another and evaluate under this one",
                within.set.name()
            );
            return Err(Error::field(Field::Set, what).advise(Field::Set, &["wasserstein"]));
        }
        log.contexts().same_as(robust.contexts())?;
        log.contexts().same_as(values.space())?;
        let (found, wanted) = (values.actions(), log.actions().len());
        if found != wanted {
            return Err(Error::input(format!("values of {found} actions for a log of {wanted}")));
        }
        let sign = log.direction().sign();
        let cost =
            |action: usize| robust.points().iter().map(|&i| sign * values.at(i, action)).collect();
        let costs = (0..values.actions()).map(cost).collect();
        let greedy = OnceLock::new();
        Ok(Task { log, robust, values, within, costs, baseline: None, greedy })
    }

    /// Bounds of the greedy policy's worst case: no policy has a better one, whatever its form.
    pub fn floor(&self, settings: Settings<'_>) -> Result<Bounds> {
        let (lower, upper) = self.greedy_worst(settings)?;
        Ok(self.bounds(lower - self.slack(), upper))
    }

    /// The largest cost there is, smoothing included: what tolerances are relative to.
    fn size(&self) -> f64 {
        self.costs.iter().flatten().fold(1e-300, |size: f64, c| size.max(c.abs()))
            + self.smoothing()
    }

    /// By how much a smoothed set may be below the mean of any population of it.
    fn smoothing(&self) -> f64 {
        self.within.set.smoothing(self.population().space().len())
    }

    /// The worst-case share of a linear cost between 0 and 1: over the exact set, for a smoothed
    /// share is no share.
    fn share(&self, costs: &[f64], detail: Detail, settings: Settings<'_>) -> Result<Worst> {
        self.worst_over(self.within.exact(), costs, detail, settings)
    }

    /// Bounds of the greedy policy's worst case, as a cost: worked out once.
    fn greedy_worst(&self, settings: Settings<'_>) -> Result<(f64, f64)> {
        if let Some(bounds) = self.greedy.get() {
            return Ok(*bounds);
        }
        let costs = match &self.baseline {
            // Without the policy's table, which takes long to write on a large space.
            None => self.least_costs(),
            Some(_) => self.policy_costs(&self.unrestricted()?)?,
        };
        let worst = self.worst(&costs, Detail::Value, settings)?;
        Ok(*self.greedy.get_or_init(|| (worst.lower, worst.upper)))
    }

    /// The cost of the best action at each point.
    fn least_costs(&self) -> Vec<f64> {
        let least = |i: usize| self.costs.iter().map(|cost| cost[i]).fold(f64::INFINITY, f64::min);
        (0..self.robust.points().len()).map(least).collect()
    }

    /// Refuses a set whose worst case has no gradient and nothing smooth that stands in for it.
    fn needs_gradient(&self, what: &str) -> Result<()> {
        if self.within.set.has_gradient() {
            Ok(())
        } else {
            Err(Error::field(
                Field::Set,
                format!(
                    "is {}, which has no gradient for {what}; learn groups or trees, or use another",
                    self.within.set.name()
                ),
            )
            .advise(Field::Set, &["wasserstein", "kl"]))
        }
    }

    /// What the inner step leaves open.
    fn slack(&self) -> f64 {
        self.baseline.as_ref().map_or_else(|| self.values.slack(), |b| b.range.slack())
    }

    fn sign(&self) -> f64 {
        self.log.direction().sign()
    }

    fn population(&self) -> &Population {
        self.robust.population()
    }

    /// A policy's cost at every point of the support.
    fn policy_costs(&self, policy: &Policy) -> Result<Vec<f64>> {
        let sign = self.sign();
        let values = match &self.baseline {
            None => self.robust.values(policy, self.values)?,
            Some(b) => self.robust.difference(policy, b.policy, b.range)?,
        };
        Ok(values.iter().map(|v| sign * v).collect())
    }

    /// The worst case of a cost at every point of the support.
    fn worst(&self, costs: &[f64], detail: Detail, settings: Settings<'_>) -> Result<Worst> {
        self.worst_over(self.within, costs, detail, settings)
    }

    /// The same over another set.
    fn worst_over(
        &self,
        within: Shift,
        costs: &[f64],
        detail: Detail,
        settings: Settings<'_>,
    ) -> Result<Worst> {
        let geometry = self.robust.geometry();
        let problem = Problem::on(geometry, costs)?;
        let nobody_moves =
            within.radius == 0.0 && within.set.stays_at_zero() && !geometry.has_free_moves();
        if nobody_moves {
            // The mean, without a look at every pair of points.
            let (mean, population) = (problem.nominal(), self.population().weights().to_vec());
            return Ok(Worst { lower: mean, upper: mean, population });
        }
        let worst = within.worst_case(&problem, settings.detail(detail))?;
        Ok(Worst { lower: worst.lower(), upper: worst.upper(), population: worst.weights() })
    }

    /// A learned policy in the log's own direction. `lower` and `upper` are costs; what the inner
    /// step leaves open is taken off the lower one.
    fn learned(
        &self,
        policy: Policy,
        method: Method,
        (lower, upper): (f64, f64),
        ending: &Ending,
    ) -> Learned {
        let bounds = self.bounds((lower - self.slack()).min(upper), upper);
        let apart = bounds.upper - bounds.lower;
        let status = match (apart <= ending.tolerance * self.size(), ending.stopped) {
            (true, _) => Status::Optimal,
            (false, true) => Status::Stopped,
            (false, false) => Status::Inexact,
        };
        let (value, iterations) = (self.sign() * upper, ending.iterations);
        Learned { policy, method, value, bounds, status, iterations, mixture: None }
    }

    /// Bounds of a cost in the log's own direction.
    fn bounds(&self, lower: f64, upper: f64) -> Bounds {
        match self.log.direction() {
            Direction::Cost => Bounds { lower, upper },
            Direction::Reward => Bounds { lower: -upper, upper: -lower },
        }
    }
}

/// The greedy policy, which is optimal among all, whatever the set.
pub fn greedy(task: &Task<'_>, settings: Settings<'_>) -> Result<Learned> {
    let policy = task.unrestricted()?;
    let bounds = task.greedy_worst(settings)?;
    let stopped = !settings.watch.go_on(Progress::at(Stage::Learning));
    let ending = Ending { iterations: 0, tolerance: 1e-9, stopped };
    Ok(task.learned(policy, Method::Exact, bounds, &ending))
}

/// Runs and restarts at most.
const MOST_RUNS: usize = 10_000;

/// Refuses a count of nothing, or of more than can be done.
fn check_count(field: Field, count: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&count) {
        Ok(())
    } else {
        Err(Error::field(field, format!("is {count}; expected a number from 1 to {most}")))
    }
}

/// Refuses a tolerance that is none.
fn check_tolerance(tolerance: f64) -> Result<()> {
    if tolerance > 0.0 && tolerance <= 0.1 {
        Ok(())
    } else {
        Err(Error::field(
            Field::Tolerance,
            format!("is {tolerance}; expected a number above 0 and at most 0.1"),
        ))
    }
}

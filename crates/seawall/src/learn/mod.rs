//! Stage 8. Learning: policies whose worst case is as good as it can be.
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
//! - any of the smooth ones by stochastic gradients ([`bsgd`]), the paper's algorithm 1.
//!
//! Everything here lowers a cost; rewards are costs upside down.

mod bsgd;
mod class;
mod cutting_plane;
mod game;
mod gradient;
mod groups;
mod master;
mod node;
mod ranks;
mod rivals;
mod search;

pub use bsgd::{Bsgd, Class, Descent, Run, Schedule, State, TracePoint, bsgd};
pub use game::{Trees, trees};
pub use gradient::{Gradient, softmax};
pub use groups::{Budget, Groups, groups};

use crate::ambiguity::{Ambiguity, Detail, Direction, Problem, Settings, Status};
use crate::error::{Error, Result};
use crate::evaluate::Robust;
use crate::kernel::metric::Metric;
use crate::log::Log;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::space::Space;
use std::collections::HashSet;

/// What is to be learned from: a log's contexts on a support, robust values, and a set.
pub struct Task<'a> {
    log: &'a Log,
    robust: &'a Robust,
    values: &'a Values,
    set: Ambiguity,
    /// `[action][point of the support]`, as costs.
    costs: Vec<Vec<f64>>,
    /// Whether mass can move for nothing: two points in one place, or a feature of weight 0.
    free_moves: bool,
}

/// A learned policy, with what is known of it. Costs and rewards are in the log's own direction.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The policy.
    pub policy: Policy,
    /// How it was found.
    pub method: &'static str,
    /// Its worst case: the bound on the safe side.
    pub value: f64,
    /// No policy of the class has a worst case below this (cost), or the learned one's is not
    /// below this (reward).
    pub lower: f64,
    /// The learned policy's worst case is not above this (cost), or no policy of the class has
    /// one above this (reward).
    pub upper: f64,
    /// Whether the bounds agree to the tolerance.
    pub status: Status,
    /// Steps taken.
    pub iterations: usize,
    /// Where several policies drawn at random do better than any one: those, with their shares,
    /// and the bounds of that mixture.
    pub mixture: Option<Mixture>,
}

/// A policy drawn at random among a few.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// The shares and the policies.
    pub parts: Vec<(f64, Policy)>,
    /// Its worst case.
    pub value: f64,
    /// See [`Learned::lower`].
    pub lower: f64,
    /// See [`Learned::upper`].
    pub upper: f64,
}

impl Learned {
    /// How far apart the bounds are.
    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }
}

/// The worst case of a cost, and the population that is it.
struct Worst {
    lower: f64,
    upper: f64,
    population: Vec<f64>,
}

impl<'a> Task<'a> {
    /// Learning from a log's robust values over a set of contexts.
    pub fn new(log: &'a Log, robust: &'a Robust, values: &'a Values, set: Ambiguity) -> Self {
        let sign = log.direction().sign();
        let cost =
            |action: usize| robust.points().iter().map(|&i| sign * values.at(i, action)).collect();
        let costs = (0..values.actions()).map(cost).collect();
        let free_moves = free_moves(robust.population().space());
        Task { log, robust, values, set, costs, free_moves }
    }

    /// The greedy policy's worst case: no policy has a better one, whatever its form.
    pub fn floor(&self, settings: &Settings<'_>) -> Result<f64> {
        let policy = Policy::greedy(self.log, self.values);
        let worst = self.worst(&self.policy_costs(&policy), Detail::Value, settings)?;
        Ok(self.sign() * worst.upper)
    }

    /// The largest cost there is, smoothing included: what tolerances are relative to.
    fn size(&self) -> f64 {
        self.costs.iter().flatten().fold(1e-300, |size: f64, c| size.max(c.abs()))
            + self.smoothing()
    }

    /// By how much an entropic set may be below the mean of any population of it: `log M / η`.
    fn smoothing(&self) -> f64 {
        match self.set {
            Ambiguity::Entropic { eta, .. } => (self.population().space().len() as f64).ln() / eta,
            _ => 0.0,
        }
    }

    /// The worst-case share of a linear cost between 0 and 1: over the exact set, for a smoothed
    /// share is no share.
    fn share(&self, costs: &[f64], detail: Detail, settings: &Settings<'_>) -> Result<Worst> {
        let set = match self.set {
            Ambiguity::Entropic { radius, .. } => Ambiguity::Wasserstein { radius },
            set => set,
        };
        self.worst_over(set, costs, detail, settings)
    }

    /// The greedy policy's worst case as a cost, from below.
    fn greedy_bound(&self, settings: &Settings<'_>) -> Result<f64> {
        let policy = Policy::greedy(self.log, self.values);
        Ok(self.worst(&self.policy_costs(&policy), Detail::Value, settings)?.lower)
    }

    fn sign(&self) -> f64 {
        self.log.direction().sign()
    }

    fn population(&self) -> &Population {
        self.robust.population()
    }

    /// A policy's cost at every point of the support.
    fn policy_costs(&self, policy: &Policy) -> Vec<f64> {
        let sign = self.sign();
        self.robust.values(policy, self.values).iter().map(|v| sign * v).collect()
    }

    /// The worst case of a cost at every point of the support.
    fn worst(&self, costs: &[f64], detail: Detail, settings: &Settings<'_>) -> Result<Worst> {
        self.worst_over(self.set, costs, detail, settings)
    }

    /// The same over another set.
    fn worst_over(
        &self,
        set: Ambiguity,
        costs: &[f64],
        detail: Detail,
        settings: &Settings<'_>,
    ) -> Result<Worst> {
        let problem = Problem::new(self.population(), costs)?;
        if let (Ambiguity::Wasserstein { radius: 0.0 }, false) = (set, self.free_moves) {
            // Nobody can move: the mean, without a look at every pair of points.
            let (mean, population) = (problem.nominal(), self.population().weights().to_vec());
            return Ok(Worst { lower: mean, upper: mean, population });
        }
        let settings = Settings { detail, watch: None, ..*settings };
        let worst = set.worst_case(&problem, &settings)?;
        let population = if detail == Detail::Value { Vec::new() } else { worst.weights() };
        Ok(Worst { lower: worst.lower, upper: worst.upper, population })
    }

    /// A learned policy in the log's own direction. `lower` and `upper` are costs; what the inner
    /// step leaves open is taken off the lower one.
    fn learned(
        &self,
        policy: Policy,
        method: &'static str,
        (lower, upper): (f64, f64),
        iterations: usize,
        (tolerance, stopped): (f64, bool),
    ) -> Learned {
        let lower = (lower - self.values.gap()).min(upper);
        let (value, lower, upper) = self.turned(lower, upper);
        let status = match (upper - lower <= tolerance * self.size(), stopped) {
            (true, _) => Status::Optimal,
            (false, true) => Status::Stopped,
            (false, false) => Status::Inexact,
        };
        Learned { policy, method, value, lower, upper, status, iterations, mixture: None }
    }

    /// Value and bounds in the log's own direction.
    fn turned(&self, lower: f64, upper: f64) -> (f64, f64, f64) {
        match self.log.direction() {
            Direction::Cost => (upper, lower, upper),
            Direction::Reward => (-upper, -upper, -lower),
        }
    }
}

/// Whether some move between points may cost nothing: a feature whose moves are free, or two
/// points in one place.
fn free_moves(space: &Space) -> bool {
    let free = |metric: &Metric| match metric {
        Metric::Square { weight, missing } | Metric::Flat { weight, missing } => {
            *weight == 0.0 || *missing == 0.0
        }
        Metric::Wall => false,
    };
    let columns: Vec<Vec<f64>> = (0..space.names().len()).map(|k| space.column(k)).collect();
    let mut places = HashSet::new();
    space.metrics().iter().any(free)
        || !(0..space.len()).all(|i| {
            let place: Vec<u64> = columns.iter().map(|column| column[i].to_bits()).collect();
            places.insert(place)
        })
}

/// Refuses a tolerance that is none.
fn check_tolerance(tolerance: f64) -> Result<()> {
    match tolerance > 0.0 && tolerance <= 0.1 {
        true => Ok(()),
        false => Err(Error::config(format!(
            "the tolerance is {tolerance}; expected a number above 0 and at most 0.1"
        ))),
    }
}

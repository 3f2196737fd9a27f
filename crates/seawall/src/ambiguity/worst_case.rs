//! What an ambiguity set answers: the worst case, its bounds, and the population that is it.

use super::plan::Plan;
use super::settings::{Detail, Settings};
use super::values::{Direction, ValueUnits};
use crate::error::{Error, Result};
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::space::{Layout, Space};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// The bounds agree to the tolerance.
    Optimal,
    /// The bounds hold but are further apart than the tolerance: rounding, or the limit on
    /// evaluations, came first.
    Inexact,
    /// The bounds hold; the watcher asked to stop.
    Stopped,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Optimal => "optimal",
            Status::Inexact => "inexact",
            Status::Stopped => "stopped",
        })
    }
}

/// The worst-case mean over an ambiguity set.
///
/// For costs the worst case is the largest mean; for rewards the smallest. `lower ≤ truth ≤
/// upper` either way. Only a solver makes one, with both bounds.
#[derive(Clone, Debug)]
pub struct WorstCase {
    value: f64,
    lower: f64,
    upper: f64,
    status: Status,
    lambda: f64,
    evaluations: usize,
    plan: Plan,
    unobserved_mass: f64,
    smoothed: Option<Smoothed>,
    /// The worst-case population where the plan does not list all of it.
    weights: Option<Vec<f64>>,
    /// The population that mass came from, on the plan's points.
    population: Population,
    engine: Option<&'static str>,
    /// Whether mass could go anywhere in the space.
    anywhere: bool,
    best_coupling: Option<f64>,
}

/// What only a smoothed worst case has.
#[derive(Clone, Copy, Debug)]
pub struct Smoothed {
    /// Bounds of the exact Wasserstein worst case at the same radius: the smoothed value alone
    /// is not a bound on the safe side.
    pub exact_lower: f64,
    /// See [`exact_lower`](Self::exact_lower).
    pub exact_upper: f64,
    /// The mean entropy, in nats, of where a unit of mass goes: `exp` of it is the number of
    /// places it is spread over. NaN for a solve that was asked for its value alone.
    pub entropy: f64,
}

/// The shares of one feature's levels, before and after the shift.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal {
    /// The levels, or ranges of a numeric feature off a grid.
    pub labels: Vec<String>,
    /// Their shares of the nominal population.
    pub nominal: Vec<f64>,
    /// Their shares of the worst-case population.
    pub worst: Vec<f64>,
    /// Mass that goes from one level to another: `(from, to, mass)`, by rising levels.
    pub moved: Vec<(usize, usize, f64)>,
}

impl Marginal {
    /// The levels that a level's new mass comes from, the largest first.
    pub fn came_from(&self, level: usize) -> Vec<(usize, f64)> {
        let arriving = self.moved.iter().filter(|m| m.1 == level).map(|m| (m.0, m.2));
        let mut all: Vec<(usize, f64)> = arriving.collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all
    }
}

impl WorstCase {
    /// The worst-case mean: the bound on the safe side.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The truth is not below this.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The truth is not above this.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// How far apart the bounds are.
    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }

    /// How the solve ended.
    pub fn status(&self) -> Status {
        self.status
    }

    /// λ: how fast the worst case worsens as the radius grows. Infinite at radius 0 of a set
    /// whose curve starts upright: an entropic one, KL and the other divergences, the Sinkhorn ball.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Evaluations of the dual.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Where the mass goes. Empty where only the value was asked for, and for an entropic solve
    /// that was asked for its population alone.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The share of the worst-case population on points of zero nominal weight. Where several
    /// populations are equally bad, that of the one in the plan. NaN where only the value was
    /// asked for.
    pub fn unobserved_mass(&self) -> f64 {
        self.unobserved_mass
    }

    /// The population that mass came from, on the points of the plan: on the whole of a space these
    /// are the population's own and the places that mass went to.
    pub fn nominal(&self) -> &Population {
        &self.population
    }

    /// What found the inner maxima; None for a set that has none.
    pub fn engine(&self) -> Option<&'static str> {
        self.engine
    }

    /// What only a smoothed worst case has.
    pub fn smoothed(&self) -> Option<Smoothed> {
        self.smoothed
    }

    /// Of a set that is about a person's outcomes under every action: the worst case if these went
    /// together as kindly as they can. [`value`](Self::value) has them go together as badly; between
    /// the two no data can say, for nobody is seen under two actions. None for any other set.
    pub fn best_coupling(&self) -> Option<f64> {
        self.best_coupling
    }

    /// The same worst case, the places observed being other ones than those of nominal weight.
    #[must_use]
    pub(crate) fn observed_where(mut self, seen: &[bool]) -> Self {
        if !self.unobserved_mass.is_nan() {
            let weights = self.weights();
            // Places beyond those listed were never observed.
            let seen = |j: usize| seen.get(j).copied().unwrap_or(false);
            self.unobserved_mass = sum(weights.len(), |j| if seen(j) { 0.0 } else { weights[j] });
        }
        self
    }

    /// The same worst case, told by the contexts of the people in it: those of `nominal` weigh `weights`
    /// now. What of the reweighting is within contexts is in neither.
    #[must_use]
    pub(crate) fn told_by(mut self, nominal: &Population, weights: &[f64]) -> Self {
        let mut plan = Plan::new(nominal.space());
        let pairs = weights.iter().zip(nominal.weights()).enumerate();
        for (i, (weight, before)) in pairs.filter(|(_, (_, before))| **before > 0.0) {
            plan.push_paid(i as u32, i as u32, *weight, (weight / before).ln());
        }
        if !self.unobserved_mass.is_nan() {
            self.unobserved_mass = 0.0;
        }
        (self.plan, self.weights, self.population) = (plan, None, nominal.clone());
        self
    }

    /// The same worst case of values that may be too bad by up to `slack`: the bound on the other
    /// side moves by as much.
    #[must_use]
    pub(crate) fn widened(mut self, direction: Direction, slack: f64, tolerance: f64) -> Self {
        match direction {
            Direction::Cost => self.lower -= slack,
            Direction::Reward => self.upper += slack,
        }
        if let Some(smoothed) = &mut self.smoothed {
            match direction {
                Direction::Cost => smoothed.exact_lower -= slack,
                Direction::Reward => smoothed.exact_upper += slack,
            }
        }
        let size = self.lower.abs().max(self.upper.abs());
        if slack > 0.0 && self.gap() > tolerance * size && self.status == Status::Optimal {
            self.status = Status::Inexact;
        }
        self
    }

    /// The worst-case population: one weight per point; none where only the value was asked for.
    pub fn weights(&self) -> Vec<f64> {
        match &self.weights {
            Some(weights) => weights.clone(),
            None if self.plan.is_empty() => Vec::new(),
            None => self.plan.arrivals(),
        }
    }

    /// A feature's shares before and after the shift, if more than the value was asked for.
    pub fn marginal(&self, feature: usize) -> Result<Marginal> {
        let population = &self.population;
        let space = population.space();
        if feature >= space.names().len() {
            let count = space.names().len();
            return Err(Error::input(format!("feature {feature} of {count}")));
        }
        let worst = self.weights();
        if worst.is_empty() {
            return Err(Error::config("only the value was worked out, not the population"));
        }
        let (labels, level) = levels(space, feature, self.anywhere);
        let shares = |weights: &[f64]| {
            let mut shares = vec![0.0; labels.len()];
            for (i, &p) in weights.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                shares[level(i)] += p;
            }
            shares
        };
        let (nominal, worst) = (shares(population.weights()), shares(&worst));
        let mut moved: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for step in (0..self.plan.len()).map(|entry| self.plan.route(entry)) {
            let (from, to) = (level(step.0), level(step.1));
            if from != to {
                *moved.entry((from, to)).or_default() += step.2;
            }
        }
        let moved = moved.into_iter().map(|((from, to), mass)| (from, to, mass)).collect();
        Ok(Marginal { labels, nominal, worst, moved })
    }
}

/// Ranges into which a numeric feature off a grid is cut for people to read.
const RANGES: usize = 10;

/// A feature's levels, and which of them a point has. Numbers that could be `any` are told by ranges,
/// however many there are: other worst cases have others.
fn levels(
    space: &Space,
    feature: usize,
    any: bool,
) -> (Vec<String>, Box<dyn Fn(usize) -> usize + '_>) {
    let labels = space.levels(feature);
    if let (false, Layout::Grid(grid)) = (labels.is_empty(), space.layout()) {
        return (labels.to_vec(), Box::new(move |i| grid.level(i, feature)));
    }
    let code = move |i: usize| space.code(i, feature);
    let any_missing = (0..space.len()).any(|i| code(i).is_nan());
    let with_missing = |mut labels: Vec<String>| {
        if any_missing {
            labels.push("(missing)".to_owned());
        }
        labels
    };
    if !labels.is_empty() {
        let last = labels.len();
        let level = move |i| if code(i).is_nan() { last } else { code(i) as usize };
        return (with_missing(labels.to_vec()), Box::new(level));
    }
    let mut distinct: Vec<f64> = (0..space.len()).map(code).filter(|x| !x.is_nan()).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() <= if any { 1 } else { 2 * RANGES } {
        let last = distinct.len();
        let labels = with_missing(distinct.iter().map(f64::to_string).collect());
        let level = move |i| {
            if code(i).is_nan() { last } else { distinct.partition_point(|&x| x < code(i)) }
        };
        return (labels, Box::new(level));
    }
    let (low, high) = (distinct[0], distinct[distinct.len() - 1]);
    let edge = move |k: usize| low + (high - low) * (k as f64 / RANGES as f64);
    let labels = (0..RANGES).map(|k| format!("{:.4} to {:.4}", edge(k), edge(k + 1))).collect();
    let level = move |i| {
        // Halved first: the difference of two huge numbers may not exist.
        let share = (0.5 * code(i) - 0.5 * low) / (0.5 * high - 0.5 * low);
        if code(i).is_nan() { RANGES } else { ((share * RANGES as f64) as usize).min(RANGES - 1) }
    };
    (with_missing(labels), Box::new(level))
}

/// Bounds in a solver's units, to be put into the user's. Nothing else makes a worst case.
pub(super) struct Certificate {
    pub lower: f64,
    pub upper: f64,
    pub lambda: f64,
    pub evaluations: usize,
    pub stopped: bool,
    /// The worst-case population, where the plan does not list all of it.
    pub weights: Option<Vec<f64>>,
    /// What found the inner maxima, if anything had to.
    pub engine: Option<&'static str>,
    /// Whether mass could go anywhere in the space.
    pub anywhere: bool,
    /// For a smoothed set: what its bounds say of the exact worst case, and the entropy.
    pub smoothed: Option<Smoothed>,
    /// For a set of potential outcomes: the upper bound under their best coupling.
    pub best_coupling: Option<f64>,
}

impl Certificate {
    /// Both bounds, and the price at which the upper one was seen.
    pub fn new(lower: f64, upper: f64, lambda: f64) -> Self {
        Certificate {
            lower,
            upper,
            lambda,
            evaluations: 0,
            stopped: false,
            weights: None,
            engine: None,
            anywhere: false,
            smoothed: None,
            best_coupling: None,
        }
    }

    /// The worst case in the user's units and direction.
    pub fn into_worst_case(
        self,
        units: ValueUnits,
        nominal: &Population,
        settings: &Settings<'_>,
        plan: Plan,
    ) -> WorstCase {
        // The two bounds come from different sums: where they cross by rounding, the safe side
        // is the higher one.
        let upper = if self.upper < self.lower { self.lower } else { self.upper };
        let gap = upper - self.lower;
        let size = upper.abs().max(self.lower.abs());
        let status = if gap <= settings.tolerance * size || gap <= 1e-13 {
            Status::Optimal
        } else if self.stopped {
            Status::Stopped
        } else {
            Status::Inexact
        };
        let ends = (units.unscaled(self.lower), units.unscaled(upper));
        let population = nominal.clone();
        let nominal = nominal.weights();
        let unobserved_mass = match (&self.weights, settings.detail) {
            (_, Detail::Value) => f64::NAN,
            (Some(weights), _) => {
                sum(weights.len(), |j| if nominal[j] == 0.0 { weights[j] } else { 0.0 })
            }
            (None, _) => {
                let arrived =
                    (0..plan.len()).map(|e| plan.arrival(e)).filter(|&(to, _)| nominal[to] == 0.0);
                arrived.fold(0.0, |total, (_, mass)| total + mass)
            }
        };
        WorstCase {
            value: ends.1,
            lower: if ends.0 > ends.1 { ends.1 } else { ends.0 },
            upper: if ends.0 > ends.1 { ends.0 } else { ends.1 },
            status,
            lambda: self.lambda / units.scale(),
            evaluations: self.evaluations,
            plan,
            unobserved_mass,
            smoothed: self.smoothed,
            weights: self.weights,
            population,
            engine: self.engine,
            anywhere: self.anywhere,
            best_coupling: self.best_coupling.map(|height| units.unscaled(height)),
        }
    }
}

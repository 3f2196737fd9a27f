//! What each source reaches at a price: all that a solver of moved mass knows of a support.
//!
//! On a support that is listed an [`Engine`](super::Engine) finds the best of its points for every
//! source; on the whole of a space there are no points to list, and a place is known by how it was
//! reached. Either way the solver sees costs and heights, and asks for a plan once it knows which
//! way every source goes.

use super::engine::{Maxima, Sums};
use super::plan::Plan;
use super::problem::{Problem, Units};
use crate::error::{Error, Result};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::progress::Watch;

/// The two sums at a price, and by how much the sum of maxima may be higher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub value: f64,
    pub cost: f64,
    pub excess: f64,
}

/// Where one source goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landing {
    /// The place, by what the support calls it for this source.
    pub to: u32,
    /// What a unit of mass pays.
    pub cost: f64,
    /// The height there.
    pub height: f64,
}

/// Every source's way, and perhaps one whose mass is split: which, the share that goes elsewhere, and
/// where.
pub(super) struct Ways {
    pub to: Vec<u32>,
    pub split: Option<(usize, f64, u32)>,
}

impl Ways {
    /// Each source with its mass and where that goes; the one that is split twice.
    pub fn moves<'w>(
        &'w self,
        mass: impl Fn(usize) -> f64 + Copy + 'w,
    ) -> impl Iterator<Item = (usize, f64, u32)> + 'w {
        let share = |s: usize| self.split.filter(|split| split.0 == s).map_or(0.0, |s| s.1);
        let stay = self.to.iter().enumerate();
        let stay = stay.map(move |(s, to)| (s, mass(s) * (1.0 - share(s)), *to));
        stay.chain(self.split.map(|(s, share, to)| (s, mass(s) * share, to)))
    }
}

/// Sources, and where they may go.
pub(super) trait Reach: Send {
    /// How many sources there are.
    fn len(&self) -> usize;

    /// The mass of a source.
    fn mass(&self, source: usize) -> f64;

    /// Where moves are dearest: everyone stays, unless there are moves that cost nothing.
    fn start(&mut self) -> Reached;

    /// The sums at a price.
    fn evaluate(&mut self, price: Price) -> Reached;

    /// The same at several prices.
    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<Reached> {
        prices.iter().map(|&price| self.evaluate(price)).collect()
    }

    /// Where each source goes at a price.
    fn landings(&mut self, price: Price) -> Result<Vec<Landing>>;

    /// The plan of these ways, and the population that mass comes from on the plan's points.
    fn plan(&mut self, ways: Ways) -> Result<(Plan, Population)>;

    /// The population that mass comes from.
    fn population(&self) -> &Population;

    /// Whether mass may go anywhere in the space, listed or not.
    fn is_anywhere(&self) -> bool {
        true
    }

    /// Vertices of a curve that are worth their evaluations.
    fn vertices(&self) -> usize {
        usize::MAX
    }

    /// Which engine it is.
    fn engine(&self) -> &'static str;

    /// What turns values into heights.
    fn units(&self) -> Units;

    /// Whether an answer was given up because a watch said stop.
    fn stopped(&self) -> bool;

    /// Gives back memory that only evaluations need.
    fn rest(&mut self) {}
}

/// A support whose points are listed.
pub(super) struct Listed<'a> {
    problem: Problem<'a>,
    maxima: Box<dyn Maxima + 'a>,
    engine: &'static str,
}

impl<'a> Listed<'a> {
    pub fn new(problem: &Problem<'a>, watch: Watch<'a>) -> Result<Self> {
        let engine = problem.geometry.engine()?;
        let maxima = engine.clone().load(problem.heights, watch);
        Ok(Listed { problem: problem.clone(), maxima, engine: engine.name() })
    }
}

impl From<Sums> for Reached {
    fn from(sums: Sums) -> Self {
        Reached { value: sums.value, cost: sums.cost, excess: 0.0 }
    }
}

impl Reach for Listed<'_> {
    fn len(&self) -> usize {
        self.problem.sources().len()
    }

    fn mass(&self, source: usize) -> f64 {
        self.problem.population().weights()[self.problem.sources()[source] as usize]
    }

    fn start(&mut self) -> Reached {
        if self.problem.geometry.has_free_moves() {
            return self.evaluate(Price::Infinite);
        }
        let (sources, weights) = (self.problem.sources(), self.problem.population().weights());
        let value = sum(sources.len(), |s| {
            let i = sources[s] as usize;
            weights[i] * self.problem.heights.at(i)
        });
        Reached { value, cost: 0.0, excess: 0.0 }
    }

    fn evaluate(&mut self, price: Price) -> Reached {
        self.maxima.evaluate(price).into()
    }

    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<Reached> {
        self.maxima.evaluate_all(prices).into_iter().map(Reached::from).collect()
    }

    fn landings(&mut self, price: Price) -> Result<Vec<Landing>> {
        let targets = self.maxima.targets(price);
        if self.maxima.stopped() {
            return Err(Error::stopped());
        }
        let (sources, space) = (self.problem.sources(), self.problem.space());
        // Those of an engine that was handed in are checked.
        let fits = |&j: &u32| (j as usize) < space.len();
        if targets.len() != sources.len() || !targets.iter().all(fits) {
            return Err(Error::internal(format!(
                "the engine named {} targets for {} sources, or one that is none of {} points",
                targets.len(),
                sources.len(),
                space.len()
            )));
        }
        let landing = |(&i, &to): (&u32, &u32)| Landing {
            to,
            cost: space.cost(i as usize, to as usize),
            height: self.problem.heights.at(to as usize),
        };
        Ok(sources.iter().zip(&targets).map(landing).collect())
    }

    fn plan(&mut self, ways: Ways) -> Result<(Plan, Population)> {
        let population = self.problem.population();
        let (space, sources) = (self.problem.space(), self.problem.sources().to_vec());
        let mut plan = Plan::of_targets(space, sources, ways.to, population.weights());
        if let Some((entry, share, to)) = ways.split {
            plan.split(entry, share, to);
        }
        Ok((plan, population.clone()))
    }

    fn population(&self) -> &Population {
        self.problem.population()
    }

    fn is_anywhere(&self) -> bool {
        false
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn units(&self) -> Units {
        self.problem.units()
    }

    fn stopped(&self) -> bool {
        self.maxima.stopped()
    }

    fn rest(&mut self) {
        self.maxima.rest();
    }
}

//! A support whose points are listed, as what a solver of moved mass asks: an engine finds the best of
//! its points for every source.

use super::engine::{InnerMaximizer, Sums};
use super::plan::Plan;
use super::problem::Problem;
use super::transport_oracle::{Assignment, AssignmentPlan, OracleSums, TransportOracle};
use super::values::ValueUnits;
use crate::error::{Error, Result};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::progress::Watch;

/// A support whose points are listed.
pub(super) struct ListedSupport<'a> {
    problem: Problem<'a>,
    maxima: Box<dyn InnerMaximizer + 'a>,
    engine: &'static str,
}

impl<'a> ListedSupport<'a> {
    pub fn new(problem: &Problem<'a>, watch: Watch<'a>) -> Result<Self> {
        let engine = problem.geometry.engine()?;
        let maxima = engine.clone().load(problem.heights, watch);
        Ok(ListedSupport { problem: problem.clone(), maxima, engine: engine.name() })
    }
}

impl From<Sums> for OracleSums {
    fn from(sums: Sums) -> Self {
        OracleSums { value: sums.value, cost: sums.cost, excess: 0.0 }
    }
}

impl TransportOracle for ListedSupport<'_> {
    fn len(&self) -> usize {
        self.problem.sources().len()
    }

    fn mass(&self, source: usize) -> f64 {
        self.problem.population().weights()[self.problem.sources()[source] as usize]
    }

    fn start(&mut self) -> OracleSums {
        if self.problem.geometry.has_free_moves() {
            return self.evaluate(Price::Infinite);
        }
        let (sources, weights) = (self.problem.sources(), self.problem.population().weights());
        let value = sum(sources.len(), |s| {
            let i = sources[s] as usize;
            weights[i] * self.problem.heights.at(i)
        });
        OracleSums { value, cost: 0.0, excess: 0.0 }
    }

    fn evaluate(&mut self, price: Price) -> OracleSums {
        self.maxima.evaluate(price).into()
    }

    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<OracleSums> {
        self.maxima.evaluate_all(prices).into_iter().map(OracleSums::from).collect()
    }

    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>> {
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
        let assignment = |(&i, &to): (&u32, &u32)| Assignment {
            to,
            cost: space.cost(i as usize, to as usize),
            height: self.problem.heights.at(to as usize),
        };
        Ok(sources.iter().zip(&targets).map(assignment).collect())
    }

    fn plan(&mut self, ways: AssignmentPlan) -> Result<(Plan, Population)> {
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

    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn stopped(&self) -> bool {
        self.maxima.stopped()
    }

    fn rest(&mut self) {
        self.maxima.rest();
    }
}

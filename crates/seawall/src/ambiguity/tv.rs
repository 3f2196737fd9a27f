//! Total variation worst case: at most a share ε of the people is replaced by others,
//! `½ Σ |q − p| ≤ ε`.
//!
//! ```text
//! V(ε) = min_{λ≥0} ελ + Σ_i p_i max(f_i, M − λ),   M = the largest value of the support
//! ```
//!
//! The worst population takes ε of the mass from the lowest values to the largest one, so the curve
//! is made of as many straight lines as there are different values. Places never observed may gain
//! mass; what it costs does not depend on how far they are.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::geometry::Geometry;
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, PricedSolver, Solution, Solve};
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::Result;
use crate::kernel::bracket::Vertex;
use crate::kernel::order::Price;
use crate::kernel::sum::sum;

/// Every population of which at most a share, the radius, are other people than those observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TotalVariation;

impl TotalVariation {
    pub(super) const ABOUT: About = About {
        name: "tv",
        parameters: &[],
        capabilities: Capabilities {
            reaches_unseen: true,
            exact_curve: true,
            ..Capabilities::REWEIGHTS
        },
        instead: &[],
    };
}

impl AmbiguitySet for TotalVariation {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }
}

impl SolvableSet for TotalVariation {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let oracle = ReplacementSolver::new(problem, settings);
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let own = geometry.population().weights();
        Ok(Some(0.5 * sum(own.len(), |j| (other[j] - own[j]).abs())))
    }
}

/// A problem with its sources sorted.
struct ReplacementSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    /// The point of the largest value, the first of several.
    top: u32,
    highest: f64,
    /// The sources, lowest first, and the mass before each of them and after the last.
    order: Vec<u32>,
    mass: Vec<f64>,
    /// What replacing everyone before each of them gains.
    gain: Vec<f64>,
    nominal: f64,
}

impl<'a> ReplacementSolver<'a> {
    fn new(problem: &Problem<'a>, settings: Settings<'a>) -> Self {
        let (heights, weights) = (problem.heights, problem.population().weights());
        let mut top = 0;
        for i in 1..heights.len() {
            if heights.at(i) > heights.at(top) {
                top = i;
            }
        }
        let mut order = problem.sources().to_vec();
        let height = |i: u32| heights.at(i as usize);
        order.sort_unstable_by(|&a, &b| height(a).total_cmp(&height(b)).then(a.cmp(&b)));
        let highest = heights.at(top);
        let (mut mass, mut gain) = (vec![0.0], vec![0.0]);
        for &i in &order {
            let p = weights[i as usize];
            // The weights sum to 1 but for rounding: a radius of 1 replaces everyone.
            mass.push((mass[mass.len() - 1] + p).min(1.0));
            gain.push(gain[gain.len() - 1] + p * (highest - height(i)));
        }
        ReplacementSolver {
            problem: problem.clone(),
            settings,
            top: top as u32,
            highest,
            order,
            mass,
            gain,
            nominal: problem.nominal_height(),
        }
    }

    /// How many sources, lowest first, are worth replacing at a price.
    fn worth(&self, price: f64) -> usize {
        let gains = |&i: &u32| self.highest - self.problem.heights.at(i as usize) > price;
        self.order.partition_point(gains)
    }

    fn vertex(&self, price: Price) -> Vertex {
        let count = match price {
            Price::Infinite => 0,
            price => self.worth(price.get()),
        };
        let value = if count > 0 && price == Price::Zero {
            self.highest
        } else {
            self.nominal + self.gain[count]
        };
        Vertex::new(price, self.mass[count], value)
    }

    /// The dual at a price: above the worst case whatever the price is.
    fn dual(&self, radius: f64, price: f64) -> f64 {
        let (heights, weights) = (self.problem.heights, self.problem.population().weights());
        let floor = self.highest - price;
        let stays = sum(self.order.len(), |s| {
            let i = self.order[s] as usize;
            weights[i] * heights.at(i).max(floor)
        });
        radius * price + stays
    }

    /// The population: everyone before a place in the order is replaced, and of the next so much.
    fn plan(&self, replaced: usize, radius: f64) -> Plan {
        let weights = self.problem.population().weights();
        let mut plan = Plan::new(self.problem.space());
        let left = (radius - self.mass[replaced]).max(0.0);
        let (mut arrived, mut kept) = (self.mass[replaced], 0.0);
        for (at, &i) in self.order.iter().enumerate().skip(replaced) {
            let mut p = weights[i as usize];
            if at == replaced {
                arrived += left.min(p);
                p -= left.min(p);
            }
            if i == self.top {
                kept = p;
            } else {
                plan.push_paid(i, i, p, 0.0);
            }
        }
        let there = arrived + kept;
        if there > 0.0 {
            plan.push_paid(self.top, self.top, there, arrived / there);
        }
        plan
    }
}

impl PriceOracle for ReplacementSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let end = self.vertex(Price::Zero);
        let replaced = if radius >= end.cost {
            self.worth(0.0)
        } else {
            self.mass.partition_point(|m| *m <= radius).saturating_sub(1)
        };
        let price = if radius >= end.cost {
            0.0
        } else {
            self.highest - self.problem.heights.at(self.order[replaced] as usize)
        };
        let lower = if radius >= end.cost {
            self.highest
        } else {
            self.nominal + self.gain[replaced] + price * (radius - self.mass[replaced])
        };
        let upper = if radius >= end.cost { self.highest } else { self.dual(radius, price) };
        let certificate = Certificate { evaluations: 1, ..Certificate::new(lower, upper, price) };
        let plan = match self.settings.detail {
            Detail::Value => Plan::new(self.problem.space()),
            _ => self.plan(replaced, radius.min(end.cost)),
        };
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.nominal
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let (end, start) = (self.vertex(Price::Zero), self.vertex(Price::Infinite));
        if end.cost > start.cost { vec![end, start] } else { vec![start] }
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        prices.iter().map(|&price| self.vertex(Price::At(price))).collect()
    }
}

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

use super::Set;
use super::curve::{Curve, Vertices};
use super::geometry::Geometry;
use super::plan::Plan;
use super::problem::Problem;
use super::set::{About, Shift};
use super::settings::{Detail, Settings};
use super::solver::Solve;
use super::worst_case::{Certificate, WorstCase};
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
        away: "“Away” is the share of the people who are replaced by others, of any context there is, \
               seen or not, however far it is.",
        parameters: &[],
        make: |_| Set::TotalVariation(TotalVariation),
    };
}

impl Shift for TotalVariation {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn method(&self) -> Option<String> {
        Some("total variation, solved exactly".to_owned())
    }

    fn fate(&self) -> &'static str {
        "people are replaced by others, wherever those are"
    }

    fn fixed(&self) -> Option<&'static str> {
        Some("people are replaced by others of any level, of a fixed column too")
    }

    fn moves_mass(&self) -> bool {
        false
    }

    fn reaches_unseen(&self) -> bool {
        true
    }

    fn has_exact_curve(&self) -> bool {
        true
    }

    fn has_gradient(&self) -> bool {
        true
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let own = geometry.population().weights();
        Ok(Some(0.5 * sum(own.len(), |j| (other[j] - own[j]).abs())))
    }

    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        Ok(Box::new(Solver::new(problem, settings)))
    }
}

/// A problem with its sources sorted.
struct Solver<'a> {
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

impl<'a> Solver<'a> {
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
        Solver {
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

impl Solve for Solver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let end = self.vertex(Price::Zero);
        let replaced = match radius >= end.cost {
            true => self.worth(0.0),
            false => self.mass.partition_point(|m| *m <= radius).saturating_sub(1),
        };
        let price = match radius >= end.cost {
            true => 0.0,
            false => self.highest - self.problem.heights.at(self.order[replaced] as usize),
        };
        let lower = match radius >= end.cost {
            true => self.highest,
            false => self.nominal + self.gain[replaced] + price * (radius - self.mass[replaced]),
        };
        let upper = if radius >= end.cost { self.highest } else { self.dual(radius, price) };
        let certificate = Certificate { evaluations: 1, ..Certificate::new(lower, upper, price) };
        let plan = match self.settings.detail {
            Detail::Value => Plan::new(self.problem.space()),
            _ => self.plan(replaced, radius.min(end.cost)),
        };
        Ok(certificate.into_worst_case(
            self.problem.units(),
            self.problem.population(),
            &self.settings,
            plan,
        ))
    }

    fn value_at_zero(&self) -> f64 {
        self.problem.heights.unscaled(self.nominal)
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let (end, start) = (self.vertex(Price::Zero), self.vertex(Price::Infinite));
        let ends = if end.cost > start.cost { vec![end, start] } else { vec![start] };
        let (problem, settings) = (self.problem.clone(), self.settings);
        let vertices = Vertices::new(ends, tolerance * problem.heights.scale()).refine(
            settings,
            problem.units(),
            |prices| prices.iter().map(|&price| self.vertex(Price::At(price))).collect(),
        );
        Ok(vertices.into_curve(problem.units()))
    }
}

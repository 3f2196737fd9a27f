//! The worst case given what is known of the target: populations that meet the facts, within a radius
//! or without one.
//!
//! ```text
//! V(ε) = max Σ_iz γ_iz f(z),   Σ_z γ_iz = p_i,   Σ γ c ≤ ε,   low_j ≤ Σ γ φ_j(z) ≤ high_j
//!      = min_{λ≥0, ν} λε + Σ_j (high_j ν_j⁺ − low_j ν_j⁻)
//!                     + Σ_i p_i max_z [f(z) − Σ_k (λ c_k(x_ik, z_k) + Σ_{j about k} ν_j φ_j(z_k))]
//! ```
//!
//! Facts are about single columns ([`Known`]), so the bracket is separable but for `f` and every source
//! is priced by one pass for each column, as ever. A column may have a limit of its own
//! ([`Known::moving_at_most`]): `Σ γ c_k ≤ ε_k`.
//!
//! With an **infinite** radius nobody's place matters, only the facts: all couplings of the known
//! margins, one row for each fact and none for the sources. Nobody crosses a fixed column at any radius:
//! where there is one, moves are free but for it, and every combination of fixed levels keeps its mass.
//!
//! A mean is one among those who have a value: a population in which nobody has one meets it.
//!
//! Solved by column generation (`search`) over a simplex method whose basis has a row for each fact
//! (`kernel::gub_simplex`).

mod pricing;
mod program;
mod search;

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::curve::{Curve, Vertices};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::Solve;
use super::worst_case::{Certificate, WorstCase};
use crate::error::{Error, Field, Result};
use crate::kernel::bracket::Vertex;
use crate::kernel::gub_simplex::GubSimplex;
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::known::Known;
use pricing::Pricing;
use program::{CouplingsProgram, Facts, MoveCosts};
use search::{ColumnSearch, Ended};
use std::sync::Arc;

/// Significant digits of a radius that is offered.
const DIGITS: i32 = 4;
/// A radius below this is none.
const NOTHING: f64 = 1e-11;
/// A price that is a smaller share of the largest one takes no part in a contradiction.
const INVOLVED: f64 = 1e-6;

/// Every population that meets what is known of the target, within the radius or, where that is
/// infinite, at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Couplings;

impl Couplings {
    pub(super) const ABOUT: About = About {
        name: "couplings",
        parameters: &[],
        capabilities: Capabilities {
            exact_curve: true,
            quick_curve: false,
            gradient: false,
            contains_nominal: false,
            stays_at_zero: false,
            needs_known: true,
            ..Capabilities::MOVES_MASS
        },
        instead: &[],
    };
}

impl AmbiguitySet for Couplings {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }
}

impl SolvableSet for Couplings {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let Some(known) = problem.geometry.known() else {
            return Err(Error::field(
                Field::Set,
                "is couplings, which needs what is known of the target; expected its means or shares",
            ));
        };
        let facts = Arc::new(Facts::new(known, problem.space()));
        let known = known.clone();
        Ok(Box::new(CouplingsSolver { problem: problem.clone(), known, facts, settings }))
    }
}

/// A problem, and what is known as rows.
struct CouplingsSolver<'a> {
    problem: Problem<'a>,
    known: Arc<Known>,
    facts: Arc<Facts>,
    settings: Settings<'a>,
}

/// Which program is asked for.
#[derive(Clone, Copy, PartialEq)]
enum CouplingsGoal {
    /// The largest value within a radius, or without one.
    Within(f64),
    /// The largest value where a unit of cost takes so much off.
    Priced(f64),
    /// The least cost.
    Cheapest,
}

impl<'a> CouplingsSolver<'a> {
    /// The program, everyone at home; where it is not limited, without limits on columns and, if nothing
    /// else asks where people come from, across fixed columns.
    fn search(&self, asked: CouplingsGoal, limited: bool) -> ColumnSearch<'a> {
        let (problem, geometry) = (&self.problem, &self.problem.geometry);
        let (space, weights) = (problem.space(), problem.population().weights());
        let limits = if limited { self.known.limits() } else { &[] };
        let walls = limited && space.metrics().contains(&Metric::Wall);
        let free = asked == CouplingsGoal::Within(f64::INFINITY) && limits.is_empty() && !walls;
        let (mut right, mut room) = (self.facts.right.clone(), self.facts.room.clone());
        let costs = (!free).then(|| {
            let dearest = space.dearest();
            let unit = if dearest > 0.0 { dearest.recip() } else { 1.0 };
            let budget = match asked {
                CouplingsGoal::Within(radius) if radius.is_finite() => Some(radius),
                _ => None,
            };
            right.extend(budget.iter().chain(limits.iter().map(|(_, r)| r)).map(|r| r * unit));
            room.resize(right.len(), f64::INFINITY);
            MoveCosts {
                columns: (0..space.names().len()).map(|k| space.column(k)).collect(),
                metrics: space.metrics(),
                sources: geometry.shared_sources(),
                unit,
                budget: budget.is_some(),
                limits: limits.iter().map(|(k, _)| *k).collect(),
            }
        });
        let (mass, keys) = if free {
            (vec![1.0], vec![highest(problem)])
        } else {
            let mass = problem.sources().iter().map(|&i| weights[i as usize]);
            (mass.collect(), problem.sources().to_vec())
        };
        let price = match asked {
            CouplingsGoal::Within(_) => 0.0,
            CouplingsGoal::Priced(price) => price,
            CouplingsGoal::Cheapest => 1.0,
        };
        let program = CouplingsProgram {
            heights: problem.heights,
            facts: self.facts.clone(),
            costs,
            price,
            valued: asked != CouplingsGoal::Cheapest,
        };
        let masses = GubSimplex::new(&program, mass, keys, right, room);
        ColumnSearch::new(program, Pricing::new(geometry), masses, self.settings)
    }

    /// Why nothing is within a radius.
    fn impossible(&self, radius: f64, prices: &[f64]) -> Error {
        let clash = |prices: &[f64]| {
            Error::input(format!(
                "what is known of the target cannot all be so on this support: {} contradict each \
                 other or have no points",
                self.involved(prices)
            ))
        };
        let mut whatever = self.search(CouplingsGoal::Within(f64::INFINITY), false);
        match whatever.run() {
            Ok(Ended::Impossible(prices)) => return clash(&prices),
            Err(error) => return error,
            Ok(Ended::Found { .. }) => {}
        }
        let mut least = self.search(CouplingsGoal::Cheapest, true);
        match least.run() {
            Err(error) => error,
            Ok(Ended::Found { lower, .. }) => {
                let least = rounded_up(-lower);
                Error::field(
                    Field::Radius,
                    format!(
                        "is {radius}: nothing that meets what is known of the target is as near; \
                         expected at least {least}"
                    ),
                )
            }
            Ok(Ended::Impossible(found)) => {
                let prices = if radius.is_finite() { &found } else { prices };
                Error::input(format!(
                    "what is known of the target cannot be met by moving people as far as they may, \
                     whatever the radius: see {}; nobody crosses a fixed column, and a limit holds \
                     for its column",
                    self.involved(prices)
                ))
            }
        }
    }

    /// The columns whose rows have prices.
    fn involved(&self, prices: &[f64]) -> String {
        let most = prices.iter().fold(0.0, |most: f64, price| most.max(price.abs()));
        let names: Vec<&str> = self.problem.space().names().collect();
        let mut columns: Vec<usize> = Vec::new();
        let limits = self.known.limits().iter().map(|(k, _)| *k);
        // Of a budget's row, between the two, no column is told.
        let limits = limits.rev().zip(prices.iter().rev());
        let limits = limits.take(prices.len().saturating_sub(self.facts.right.len()));
        let facts = self.facts.feature.iter().copied().zip(prices);
        for (k, price) in facts.chain(limits) {
            if price.abs() > INVOLVED * most && !columns.contains(&k) {
                columns.push(k);
            }
        }
        let columns: Vec<String> = columns.iter().map(|&k| format!("{:?}", names[k])).collect();
        columns.join(", ")
    }

    /// A plan of the basis: who goes where; without sources who is where.
    fn plan(&self, search: &ColumnSearch<'_>) -> Plan {
        let mut plan = Plan::new(self.problem.space());
        let moves = search.masses.moves();
        match &search.program.costs {
            Some(costs) => {
                moves.iter().for_each(|&(s, z, mass)| plan.push(costs.sources[s], z, mass))
            }
            None => moves.iter().for_each(|&(_, z, mass)| plan.push_paid(z, z, mass, 0.0)),
        }
        plan
    }

    /// The vertex at a price, from the last one's basis.
    fn vertex(&self, search: &mut ColumnSearch<'a>, price: Price) -> Result<Vertex> {
        search.program.price = price.get();
        match search.run()? {
            Ended::Found { stopped: true, .. } => Err(Error::stopped()),
            Ended::Found { lower, upper, .. } => {
                let (value, cost) = spent(search);
                Ok(Vertex { price, cost, value, excess: rounding(upper - lower) })
            }
            Ended::Impossible(prices) => Err(self.impossible(f64::INFINITY, &prices)),
        }
    }

    /// The beginning of the curve: the least radius, and the value there.
    fn start(&self) -> Result<Vertex> {
        let mut search = self.search(CouplingsGoal::Cheapest, true);
        let least = match search.run()? {
            Ended::Found { stopped: true, .. } => return Err(Error::stopped()),
            Ended::Found { lower, .. } if -lower > NOTHING => -lower,
            Ended::Found { .. } => 0.0,
            Ended::Impossible(prices) => return Err(self.impossible(f64::INFINITY, &prices)),
        };
        let mut search = self.search(CouplingsGoal::Within(least), true);
        match search.run()? {
            Ended::Found { stopped: true, .. } => Err(Error::stopped()),
            Ended::Found { lower, upper, .. } => {
                let (value, excess) = (lower, rounding(upper - lower));
                Ok(Vertex { price: Price::Infinite, cost: least, value, excess })
            }
            Ended::Impossible(prices) => Err(self.impossible(least, &prices)),
        }
    }
}

/// What the population of a basis reaches, and what it spends.
fn spent(search: &ColumnSearch<'_>) -> (f64, f64) {
    let (mut value, mut cost) = (0.0, 0.0);
    for (s, z, mass) in search.masses.moves() {
        value += mass * search.program.heights.at(z as usize);
        cost += mass * search.program.cost(s, z);
    }
    (value, cost)
}

/// What two bounds leave open, rounding apart.
fn rounding(gap: f64) -> f64 {
    if gap > 1e-12 { gap } else { 0.0 }
}

/// The point of the largest height, the first of several.
fn highest(problem: &Problem<'_>) -> u32 {
    let heights = problem.heights;
    let higher = |best: usize, i: usize| if heights.at(i) > heights.at(best) { i } else { best };
    (0..heights.len()).fold(0, higher) as u32
}

/// A radius that is not below another and has few digits.
fn rounded_up(radius: f64) -> f64 {
    if radius <= NOTHING {
        return 0.0;
    }
    let digits = DIGITS - 1 - radius.log10().floor() as i32;
    // What is above a number of few digits by rounding alone is that number.
    let unit = 10f64.powi(digits);
    let up = (radius * unit * (1.0 - 1e-12)).ceil();
    format!("{}e{}", up, -digits).parse().unwrap_or(up / unit)
}

impl Solve for CouplingsSolver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let mut search = self.search(CouplingsGoal::Within(radius), true);
        let (lower, upper, prices, stopped) = match search.run()? {
            Ended::Found { lower, upper, prices, stopped } => (lower, upper, prices, stopped),
            Ended::Impossible(prices) => return Err(self.impossible(radius, &prices)),
        };
        let lambda = match &search.program.costs {
            Some(costs) if costs.budget => prices[self.facts.right.len()] * costs.unit,
            _ => 0.0,
        };
        let certificate = Certificate {
            evaluations: search.looks,
            stopped,
            engine: search.program.costs.as_ref().map(|_| search.pricing.name()),
            ..Certificate::new(lower, upper, lambda)
        };
        let plan = match self.settings.detail {
            Detail::Value => Plan::new(self.problem.space()),
            _ => self.plan(&search),
        };
        let (units, nominal) = (self.problem.units(), self.problem.population());
        Ok(certificate.into_worst_case(units, nominal, &self.settings, plan))
    }

    fn value_at_zero(&self) -> f64 {
        match self.search(CouplingsGoal::Within(0.0), true).run() {
            Ok(Ended::Found { upper, .. }) => self.problem.units().unscaled(upper),
            _ => f64::NAN,
        }
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let start = self.start()?;
        let mut search = self.search(CouplingsGoal::Priced(0.0), true);
        let end = self.vertex(&mut search, Price::Zero)?;
        let ends = if end.cost - start.cost > NOTHING {
            vec![end, start]
        } else {
            vec![Vertex { price: Price::Zero, ..start }]
        };
        let (units, settings) = (self.problem.units(), self.settings);
        let mut failed = None;
        let vertices = Vertices::new(ends, tolerance * units.scale());
        let vertices = vertices.refine(settings, units, |prices| {
            let mut found = Vec::new();
            for &price in prices {
                match self.vertex(&mut search, Price::At(price)) {
                    Ok(vertex) => found.push(vertex),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            found
        });
        match failed.filter(|error| !error.is_stopped()) {
            Some(error) => Err(error),
            // The population at price 0 may have spent more than it needed.
            None => Ok(vertices.without_flat_end().into_curve(units)),
        }
    }
}

//! Exact Wasserstein worst case: `V(ε) = min_{λ≥0} ελ + Σ_i p_i max_j (f_j − λ c_ij)` [2.5, 2.6].
//!
//! Solved by two supporting lines. At any λ each source has a best target; together they are a
//! plan that spends `C(λ)` and reaches `F(λ)`, one point of the concave curve `V` with a line of
//! slope λ above it. Two such points around ε give a chord (a mixture of two plans that spends
//! exactly ε: a lower bound) and a crossing slope, where the dual is evaluated next (the first few
//! times where a curve like a root would have the radius). When that
//! evaluation finds nothing above the crossing, the crossing is the minimum.
//!
//! Not here: how the best targets are found (`engine`).

use super::Set;
use super::curve::{Curve, Vertices};
use super::engine::{Maxima, Sums};
use super::entropic::Entropic;
use super::plan::Plan;
use super::problem::Problem;
use super::set::{About, Shift};
use super::settings::{Detail, Settings};
use super::solver::Solve;
use super::worst_case::{Certificate, WorstCase};
use crate::error::{Error, Result};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::progress::Stage;

/// What a radius of moved mass measures.
pub(super) const AWAY: &str = "“Away” is measured by what it costs to turn one population into the \
    other: moving everyone across the whole range of one numeric column, or to another level of one \
    nominal column, costs 1 with the default weights.";

/// Evaluations, at most, that go by how curves look as a rule.
const GUESSES: usize = 4;

/// Where to evaluate while an end of the curve is an end of the bracket: most curves rise about like
/// a root, `V(ε) − V(0) ∝ √ε`, so that `C(λ) ∝ λ⁻²`. Any price is as sound as another; from the
/// crossing of the ends' lines alone it takes some evaluations more to come near.
fn guess(bracket: &Bracket) -> Option<f64> {
    let (left, right, radius) = (bracket.left, bracket.right, bracket.radius);
    let price = match (left.price, right.price) {
        (Price::Zero, Price::Infinite) => {
            (left.value - right.value) / (2.0 * (left.cost * radius).sqrt())
        }
        (Price::Zero, price) if right.cost > 0.0 => price.get() * (right.cost / radius).sqrt(),
        (price, Price::Infinite) => price.get() * (left.cost / radius).sqrt(),
        _ => return None,
    };
    Some(price).filter(|&price| bracket.inside(price))
}

/// Every population that moving mass can reach at a mean cost of at most the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wasserstein;

impl Wasserstein {
    pub(super) const ABOUT: About = About {
        name: "wasserstein",
        away: AWAY,
        parameters: &[],
        make: |_| Set::Wasserstein(Wasserstein),
    };
}

impl Shift for Wasserstein {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn moves_mass(&self) -> bool {
        true
    }

    fn has_exact_curve(&self) -> bool {
        true
    }

    fn smoothed(&self, eta: f64) -> Option<Set> {
        Some(Entropic { eta }.into())
    }

    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        Ok(Box::new(Solver::new(problem, settings)?))
    }
}

/// What evaluations in exact arithmetic would agree to.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// A problem with its engine and all vertices seen so far: several radii share them.
struct Solver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    maxima: Box<dyn Maxima + 'a>,
    /// By falling cost: the first is the end of the curve, the last its beginning.
    seen: Vec<Vertex>,
    evaluations: usize,
}

impl<'a> Solver<'a> {
    /// Prepares the engine and finds both ends of the curve.
    fn new(problem: &Problem<'a>, settings: Settings<'a>) -> Result<Self> {
        let maxima = problem.geometry.engine()?.clone().load(problem.heights, settings.watch);
        let mut solver =
            Solver { problem: problem.clone(), settings, maxima, seen: Vec::new(), evaluations: 0 };
        let start = solver.start();
        solver.go_on()?;
        let start = sound(start)?;
        if start.cost > 0.0 {
            return Err(Error::internal(format!(
                "the engine spends {} where moves are dearest; expected 0, for staying is free",
                start.cost
            )));
        }
        // A constant function, or a single place: nowhere to go.
        let end = solver.evaluate(Price::Zero);
        solver.go_on()?;
        let end = sound(end)?;
        solver.seen = if end.cost > start.cost { vec![end, start] } else { vec![start] };
        Ok(solver)
    }

    /// The beginning of the curve: everyone stays, unless there are moves that cost nothing.
    fn start(&mut self) -> Vertex {
        if self.problem.geometry.has_free_moves() {
            return self.evaluate(Price::Infinite);
        }
        let (sources, weights) = (self.problem.sources(), self.problem.population().weights());
        let value = sum(sources.len(), |s| {
            let i = sources[s] as usize;
            weights[i] * self.problem.heights.at(i)
        });
        Vertex { price: Price::Infinite, cost: 0.0, value }
    }

    /// An error if the engine gave up its last answer because it was told to stop.
    fn go_on(&self) -> Result<()> {
        if self.maxima.stopped() { Err(Error::stopped()) } else { Ok(()) }
    }

    fn evaluate(&mut self, price: Price) -> Vertex {
        self.evaluations += 1;
        let Sums { value, cost } = self.maxima.evaluate(price);
        Vertex { price, cost, value }
    }

    /// The vertices at several prices.
    fn evaluate_all(&mut self, prices: &[f64]) -> Vec<Vertex> {
        self.evaluations += prices.len();
        let prices: Vec<Price> = prices.iter().map(|&price| Price::At(price)).collect();
        let sums = self.maxima.evaluate_all(&prices);
        if self.maxima.stopped() {
            return Vec::new();
        }
        let vertex = |(&price, s): (&Price, &Sums)| Vertex { price, cost: s.cost, value: s.value };
        prices.iter().zip(&sums).map(vertex).collect()
    }

    /// Each source's target at a price; those of an engine that was handed in are checked.
    fn targets(&mut self, price: Price) -> Result<Vec<u32>> {
        self.evaluations += 1;
        let targets = self.maxima.targets(price);
        self.go_on()?;
        let (sources, points) = (self.problem.sources().len(), self.problem.space().len());
        let fits = targets.len() == sources && targets.iter().all(|&j| (j as usize) < points);
        match fits {
            true => Ok(targets),
            false => Err(Error::internal(format!(
                "the engine named {} targets for {sources} sources, or one that is none of {points} \
                 points",
                targets.len()
            ))),
        }
    }

    /// Beyond the end of the curve: everyone is at the largest value within reach.
    fn at_the_end(&mut self) -> Result<(Certificate, Plan)> {
        let end = self.seen[0];
        let space = self.problem.space().clone();
        if self.settings.detail == Detail::Value {
            let certificate = Certificate::new(end.value, end.value, 0.0);
            return Ok((certificate, Plan::new(&space)));
        }
        let targets = self.targets(end.price)?;
        let sources = self.problem.sources().to_vec();
        let weights = self.problem.population().weights();
        let plan = Plan::of_targets(&space, sources, targets, weights);
        // If that is one value for all it is the answer, whatever the weights' sum rounds to.
        let reached = |e: usize| self.problem.heights.at(plan.arrival(e).0);
        let same = (1..plan.len()).all(|e| reached(e) == reached(0));
        let (lower, upper) =
            if same { (reached(0), reached(0)) } else { (self.mean(&plan), end.value) };
        Ok((Certificate::new(lower, upper, 0.0), plan))
    }

    fn between(&mut self, radius: f64) -> Result<(Certificate, Plan)> {
        let at = self.seen.partition_point(|v| v.cost > radius);
        let mut bracket = Bracket::new(self.seen[at - 1], self.seen[at], radius);
        let (mut stopped, mut minimiser) = (false, None);
        for step in 0..self.settings.max_evaluations {
            let guess = (step < GUESSES).then(|| guess(&bracket)).flatten();
            let Some(price) = guess.or_else(|| bracket.crossing()) else { break };
            let height = bracket.lower();
            let vertex = self.evaluate(Price::At(price));
            if self.maxima.stopped() {
                stopped = true;
                break;
            }
            let vertex = sound(vertex)?;
            let found = vertex.line(radius);
            bracket.insert(vertex);
            let at = self.seen.partition_point(|v| v.cost > vertex.cost);
            if self.seen.get(at).is_none_or(|v| v.cost < vertex.cost) {
                self.seen.insert(at, vertex);
            }
            let size = found.abs().max(height.abs()).max(price * radius);
            if found - height <= ROUNDING * size {
                minimiser = Some(price);
                break;
            }
            let gap = bracket.gap() / self.problem.heights.scale();
            if !self.settings.go_on(Stage::Solving, self.evaluations, gap) {
                stopped = true;
                break;
            }
        }
        let lambda = minimiser.unwrap_or_else(|| bracket.slope());
        let mut certificate = Certificate::new(bracket.lower(), bracket.upper.0, lambda);
        certificate.stopped = stopped;
        if self.settings.detail == Detail::Value {
            return Ok((certificate, Plan::new(self.problem.space())));
        }
        let plan = self.mixture(&bracket)?;
        certificate.lower = self.mean(&plan);
        Ok((certificate, plan))
    }

    /// The mixture of the two ends' plans that spends exactly the radius: sources are switched
    /// from the cheap plan to the dear one, those with the best return first, and the last one
    /// that can still be paid for is split.
    fn mixture(&mut self, bracket: &Bracket) -> Result<Plan> {
        let cheap = self.targets(bracket.right.price)?;
        let dear = self.targets(bracket.left.price)?;
        self.maxima.rest();
        let (space, sources) = (self.problem.space(), self.problem.sources());
        let weights = self.problem.population().weights();
        let source = |s: usize| sources[s] as usize;
        let spent =
            sum(sources.len(), |s| weights[source(s)] * space.cost(source(s), cheap[s] as usize));
        let mut left = bracket.radius - spent;
        let value = |j: u32| self.problem.heights.at(j as usize);
        let mut switches: Vec<(f64, u32, f64)> = (0..sources.len())
            .filter(|&s| value(dear[s]) > value(cheap[s]))
            .map(|s| {
                let cost = |j: u32| space.cost(source(s), j as usize);
                let more = cost(dear[s]) - cost(cheap[s]);
                let gain = value(dear[s]) - value(cheap[s]);
                (if more > 0.0 { gain / more } else { f64::INFINITY }, s as u32, more)
            })
            .collect();
        switches.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut targets = cheap;
        let mut split = None;
        for (_, s, more) in switches {
            let price = weights[source(s as usize)] * more.max(0.0);
            if price <= left {
                targets[s as usize] = dear[s as usize];
                left -= price;
            } else {
                split = (left > 0.0).then_some((s, left / price));
                break;
            }
        }
        let split = split.map(|(s, share)| (s as usize, share, dear[s as usize]));
        drop(dear);
        let mut plan = Plan::of_targets(space, sources.to_vec(), targets, weights);
        if let Some((entry, share, to)) = split {
            plan.split(entry, share, to);
        }
        Ok(plan)
    }

    /// The mean that a plan reaches.
    fn mean(&self, plan: &Plan) -> f64 {
        let heights = self.problem.heights;
        sum(plan.len(), |e| {
            let (to, mass) = plan.arrival(e);
            mass * heights.at(to)
        })
    }
}

/// Refuses a cost that is none, which only an engine that was handed in can answer.
fn sound(vertex: Vertex) -> Result<Vertex> {
    match vertex.cost >= 0.0 {
        true => Ok(vertex),
        false => Err(Error::internal(format!(
            "the engine spends {} at the price {}; expected a number ≥ 0",
            vertex.cost,
            vertex.price.get()
        ))),
    }
}

impl Solve for Solver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let before = self.evaluations;
        let (certificate, plan) =
            if radius >= self.seen[0].cost { self.at_the_end()? } else { self.between(radius)? };
        let evaluations = self.evaluations - before;
        let certificate = Certificate { evaluations, ..certificate };
        Ok(certificate.into_worst_case(&self.problem, &self.settings, plan))
    }

    fn value_at_zero(&self) -> f64 {
        let start = self.seen[self.seen.len() - 1];
        self.problem.heights.unscaled(start.value)
    }

    fn curve(&mut self, tolerance: f64) -> Curve {
        // From its two ends alone, so that it does not depend on what was asked before.
        let mut ends = self.seen.clone();
        ends.drain(1..(self.seen.len() - 1).max(1));
        let (settings, problem) = (self.settings, self.problem.clone());
        Vertices::new(ends, tolerance * problem.heights.scale())
            .refine(settings, &problem, |prices| self.evaluate_all(prices))
            .into_curve(&problem)
    }
}

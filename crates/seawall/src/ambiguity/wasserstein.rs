//! Exact Wasserstein worst case: `V(ε) = min_{λ≥0} ελ + Σ_i p_i max_j (f_j − λ c_ij)` [2.5, 2.6].
//!
//! Solved by two supporting lines. At any λ each source has a best target; together they are a
//! plan that spends `C(λ)` and reaches `F(λ)`, one point of the concave curve `V` with a line of
//! slope λ above it. Two such points around ε give a chord (a mixture of two plans that spends
//! exactly ε: a lower bound) and a crossing slope, where the dual is evaluated next. When that
//! evaluation finds nothing above the crossing, the crossing is the minimum.
//!
//! Not here: how the best targets are found (`engine`).

use super::curve::{Curve, Vertices};
use super::engine::{self, Maxima, Sums};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::Settings;
use super::worst_case::{Certificate, WorstCase};
use crate::error::Result;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;

/// What evaluations in exact arithmetic would agree to.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// A problem with its engine and all vertices seen so far: several radii share them.
pub(super) struct Solver<'a, 's> {
    problem: Problem<'a>,
    settings: &'s Settings<'s>,
    engine: Box<dyn Maxima + 'a>,
    /// By falling cost: the first is the end of the curve, the last its beginning.
    seen: Vec<Vertex>,
    evaluations: usize,
}

impl<'a, 's> Solver<'a, 's> {
    /// Prepares the engine and finds both ends of the curve.
    pub fn new(problem: &Problem<'a>, settings: &'s Settings<'s>) -> Result<Self> {
        let engine = engine::maxima(problem, settings.engine)?;
        let mut solver =
            Solver { problem: *problem, settings, engine, seen: Vec::new(), evaluations: 0 };
        let start = solver.evaluate(Price::Infinite);
        // A constant function, or a single place: nowhere to go.
        let end = solver.evaluate(Price::Zero);
        solver.seen = if end.cost > start.cost { vec![end, start] } else { vec![start] };
        Ok(solver)
    }

    fn evaluate(&mut self, price: Price) -> Vertex {
        self.evaluations += 1;
        let Sums { value, cost } = self.engine.evaluate(price);
        Vertex { price, cost, value }
    }

    /// The value at radius 0.
    pub fn value_at_zero(&self) -> f64 {
        let start = self.seen[self.seen.len() - 1];
        self.problem.unscaled(start.value)
    }

    /// The worst case at a radius.
    pub fn worst_case(&mut self, radius: f64) -> WorstCase {
        let before = self.evaluations;
        let (certificate, plan) =
            if radius >= self.seen[0].cost { self.at_the_end() } else { self.between(radius) };
        let evaluations = self.evaluations - before;
        Certificate { evaluations, ..certificate }.into_worst_case(
            &self.problem,
            self.settings.tolerance,
            plan,
        )
    }

    /// Beyond the end of the curve: everyone is at the largest value within reach.
    fn at_the_end(&mut self) -> (Certificate, Plan) {
        let end = self.seen[0];
        self.evaluations += 1;
        let targets = self.engine.targets(end.price);
        let population = self.problem.population;
        let sources = self.engine.sources();
        let plan = Plan::of_targets(population.space(), sources, targets, population.weights());
        // If that is one value for all it is the answer, whatever the weights' sum rounds to.
        let reached = |e: usize| self.problem.scaled(plan.arrival(e).0);
        let same = (1..plan.len()).all(|e| reached(e) == reached(0));
        let (lower, upper) =
            if same { (reached(0), reached(0)) } else { (self.mean(&plan), end.value) };
        let certificate = Certificate { lower, upper, lambda: 0.0, evaluations: 0, stopped: false };
        (certificate, plan)
    }

    fn between(&mut self, radius: f64) -> (Certificate, Plan) {
        let at = self.seen.partition_point(|v| v.cost > radius);
        let mut bracket = Bracket::new(self.seen[at - 1], self.seen[at], radius);
        let (mut stopped, mut minimiser) = (false, None);
        for _ in 0..self.settings.max_evaluations {
            let Some(price) = bracket.crossing() else { break };
            let height = bracket.lower();
            let vertex = self.evaluate(Price::At(price));
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
            let gap = bracket.gap() / self.problem.factor.abs();
            if !self.settings.go_on(self.evaluations, gap) {
                stopped = true;
                break;
            }
        }
        let plan = self.mixture(&bracket);
        let certificate = Certificate {
            lower: self.mean(&plan),
            upper: bracket.upper.0,
            lambda: minimiser.unwrap_or_else(|| bracket.slope()),
            evaluations: 0,
            stopped,
        };
        (certificate, plan)
    }

    /// The mixture of the two ends' plans that spends exactly the radius: sources are switched
    /// from the cheap plan to the dear one, those with the best return first, and the last one
    /// that can still be paid for is split.
    fn mixture(&mut self, bracket: &Bracket) -> Plan {
        self.evaluations += 2;
        let cheap = self.engine.targets(bracket.right.price);
        let dear = self.engine.targets(bracket.left.price);
        self.engine.rest();
        let (space, sources) = (self.problem.population.space(), self.engine.sources());
        let weights = self.problem.population.weights();
        let source = |s: usize| sources[s] as usize;
        let spent =
            sum(sources.len(), |s| weights[source(s)] * space.cost(source(s), cheap[s] as usize));
        let mut left = bracket.radius - spent;
        let value = |j: u32| self.problem.scaled(j as usize);
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
        let mut plan = Plan::of_targets(space, sources, targets, weights);
        if let Some((entry, share, to)) = split {
            plan.split(entry, share, to);
        }
        plan
    }

    /// The mean that a plan reaches.
    fn mean(&self, plan: &Plan) -> f64 {
        sum(plan.len(), |e| {
            let (to, mass) = plan.arrival(e);
            mass * self.problem.scaled(to)
        })
    }

    /// The whole curve, or as much of it as the tolerance asks for.
    pub fn curve(&mut self, tolerance: f64) -> Curve {
        // From its two ends alone, so that it does not depend on what was asked before.
        let mut ends = self.seen.clone();
        ends.drain(1..(self.seen.len() - 1).max(1));
        let settings = self.settings;
        let problem = self.problem;
        Vertices::new(ends, tolerance * problem.factor.abs())
            .refine(settings, &problem, |price| self.evaluate(Price::At(price)))
            .into_curve(&problem)
    }
}

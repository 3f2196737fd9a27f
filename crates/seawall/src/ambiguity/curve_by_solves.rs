//! The worst case against the radius of a set that is solved anew at each radius.
//!
//! Every solve gives a point of the curve and a line above it (its dual point is feasible at any radius,
//! and its value there is no higher than that line). Between two neighbours the curve is between their
//! chord and their lines; the next radius is where the lines of the widest stretch cross.

use super::curve::{Curve, Vertices};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::Solve;
use super::values::ValueUnits;
use super::worst_case::{Certificate, WorstCase};
use crate::error::Result;
use crate::kernel::bracket::{Vertex, uncertainty};
use crate::kernel::order::Price;
use crate::progress::Stage;

/// Solves at most: a curve is told to what error they leave.
const SOLVES: usize = 48;

/// What a solve at a radius shows: bounds in heights, their price and the population.
pub(super) struct RadiusAnswer {
    pub lower: f64,
    pub upper: f64,
    pub lambda: f64,
    pub weights: Vec<f64>,
    pub steps: usize,
    pub stopped: bool,
}

impl RadiusAnswer {
    /// One that is known without a search: a value, its price and all mass at some points.
    pub fn known(value: f64, lambda: f64, weights: Vec<f64>) -> Self {
        RadiusAnswer { lower: value, upper: value, lambda, weights, steps: 1, stopped: false }
    }

    /// The point of the curve that it is.
    pub fn vertex(&self, radius: f64) -> Vertex {
        let price = match self.lambda {
            f64::INFINITY => Price::Infinite,
            lambda if lambda > 0.0 => Price::At(lambda),
            _ => Price::Zero,
        };
        let excess = (self.upper - self.lower).max(0.0);
        Vertex { excess, ..Vertex::new(price, radius, self.lower) }
    }
}

/// A set that is solved anew at each radius.
pub(super) trait RadiusOracle: Send {
    fn problem(&self) -> &Problem<'_>;

    /// The points that weights are of.
    fn points(&self) -> &[u32];

    fn answer(&mut self, radius: f64) -> RadiusAnswer;

    /// The height at radius 0.
    fn start(&self) -> f64;

    /// The two ends of the curve.
    fn ends(&mut self) -> (Vertex, Vertex);
}

/// The solver of a set that is solved anew at each radius.
pub(super) struct RadiusSolver<'a, O> {
    oracle: O,
    settings: Settings<'a>,
}

impl<'a, O: RadiusOracle> RadiusSolver<'a, O> {
    pub fn new(oracle: O, settings: Settings<'a>) -> Self {
        RadiusSolver { oracle, settings }
    }
}

impl<O: RadiusOracle> Solve for RadiusSolver<'_, O> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let answer = self.oracle.answer(radius);
        let certificate = Certificate {
            evaluations: answer.steps.max(1),
            stopped: answer.stopped,
            ..Certificate::new(answer.lower, answer.upper, answer.lambda)
        };
        let problem = self.oracle.problem();
        let mut plan = Plan::new(problem.space());
        if self.settings.detail > Detail::Value {
            for (&j, &mass) in self.oracle.points().iter().zip(&answer.weights) {
                plan.push_paid(j, j, mass, 0.0);
            }
        }
        let (units, population) = (problem.units(), problem.population());
        Ok(certificate.into_worst_case(units, population, &self.settings, plan))
    }

    fn value_at_zero(&self) -> f64 {
        self.oracle.problem().units().unscaled(self.oracle.start())
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let units = self.oracle.problem().units();
        let ends = self.oracle.ends();
        let mut solve = |radius: f64| self.oracle.answer(radius).vertex(radius);
        curve_by_solves(ends, tolerance * units.scale(), self.settings, units, &mut solve)
    }
}

/// The curve between two ends, to a tolerance in heights or as close as so many solves come.
fn curve_by_solves(
    (start, end): (Vertex, Vertex),
    tolerance: f64,
    settings: Settings<'_>,
    units: ValueUnits,
    solve: &mut dyn FnMut(f64) -> Vertex,
) -> Result<Curve> {
    let mut seen = if end.cost > start.cost { vec![start, end] } else { vec![start] };
    let limit = settings.crossing.map(|value| units.scaled(value));
    let most = settings.max_vertices.min(SOLVES);
    let error = loop {
        let open = |pair: &[Vertex]| {
            let inside = limit.is_none_or(|l| pair[0].value <= l && l < pair[1].line(pair[1].cost));
            inside && pair[0].cost < settings.max_radius
        };
        let width = |at: usize| uncertainty(&seen[at + 1], &seen[at]);
        let all = || (0..seen.len() - 1).map(|at| (width(at), at));
        let widest = all()
            .filter(|(_, at)| open(&seen[*at..at + 2]))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let left = all().map(|(width, _)| width).fold(0.0, f64::max);
        let Some((widest, at)) = widest.filter(|(widest, _)| *widest > tolerance) else {
            break left;
        };
        let solves = seen.len() - 2;
        if solves >= most || !settings.go_on(Stage::Curve, solves, widest / units.scale()) {
            break left;
        }
        let radius = between(&seen[at], &seen[at + 1]);
        if !(radius > seen[at].cost && radius < seen[at + 1].cost) {
            break left;
        }
        let mut found = solve(radius);
        // A point between two is not below their chord, nor above what follows.
        found.value = found.value.min(seen[at + 1].value).max(seen[at].value);
        seen.insert(at + 1, found);
    };
    Ok(Vertices::new(seen, tolerance).with_error(error).into_curve(units))
}

/// The radius at which the lines of two neighbours cross, not too near either.
fn between(low: &Vertex, high: &Vertex) -> f64 {
    let width = high.cost - low.cost;
    let slope = (high.value - low.value) / width;
    let (steep, flat) = (low.price.get(), high.price.get());
    let share =
        if steep.is_finite() && steep > flat { (slope - flat) / (steep - flat) } else { 0.0 };
    low.cost + width * share.clamp(0.02, 0.9)
}

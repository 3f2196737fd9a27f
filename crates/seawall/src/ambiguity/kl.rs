//! KL worst case: `V(ε) = min_{λ≥0} ελ + λ log Σ_i p_i exp(f_i/λ)` [2.7].
//!
//! Solved in `β = 1/λ`: the tilted population `P_β ∝ p exp(β f)` spends `KL(P_β ‖ P)`, which
//! rises with β. Each tilt is a point of the curve and a line of slope λ above it, as for the
//! other sets, so the bounds come from the same bracket. Mass is reweighted in place; a point of
//! zero weight can gain none.
//!
//! Nothing is clipped: small tilts are computed about the mean, so that a divergence of 1e-12
//! keeps its digits, and large ones about the maximum.

use super::curve::{Curve, Vertices};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::Settings;
use super::worst_case::{Certificate, WorstCase};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::{sum, sums};

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The population spends the radius to this share of it.
const SETTLED: f64 = 1e-13;

/// A problem, and the two ends of its curve.
pub(super) struct Solver<'a, 's> {
    problem: Problem<'a>,
    settings: &'s Settings<'s>,
    sources: Vec<u32>,
    start: Vertex,
    end: Vertex,
    evaluations: usize,
}

/// A tilted population.
struct Tilt {
    beta: f64,
    /// `log Σ p_i exp(β (f_i − centre))`.
    log_total: f64,
    centre: f64,
    vertex: Vertex,
    /// `dKL/dβ = β Var`.
    slope: f64,
}

impl<'a, 's> Solver<'a, 's> {
    pub fn new(problem: &Problem<'a>, settings: &'s Settings<'s>) -> Self {
        let sources = problem.sources();
        let weights = problem.population.weights();
        let value = |s: usize| problem.scaled(sources[s] as usize);
        let highest = (0..sources.len()).map(value).fold(f64::NEG_INFINITY, f64::max);
        let top = sum(sources.len(), |s| {
            if value(s) == highest { weights[sources[s] as usize] } else { 0.0 }
        });
        let mean = problem.nominal_scaled();
        let end = Vertex { price: Price::Zero, cost: -top.min(1.0).ln(), value: highest };
        let start = Vertex { price: Price::Infinite, cost: 0.0, value: mean };
        Solver { problem: *problem, settings, sources, start, end, evaluations: 0 }
    }

    /// Sums over the sources of something of a source's weight and value.
    fn total<const M: usize>(&self, term: impl Fn(f64, f64) -> [f64; M] + Sync) -> [f64; M] {
        let weights = self.problem.population.weights();
        sums(self.sources.len(), &|s: usize| {
            let i = self.sources[s] as usize;
            term(weights[i], self.problem.scaled(i))
        })
    }

    fn tilt(&mut self, beta: f64) -> Tilt {
        self.evaluations += 1;
        let mean = self.start.value;
        let small = beta * (self.end.value - mean) <= 0.5;
        let centre = if small { mean } else { self.end.value };
        let log_total = if small {
            self.total(|p, f| [p * (beta * (f - centre)).exp_m1()])[0].ln_1p()
        } else {
            self.total(|p, f| [p * (beta * (f - centre)).exp()])[0].ln()
        };
        // Under the tilt: the mean of f over the centre, then its variance and the divergence.
        let share = |p: f64, f: f64| p * (beta * (f - centre) - log_total).exp();
        let [off] = self.total(|p, f| [share(p, f) * (f - centre)]);
        let [variance, kl] = self.total(|p, f| {
            let deviation = f - centre - off;
            let log_ratio = beta * (f - centre) - log_total;
            [share(p, f) * deviation * deviation, p * divergence(log_ratio)]
        });
        let vertex = Vertex { price: Price::At(1.0 / beta), cost: kl, value: centre + off };
        Tilt { beta, log_total, centre, vertex, slope: beta * variance }
    }

    /// The value at radius 0.
    pub fn value_at_zero(&self) -> f64 {
        self.problem.unscaled(self.start.value)
    }

    /// The worst case at a radius.
    pub fn worst_case(&mut self, radius: f64) -> WorstCase {
        self.evaluations = 0;
        let weights = self.problem.population.weights();
        let mut plan = Plan::new(self.problem.population.space());
        if radius >= self.end.cost {
            let highest = self.end.value;
            let scale = self.end.cost.exp();
            for &i in &self.sources {
                if self.problem.scaled(i as usize) == highest {
                    plan.push_paid(i, i, weights[i as usize] * scale, self.end.cost);
                }
            }
            return self.answer(highest, highest, 0.0, false, plan);
        }
        if radius == 0.0 {
            for &i in &self.sources {
                plan.push_paid(i, i, weights[i as usize], 0.0);
            }
            // Any price is a minimiser in the limit; the curve leaves radius 0 vertically.
            return self.answer(self.start.value, self.start.value, f64::INFINITY, false, plan);
        }
        let (tilt, bracket, stopped) = self.search(radius);
        for &i in &self.sources {
            let log_ratio =
                tilt.beta * (self.problem.scaled(i as usize) - tilt.centre) - tilt.log_total;
            plan.push_paid(i, i, weights[i as usize] * log_ratio.exp(), log_ratio);
        }
        let lambda = bracket.upper.1.get();
        self.answer(bracket.lower(), bracket.upper.0, lambda, stopped, plan)
    }

    /// Newton's method on `√KL(β) = √ε`, which is nearly straight, kept inside the bracket.
    fn search(&mut self, radius: f64) -> (Tilt, Bracket, bool) {
        let mut bracket = Bracket::new(self.end, self.start, radius);
        let spread = self.total(|p, f| [p * (f - self.start.value).powi(2)])[0].sqrt();
        // For a small radius KL(β) = β² Var / 2.
        let guess = spread / (2.0 * radius).sqrt();
        let first = if bracket.inside(guess) { Some(guess) } else { bracket.crossing() };
        let mut tilt = self.tilt(1.0 / first.unwrap_or(1.0));
        let (mut stopped, mut polishes) = (false, 0);
        loop {
            bracket.insert(tilt.vertex);
            let size = bracket.upper.0.abs().max(bracket.lower().abs());
            let (gap, kl) = (bracket.gap(), tilt.vertex.cost);
            // Closed bounds do not pin down the population where λ is small: a few more steps
            // make it spend the radius and no more.
            polishes += usize::from(gap <= ROUNDING * size);
            let settled = (kl - radius).abs() <= SETTLED * radius;
            if settled || polishes > 8 || self.evaluations >= self.settings.max_evaluations {
                break;
            }
            if !self.settings.go_on(self.evaluations, gap / self.problem.factor.abs()) {
                stopped = true;
                break;
            }
            let step = 2.0 * (kl * radius).sqrt() / tilt.slope - 2.0 * kl / tilt.slope;
            let price = 1.0 / (tilt.beta + step);
            let next = if bracket.inside(price) { Some(price) } else { bracket.crossing() };
            let Some(next) = next else { break };
            tilt = self.tilt(1.0 / next);
        }
        (tilt, bracket, stopped)
    }

    fn answer(&self, lower: f64, upper: f64, lambda: f64, stopped: bool, plan: Plan) -> WorstCase {
        let evaluations = self.evaluations.max(1);
        Certificate { lower, upper, lambda, evaluations, stopped }.into_worst_case(
            &self.problem,
            self.settings.tolerance,
            plan,
        )
    }

    /// The curve to a tolerance.
    pub fn curve(&mut self, tolerance: f64) -> Curve {
        let ends = if self.end.cost > 0.0 { vec![self.end, self.start] } else { vec![self.start] };
        let (problem, settings) = (self.problem, self.settings);
        Vertices::new(ends, tolerance * problem.factor.abs())
            .refine(settings, &problem, |price| self.tilt(1.0 / price).vertex)
            .into_curve(&problem)
    }
}

/// `r log r − r + 1` for `r = exp(t)`: never negative, and exact where t is small.
fn divergence(t: f64) -> f64 {
    if t == f64::NEG_INFINITY {
        1.0
    } else if t.abs() < 0.02 {
        // Σ_{k≥2} t^k (k − 1)/k!
        let terms = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 8.0, 1.0 / 30.0, 1.0 / 144.0, 1.0 / 840.0];
        t * t * terms.iter().rev().fold(0.0, |total, c| total * t + c)
    } else {
        t * t.exp() - t.exp_m1()
    }
}

//! KL worst case: `V(ε) = min_{λ≥0} ελ + λ log Σ_i p_i exp(f_i/λ)` [2.7].
//!
//! Solved in `β = 1/λ`: the tilted population `P_β ∝ p exp(β f)` spends `KL(P_β ‖ P)`, which
//! rises with β. Each tilt is a point of the curve and a line of slope λ above it, as for the
//! other sets, so the bounds come from the same bracket. Mass is reweighted in place; a point of
//! zero weight can gain none.
//!
//! Nothing is clipped: small tilts are computed about the mean, so that a divergence of 1e-12
//! keeps its digits, and large ones about the maximum.

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
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::{sum, sums};
use crate::progress::Stage;

/// Every reweighting of the observed points whose KL divergence is at most the radius, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kl;

impl Kl {
    pub(super) const ABOUT: About =
        About { name: "kl", parameters: &[], capabilities: Capabilities::REWEIGHTS, instead: &[] };
}

impl AmbiguitySet for Kl {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }
}

impl SolvableSet for Kl {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let oracle = KlSolver::new(problem, settings);
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let own = geometry.population().weights();
        Ok(Some(sum(own.len(), |j| match (own[j], other[j]) {
            (p, 0.0) => p,
            (0.0, _) => f64::INFINITY,
            (p, q) => p * divergence((q / p).ln()),
        })))
    }
}

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The population spends the radius to this share of it.
const SETTLED: f64 = 1e-13;

/// A population that spends the radius to this share is the answer's.
const NEARLY: f64 = 1e-9;

/// A problem, and the two ends of its curve.
struct KlSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    start: Vertex,
    end: Vertex,
    evaluations: usize,
}

/// A tilted population.
struct KlTilt {
    beta: f64,
    /// `log Σ p_i exp(β (f_i − centre))`.
    log_total: f64,
    centre: f64,
    vertex: Vertex,
    /// `dKL/dβ = β Var`.
    slope: f64,
}

impl KlTilt {
    /// The logarithm of a point's new weight over its old one.
    fn log_ratio(&self, f: f64) -> f64 {
        self.beta * (f - self.centre) - self.log_total
    }
}

impl<'a> KlSolver<'a> {
    fn new(problem: &Problem<'a>, settings: Settings<'a>) -> Self {
        let (sources, weights) = (problem.sources(), problem.population().weights());
        let value = |s: usize| problem.heights.at(sources[s] as usize);
        let highest = (0..sources.len()).map(value).fold(f64::NEG_INFINITY, f64::max);
        let top = sum(sources.len(), |s| {
            if value(s) == highest { weights[sources[s] as usize] } else { 0.0 }
        });
        let mean = problem.nominal_height();
        let end = Vertex::new(Price::Zero, -top.min(1.0).ln(), highest);
        let start = Vertex::new(Price::Infinite, 0.0, mean);
        KlSolver { problem: problem.clone(), settings, start, end, evaluations: 0 }
    }

    /// Sums over the sources of something of a source's weight and value.
    fn total<const M: usize>(&self, term: impl Fn(f64, f64) -> [f64; M] + Sync) -> [f64; M] {
        let (sources, weights) = (self.problem.sources(), self.problem.population().weights());
        sums(sources.len(), &|s: usize| {
            let i = sources[s] as usize;
            term(weights[i], self.problem.heights.at(i))
        })
    }

    fn tilt(&mut self, beta: f64) -> KlTilt {
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
        let share = |p: f64, f: f64| times_exp(p, beta * (f - centre) - log_total);
        let [off] = self.total(|p, f| [share(p, f) * (f - centre)]);
        let [variance, kl] = self.total(|p, f| {
            let deviation = f - centre - off;
            let log_ratio = beta * (f - centre) - log_total;
            [share(p, f) * deviation * deviation, spent(p, log_ratio)]
        });
        let vertex = Vertex::new(Price::At(1.0 / beta), kl, centre + off);
        KlTilt { beta, log_total, centre, vertex, slope: beta * variance }
    }

    /// The population whose weights are these times the nominal ones, given by their logarithms.
    fn plan(&self, log_ratio: impl Fn(f64) -> f64) -> Plan {
        let mut plan = Plan::new(self.problem.space());
        if self.settings.detail > Detail::Value {
            let weights = self.problem.population().weights();
            for &i in self.problem.sources() {
                let log_ratio = log_ratio(self.problem.heights.at(i as usize));
                plan.push_paid(i, i, times_exp(weights[i as usize], log_ratio), log_ratio);
            }
        }
        plan
    }

    /// Where the search ended early: the mixture of the bracket's two populations that reaches the
    /// lower bound. It spends no more than the chord does, for the divergence is convex.
    fn mixture(&mut self, bracket: &Bracket) -> Plan {
        let (left, right) = (bracket.left, bracket.right);
        let share = if left.cost > right.cost {
            (bracket.radius - right.cost) / (left.cost - right.cost)
        } else {
            0.0
        };
        let (dear, cheap) = (self.log_ratio(left.price), self.log_ratio(right.price));
        self.plan(|f| {
            let (a, b) = (share.ln() + dear(f), (-share).ln_1p() + cheap(f));
            let most = a.max(b);
            if most == f64::NEG_INFINITY { most } else { most + (-(a - b).abs()).exp().ln_1p() }
        })
    }

    /// The logarithm of the new weight over the old one of a point of some height, at a price.
    fn log_ratio(&mut self, price: Price) -> Box<dyn Fn(f64) -> f64> {
        match price {
            Price::Infinite => Box::new(|_| 0.0),
            Price::Zero => {
                let end = self.end;
                Box::new(move |f| if f == end.value { end.cost } else { f64::NEG_INFINITY })
            }
            Price::At(price) => {
                let tilt = self.tilt(1.0 / price);
                Box::new(move |f| tilt.log_ratio(f))
            }
        }
    }

    /// Newton's method on `√KL(β) = √ε`, which is nearly straight, kept inside the bracket.
    fn search(&mut self, radius: f64) -> (KlTilt, Bracket, bool) {
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
            if !self.settings.go_on(
                Stage::Solving,
                self.evaluations,
                gap / self.problem.heights.scale(),
            ) {
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
}

impl PriceOracle for KlSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        self.evaluations = 0;
        let (mut certificate, plan) = if radius >= self.end.cost {
            let end = self.end;
            let log_ratio = |f: f64| if f == end.value { end.cost } else { f64::NEG_INFINITY };
            (Certificate::new(end.value, end.value, 0.0), self.plan(log_ratio))
        } else if radius == 0.0 {
            let start = self.start.value;
            // Any price is a minimiser in the limit; the curve leaves radius 0 vertically.
            (Certificate::new(start, start, f64::INFINITY), self.plan(|_| 0.0))
        } else {
            let (tilt, bracket, stopped) = self.search(radius);
            let lambda = bracket.upper.1.get();
            let mut found = Certificate::new(bracket.lower(), bracket.upper.0, lambda);
            found.stopped = stopped;
            let settled = (tilt.vertex.cost - radius).abs() <= NEARLY * radius;
            let plan =
                if settled { self.plan(|f| tilt.log_ratio(f)) } else { self.mixture(&bracket) };
            (found, plan)
        };
        certificate.evaluations = self.evaluations.max(1);
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.start.value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        if self.end.cost > 0.0 { vec![self.end, self.start] } else { vec![self.start] }
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        prices.iter().map(|price| self.tilt(1.0 / price).vertex).collect()
    }
}

/// Above this an exponential may be too large for a number, although a small weight times it is none.
const FAR: f64 = 700.0;

/// `p exp(t)`.
fn times_exp(p: f64, t: f64) -> f64 {
    if t < FAR { p * t.exp() } else { (p.ln() + t).exp() }
}

/// `p (r log r − r + 1)` for `r = exp(t)`.
fn spent(p: f64, t: f64) -> f64 {
    if t < FAR { p * divergence(t) } else { times_exp(p, t) * (t - 1.0) + p }
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

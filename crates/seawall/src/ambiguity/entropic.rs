//! Entropic Wasserstein worst case [4.1–4.3]:
//! `V_η(ε) = min_{λ≥0} ελ + Σ_i p_i (1/η) log Σ_j w_j exp(η (f_j − λ c_ij))`.
//!
//! Smooth and convex in λ; value, slope and curvature come from one pass, and a safeguarded
//! Newton's method on the logarithm of the cost spent finds where it equals ε. No sampling.
//!
//! `V_η ≤ V ≤ V_η + max_j log(1/w_j)/η` (`log M / η` for uniform weights): the smoothed value
//! alone is no bound on the safe side, so the bounds of the exact worst case stand beside it.
//! `lower` and `upper` bound `V_η` itself.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::engine::soft::{Of, SoftMaximizer};
use super::gibbs::{GibbsPart, SETTLED, exponents, list, log_reference, shares};
use super::parameters::{Argument, Parameter, Takes};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, PricedSolver, Solution, Solve};
use super::values::ValueUnits;
use super::worst_case::{Certificate, Smoothed};
use crate::error::{Error, Result};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::progress::Stage;
use std::sync::Arc;

/// The Wasserstein set with the adversary's choice smoothed: larger `eta` is closer to exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropic {
    /// The sharpness η, in units of one over the values.
    pub eta: f64,
}

impl Entropic {
    pub(super) const ABOUT: About = About {
        name: "entropic",
        parameters: &[Parameter {
            name: "eta",
            hint: "larger is closer to exact",
            examples: &["100"],
            takes: Takes::Positive,
            optional: false,
        }],
        capabilities: Capabilities {
            smoothed: true,
            stays_at_zero: false,
            ..Capabilities::MOVES_MASS
        },
        instead: &[],
    };
}

impl AmbiguitySet for Entropic {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Number(self.eta))]
    }
}

impl SolvableSet for Entropic {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let oracle = EntropicSolver::new(problem, settings, self.eta)?;
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }

    fn smoothing(&self, points: usize) -> f64 {
        (points as f64).ln() / self.eta
    }
}

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A problem with its engine and the two ends of its curve.
struct EntropicSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    /// η for the scaled values.
    eta: f64,
    engine: Box<dyn SoftMaximizer + 'a>,
    start: Vertex,
    end: Vertex,
    /// At the end of the curve, where Newton's method starts.
    end_curvature: f64,
    evaluations: usize,
    /// Whether the listing of a plan was stopped.
    halted: bool,
}

impl<'a> EntropicSolver<'a> {
    fn new(problem: &Problem<'a>, settings: Settings<'a>, eta: f64) -> Result<Self> {
        let scaled = eta / problem.heights.scale();
        // Twice the largest value times η must exist, and one over it.
        if !(scaled.is_normal() && (4.0 * scaled).is_finite()) {
            let eta = Argument::Number(eta);
            return Err(Error::config(format!(
                "eta = {eta} is out of scale with these values: choose one so that eta times the \
                 values is a number"
            )));
        }
        let eta = scaled;
        let geometry = &problem.geometry;
        let engine = geometry.soft_engine()?.clone();
        let mut engine = engine.load(geometry.indexed(), exponents(problem, eta), settings.watch);
        let start = vertex(Price::Infinite, smoothed(&mut *engine, eta, Price::Infinite));
        let soft = smoothed(&mut *engine, eta, Price::Zero);
        if engine.stopped() {
            return Err(Error::stopped());
        }
        let end = vertex(Price::Zero, soft);
        Ok(EntropicSolver {
            problem: problem.clone(),
            settings,
            eta,
            engine,
            start,
            end,
            end_curvature: soft.curvature,
            evaluations: 2,
            halted: false,
        })
    }

    fn evaluate(&mut self, price: Price) -> EntropicDual {
        smoothed(&mut *self.engine, self.eta, price)
    }

    /// Newton's method on `log C(λ) = log ε`, which is nearly straight, kept inside the bracket.
    fn search(&mut self, radius: f64) -> (Bracket, bool) {
        let mut bracket = Bracket::new(self.end, self.start, radius);
        let (mut at, mut curvature) = (self.end, self.end_curvature);
        // By concavity λ* ε ≤ V(ε) − V(0).
        let most = (self.end.value - self.start.value) / radius;
        let (mut halved, mut polishes) = (true, 0);
        for _ in 0..self.settings.max_evaluations {
            let step = at.cost / curvature * (at.cost / radius).ln();
            let newton = at.price.get() + step;
            // A sharp η makes C(λ) a staircase: where Newton's step gains little, the crossing
            // of the two lines takes over.
            let takes = halved && newton <= most && bracket.inside(newton);
            let Some(price) = takes.then_some(newton).or_else(|| bracket.crossing()) else { break };
            self.evaluations += 1;
            let soft = self.evaluate(Price::At(price));
            if self.engine.stopped() {
                return (bracket, true);
            }
            (at, curvature) = (vertex(Price::At(price), soft), soft.curvature);
            let before = bracket.gap();
            bracket.insert(at);
            let gap = bracket.gap();
            let size = bracket.upper.0.abs().max(bracket.lower().abs());
            let closed = gap <= ROUNDING * size.max(bracket.upper.1.get() * radius);
            halved = gap <= 0.5 * before || closed;
            // Closed bounds do not pin down the population where λ is small: a few more steps
            // make it spend the radius and no more.
            polishes += usize::from(closed);
            if (at.cost - radius).abs() <= SETTLED * radius || polishes > 8 {
                break;
            }
            if !self.settings.go_on(
                Stage::Solving,
                self.evaluations,
                gap / self.problem.heights.scale(),
            ) {
                return (bracket, true);
            }
        }
        (bracket, false)
    }

    /// The plan, the worst-case population and its entropy: the mixture of the bracket's two
    /// Gibbs plans that spends the radius. Where one of them spends it alone, that one.
    fn population(&mut self, bracket: &Bracket) -> (Plan, Option<Vec<f64>>, f64) {
        let mut plan = Plan::new(self.problem.space());
        if self.settings.detail == Detail::Value {
            return (plan, None, f64::NAN);
        }
        let exponents: Arc<[f64]> = exponents(&self.problem, self.eta).into();
        let mut weights = vec![0.0; self.problem.heights.len()];
        let (mut entropy, mut parts) = (0.0, Vec::new());
        for (share, price) in shares(bracket) {
            let (arrived, spread, totals) = self.gibbs(price);
            weights.iter_mut().zip(arrived).for_each(|(w, x)| *w += share * x);
            entropy += share * spread;
            let sharpness = self.eta * price.get();
            parts.push(GibbsPart { share, exponents: exponents.clone(), sharpness, totals });
        }
        if self.settings.detail == Detail::Plan {
            match list(&self.problem, &self.settings, &parts) {
                Some(listed) => plan = listed,
                None => self.halted = true,
            }
        }
        (plan, Some(weights), entropy)
    }

    /// Where the Gibbs plan at a price leads, its entropy, and each source's `log Σ_j …`.
    fn gibbs(&mut self, price: Price) -> (Vec<f64>, f64, Vec<f64>) {
        self.evaluations += 2;
        let soft = self.evaluate(price);
        let totals = self.engine.log_totals();
        let weights = self.engine.population(self.eta * price.get());
        // Σ p_i H(π_i) = Σ p_i log Z_i − E[η (f − λ c) + log w].
        let log_reference = log_reference(&self.problem);
        let reached = sum(weights.len(), |j| {
            let w = weights[j];
            if w > 0.0 {
                w * (self.eta * self.problem.heights.at(j) + log_reference(j))
            } else {
                0.0
            }
        });
        let spent = if price == Price::Infinite { 0.0 } else { price.get() * soft.cost };
        let entropy = self.eta * (soft.value + spent) - reached;
        (weights, entropy.max(0.0), totals)
    }

    /// What the smoothed bounds say of the exact worst case.
    fn exact_bounds(&self, bracket: &Bracket, entropy: f64) -> Smoothed {
        let log_reference = log_reference(&self.problem);
        let points = self.problem.heights.len();
        let least = (0..points).map(log_reference).fold(0.0, f64::min);
        let ends = (
            self.problem.heights.unscaled(bracket.lower()),
            self.problem.heights.unscaled(bracket.upper.0 - least / self.eta),
        );
        let (exact_lower, exact_upper) = if ends.0 > ends.1 { (ends.1, ends.0) } else { ends };
        Smoothed { exact_lower, exact_upper, entropy }
    }
}

impl PriceOracle for EntropicSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let before = self.evaluations;
        let (bracket, stopped) = if radius >= self.end.cost {
            (Bracket::new(self.end, self.end, self.end.cost), false)
        } else if radius == 0.0 {
            (Bracket::new(self.start, self.start, 0.0), false)
        } else {
            self.search(radius)
        };
        let (upper, price) = bracket.upper;
        let (plan, weights, entropy) = self.population(&bracket);
        if self.settings.detail > Detail::Value && (self.engine.stopped() || self.halted) {
            return Err(Error::stopped());
        }
        let mass = weights.as_ref().map_or(1.0, |all| sum(all.len(), |j| all[j]));
        if mass.is_nan() || (mass - 1.0).abs() > 1e-6 {
            let eta = Argument::Number(self.eta * self.problem.heights.scale());
            return Err(Error::config(format!(
                "eta = {eta} is too sharp for these values: rounding leaves nothing of the smoothed \
                 population; take a smaller one, or wasserstein"
            )));
        }
        let certificate = Certificate {
            evaluations: (self.evaluations - before).max(1),
            stopped,
            weights,
            smoothed: Some(self.exact_bounds(&bracket, entropy)),
            ..Certificate::new(bracket.lower(), upper, price.get())
        };
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.start.value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        if self.end.cost <= self.start.cost { vec![self.start] } else { vec![self.end, self.start] }
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        let at = |&price: &f64| vertex(Price::At(price), self.evaluate(Price::At(price)));
        let found = prices.iter().map(at).collect();
        if self.engine.stopped() { Vec::new() } else { found }
    }
}

/// The smoothed dual at a price, less `ελ`.
#[derive(Clone, Copy)]
struct EntropicDual {
    /// `Σ p_i (1/η) log Σ_j …`
    value: f64,
    /// Minus its slope: the mean cost `C(λ)`.
    cost: f64,
    /// Its curvature: `η Σ p_i Var_i(c)`.
    curvature: f64,
}

/// Value, slope and curvature at a price, from one pass.
fn smoothed(engine: &mut dyn SoftMaximizer, eta: f64, price: Price) -> EntropicDual {
    let soft = engine.evaluate(eta * price.get(), Of::Cost);
    EntropicDual { value: soft.log / eta, cost: soft.mean, curvature: eta * soft.variance }
}

/// The point of the curve that an evaluation shows: the smoothed plan at this price is optimal
/// for the radius that it spends.
fn vertex(price: Price, soft: EntropicDual) -> Vertex {
    let (cost, spent) = match price {
        Price::Infinite => (0.0, 0.0),
        _ => (soft.cost, price.get() * soft.cost),
    };
    Vertex::new(price, cost, soft.value + spent)
}

//! Entropic Wasserstein worst case [4.1–4.3]:
//! `V_η(ε) = min_{λ≥0} ελ + Σ_i p_i (1/η) log Σ_j w_j exp(η (f_j − λ c_ij))`.
//!
//! Smooth and convex in λ; value, slope and curvature come from one pass, and a safeguarded
//! Newton's method on the logarithm of the cost spent finds where it equals ε. No sampling.
//!
//! `V_η ≤ V ≤ V_η + max_j log(1/w_j)/η` (`log M / η` for uniform weights): the smoothed value
//! alone is no bound on the safe side, so the bounds of the exact worst case stand beside it.
//! `lower` and `upper` bound `V_η` itself.

use super::curve::{Curve, Vertices};
use super::engine::soft::{Soft, Softmax, exponents, log_reference, softmax};
use super::engine::{Scan, Source};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::Settings;
use super::worst_case::{Certificate, Entropic, WorstCase};
use crate::error::Result;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::metric::penalty;
use crate::kernel::order::Price;
use crate::kernel::scan::{TILE, costs};
use crate::kernel::sum::sum;
use rayon::prelude::*;

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A problem with its engine and the two ends of its curve.
pub(super) struct Solver<'a, 's> {
    problem: Problem<'a>,
    settings: &'s Settings<'s>,
    /// η for the scaled values.
    eta: f64,
    engine: Box<dyn Softmax + 'a>,
    start: Vertex,
    end: Vertex,
    /// At the end of the curve, where Newton's method starts.
    end_curvature: f64,
    evaluations: usize,
}

impl<'a, 's> Solver<'a, 's> {
    pub fn new(problem: &Problem<'a>, settings: &'s Settings<'s>, eta: f64) -> Result<Self> {
        let eta = eta / problem.factor.abs();
        let mut engine = softmax(problem, settings.engine, eta)?;
        let start = vertex(Price::Infinite, engine.evaluate(Price::Infinite));
        let soft = engine.evaluate(Price::Zero);
        let end = vertex(Price::Zero, soft);
        Ok(Solver {
            problem: *problem,
            settings,
            eta,
            engine,
            start,
            end,
            end_curvature: soft.curvature,
            evaluations: 2,
        })
    }

    /// The worst case at a radius.
    pub fn worst_case(&mut self, radius: f64) -> WorstCase {
        let before = self.evaluations;
        let (bracket, stopped) = if radius >= self.end.cost {
            (Bracket::new(self.end, self.end, self.end.cost), false)
        } else if radius == 0.0 {
            (Bracket::new(self.start, self.start, 0.0), false)
        } else {
            self.search(radius)
        };
        let (upper, price) = bracket.upper;
        let (plan, weights, entropy) = self.population(price);
        let certificate = Certificate {
            lower: bracket.lower(),
            upper,
            lambda: price.get(),
            evaluations: (self.evaluations - before).max(1),
            stopped,
        };
        let mut worst =
            certificate.into_worst_case(&self.problem, self.settings.tolerance, plan);
        worst.unobserved_mass = weights.as_ref().map_or(f64::NAN, |weights| {
            let nominal = self.problem.population.weights();
            sum(weights.len(), |j| if nominal[j] == 0.0 { weights[j] } else { 0.0 })
        });
        worst.weights = weights;
        worst.entropic = Some(self.exact_bounds(&bracket, entropy));
        worst
    }

    /// Newton's method on `log C(λ) = log ε`, which is nearly straight, kept inside the bracket.
    fn search(&mut self, radius: f64) -> (Bracket, bool) {
        let mut bracket = Bracket::new(self.end, self.start, radius);
        let (mut at, mut curvature) = (self.end, self.end_curvature);
        for _ in 0..self.settings.max_evaluations {
            let step = at.cost / curvature * (at.cost / radius).ln();
            let newton = at.price.get() + step;
            let next = if bracket.inside(newton) { Some(newton) } else { bracket.crossing() };
            let Some(price) = next else { break };
            self.evaluations += 1;
            let soft = self.engine.evaluate(Price::At(price));
            let spent_before = at.cost;
            (at, curvature) = (vertex(Price::At(price), soft), soft.curvature);
            bracket.insert(at);
            let size = bracket.upper.0.abs().max(bracket.lower().abs()).max(price * radius);
            let settled = at.cost == spent_before || (at.cost - radius).abs() <= 1e-15 * radius;
            if bracket.gap() <= ROUNDING * size || settled {
                break;
            }
            let gap = bracket.gap() / self.problem.factor.abs();
            if !self.settings.go_on(self.evaluations, gap) {
                return (bracket, true);
            }
        }
        (bracket, false)
    }

    /// The plan, the worst-case population and its entropy at a price.
    fn population(&mut self, price: Price) -> (Plan, Option<Vec<f64>>, f64) {
        let plan = Plan::new(self.problem.population.space());
        if !self.settings.plan {
            return (plan, None, f64::NAN);
        }
        self.evaluations += 2;
        let soft = self.engine.evaluate(price);
        let totals = self.engine.log_totals();
        let weights = self.engine.population(price);
        // Σ p_i H(π_i) = Σ p_i log Z_i − E[η (f − λ c) + log w].
        let log_reference = log_reference(&self.problem);
        let reached = sum(weights.len(), |j| {
            let w = weights[j];
            if w > 0.0 { w * (self.eta * self.problem.scaled(j) + log_reference(j)) } else { 0.0 }
        });
        let spent = if price == Price::Infinite { 0.0 } else { price.get() * soft.cost };
        let entropy = self.eta * (soft.value + spent) - reached;
        let plan = self.list(plan, price, &totals);
        (plan, Some(weights), entropy.max(0.0))
    }

    /// Lists the entries of the Gibbs plan that are not too light.
    fn list(&self, mut plan: Plan, price: Price, totals: &[f64]) -> Plan {
        let scan = Scan::new(&self.problem);
        let exponents = exponents(&self.problem, self.eta);
        let nominal = self.problem.population.weights();
        let (sharpness, floor) = (self.eta * price.get(), self.settings.plan_floor.ln());
        let list = |(cost, x): &mut (Vec<f64>, Vec<f64>), (s, source): (usize, &Source)| {
            let group = &scan.groups[source.group as usize];
            group.row(source.local as usize, x);
            let log_mass = nominal[source.point as usize].ln() - totals[s];
            let mut entries: Vec<(u32, f64)> = Vec::new();
            for (at, members) in group.members.chunks(TILE).enumerate() {
                cost.resize(members.len(), 0.0);
                costs(&scan.metrics, &group.columns, x, at * TILE, cost);
                for (&j, &c) in members.iter().zip(cost.iter()) {
                    let log = log_mass + exponents[j as usize] - penalty(sharpness, c);
                    if log >= floor {
                        entries.push((j, log.exp()));
                    }
                }
            }
            entries
        };
        let listed: Vec<Vec<(u32, f64)>> =
            scan.sources.par_iter().enumerate().map_init(Default::default, list).collect();
        let mut total = 0.0;
        for (source, entries) in scan.sources.iter().zip(listed) {
            for (to, mass) in entries {
                plan.push(source.point, to, mass);
                total += mass;
            }
        }
        plan.leave_out((1.0 - total).max(0.0));
        plan
    }

    /// What the smoothed bounds say of the exact worst case.
    fn exact_bounds(&self, bracket: &Bracket, entropy: f64) -> Entropic {
        let log_reference = log_reference(&self.problem);
        let points = self.problem.values.len();
        let least = (0..points).map(log_reference).fold(0.0, f64::min);
        let ends = (
            self.problem.unscaled(bracket.lower()),
            self.problem.unscaled(bracket.upper.0 - least / self.eta),
        );
        Entropic { exact_lower: ends.0.min(ends.1), exact_upper: ends.0.max(ends.1), entropy }
    }

    /// The curve to a tolerance.
    pub fn curve(&mut self, tolerance: f64) -> Curve {
        let (problem, settings) = (self.problem, self.settings);
        let nowhere = self.end.cost <= self.start.cost;
        let ends = if nowhere { vec![self.start] } else { vec![self.end, self.start] };
        Vertices::new(ends, tolerance * problem.factor.abs())
            .refine(settings, &problem, |price| {
                vertex(Price::At(price), self.engine.evaluate(Price::At(price)))
            })
            .into_curve(&problem)
    }
}

/// The point of the curve that an evaluation shows: the smoothed plan at this price is optimal
/// for the radius that it spends.
fn vertex(price: Price, soft: Soft) -> Vertex {
    let (cost, spent) = match price {
        Price::Infinite => (0.0, 0.0),
        _ => (soft.cost, price.get() * soft.cost),
    };
    Vertex { price, cost, value: soft.value + spent }
}

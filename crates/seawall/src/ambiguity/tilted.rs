//! Everybody spread out, and that spread tilted towards larger values: source `i` goes to `j` in
//! proportion to `w_j exp(−c_ij/κ + β f_j)`, by one pass of logarithms for each β.
//!
//! With `D_i(β) = log Σ_j K_i(j) exp(β f_j)`, `K_i(j) ∝ w_j exp(−c_ij/κ)`, the mean of f under the tilt
//! is `D_i'`, its variance `D_i''`, and the tilt is this many nats away from `K_i`:
//!
//! ```text
//! KL_i(β) = β D_i' − D_i = β² ∫₀¹ s D_i''(sβ) ds
//! ```
//!
//! The first form cancels where β is small. There the second one is taken, whose terms are all
//! positive: D'' is analytic within `|Im β| < π / range(f)`, so that three Gauss–Legendre nodes leave
//! out less than rounding does.
//!
//! Not here: radii and prices in the units of costs.

use super::engine::groups;
use super::engine::soft::{Of, Soft, Softmax, log_reference};
use super::problem::Problem;
use crate::error::{Error, Result};
use crate::kernel::bracket::Vertex;
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::progress::Watch;
use crate::space::Kind;
use std::sync::Arc;

/// A tilt over the range of the values up to which its divergence is integrated.
const SMALL: f64 = 0.05;
/// Gauss–Legendre on [0, 1]: nodes and weights.
const NODES: [(f64, f64); 3] = [
    (0.112_701_665_379_258_3, 5.0 / 18.0),
    (0.5, 8.0 / 18.0),
    (0.887_298_334_620_741_7, 5.0 / 18.0),
];

/// What one tilt shows. Costs are in nats, and a price is `1/β`.
#[derive(Clone, Copy)]
pub(super) struct Tilt {
    /// The nats it spends, and the mean of the values that it reaches.
    pub vertex: Vertex,
    /// The variance of the values under it.
    pub variance: f64,
}

/// The spread of a population, to be tilted.
pub(super) struct Tilted<'a> {
    problem: Problem<'a>,
    engine: Box<dyn Softmax + 'a>,
    /// 1/κ.
    sharpness: f64,
    log_reference: Vec<f64>,
    /// The largest value anywhere; values are counted from there.
    highest: f64,
    /// How far each point is below it.
    below: Vec<f64>,
    /// How far the lowest one is.
    range: f64,
    /// `Σ_i p_i log Σ_j w_j exp(−c_ij/κ)`.
    untilted: f64,
    /// No tilt: what it reaches.
    pub start: Tilt,
    /// The limit of all tilts: everybody where the values are largest.
    pub end: Vertex,
    /// Passes so far.
    pub evaluations: usize,
}

impl<'a> Tilted<'a> {
    pub fn new(problem: &Problem<'a>, kappa: f64, watch: Watch<'a>) -> Result<Self> {
        let points = problem.heights.len();
        let log_reference: Vec<f64> = (0..points).map(log_reference(problem)).collect();
        let values = (0..points).map(|j| problem.heights.at(j));
        let reached = values.zip(&log_reference).filter(|(_, w)| **w > f64::NEG_INFINITY);
        let (lowest, highest) = reached
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (f, _)| {
                (low.min(f), high.max(f))
            });
        // What cannot be reached does not count; it must not be larger than what can.
        let below = (0..points).map(|j| (problem.heights.at(j) - highest).min(0.0)).collect();
        let nowhere = Tilt { vertex: Vertex::new(Price::Infinite, 0.0, 0.0), variance: 0.0 };
        let engine = problem.geometry.soft_engine()?.clone();
        let mut tilted = Tilted {
            engine: engine.load(&problem.geometry, log_reference.clone(), watch),
            problem: problem.clone(),
            sharpness: 1.0 / kappa,
            log_reference,
            highest,
            below,
            range: highest - lowest,
            untilted: 0.0,
            start: nowhere,
            end: nowhere.vertex,
            evaluations: 0,
        };
        tilted.begin(kappa)?;
        Ok(tilted)
    }

    /// The two ends.
    fn begin(&mut self, kappa: f64) -> Result<()> {
        let still = self.pass(Price::Infinite);
        let (end, highest) = (self.pass(Price::Zero), self.highest_mean());
        if self.engine.stopped() {
            return Err(Error::stopped());
        }
        if still.log == f64::NEG_INFINITY {
            return Err(Error::input(
                "the reference weights leave some people nowhere to be: expected one above 0 among \
                 the places that each of them can reach",
            ));
        }
        let value = self.highest + still.mean;
        let cost = (still.log - end.log).max(0.0);
        if !(self.sharpness.is_finite() && cost.is_finite()) {
            return Err(Error::numeric(format!(
                "kappa = {kappa} is out of scale with these costs: choose one so that costs over \
                 kappa are numbers"
            )));
        }
        self.untilted = still.log;
        let vertex = Vertex::new(Price::Infinite, 0.0, value);
        self.start = Tilt { vertex, variance: still.variance };
        self.end = match highest > value {
            true => Vertex::new(Price::Zero, cost, highest),
            // Wherever people can go the values are the same.
            false => Vertex::new(Price::Zero, 0.0, value),
        };
        Ok(())
    }

    /// The tilt at a price `1/β`.
    pub fn tilt(&mut self, price: f64) -> Tilt {
        let nats = (self.range <= SMALL * price).then(|| {
            let term = |(s, w): (f64, f64)| w * s * self.pass(Price::At(price / s)).variance;
            NODES.map(term).iter().sum::<f64>() / price / price
        });
        let soft = self.pass(Price::At(price));
        let nats = nats.unwrap_or_else(|| soft.mean / price - (soft.log - self.untilted));
        let vertex = Vertex::new(Price::At(price), nats.max(0.0), self.highest + soft.mean);
        Tilt { vertex, variance: soft.variance }
    }

    /// The Gibbs plan at a price: its exponents, each source's `log Σ_j …`, and where it leads.
    pub fn plan(&mut self, price: Price) -> (Arc<[f64]>, Vec<f64>, Vec<f64>) {
        self.pass(price);
        let totals = self.engine.log_totals();
        self.evaluations += 1;
        (self.exponents(price).into(), totals, self.engine.population(self.sharpness))
    }

    /// What multiplies costs in the exponent.
    pub fn sharpness(&self) -> f64 {
        self.sharpness
    }

    pub fn stopped(&self) -> bool {
        self.engine.stopped()
    }

    fn pass(&mut self, price: Price) -> Soft {
        self.evaluations += 1;
        let exponents = self.exponents(price);
        self.engine.weigh(exponents);
        self.engine.evaluate(self.sharpness, Of::Values(&self.below))
    }

    /// `β f_j + log w_j`, values counted from the largest.
    fn exponents(&self, price: Price) -> Vec<f64> {
        match price {
            Price::Infinite => self.log_reference.clone(),
            Price::At(price) => {
                let tilt = |(f, w): (&f64, &f64)| f / price + w;
                self.below.iter().zip(&self.log_reference).map(tilt).collect()
            }
            Price::Zero => {
                let mut at = vec![f64::NEG_INFINITY; self.below.len()];
                for (members, top) in self.tops() {
                    for j in members.into_iter().filter(|&j| self.below[j] == top) {
                        at[j] = self.log_reference[j];
                    }
                }
                at
            }
        }
    }

    /// The mean of the largest values that people can reach.
    fn highest_mean(&self) -> f64 {
        let mut own = vec![0.0; self.below.len()];
        for (members, top) in self.tops() {
            members.into_iter().for_each(|j| own[j] = top);
        }
        let weights = self.problem.population().weights();
        self.highest + sum(weights.len(), |i| weights[i] * own[i])
    }

    /// The points that can be reached from each other, and the largest value of positive reference
    /// weight among them.
    fn tops(&self) -> Vec<(Vec<usize>, f64)> {
        let space = self.problem.space();
        let walls = (0..space.names().len()).any(|k| space.kind(k) == Kind::Fixed);
        let members: Vec<Vec<usize>> = match walls {
            true => {
                let points = |m: Vec<u32>| m.into_iter().map(|j| j as usize).collect();
                groups(space).1.into_iter().map(|group| points(group.members)).collect()
            }
            false => vec![(0..self.below.len()).collect()],
        };
        let top = |members: &[usize]| {
            let reached = members.iter().filter(|&&j| self.log_reference[j] > f64::NEG_INFINITY);
            reached.map(|&j| self.below[j]).fold(f64::NEG_INFINITY, f64::max)
        };
        members.into_iter().map(|m| (top(&m), m)).map(|(top, m)| (m, top)).collect()
    }
}

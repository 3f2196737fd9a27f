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
use super::engine::soft::{Of, Soft, SoftMaximizer};
use super::gibbs::log_reference;
use super::parameters::Argument;
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
pub(super) struct SpreadTilt {
    /// The nats it spends, and the mean of the values that it reaches.
    pub vertex: Vertex,
    /// The variance of the values under it.
    pub variance: f64,
}

/// The spread of a population, to be tilted.
pub(super) struct Tilted<'a> {
    engine: Box<dyn SoftMaximizer + 'a>,
    /// 1/κ.
    sharpness: f64,
    log_reference: Vec<f64>,
    /// The mean of the largest values that people can reach; values are counted from those.
    highest: f64,
    /// How far each point is above the largest one within its reach: 0 or less.
    below: Vec<f64>,
    /// How far the lowest one is below.
    range: f64,
    /// `Σ_i p_i log Σ_j w_j exp(−c_ij/κ)`.
    untilted: f64,
    /// No tilt: what it reaches.
    pub start: SpreadTilt,
    /// The limit of all tilts: everybody where the values are largest.
    pub end: Vertex,
    /// Passes so far.
    pub evaluations: usize,
}

impl<'a> Tilted<'a> {
    pub fn new(problem: &Problem<'a>, kappa: f64, watch: Watch<'a>) -> Result<Self> {
        let points = problem.heights.len();
        let log_reference: Vec<f64> = (0..points).map(log_reference(problem)).collect();
        let mut tops = vec![0.0; points];
        for members in within_reach(problem) {
            let reached = members.iter().filter(|&&j| log_reference[j] > f64::NEG_INFINITY);
            let top = reached.map(|&j| problem.heights.at(j)).fold(f64::NEG_INFINITY, f64::max);
            members.iter().filter(|_| top > f64::NEG_INFINITY).for_each(|&j| tops[j] = top);
        }
        // What cannot be reached does not count; it must not be larger than what can.
        let below: Vec<f64> =
            (0..points).map(|j| (problem.heights.at(j) - tops[j]).min(0.0)).collect();
        let weights = problem.population().weights();
        let highest = sum(points, |i| weights[i] * tops[i]);
        let reached = (0..points).filter(|&j| log_reference[j] > f64::NEG_INFINITY);
        let range = reached.map(|j| -below[j]).fold(0.0, f64::max);
        let nowhere = SpreadTilt { vertex: Vertex::new(Price::Infinite, 0.0, 0.0), variance: 0.0 };
        let engine = problem.geometry.soft_engine()?.clone();
        let mut tilted = Tilted {
            engine: engine.load(problem.geometry.indexed(), log_reference.clone(), watch),
            sharpness: 1.0 / kappa,
            log_reference,
            highest,
            below,
            range,
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
        let end = self.pass(Price::Zero);
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
            let kappa = Argument::Number(kappa);
            return Err(Error::config(format!(
                "kappa = {kappa} is out of scale with these costs: choose one so that costs over \
                 kappa are numbers"
            )));
        }
        self.untilted = still.log;
        let vertex = Vertex::new(Price::Infinite, 0.0, value);
        self.start = SpreadTilt { vertex, variance: still.variance };
        self.end = if self.highest > value {
            Vertex::new(Price::Zero, cost, self.highest)
        } else {
            // Wherever people can go the values are the same.
            Vertex::new(Price::Zero, 0.0, value)
        };
        Ok(())
    }

    /// The tilt at a price `1/β`.
    pub fn tilt(&mut self, price: f64) -> SpreadTilt {
        let nats = (self.range <= SMALL * price).then(|| {
            let term = |(s, w): (f64, f64)| w * s * self.pass(Price::At(price / s)).variance;
            NODES.map(term).iter().sum::<f64>() / price / price
        });
        let soft = self.pass(Price::At(price));
        let nats = nats.unwrap_or_else(|| soft.mean / price - (soft.log - self.untilted));
        let vertex = Vertex::new(Price::At(price), nats.max(0.0), self.highest + soft.mean);
        SpreadTilt { vertex, variance: soft.variance }
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
                let at = |(f, w): (&f64, &f64)| if *f == 0.0 { *w } else { f64::NEG_INFINITY };
                self.below.iter().zip(&self.log_reference).map(at).collect()
            }
        }
    }
}

/// The points that can be reached from each other.
fn within_reach(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    let space = problem.space();
    if (0..space.names().len()).all(|k| space.kind(k) != Kind::Fixed) {
        return vec![(0..space.len()).collect()];
    }
    let points = |m: Vec<u32>| m.into_iter().map(|j| j as usize).collect();
    groups(space).1.into_iter().map(|group| points(group.members)).collect()
}

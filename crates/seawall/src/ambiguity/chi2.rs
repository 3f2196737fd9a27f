//! χ² worst case: `Σ p (q/p − 1)² ≤ ε`.
//!
//! The worst population gives weight to the points above a floor c, in proportion to how far they are
//! above it. With the mass P, the mean f̄ and the variance v of those points,
//!
//! ```text
//! V(ε) = f̄ + √(v (P (1 + ε) − 1)),   c = f̄ − δ,   δ = √(v / (P (1 + ε) − 1)),   λ = P δ / 2
//! ```
//!
//! so the only search is for who they are: the floor that the points above a floor would have, until it
//! leaves the same ones above it. Nothing is sorted. While everyone is above, it is the mean and
//! `√(ε v)`. Contexts that nobody was seen in gain nothing.
//!
//! Each floor is a point of the curve and a line of slope λ above it: the bounds come from the
//! population itself.

use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, Solution};
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::Result;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::{sum, sums};

/// Floors tried for one answer at most: each leaves other people above it.
const FLOORS: usize = 200;

/// A problem, and the two ends of its curve.
pub(super) struct Chi2Solver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    /// A radius is this many times its χ²: inside, costs and prices are those of χ² itself.
    unit: f64,
    weights: Vec<f64>,
    values: Vec<f64>,
    mean: f64,
    variance: f64,
    lowest: f64,
    start: Vertex,
    end: Vertex,
    evaluations: usize,
}

/// The people above a floor.
#[derive(Clone, Copy, Debug)]
struct Above {
    floor: f64,
    /// The mass below, and above: each its own sum, for either may be lost in 1 less the other.
    below: f64,
    mass: f64,
    /// The mean less the floor, and the variance.
    off: f64,
    variance: f64,
}

/// A population: `q/p = 1 + (f − mean)/(mass δ) + below/mass` where that is positive.
#[derive(Clone, Copy, Debug)]
struct Chi2Tilt {
    mean: f64,
    delta: f64,
    below: f64,
    mass: f64,
}

impl Chi2Tilt {
    #[inline(always)]
    fn ratio(&self, f: f64) -> f64 {
        (1.0 + self.change(f)).max(0.0)
    }

    /// `q/p − 1` if that is above −1.
    #[inline(always)]
    fn change(&self, f: f64) -> f64 {
        (f - self.mean) / (self.mass * self.delta) + self.below / self.mass
    }
}

impl<'a> Chi2Solver<'a> {
    pub fn new(problem: &Problem<'a>, settings: Settings<'a>, unit: f64) -> Self {
        let (heights, all) = (problem.heights, problem.population().weights());
        let sources = problem.sources();
        let values: Vec<f64> = sources.iter().map(|&i| heights.at(i as usize)).collect();
        let weights: Vec<f64> = sources.iter().map(|&i| all[i as usize]).collect();
        let mean = problem.nominal_height();
        let variance = sum(values.len(), |s| weights[s] * (values[s] - mean) * (values[s] - mean));
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let below = |most: f64, &f: &f64| if f < highest { most.max(f) } else { most };
        let next = values.iter().fold(f64::NEG_INFINITY, below);
        let top = sum(values.len(), |s| if values[s] == highest { weights[s] } else { 0.0 });
        let constant = lowest == highest;
        let cost = if constant { 0.0 } else { 1.0 / top - 1.0 };
        // A floor between the largest value and the next leaves the largest alone.
        let price = if constant { Price::Zero } else { Price::At(0.5 * top * (highest - next)) };
        Chi2Solver {
            problem: problem.clone(),
            settings,
            unit,
            weights,
            values,
            mean,
            variance,
            lowest,
            start: Vertex::new(Price::Infinite, 0.0, mean),
            end: Vertex::new(price, cost.max(0.0), highest),
            evaluations: 0,
        }
    }

    fn everyone(&self) -> Above {
        let floor = self.lowest.min(self.mean);
        Above { floor, below: 0.0, mass: 1.0, off: self.mean - floor, variance: self.variance }
    }

    fn above(&mut self, floor: f64) -> Above {
        self.evaluations += 1;
        let (weights, values) = (&self.weights, &self.values);
        let [below, mass, first, second] = sums(values.len(), &|s: usize| {
            let (p, over) = (weights[s], (values[s] - floor).max(0.0));
            let (out, within) = if over > 0.0 { (0.0, p) } else { (p, 0.0) };
            [out, within, p * over, p * over * over]
        });
        let off = first / mass;
        Above { floor, below, mass, off, variance: (second / mass - off * off).max(0.0) }
    }

    /// The same, with all digits of the variance.
    fn sharpened(&self, above: Above) -> Above {
        if above.below == 0.0 {
            return self.everyone();
        }
        let (weights, values, mean) = (&self.weights, &self.values, above.floor + above.off);
        let [variance, off] = sums(values.len(), &|s: usize| {
            if values[s] > above.floor {
                let away = values[s] - mean;
                [weights[s] * away * away, weights[s] * away]
            } else {
                [0.0; 2]
            }
        });
        let (mass, off) = (above.mass, off / above.mass);
        Above { off: above.off + off, variance: (variance / mass - off * off).max(0.0), ..above }
    }

    /// `P (1 + ε) − 1`: not above 0 if too few people are left to spend only so much.
    fn room(above: &Above, radius: f64) -> f64 {
        if above.mass < 0.5 {
            above.mass * (1.0 + radius) - 1.0
        } else {
            radius - above.below * (1.0 + radius)
        }
    }

    /// The population that spends the radius, if the people above some floor are the right ones.
    fn spending(&mut self, radius: f64) -> Chi2Tilt {
        let mut above = self.everyone();
        // The floor is between these.
        let (mut low, mut high) = (f64::NEG_INFINITY, self.end.value);
        for _ in 0..FLOORS {
            let room = Self::room(&above, radius);
            let delta = if room > 0.0 { (above.variance / room).sqrt() } else { 0.0 };
            let mut floor = above.floor + above.off - delta;
            if above.below == 0.0 && floor <= self.lowest {
                return self.tilt(self.everyone(), |_| delta);
            }
            if !(floor > low && floor < high && room > 0.0) {
                floor = if low.is_finite() { low + 0.5 * (high - low) } else { self.lowest };
            }
            let next = self.above(floor);
            // Who is above spends this much: Σ p (q/p)² − 1.
            let spread = next.variance / (next.off * next.off);
            let spends = (next.below + spread) / next.mass;
            if next.below == above.below && room > 0.0 {
                above = next;
                break;
            }
            let stuck = floor <= low || floor >= high;
            if spends > radius {
                high = floor
            } else {
                low = floor
            }
            above = next;
            if stuck {
                break;
            }
        }
        self.tilt(above, |sharp| {
            let room = Self::room(sharp, radius);
            if room > 0.0 { (sharp.variance / room).sqrt() } else { sharp.off }
        })
    }

    /// The population at a price: `Σ p max(f − c, 0) = 2λ`, which is convex in c.
    fn priced(&mut self, price: f64) -> Chi2Tilt {
        let mut above = self.everyone();
        for _ in 0..FLOORS {
            let floor = above.floor + above.off - 2.0 * price / above.mass;
            if above.below == 0.0 && floor <= self.lowest {
                break;
            }
            let next = self.above(floor);
            let same = next.below == above.below || floor <= above.floor;
            above = next;
            if same {
                break;
            }
        }
        self.tilt(above, |sharp| 2.0 * price / sharp.mass)
    }

    fn tilt(&self, above: Above, delta: impl Fn(&Above) -> f64) -> Chi2Tilt {
        let sharp = self.sharpened(above);
        let mean = if sharp.below == 0.0 { self.mean } else { sharp.floor + sharp.off };
        Chi2Tilt { mean, delta: delta(&sharp), below: sharp.below, mass: sharp.mass }
    }

    /// What the population itself spends and reaches.
    fn vertex(&mut self, tilt: &Chi2Tilt) -> Vertex {
        self.evaluations += 1;
        let (weights, values) = (&self.weights, &self.values);
        let [cost, off] = sums(values.len(), &|s: usize| {
            let (p, change) = (weights[s], tilt.change(values[s]).max(-1.0));
            [p * change * change, p * (1.0 + change) * (values[s] - tilt.mean)]
        });
        let price = 0.5 * tilt.mass * tilt.delta;
        Vertex::new(Price::At(price), cost, tilt.mean + off)
    }

    /// A vertex whose cost and price are in the units of the radius.
    fn in_radii(&self, vertex: Vertex) -> Vertex {
        let price = match vertex.price {
            Price::At(price) => Price::At(price / self.unit),
            end => end,
        };
        Vertex::new(price, vertex.cost * self.unit, vertex.value)
    }

    fn plan(&self, ratio: impl Fn(f64) -> f64) -> Plan {
        let mut plan = Plan::new(self.problem.space());
        if self.settings.detail > Detail::Value {
            let each = self.problem.sources().iter().zip(&self.values).zip(&self.weights);
            for ((&i, &f), p) in each {
                let ratio = ratio(f);
                // Σ q (q/p − 1) is what is spent.
                plan.push_paid(i, i, p * ratio, (ratio - 1.0) * self.unit);
            }
        }
        plan
    }
}

impl PriceOracle for Chi2Solver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let radius = radius / self.unit;
        self.evaluations = 0;
        let end = self.end;
        let (mut certificate, plan) = if radius >= end.cost {
            let most = 1.0 + end.cost;
            let plan = self.plan(|f| if f == end.value { most } else { 0.0 });
            (Certificate::new(end.value, end.value, 0.0), plan)
        } else if radius == 0.0 {
            let start = self.start.value;
            // Any price is a minimiser in the limit; the curve leaves radius 0 vertically.
            (Certificate::new(start, start, f64::INFINITY), self.plan(|_| 1.0))
        } else {
            let tilt = self.spending(radius);
            let vertex = self.vertex(&tilt);
            let mut bracket = Bracket::new(end, self.start, radius);
            let finite = vertex.cost.is_finite() && vertex.value.is_finite();
            if finite {
                bracket.insert(vertex);
            }
            let (upper, price) = bracket.upper;
            let (lower, plan) = if finite {
                // What it spends too much by rounding, a mixture with the observed population does
                // not.
                let share = if vertex.cost > radius { radius / vertex.cost } else { 1.0 };
                let plan = self.plan(|f| match share {
                    1.0 => tilt.ratio(f),
                    _ => share * tilt.ratio(f) + (1.0 - share),
                });
                (self.mean + share * (vertex.value - self.mean), plan)
            } else {
                // A weight so small that its square is lost: the mixture of both ends spends no more.
                let (share, most) = (radius / end.cost, 1.0 + end.cost);
                let of_top = |f: f64| if f == end.value { share * most } else { 0.0 };
                (bracket.lower(), self.plan(|f| of_top(f) + (1.0 - share)))
            };
            (Certificate::new(lower, upper, price.get()), plan)
        };
        certificate.evaluations = self.evaluations.max(1);
        certificate.lambda /= self.unit;
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.start.value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let ends = if self.end.cost > 0.0 { vec![self.end, self.start] } else { vec![self.start] };
        ends.into_iter().map(|vertex| self.in_radii(vertex)).collect()
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        let at = |price: &f64| {
            let price = price * self.unit;
            if price <= self.end.price.get() {
                return self.in_radii(self.end);
            }
            let tilt = self.priced(price);
            let vertex = self.vertex(&tilt);
            self.in_radii(vertex)
        };
        prices.iter().map(at).collect()
    }
}

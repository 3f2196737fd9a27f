//! Worst cases over a power divergence, `Σ p φ(q/p) ≤ ε`, for any order but 1 and 2.
//!
//! Each pole ([`poles`]) is a point of the curve and a line of slope λ above it, so the bounds come from the
//! same bracket as those of the other sets, whatever chose the poles.
//!
//! φ_k grows like `t/(1 − k)` for k < 1: then a point of zero weight may gain mass at that price a
//! unit. Where the largest value is on such a point, the pole stops there; what a larger radius adds is
//! known in closed form: everyone's weight falls by the same factor B and the rest is on that point,
//! `cost = cost(B = 1) + factor R (1 − B^k)/(k (1 − k))`, `R = Σ p (q/p)^k`.
//!
//! [`poles`]: super::poles

use super::phi::Phi;
use super::plan::Plan;
use super::poles::{Goal, PoleTilt, Poles};
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, Solution};
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::Result;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::progress::Stage;

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The population spends the radius to this share of it.
const SETTLED: f64 = 1e-13;
/// A pole has the price asked for to this share.
const PRICED: f64 = 1e-13;
/// Poles looked at for one price at most.
const PRICINGS: usize = 200;
/// Below this much of the way to the largest value, a curve that never ends is told to.
const NEARLY_ALL: f64 = 1e-13;

/// A population of the curve.
#[derive(Clone, Copy, Debug)]
enum Weighing {
    /// Everyone as observed.
    Nominal,
    /// That of a pole, everyone's weight times a factor, and the rest where nobody was seen.
    Tilted(PoleTilt, f64),
    /// Only the largest value that was seen, this much more of it.
    Top(f64),
    /// Only the largest value, where nobody was seen.
    Unseen,
}

impl Weighing {
    /// The mass where nobody was seen.
    fn unseen(&self) -> f64 {
        match self {
            Weighing::Nominal | Weighing::Top(_) => 0.0,
            Weighing::Tilted(_, kept) => 1.0 - kept,
            Weighing::Unseen => 1.0,
        }
    }
}

/// A problem, and the two ends of its curve.
pub(super) struct PowerSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    poles: Poles,
    start: Vertex,
    end: Vertex,
    end_weighing: Weighing,
}

impl<'a> PowerSolver<'a> {
    pub fn new(power: Phi, problem: &Problem<'a>, settings: Settings<'a>) -> Self {
        let poles = Poles::new(power, problem);
        let (values, weights, highest) = (&poles.values, &poles.weights, poles.highest);
        let top = sum(values.len(), |s| if values[s] == highest { weights[s] } else { 0.0 });
        let top = if highest == poles.lowest { 1.0 } else { top.min(1.0) };
        let start = Vertex::new(Price::Infinite, 0.0, poles.mean);
        let (end, end_weighing) = far_end(&poles, top);
        PowerSolver { problem: problem.clone(), settings, poles, start, end, end_weighing }
    }

    /// Everyone's weight of the touching tilt times `exp(log_kept)`, the rest where nobody was seen.
    fn beyond(&self, tilt: &PoleTilt, moment: f64, log_kept: f64) -> (Vertex, Weighing) {
        let (k, kept) = (self.poles.power.k, log_kept.exp());
        let lost = if k == 0.0 { -log_kept } else { -(k * log_kept).exp_m1() / k };
        let cost = tilt.vertex.cost + self.poles.power.factor * moment * lost / (1.0 - k);
        let value =
            self.poles.unseen.map_or(tilt.vertex.value, |u| u.1 - kept * (u.1 - tilt.vertex.value));
        let price = tilt.vertex.price.get() * ((1.0 - k) * log_kept).exp();
        let price = if price > 0.0 { Price::At(price) } else { Price::Zero };
        (Vertex::new(price, cost, value), Weighing::Tilted(*tilt, kept))
    }

    /// The vertex at a price.
    fn at_price(&mut self, price: f64) -> Vertex {
        if let Some((tilt, moment)) = self.poles.touching
            && price <= tilt.vertex.price.get()
        {
            let log_kept = (price / tilt.vertex.price.get()).ln() / (1.0 - self.poles.power.k);
            return self.beyond(&tilt, moment, log_kept).0;
        }
        if price <= self.end.price.get() {
            return self.end;
        }
        let (mut found, mut count) = (self.start, 0);
        self.poles.seek(Goal::Price(price), |_, tilt| {
            found = tilt.vertex;
            count += 1;
            (found.price.get() - price).abs() > PRICED * price && count < PRICINGS
        });
        found
    }

    /// Closes in on a radius short of the end: the bounds, and the populations on either side of it.
    fn search(&mut self, radius: f64) -> (Bracket, [Weighing; 2], bool) {
        let mut bracket = Bracket::new(self.end, self.start, radius);
        let mut sides = [self.end_weighing, Weighing::Nominal];
        let (mut stopped, mut polishes) = (false, 0);
        let (settings, scale) = (self.settings, self.problem.heights.scale());
        self.poles.seek(Goal::Cost(radius), |poles, tilt| {
            let cost = tilt.vertex.cost;
            // Costs beyond all numbers say nothing.
            if cost.is_finite() && tilt.vertex.price.get() > 0.0 {
                bracket.insert(tilt.vertex);
                sides[usize::from(cost <= radius)] = Weighing::Tilted(*tilt, 1.0);
            }
            let size = bracket.upper.0.abs().max(bracket.lower().abs());
            let gap = bracket.gap();
            // Closed bounds do not pin down the population where λ is small: a few more steps
            // make it spend the radius and no more.
            polishes += usize::from(gap <= ROUNDING * size);
            let settled = (cost - radius).abs() <= SETTLED * radius;
            if settled || polishes > 8 || poles.evaluations >= settings.max_evaluations {
                return false;
            }
            stopped = !settings.go_on(Stage::Solving, poles.evaluations, gap / scale);
            !stopped
        });
        (bracket, sides, stopped)
    }

    /// The upper bound, and its price: never above the largest value, however far off that is.
    fn capped(&self, bracket: &Bracket) -> (f64, Price) {
        if bracket.upper.0 < self.end.value { bracket.upper } else { (self.end.value, Price::Zero) }
    }

    /// The new weight over the old one of a point that was seen.
    fn ratio(&self, weighing: &Weighing, f: f64) -> f64 {
        match weighing {
            Weighing::Nominal => 1.0,
            Weighing::Tilted(tilt, kept) => kept * self.poles.log_ratio(tilt, f).exp(),
            Weighing::Top(ratio) => {
                if f == self.poles.highest {
                    *ratio
                } else {
                    0.0
                }
            }
            Weighing::Unseen => 0.0,
        }
    }

    /// A mixture of two populations, `share` being that of the first.
    fn plan(&self, [one, other]: &[Weighing; 2], share: f64) -> Plan {
        let mut plan = Plan::new(self.problem.space());
        if self.settings.detail == Detail::Value {
            return plan;
        }
        let mixed = |a: f64, b: f64| match share {
            0.0 => b,
            1.0 => a,
            _ => share * a + (1.0 - share) * b,
        };
        let all = self.problem.population().weights();
        for &i in self.problem.sources() {
            let f = self.problem.heights.at(i as usize);
            let ratio = mixed(self.ratio(one, f), self.ratio(other, f));
            if ratio > 0.0 {
                plan.push_paid(i, i, all[i as usize] * ratio, self.poles.power.paid(ratio));
            }
        }
        if let Some((j, _)) = self.poles.unseen {
            let mass = mixed(one.unseen(), other.unseen());
            plan.push_paid(j, j, mass, self.poles.power.paid_unseen());
        }
        plan
    }
}

/// Where everyone sits where the values are worst, and the largest price at which they do.
fn far_end(poles: &Poles, top: f64) -> (Vertex, Weighing) {
    let power = &poles.power;
    if let Some((_, value)) = poles.unseen {
        let cost = power.at_zero() + power.slope();
        return (Vertex::new(Price::Zero, cost, value), Weighing::Unseen);
    }
    let others = if top < 1.0 { (1.0 - top) * power.at_zero() } else { 0.0 };
    let cost = top * power.of_ratio(1.0 / top) + others;
    let next = poles.values.partition_point(|&f| f >= poles.highest);
    let price = match poles.values.get(next) {
        // A floor between the largest value and the next leaves the largest alone.
        Some(next) if power.k > 1.0 => {
            let k = power.k - 1.0;
            Price::At(k * (poles.highest - next) * (k * top.ln()).exp() / power.factor)
        }
        _ => Price::Zero,
    };
    (Vertex::new(price, cost, poles.highest), Weighing::Top(1.0 / top))
}

impl PriceOracle for PowerSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        self.poles.evaluations = 0;
        let (mut certificate, plan) = if radius >= self.end.cost {
            let value = self.end.value;
            (Certificate::new(value, value, 0.0), self.plan(&[self.end_weighing; 2], 1.0))
        } else if radius == 0.0 {
            let start = self.start.value;
            // Any price is a minimiser in the limit; the curve leaves radius 0 vertically.
            let plan = self.plan(&[Weighing::Nominal; 2], 1.0);
            (Certificate::new(start, start, f64::INFINITY), plan)
        } else if let Some((tilt, moment)) =
            self.poles.touching.filter(|(tilt, _)| radius >= tilt.vertex.cost)
        {
            let k = self.poles.power.k;
            let spent =
                (1.0 - k) * (radius - tilt.vertex.cost) / (moment * self.poles.power.factor);
            let log_kept = if k == 0.0 { -spent } else { (-k * spent).ln_1p() / k };
            // No weight at all costs more than any number where k ≤ 0.
            let (vertex, weighing) = self.beyond(&tilt, moment, log_kept.max(-690.0));
            let mut bracket = Bracket::new(self.end, tilt.vertex, radius);
            bracket.insert(vertex);
            let lower = if vertex.cost <= radius { vertex.value } else { bracket.lower() };
            let (upper, price) = self.capped(&bracket);
            (Certificate::new(lower, upper, price.get()), self.plan(&[weighing; 2], 1.0))
        } else {
            let (bracket, sides, stopped) = self.search(radius);
            let (upper, price) = self.capped(&bracket);
            let mut found = Certificate::new(bracket.lower(), upper, price.get());
            found.stopped = stopped;
            // The mixture of the bracket's two populations that reaches the lower bound. It spends no
            // more than the chord does, for the divergence is convex.
            let (left, right) = (bracket.left, bracket.right);
            let share = if left.cost > right.cost && left.cost.is_finite() {
                (radius - right.cost) / (left.cost - right.cost)
            } else {
                0.0
            };
            (found, self.plan(&sides, share))
        };
        certificate.evaluations = self.poles.evaluations.max(1);
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.start.value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let mut end = self.end;
        if end.cost.is_infinite() {
            // It nears the largest value and never gets there: it ends where the rest is rounding.
            let vertex = match self.poles.touching {
                Some((tilt, moment)) => self.beyond(&tilt, moment, NEARLY_ALL.ln()).0,
                None => {
                    let apart = self.poles.highest - self.poles.lowest;
                    let off = apart * NEARLY_ALL.powf(1.0 - self.poles.power.k).max(1e-290);
                    self.poles.tilt(self.poles.under(self.poles.highest, off)).vertex
                }
            };
            let rest = (end.value - vertex.value).max(0.0);
            end = Vertex { price: Price::Zero, excess: rest, ..vertex };
        }
        if end.cost > 0.0 { vec![end, self.start] } else { vec![self.start] }
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        prices.iter().map(|&price| self.at_price(price)).collect()
    }
}

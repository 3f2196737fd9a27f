//! Worst cases over a power divergence: `Σ p φ(q/p) ≤ ε` with `φ = factor · φ_k`,
//! `φ_k(t) = (t^k − k t + k − 1) / (k (k − 1))`. KL is the limit k → 1, which has a file of its own.
//!
//! The population that is best at a price λ, `max Σ q f − λ Σ p φ(q/p)`, is
//!
//! ```text
//! q_i = p_i |f_i − c|^m / Σ_j p_j |f_j − c|^m,   m = 1/(k − 1),   λ = factor⁻¹ |k − 1| (Σ p |f − c|^m)^(k−1)
//! ```
//!
//! with one number c, the pole, in the place of λ and of the multiplier of `Σ q = 1`: for k > 1 it is a
//! floor, and whoever is below it keeps no weight; for k < 1 it is a ceiling above all values. Each
//! pole is a point of the curve and a line of slope λ above it, so the bounds come from the same
//! bracket as those of the other sets, whatever chose the poles. Newton's method does, on
//! `log cost = log ε` by the logarithm of the pole's distance from the largest value.
//!
//! φ_k grows like `t/(1 − k)` for k < 1: then a point of zero weight may gain mass at that price a
//! unit. Where the largest value is on such a point, the pole stops there; what a larger radius adds is
//! known in closed form: everyone's weight falls by the same factor B and the rest is on that point,
//! `cost = cost(B = 1) + factor R (1 − B^k)/(k (1 − k))`, `R = Σ p (q/p)^k`.
//!
//! Nothing is clipped: small tilts are computed about the mean, so that a divergence of 1e-12 keeps its
//! digits.

use super::curve::{Curve, Vertices};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solver::Solve;
use super::worst_case::{Certificate, WorstCase};
use crate::error::Result;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::{sum, sums};
use crate::progress::Stage;
use rayon::prelude::*;

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
/// Below this many points a second thread costs more than it saves.
const FORK: usize = 1 << 14;
/// Terms of the series of φ about 1, and how far it is used.
const TERMS: usize = 12;
const SERIES: f64 = 0.25;

/// A power divergence: `factor · φ_k`, k other than 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Power {
    k: f64,
    factor: f64,
    /// `φ_k(exp t) = t² Σ_n series[n] tⁿ`.
    series: [f64; TERMS],
}

impl Power {
    pub fn new(k: f64, factor: f64) -> Self {
        let mut series = [0.0; TERMS];
        // (k^{n−1} − 1)/(k − 1) over n!
        let (mut powers, mut factorial) = (1.0, 2.0);
        for (n, term) in series.iter_mut().enumerate() {
            *term = powers / factorial;
            powers = powers * k + 1.0;
            factorial *= (n + 3) as f64;
        }
        Power { k, factor, series }
    }

    /// What a unit of mass pays where nobody was seen.
    pub fn slope(&self) -> f64 {
        if self.k < 1.0 { self.factor / (1.0 - self.k) } else { f64::INFINITY }
    }

    /// φ(0).
    fn at_zero(&self) -> f64 {
        if self.k > 0.0 { self.factor / self.k } else { f64::INFINITY }
    }

    /// φ of `r = exp t`, with `w = r^(k−1)`: never negative, and exact where t is small.
    #[inline(always)]
    fn of(&self, t: f64, r: f64, w: f64) -> f64 {
        let k = self.k;
        if r == 0.0 {
            return self.at_zero();
        }
        let found = if t.abs() * k.abs().max(1.0) < SERIES {
            t * t * self.series.iter().rev().fold(0.0, |total, c| total * t + c)
        } else if (k - 1.0).abs() < 0.1 {
            // The limit k → 1 is r log r − r + 1.
            let grows = if t == 0.0 { 0.0 } else { r * ((k - 1.0) * t).exp_m1() / (k - 1.0) };
            (grows - (r - 1.0)) / k
        } else if k.abs() < 0.1 {
            // The limit k → 0 is −log r + r − 1.
            let falls = if k == 0.0 { t } else { (k * t).exp_m1() / k };
            (falls - (r - 1.0)) / (k - 1.0)
        } else {
            (r * w - k * (r - 1.0) - 1.0) / (k * (k - 1.0))
        };
        self.factor * found
    }

    /// φ of a ratio.
    fn of_ratio(&self, r: f64) -> f64 {
        let t = r.ln();
        self.of(t, r, ((self.k - 1.0) * t).exp())
    }

    /// What a unit of the new mass pays, so that all of it together pays what is spent: whoever keeps no
    /// weight cannot pay, so `t − 1`, which is 0 on the whole, takes its part along.
    fn paid(&self, r: f64) -> f64 {
        match self.k > 0.0 {
            true => (self.of_ratio(r) + self.at_zero() * (r - 1.0)) / r,
            false => self.of_ratio(r) / r,
        }
    }

    /// The same where nobody was seen.
    fn paid_unseen(&self) -> f64 {
        self.slope() + if self.k > 0.0 { self.at_zero() } else { 0.0 }
    }

    /// How far another population is, by its weights.
    pub fn between(&self, own: &[f64], other: &[f64]) -> f64 {
        sum(own.len(), |j| match (own[j], other[j]) {
            (0.0, 0.0) => 0.0,
            (0.0, q) => q * self.slope(),
            (p, 0.0) => p * self.at_zero(),
            (p, q) => p * self.of_ratio(q / p),
        })
    }
}

/// Where the pole c is: `|f − c| = ±(f − anchor) + off`, the anchor being a value, so that a pole very
/// near it is told from it.
#[derive(Clone, Copy, Debug)]
struct Pole {
    anchor: f64,
    off: f64,
    /// The number of points above a floor; all of them under a ceiling.
    active: usize,
}

/// The population of a pole.
#[derive(Clone, Copy, Debug)]
struct Tilt {
    pole: Pole,
    /// `log Σ p_i (|f_i − c| / span)^m`, `span = |centre − c|`.
    log_total: f64,
    centre: f64,
    span: f64,
    vertex: Vertex,
    /// By the logarithm of the pole's distance from the largest value seen: how the cost changes, and
    /// how the logarithm of the price does.
    cost_slope: f64,
    price_slope: f64,
}

/// A population of the curve.
#[derive(Clone, Copy, Debug)]
enum Weighing {
    /// Everyone as observed.
    Nominal,
    /// That of a pole, everyone's weight times a factor, and the rest where nobody was seen.
    Tilted(Tilt, f64),
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

/// What a search of poles is after.
#[derive(Clone, Copy)]
enum Goal {
    Cost(f64),
    Price(f64),
}

/// A problem, and the two ends of its curve.
pub(super) struct Solver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    power: Power,
    /// The sources' weights and values; highest first if the pole is a floor.
    weights: Vec<f64>,
    values: Vec<f64>,
    /// The weight before each of them, and of all.
    mass: Vec<f64>,
    /// A point where nobody was seen that has a larger value than any seen, if it can gain mass.
    unseen: Option<(u32, f64)>,
    /// The tilt whose ceiling is that value.
    touching: Option<(Tilt, f64)>,
    mean: f64,
    variance: f64,
    highest: f64,
    lowest: f64,
    start: Vertex,
    end: Vertex,
    end_weighing: Weighing,
    /// For each source: the logarithm of its new weight over its old one but for a constant, and what
    /// that is the logarithm of.
    scratch: Vec<(f64, f64)>,
    evaluations: usize,
}

impl<'a> Solver<'a> {
    pub fn new(power: Power, problem: &Problem<'a>, settings: Settings<'a>) -> Self {
        let (heights, all) = (problem.heights, problem.population().weights());
        let mut points: Vec<(f64, f64)> =
            problem.sources().iter().map(|&i| (heights.at(i as usize), all[i as usize])).collect();
        if power.k > 1.0 {
            points.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        }
        let (values, weights): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let mut mass = vec![0.0];
        weights.iter().for_each(|p| mass.push(mass[mass.len() - 1] + p));
        let mean = problem.nominal_height();
        let variance = sum(values.len(), |s| weights[s] * (values[s] - mean).powi(2));
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut unseen: Option<(u32, f64)> = None;
        if power.slope().is_finite() {
            for j in (0..heights.len()).filter(|&j| all[j] == 0.0) {
                if heights.at(j) > unseen.map_or(highest, |u| u.1) {
                    unseen = Some((j as u32, heights.at(j)));
                }
            }
        }
        let top = sum(values.len(), |s| if values[s] == highest { weights[s] } else { 0.0 });
        let start = Vertex::new(Price::Infinite, 0.0, mean);
        let mut solver = Solver {
            problem: problem.clone(),
            settings,
            power,
            scratch: vec![(0.0, 0.0); values.len()],
            weights,
            values,
            mass,
            unseen,
            touching: None,
            mean,
            variance,
            highest,
            lowest,
            start,
            end: start,
            end_weighing: Weighing::Nominal,
            evaluations: 0,
        };
        let top = if highest == lowest { 1.0 } else { top.min(1.0) };
        (solver.end, solver.end_weighing) = solver.far_end(top);
        if let Some((_, value)) = unseen {
            let touching = solver.tilt(solver.under(value, 0.0));
            // R = Σ p (q/p)^k
            let k = power.k;
            let moment = sum(solver.values.len(), |s| {
                solver.weights[s] * (k * solver.log_ratio(&touching, solver.values[s])).exp()
            });
            solver.touching = Some((touching, moment));
        }
        solver
    }

    /// Where everyone sits where the values are worst, and the largest price at which they do.
    fn far_end(&self, top: f64) -> (Vertex, Weighing) {
        let power = &self.power;
        if let Some((_, value)) = self.unseen {
            let cost = power.at_zero() + power.slope();
            return (Vertex::new(Price::Zero, cost, value), Weighing::Unseen);
        }
        let others = if top < 1.0 { (1.0 - top) * power.at_zero() } else { 0.0 };
        let cost = top * power.of_ratio(1.0 / top) + others;
        let next = self.values.partition_point(|&f| f >= self.highest);
        let price = match self.values.get(next) {
            // A floor between the largest value and the next leaves the largest alone.
            Some(next) if power.k > 1.0 => {
                let k = power.k - 1.0;
                Price::At(k * (self.highest - next) * (k * top.ln()).exp() / power.factor)
            }
            _ => Price::Zero,
        };
        (Vertex::new(price, cost, self.highest), Weighing::Top(1.0 / top))
    }

    /// Whether the pole is a floor: 1, or a ceiling: −1.
    fn sign(&self) -> f64 {
        if self.power.k > 1.0 { 1.0 } else { -1.0 }
    }

    /// A ceiling so much above a value.
    fn under(&self, anchor: f64, off: f64) -> Pole {
        Pole { anchor, off, active: self.values.len() }
    }

    /// The pole at a distance from the largest value seen.
    fn pole(&self, distance: f64) -> Pole {
        if self.power.k < 1.0 {
            let anchor = self.unseen.map_or(self.highest, |u| u.1);
            return self.under(anchor, (distance - (anchor - self.highest)).max(0.0));
        }
        let active = self.values.partition_point(|&f| self.highest - f < distance).max(1);
        let anchor = self.values[active - 1];
        Pole { anchor, off: distance - (self.highest - anchor), active }
    }

    /// How far a value is from the pole; 0 below a floor.
    fn distance(&self, pole: &Pole, f: f64) -> f64 {
        match self.power.k > 1.0 {
            true if f < pole.anchor => 0.0,
            true => (f - pole.anchor) + pole.off,
            false => (pole.anchor - f) + pole.off,
        }
    }

    /// The logarithm of a point's new weight over its old one.
    fn log_ratio(&self, tilt: &Tilt, f: f64) -> f64 {
        self.exponent(&tilt.pole, (tilt.centre, tilt.span), f) - tilt.log_total
    }

    /// `m log(|f − c| / span)`.
    #[inline(always)]
    fn exponent(&self, pole: &Pole, (centre, span): (f64, f64), f: f64) -> f64 {
        let (off, far) = (self.sign() * (f - centre) / span, self.distance(pole, f));
        let log = if off > -0.5 && far > 0.0 { off.ln_1p() } else { (far / span).ln() };
        log / (self.power.k - 1.0)
    }

    fn tilt(&mut self, pole: Pole) -> Tilt {
        self.evaluations += 1;
        let k = self.power.k;
        let (top, middle) = (
            self.distance(&pole, self.highest),
            self.sign() * (self.mean - pole.anchor) + pole.off,
        );
        let range = self.highest - self.lowest;
        let small = range <= 0.5 * (k - 1.0).abs().min(1.0) * middle;
        let (centre, span) = if small { (self.mean, middle) } else { (self.highest, top) };
        let mut scratch = std::mem::take(&mut self.scratch);
        let fill = |(to, &f): (&mut (f64, f64), &f64)| {
            let t = self.exponent(&pole, (centre, span), f);
            *to = (t, if small { t.exp_m1() } else { t.exp() });
        };
        match pole.active > FORK {
            true => scratch.par_iter_mut().zip(&self.values).take(pole.active).for_each(fill),
            false => scratch.iter_mut().zip(&self.values).take(pole.active).for_each(fill),
        }
        let (values, weights, each) = (&self.values, &self.weights, &scratch);
        let total = sum(pole.active, |s| weights[s] * each[s].1);
        let log_total = if small { total.ln_1p() } else { total.ln() };
        let scale = (-log_total).exp();
        let ratio = |s: usize| if small { each[s].1 + 1.0 } else { each[s].1 } * scale;
        let off = sum(pole.active, |s| weights[s] * ratio(s) * (values[s] - centre));
        let mean_distance = self.distance(&pole, centre + off);
        // r^(k−1) = |f − c| / unit.
        let unit = span * ((k - 1.0) * log_total).exp();
        let [spread, inverse, cost] = sums(pole.active, &|s: usize| {
            let (p, r, t) = (weights[s], ratio(s), each[s].0 - log_total);
            let far = self.distance(&pole, values[s]);
            let deviation = values[s] - centre - off;
            let cost = p * self.power.of(t, r, far / unit);
            if r == 0.0 || far == 0.0 {
                return [0.0, 0.0, cost];
            }
            [p * r * (deviation / far) * (deviation / mean_distance), p * r / far, cost]
        });
        self.scratch = scratch;
        let below = self.mass[self.values.len()] - self.mass[pole.active];
        let cost = match pole.active < self.values.len() {
            true => cost + below * self.power.at_zero(),
            false => cost,
        };
        let price = (k - 1.0).abs() * unit / self.power.factor;
        Tilt {
            pole,
            log_total,
            centre,
            span,
            vertex: Vertex::new(Price::At(price), cost, centre + off),
            cost_slope: -top / ((k - 1.0).abs() * price) * spread,
            price_slope: top * inverse,
        }
    }

    /// Everyone's weight of the touching tilt times `exp(log_kept)`, the rest where nobody was seen.
    fn beyond(&self, tilt: &Tilt, moment: f64, log_kept: f64) -> (Vertex, Weighing) {
        let (k, kept) = (self.power.k, log_kept.exp());
        let lost = if k == 0.0 { -log_kept } else { -(k * log_kept).exp_m1() / k };
        let cost = tilt.vertex.cost + self.power.factor * moment * lost / (1.0 - k);
        let value =
            self.unseen.map_or(tilt.vertex.value, |u| u.1 - kept * (u.1 - tilt.vertex.value));
        let price = tilt.vertex.price.get() * ((1.0 - k) * log_kept).exp();
        let price = if price > 0.0 { Price::At(price) } else { Price::Zero };
        (Vertex::new(price, cost, value), Weighing::Tilted(*tilt, kept))
    }

    /// The pole at which to begin: the price is about `|k − 1|` times its distance from the mean.
    fn first(&self, goal: Goal) -> Pole {
        let apart = (self.power.k - 1.0).abs();
        let from_mean = match goal {
            Goal::Cost(cost) => (0.5 * self.variance * self.power.factor / cost).sqrt() / apart,
            Goal::Price(price) => price * self.power.factor / apart,
        };
        let distance = from_mean + self.sign() * (self.highest - self.mean);
        let nearest = self.unseen.map_or(0.0, |u| u.1 - self.highest);
        self.pole(distance.max(nearest + 0.1 * from_mean))
    }

    /// Looks for a pole, telling of every one on the way; ends when told to, or at the goal, or when no
    /// pole is left between those on either side of it.
    fn seek(&mut self, goal: Goal, mut more: impl FnMut(&Self, &Tilt) -> bool) {
        // On the far side of the goal the pole is too near the values: it spends too much.
        let (mut far, mut near): (Option<Pole>, Option<Pole>) = (None, None);
        if self.power.k > 1.0 {
            let next = self.values.partition_point(|&f| f >= self.highest);
            far = self.values.get(next).map(|f| self.pole(self.highest - f));
        } else if let Some((tilt, _)) = self.touching {
            far = Some(tilt.pole);
        }
        let mut pole = self.first(goal);
        if far.is_some_and(|far| !self.is_further(&pole, &far)) {
            let Some(middle) = self.between(far, near) else { return };
            pole = middle;
        }
        let (mut off_before, mut newton) = (f64::INFINITY, false);
        loop {
            let tilt = self.tilt(pole);
            if !more(self, &tilt) {
                return;
            }
            let (cost, price) = (tilt.vertex.cost, tilt.vertex.price.get());
            let (off, step) = match goal {
                Goal::Cost(goal) => {
                    let off = (cost / goal).ln();
                    (off, -off * cost / tilt.cost_slope)
                }
                Goal::Price(goal) => {
                    let off = (goal / price).ln();
                    (off, off / tilt.price_slope)
                }
            };
            if off > 0.0 {
                far = Some(pole)
            } else {
                near = Some(pole)
            }
            // Newton's step counts as long as it gains.
            let gains = !newton || off.abs() <= 0.5 * off_before;
            off_before = off.abs();
            let next = self.pole(self.distance(&pole, self.highest) * step.exp());
            let inside = next.off > 0.0
                && next.off.is_finite()
                && far.is_none_or(|far| self.is_further(&next, &far))
                && near.is_none_or(|near| self.is_further(&near, &next));
            newton = gains && inside;
            let next = if newton { Some(next) } else { self.between(far, near) };
            let Some(next) = next else { return };
            pole = next;
        }
    }

    /// Whether a pole is further from the values than another.
    fn is_further(&self, pole: &Pole, other: &Pole) -> bool {
        match pole.anchor == other.anchor {
            true => pole.off > other.off,
            false => self.sign() * (other.anchor - pole.anchor) > 0.0,
        }
    }

    /// A pole between two: at a value, if there is one, else in the middle of the stretch; None if there
    /// is no number left between them.
    fn between(&self, far: Option<Pole>, near: Option<Pole>) -> Option<Pole> {
        let Some(near) = near else {
            let far = far.map_or(1.0, |far| self.distance(&far, self.highest));
            let range = self.highest - self.lowest;
            return Some(self.pole(16.0 * far.max(range))).filter(|p| p.off.is_finite());
        };
        let mut from = far.map_or(0.0, |far| far.off);
        if let Some(far) = far.filter(|far| far.anchor != near.anchor) {
            // Values strictly below the far floor and above the near one.
            let least = self.distance(&far, self.highest);
            let first = self.values.partition_point(|&f| self.highest - f <= least);
            if first < near.active {
                let middle = self.values[first + (near.active - 1 - first) / 2];
                let at = self.pole(self.highest - middle);
                return Some(at)
                    .filter(|at| self.is_further(at, &far) && self.is_further(&near, at));
            }
            from = 0.0;
        }
        let middle = match from {
            0.0 => near.off / 16.0,
            from if near.off > 4.0 * from => from.sqrt() * near.off.sqrt(),
            from => from + 0.5 * (near.off - from),
        };
        Some(Pole { off: middle, ..near }).filter(|p| p.off > from && p.off < near.off)
    }

    /// The vertex at a price.
    fn at_price(&mut self, price: f64) -> Vertex {
        if let Some((tilt, moment)) = self.touching
            && price <= tilt.vertex.price.get()
        {
            let log_kept = (price / tilt.vertex.price.get()).ln() / (1.0 - self.power.k);
            return self.beyond(&tilt, moment, log_kept).0;
        }
        if price <= self.end.price.get() {
            return self.end;
        }
        let (mut found, mut count) = (self.start, 0);
        self.seek(Goal::Price(price), |_, tilt| {
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
        let settings = self.settings;
        self.seek(Goal::Cost(radius), |solver, tilt| {
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
            if settled || polishes > 8 || solver.evaluations >= settings.max_evaluations {
                return false;
            }
            let scale = solver.problem.heights.scale();
            stopped = !settings.go_on(Stage::Solving, solver.evaluations, gap / scale);
            !stopped
        });
        (bracket, sides, stopped)
    }

    /// The upper bound, and its price: never above the largest value, however far off that is.
    fn capped(&self, bracket: &Bracket) -> (f64, Price) {
        match bracket.upper.0 < self.end.value {
            true => bracket.upper,
            false => (self.end.value, Price::Zero),
        }
    }

    /// The new weight over the old one of a point that was seen.
    fn ratio(&self, weighing: &Weighing, f: f64) -> f64 {
        match weighing {
            Weighing::Nominal => 1.0,
            Weighing::Tilted(tilt, kept) => kept * self.log_ratio(tilt, f).exp(),
            Weighing::Top(ratio) => {
                if f == self.highest {
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
                plan.push_paid(i, i, all[i as usize] * ratio, self.power.paid(ratio));
            }
        }
        if let Some((j, _)) = self.unseen {
            let mass = mixed(one.unseen(), other.unseen());
            plan.push_paid(j, j, mass, self.power.paid_unseen());
        }
        plan
    }
}

impl Solve for Solver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        self.evaluations = 0;
        let (mut certificate, plan) = if radius >= self.end.cost {
            let value = self.end.value;
            (Certificate::new(value, value, 0.0), self.plan(&[self.end_weighing; 2], 1.0))
        } else if radius == 0.0 {
            let start = self.start.value;
            // Any price is a minimiser in the limit; the curve leaves radius 0 vertically.
            let plan = self.plan(&[Weighing::Nominal; 2], 1.0);
            (Certificate::new(start, start, f64::INFINITY), plan)
        } else if let Some((tilt, moment)) =
            self.touching.filter(|(tilt, _)| radius >= tilt.vertex.cost)
        {
            let k = self.power.k;
            let spent = (1.0 - k) * (radius - tilt.vertex.cost) / (moment * self.power.factor);
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
            let share = match left.cost > right.cost && left.cost.is_finite() {
                true => (radius - right.cost) / (left.cost - right.cost),
                false => 0.0,
            };
            (found, self.plan(&sides, share))
        };
        certificate.evaluations = self.evaluations.max(1);
        Ok(certificate.into_worst_case(
            self.problem.units(),
            self.problem.population(),
            &self.settings,
            plan,
        ))
    }

    fn value_at_zero(&self) -> f64 {
        self.problem.heights.unscaled(self.start.value)
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let mut end = self.end;
        if end.cost.is_infinite() {
            // It nears the largest value and never gets there: it ends where the rest is rounding.
            let vertex = match self.touching {
                Some((tilt, moment)) => self.beyond(&tilt, moment, NEARLY_ALL.ln()).0,
                None => {
                    let apart = self.highest - self.lowest;
                    let off = apart * NEARLY_ALL.powf(1.0 - self.power.k).max(1e-290);
                    self.tilt(self.under(self.highest, off)).vertex
                }
            };
            let rest = (end.value - vertex.value).max(0.0);
            end = Vertex { price: Price::Zero, excess: rest, ..vertex };
        }
        let ends = if end.cost > 0.0 { vec![end, self.start] } else { vec![self.start] };
        let (problem, settings) = (self.problem.clone(), self.settings);
        let vertices = Vertices::new(ends, tolerance * problem.heights.scale()).refine(
            settings,
            problem.units(),
            |prices| prices.iter().map(|&price| self.at_price(price)).collect(),
        );
        Ok(vertices.into_curve(problem.units()))
    }
}

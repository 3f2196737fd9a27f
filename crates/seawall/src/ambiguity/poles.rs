//! The poles of tilts over a power divergence, and the search for the one that is wanted.
//!
//! The population that is best at a price λ, `max Σ q f − λ Σ p φ(q/p)`, is
//!
//! ```text
//! q_i = p_i |f_i − c|^m / Σ_j p_j |f_j − c|^m,   m = 1/(k − 1),   λ = factor⁻¹ |k − 1| (Σ p |f − c|^m)^(k−1)
//! ```
//!
//! with one number c, the pole, in the place of λ and of the multiplier of `Σ q = 1`: for k > 1 it is a
//! floor, and whoever is below it keeps no weight; for k < 1 it is a ceiling above all values. Newton's
//! method finds it, on `log cost = log ε` by the logarithm of the pole's distance from the largest value.
//!
//! Nothing is clipped: small tilts are computed about the mean, so that a divergence of 1e-12 keeps its
//! digits.

use super::phi::Phi;
use super::problem::Problem;
use crate::kernel::bracket::Vertex;
use crate::kernel::order::Price;
use crate::kernel::sum::{sum, sums};
use rayon::prelude::*;

/// Below this many points a second thread costs more than it saves.
const FORK: usize = 1 << 14;

/// Where the pole c is: `|f − c| = ±(f − anchor) + off`, the anchor being a value, so that a pole very
/// near it is told from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pole {
    anchor: f64,
    off: f64,
    /// The number of points above a floor; all of them under a ceiling.
    active: usize,
}

/// The population of a pole.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoleTilt {
    pole: Pole,
    /// `log Σ p_i (|f_i − c| / span)^m`, `span = |centre − c|`.
    log_total: f64,
    centre: f64,
    span: f64,
    pub vertex: Vertex,
    /// By the logarithm of the pole's distance from the largest value seen: how the cost changes, and
    /// how the logarithm of the price does.
    cost_slope: f64,
    price_slope: f64,
}

/// What a search of poles is after.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    Cost(f64),
    Price(f64),
}

/// The points of a problem, and what their tilts by a power divergence show.
pub(super) struct Poles {
    pub power: Phi,
    /// The sources' weights and values; highest first if the pole is a floor.
    pub weights: Vec<f64>,
    pub values: Vec<f64>,
    /// The weight before each of them, and of all.
    mass: Vec<f64>,
    /// A point without rows that has a larger value than any seen, if it can gain mass.
    pub unseen: Option<(u32, f64)>,
    /// The tilt whose ceiling is that value, and `R = Σ p (q/p)^k` of it.
    pub touching: Option<(PoleTilt, f64)>,
    pub mean: f64,
    variance: f64,
    pub highest: f64,
    pub lowest: f64,
    /// For each source: the logarithm of its new weight over its old one but for a constant, and what
    /// that is the logarithm of.
    scratch: Vec<(f64, f64)>,
    pub evaluations: usize,
}

impl Poles {
    pub fn new(power: Phi, problem: &Problem<'_>) -> Self {
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
        let mut poles = Poles {
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
            evaluations: 0,
        };
        if let Some((_, value)) = unseen {
            let tilt = poles.tilt(poles.under(value, 0.0));
            let k = poles.power.k;
            let moment = sum(poles.values.len(), |s| {
                poles.weights[s] * (k * poles.log_ratio(&tilt, poles.values[s])).exp()
            });
            poles.touching = Some((tilt, moment));
        }
        poles
    }

    /// Whether the pole is a floor: 1, or a ceiling: −1.
    fn sign(&self) -> f64 {
        if self.power.k > 1.0 { 1.0 } else { -1.0 }
    }

    /// A ceiling so much above a value.
    pub fn under(&self, anchor: f64, off: f64) -> Pole {
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
        if self.power.k <= 1.0 {
            return (pole.anchor - f) + pole.off;
        }
        if f < pole.anchor { 0.0 } else { (f - pole.anchor) + pole.off }
    }

    /// The logarithm of a point's new weight over its old one.
    pub fn log_ratio(&self, tilt: &PoleTilt, f: f64) -> f64 {
        self.exponent(&tilt.pole, (tilt.centre, tilt.span), f) - tilt.log_total
    }

    /// `m log(|f − c| / span)`.
    #[inline(always)]
    fn exponent(&self, pole: &Pole, (centre, span): (f64, f64), f: f64) -> f64 {
        let (off, far) = (self.sign() * (f - centre) / span, self.distance(pole, f));
        let log = if off > -0.5 && far > 0.0 { off.ln_1p() } else { (far / span).ln() };
        log / (self.power.k - 1.0)
    }

    pub fn tilt(&mut self, pole: Pole) -> PoleTilt {
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
        if pole.active > FORK {
            scratch.par_iter_mut().zip(&self.values).take(pole.active).for_each(fill)
        } else {
            scratch.iter_mut().zip(&self.values).take(pole.active).for_each(fill)
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
        let cost = if pole.active < self.values.len() {
            cost + below * self.power.at_zero()
        } else {
            cost
        };
        let price = (k - 1.0).abs() * unit / self.power.factor;
        PoleTilt {
            pole,
            log_total,
            centre,
            span,
            vertex: Vertex::new(Price::At(price), cost, centre + off),
            cost_slope: -top / ((k - 1.0).abs() * price) * spread,
            price_slope: top * inverse,
        }
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
    pub fn seek(&mut self, goal: Goal, mut more: impl FnMut(&Self, &PoleTilt) -> bool) {
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
        if pole.anchor == other.anchor {
            pole.off > other.off
        } else {
            self.sign() * (other.anchor - pole.anchor) > 0.0
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
}

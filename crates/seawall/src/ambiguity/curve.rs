//! The worst case against the radius, whole.
//!
//! The curve is concave (for costs) and increasing. Every evaluation of the dual gives a point
//! on it and a line above it, so between two neighbouring points it lies between their chord
//! and their lines. Refining the widest such triangle first, until none is left that holds
//! anything, enumerates the exact curve of a Wasserstein set; stopping early leaves an error
//! that is known. Entropic and KL curves are smooth: they are followed to a tolerance. Where a curve is
//! not concave but sags between corners (CVaR), the chords are above it and its tangents below.
//!
//! From the curve: the value at any radius, and the breakdown radius at which it crosses a limit
//! or another curve.

use super::polyline::Polyline;
use super::settings::Settings;
use super::values::{Direction, ValueUnits};
use crate::kernel::bracket::{Vertex, uncertainty};
use crate::progress::Stage;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A rise above the chord smaller than this share of the values is rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Stretches evaluated together.
const BATCH: usize = 8;

/// Vertices of a curve being refined, in a solver's units, by falling cost.
pub(super) struct Vertices {
    seen: Vec<Vertex>,
    /// The right-hand radii of stretches that hold nothing more: the curve is straight there.
    straight: Vec<f64>,
    tolerance: f64,
    error: f64,
}

/// A stretch between two vertices that may hold more.
#[derive(Clone, Copy)]
struct Stretch {
    uncertainty: f64,
    left: Vertex,
    right: Vertex,
}

impl Vertices {
    /// Starts from known vertices, the two ends of the curve among them.
    pub fn new(seen: Vec<Vertex>, tolerance: f64) -> Self {
        Vertices { seen, straight: Vec::new(), tolerance, error: 0.0 }
    }

    /// Evaluates until no stretch can hold more than the tolerance.
    pub fn refine(
        mut self,
        settings: Settings<'_>,
        units: ValueUnits,
        mut evaluate: impl FnMut(&[f64]) -> Vec<Vertex>,
    ) -> Self {
        let mut open = BinaryHeap::new();
        for pair in self.seen.windows(2) {
            open.push(Stretch::new(pair[0], pair[1]));
        }
        let limit = settings.crossing.map(|value| units.scaled(value));
        let mut evaluations = 0;
        loop {
            // The widest stretches, a few at a time: an engine may share work between their prices.
            let room = settings.max_vertices.saturating_sub(self.seen.len()).min(BATCH);
            let chosen = self.widest(&mut open, room, settings.max_radius, limit);
            let Some(widest) = chosen.first().map(|stretch| stretch.uncertainty) else { break };
            let rise = widest / units.scale();
            if room == 0 || !settings.go_on(Stage::Curve, evaluations, rise) {
                self.error = self.error.max(widest);
                break;
            }
            let slopes: Vec<f64> = chosen.iter().map(Stretch::slope).collect();
            evaluations += slopes.len();
            let found = evaluate(&slopes);
            if found.len() < slopes.len() {
                // The engine was told to stop in the middle.
                self.error = self.error.max(widest);
                break;
            }
            for (Stretch { left, right, .. }, vertex) in chosen.into_iter().zip(found) {
                let above = vertex.line(right.cost) - vertex.excess - right.value;
                let slope = vertex.price.get();
                let size = left.value.abs().max(right.value.abs()).max(slope * left.cost);
                let between = vertex.cost > right.cost && vertex.cost < left.cost;
                if above > ROUNDING * size && between {
                    self.seen.push(vertex);
                    open.push(Stretch::new(left, vertex));
                    open.push(Stretch::new(vertex, right));
                } else {
                    self.straight.push(left.cost);
                }
            }
        }
        self
    }

    /// The widest stretches that may hold more than the tolerance, `count` at most but one in any
    /// case; those that hold nothing, or too little, are done with.
    fn widest(
        &mut self,
        open: &mut BinaryHeap<Stretch>,
        count: usize,
        max_radius: f64,
        limit: Option<f64>,
    ) -> Vec<Stretch> {
        let passes = |s: &Stretch| limit.is_none_or(|l| s.right.value <= l && l < s.left.value);
        let mut chosen = Vec::new();
        while chosen.len() < count.max(1)
            && let Some(stretch) = open.pop()
        {
            let (slope, elsewhere) = (stretch.slope(), !passes(&stretch));
            let Stretch { uncertainty, left, right } = stretch;
            if !(slope > left.price.get() && slope < right.price.get()) {
                self.straight.push(left.cost);
            } else if uncertainty <= self.tolerance || right.cost >= max_radius || elsewhere {
                self.error = self.error.max(uncertainty);
            } else {
                chosen.push(stretch);
            }
        }
        chosen
    }

    /// Vertices that were refined elsewhere, and how far the curve may be above their chords.
    pub fn with_error(self, error: f64) -> Self {
        Vertices { error, ..self }
    }

    /// Without an end that is no higher than what is before it, heights being of the size of 1: the
    /// curve was flat by then.
    pub fn without_flat_end(mut self) -> Self {
        self.seen.sort_unstable_by(|a, b| a.cost.total_cmp(&b.cost));
        while let [.., before, last] = &mut self.seen[..]
            && last.value - before.value <= ROUNDING
        {
            before.excess = before.excess.max(last.excess);
            before.price = last.price;
            self.seen.pop();
        }
        self
    }

    /// The curve in the user's units and direction.
    pub fn into_curve(mut self, units: ValueUnits) -> Curve {
        let factor = units.scale();
        self.seen.sort_unstable_by(|a, b| a.cost.total_cmp(&b.cost));
        self.straight.sort_unstable_by(f64::total_cmp);
        let straight = self
            .seen
            .iter()
            .skip(1)
            .map(|v| self.straight.binary_search_by(|cost| cost.total_cmp(&v.cost)).is_ok());
        let vertices = self.seen.iter().map(|v| CurveVertex {
            radius: v.cost,
            value: units.unscaled(v.value),
            lambda: v.price.get() / factor,
        });
        Curve {
            straight: straight.collect(),
            vertices: vertices.collect(),
            direction: units.direction,
            error: self.error / factor,
            excess: self.seen.iter().fold(0.0, |most, v| v.excess.max(most)) / factor,
            slack: 0.0,
            below: Vec::new(),
        }
    }
}

/// A curve of pieces `t + h/a`, `a = 1 − ε`, that sag below their chords, in a solver's units.
pub(super) struct Sagging {
    /// Radius, value and slope to the right.
    corners: Vec<(f64, f64, f64)>,
    below: Vec<(f64, f64)>,
    error: f64,
}

impl Sagging {
    /// From where it starts.
    pub fn new((radius, value): (f64, f64)) -> Self {
        Sagging { corners: vec![(radius, value, 0.0)], below: Vec::new(), error: 0.0 }
    }

    /// The next piece, by so many chords: those even in `1/√a` sag alike, by `h` times the square of
    /// their width in it.
    pub fn piece(&mut self, t: f64, h: f64, (a0, a1): (f64, f64), chords: usize) {
        if a1 >= a0 {
            return;
        }
        let (from, to) = (a0.sqrt().recip(), a1.sqrt().recip());
        let mut left = a0;
        for chord in 1..=chords {
            let root = from + (to - from) * (chord as f64 / chords as f64);
            let right = if chord == chords { a1 } else { root.powi(-2) };
            if let Some(last) = self.corners.last_mut() {
                last.2 = h / (left * left);
            }
            // The tangents at the two ends meet where a is their harmonic mean.
            let meet = 2.0 / (left.recip() + right.recip());
            self.below.push((1.0 - meet, t + h / left * (2.0 - meet / left)));
            self.corners.push((1.0 - right, t + h / right, 0.0));
            self.error = self.error.max(h * (right.sqrt().recip() - left.sqrt().recip()).powi(2));
            left = right;
        }
    }

    /// The curve in the user's units and direction.
    pub fn into_curve(self, units: ValueUnits) -> Curve {
        let vertex = |&(radius, value, slope): &(f64, f64, f64)| CurveVertex {
            radius,
            value: units.unscaled(value),
            lambda: slope / units.scale(),
        };
        Curve {
            vertices: self.corners.iter().map(vertex).collect(),
            straight: vec![true; self.corners.len() - 1],
            direction: units.direction,
            error: self.error / units.scale(),
            excess: 0.0,
            slack: 0.0,
            below: self.below.iter().map(|&(r, v)| (r, units.unscaled(v))).collect(),
        }
    }
}

impl Stretch {
    /// The slope of the chord: where to evaluate.
    fn slope(&self) -> f64 {
        (self.left.value - self.right.value) / (self.left.cost - self.right.cost)
    }

    fn new(left: Vertex, right: Vertex) -> Self {
        Stretch { uncertainty: uncertainty(&left, &right), left, right }
    }
}

impl Ord for Stretch {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_cost = || self.left.cost.total_cmp(&other.left.cost);
        self.uncertainty.total_cmp(&other.uncertainty).then_with(by_cost)
    }
}

impl PartialOrd for Stretch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Stretch {}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveVertex {
    /// The radius.
    pub radius: f64,
    /// The worst case at that radius.
    pub value: f64,
    /// The slope of a line through the point that the curve does not cross: how fast the worst
    /// case worsens. Of a curve that sags (CVaR), its slope to the right.
    pub lambda: f64,
}

/// The worst case at one radius, read off a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveValue {
    /// Interpolated between two vertices.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
}

/// Where a curve crosses a limit or another curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakdown {
    /// By interpolation; exact for an exact curve.
    pub radius: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this; infinite if it may never happen.
    pub upper: f64,
}

/// The worst case against the radius.
#[derive(Clone, Debug)]
pub struct Curve {
    vertices: Vec<CurveVertex>,
    /// For each vertex but the last: whether the curve is straight up to the next.
    straight: Vec<bool>,
    direction: Direction,
    error: f64,
    /// By how much the values may be too good: what inner maxima left open.
    excess: f64,
    /// By how much the values may be too bad: what the inner step left open.
    slack: f64,
    /// Where the tangents of a curve that sags below its chords meet, one for each stretch; none of a
    /// concave one.
    below: Vec<(f64, f64)>,
}

impl Curve {
    /// The vertices, by rising radius. The first is at radius 0, or, of a set that is about what is
    /// known of the target, at the least radius within which a population meets it; beyond the last
    /// the worst case worsens no more.
    pub fn vertices(&self) -> &[CurveVertex] {
        &self.vertices
    }

    /// How far the curve may be from straight lines between its vertices; 0 when it is exact.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Whether straight lines between the vertices are the whole truth.
    pub fn is_exact(&self) -> bool {
        self.error == 0.0 && self.excess == 0.0
    }

    /// The values may be too bad by up to this: what an inner step left open.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// The worst case at a radius `≥ 0`; not a number before the first vertex, where there is none.
    pub fn at(&self, radius: f64) -> CurveValue {
        let chord = self.chords().height(radius);
        let lines = if self.is_exact() { chord } else { self.lines().height(radius).max(chord) };
        let floor = if self.below.is_empty() { chord } else { self.floor().height(radius) };
        let (lower, upper) = self.direction.turned(floor.min(chord) - self.slack, lines);
        CurveValue { value: self.sign() * chord, lower, upper }
    }

    /// The same curve of values that may be too bad by up to `slack`.
    #[must_use]
    pub(crate) fn widened(self, slack: f64) -> Self {
        Curve { slack, ..self }
    }

    /// The smallest radius at which the worst case passes a limit; None if it never does.
    pub fn breakdown(&self, limit: f64) -> Option<Breakdown> {
        let limit = Polyline(vec![(0.0, self.sign() * limit)]);
        self.first_above([&limit, &limit, &limit])
    }

    /// The smallest radius at which this worst case is worse than another; None if it never is.
    pub fn breakdown_against(&self, other: &Curve) -> Option<Breakdown> {
        let chords = other.chords();
        self.first_above([&other.floor().lowered(other.slack), &chords, &other.lines()])
    }

    /// Where this curve passes another that is known from below, by interpolation and from above.
    fn first_above(&self, [below, other, above]: [&Polyline; 3]) -> Option<Breakdown> {
        let (chords, high) = (self.chords(), self.lines());
        let lower = high.first_above(below)?;
        let upper = self.floor().lowered(self.slack).first_above(above).unwrap_or(f64::INFINITY);
        let radius = chords.first_above(other).unwrap_or(upper);
        Some(Breakdown { radius, lower, upper }).filter(|b| b.radius.is_finite())
    }

    /// 1 where larger is worse, −1 where smaller is.
    fn sign(&self) -> f64 {
        self.direction.sign()
    }

    /// From below, larger being worse: the chords, or the tangents of a curve that sags.
    fn floor(&self) -> Polyline {
        let mut corners = self.chords().0;
        if !self.below.is_empty() {
            corners.extend(self.below.iter().map(|&(r, v)| (r, self.sign() * v)));
            corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Polyline(corners)
    }

    /// Straight lines between the vertices, larger being worse.
    fn chords(&self) -> Polyline {
        Polyline(self.vertices.iter().map(|v| (v.radius, self.sign() * v.value)).collect())
    }

    /// From above, larger being worse: the vertices' lines, cut where neighbours cross; the chords of a
    /// curve that sags.
    fn lines(&self) -> Polyline {
        let chords = self.chords();
        if self.is_exact() {
            return chords;
        }
        let mut lines = Vec::with_capacity(2 * chords.0.len());
        let stretches = chords.0.windows(2).zip(self.vertices.windows(2)).zip(&self.straight);
        for ((pair, vertex), straight) in stretches {
            lines.push(pair[0]);
            if *straight {
                continue;
            }
            let ((r0, v0), (r1, v1)) = (pair[0], pair[1]);
            let (steep, flat) = (vertex[0].lambda, vertex[1].lambda);
            if steep.is_infinite() {
                lines.push((r0, v1 - flat * (r1 - r0)));
            } else if steep > flat {
                let apart = v1 - flat * (r1 - r0) - v0;
                let over = (apart / (steep - flat)).clamp(0.0, r1 - r0);
                lines.push((r0 + over, v0 + steep * over));
            }
        }
        lines.extend(chords.0.last());
        Polyline(lines).lowered(-self.excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(vertices: &[(f64, f64, f64)], error: f64) -> Curve {
        let vertex = |&(radius, value, lambda): &_| CurveVertex { radius, value, lambda };
        let vertices: Vec<CurveVertex> = vertices.iter().map(vertex).collect();
        let straight = vec![error == 0.0; vertices.len() - 1];
        let direction = Direction::Cost;
        Curve { vertices, straight, direction, error, excess: 0.0, slack: 0.0, below: Vec::new() }
    }

    #[test]
    fn an_exact_curve_is_read_off_by_interpolation() {
        let c = curve(&[(0.0, 1.0, 4.0), (0.5, 2.0, 2.0), (2.0, 3.0, 0.0)], 0.0);
        assert_eq!(c.at(0.25), CurveValue { value: 1.5, lower: 1.5, upper: 1.5 });
        assert_eq!(c.at(9.0).value, 3.0);
        assert_eq!(c.breakdown(2.5).map(|b| b.radius), Some(1.25));
        assert_eq!(c.breakdown(0.5).map(|b| b.radius), Some(0.0));
        assert_eq!(c.breakdown(3.0), None);
    }

    #[test]
    fn a_curve_that_begins_later_says_nothing_before() {
        let c = curve(&[(0.5, 2.0, 2.0), (2.0, 3.0, 0.0)], 0.0);
        assert!(c.at(0.25).value.is_nan() && c.at(0.5).value == 2.0);
        assert_eq!(c.breakdown(1.0).map(|b| b.radius), Some(0.5));
        assert_eq!(c.breakdown(2.5).map(|b| b.radius), Some(1.25));
    }

    #[test]
    fn an_inexact_curve_lies_between_its_chords_and_its_lines() {
        // √ε at 0 (vertical) and at 1 (slope 1/2).
        let c = curve(&[(0.0, 0.0, f64::INFINITY), (1.0, 1.0, 0.5)], 0.5);
        let at = c.at(0.25);
        assert_eq!((at.lower, at.upper), (0.25, 0.625));
        assert!(at.lower <= 0.5 && 0.5 <= at.upper);
        let limit = c.breakdown(0.9).unwrap();
        assert!(limit.lower <= 0.81 && 0.81 <= limit.upper, "{limit:?}");
    }

    #[test]
    fn two_curves_cross_where_one_stops_beating_the_other() {
        let steady = curve(&[(0.0, 1.5, 0.5), (1.0, 2.0, 0.0)], 0.0);
        let fragile = curve(&[(0.0, 1.0, 2.0), (1.0, 3.0, 0.0)], 0.0);
        let radius = fragile.breakdown_against(&steady).unwrap().radius;
        assert!((radius - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(steady.breakdown_against(&fragile).unwrap().radius, 0.0);
        assert_eq!(steady.breakdown_against(&steady), None);
    }
}

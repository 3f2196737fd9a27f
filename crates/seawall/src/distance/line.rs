//! Populations on a line: the quantiles are coupled, in order.

use super::Distance;
use crate::ambiguity::{Move, Status};
use crate::kernel::metric::Metric;
use crate::population::Population;

/// The plan of two populations whose space is one feature of squared differences, none missing.
pub(super) fn coupled(from: &Population, to: &Population) -> Option<Vec<Move>> {
    let space = from.space();
    let on_a_line = matches!(space.metrics().as_slice(), [Metric::Square { .. }]);
    let place = if on_a_line { space.column(0) } else { return None };
    if place.iter().any(|x| x.is_nan()) {
        return None;
    }
    let sorted = |population: &Population| {
        let mut all: Vec<(f64, usize, f64)> = population
            .weights()
            .iter()
            .enumerate()
            .filter(|(_, p)| **p > 0.0)
            .map(|(i, p)| (place[i], i, *p))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    };
    let (a, b) = (sorted(from), sorted(to));
    let (mut i, mut j) = (0, 0);
    let (mut left, mut room) = (a[0].2, b[0].2);
    let mut plan = Vec::new();
    loop {
        let mass = left.min(room);
        if mass > 0.0 {
            let (from, to) = (a[i].1, b[j].1);
            plan.push(Move { from, to, mass, cost: space.cost(from, to) });
        }
        (left, room) = (left - mass, room - mass);
        if left <= room {
            i += 1;
            match a.get(i) {
                Some(next) => left = next.2,
                None => return Some(plan),
            }
        } else {
            j += 1;
            match b.get(j) {
                Some(next) => room = next.2,
                None => return Some(plan),
            }
        }
    }
}

/// The distance of a coupling of quantiles. Its potentials follow from the plan: along it
/// `φ_to − φ_from` rises as fast as the cost does.
pub(super) fn certified(from: &Population, to: &Population, plan: Vec<Move>) -> Distance {
    let value: f64 = plan.iter().map(|m| m.mass * m.cost).sum();
    let space = from.space();
    // Neighbours in the plan share a source or a target; a step along the staircase keeps both
    // pairs tight: φ_j' = φ_j + c(i, j') − c(i, j).
    let mut potentials = vec![f64::NAN; to.weights().len()];
    let mut before: Option<&Move> = None;
    for step in &plan {
        let phi = match before {
            None => 0.0,
            Some(last) if last.to == step.to => potentials[last.to],
            // A new target: from the source that serves both, or the last one.
            Some(last) => {
                potentials[last.to] + space.cost(last.from, step.to)
                    - space.cost(last.from, last.to)
            }
        };
        potentials[step.to] = phi;
        before = Some(step);
    }
    let mut best: Vec<(u32, f64)> = Vec::new();
    for (i, p) in from.weights().iter().enumerate().filter(|(_, p)| **p > 0.0) {
        let least = potentials
            .iter()
            .enumerate()
            .filter(|(_, phi)| !phi.is_nan())
            .map(|(j, phi)| space.cost(i, j) - phi)
            .fold(f64::INFINITY, f64::min);
        best.push((i as u32, p * least));
    }
    let reached = to
        .weights()
        .iter()
        .zip(&potentials)
        .filter(|(_, phi)| !phi.is_nan())
        .map(|(q, phi)| q * phi);
    let lower = best.iter().map(|b| b.1).sum::<f64>() + reached.sum::<f64>();
    let lower = lower.min(value);
    let optimal = value - lower <= 1e-10 * value.abs() || value - lower <= 1e-13;
    let status = if optimal { Status::Optimal } else { Status::Inexact };
    let space = space.clone();
    Distance { value, lower, upper: value, status, plan, potentials, space }
}

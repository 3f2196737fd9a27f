//! Populations on a line: the quantiles are coupled, in order, and the coupling is certified by an
//! envelope of parabolas. Both take `O(n log n)`.

use super::Distance;
use crate::ambiguity::{Move, Status};
use crate::kernel::envelope::Envelope;
use crate::kernel::metric::Metric;
use crate::population::Population;
use crate::space::Space;

/// Whether a space is one feature of squared differences, none missing.
pub(super) fn on_a_line(space: &Space) -> bool {
    let square = matches!(space.metrics().as_slice(), [Metric::Square { .. }]);
    square && !space.column(0).iter().any(|x| x.is_nan())
}

/// The plan of two populations on a line.
pub(super) fn coupled(from: &Population, to: &Population) -> Option<Vec<Move>> {
    let space = from.space();
    if !on_a_line(space) {
        return None;
    }
    let place = space.column(0);
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
    let weight = match space.metrics()[..] {
        [Metric::Square { weight, .. }] => weight,
        _ => 0.0,
    };
    let mut least = least(&space.column(0), weight, &potentials);
    // The pairs of the plan are tight; where rounding hid one from the envelope, it counts.
    for step in &plan {
        least[step.from] = least[step.from].min(step.cost - potentials[step.to]);
    }
    let sources = from.weights().iter().zip(&least).filter(|(p, _)| **p > 0.0);
    let left = sources.map(|(p, least)| p * least);
    let reached = to
        .weights()
        .iter()
        .zip(&potentials)
        .filter(|(_, phi)| !phi.is_nan())
        .map(|(q, phi)| q * phi);
    let lower = left.sum::<f64>() + reached.sum::<f64>();
    let lower = lower.min(value);
    let optimal = value - lower <= 1e-10 * value.abs() || value - lower <= 1e-13;
    let status = if optimal { Status::Optimal } else { Status::Inexact };
    let space = space.clone();
    Distance { value, lower, upper: value, status, plan, potentials, space }
}

/// `min_j weight (x_i − x_j)² − φ_j` for every point, over those whose φ is no NaN: the lower
/// envelope of parabolas.
fn least(places: &[f64], weight: f64, potentials: &[f64]) -> Vec<f64> {
    let height = |j: usize| if potentials[j].is_nan() { f64::NEG_INFINITY } else { potentials[j] };
    if weight <= 0.0 {
        let highest = (0..places.len()).map(height).fold(f64::NEG_INFINITY, f64::max);
        return vec![-highest; places.len()];
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by(|&a, &b| places[a].total_cmp(&places[b]).then(a.cmp(&b)));
    let sorted: Vec<f64> = order.iter().map(|&i| places[i]).collect();
    let heights: Vec<f64> = order.iter().map(|&i| height(i)).collect();
    let mut least = vec![f64::INFINITY; places.len()];
    Envelope::default().build(&sorted, &heights, weight, |i, j| {
        let apart = sorted[i] - sorted[j];
        least[order[i]] = weight * apart * apart - heights[j];
    });
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_envelope_finds_what_looking_at_all_pairs_finds(
            points in proptest::collection::vec((0..60i32, -20..20i32, any::<bool>()), 1..40),
            fine in any::<bool>(),
            weight in prop_oneof![Just(0.0), Just(1.0), 1e-3..50.0f64],
        ) {
            let place = |k: i32| if fine { f64::from(k) * 0.37 } else { f64::from(k / 8) };
            let places: Vec<f64> = points.iter().map(|p| place(p.0)).collect();
            let potential = |p: &(i32, i32, bool)| if p.2 { f64::NAN } else { 0.3 * f64::from(p.1) };
            let mut potentials: Vec<f64> = points.iter().map(potential).collect();
            potentials[0] = 0.5;
            let found = least(&places, weight, &potentials);
            for (x, found) in places.iter().zip(&found) {
                let all = places.iter().zip(&potentials).filter(|(_, phi)| !phi.is_nan());
                let truth = all.map(|(z, phi)| weight * (x - z) * (x - z) - phi);
                let truth = truth.fold(f64::INFINITY, f64::min);
                prop_assert!((found - truth).abs() <= 1e-12 * (1.0 + truth.abs()), "{found} {truth}");
            }
        }
    }
}

//! The worst case against the radius of a set that is solved anew at each radius.
//!
//! Every solve gives a point of the curve and a line above it (its dual point is feasible at any radius,
//! and its value there is no higher than that line). Between two neighbours the curve is between their
//! chord and their lines; the next radius is where the lines of the widest stretch cross.

use super::curve::{Curve, Vertices};
use super::settings::Settings;
use super::values::Units;
use crate::error::Result;
use crate::kernel::bracket::{Vertex, uncertainty};
use crate::progress::Stage;

/// Solves at most: a curve is told to what error they leave.
const SOLVES: usize = 48;

/// The curve between two ends, to a tolerance in heights or as close as so many solves come.
pub(super) fn curve_by_solves(
    (start, end): (Vertex, Vertex),
    tolerance: f64,
    settings: Settings<'_>,
    units: Units,
    solve: &mut dyn FnMut(f64) -> Result<Vertex>,
) -> Result<Curve> {
    let mut seen = if end.cost > start.cost { vec![start, end] } else { vec![start] };
    let limit = settings.crossing.map(|value| units.scaled(value));
    let most = settings.max_vertices.min(SOLVES);
    let error = loop {
        let open = |pair: &[Vertex]| {
            let inside = limit.is_none_or(|l| pair[0].value <= l && l < pair[1].line(pair[1].cost));
            inside && pair[0].cost < settings.max_radius
        };
        let width = |at: usize| uncertainty(&seen[at + 1], &seen[at]);
        let all = || (0..seen.len() - 1).map(|at| (width(at), at));
        let widest = all()
            .filter(|(_, at)| open(&seen[*at..at + 2]))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let left = all().map(|(width, _)| width).fold(0.0, f64::max);
        let Some((widest, at)) = widest.filter(|(widest, _)| *widest > tolerance) else {
            break left;
        };
        let solves = seen.len() - 2;
        if solves >= most || !settings.go_on(Stage::Curve, solves, widest / units.scale()) {
            break left;
        }
        let radius = between(&seen[at], &seen[at + 1]);
        if !(radius > seen[at].cost && radius < seen[at + 1].cost) {
            break left;
        }
        let mut found = solve(radius)?;
        // A point between two is not below their chord, nor above what follows.
        found.value = found.value.min(seen[at + 1].value).max(seen[at].value);
        seen.insert(at + 1, found);
    };
    Ok(Vertices::new(seen, tolerance).with_error(error).into_curve(units))
}

/// The radius at which the lines of two neighbours cross, not too near either.
fn between(low: &Vertex, high: &Vertex) -> f64 {
    let width = high.cost - low.cost;
    let slope = (high.value - low.value) / width;
    let (steep, flat) = (low.price.get(), high.price.get());
    let share =
        if steep.is_finite() && steep > flat { (slope - flat) / (steep - flat) } else { 0.0 };
    low.cost + width * share.clamp(0.02, 0.9)
}

//! The least radius of a set whose worst case reaches a value.
//!
//! ```text
//! ε = min { ε ≥ 0 : V(ε) ≥ v }        (costs; rewards turned round)
//! ```
//!
//! The curve, refined where it passes the value, says it exactly for sets whose curve is made of
//! straight lines. A smooth curve says it to its tolerance, so what it says is polished by solves: V is
//! increasing, so false position between two radii of which one is too small and one large enough.

use super::curve::{Breakdown, Curve};
use super::values::Direction;
use super::worst_case::{Status, WorstCase};
use crate::error::{Error, Result};

/// A worst case reaches a value that it is below by no more than this share of it.
const REACHES: f64 = 1e-8;
/// Solves that polish a radius at most.
const POLISHES: usize = 60;
/// A radius is settled once its bracket is no wider than this share of it.
const SETTLED: f64 = 1e-9;

/// Where a worst case reaches a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeastRadius {
    /// At this radius.
    At(f64),
    /// Nowhere: this is the worst that it gets.
    Never(f64),
}

/// The least radius at which a curve reaches a value, `solve` being the worst case at a radius.
pub fn least_radius(
    curve: &Curve,
    direction: Direction,
    value: f64,
    solve: &dyn Fn(f64) -> Result<WorstCase>,
) -> Result<LeastRadius> {
    let sign = direction.sign();
    let Some(first) = curve.vertices().first() else {
        return Err(Error::internal("a curve without a vertex"));
    };
    let most = curve.vertices().last().map_or(first.value, |v| v.value);
    if sign * (first.value - value) >= 0.0 {
        return Ok(LeastRadius::At(first.radius));
    }
    let Some(found) = curve.breakdown(value) else { return Ok(LeastRadius::Never(most)) };
    if curve.is_exact() {
        Ok(LeastRadius::At(found.radius))
    } else {
        polished(curve, found, (sign, value), solve).map(LeastRadius::At)
    }
}

/// The radius at which the worst case itself is the value, between those that the curve leaves open.
fn polished(
    curve: &Curve,
    found: Breakdown,
    (sign, value): (f64, f64),
    solve: &dyn Fn(f64) -> Result<WorstCase>,
) -> Result<f64> {
    let end = curve.vertices().last().map_or(found.radius, |v| v.radius);
    // By how much the worst case is beyond the value.
    let beyond = |radius: f64| -> Result<f64> {
        let worst = solve(radius)?;
        match worst.status() {
            Status::Stopped => Err(Error::stopped()),
            _ => Ok(sign * (worst.value() - value)),
        }
    };
    let near = REACHES * value.abs().max(f64::MIN_POSITIVE);
    let at = beyond(found.radius)?;
    if at.abs() <= near {
        return Ok(found.radius);
    }
    let (mut low, mut high) = if at < 0.0 {
        let upper = if found.upper.is_finite() { found.upper } else { end };
        ((found.radius, at), (upper.max(found.radius), f64::NAN))
    } else {
        ((found.lower.min(found.radius), f64::NAN), (found.radius, at))
    };
    if high.1.is_nan() {
        high.1 = beyond(high.0)?;
    }
    if low.1.is_nan() {
        low.1 = beyond(low.0)?;
    }
    // What the curve says is a bound but for rounding: then that end is the answer.
    if high.1 < 0.0 {
        return Ok(high.0);
    }
    if low.1 >= 0.0 {
        return Ok(low.0);
    }
    for step in 0..POLISHES {
        if high.0 - low.0 <= SETTLED * high.0 || high.1 <= near {
            break;
        }
        // Every other step halves, so that a curve that bends sharply does not hold it up.
        let straight = low.0 + (high.0 - low.0) * (-low.1 / (high.1 - low.1));
        let middle = 0.5 * (low.0 + high.0);
        let radius =
            if step % 2 == 0 && straight > low.0 && straight < high.0 { straight } else { middle };
        let at = beyond(radius)?;
        // False position comes from below: close enough is reached.
        if at.abs() <= near {
            return Ok(radius);
        }
        if at < 0.0 { low = (radius, at) } else { high = (radius, at) }
    }
    Ok(high.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ambiguity::{Problem, Set, Settings};
    use crate::population::Population;
    use crate::space::{Feature, Space};
    use std::sync::Arc;

    /// A loss over a grid of 12 places, of which four were never seen.
    fn population() -> (Population, Vec<f64>) {
        let space = Space::grid([
            Feature::numeric("age").levels([30.0, 40.0, 50.0, 60.0]),
            Feature::nominal("sex", ["F", "M", "X"]),
        ]);
        let counts = [31, 7, 0, 12, 40, 9, 3, 0, 0, 25, 14, 0];
        let loss = (0..12).map(|k| 1.0 + f64::from(k * k % 7) / 3.0 + 0.1 * f64::from(k)).collect();
        (Population::from_counts(Arc::new(space.unwrap()), &counts).unwrap(), loss)
    }

    #[test]
    fn the_least_radius_reaches_the_value_and_less_does_not() {
        let (seen, loss) = population();
        let all = Set::names().map(|name| Set::example(name, &[]).unwrap());
        let usual = |set: &Set| !set.is_smoothed() && !set.needs_known() && !set.needs_actions();
        for set in all.filter(usual) {
            for direction in [Direction::Cost, Direction::Reward] {
                let problem = Problem::new(&seen, &loss).unwrap().direction(direction);
                check(set, &problem, direction);
            }
        }
    }

    fn check(set: Set, problem: &Problem<'_>, direction: Direction) {
        // Some sets are beyond the log's own value already at radius 0.
        let first = set.at(0.0).worst_case(problem, Settings::default());
        let (nominal, sign) = (first.map_or(problem.nominal(), |w| w.value()), direction.sign());
        let tolerance = if set.has_exact_curve() { 0.0 } else { 1e-9 };
        let mut last = 0.0;
        for step in 1..=8 {
            let value = nominal + sign * 0.05 * f64::from(step);
            let settings = Settings { crossing: Some(value), ..Settings::default() };
            let Ok(mut solver) = set.solver(problem, settings) else { return };
            let curve = solver.curve(tolerance).unwrap();
            let solve = |radius: f64| set.at(radius).worst_case(problem, Settings::default());
            let LeastRadius::At(radius) = least_radius(&curve, direction, value, &solve).unwrap()
            else {
                let most = sign * curve.vertices().last().unwrap().value;
                assert!(most <= sign * value, "{set}: {most} does not reach {value}");
                continue;
            };
            assert!(radius > last, "{set}: {radius} after {last}");
            last = radius;
            let beyond = |radius: f64| sign * (solve(radius).unwrap().value() - value);
            assert!(
                beyond(radius).abs() <= 1e-6 * value.abs(),
                "{set} at {radius}: {}",
                beyond(radius)
            );
            assert!(beyond(0.999 * radius) < 0.0, "{set} reaches {value} before {radius}");
        }
        assert!(last > 0.0, "{set} reaches nothing");
    }

    #[test]
    fn what_is_reached_at_once_needs_no_radius_and_what_never_is_has_none() {
        let (seen, loss) = population();
        let set: Set = "kl".parse().unwrap();
        let problem = Problem::new(&seen, &loss).unwrap();
        let curve = set.solver(&problem, Settings::default()).unwrap().curve(1e-6).unwrap();
        let solve = |radius: f64| set.at(radius).worst_case(&problem, Settings::default());
        let least = |value: f64| least_radius(&curve, Direction::Cost, value, &solve).unwrap();
        assert!(matches!(least(problem.nominal() - 0.1), LeastRadius::At(radius) if radius == 0.0));
        // Places that were never seen are out of reach.
        assert!(matches!(least(100.0), LeastRadius::Never(most) if most < 4.0));
    }
}

//! Where the slider stops: radii at which everything on the page is solved for, exactly.

use crate::words::number;
use seawall::{Layout, Set, Space};

/// Steps between 0 and the largest radius.
const STEPS: usize = 100;
/// Steps where a solve takes long.
const FEW_STEPS: usize = 25;
/// Points of a grid above which a solve takes long.
const LARGE: usize = 20_000;
/// Pairs of scattered points above which it does.
const MANY_PAIRS: usize = 500 * 500;

/// The slider's stops, and the largest radius of the charts.
#[derive(Clone, Debug)]
pub struct Stops {
    /// Where it stops.
    pub radii: Vec<f64>,
    /// The largest radius of the charts.
    pub largest: f64,
}

impl Stops {
    /// Stops from 0 to somewhat beyond the largest of `wanted`, those among them; fewer where a
    /// solve is `slow`. They are closer together near 0, where worst cases change fastest: the squares
    /// of even steps.
    pub(super) fn new(wanted: &[f64], slow: bool) -> Self {
        let most = wanted.iter().copied().fold(0.0, f64::max);
        let largest = if most > 0.0 { nice(1.2 * most) } else { 0.1 };
        let steps = if slow { FEW_STEPS } else { STEPS };
        let mut radii: Vec<f64> =
            (0..=steps).map(|k| round(largest * (k as f64 / steps as f64).powi(2))).collect();
        radii.extend(wanted.iter().map(|r| shown(*r)));
        radii.sort_unstable_by(f64::total_cmp);
        radii.dedup();
        Stops { radii, largest }
    }

    /// The stop nearest to a radius.
    pub fn nearest(&self, radius: f64) -> usize {
        let apart = |k: &usize| (self.radii[*k] - radius).abs();
        (0..self.radii.len()).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(0)
    }

    /// The stops at these radii.
    pub(super) fn of(&self, radii: &[f64]) -> Vec<f64> {
        radii.iter().map(|r| self.radii[self.nearest(*r)]).collect()
    }
}

/// Whether one solve on a space takes long.
pub(super) fn slow(space: &Space, set: Set) -> bool {
    let points = space.len();
    let many = match space.layout() {
        Layout::Grid(_) => points > LARGE,
        Layout::Points(_) => points.saturating_mul(points) > MANY_PAIRS,
    };
    // Sets whose worst case is smooth sum over every pair of places.
    many || (set.moves_mass() && !set.has_exact_curve())
}

/// The radius as it is shown, so that who types it in asks for the very same.
fn shown(radius: f64) -> f64 {
    number(radius).parse().unwrap_or(radius)
}

/// A radius of three digits.
fn round(radius: f64) -> f64 {
    to_three_digits(radius, f64::round)
}

/// The next radius upwards that has three digits.
pub fn round_up(radius: f64) -> f64 {
    to_three_digits(radius, |units| (units * (1.0 - 1e-12)).ceil())
}

fn to_three_digits(radius: f64, whole: impl Fn(f64) -> f64) -> f64 {
    if radius == 0.0 {
        return 0.0;
    }
    let digits = 10f64.powf(2.0 - radius.log10().floor());
    shown(whole(radius * digits) / digits)
}

/// The next number upwards of the form 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
pub fn nice(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    let found = steps.iter().map(|s| s * power).find(|s| *s >= x * (1.0 - 1e-12));
    shown(found.unwrap_or(10.0 * power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_hold_what_is_wanted_and_read_as_they_are() {
        let stops = Stops::new(&[0.03, 0.1, 0.029_731_123_9], false);
        assert_eq!(stops.largest, 0.12);
        assert!(stops.radii.contains(&0.03) && stops.radii.contains(&0.029_731_1));
        assert!(stops.radii.iter().all(|r| number(*r).parse() == Ok(*r)));
        assert_eq!(stops.radii[stops.nearest(0.1)], 0.1);
        assert_eq!(Stops::new(&[0.0], true).radii.len(), FEW_STEPS + 1);
        // Near radii have more stops of their own than far ones.
        let near = stops.radii.iter().filter(|r| **r <= 0.03).count();
        assert!(near > stops.radii.len() / 2 - 2, "{near} of {}", stops.radii.len());
        assert_eq!((round_up(0.029_731), round_up(0.03), round(0.029_731)), (0.0298, 0.03, 0.0297));
        assert_eq!((nice(0.36), nice(1.0), nice(9.1)), (0.4, 1.0, 10.0));
    }
}

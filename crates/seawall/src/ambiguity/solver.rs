//! Solves one problem over sets of one kind at any number of radii.

use super::Set;
use super::curve::Curve;
use super::set::Argument;
use super::worst_case::WorstCase;
use crate::error::{Error, Field, Result};

/// What every set's solver answers. The radius and the tolerance were checked.
pub(super) trait Solve: Send {
    /// The worst case at a radius.
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase>;

    /// The value at radius 0; not a number where the set is empty there.
    fn value_at_zero(&self) -> f64;

    /// The whole curve to a tolerance.
    fn curve(&mut self, tolerance: f64) -> Result<Curve>;
}

/// Solves one problem over sets of one kind at any number of radii: evaluations are shared
/// between them.
pub struct Solver<'a> {
    inner: Box<dyn Solve + 'a>,
    set: Set,
}

impl<'a> Solver<'a> {
    pub(super) fn new(inner: Box<dyn Solve + 'a>, set: Set) -> Self {
        Solver { inner, set }
    }

    /// The worst case at a radius; of a set that is about what is known of the target it may be
    /// infinite.
    pub fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        self.set.check_radius(radius)?;
        let worst = self.inner.worst_case(radius)?;
        if !(worst.lower().is_finite() && worst.upper().is_finite()) {
            let radius = Argument::Number(radius);
            return Err(Error::input(format!(
                "at radius {radius} the bounds of {} are no numbers: the values, costs or weights \
                 are out of scale with each other, or with the radius; give them in other units",
                self.set
            )));
        }
        Ok(worst)
    }

    /// The value at radius 0: the nominal mean, unless moves are free (a feature of weight 0,
    /// points in the same place) or the set is smoothed; not a number where nothing that meets what
    /// is known of the target is as near.
    pub fn value_at_zero(&self) -> f64 {
        self.inner.value_at_zero()
    }

    /// The whole curve to a tolerance in the values' units.
    ///
    /// A tolerance of 0 asks for the exact curve, which only some sets have
    /// ([`Set::has_exact_curve`](super::Set::has_exact_curve)); the others' are smooth and need a
    /// positive one.
    pub fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let smooth = !self.set.has_exact_curve();
        if !(tolerance >= 0.0 && tolerance.is_finite()) || (smooth && tolerance == 0.0) {
            let least = if smooth { "> 0 for a smooth curve" } else { "≥ 0" };
            return Err(Error::field(
                Field::Tolerance,
                format!("of the curve is {tolerance}; expected a finite number {least}"),
            ));
        }
        self.inner.curve(tolerance)
    }
}

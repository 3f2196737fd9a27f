//! What a set's solver answers; and the curve and the certificate of every solver that can be asked at a
//! price.

use super::curve::{Curve, Vertices};
use super::plan::Plan;
use super::settings::Settings;
use super::values::ValueUnits;
use super::worst_case::{Certificate, WorstCase};
use crate::error::Result;
use crate::kernel::bracket::Vertex;
use crate::population::Population;

/// What every set's solver answers. The radius and the tolerance were checked.
pub(super) trait Solve: Send {
    /// The worst case at a radius.
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase>;

    /// The value at radius 0; not a number where the set is empty there.
    fn value_at_zero(&self) -> f64;

    /// The whole curve to a tolerance.
    fn curve(&mut self, tolerance: f64) -> Result<Curve>;
}

/// Bounds in a solver's units, the plan that attains the lower one, and the population that the plan starts
/// from.
pub(super) struct Solution {
    pub certificate: Certificate,
    pub plan: Plan,
    pub nominal: Population,
}

impl Solution {
    /// The worst case in the user's units and direction.
    pub fn into_worst_case(self, units: ValueUnits, settings: &Settings<'_>) -> WorstCase {
        self.certificate.into_worst_case(units, &self.nominal, settings, self.plan)
    }
}

/// A dual function of the price λ that shows its value and its slope: each price gives a point of the
/// concave curve `V(ε)` and a line of slope λ above it, so that one refinement follows every such curve.
///
/// Heights are values as the solver sees them: larger is worse, and the largest size is in [1, 2)
/// ([`ValueUnits`] turns them back). A [`Vertex`] is a price with what its population spends (`cost`, in the units
/// of the radius) and reaches (`height`). A plan lists moves of mass with what each costs: masses sum to 1, and
/// `Σ mass · cost` is what was spent; with [`Detail::Value`](super::settings::Detail::Value) it may be empty.
pub(super) trait PriceOracle: Send {
    /// What turns values into heights.
    fn units(&self) -> ValueUnits;

    /// The worst case at a radius, in heights.
    fn solution(&mut self, radius: f64) -> Result<Solution>;

    /// The height at radius 0.
    fn start(&self) -> f64;

    /// The two ends of the curve, the dearer first; one vertex where nothing can be lost.
    fn ends(&mut self) -> Vec<Vertex>;

    /// The vertices at several prices; fewer if the watch said stop.
    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex>;

    /// Vertices of a curve that are worth their evaluations.
    fn most_vertices(&self) -> usize {
        usize::MAX
    }
}

/// The solver of a dual that is asked at prices.
pub(super) struct PricedSolver<'a, O> {
    oracle: O,
    settings: Settings<'a>,
}

impl<'a, O: PriceOracle> PricedSolver<'a, O> {
    pub fn new(oracle: O, settings: Settings<'a>) -> Self {
        PricedSolver { oracle, settings }
    }
}

impl<O: PriceOracle> Solve for PricedSolver<'_, O> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let solution = self.oracle.solution(radius)?;
        Ok(solution.into_worst_case(self.oracle.units(), &self.settings))
    }

    fn value_at_zero(&self) -> f64 {
        self.oracle.units().unscaled(self.oracle.start())
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let (units, mut settings) = (self.oracle.units(), self.settings);
        settings.max_vertices = settings.max_vertices.min(self.oracle.most_vertices());
        // From its two ends alone, so that it does not depend on what was asked before.
        let vertices = Vertices::new(self.oracle.ends(), tolerance * units.scale());
        let vertices = vertices.refine(settings, units, |prices| self.oracle.vertices(prices));
        Ok(vertices.into_curve(units))
    }
}

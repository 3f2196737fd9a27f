//! What each source reaches at a price: all that a solver of moved mass knows of a support.
//!
//! On a support that is listed an [`Engine`](super::Engine) finds the best of its points for every
//! source; on the whole of a space there are no points to list, and a place is known by how it was
//! reached. Either way the solver sees costs and heights, and asks for a plan once it knows which
//! way every source goes.

use super::plan::Plan;
use super::values::ValueUnits;
use crate::error::Result;
use crate::kernel::order::Price;
use crate::population::Population;

/// The two sums at a price, and by how much the sum of maxima may be higher.
#[derive(Clone, Copy, Debug)]
pub(super) struct OracleSums {
    pub value: f64,
    pub cost: f64,
    pub excess: f64,
}

/// Where one source goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment {
    /// The place, by what the support calls it for this source.
    pub to: u32,
    /// What a unit of mass pays.
    pub cost: f64,
    /// The height there.
    pub height: f64,
}

/// Where every source goes, and perhaps one whose mass is split: which, the share that goes elsewhere, and
/// where.
pub(super) struct AssignmentPlan {
    pub to: Vec<u32>,
    pub split: Option<(usize, f64, u32)>,
}

impl AssignmentPlan {
    /// Each source with its mass and where that goes; the one that is split twice.
    pub fn moves<'w>(
        &'w self,
        mass: impl Fn(usize) -> f64 + Copy + 'w,
    ) -> impl Iterator<Item = (usize, f64, u32)> + 'w {
        let share = |s: usize| self.split.filter(|split| split.0 == s).map_or(0.0, |s| s.1);
        let stay = self.to.iter().enumerate();
        let stay = stay.map(move |(s, to)| (s, mass(s) * (1.0 - share(s)), *to));
        stay.chain(self.split.map(|(s, share, to)| (s, mass(s) * share, to)))
    }
}

/// The inner maxima of the dual, source by source, whatever the support is.
pub(super) trait TransportOracle: Send {
    /// How many sources there are.
    fn len(&self) -> usize;

    /// The mass of a source.
    fn mass(&self, source: usize) -> f64;

    /// The dual at λ = ∞: everyone stays, unless there are moves that cost nothing.
    fn start(&mut self) -> OracleSums;

    /// The sums at a price.
    fn evaluate(&mut self, price: Price) -> OracleSums;

    /// The same at several prices.
    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<OracleSums> {
        prices.iter().map(|&price| self.evaluate(price)).collect()
    }

    /// Where each source goes at a price.
    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>>;

    /// The plan of these ways, and the population that mass comes from on the plan's points.
    fn plan(&mut self, ways: AssignmentPlan) -> Result<(Plan, Population)>;

    /// The population that mass comes from.
    fn population(&self) -> &Population;

    /// Whether mass may go anywhere in the space, listed or not.
    fn is_anywhere(&self) -> bool {
        true
    }

    /// Vertices of a curve that are worth their evaluations.
    fn vertices(&self) -> usize {
        usize::MAX
    }

    /// Which engine it is.
    fn engine(&self) -> &'static str;

    /// What turns values into heights.
    fn units(&self) -> ValueUnits;

    /// Whether an answer was given up because a watch said stop.
    fn stopped(&self) -> bool;

    /// Gives back memory that only evaluations need.
    fn rest(&mut self) {}
}

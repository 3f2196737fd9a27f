//! What is asked of a study.

use super::By;
use crate::prepare::PreparedStudy;
use crate::reference::Bounded;
use crate::study::{PolicySpec, SetSpec};
use seawall::evaluate::{Robust, Support};

/// Past so many vertices the exact curve is left unfinished, and its error said.
const CURVE_VERTICES: usize = 20_000;
/// Steps of evaluations that a curve may take which was not asked for; and vertices that it has in
/// any case.
const UNASKED: f64 = 3e9;
const FEW_VERTICES: usize = 24;
/// Sample splits where nobody says otherwise, at most.
pub const HALVINGS: usize = 20;

/// What is asked of a study.
#[derive(Clone, Debug)]
pub struct Question {
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// The set of contexts and its radii.
    pub context: SetSpec,
    /// The set of outcomes and its radii.
    pub cost: SetSpec,
    /// Which contexts mass may move to.
    pub support: Support,
    /// Whether the policies are compared with each other.
    pub compare: bool,
    /// The level of every interval.
    pub level: f64,
    /// A column by whose levels the same is asked, too.
    pub by: Option<By>,
    /// How much is noise, by halves of the rows; None if nobody wants to know.
    pub halves: Option<Halving>,
    /// What is wanted beside values and bounds.
    pub wanted: Wanted,
    /// The probability of error δ of finite-sample bounds, if wanted.
    pub bounds: Option<f64>,
}

/// What is wanted of an evaluation beside values and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Whether the curves are wanted, as exact as they can be.
    pub curve: bool,
    /// Curves are wanted up to this radius.
    pub curve_up_to: f64,
    /// Whether the worst-case populations will be looked at.
    pub worst: bool,
    /// Where there are many radii, those whose limits are solved for and not interpolated: the ones that
    /// somebody named.
    pub named_radii: Vec<f64>,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { curve: false, curve_up_to: f64::INFINITY, worst: true, named_radii: Vec::new() }
    }
}

/// How the rows are halved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// Halvings.
    pub count: usize,
    /// The level of the limits.
    pub level: f64,
    /// The seed.
    pub seed: u64,
    /// Whether there may be fewer where a solve takes long, or none: nobody asked for so many.
    pub fewer: bool,
}

impl Default for Halving {
    fn default() -> Self {
        Halving { count: HALVINGS, level: 0.95, seed: 1, fewer: true }
    }
}

impl Question {
    /// What the study file asks.
    pub fn from_study(prepared: &PreparedStudy) -> Self {
        let study = &prepared.study;
        Question {
            policies: study.policies.clone(),
            context: study.context_set.clone(),
            cost: study.cost_set.clone(),
            support: study.data.support,
            compare: true,
            level: 0.95,
            by: None,
            halves: Some(Halving::default()),
            wanted: Wanted::default(),
            bounds: None,
        }
    }

    /// The set of contexts, with the radii of single columns.
    pub(crate) fn within(&self) -> Bounded<'_> {
        Bounded { set: self.context.set, column_radii: &self.context.column_radii }
    }

    /// Whether outcomes given contexts may shift.
    pub(super) fn shifts_outcomes(&self) -> bool {
        !self.cost.set.stays_at_zero() || self.cost.radii.iter().any(|r| *r > 0.0)
    }

    /// Whether policies are compared, there being several.
    pub(super) fn compares(&self) -> bool {
        self.compare && self.policies.len() > 1
    }

    /// Vertices of a curve at most: where it was not asked for, as many as take little time.
    pub(super) fn vertices(&self, robust: &Robust) -> usize {
        if self.wanted.curve {
            return CURVE_VERTICES;
        }
        ((UNASKED / robust.work()) as usize).clamp(FEW_VERTICES, CURVE_VERTICES)
    }
}

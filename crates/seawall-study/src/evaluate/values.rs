//! One worst case as plain data: the shift, the bounds, how it was solved, and how much of it is noise.

use super::Question;
use super::answer::{by_name, set_name};
use super::claims::Claims;
use crate::words::radius;
use seawall::evaluate::{JointEstimate, Support};
use seawall::inference::Limits;
use seawall::{CertifiedValue, Set, WorstCase};
use serde::Serialize;

/// One worst case.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RobustValue {
    /// The populations that it is the worst case of.
    #[serde(flatten)]
    pub shift: ShiftFacts,
    /// The worst case with its bounds.
    #[serde(flatten)]
    pub worst: CertifiedValue,
    /// How it was solved.
    #[serde(flatten)]
    pub solve: SolveFacts,
    /// Under a set of people with their outcomes: the value as an estimate, with its standard error and
    /// the interval that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<JointEstimate>,
    /// How much of it is noise.
    #[serde(flatten)]
    pub noise: ValueNoise,
    /// What is claimed with confidence, or why nothing is.
    #[serde(flatten)]
    pub claims: Claims,
}

/// A worst case before anything is known of its noise.
#[derive(Clone, Debug)]
pub(super) struct SolvedShift {
    pub(super) shift: ShiftFacts,
    pub(super) worst: CertifiedValue,
    pub(super) solve: SolveFacts,
    pub(super) estimate: Option<JointEstimate>,
}

/// The populations that a worst case is over: the sets of contexts and of outcomes, and their radii.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShiftFacts {
    /// The set of contexts.
    #[serde(serialize_with = "set_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub set: Set,
    /// Its radius; infinite (null) where there is none.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub radius: f64,
    /// What moves along single columns may cost on average, where that is said by column.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub column_radii: Vec<(String, f64)>,
    /// The set of outcomes.
    #[serde(serialize_with = "set_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cost_set: Set,
    /// Its radius.
    pub cost_radius: f64,
    /// The sharpness of an entropic set of contexts.
    pub eta: Option<f64>,
    /// The sharpness of an entropic set of outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_eta: Option<f64>,
    /// Which contexts mass may move to.
    pub support: Support,
}

/// How a worst case was solved, and what there is to know of its population.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SolveFacts {
    /// How fast the worst case worsens with the radius; None where it is infinite.
    pub lambda: Option<f64>,
    /// What found the inner maxima: `grid`, `tree` or `scan` on a listed support; `boxes`, `separable` or
    /// `descent` (of many trees together) on the whole space; None for a set that has none.
    pub engine: Option<&'static str>,
    /// Evaluations of the dual.
    pub evaluations: usize,
    /// The share of the worst-case population on contexts never observed.
    pub unobserved_mass: f64,
    /// Under a set that is about a person's outcomes under every action: the worst case if these went
    /// together as kindly as they can. The value has them go together as badly; no data say which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_coupling: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
}

/// How much of a worst case is noise, by sample splits: nothing without them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValueNoise {
    /// What the population found on one part of the rows costs on the other; None without splits.
    pub held_out: Option<HeldOutEstimate>,
    /// Confidence limits of the worst case; None without splits.
    pub limits: Option<Limits>,
    /// The standard error of the plug-in value, by half-samples.
    #[serde(skip)]
    pub plug_in_se: Option<f64>,
}

/// What the worst population found on one part of the rows costs on the other, over many sample splits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOutEstimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

impl HeldOutEstimate {
    /// Of the other end of a difference.
    pub(super) fn turned(self) -> Self {
        HeldOutEstimate { value: -self.value, se: self.se }
    }
}

impl ShiftFacts {
    pub(super) fn new(
        question: &Question,
        radius: f64,
        cost_radius: f64,
        support: Support,
    ) -> Self {
        ShiftFacts {
            set: question.context.set,
            radius,
            column_radii: question.context.column_radii.clone(),
            cost_set: question.cost.set,
            cost_radius,
            eta: question.context.set.parameter("eta"),
            cost_eta: question.cost.set.parameter("eta"),
            support,
        }
    }

    /// The radius for people: `0.03`, `by column`, `no radius`.
    pub fn radius_words(&self) -> String {
        if self.column_radii.is_empty() { radius(self.radius) } else { "by column".to_owned() }
    }
}

impl SolveFacts {
    /// Of a worst case whose costs may be smoothed by so much, on the safe side.
    pub(crate) fn new(case: &WorstCase, safe_side: f64) -> Self {
        let smoothed = case.smoothed();
        let (lower, upper) =
            smoothed.map_or((case.lower(), case.upper()), |s| (s.exact_lower, s.exact_upper));
        let smoothed = smoothed.is_some() || safe_side != 0.0;
        SolveFacts {
            lambda: Some(case.lambda()).filter(|l| l.is_finite()),
            engine: case.engine(),
            evaluations: case.evaluations(),
            unobserved_mass: case.unobserved_mass(),
            best_coupling: case.best_coupling(),
            exact_lower: smoothed.then(|| lower + safe_side.min(0.0)),
            exact_upper: smoothed.then(|| upper + safe_side.max(0.0)),
        }
    }
}

impl SolvedShift {
    pub(super) fn new(
        shift: ShiftFacts,
        case: &WorstCase,
        safe_side: f64,
        estimate: Option<JointEstimate>,
    ) -> Self {
        let solve = SolveFacts::new(case, safe_side);
        SolvedShift { shift, worst: case.certified(), solve, estimate }
    }
}

impl ValueNoise {
    /// The same where too few rows support a confidence statement.
    pub(super) fn withheld(self) -> Self {
        ValueNoise { held_out: self.held_out, ..ValueNoise::default() }
    }
}

impl RobustValue {
    /// The radius for people: `0.03`, `by column`, `no radius`.
    pub fn radius_words(&self) -> String {
        self.shift.radius_words()
    }

    /// The interval as it is shown: the limits, or that by a standard error; and the value itself, which
    /// of a smoothed set may be beyond the limits of the exact worst case.
    pub fn shown(&self) -> Option<(f64, f64)> {
        let value = self.worst.value;
        self.shown_safe().map(|(low, high)| (low.min(value), high.max(value)))
    }

    /// The same beside the bound on the safe side.
    pub fn shown_safe(&self) -> Option<(f64, f64)> {
        let estimated = self.estimate.and_then(|e| e.estimate.interval).map(|i| (i.lower, i.upper));
        self.noise.limits.map(|l| (l.lower, l.upper)).or(estimated)
    }

    /// The standard error that the digits shown go by, if there is one.
    pub fn shown_se(&self) -> Option<f64> {
        self.noise.plug_in_se.or(self.estimate.map(|e| e.estimate.se))
    }
}

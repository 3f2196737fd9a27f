//! The answers of an evaluation, as plain data.

use super::Question;
use crate::check::Check;
use crate::words::{between, number};
use seawall::evaluate::{Nominal, Overlap, Support};
use seawall::inference::Interval;
use seawall::policy::Policy;
use seawall::{Curve, Direction, Population, Set, Status, WorstCase};
use serde::{Serialize, Serializer};

/// All answers, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Rows used, or their weights' sum.
    #[serde(serialize_with = "whole")]
    pub rows: f64,
    /// Rows left out.
    pub left_out: usize,
    /// Each action's rows.
    pub actions: serde_json::Map<String, serde_json::Value>,
    /// Points of the context space.
    pub cells: usize,
    /// Those with rows.
    pub observed_cells: usize,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// Facts about the data.
    pub diagnostics: Check,
    /// The answers, policy by policy.
    pub policies: Vec<PolicyResult>,
    /// Where policies stop being better than one another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<PolicyBreakdown>,
    /// With a bootstrap: every pair of policies, the first minus the second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<PolicyDifference>,
    /// The paper's finite-sample bound, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<FiniteSampleBounds>,
    /// The population of contexts that the worst cases start from.
    #[serde(skip)]
    pub population: Population,
    /// What was asked.
    #[serde(skip)]
    pub question: Question,
}

/// The answers for one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyResult {
    /// The policy's name.
    pub name: String,
    /// The nominal estimates.
    pub nominal: Nominal,
    /// How well the log covers the policy.
    pub overlap: Overlap,
    /// The worst cases: every context radius at every cost radius.
    pub results: Vec<RobustValue>,
    /// The worst cases themselves, in the same order.
    #[serde(skip)]
    pub worst: Vec<WorstCase>,
    /// The curves, one per cost radius, if asked for.
    #[serde(skip)]
    pub curves: Vec<Curve>,
    /// `l(x)` on the support, one list per cost radius.
    #[serde(skip)]
    pub values: Vec<Vec<f64>>,
    /// The policy itself.
    #[serde(skip)]
    pub policy: Policy,
}

/// One worst case.
#[derive(Clone, Debug, Serialize)]
pub struct RobustValue {
    /// The set of contexts.
    #[serde(serialize_with = "set_name")]
    pub set: Set,
    /// Its radius.
    pub radius: f64,
    /// The set of outcomes.
    #[serde(serialize_with = "set_name")]
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
    /// The worst case.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How fast the worst case worsens with the radius; None where it is infinite.
    pub lambda: Option<f64>,
    /// How the solve ended.
    pub status: Status,
    /// The share of the worst-case population on contexts never observed.
    pub unobserved_mass: f64,
    /// The interval by the bootstrap, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
}

/// One policy's worst case minus another's.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyDifference {
    /// The policy.
    pub policy: String,
    /// The other.
    pub against: String,
    /// The radius.
    pub radius: f64,
    /// The cost radius.
    pub cost_radius: f64,
    /// The difference.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The paper's finite-sample bound, term by term.
#[derive(Clone, Debug, Serialize)]
pub struct FiniteSampleBounds {
    /// The probability of error.
    pub delta: f64,
    /// The bound on the error of a robust value.
    pub total: f64,
    /// The sampling of contexts.
    pub sampling: f64,
    /// The number of contexts.
    pub contexts: f64,
    /// Estimating every cost at once.
    pub costs: f64,
    /// The number of outcomes.
    pub outcomes: f64,
    /// The smoothing, of contexts and of costs.
    pub smoothing: f64,
    /// Rows that the theorem asks for.
    pub needed_rows: f64,
    /// Rows that there are.
    pub rows: f64,
    /// Whether they are enough.
    pub holds: bool,
    /// μ_x, estimated.
    pub smallest_context_mass: f64,
    /// μ_π, estimated.
    pub smallest_propensity: f64,
    /// Y_max.
    pub largest_outcome: f64,
}

/// From which radius on a policy is no longer better than another.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyBreakdown {
    /// The policy that is better at radius 0.
    pub policy: String,
    /// The other.
    pub against: String,
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius, None if there is none.
    pub radius: Option<f64>,
    /// Where the curves were followed only so far: the radius is between these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<(f64, f64)>,
    /// Whether the curves were followed only so far, so that a radius may have been missed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rough: bool,
    /// Its interval by the bootstrap, if asked for, among the replicates that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Radii were looked at up to this one.
    #[serde(skip)]
    pub up_to: f64,
    /// Whether the policy becomes better again further on.
    pub crosses_again: bool,
}

impl PolicyBreakdown {
    /// In a sentence, names as `tell` tells them.
    pub fn sentence(&self, tell: impl Fn(&str) -> String) -> String {
        let cost = match self.cost_radius > 0.0 {
            true => format!(" (cost radius {})", self.cost_radius),
            false => String::new(),
        };
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let again = if self.crosses_again { " (better again further on)" } else { "" };
        // A basic interval may reach below 0, where no radius is.
        let interval = |i: Interval| between((i.basic.0.max(0.0), i.basic.1.max(0.0)));
        let rough = match (self.rough, self.between) {
            (false, _) => String::new(),
            (true, Some((low, high))) if high.is_finite() => {
                format!(" (between {} and {}, by a rough curve)", number(low), number(high))
            }
            (true, _) => " (by a rough curve)".to_owned(),
        };
        match self.radius {
            Some(radius) => format!(
                "{policy} is no worse than {against} up to radius {}{}{rough}, and worse just beyond{again}{cost}.",
                number(radius),
                self.interval.map_or(String::new(), |i| format!(" {}", interval(i)))
            ),
            None if self.up_to.is_finite() => format!(
                "{policy} is no worse than {against} at any radius up to {}{cost}{rough}.",
                number(self.up_to)
            ),
            None => format!("{policy} is no worse than {against} at any radius{cost}{rough}."),
        }
    }
}

/// A set by its name alone; its parameters have fields of their own.
pub(crate) fn set_name<S: Serializer>(set: &Set, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(set.name())
}

fn whole<S: Serializer>(rows: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    count(*rows).serialize(serializer)
}

/// A number of rows: a whole number unless weights make it none.
pub(super) fn count(rows: f64) -> serde_json::Value {
    if rows.fract() == 0.0 && rows < 1e15 {
        serde_json::Value::from(rows as u64)
    } else {
        serde_json::Value::from(rows)
    }
}

//! The answers of an evaluation, as plain data.

use crate::check::Check;
use crate::words::{between, number};
use seawall::evaluate::Estimate;
use seawall::inference::Interval;
use seawall::policy::Policy;
use seawall::{Curve, Population, WorstCase};
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
    pub direction: &'static str,
    /// Facts about the data.
    pub diagnostics: Check,
    /// The answers, policy by policy.
    pub policies: Vec<PolicyAnswer>,
    /// Where policies stop being better than one another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<BreakdownAnswer>,
    /// With a bootstrap: every pair of policies, the first minus the second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DifferenceAnswer>,
    /// The paper's finite-sample bound, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<BoundsAnswer>,
    /// The population of contexts that the worst cases start from.
    #[serde(skip)]
    pub population: Population,
}

/// The answers for one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyAnswer {
    /// The policy's name.
    pub name: String,
    /// The nominal estimates.
    pub nominal: NominalAnswer,
    /// How well the log covers the policy.
    pub overlap: OverlapAnswer,
    /// The worst cases: every context radius at every cost radius.
    pub results: Vec<RobustAnswer>,
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

/// The nominal estimates.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NominalAnswer {
    /// The direct method.
    pub dm: EstimateAnswer,
    /// Inverse propensity scores.
    pub ips: EstimateAnswer,
    /// Self-normalised inverse propensity scores.
    pub snips: EstimateAnswer,
    /// Doubly robust, cross-fitted.
    pub dr: EstimateAnswer,
}

/// An estimate and its 95% interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EstimateAnswer {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl From<Estimate> for EstimateAnswer {
    fn from(e: Estimate) -> Self {
        EstimateAnswer { value: e.value, se: e.se, lower: e.lower, upper: e.upper }
    }
}

/// How well the log covers a policy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OverlapAnswer {
    /// How many rows the weighted ones are worth.
    pub effective_sample_size: f64,
    /// The mean ratio of the policy to the propensity.
    pub mean_ratio: f64,
    /// The policy's share of choices never made in the context they are made in.
    pub uncovered: f64,
    /// Rows whose ratio was clipped.
    pub clipped: f64,
}

/// One worst case.
#[derive(Clone, Debug, Serialize)]
pub struct RobustAnswer {
    /// The set of contexts.
    pub set: &'static str,
    /// Its radius.
    pub radius: f64,
    /// The set of outcomes.
    pub cost_set: &'static str,
    /// Its radius.
    pub cost_radius: f64,
    /// The sharpness of an entropic set of contexts.
    pub eta: Option<f64>,
    /// The sharpness of an entropic set of outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_eta: Option<f64>,
    /// Which contexts mass may move to.
    pub support: &'static str,
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
    pub status: String,
    /// The share of the worst-case population on contexts never observed.
    pub unobserved_mass: f64,
    /// The interval by the bootstrap, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<IntervalAnswer>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
}

/// An interval by the bootstrap.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IntervalAnswer {
    /// The replicates' standard deviation.
    pub se: f64,
    /// The percentile interval.
    pub percentile: (f64, f64),
    /// The basic interval.
    pub basic: (f64, f64),
}

impl From<Interval> for IntervalAnswer {
    fn from(i: Interval) -> Self {
        IntervalAnswer { se: i.se, percentile: i.percentile, basic: i.basic }
    }
}

/// One policy's worst case minus another's.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceAnswer {
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
    pub interval: IntervalAnswer,
}

/// The paper's finite-sample bound, term by term.
#[derive(Clone, Debug, Serialize)]
pub struct BoundsAnswer {
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
pub struct BreakdownAnswer {
    /// The policy that is better at radius 0.
    pub policy: String,
    /// The other.
    pub against: String,
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius, None if there is none.
    pub radius: Option<f64>,
    /// Its interval by the bootstrap, if asked for, among the replicates that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<IntervalAnswer>,
    /// Radii were looked at up to this one.
    #[serde(skip)]
    pub up_to: f64,
    /// Whether the policy becomes better again further on.
    pub crosses_again: bool,
}

impl BreakdownAnswer {
    /// In a sentence, names as `tell` tells them.
    pub fn words(&self, tell: impl Fn(&str) -> String) -> String {
        let cost = match self.cost_radius > 0.0 {
            true => format!(" (cost radius {})", self.cost_radius),
            false => String::new(),
        };
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let again = if self.crosses_again { " (better again further on)" } else { "" };
        // A basic interval may reach below 0, where no radius is.
        let interval = |i: IntervalAnswer| between((i.basic.0.max(0.0), i.basic.1.max(0.0)));
        match self.radius {
            Some(radius) => format!(
                "{policy} is no worse than {against} up to radius {}{}, and worse just beyond{again}{cost}.",
                number(radius),
                self.interval.map_or(String::new(), |i| format!(" {}", interval(i)))
            ),
            None if self.up_to.is_finite() => format!(
                "{policy} is no worse than {against} at any radius up to {}{cost}.",
                number(self.up_to)
            ),
            None => format!("{policy} is no worse than {against} at any radius{cost}."),
        }
    }
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

//! The answers of an evaluation, as plain data.

use super::{ByLevel, Comparison, PolicyRadii, Question, RobustValue, TargetEstimates};
use crate::check::Check;
use crate::prepare::TargetAnswer;
use crate::reference::{FEW_ROWS, unshifted};
use seawall::evaluate::{Estimate, Nominal, Overlap};
use seawall::policy::Policy;
use seawall::transfer::BalanceSummary;
use seawall::{Curve, Direction, Population, Set, WorstCase};
use serde::{Serialize, Serializer};

/// All answers, as plain data.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// The data in numbers.
    #[serde(flatten)]
    pub data: DataSummary,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// Facts about the data.
    pub diagnostics: Check,
    /// The answers, policy by policy.
    pub policies: Vec<PolicyResult>,
    /// The target that the worst cases start from, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetAnswer>,
    /// How the log was made what is known of the target, if something is and there is no sample of it:
    /// then worst cases start from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<BalanceSummary>,
    /// Every pair of policies in one population, in both orders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The same within each level of a column, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ByLevel>,
    /// The paper's finite-sample bound, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<FiniteSampleBounds>,
    /// The population of contexts that the worst cases start from.
    #[serde(skip)]
    pub population: Population,
    /// What was asked, as it was answered: with as many sample splits as there were.
    #[serde(skip)]
    pub question: Question,
}

/// The data of an evaluation in numbers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataSummary {
    /// Rows used, or their weights' sum.
    #[serde(serialize_with = "whole")]
    pub rows: f64,
    /// Rows left out.
    pub left_out: usize,
    /// Each action's rows.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub actions: serde_json::Map<String, serde_json::Value>,
    /// Points of the context space.
    pub cells: usize,
    /// Those with rows.
    pub observed_cells: usize,
}

impl Evaluation {
    /// Whether worst cases start from another population than the log's own: a sample of the target, or
    /// the log made what is known of it.
    pub fn has_target(&self) -> bool {
        self.target.is_some() || self.balance.is_some()
    }

    /// Every pair once: of its two orders the one whose policy leads.
    pub fn leading_pairs(&self) -> Vec<&Comparison> {
        let mut pairs: Vec<&Comparison> = Vec::new();
        for c in self.comparisons.iter().filter(|c| c.leads()) {
            if !pairs.iter().any(|p| p.policy == c.against && p.against == c.policy) {
                pairs.push(c);
            }
        }
        pairs
    }
}

/// The answers for one policy.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyResult {
    /// The policy's name.
    pub name: String,
    /// The nominal estimates.
    pub nominal: Nominal,
    /// How well the log covers the policy.
    pub overlap: Overlap,
    /// Whether the policy was chosen on the very rows that value it: then everything is too good.
    pub chosen_here: bool,
    /// The estimates in the target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetEstimates>,
    /// The radius that covers chance, and the one beyond which nothing worsens, at the first cost
    /// radius.
    pub radii: PolicyRadii,
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

impl PolicyResult {
    /// The effective sample size: in the target if there is one.
    pub fn effective_rows(&self) -> f64 {
        self.target.map_or(self.overlap.effective_sample_size, |there| there.effective_rows)
    }

    /// Whether too few rows support a confidence statement.
    pub fn is_thin(&self) -> bool {
        self.effective_rows() < FEW_ROWS
    }

    /// The doubly robust estimate, in the target if there is one; the direct one if there is none; None where
    /// the data have no rows for either.
    pub fn estimate(&self) -> Option<Estimate> {
        unshifted(self.target.as_ref(), self.nominal.best())
    }
}

/// The paper's finite-sample bound, term by term.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FiniteSampleBounds {
    /// The probability of error.
    pub delta: f64,
    /// The bound on the error of a robust value, and its terms.
    #[serde(flatten)]
    pub terms: BoundTerms,
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

/// The bound on the error of a robust value, and its terms.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundTerms {
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
}

/// A set as it is written; an entropic one by its name alone, for its parameter has a field of its own.
pub(crate) fn set_name<S: Serializer>(set: &Set, serializer: S) -> Result<S::Ok, S::Error> {
    // An entropic set has its eta beside it.
    match set.parameter("eta") {
        Some(_) => serializer.serialize_str(set.name()),
        None => serializer.collect_str(set),
    }
}

/// Names and numbers as a map.
pub(crate) fn by_name<S: Serializer>(
    pairs: &[(String, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, number)| (name, number)))
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

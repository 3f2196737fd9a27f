//! A learned policy and what is known of it, as plain data.

use super::Question;
use crate::evaluate::{by_name, set_name};
use crate::transfer::Transfer;
use seawall::learn::{self, Bounds, Schedule, State};
use seawall::policy::file::PolicyFile;
use seawall::transfer::BalanceSummary;
use seawall::{CertifiedValue, Direction, Set};
use serde::Serialize;
use serde_json::Value;

/// A support as a learned policy's worst case is valued on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LearnSupport {
    /// Every combination of levels.
    Grid,
    /// The contexts observed.
    Observed,
    /// Anywhere between each column's ends, listed or not.
    Space,
    /// Combinations drawn, as they are too many to list; the value is over those observed.
    Sampled,
}

/// A learned policy and what is known of it, as plain data.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedPolicy {
    /// The policy's name.
    pub policy: String,
    /// How it was found.
    pub method: learn::Method,
    /// The populations that it was learned for.
    #[serde(flatten)]
    pub shift: LearnShift,
    /// Its worst case, and what no policy can beat.
    #[serde(flatten)]
    pub value: LearnedValue,
    /// What the policy does.
    pub parameters: Value,
    /// How long it took.
    pub seconds: f64,
    /// What only some ways of learning give.
    #[serde(flatten)]
    pub details: LearnDetails,
    /// Its value on rows that did not choose it.
    #[serde(flatten)]
    pub held_out: LearnHeldOut,
    /// The value on past groups that did not choose the policy, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupsResult>,
    /// What is kept of it in files.
    #[serde(skip)]
    pub kept: KeptPolicy,
    /// What was asked.
    #[serde(skip)]
    pub question: Question,
}

/// The populations that a policy was learned for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnShift {
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
    /// Which contexts mass may move to.
    pub support: LearnSupport,
    /// Whether populations around a target were asked about, and not those around the log.
    #[serde(skip)]
    pub in_target: bool,
}

/// The worst case of a learned policy, and what no policy can beat.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedValue {
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// The policy's worst case; of its bounds see [`seawall::learn::Learned::lower`].
    #[serde(flatten)]
    pub worst: CertifiedValue,
    /// With an entropic set of contexts: bounds of the policy's exact worst case, for the smoothed
    /// value alone is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// See [`exact_lower`](Self::exact_lower).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
    /// Steps taken.
    pub iterations: usize,
    /// No policy whatever has a better worst case than this.
    pub greedy_floor: f64,
    /// Bounds of the greedy policy's worst case, the side that is not the floor among them.
    pub greedy: Bounds,
    /// The policy's mean if nothing shifts, or in the target if there is one, by the outcome model.
    pub nominal_value: f64,
}

/// What only some ways of learning give.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnDetails {
    /// For trees: the best mixture of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixture: Option<MixtureResult>,
    /// For stochastic runs: λ, and the mean and spread of the runs' own worst cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsResult>,
    /// What it was learned against, if anything: then value and bounds are worst-case differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstResult>,
    /// How the log was made what is known of the target, if something is and there is no sample of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<BalanceSummary>,
}

/// The value of a learned policy on rows that did not choose it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnHeldOut {
    /// The value on rows that did not choose the policy, unless it was not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honest: Option<HonestResult>,
    /// Why there is none though it was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_honest: Option<String>,
}

/// What is kept of a learned policy in files.
#[derive(Clone, Debug)]
pub struct KeptPolicy {
    /// The policy itself.
    pub file: PolicyFile,
    /// The policy in words.
    pub words: Vec<String>,
    /// Where stochastic runs stand.
    pub state: Option<State>,
    /// Names of the parameters of stochastic runs.
    pub names: Vec<String>,
}

impl LearnedPolicy {
    /// The same with its value on past groups that did not choose it.
    #[must_use]
    pub fn with_groups(self, groups: GroupsResult) -> Self {
        LearnedPolicy { groups: Some(groups), ..self }
    }
}

/// A policy valued on past groups that did not choose it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupsResult {
    /// What groups are recorded by.
    pub by: String,
    /// How often the policy was learned anew.
    pub folds: usize,
    /// By how much it is above the baseline in the target.
    pub difference: Transfer,
    /// What it costs in the target.
    pub value: Transfer,
}

/// A mixture of trees.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MixtureResult {
    /// Its worst case.
    pub value: f64,
    /// See [`seawall::learn::Learned::lower`].
    pub lower: f64,
    /// See [`seawall::learn::Learned::upper`].
    pub upper: f64,
    /// The shares and rules of its trees.
    pub parts: Vec<Value>,
}

/// Stochastic runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunsResult {
    /// How many.
    pub count: usize,
    /// λ averaged over steps and runs.
    pub lambda: f64,
    /// The mean of the runs' own worst cases.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The schedule.
    pub schedule: Schedule,
}

/// A baseline that a policy was learned against.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgainstResult {
    /// The baseline.
    pub policy: String,
    /// Whether it is certified that the policy is no worse than the baseline in any population of the
    /// set.
    pub no_worse: bool,
    /// The difference to it if nothing shifts, by the outcome model.
    pub nominal_difference: f64,
}

/// Held-out values: learned on one half of the rows, valued on the other, in both directions of several
/// sample splits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HonestResult {
    /// The mean held-out worst case; of worst differences to the baseline, if it was learned against one.
    pub value: f64,
    /// The mean held-out worst case.
    pub worst_case: f64,
    /// The mean of the held-out doubly robust estimates.
    pub nominal_value: f64,
    /// How many sample splits there were.
    pub splits: usize,
    /// What `value` is the mean of: two numbers a split.
    pub halves: Vec<f64>,
    /// The best constant policy, chosen and valued on the same halves.
    pub best_constant: HonestValue,
    /// The baseline: the policy learned against, else what the log did.
    pub baseline: HonestValue,
}

/// A policy valued on the same held-out rows, and the learned policy's difference to it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HonestValue {
    /// The policy; several names if the halves chose differently.
    pub policy: String,
    /// The mean held-out worst case.
    pub value: f64,
    /// The mean of the held-out doubly robust estimates.
    pub nominal_value: f64,
    /// The learned policy's worst case less this one's.
    pub difference: HeldOutDifference,
    /// The learned policy's doubly robust estimate less this one's.
    pub nominal_difference: HeldOutDifference,
}

/// A mean over held-out halves with its half-sample standard error `√mean (Δ_AB − Δ_BA)²/4`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOutDifference {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

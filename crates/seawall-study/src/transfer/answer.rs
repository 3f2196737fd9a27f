//! What a transfer answers, as plain data.

use seawall::Direction;
use seawall::transfer::BalanceSummary;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a bound is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// What past groups needed, by rank.
    Rank,
    /// What past groups needed, by a prediction bound.
    Prediction,
    /// The worst coupling of what is known, and noise; nothing about past groups.
    Couplings,
}

impl Method {
    /// How a bound is made, in words.
    pub fn explained(self) -> &'static str {
        match self {
            Method::Rank => "by rank of what past groups needed",
            Method::Prediction => "a prediction from what past groups needed",
            Method::Couplings => "the worst coupling of what is known, and noise",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Rank => "rank",
            Method::Prediction => "prediction",
            Method::Couplings => "couplings",
        })
    }
}

/// What policies would cost in the target.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfers {
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// What is known of the target, in words.
    pub known: Vec<String>,
    /// What groups are recorded by, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether groups follow each other in time.
    pub in_time: bool,
    /// Groups that are not counted.
    pub left_out: LeftOutGroups,
    /// Policy by policy.
    pub transfers: Vec<Transfer>,
    /// By how much each policy is above the first one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Transfer>,
    /// What the bounds claim, and what they do not.
    pub condition: String,
    /// What to know before believing it.
    pub notes: Vec<String>,
}

/// Groups that are not counted, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutGroups {
    /// Too few rows.
    pub few_rows: usize,
    /// No row of one of the actions.
    pub lacking_action: usize,
    /// The rest of the log cannot be made like them, or lacks an action.
    pub unmatched: usize,
}

/// What a policy would cost in the target, or by how much more than another.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transfer {
    /// The policy.
    pub policy: String,
    /// What it is compared with, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The estimate in the target.
    pub centre: f64,
    /// Its standard error.
    pub se: f64,
    /// The bound: the cost is not above this (the reward not below), with its condition. None where too
    /// few rows support one.
    #[cfg_attr(feature = "schema", schemars(with = "f64", extend("x-null" = "absent")))]
    pub bound: Option<f64>,
    /// How often the bound is to hold.
    pub level: f64,
    /// How it is made.
    pub method: Method,
    /// What the bound is away from the centre.
    pub allowance: AllowanceParts,
    /// How the log was made like the target.
    pub balance: BalanceSummary,
    /// How many past groups the bound would have held, of those below.
    pub held: usize,
    /// The past groups.
    pub groups: Vec<GroupScore>,
}

/// What an allowance is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllowanceParts {
    /// Noise of the estimate and of what groups really cost.
    pub sampling: f64,
    /// Groups that differ by more than noise.
    pub between: f64,
    /// Columns that go together otherwise than in the log.
    pub couplings: f64,
}

impl AllowanceParts {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.sampling + self.between + self.couplings
    }
}

/// A past group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupScore {
    /// Its name.
    pub group: String,
    /// Its rows.
    pub rows: f64,
    /// What the log without it predicted.
    pub predicted: f64,
    /// What it really cost.
    pub real: f64,
    /// The standard error of that.
    pub real_se: f64,
    /// What it cost more than predicted (brought less): what the allowance had to be.
    pub score: f64,
    /// Whether the allowance would have been enough.
    pub held: bool,
}

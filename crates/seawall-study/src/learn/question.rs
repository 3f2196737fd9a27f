//! What is asked of learning: a kind of policy, over a set, by a method, within limits.

use super::Spec;
use crate::prepare::PreparedStudy;
use crate::reference::Bounded;
use crate::study::PolicySpec;
use seawall::Shift;
use seawall::evaluate::Support;
use seawall::learn::{Gradient, Schedule};

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exactly where that is possible, else by gradients.
    Auto,
    /// Cutting planes, or the game of trees.
    Exact,
    /// Exact gradients.
    Gradient,
    /// Stochastic gradients.
    Bsgd,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which kind of policy.
    pub policy: Spec,
    /// How.
    pub method: Method,
    /// The set of contexts.
    pub context: Shift,
    /// What moves along single columns may cost on average, where that is said by column.
    pub column_radii: Vec<(String, f64)>,
    /// The set of outcomes.
    pub cost: Shift,
    /// Which contexts mass may move to.
    pub support: Support,
    /// Limits on the policy, and when to stop.
    pub limits: Limits,
    /// Gradients' settings.
    pub gradient: Gradient,
    /// The stochastic schedule.
    pub schedule: Plan,
    /// Independent stochastic runs.
    pub seeds: usize,
    /// Whether to value the policy on rows that did not choose it, too.
    pub honest: bool,
    /// The policy whose worst-case difference is minimised; None for the worst case itself.
    pub against: Option<PolicySpec>,
}

impl Question {
    /// What the study file asks, at its first radii, by the usual settings.
    pub fn from_study(prepared: &PreparedStudy, policy: Spec) -> Self {
        let study = &prepared.study;
        Question {
            policy,
            method: Method::Auto,
            context: study.context_set.first(),
            column_radii: study.context_set.column_radii.clone(),
            cost: study.cost_set.first(),
            support: study.data.support,
            limits: Limits::default(),
            gradient: Gradient::default(),
            schedule: Plan::Accuracy(ACCURACY, CONTEXTS),
            seeds: 1,
            honest: true,
            against: None,
        }
    }

    /// The set of contexts, with the radii of single columns.
    pub(super) fn within(&self) -> Bounded<'_> {
        Bounded { set: self.context.set, column_radii: &self.column_radii }
    }
}

/// The accuracy of a stochastic schedule where nobody says otherwise.
pub const ACCURACY: f64 = 0.05;
/// Contexts drawn in a stochastic step where nobody says otherwise.
pub const CONTEXTS: usize = 1;

/// Limits on a policy, and when to stop.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The least probability of actions in every group.
    pub least: Vec<(String, f64)>,
    /// The largest probability of actions in every group.
    pub most: Vec<(String, f64)>,
    /// Limits on the overall share of actions, nominally.
    pub budgets: Vec<(String, f64)>,
    /// Limits on the overall share of actions, in the worst case.
    pub worst_budgets: Vec<(String, f64)>,
    /// The nominal share of every leaf of a tree, at least.
    pub least_share: f64,
    /// The gap, relative to the largest cost, at which exact methods stop.
    pub tolerance: Option<f64>,
}

/// How long to descend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// By the theorem, for an accuracy, with so many contexts a step.
    Accuracy(f64, usize),
    /// By hand.
    Steps(Schedule),
}

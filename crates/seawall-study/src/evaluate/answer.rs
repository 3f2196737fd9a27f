//! The answers of an evaluation, as plain data.

use super::{ByLevel, Comparison, PolicyRadii, Question, TargetEstimates};
use crate::check::Check;
use crate::prepare::TargetAnswer;
use crate::reference::{FEW_ROWS, unshifted};
use crate::words::radius;
use seawall::evaluate::{Estimate, JointEstimate, Nominal, Overlap, Support};
use seawall::inference::Limits;
use seawall::policy::Policy;
use seawall::transfer::BalanceSummary;
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
    /// What was asked.
    #[serde(skip)]
    pub question: Question,
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

    /// Takes limits and intervals away where too few rows support them.
    pub(super) fn withhold_unsupported(&mut self) {
        for policy in self.policies.iter_mut().filter(|p| p.is_thin()) {
            for result in &mut policy.results {
                (result.limits, result.estimate) = (None, None);
                (result.doubly_robust, result.fitted_se) = (None, None);
            }
        }
        for pair in self.comparisons.iter_mut().filter(|c| c.is_thin()) {
            for result in &mut pair.results {
                (result.limits, result.best_limits, result.doubly_robust) = (None, None, None);
            }
        }
    }

    /// Takes the intervals of estimates away where too few rows support them.
    pub(super) fn withhold_unsupported_estimates(&mut self) {
        let none = |e: &mut Estimate| (e.lower, e.upper) = (f64::NAN, f64::NAN);
        for policy in &mut self.policies {
            let n = &mut policy.nominal;
            if n.overlap.effective_sample_size < FEW_ROWS {
                [&mut n.dm, &mut n.ips, &mut n.snips, &mut n.dr].into_iter().for_each(none);
            }
            if let Some(t) = policy.target.as_mut().filter(|t| t.effective_rows < FEW_ROWS) {
                t.each().for_each(none);
            }
        }
        for c in self.comparisons.iter_mut().filter(|c| c.is_thin()) {
            [&mut c.nominal.dm, &mut c.nominal.dr].into_iter().for_each(none);
            if let Some(t) = &mut c.target {
                t.each().for_each(none);
            }
        }
    }

    /// Gives the estimates without a shift intervals of a level.
    pub(super) fn at_level(&mut self, level: f64) {
        let clusters = self.diagnostics.clusters;
        let of_level = |e: &mut Estimate| *e = e.at_level(level, clusters);
        for policy in &mut self.policies {
            let n = &mut policy.nominal;
            [&mut n.dm, &mut n.ips, &mut n.snips, &mut n.dr].into_iter().for_each(of_level);
            if let Some(t) = &mut policy.target {
                t.each().for_each(of_level);
            }
        }
        for c in &mut self.comparisons {
            [&mut c.nominal.dm, &mut c.nominal.dr].into_iter().for_each(of_level);
            if let Some(t) = &mut c.target {
                t.each().for_each(of_level);
            }
        }
    }
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

    /// The doubly robust estimate, in the target if there is one; the direct one if there is none.
    pub fn estimate(&self) -> Estimate {
        unshifted(self.target.as_ref(), self.nominal.dr, self.nominal.dm)
    }
}

/// One worst case.
#[derive(Clone, Debug, Serialize)]
pub struct RobustValue {
    /// The set of contexts.
    #[serde(serialize_with = "set_name")]
    pub set: Set,
    /// Its radius; infinite (null) where there is none.
    pub radius: f64,
    /// What moves along single columns may cost on average, where that is said by column.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub column_radii: Vec<(String, f64)>,
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
    /// What found the inner maxima: `grid`, `tree` or `scan` on a listed support; `boxes`, `separable` or
    /// `descent` (of many trees together) on the whole space; None for a set that has none.
    pub engine: Option<&'static str>,
    /// Evaluations of the dual.
    pub evaluations: usize,
    /// The share of the worst-case population on contexts never observed.
    pub unobserved_mass: f64,
    /// What the population found on one half of the rows costs on the other; None without halves.
    pub honest: Option<Honest>,
    /// Limits of the worst case; None without halves.
    pub limits: Option<Limits>,
    /// The honest value corrected by held-out residuals, where the log covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubly_robust: Option<Doubled>,
    /// The standard error of the value as fitted, by half-samples.
    #[serde(skip)]
    pub fitted_se: Option<f64>,
    /// Under a set of people with their outcomes: the value as an estimate, with its standard error and
    /// the interval that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<JointEstimate>,
    /// Under a set that is about a person's outcomes under every action: the worst case if these went
    /// together as kindly as they can. `value` has them go together as badly; no data say which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_coupling: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
}

impl RobustValue {
    /// The radius for people: `0.03`, `by column`, `no radius`.
    pub fn radius_words(&self) -> String {
        if self.column_radii.is_empty() { radius(self.radius) } else { "by column".to_owned() }
    }

    /// The interval as it is shown: the limits, or that by a standard error; and the value itself, which
    /// of a smoothed set may be beyond the limits of the exact worst case.
    pub fn shown(&self) -> Option<(f64, f64)> {
        let hold = |(low, high): (f64, f64)| (low.min(self.value), high.max(self.value));
        self.shown_safe().map(hold)
    }

    /// The same beside the bound on the safe side.
    pub fn shown_safe(&self) -> Option<(f64, f64)> {
        let estimated = self.estimate.map(|e| (e.estimate.lower, e.estimate.upper));
        let limits = self.limits.map(|l| (l.lower, l.upper));
        limits.or(estimated)
    }

    /// The standard error that the digits shown go by; NaN where there is none.
    pub fn shown_se(&self) -> f64 {
        self.fitted_se.or(self.estimate.map(|e| e.estimate.se)).unwrap_or(f64::NAN)
    }
}

/// What the worst population found on one half of the rows costs on the other, over many halvings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Honest {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

impl Honest {
    /// Of the other end of a difference.
    pub(super) fn turned(self) -> Self {
        Honest { value: -self.value, se: self.se }
    }
}

/// An honest value corrected by held-out residuals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Doubled {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The share of the worst population's choices that the log has rows of.
    pub covered: f64,
    /// How many rows the residuals are worth.
    pub effective_rows: f64,
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

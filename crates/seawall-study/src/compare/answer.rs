//! The answers of a comparison of sets, as plain data with their words.

use crate::study::Scale;
use crate::words::{away, percent, short};
use seawall::evaluate::Estimate;
use seawall::{CertifiedValue, Direction, Set, Status, WorstCase};
use serde::Serialize;

/// The same policies under several sets, at radii that are comparable.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// What every radius was chosen to cover.
    pub covers: Covers,
    /// The policies, in order; the first is the one whose value is covered.
    pub policies: Vec<String>,
    /// Set by set.
    pub sets: Vec<ComparedSet>,
    /// Whether the log itself tells the policy of most sets from the others; None if there is one policy
    /// or no set that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_log: Option<OnLog>,
    /// Which sets agree on the decision, and what they fear.
    pub agreement: Agreement,
    /// Sets that nobody asked about, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutSet>,
    /// What else to know.
    pub notes: Vec<String>,
}

/// What a radius is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Another population: a sample of it, or what is known of it.
    Target,
    /// A recorded group that was left out of the log.
    Group,
    /// The noise of the estimate without a shift.
    Chance,
}

/// What every radius was chosen to cover.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Covers {
    /// What radii are chosen by.
    pub goal: Goal,
    /// Whether each is the least that contains the people, and not the least that reaches the value.
    pub containing: bool,
    /// The target's file, or the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What groups are named by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The policy whose value is covered: the first one.
    pub policy: String,
    /// The value that its worst case is to reach.
    pub value: f64,
    /// Its estimate in the target or the group, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// What it costs where nothing shifts, which worst cases start from.
    pub nominal: f64,
    /// The share of the target's or the group's people in contexts that the log lacks, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<f64>,
    /// All that in a sentence or two.
    pub sentence: String,
}

/// A policy beside another on the log itself, where nothing shifts: what chance leaves of a choice.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnLog {
    /// The policy.
    pub policy: String,
    /// Of the others the one that is told from it least.
    pub against: String,
    /// By how much the policy's value is above the other's: paired, doubly robust, else direct.
    pub difference: Estimate,
    /// Whether the interval leaves out 0 on the policy's side: then it is better by more than noise.
    pub told: bool,
    /// The same in a sentence.
    pub sentence: String,
}

/// One set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedSet {
    /// The set, with its parameters.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub set: Set,
    /// What a radius measures.
    pub away: String,
    /// Its radius; infinite (null) where there is none.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub radius: f64,
    /// What the first policy's worst case is to reach under this set; None where radii contain people or
    /// there is no radius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers: Option<f64>,
    /// Whether its worst case is beyond that already at radius 0. Then it says nothing at a radius that is
    /// comparable, and does not count among those that agree.
    pub beyond: bool,
    /// Why it has no radius or no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The policies' worst cases, in their order; none without an answer.
    pub policies: Vec<PolicyWorst>,
    /// The policies whose worst case is best as fitted: several where the bounds do not tell them apart.
    pub best: Vec<String>,
    /// Whether the log itself tells the only best one from every other; None where several are best or
    /// there are no others.
    pub told: Option<bool>,
    /// Whether the first of them is, as fitted, no worse than the others in every population of the set;
    /// None if there are no others or nobody can tell.
    pub no_worse: Option<NoWorse>,
    /// What changes most in the population where the best policy is worst: `higher AGE`.
    pub fears: Option<String>,
    /// The share of that population where nobody was seen.
    pub unseen: Option<f64>,
}

/// A policy's worst case.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyWorst {
    /// The policy.
    pub policy: String,
    /// The worst case with its bounds.
    #[serde(flatten)]
    pub worst: CertifiedValue,
    /// The share of the worst-case population where nobody was seen.
    pub unobserved_mass: Option<f64>,
}

/// Whether a policy is no worse than the others in every population of a set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoWorse {
    /// Whether it is.
    pub holds: bool,
    /// By how much it could be worse than one of them, in one population; not above 0 if it holds.
    pub by: f64,
    /// The one that it could be worst beside.
    pub against: String,
    /// How far apart the bounds of that are.
    pub gap: f64,
    /// How the solve ended.
    pub status: Status,
}

/// A set that nobody asked about.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutSet {
    /// Its name.
    pub set: String,
    /// Why.
    pub why: String,
}

/// Which sets agree.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Whether one policy is among the best of every set that counts; None if there is one policy, or no
    /// set that counts.
    pub agree: Option<bool>,
    /// The policies that are among the best, those of most sets first; none if there is one policy.
    pub choices: Vec<Choice>,
    /// What is feared, by most sets first.
    pub fears: Vec<Feared>,
    /// The same in sentences.
    pub sentences: Vec<String>,
}

/// A policy and the sets among whose best it is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The policy.
    pub policy: String,
    /// The sets.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub sets: Vec<Set>,
}

/// A change and the sets that fear it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Feared {
    /// The change; None if nothing changes.
    pub change: Option<String>,
    /// The sets.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub sets: Vec<Set>,
}

impl PolicyWorst {
    pub(super) fn new(policy: &str, worst: &WorstCase) -> Self {
        PolicyWorst {
            policy: policy.to_owned(),
            worst: worst.certified(),
            unobserved_mass: Some(worst.unobserved_mass()).filter(|m| m.is_finite()),
        }
    }
}

impl ComparedSet {
    /// Without an answer, and why.
    pub(super) fn unanswered(set: Set, scale: Scale, why: impl Into<String>) -> Self {
        ComparedSet {
            set,
            away: away(set, scale),
            radius: f64::INFINITY,
            covers: None,
            beyond: false,
            why: Some(why.into()),
            policies: Vec::new(),
            best: Vec::new(),
            told: None,
            no_worse: None,
            fears: None,
            unseen: None,
        }
    }

    /// Whether it has an answer at a radius that is comparable.
    pub fn counts(&self) -> bool {
        !self.best.is_empty() && !self.beyond
    }
}

impl Covers {
    /// Words it: what is covered, of whom, and what the log says.
    pub(super) fn worded(mut self, direction: Direction, nothing: bool) -> Self {
        let costs = match direction {
            Direction::Cost => "costs",
            Direction::Reward => "brings",
        };
        let (who, log) = match (&self.name, &self.by) {
            (Some(group), Some(by)) => (format!("the group {group} of {by}"), "the log without it"),
            (Some(file), None) => (format!("the target {file}"), "the log"),
            (None, _) => ("the target".to_owned(), "the log"),
        };
        let (policy, nominal) = (&self.policy, short(self.nominal));
        let there = self
            .estimate
            .as_ref()
            .map(|e| (format!("what {policy} {costs} in {who}"), crate::words::estimate(e)));
        let chance = format!(
            "chance: the 95% limit of what {policy} {costs} where nothing shifts, {} ({log} says {nominal})",
            short(self.value),
        );
        self.sentence = match there {
            _ if self.containing => {
                let lacking = match self.lacking {
                    Some(share) if share > 0.0 => {
                        let share = percent(share);
                        format!(" {share} of them are in contexts that the log lacks.")
                    }
                    _ => String::new(),
                };
                format!(
                    "Each radius is the least at which the set contains the people of {who}.{lacking}"
                )
            }
            Some((what, told)) if nothing => format!(
                "There is nothing to cover: {what} is {told}, and {log} says {nominal} already. So each \
                 radius is the least that covers {chance}."
            ),
            Some((what, told)) => format!(
                "Each radius is the least that covers {what}: {told}, where {log} says {nominal}."
            ),
            None => format!("Each radius is the least that covers {chance}."),
        };
        self
    }
}

impl Covers {
    /// Says what is covered by sets that start from estimates of their own.
    pub(super) fn told_of_starts(&mut self, sets: &[ComparedSet]) {
        let other = |goal: f64| (goal - self.value).abs() > 1e-9 * self.value.abs();
        let own = sets.iter().filter(|s| s.covers.is_some_and(other));
        let own: Vec<String> = own.map(|s| s.set.to_string()).collect();
        if !own.is_empty() {
            self.sentence.push_str(&format!(
                " Under {} what it is where nothing shifts is estimated otherwise: there the same increase, \
                 {}, is covered over that.",
                own.join(", "),
                short((self.value - self.nominal).abs())
            ));
        }
    }
}

impl Compared {
    /// The sets that have an answer.
    pub fn answered(&self) -> impl Iterator<Item = &ComparedSet> {
        self.sets.iter().filter(|s| !s.best.is_empty())
    }
}

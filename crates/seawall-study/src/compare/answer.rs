//! The answers of a comparison of sets, as plain data with their words.

use crate::words::{percent, short};
use seawall::evaluate::Estimate;
use seawall::{Direction, Set, Status, WorstCase};
use serde::Serialize;

/// The same policies under several sets, at radii that are comparable.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// What every radius was chosen to cover.
    pub covers: Covers,
    /// The policies, in order; the first is the one whose value is covered.
    pub policies: Vec<String>,
    /// Set by set.
    pub sets: Vec<ComparedSet>,
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

/// One set.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedSet {
    /// The set, with its parameters.
    pub set: Set,
    /// What a radius measures.
    pub away: &'static str,
    /// Its radius; infinite (null) where there is none.
    pub radius: f64,
    /// Why it has no radius or no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The policies' worst cases, in their order; none without an answer.
    pub policies: Vec<PolicyWorst>,
    /// The policy whose worst case is best.
    pub best: Option<String>,
    /// Whether that one is no worse than the others in every population of the set; None if there are no
    /// others or nobody can tell.
    pub no_worse: Option<NoWorse>,
    /// What changes most in the population where the best policy is worst: `higher AGE`.
    pub fears: Option<String>,
    /// The share of that population where nobody was seen.
    pub unseen: Option<f64>,
}

/// A policy's worst case.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyWorst {
    /// The policy.
    pub policy: String,
    /// The worst case: the bound on the safe side.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How the solve ended.
    pub status: Status,
    /// The share of the worst-case population where nobody was seen.
    pub unobserved_mass: Option<f64>,
}

/// Whether a policy is no worse than the others in every population of a set.
#[derive(Clone, Debug, Serialize)]
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
pub struct LeftOutSet {
    /// Its name.
    pub set: String,
    /// Why.
    pub why: String,
}

/// Which sets agree.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// Whether every set with an answer chooses the same policy.
    pub agree: bool,
    /// The policies that are chosen, those of most sets first.
    pub choices: Vec<Choice>,
    /// What is feared, by most sets first.
    pub fears: Vec<Feared>,
    /// The same in sentences.
    pub sentences: Vec<String>,
}

/// A policy and the sets that choose it.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The policy.
    pub policy: String,
    /// The sets.
    pub sets: Vec<Set>,
}

/// A change and the sets that fear it.
#[derive(Clone, Debug, Serialize)]
pub struct Feared {
    /// The change; None if nothing changes.
    pub change: Option<String>,
    /// The sets.
    pub sets: Vec<Set>,
}

impl PolicyWorst {
    pub(super) fn new(policy: &str, worst: &WorstCase) -> Self {
        PolicyWorst {
            policy: policy.to_owned(),
            value: worst.value(),
            lower: worst.lower(),
            upper: worst.upper(),
            gap: worst.gap(),
            status: worst.status(),
            unobserved_mass: Some(worst.unobserved_mass()).filter(|m| m.is_finite()),
        }
    }
}

impl NoWorse {
    /// In two words: `yes`, `no: by 0.14`.
    pub fn words(&self) -> String {
        if self.holds { "yes".to_owned() } else { format!("no: by {}", short(self.by)) }
    }
}

impl ComparedSet {
    /// Without an answer, and why.
    pub(super) fn unanswered(set: Set, radius: f64, why: impl Into<String>) -> Self {
        ComparedSet {
            set,
            away: set.away(),
            radius,
            why: Some(why.into()),
            policies: Vec::new(),
            best: None,
            no_worse: None,
            fears: None,
            unseen: None,
        }
    }

    /// The radius for people.
    pub fn radius_words(&self) -> String {
        if self.radius.is_infinite() { "none".to_owned() } else { short(self.radius) }
    }

    /// What it fears, for people.
    pub fn fears_words(&self) -> String {
        match (&self.fears, &self.best) {
            (Some(fears), _) => fears.clone(),
            (None, Some(_)) => "nothing".to_owned(),
            (None, None) => String::new(),
        }
    }

    /// The share where nobody was seen, for people.
    pub fn unseen_words(&self) -> String {
        self.unseen.map_or(String::new(), percent)
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

impl Compared {
    /// The sets that have an answer.
    pub fn answered(&self) -> impl Iterator<Item = &ComparedSet> {
        self.sets.iter().filter(|s| s.best.is_some())
    }
}

impl Agreement {
    /// Of the sets that have an answer.
    pub(super) fn of(sets: &[ComparedSet], policies: usize) -> Self {
        let (mut choices, mut fears): (Vec<Choice>, Vec<Feared>) = (Vec::new(), Vec::new());
        for one in sets {
            let Some(best) = &one.best else { continue };
            match choices.iter_mut().find(|c| c.policy == *best) {
                Some(choice) => choice.sets.push(one.set),
                None => choices.push(Choice { policy: best.clone(), sets: vec![one.set] }),
            }
            match fears.iter_mut().find(|f| f.change == one.fears) {
                Some(feared) => feared.sets.push(one.set),
                None => fears.push(Feared { change: one.fears.clone(), sets: vec![one.set] }),
            }
        }
        // Stable: of equally many the first stays first.
        choices.sort_by_key(|c| std::cmp::Reverse(c.sets.len()));
        fears.sort_by_key(|f| std::cmp::Reverse(f.sets.len()));
        let agree = choices.len() == 1;
        let mut found = Agreement { agree, choices, fears, sentences: Vec::new() };
        found.sentences = found.words(policies);
        found
    }

    fn words(&self, policies: usize) -> Vec<String> {
        let count: usize = self.choices.iter().map(|c| c.sets.len()).sum();
        let mut all = Vec::new();
        match (&self.choices[..], policies) {
            ([], _) => return vec!["No set has an answer.".to_owned()],
            (_, 1) => {}
            ([only], _) if count == 1 => {
                all.push(format!("{} is chosen by {}.", only.policy, listed(&only.sets)));
            }
            ([only], _) if count == 2 => all.push(format!("Both sets choose {}.", only.policy)),
            ([only], _) => all.push(format!("All {count} sets choose {}.", only.policy)),
            ([first, rest @ ..], _) => {
                let others = rest.iter().map(|c| format!("{} by {}", c.policy, listed(&c.sets)));
                let others: Vec<String> = others.collect();
                all.push(format!(
                    "The sets do not agree: {} is chosen by {} of {count}; {}.",
                    first.policy,
                    first.sets.len(),
                    others.join("; ")
                ));
            }
        }
        let told = |f: &Feared| match &f.change {
            Some(change) => format!("{change} by {}", listed(&f.sets)),
            None => format!("nothing by {}", listed(&f.sets)),
        };
        let feared: Vec<String> = self.fears.iter().map(told).collect();
        all.push(match &self.fears[..] {
            [only] if count > 1 => match &only.change {
                Some(change) if count == 2 => format!("Both fear {change}."),
                Some(change) => format!("All {count} fear {change}."),
                None => "None fears anything.".to_owned(),
            },
            _ => format!("Feared: {}.", feared.join("; ")),
        });
        all
    }
}

fn listed(sets: &[Set]) -> String {
    sets.iter().map(Set::to_string).collect::<Vec<_>>().join(", ")
}

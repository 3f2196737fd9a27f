//! A study: it says where the data are, what the columns mean, which policy and which sets. Checked before
//! anything is read: an unknown key, a wrong type or an impossible combination is an error that names the
//! place and the nearest right name.
//!
//! It is made from a declaration: a tree of values and the places where they were said, from a study file
//! (TOML) or from the arguments of a front end's call. Both go through the same checks.

mod declared;
mod history;
mod known;
mod model;
mod parse;
mod policies;
mod robust;
mod target;
mod toml_file;

pub use declared::{DeclaredValue, Mentions, Place, Said};
pub use history::{Each, HistoryChanges, HistorySpec, LEAST, PERIODS};
pub use known::{KnownSpec, Span};
pub use model::{Choices, Deals, ModelSpec};
pub use parse::{study, study_from, study_of};
pub use policies::{PolicySpec, PropensitySpec};
pub use robust::SetSpec;
pub use target::{Beyond, TargetSpec, known_from};

use crate::read::{DeclaredLevels, Moment};
use seawall::evaluate::Support;
use seawall::outcome::Unseen;
use seawall::{Direction, Kind};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A checked study.
#[derive(Clone, Debug)]
pub struct Study {
    /// The study file.
    pub path: PathBuf,
    /// Its text, so that a report can show it.
    pub text: String,
    /// The names that it says, and where.
    pub mentions: Mentions,
    /// The data: a file, a folder or a pattern of files.
    pub data: PathBuf,
    /// Whether the data are a counted table: [`mod@crate::counted`].
    pub counted: bool,
    /// Conditions that a row must meet, by column.
    pub filters: Vec<(String, Condition)>,
    /// A column of weights that count rows.
    pub weight: Option<String>,
    /// Whether these may count rows in parts.
    pub fractional_weight: bool,
    /// A column of a survey's weights: for how many people a row stands.
    pub survey_weight: Option<String>,
    /// A column of clusters, within which rows are alike.
    pub cluster: Option<String>,
    /// Folds and deals of the doubly robust estimate, and its seed.
    pub deals: Deals,
    /// The context columns.
    pub contexts: Vec<Context>,
    /// How the columns' costs are scaled where nobody gives a weight.
    pub scale: Scale,
    /// The actions.
    pub actions: Actions,
    /// Whether the outcome is a cost or a reward.
    pub direction: Direction,
    /// The outcome: a sum over columns.
    pub outcome: Vec<(String, Term)>,
    /// By column of the outcome: what becomes of rows without a value there.
    pub missing_outcome: Vec<MissingOutcome>,
    /// The outcome model.
    pub model: ModelSpec,
    /// What to do where an action was never seen.
    pub unseen: Unseen,
    /// Where propensities come from.
    pub propensity: PropensitySpec,
    /// Ratios of a policy to the propensity are clipped at this.
    pub clip: Option<f64>,
    /// The policies to evaluate.
    pub policies: Vec<PolicySpec>,
    /// The set of contexts.
    pub context_set: SetSpec,
    /// The set of outcomes.
    pub cost_set: SetSpec,
    /// Which contexts mass may move to.
    pub support: Support,
    /// Another population, of which contexts are known.
    pub target: TargetSpec,
    /// Recorded groups, which say what has shifted before.
    pub history: Option<HistorySpec>,
    /// Whether rows are counted by recorded group, too: only for questions about those.
    pub by_group: bool,
    /// What a report calls things.
    pub report: ReportSpec,
    /// The bytes that counting and a grid may take: no property of the study, but of who asks.
    pub memory: u64,
}

impl Study {
    /// The columns whose values together name a recorded group, where rows are counted by those.
    pub fn grouped_by(&self) -> &[String] {
        match &self.history {
            Some(history) if self.by_group => &history.by,
            _ => &[],
        }
    }

    /// The policy that is meant: where a name is typed, what the study calls by it.
    pub fn meant<'a>(&'a self, spec: &'a PolicySpec) -> &'a PolicySpec {
        let PolicySpec::File(typed) = spec else { return spec };
        let called =
            |p: &&PolicySpec| matches!(p, PolicySpec::Named(name, _) if *typed == Path::new(name));
        self.policies.iter().find(called).unwrap_or(spec)
    }

    /// Whether the greedy policy is meant, whatever it is called.
    pub fn is_greedy(&self, spec: &PolicySpec) -> bool {
        *self.meant(spec).plain() == PolicySpec::Greedy
    }

    /// The names that the study gives its policies, as the end of a message; nothing if it gives none.
    pub(crate) fn policy_names(&self) -> String {
        let name = |p: &PolicySpec| match p {
            PolicySpec::Named(name, _) => Some(format!("{name:?}")),
            _ => None,
        };
        let names: Vec<String> = self.policies.iter().filter_map(name).collect();
        if names.is_empty() { String::new() } else { format!(", or {}", names.join(", ")) }
    }

    /// The same study, its rows counted by recorded group if they have any: groups of a table beside the
    /// log are not theirs.
    #[must_use]
    pub fn grouped(self) -> Self {
        let by_group = self.history.as_ref().is_some_and(|history| history.path.is_none());
        Study { by_group, ..self }
    }
}

/// How the context columns' costs are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Crossing the whole range of a column, or any change of a nominal one, costs 1.
    #[default]
    Range,
    /// Two people drawn at random are 1 apart in each column, on average.
    Spread,
}

/// What a report calls things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportSpec {
    /// Its title; the study file's name if not said.
    pub title: Option<String>,
    /// What the outcome is called; the columns it is made of if not said.
    pub outcome: Option<String>,
}

/// What a cell of a table must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// One of these; numbers as JSON writes them are compared as numbers.
    OneOf(Vec<String>),
    /// None of these.
    Not(Vec<String>),
    /// A number in this range, ends included.
    Range {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A date or a time in this period, ends included.
    Period {
        /// The first.
        min: Option<Moment>,
        /// The last; of a day, all of it.
        max: Option<Moment>,
    },
    /// Missing, or not.
    Missing(bool),
}

/// A context column.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The column.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its levels, if declared.
    pub levels: Option<DeclaredLevels>,
    /// An ordinal's positions, if declared.
    pub positions: Option<Vec<f64>>,
    /// The width of a numeric column's bins.
    pub bin: Option<f64>,
    /// The range of a numeric column, ends included: a number outside is an error, and its bins
    /// span it.
    pub range: (f64, f64),
    /// What multiplies its cost.
    pub weight: Option<f64>,
    /// Whether values may be missing, and what that costs if said.
    pub missing: Option<Option<f64>>,
}

/// The actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Actions {
    /// Each action is a name and the conditions that a row must meet.
    Rules(Vec<(String, Vec<(String, Condition)>)>),
    /// The action is what a column says; perhaps another says its propensity.
    Column {
        /// The column of actions.
        column: String,
        /// The column of propensities.
        propensity: Option<String>,
    },
}

/// What becomes of rows without a value in a column of the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingOutcome {
    /// They are an error.
    #[default]
    Refused,
    /// They are left out.
    Dropped,
    /// They count as 0 there.
    Zero,
}

/// What a column adds to the outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// So much for each unit of a number.
    Weight(f64),
    /// So much for each of these levels, nothing for others.
    Levels(Vec<(String, f64)>),
}

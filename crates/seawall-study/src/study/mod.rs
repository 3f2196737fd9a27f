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

pub use declared::{DeclaredValue, Said};
pub use history::{Each, HistoryChanges, HistorySpec, LEAST, PERIODS};
pub use known::{KnownSpec, Span};
pub use model::{Choices, Deals, ModelSpec};
pub use parse::{study, study_from, study_of};
pub use policies::{PolicySpec, PropensitySpec};
pub use robust::SetSpec;
pub(crate) use robust::no_cost_set;
pub use target::{Beyond, TargetSpec, TargetWeight, known_from};

pub use seawall_table::spec::{
    Actions, Condition, Context, DataSpec, Declared, Mentions, MissingOutcome, OutcomeSpec, Place,
    PredictionColumns, RowSpec, Scale, Term,
};

use seawall::outcome::Unseen;
use std::path::{Path, PathBuf};

/// A checked study.
#[derive(Clone, Debug)]
pub struct Study {
    /// The data, and what of them counts.
    pub data: DataSpec,
    /// Folds and deals of the doubly robust estimate, and its seed.
    pub deals: Deals,
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
    /// Another population, of which contexts are known.
    pub target: TargetSpec,
    /// Recorded groups, which say what has shifted before.
    pub history: Option<HistorySpec>,
    /// What a report calls things.
    pub report: ReportSpec,
}

impl Study {
    /// The study file.
    pub fn path(&self) -> &Path {
        &self.data.declared.path
    }

    /// Its text, so that a report can show it.
    pub fn text(&self) -> &str {
        &self.data.declared.text
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
    pub fn grouped(mut self) -> Self {
        let own = self.history.as_ref().filter(|history| history.path.is_none());
        self.data.rows.groups = own.map_or(Vec::new(), |history| history.by.clone());
        self
    }

    /// What of a table counts, by recorded group.
    pub fn grouped_data(&self, path: PathBuf, counted: bool) -> DataSpec {
        let mut data = DataSpec { path, counted, ..self.data.clone() };
        data.rows.groups = self.history.as_ref().map_or(Vec::new(), |history| history.by.clone());
        data
    }
}

/// What a report calls things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportSpec {
    /// Its title; the study file's name if not said.
    pub title: Option<String>,
    /// What the outcome is called; the columns it is made of if not said.
    pub outcome: Option<String>,
}

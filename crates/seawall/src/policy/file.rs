//! Policies as JSON: one format for every rule.
//!
//! ```json
//! {
//!   "format": "seawall-policy", "version": 1,
//!   "name": "by age",
//!   "actions": ["treat", "control"],
//!   "features": [{"name": "age", "kind": "numeric", "levels": [45, 55, 65]}],
//!   "rule": {"kind": "groups", "by": [{"feature": "age", "cuts": [60]}],
//!            "probabilities": [[0.5, 0.5], [0, 1]]}
//! }
//! ```
//!
//! `features` lists those that the rule looks at, with their levels where they have any (numbers
//! for a numeric one, null for a missing value). A study that lacks one of them, has it as another
//! kind, or has levels that the policy does not know is refused with the name of the feature;
//! numbers may differ. The rules, by `kind`:
//!
//! - `uniform`; `constant` with `action`;
//! - `groups` with `by`, a list of `{"feature", "cuts": [numbers]}` (parts: below the first cut,
//!   from each cut to the next, from the last one; with `"missing": true` one more for missing
//!   values) or `{"feature", "levels": [[…], …]}`, and `probabilities`, one row per combination of parts, the last one changing fastest;
//! - `tree` with `root`, a branch: `{"if": {"feature", "below": x}, "then", "else"}`, or `at_most`,
//!   or `{"if": {"feature", "one_of": […]}, …}`, or `{"probabilities"}`;
//! - `softmax` with `temperature`, `columns` (each `{"feature", "linear": {"centre", "scale"}}` or
//!   `{"feature", "levels": [[level, number], …]}`), `intercepts` and `weights` by action;
//! - `table` with `features`, `rows` of `{"context": […], "probabilities": […]}`, and perhaps
//!   `otherwise`.
//!
//! A policy that was learned may say on which rows, in `learned_on`, with the rules that parts of them learned.

use super::rule::Mention;
use super::{Policy, Rule, written};
use crate::error::{Error, Result};
use crate::log::Fingerprint;
use crate::matrix::Matrix;
use crate::space::{Kind, Space, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const FORMAT: &str = "seawall-policy";
const VERSION: u32 = 1;

/// A policy as it is saved: a rule, and what it expects of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    format: String,
    version: u32,
    /// The policy's name.
    pub name: String,
    /// The actions, in the order of the probabilities.
    pub actions: Vec<String>,
    /// The features that the rule looks at.
    pub features: Vec<FeatureNote>,
    /// The rule.
    pub rule: Rule,
    /// The rows that it was learned on, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_on: Option<LearnedOn>,
}

/// The rows that a policy was learned on: on these its own value is too good, and only that of the way in which it was
/// learned can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedOn {
    /// The rows.
    pub data: Fingerprint,
    /// The seed by which they were split.
    pub seed: u64,
    /// The rule that was learned in the same way on each part of every split, the first part before the second; none
    /// where that was not done.
    pub parts: Vec<Rule>,
}

/// A feature as a policy knew it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[doc(hidden)]
pub struct FeatureNote {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its levels: numbers for a numeric feature, text for others, null for a missing value.
    /// None for a numeric feature that was not cut into levels.
    pub levels: Vec<Level>,
}

/// A level of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[doc(hidden)]
pub enum Level {
    /// Of a numeric feature.
    Number(f64),
    /// Of any other.
    Text(String),
    /// The missing value's.
    Missing(()),
}

impl Level {
    fn new(value: Value<'_>) -> Self {
        match value {
            Value::Number(x) => Level::Number(x),
            Value::Level(text) => Level::Text(text.to_owned()),
            Value::Missing => Level::Missing(()),
        }
    }

    /// Whether this is the level written; None is the missing one.
    fn is(&self, text: Option<&str>) -> bool {
        match (self, text) {
            (Level::Missing(()), None) => true,
            (Level::Text(level), Some(text)) => level == text,
            (Level::Number(x), Some(text)) => text.parse() == Ok(*x),
            _ => false,
        }
    }
}

impl FeatureNote {
    fn new(name: String, space: &Space) -> Result<Self> {
        let k = space.feature(&name)?;
        let levels = space.level_values(k).map(Level::new).collect();
        Ok(FeatureNote { name, kind: space.kind(k).name().to_owned(), levels })
    }
}

impl PolicyFile {
    /// A policy and what it expects of a study.
    pub fn new(policy: &Policy, space: &Space, actions: &[String]) -> Result<Self> {
        policy.check_against(space, actions.len())?;
        let features = policy.rule().features().into_iter();
        let features = features.map(|f| FeatureNote::new(f, space)).collect::<Result<_>>()?;
        Ok(PolicyFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: policy.name().to_owned(),
            actions: actions.to_vec(),
            features,
            rule: policy.rule().clone(),
            learned_on: None,
        })
    }

    /// The same with the rows that it was learned on, and what their parts learned.
    pub fn learned_on(self, learned_on: LearnedOn, space: &Space) -> Result<Self> {
        let mut features = self.features;
        for name in learned_on.parts.iter().flat_map(Rule::features) {
            if !features.iter().any(|known| known.name == name) {
                features.push(FeatureNote::new(name, space)?);
            }
        }
        Ok(PolicyFile { features, learned_on: Some(learned_on), ..self })
    }

    /// The rules that parts of the rows learned, on a study's space and actions: split by split.
    pub fn parts_on(&self, space: &Arc<Space>, actions: &[String]) -> Result<Vec<[Policy; 2]>> {
        let rules = self.learned_on.iter().flat_map(|known| known.parts.chunks_exact(2));
        let policy = |rule: &Rule| {
            let part = PolicyFile { rule: rule.clone(), learned_on: None, ..self.clone() };
            part.on(space, actions)
        };
        rules.map(|both| Ok([policy(&both[0])?, policy(&both[1])?])).collect()
    }

    /// What the policy does, in words.
    pub fn explain(&self) -> Vec<String> {
        let missing = |name: &str| {
            let note = self.features.iter().find(|f| f.name == name);
            note.is_some_and(|f| f.levels.contains(&Level::Missing(())))
        };
        self.rule.explain(&self.actions, &missing)
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|e| Error::input(format!("the policy: {e}")))
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        let bad = |e: serde_json::Error| Error::input(format!("not a policy file: {e}"));
        let whole: serde_json::Value = serde_json::from_str(text).map_err(bad)?;
        // Before the fields are looked at: a later version may have others.
        if whole.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
            return Err(Error::input(format!("not a policy file: its format is not {FORMAT:?}")));
        }
        if let Some(version) = whole.get("version").filter(|v| *v != VERSION) {
            return Err(Error::input(format!(
                "a policy file of version {version}; this program reads version {VERSION}"
            )));
        }
        serde_json::from_str(text).map_err(bad)
    }

    /// The policy on a study's space and actions, if it fits them.
    pub fn on(&self, space: &Arc<Space>, actions: &[String]) -> Result<Policy> {
        let refused = |e: Error| e.within(format!("policy {:?}", self.name));
        self.check_shape().map_err(refused)?;
        self.check_actions(actions).map_err(refused)?;
        self.check_features(space).map_err(refused)?;
        // The first bad context is named before rows that no context leads to.
        let policy = Policy::new(&self.name, self.rule.clone(), space, &self.actions)?;
        self.rule.check_rows().map_err(refused)?;
        let place = |name: &String| self.actions.iter().position(|a| a == name).unwrap_or(0);
        let order: Vec<usize> = actions.iter().map(place).collect();
        if order.is_sorted() {
            return Ok(policy);
        }
        let reordered = |context, action: usize| policy.probability(context, order[action]);
        let probabilities = Matrix::from_fn(space.len(), actions.len(), reordered);
        Policy::table(&self.name, space, actions, &probabilities)
    }

    fn check_actions(&self, actions: &[String]) -> Result<()> {
        let other = |a: &[String], b: &[String]| a.iter().find(|name| !b.contains(name)).cloned();
        if let Some(name) = other(actions, &self.actions) {
            return Err(Error::config(format!(
                "it knows nothing of the study's action {name:?}; it has: {}",
                self.actions.join(", ")
            )));
        }
        match other(&self.actions, actions) {
            Some(name) => Err(Error::config(format!(
                "its action {name:?} is not in the study, which has: {}",
                actions.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Whether the file makes sense by itself.
    pub fn validate(&self) -> Result<()> {
        self.check_shape()?;
        self.rule.check_rows()
    }

    /// Whether the rule asks only what its features can answer, and its parts fit together.
    fn check_shape(&self) -> Result<()> {
        if self.actions.is_empty() {
            return Err(Error::input("it lists no actions"));
        }
        let kinds = [Kind::Numeric, Kind::Ordinal, Kind::Nominal, Kind::Fixed];
        for note in &self.features {
            if !kinds.iter().any(|k| k.name() == note.kind) {
                return Err(Error::input(format!(
                    "feature {:?} is of the kind {:?}; expected numeric, ordinal, nominal or fixed",
                    note.name, note.kind
                )));
            }
        }
        match &self.rule {
            Rule::Constant { action } if !self.actions.contains(action) => {
                return Err(Error::input(format!(
                    "it always takes {action:?}, which is not among its actions"
                )));
            }
            Rule::Softmax(softmax) => softmax.check_weights(self.actions.len())?,
            _ => {}
        }
        for (at, name) in self.actions.iter().enumerate() {
            if self.actions[..at].contains(name) {
                return Err(Error::input(format!("it lists the action {name:?} twice")));
            }
        }
        self.rule.check_shape(self.actions.len())?;
        for (name, mention) in self.rule.mentions() {
            let Some(note) = self.features.iter().find(|f| f.name == name) else {
                return Err(Error::input(format!(
                    "its rule looks at {name:?}, which is not among its features"
                )));
            };
            let known = match &mention {
                Mention::Number => note.kind == Kind::Numeric.name(),
                Mention::Level(level) => note.levels.iter().any(|l| l.is(level.as_deref())),
            };
            if !known {
                return Err(Error::input(match mention {
                    Mention::Number => format!(
                        "its rule takes {name:?} for a number, but that feature is {}",
                        note.kind
                    ),
                    Mention::Level(level) => format!(
                        "its rule names the level {:?} of {name:?}, which that feature does not \
                         have",
                        level.unwrap_or("(missing)".to_owned())
                    ),
                }));
            }
        }
        Ok(())
    }

    fn check_features(&self, space: &Space) -> Result<()> {
        for note in &self.features {
            let name = &note.name;
            let Ok(k) = space.feature(name) else {
                let all: Vec<&str> = space.names().collect();
                return Err(Error::config(format!(
                    "it looks at the feature {name:?}, which the study does not have (it has: {})",
                    all.join(", ")
                )));
            };
            if space.kind(k).name() != note.kind {
                return Err(Error::config(format!(
                    "feature {name:?} is {} in the study but {} in the policy",
                    space.kind(k).name(),
                    note.kind
                )));
            }
            let strange = space.level_values(k).find(|value| {
                !matches!(value, Value::Number(_)) && !note.levels.contains(&Level::new(*value))
            });
            if let Some(value) = strange {
                let level = written(value).unwrap_or("(missing)".to_owned());
                return Err(Error::config(format!(
                    "feature {name:?} has the level {level:?} in the study, which the policy does \
                     not know"
                )));
            }
        }
        Ok(())
    }
}

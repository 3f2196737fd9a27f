//! What a policy does, in words that hold on any space with the features it looks at.

use super::{Branch, Partition, Softmax, written};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::space::{Kind, Space};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a policy does. Probabilities are in the order of the policy's actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Rule {
    /// Every action with the same probability.
    Uniform,
    /// Always the same action.
    Constant {
        /// The action.
        action: String,
    },
    /// By group: the groups are all combinations of the parts, the last one changing fastest.
    Groups {
        /// What the groups are made of.
        by: Vec<Partition>,
        /// One row of probabilities per group.
        probabilities: Vec<Vec<f64>>,
    },
    /// By a decision tree.
    Tree {
        /// Where it starts.
        root: Branch,
    },
    /// By a softmax of linear scores.
    Softmax(Softmax),
    /// Context by context.
    Table {
        /// The features that a row names, in order.
        features: Vec<String>,
        /// The contexts.
        rows: Vec<TableRow>,
        /// The probabilities in any other context.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        otherwise: Option<Vec<f64>>,
    },
}

/// What a rule takes a feature for.
pub(super) enum Mention {
    /// A number.
    Number,
    /// Something with this level, None being the missing one.
    Level(Option<String>),
}

/// One context of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// The context: one value per feature, null if missing.
    pub context: Vec<Option<String>>,
    /// Its probabilities.
    pub probabilities: Vec<f64>,
}

impl Rule {
    /// The table of some contexts' probabilities.
    pub fn table(
        space: &Space,
        probabilities: &Matrix,
        listed: impl Fn(usize) -> bool,
        otherwise: Option<Vec<f64>>,
    ) -> Result<Self> {
        let (rows, contexts) = (probabilities.contexts(), space.len());
        let actions = probabilities.actions();
        if let Some(row) = otherwise.as_ref().filter(|row| row.len() != actions) {
            let found = row.len();
            return Err(Error::input(format!("otherwise: {found} chances for {actions} actions")));
        }
        if rows == contexts {
            Ok(Rule::listed(space, probabilities, listed, otherwise))
        } else {
            Err(Error::input(format!("{rows} rows of chances for {contexts} contexts")))
        }
    }

    /// The same of a matrix that is known to fit.
    pub(super) fn listed(
        space: &Space,
        probabilities: &Matrix,
        listed: impl Fn(usize) -> bool,
        otherwise: Option<Vec<f64>>,
    ) -> Self {
        let features: Vec<String> = space.names().map(str::to_owned).collect();
        let columns: Vec<Vec<Option<String>>> =
            (0..features.len()).map(|k| space.each(k, written)).collect();
        let rows = (0..space.len()).filter(|&i| listed(i)).map(|i| TableRow {
            context: columns.iter().map(|column| column[i].clone()).collect(),
            probabilities: probabilities.row(i).to_vec(),
        });
        Rule::Table { features, rows: rows.collect(), otherwise }
    }

    /// Every row of probabilities, wherever it stands.
    fn rows(&self) -> Vec<&[f64]> {
        let mut rows: Vec<&[f64]> = Vec::new();
        match self {
            Rule::Uniform | Rule::Constant { .. } | Rule::Softmax(_) => {}
            Rule::Groups { probabilities, .. } => {
                rows.extend(probabilities.iter().map(Vec::as_slice));
            }
            Rule::Tree { root } => root.leaves(&mut rows),
            Rule::Table { rows: listed, otherwise, .. } => {
                rows.extend(listed.iter().map(|r| r.probabilities.as_slice()));
                rows.extend(otherwise.as_deref());
            }
        }
        rows
    }

    /// Refuses rows that are no probabilities, even where no context leads to them.
    pub(super) fn check_rows(&self) -> Result<()> {
        match self.rows().iter().find(|row| !super::are_probabilities(row)) {
            Some(row) => Err(Error::input(format!(
                "the probabilities {row:?} are no numbers from 0 to 1 that sum to 1"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses parts and rows that do not fit together.
    pub(super) fn check_shape(&self, actions: usize) -> Result<()> {
        match self {
            Rule::Groups { by, .. } => by.iter().try_for_each(Partition::check_parts)?,
            Rule::Table { features, rows: listed, .. } => {
                if let Some(row) = listed.iter().find(|r| r.context.len() != features.len()) {
                    return Err(Error::input(format!(
                        "a row's context names {} values for {} features",
                        row.context.len(),
                        features.len()
                    )));
                }
            }
            _ => {}
        }
        match self.rows().iter().find(|row| row.len() != actions) {
            Some(row) => Err(Error::input(format!(
                "the probabilities {row:?} are not one number for each of {actions} actions"
            ))),
            None => Ok(()),
        }
    }

    /// Every feature that the rule looks at, and what it takes it for.
    pub(super) fn mentions(&self) -> Vec<(String, Mention)> {
        match self {
            Rule::Uniform | Rule::Constant { .. } => Vec::new(),
            Rule::Groups { by, .. } => by.iter().flat_map(Partition::mentions).collect(),
            Rule::Tree { root } => root.mentions(),
            Rule::Softmax(softmax) => softmax.mentions(),
            Rule::Table { features, rows, .. } => {
                let mut mentions = Vec::new();
                for (k, name) in features.iter().enumerate() {
                    let mut seen: Vec<&Option<String>> =
                        rows.iter().filter_map(|r| r.context.get(k)).collect();
                    seen.sort();
                    seen.dedup();
                    let level = |l: &Option<String>| (name.clone(), Mention::Level(l.clone()));
                    mentions.extend(seen.into_iter().map(level));
                }
                mentions
            }
        }
    }

    /// The features that the rule looks at.
    pub fn features(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Rule::Table { features, .. } => features.clone(),
            rule => rule.mentions().into_iter().map(|m| m.0).collect(),
        };
        let mut seen = Vec::new();
        names.retain(|name| {
            let new = !seen.contains(name);
            seen.push(name.clone());
            new
        });
        names
    }

    /// The probabilities in every context of a space, `[context · actions + action]`.
    pub(super) fn probabilities(&self, space: &Space, actions: &[String]) -> Result<Vec<f64>> {
        let count = actions.len();
        let fits = |row: &[f64], what: &dyn Fn() -> String| {
            if row.len() == count {
                Ok(())
            } else {
                Err(Error::input(format!(
                    "{}: {} probabilities for {count} actions",
                    what(),
                    row.len()
                )))
            }
        };
        match self {
            Rule::Uniform => Ok(vec![1.0 / count as f64; space.len() * count]),
            Rule::Constant { action } => {
                let Some(chosen) = actions.iter().position(|a| a == action) else {
                    let all = actions.join(", ");
                    return Err(Error::config(format!(
                        "no action named {action:?}; there are: {all}"
                    )));
                };
                let row = (0..count).map(|a| f64::from(u8::from(a == chosen)));
                Ok(row.cycle().take(space.len() * count).collect())
            }
            Rule::Groups { by, probabilities } => {
                for (k, row) in probabilities.iter().enumerate() {
                    fits(row, &|| format!("group {k}"))?;
                }
                let group = Partition::groups(by, space)?;
                let groups: usize = by.iter().map(Partition::len).product();
                if groups != probabilities.len() {
                    return Err(Error::input(format!(
                        "{} rows of probabilities for {groups} groups",
                        probabilities.len()
                    )));
                }
                Ok(group.iter().flat_map(|&g| &probabilities[g]).copied().collect())
            }
            Rule::Tree { root } => {
                let rows = root.rows(space)?;
                for row in &rows {
                    fits(row, &|| "a leaf of the tree".to_owned())?;
                }
                Ok(rows.into_iter().flatten().copied().collect())
            }
            Rule::Softmax(softmax) => softmax.probabilities(space, count),
            Rule::Table { features, rows, otherwise } => {
                for row in rows {
                    fits(&row.probabilities, &|| format!("context {:?}", row.context))?;
                }
                if let Some(row) = otherwise {
                    fits(row, &|| "otherwise".to_owned())?;
                }
                looked_up(space, features, rows, otherwise.as_deref())
            }
        }
    }
}

/// The table's probabilities of every context.
fn looked_up(
    space: &Space,
    features: &[String],
    rows: &[TableRow],
    otherwise: Option<&[f64]>,
) -> Result<Vec<f64>> {
    let places: Vec<usize> =
        features.iter().map(|name| space.feature(name)).collect::<Result<_>>()?;
    if let Some(k) = (1..places.len()).find(|&k| places[..k].contains(&places[k])) {
        return Err(Error::input(format!("it names the feature {:?} twice", features[k])));
    }
    // Each value becomes the number of the first equal one in its column of the table.
    let mut columns = Vec::new();
    let mut keys: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    for (at, &k) in places.iter().enumerate() {
        let mut number: HashMap<Option<String>, usize> = HashMap::new();
        for (row, key) in rows.iter().zip(&mut keys) {
            let text = row.context.get(at).ok_or_else(|| {
                Error::input(format!(
                    "a row names {} of {} features",
                    row.context.len(),
                    features.len()
                ))
            })?;
            // A number may be written in more than one way.
            let written = match (space.kind(k), text.as_deref().map(str::parse::<f64>)) {
                (Kind::Numeric, Some(Ok(x))) => Some(x.to_string()),
                _ => text.clone(),
            };
            let next = number.len();
            key.push(*number.entry(written).or_insert(next));
        }
        columns.push(space.each(k, |value| number.get(&written(value)).copied()));
    }
    let mut by_context: HashMap<Vec<usize>, &[f64]> = HashMap::new();
    for (row, key) in rows.iter().zip(keys) {
        if by_context.insert(key, &row.probabilities).is_some() {
            return Err(Error::input(format!("the context {:?} is listed twice", row.context)));
        }
    }
    let mut probabilities = Vec::new();
    for context in 0..space.len() {
        let key: Option<Vec<usize>> = columns.iter().map(|column| column[context]).collect();
        let found = key.and_then(|key| by_context.get(&key).copied()).or(otherwise);
        let row = found.ok_or_else(|| {
            let words = space.describe(context);
            Error::input(format!("no probabilities for the context {words}"))
        })?;
        probabilities.extend_from_slice(row);
    }
    Ok(probabilities)
}

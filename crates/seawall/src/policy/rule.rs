//! What a policy does, in words that hold on any space with the features it looks at.

use super::{Branch, Partition, Softmax, is, written};
use crate::error::{Error, Result};
use crate::space::{Space, Value};
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
    /// The table of some contexts' probabilities, `[context · actions + action]`.
    pub fn table(
        space: &Space,
        probabilities: &[f64],
        listed: impl Fn(usize) -> bool,
        otherwise: Option<Vec<f64>>,
    ) -> Self {
        let actions = probabilities.len() / space.len();
        let features: Vec<String> = space.names().map(str::to_owned).collect();
        let columns: Vec<Vec<Option<String>>> =
            (0..features.len()).map(|k| space.each(k, written)).collect();
        let rows = (0..space.len()).filter(|&i| listed(i)).map(|i| TableRow {
            context: columns.iter().map(|column| column[i].clone()).collect(),
            probabilities: probabilities[i * actions..][..actions].to_vec(),
        });
        Rule::Table { features, rows: rows.collect(), otherwise }
    }

    /// The features that the rule looks at.
    pub fn features(&self) -> Vec<String> {
        let mut names = match self {
            Rule::Uniform | Rule::Constant { .. } => Vec::new(),
            Rule::Groups { by, .. } => by.iter().map(|p| p.feature.clone()).collect(),
            Rule::Tree { root } => root.features(),
            Rule::Softmax(softmax) => softmax.features(),
            Rule::Table { features, .. } => features.clone(),
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
        let fits = |row: &[f64], what: &dyn Fn() -> String| match row.len() == count {
            true => Ok(()),
            false => Err(Error::input(format!(
                "{}: {} probabilities for {count} actions",
                what(),
                row.len()
            ))),
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
    // Each value becomes the number of the first equal one in its column of the table.
    let mut columns = Vec::new();
    for (at, &k) in places.iter().enumerate() {
        let mut texts: Vec<Option<&str>> = Vec::new();
        let mut number: HashMap<Option<&str>, usize> = HashMap::new();
        for row in rows {
            let text = row.context.get(at).ok_or_else(|| {
                Error::input(format!(
                    "a row names {} of {} features",
                    row.context.len(),
                    features.len()
                ))
            })?;
            number.entry(text.as_deref()).or_insert_with(|| {
                texts.push(text.as_deref());
                texts.len() - 1
            });
        }
        let of = |value: Value<'_>| match value {
            // A number may be written in more than one way.
            Value::Number(_) => texts.iter().position(|text| is(value, *text)),
            Value::Level(level) => number.get(&Some(level)).copied(),
            Value::Missing => number.get(&None).copied(),
        };
        columns.push((number.clone(), space.each(k, of)));
    }
    let mut by_context: HashMap<Vec<usize>, &[f64]> = HashMap::new();
    for row in rows {
        let key =
            row.context.iter().zip(&columns).map(|(text, (number, _))| number[&text.as_deref()]);
        if by_context.insert(key.collect(), &row.probabilities).is_some() {
            return Err(Error::input(format!("the context {:?} is listed twice", row.context)));
        }
    }
    let mut probabilities = Vec::new();
    for context in 0..space.len() {
        let key: Option<Vec<usize>> = columns.iter().map(|(_, column)| column[context]).collect();
        let found = key.and_then(|key| by_context.get(&key).copied()).or(otherwise);
        let row = found.ok_or_else(|| {
            let words = space.describe(context);
            Error::input(format!("no probabilities for the context {words}"))
        })?;
        probabilities.extend_from_slice(row);
    }
    Ok(probabilities)
}

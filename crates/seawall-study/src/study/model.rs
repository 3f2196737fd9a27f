//! `[model]`: how outcomes are modelled.
//!
//! A tree's settings are each a number, a list to choose from by cross-validation, or a table of
//! either by action: `min_samples_leaf = { treat = 5, control = [2, 5] }`.

use super::Actions;
use super::toml_file::Value;
use crate::read::{named, same};
use seawall::outcome::{TreeSettings, Unseen};
use seawall::{Error, Result};
use std::path::{Path, PathBuf};

/// How outcomes are modelled.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpec {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action.
    Tree {
        /// Splits from the root to a leaf, at most.
        max_depth: Choices,
        /// Rows in a leaf, at least.
        min_samples_leaf: Choices,
        /// Rows in a node that may be split, at least.
        min_samples_split: Choices,
        /// The strength of cost-complexity pruning.
        ccp_alpha: Choices,
        /// Folds of the cross-validation that chooses, where there is a choice.
        folds: usize,
    },
    /// Predicted values from a file: the context columns, and a column per action.
    Table(PathBuf),
    /// Predicted values of every row: for each action the column of the data that has them.
    Column {
        /// Actions and their columns.
        columns: Vec<(String, String)>,
        /// The line of the study that says so.
        line: usize,
    },
}

/// What a setting may be: for every action, and for those that have their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    all: Vec<f64>,
    own: Vec<(String, Vec<f64>)>,
}

impl Choices {
    fn for_action(&self, action: &str) -> &[f64] {
        self.own.iter().find(|(name, _)| same(name, action)).map_or(&self.all, |(_, own)| own)
    }
}

impl ModelSpec {
    /// The tree settings offered to each action; None if the model is no tree.
    pub fn offered(&self, actions: &[String]) -> Result<Option<Vec<Vec<TreeSettings>>>> {
        let ModelSpec::Tree { max_depth, min_samples_leaf, min_samples_split, ccp_alpha, .. } =
            self
        else {
            return Ok(None);
        };
        for choices in [max_depth, min_samples_leaf, min_samples_split, ccp_alpha] {
            if let Some((name, _)) =
                choices.own.iter().find(|(name, _)| named(actions, name).is_none())
            {
                return Err(Error::config(format!(
                    "[model] names the action {name:?}; there are: {}",
                    actions.join(", ")
                )));
            }
        }
        let each = |action: &String| {
            let mut offered = Vec::new();
            for depth in max_depth.for_action(action) {
                for leaf in min_samples_leaf.for_action(action) {
                    for split in min_samples_split.for_action(action) {
                        for alpha in ccp_alpha.for_action(action) {
                            offered.push(TreeSettings {
                                max_depth: *depth as usize,
                                min_samples_leaf: *leaf,
                                min_samples_split: *split,
                                ccp_alpha: *alpha,
                            });
                        }
                    }
                }
            }
            offered
        };
        Ok(Some(actions.iter().map(each).collect()))
    }
}

pub(super) fn parse(
    value: Option<Value<'_>>,
    actions: &Actions,
    folder: &Path,
) -> Result<(ModelSpec, Unseen)> {
    let Some(value) = value else { return Ok((ModelSpec::Cells, Unseen::Error)) };
    let mut table = value.table()?;
    let kind =
        table.need("kind")?.word(&[("cells", 0), ("tree", 1), ("table", 2), ("column", 3)])?;
    let words = [("error", Unseen::Error), ("mean", Unseen::Mean), ("worst", Unseen::Worst)];
    let unseen = table.take("unseen").map_or(Ok(Unseen::Error), |v| v.word(&words))?;
    let spec = match kind {
        0 => {
            table.finish(&["kind", "unseen"])?;
            return Ok((ModelSpec::Cells, unseen));
        }
        1 => {
            let usual = TreeSettings::default();
            let mut setting = |key, usual: f64, expected: (&str, fn(f64) -> bool)| {
                choices(table.take(key), usual, expected, actions)
            };
            let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x < 64.0;
            let at_least_0 = |x: f64| x >= 0.0 && x.is_finite();
            ModelSpec::Tree {
                max_depth: setting(
                    "max_depth",
                    usual.max_depth as f64,
                    ("a whole number from 0 to 63", whole),
                )?,
                min_samples_leaf: setting(
                    "min_samples_leaf",
                    usual.min_samples_leaf,
                    ("a number ≥ 1", |x| x >= 1.0 && x.is_finite()),
                )?,
                min_samples_split: setting(
                    "min_samples_split",
                    usual.min_samples_split,
                    ("a number ≥ 2", |x| x >= 2.0 && x.is_finite()),
                )?,
                ccp_alpha: setting("ccp_alpha", usual.ccp_alpha, ("a number ≥ 0", at_least_0))?,
                folds: match table.take("folds") {
                    None => 5,
                    Some(v) => match v.number()? {
                        k if (2.0..=1000.0).contains(&k) && k.fract() == 0.0 => k as usize,
                        k => return Err(v.error(format!("{k}; expected a whole number ≥ 2"))),
                    },
                },
            }
        }
        2 => ModelSpec::Table(folder.join(table.need("path")?.text()?)),
        _ => column(table.need("predictions")?, actions)?,
    };
    table.finish(match kind {
        1 => &[
            "kind",
            "unseen",
            "max_depth",
            "min_samples_leaf",
            "min_samples_split",
            "ccp_alpha",
            "folds",
        ],
        2 => &["kind", "unseen", "path"],
        _ => &["kind", "unseen", "predictions"],
    })?;
    Ok((spec, unseen))
}

/// `{ ACTION = "COL", ... }`: a column for every action.
fn column(value: Value<'_>, actions: &Actions) -> Result<ModelSpec> {
    let (line, mut columns) = (value.line(), Vec::new());
    let mut table = value.table()?;
    for (name, v) in table.rest() {
        actions.check_name(&name, &v)?;
        columns.push((name, v.text()?));
    }
    if let Actions::Rules(rules) = actions
        && let Some((name, _)) = rules.iter().find(|(n, _)| !columns.iter().any(|c| c.0 == *n))
    {
        return Err(
            table.error(format!("\"model.predictions\": no column for the action {name:?}"))
        );
    }
    Ok(ModelSpec::Column { columns, line })
}

/// A number, a list of them, or a table of either by action.
fn choices(
    value: Option<Value<'_>>,
    usual: f64,
    (expected, fits): (&str, fn(f64) -> bool),
    actions: &Actions,
) -> Result<Choices> {
    let checked = |v: &Value<'_>| {
        let numbers = v.numbers()?;
        match numbers.iter().find(|x| !fits(**x)) {
            Some(x) => Err(v.error(format!("{x}; expected {expected}"))),
            None if numbers.is_empty() => Err(v.error("expected at least one number")),
            None => Ok(numbers),
        }
    };
    match value {
        None => Ok(Choices { all: vec![usual], own: Vec::new() }),
        Some(v) if v.is_table() => {
            let mut own = Vec::new();
            for (name, v) in v.table()?.rest() {
                actions.check_name(&name, &v)?;
                own.push((name, checked(&v)?));
            }
            Ok(Choices { all: vec![usual], own })
        }
        Some(v) => Ok(Choices { all: checked(&v)?, own: Vec::new() }),
    }
}

impl Actions {
    /// Refuses a key that is no action's name, where the study lists them.
    pub(super) fn check_name(&self, name: &str, value: &Value<'_>) -> Result<()> {
        match self {
            Actions::Rules(rules) if !rules.iter().any(|(n, _)| n == name) => {
                let known: Vec<&str> = rules.iter().map(|(n, _)| n.as_str()).collect();
                Err(value.error(format!("no such action; there are {}", known.join(", "))))
            }
            _ => Ok(()),
        }
    }
}

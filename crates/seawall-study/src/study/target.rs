//! `[target]`: another population, of which contexts are known.

use super::Condition;
use super::parse::conditions;
use super::toml_file::Value;
use seawall::Result;
use std::path::{Path, PathBuf};

/// What is said of the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetSpec {
    /// A sample of its contexts.
    pub path: Option<PathBuf>,
    /// Conditions that its rows must meet; the log's own do not hold for it.
    pub filters: Vec<(String, Condition)>,
    /// A column of weights.
    pub weight: Option<String>,
    /// What to do about values that the log does not have; None if not said.
    pub beyond: Option<Beyond>,
}

/// What to do about values that the log does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The axis is extended, positions and weights kept.
    Extend,
    /// All of them are refused at once.
    Error,
}

pub(super) fn parse(value: Option<Value<'_>>, folder: &Path) -> Result<TargetSpec> {
    let Some(value) = value else { return Ok(TargetSpec::default()) };
    let mut table = value.table()?;
    let path = table.take("path").map(|v| v.text()).transpose()?.map(|p| folder.join(p));
    let filters = table.take("where").map(conditions).transpose()?.unwrap_or_default();
    let weight = table.take("weight").map(|v| v.text()).transpose()?;
    let words = [("extend", Beyond::Extend), ("error", Beyond::Error)];
    let beyond = table.take("beyond").map(|v| v.word(&words)).transpose()?;
    table.finish(&["path", "where", "weight", "beyond"])?;
    Ok(TargetSpec { path, filters, weight, beyond })
}

//! `[target]`: another population, of which contexts are known: a sample of them, or numbers about
//! single columns.

use super::known::{self, KnownSpec};
use super::parse::conditions;
use super::toml_file::Value;
use super::{Condition, Context};
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
    /// What is known of single columns where there is no sample.
    pub known: Vec<KnownSpec>,
    /// From how many people that is known, unless a column says otherwise.
    pub size: Option<f64>,
}

/// What to do about values that the log does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The axis is extended, positions and weights kept.
    Extend,
    /// All of them are refused at once.
    Error,
}

pub(super) fn parse(
    value: Option<Value<'_>>,
    folder: &Path,
    contexts: &[Context],
) -> Result<TargetSpec> {
    let Some(value) = value else { return Ok(TargetSpec::default()) };
    let mut table = value.table()?;
    let path = table.take("path").map(|v| v.text()).transpose()?.map(|p| folder.join(p));
    let filters = table.take("where").map(conditions).transpose()?.unwrap_or_default();
    let weight = table.take("weight").map(|v| v.text()).transpose()?;
    let words = [("extend", Beyond::Extend), ("error", Beyond::Error)];
    let beyond = table.take("beyond").map(|v| v.word(&words)).transpose()?;
    let (size, known) = (table.take("size"), table.take("known"));
    if let (Some(_), Some(numbers)) = (&path, known.as_ref().or(size.as_ref())) {
        return Err(numbers.error(
            "a sample of the target is named too (path), and says more than numbers about it; leave \
             out path, or [target.known] and size",
        ));
    }
    let people = |v: Value<'_>| known::size(v.number()?).map_err(|what| v.error(what));
    let size = size.map(people).transpose()?;
    let known = known.map(known::parse).transpose()?.unwrap_or_default();
    known::check(&known, contexts)?;
    table.finish(&["path", "where", "weight", "beyond", "size", "known"])?;
    Ok(TargetSpec { path, filters, weight, beyond, known, size })
}

//! `[target]`: another population, of which contexts are known: a sample of them, or numbers about
//! single columns.

use super::declared::DeclaredValue;
use super::known::{self, KnownSpec};
use super::parse::conditions;
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
    /// A column that says how much a row counts for.
    pub weight: Option<TargetWeight>,
    /// What to do about values that the log does not have; None if not said.
    pub beyond: Option<Beyond>,
    /// What is known of single columns where there is no sample.
    pub known: Vec<KnownSpec>,
    /// From how many people that is known, unless a column says otherwise.
    pub size: Option<f64>,
}

/// A column that says how much a row of the target counts for.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetWeight {
    /// How many people it stands for.
    Count(String),
    /// A survey's weight of one person.
    Survey(String),
}

impl TargetWeight {
    /// The column.
    pub fn column(&self) -> &str {
        match self {
            TargetWeight::Count(name) | TargetWeight::Survey(name) => name,
        }
    }

    /// Whether it can weigh so much.
    pub fn fits(&self, weight: f64) -> bool {
        let whole = matches!(self, TargetWeight::Survey(_)) || weight.fract() == 0.0;
        weight >= 0.0 && weight.is_finite() && whole
    }

    /// What it can weigh, for messages.
    pub fn expected(&self) -> &'static str {
        match self {
            TargetWeight::Count(_) => {
                "a count is a whole number ≥ 0; for weights that are no counts use survey_weight"
            }
            TargetWeight::Survey(_) => "expected a finite number ≥ 0",
        }
    }
}

/// What to do about values that the log does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The axis is extended, positions and weights kept.
    Extend,
    /// All of them are refused at once.
    Error,
}

/// What arguments of a front end's call say of single columns of a target, and from how many people that is.
pub fn known_from(
    known: Option<DeclaredValue>,
    size: Option<DeclaredValue>,
) -> Result<(Vec<KnownSpec>, Option<f64>)> {
    Ok((known.map(known::parse).transpose()?.unwrap_or_default(), people(size)?))
}

/// How many people.
fn people(size: Option<DeclaredValue>) -> Result<Option<f64>> {
    size.map(|v| known::size(v.number()?).map_err(|what| v.error(what))).transpose()
}

pub(super) fn parse(
    value: Option<DeclaredValue>,
    folder: &Path,
    contexts: &[Context],
) -> Result<TargetSpec> {
    let Some(value) = value else { return Ok(TargetSpec::default()) };
    let mut table = value.table()?;
    let path = table.take("path").map(|v| v.text()).transpose()?.map(|p| folder.join(p));
    let filters = table.take("where").map(conditions).transpose()?.unwrap_or_default();
    let count = table.take("weight").map(|v| v.text().map(TargetWeight::Count)).transpose()?;
    let survey = table.take("survey_weight");
    if let (Some(survey), Some(_)) = (&survey, &count) {
        return Err(survey.error("weight is given too; counts or survey weights, not both"));
    }
    let survey = survey.map(|v| v.text().map(TargetWeight::Survey)).transpose()?;
    let weight = count.or(survey);
    let words = [("extend", Beyond::Extend), ("error", Beyond::Error)];
    let beyond = table.take("beyond").map(|v| v.word(&words)).transpose()?;
    let (size, known) = (table.take("size"), table.take("known"));
    if let (Some(_), Some(numbers)) = (&path, known.as_ref().or(size.as_ref())) {
        let section = numbers.place.section("target.known");
        return Err(numbers.error(format!(
            "a sample of the target is named too (path), and says more than numbers about it; leave \
             out path, or {section} and size"
        )));
    }
    let size = people(size)?;
    let known = known.map(known::parse).transpose()?.unwrap_or_default();
    known::check(&known, contexts)?;
    table.finish(&["path", "where", "weight", "survey_weight", "beyond", "size", "known"])?;
    Ok(TargetSpec { path, filters, weight, beyond, known, size })
}

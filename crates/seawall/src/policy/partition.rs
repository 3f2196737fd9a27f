//! A feature's values cut into parts; groups are combinations of parts.

use super::is;
use super::rule::Mention;
use crate::error::{Error, Result};
use crate::space::{Kind, Space, Value};
use serde::{Deserialize, Serialize};

/// A feature's values cut into parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenPartition", into = "WrittenPartition")]
pub struct Partition {
    /// The feature.
    pub feature: String,
    /// Whether cuts are followed by a part for missing values.
    pub missing: bool,
    /// Its parts.
    pub parts: Parts,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPartition {
    feature: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cuts: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<Vec<Option<String>>>>,
}

impl TryFrom<WrittenPartition> for Partition {
    type Error = &'static str;

    fn try_from(written: WrittenPartition) -> std::result::Result<Self, Self::Error> {
        let WrittenPartition { feature, missing, cuts, levels } = written;
        let parts = match (cuts, levels) {
            (Some(cuts), None) => Parts::Cuts(cuts),
            (None, Some(levels)) if !missing => Parts::Levels(levels),
            (None, Some(_)) => return Err("\"missing\" belongs to cuts; among levels it is null"),
            _ => return Err("a partition has either cuts or levels"),
        };
        Ok(Partition { feature, missing, parts })
    }
}

impl From<Partition> for WrittenPartition {
    fn from(partition: Partition) -> Self {
        let Partition { feature, missing, parts } = partition;
        match parts {
            Parts::Cuts(cuts) => {
                WrittenPartition { feature, missing, cuts: Some(cuts), levels: None }
            }
            Parts::Levels(levels) => {
                WrittenPartition { feature, missing, cuts: None, levels: Some(levels) }
            }
        }
    }
}

/// The parts of a feature's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// Numbers below the first cut, from the first to below the second, and so on.
    Cuts(Vec<f64>),
    /// Lists of levels; null is the missing one.
    Levels(Vec<Vec<Option<String>>>),
}

impl Partition {
    /// Every level of a feature a part of its own.
    pub fn of_levels(space: &Space, feature: &str) -> Result<Self> {
        let k = space.feature(feature)?;
        let levels: Vec<_> = space.level_values(k).map(|v| vec![super::written(v)]).collect();
        if levels.is_empty() {
            return Err(Error::config(format!(
                "feature {feature:?} has no levels; give it cut points"
            )));
        }
        Ok(Partition { feature: feature.to_owned(), missing: false, parts: Parts::Levels(levels) })
    }

    /// Refuses cuts that do not rise and levels that are in two parts.
    pub(super) fn check_parts(&self) -> Result<()> {
        let name = &self.feature;
        match &self.parts {
            Parts::Cuts(cuts) => {
                if !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|c| !c.is_finite()) {
                    return Err(Error::config(format!(
                        "the cuts of {name:?} are {cuts:?}; expected rising numbers"
                    )));
                }
            }
            Parts::Levels(parts) => {
                let all: Vec<&Option<String>> = parts.iter().flatten().collect();
                if let Some(k) = (1..all.len()).find(|&k| all[..k].contains(&all[k])) {
                    let level = all[k].as_deref().unwrap_or("(missing)");
                    return Err(Error::config(format!(
                        "feature {name:?}: the level {level:?} is in two parts"
                    )));
                }
            }
        }
        Ok(())
    }

    pub(super) fn mentions(&self) -> Vec<(String, Mention)> {
        match &self.parts {
            Parts::Cuts(_) => vec![(self.feature.clone(), Mention::Number)],
            Parts::Levels(parts) => {
                let level = |l: &Option<String>| (self.feature.clone(), Mention::Level(l.clone()));
                parts.iter().flatten().map(level).collect()
            }
        }
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        match &self.parts {
            Parts::Cuts(cuts) => cuts.len() + 1 + usize::from(self.missing),
            Parts::Levels(levels) => levels.len(),
        }
    }

    /// Whether there are no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part in words: `age < 60`, `site = north or south`.
    pub fn phrase(&self, part: usize) -> String {
        let name = &self.feature;
        match &self.parts {
            Parts::Cuts(cuts) if part > cuts.len() => format!("{name} missing"),
            Parts::Cuts(cuts) => match (part.checked_sub(1).map(|k| cuts[k]), cuts.get(part)) {
                (None, Some(high)) => format!("{name} < {high}"),
                (Some(low), Some(high)) => format!("{low} ≤ {name} < {high}"),
                (Some(low), None) => format!("{name} ≥ {low}"),
                (None, None) => format!("any {name}"),
            },
            Parts::Levels(levels) => {
                let word = |l: &Option<String>| l.clone().unwrap_or("(missing)".to_owned());
                let all: Vec<String> = levels[part].iter().map(word).collect();
                format!("{name} = {}", all.join(" or "))
            }
        }
    }

    /// The part that a value is in.
    pub(crate) fn part(&self, value: Value<'_>) -> Option<usize> {
        match (&self.parts, value) {
            (Parts::Cuts(cuts), Value::Number(x)) => Some(cuts.partition_point(|cut| *cut <= x)),
            (Parts::Cuts(cuts), Value::Missing) => self.missing.then_some(cuts.len() + 1),
            (Parts::Cuts(_), Value::Level(_)) => None,
            (Parts::Levels(levels), value) => {
                levels.iter().position(|part| part.iter().any(|text| is(value, text.as_deref())))
            }
        }
    }

    /// The part of every context of a space.
    fn parts(&self, space: &Space) -> Result<Vec<usize>> {
        let name = &self.feature;
        let k = space.feature(name)?;
        self.check_parts()?;
        if matches!(self.parts, Parts::Cuts(_)) && space.kind(k) != Kind::Numeric {
            return Err(Error::config(format!(
                "feature {name:?} is {}; only a numeric one can be cut at numbers",
                space.kind(k).name()
            )));
        }
        let parts = space.each(k, |value| self.part(value));
        let place = |(context, part): (usize, &Option<usize>)| {
            part.ok_or_else(|| {
                let level = space.label(context, k);
                Error::input(format!("feature {name:?}: the level {level:?} is in no part"))
            })
        };
        parts.iter().enumerate().map(place).collect()
    }

    /// The group of every context: all combinations of parts, the last one changing fastest.
    pub fn groups(by: &[Partition], space: &Space) -> Result<Vec<usize>> {
        let mut groups = vec![0; space.len()];
        for partition in by {
            let parts = partition.parts(space)?;
            groups.iter_mut().zip(parts).for_each(|(g, part)| *g = *g * partition.len() + part);
        }
        Ok(groups)
    }

    /// A group in words.
    pub fn describe(by: &[Partition], group: usize) -> String {
        let mut words = Vec::new();
        let mut rest = group;
        for partition in by.iter().rev() {
            words.push(partition.phrase(rest % partition.len()));
            rest /= partition.len();
        }
        words.reverse();
        words.join(", ")
    }
}

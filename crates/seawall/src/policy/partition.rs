//! A feature's values cut into parts; groups are combinations of parts.

use super::is;
use crate::error::{Error, Result};
use crate::space::{Kind, Space, Value};
use serde::{Deserialize, Serialize};

/// A feature's values cut into parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// The feature.
    pub feature: String,
    /// Whether cuts are followed by a part for missing values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Its parts.
    #[serde(flatten)]
    pub parts: Parts,
}

/// The parts of a feature's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    pub fn words(&self, part: usize) -> String {
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
    fn part(&self, value: Value<'_>) -> Option<usize> {
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
        if let Parts::Cuts(cuts) = &self.parts {
            if space.kind(k) != Kind::Numeric {
                return Err(Error::config(format!(
                    "feature {name:?} is {}; only a numeric one can be cut at numbers",
                    space.kind(k).name()
                )));
            }
            if !cuts.is_sorted_by(|a, b| a < b) || cuts.iter().any(|c| !c.is_finite()) {
                return Err(Error::config(format!(
                    "the cuts of {name:?} are {cuts:?}; expected rising numbers"
                )));
            }
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
            words.push(partition.words(rest % partition.len()));
            rest /= partition.len();
        }
        words.reverse();
        words.join(", ")
    }
}

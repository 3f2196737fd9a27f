//! A feature that was checked and resolved: its levels, coordinates and costs.

use super::{Kind, LevelMoments, NewLevel, Value, bits};
use crate::error::{Error, Result};
use crate::kernel::metric::Metric;
use std::collections::{HashMap, HashSet};

/// Moving along every feature at once costs less than this: sums and prices of costs exist.
const DEAREST: f64 = 1e290;

/// The levels of a feature by what they stand for.
pub(super) struct Codes<'f> {
    feature: &'f Checked,
    labels: HashMap<&'f str, usize>,
    numbers: HashMap<u64, usize>,
}

impl Codes<'_> {
    /// The code of a value.
    pub(super) fn find(&self, value: Value<'_>) -> Result<f64> {
        let feature = self.feature;
        let found = match (value, feature.line) {
            (Value::Number(x), Some(_)) => return Ok(x),
            (Value::Missing, Some(_)) => return Ok(f64::NAN),
            (Value::Missing, None) => feature.missing_level,
            (Value::Number(x), None) => self.numbers.get(&bits(x)).copied(),
            (Value::Level(text), _) => self.labels.get(text).copied(),
        };
        found.map(|k| k as f64).ok_or_else(|| feature.error(format!("no level is {value:?}")))
    }
}

/// A feature that has been checked and resolved.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) labels: Vec<String>,
    /// The levels' coordinates; NaN for the missing one.
    pub(super) coords: Vec<f64>,
    /// For a numeric feature off a grid: what turns a number into a coordinate.
    pub(super) line: Option<f64>,
    /// What turns a position into a coordinate.
    pub(super) scale: f64,
    pub(super) metric: Metric,
    /// What the dearest move along it costs, walls apart.
    pub(super) dearest: f64,
    pub(super) weight: f64,
    pub(super) missing_level: Option<usize>,
    /// A numeric feature's levels, as given.
    pub(super) numbers: Vec<f64>,
    /// What each number stands for where levels are bins; empty where it stands for itself.
    pub(super) moments: Vec<LevelMoments>,
}

impl Checked {
    /// Whether moves along another feature with the same levels cost the same.
    pub(super) fn costs_like(&self, other: &Checked) -> bool {
        let bits = |f: &Checked| f.coords.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        self.metric == other.metric && bits(self) == bits(other)
    }

    /// The same feature with more levels, and where each old level is now; none where it has no
    /// levels. Levels with positions stay in their order, others come after those that are there.
    pub(super) fn with_levels(&self, more: &[NewLevel]) -> Result<(Checked, Vec<usize>)> {
        if self.line.is_some() {
            return Ok((self.clone(), Vec::new()));
        }
        if more.is_empty() {
            // As they are: positions that were given need not rise.
            return Ok((self.clone(), (0..self.level_count()).collect()));
        }
        let ordered = matches!(self.kind, Kind::Numeric | Kind::Ordinal);
        let present = self.level_count() - usize::from(self.missing_level.is_some());
        // Label, coordinate, number, and the old place.
        let mut all: Vec<(String, f64, Option<f64>, Option<usize>)> = (0..present)
            .map(|k| {
                (self.labels[k].clone(), self.coords[k], self.numbers.get(k).copied(), Some(k))
            })
            .collect();
        let mut known: HashSet<String> = all.iter().map(|level| level.0.clone()).collect();
        for level in more {
            let (label, coord, number) = match (self.kind, level) {
                (Kind::Numeric, NewLevel::Number(x)) if x.is_finite() => {
                    (x.to_string(), x * self.scale, Some(*x))
                }
                (Kind::Ordinal, NewLevel::Placed(label, at)) if at.is_finite() => {
                    (label.clone(), at * self.scale, None)
                }
                (Kind::Nominal | Kind::Fixed, NewLevel::Level(label)) => {
                    (label.clone(), all.len() as f64, None)
                }
                _ => return Err(self.error(format!("{level:?} is no level of such a feature"))),
            };
            if known.insert(label.clone()) {
                all.push((label, coord, number, None));
            }
        }
        if ordered {
            all.sort_by(|a, b| a.1.total_cmp(&b.1));
        }
        let mut of_old = vec![0; self.level_count()];
        for (place, level) in all.iter().enumerate() {
            if let Some(old) = level.3 {
                of_old[old] = place;
            }
        }
        let mut found = self.clone();
        found.labels = all.iter().map(|level| level.0.clone()).collect();
        found.coords = all.iter().map(|level| level.1).collect();
        found.numbers = all.iter().filter_map(|level| level.2).collect();
        if !self.moments.is_empty() {
            let kept = |level: &(String, f64, Option<f64>, Option<usize>)| match level.3 {
                Some(old) => self.moments[old],
                None => LevelMoments { mean: level.2.unwrap_or(f64::NAN), variance: 0.0 },
            };
            found.moments = all.iter().map(kept).collect();
        }
        if let Some(old) = self.missing_level {
            of_old[old] = all.len();
            found.missing_level = Some(all.len());
            found.labels.push(self.labels[old].clone());
            found.coords.push(f64::NAN);
        }
        if let Metric::Square { weight, missing } = self.metric {
            let range = range(&found.coords);
            found.dearest = (weight * range * range).max(missing);
        }
        Ok((found, of_old))
    }

    /// The same feature with one of its levels alone.
    pub(super) fn only(&self, level: usize) -> Checked {
        Checked {
            labels: vec![self.labels[level].clone()],
            coords: vec![self.coords[level]],
            missing_level: self.missing_level.filter(|m| *m == level).map(|_| 0),
            numbers: self.numbers.get(level).copied().into_iter().collect(),
            moments: self.moments.get(level).copied().into_iter().collect(),
            ..self.clone()
        }
    }

    /// The same numeric feature taking any number.
    pub(super) fn as_line(&self) -> Checked {
        Checked {
            labels: Vec::new(),
            coords: Vec::new(),
            line: Some(self.scale),
            missing_level: None,
            numbers: Vec::new(),
            moments: Vec::new(),
            ..self.clone()
        }
    }

    /// What finds the code of a value.
    pub(super) fn codes(&self) -> Codes<'_> {
        let level = |k: usize| (self.labels[k].as_str(), k);
        let present = (0..self.level_count()).filter(|k| Some(*k) != self.missing_level);
        let numbers = self.numbers.iter().enumerate().map(|(k, x)| (bits(*x), k));
        Codes { feature: self, labels: present.map(level).collect(), numbers: numbers.collect() }
    }

    pub(super) fn level_count(&self) -> usize {
        self.labels.len()
    }

    /// The coordinate of a code.
    #[inline(always)]
    pub(super) fn coord(&self, code: f64) -> f64 {
        match self.line {
            Some(scale) => code * scale,
            None if code.is_nan() => code,
            None => self.coords[code as usize],
        }
    }

    /// A code as the number it stands for.
    pub(super) fn number_of(&self, code: f64) -> Option<f64> {
        match (self.kind, self.line) {
            (Kind::Numeric, Some(_)) => Some(code).filter(|x| !x.is_nan()),
            (Kind::Numeric, None) if !code.is_nan() => self.numbers.get(code as usize).copied(),
            _ => None,
        }
    }

    /// What a code stands for.
    pub(super) fn value(&self, code: f64) -> Value<'_> {
        if code.is_nan() || self.missing_level.is_some_and(|k| code == k as f64) {
            return Value::Missing;
        }
        match self.number_of(code) {
            Some(number) => Value::Number(number),
            None => Value::Level(&self.labels[code as usize]),
        }
    }

    /// A code as a person would write it.
    pub(super) fn label(&self, code: f64) -> String {
        if code.is_nan() {
            return "(missing)".to_owned();
        }
        match self.line {
            Some(_) => number_label(code),
            None => self.labels[code as usize].clone(),
        }
    }

    /// The level of a value as users list them, where NaN means the missing level.
    pub(super) fn level_of(&self, code: f64) -> Option<usize> {
        if code.is_nan() { self.missing_level } else { Some(code as usize) }
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::input(format!("feature {:?}: {message}", self.name))
    }
}

/// Refuses moves so dear that sums and prices of them do not exist.
pub(super) fn check_dearest(features: &[Checked]) -> Result<()> {
    let dearest: f64 = features.iter().map(|f| f.dearest).sum();
    if dearest < DEAREST {
        Ok(())
    } else {
        Err(Error::config(format!(
            "moving along every feature at once costs {dearest:e}; expected less than {DEAREST:e}: \
             lower the weights"
        )))
    }
}

/// A number as a person would write it: the next one after a threshold is just above it.
pub(super) fn number_label(number: f64) -> String {
    let (text, below) = (number.to_string(), number.next_down().to_string());
    if below.len() + SHORTER <= text.len() { format!("just above {below}") } else { text }
}

/// Digits less that make a number's neighbour the one that is meant.
const SHORTER: usize = 4;

pub(super) fn range(numbers: &[f64]) -> f64 {
    let present = numbers.iter().filter(|x| x.is_finite());
    let (low, high) = present
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    // Halved first: the difference of two huge numbers may not exist.
    if high > low { (0.5 * high - 0.5 * low).min(f64::MAX / 2.0) * 2.0 } else { 0.0 }
}

//! A softmax of linear scores: `π(a|x) ∝ exp((b_a + Σ_j w_aj φ_j(x)) / τ)`.
//!
//! `φ` encodes the features as numbers: a numeric one as `(x − centre)/scale`, any other as a
//! number per level; what is not listed, or missing, is 0.

use super::rule::Mention;
use super::{is, written};
use crate::error::{Error, Result};
use crate::space::{Kind, Space, Value};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashMap;

/// Linear scores and a temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softmax {
    /// τ: towards 0 the best score takes all.
    pub temperature: f64,
    /// How features become numbers.
    pub columns: Vec<Encoded>,
    /// One `b_a` per action.
    pub intercepts: Vec<f64>,
    /// One row of `w_aj` per action.
    pub weights: Vec<Vec<f64>>,
}

/// A number made from one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenSoftmax", into = "WrittenSoftmax")]
pub struct Encoded {
    /// The feature.
    pub feature: String,
    /// How its values become numbers.
    pub encoding: Encoding,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSoftmax {
    feature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linear: Option<WrittenRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<(Option<String>, f64)>>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    centre: f64,
    scale: f64,
}

impl TryFrom<WrittenSoftmax> for Encoded {
    type Error = &'static str;

    fn try_from(written: WrittenSoftmax) -> std::result::Result<Self, Self::Error> {
        let feature = written.feature;
        let encoding = match (written.linear, written.levels) {
            (Some(WrittenRow { centre, scale }), None) => Encoding::Linear { centre, scale },
            (None, Some(levels)) => Encoding::Levels(levels),
            _ => return Err("a column has either linear or levels"),
        };
        Ok(Encoded { feature, encoding })
    }
}

impl From<Encoded> for WrittenSoftmax {
    fn from(encoded: Encoded) -> Self {
        let feature = encoded.feature;
        match encoded.encoding {
            Encoding::Linear { centre, scale } => {
                WrittenSoftmax { feature, linear: Some(WrittenRow { centre, scale }), levels: None }
            }
            Encoding::Levels(levels) => {
                WrittenSoftmax { feature, linear: None, levels: Some(levels) }
            }
        }
    }
}

/// How a feature's values become numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoding {
    /// `(x − centre)/scale`.
    Linear {
        /// What becomes 0.
        centre: f64,
        /// What becomes a step of 1.
        scale: f64,
    },
    /// A number for each of these levels, 0 for any other; null is the missing one.
    Levels(Vec<(Option<String>, f64)>),
}

impl Encoded {
    pub(crate) fn encode_value(&self, value: Value<'_>) -> f64 {
        match (&self.encoding, value) {
            (Encoding::Linear { centre, scale }, Value::Number(x)) => (x - centre) / scale,
            (Encoding::Linear { .. }, _) => 0.0,
            (Encoding::Levels(levels), value) => {
                let found = levels.iter().find(|(text, _)| is(value, text.as_deref()));
                found.map_or(0.0, |(_, number)| *number)
            }
        }
    }

    /// The column's value at every point of a space.
    pub fn column(&self, space: &Space) -> Result<Vec<f64>> {
        Ok(space.each(space.feature(&self.feature)?, |value| self.encode_value(value)))
    }
}

/// All features as numbers: a numeric one from −1 to 1, an ordinal one evenly from −1 to 1, a
/// nominal one by an indicator for each level but the first, and an indicator for missing values.
pub fn encode(space: &Space) -> Vec<Encoded> {
    let mut columns = Vec::new();
    for (k, name) in space.names().enumerate() {
        let mut add = |encoding| columns.push(Encoded { feature: name.to_owned(), encoding });
        let levels: Vec<Value<'_>> = space.level_values(k).collect();
        let present: Vec<Value<'_>> =
            levels.iter().copied().filter(|v| *v != Value::Missing).collect();
        match space.kind(k) {
            Kind::Numeric => {
                let numbers =
                    space.each(k, |v| if let Value::Number(x) = v { x } else { f64::NAN });
                let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if high > low {
                    let (centre, scale) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
                    add(Encoding::Linear { centre, scale });
                }
                if numbers.iter().any(|x| x.is_nan()) {
                    add(Encoding::Levels(vec![(None, 1.0)]));
                }
                continue;
            }
            Kind::Ordinal if present.len() > 1 => {
                let step = 2.0 / (present.len() - 1) as f64;
                let place = |(at, v): (usize, &Value<'_>)| (written(*v), at as f64 * step - 1.0);
                add(Encoding::Levels(present.iter().enumerate().map(place).collect()));
            }
            Kind::Ordinal => {}
            Kind::Nominal | Kind::Fixed => {
                for &value in present.iter().skip(1) {
                    add(Encoding::Levels(vec![(written(value), 1.0)]));
                }
            }
        }
        if present.len() < levels.len() {
            add(Encoding::Levels(vec![(None, 1.0)]));
        }
    }
    columns
}

impl Softmax {
    pub(super) fn mentions(&self) -> Vec<(String, Mention)> {
        let mut all = Vec::new();
        for column in &self.columns {
            match &column.encoding {
                Encoding::Linear { .. } => all.push((column.feature.clone(), Mention::Number)),
                Encoding::Levels(levels) => all.extend(
                    levels.iter().map(|l| (column.feature.clone(), Mention::Level(l.0.clone()))),
                ),
            }
        }
        all
    }

    pub(super) fn check_weights(&self, actions: usize) -> Result<()> {
        let flat = |c: &&Encoded| matches!(c.encoding, Encoding::Linear { scale, centre } if scale == 0.0 || !scale.is_finite() || !centre.is_finite());
        if let Some(column) = self.columns.iter().find(flat) {
            return Err(Error::input(format!(
                "the column of {:?} has no finite scale other than 0",
                column.feature
            )));
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            let t = self.temperature;
            return Err(Error::input(format!("the temperature is {t}; expected a number > 0")));
        }
        let columns = self.columns.len();
        let fits = self.intercepts.len() == actions && self.weights.len() == actions;
        if !fits || self.weights.iter().any(|row| row.len() != columns) {
            return Err(Error::input(format!(
                "expected {actions} intercepts, and weights in {actions} rows of {columns}"
            )));
        }
        let all = self.weights.iter().flatten().chain(&self.intercepts);
        if let Some(w) = all.copied().find(|w| !w.is_finite()) {
            return Err(Error::input(format!("a weight is {w}; expected a finite number")));
        }
        Ok(())
    }

    pub(super) fn probabilities(&self, space: &Space, actions: usize) -> Result<Vec<f64>> {
        self.check_weights(actions)?;
        let rows = EncodedRows::new(&self.columns, space)?;
        let mut probabilities = Vec::with_capacity(space.len() * actions);
        for context in 0..space.len() {
            let first = probabilities.len();
            for (intercept, weights) in self.intercepts.iter().zip(&self.weights) {
                let score: f64 = rows.of(context).map(|(j, x)| weights[j] * x).sum();
                probabilities.push((intercept + score) / self.temperature);
            }
            softmax(&mut probabilities[first..]);
        }
        Ok(probabilities)
    }
}

/// The encoded features of every point that are not 0. A nominal feature has a column for nearly
/// every level and a point is at one of them, so 20,000 levels are no more work than two.
#[derive(Clone, Debug)]
pub(crate) struct EncodedRows {
    /// For each feature that is encoded, each point's place in `found`.
    features: Vec<(Vec<usize>, Vec<ColumnEntries>)>,
}

/// Columns and what is in them.
type ColumnEntries = Vec<(usize, f64)>;

impl EncodedRows {
    /// Encodes every point of a space.
    pub(crate) fn new(columns: &[Encoded], space: &Space) -> Result<Self> {
        let mut encoders: Vec<(&str, Encoder<'_>)> = Vec::new();
        for (j, column) in columns.iter().enumerate() {
            let known = encoders.iter().position(|(name, _)| *name == column.feature);
            let at = known.unwrap_or_else(|| {
                encoders.push((&column.feature, Encoder::default()));
                encoders.len() - 1
            });
            encoders[at].1.add(j, &column.encoding);
        }
        let feature = |(name, encoder): &(&str, Encoder<'_>)| {
            let found: RefCell<Vec<ColumnEntries>> = RefCell::default();
            let at = space.each(space.feature(name)?, |value| {
                let mut found = found.borrow_mut();
                found.push(encoder.encode(value));
                found.len() - 1
            });
            Ok((at, found.into_inner()))
        };
        Ok(EncodedRows { features: encoders.iter().map(feature).collect::<Result<_>>()? })
    }

    /// The columns at a point that are not 0.
    pub(crate) fn of(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        self.features.iter().flat_map(move |(at, found)| found[at[point]].iter().copied())
    }
}

/// The columns of one feature, by the value that they are not 0 at.
#[derive(Default)]
struct Encoder<'c> {
    lines: Vec<(usize, f64, f64)>,
    levels: HashMap<&'c str, ColumnEntries>,
    /// By the bits of the number that a text is.
    numbers: HashMap<u64, ColumnEntries>,
    missing: ColumnEntries,
}

impl<'c> Encoder<'c> {
    fn add(&mut self, column: usize, encoding: &'c Encoding) {
        let levels = match encoding {
            Encoding::Linear { centre, scale } => {
                return self.lines.push((column, *centre, *scale));
            }
            Encoding::Levels(levels) => levels,
        };
        // Of a level that is listed twice the first counts.
        let put = |cells: &mut ColumnEntries, x: f64| {
            if cells.last().is_none_or(|(last, _)| *last != column) {
                cells.push((column, x));
            }
        };
        for (text, x) in levels {
            let Some(text) = text else {
                put(&mut self.missing, *x);
                continue;
            };
            put(self.levels.entry(text).or_default(), *x);
            if let Ok(number) = text.parse::<f64>() {
                put(self.numbers.entry(bits(number)).or_default(), *x);
            }
        }
    }

    fn encode(&self, value: Value<'_>) -> ColumnEntries {
        match value {
            Value::Missing => self.missing.clone(),
            Value::Level(text) => self.levels.get(text).cloned().unwrap_or_default(),
            Value::Number(number) => {
                let lines =
                    self.lines.iter().map(|(j, centre, scale)| (*j, (number - centre) / scale));
                let levels = self.numbers.get(&bits(number)).into_iter().flatten().copied();
                lines.chain(levels).collect()
            }
        }
    }
}

/// Equal numbers have equal bits.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Scores into probabilities, without overflow.
pub(crate) fn softmax(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|s| *s = (*s - most).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= total);
}

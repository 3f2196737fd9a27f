//! Where a value of a target is on a study's axis, or where it would be.

use super::read::Rows;
use crate::study::{Context, Study};
use seawall::{Error, Kind, NewLevel, Result, Space, Value};
use seawall_table::read::{Bins, Distinct};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Bins added between those there are and new ones, at most.
const MOST_BETWEEN: f64 = 10_000.0;

/// A value that outlives its table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnedValue {
    Number(f64),
    Level(String),
    Missing,
}

impl OwnedValue {
    pub(super) fn borrowed(&self) -> Value<'_> {
        match self {
            OwnedValue::Number(x) => Value::Number(*x),
            OwnedValue::Level(text) => Value::Level(text),
            OwnedValue::Missing => Value::Missing,
        }
    }
}

impl fmt::Display for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnedValue::Number(x) => write!(f, "{x}"),
            OwnedValue::Level(text) => f.write_str(text),
            OwnedValue::Missing => f.write_str("(missing)"),
        }
    }
}

/// A value on its axis; `new` if the axis does not have it yet.
#[derive(Clone, Debug)]
pub(super) struct FoundLevel {
    pub(super) value: OwnedValue,
    pub(super) new: Option<NewLevel>,
}

/// Every value of every context column; those that have no place are refused all at once.
pub(super) fn resolve(study: &Study, space: &Space, rows: &Rows) -> Result<Vec<Vec<FoundLevel>>> {
    let (mut columns, mut refused) = (Vec::new(), Vec::new());
    for (k, (context, distinct)) in study.data.contexts.iter().zip(&rows.distinct).enumerate() {
        let axis = TargetAxis::new(context, space, k);
        let used: HashSet<u32> = rows.used(k).into_iter().collect();
        let mut found = Vec::new();
        for code in 0..distinct.len() {
            // A value of rows that were left out needs no place.
            let place = if used.contains(&(code as u32)) {
                axis.find(distinct, code)
            } else {
                Ok(FoundLevel { value: OwnedValue::Missing, new: None })
            };
            found.push(place.unwrap_or_else(|what| {
                let row = rows.first[k][code];
                refused.push(format!("row {row}, column {:?}: {what}", context.name));
                FoundLevel { value: OwnedValue::Missing, new: None }
            }));
        }
        columns.push(found);
    }
    if refused.is_empty() {
        Ok(columns)
    } else {
        Err(Error::input(format!("{}: {}", rows.name, super::listed(&refused))))
    }
}

/// A context column's axis.
struct TargetAxis<'a> {
    context: &'a Context,
    bins: Option<Bins>,
    labels: HashSet<&'a str>,
    /// Labels that are numbers, by those.
    spelled: HashMap<u64, &'a str>,
    levels: Vec<Value<'a>>,
    numbers: HashSet<u64>,
    /// The least and the greatest number of a column without levels.
    ends: Option<(f64, f64)>,
    positions: Vec<f64>,
}

impl<'a> TargetAxis<'a> {
    fn new(context: &'a Context, space: &'a Space, feature: usize) -> Self {
        let levels: Vec<Value<'a>> = space.level_values(feature).collect();
        let (mut labels, mut spelled) = (HashSet::new(), HashMap::new());
        let mut numbers = HashSet::new();
        for level in &levels {
            match level {
                Value::Level(text) => {
                    labels.insert(*text);
                    let number = match *text {
                        "true" => Some(1.0),
                        "false" => Some(0.0),
                        text => text.parse::<f64>().ok(),
                    };
                    number.map(|x| spelled.insert((x + 0.0).to_bits(), *text));
                }
                Value::Number(x) => {
                    numbers.insert((x + 0.0).to_bits());
                }
                Value::Missing => {}
            }
        }
        let positions = space.positions(feature);
        let ends = levels.is_empty().then(|| ends(space, feature));
        TargetAxis {
            context,
            bins: context.bins(),
            labels,
            spelled,
            levels,
            numbers,
            ends,
            positions,
        }
    }

    fn find(&self, distinct: &Distinct, code: usize) -> std::result::Result<FoundLevel, String> {
        let context = self.context;
        let known = |value| Ok(FoundLevel { value, new: None });
        if context.is_missing(distinct, code) {
            let line = self.ends.is_some() && context.missing.is_some();
            return if line || self.levels.contains(&Value::Missing) {
                known(OwnedValue::Missing)
            } else {
                Err("the value is missing, and the study has no level for that; leave such \
                              rows out with [target] where, or say missing = true of the column"
                    .to_owned())
            };
        }
        let text = distinct.text(code).cloned().unwrap_or_default();
        if context.kind == Kind::Numeric {
            let x = distinct.number(code).filter(|x| x.is_finite());
            let x = x.ok_or_else(|| format!("{text:?} is not a number"))? + 0.0;
            let x = match &self.bins {
                Some(bins) => bins.centre(bins.anywhere(x, distinct.decimal(code), context.range)),
                None => x,
            };
            // Between others a number is a place that the column has already.
            let known = match self.ends {
                Some((low, high)) => x >= low && x <= high,
                None => self.numbers.contains(&(x + 0.0).to_bits()),
            };
            let new = (!known).then_some(NewLevel::Number(x));
            return Ok(FoundLevel { value: OwnedValue::Number(x), new });
        }
        if let Some(level) = self.level(distinct, code, &text) {
            return known(OwnedValue::Level(level.to_owned()));
        }
        let new = match context.kind {
            Kind::Ordinal => {
                let at = distinct.number(code).and_then(|x| self.position(x));
                let at = at.filter(|_| context.levels.is_none()).ok_or_else(|| {
                    format!(
                        "{text:?} is none of the levels in order; where it would be, the study must \
                         say: levels = [...]"
                    )
                })?;
                NewLevel::Placed(text.clone(), at)
            }
            _ => NewLevel::Level(text.clone()),
        };
        Ok(FoundLevel { value: OwnedValue::Level(text), new: Some(new) })
    }

    /// The level that a value is.
    fn level(&self, distinct: &Distinct, code: usize, text: &str) -> Option<&'a str> {
        if let Some(label) = self.labels.get(text) {
            return Some(label);
        }
        // Spelled otherwise: only numbers and truths are.
        let number = distinct.number(code)? + 0.0;
        let label = self.spelled.get(&number.to_bits())?;
        distinct.is(code, label).then_some(*label)
    }

    /// Where a number is on an axis of numbers that are levels: between its neighbours, or as far
    /// beyond the end as the last step says.
    fn position(&self, x: f64) -> Option<f64> {
        let mut known: Vec<(f64, f64)> = Vec::new();
        for (level, at) in self.levels.iter().zip(&self.positions) {
            if let Value::Level(text) = level {
                known.push((text.parse().ok()?, *at));
            }
        }
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (first, last) = (known.first()?, known.last()?);
        if known.len() == 1 {
            return Some(first.1 + (x - first.0));
        }
        let after = known.partition_point(|k| k.0 < x).clamp(1, known.len() - 1);
        let (mut a, mut b) = (known[after - 1], known[after]);
        // Beyond the ends by the mean step, which one uneven step says little about.
        if x < first.0 || x > last.0 {
            (a, b) = (*first, *last);
        }
        Some(a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0))
    }
}

/// The least and the greatest of some numbers.
fn span(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)))
}

/// The least and the greatest number of a numeric feature.
fn ends(space: &Space, feature: usize) -> (f64, f64) {
    let number = |v: Value<'_>| if let Value::Number(x) = v { Some(x) } else { None };
    if space.levels(feature).is_empty() {
        span((0..space.len()).filter_map(|i| space.number_at(i, feature)))
    } else {
        span(space.level_values(feature).filter_map(number))
    }
}

/// Refuses a column none of whose values the log has: it may be in another unit, or coded otherwise.
pub(super) fn check_unit(
    name: &str,
    context: &Context,
    space: &Space,
    feature: usize,
    new: &[&FoundLevel],
) -> Result<()> {
    let advice = "if it is, say [target] beyond = \"extend\"";
    let column = &context.name;
    let number = |v: Value<'_>| if let Value::Number(x) = v { Some(x) } else { None };
    if context.kind == Kind::Numeric {
        let (low, high) = ends(space, feature);
        let there = |f: &&FoundLevel| number(f.value.borrowed());
        let outside = |x: &f64| *x < low || *x > high;
        if !new.iter().filter_map(there).all(|x| outside(&x)) {
            return Ok(());
        }
        let (first, last) = span(new.iter().filter_map(there));
        return Err(Error::input(format!(
            "{name}: column {column:?}: every value, from {first} to {last}, is outside of what the \
             log has, {low} to {high}; is it in the same unit? {advice}"
        )));
    }
    let known = space.levels(feature);
    Err(Error::input(format!(
        "{name}: column {column:?}: none of its values ({}) is one that the log has ({}); is it coded \
         in the same way? {advice}",
        super::listed(&super::texts(new)),
        super::listed(known)
    )))
}

/// The bins between those of an axis and new ones, for an axis has no gaps; none where they would be
/// too many.
pub(super) fn between(
    bins: &Bins,
    space: &Space,
    feature: usize,
    new: &[NewLevel],
) -> Vec<NewLevel> {
    let known: HashSet<u64> = space
        .level_values(feature)
        .filter_map(|v| if let Value::Number(x) = v { Some(x.to_bits()) } else { None })
        .collect();
    let fresh =
        new.iter().filter_map(|n| if let NewLevel::Number(x) = n { Some(*x) } else { None });
    let fresh: Vec<f64> = fresh.collect();
    if fresh.is_empty() {
        return Vec::new();
    }
    let all = known.iter().map(|b| f64::from_bits(*b)).chain(fresh);
    let place = |x: f64| (x / bins.width()).floor();
    let (low, high) =
        all.map(place).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), b| (l.min(b), h.max(b)));
    if high - low > MOST_BETWEEN {
        return Vec::new();
    }
    let count = (high - low) as usize;
    let centres = (0..=count).map(|k| bins.centre(low + k as f64));
    centres.filter(|x| !known.contains(&(x + 0.0).to_bits())).map(NewLevel::Number).collect()
}

//! Rows of another table, placed on a study's contexts: predicted values or probabilities, by the
//! study's own context columns.

use crate::study::{Context, Study};
use seawall::{Error, Kind, Layout, Result, Space, Value};
use seawall_table::count::complaint;
use seawall_table::read::{Distinct, Reading, Stream, files};
use std::collections::HashMap;
use std::path::Path;

/// The rows of a table.
pub(crate) struct Placed {
    /// Each row's context, a point of the study's space; None for a context that the space,
    /// made of the contexts seen, does not have.
    pub(crate) contexts: Vec<Option<usize>>,
    /// The columns of numbers asked for, NaN where missing.
    pub(crate) numbers: Vec<Vec<f64>>,
}

/// Reads a table's context columns and the columns of `numbers`. A context may be written as this
/// program writes it: a bin by its middle, which a declared range may end before, and a missing
/// value in words.
pub(crate) fn rows_on_contexts(
    path: &Path,
    study: &Study,
    space: &Space,
    numbers: &[&str],
) -> Result<Placed> {
    let contexts = &study.data.contexts;
    let names = contexts.iter().map(|c| c.name.as_str()).chain(numbers.iter().copied());
    let mut readings = vec![Reading::Values; contexts.len()];
    readings.resize(contexts.len() + numbers.len(), Reading::Numbers);
    let mut stream = Stream::new(names.map(str::to_owned).collect(), readings);
    let points = Points::new(space);
    let mut placed = Placed { contexts: Vec::new(), numbers: vec![Vec::new(); numbers.len()] };
    let mut levels: Vec<Vec<Option<f64>>> = vec![Vec::new(); contexts.len()];
    for file in files(path)? {
        let mut from = 0;
        stream.read(&file, &mut |columns| {
            for row in 0..columns.rows {
                let mut place = Vec::with_capacity(contexts.len());
                for (k, context) in contexts.iter().enumerate() {
                    let code = columns.codes[k][row] as usize;
                    let known = &mut levels[k];
                    known.resize(known.len().max(code + 1), None);
                    let level = match known[code] {
                        Some(level) => level,
                        None => {
                            let distinct = &columns.distinct[k];
                            let found =
                                code_of(context, space, k, distinct, code).map_err(|what| {
                                    let (file, row) = (file.display(), from + row + 1);
                                    let name = &context.name;
                                    Error::input(format!(
                                        "{file}: row {row}, column {name:?}: {what}"
                                    ))
                                })?;
                            known[code] = Some(found);
                            found
                        }
                    };
                    place.push(level);
                }
                placed.contexts.push(points.find(&place));
            }
            for (k, numbers) in placed.numbers.iter_mut().enumerate() {
                numbers.extend_from_slice(&columns.numbers[contexts.len() + k]);
            }
            from += columns.rows;
            Ok(())
        })?;
    }
    Ok(placed)
}

/// The code of a value: that of the level that it is the label of, else of the one that it is in; itself
/// where any number is a place.
pub(crate) fn code_of(
    context: &Context,
    space: &Space,
    feature: usize,
    distinct: &Distinct,
    code: usize,
) -> std::result::Result<f64, String> {
    if space.levels(feature).is_empty() {
        let written = distinct.text(code).is_some_and(|text| text == "(missing)");
        return match complaint(context, distinct, code).filter(|_| !written) {
            Some(what) => Err(what),
            None => Ok(distinct.number(code).map_or(f64::NAN, |x| x + 0.0)),
        };
    }
    let mut levels = space.level_values(feature);
    let found = match distinct.text(code) {
        None => None,
        Some(text) => levels.position(|value| match value {
            Value::Number(x) => distinct.number(code) == Some(x),
            Value::Level(level) => level == text,
            // After all levels: one of that name comes first.
            Value::Missing => text == "(missing)",
        }),
    };
    let found = found.map_or_else(|| level(context, space, feature, distinct, code), Ok);
    found.map(|level| level as f64)
}

/// The level of a value, or what is wrong with it.
fn level(
    context: &Context,
    space: &Space,
    feature: usize,
    distinct: &Distinct,
    code: usize,
) -> std::result::Result<usize, String> {
    if let Some(what) = complaint(context, distinct, code) {
        return Err(what);
    }
    let number = distinct.number(code).map(|x| match context.bins() {
        Some(bins) => bins.centre(bins.bin(x, distinct.decimal(code))),
        None => x,
    });
    let is = |value: Value<'_>| match value {
        Value::Missing => context.is_missing(distinct, code),
        Value::Number(x) => number == Some(x),
        Value::Level(level) => distinct.is(code, level),
    };
    space.level_values(feature).position(is).ok_or_else(|| {
        let text = distinct.text(code).map_or("a missing value", String::as_str);
        match context.kind {
            Kind::Numeric => {
                let numbers = space.level_values(feature).filter_map(|v| match v {
                    Value::Number(x) => Some(x),
                    _ => None,
                });
                let (low, high) = numbers
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
                format!(
                    "{text} is none of the study's levels, which go from {low} to {high}; the study can \
                     declare more with min and max"
                )
            }
            _ => format!(
                "{text:?} is none of the levels that the study's data have; the study can declare more \
                 with levels = [...]"
            ),
        }
    })
}

/// From levels to a point of a space.
enum Points<'s> {
    Grid(&'s seawall::Grid),
    Listed(HashMap<Vec<u64>, usize>),
}

impl<'s> Points<'s> {
    fn new(space: &'s Space) -> Self {
        match space.layout() {
            Layout::Grid(grid) => Points::Grid(grid),
            Layout::Points(_) => {
                let features = space.names().len();
                let codes = |i| (0..features).map(|k| bits(space.code(i, k))).collect();
                Points::Listed((0..space.len()).map(|i| (codes(i), i)).collect())
            }
        }
    }

    fn find(&self, codes: &[f64]) -> Option<usize> {
        match self {
            Points::Grid(grid) => Some(grid.cell(codes.iter().map(|code| *code as usize))),
            Points::Listed(points) => {
                points.get(&codes.iter().map(|code| bits(*code)).collect::<Vec<u64>>()).copied()
            }
        }
    }
}

/// Equal codes have equal bits: a missing value has one kind of them.
fn bits(code: f64) -> u64 {
    if code.is_nan() { f64::NAN.to_bits() } else { (code + 0.0).to_bits() }
}

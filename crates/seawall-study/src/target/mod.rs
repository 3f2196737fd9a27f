//! A target: a sample of another population's contexts, placed on a study's own.
//!
//! The study's `[target]` says which rows count, by which weights, and what to do about values that
//! the log does not have; the log's own conditions do not hold for it. Values beyond the log extend
//! the axes, positions and weights kept, and count as unobserved.

mod level;
mod read;

use crate::prepare::{BeyondFacts, PlacedTarget, PreparedStudy, TargetFacts};
use crate::study::{Beyond, Context, TargetWeight};
use level::{FoundLevel, OwnedValue};
use read::Rows;
use seawall::transfer::TargetSample;
use seawall::{Error, Kind, Layout, NewLevel, Result, Watch};
use seawall_table::combine::BinMoments;
use seawall_table::count::most_cells;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

pub use read::Source;

/// Values of a column told in a message; more are counted.
const TOLD: usize = 6;

impl PreparedStudy {
    /// The same study asked about a target; the one that the study file names if none is given.
    /// None if there is none.
    pub fn toward(&self, path: Option<&Path>, watch: Watch<'_>) -> Result<Option<Self>> {
        let path = path.or(self.study.target.path.as_deref());
        path.map(|path| self.with_target(Source::File(path), watch)).transpose()
    }

    /// The same study asked about a target.
    pub fn with_target(&self, source: Source<'_>, watch: Watch<'_>) -> Result<Self> {
        let file = match &source {
            Source::File(path) => Some(path.to_path_buf()),
            Source::Batches { .. } => None,
        };
        let rows = Rows::read(&self.study, source, watch)?;
        let columns = level::resolve(&self.study, self.log().contexts(), &rows)?;
        let more = self.new_levels(&rows, &columns)?;
        let space = self.log().contexts();
        let value = |c: usize| -> Vec<OwnedValue> {
            let codes = rows.codes(c);
            codes.iter().zip(&columns).map(|(&k, of)| of[k as usize].value.clone()).collect()
        };
        let values: Vec<Vec<OwnedValue>> = (0..rows.combinations()).map(value).collect();
        let places: Vec<Vec<seawall::Value<'_>>> =
            values.iter().map(|place| place.iter().map(OwnedValue::borrowed).collect()).collect();
        let needed = self.needed_contexts()?;
        let actions = self.log().actions().len();
        let most = most_cells(self.study.data.memory, self.study.data.contexts.len(), actions);
        let extension = space.extended(&more, &needed, &places, most)?;
        let grid = matches!(space.layout(), Layout::Grid(_));
        let within = grid && more.iter().all(Vec::is_empty);
        let prepared = if within { self.clone() } else { self.on_extension(&extension, &needed)? };
        let place = |&(c, weight): &(u32, f64)| (extension.placed[c as usize] as usize, weight);
        let placed: Vec<(usize, f64)> = rows.rows.iter().map(place).collect();
        let name = rows.name.clone();
        let contexts = prepared.log().contexts();
        let sample = match self.study.target.weight {
            Some(TargetWeight::Count(_)) => TargetSample::counted(contexts, &placed),
            _ => TargetSample::new(contexts, &placed),
        };
        let sample = sample.map_err(|e| e.within(&name))?;
        let (beyond, beyond_share) = self.beyond(&rows, &columns);
        let sample = Arc::new(sample.partly_beyond(beyond_share));
        let facts = TargetFacts {
            path: name,
            rows: sample.rows(),
            left_out: rows.left_out,
            beyond,
            beyond_share,
        };
        let moments = Arc::new(self.moments(&rows, &columns));
        Ok(prepared.about(Some(Arc::new(PlacedTarget { sample, facts, file, moments }))))
    }

    /// The levels to be added to each axis; refused where the study says so, or where a column looks
    /// like another one.
    fn new_levels(&self, rows: &Rows, columns: &[Vec<FoundLevel>]) -> Result<Vec<Vec<NewLevel>>> {
        let (space, rule) = (self.log().contexts(), self.study.target.beyond);
        let (mut more, mut told) = (Vec::new(), Vec::new());
        for (k, (context, found)) in self.study.data.contexts.iter().zip(columns).enumerate() {
            let new = new_values(rows, k, found);
            let used = rows.used(k).len();
            if rule.is_none() && used > 0 && new.len() == used {
                level::check_unit(&rows.name, context, space, k, &new)?;
            }
            if rule == Some(Beyond::Error) && !new.is_empty() {
                told.push(format!("{}: {}", context.name, listed(&texts(&new))));
            }
            let mut levels: Vec<NewLevel> = new.iter().filter_map(|f| f.new.clone()).collect();
            if let (Kind::Numeric, Some(bins)) = (context.kind, context.bins()) {
                levels.extend(level::between(&bins, space, k, &levels));
            }
            more.push(levels);
        }
        if told.is_empty() {
            Ok(more)
        } else {
            Err(Error::input(format!(
                "{}: values that the log does not have: {}; leave such rows out with [target] where, \
                 or say [target] beyond = \"extend\"",
                rows.name,
                told.join("; ")
            )))
        }
    }

    /// What the target has in each bin of a context column.
    fn moments(&self, rows: &Rows, columns: &[Vec<FoundLevel>]) -> BinMoments {
        let mass = rows.weights();
        let column = |(k, context): (usize, &Context)| {
            let width = context.bins()?.width();
            let number = |(c, weight): (usize, &f64)| {
                let code = rows.codes(c)[k] as usize;
                match (&columns[k][code].value, rows.distinct[k].number(code)) {
                    (OwnedValue::Number(middle), Some(x)) => Some((*middle, x, *weight)),
                    _ => None,
                }
            };
            Some((k, width, mass.iter().enumerate().filter_map(number).collect()))
        };
        BinMoments::of_sample(self.study.data.contexts.iter().enumerate().filter_map(column))
    }

    /// The columns with values that the log does not have, and the share of people with any of them.
    fn beyond(&self, rows: &Rows, columns: &[Vec<FoundLevel>]) -> (Vec<BeyondFacts>, f64) {
        let mass = rows.weights();
        let total: f64 = mass.iter().sum();
        let (mut by_column, mut any) = (vec![0.0; columns.len()], 0.0);
        for (c, mass) in mass.iter().enumerate() {
            let codes = rows.codes(c);
            let is_new = |k: usize| columns[k][codes[k] as usize].new.is_some();
            let new: Vec<usize> = (0..columns.len()).filter(|&k| is_new(k)).collect();
            any += if new.is_empty() { 0.0 } else { *mass };
            new.iter().for_each(|&k| by_column[k] += mass);
        }
        let facts = self.study.data.contexts.iter().zip(columns).enumerate().filter_map(
            |(k, (c, found))| {
                let values = texts(&new_values(rows, k, found));
                let (column, share) = (c.name.clone(), by_column[k] / total);
                (!values.is_empty()).then_some(BeyondFacts { column, values, share })
            },
        );
        (facts.collect(), any / total)
    }
}

/// A column's values that the log does not have.
fn new_values<'f>(rows: &Rows, column: usize, found: &'f [FoundLevel]) -> Vec<&'f FoundLevel> {
    let used = rows.used(column);
    used.iter().map(|&code| &found[code as usize]).filter(|f| f.new.is_some()).collect()
}

/// Values as they are told, each once.
fn texts(found: &[&FoundLevel]) -> Vec<String> {
    let mut known = HashSet::new();
    let all = found.iter().map(|f| f.value.to_string());
    all.filter(|text| known.insert(text.clone())).collect()
}

/// A few, and how many more.
fn listed(all: &[String]) -> String {
    let some = all.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(TOLD) {
        Some(more @ 1..) => format!("{some} and {more} more"),
        _ => some,
    }
}

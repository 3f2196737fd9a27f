//! A target: a sample of another population's contexts, placed on a study's own.
//!
//! The study's `[target]` says which rows count, by which weights, and what to do about values that
//! the log does not have; the log's own conditions do not hold for it. Values beyond the log extend
//! the axes, positions and weights kept, and count as unobserved.

mod level;
mod read;

use crate::count::MOST_CELLS;
use crate::load::Loaded;
use crate::study::Beyond;
use level::{Found, OwnedValue};
use read::Rows;
use seawall::transfer::{Coverage, Target, Transport};
use seawall::{Error, Kind, NewLevel, Result, Support, Watch};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use read::Source;

/// Values of a column told in a message; more are counted.
const TOLD: usize = 6;

/// A target on a study's contexts.
#[derive(Clone, Debug)]
pub struct PlacedTarget {
    /// The sample.
    pub sample: Target,
    /// What is known of it.
    pub facts: TargetFacts,
    /// The file that it was read from, if it was.
    pub file: Option<PathBuf>,
}

/// What is known of a target before any number.
#[derive(Clone, Debug, Serialize)]
pub struct TargetFacts {
    /// Where it came from.
    pub path: String,
    /// Rows used.
    pub rows: usize,
    /// Rows that do not meet the target's conditions.
    pub left_out: usize,
    /// Columns with values that the log does not have.
    pub beyond: Vec<BeyondFacts>,
    /// The share of its people who have any of them.
    pub beyond_share: f64,
}

/// A target, and how well the log covers it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetAnswer {
    /// What it is.
    #[serde(flatten)]
    pub facts: TargetFacts,
    /// How well the log covers it.
    pub coverage: Coverage,
}

/// A column's values that the log does not have.
#[derive(Clone, Debug, Serialize)]
pub struct BeyondFacts {
    /// The column.
    pub column: String,
    /// The values, or the middles of the bins.
    pub values: Vec<String>,
    /// The share of the target's people who have them.
    pub share: f64,
}

impl PlacedTarget {
    /// The target, and how well the log covers it.
    pub(crate) fn answer(&self, transport: &Transport<'_>) -> TargetAnswer {
        TargetAnswer { facts: self.facts.clone(), coverage: transport.coverage() }
    }
}

impl Loaded {
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
        let extension = space.extended(&more, &needed, &places, MOST_CELLS)?;
        let grid = matches!(space.support(), Support::Grid(_));
        let within = grid && more.iter().all(Vec::is_empty);
        let mut loaded =
            if within { self.clone() } else { self.on_extension(&extension, &needed)? };
        let place = |&(c, weight): &(u32, f64)| (extension.placed[c as usize] as usize, weight);
        let placed: Vec<(usize, f64)> = rows.rows.iter().map(place).collect();
        let name = rows.name.clone();
        let sample = Target::new(loaded.log().contexts(), &placed).map_err(|e| e.within(&name))?;
        let beyond_share = beyond_share(&rows, &columns);
        let sample = sample.partly_beyond(beyond_share);
        let facts = TargetFacts {
            path: name,
            rows: sample.rows(),
            left_out: rows.left_out,
            beyond: self.beyond_facts(&rows, &columns),
            beyond_share,
        };
        loaded.target = Some(Arc::new(PlacedTarget { sample, facts, file }));
        Ok(loaded)
    }

    /// The levels to be added to each axis; refused where the study says so, or where a column looks
    /// like another one.
    fn new_levels(&self, rows: &Rows, columns: &[Vec<Found>]) -> Result<Vec<Vec<NewLevel>>> {
        let (space, rule) = (self.log().contexts(), self.study.target.beyond);
        let (mut more, mut told) = (Vec::new(), Vec::new());
        for (k, (context, found)) in self.study.contexts.iter().zip(columns).enumerate() {
            let used = rows.used(k);
            let new: Vec<&Found> =
                used.iter().map(|&c| &found[c as usize]).filter(|f| f.new.is_some()).collect();
            if rule.is_none() && !used.is_empty() && new.len() == used.len() {
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
        match told.is_empty() {
            true => Ok(more),
            false => Err(Error::input(format!(
                "{}: values that the log does not have: {}; leave such rows out with [target] where, \
                 or say [target] beyond = \"extend\"",
                rows.name,
                told.join("; ")
            ))),
        }
    }

    fn beyond_facts(&self, rows: &Rows, columns: &[Vec<Found>]) -> Vec<BeyondFacts> {
        let total: f64 = rows.rows.iter().map(|r| r.1).sum();
        let mut all = Vec::new();
        for (k, (context, found)) in self.study.contexts.iter().zip(columns).enumerate() {
            let used = rows.used(k);
            let new: Vec<&Found> =
                used.iter().map(|&c| &found[c as usize]).filter(|f| f.new.is_some()).collect();
            if new.is_empty() {
                continue;
            }
            let is_new = |c: u32| found[rows.codes(c as usize)[k] as usize].new.is_some();
            let mass: f64 = rows.rows.iter().filter(|r| is_new(r.0)).map(|r| r.1).sum();
            let (column, values) = (context.name.clone(), texts(&new));
            all.push(BeyondFacts { column, values, share: mass / total });
        }
        all
    }
}

/// The share of people with any value that the log does not have.
fn beyond_share(rows: &Rows, columns: &[Vec<Found>]) -> f64 {
    let new = |c: usize| {
        let codes = rows.codes(c);
        codes.iter().zip(columns).any(|(&k, of)| of[k as usize].new.is_some())
    };
    let is_new: Vec<bool> = (0..rows.combinations()).map(new).collect();
    let total: f64 = rows.rows.iter().map(|r| r.1).sum();
    let mass = rows.rows.iter().filter(|r| is_new[r.0 as usize]).map(|r| r.1);
    mass.fold(0.0, |sum, w| sum + w) / total
}

/// Values as they are told, each once.
fn texts(found: &[&Found]) -> Vec<String> {
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

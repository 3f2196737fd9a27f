//! A batch of rows on all cores.
//!
//! What each row comes to (left out, or its action and what is said of it) is worked out a few rows at a
//! time on any thread; outcomes and recorded groups are then numbered row after row, as they appear; and
//! rows are counted in shards, each of the contexts that are its own. How many shards there are does not
//! depend on the threads, and neither does anything else: which row is the first that is wrong, what is
//! counted, and when counts no longer fit into memory.

use super::check::fits;
use super::outcome::Has;
use super::row::RowFacts;
use super::tally::Shard;
use super::{Counter, complaint};
use crate::counted::{GroupShard, LeftOut};
use crate::memory;
use crate::read::{Columns, Distinct};
use foldhash::fast::FixedState;
use rayon::prelude::*;
use seawall::{Error, Result};
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

/// Rows that are decided upon together.
const CHUNK: usize = 2048;

/// What a row comes to.
#[derive(Clone, Copy)]
pub(super) struct Decided {
    /// How many rows it stands for.
    times: f64,
    /// Its action, or why it is left out.
    action: std::result::Result<u32, LeftOut>,
    facts: RowFacts,
    has: Has,
    outcome: u32,
    /// The shard that its context is counted in.
    shard: u32,
}

impl Decided {
    const LEFT_OUT: Decided = Decided {
        times: 0.0,
        action: Err(LeftOut::Conditions),
        facts: RowFacts::NONE,
        has: Has::All,
        outcome: 0,
        shard: 0,
    };

    /// Whether it is counted: nothing leaves it out, and it has an outcome.
    fn is_counted(&self) -> bool {
        self.action.is_ok() && matches!(self.has, Has::All | Has::Zeros)
    }
}

/// The rows of a batch: what each comes to, and those of each shard in order.
#[derive(Default)]
pub(super) struct Batch {
    rows: Vec<Decided>,
    of_shard: Vec<Vec<u32>>,
}

impl Counter<'_> {
    /// An error about a value of the data.
    pub(super) fn error(
        &self,
        at: (&Path, usize),
        column: usize,
        what: impl std::fmt::Display,
    ) -> Error {
        let (file, row) = at;
        Error::input(format!(
            "{}: row {}, column {:?}: {what}",
            file.display(),
            row + 1,
            self.names[column]
        ))
    }

    /// Counts a batch whose first row is row `from` of a file, counted from 0.
    pub(super) fn take(&mut self, columns: &Columns<'_>, file: &Path, from: usize) -> Result<()> {
        self.prepare(columns);
        let mut batch = std::mem::take(&mut self.batch);
        batch.rows.resize(columns.rows, Decided::LEFT_OUT);
        let counter = &*self;
        let decide = |(chunk, rows): (usize, &mut [Decided])| {
            rows.iter_mut().zip(chunk * CHUNK..).try_for_each(|(decided, row)| {
                *decided = counter.decide(columns, row, (file, from + row))?;
                Ok(())
            })
        };
        let chunks = batch.rows.par_chunks_mut(CHUNK).enumerate();
        let found: Vec<Result<()>> = chunks.map(decide).collect();
        // The first row that is wrong, whichever was found first.
        found.into_iter().collect::<Result<()>>()?;
        self.number(columns, &mut batch, (file, from));
        self.count(columns, &batch, (file, from));
        self.batch = batch;
        self.check_groups()?;
        if self.tally.is_full() {
            if self.predicted.is_some() {
                return Err(self.no_room_for_predictions());
            }
            self.tally.spill()?;
        }
        Ok(())
    }

    /// Works out what there is to say of values that are new.
    fn prepare(&mut self, columns: &Columns<'_>) {
        self.filters.iter_mut().for_each(|check| check.prepare(columns));
        self.rules.iter_mut().flatten().for_each(|check| check.prepare(columns));
        self.sums.prepare(columns);
        for (lacking, &column) in self.lacking.iter_mut().zip(&self.outcomes) {
            lacking.prepare(&columns.distinct[column]);
        }
        let contexts = self.data.contexts.iter().zip(&self.contexts);
        for (known, (context, &column)) in self.fits.iter_mut().zip(contexts) {
            let distinct = &columns.distinct[column];
            match &columns.binned[column] {
                Some(binned) => {
                    let new = known.len()..binned.len();
                    let missing = context.missing.is_some();
                    known.extend(new.map(|code| allowed(binned.bin(code as u32), missing)));
                }
                None => {
                    let new = known.len()..distinct.len();
                    known.extend(new.map(|code| fits(context, distinct, code)));
                }
            }
        }
    }

    /// What a row comes to, but for what is numbered as it appears.
    fn decide(&self, columns: &Columns<'_>, row: usize, at: (&Path, usize)) -> Result<Decided> {
        let (times, left_out) = self.standing(columns, row, at)?;
        let action = match left_out {
            None => self.action(columns, row, at)?.ok_or(LeftOut::NoAction),
            Some(why) => Err(why),
        };
        if action.is_err() {
            return Ok(Decided { times, action, ..Decided::LEFT_OUT });
        }
        let has = self.has_outcome(columns, row, at)?;
        if matches!(has, Has::Dropped | Has::Unsaid) {
            return Ok(Decided { times, action, has, ..Decided::LEFT_OUT });
        }
        self.check_context(columns, row, at)?;
        let facts = self.rows.facts(columns, row).map_err(|(c, what)| self.error(at, c, what))?;
        self.sums.check(columns, row).map_err(|(c, what)| self.error(at, c, what))?;
        let shard = match self.tally.shards() {
            1 => 0,
            shards => {
                let mut hasher = FixedState::default().build_hasher();
                codes_of(columns, &self.contexts, row).for_each(|code| hasher.write_u32(code));
                let numbers = numbers_of(columns, &self.contexts, row);
                numbers.for_each(|x| hasher.write_u64(x.to_bits()));
                // Not the bits by which a shard places them.
                (hasher.finish() & 0xFFFF_FFFF) as u32 % shards as u32
            }
        };
        Ok(Decided { times, action, facts, has, outcome: 0, shard })
    }

    /// Numbers outcomes and recorded groups as they appear, and puts rows to their shards.
    fn number(&mut self, columns: &Columns<'_>, batch: &mut Batch, (file, from): (&Path, usize)) {
        batch.of_shard.resize_with(self.tally.shards(), Vec::new);
        batch.of_shard.iter_mut().for_each(Vec::clear);
        for (row, decided) in batch.rows.iter_mut().enumerate() {
            let times = decided.times as usize;
            self.read += times;
            if decided.action.is_ok() && decided.has != Has::All {
                self.count_missing(columns, row, (file, from + row), (decided.has, times));
            }
            match decided.action {
                Err(LeftOut::Conditions) => self.filtered += times,
                Err(_) => self.no_action += times,
                // What is missing is for the study to say that reads the table.
                Ok(_) if !decided.is_counted() => {}
                Ok(_) => {
                    decided.facts.group = self.rows.group(columns, row);
                    let Decided { times, facts, .. } = *decided;
                    self.sums.take(columns, row, facts.group, facts.weight() * times);
                    self.numbers.clear();
                    let numbers = numbers_of(columns, &self.outcomes, row);
                    self.numbers.extend(numbers.map(|x| if x.is_nan() { 0.0 } else { x }));
                    let codes = codes_of(columns, &self.outcomes, row);
                    decided.outcome = self.outcome_ids.id(codes, &self.numbers);
                }
            }
            if decided.is_counted() || self.groups.is_some() {
                batch.of_shard[decided.shard as usize].push(row as u32);
            }
        }
    }

    /// Counts the rows of each shard.
    fn count(&mut self, columns: &Columns<'_>, batch: &Batch, (file, from): (&Path, usize)) {
        let contexts = &self.contexts;
        let count = |row: usize, (shard, numbers): (&mut Shard, &mut Vec<f64>)| {
            let decided @ Decided { times, action, facts, outcome, .. } = batch.rows[row];
            let action = action.ok().filter(|_| decided.is_counted())?;
            numbers.clear();
            numbers.extend(numbers_of(columns, contexts, row));
            let key = (codes_of(columns, contexts, row), numbers.as_slice());
            Some(shard.add(key, (action, outcome), facts, times))
        };
        let mut groups: Vec<Option<GroupShard<'_>>> = match &mut self.groups {
            Some(groups) => groups.shards(self.tally.shards(), columns).map(Some).collect(),
            None => (0..self.tally.shards()).map(|_| None).collect(),
        };
        let shards: Vec<&mut Shard> = self.tally.each().collect();
        let grouped = |row: usize, groups: &mut Option<GroupShard<'_>>| {
            if let Some(groups) = groups {
                let Decided { times, action, .. } = batch.rows[row];
                groups.take((columns, row), action, times);
            }
        };
        let Some(predicted) = &mut self.predicted else {
            let parts = shards.into_par_iter().zip(&mut groups).zip(&batch.of_shard);
            parts.for_each(|((shard, groups), rows)| {
                let mut numbers = Vec::new();
                for &row in rows {
                    count(row as usize, (&mut *shard, &mut numbers));
                    grouped(row as usize, groups);
                }
            });
            return;
        };
        // Predictions are averaged by the number of a context, of which there is one series.
        for ((shard, groups), rows) in shards.into_iter().zip(&mut groups).zip(&batch.of_shard) {
            for &row in rows {
                let row = row as usize;
                if let Some(context) = count(row, (&mut *shard, &mut self.numbers)) {
                    let Decided { times, facts, .. } = batch.rows[row];
                    let weighs = (context, facts.weight(), times);
                    predicted.take((columns, row), &self.names, (file, from + row), weighs);
                }
                grouped(row, groups);
            }
        }
    }

    /// Predictions are averaged by context, and those must then be in memory.
    fn no_room_for_predictions(&self) -> Error {
        Error::input(format!(
            "{}: contexts with columns of predictions take more than the {} that --memory allows; cut \
             numeric columns into bins (bin = ...), or raise --memory",
            self.data.path.display(),
            memory::size(self.data.memory)
        ))
    }

    /// How many rows a row stands for, and why it is left out if that is known before its action.
    fn standing(
        &self,
        columns: &Columns<'_>,
        row: usize,
        at: (&Path, usize),
    ) -> Result<(f64, Option<LeftOut>)> {
        if let Some(table) = &self.table {
            return table.row(columns, row).map_err(|(column, what)| self.error(at, column, what));
        }
        let holds = self.filters.iter().all(|check| check.holds(columns, row));
        Ok((1.0, (!holds).then_some(LeftOut::Conditions)))
    }

    /// The action of a row; None if it meets none.
    fn action(&self, columns: &Columns<'_>, row: usize, at: (&Path, usize)) -> Result<Option<u32>> {
        if let Some(column) = self.rule_column {
            let (distinct, code) = (&columns.distinct[column], columns.codes[column][row] as usize);
            let found = self.action_names.iter().position(|name| distinct.is(code, name));
            let known = || self.action_names.join(", ");
            return match (found, distinct.text(code)) {
                (Some(action), _) => Ok(Some(action as u32)),
                (None, None) => Ok(None),
                (None, Some(text)) => {
                    let what = format!("{text:?} is none of the study's actions {}", known());
                    Err(self.error(at, column, what))
                }
            };
        }
        if let Some(column) = self.action_column {
            let code = columns.codes[column][row];
            return Ok((!columns.distinct[column].is_missing(code as usize)).then_some(code));
        }
        let mut found = None;
        for (action, rule) in self.rules.iter().enumerate() {
            if rule.iter().all(|check| check.holds(columns, row)) {
                if let Some(before) = found {
                    let before: usize = before;
                    return Err(Error::input(format!(
                        "{}: row {}: the actions {:?} and {:?} both match",
                        at.0.display(),
                        at.1 + 1,
                        self.action_names[before],
                        self.action_names[action]
                    )));
                }
                found = Some(action);
            }
        }
        Ok(found.map(|action| action as u32))
    }

    /// Refuses a context value that the study does not allow.
    fn check_context(&self, columns: &Columns<'_>, row: usize, at: (&Path, usize)) -> Result<()> {
        for (place, context) in self.data.contexts.iter().enumerate() {
            let column = self.contexts[place];
            let fits = match columns.codes[column].get(row) {
                Some(code) => self.fits[place][*code as usize],
                None => allowed(columns.numbers[column][row], context.missing.is_some()),
            };
            if !fits {
                let value = Distinct::of_row(&columns.arrays[column], row);
                let what = value.and_then(|value| complaint(context, &value, 0));
                return Err(self.error(at, column, what.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

/// Whether a number may be used: NaN is a missing one, an infinite one was not allowed.
fn allowed(x: f64, missing: bool) -> bool {
    x.is_finite() || (x.is_nan() && missing)
}

/// A row's codes in some columns; those of numbers have none.
fn codes_of<'a>(
    columns: &'a Columns<'_>,
    of: &'a [usize],
    row: usize,
) -> impl Iterator<Item = u32> + 'a {
    of.iter().filter_map(move |&c| columns.codes[c].get(row).copied())
}

/// A row's numbers in some columns.
fn numbers_of<'a>(
    columns: &'a Columns<'_>,
    of: &'a [usize],
    row: usize,
) -> impl Iterator<Item = f64> + 'a {
    of.iter().filter_map(move |&c| columns.numbers[c].get(row).copied())
}

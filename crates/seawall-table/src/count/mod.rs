//! From a data file to a log: one pass that counts rows by context, action and outcome.
//!
//! Each column's distinct values are numbered as they appear, and everything that the study says
//! about a value (does it meet a condition, which level is it, what does it cost) is worked out
//! once for each distinct value. Numbers that are cut into bins are counted by those, and other numbers
//! as they are. Memory grows with what differs after that, not with the rows, and what a study may use
//! is said: beyond it, counts go to temporary files.
//!
//! A counted table ([`mod@crate::counted`]) is read in the same way: its conditions were looked at
//! when it was counted, its columns are named by what they are to the study, and a row stands for `n`.

mod axis;
mod batch;
mod check;
mod outcome;
mod place;
mod predicted;
mod row;
mod space;
mod spill;
mod spread;
mod table;
mod tally;

pub use check::{Check, complaint};
pub use place::{TooLarge, most_cells};
pub use predicted::RowPredictions;

use crate::combine::{BinColumn, BinMoments, BinSums, NumbersFrom, Tuples};
use crate::counted::{CountedTable, Groups, LEFT_OUT, N, Role, TableColumns};
use crate::memory;
use crate::read::{
    BinnedColumn, Distinct, Line, Reading, Seen, Stream, columns, files, unknown_column,
};
use crate::spec::{Actions, Condition, Context, DataSpec, Term};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use batch::Batch;
use outcome::Lacking;
use predicted::Predicted;
use row::RowColumns;
use seawall::{Entry, Error, Kind, Log, Progress, Result, Stage, Watch};
use space::{context_space, outcome_space};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tally::{SHARDS, Tally};

/// A log, and what was read to make it.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The log.
    pub log: Arc<Log>,
    /// The files read.
    pub files: Vec<PathBuf>,
    /// Rows read.
    pub rows: usize,
    /// Rows that did not meet the study's conditions.
    pub filtered: usize,
    /// Rows that met no action.
    pub no_action: usize,
    /// Rows left out because they have no outcome.
    pub no_outcome: usize,
    /// The rows, by outcome column, that have no value there and count as 0, as the study says.
    pub missing_outcomes: Vec<(String, usize)>,
    /// Combinations of context, action, outcome and propensity that were counted.
    pub combinations: usize,
    /// Why the contexts are no grid; None if they are.
    pub too_large: Option<TooLarge>,
    /// Predicted values that the rows brought, if the study names columns of them.
    pub predictions: Option<RowPredictions>,
    /// The values that name each recorded group, by its number in the log; none unless they were asked
    /// for.
    pub groups: Vec<Vec<String>>,
    /// What the rows have in each bin of a context column; the log's contexts have it, too.
    pub moments: Arc<BinMoments>,
}

/// Reads and counts a study's data.
pub fn count(data: &DataSpec, watch: Watch<'_>) -> Result<Counted> {
    Ok(read(data, false, watch)?.0)
}

/// The same, with the counted table that they make: data are read once for both.
pub fn counted_table(data: &DataSpec, watch: Watch<'_>) -> Result<(Counted, CountedTable)> {
    let (counted, table) = read(data, true, watch)?;
    let table = table.ok_or_else(|| Error::internal("no table was counted"))?;
    Ok((counted, table))
}

fn read(
    data: &DataSpec,
    with_table: bool,
    watch: Watch<'_>,
) -> Result<(Counted, Option<CountedTable>)> {
    let files = files(&data.path)?;
    let named = columns(&files[0])?;
    let counter = Counter::new(data, &named);
    let mut counter = if with_table { counter.with_table() } else { counter };
    check_columns(data, &files[0], &named, &counter.names)?;
    let mut stream = Stream::new(counter.names.clone(), counter.readings.clone());
    let mut rows = 0;
    for file in &files {
        let mut from = 0;
        stream.read(file, &mut |columns| {
            counter.take(columns, file, from)?;
            from += columns.rows;
            watch.tell(Progress::at(Stage::Reading).done(rows + from))
        })?;
        rows += from;
    }
    let (distinct, binned) = stream.into_parts();
    let table = counter.counted_table(&distinct, &binned)?;
    Ok((counter.finish(files, (&distinct, &binned))?, table))
}

/// Counts rows that are in memory already; messages call them by the study's `data`.
pub fn count_batches(
    data: &DataSpec,
    columns: &[String],
    batches: &mut dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    watch: Watch<'_>,
) -> Result<Counted> {
    let mut counter = Counter::new(data, columns);
    check_columns(data, &data.path, columns, &counter.names)?;
    let mut stream = Stream::new(counter.names.clone(), counter.readings.clone());
    let mut rows = 0;
    stream.read_batches(&data.path, batches, &mut |columns| {
        counter.take(columns, &data.path, rows)?;
        rows += columns.rows;
        watch.tell(Progress::at(Stage::Reading).done(rows))
    })?;
    let (distinct, binned) = stream.into_parts();
    counter.finish(vec![data.path.clone()], (&distinct, &binned))
}

/// Refuses a study that names a column which a table, called `name`, does not have.
pub fn check_named(data: &DataSpec, name: &Path, columns: &[String]) -> Result<()> {
    check_columns(data, name, columns, &Counter::new(data, columns).names)
}

/// Refuses a column that the data do not have, by the place that names it.
fn check_columns(data: &DataSpec, file: &Path, all: &[String], names: &[String]) -> Result<()> {
    let known: HashSet<&str> = all.iter().map(String::as_str).collect();
    let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) else {
        return Ok(());
    };
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    if data.counted {
        let what = unknown_column(name, &all);
        return Err(Error::input(format!(
            "{}: {what}; expected a table that `seawall count` or the query of `seawall sql` made, for \
             {} says counted = true",
            file.display(),
            data.declared.path.display()
        )));
    }
    let what = format!("{}: {}", file.display(), unknown_column(name, &all));
    Err(match data.declared.mentions.place(name) {
        Some(place) => place.error(what),
        None => Error::config(format!("{}: {what}", data.declared.path.display())),
    })
}

struct Counter<'s> {
    data: &'s DataSpec,
    /// The columns read, each once.
    names: Vec<String>,
    /// How each is read.
    readings: Vec<Reading>,
    filters: Vec<Check>,
    /// For each action, its conditions; none if a column names the actions.
    rules: Vec<Vec<Check>>,
    action_column: Option<usize>,
    /// In a counted table the column that names the actions of rules.
    rule_column: Option<usize>,
    action_names: Vec<String>,
    rows: RowColumns,
    /// A counted table's own columns, if it is one.
    table: Option<TableColumns>,
    /// What becomes a counted table, if one is wanted.
    groups: Option<Groups>,
    contexts: Vec<usize>,
    /// What those cut into bins hold.
    sums: BinSums,
    outcomes: Vec<usize>,
    /// For each context column, whether each distinct value or bin fits.
    fits: Vec<Vec<bool>>,
    outcome_ids: Tuples,
    tally: Tally,
    /// The numbers of a row.
    numbers: Vec<f64>,
    batch: Batch,
    predicted: Option<Predicted>,
    read: usize,
    filtered: usize,
    no_action: usize,
    no_outcome: usize,
    /// By column of the outcome.
    lacking: Vec<Lacking<'s>>,
}

/// How a context column is read.
fn reading(context: &Context) -> Reading {
    match (context.kind, &context.levels, context.bins()) {
        (Kind::Numeric, None, Some(bins)) => Reading::Bins(Line::new(Some(bins), context.range)),
        (Kind::Numeric, None, None) => Reading::Line(Line::new(None, context.range)),
        _ => Reading::Values,
    }
}

/// The context columns that are cut into bins, and where their numbers are.
fn binned_columns(
    data: &DataSpec,
    contexts: &[usize],
    named: &[String],
    column_of: &mut impl FnMut(Role, &str, Reading) -> usize,
) -> Vec<BinColumn> {
    let mut found = Vec::new();
    for (feature, (context, &column)) in data.contexts.iter().zip(contexts).enumerate() {
        let Some(bins) = context.bins() else { continue };
        let has = |role: Role| named.contains(&role.column(&context.name));
        let from = if !data.counted {
            NumbersFrom::Rows
        } else if has(Role::Mean) && has(Role::Deviation) {
            NumbersFrom::Table {
                mean: column_of(Role::Mean, &context.name, Reading::Numbers),
                sd: column_of(Role::Deviation, &context.name, Reading::Numbers),
            }
        } else {
            NumbersFrom::Nowhere
        };
        found.push(BinColumn::new(feature, column, from, bins));
    }
    found
}

/// How an outcome column is read.
fn outcome_reading(term: &Term) -> Reading {
    match term {
        Term::Levels(_) => Reading::Values,
        Term::Weight(_) => Reading::Line(Line::whole()),
    }
}

/// How many columns have codes, and how many have numbers.
fn kinds(readings: &[Reading], columns: &[usize]) -> (usize, usize) {
    let numbers = columns.iter().filter(|&&c| matches!(readings[c], Reading::Line(_))).count();
    (columns.len() - numbers, numbers)
}

/// The columns that are read, and how; each once.
struct WantedColumns {
    counted: bool,
    names: Vec<String>,
    readings: Vec<Reading>,
}

impl WantedColumns {
    fn place(&mut self, name: &str, reading: Reading) -> usize {
        let known = |&at: &usize| self.names[at] == name && self.readings[at] == reading;
        if let Some(at) = (0..self.names.len()).find(known) {
            return at;
        }
        self.names.push(name.to_owned());
        self.readings.push(reading);
        self.names.len() - 1
    }

    /// The column that plays a role, which a counted table calls by that.
    fn of_role(&mut self, role: Role, name: &str, reading: Reading) -> usize {
        if self.counted {
            self.place(&role.column(name), reading)
        } else {
            self.place(name, reading)
        }
    }

    /// Conditions of rows; those of a counted table were looked at when it was made.
    fn checks(&mut self, data: &DataSpec, conditions: &[(String, Condition)]) -> Vec<Check> {
        let conditions = if self.counted { &[] } else { conditions };
        let check = |(name, condition): &(String, Condition)| {
            Check::new(self.place(name, Reading::Values), condition, data.has_levels(name))
        };
        conditions.iter().map(check).collect()
    }
}

impl<'s> Counter<'s> {
    /// `named` are the columns that there are: what a counted table need not have is read if it is there.
    fn new(data: &'s DataSpec, named: &[String]) -> Self {
        let (counted, names, readings) = (data.counted, Vec::new(), Vec::new());
        let mut wanted = WantedColumns { counted, names, readings };
        let table = data.counted.then(|| {
            let n = wanted.place(N, Reading::Numbers);
            TableColumns::new(n, wanted.place(LEFT_OUT, Reading::Values))
        });
        let filters = wanted.checks(data, &data.rows.filters);
        let (mut rules, mut action_names) = (Vec::new(), Vec::new());
        if let Actions::Rules(all) = &data.actions {
            for (name, conditions) in all {
                rules.push(wanted.checks(data, conditions));
                action_names.push(name.clone());
            }
        }
        let (mut action_column, mut propensity) = (None, None);
        if let Actions::Column { column, propensity: p } = &data.actions {
            action_column = Some(wanted.of_role(Role::Action, column, Reading::Values));
            let of = |p: &String| wanted.of_role(Role::Propensity, p, Reading::Numbers);
            propensity = p.as_ref().map(of);
        }
        let rule_column = (data.counted && action_column.is_none())
            .then(|| wanted.of_role(Role::Action, "", Reading::Values));
        let mut column_of =
            |role: Role, name: &str, reading: Reading| wanted.of_role(role, name, reading);
        let rows = RowColumns::new(data, propensity, &mut column_of);
        let context = |c: &Context| column_of(Role::Context, &c.name, reading(c));
        let contexts: Vec<usize> = data.contexts.iter().map(context).collect();
        let sums = BinSums::new(binned_columns(data, &contexts, named, &mut column_of));
        let outcome =
            |(n, term): &(String, Term)| column_of(Role::Outcome, n, outcome_reading(term));
        let outcomes: Vec<usize> = data.outcome.terms.iter().map(outcome).collect();
        let predicted =
            Predicted::new(data, |name| column_of(Role::Prediction, name, Reading::Numbers));
        let WantedColumns { names, readings, .. } = wanted;
        let (of_context, of_outcome) = (kinds(&readings, &contexts), kinds(&readings, &outcomes));
        // Predictions are averaged by the number that a context has.
        let shards = if predicted.is_some() { 1 } else { SHARDS };
        let memory = counting(data.memory);
        Counter {
            data,
            filters,
            rules,
            action_column,
            rule_column,
            action_names,
            tally: Tally::new(of_context, rows.tells_apart(), rows.fractional, memory, shards),
            predicted,
            outcome_ids: Tuples::new(of_outcome.0, of_outcome.1),
            numbers: Vec::new(),
            batch: Batch::default(),
            rows,
            sums,
            table,
            groups: None,
            fits: vec![Vec::new(); contexts.len()],
            contexts,
            outcomes,
            names,
            readings,
            read: 0,
            filtered: 0,
            no_action: 0,
            no_outcome: 0,
            lacking: Lacking::of(data),
        }
    }

    fn finish(
        mut self,
        files: Vec<PathBuf>,
        (distinct, binned): (&[Distinct], &[Option<BinnedColumn>]),
    ) -> Result<Counted> {
        let (path, rows) = (&self.data.path, self.read);
        self.check_missing()?;
        if self.tally.is_empty() {
            let outcome = match self.no_outcome {
                0 => String::new(),
                n => format!(", {n} have no outcome"),
            };
            return Err(Error::input(format!(
                "{}: none of {rows} rows is left: {} do not meet the conditions, {} no action{outcome}",
                path.display(),
                self.filtered,
                self.no_action
            )));
        }
        let predicted = self.predicted.take();
        let data = self.data;
        let seen = Seen { readings: &self.readings, distinct, binned };
        let mut counts = self.tally.finish()?;
        let (actions, action_of) = match self.action_column {
            Some(column) => counts.actions(&distinct[column]),
            None => (self.action_names, (0..self.rules.len() as u32).collect()),
        };
        let (contexts, context_of, too_large) =
            context_space(data, &self.contexts, &mut counts, &seen, actions.len())?;
        let outcomes = outcome_space(data, &self.outcomes, self.outcome_ids, &seen)?;
        let cluster_of = self.rows.cluster_numbers(distinct);
        let (groups, group_of) = self.rows.recorded_groups(distinct);
        let moments = self.sums.finish(&group_of);
        let contexts = moments.on(&contexts, |_| true)?;
        // A survey's weights have no unit: by their mean they weigh as much as there are rows.
        let mean = if self.rows.has_survey() { counts.mean_unit() } else { 1.0 };
        let entries = counts.entries.iter().map(|e| Entry {
            context: context_of[e.context as usize],
            action: action_of[e.action as usize],
            outcome: outcomes.of[e.outcome as usize],
            propensity: e.facts.propensity,
            weight: e.facts.weight() / mean,
            unit: e.facts.unit / mean,
            cluster: cluster_of.get(e.facts.cluster as usize).copied().unwrap_or(Entry::ALONE),
            group: group_of.get(e.facts.group as usize).copied().unwrap_or(Entry::ALONE),
        });
        let entries: Vec<Entry> = entries.collect();
        let zeros =
            data.outcome.terms.iter().zip(&self.lacking).map(|(o, l)| (o.0.clone(), l.zeros()));
        let missing_outcomes = zeros.filter(|(_, rows)| *rows > 0).collect();
        let combinations = entries.len();
        let predictions = match predicted {
            Some(p) => {
                // By the number that a context had while rows were counted.
                let of: Vec<u32> =
                    counts.place_of.iter().map(|at| context_of[*at as usize]).collect();
                Some(p.finish(data, (&contexts, &of), &actions)?)
            }
            None => None,
        };
        drop((counts, context_of, outcomes.of));
        let (space, values) = (outcomes.space, outcomes.values);
        let log = Log::new(contexts, actions, space, values, data.outcome.direction, entries)
            .map_err(|e| e.within(path.display()))?;
        Ok(Counted {
            log: log.shared(),
            files,
            rows,
            filtered: self.filtered,
            no_action: self.no_action,
            no_outcome: self.no_outcome,
            missing_outcomes,
            combinations,
            too_large,
            predictions,
            groups,
            moments: Arc::new(moments),
        })
    }
}

/// The memory that counting goes by: what is allowed, or a quarter of what is there if that is less, for
/// what was counted is put in order in as much again, and every thread has room of its own.
fn counting(allowed: u64) -> u64 {
    memory::at_hand().map_or(allowed, |left| allowed.min(left / 4))
}

//! From a data file to a log: one pass that counts rows by context, action and outcome.
//!
//! Each column's distinct values are numbered as they appear, and everything that the study says
//! about a value (does it meet a condition, which level is it, what does it cost) is worked out
//! once for each distinct value. Memory grows with what differs, not with the rows.
//!
//! A counted table ([`mod@crate::counted`]) is read in the same way: its conditions were looked at
//! when it was counted, its columns are named by what they are to the study, and a row stands for `n`.

mod axis;
mod binned;
mod check;
mod combine;
mod exact_sum;
mod predicted;
mod row;
mod spread;
mod texts;

pub(crate) use check::{Check, complaint};
pub(crate) use combine::Combinations;
pub use predicted::RowPredictions;

use crate::counted::{CountedTable, LEFT_OUT, LeftOut, N, Role, TableColumns, Tally, UsedRow};
use crate::read::{Columns, Distinct, Reading, Stream, columns, files, unknown_column};
use crate::study::{Actions, Condition, Context, Scale, Study, Term};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use axis::{Axis, space_of};
use binned::BinnedColumn;
use check::outcome_complaint;
use combine::Pairs;
use exact_sum::ExactSum;
use foldhash::fast::FixedState;
use predicted::Predicted;
use row::{RowColumns, RowFacts};
use seawall::{Entry, Error, Log, Progress, Result, Stage, Watch};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A context space of more cells than this is made of the contexts seen instead of a grid.
pub(crate) const MOST_CELLS: f64 = 2e7;
/// Likewise for outcomes.
const MOST_OUTCOMES: f64 = 4096.0;

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
    /// The rows, by outcome column, that have no value there and count as 0.
    pub missing_outcomes: Vec<(String, f64)>,
    /// Combinations of context, action, outcome and propensity that were counted.
    pub combinations: usize,
    /// Predicted values that the rows brought, if the study names columns of them.
    pub predictions: Option<RowPredictions>,
}

/// Reads and counts a study's data.
pub fn count(study: &Study, watch: Watch<'_>) -> Result<Counted> {
    Ok(read(Counter::new(study), watch)?.0)
}

/// The same, with the counted table that they make.
pub(crate) fn count_with_table(study: &Study, watch: Watch<'_>) -> Result<(Counted, CountedTable)> {
    let (counted, table) = read(Counter::new(study).with_tally(), watch)?;
    let table = table.ok_or_else(|| Error::internal("no table was counted"))?;
    Ok((counted, table))
}

fn read(mut counter: Counter<'_>, watch: Watch<'_>) -> Result<(Counted, Option<CountedTable>)> {
    let study = counter.study;
    let files = files(&study.data)?;
    check_columns(study, &files[0], &columns(&files[0])?, &counter.names)?;
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
    let distinct = stream.into_distinct();
    let table = counter.table(&distinct);
    Ok((counter.finish(files, &distinct)?, table))
}

/// Counts rows that are in memory already; messages call them by the study's `data`.
pub fn count_batches(
    study: &Study,
    columns: &[String],
    batches: &mut dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    watch: Watch<'_>,
) -> Result<Counted> {
    let mut counter = Counter::new(study);
    check_columns(study, &study.data, columns, &counter.names)?;
    let mut stream = Stream::new(counter.names.clone(), counter.readings.clone());
    let mut rows = 0;
    stream.read_batches(&study.data, batches, &mut |columns| {
        counter.take(columns, &study.data, rows)?;
        rows += columns.rows;
        watch.tell(Progress::at(Stage::Reading).done(rows))
    })?;
    counter.finish(vec![study.data.clone()], &stream.into_distinct())
}

/// Refuses a study that names a column which a table, called `name`, does not have.
pub fn check_named(study: &Study, name: &Path, columns: &[String]) -> Result<()> {
    check_columns(study, name, columns, &Counter::new(study).names)
}

/// Refuses a column that the data do not have, by the line of the study that names it.
fn check_columns(study: &Study, file: &Path, all: &[String], names: &[String]) -> Result<()> {
    let Some(name) = names.iter().find(|name| !all.contains(name)) else { return Ok(()) };
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let is_name = |word: &str| word == name.as_str();
    let ends = |c: char| c.is_whitespace() || "\"'=,{}[]".contains(c);
    // A name with such characters in it is quoted: then the whole line is looked at.
    let named =
        |line: &str| line.split(ends).any(is_name) || (name.contains(ends) && line.contains(name));
    if study.counted {
        let what = unknown_column(name, &all);
        return Err(Error::input(format!(
            "{}: {what}; expected a table that `seawall count` or the query of `seawall sql` made, for \
             {} says counted = true",
            file.display(),
            study.path.display()
        )));
    }
    let line = study.text.lines().position(|l| named(l.split('#').next().unwrap_or(l)));
    let line = line.map_or(String::new(), |at| format!("line {}: ", at + 1));
    let what = unknown_column(name, &all);
    Err(Error::config(format!("{}: {line}{}: {what}", study.path.display(), file.display())))
}

struct Counter<'s> {
    study: &'s Study,
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
    tally: Option<Tally>,
    contexts: Vec<usize>,
    outcomes: Vec<usize>,
    /// For each context column, whether each distinct value was found to fit.
    fits: Vec<Vec<bool>>,
    /// Likewise for each outcome column.
    outcome_fits: Vec<Vec<bool>>,
    /// For each context column that is cut into bins, those.
    binned: Vec<Option<BinnedColumn>>,
    context_ids: Combinations,
    outcome_ids: Combinations,
    /// Context and action, then that and the outcome, then perhaps that and the propensity.
    decisions: Pairs,
    results: Pairs,
    /// Where rows of one result differ: in propensity, what they weigh, or cluster.
    kinds: HashMap<(u32, u64, u64, u32), u32, FixedState>,
    /// What was counted: a result, and what its rows have in common with the sum of their weights.
    entries: Vec<(u32, RowFacts)>,
    /// The weights of each entry where they are parts of rows, exactly.
    parts: Vec<ExactSum>,
    predicted: Option<Predicted>,
    read: usize,
    filtered: usize,
    no_action: usize,
}

impl<'s> Counter<'s> {
    fn new(study: &'s Study) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut readings: Vec<Reading> = Vec::new();
        let mut place_of = |name: &str, reading: Reading| match (0..names.len())
            .find(|&at| names[at] == name && readings[at] == reading)
        {
            Some(at) => at,
            None => {
                names.push(name.to_owned());
                readings.push(reading);
                names.len() - 1
            }
        };
        let table = study.counted.then(|| {
            let n = place_of(N, Reading::Numbers);
            TableColumns::new(n, place_of(LEFT_OUT, Reading::Values))
        });
        let mut checks = |conditions: &[(String, Condition)]| -> Vec<Check> {
            let check = |(name, condition): &(String, Condition)| {
                Check::new(place_of(name, Reading::Values), condition, study.has_levels(name))
            };
            // They were looked at when a counted table was made.
            conditions.iter().filter(|_| !study.counted).map(check).collect()
        };
        let filters = checks(&study.filters);
        let (mut rules, mut action_names) = (Vec::new(), Vec::new());
        if let Actions::Rules(all) = &study.actions {
            for (name, conditions) in all {
                rules.push(checks(conditions));
                action_names.push(name.clone());
            }
        }
        let mut column_of = |role: Role, name: &str, reading: Reading| match study.counted {
            true => place_of(&role.column(name), reading),
            false => place_of(name, reading),
        };
        let (mut action_column, mut propensity) = (None, None);
        if let Actions::Column { column, propensity: p } = &study.actions {
            action_column = Some(column_of(Role::Action, column, Reading::Values));
            propensity = p.as_ref().map(|p| column_of(Role::Propensity, p, Reading::Numbers));
        }
        let rule_column = (study.counted && action_column.is_none())
            .then(|| column_of(Role::Action, "", Reading::Values));
        let rows = RowColumns::new(study, propensity, &mut column_of);
        let context = |c: &Context| column_of(Role::Context, &c.name, Reading::Values);
        let contexts: Vec<usize> = study.contexts.iter().map(context).collect();
        let outcome = |(n, _): &(String, Term)| column_of(Role::Outcome, n, Reading::Values);
        let outcomes: Vec<usize> = study.outcome.iter().map(outcome).collect();
        let predicted =
            Predicted::new(study, |name| column_of(Role::Prediction, name, Reading::Numbers));
        Counter {
            study,
            predicted,
            filters,
            rules,
            action_column,
            rule_column,
            action_names,
            rows,
            table,
            tally: None,
            fits: vec![Vec::new(); contexts.len()],
            outcome_fits: vec![Vec::new(); outcomes.len()],
            binned: study.contexts.iter().map(|c| c.bins().map(BinnedColumn::new)).collect(),
            context_ids: Combinations::new(contexts.len()),
            outcome_ids: Combinations::new(outcomes.len()),
            contexts,
            outcomes,
            decisions: Pairs::default(),
            results: Pairs::default(),
            kinds: HashMap::default(),
            entries: Vec::new(),
            parts: Vec::new(),
            names,
            readings,
            read: 0,
            filtered: 0,
            no_action: 0,
        }
    }

    /// An error about a value of the data.
    fn error(&self, at: (&Path, usize), column: usize, what: impl std::fmt::Display) -> Error {
        let (file, row) = at;
        Error::input(format!(
            "{}: row {}, column {:?}: {what}",
            file.display(),
            row + 1,
            self.names[column]
        ))
    }

    /// Counts a batch whose first row is row `from` of a file, counted from 0.
    fn take(&mut self, columns: &Columns<'_>, file: &Path, from: usize) -> Result<()> {
        self.filters.iter_mut().for_each(|check| check.prepare(columns));
        self.rules.iter_mut().flatten().for_each(|check| check.prepare(columns));
        for (fits, &column) in self.fits.iter_mut().zip(&self.contexts) {
            fits.resize(columns.distinct[column].len(), false);
        }
        for (fits, &column) in self.outcome_fits.iter_mut().zip(&self.outcomes) {
            fits.resize(columns.distinct[column].len(), false);
        }
        for (binned, &column) in self.binned.iter_mut().zip(&self.contexts) {
            binned.iter_mut().for_each(|binned| binned.prepare(&columns.distinct[column]));
        }
        for row in 0..columns.rows {
            let at = (file, from + row);
            let (times, left_out) = self.standing(columns, row, at)?;
            self.read += times as usize;
            let action = match left_out {
                None => self.action(columns, row, at)?.ok_or(LeftOut::NoAction),
                Some(why) => Err(why),
            };
            let action = match action {
                Ok(action) => action,
                Err(why) => {
                    match why {
                        LeftOut::Conditions => self.filtered += times as usize,
                        _ => self.no_action += times as usize,
                    }
                    if let Some(tally) = &mut self.tally {
                        tally.take((columns, row), Err(why), times);
                    }
                    continue;
                }
            };
            self.check_context(columns, row, at)?;
            self.check_outcome(columns, row, at)?;
            let codes = self.contexts.iter().zip(&self.binned).map(|(&c, binned)| {
                let code = columns.codes[c][row];
                binned.as_ref().map_or(code, |binned| binned.code_of[code as usize])
            });
            let context = self.context_ids.id(codes);
            let codes = self.outcomes.iter().map(|&c| columns.codes[c][row]);
            let outcome = self.outcome_ids.id(codes);
            let facts = self.rows.row(columns, row).map_err(|(c, what)| self.error(at, c, what))?;
            let result = self.results.id(self.decisions.id(context, action), outcome);
            let entry = match self.rows.tells_apart() {
                false => result as usize,
                true => {
                    let (p, unit) = (facts.propensity.to_bits(), facts.unit.to_bits());
                    let next = self.entries.len() as u32;
                    *self.kinds.entry((result, p, unit, facts.cluster)).or_insert(next) as usize
                }
            };
            if entry == self.entries.len() {
                self.entries.push((result, RowFacts { units: 0.0, ..facts }));
                self.parts.extend(self.rows.fractional.then_some(ExactSum::ZERO));
            }
            match self.parts.get_mut(entry) {
                Some(parts) => parts.add_product(times, facts.units),
                None => self.entries[entry].1.units += times * facts.units,
            }
            if let Some(tally) = &mut self.tally {
                tally.take((columns, row), Ok(UsedRow { context, action }), times);
            }
            if let Some(predicted) = &mut self.predicted {
                let weighs = (context, facts.weight(), times);
                predicted.take((columns, row), &self.names, at, weighs);
            }
        }
        Ok(())
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
    fn check_context(
        &mut self,
        columns: &Columns<'_>,
        row: usize,
        at: (&Path, usize),
    ) -> Result<()> {
        for place in 0..self.contexts.len() {
            let column = self.contexts[place];
            let code = columns.codes[column][row] as usize;
            if self.fits[place][code] {
                continue;
            }
            let distinct = &columns.distinct[column];
            if let Some(what) = complaint(&self.study.contexts[place], distinct, code) {
                return Err(self.error(at, column, what));
            }
            self.fits[place][code] = true;
        }
        Ok(())
    }

    /// Refuses an outcome value that cannot be counted.
    fn check_outcome(
        &mut self,
        columns: &Columns<'_>,
        row: usize,
        at: (&Path, usize),
    ) -> Result<()> {
        for place in 0..self.outcomes.len() {
            let column = self.outcomes[place];
            let code = columns.codes[column][row] as usize;
            if self.outcome_fits[place][code] {
                continue;
            }
            let (distinct, term) = (&columns.distinct[column], &self.study.outcome[place].1);
            if let Some(what) = outcome_complaint(term, distinct, code) {
                return Err(self.error(at, column, what));
            }
            self.outcome_fits[place][code] = true;
        }
        Ok(())
    }

    fn finish(mut self, files: Vec<PathBuf>, distinct: &[Distinct]) -> Result<Counted> {
        for ((_, facts), parts) in self.entries.iter_mut().zip(&self.parts) {
            facts.units = parts.value();
        }
        let (path, rows) = (&self.study.data, self.read);
        if self.entries.is_empty() {
            return Err(Error::input(format!(
                "{}: none of {rows} rows is left: {} do not meet the conditions, {} no action",
                path.display(),
                self.filtered,
                self.no_action
            )));
        }
        let mut axes: Vec<Axis> = self
            .study
            .contexts
            .iter()
            .zip(&self.contexts)
            .enumerate()
            .map(|(at, (context, &c))| {
                let (binned, used) = (self.binned[at].as_ref(), self.context_ids.used(at));
                Axis::context(path, context, &distinct[c], binned, &used)
            })
            .collect::<Result<_>>()?;
        if self.study.scale == Scale::Spread {
            let rows = self.rows_by_context();
            let codes: Vec<Vec<u32>> =
                (0..rows.len() as u32).map(|c| self.context_ids.codes(c)).collect();
            for (k, axis) in axes.iter_mut().enumerate() {
                axis.spread(codes.iter().map(|c| c[k]).zip(rows.iter().copied()));
            }
        }
        let of_study = |e: Error| e.within(self.study.path.display());
        let (contexts, context_of) =
            space_of(axes, &self.context_ids, MOST_CELLS).map_err(of_study)?;
        let axes: Vec<Axis> = self
            .study
            .outcome
            .iter()
            .zip(&self.outcomes)
            .enumerate()
            .map(|(at, ((name, term), &c))| {
                Axis::outcome(path, name, term, &distinct[c], &self.outcome_ids.used(at))
            })
            .collect::<Result<_>>()?;
        let amounts: Vec<Vec<f64>> = axes.iter().map(|a| a.amounts.clone()).collect();
        let (outcomes, outcome_of) =
            space_of(axes, &self.outcome_ids, MOST_OUTCOMES).map_err(of_study)?;
        let amount = |i: usize| {
            amounts.iter().enumerate().map(|(k, a)| a[outcomes.code(i, k) as usize]).sum()
        };
        let values: Vec<f64> = (0..outcomes.len()).map(amount).collect();
        let (actions, action_of) = self.actions(distinct);
        let cluster_of = self.rows.cluster_numbers(distinct);
        // A survey's weights have no unit: by their mean they weigh as much as there are rows.
        let mean = self.mean_unit();
        let entries = self.entries.iter().map(|&(result, facts)| {
            let (decision, outcome) = self.results.pair(result);
            let (context, action) = self.decisions.pair(decision);
            Entry {
                context: context_of[context as usize],
                action: action_of[action as usize],
                outcome: outcome_of[outcome as usize],
                propensity: facts.propensity,
                weight: facts.weight() / mean,
                unit: facts.unit / mean,
                cluster: cluster_of.get(facts.cluster as usize).copied().unwrap_or(Entry::ALONE),
            }
        });
        let entries = entries.collect();
        let predictions = match self.predicted.take() {
            Some(p) => Some(p.finish(self.study, (&contexts, &context_of), &actions)?),
            None => None,
        };
        let direction = self.study.direction;
        let log = Log::new(contexts, actions, outcomes, values, direction, entries)
            .map_err(|e| e.within(path.display()))?;
        Ok(Counted {
            log: log.shared(),
            files,
            rows,
            filtered: self.filtered,
            no_action: self.no_action,
            missing_outcomes: self.missing_outcomes(distinct),
            combinations: self.entries.len(),
            predictions,
        })
    }

    /// What a row weighs on average; 1 where weights count rows.
    fn mean_unit(&self) -> f64 {
        if !self.rows.has_survey() {
            return 1.0;
        }
        let (mut weight, mut rows) = (ExactSum::ZERO, 0.0);
        for (_, facts) in &self.entries {
            weight.add_product(facts.units, facts.unit);
            rows += facts.units;
        }
        let weight = weight.value();
        if weight > 0.0 { weight / rows } else { 1.0 }
    }

    /// The rows of each combination of context values.
    fn rows_by_context(&self) -> Vec<f64> {
        let mut rows = vec![ExactSum::ZERO; self.context_ids.len()];
        for (result, facts) in &self.entries {
            let decision = self.results.pair(*result).0;
            let context = self.decisions.pair(decision).0 as usize;
            rows[context].add_product(facts.units, facts.unit);
        }
        rows.iter().map(ExactSum::value).collect()
    }

    /// The rows without a value in an outcome column that gives numbers by level.
    fn missing_outcomes(&self, distinct: &[Distinct]) -> Vec<(String, f64)> {
        let mut found = Vec::new();
        for (at, ((name, _), &column)) in self.study.outcome.iter().zip(&self.outcomes).enumerate()
        {
            let missing = |outcome: u32| {
                distinct[column].is_missing(self.outcome_ids.codes(outcome)[at] as usize)
            };
            let by_outcome: Vec<bool> = (0..self.outcome_ids.len() as u32).map(missing).collect();
            let lacking = |e: &&(u32, RowFacts)| by_outcome[self.results.pair(e.0).1 as usize];
            let mut rows = ExactSum::ZERO;
            let weights = self.entries.iter().filter(lacking).map(|e| e.1);
            weights.for_each(|facts| rows.add_product(facts.units, facts.unit));
            if rows.value() > 0.0 {
                found.push((name.clone(), rows.value()));
            }
        }
        found
    }

    /// The actions' names, and the place of each action as it was counted.
    fn actions(&self, distinct: &[Distinct]) -> (Vec<String>, Vec<u32>) {
        let Some(column) = self.action_column else {
            return (self.action_names.clone(), (0..self.action_names.len() as u32).collect());
        };
        let distinct = &distinct[column];
        let decisions = (0..self.decisions.len() as u32).map(|d| self.decisions.pair(d).1);
        let mut used: Vec<u32> = decisions.collect();
        used.sort_unstable();
        used.dedup();
        // By number if they are numbers, else by text: not by where they happen to appear.
        let key = |&code: &u32| {
            let code = code as usize;
            (distinct.number(code), distinct.text(code).cloned().unwrap_or_default())
        };
        used.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            let number = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
            let none_last = a.0.is_none().cmp(&b.0.is_none());
            none_last.then(number(a.0).total_cmp(&number(b.0))).then(a.1.cmp(&b.1))
        });
        let mut place = vec![0; distinct.len()];
        for (at, &code) in used.iter().enumerate() {
            place[code as usize] = at as u32;
        }
        (used.iter().map(|c| key(c).1).collect(), place)
    }
}

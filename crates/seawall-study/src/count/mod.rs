//! From a data file to a log: one pass that counts rows by context, action and outcome.
//!
//! Each column's distinct values are numbered as they appear, and everything that the study says
//! about a value (does it meet a condition, which level is it, what does it cost) is worked out
//! once for each distinct value. Memory grows with what differs, not with the rows.

mod axis;

use crate::read::{Columns, Distinct, nearest, stream};
use crate::study::{Actions, Condition, Context, Study};
use axis::{Axis, place};
use seawall::{Entry, Error, Kind, Log, Result};
use std::collections::HashMap;

/// A context space of more cells than this is made of the contexts seen instead of a grid.
const MOST_CELLS: f64 = 2e7;
/// Likewise for outcomes.
const MOST_OUTCOMES: f64 = 4096.0;

/// A log, and what was read to make it.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The log.
    pub log: Log,
    /// Rows read.
    pub rows: usize,
    /// Rows that did not meet the study's conditions.
    pub filtered: usize,
    /// Rows that met no action.
    pub no_action: usize,
}

/// Reads and counts a study's data. `watch` is told the rows read so far.
pub fn count(study: &Study, watch: &dyn Fn(usize)) -> Result<Counted> {
    let mut counter = Counter::new(study);
    let (names, raw) = (counter.names.clone(), counter.raw.clone());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut rows = 0;
    let distinct = stream(&study.data, &names, &raw, &mut |columns| {
        counter.take(columns, rows)?;
        rows += columns.rows;
        watch(rows);
        Ok(())
    })?;
    counter.finish(rows, &distinct)
}

/// Numbers pairs as they appear.
#[derive(Default)]
struct Pairs {
    places: HashMap<(u32, u32), u32>,
    pairs: Vec<(u32, u32)>,
}

impl Pairs {
    fn number(&mut self, pair: (u32, u32)) -> u32 {
        let next = self.pairs.len() as u32;
        *self.places.entry(pair).or_insert_with(|| {
            self.pairs.push(pair);
            next
        })
    }
}

/// Numbers combinations of codes as they appear, one pair after the other.
struct Combinations {
    chain: Vec<Pairs>,
}

impl Combinations {
    fn new(columns: usize) -> Self {
        Combinations { chain: (0..columns).map(|_| Pairs::default()).collect() }
    }

    fn number(&mut self, codes: impl Iterator<Item = u32>) -> u32 {
        self.chain
            .iter_mut()
            .zip(codes)
            .fold(0, |so_far, (pairs, code)| pairs.number((so_far, code)))
    }

    fn len(&self) -> usize {
        self.chain.last().map_or(0, |pairs| pairs.pairs.len())
    }

    /// The codes of a combination.
    fn codes(&self, mut number: u32) -> Vec<u32> {
        let mut codes = vec![0; self.chain.len()];
        for (code, pairs) in codes.iter_mut().zip(&self.chain).rev() {
            (number, *code) = pairs.pairs[number as usize];
        }
        codes
    }
}

struct Counter<'s> {
    study: &'s Study,
    /// The columns read, each once.
    names: Vec<String>,
    /// Which of them are read as plain numbers.
    raw: Vec<bool>,
    filters: Vec<Check>,
    /// For each action, its conditions; none if a column names the actions.
    rules: Vec<Vec<Check>>,
    action_column: Option<usize>,
    action_names: Vec<String>,
    propensity: Option<usize>,
    weight: Option<usize>,
    contexts: Vec<usize>,
    outcomes: Vec<usize>,
    /// For each context column, whether each distinct value was found to fit.
    fits: Vec<Vec<bool>>,
    context_ids: Combinations,
    outcome_ids: Combinations,
    entries: HashMap<(u32, u32, u32, u64), f64>,
    filtered: usize,
    no_action: usize,
}

/// A condition on a column, worked out for each distinct value.
struct Check {
    column: usize,
    condition: Condition,
    holds: Vec<bool>,
}

impl Check {
    fn holds(&mut self, columns: &Columns<'_>, row: usize) -> bool {
        let code = columns.codes[self.column][row] as usize;
        let distinct = &columns.distinct[self.column];
        while self.holds.len() < distinct.len() {
            self.holds.push(meets(&self.condition, distinct, self.holds.len()));
        }
        self.holds[code]
    }
}

fn meets(condition: &Condition, distinct: &Distinct, code: usize) -> bool {
    let (text, number) = (distinct.text(code), distinct.number(code));
    let same = |wanted: &String| {
        text == Some(wanted) || wanted.parse::<f64>().is_ok_and(|w| Some(w) == number)
    };
    match condition {
        Condition::OneOf(wanted) => wanted.iter().any(same),
        Condition::Not(unwanted) => !unwanted.iter().any(same),
        Condition::Range { min, max } => number.is_some_and(|x| x >= *min && x <= *max),
        Condition::Missing(missing) => text.is_none() == *missing,
    }
}

impl<'s> Counter<'s> {
    fn new(study: &'s Study) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut raw: Vec<bool> = Vec::new();
        let mut place = |name: &str, plain: bool| match (0..names.len())
            .find(|&at| names[at] == name && raw[at] == plain)
        {
            Some(at) => at,
            None => {
                names.push(name.to_owned());
                raw.push(plain);
                names.len() - 1
            }
        };
        let mut checks = |conditions: &[(String, Condition)]| -> Vec<Check> {
            let check = |(name, condition): &(String, Condition)| Check {
                column: place(name, false),
                condition: condition.clone(),
                holds: Vec::new(),
            };
            conditions.iter().map(check).collect()
        };
        let filters = checks(&study.filters);
        let (mut rules, mut action_names) = (Vec::new(), Vec::new());
        if let Actions::Rules(all) = &study.actions {
            for (name, conditions) in all {
                rules.push(checks(conditions));
                action_names.push(name.clone());
            }
        }
        let (mut action_column, mut propensity) = (None, None);
        if let Actions::Column { column, propensity: p } = &study.actions {
            action_column = Some(place(column, false));
            propensity = p.as_ref().map(|p| place(p, true));
        }
        let weight = study.weight.as_ref().map(|w| place(w, true));
        let contexts: Vec<usize> = study.contexts.iter().map(|c| place(&c.name, false)).collect();
        let outcomes: Vec<usize> = study.outcome.iter().map(|(n, _)| place(n, false)).collect();
        Counter {
            study,
            filters,
            rules,
            action_column,
            action_names,
            propensity,
            weight,
            fits: vec![Vec::new(); contexts.len()],
            context_ids: Combinations::new(contexts.len()),
            outcome_ids: Combinations::new(outcomes.len()),
            contexts,
            outcomes,
            entries: HashMap::new(),
            names,
            raw,
            filtered: 0,
            no_action: 0,
        }
    }

    /// An error about a value of the data.
    fn error(&self, row: usize, column: usize, what: impl std::fmt::Display) -> Error {
        Error::input(format!(
            "{}: row {}, column {:?}: {what}",
            self.study.data.display(),
            row + 1,
            self.names[column]
        ))
    }

    fn take(&mut self, columns: &Columns<'_>, from: usize) -> Result<()> {
        for row in 0..columns.rows {
            if !self.filters.iter_mut().all(|check| check.holds(columns, row)) {
                self.filtered += 1;
                continue;
            }
            let Some(action) = self.action(columns, row, from)? else {
                self.no_action += 1;
                continue;
            };
            self.check_context(columns, row, from)?;
            let codes = self.contexts.iter().map(|&c| columns.codes[c][row]);
            let context = self.context_ids.number(codes);
            let codes = self.outcomes.iter().map(|&c| columns.codes[c][row]);
            let outcome = self.outcome_ids.number(codes);
            let weight = match self.weight {
                None => 1.0,
                Some(c) => match columns.numbers[c][row] {
                    w if w >= 0.0 && w.is_finite() => w,
                    w => {
                        let what = format!("the weight is {w}; expected a finite number ≥ 0");
                        return Err(self.error(from + row, c, what));
                    }
                },
            };
            let propensity = match self.propensity {
                None => f64::NAN,
                Some(c) => match columns.numbers[c][row] {
                    p if p > 0.0 && p <= 1.0 => p,
                    p => {
                        let what = format!("{p}; expected a propensity above 0 and at most 1");
                        return Err(self.error(from + row, c, what));
                    }
                },
            };
            let key = (context, action, outcome, propensity.to_bits());
            *self.entries.entry(key).or_default() += weight;
        }
        Ok(())
    }

    /// The action of a row; None if it meets none.
    fn action(&mut self, columns: &Columns<'_>, row: usize, from: usize) -> Result<Option<u32>> {
        if let Some(column) = self.action_column {
            let code = columns.codes[column][row];
            return match columns.distinct[column].text(code as usize) {
                Some(_) => Ok(Some(code)),
                None => Ok(None),
            };
        }
        let mut found = None;
        for (action, rule) in self.rules.iter_mut().enumerate() {
            if rule.iter_mut().all(|check| check.holds(columns, row)) {
                if let Some(before) = found {
                    let before: usize = before;
                    return Err(Error::input(format!(
                        "{}: row {}: the actions {:?} and {:?} both match",
                        self.study.data.display(),
                        from + row + 1,
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
    fn check_context(&mut self, columns: &Columns<'_>, row: usize, from: usize) -> Result<()> {
        for at in 0..self.contexts.len() {
            let column = self.contexts[at];
            let code = columns.codes[column][row] as usize;
            if self.fits[at].get(code) == Some(&true) {
                continue;
            }
            let distinct = &columns.distinct[column];
            if let Some(what) = complaint(&self.study.contexts[at], distinct, code) {
                return Err(self.error(from + row, column, what));
            }
            let fits = &mut self.fits[at];
            fits.resize(fits.len().max(code + 1), false);
            fits[code] = true;
        }
        Ok(())
    }

    fn finish(self, rows: usize, distinct: &[Distinct]) -> Result<Counted> {
        let path = &self.study.data;
        if self.entries.is_empty() {
            return Err(Error::input(format!(
                "{}: none of {rows} rows is left: {} do not meet the conditions, {} no action",
                path.display(),
                self.filtered,
                self.no_action
            )));
        }
        let axes: Vec<Axis> = self
            .study
            .contexts
            .iter()
            .zip(&self.contexts)
            .enumerate()
            .map(|(at, (context, &c))| {
                Axis::context(path, context, &distinct[c], &self.used(&self.context_ids, at))
            })
            .collect::<Result<_>>()?;
        let (contexts, context_of) = place(axes, &self.context_ids, MOST_CELLS)?;
        let axes: Vec<Axis> = self
            .study
            .outcome
            .iter()
            .zip(&self.outcomes)
            .enumerate()
            .map(|(at, ((name, term), &c))| {
                Axis::outcome(path, name, term, &distinct[c], &self.used(&self.outcome_ids, at))
            })
            .collect::<Result<_>>()?;
        let amounts: Vec<Vec<f64>> = axes.iter().map(|a| a.amounts.clone()).collect();
        let (outcomes, outcome_of) = place(axes, &self.outcome_ids, MOST_OUTCOMES)?;
        let amount = |i: usize| {
            amounts.iter().enumerate().map(|(k, a)| a[outcomes.code(i, k) as usize]).sum()
        };
        let values: Vec<f64> = (0..outcomes.len()).map(amount).collect();
        let (actions, action_of) = self.actions(distinct);
        let entries = self.entries.iter().map(|(&(context, action, outcome, p), &weight)| Entry {
            context: context_of[context as usize],
            action: action_of[action as usize],
            outcome: outcome_of[outcome as usize],
            propensity: f64::from_bits(p),
            weight,
        });
        let entries = entries.collect();
        let direction = self.study.direction;
        let log = Log::new(contexts, actions, outcomes, values, direction, entries)
            .map_err(|e| e.within(path.display()))?;
        Ok(Counted { log, rows, filtered: self.filtered, no_action: self.no_action })
    }

    /// The codes of a place of the combinations that were counted.
    fn used(&self, ids: &Combinations, at: usize) -> Vec<u32> {
        let mut used: Vec<u32> = ids.chain[at].pairs.iter().map(|p| p.1).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The actions' names, and the place of each action as it was counted.
    fn actions(&self, distinct: &[Distinct]) -> (Vec<String>, Vec<u32>) {
        let Some(column) = self.action_column else {
            return (self.action_names.clone(), (0..self.action_names.len() as u32).collect());
        };
        let distinct = &distinct[column];
        let mut used: Vec<u32> = self.entries.keys().map(|k| k.1).collect();
        used.sort_unstable();
        used.dedup();
        // By number if they are numbers, else by text: not by where they happen to appear.
        let key = |&code: &u32| {
            let code = code as usize;
            (distinct.number(code), distinct.text(code).cloned().unwrap_or_default())
        };
        used.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            let numbers = a.0.zip(b.0).map(|(x, y)| x.total_cmp(&y));
            numbers.unwrap_or(std::cmp::Ordering::Equal).then(a.1.cmp(&b.1))
        });
        let mut place = vec![0; distinct.len()];
        for (at, &code) in used.iter().enumerate() {
            place[code as usize] = at as u32;
        }
        (used.iter().map(|c| key(c).1).collect(), place)
    }
}

/// What is wrong with a context value, if anything is.
fn complaint(context: &Context, distinct: &Distinct, code: usize) -> Option<String> {
    let Some(text) = distinct.text(code) else {
        return context.missing.is_none().then(|| {
            "the value is missing; say missing = true in the study if that is a level of its own, \
             or leave such rows out with where"
                .to_owned()
        });
    };
    match (&context.levels, context.kind) {
        (Some(levels), _) if !levels.iter().any(|l| l == text) => {
            let known: Vec<&str> = levels.iter().map(String::as_str).collect();
            let near =
                nearest(text, &known).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            Some(format!("{text:?} is not one of the levels {}{near}", known.join(", ")))
        }
        (None, Kind::Numeric) if !distinct.number(code).is_some_and(f64::is_finite) => {
            Some(format!("{text:?} is not a number"))
        }
        _ => None,
    }
}

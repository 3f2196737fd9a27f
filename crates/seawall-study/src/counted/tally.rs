//! Rows counted by everything that a study looks at: what becomes a counted table.

use super::layout::{LEFT_OUT, LeftOut, N, Role};
use super::table::{Cells, CountedTable};
use crate::count::Combinations;
use crate::read::{Columns, Distinct};
use crate::study::{Study, Term};
use foldhash::fast::FixedState;
use seawall::Kind;
use std::collections::HashMap;

/// A row's context, action and how often it is there, as a counter numbers them.
#[derive(Clone, Copy)]
pub(crate) struct UsedRow {
    pub(crate) context: u32,
    pub(crate) action: u32,
}

/// Distinct numbers, numbered as they appear.
#[derive(Default)]
struct Numbers {
    seen: Vec<f64>,
    codes: HashMap<u64, u32, FixedState>,
}

impl Numbers {
    fn code(&mut self, x: f64) -> u32 {
        let x = if x.is_nan() { f64::NAN } else { x + 0.0 };
        let next = self.seen.len() as u32;
        let code = *self.codes.entry(x.to_bits()).or_insert(next);
        if code == next {
            self.seen.push(x);
        }
        code
    }
}

/// A column of values or numbers that a row is counted by: its role, its name, where it is read.
pub(crate) type Place = (Role, String, usize);

/// What was counted so far.
pub(crate) struct Tally {
    /// Of each outcome column: where it is read, and whether it counts by level.
    outcomes: Vec<(usize, bool)>,
    cluster: Option<usize>,
    numbers: Vec<(Place, Numbers)>,
    /// Why left out, action, context, outcomes, cluster, numbers.
    groups: Combinations,
    counts: Vec<u64>,
}

/// How a counter turns its numbers back into texts.
pub(crate) trait Texts {
    /// The value of each context column in a combination of them; None if it is missing.
    fn context(&self, combination: u32) -> Vec<Option<String>>;
    /// Whether a context column holds truths alone.
    fn is_truths(&self, column: usize) -> bool;
    /// The name of an action.
    fn action(&self, action: u32) -> Option<String>;
}

impl Tally {
    /// `outcomes` says where the study's outcome columns are read, in their order.
    pub(crate) fn new(
        study: &Study,
        outcomes: &[usize],
        cluster: Option<usize>,
        numbers: Vec<Place>,
    ) -> Self {
        let by_level = study.outcome.iter().map(|(_, term)| matches!(term, Term::Levels(_)));
        let outcomes: Vec<(usize, bool)> = outcomes.iter().copied().zip(by_level).collect();
        let columns = 3 + outcomes.len() + usize::from(cluster.is_some()) + numbers.len();
        Tally {
            outcomes,
            cluster,
            numbers: numbers.into_iter().map(|place| (place, Numbers::default())).collect(),
            groups: Combinations::new(columns),
            counts: Vec::new(),
        }
    }

    /// Counts a row that is used, or one that is not and why; `times` rows in all.
    pub(crate) fn take(
        &mut self,
        (columns, row): (&Columns<'_>, usize),
        row_is: Result<UsedRow, LeftOut>,
        times: f64,
    ) {
        let used = row_is.is_ok();
        let first = match row_is {
            Ok(row) => [0, row.action, row.context],
            Err(LeftOut::Conditions) => [1, 0, 0],
            Err(_) => [2, 0, 0],
        };
        let code = |column: usize| columns.codes[column][row];
        let outcomes = self.outcomes.iter().map(|&(c, by_level)| match used || by_level {
            true => code(c),
            false => 0,
        });
        let cluster = self.cluster.iter().map(|&c| if used { code(c) } else { 0 });
        let numbers = self.numbers.iter_mut().map(|((_, _, c), numbers)| match used {
            true => numbers.code(columns.numbers[*c][row]),
            false => 0,
        });
        let group = self.groups.id(first.into_iter().chain(outcomes).chain(cluster).chain(numbers));
        let group = group as usize;
        if group == self.counts.len() {
            self.counts.push(0);
        }
        self.counts[group] += times as u64;
    }

    /// The table, its rows in order of their values.
    pub(crate) fn finish(
        self,
        study: &Study,
        texts: &impl Texts,
        distinct: &[Distinct],
    ) -> CountedTable {
        let codes: Vec<Vec<u32>> =
            (0..self.counts.len() as u32).map(|group| self.groups.codes(group)).collect();
        let used = |codes: &&Vec<u32>| codes[0] == 0;
        let reason = |codes: &Vec<u32>| match codes[0] {
            0 => None,
            1 => Some(LeftOut::Conditions.word().to_owned()),
            _ => Some(LeftOut::NoAction.word().to_owned()),
        };
        let action = |codes: &Vec<u32>| texts.action(codes[1]).filter(|_| codes[0] == 0);
        let mut columns = vec![
            (LEFT_OUT.to_owned(), Cells::Texts(codes.iter().map(reason).collect())),
            (Role::Action.column(""), Cells::Texts(codes.iter().map(action).collect())),
        ];
        // Contexts are many and combinations of them few: each is put into words once.
        let mut words: HashMap<u32, Vec<Option<String>>, FixedState> = HashMap::default();
        codes.iter().filter(used).for_each(|codes| {
            words.entry(codes[2]).or_insert_with(|| texts.context(codes[2]));
        });
        for (k, context) in study.contexts.iter().enumerate() {
            let cell = |codes: &Vec<u32>| match codes[0] {
                0 => words.get(&codes[2]).and_then(|all| all[k].clone()),
                _ => None,
            };
            let cells = codes.iter().map(cell).collect();
            let numeric = context.kind == Kind::Numeric;
            let cells = Cells::of_values(cells, texts.is_truths(k), numeric);
            columns.push((Role::Context.column(&context.name), cells));
        }
        for (k, (name, term)) in study.outcome.iter().enumerate() {
            let (column, by_level) = self.outcomes[k];
            let distinct = &distinct[column];
            let cell = |codes: &Vec<u32>| match codes[0] == 0 || by_level {
                true => distinct.text(codes[3 + k] as usize).cloned(),
                false => None,
            };
            let truths = all_truths(distinct);
            let numeric = matches!(term, Term::Weight(_));
            let cells = Cells::of_values(codes.iter().map(cell).collect(), truths, numeric);
            columns.push((Role::Outcome.column(name), cells));
        }
        let mut next = 3 + self.outcomes.len();
        if let Some(column) = self.cluster {
            let cell = |codes: &Vec<u32>| match codes[0] {
                0 => distinct[column].text(codes[next] as usize).cloned(),
                _ => None,
            };
            let cells = Cells::Texts(codes.iter().map(cell).collect());
            columns.push((Role::Cluster.column(""), cells));
            next += 1;
        }
        for ((role, name, _), numbers) in &self.numbers {
            let cell = |codes: &Vec<u32>| match codes[0] {
                0 => numbers.seen[codes[next] as usize],
                _ => f64::NAN,
            };
            columns.push((role.column(name), Cells::Numbers(codes.iter().map(cell).collect())));
            next += 1;
        }
        columns.push((N.to_owned(), Cells::Counts(self.counts)));
        CountedTable::new(columns)
    }
}

/// Whether a column holds true and false alone.
pub(crate) fn all_truths(distinct: &Distinct) -> bool {
    let mut present = (0..distinct.len()).filter(|&code| !distinct.is_missing(code)).peekable();
    present.peek().is_some() && present.all(|code| distinct.is_truth(code))
}

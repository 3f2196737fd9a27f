//! Rows without a value in a column of the outcome: refused, left out or counted as 0, as the study says.
//!
//! An empty cell is no value, and `NA` none either, unless the study lists it as a level. A level that the
//! study does not list is a value, which adds nothing.

use super::Counter;
use super::check::outcome_complaint;
use crate::read::{Columns, Distinct};
use crate::spec::{DataSpec, MissingOutcome, Term};
use seawall::{Error, Field, Result};
use std::path::{Path, PathBuf};

/// The rows without a value in one column of the outcome.
pub(super) struct Lacking<'s> {
    term: &'s Term,
    rule: MissingOutcome,
    /// By code of the column, where it counts by level: whether that is no value.
    codes: Vec<bool>,
    rows: usize,
    /// The first of them.
    first: Option<(PathBuf, usize)>,
}

impl<'s> Lacking<'s> {
    /// Nothing seen yet, by column of the outcome.
    pub(super) fn of(data: &'s DataSpec) -> Vec<Self> {
        let rules = data.outcome.terms.iter().zip(&data.outcome.missing);
        let one = |((_, term), &rule): (&'s (String, Term), &MissingOutcome)| Lacking {
            term,
            rule,
            codes: Vec::new(),
            rows: 0,
            first: None,
        };
        rules.map(one).collect()
    }

    /// Works out the values that are new in a batch.
    pub(super) fn prepare(&mut self, distinct: &Distinct) {
        let Term::Levels(levels) = self.term else { return };
        let listed = |code: usize| levels.iter().any(|(level, _)| distinct.is(code, level));
        let lacks = |code: usize| distinct.is_missing_number(code) && !listed(code);
        self.codes.extend((self.codes.len()..distinct.len()).map(lacks));
    }

    /// Rows that count as 0 for want of a value.
    pub(super) fn zeros(&self) -> usize {
        if self.rule == MissingOutcome::Zero { self.rows } else { 0 }
    }
}

/// Whether a row has all that its outcome says.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Has {
    /// A value in every column.
    All,
    /// None in some; what is missing counts as 0.
    Zeros,
    /// None in a column for which such rows are left out. What is left out for one column is refused for none.
    Dropped,
    /// None in a column for which the study does not say what that means.
    Unsaid,
}

impl Counter<'_> {
    /// The columns of the outcome in which a row has no value.
    fn missing<'a>(
        &'a self,
        columns: &'a Columns<'_>,
        row: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let lacks = move |place: &usize| {
            let column = self.outcomes[*place];
            match columns.numbers[column].get(row) {
                None => self.lacking[*place].codes[columns.codes[column][row] as usize],
                Some(x) => x.is_nan(),
            }
        };
        (0..self.outcomes.len()).filter(lacks)
    }

    /// Whether a row has an outcome. Refuses a value that cannot be counted.
    pub(super) fn has_outcome(
        &self,
        columns: &Columns<'_>,
        row: usize,
        at: (&Path, usize),
    ) -> Result<Has> {
        for (&column, lacking) in self.outcomes.iter().zip(&self.lacking) {
            if columns.numbers[column].get(row).is_some_and(|x| x.is_infinite()) {
                let value = Distinct::of_row(&columns.arrays[column], row);
                let what = value.and_then(|value| outcome_complaint(lacking.term, &value, 0));
                return Err(self.error(at, column, what.unwrap_or_default()));
            }
        }
        let has = |rule| match rule {
            MissingOutcome::Zero => Has::Zeros,
            MissingOutcome::Dropped => Has::Dropped,
            MissingOutcome::Refused => Has::Unsaid,
        };
        let rules = self.missing(columns, row).map(|place| has(self.lacking[place].rule));
        Ok(rules.fold(Has::All, |all, one| match (all, one) {
            (Has::Dropped, _) | (_, Has::Dropped) => Has::Dropped,
            (Has::Unsaid, _) | (_, Has::Unsaid) => Has::Unsaid,
            _ => Has::Zeros,
        }))
    }

    /// Counts a row without a whole outcome that stands for so many.
    pub(super) fn count_missing(
        &mut self,
        columns: &Columns<'_>,
        row: usize,
        (file, at): (&Path, usize),
        (has, times): (Has, usize),
    ) {
        if has == Has::Dropped {
            self.no_outcome += times;
            return;
        }
        let missing: Vec<usize> = self.missing(columns, row).collect();
        for place in missing {
            let lacking = &mut self.lacking[place];
            lacking.rows += times;
            lacking.first.get_or_insert_with(|| (file.to_owned(), at));
        }
    }

    /// Refuses outcomes that are missing where the study does not say what that means.
    pub(super) fn check_missing(&self) -> Result<()> {
        for (&column, lacking) in self.outcomes.iter().zip(&self.lacking) {
            if let (MissingOutcome::Refused, Some((file, at))) = (lacking.rule, &lacking.first) {
                let rows = match lacking.rows {
                    1 => "in this row alone".to_owned(),
                    rows => format!("in {rows} rows in all"),
                };
                return Err(Error::input(format!(
                    "{}: row {}, column {:?}: the value is missing, {rows}: leave out rows without an \
                     outcome, or count them as 0",
                    file.display(),
                    at + 1,
                    self.names[column]
                ))
                .advise(Field::MissingOutcome, &["drop", "0"]));
            }
        }
        Ok(())
    }
}

//! Rows without a value in a column of the outcome: refused, left out or counted as 0, as the study says.
//!
//! An empty cell is no value, and `NA` none either, unless the study lists it as a level. A level that the
//! study does not list is a value, which adds nothing.

use super::Counter;
use super::check::outcome_complaint;
use crate::read::{Columns, Distinct};
use crate::study::{MissingOutcome, Study, Term};
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
    pub(super) fn of(study: &'s Study) -> Vec<Self> {
        let rules = study.outcome.iter().zip(&study.missing_outcome);
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

impl Counter<'_> {
    /// Whether a row that stands for so many is used for all that its outcome says. What is left out for one
    /// column is refused for none.
    pub(super) fn has_outcome(
        &mut self,
        columns: &Columns<'_>,
        row: usize,
        at: (&Path, usize),
        times: usize,
    ) -> Result<bool> {
        let mut missing: Vec<usize> = Vec::new();
        for (place, &column) in self.outcomes.iter().enumerate() {
            let lacking = &self.lacking[place];
            let lacks = match columns.numbers[column].get(row) {
                None => lacking.codes[columns.codes[column][row] as usize],
                Some(x) if x.is_infinite() => {
                    let value = Distinct::of_row(&columns.arrays[column], row);
                    let what = value.and_then(|value| outcome_complaint(lacking.term, &value, 0));
                    return Err(self.error(at, column, what.unwrap_or_default()));
                }
                Some(x) => x.is_nan(),
            };
            missing.extend(lacks.then_some(place));
        }
        if missing.iter().any(|&place| self.lacking[place].rule == MissingOutcome::Dropped) {
            self.no_outcome += times;
            return Ok(false);
        }
        for &place in &missing {
            let lacking = &mut self.lacking[place];
            lacking.rows += times;
            lacking.first.get_or_insert_with(|| (at.0.to_owned(), at.1));
        }
        Ok(missing.iter().all(|&place| self.lacking[place].rule == MissingOutcome::Zero))
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

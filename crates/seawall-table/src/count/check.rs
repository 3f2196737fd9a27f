//! Conditions on values, worked out once for each distinct value.

use crate::read::{Columns, Distinct, nearest};
use crate::spec::{Condition, Context, Term};
use seawall::Kind;

/// A condition on a column.
pub struct Check {
    column: usize,
    condition: Condition,
    /// Whether the column is read as levels.
    levels: bool,
    /// By code of the column.
    holds: Vec<bool>,
}

impl Check {
    /// On a column by its place among those read; `levels` if it is read as levels.
    pub fn new(column: usize, condition: &Condition, levels: bool) -> Self {
        Check { column, condition: condition.clone(), levels, holds: Vec::new() }
    }

    /// Works out the values that are new in a batch.
    pub fn prepare(&mut self, columns: &Columns<'_>) {
        let distinct = &columns.distinct[self.column];
        for code in self.holds.len()..distinct.len() {
            self.holds.push(self.meets(distinct, code));
        }
    }

    /// Whether a row of the batch meets it.
    #[inline]
    pub fn holds(&self, columns: &Columns<'_>, row: usize) -> bool {
        self.holds[columns.codes[self.column][row] as usize]
    }

    fn meets(&self, distinct: &Distinct, code: usize) -> bool {
        let same = |wanted: &String| distinct.is(code, wanted);
        match &self.condition {
            Condition::OneOf(wanted) => wanted.iter().any(same),
            Condition::Not(unwanted) => !unwanted.iter().any(same),
            Condition::Range { min, max } => {
                distinct.number(code).is_some_and(|x| x >= *min && x <= *max)
            }
            Condition::Period { min, max } => distinct.moment(code).is_some_and(|at| {
                min.is_none_or(|min| at.not_before(min)) && max.is_none_or(|max| at.not_after(max))
            }),
            Condition::Missing(missing) => {
                let lacks = if self.levels {
                    distinct.is_missing(code)
                } else {
                    distinct.is_missing_number(code)
                };
                lacks == *missing
            }
        }
    }
}

/// What is wrong with an outcome value, if anything is.
pub(super) fn outcome_complaint(term: &Term, distinct: &Distinct, code: usize) -> Option<String> {
    match (term, distinct.number(code).filter(|x| x.is_finite())) {
        (Term::Levels(_), _) | (Term::Weight(_), Some(_)) => None,
        (Term::Weight(_), None) => {
            let text = distinct.text(code).cloned().unwrap_or_default();
            Some(format!(
                "{text:?} is not a number; expected one for the outcome (or give a number per level)"
            ))
        }
    }
}

/// Whether a context value may be used: nothing is wrong with it.
pub(super) fn fits(context: &Context, distinct: &Distinct, code: usize) -> bool {
    if context.is_missing(distinct, code) || distinct.text(code).is_none() {
        return context.missing.is_some();
    }
    let (min, max) = context.range;
    match (&context.levels, context.kind) {
        (Some(levels), _) => levels.find(distinct, code).is_some(),
        (None, Kind::Numeric) => {
            distinct.number(code).is_some_and(|x| x.is_finite() && x >= min && x <= max)
        }
        (None, _) => true,
    }
}

/// What is wrong with a context value, if anything is.
pub fn complaint(context: &Context, distinct: &Distinct, code: usize) -> Option<String> {
    let missing = context.is_missing(distinct, code);
    let Some(text) = distinct.text(code).filter(|_| !missing) else {
        return context.missing.is_none().then(|| {
            "the value is missing; say missing = true in the study if that is a level of its own, \
             or leave such rows out with where"
                .to_owned()
        });
    };
    if let Some(levels) = &context.levels {
        if levels.find(distinct, code).is_some() {
            return None;
        }
        let known: Vec<&str> = levels.labels().iter().map(String::as_str).collect();
        let near =
            nearest(text, &known).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        return Some(format!("{text:?} is not one of the levels {}{near}", known.join(", ")));
    }
    if context.kind != Kind::Numeric {
        return None;
    }
    let (min, max) = context.range;
    match distinct.number(code).filter(|x| x.is_finite()) {
        None => Some(format!("{text:?} is not a number")),
        Some(x) if x < min || x > max => {
            Some(format!("{x} is out of the range that the study declares, {min} to {max}"))
        }
        Some(_) => None,
    }
}

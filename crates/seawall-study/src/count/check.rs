//! Conditions on values, worked out once for each distinct value.

use crate::read::{Columns, Distinct, nearest};
use crate::study::{Actions, Condition, Context, Study, Term};
use seawall::Kind;

impl Study {
    /// Whether a column is read as levels, of which `NA` may be one, and not as numbers.
    pub(crate) fn has_levels(&self, name: &str) -> bool {
        let named = |text: &String| text == "NA";
        let asked = |(column, condition): &(String, Condition)| match condition {
            Condition::OneOf(texts) | Condition::Not(texts) => {
                column == name && texts.iter().any(named)
            }
            _ => false,
        };
        let action = match &self.actions {
            Actions::Column { column, .. } => column == name,
            Actions::Rules(rules) => rules.iter().any(|(_, all)| all.iter().any(asked)),
        };
        let context = |c: &Context| c.name == name && !c.expects_numbers();
        let outcome = |(n, term): &(String, Term)| n == name && matches!(term, Term::Levels(_));
        action
            || self.filters.iter().any(asked)
            || self.contexts.iter().any(context)
            || self.outcome.iter().any(outcome)
    }
}

impl Context {
    /// Whether its values are numbers: they have an order that is not declared.
    fn expects_numbers(&self) -> bool {
        self.kind == Kind::Numeric || (self.kind == Kind::Ordinal && self.levels.is_none())
    }

    /// Whether a value of the column is missing.
    pub(crate) fn is_missing(&self, distinct: &Distinct, code: usize) -> bool {
        match self.expects_numbers() {
            true => distinct.is_missing_number(code),
            false => distinct.is_missing(code),
        }
    }
}

/// A condition on a column.
pub(crate) struct Check {
    pub(super) column: usize,
    condition: Condition,
    /// Whether the column is read as levels.
    levels: bool,
    /// By code of the column.
    holds: Vec<bool>,
}

impl Check {
    pub(crate) fn new(column: usize, condition: &Condition, levels: bool) -> Self {
        Check { column, condition: condition.clone(), levels, holds: Vec::new() }
    }

    /// Works out the values that are new in a batch.
    pub(crate) fn prepare(&mut self, columns: &Columns<'_>) {
        let distinct = &columns.distinct[self.column];
        for code in self.holds.len()..distinct.len() {
            self.holds.push(self.meets(distinct, code));
        }
    }

    #[inline]
    pub(crate) fn holds(&self, columns: &Columns<'_>, row: usize) -> bool {
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
pub(crate) fn complaint(context: &Context, distinct: &Distinct, code: usize) -> Option<String> {
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

//! What the columns of a counted table are called, and what its two own columns say.

use crate::read::{Columns, Distinct};

/// The column that says how many rows.
pub(crate) const N: &str = "n";
/// The column that says why rows are left out.
pub(crate) const LEFT_OUT: &str = "left_out";
/// Counts above this are no longer told apart by floats.
const MOST: f64 = 9_007_199_254_740_992.0;

/// What a column is to a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Context,
    Outcome,
    Action,
    Propensity,
    Weight,
    SurveyWeight,
    Cluster,
    History,
    Prediction,
    /// The mean of the numbers in a bin.
    Mean,
    /// Their standard deviation.
    Deviation,
}

impl Role {
    /// What a counted table calls the column.
    pub(crate) fn column(self, name: &str) -> String {
        match self {
            Role::Context => format!("context_{name}"),
            Role::Outcome => format!("outcome_{name}"),
            Role::Prediction => format!("prediction_{name}"),
            Role::Mean => format!("mean_{name}"),
            Role::Deviation => format!("sd_{name}"),
            Role::Action => "action".to_owned(),
            Role::Propensity => "propensity".to_owned(),
            Role::Weight => "weight".to_owned(),
            Role::SurveyWeight => "survey_weight".to_owned(),
            Role::Cluster => "cluster".to_owned(),
            Role::History => format!("history_{name}"),
        }
    }
}

/// Why a row is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    Conditions,
    NoAction,
    /// It meets two actions, which is an error.
    TwoActions,
    /// A time that a condition is about has another zone than UTC, which a query cannot compare.
    OtherZone,
}

impl LeftOut {
    const ALL: [LeftOut; 4] =
        [LeftOut::Conditions, LeftOut::NoAction, LeftOut::TwoActions, LeftOut::OtherZone];

    /// As a counted table says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            LeftOut::Conditions => "conditions",
            LeftOut::NoAction => "no action",
            LeftOut::TwoActions => "two actions",
            LeftOut::OtherZone => "another time zone",
        }
    }
}

/// Where a counted table's own columns are among those read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableColumns {
    n: usize,
    left_out: usize,
}

/// A column's value that will not do, and why.
type Complaint = (usize, String);

impl TableColumns {
    pub(crate) fn new(n: usize, left_out: usize) -> Self {
        TableColumns { n, left_out }
    }

    /// How many rows a row of the table stands for, and why they are left out if they are.
    pub(crate) fn row(
        &self,
        columns: &Columns<'_>,
        row: usize,
    ) -> Result<(f64, Option<LeftOut>), Complaint> {
        let n = columns.numbers[self.n][row];
        if !((1.0..=MOST).contains(&n) && n.fract() == 0.0) {
            let found = if n.is_nan() { "it is missing".to_owned() } else { n.to_string() };
            return Err((
                self.n,
                format!("{found}; expected how many rows, a whole number from 1 on"),
            ));
        }
        let code = columns.codes[self.left_out][row] as usize;
        let left_out = self.reason(&columns.distinct[self.left_out], code)?;
        Ok((n, left_out))
    }

    fn reason(&self, distinct: &Distinct, code: usize) -> Result<Option<LeftOut>, Complaint> {
        let Some(text) = distinct.text(code) else { return Ok(None) };
        let found = LeftOut::ALL.into_iter().find(|reason| reason.word() == text);
        let what = match found {
            Some(LeftOut::TwoActions) => "these rows meet the conditions of two actions".to_owned(),
            Some(LeftOut::OtherZone) => {
                "the time that a condition is about is of another zone than UTC: \
                                         convert it where the rows are, then count again"
                    .to_owned()
            }
            None => format!("{text:?}; expected nothing, \"conditions\" or \"no action\""),
            found => return Ok(found),
        };
        Err((self.left_out, what))
    }
}

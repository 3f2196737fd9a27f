//! What of a table counts: which rows, which columns and what they are, as somebody declared it.
//!
//! Here is what was said, checked by who reads it; what is made of it is [`mod@crate::count`]'s business. Not
//! here: policies, models and sets.

pub use crate::declared::{Declared, Mentions, Place};
use crate::read::{Bins, DeclaredLevels, Distinct, Moment};
use seawall::evaluate::Support;
use seawall::{Direction, Kind};
use serde::Serialize;
use std::path::PathBuf;

/// A table of data, and what of it counts.
#[derive(Clone, Debug)]
pub struct DataSpec {
    /// Where that is declared.
    pub declared: Declared,
    /// The data: a file, a folder or a pattern of files.
    pub path: PathBuf,
    /// Whether the data are a counted table: [`mod@crate::counted`].
    pub counted: bool,
    /// Which rows count, and for how much.
    pub rows: RowSpec,
    /// The context columns.
    pub contexts: Vec<Context>,
    /// How the columns' costs are scaled where nobody gives a weight.
    pub scale: Scale,
    /// Which contexts mass may move to: where that is any, they are made no grid.
    pub support: Support,
    /// The actions.
    pub actions: Actions,
    /// The outcome.
    pub outcome: OutcomeSpec,
    /// Columns of predicted outcomes, if rows bring them.
    pub predictions: Option<PredictionColumns>,
    /// The bytes that counting and a grid may take: no property of the data, but of who asks.
    pub memory: u64,
}

/// Which rows count, for how much, and which of them belong together.
#[derive(Clone, Debug, Default)]
pub struct RowSpec {
    /// Conditions that a row must meet, by column.
    pub filters: Vec<(String, Condition)>,
    /// A column of weights that count rows.
    pub weight: Option<String>,
    /// Whether these may count rows in parts.
    pub fractional_weight: bool,
    /// A column of a survey's weights: for how many people a row stands.
    pub survey_weight: Option<String>,
    /// A column of clusters, within which rows are alike.
    pub cluster: Option<String>,
    /// The columns whose values together name a recorded group, where rows are counted by those.
    pub groups: Vec<String>,
}

/// The outcome: a sum over columns.
#[derive(Clone, Debug)]
pub struct OutcomeSpec {
    /// Whether it is a cost or a reward.
    pub direction: Direction,
    /// Its columns, with what each adds.
    pub terms: Vec<(String, Term)>,
    /// By column: what becomes of rows without a value there.
    pub missing: Vec<MissingOutcome>,
}

/// For each action the column that has every row's predicted outcome under it.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionColumns {
    /// Actions and their columns.
    pub columns: Vec<(String, String)>,
    /// Where that is said: what a message about it begins with.
    pub place: String,
}

impl DataSpec {
    /// Whether a column is read as levels, of which `NA` may be one, and not as numbers.
    pub fn has_levels(&self, name: &str) -> bool {
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
            || self.rows.filters.iter().any(asked)
            || self.contexts.iter().any(context)
            || self.outcome.terms.iter().any(outcome)
    }
}

impl Context {
    /// The bins that it is cut into, if it is.
    pub fn bins(&self) -> Option<Bins> {
        self.bin.map(|width| Bins::new(width, self.range))
    }

    /// Whether its values are numbers: they have an order that is not declared.
    fn expects_numbers(&self) -> bool {
        self.kind == Kind::Numeric || (self.kind == Kind::Ordinal && self.levels.is_none())
    }

    /// Whether a value of the column is missing.
    pub fn is_missing(&self, distinct: &Distinct, code: usize) -> bool {
        if self.expects_numbers() {
            distinct.is_missing_number(code)
        } else {
            distinct.is_missing(code)
        }
    }
}

/// How the context columns' costs are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Crossing the whole range of a column, or any change of a nominal one, costs 1.
    #[default]
    Range,
    /// Two people drawn at random are 1 apart in each column, on average.
    Spread,
}

/// What a cell of a table must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// One of these; numbers as JSON writes them are compared as numbers.
    OneOf(Vec<String>),
    /// None of these.
    Not(Vec<String>),
    /// A number in this range, ends included.
    Range {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A date or a time in this period, ends included.
    Period {
        /// The first.
        min: Option<Moment>,
        /// The last; of a day, all of it.
        max: Option<Moment>,
    },
    /// Missing, or not.
    Missing(bool),
}

/// A context column.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The column.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its levels, if declared.
    pub levels: Option<DeclaredLevels>,
    /// An ordinal's positions, if declared.
    pub positions: Option<Vec<f64>>,
    /// The width of a numeric column's bins.
    pub bin: Option<f64>,
    /// The range of a numeric column, ends included: a number outside is an error, and its bins
    /// span it.
    pub range: (f64, f64),
    /// What multiplies its cost.
    pub weight: Option<f64>,
    /// Whether values may be missing, and what that costs if said.
    pub missing: Option<Option<f64>>,
}

/// The actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Actions {
    /// Each action is a name and the conditions that a row must meet.
    Rules(Vec<(String, Vec<(String, Condition)>)>),
    /// The action is what a column says; perhaps another says its propensity.
    Column {
        /// The column of actions.
        column: String,
        /// The column of propensities.
        propensity: Option<String>,
    },
}

/// What becomes of rows without a value in a column of the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingOutcome {
    /// They are an error.
    #[default]
    Refused,
    /// They are left out.
    Dropped,
    /// They count as 0 there.
    Zero,
}

/// What a column adds to the outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// So much for each unit of a number.
    Weight(f64),
    /// So much for each of these levels, nothing for others.
    Levels(Vec<(String, f64)>),
}

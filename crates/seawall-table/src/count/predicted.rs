//! Predicted values that the rows bring, a column per action: averaged over the rows of each context
//! by their weights, with how far they are apart.
//!
//! ```text
//! m(x, a) = Σ w_i m_a(i) / Σ w_i  over the rows i of context x, whatever action they took
//! ```
//!
//! A context without rows has no prediction. Rows that weigh nothing need none.

use crate::read::{Columns, named};
use crate::spec::{DataSpec, PredictionColumns};
use seawall::ExactSum;
use seawall::{Error, Matrix, Result, Space};
use std::path::Path;

/// Values beyond this have squares that do not exist, as those of outcomes.
const LARGEST: f64 = 1e150;

/// Predictions that the rows brought, by context.
#[derive(Clone, Debug)]
pub struct RowPredictions {
    /// Their means: a row per context, a column per action; NaN where no rows are.
    pub means: Matrix,
    /// Contexts with rows.
    pub contexts: usize,
    /// Those of them whose rows disagree.
    pub varying: usize,
    /// The largest difference between two rows of a context, and of which action and where.
    pub largest: Option<(f64, String, String)>,
}

/// What is known of one action in one context so far.
#[derive(Clone)]
struct Mean {
    weight: ExactSum,
    sum: ExactSum,
    low: f64,
    high: f64,
}

impl Mean {
    const NONE: Mean = Mean {
        weight: ExactSum::ZERO,
        sum: ExactSum::ZERO,
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
    };

    /// So many rows of one value that weigh so much each.
    fn take(&mut self, value: f64, weight: f64, times: f64) {
        self.sum.add_product3(times, weight, value);
        self.weight.add_product(times, weight);
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }

    fn merge(&mut self, other: &Mean) {
        self.sum.merge(&other.sum);
        self.weight.merge(&other.weight);
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
    }

    /// The mean, never beyond what it is of; NaN of nothing.
    fn value(&self) -> f64 {
        let weight = self.weight.value();
        if weight > 0.0 { (self.sum.value() / weight).clamp(self.low, self.high) } else { f64::NAN }
    }
}

/// The columns of predictions, and what they said so far.
pub(super) struct Predicted {
    /// The actions as the study names them, and where each one's column is among those read.
    columns: Vec<(String, usize)>,
    /// `[combination · columns + column]`
    means: Vec<Mean>,
    /// Rows without a prediction, and what is said of the first.
    lacking: usize,
    first: Option<String>,
}

impl Predicted {
    /// The study's columns of predictions, if it has any; `place` says where a column is read.
    pub(super) fn new(data: &DataSpec, mut place: impl FnMut(&str) -> usize) -> Option<Self> {
        let said = data.predictions.as_ref()?;
        let columns =
            said.columns.iter().map(|(action, name)| (action.clone(), place(name))).collect();
        Some(Predicted { columns, means: Vec::new(), lacking: 0, first: None })
    }

    /// Where the columns are read.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().map(|c| c.1)
    }

    /// Takes in a row of a combination of context values, what it weighs, and how often it is there.
    pub(super) fn take(
        &mut self,
        (columns, row): (&Columns<'_>, usize),
        names: &[String],
        at: (&Path, usize),
        (context, weight, times): (u32, f64, f64),
    ) {
        if weight == 0.0 {
            return;
        }
        let (from, count) = (context as usize * self.columns.len(), self.columns.len());
        if self.means.len() < from + count {
            self.means.resize(from + count, Mean::NONE);
        }
        let mut lacks = false;
        for ((_, column), mean) in self.columns.iter().zip(&mut self.means[from..]) {
            let value = columns.numbers[*column][row];
            if value.abs() <= LARGEST {
                mean.take(value, weight, times);
                continue;
            }
            lacks = true;
            self.first.get_or_insert_with(|| {
                let what = if value.is_nan() {
                    "a missing value or NaN".to_owned()
                } else {
                    value.to_string()
                };
                format!(
                    "{}: row {}, column {:?}: {what}; expected a number of at most {LARGEST:e} in \
                     size",
                    at.0.display(),
                    at.1 + 1,
                    names[*column]
                )
            });
        }
        self.lacking += if lacks { times as usize } else { 0 };
    }

    /// The means by context and action; refused if a row lacked one. `context_of` says where each
    /// combination of context values is in the space: two may be one and the same place.
    pub(super) fn finish(
        self,
        data: &DataSpec,
        (space, context_of): (&Space, &[u32]),
        actions: &[String],
    ) -> Result<RowPredictions> {
        let column_of = self.order(data, actions)?;
        if let Some(first) = &self.first {
            return Err(Error::input(format!(
                "{} of the rows used lack a prediction; the first: {first}",
                self.lacking
            )));
        }
        let count = actions.len();
        let of = |combination: usize| &self.means[combination * count..][..count];
        let weighs = |&combination: &usize| of(combination)[0].weight.value() > 0.0;
        let place = |combination: usize| (context_of[combination] as usize, combination);
        let mut places: Vec<(usize, usize)> =
            (0..self.means.len() / count).filter(weighs).map(place).collect();
        places.sort_unstable();
        let mut cells = vec![f64::NAN; space.len() * count];
        let (mut contexts, mut varying) = (0, 0);
        let mut largest: Option<(f64, usize, usize)> = None;
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let (context, mut varies) = (same[0].0, false);
            for (action, &column) in column_of.iter().enumerate() {
                let mut mean = Mean::NONE;
                same.iter().for_each(|&(_, combination)| mean.merge(&of(combination)[column]));
                cells[context * count + action] = mean.value();
                let apart = mean.high - mean.low;
                varies |= apart > 0.0;
                if apart > largest.map_or(0.0, |known| known.0) {
                    largest = Some((apart, action, context));
                }
            }
            contexts += 1;
            varying += usize::from(varies);
        }
        let told = |(apart, action, context): (f64, usize, usize)| {
            (apart, actions[action].clone(), space.describe(context))
        };
        let means = Matrix::new(space.len(), count, cells)?;
        Ok(RowPredictions { means, contexts, varying, largest: largest.map(told) })
    }

    /// For each action of the log the place of its column; every one must have one, and no other may.
    fn order(&self, data: &DataSpec, actions: &[String]) -> Result<Vec<usize>> {
        let Some(PredictionColumns { place, .. }) = &data.predictions else {
            return Ok(Vec::new());
        };
        let wrong = |what: String| Error::config(format!("{place}: {what}"));
        let known = || actions.join(", ");
        if let Some((name, _)) = self.columns.iter().find(|(n, _)| named(actions, n).is_none()) {
            return Err(wrong(format!("no such action {name:?}; there are {}", known())));
        }
        let place = |action: &String| {
            let own: Vec<usize> = (0..self.columns.len())
                .filter(|&k| named(std::slice::from_ref(action), &self.columns[k].0).is_some())
                .collect();
            match own[..] {
                [one] => Ok(one),
                [] => Err(wrong(format!("no column for the action {action:?}"))),
                _ => Err(wrong(format!("{} columns for the action {action:?}", own.len()))),
            }
        };
        actions.iter().map(place).collect()
    }
}

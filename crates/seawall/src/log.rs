//! Stage 4. A log: decisions that were taken and what came of them, counted.
//!
//! Rows that agree in context, action, outcome and propensity are one [`Entry`] with a weight, so
//! a log grows with what differs and not with how often it was seen. A context is a point of one
//! space, an outcome a point of another; every outcome has a value, a cost or a reward.

use crate::ambiguity::Direction;
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::kernel::sum::sums;
use crate::matrix::Matrix;
use crate::population::{DistinctRows, Population};
use crate::space::{Feature, Space};
use std::collections::HashMap;
use std::sync::Arc;

/// The seed by which rows are dealt to folds.
const FOLD_SEED: u64 = 0x05EA_0A11;

/// Equal rows beyond this are dealt in bulk.
const MANY: f64 = 4096.0;
/// Values beyond this have squares that do not exist.
const LARGEST: f64 = 1e150;

/// Rows that agree in everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The context, a point of the context space.
    pub context: u32,
    /// The action taken.
    pub action: u32,
    /// The outcome, a point of the outcome space.
    pub outcome: u32,
    /// The probability with which the action was taken, if it is known, else NaN.
    pub propensity: f64,
    /// How many rows, or their weights' sum.
    pub weight: f64,
}

/// Logged decisions, checked.
#[derive(Clone, Debug)]
pub struct Log {
    contexts: Arc<Space>,
    actions: Vec<String>,
    outcomes: Arc<Space>,
    values: Vec<f64>,
    direction: Direction,
    entries: Vec<Entry>,
    total: f64,
}

impl Log {
    /// Checks a log: `values` holds one value per outcome.
    pub fn new(
        contexts: Arc<Space>,
        actions: Vec<String>,
        outcomes: Arc<Space>,
        values: Vec<f64>,
        direction: Direction,
        mut entries: Vec<Entry>,
    ) -> Result<Self> {
        if values.len() != outcomes.len() {
            let (found, points) = (values.len(), outcomes.len());
            return Err(Error::input(format!("{found} values for {points} outcomes")));
        }
        if let Some(value) = values.iter().find(|v| !v.is_finite() || v.abs() > LARGEST) {
            return Err(Error::input(format!(
                "an outcome's value is {value}; expected a number of at most {LARGEST:e} in size"
            )));
        }
        for entry in &entries {
            check_entry(entry, &contexts, &actions, &outcomes)?;
        }
        // The order of the rows must not matter.
        entries.sort_unstable_by(|a, b| {
            let key = |e: &Entry| (e.context, e.action, e.outcome);
            key(a).cmp(&key(b)).then(a.propensity.total_cmp(&b.propensity))
        });
        if !entries.is_empty() && entries.iter().all(|e| e.weight == 0.0) {
            return Err(Error::input("every row weighs 0"));
        }
        let mut taken = vec![false; actions.len()];
        entries.iter().filter(|e| e.weight > 0.0).for_each(|e| taken[e.action as usize] = true);
        if let Some((name, _)) = actions.iter().zip(&taken).find(|(_, taken)| !**taken) {
            return Err(Error::input(format!("no row of the log has the action {name:?}")));
        }
        let log = Log { contexts, actions, outcomes, values, direction, entries, total: 0.0 };
        log.reweighted(|_, e| e.weight)
    }

    /// A log of plain rows: one column per feature as for [`Space::points`], the name of the action
    /// taken, and what followed. Actions are in order of appearance; `propensities` are the
    /// probabilities with which the actions were taken, if they are known.
    ///
    /// ```
    /// use seawall::{Direction, Feature, Log};
    /// let log = Log::from_rows(
    ///     [Feature::numeric("age"), Feature::nominal("sex", ["F", "M"])],
    ///     vec![vec![61.0, 74.0, 61.0, 80.0], vec![0.0, 1.0, 0.0, 1.0]],
    ///     &["treat", "control", "control", "treat"],
    ///     &[0.0, 3.0, 1.0, 1.0],
    ///     None,
    ///     Direction::Cost,
    /// )?;
    /// assert_eq!((log.contexts().len(), log.actions().len(), log.total()), (3, 2, 4.0));
    /// # Ok::<(), seawall::Error>(())
    /// ```
    pub fn from_rows(
        features: impl IntoIterator<Item = Feature>,
        columns: Vec<Vec<f64>>,
        actions: &[impl AsRef<str>],
        outcomes: &[f64],
        propensities: Option<&[f64]>,
        direction: Direction,
    ) -> Result<Self> {
        let rows = actions.len();
        let lengths = columns.iter().map(Vec::len).chain([outcomes.len()]);
        let mut lengths = lengths.chain(propensities.map(<[f64]>::len));
        if let Some(found) = lengths.find(|n| *n != rows) {
            return Err(Error::input(format!("{rows} actions, but a column of {found} rows")));
        }
        let DistinctRows { columns, point_of } = DistinctRows::new(&columns)?;
        let contexts = Space::points(features, columns)?;
        if let Some(row) = outcomes.iter().position(|y| !y.is_finite()) {
            let y = outcomes[row];
            return Err(Error::input(format!(
                "row {}: the outcome is {y}; expected a finite number",
                row + 1
            )));
        }
        let mut levels: Vec<f64> = outcomes.iter().map(|y| y + 0.0).collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let mut names: Vec<String> = Vec::new();
        let mut number: HashMap<&str, u32> = HashMap::new();
        let mut entries = Vec::with_capacity(rows);
        for row in 0..rows {
            let name = actions[row].as_ref();
            let next = names.len() as u32;
            let action = *number.entry(name).or_insert(next);
            if action == next {
                names.push(name.to_owned());
            }
            entries.push(Entry {
                context: point_of[row] as u32,
                action,
                outcome: levels.partition_point(|l| *l < outcomes[row]) as u32,
                propensity: propensities.map_or(f64::NAN, |p| p[row]),
                weight: 1.0,
            });
        }
        if levels.is_empty() {
            return Err(Error::input("the log has no rows"));
        }
        let space = Space::grid([Feature::numeric("outcome").levels(levels.clone())])?;
        Log::new(Arc::new(contexts), names, Arc::new(space), levels, direction, entries)
    }

    /// The same log with other weights; what weighs nothing is left out. An action may be left
    /// without rows.
    pub fn reweighted(&self, weight: impl Fn(usize, &Entry) -> f64) -> Result<Self> {
        let entries = self.entries.iter().enumerate();
        let entries = entries.map(|(i, e)| Entry { weight: weight(i, e), ..*e });
        let entries: Vec<Entry> = entries.filter(|e| e.weight > 0.0).collect();
        if entries.is_empty() {
            return Err(Error::input("the log has no rows"));
        }
        let total = sums(entries.len(), &|i: usize| [entries[i].weight])[0];
        Ok(Log {
            contexts: self.contexts.clone(),
            actions: self.actions.clone(),
            outcomes: self.outcomes.clone(),
            values: self.values.clone(),
            direction: self.direction,
            entries,
            total,
        })
    }

    /// The same log on other contexts: `place` says where each context that has rows is now.
    pub fn on_contexts(&self, space: &Arc<Space>, place: impl Fn(u32) -> u32) -> Result<Self> {
        let entries = self.entries.iter().map(|e| Entry { context: place(e.context), ..*e });
        let (actions, outcomes) = (self.actions.clone(), self.outcomes.clone());
        let (values, direction) = (self.values.clone(), self.direction);
        Log::new(space.clone(), actions, outcomes, values, direction, entries.collect())
    }

    /// To be shared by what is fitted to it.
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// Deals the rows to folds of about equal size at random, the same way every time. What is
    /// left of a fractional weight goes to one fold whole.
    ///
    /// At random, and not in the log's order: that order sorts by outcome, and folds that agree
    /// in their outcomes would make every model look better than it is.
    pub fn folds(&self, count: usize) -> Result<Folds<'_>> {
        self.folds_of(count, FOLD_SEED)
    }

    /// The same, dealt by another seed.
    pub fn folds_of(&self, count: usize, seed: u64) -> Result<Folds<'_>> {
        if count < 2 {
            return Err(Error::field(Field::Folds, format!("is {count}; expected at least 2")));
        }
        if self.total < count as f64 {
            let rows = self.total;
            let what = format!("is {count}, but the log has {rows} rows");
            return Err(Error::field(Field::Folds, what));
        }
        let mut random = Random::new(seed, count as u64);
        // How much each fold still lacks: what is dealt next goes to each in proportion.
        let mut lacking = vec![self.total / count as f64; count];
        let mut dealt = vec![0.0; self.entries.len() * count];
        for (entry, dealt) in self.entries.iter().zip(dealt.chunks_mut(count)) {
            if entry.weight > MANY {
                share_out(entry.weight, &mut lacking, dealt, &mut random);
                continue;
            }
            // Whole rows one by one, and then what is left of one.
            let mut left = entry.weight;
            while left > 0.0 {
                let one = left.min(1.0);
                let fold = drawn(&lacking, random.unit());
                dealt[fold] += one;
                lacking[fold] = (lacking[fold] - one).max(0.0);
                left -= one;
            }
        }
        Ok(Folds { log: self, count, dealt })
    }

    /// Where contexts are.
    pub fn contexts(&self) -> &Arc<Space> {
        &self.contexts
    }

    /// The actions' names.
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The place of an action by name.
    pub fn action(&self, name: &str) -> Result<usize> {
        self.actions.iter().position(|a| a == name).ok_or_else(|| {
            let all = self.actions.join(", ");
            Error::config(format!("no action named {name:?}; there are: {all}"))
        })
    }

    /// Where outcomes are.
    pub fn outcomes(&self) -> &Arc<Space> {
        &self.outcomes
    }

    /// Each outcome's value.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether the values are costs or rewards.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// What was counted, in order of context, action, outcome and propensity.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// An entry's value.
    pub fn value(&self, entry: &Entry) -> f64 {
        self.values[entry.outcome as usize]
    }

    /// The weights' sum: the number of rows, if each weighs 1.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The weight of the rows with each action.
    pub fn action_totals(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.actions.len()];
        self.entries.iter().for_each(|e| totals[e.action as usize] += e.weight);
        totals
    }

    /// The weight of the rows with each context and action.
    pub fn cell_totals(&self) -> Matrix {
        let mut totals = Matrix::from_fn(self.contexts.len(), self.actions.len(), |_, _| 0.0);
        for e in &self.entries {
            totals.row_mut(e.context as usize)[e.action as usize] += e.weight;
        }
        totals
    }

    /// The population of contexts.
    pub fn population(&self) -> Result<Population> {
        let mut weights = vec![0.0; self.contexts.len()];
        self.entries.iter().for_each(|e| weights[e.context as usize] += e.weight);
        Population::from_weights(self.contexts.clone(), weights)
    }

    /// Whether every row says with which probability its action was taken.
    pub fn knows_propensities(&self) -> bool {
        self.entries.iter().all(|e| !e.propensity.is_nan())
    }
}

/// A log whose rows were dealt to folds.
#[derive(Clone, Debug)]
pub struct Folds<'l> {
    log: &'l Log,
    count: usize,
    /// `[entry · count + fold]`.
    dealt: Vec<f64>,
}

impl Folds<'_> {
    /// How many folds there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How much of an entry's weight is in a fold.
    pub fn weight(&self, entry: usize, fold: usize) -> f64 {
        self.dealt[entry * self.count + fold]
    }

    /// The rows of one fold; an action may be without any.
    pub fn only(&self, fold: usize) -> Result<Log> {
        self.log.reweighted(|i, _| self.weight(i, fold))
    }

    /// The rows of all other folds; an action may be without any.
    pub fn without(&self, fold: usize) -> Result<Log> {
        self.log.reweighted(|i, e| e.weight - self.weight(i, fold))
    }
}

/// The place that a number from 0 to 1 falls on, each as long as it is heavy.
fn drawn(weights: &[f64], unit: f64) -> usize {
    let mut left = unit * weights.iter().sum::<f64>();
    let falls = |weight: &f64| {
        left -= weight;
        left < 0.0
    };
    weights.iter().position(falls).unwrap_or(weights.len() - 1)
}

/// Deals many equal rows: binomial counts fold by fold, by their normal limit.
fn share_out(rows: f64, lacking: &mut [f64], dealt: &mut [f64], random: &mut Random) {
    let mut left = rows;
    for fold in 0..lacking.len() {
        let all: f64 = lacking[fold..].iter().sum();
        let share = if all > 0.0 { lacking[fold] / all } else { 1.0 };
        let spread = (left * share * (1.0 - share)).max(0.0).sqrt();
        let last = fold + 1 == lacking.len();
        let drawn = if last { left } else { (left * share + spread * random.normal()).round() };
        let drawn = drawn.clamp(0.0, left);
        dealt[fold] += drawn;
        lacking[fold] = (lacking[fold] - drawn).max(0.0);
        left -= drawn;
    }
}

fn check_entry(
    entry: &Entry,
    contexts: &Space,
    actions: &[String],
    outcomes: &Space,
) -> Result<()> {
    let places = [
        ("context", entry.context as usize, contexts.len()),
        ("action", entry.action as usize, actions.len()),
        ("outcome", entry.outcome as usize, outcomes.len()),
    ];
    for (what, found, count) in places {
        if found >= count {
            return Err(Error::input(format!("{what} {found} of a log's row; there are {count}")));
        }
    }
    if !(entry.weight >= 0.0 && entry.weight.is_finite()) {
        let weight = entry.weight;
        return Err(Error::input(format!(
            "the weight of a log's row is {weight}; expected a finite number ≥ 0"
        )));
    }
    if entry.propensity <= 0.0 || entry.propensity > 1.0 {
        let p = entry.propensity;
        return Err(Error::input(format!(
            "the propensity of a log's row is {p}; expected a number above 0 and at most 1"
        )));
    }
    Ok(())
}

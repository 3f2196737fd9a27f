//! Stage 4. A log: decisions that were taken and what came of them, counted.
//!
//! Rows that agree in context, action, outcome and propensity are one [`Entry`] with a weight, so
//! a log grows with what differs and not with how often it was seen. A context is a point of one
//! space, an outcome a point of another; every outcome has a value, a cost or a reward.
//!
//! Rows may come in clusters (the patients of a hospital, the visits of a user), which are then kept
//! whole by folds and resampling and are what standard errors count; and they may weigh something
//! else than 1 each ([`Entry::unit`]), which then is no number of rows.

mod fingerprint;
mod folds;

pub use fingerprint::Fingerprint;
pub(crate) use folds::FOLD_SEED;
pub use folds::Folds;

use crate::ambiguity::Direction;
use crate::error::{Error, Result};
use crate::kernel::sum::sums;
use crate::matrix::Matrix;
use crate::population::{DistinctRows, Population};
use crate::space::{Feature, Space};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Values beyond this have squares that do not exist.
const LARGEST: f64 = 1e150;

/// Rows that agree in everything. What is not said is one row of its own: [`Entry::default`].
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
    /// What one row weighs: 1 where weights count rows, a survey's weight else.
    pub unit: f64,
    /// The cluster that the rows are in; [`Entry::ALONE`] if every row stands for itself.
    pub cluster: u32,
    /// The recorded group (a site, a month) that the rows are of; [`Entry::ALONE`] if there are none.
    /// Nothing but [`Log::of_group`] and [`Log::without_groups`] looks at it.
    pub group: u32,
}

impl Entry {
    /// No cluster: rows are independent.
    pub const ALONE: u32 = u32::MAX;

    /// How many rows there are.
    pub fn rows(&self) -> f64 {
        self.weight / self.unit
    }
}

impl Default for Entry {
    fn default() -> Self {
        Entry {
            context: 0,
            action: 0,
            outcome: 0,
            propensity: f64::NAN,
            weight: 1.0,
            unit: 1.0,
            cluster: Entry::ALONE,
            group: Entry::ALONE,
        }
    }
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
    rows: f64,
    /// How many clusters have rows; None if every row stands for itself.
    clusters: Option<usize>,
    /// The order in which entries are dealt to folds, once it was asked for.
    dealing: OnceLock<Arc<[u32]>>,
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
                "an outcome's value is {value:e}; expected a number of at most {LARGEST:e} in size"
            )));
        }
        for entry in &entries {
            check_entry(entry, &contexts, &actions, &outcomes)?;
        }
        // The order of the rows must not matter.
        entries.sort_unstable_by(|a, b| {
            let key = |e: &Entry| (e.context, e.action, e.outcome);
            let more = |e: &Entry| (e.cluster, e.group, e.unit.to_bits());
            key(a)
                .cmp(&key(b))
                .then(a.propensity.total_cmp(&b.propensity))
                .then(more(a).cmp(&more(b)))
                .then(a.weight.total_cmp(&b.weight))
        });
        if entries
            .windows(2)
            .any(|e| (e[0].cluster == Entry::ALONE) != (e[1].cluster == Entry::ALONE))
        {
            return Err(Error::input("some rows are in clusters and some are not"));
        }
        if !entries.is_empty() && entries.iter().all(|e| e.weight == 0.0) {
            return Err(Error::input("every row weighs 0"));
        }
        let mut taken = vec![false; actions.len()];
        entries.iter().filter(|e| e.weight > 0.0).for_each(|e| taken[e.action as usize] = true);
        if let Some((name, _)) = actions.iter().zip(&taken).find(|(_, taken)| !**taken) {
            return Err(Error::input(format!("no row of the log has the action {name:?}")));
        }
        let (total, rows, clusters, dealing) = (0.0, 0.0, None, OnceLock::new());
        let log = Log {
            contexts,
            actions,
            outcomes,
            values,
            direction,
            entries,
            total,
            rows,
            clusters,
            dealing,
        };
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
                ..Entry::default()
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
        let [total, rows] = sums(entries.len(), &|i: usize| [entries[i].weight, entries[i].rows()]);
        let clusters = clusters_of(&entries).map(|all| all.len());
        Ok(Log {
            contexts: self.contexts.clone(),
            actions: self.actions.clone(),
            outcomes: self.outcomes.clone(),
            values: self.values.clone(),
            direction: self.direction,
            entries,
            total,
            rows,
            clusters,
            dealing: OnceLock::new(),
        })
    }

    /// The rows of one recorded group alone. An action may be left without rows.
    pub fn of_group(&self, group: u32) -> Result<Self> {
        self.reweighted(|_, e| if e.group == group { e.weight } else { 0.0 })
    }

    /// The rows of all groups but some. An action may be left without rows.
    pub fn without_groups(&self, out: impl Fn(u32) -> bool) -> Result<Self> {
        self.reweighted(|_, e| if out(e.group) { 0.0 } else { e.weight })
    }

    /// The same log, its groups called otherwise.
    #[must_use]
    pub fn regrouped(&self, of: impl Fn(u32) -> u32) -> Self {
        let entries = self.entries.iter().map(|e| Entry { group: of(e.group), ..*e }).collect();
        Log { entries, ..self.clone() }
    }

    /// The same log, each recorded group a cluster.
    pub fn clustered_by_group(&self) -> Result<Self> {
        let entries = self.entries.iter().map(|e| Entry { cluster: e.group, ..*e }).collect();
        let own = Log { entries, ..self.clone() };
        own.reweighted(|_, e| e.weight)
    }

    /// The same log on other contexts: `place` says where each context that has rows is now.
    pub fn on_contexts(&self, space: &Arc<Space>, place: impl Fn(u32) -> u32) -> Result<Self> {
        let entries = self.entries.iter().map(|e| Entry { context: place(e.context), ..*e });
        let (actions, outcomes) = (self.actions.clone(), self.outcomes.clone());
        let (values, direction) = (self.values.clone(), self.direction);
        Log::new(space.clone(), actions, outcomes, values, direction, entries.collect())
    }

    /// The rows at some places alone, which are those of another space in their order.
    pub fn at_places(&self, space: &Arc<Space>, places: &[usize]) -> Result<Self> {
        let mut place = vec![None; self.contexts.len()];
        places.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new as u32));
        let own = self
            .entries
            .iter()
            .filter_map(|e| place[e.context as usize].map(|context| Entry { context, ..*e }));
        let (actions, outcomes) = (self.actions.clone(), self.outcomes.clone());
        let (values, direction) = (self.values.clone(), self.direction);
        Log::new(space.clone(), actions, outcomes, values, direction, own.collect())
    }

    /// To be shared by what is fitted to it.
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
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

    /// How many rows there are.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// `(Σ w)² / Σ w²`: how many rows of equal weight the log is worth.
    pub fn effective_rows(&self) -> f64 {
        let squares: f64 = self.entries.iter().map(|e| e.weight * e.unit).sum();
        self.total * self.total / squares
    }

    /// How many clusters have rows; None if every row stands for itself.
    pub fn clusters(&self) -> Option<usize> {
        self.clusters
    }

    /// Whether every row stands for itself and weighs 1.
    pub fn is_plain(&self) -> bool {
        self.clusters.is_none() && self.entries.iter().all(|e| e.unit == 1.0)
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

/// The clusters that entries are in, in order; None if their rows are independent.
pub(crate) fn clusters_of(entries: &[Entry]) -> Option<Vec<u32>> {
    if entries.first().is_none_or(|e| e.cluster == Entry::ALONE) {
        return None;
    }
    let mut all: Vec<u32> = entries.iter().map(|e| e.cluster).collect();
    all.sort_unstable();
    all.dedup();
    Some(all)
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
    if !(entry.unit > 0.0 && entry.unit.is_finite()) {
        let unit = entry.unit;
        return Err(Error::input(format!(
            "a row of the log weighs {unit}; expected a finite number > 0"
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

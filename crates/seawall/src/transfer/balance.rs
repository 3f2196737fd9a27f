//! Weights on a log's contexts that make it what is known of a target, and how well that went.
//!
//! ```text
//! ω = w/p,   w = argmin KL(w ‖ p)  with  E_w φ_j = (1 − η) b_j + η E_p φ_j
//! ```
//!
//! `b_j` is what is known ([`Known`]; of a range its value), `η` the least share of the log's own
//! margins that must be mixed in for the facts to be attainable and for every action to keep enough
//! effective rows, `(Σ ω)² / Σ ω²`. Levels that no row of the log has cannot be weighed: their shares
//! are dropped, the column's others scaled up, and the mass is told.
//!
//! Odds of belonging to a sample of the target are judged by the same table, which is of the weights that
//! an estimate uses.
//!
//! Not here: estimates under these weights ([`BalancedEstimator`](super::BalancedEstimator)), and populations that the log
//! has nobody of (worst cases).

use super::goals::{GoalTask, Goals, clash, effective_rows, measured};
use super::odds::Odds;
use super::target_sample::TargetSample;
use super::tilt::{FactMoments, Tilt};
use crate::error::{Error, Result};
use crate::known::{Fact, Known, Quantity};
use crate::log::Log;
use crate::population::Population;
use serde::{Serialize, Serializer};

/// Effective rows that every action keeps, unless something else is asked for.
pub const EFFECTIVE: f64 = 30.0;

/// How far the log could be made what is known of the target. What cannot be matched at all is an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BalanceStatus {
    /// Every fact is met.
    #[serde(rename = "matched")]
    Matched,
    /// Some of the log's own margins are mixed in, or some of the target has levels that no row of
    /// the log has.
    #[serde(rename = "matched in part")]
    MatchedInPart,
    /// Rows weigh by the odds of belonging to a sample of the target, which make no mean exactly that of
    /// the sample.
    #[serde(rename = "by odds")]
    ByOdds,
}

/// One column before and after: the standardised difference to what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ColumnBalance {
    /// The column.
    pub name: String,
    /// In the log. Of a mean `(target − log)/sd`, signed; of shares the largest
    /// `|b − p| / √((p(1−p) + b(1−b))/2)`, as trialists have it.
    pub before: f64,
    /// In the weighted log, by the same spread.
    pub after: f64,
    /// The target's share on levels of the column that no row of the log has.
    pub unseen: f64,
}

/// One fact before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactBalance {
    /// In words: `mean of AGE`, `share of SEX=F`.
    pub name: String,
    /// What is known.
    pub wanted: f64,
    /// What it is in the log.
    pub before: f64,
    /// What it is in the weighted log.
    pub after: f64,
}

/// What a balance has to say for itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BalanceSummary {
    /// How far it went.
    pub status: BalanceStatus,
    /// The share of the log's own margins mixed in.
    pub mixed: f64,
    /// How many rows each action's weighted ones are worth.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub effective_rows: Vec<(String, f64)>,
    /// The target's share on levels that no row of the log has.
    pub unseen: f64,
    /// Column by column.
    pub columns: Vec<ColumnBalance>,
    /// Fact by fact.
    pub facts: Vec<FactBalance>,
}

/// Weights that make a log what is known of a target.
///
/// ```
/// use seawall::transfer::{Balance, BalanceStatus, EFFECTIVE};
/// use seawall::{Direction, Fact, Feature, Known, Log, Quantity};
/// let sex = [0.0, 0.0, 0.0, 1.0].repeat(50);
/// let (taken, costs) = (["treat", "wait"].repeat(100), vec![1.0; 200]);
/// let features = [Feature::nominal("sex", ["F", "M"])];
/// let log = Log::from_rows(features, vec![sex], &taken, &costs, None, Direction::Cost)?;
/// let half = Fact::exact(0, Quantity::Share(0), 0.5);
/// let known = Known::new(log.contexts().clone(), vec![half])?;
/// let balance = Balance::new(&log, &known, EFFECTIVE)?;
/// assert_eq!(balance.status(), BalanceStatus::Matched);
/// assert!((balance.odds(0) - 2.0 / 3.0).abs() < 1e-9 && (balance.odds(1) - 2.0).abs() < 1e-9);
/// # Ok::<(), seawall::Error>(())
/// ```
pub struct Balance {
    population: Population,
    odds: Vec<f64>,
    mixed: f64,
    unseen: f64,
    effective: Vec<f64>,
    actions: Vec<String>,
    columns: Vec<ColumnBalance>,
    facts: Vec<FactBalance>,
    /// The rows of the moments that contexts with rows have.
    place: Vec<u32>,
    moments: FactMoments,
    tilt: Tilt,
}

impl Balance {
    /// The weights nearest in KL to the log that meet the facts and leave every action so many
    /// effective rows (or half of its own, if that is less).
    pub fn new(log: &Log, known: &Known, effective: f64) -> Result<Self> {
        log.contexts().same_as(known.space())?;
        if !(effective >= 0.0 && effective.is_finite()) {
            return Err(Error::input(format!(
                "{effective} effective rows; expected a finite number ≥ 0"
            )));
        }
        let here = log.population()?;
        let own = measured(known, &here);
        let goals = Goals::new(known, &own)?;
        let task = GoalTask::new(log, known, &here, goals.kept, effective);
        let (mixed, tilt) = match task.least_mixed() {
            Ok(found) => found,
            Err(failure) => return Err(clash(log, known, &own, &here, effective, failure)),
        };
        let (moments, contexts) = (task.moments, task.contexts);
        let (mut odds, mut weights) = (vec![0.0; here.weights().len()], Vec::new());
        weights.resize(odds.len(), 0.0);
        let mut place = vec![u32::MAX; odds.len()];
        for (row, (&x, w)) in contexts.iter().zip(&tilt.weights).enumerate() {
            (odds[x], weights[x], place[x]) = (w / here.weights()[x], *w, row as u32);
        }
        let population = Population::from_weights(here.space().clone(), weights)?;
        let after = measured(known, &population);
        Ok(Balance {
            effective: effective_rows(log, |x| odds[x]),
            population,
            odds,
            mixed,
            unseen: goals.unseen.iter().copied().fold(0.0, f64::max),
            actions: log.actions().to_vec(),
            columns: columns(known, &own, &after, &here, &goals.unseen),
            facts: facts(known, &own, &after),
            place,
            moments,
            tilt,
        })
    }

    /// How much more a row with this context weighs, 1 on average over the log; 0 where the log has no
    /// rows.
    pub fn odds(&self, context: usize) -> f64 {
        self.odds.get(context).copied().unwrap_or(0.0)
    }

    /// The balanced population, on the log's space.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// How far it went.
    pub fn status(&self) -> BalanceStatus {
        if self.mixed > 0.0 || self.unseen > 0.0 {
            BalanceStatus::MatchedInPart
        } else {
            BalanceStatus::Matched
        }
    }

    /// The share of the log's own margins mixed in.
    pub fn mixed(&self) -> f64 {
        self.mixed
    }

    /// By action: how many rows its weighted ones are worth.
    pub fn effective_rows(&self) -> &[f64] {
        &self.effective
    }

    /// The target's share on levels that no row of the log has, of the column that has most of it.
    pub fn unseen(&self) -> f64 {
        self.unseen
    }

    /// The columns that something is known of, before and after.
    pub fn columns(&self) -> &[ColumnBalance] {
        &self.columns
    }

    /// The facts, before and after.
    pub fn facts(&self) -> &[FactBalance] {
        &self.facts
    }

    /// All of that, to be written.
    pub fn summary(&self) -> BalanceSummary {
        let rows = self.actions.iter().cloned().zip(self.effective.iter().copied());
        BalanceSummary {
            status: self.status(),
            mixed: self.mixed,
            effective_rows: rows.collect(),
            unseen: self.unseen,
            columns: self.columns.clone(),
            facts: self.facts.clone(),
        }
    }

    /// What the weights' own noise adds to an estimate that moves by `pull` with each context's log
    /// odds, by context of the log and a unit of its share (the pulls sum to 0):
    /// `−ω Bᵀ(φ − b) + η Bᵀ(φ − E_p φ)` with `B = Cov_w(φ)⁻¹ Σ pull φ`. Facts that are known take as
    /// much noise off an estimate as they explain of it.
    pub(super) fn calibration(
        &self,
        pulls: impl Iterator<Item = (usize, f64)>,
    ) -> impl Fn(usize) -> f64 {
        let mut lever = vec![0.0; self.moments.facts()];
        for (context, pull) in pulls {
            self.moments.pull(self.place[context] as usize, pull, &mut lever);
        }
        let slopes = self.moments.slopes(&self.tilt, &lever);
        let here = self.moments.explained_here(&slopes);
        move |context| {
            let explained = self.moments.explained(&slopes, self.place[context] as usize);
            -self.odds[context] * explained + self.mixed * (explained - here)
        }
    }
}

impl BalanceSummary {
    /// How like a sample of the target its odds make the log, by the margins of the sample's columns.
    pub fn of_odds(log: &Log, target: &TargetSample, odds: &Odds) -> Result<Self> {
        let (known, here) = (Known::margins_of(target.population())?, log.population()?);
        let own = measured(&known, &here);
        let unseen = Goals::new(&known, &own)?.unseen;
        let weigh = |(x, p): (usize, &f64)| if *p > 0.0 { p * odds.at(x) } else { 0.0 };
        let weights = here.weights().iter().enumerate().map(weigh).collect();
        let after = measured(&known, &Population::from_weights(here.space().clone(), weights)?);
        let rows = effective_rows(log, |x| odds.at(x)).into_iter().map(|n| target.within() * n);
        Ok(BalanceSummary {
            status: BalanceStatus::ByOdds,
            mixed: 0.0,
            effective_rows: log.actions().iter().cloned().zip(rows).collect(),
            unseen: unseen.iter().copied().fold(0.0, f64::max),
            columns: columns(&known, &own, &after, &here, &unseen),
            facts: facts(&known, &own, &after),
        })
    }
}

fn facts(known: &Known, own: &[f64], after: &[f64]) -> Vec<FactBalance> {
    let all = known.facts().iter().zip(own).zip(after);
    let fact = |((fact, before), after): ((&Fact, &f64), &f64)| FactBalance {
        name: known.describe(fact),
        wanted: fact.value,
        before: *before,
        after: *after,
    };
    all.map(fact).collect()
}

/// The standardised differences of each column, by the spread before.
fn columns(
    known: &Known,
    own: &[f64],
    after: &[f64],
    here: &Population,
    unseen: &[f64],
) -> Vec<ColumnBalance> {
    let space = known.space();
    let names: Vec<&str> = space.names().collect();
    let spread = |fact: &Fact, own: f64| match fact.quantity {
        Quantity::Share(_) => {
            let (b, p) = (fact.value, own);
            (0.5 * (p * (1.0 - p) + b * (1.0 - b))).max(0.0).sqrt()
        }
        Quantity::Mean => {
            let numbers = here.weights().iter().enumerate().filter(|(_, p)| **p > 0.0);
            let (mut squares, mut mass) = (0.0, 0.0);
            for (x, p) in numbers.filter_map(|(i, p)| Some((space.moments_at(i, fact.feature)?, p)))
            {
                squares += p * ((x.mean - own).powi(2) + x.variance);
                mass += p;
            }
            if mass > 0.0 { (squares / mass).sqrt() } else { 0.0 }
        }
    };
    let mut first = 0;
    let mut of_column = |(of_column, unseen): (&[Fact], &f64)| {
        let apart = |of: &[f64]| {
            let each = of_column.iter().enumerate().map(|(k, fact)| {
                let apart = fact.value - of[first + k];
                let spread = spread(fact, own[first + k]);
                let apart = if spread > 0.0 { apart / spread } else { 0.0 };
                if fact.quantity == Quantity::Mean { apart } else { apart.abs() }
            });
            each.fold(0.0, |most: f64, d| if d.abs() > most.abs() { d } else { most })
        };
        let (before, after) = (apart(own), apart(after));
        let name = names[of_column[0].feature].to_owned();
        first += of_column.len();
        ColumnBalance { name, before, after, unseen: *unseen }
    };
    let mut all = Vec::new();
    for pair in known.facts().chunk_by(|a, b| a.feature == b.feature).zip(unseen) {
        all.push(of_column(pair));
    }
    all
}

/// Names and numbers as a map.
fn as_map<S: Serializer>(pairs: &[(String, f64)], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, number)| (name, number)))
}

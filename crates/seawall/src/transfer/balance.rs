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
//! Not here: estimates under these weights ([`Centre`](super::Centre)), and populations that the log
//! has nobody of (worst cases).

use super::tilt::{Margin, Moments, Tilt};
use crate::error::{Error, Result};
use crate::known::{Fact, Known, Quantity};
use crate::log::Log;
use crate::population::Population;
use crate::space::Space;
use serde::{Serialize, Serializer};

/// Effective rows that every action keeps, unless something else is asked for.
pub const EFFECTIVE: f64 = 30.0;

/// No more than this share of an action's own effective rows is asked for: with all of them, nothing
/// could be weighed.
const OWN: f64 = 0.5;

/// Shares of the log's own margins that are tried, in hundredths; refined in between.
const LADDER: [u32; 13] = [0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// Shares that are all of a column but for this.
const WHOLE: f64 = 1e-9;

/// How far the log could be made what is known of the target. What cannot be matched at all is an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum BalanceStatus {
    /// Every fact is met.
    #[serde(rename = "matched")]
    Matched,
    /// Some of the log's own margins are mixed in, or some of the target has levels that no row of
    /// the log has.
    #[serde(rename = "matched in part")]
    MatchedInPart,
}

/// One column before and after: the standardised difference to what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
pub struct BalanceSummary {
    /// How far it went.
    pub status: BalanceStatus,
    /// The share of the log's own margins mixed in.
    pub mixed: f64,
    /// How many rows each action's weighted ones are worth.
    #[serde(serialize_with = "as_map")]
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
    moments: Moments,
    tilt: Tilt,
}

/// Why no weights do.
enum Failure {
    /// No weights at all meet the facts.
    Unattainable,
    /// Those that do leave an action with so few effective rows, where so many are asked for.
    Few { action: usize, left: f64, asked: f64 },
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
        let task = Task::new(log, known, &here, goals.kept, effective);
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
        match self.mixed > 0.0 || self.unseen > 0.0 {
            true => BalanceStatus::MatchedInPart,
            false => BalanceStatus::Matched,
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

/// What is to be met: the facts that rows of the log can meet, with their goals.
struct Goals {
    /// Place among the known facts, and the mean of `φ` that is wanted.
    kept: Vec<(usize, f64)>,
    /// By column that something is known of: the share on levels without rows.
    unseen: Vec<f64>,
}

impl Goals {
    fn new(known: &Known, own: &[f64]) -> Result<Self> {
        let (mut kept, mut unseen, mut first) = (Vec::new(), Vec::new(), 0);
        for of_column in known.facts().chunk_by(|a, b| a.feature == b.feature) {
            let before = &own[first..][..of_column.len()];
            let is_share = |fact: &Fact| fact.quantity != Quantity::Mean;
            let shares = || of_column.iter().zip(before).filter(|(fact, _)| is_share(fact));
            let said: f64 = shares().map(|(fact, _)| fact.value).sum();
            let all = shares().count() == known.space().levels(of_column[0].feature).len();
            // Values in the middle of ranges need not sum to 1.
            let scale = if said > 0.0 && (all || said > 1.0 - WHOLE) { 1.0 / said } else { 1.0 };
            let lost = shares().filter(|(_, before)| **before <= 0.0);
            let lost = scale * lost.map(|(fact, _)| fact.value).sum::<f64>();
            if lost > 1.0 - WHOLE {
                let name = known.space().names().nth(of_column[0].feature).unwrap_or_default();
                let wanted: Vec<String> = shares()
                    .filter(|(fact, _)| fact.value > 0.0)
                    .map(|(fact, _)| format!("{} {}", known.describe(fact), round(fact.value)))
                    .collect();
                return Err(Error::input(format!(
                    "the target cannot be matched: column {name:?}: no row of the log has any of the \
                     levels that are wanted: {}",
                    wanted.join(", ")
                )));
            }
            for (k, (fact, before)) in of_column.iter().zip(before).enumerate() {
                match is_share(fact) {
                    true if *before <= 0.0 => {}
                    true => kept.push((first + k, fact.goal() * scale / (1.0 - lost))),
                    false => kept.push((first + k, fact.goal())),
                }
            }
            unseen.push(lost);
            first += of_column.len();
        }
        Ok(Goals { kept, unseen })
    }
}

/// A log and the goals that it is to meet.
struct Task<'a> {
    log: &'a Log,
    contexts: Vec<usize>,
    places: Vec<u32>,
    moments: Moments,
    goals: Vec<f64>,
    own: Vec<f64>,
    /// By action.
    asked: Vec<f64>,
}

impl<'a> Task<'a> {
    fn new(
        log: &'a Log,
        known: &Known,
        here: &Population,
        kept: Vec<(usize, f64)>,
        effective: f64,
    ) -> Self {
        let space = log.contexts();
        let shares = here.weights();
        let contexts: Vec<usize> = (0..shares.len()).filter(|&x| shares[x] > 0.0).collect();
        let (mut margins, mut means) = (Vec::<Margin>::new(), Vec::new());
        let mut column: Option<usize> = None;
        for (place, (fact, _)) in kept.iter().enumerate() {
            let (place, fact) = (place as u32, &known.facts()[*fact]);
            match fact.quantity {
                Quantity::Mean => {
                    means.push((place, contexts.iter().map(|&x| fact.at(space, x)).collect()));
                }
                Quantity::Share(_) => {
                    if column != Some(fact.feature) {
                        column = Some(fact.feature);
                        margins.push(Margin { facts: Vec::new(), at: Vec::new() });
                    }
                    if let Some(margin) = margins.last_mut() {
                        margin.facts.push(place);
                    }
                }
            }
        }
        for margin in &mut margins {
            let feature = known.facts()[kept[margin.facts[0] as usize].0].feature;
            let mut of_level = vec![u32::MAX; space.levels(feature).len()];
            for &place in &margin.facts {
                if let Quantity::Share(level) = known.facts()[kept[place as usize].0].quantity {
                    of_level[level] = place;
                }
            }
            let at =
                |&x: &usize| level(space, x, feature).map_or(u32::MAX, |level| of_level[level]);
            margin.at = contexts.iter().map(at).collect();
        }
        let mass: Vec<f64> = contexts.iter().map(|&x| shares[x]).collect();
        let moments = Moments::new(mass.clone(), kept.len(), &margins, &means);
        let own = moments.means(&mass);
        let asked = effective_rows(log, |_| 1.0).iter().map(|n| effective.min(OWN * n)).collect();
        let mut places = vec![u32::MAX; shares.len()];
        contexts.iter().enumerate().for_each(|(row, &x)| places[x] = row as u32);
        let goals = kept.iter().map(|(_, goal)| *goal).collect();
        Task { log, contexts, places, moments, goals, own, asked }
    }

    /// The weights with this share of the log's own margins mixed in.
    fn mixed(&self, share: f64) -> std::result::Result<Tilt, Failure> {
        let goals = self.goals.iter().zip(&self.own).map(|(b, m)| (1.0 - share) * b + share * m);
        let goals: Vec<f64> = goals.collect();
        let tilt = self.moments.tilted(&goals).ok_or(Failure::Unattainable)?;
        let odds = |x: usize| {
            let row = self.places[x] as usize;
            tilt.weights[row] / self.moments.mass()[row]
        };
        let left = effective_rows(self.log, odds);
        let few = |(left, asked): &(&f64, &f64)| **left < **asked * (1.0 - 1e-9);
        match left.iter().zip(&self.asked).position(|pair| few(&pair)) {
            Some(action) => {
                Err(Failure::Few { action, left: left[action], asked: self.asked[action] })
            }
            None => Ok(tilt),
        }
    }

    /// The least share that does, by the ladder and then by halving to a hundredth.
    fn least_mixed(&self) -> std::result::Result<(f64, Tilt), Failure> {
        let share = |hundredths: u32| f64::from(hundredths) / 100.0;
        let mut failed = None;
        let mut failure = Failure::Unattainable;
        for rung in LADDER {
            match self.mixed(share(rung)) {
                Err(found) => (failed, failure) = (Some(rung), found),
                Ok(tilt) => {
                    let (mut most, mut best) = (rung, tilt);
                    let Some(mut least) = failed else { return Ok((0.0, best)) };
                    while most - least > 1 {
                        let middle = u32::midpoint(least, most);
                        match self.mixed(share(middle)) {
                            Ok(tilt) => (most, best) = (middle, tilt),
                            Err(_) => least = middle,
                        }
                    }
                    return Ok((share(most), best));
                }
            }
        }
        Err(failure)
    }
}

/// By action: `(Σ ω)² / Σ ω²` over its rows.
fn effective_rows(log: &Log, odds: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); log.actions().len()];
    for e in log.entries() {
        let (ω, sum): (f64, &mut (f64, f64)) =
            (odds(e.context as usize), &mut sums[e.action as usize]);
        *sum = (sum.0 + e.weight * ω, sum.1 + e.weight * e.unit * ω * ω);
    }
    let worth = |(sum, squares): (f64, f64)| if squares > 0.0 { sum * sum / squares } else { 0.0 };
    sums.into_iter().map(worth).collect()
}

/// The error that names a smallest set of columns that cannot be had together.
fn clash(
    log: &Log,
    known: &Known,
    own: &[f64],
    here: &Population,
    effective: f64,
    failure: Failure,
) -> Error {
    let most = f64::from(LADDER[LADDER.len() - 1]) / 100.0;
    let fails = |columns: &[usize]| {
        let some: Vec<Fact> = columns.iter().flat_map(|c| known.of(*c)).copied().collect();
        let of = || -> Result<bool> {
            let known = Known::new(known.space().clone(), some)?;
            let goals = Goals::new(&known, &measured(&known, here))?;
            Ok(Task::new(log, &known, here, goals.kept, effective).mixed(most).is_err())
        };
        of().unwrap_or(true)
    };
    let mut columns: Vec<usize> = known.facts().iter().map(|fact| fact.feature).collect();
    columns.dedup();
    if let Some(alone) = columns.iter().find(|c| fails(&[**c])) {
        columns = vec![*alone];
    }
    let mut at = 0;
    while at < columns.len() && columns.len() > 1 {
        let others: Vec<usize> = columns.iter().copied().filter(|c| *c != columns[at]).collect();
        if fails(&others) { columns = others } else { at += 1 }
    }
    let names: Vec<&str> = known.space().names().collect();
    let told = |fact: &usize| {
        let wanted = &known.facts()[*fact];
        let (value, found) = (round(wanted.value), round(own[*fact]));
        format!("{} is to be {value} (the log has {found})", known.describe(wanted))
    };
    let mut facts: Vec<usize> =
        (0..known.facts().len()).filter(|f| columns.contains(&known.facts()[*f].feature)).collect();
    let apart = |f: &usize| (known.facts()[*f].value - own[*f]).abs();
    facts.sort_by(|a, b| {
        let column = |f: &usize| known.facts()[*f].feature;
        column(a).cmp(&column(b)).then(apart(b).total_cmp(&apart(a)))
    });
    // Of a long margin the furthest two levels are enough.
    let of_column = facts.chunk_by(|a, b| known.facts()[*a].feature == known.facts()[*b].feature);
    let told: Vec<String> = of_column.flat_map(|all| all.iter().take(2).map(told)).collect();
    let names: Vec<String> = columns.iter().map(|c| format!("{:?}", names[*c])).collect();
    let why = match failure {
        Failure::Unattainable => {
            "no weights of its rows do, half of its own margins mixed in".to_owned()
        }
        Failure::Few { action, left, asked } => format!(
            "with half of its own margins mixed in the rows of action {:?} are worth {left:.1}; {asked} \
             are asked for",
            log.actions()[action]
        ),
    };
    let noun = if names.len() == 1 { "column" } else { "columns" };
    Error::input(format!(
        "the target cannot be matched: {noun} {}: {}; {why}",
        names.join(" and "),
        told.join(", ")
    ))
}

/// What each fact's number is in a population, one pass a column.
fn measured(known: &Known, population: &Population) -> Vec<f64> {
    let (space, weights) = (known.space(), population.weights());
    let some = || weights.iter().enumerate().filter(|(_, p)| **p > 0.0);
    let mut values = Vec::new();
    for of_column in known.facts().chunk_by(|a, b| a.feature == b.feature) {
        let feature = of_column[0].feature;
        let mut shares = vec![0.0; space.levels(feature).len()];
        let (mut sum, mut mass) = (0.0, 0.0);
        for (x, p) in some() {
            if let Some(share) = level(space, x, feature).and_then(|level| shares.get_mut(level)) {
                *share += p;
            }
            if let Some(number) = space.number_at(x, feature) {
                (sum, mass) = (sum + p * number, mass + p);
            }
        }
        values.extend(of_column.iter().map(|fact| match fact.quantity {
            Quantity::Share(level) => shares[level],
            Quantity::Mean if mass > 0.0 => sum / mass,
            Quantity::Mean => 0.0,
        }));
    }
    values
}

/// The level that a context has of a column; None where it has a number off a grid, or none.
fn level(space: &Space, context: usize, feature: usize) -> Option<usize> {
    let code = space.code(context, feature);
    (code >= 0.0 && !space.levels(feature).is_empty()).then_some(code as usize)
}

/// Four digits are enough for a message.
fn round(value: f64) -> f64 {
    let size = 10f64.powf(3.0 - value.abs().max(1e-300).log10().floor());
    if size.is_finite() && size > 0.0 { (value * size).round() / size } else { value }
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
            for (x, p) in numbers.filter_map(|(i, p)| Some((space.number_at(i, fact.feature)?, p)))
            {
                (squares, mass) = (squares + p * (x - own).powi(2), mass + p);
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

//! What a log is to meet, the least share of its own margins that must be mixed in to meet it, and
//! which columns clash where nothing does.
//!
//! ```text
//! goal_j(η) = (1 − η) b_j/(1 − u) + η E_p φ_j
//! ```
//!
//! `u` is the target's share on levels of the column that no row of the log has, 0 for a mean. The
//! weights for one η are those of [`FactMoments`].

use super::tilt::{FactMoments, Margin, Tilt};
use crate::error::{Error, Result};
use crate::known::{Fact, Known, Quantity};
use crate::log::Log;
use crate::population::Population;
use crate::space::Space;

/// No more than this share of an action's own effective rows is asked for: with all of them, nothing
/// could be weighed.
const OWN: f64 = 0.5;

/// Shares of the log's own margins that are tried, in hundredths; refined in between.
const LADDER: [u32; 13] = [0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// Shares that are all of a column but for this.
const WHOLE: f64 = 1e-9;

/// Why no weights do.
pub(super) enum Failure {
    /// No weights at all meet the facts.
    Unattainable,
    /// Those that do leave an action with so few effective rows, where so many are asked for.
    Few { action: usize, left: f64, asked: f64 },
}

/// What is to be met: the facts that rows of the log can meet, with their goals.
pub(super) struct Goals {
    /// Place among the known facts, and the mean of `φ` that is wanted.
    pub kept: Vec<(usize, f64)>,
    /// By column that something is known of: the share on levels without rows.
    pub unseen: Vec<f64>,
}

impl Goals {
    pub fn new(known: &Known, own: &[f64]) -> Result<Self> {
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
            // An empty sum is -0.
            unseen.push(lost + 0.0);
            first += of_column.len();
        }
        Ok(Goals { kept, unseen })
    }
}

/// A log and the goals that it is to meet.
pub(super) struct GoalTask<'a> {
    log: &'a Log,
    /// The contexts that have rows; the moments' in this order.
    pub contexts: Vec<usize>,
    places: Vec<u32>,
    pub moments: FactMoments,
    goals: Vec<f64>,
    own: Vec<f64>,
    /// By action.
    asked: Vec<f64>,
}

impl<'a> GoalTask<'a> {
    pub fn new(
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
        let moments = FactMoments::new(mass.clone(), kept.len(), &margins, &means);
        let own = moments.means(&mass);
        let asked = effective_rows(log, |_| 1.0).iter().map(|n| effective.min(OWN * n)).collect();
        let mut places = vec![u32::MAX; shares.len()];
        contexts.iter().enumerate().for_each(|(row, &x)| places[x] = row as u32);
        let goals = kept.iter().map(|(_, goal)| *goal).collect();
        GoalTask { log, contexts, places, moments, goals, own, asked }
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
    pub fn least_mixed(&self) -> std::result::Result<(f64, Tilt), Failure> {
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
pub(super) fn effective_rows(log: &Log, odds: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); log.actions().len()];
    for e in log.entries() {
        let (ω, sum): (f64, &mut (f64, f64)) =
            (odds(e.context as usize), &mut sums[e.action as usize]);
        *sum = (sum.0 + e.weight * ω, sum.1 + e.weight * e.unit * ω * ω);
    }
    let worth = |(sum, squares): (f64, f64)| if squares > 0.0 { sum * sum / squares } else { 0.0 };
    sums.into_iter().map(worth).collect()
}

/// The error that names columns that cannot be had together, none of which can be left out.
pub(super) fn clash(
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
            Ok(GoalTask::new(log, &known, here, goals.kept, effective).mixed(most).is_err())
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
pub(super) fn measured(known: &Known, population: &Population) -> Vec<f64> {
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
            if let Some(number) = space.moments_at(x, feature) {
                (sum, mass) = (sum + p * number.mean, mass + p);
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

//! The worst-case populations: each feature before and after the shift, the main moves in words.

use crate::drivers;
use crate::live::{Live, Texts};
use crate::sentences::isolated;
use seawall::{Kind, Marginal, Population, Result, Set, WorstCase};
use seawall_study::evaluate::PolicyResult;
use seawall_study::words::{percent, short};
use serde::Serialize;

/// Features shown for a policy; the others are named.
const FEATURES: usize = 12;
/// Levels shown for a feature.
const LEVELS: usize = 12;
/// Moves isolated in words.
const MOVES: usize = 5;
/// A share that changes by less is unchanged.
const UNCHANGED: f64 = 5e-4;

/// One policy's worst-case population.
#[derive(Debug, Serialize)]
pub(super) struct Shifted {
    policy: String,
    sentence: Live,
    moves: Vec<Live>,
    features: Vec<Feature>,
    /// Features that shift less than those shown.
    less: Vec<String>,
    unchanged: Vec<String>,
}

/// A feature before and after.
#[derive(Debug, Serialize)]
struct Feature {
    name: String,
    numeric: bool,
    levels: Vec<Level>,
    /// Levels left out, which change less.
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct Level {
    label: String,
    nominal: String,
    worst: Live,
}

/// One policy's worst-case population at every stop.
pub(super) fn shifted(
    policy: &PolicyResult,
    population: &Population,
    set: Set,
    texts: &mut Texts,
) -> Result<Shifted> {
    let space = population.space();
    let mut all: Vec<(f64, usize, Vec<Marginal>)> = Vec::new();
    let mut unchanged = Vec::new();
    for (k, name) in space.names().enumerate() {
        let marginal = |worst: &WorstCase| worst.marginal(k);
        let stops: Vec<Marginal> = policy.worst.iter().map(marginal).collect::<Result<_>>()?;
        let levels = stops.first().map_or(0, |m| m.labels.len());
        let most = (0..levels).map(|level| change(&stops, level)).fold(0.0, f64::max);
        if most > UNCHANGED { all.push((most, k, stops)) } else { unchanged.push(name.to_owned()) }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let name = |k: usize| space.names().nth(k).unwrap_or_default().to_owned();
    let less = all.iter().skip(FEATURES).map(|(_, k, _)| name(*k)).collect();
    all.truncate(FEATURES);
    all.sort_by_key(|(_, k, _)| *k);
    let features = all.iter().map(|(_, k, stops)| {
        let numeric = space.kind(*k) == Kind::Numeric;
        let (levels, left_out) = levels(stops, texts);
        Feature { name: name(*k), numeric, levels, left_out }
    });
    let features = features.collect();
    let sentence = |worst| {
        let words = drivers::sentence(worst, set);
        let mut letters = words.chars();
        let first = letters.next().map(char::to_uppercase);
        format!("{}{}.", first.into_iter().flatten().collect::<String>(), letters.as_str())
    };
    let sentence = texts.add(policy.worst.iter().map(sentence));
    let by_stop = policy.worst.iter().map(|worst| {
        if set.moves_mass() {
            drivers::commonest(worst.nominal().space(), worst.plan().iter(), MOVES)
        } else {
            Vec::new()
        }
    });
    let by_stop: Vec<Vec<drivers::Moves>> = by_stop.collect();
    let line = |m: &drivers::Moves| {
        let changes = drivers::phrase(&m.changes, isolated);
        format!("{} of people: {changes} (cost {} each)", percent(m.mass), short(m.cost))
    };
    let moves = (0..MOVES)
        .map(|k| texts.add(by_stop.iter().map(|stop| stop.get(k).map_or(String::new(), line))));
    let moves = moves.collect();
    Ok(Shifted { policy: policy.name.clone(), sentence, moves, features, less, unchanged })
}

/// By how much a level's share changes at most.
fn change(stops: &[Marginal], level: usize) -> f64 {
    stops.iter().map(|m| (m.worst[level] - m.nominal[level]).abs()).fold(0.0, f64::max)
}

/// The levels that change most, in the feature's order, and how many are left out.
fn levels(stops: &[Marginal], texts: &mut Texts) -> (Vec<Level>, usize) {
    let Some(first) = stops.first() else { return (Vec::new(), 0) };
    let mut kept: Vec<usize> = (0..first.labels.len()).collect();
    if kept.len() > LEVELS {
        kept.sort_by(|&a, &b| change(stops, b).total_cmp(&change(stops, a)).then(a.cmp(&b)));
        kept.truncate(LEVELS);
        kept.sort_unstable();
    }
    let left_out = first.labels.len() - kept.len();
    let level = |&k: &usize| Level {
        label: first.labels[k].clone(),
        nominal: percent(first.nominal[k]),
        worst: texts.add(stops.iter().map(|m| percent(m.worst[k]))),
    };
    (kept.iter().map(level).collect(), left_out)
}

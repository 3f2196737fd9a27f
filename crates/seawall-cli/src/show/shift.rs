//! A worst case in words: who would become whom, and a small table per feature.

use super::{label, number, percent, table};
use seawall::{Kind, Marginal, Move, Population, Space, WorstCase};
use std::collections::HashMap;
use std::io::{Result, Write};

/// Levels told for each feature.
const LEVELS: usize = 5;
/// Sources told for each level.
const SOURCES: usize = 2;
/// Moves told in words.
const MOVES: usize = 5;

/// What a move changes.
pub fn changes(space: &Space, step: &Move) -> String {
    let changed = space.names().enumerate().filter_map(|(k, name)| {
        let (from, to) = (space.label(step.from, k), space.label(step.to, k));
        (from != to).then(|| format!("{} {} → {}", label(name), label(&from), label(&to)))
    });
    changed.collect::<Vec<_>>().join(", ")
}

/// A worst case in one sentence.
pub fn sentence(worst: &WorstCase, moves: bool) -> String {
    if !moves {
        return "nobody moves; people are weighed anew".to_owned();
    }
    let moved: f64 = worst.plan.iter().filter(|m| m.from != m.to).map(|m| m.mass).sum();
    if moved == 0.0 {
        return "nobody moves".to_owned();
    }
    format!(
        "{} of the population moves; {} of the worst-case population is where nobody was seen",
        percent(moved),
        percent(worst.unobserved_mass)
    )
}

/// The tables: for each feature the levels whose shares change most.
pub fn tables(
    population: &Population,
    worst: &WorstCase,
    moves: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let space = population.space();
    let mut shown = table(&["feature", "level", "nominal", "worst case", "came from"]);
    let mut unchanged = Vec::new();
    for (k, name) in space.names().enumerate() {
        let marginal = worst.marginal(population, k);
        let levels = most_changed(&marginal);
        if levels.is_empty() {
            unchanged.push(label(name));
            continue;
        }
        for (at, &level) in levels.iter().enumerate() {
            let came_from =
                if moves { sources(space, worst, k, &marginal, level) } else { String::new() };
            shown.add_row([
                if at == 0 { named(space, k, name) } else { String::new() },
                label(&marginal.labels[level]),
                percent(marginal.nominal[level]),
                percent(marginal.worst[level]),
                came_from,
            ]);
        }
    }
    if !shown.is_empty() {
        writeln!(out, "{shown}")?;
    }
    if !unchanged.is_empty() {
        writeln!(out, " Unchanged: {}.", unchanged.join(", "))?;
    }
    if moves {
        commonest(space, worst.plan.iter(), out)?;
    }
    Ok(())
}

/// The changes that most people make, whoever they are otherwise.
pub fn commonest(
    space: &Space,
    moves: impl Iterator<Item = Move>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut by_change: HashMap<String, (f64, f64)> = HashMap::new();
    for step in moves.filter(|m| m.from != m.to) {
        let sums = by_change.entry(changes(space, &step)).or_default();
        *sums = (sums.0 + step.mass, sums.1 + step.mass * step.cost);
    }
    let mut all: Vec<(String, (f64, f64))> = by_change.into_iter().collect();
    all.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(&b.0)));
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, " Commonest moves:")?;
    for (words, (mass, spent)) in all.into_iter().take(MOVES) {
        let (share, cost) = (percent(mass), number(spent / mass));
        writeln!(out, "   {share} of the population: {words} (cost {cost} each)")?;
    }
    Ok(())
}

/// The levels whose shares change most, in the feature's order.
fn most_changed(marginal: &Marginal) -> Vec<usize> {
    let change = |level: usize| (marginal.worst[level] - marginal.nominal[level]).abs();
    let mut levels: Vec<usize> = (0..marginal.labels.len())
        .filter(|&l| percent(marginal.nominal[l]) != percent(marginal.worst[l]) && change(l) > 5e-4)
        .collect();
    levels.sort_by(|&a, &b| change(b).total_cmp(&change(a)));
    levels.truncate(LEVELS);
    levels.sort_unstable();
    levels
}

/// From which levels of a feature a level's new mass came.
fn sources(
    space: &Space,
    worst: &WorstCase,
    feature: usize,
    marginal: &Marginal,
    level: usize,
) -> String {
    if marginal.worst[level] <= marginal.nominal[level] {
        return String::new();
    }
    let wanted = &marginal.labels[level];
    let mut from: Vec<(String, f64)> = Vec::new();
    for step in worst.plan.iter() {
        let (a, b) = (space.label(step.from, feature), space.label(step.to, feature));
        if a != b && b == *wanted {
            match from.iter_mut().find(|(label, _)| *label == a) {
                Some((_, mass)) => *mass += step.mass,
                None => from.push((a, step.mass)),
            }
        }
    }
    from.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let words: Vec<String> = from
        .iter()
        .take(SOURCES)
        .map(|(from, mass)| format!("{} {}", label(from), percent(*mass)))
        .collect();
    words.join(", ")
}

/// A numeric feature's levels are the middles of its bins.
fn named(space: &Space, feature: usize, name: &str) -> String {
    match space.kind(feature) {
        Kind::Numeric => format!("{} ≈", label(name)),
        _ => label(name),
    }
}

//! A worst case in words: who would become whom, and a small table per feature.

use super::{label, number, percent, table};
use seawall::{Kind, Marginal, Move, Set, Space, WorstCase};
use seawall_report::drivers;
use seawall_study::shift::main_change;
use std::io::{Result, Write};

/// Levels told for each feature.
const LEVELS: usize = 5;
/// Sources told for each level.
const SOURCES: usize = 2;
/// Moves told in words.
const MOVES: usize = 5;

/// The tables: for each feature the levels whose shares change most.
pub fn tables(worst: &WorstCase, moves: bool, out: &mut dyn Write) -> Result<()> {
    let space = worst.nominal().space();
    let mut shown = table(&["feature", "level", "nominal", "worst case", "came from"]);
    let mut unchanged = Vec::new();
    for (k, name) in space.names().enumerate() {
        let marginal = worst.marginal(k).map_err(std::io::Error::other)?;
        let levels = most_changed(&marginal);
        if levels.is_empty() {
            unchanged.push(label(name));
            continue;
        }
        for (at, &level) in levels.iter().enumerate() {
            let came_from = if moves { sources(&marginal, level) } else { String::new() };
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
        commonest(space, worst.plan().iter(), out)?;
    }
    Ok(())
}

/// The changes that most people make, whoever they are otherwise.
pub fn commonest(
    space: &Space,
    moves: impl Iterator<Item = Move>,
    out: &mut dyn Write,
) -> Result<()> {
    let all = drivers::commonest(space, moves, MOVES);
    if !all.is_empty() {
        writeln!(out, " Commonest moves:")?;
    }
    for told in all {
        let (share, cost) = (percent(told.mass), number(told.cost));
        let words = drivers::phrase(&told.changes, label);
        writeln!(out, "   {share} of the population: {words} (cost {cost} each)")?;
    }
    Ok(())
}

/// What a worst case changes, in a few words: its commonest moves, else what shifts most.
pub fn changes(worst: &WorstCase, set: Set, count: usize) -> Vec<String> {
    let told =
        |m: &drivers::Moves| format!("{} {}", percent(m.mass), drivers::phrase(&m.changes, label));
    let all: Vec<String> = if set.moves_mass() {
        drivers::commonest(worst.nominal().space(), worst.plan().iter(), count)
            .iter()
            .map(told)
            .collect()
    } else {
        Vec::new()
    };
    if all.is_empty() { main_change(worst, set).into_iter().collect() } else { all }
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
fn sources(marginal: &Marginal, level: usize) -> String {
    if marginal.worst[level] <= marginal.nominal[level] {
        return String::new();
    }
    let from = marginal.came_from(level).into_iter().take(SOURCES);
    let words = from.map(|(from, mass)| {
        let from = label(&marginal.labels[from]);
        format!("{from} {}", percent(mass))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A numeric feature's levels are the middles of its bins.
fn named(space: &Space, feature: usize, name: &str) -> String {
    match space.kind(feature) {
        Kind::Numeric => format!("{} ≈", label(name)),
        _ => label(name),
    }
}

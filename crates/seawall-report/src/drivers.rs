//! A worst case as people tell it: who would become whom, whoever they are otherwise.

use seawall::{Move, Set, Space, WorstCase};
use seawall_study::set_text;
use seawall_study::words::percent;
use std::collections::HashMap;

/// One feature that a move changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The feature.
    pub feature: String,
    /// Its level before; empty where people come from any number.
    pub from: String,
    /// Its level after.
    pub to: String,
}

/// All moves that make the same changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Moves {
    /// The changes.
    pub changes: Vec<Change>,
    /// The share of the population that makes them.
    pub mass: f64,
    /// What they cost each.
    pub cost: f64,
}

/// What a move changes.
pub fn changes(space: &Space, step: &Move) -> Vec<Change> {
    let changed = space.names().enumerate().filter_map(|(k, name)| {
        // By codes: a level may have the name that missing values are told by.
        let moved = space.code(step.from, k).to_bits() != space.code(step.to, k).to_bits();
        let (from, to) = (space.label(step.from, k), space.label(step.to, k));
        moved.then(|| Change { feature: name.to_owned(), from, to })
    });
    changed.collect()
}

/// Changes of one move that are told; more are counted.
const TOLD: usize = 6;

/// Changes on one line, names and levels as `tell` tells them.
pub fn phrase(changes: &[Change], tell: impl Fn(&str) -> String) -> String {
    let each = |c: &Change| {
        if c.from.is_empty() {
            format!("{} → {}", tell(&c.feature), tell(&c.to))
        } else {
            format!("{} {} → {}", tell(&c.feature), tell(&c.from), tell(&c.to))
        }
    };
    let mut all: Vec<String> = changes.iter().take(TOLD).map(each).collect();
    if changes.len() > TOLD {
        all.push(format!("and {} more changes", changes.len() - TOLD));
    }
    all.join(", ")
}

/// The same changes, of whoever has any number.
fn from_anywhere(space: &Space, mut changes: Vec<Change>) -> Vec<Change> {
    for change in &mut changes {
        if space.feature(&change.feature).is_ok_and(|k| space.levels(k).is_empty()) {
            change.from.clear();
        }
    }
    changes
}

/// One of the moves that make the same changes, the mass of all, and what they pay.
type Sum = (Move, f64, f64);

/// The changes that most people make, the commonest first.
pub fn commonest(space: &Space, moves: impl Iterator<Item = Move>, count: usize) -> Vec<Moves> {
    let features = space.names().len();
    let any = |k: usize| space.levels(k).is_empty();
    // By codes, as there are many moves and few changes; a place for words comes later.
    let mut by_change: HashMap<Vec<(usize, u64, u64)>, Sum> = HashMap::new();
    for step in moves.filter(|m| m.from != m.to) {
        let code = |point: usize, k: usize| space.code(point, k).to_bits();
        let key = (0..features).map(|k| (k, code(step.from, k), code(step.to, k)));
        let key = key.filter(|(_, from, to)| from != to);
        // People who have any number come from as many places as there are people.
        let key = key.map(|(k, from, to)| if any(k) { (k, 0, to) } else { (k, from, to) });
        let key: Vec<_> = key.collect();
        let sums = by_change.entry(key).or_insert((step, 0.0, 0.0));
        (sums.1, sums.2) = (sums.1 + step.mass, sums.2 + step.mass * step.cost);
    }
    let mut all: Vec<Sum> = by_change.into_values().collect();
    let order =
        |a: &Sum, b: &Sum| b.1.total_cmp(&a.1).then((a.0.from, a.0.to).cmp(&(b.0.from, b.0.to)));
    all.sort_by(order);
    let told = |(step, mass, spent): &Sum| Moves {
        changes: from_anywhere(space, changes(space, step)),
        mass: *mass,
        cost: spent / mass,
    };
    all.iter().take(count).map(told).collect()
}

/// A worst case over a set in one sentence.
pub fn sentence(worst: &WorstCase, set: Set) -> String {
    if !set.moves_mass() && set.reaches_unseen() {
        return format!(
            "{}; {} of the worst-case population is where nobody was seen",
            set_text::of(set).fate,
            percent(worst.unobserved_mass())
        );
    }
    if set.needs_actions() && !set.moves_mass() {
        return "nobody moves; people and what happens to them are weighed anew".to_owned();
    }
    if !set.moves_mass() {
        return set_text::of(set).fate.to_owned();
    }
    let moved: f64 = worst.plan().iter().filter(|m| m.from != m.to).map(|m| m.mass).sum();
    if moved == 0.0 && set.needs_known() {
        return format!(
            "columns go together otherwise, within what is known; {} of the worst-case population is \
             where nobody was seen",
            percent(worst.unobserved_mass())
        );
    }
    if moved == 0.0 {
        return "nobody moves".to_owned();
    }
    format!(
        "{} of the population moves; {} of the worst-case population is where nobody was seen",
        percent(moved),
        percent(worst.unobserved_mass())
    )
}

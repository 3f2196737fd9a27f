//! What a worst case changes most, in a few words.

use seawall::{Kind, Set, Value, WorstCase};

/// A change below this is rounding.
const ROUNDING: f64 = 1e-12;

/// What a worst case changes most, in a few words: "higher age", "more sex = M". By what the moves
/// cost, or by the shares that change where nobody moves; None if nothing changes.
pub fn main_change(worst: &WorstCase, set: Set) -> Option<String> {
    let population = worst.nominal();
    let space = population.space();
    let features = space.names().len();
    let mut moved = vec![0.0; features];
    // Without a radius nobody comes from anywhere.
    if set.moves_mass() && !(set.needs_known() && worst.plan().iter().all(|m| m.from == m.to)) {
        for step in worst.plan().iter().filter(|m| m.from != m.to) {
            for (k, moved) in moved.iter_mut().enumerate() {
                *moved += step.mass * space.feature_cost(k, step.from, step.to);
            }
        }
    } else {
        return widest_change(worst);
    }
    told_change(worst, &moved)
}

/// The column whose shares a worst case changes most, in a few words, whether or not anybody moves; None
/// if none changes.
pub fn widest_change(worst: &WorstCase) -> Option<String> {
    let features = worst.nominal().space().names().len();
    let change = |k: usize| {
        let m = worst.marginal(k).ok()?;
        Some(m.worst.iter().zip(&m.nominal).map(|(a, b)| (a - b).abs()).sum())
    };
    let changes: Vec<f64> = (0..features).map(change).collect::<Option<_>>()?;
    told_change(worst, &changes)
}

/// The feature that changes most, by what is said of each, in a few words.
fn told_change(worst: &WorstCase, moved: &[f64]) -> Option<String> {
    let population = worst.nominal();
    let space = population.space();
    let features = moved.len();
    let most = (0..features).max_by(|&a, &b| moved[a].total_cmp(&moved[b]).then(b.cmp(&a)))?;
    if moved[most] <= ROUNDING {
        return None;
    }
    let name = space.names().nth(most)?;
    let m = worst.marginal(most).ok()?;
    let change = |level: usize| m.worst[level] - m.nominal[level];
    // What is higher among levels that are words, nobody could tell.
    let numbers = || space.levels(most).iter().all(|level| level.parse::<f64>().is_ok());
    if space.kind(most) == Kind::Numeric || space.kind(most) == Kind::Ordinal && numbers() {
        let after = worst.weights();
        let numbers = space.each(most, |v| match v {
            Value::Number(x) => Some(x),
            Value::Level(text) => {
                space.level_values(most).position(|l| l == Value::Level(text)).map(|k| k as f64)
            }
            Value::Missing => None,
        });
        let mean = |weights: &[f64]| {
            let there = || weights.iter().zip(&numbers).filter_map(|(w, x)| x.map(|x| (*w, x)));
            there().map(|(w, x)| w * x).sum::<f64>() / there().map(|(w, _)| w).sum::<f64>()
        };
        let (before, after) = (mean(population.weights()), mean(&after));
        // What is known of the target holds but for rounding.
        if (after - before).abs() > ROUNDING.sqrt() * before.abs().max(1.0) {
            let word = if after > before { "higher" } else { "lower" };
            return Some(format!("{word} {name}"));
        }
    }
    let gains = (0..m.labels.len()).max_by(|&a, &b| change(a).total_cmp(&change(b)))?;
    Some(format!("more {name} = {}", m.labels[gains]))
}

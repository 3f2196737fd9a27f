//! The policies in words, as tables and as trees, with what is certified of those that were learned.

use seawall::learn::Method;
use seawall::policy::{Outline, Partition, Policy, Rule, chances};
use seawall::{Direction, Value};
use seawall_study::learn::LearnedPolicy;
use seawall_study::report::Basis;
use seawall_study::words::{gap, number, percent, short};
use serde::Serialize;

/// Actions of a table with a column of their own.
const COLUMNS: usize = 8;
/// Groups of a table shown.
const ROWS: usize = 40;

/// One policy.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    name: String,
    /// What is certified, sentence by sentence; none for a policy that was given.
    certificate: Vec<String>,
    /// In words, where there is neither a table nor a tree.
    words: Vec<String>,
    table: Option<ChanceTable>,
    tree: Option<Outline>,
}

#[derive(Debug, Serialize)]
struct ChanceTable {
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    left_out: usize,
}

/// A policy, explained; `learned` is what is known of it if it was learned here.
pub(super) fn explained(
    policy: &Policy,
    basis: &Basis,
    learned: Option<&LearnedPolicy>,
) -> Explained {
    let (actions, contexts) = (&basis.actions, &basis.contexts);
    let missing = |name: &str| {
        let values = |k: usize| contexts.level_values(k);
        contexts.feature(name).is_ok_and(|k| values(k).any(|v| v == Value::Missing))
    };
    let (mut words, mut table, mut tree) = (Vec::new(), None, None);
    match policy.rule() {
        Rule::Tree { root } => tree = Some(root.outline(actions, &missing)),
        Rule::Groups { by, probabilities } if !by.is_empty() => {
            table = Some(groups(by, probabilities, actions));
        }
        rule => words = rule.explain(actions, &missing),
    }
    let certificate = learned.map_or(Vec::new(), certificate);
    Explained { name: policy.name().to_owned(), certificate, words, table, tree }
}

/// A row per group; a column per action that is ever taken, or one for all if they are many.
fn groups(by: &[Partition], probabilities: &[Vec<f64>], actions: &[String]) -> ChanceTable {
    let taken = |a: &usize| probabilities.iter().any(|row| row[*a] >= 5e-4);
    let taken: Vec<usize> = (0..actions.len()).filter(taken).collect();
    let apart = taken.len() <= COLUMNS;
    let columns = if apart {
        taken.iter().map(|&a| actions[a].clone()).collect()
    } else {
        vec!["chances".to_owned()]
    };
    let row = |(group, row): (usize, &Vec<f64>)| {
        let cells = if apart {
            taken.iter().map(|&a| percent(row[a])).collect()
        } else {
            vec![chances(row, actions)]
        };
        (Partition::describe(by, group), cells)
    };
    let rows = probabilities.iter().enumerate().take(ROWS).map(row).collect();
    ChanceTable { columns, rows, left_out: probabilities.len().saturating_sub(ROWS) }
}

/// What is certified of a learned policy.
fn certificate(answer: &LearnedPolicy) -> Vec<String> {
    let (than, bound) = match answer.value.direction {
        Direction::Cost => ("below", answer.value.worst.lower),
        Direction::Reward => ("above", answer.value.worst.upper),
    };
    let worst = match (answer.value.exact_lower, answer.value.exact_upper) {
        (Some(lower), Some(upper)) => format!(
            "{} smoothed, {} to {} exactly",
            short(answer.value.worst.value),
            short(lower),
            short(upper)
        ),
        _ => short(answer.value.worst.value),
    };
    let mut lines = vec![format!(
        "Learned over {} set of radius {}: its worst case there is {worst}, and {} {}.",
        if answer.shift.set.is_smoothed() {
            format!("an {}", answer.shift.set.name())
        } else {
            format!("a {}", answer.shift.set.name())
        },
        number(answer.shift.radius),
        short(answer.value.nominal_value),
        if answer.shift.in_target { "in the target itself" } else { "if nothing shifts" }
    )];
    if answer.method == Method::Exact {
        lines.push(format!(
            "No policy of this kind{} has a worst case {than} {}: gap {}, {}.",
            if answer.shift.set.needs_actions() {
                " that does only what rows alike have"
            } else {
                ""
            },
            short(bound),
            gap(answer.value.worst.gap),
            answer.value.worst.status
        ));
    } else {
        lines.push(format!(
            "A local optimum, found by {}: there is no certificate but the next one.",
            answer.method
        ));
    }
    lines.push(format!(
        "No policy whatever has a worst case {than} {} there.",
        short(answer.value.greedy_floor)
    ));
    if let Some(mixture) = answer.details.mixture.as_ref().filter(|m| m.parts.len() > 1) {
        lines.push(format!(
            "Drawing among {} such trees would do {}.",
            mixture.parts.len(),
            short(mixture.value)
        ));
    }
    lines.push("It was chosen on the very rows that value it, so its values are too good.".into());
    lines
}

//! From here to there: what policies would cost in a target of which something is known, for the page.

use crate::history::{History, history};
use crate::love::{LovePlot, love_plot};
use crate::wording;
use seawall::Direction;
use seawall_study::report::Transferred;
use seawall_study::transfer::{Transfer, Transfers};
use seawall_study::words::{level, number, short};
use serde::Serialize;

/// The section of the page.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Why there is nothing, or else what there is.
    refused: Option<String>,
    found: Option<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    known: Vec<String>,
    /// How far the log was made like the target, and what its rows are worth by action.
    balance: String,
    effective_rows: Vec<(String, String)>,
    love: Option<LovePlot>,
    /// How bounds were made, and what side they are on.
    how: &'static str,
    level: String,
    side: &'static str,
    rows: Vec<Row>,
    /// The first policy, and by how much the others are above it.
    first: String,
    differences: Vec<Row>,
    condition: String,
    left_out: Vec<String>,
    notes: Vec<String>,
    by: Option<String>,
    histories: Vec<History>,
}

/// A policy, or a difference of two.
#[derive(Debug, Serialize)]
struct Row {
    policy: String,
    centre: String,
    se: String,
    bound: String,
    allowance: String,
    sampling: String,
    between: String,
    couplings: String,
    method: String,
    level: String,
    /// Of how many past groups it would have held for how many.
    held: Option<(usize, usize)>,
}

/// The section, worded.
pub(super) fn section(of: &Transferred) -> Section {
    match of {
        Transferred::Refused(why) => Section { refused: Some(why.clone()), found: None },
        Transferred::Found(all) => Section { refused: None, found: found(all) },
    }
}

fn found(all: &Transfers) -> Option<Found> {
    let first = all.transfers.first()?;
    let worth = |(action, n): &(String, f64)| (action.clone(), number(n.round()));
    let recorded = all.transfers.iter().filter(|t| !t.groups.is_empty());
    Some(Found {
        known: all.known.clone(),
        balance: wording::balance(&first.balance),
        effective_rows: first.balance.effective_rows.iter().map(worth).collect(),
        love: love_plot(&first.balance.columns),
        how: first.method.explained(),
        level: level(first.level),
        side: match all.direction {
            Direction::Cost => "above",
            Direction::Reward => "below",
        },
        rows: all.transfers.iter().map(row).collect(),
        first: first.policy.clone(),
        differences: all.differences.iter().map(row).collect(),
        condition: all.condition.clone(),
        left_out: wording::left_out(&all.left_out),
        notes: all.notes.clone(),
        by: all.by.clone(),
        histories: recorded.map(|t| history(t, all.direction)).collect(),
    })
}

fn row(t: &Transfer) -> Row {
    Row {
        policy: t.policy.clone(),
        centre: short(t.centre),
        se: short(t.se),
        bound: t.bound.map_or("none".to_owned(), short),
        allowance: short(t.allowance.total()),
        sampling: short(t.allowance.sampling),
        between: short(t.allowance.between),
        couplings: short(t.allowance.couplings),
        method: t.method.to_string(),
        level: level(t.level),
        held: (!t.groups.is_empty()).then_some((t.held, t.groups.len())),
    }
}

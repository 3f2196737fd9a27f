//! Other kinds of shift: the same policies under every set, at radii that cover the same, for the page.
//!
//! The chart is a row a set with a mark a policy, in percent of a row's width, so that one drawing fits
//! every page; the table below it has the numbers.

use crate::axis::{padded, ticks};
use crate::chart::Tick;
use crate::csv;
use crate::wording::{ComparedWords, compared};
use seawall_study::compare::{Compared, ComparedSet};
use seawall_study::words::short;
use serde::Serialize;

/// Room at either side for half a label, as a share of what is between.
const ROOM: f64 = 0.08;

/// The section of the page.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    sentence: String,
    policies: Vec<String>,
    /// Whether there is anything to choose from.
    several: bool,
    rows: Vec<Row>,
    /// Where the value is that radii cover, and that value; None where they contain people instead.
    covered: Option<Tick>,
    ticks: Vec<Tick>,
    /// The numbers beneath the chart, to save.
    csv: String,
    /// Sets without a radius or an answer, and why.
    refused: Vec<(String, String)>,
    agreement: Vec<String>,
    /// What the log itself says of the choice.
    on_log: Option<String>,
    left_out: Vec<(String, String)>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    set: String,
    away: String,
    values: Vec<String>,
    /// The best policy last, so that it is drawn over the others.
    marks: Vec<Mark>,
    #[serde(flatten)]
    words: ComparedWords,
}

#[derive(Debug, Serialize)]
struct Mark {
    at: f64,
    /// Which policy, and so which colour.
    policy: usize,
    best: bool,
}

/// The section, worded.
pub(super) fn section(found: &Compared) -> Section {
    let covered = (!found.covers.containing).then_some(found.covers.value);
    let values = found.answered().flat_map(|s| s.policies.iter().map(|p| p.worst.value));
    let around = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
    let ends = values.chain(covered).filter(|v| v.is_finite());
    let (low, high) = padded(ends.fold((f64::INFINITY, f64::NEG_INFINITY), around));
    let room = ROOM * (high - low);
    let (low, high) = (low - room, high + room);
    let at = |v: f64| (100.0 * (v - low) / (high - low)).clamp(0.0, 100.0);
    let pair = |s: &ComparedSet| s.why.as_ref().map(|why| (s.set.to_string(), why.clone()));
    Section {
        sentence: found.covers.sentence.clone(),
        policies: found.policies.clone(),
        several: found.policies.len() > 1,
        rows: found.answered().map(|s| row(s, at)).collect(),
        covered: covered.map(|v| Tick { at: at(v), text: short(v) }),
        ticks: ticks(low + 0.5 * room, high - 0.5 * room, 4.0)
            .map(|v| Tick { at: at(v), text: short(v) })
            .collect(),
        csv: saved(found),
        refused: found.sets.iter().filter_map(pair).collect(),
        agreement: found.agreement.sentences.clone(),
        on_log: found.on_log.as_ref().map(|one| one.sentence.clone()),
        left_out: found.left_out.iter().map(|s| (s.set.clone(), s.why.clone())).collect(),
        notes: found.notes.clone(),
    }
}

/// Every worst case, to save.
fn saved(found: &Compared) -> String {
    let rows = found.answered().flat_map(|set| {
        set.policies.iter().map(|p| {
            let best = set.best.contains(&p.policy);
            vec![
                set.set.to_string(),
                csv::exact(set.radius),
                p.policy.clone(),
                csv::exact(p.worst.value),
                if best { "yes" } else { "no" }.to_owned(),
            ]
        })
    });
    csv::table(&["set", "radius", "policy", "worst_case", "best"], rows)
}

fn row(set: &ComparedSet, at: impl Fn(f64) -> f64) -> Row {
    let best = |name: &str| set.best.iter().any(|b| b == name);
    let marks = set.policies.iter().enumerate();
    let mark = |(policy, p): (usize, &seawall_study::compare::PolicyWorst)| Mark {
        at: at(p.worst.value),
        policy,
        best: best(&p.policy),
    };
    let mut marks: Vec<Mark> = marks.map(mark).collect();
    marks.sort_by_key(|m| m.best);
    Row {
        set: set.set.to_string(),
        away: set.away.clone(),
        values: set.policies.iter().map(|p| short(p.worst.value)).collect(),
        marks,
        words: compared(set, str::to_owned),
    }
}

//! Pairs of policies in one population, against the radius: the chart, its table, and sentences.

use super::chart::{Chart, Series, charts};
use super::live::{Live, Texts};
use super::sentences::{isolated, leader};
use super::stops::{Mark, Stops};
use crate::evaluate::{Comparison, DifferenceValue, Evaluation, Verdict};
use crate::words::{number, short, supported};
use serde::Serialize;

/// Pairs shown; the others are counted.
const SHOWN: usize = 6;

/// One policy beside others, in the same population.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    /// The policy that the others are compared with.
    policy: String,
    charts: Vec<Chart>,
    rows: Vec<Row>,
    /// Pairs that are not shown.
    left_out: usize,
    sentences: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    against: String,
    worst: Live,
    interval: Option<Live>,
    best: Live,
    verdict: Live,
    nominal: String,
    certain: String,
}

/// The policy that leads at the first stop beside each of the others; None if nothing was compared.
pub(super) fn differences(
    found: &Evaluation,
    stops: &Stops,
    start: usize,
    marks: &[Mark],
    texts: &mut Texts,
) -> Option<Differences> {
    let policy = found.policies.get(leader(found, start))?.name.clone();
    let own: Vec<&Comparison> = found.comparisons.iter().filter(|c| c.policy == policy).collect();
    if own.is_empty() {
        return None;
    }
    let turned = |c: &Comparison| {
        found.comparisons.iter().find(|o| o.policy == c.against && o.against == c.policy)
    };
    let mut series = Vec::new();
    for (colour, c) in own.iter().take(SHOWN).enumerate() {
        let ends = |of: fn(&DifferenceValue) -> Option<(f64, f64)>| {
            c.results.iter().map(of).collect::<Option<Vec<(f64, f64)>>>()
        };
        series.push(Series {
            curve: c.curves.first().map(|curve| (curve, 1.0)),
            values: c.results.iter().map(|r| r.worst).collect(),
            band: ends(DifferenceValue::shown),
            colour,
            broken: false,
        });
        series.push(Series {
            curve: turned(c).and_then(|o| o.curves.first()).map(|curve| (curve, -1.0)),
            values: c.results.iter().map(|r| r.best).collect(),
            band: ends(DifferenceValue::best_shown),
            colour,
            broken: true,
        });
    }
    let charts = charts(&series, true, stops, marks, texts);
    let rows = own.iter().take(SHOWN).map(|c| row(c, texts)).collect();
    let leading = found.comparisons.iter().filter(|c| c.leads());
    let mut sentences: Vec<String> = leading.map(|c| c.sentence(isolated)).collect();
    sentences.dedup();
    sentences.truncate(2 * SHOWN);
    let left_out = own.len().saturating_sub(SHOWN);
    Some(Differences { policy, charts, rows, left_out, sentences })
}

fn row(c: &Comparison, texts: &mut Texts) -> Row {
    let digits = |x: f64, r: &DifferenceValue| match r.interval {
        Some(i) => supported(x, i.se),
        None => number(x),
    };
    let has_interval = c.results.iter().any(|r| r.interval.is_some());
    let shown = |r: &DifferenceValue| match r.shown() {
        Some((low, high)) => format!("{} to {}", digits(low, r), digits(high, r)),
        None => String::new(),
    };
    let words = |k: usize| match c.verdict(k) {
        Verdict::Better => "better in every population",
        Verdict::Worse => "worse in every population",
        Verdict::Depends => "depends on the population",
        Verdict::TooClose => "too close to call",
    };
    let plain = c.estimate();
    Row {
        against: c.against.clone(),
        worst: texts.add(c.results.iter().map(|r| digits(r.worst, r))),
        interval: has_interval.then(|| texts.add(c.results.iter().map(shown))),
        best: texts.add(c.results.iter().map(|r| digits(r.best, r))),
        verdict: texts.add((0..c.results.len()).map(|k| words(k).to_owned())),
        nominal: crate::words::estimate(&plain),
        certain: match c.certain_radius.value {
            r if r.is_infinite() => "any".to_owned(),
            r => short(r),
        },
    }
}

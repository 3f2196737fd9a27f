//! Pairs of policies in one population, against the radius: the chart, its table, and sentences.

use super::chart::{Chart, Series, charts};
use super::live::{Live, Texts};
use super::sentences::{closest, isolated, leader};
use super::stops::{Mark, Stops};
use crate::evaluate::{Comparison, DifferenceValue, Evaluation, Verdict, worst_populations};
use crate::load::Loaded;
use crate::shift;
use crate::words::{number, percent, short, supported};
use seawall::{Result, Watch, WorstCase};
use serde::Serialize;

/// Pairs shown; the others are counted.
const SHOWN: usize = 6;
/// Moves told of the population that is worst for the leader beside its rival.
const MOVES: usize = 3;

/// One policy beside others, in the same population.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    /// The policy that the others are compared with.
    policy: String,
    charts: Vec<Chart>,
    rows: Vec<Row>,
    /// The rival that it could lose most to where the slider begins, and who would have to become
    /// whom for that.
    rival: String,
    moves: Vec<Live>,
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
    loaded: &Loaded,
    found: &Evaluation,
    stops: &Stops,
    start: usize,
    marks: &[Mark],
    texts: &mut Texts,
    watch: Watch<'_>,
) -> Result<Option<Differences>> {
    let leads = leader(found, start);
    let (Some(first), Some(rival)) = (found.policies.get(leads), closest(found, leads, start))
    else {
        return Ok(None);
    };
    let policy = first.name.clone();
    let own: Vec<&Comparison> = found.comparisons.iter().filter(|c| c.policy == policy).collect();
    let moves = moves(loaded, found, rival, texts, watch)?;
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
    let rival = rival.against.clone();
    Ok(Some(Differences { policy, charts, rows, rival, moves, left_out, sentences }))
}

/// Who would have to become whom for a policy to be worst beside another, at every stop.
fn moves(
    loaded: &Loaded,
    found: &Evaluation,
    pair: &Comparison,
    texts: &mut Texts,
    watch: Watch<'_>,
) -> Result<Vec<Live>> {
    let named = |name: &str| found.policies.iter().find(|p| p.name == name).map(|p| &p.policy);
    let (Some(policy), Some(against)) = (named(&pair.policy), named(&pair.against)) else {
        return Ok(Vec::new());
    };
    let question = &found.question;
    let worst = worst_populations(loaded, question, (policy, against), watch)?;
    let set = question.context.set;
    let told = |case: &WorstCase| -> Vec<String> {
        if !set.moves_mass() {
            let change = shift::main_change(case, set);
            return change.into_iter().map(|words| format!("a population with {words}")).collect();
        }
        let each = |m: &shift::Moves| {
            format!("{} of people: {}", percent(m.mass), shift::phrase(&m.changes, isolated))
        };
        let space = case.nominal().space();
        shift::commonest(space, case.plan().iter(), MOVES).iter().map(each).collect()
    };
    let by_stop: Vec<Vec<String>> = worst.iter().map(told).collect();
    let line = |k: usize| {
        let text = |stop: &Vec<String>| stop.get(k).cloned().unwrap_or_default();
        texts.add(by_stop.iter().map(text))
    };
    Ok((0..MOVES).map(line).collect())
}

fn row(c: &Comparison, texts: &mut Texts) -> Row {
    let digits = |x: f64, r: &DifferenceValue| match r.shown_se() {
        se if se.is_nan() => number(x),
        se => supported(x, se),
    };
    let has_interval = c.results.iter().any(|r| r.shown().is_some());
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

//! Pairs of policies in one population, against the radius: the chart, its table, and sentences.

use crate::chart::{Chart, Ground, Series, charts};
use crate::csv;
use crate::digits::difference;
use crate::drivers;
use crate::live::{Live, Texts};
use crate::sentences::isolated;
use seawall::WorstCase;
use seawall_study::evaluate::{Comparison, DifferenceValue, Verdict};
use seawall_study::report::{ReportAnswers, closest, leader};
use seawall_study::shift;
use seawall_study::words::{estimate_if, percent, short};
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
    /// The numbers beneath the chart, to save.
    csv: String,
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
    answers: &ReportAnswers,
    ground: Ground<'_>,
    texts: &mut Texts,
) -> Option<Differences> {
    let (found, start) = (&answers.evaluation, answers.slider.start);
    let leads = leader(found, start);
    let (first, rival) = (found.policies.get(leads)?, closest(found, leads, start)?);
    let policy = first.name.clone();
    let own: Vec<&Comparison> = found.comparisons.iter().filter(|c| c.policy == policy).collect();
    let moves = moves(answers, texts);
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
            values: c.results.iter().map(|r| r.bounds.worst.value).collect(),
            band: ends(DifferenceValue::shown),
            colour,
            broken: false,
        });
        series.push(Series {
            curve: turned(c).and_then(|o| o.curves.first()).map(|curve| (curve, -1.0)),
            values: c.results.iter().map(|r| r.bounds.best.value).collect(),
            band: ends(DifferenceValue::best_shown),
            colour,
            broken: true,
        });
    }
    let charts = charts(&series, true, ground, texts);
    let rows = own.iter().take(SHOWN).map(|c| row(c, texts)).collect();
    let leading = found.comparisons.iter().filter(|c| c.leads());
    let mut sentences: Vec<String> = leading.map(|c| c.sentence(isolated)).collect();
    sentences.dedup();
    sentences.truncate(2 * SHOWN);
    let left_out = own.len().saturating_sub(SHOWN);
    let rival = rival.against.clone();
    let csv = saved(&own);
    Some(Differences { policy, charts, csv, rows, rival, moves, left_out, sentences })
}

/// Every number of every pair, to save.
fn saved(pairs: &[&Comparison]) -> String {
    let columns = [
        "radius",
        "policy",
        "against",
        "worst",
        "worst_limit_low",
        "worst_limit_high",
        "best",
        "best_limit_low",
        "best_limit_high",
    ];
    let rows = pairs.iter().flat_map(|c| {
        c.results.iter().map(|r| {
            let (worst, best) = (r.shown(), r.best_shown());
            vec![
                csv::exact(r.radius),
                c.policy.clone(),
                c.against.clone(),
                csv::exact(r.bounds.worst.value),
                csv::exact_if(worst.map(|w| w.0)),
                csv::exact_if(worst.map(|w| w.1)),
                csv::exact(r.bounds.best.value),
                csv::exact_if(best.map(|b| b.0)),
                csv::exact_if(best.map(|b| b.1)),
            ]
        })
    });
    csv::table(&columns, rows)
}

/// Who would have to become whom for a policy to be worst beside another, at every stop.
fn moves(answers: &ReportAnswers, texts: &mut Texts) -> Vec<Live> {
    if answers.rival_populations.is_empty() {
        return Vec::new();
    }
    let set = answers.question.context.set;
    let told = |case: &WorstCase| -> Vec<String> {
        if !set.moves_mass() {
            let change = shift::main_change(case, set);
            return change.into_iter().map(|words| format!("a population with {words}")).collect();
        }
        let each = |m: &drivers::Moves| {
            format!("{} of people: {}", percent(m.mass), drivers::phrase(&m.changes, isolated))
        };
        let space = case.nominal().space();
        drivers::commonest(space, case.plan().iter(), MOVES).iter().map(each).collect()
    };
    let by_stop: Vec<Vec<String>> = answers.rival_populations.iter().map(told).collect();
    let line = |k: usize| {
        let text = |stop: &Vec<String>| stop.get(k).cloned().unwrap_or_default();
        texts.add(by_stop.iter().map(text))
    };
    (0..MOVES).map(line).collect()
}

fn row(c: &Comparison, texts: &mut Texts) -> Row {
    let plain = c.estimate();
    let plain_se = plain.map_or(f64::NAN, |e| e.se);
    let digits = |x: f64, r: &DifferenceValue| difference(r, plain_se).of(x);
    let has_interval = c.results.iter().any(|r| r.shown().is_some());
    let shown = |r: &DifferenceValue| match r.shown() {
        Some((low, high)) => format!("{} to {}", digits(low, r), digits(high, r)),
        None => String::new(),
    };
    let words = |k: usize| match c.verdict(k) {
        Verdict::Better => "better in every population",
        Verdict::Worse => "worse in every population",
        Verdict::Depends => "depends on the population",
        Verdict::Undecided => "undecided",
    };
    Row {
        against: c.against.clone(),
        worst: texts.add(c.results.iter().map(|r| digits(r.bounds.worst.value, r))),
        interval: has_interval.then(|| texts.add(c.results.iter().map(shown))),
        best: texts.add(c.results.iter().map(|r| digits(r.bounds.best.value, r))),
        verdict: texts.add((0..c.results.len()).map(|k| words(k).to_owned())),
        nominal: estimate_if(plain.as_ref()),
        certain: match c.robustness_radius.plug_in.value {
            r if r.is_infinite() => "any".to_owned(),
            r => short(r),
        },
    }
}

//! All of a study's results, worded for the page.

use crate::axis::RadiusAxis;
use crate::chart::{Ground, Series};
use crate::live::{Live, Texts};
use crate::marks::{Mark, marks};
use crate::worst::{Row, Studied};
use crate::{
    assumptions, chart, differences, effects, methods, policies, populations, sentences, sets,
    transfer, worst,
};
use seawall::{Direction, Result};
use seawall_study::evaluate::{self, Evaluation};
use seawall_study::report::{ReportAnswers, Slider};
use seawall_study::words::{away, number};
use serde::Serialize;

/// All of a study's results, worded for its page.
#[derive(Debug, Serialize)]
pub struct Report {
    title: String,
    study: String,
    direction: Direction,
    caption: String,
    away: String,
    transport: bool,
    question: Live,
    answer: Live,
    /// What the answer rests on: in short, and at length.
    rests_on: String,
    assumptions: Vec<String>,
    radius: Live,
    stop_count: usize,
    start: usize,
    rows: Vec<Row>,
    entropic: bool,
    level: Option<f64>,
    halved: bool,
    claims: Option<Live>,
    charts: Vec<chart::Chart>,
    /// The numbers beneath the chart, to save.
    csv: String,
    marks: Vec<Mark>,
    differences: Option<differences::Differences>,
    studied: Studied,
    pub(crate) transfer: Option<transfer::Section>,
    pub(crate) sets: Option<sets::Section>,
    /// Whether any policy was learned.
    learned: bool,
    populations: Vec<populations::Shifted>,
    policies: Vec<policies::Explained>,
    effects: Option<effects::Effects>,
    evaluation: Evaluation,
    notes: Vec<String>,
    methods: Vec<(&'static str, String)>,
    text: String,
    #[serde(skip)]
    pub(crate) texts: Texts,
}

/// Words and draws everything.
pub fn report(answers: ReportAnswers) -> Result<Report> {
    let ReportAnswers { request, study, question, slider, learned, evaluation: found, .. } =
        &answers;
    let Slider { own, costs, stops, start, .. } = slider;
    let start = *start;
    let mut texts = Texts::new(start);
    let marks = marks(stops, found);
    let series: Vec<Series<'_>> = found.policies.iter().enumerate().map(series).collect();
    let matter = own.iter().copied().chain(marks.iter().map(|m| m.radius));
    let axis = RadiusAxis::new(stops.largest, matter);
    let ground = Ground { stops, axis, marks: &marks };
    let charts = chart::charts(&series, false, ground, &mut texts);
    let differences = differences::differences(&answers, ground, &mut texts);
    // As many halves as there were, if any.
    let halves = found.question.halves;
    let estimated = question.context.set.needs_actions().then_some(question.level);
    let level = halves.map(|h| h.level).or(estimated);
    let shifted = |p| populations::shifted(p, &found.population, question.context.set, &mut texts);
    let populations = found.policies.iter().map(shifted).collect::<Result<_>>()?;
    let explained = |(k, p): (usize, &evaluate::PolicyResult)| {
        let first = found.policies.len() - learned.len();
        let answer = k.checked_sub(first).map(|k| &learned[k].1);
        policies::explained(&p.policy, &answers.basis, answer)
    };
    let file_name = study.path().file_stem().map_or(String::new(), |s| s.to_string_lossy().into());
    Ok(Report {
        title: study.report.title.clone().unwrap_or(file_name),
        study: study.path().display().to_string(),
        direction: found.direction,
        caption: sentences::caption(question, costs, found.direction),
        rests_on: assumptions::in_short(&answers),
        assumptions: assumptions::assumptions(&answers),
        away: away(question.context.set, study.data.scale),
        transport: question.context.set.moves_mass(),
        question: sentences::question(study, question, found, &mut texts),
        answer: sentences::answer(found, &stops.radii, level, &mut texts),
        radius: texts.add(stops.radii.iter().map(|r| number(*r))),
        stop_count: stops.radii.len(),
        start,
        rows: found.policies.iter().map(|p| worst::row(p, &mut texts)).collect(),
        entropic: found
            .policies
            .iter()
            .flat_map(|p| &p.results)
            .any(|r| r.solve.exact_lower.is_some()),
        level,
        halved: halves.is_some(),
        claims: sentences::claims(found, start, &mut texts),
        charts,
        csv: worst::saved(found),
        differences,
        studied: worst::studied(found, &answers.other_costs, slider),
        transfer: request.transfer.as_ref().map(transfer::section),
        sets: request.compare.as_ref().map(sets::section),
        learned: !learned.is_empty(),
        populations,
        policies: found.policies.iter().enumerate().map(explained).collect(),
        effects: effects::effects(&answers.explanation),
        notes: notes(found, slider),
        methods: methods::methods(&answers),
        text: study.text().to_owned(),
        marks,
        evaluation: answers.evaluation,
        texts,
    })
}

/// A policy's line of the chart.
fn series((k, policy): (usize, &evaluate::PolicyResult)) -> Series<'_> {
    let shown = |r: &evaluate::RobustValue| r.shown();
    Series {
        curve: policy.curves.first().map(|curve| (curve, 1.0)),
        values: policy.results.iter().map(|r| r.worst.value).collect(),
        band: policy.results.iter().map(shown).collect::<Option<_>>(),
        colour: k,
        broken: false,
    }
}

/// What a reader should know before trusting a number.
fn notes(found: &Evaluation, Slider { chance, stops, .. }: &Slider) -> Vec<String> {
    let mut notes = found.diagnostics.notes.clone();
    if *chance > stops.largest {
        notes.push(format!(
            "chance alone is covered by radius {} only, beyond every radius shown",
            number(*chance)
        ));
    }
    notes
}

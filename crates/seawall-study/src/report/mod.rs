//! The report: everything a study says, on one self-contained HTML page.
//!
//! A radius slider moves through stops at each of which everything was solved for; the page's
//! script only swaps texts. Without the script the page shows the study's first radius, and a
//! table of all of the study's radii. Nothing on the page depends on the time or the place. Printed, it
//! is two pages: the essential, and a line about the rest.

mod assumptions;
mod axis;
mod chart;
mod csv;
mod differences;
mod digits;
mod effects;
mod history;
mod live;
mod love;
mod methods;
mod page;
mod policies;
mod populations;
mod sentences;
mod sets;
mod stops;
mod transfer;
mod worst;

pub use transfer::Transferred;

use crate::compare::Compared;
use crate::evaluate::{self, Evaluation, Halving, Question};
use crate::explain::explain;
use crate::learn::{self, LearnedPolicy, Spec};
use crate::prepare::PreparedStudy;
use crate::study::PolicySpec;
use crate::words::{away, number, short};
use axis::RadiusAxis;
use chart::{Ground, Series};
use live::{Live, Texts};
use seawall::evaluate::Support;
use seawall::{Direction, Error, Field, Progress, Result, Stage, Status, Watch};
use sentences::isolated;
use serde::Serialize;
use stops::{Mark, Stops, round_up};
use worst::{Row, Studied};

/// The class of policies that is learned where nobody says otherwise.
pub const LEARN: &str = "tree:1";

/// Chance is marked on the chart if it is no further than so many times the largest radius.
const FURTHER: f64 = 4.0;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The policies; the study's if none.
    pub policies: Vec<PolicySpec>,
    /// The support, where it is not as the study file says.
    pub support: Option<Support>,
    /// Classes of policies to learn from, as typed and as meant, at the study's first radius.
    pub learn: Vec<(String, Spec)>,
    /// How much is noise, by halves of the rows, if wanted: the bands of the charts.
    pub halves: Option<Halving>,
    /// The seed of everything random.
    pub seed: u64,
    /// What policies would cost in a target, if anything is known of one or groups are recorded.
    pub transfer: Option<Transferred>,
    /// The same policies under other sets, if wanted.
    pub compare: Option<Compared>,
}

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
    transfer: Option<transfer::Section>,
    sets: Option<sets::Section>,
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
    texts: Texts,
}

/// What the page will ask of policies, so many of them learned, as far as that is known before: what it
/// will take is told by this.
pub fn question(
    loaded: &PreparedStudy,
    (policies, learned): (&[PolicySpec], usize),
    halves: Option<Halving>,
) -> Question {
    let mut question = Question::from_study(loaded);
    if !policies.is_empty() {
        question.policies = policies.to_vec();
    }
    dedup(&mut question.policies);
    // A learned policy is valued like any other.
    question.policies.extend(std::iter::repeat_n(PolicySpec::Uniform, learned));
    let slow = stops::slow(loaded.log().contexts(), question.context.set);
    question.context.radii = Stops::new(&question.context.radii, slow).radii;
    (question.curve, question.halves) = (true, halves);
    question
}

/// Works everything out.
pub fn report(loaded: &PreparedStudy, request: &Request, watch: Watch<'_>) -> Result<Report> {
    let mut question = Question::from_study(loaded);
    if question.context.set.needs_known() {
        let what = format!(
            "is {}, which has no radius for the page to slide along; evaluate and transfer answer it",
            question.context.set.name()
        );
        return Err(Error::field(Field::Set, what));
    }
    if !request.policies.is_empty() {
        question.policies.clone_from(&request.policies);
    }
    let learned = learned(loaded, request, watch)?;
    let made = |(name, answer): &(String, LearnedPolicy)| {
        let mut file = answer.file.clone();
        file.name.clone_from(name);
        PolicySpec::Made(Box::new(file))
    };
    dedup(&mut question.policies);
    question.policies.extend(learned.iter().map(made));
    let transport = question.context.set.moves_mass();
    let own = question.context.radii.clone();
    let mut wanted = own.clone();
    let most = FURTHER * wanted.iter().copied().fold(0.0, f64::max);
    let chance = round_up(chance(loaded, &question, watch)?);
    wanted.extend(Some(chance).filter(|radius| *radius > 0.0 && *radius <= most));
    let slow = stops::slow(loaded.log().contexts(), question.context.set);
    let stops = Stops::new(&wanted, slow);
    let cost_radii = question.cost.radii.clone();
    question.context.radii.clone_from(&stops.radii);
    question.named_radii = stops.of(&own);
    question.cost.radii.truncate(1);
    question.curve = true;
    question.curve_up_to = stops.largest;
    question.halves = request.halves;
    question.level = request.halves.map_or(question.level, |h| h.level);
    let found = evaluate::evaluate(loaded, &question, watch)?;
    let first_learned = found.policies.len() - learned.len();
    let found = found.with_chosen(|k| k >= first_learned);
    let others = other_costs(loaded, &question, &own, &cost_radii, watch)?;
    watch.tell(Progress::at(Stage::Writing))?;

    let start = stops.nearest(own.iter().copied().find(|r| *r > 0.0).unwrap_or(0.0));
    let mut texts = Texts::new(start);
    let marks = marks(&stops, &found);
    let series: Vec<Series<'_>> = found.policies.iter().enumerate().map(series).collect();
    let matter = own.iter().copied().chain(marks.iter().map(|m| m.radius));
    let axis = RadiusAxis::new(stops.largest, matter);
    let ground = Ground { stops: &stops, axis, marks: &marks };
    let charts = chart::charts(&series, false, ground, &mut texts);
    let differences = differences::differences(loaded, &found, start, ground, &mut texts, watch)?;
    // As many halves as there were, if any.
    let halves = found.question.halves;
    let estimated = question.context.set.needs_actions().then_some(question.level);
    let level = halves.map(|h| h.level).or(estimated);
    let shifted = |p| populations::shifted(p, &found.population, question.context.set, &mut texts);
    let populations = found.policies.iter().map(shifted).collect::<Result<_>>()?;
    let explained = |(k, p): (usize, &evaluate::PolicyResult)| {
        let first = found.policies.len() - learned.len();
        let answer = k.checked_sub(first).map(|k| &learned[k].1);
        policies::explained(&p.policy, loaded.log(), answer)
    };
    let study = &loaded.study;
    let file_name = study.path.file_stem().map_or(String::new(), |s| s.to_string_lossy().into());
    Ok(Report {
        title: study.report.title.clone().unwrap_or(file_name),
        study: study.path.display().to_string(),
        direction: found.direction,
        caption: sentences::caption(&question, &cost_radii, found.direction),
        rests_on: assumptions::in_short(loaded, &question, &found),
        assumptions: assumptions::assumptions(loaded, &question, &found),
        away: away(question.context.set, study.scale),
        transport,
        question: sentences::question(study, &question, &found, &mut texts),
        answer: sentences::answer(&found, &stops.radii, level, &mut texts),
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
        claims: sentences::claims(&found, start, &mut texts),
        charts,
        csv: worst::saved(&found),
        differences,
        studied: worst::studied(&found, &others, &stops, &own, &cost_radii),
        transfer: request.transfer.as_ref().map(transfer::section),
        sets: request.compare.as_ref().map(sets::section),
        learned: !learned.is_empty(),
        populations,
        policies: found.policies.iter().enumerate().map(explained).collect(),
        effects: effects::effects(&explain(loaded, None, watch)?),
        notes: notes(&found, chance, &stops),
        methods: methods::methods(loaded, &found.question, request),
        text: study.text.clone(),
        marks,
        evaluation: found,
        texts,
    })
}

impl Report {
    /// The page.
    pub fn html(&self) -> Result<String> {
        page::render(self)
    }
}

/// Leaves out policies that are named again.
fn dedup(policies: &mut Vec<PolicySpec>) {
    let mut kept: Vec<PolicySpec> = Vec::new();
    policies.retain(|p| {
        let new = !kept.contains(p);
        kept.extend(new.then(|| p.clone()));
        new
    });
}

/// Learns what is asked, at the study's first positive radius.
fn learned(
    loaded: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<Vec<(String, LearnedPolicy)>> {
    let mut all: Vec<(String, LearnedPolicy)> = Vec::new();
    for (text, spec) in &request.learn {
        let name = format!("learned {text}");
        if all.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let mut asked = learn::Question::from_study(loaded, spec.clone());
        let radii = &loaded.study.context_set.radii;
        asked.context.radius = radii.iter().copied().find(|r| *r > 0.0).unwrap_or(0.0);
        asked.honest = false;
        let answer = learn::learn(loaded, &asked, None, watch)?;
        if answer.worst.status == Status::Stopped {
            return Err(Error::stopped());
        }
        all.push((name, answer));
    }
    Ok(all)
}

/// The worst cases at the study's radii for every cost radius but the first.
fn other_costs(
    loaded: &PreparedStudy,
    question: &Question,
    own: &[f64],
    cost_radii: &[f64],
    watch: Watch<'_>,
) -> Result<Option<Evaluation>> {
    if cost_radii.len() < 2 {
        return Ok(None);
    }
    let mut asked = question.clone();
    asked.context.radii = own.to_vec();
    asked.cost.radii = cost_radii[1..].to_vec();
    (asked.curve, asked.worst) = (false, false);
    (asked.compare, asked.halves) = (false, None);
    evaluate::evaluate(loaded, &asked, watch).map(Some)
}

/// The radius that covers chance for every policy; the policies' estimates are needed for it alone.
fn chance(loaded: &PreparedStudy, question: &Question, watch: Watch<'_>) -> Result<f64> {
    let mut asked = question.clone();
    asked.context.radii = vec![0.0];
    asked.cost.radii.truncate(1);
    (asked.compare, asked.worst) = (false, false);
    asked.halves = None;
    let found = evaluate::evaluate(loaded, &asked, watch)?;
    Ok(found.policies.iter().filter_map(|p| p.radii.chance).fold(0.0, f64::max))
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

/// Radii that mean something.
fn marks(stops: &Stops, found: &Evaluation) -> Vec<Mark> {
    let mut marks = Vec::new();
    let chance = found.policies.iter().filter_map(|p| p.radii.chance).fold(0.0, f64::max);
    if chance > 0.0 && chance <= stops.largest {
        marks.push(stops.mark(
            round_up(chance),
            "the worst case of every policy reaches the 95% limit of its estimate without a shift: \
             less covers no more than chance"
                .to_owned(),
        ));
    }
    let last = found.policies.iter().map(|p| p.radii.saturation).fold(0.0, f64::max);
    if last > 0.0 && last <= stops.largest {
        let words =
            "beyond, everyone sits where the values are worst: larger radii say nothing more";
        marks.push(stops.mark(last, words.to_owned()));
    }
    for c in found.comparisons.iter().filter(|c| c.leads()) {
        let radius = c.certain_radius.value;
        if radius > 0.0 && radius <= stops.largest {
            let words = format!(
                "up to here {} is, as fitted, no worse than {} in every population",
                isolated(&c.policy),
                isolated(&c.against)
            );
            let mark = stops.mark(radius, words);
            // Shown where it is, though the slider stops nearby.
            marks.push(Mark { radius, text: short(radius), ..mark });
        }
    }
    marks.sort_by(|a, b| a.radius.total_cmp(&b.radius));
    marks.truncate(26);
    marks
}

/// What a reader should know before trusting a number.
fn notes(found: &Evaluation, chance: f64, stops: &Stops) -> Vec<String> {
    let mut notes = found.diagnostics.notes.clone();
    if chance > stops.largest {
        notes.push(format!(
            "chance alone is covered by radius {} only, beyond every radius shown",
            number(chance)
        ));
    }
    notes
}

//! Everything that a report tells, worked out: what `seawall-report` words and draws.
//!
//! A radius slider moves through stops at each of which everything was solved for.

mod pairs;
mod stops;
mod transferred;

pub use pairs::{closest, leader};
pub use stops::{Stops, nice, round_up};
pub use transferred::Transferred;

use crate::compare::Compared;
use crate::evaluate::{self, Evaluation, Halving, Question, worst_populations};
use crate::explain::{Explanation, explain};
use crate::learn::{self, LearnedPolicy, Spec};
use crate::prepare::{PreparedStudy, TargetFacts};
use crate::study::{PolicySpec, Study};
use seawall::evaluate::Support;
use seawall::outcome::{ModelKind, Recipe};
use seawall::{Error, Field, Progress, Result, Space, Stage, Status, Watch, WorstCase};
use std::path::PathBuf;
use std::sync::Arc;

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

/// All that a report tells.
#[derive(Clone, Debug)]
pub struct ReportAnswers {
    /// What was asked.
    pub request: Request,
    /// The study.
    pub study: Study,
    /// What was asked of each policy, at every stop.
    pub question: Question,
    /// The radii.
    pub slider: Slider,
    /// What values are made of.
    pub basis: Basis,
    /// The policies that were learned, by name: the last ones of those evaluated.
    pub learned: Vec<(String, LearnedPolicy)>,
    /// Every policy at every stop.
    pub evaluation: Evaluation,
    /// The same at the study's own radii for every cost radius but the first.
    pub other_costs: Option<Evaluation>,
    /// The worst populations for the policy that leads where the slider begins, beside the rival that it
    /// could lose most to, at every stop; none if nothing was compared.
    pub rival_populations: Vec<WorstCase>,
    /// The outcome model, told.
    pub explanation: Explanation,
}

/// Radii of the page.
#[derive(Clone, Debug)]
pub struct Slider {
    /// The study's own.
    pub own: Vec<f64>,
    /// The study's cost radii.
    pub costs: Vec<f64>,
    /// Where the slider stops.
    pub stops: Stops,
    /// The stop where it begins.
    pub start: usize,
    /// The radius that covers chance for every policy.
    pub chance: f64,
}

/// What values are made of: columns, actions, the outcome model and the target.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The actions.
    pub actions: Vec<String>,
    /// The contexts.
    pub contexts: Arc<Space>,
    /// How outcomes are modelled.
    pub recipe: Recipe,
    /// Which kind of model that is.
    pub kind: ModelKind,
    /// How many kinds it was chosen among; 0 if the study says which.
    pub kinds: usize,
    /// The target that worst cases start from, if there is a sample of one.
    pub target: Option<TargetFacts>,
    /// The file that it was read from, if it was.
    pub target_file: Option<PathBuf>,
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
    (question.wanted.curve, question.halves) = (true, halves);
    question
}

/// Works everything out.
pub fn answers(
    loaded: &PreparedStudy,
    request: Request,
    watch: Watch<'_>,
) -> Result<ReportAnswers> {
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
    let learned = learned(loaded, &request, watch)?;
    let made = |(name, answer): &(String, LearnedPolicy)| {
        let mut file = answer.kept.file.clone();
        file.name.clone_from(name);
        PolicySpec::Made(Box::new(file))
    };
    dedup(&mut question.policies);
    question.policies.extend(learned.iter().map(made));
    let own = question.context.radii.clone();
    let mut wanted = own.clone();
    let most = FURTHER * wanted.iter().copied().fold(0.0, f64::max);
    let chance = round_up(chance(loaded, &question, watch)?);
    wanted.extend(Some(chance).filter(|radius| *radius > 0.0 && *radius <= most));
    let slow = stops::slow(loaded.log().contexts(), question.context.set);
    let stops = Stops::new(&wanted, slow);
    let cost_radii = question.cost.radii.clone();
    question.context.radii.clone_from(&stops.radii);
    question.wanted.named_radii = stops.of(&own);
    question.cost.radii.truncate(1);
    question.wanted.curve = true;
    question.wanted.curve_up_to = stops.largest;
    question.halves = request.halves;
    question.level = request.halves.map_or(question.level, |h| h.level);
    let found = evaluate::evaluate(loaded, &question, watch)?;
    let others = other_costs(loaded, &question, &own, &cost_radii, watch)?;
    watch.tell(Progress::at(Stage::Writing))?;

    let start = stops.nearest(own.iter().copied().find(|r| *r > 0.0).unwrap_or(0.0));
    let rival_populations = rival_populations(loaded, &found, start, watch)?;
    let target = loaded.target.as_ref();
    Ok(ReportAnswers {
        request,
        study: loaded.study.clone(),
        question,
        slider: Slider { own, costs: cost_radii, stops, start, chance },
        basis: Basis {
            actions: loaded.log().actions().to_vec(),
            contexts: loaded.log().contexts().clone(),
            recipe: loaded.model.recipe.clone(),
            kind: loaded.model_kind(),
            kinds: loaded.model.candidates.len(),
            target: target.map(|target| target.facts.clone()),
            target_file: target.and_then(|target| target.file.clone()),
        },
        learned,
        evaluation: found,
        other_costs: others,
        rival_populations,
        explanation: explain(loaded, None, watch)?,
    })
}

/// Who would have to become whom for the leading policy to be worst beside its rival.
fn rival_populations(
    loaded: &PreparedStudy,
    found: &Evaluation,
    start: usize,
    watch: Watch<'_>,
) -> Result<Vec<WorstCase>> {
    let Some(pair) = closest(found, leader(found, start), start) else { return Ok(Vec::new()) };
    let named = |name: &str| found.policies.iter().find(|p| p.name == name).map(|p| &p.policy);
    match (named(&pair.policy), named(&pair.against)) {
        (Some(policy), Some(against)) => {
            worst_populations(loaded, &found.question, [policy, against], watch)
        }
        _ => Ok(Vec::new()),
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
        if answer.value.worst.status == Status::Stopped {
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
    (asked.wanted.curve, asked.wanted.worst) = (false, false);
    (asked.compare, asked.halves) = (false, None);
    evaluate::evaluate(loaded, &asked, watch).map(Some)
}

/// The radius that covers chance for every policy; the policies' estimates are needed for it alone.
fn chance(loaded: &PreparedStudy, question: &Question, watch: Watch<'_>) -> Result<f64> {
    let mut asked = question.clone();
    asked.context.radii = vec![0.0];
    asked.cost.radii.truncate(1);
    (asked.compare, asked.wanted.worst) = (false, false);
    asked.halves = None;
    let found = evaluate::evaluate(loaded, &asked, watch)?;
    Ok(found.policies.iter().filter_map(|p| p.radii.chance).fold(0.0, f64::max))
}

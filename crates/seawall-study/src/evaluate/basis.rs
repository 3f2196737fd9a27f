//! What every stage of an evaluation starts from: the question as it is meant, what is fitted, the population
//! that worst cases start from, and the policies.

use super::{Question, changes, joint_sets};
use crate::prepare::PreparedStudy;
use crate::reference::Reference;
use crate::study::PolicySpec;
use seawall::evaluate::{Evaluator, Robust};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{Field, Result, Settings, Watch};
use std::sync::Arc;

/// Steps of evaluations that comparing every pair may take; beyond it the first policy alone is
/// compared with each.
const COMPARING: f64 = 3e10;
/// Evaluations that a radius takes, about.
pub(super) const EVALUATIONS: f64 = 12.0;

/// What every stage of an evaluation starts from.
pub(super) struct EvaluationBasis<'a> {
    pub(super) prepared: &'a PreparedStudy,
    /// What was asked, its set resolved for the population.
    pub(super) question: Question,
    pub(super) fitted: &'a Evaluator,
    pub(super) reference: &'a Reference,
    pub(super) robust: Arc<Robust>,
    /// The value of each action in each context, by cost radius.
    pub(super) costs: Vec<Arc<Values>>,
    pub(super) policies: Vec<AskedPolicy>,
    /// The splits by which rows are to be split, if a policy was learned on them.
    pub(super) known_splits: Option<KnownSplits>,
    /// The policies that are compared, by their places: every pair in both orders.
    pub(super) pairs: Vec<(usize, usize)>,
    /// What to know of pairs that are not compared.
    pub(super) notes: Vec<String>,
}

/// A policy that is asked about.
pub(super) struct AskedPolicy {
    pub(super) policy: Policy,
    /// How the very rows that value it chose it, if they did.
    pub(super) chosen: Option<ChosenBy>,
}

/// How the rows of a study chose a policy: each part of them chooses its own.
pub(super) enum ChosenBy {
    /// By the values of the model.
    Greedy(PolicySpec),
    /// It was learned: on the whole, and on both parts of so many splits.
    Learned(Vec<[Policy; 2]>),
    /// It was learned, and what parts would have learned is not known.
    Unknown,
}

/// The splits that learned policies remember.
#[derive(Clone, Copy)]
pub(super) struct KnownSplits {
    pub(super) seed: u64,
    pub(super) count: usize,
}

/// The study that can answer a question: on its support, with a model that keeps outcomes if these may shift.
pub(super) fn study_for(prepared: &PreparedStudy, question: &Question) -> Result<PreparedStudy> {
    let outcomes = question.shifts_outcomes() || question.context.set.needs_outcomes();
    let other = outcomes.then(|| prepared.with_outcomes()).flatten();
    other.as_ref().unwrap_or(prepared).on_support(question.support)
}

impl<'a> EvaluationBasis<'a> {
    pub(super) fn new(
        prepared: &'a PreparedStudy,
        question: &Question,
        (fitted, reference): (&'a Evaluator, &'a Reference),
        watch: Watch<'_>,
    ) -> Result<Self> {
        let settings = Settings { watch, ..Settings::default() };
        let robust = reference.robust_of(fitted, question.support, question.within())?;
        // What was left to be chosen by the population is told with the answer.
        let mut question = question.clone();
        question.context.set = question.context.set.resolved(robust.geometry())?;
        let values = |radius: &f64| {
            let values = fitted.values_on(robust.points(), question.cost.set.at(*radius), settings);
            values.map_err(|e| e.about_field(Field::CostRadius))
        };
        let costs: Vec<Arc<Values>> =
            question.cost.radii.iter().map(values).collect::<Result<_>>()?;
        if !question.context.set.needs_actions() {
            robust.check_support(question.context.set, &costs[0])?;
        }
        let (policies, known_splits) = policies(prepared, &question, &costs[0], watch)?;
        let (pairs, notes) = pairs(&question, &robust, &policies);
        Ok(EvaluationBasis {
            prepared,
            question,
            fitted,
            reference,
            robust,
            costs,
            policies,
            known_splits,
            pairs,
            notes,
        })
    }
}

/// Refuses what a study cannot be asked.
pub(super) fn check(prepared: &PreparedStudy, question: &Question) -> Result<()> {
    if let Some(by) = &question.by {
        super::by::feature(prepared, by)?;
    }
    if question.cost.set.needs_known() || question.cost.set.needs_actions() {
        return Err(changes::cost_set_refused(question.cost.set));
    }
    joint_sets::check(prepared, question)
}

/// The policies that are asked about, each under a name of its own.
fn policies(
    prepared: &PreparedStudy,
    question: &Question,
    values: &Values,
    watch: Watch<'_>,
) -> Result<(Vec<AskedPolicy>, Option<KnownSplits>)> {
    let mut policies: Vec<AskedPolicy> = Vec::new();
    let mut known: Option<KnownSplits> = None;
    for spec in &question.policies {
        let policy = prepared.policy(spec, values, watch).map_err(|e| match spec.plain() {
            PolicySpec::File(_) => e,
            _ => e.within(prepared.study.path().display()),
        })?;
        let policy =
            with_unique_name(policy, |name| policies.iter().any(|p| p.policy.name() == name));
        let chosen = chosen(prepared, spec, &mut known)?;
        policies.push(AskedPolicy { policy, chosen });
    }
    Ok((policies, known))
}

/// How the rows of a study chose a policy, if they did; `known` are the splits that policies before it remember.
fn chosen(
    prepared: &PreparedStudy,
    spec: &PolicySpec,
    known: &mut Option<KnownSplits>,
) -> Result<Option<ChosenBy>> {
    if prepared.study.is_greedy(spec) {
        return Ok(Some(ChosenBy::Greedy(spec.clone())));
    }
    let Some(file) = prepared.saved_policy(spec)? else { return Ok(None) };
    let (log, data) = (prepared.log(), prepared.log().fingerprint());
    let Some(own) = file.learned_on.as_ref().filter(|own| own.data.rows == data.rows) else {
        return Ok(None);
    };
    let seed = known.map_or(own.seed, |known| known.seed);
    if own.parts.is_empty() || own.data != data || own.seed != seed {
        return Ok(Some(ChosenBy::Unknown));
    }
    let parts = file.parts_on(log.contexts(), log.actions())?;
    let count = known.map_or(parts.len(), |known| known.count.min(parts.len()));
    *known = Some(KnownSplits { seed, count });
    Ok(Some(ChosenBy::Learned(parts)))
}

/// A policy under a name that no other has: files of one kind of policy are called alike.
pub(crate) fn with_unique_name(policy: Policy, taken: impl Fn(&str) -> bool) -> Policy {
    let own = policy.name().to_owned();
    let free = (2..).map(|k| format!("{own} ({k})")).find(|name| !taken(name));
    match free.filter(|_| taken(&own)) {
        Some(name) => policy.named(name),
        None => policy,
    }
}

/// The pairs that are compared, in both orders, and what to know where those are not all.
fn pairs(
    question: &Question,
    robust: &Robust,
    policies: &[AskedPolicy],
) -> (Vec<(usize, usize)>, Vec<String>) {
    if !question.compares() {
        return (Vec::new(), Vec::new());
    }
    if question.context.set.needs_actions() {
        let note = format!(
            "policies are not compared in one population: under {} that would take what one person meets \
             under both, and a log has one of them",
            question.context.set.name()
        );
        return (Vec::new(), vec![note]);
    }
    let count = policies.len();
    let radii = question.context.radii.len() as f64;
    let work = (count * (count - 1)) as f64 * (radii + 1.0) * EVALUATIONS * robust.work();
    let all = count <= 3 || work <= COMPARING;
    let note = (!all).then(|| {
        format!(
            "{count} policies are too many to compare every pair of in this space: each is compared \
             with {} alone",
            policies[0].policy.name()
        )
    });
    let wanted = |&(a, b): &(usize, usize)| a != b && (all || a == 0 || b == 0);
    let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    (pairs.filter(wanted).collect(), note.into_iter().collect())
}

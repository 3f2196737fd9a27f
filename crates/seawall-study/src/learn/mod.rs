//! Learning a policy from a study: from the question to a policy file and what is known of it.

mod by_group;
mod changes;
mod described;
mod found;
mod honest;
mod question;
mod result;
mod spec;

pub use by_group::by_group;
pub use changes::Changes;
pub use question::{ACCURACY, CONTEXTS, Limits, Method, Plan, Question};
pub use result::{
    AgainstResult, GroupsResult, HeldOutDifference, HonestResult, HonestValue, KeptPolicy,
    LearnDetails, LearnHeldOut, LearnShift, LearnSupport, LearnedPolicy, LearnedValue,
    MixtureResult, RunsResult,
};
pub use spec::Spec;

pub(crate) use honest::SPLITS;

use described::{names, parameters};

use crate::prepare::PreparedStudy;
use found::{Found, baseline, worst_of};
use seawall::evaluate::Support;
use seawall::learn::{Descent, Mixture, Schedule, State};
use seawall::policy::Policy;
use seawall::policy::file::{LearnedOn, PolicyFile};
use seawall::{Direction, Result, Status, Watch};
use serde_json::json;
use std::time::Instant;

/// Learns what is asked; `state` goes on from where stochastic runs stopped.
pub fn learn(
    prepared: &PreparedStudy,
    question: &Question,
    state: Option<State>,
    watch: Watch<'_>,
) -> Result<LearnedPolicy> {
    let start = Instant::now();
    let prepared = &prepared.on_support(question.support)?;
    let log = prepared.log();
    let found = Found::new(prepared, prepared.fitted(watch)?, question, state, watch)?;
    let (held_out, learned_on) = held_out(prepared, question, &found, watch)?;
    let (learned, actions) = (&found.learned, log.actions());
    let rule = learned.policy().rule();
    let mut file = PolicyFile::new(learned.policy(), log.contexts(), actions)?
        .learned_on(learned_on, log.contexts())?;
    file.name = question.policy.text();
    Ok(LearnedPolicy {
        policy: file.name.clone(),
        method: learned.method(),
        shift: LearnShift::new(prepared, question, &found),
        value: LearnedValue::new(log.direction(), &found),
        parameters: parameters(rule, actions),
        seconds: start.elapsed().as_secs_f64(),
        details: LearnDetails {
            mixture: learned.mixture().map(|m| mixture(m, actions)),
            runs: found.descent.as_ref().map(|(descent, schedule)| runs(descent, *schedule)),
            against: found.against.clone(),
            balance: found.balance.clone(),
        },
        held_out,
        groups: None,
        kept: KeptPolicy {
            words: file.explain(),
            file,
            names: names(rule, actions),
            state: found.descent.map(|(descent, _)| descent.state),
        },
        question: question.clone(),
    })
}

/// The policy's value on rows that did not choose it, and what is kept of those that did. A run that was stopped keeps
/// its policy; what was left to do is left out.
fn held_out(
    prepared: &PreparedStudy,
    question: &Question,
    found: &Found,
    watch: Watch<'_>,
) -> Result<(LearnHeldOut, LearnedOn)> {
    let set = question.context.set;
    let (data, seed) = (prepared.log().fingerprint(), honest::seed(prepared, question));
    let alone = LearnedOn { data, seed, parts: Vec::new() };
    let none = |why: Option<String>| LearnHeldOut { honest: None, no_honest: why };
    if set.needs_actions() {
        let why = format!("{} is not learned on halves", set.name());
        return Ok((none(Some(why)), alone));
    }
    if !question.honest || found.learned.status() == Status::Stopped {
        return Ok((none(None), alone));
    }
    Ok(match honest::halves(prepared, question, watch) {
        Ok((found, learned_on)) => {
            (LearnHeldOut { honest: Some(found), no_honest: None }, learned_on)
        }
        Err(error) if error.is_stopped() => (none(None), alone),
        // What one half of the rows cannot answer is no reason to lose the policy.
        Err(error) => (none(Some(error.to_string())), alone),
    })
}

impl LearnShift {
    fn new(prepared: &PreparedStudy, question: &Question, found: &Found) -> Self {
        LearnShift {
            set: question.context.set,
            radius: question.context.radius,
            column_radii: question.column_radii.clone(),
            cost_set: question.cost.set,
            cost_radius: question.cost.radius,
            support: match (question.support, found.sampled) {
                (_, true) => LearnSupport::Sampled,
                (Support::Observed, _) => LearnSupport::Observed,
                (Support::Space, _) => LearnSupport::Space,
                _ => LearnSupport::Grid,
            },
            in_target: prepared.target.is_some() || found.balance.is_some(),
        }
    }
}

impl LearnedValue {
    fn new(direction: Direction, found: &Found) -> Self {
        LearnedValue {
            direction,
            worst: found.learned.certified(),
            exact_lower: found.exact.map(|e| e.lower),
            exact_upper: found.exact.map(|e| e.upper),
            iterations: found.learned.iterations(),
            greedy_floor: match direction {
                Direction::Cost => found.floor.lower,
                Direction::Reward => found.floor.upper,
            },
            greedy: found.floor,
            nominal_value: found.nominal,
        }
    }
}

fn mixture(mixture: &Mixture, actions: &[String]) -> MixtureResult {
    let part = |(share, policy): &(f64, Policy)| json!({"share": share, "parameters": parameters(policy.rule(), actions)});
    MixtureResult {
        value: mixture.value(),
        lower: mixture.lower(),
        upper: mixture.upper(),
        parts: mixture.parts().iter().map(part).collect(),
    }
}

fn runs(descent: &Descent, schedule: Schedule) -> RunsResult {
    let count = descent.values.len() as f64;
    let mean = descent.values.iter().sum::<f64>() / count;
    let squares: f64 = descent.values.iter().map(|v| (v - mean).powi(2)).sum();
    RunsResult {
        count: descent.values.len(),
        lambda: descent.lambda,
        mean,
        sd: (squares / (count - 1.0).max(1.0)).sqrt(),
        schedule,
    }
}

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
    AgainstResult, GroupsResult, HeldOutDifference, HonestResult, HonestValue, LearnSupport,
    LearnedPolicy, MixtureResult, RunsResult,
};
pub use spec::Spec;

pub(crate) use honest::SPLITS;

use described::{names, parameters};

use crate::prepare::PreparedStudy;
use found::{Found, baseline, worst_of};
use seawall::evaluate::Support;
use seawall::learn::{Descent, Schedule, State};
use seawall::policy::file::PolicyFile;
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
    // A run that was stopped keeps its policy; what was left to do is left out.
    let (mut halves, mut no_halves) = (None, None);
    let set = question.context.set;
    if set.needs_actions() {
        no_halves = Some(format!("{} is not learned on halves", set.name()));
    } else if question.honest && found.learned.status() != Status::Stopped {
        match honest::halves(prepared, question, watch) {
            Ok(found) => halves = Some(found),
            Err(error) if error.is_stopped() => {}
            // What one half of the rows cannot answer is no reason to lose the policy.
            Err(error) => no_halves = Some(error.to_string()),
        }
    }
    let (learned, actions) = (&found.learned, log.actions());
    let rule = learned.policy().rule();
    let mut file = PolicyFile::new(learned.policy(), log.contexts(), actions)?;
    file.name = question.policy.text();
    Ok(LearnedPolicy {
        policy: file.name.clone(),
        method: learned.method(),
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
        direction: log.direction(),
        worst: learned.certified(),
        exact_lower: found.exact.map(|e| e.lower),
        exact_upper: found.exact.map(|e| e.upper),
        iterations: learned.iterations(),
        greedy_floor: match log.direction() {
            Direction::Cost => found.floor.lower,
            Direction::Reward => found.floor.upper,
        },
        greedy: found.floor,
        nominal_value: found.nominal,
        in_target: prepared.target.is_some() || found.balance.is_some(),
        parameters: parameters(rule, actions),
        seconds: start.elapsed().as_secs_f64(),
        mixture: learned.mixture().map(|m| MixtureResult {
            value: m.value(),
            lower: m.lower(),
            upper: m.upper(),
            parts: m
                .parts()
                .iter()
                .map(|(share, p)| json!({"share": share, "parameters": parameters(p.rule(), actions)}))
                .collect(),
        }),
        runs: found.descent.as_ref().map(|(descent, schedule)| runs(descent, *schedule)),
        against: found.against.clone(),
        balance: found.balance.clone(),
        honest: halves,
        no_honest: no_halves,
        groups: None,
        words: file.explain(),
        file,
        names: names(rule, actions),
        state: found.descent.map(|(descent, _)| descent.state),
        question: question.clone(),
    })
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

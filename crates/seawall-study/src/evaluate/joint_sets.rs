//! Sets that are about people with their actions and outcomes: what cannot be asked of them, and what is
//! known of their values beside bounds.

use super::Question;
use super::basis::EvaluationBasis;
use super::values::SolvedShift;
use crate::prepare::PreparedStudy;
use crate::words::number;
use seawall::evaluate::{Estimate, Evaluator, JointEstimate};
use seawall::policy::Policy;
use seawall::{Error, Field, JointSet, Result, Set, Settings, Watch};

/// Refuses what such a set has no meaning for: outcomes that shift once more, and another population than
/// the log's.
pub(super) fn check(prepared: &PreparedStudy, question: &Question) -> Result<()> {
    let set = question.context.set;
    if !set.needs_actions() {
        return Ok(());
    }
    let name = set.name();
    if question.shifts_outcomes() {
        let radius = question.cost.radii.iter().copied().find(|r| *r > 0.0).unwrap_or(0.0);
        let what = format!(
            "is {radius}: {name} shifts people together with their outcomes, which a cost radius would \
             shift twice; expected 0"
        );
        return Err(Error::field(Field::CostRadius, what));
    }
    if prepared.target.is_some() || !prepared.study.target.known.is_empty() {
        let what = format!(
            "is {name}, which starts from the log's own people: not from a target's, nor from what is \
             known of one"
        );
        return Err(Error::field(Field::Set, what).advise(Field::Set, &["kl", "wasserstein"]));
    }
    Ok(())
}

/// Each radius's value as an estimate with its standard error, where the set has one.
pub(super) fn estimates(
    question: &Question,
    fitted: &Evaluator,
    policy: &Policy,
    settings: Settings<'_>,
) -> Result<Vec<Option<JointEstimate>>> {
    let (set, radii) = (question.context.set, &question.context.radii);
    let level = |e: JointEstimate| e.at_level(question.level);
    let all = if set.needs_actions() {
        fitted.joint_estimates(policy, set, radii, settings)?
    } else {
        vec![None; radii.len()]
    };
    Ok(all.into_iter().map(|e| e.map(level)).collect())
}

/// What the set says if nothing shifts, where it says so itself.
pub(super) fn estimate(
    question: &Question,
    fitted: &Evaluator,
    policy: &Policy,
    watch: Watch<'_>,
) -> Result<Option<Estimate>> {
    let set = question.context.set;
    if !set.needs_actions() {
        return Ok(None);
    }
    let settings = Settings { watch, ..Settings::default() };
    let found = fitted.joint_estimates(policy, set, &[0.0], settings)?;
    Ok(found.first().copied().flatten().map(|e| e.estimate))
}

/// What a policy's worst cases rest on that no data can say: how a person's outcomes under two actions go
/// together; and that it loses what every policy does, where nobody can move.
pub(super) fn notes(
    basis: &EvaluationBasis<'_>,
    policy: &Policy,
    values: &[SolvedShift],
    watch: Watch<'_>,
) -> Result<Vec<String>> {
    let Set::Joint(JointSet::Wasserstein(set)) = basis.question.context.set else {
        return Ok(Vec::new());
    };
    let alike = basis.robust.loses_alike(policy, set, watch)?;
    let alike = alike.map(|told| told.trim_end_matches('.').replacen("Nobody", "nobody", 1));
    let apart = |best: f64, value: f64| (best - value).abs() > 1e-9 * value.abs().max(1.0);
    let told = values.iter().rev().find_map(|v| {
        let best = v.solve.best_coupling.filter(|best| apart(*best, v.worst.value))?;
        Some(format!(
            "at radius {} the worst case of {} is {} if a person's outcomes under two actions go together \
             as badly as they can, and {} if as kindly: no data can say, for nobody is seen under both",
            v.shift.radius_words(),
            policy.name(),
            number(v.worst.value),
            number(best)
        ))
    });
    Ok(alike.into_iter().chain(told).collect())
}

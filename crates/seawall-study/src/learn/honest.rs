//! Learned on one half of the rows, valued on the other, in both directions of several sample splits: with
//! the best constant policy and the baseline beside it, on the same halves.

use super::{Found, HeldOutDifference, HonestResult, HonestValue, Question, baseline, worst_of};
use crate::prepare::PreparedStudy;
use crate::reference::TargetEstimator;
use crate::study::PolicySpec;
use rayon::prelude::*;
use seawall::evaluate::{Evaluator, Propensity, Robust, Support, ValueRange};
use seawall::outcome::Values;
use seawall::policy::file::LearnedOn;
use seawall::policy::{Policy, Rule};
use seawall::{Detail, Error, Log, Result, Settings, Status, Watch};
use std::sync::Arc;

/// Sample splits: one alone says little (its difference to another policy may have either sign), and each
/// learns twice.
pub(crate) const SPLITS: usize = 5;

/// One half of the rows, fitted.
struct Half<'a> {
    question: &'a Question,
    fitted: Evaluator,
    range: ValueRange,
    robust: Arc<Robust>,
    settings: Settings<'a>,
}

impl<'a> Half<'a> {
    fn new(
        prepared: &PreparedStudy,
        question: &'a Question,
        fitted: Evaluator,
        watch: Watch<'a>,
    ) -> Result<Self> {
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let robust = prepared.robust(&fitted, question.support, question.within())?;
        let range = fitted.value_range_on(robust.points(), question.cost, settings)?;
        Ok(Half { question, fitted, range, robust, settings })
    }

    /// A policy's worst case here, or the worst difference to a baseline.
    fn worst(&self, policy: &Policy, baseline: Option<&Policy>) -> Result<f64> {
        let (within, range) = (self.question.context, &self.range);
        let worst = worst_of(&self.robust, within, policy, baseline, range, self.settings)?;
        match worst.status() {
            Status::Stopped => Err(Error::stopped()),
            _ => Ok(worst.value()),
        }
    }

    /// The constant policy that does best here.
    fn best_constant(&self, baseline: Option<&Policy>) -> Result<Policy> {
        let (log, sign) = (self.fitted.log(), self.robust.direction().sign());
        let mut best: Option<(f64, Policy)> = None;
        for action in log.actions() {
            let policy = Policy::constant(log, action)?;
            let value = sign * self.worst(&policy, baseline)?;
            if best.as_ref().is_none_or(|(known, _)| value < *known) {
                best = Some((value, policy));
            }
        }
        let best = best.ok_or_else(|| Error::internal("a log without actions"))?;
        Ok(best.1)
    }
}

/// What a policy is worth on the held-out half of one direction of a split.
struct HeldOutValue {
    policy: String,
    worst: f64,
    nominal: f64,
}

impl HeldOutValue {
    /// A policy's worst case on a half, and its doubly robust estimate: in the target if there is one.
    fn new(
        (half, there): (&Half<'_>, Option<&TargetEstimator<'_>>),
        policy: &Policy,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let nominal = match there {
            Some(there) => there.estimates(policy)?.dr,
            None => half.fitted.nominal(policy, watch)?.dr,
        };
        let nominal = nominal.map_or(f64::NAN, |e| e.value);
        Ok(HeldOutValue {
            policy: policy.name().to_owned(),
            worst: half.worst(policy, None)?,
            nominal,
        })
    }
}

/// One direction of a split: the learned policy, and those it is compared with.
struct Direction {
    rule: Rule,
    objective: f64,
    learned: HeldOutValue,
    constant: HeldOutValue,
    baseline: HeldOutValue,
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len() as f64;
    numbers.sum::<f64>() / count
}

/// The learned policy less another, over all splits: both directions of a split are one after the other.
fn difference(
    all: &[Direction],
    other: fn(&Direction) -> &HeldOutValue,
    of: fn(&HeldOutValue) -> f64,
) -> HeldOutDifference {
    let each: Vec<f64> = all.iter().map(|d| of(&d.learned) - of(other(d))).collect();
    let squares = each.chunks_exact(2).map(|pair| (pair[0] - pair[1]).powi(2) / 4.0);
    HeldOutDifference { value: mean(each.iter().copied()), se: mean(squares).sqrt() }
}

/// Another policy's values on the same halves.
fn compared(all: &[Direction], other: fn(&Direction) -> &HeldOutValue) -> HonestValue {
    let mut names: Vec<&str> = all.iter().map(|d| other(d).policy.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    HonestValue {
        policy: names.join(" / "),
        value: mean(all.iter().map(|d| other(d).worst)),
        nominal_value: mean(all.iter().map(|d| other(d).nominal)),
        difference: difference(all, other, |h| h.worst),
        nominal_difference: difference(all, other, |h| h.nominal),
    }
}

/// What is compared with where there is no baseline: what the log did; or, on the whole space, where
/// that is not known, each action as often as the others.
pub(super) fn usual(
    prepared: &PreparedStudy,
    question: &Question,
    values: &Values,
    watch: Watch<'_>,
) -> Result<Policy> {
    let known =
        question.support != Support::Space || matches!(prepared.propensity, Propensity::Design(_));
    let spec = if known { PolicySpec::Behaviour } else { PolicySpec::Uniform };
    prepared.policy(&spec, values, watch)
}

/// The seed by which rows are split.
pub(super) fn seed(prepared: &PreparedStudy, question: &Question) -> u64 {
    prepared.study.deals.seed.wrapping_add(question.gradient.seed)
}

/// Learns on one half and values on the other, both ways, for several splits. With the rules that were learned.
pub(super) fn halves(
    prepared: &PreparedStudy,
    question: &Question,
    watch: Watch<'_>,
) -> Result<(HonestResult, LearnedOn)> {
    let seed = seed(prepared, question);
    let directions = |split: usize| -> Result<[Direction; 2]> {
        let folds = prepared.log().split(seed, split)?;
        let (a, b) = (folds.only(0)?.shared(), folds.only(1)?.shared());
        Ok([
            direction(prepared, question, (&a, &b), watch)?,
            direction(prepared, question, (&b, &a), watch)?,
        ])
    };
    let all: Vec<[Direction; 2]> =
        (0..SPLITS).into_par_iter().map(directions).collect::<Result<_>>()?;
    let all: Vec<Direction> = all.into_iter().flatten().collect();
    let found = HonestResult {
        value: mean(all.iter().map(|d| d.objective)),
        worst_case: mean(all.iter().map(|d| d.learned.worst)),
        nominal_value: mean(all.iter().map(|d| d.learned.nominal)),
        splits: SPLITS,
        halves: all.iter().map(|d| d.objective).collect(),
        best_constant: compared(&all, |d| &d.constant),
        baseline: compared(&all, |d| &d.baseline),
    };
    let data = prepared.log().fingerprint();
    let parts = all.into_iter().map(|direction| direction.rule).collect();
    Ok((found, LearnedOn { data, seed, parts }))
}

/// Learns on some rows and values on others.
fn direction(
    prepared: &PreparedStudy,
    question: &Question,
    (learned_on, valued_on): (&Arc<Log>, &Arc<Log>),
    watch: Watch<'_>,
) -> Result<Direction> {
    let own = prepared.fitted_to(learned_on, watch)?;
    let found = Found::new(prepared, &own, question, None, watch)?;
    if found.learned.status() == Status::Stopped {
        return Err(Error::stopped());
    }
    let own = Half::new(prepared, question, own, watch)?;
    let other = Half::new(prepared, question, prepared.fitted_to(valued_on, watch)?, watch)?;
    let reference = prepared.reference(other.fitted.log())?;
    let there = reference.estimator(&other.fitted, watch)?;
    let held_out = |policy: &Policy| HeldOutValue::new((&other, there.as_ref()), policy, watch);
    let against = baseline(prepared, question, &own.range.worst, watch)?;
    let policy = found.learned.policy();
    let usual = match &against {
        Some(policy) => policy.clone(),
        None => usual(prepared, question, &own.range.worst, watch)?,
    };
    Ok(Direction {
        rule: policy.rule().clone(),
        objective: other.worst(policy, against.as_ref())?,
        learned: held_out(policy)?,
        constant: held_out(&own.best_constant(against.as_ref())?)?,
        baseline: held_out(&usual)?,
    })
}

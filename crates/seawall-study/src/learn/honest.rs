//! Learned on one half of the rows, valued on the other, both ways: with the best constant policy and
//! the baseline beside it, on the same halves.

use super::{Found, HonestResult, HonestValue, Question, baseline, worst_of};
use crate::load::Loaded;
use crate::start::Carrier;
use crate::study::PolicySpec;
use seawall::evaluate::{Fitted, Propensity, Robust, Support, ValueRange};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{Detail, Error, Result, Settings, Status, Watch};
use std::sync::Arc;

/// One half of the rows, fitted.
struct Half<'a> {
    question: &'a Question,
    fitted: Fitted,
    range: ValueRange,
    robust: Arc<Robust>,
    settings: Settings<'a>,
}

impl<'a> Half<'a> {
    fn new(
        loaded: &Loaded,
        question: &'a Question,
        fitted: Fitted,
        watch: Watch<'a>,
    ) -> Result<Self> {
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let robust = loaded.robust(&fitted, question.support, question.within())?;
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

/// Values on the halves, summed up.
#[derive(Default)]
struct Sum {
    names: Vec<String>,
    worst: Vec<f64>,
    nominal: f64,
}

impl Sum {
    /// Adds a policy's worst case on a half, and its doubly robust estimate: in the target if there is
    /// one.
    fn add(
        &mut self,
        (half, there): (&Half<'_>, Option<&Carrier<'_>>),
        policy: &Policy,
        watch: Watch<'_>,
    ) -> Result<()> {
        if !self.names.iter().any(|name| name == policy.name()) {
            self.names.push(policy.name().to_owned());
        }
        self.worst.push(half.worst(policy, None)?);
        self.nominal += match there {
            Some(there) => there.estimates(policy)?.dr.value,
            None => half.fitted.nominal(policy, watch)?.dr.value,
        };
        Ok(())
    }

    fn mean(&self) -> HonestValue {
        let count = self.worst.len() as f64;
        HonestValue {
            policy: self.names.join(" / "),
            value: self.worst.iter().sum::<f64>() / count,
            nominal_value: self.nominal / count,
        }
    }
}

/// What is compared with where there is no baseline: what the log did; or, on the whole space, where
/// that is not known, each action as often as the others.
pub(super) fn usual(
    loaded: &Loaded,
    question: &Question,
    values: &Values,
    watch: Watch<'_>,
) -> Result<Policy> {
    let known =
        question.support != Support::Space || matches!(loaded.propensity, Propensity::Design(_));
    let spec = if known { PolicySpec::Behaviour } else { PolicySpec::Uniform };
    loaded.policy(&spec, values, watch)
}

/// Learns on one half and values on the other, both ways.
pub(super) fn halves(
    loaded: &Loaded,
    question: &Question,
    watch: Watch<'_>,
) -> Result<HonestResult> {
    let folds = loaded.log().folds(2)?;
    let (mut own, mut constant, mut base) = (Sum::default(), Sum::default(), Sum::default());
    let mut objective = Vec::new();
    for fold in 0..2 {
        let rest = loaded.fitted_to(&folds.without(fold)?.shared(), watch)?;
        let found = Found::new(loaded, &rest, question, None, watch)?;
        if found.learned.status() == Status::Stopped {
            return Err(Error::stopped());
        }
        let rest = Half::new(loaded, question, rest, watch)?;
        let here = loaded.fitted_to(&folds.only(fold)?.shared(), watch)?;
        let here = Half::new(loaded, question, here, watch)?;
        let start = loaded.start(here.fitted.log())?;
        let there = start.carrier(&here.fitted, watch)?;
        let half = (&here, there.as_ref());
        let against = baseline(loaded, question, &rest.range.worst, watch)?;
        let policy = found.learned.policy();
        objective.push(here.worst(policy, against.as_ref())?);
        own.add(half, policy, watch)?;
        constant.add(half, &rest.best_constant(against.as_ref())?, watch)?;
        let usual = match against {
            Some(policy) => policy,
            None => usual(loaded, question, &rest.range.worst, watch)?,
        };
        base.add(half, &usual, watch)?;
    }
    let value = objective.iter().sum::<f64>() / objective.len() as f64;
    let mean = own.mean();
    Ok(HonestResult {
        value,
        worst_case: mean.value,
        nominal_value: mean.nominal_value,
        halves: objective,
        best_constant: constant.mean(),
        baseline: base.mean(),
    })
}

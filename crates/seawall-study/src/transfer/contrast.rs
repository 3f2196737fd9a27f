//! What is asked of a target: a policy's value or the difference of two, and how far the worst coupling of
//! what is known is above the estimate.

use crate::prepare::PreparedStudy;
use crate::reference::{Reference, Target, TargetEstimator};
use crate::study::PolicySpec;
use seawall::evaluate::{Estimate, Evaluator, Robust, Support};
use seawall::policy::Policy;
use seawall::{Couplings, Error, Kind, Log, Result, Settings, Wasserstein, Watch};
use std::sync::Arc;

/// A policy, or the difference of two.
#[derive(Clone)]
pub(crate) struct Contrast {
    pub(crate) policy: Policy,
    pub(crate) against: Option<Policy>,
    /// Whether the one and the other are the greedy policy, which the rows choose that it is fitted to.
    pub(crate) greedy: [bool; 2],
}

impl Contrast {
    /// A policy that no row has chosen, by itself or against another.
    pub(crate) fn given(policy: Policy, against: Option<Policy>) -> Self {
        Contrast { policy, against, greedy: [false; 2] }
    }

    /// The same where the greedy policy is chosen by other rows.
    pub(crate) fn chosen_by(
        &self,
        prepared: &PreparedStudy,
        fitted: &Evaluator,
        watch: Watch<'_>,
    ) -> Result<Self> {
        if self.greedy == [false; 2] {
            return Ok(self.clone());
        }
        let settings = Settings { watch, ..Settings::default() };
        let values = fitted.values_on(&observed(fitted.log())?, Wasserstein.at(0.0), settings)?;
        let greedy = prepared.policy(&PolicySpec::Greedy, &values, watch)?;
        let chosen = |own: &Policy, is: bool| {
            if is { greedy.clone().named(own.name()) } else { own.clone() }
        };
        let against = self.against.as_ref().map(|other| chosen(other, self.greedy[1]));
        Ok(Contrast { policy: chosen(&self.policy, self.greedy[0]), against, greedy: self.greedy })
    }
}

/// The contexts that rows have.
pub(crate) fn observed(log: &Log) -> Result<Vec<usize>> {
    let population = log.population()?;
    Ok((0..population.weights().len()).filter(|&i| population.weights()[i] > 0.0).collect())
}

/// The doubly robust estimates of all contrasts.
pub(crate) fn estimates(
    estimator: &TargetEstimator<'_>,
    all: &[Contrast],
) -> Result<Vec<Estimate>> {
    let one = |c: &Contrast| {
        let found = estimator.doubly_robust(&c.policy, c.against.as_ref())?;
        found.ok_or_else(|| {
            Error::input(format!(
                "{}: no estimate in the target: the data have no row of what it does, or too few rows to fold",
                c.policy.name()
            ))
        })
    };
    all.iter().map(one).collect()
}

/// What a log predicts where so much is known.
pub(crate) fn predicted(
    fitted: &Evaluator,
    target: &Target,
    all: &[Contrast],
    watch: Watch<'_>,
) -> Result<Vec<Estimate>> {
    let reference = Reference::new(target, fitted.log())?;
    estimates(&in_target(&reference, fitted, watch)?, all)
}

/// Estimates in a target that there is.
pub(crate) fn in_target<'a>(
    reference: &'a Reference,
    fitted: &'a Evaluator,
    watch: Watch<'a>,
) -> Result<TargetEstimator<'a>> {
    let estimator = reference.estimator(fitted, watch)?;
    estimator.ok_or_else(|| Error::internal("estimates in a target that there is not"))
}

/// By how much the worst coupling of what is known is above the reweighted log or the sample, for a
/// difference as for a policy.
pub(crate) fn coupling_slack(
    (fitted, reference): (&Evaluator, &Reference),
    all: &[Contrast],
    support: Support,
    watch: Watch<'_>,
) -> Result<Vec<f64>> {
    let log = fitted.log();
    let (Some(from), Some(known)) = (reference.population(), reference.known()?) else {
        return Err(Error::internal("couplings of a target that there is not"));
    };
    let robust = Robust::around(log, from, support)?;
    // Nobody crosses a fixed column: its shares are those of where people come from.
    let known = known.about(|k| log.contexts().kind(k) != Kind::Fixed);
    let robust = Arc::new(robust.knowing(&known)?);
    let settings = Settings { watch, ..Settings::default() };
    let costs = Wasserstein.at(0.0);
    let values = fitted.values_on(robust.points(), costs, settings)?;
    let range = fitted.value_range_on(robust.points(), costs, settings)?;
    let sign = log.direction().sign();
    let slack = |c: &Contrast| -> Result<f64> {
        let within = Couplings.at(f64::INFINITY);
        let (worst, own) = match &c.against {
            None => {
                let worst = robust.worst_case(&c.policy, &values, within, settings)?;
                (worst, robust.values(&c.policy, &values)?)
            }
            Some(against) => {
                let own = robust.difference(&c.policy, against, &range)?;
                let problem = seawall::Problem::on(robust.geometry(), &own)?;
                let problem = problem.direction(log.direction());
                (within.worst_case(&problem, settings)?, own)
            }
        };
        let here = robust.population().mean(&own)?;
        Ok((sign * (worst.value() - here)).max(0.0))
    };
    all.iter().map(slack).collect()
}

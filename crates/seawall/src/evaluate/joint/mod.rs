//! Worst cases over sets that are about people *with* their actions and outcomes: asked of a log and a
//! policy.
//!
//! For a joint KL ball only the distribution of the outcomes that the policy would have met matters: the
//! worst law tilts it by `e^{y/α}`, whoever had the outcome. So
//!
//! ```text
//! V(δ) = min_{α≥0} αδ + α log Σ_k p_k e^{y_k/α}
//! ```
//!
//! with `p` that distribution, estimated by inverse propensity weights ([`kl`]) or doubly robustly
//! ([`doubly_robust`]), is a KL worst case on the space of outcomes: bounds, `α = λ`, curve and
//! population come from that solver. People's contexts then weigh what their outcomes do.
//!
//! `V` is smooth in `p`, its derivative at the worst `α` being the *score*
//!
//! ```text
//! z_k = α (e^{y_k/α} / Σ_j p_j e^{y_j/α} − 1)         y_k − mean where δ = 0
//! ```
//!
//! so a standard error is that of the mean of `z` over the people whom `p` is made of, clusters whole.
//! Where the radius is so large that the worst outcome alone is left there is none: a largest value has
//! no such error.
//!
//! In a joint Wasserstein ball people move, and what would happen to them with them ([`wasserstein`]).

mod doubly_robust;
mod kl;
mod score;
mod wasserstein;

use super::estimate::Term;
use super::evaluator::Evaluator;
use super::robust::{Robust, Solved};
use crate::ambiguity::sets::{JointEstimator, JointKl, Kl};
use crate::ambiguity::{Detail, JointSet, Problem, Set, Settings, WorstCase};
use crate::error::{Error, Field, Result};
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::progress::Watch;
use score::HeightTilt;

pub use score::JointEstimate;

/// The outcomes that a policy would have met, estimated from people of a log.
trait Law {
    /// Their distribution, one weight per outcome.
    fn weights(&self) -> &[f64];

    /// What each of the log's contexts weighs where people of every outcome weigh `ratios` times as much.
    fn by_context(&self, ratios: &[f64]) -> Vec<f64>;

    /// For each list of a number per outcome: what each of the people brings to its mean under the law.
    fn terms(&self, numbers: &[Vec<f64>]) -> Vec<Vec<Term<'_>>>;
}

/// Refuses everything but the log's own people.
fn check_start(fitted: &Evaluator, robust: &Robust, set: Set) -> Result<()> {
    fitted.log().contexts().same_as(robust.contexts())?;
    if robust.is_the_logs_own() {
        Ok(())
    } else {
        Err(Error::field(
            Field::Set,
            format!(
                "is {}, which weighs the log's own people anew: it cannot start from another population",
                set.name()
            ),
        ))
    }
}

impl Evaluator {
    /// The worst cases of a policy at several radii of a set, and the whole curve to a tolerance if one is
    /// given, as [`Robust::evaluate`]; and of a set that is about people with their actions and outcomes
    /// ([`Set::needs_actions`]) from this log's people. Such a set has no use for `values`.
    #[allow(clippy::too_many_arguments)]
    pub fn worst_cases(
        &self,
        robust: &Robust,
        policy: &Policy,
        values: &Values,
        set: impl Into<Set>,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        match set.into() {
            Set::Context(set) => robust.evaluate(policy, values, set, radii, curve, settings),
            Set::Joint(JointSet::Wasserstein(set)) => {
                wasserstein::evaluate(self, robust, policy, set, radii, curve, settings)
            }
            Set::Joint(JointSet::Kl(set)) => {
                check_start(self, robust, set.into())?;
                let law = self.law(policy, set, settings.watch)?;
                self.solve_joint(law.as_ref(), robust, radii, curve, settings)
            }
        }
    }

    /// What is not known for certain of worst cases of a joint KL set, since the log is a sample: an
    /// estimate with its standard error at each radius. None where that is so large that the worst
    /// outcome alone is left, whose error nobody can tell; and for every other set.
    pub fn joint_estimates(
        &self,
        policy: &Policy,
        set: impl Into<Set>,
        radii: &[f64],
        settings: Settings<'_>,
    ) -> Result<Vec<Option<JointEstimate>>> {
        let Set::Joint(JointSet::Kl(set)) = set.into() else {
            return Ok(vec![None; radii.len()]);
        };
        let law = self.law(policy, set, settings.watch)?;
        let (cases, _) = self.outcome_cases(law.weights(), radii, None, settings)?;
        let sign = self.log().direction().sign();
        let heights: Vec<f64> = self.log().values().iter().map(|y| sign * y).collect();
        let tilt = |(case, radius): (&WorstCase, &f64)| {
            // Without a shift there is no tilt, also where all outcomes are alike.
            let alpha = if *radius == 0.0 { f64::INFINITY } else { case.lambda() };
            HeightTilt::new(law.weights(), &heights, alpha)
        };
        let tilts: Vec<Option<HeightTilt<'_>>> = cases.iter().zip(radii).map(tilt).collect();
        let scores: Vec<Vec<f64>> = tilts.iter().flatten().map(HeightTilt::scores).collect();
        let mut terms = law.terms(&scores).into_iter();
        let clusters = self.log().clusters();
        let estimate = |(case, tilt): (&WorstCase, &Option<HeightTilt<'_>>)| {
            tilt.as_ref()?;
            JointEstimate::new(case.value(), &terms.next()?, clusters)
        };
        Ok(cases.iter().zip(&tilts).map(estimate).collect())
    }

    /// The distribution of the outcomes that a policy would have met, as a joint KL set weighs it anew.
    pub fn outcomes_met(
        &self,
        policy: &Policy,
        set: impl Into<Set>,
        watch: Watch<'_>,
    ) -> Result<Population> {
        let set = set.into();
        let Set::Joint(JointSet::Kl(kl)) = set else {
            let what = format!("is {}; expected joint-kl or joint-kl-dr", set.name());
            return Err(Error::field(Field::Set, what));
        };
        let weights = self.law(policy, kl, watch)?.weights().to_vec();
        Population::from_weights(self.log().outcomes().clone(), weights)
    }

    fn law(&self, policy: &Policy, set: JointKl, watch: Watch<'_>) -> Result<Box<dyn Law + '_>> {
        Ok(match set.estimator {
            JointEstimator::Weighted => Box::new(kl::Weighted::new(self, policy)?),
            JointEstimator::DoublyRobust => {
                Box::new(doubly_robust::Corrected::new(self, policy, watch)?)
            }
        })
    }

    /// The KL worst case of a distribution of outcomes, as a cost, and its score at every outcome: its
    /// derivative by what that weighs, weights staying a distribution. Zeros where the worst outcome alone
    /// is left.
    pub(crate) fn outcome_score(
        &self,
        weights: &[f64],
        radius: f64,
        settings: Settings<'_>,
    ) -> Result<(f64, Vec<f64>)> {
        let settings = settings.detail(Detail::Value);
        let (cases, _) = self.outcome_cases(weights, &[radius], None, settings)?;
        let sign = self.log().direction().sign();
        let heights: Vec<f64> = self.log().values().iter().map(|y| sign * y).collect();
        let case = cases.first().ok_or_else(|| Error::numeric("a radius has no worst case"))?;
        let alpha = if radius == 0.0 { f64::INFINITY } else { case.lambda() };
        let tilt = HeightTilt::new(weights, &heights, alpha);
        let scores = tilt.map_or_else(|| vec![0.0; heights.len()], |tilt| tilt.scores());
        Ok((sign * case.value(), scores))
    }

    /// The KL worst cases on the space of outcomes.
    fn outcome_cases(
        &self,
        weights: &[f64],
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let log = self.log();
        let population = Population::from_weights(log.outcomes().clone(), weights.to_vec())?;
        let problem = Problem::new(&population, log.values())?.direction(log.direction());
        let mut solver = Kl.solver(&problem, settings)?;
        let cases = radii.iter().map(|r| solver.worst_case(*r)).collect::<Result<_>>()?;
        Ok((cases, curve.map(|tolerance| solver.curve(tolerance)).transpose()?))
    }

    /// The same, told by the contexts of the people in it.
    fn solve_joint(
        &self,
        law: &dyn Law,
        robust: &Robust,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let (cases, curve) = self.outcome_cases(law.weights(), radii, curve, settings)?;
        let space = robust.population().space();
        let here = |ratios: &[f64]| -> Vec<f64> {
            let all = law.by_context(ratios);
            let own: Vec<f64> = robust.points().iter().map(|&x| all[x]).collect();
            let total: f64 = own.iter().sum();
            own.iter().map(|w| w / total).collect()
        };
        let log = self.log();
        let nominal =
            Population::from_weights(space.clone(), here(&vec![1.0; log.values().len()]))?;
        let sign = log.direction().sign();
        let heights: Vec<f64> = log.values().iter().map(|y| sign * y).collect();
        let told = |case: WorstCase| {
            if settings.detail == Detail::Value {
                return case;
            }
            let weights = here(&score::ratios(law.weights(), &heights, &case));
            let known = weights.iter().all(|w| w.is_finite());
            // Where no row of any leaf is as bad as the worst outcome, nobody knows whose it is.
            let weights = if known { &weights } else { nominal.weights() };
            case.told_by(&nominal, weights)
        };
        Ok((cases.into_iter().map(told).collect(), curve))
    }
}

//! One part of a log with everything chosen and fitted on it alone, and what two parts say of each other's worst
//! populations.

use super::splits::SplitValue;
use crate::ambiguity::sets::Wasserstein;
use crate::ambiguity::{Detail, Set, Settings, Shift, Status, WorstCase};
use crate::error::{Error, Result};
use crate::evaluate::{Robust, ValueRange, leaf_noise, noise_of_leaves};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::outcome::{Model, ModelSearch, ResidualKind, ResidualSteps, Unseen, Values};
use crate::policy::Policy;
use std::sync::Arc;

/// How closely a part's worst case is found, as a share of the largest value: far below what rows can tell.
const ENOUGH: f64 = 1e-4;

/// What a number is of: a policy's worst case, or the worst difference to another.
#[derive(Clone, Copy, Debug)]
pub enum Estimand<'a> {
    /// One policy.
    Value(&'a Policy),
    /// The first less the second, in one population.
    Difference(&'a Policy, &'a Policy),
}

impl Estimand<'_> {
    /// The chances of the policy, or those of the first less those of the second.
    pub fn chances(&self) -> Matrix {
        match self {
            Estimand::Value(policy) => policy.probabilities().clone(),
            Estimand::Difference(policy, against) => {
                policy.probabilities().minus(against.probabilities())
            }
        }
    }
}

/// What every part is solved for.
#[derive(Clone, Copy, Debug)]
pub struct PartQuestion<'a> {
    /// How many ranges of values there are.
    pub ranges: usize,
    /// The set of contexts.
    pub set: Set,
    /// Its radii.
    pub radii: &'a [f64],
}

/// One part of a log: the model that was chosen and fitted on its rows, and the population that worst cases start
/// from.
#[derive(Clone)]
pub struct PartFit {
    log: Arc<Log>,
    model: Arc<Model>,
    /// Values by set of outcomes.
    ranges: Vec<ValueRange>,
    /// How many of them are the model's own; others are of what is left in its residuals, too.
    own: usize,
    robust: Arc<Robust>,
}

impl PartFit {
    /// Chooses and fits a model on a part's rows. Where an action was never seen its mean stands in if `unseen` would
    /// refuse: a part loses what the whole has.
    pub fn new(
        log: Log,
        (search, unseen): (&ModelSearch, Unseen),
        costs: &[Shift],
        robust: Arc<Robust>,
        settings: Settings<'_>,
    ) -> Result<Self> {
        log.contexts().same_as(robust.contexts())?;
        let unseen = unseen.never_refusing();
        let model = search.find_on_part(&log, settings.watch)?.recipe.fit(&log, settings.watch)?;
        let range = |&costs: &Shift| ValueRange::from_model(&model, &log, costs, unseen, settings);
        let ranges = costs.iter().map(range).collect::<Result<_>>()?;
        Ok(PartFit { log: Arc::new(log), model: Arc::new(model), ranges, own: costs.len(), robust })
    }

    /// The same part with its first few ranges of values.
    #[must_use]
    pub fn first_ranges(&self, count: usize) -> Self {
        PartFit { ranges: self.ranges[..count].to_vec(), own: self.own.min(count), ..self.clone() }
    }

    /// The same part with its values once more for each kind of effects that may be left in its model's residuals: first
    /// those by set of outcomes as they are, then those with what is left (alone, where the sum cannot be solved).
    pub fn with_rougher(
        &self,
        steps: &ResidualSteps,
        kinds: &[ResidualKind],
        apart: bool,
    ) -> Result<Self> {
        let unseen = Unseen::Mean;
        let plain =
            self.model.values(&self.log, Wasserstein.at(0.0), unseen, Settings::default())?;
        let mut ranges = self.ranges.clone();
        for left in steps.left_over(&self.log, &plain, kinds)? {
            let rough = |range: &ValueRange| {
                if apart { range.left_over(&left) } else { range.with_left_over(&left) }
            };
            ranges.extend(self.ranges.iter().map(rough));
        }
        Ok(PartFit { ranges, ..self.clone() })
    }

    /// The same part with other values, by set of outcomes: for each of its own as many.
    #[must_use]
    pub fn with_values(&self, values: impl Iterator<Item = Values>) -> Self {
        let range = |values: Values| {
            let worst = Arc::new(values);
            ValueRange { best: worst.clone(), worst }
        };
        let ranges: Vec<ValueRange> = values.map(range).collect();
        PartFit { own: ranges.len() * self.own / self.ranges.len(), ranges, ..self.clone() }
    }

    /// Its rows.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The worst and best values of a set of outcomes, by its place.
    pub fn range(&self, cost: usize) -> &ValueRange {
        &self.ranges[cost]
    }

    /// The population that worst cases start from.
    pub fn robust(&self) -> &Arc<Robust> {
        &self.robust
    }

    /// The worst cases of an estimand, one per radius.
    fn worst(
        &self,
        estimand: Estimand<'_>,
        cost: usize,
        question: &PartQuestion<'_>,
        settings: Settings<'_>,
    ) -> Result<Vec<WorstCase>> {
        let (set, radii, range) = (question.set, question.radii, &self.ranges[cost]);
        let settings = Settings { enough: ENOUGH, ..settings.detail(Detail::Population) };
        let (cases, _) = match estimand {
            Estimand::Value(policy) => {
                self.robust.evaluate(policy, &range.worst, set, radii, None, settings)?
            }
            Estimand::Difference(a, b) => {
                self.robust.worst_difference((a, b), range, set, radii, None, settings)?
            }
        };
        if cases.iter().any(|case| case.status() == Status::Stopped) {
            return Err(Error::stopped());
        }
        Ok(cases)
    }

    /// An estimand, context by context of another part's support.
    fn values(&self, estimand: Estimand<'_>, cost: usize, on: &Robust) -> Result<Vec<f64>> {
        let range = &self.ranges[cost];
        match estimand {
            Estimand::Value(policy) => on.values(policy, &range.worst),
            Estimand::Difference(a, b) => on.difference(a, b, range),
        }
    }
}

/// Every estimand found on each part and valued on the other: range by range of values, estimand by
/// estimand, radius by radius. The estimands of each part are given apart, since a rule may be the part's own choice.
pub fn split_values(
    parts: [&PartFit; 2],
    estimands: [&[Estimand<'_>]; 2],
    question: &PartQuestion<'_>,
    settings: Settings<'_>,
) -> Result<Vec<SplitValue>> {
    let mut found = Vec::new();
    for cost in 0..question.ranges {
        for pair in estimands[0].iter().zip(estimands[1]) {
            let mut both = Vec::new();
            for (k, one) in [*pair.0, *pair.1].into_iter().enumerate() {
                let (own, other) = (parts[k], parts[1 - k]);
                let chances = one.chances();
                let there = Valued::new(other, own, (one, cost), &chances)?;
                let cases = own.worst(one, cost, question, settings)?;
                let side = cases.iter().map(|case| {
                    let (held_out, noise) = there.over(case, &case.weights())?;
                    Ok((case.value(), held_out, noise))
                });
                both.push(side.collect::<Result<Vec<_>>>()?);
            }
            let pairs = both[0].iter().zip(&both[1]);
            found.extend(pairs.map(|(a, b)| SplitValue {
                plug_in: [a.0, b.0],
                held_out: [a.1, b.1],
                noise: [a.2, b.2],
            }));
        }
    }
    Ok(found)
}

/// What one part says of populations that were found on another.
struct Valued<'a> {
    part: &'a PartFit,
    on: &'a PartFit,
    estimand: Estimand<'a>,
    cost: usize,
    chances: &'a Matrix,
    /// The estimand, context by context of the other's support, where that is listed.
    listed: Option<Vec<f64>>,
}

impl<'a> Valued<'a> {
    fn new(
        part: &'a PartFit,
        on: &'a PartFit,
        (estimand, cost): (Estimand<'a>, usize),
        chances: &'a Matrix,
    ) -> Result<Self> {
        let listed = match on.robust.whole() {
            Some(_) => None,
            None => Some(part.values(estimand, cost, &on.robust)?),
        };
        Ok(Valued { part, on, estimand, cost, chances, listed })
    }

    /// The mean over a population, and the variance that the model's noise brings into it; None where the model does
    /// not say.
    fn over(&self, case: &WorstCase, weights: &[f64]) -> Result<(f64, Option<f64>)> {
        if let Some(there) = &self.listed {
            let held_out = weights.iter().zip(there).map(|(q, l)| q * l).sum();
            return Ok((held_out, self.listed_noise(weights)));
        }
        let (range, robust) = (&self.part.ranges[self.cost], &self.on.robust);
        let held_out = match self.estimand {
            Estimand::Value(policy) => robust.mean_over(case, policy, &range.worst)?,
            Estimand::Difference(a, b) => robust.difference_over(case, (a, b), range)?,
        };
        let leaves = self.part.model.leaves().filter(|_| self.cost < self.part.own);
        let Some(leaves) = leaves else { return Ok((held_out, None)) };
        let policies = match self.estimand {
            Estimand::Value(policy) => (policy, None),
            Estimand::Difference(a, b) => (a, Some(b)),
        };
        let of_model = (&*range.worst, leaves.all().len());
        let masses = robust.leaf_masses_over(case, policies, of_model)?;
        Ok((held_out, Some(noise_of_leaves(&self.part.log, leaves, &masses))))
    }

    fn listed_noise(&self, weights: &[f64]) -> Option<f64> {
        let mut shares = vec![0.0; self.part.log.contexts().len()];
        self.on.robust.points().iter().zip(weights).for_each(|(&x, q)| shares[x] = *q);
        leaf_noise(&self.part.log, &self.part.model, &shares, self.chances)
    }
}

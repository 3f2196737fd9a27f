//! One half of a log, fitted, and what two halves say of each other's worst populations.

use super::halves::Crossing;
use crate::ambiguity::{Detail, Set, Settings, Shift, Status, WorstCase};
use crate::error::{Error, Result};
use crate::evaluate::{
    Estimate, Evaluator, Robust, Support, Term, ValueRange, leaf_noise, noise_of_leaves,
};
use crate::log::{Entry, Log};
use crate::matrix::Matrix;
use crate::outcome::{Model, Recipe, Unseen};
use crate::policy::Policy;
use crate::population::Population;

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

/// What is solved on every half.
#[derive(Clone, Copy, Debug)]
pub struct HalfQuestion<'a> {
    /// The outcome model.
    pub recipe: &'a Recipe,
    /// What to do where an action was never seen; a half takes its mean where this would refuse.
    pub unseen: Unseen,
    /// The sets of outcomes.
    pub costs: &'a [Shift],
    /// The set of contexts.
    pub set: Set,
    /// Its radii.
    pub radii: &'a [f64],
    /// Which contexts mass may move to.
    pub support: Support,
}

/// One half of a log, fitted.
pub struct HalfFit {
    log: Log,
    model: Model,
    ranges: Vec<ValueRange>,
    robust: Robust,
}

impl HalfFit {
    /// Fits a half; worst cases start from another population than its own, on the same contexts, if
    /// there is one.
    pub fn new(
        log: &Log,
        question: &HalfQuestion<'_>,
        around: Option<Robust>,
        settings: Settings<'_>,
    ) -> Result<Self> {
        let unseen = question.unseen.never_refusing();
        let model = question.recipe.fit(log, settings.watch)?;
        let range = |&costs: &Shift| ValueRange::from_model(&model, log, costs, unseen, settings);
        let ranges = question.costs.iter().map(range).collect::<Result<_>>()?;
        let robust = match around {
            None => Robust::new(log, question.support)?,
            Some(around) => {
                log.contexts().same_as(around.contexts())?;
                around
            }
        };
        Ok(HalfFit { log: log.clone(), model, ranges, robust })
    }

    /// The worst cases of what is asked, one per radius.
    fn worst(
        &self,
        asked: Estimand<'_>,
        cost: usize,
        question: &HalfQuestion<'_>,
        settings: Settings<'_>,
    ) -> Result<Vec<WorstCase>> {
        let (set, radii, range) = (question.set, question.radii, &self.ranges[cost]);
        let settings = settings.detail(Detail::Population);
        let (cases, _) = match asked {
            Estimand::Value(policy) => {
                self.robust.evaluate(policy, &range.worst, set, radii, None, settings)?
            }
            Estimand::Difference(a, b) => {
                self.robust.worst_difference((a, b), range, set, radii, None, settings)?
            }
        };
        if cases.iter().any(|case| case.status() == Status::Stopped) {
            Err(Error::stopped())
        } else {
            Ok(cases)
        }
    }

    /// What is asked, context by context of another half's support.
    fn values(&self, asked: Estimand<'_>, cost: usize, on: &Robust) -> Result<Vec<f64>> {
        let range = &self.ranges[cost];
        match asked {
            Estimand::Value(policy) => on.values(policy, &range.worst),
            Estimand::Difference(a, b) => on.difference(a, b, range),
        }
    }
}

/// What held-out residuals need to know of the whole log.
pub struct Correction<'a> {
    fitted: &'a Evaluator,
    /// Each context's share of the log.
    shares: Population,
    /// The rows of each context and action.
    rows: Matrix,
}

impl<'a> Correction<'a> {
    /// Of everything that was fitted to a log.
    pub fn new(fitted: &'a Evaluator) -> Result<Self> {
        let log = fitted.log();
        Ok(Correction { fitted, shares: log.population()?, rows: log.cell_totals() })
    }

    /// The share of what is asked, in a population, that the log has rows of; and how many rows the
    /// residuals that correct it are worth.
    pub fn cover(&self, asked: Estimand<'_>, weights: &[f64], points: &[usize]) -> (f64, f64) {
        let (chances, population) = (asked.chances(), self.spread(weights, points));
        let (mut covered, mut all) = (0.0, 0.0);
        for &x in points.iter().filter(|x| population[**x] > 0.0) {
            for (action, p) in chances.row(x).iter().enumerate() {
                let mass = population[x] * p.abs();
                all += mass;
                covered += if self.rows.at(x, action) > 0.0 { mass } else { 0.0 };
            }
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        for e in self.fitted.log().entries() {
            let weight = self.weight(e, &population, &chances).abs();
            sum += e.weight * weight;
            squares += e.weight * e.unit * weight * weight;
        }
        let share = if all > 0.0 { covered / all } else { 0.0 };
        (share, if squares > 0.0 { sum * sum / squares } else { 0.0 })
    }

    /// A population on a support, as one weight per context.
    fn spread(&self, weights: &[f64], points: &[usize]) -> Vec<f64> {
        let mut all = vec![0.0; self.fitted.log().contexts().len()];
        points.iter().zip(weights).for_each(|(&x, q)| all[x] = *q);
        all
    }

    /// `(q(x)/p(x)) π(a|x)/p` of a row.
    fn weight(&self, e: &Entry, population: &[f64], chances: &Matrix) -> f64 {
        let (x, action) = (e.context as usize, e.action as usize);
        let ratio = chances.at(x, action) / self.fitted.propensity_of(e);
        let most = self.fitted.options().clip.unwrap_or(f64::INFINITY);
        population[x] / self.shares.weights()[x] * ratio.clamp(-most, most)
    }

    /// The value of one half's population, its values corrected by the other half's residuals, and
    /// the variance of that.
    fn corrected(
        &self,
        (own, other): (&HalfFit, &HalfFit),
        chances: &Matrix,
        weights: &[f64],
        cost: usize,
    ) -> (f64, f64) {
        let population = self.spread(weights, own.robust.points());
        let (here, there) = (&own.ranges[cost].worst, &other.ranges[cost].worst);
        let mut value = 0.0;
        for (x, q) in population.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            for (action, p) in chances.row(x).iter().enumerate() {
                let seen = self.rows.at(x, action) > 0.0;
                value += q * p * if seen { here } else { there }.at(x, action);
            }
        }
        let log = &other.log;
        let term = |entry| {
            let e: &Entry = entry;
            let residual = log.value(e) - here.at(e.context as usize, e.action as usize);
            let value = self.weight(e, &population, chances) * residual;
            Term { entry, weight: e.weight, value }
        };
        let terms: Vec<Term<'_>> = log.entries().iter().map(term).collect();
        let mean = Estimate::mean(&terms, log.clusters());
        (value + mean.value, mean.se * mean.se)
    }
}

/// Everything that is asked, found on each half and valued on the other: cost radius by cost radius,
/// question by question, radius by radius. Only what is marked in `corrected`, in the same order, is
/// corrected by held-out residuals.
pub fn crossings(
    halves: [&HalfFit; 2],
    asked: &[Estimand<'_>],
    question: &HalfQuestion<'_>,
    (correction, corrected): (&Correction<'_>, &[bool]),
    settings: Settings<'_>,
) -> Result<Vec<Crossing>> {
    let mut found = Vec::new();
    for cost in 0..question.costs.len() {
        for &one in asked {
            let chances = one.chances();
            let mut both = Vec::new();
            for (own, other) in [(halves[0], halves[1]), (halves[1], halves[0])] {
                let there = Valued::new(other, own, (one, cost), &chances)?;
                let cases = own.worst(one, cost, question, settings)?;
                let side = cases.iter().enumerate().map(|(k, case)| {
                    let weights = case.weights();
                    let (honest, noise) = there.over(case, &weights)?;
                    let corrected = match corrected.get(found.len() + k) {
                        Some(true) => correction.corrected((own, other), &chances, &weights, cost),
                        _ => (f64::NAN, f64::NAN),
                    };
                    Ok((case.value(), honest, noise, corrected))
                });
                both.push(side.collect::<Result<Vec<_>>>()?);
            }
            let pairs = both[0].iter().zip(&both[1]);
            found.extend(pairs.map(|(a, b)| Crossing {
                fitted: [a.0, b.0],
                honest: [a.1, b.1],
                noise: [a.2, b.2],
                corrected: [a.3, b.3],
            }));
        }
    }
    Ok(found)
}

/// What one half says of populations that were found on another.
struct Valued<'a> {
    half: &'a HalfFit,
    on: &'a HalfFit,
    asked: Estimand<'a>,
    cost: usize,
    chances: &'a Matrix,
    /// What is asked, context by context of the other's support, where that is listed.
    listed: Option<Vec<f64>>,
}

impl<'a> Valued<'a> {
    fn new(
        half: &'a HalfFit,
        on: &'a HalfFit,
        (asked, cost): (Estimand<'a>, usize),
        chances: &'a Matrix,
    ) -> Result<Self> {
        let listed = match on.robust.whole() {
            Some(_) => None,
            None => Some(half.values(asked, cost, &on.robust)?),
        };
        Ok(Valued { half, on, asked, cost, chances, listed })
    }

    /// The mean over a population, and the variance that the model's noise brings into it; NaN where
    /// the model does not say.
    fn over(&self, case: &WorstCase, weights: &[f64]) -> Result<(f64, f64)> {
        match &self.listed {
            Some(there) => {
                let honest = weights.iter().zip(there).map(|(q, l)| q * l).sum();
                Ok((honest, self.listed_noise(weights)))
            }
            None => {
                let (range, robust) = (&self.half.ranges[self.cost], &self.on.robust);
                let honest = match self.asked {
                    Estimand::Value(policy) => robust.mean_over(case, policy, &range.worst)?,
                    Estimand::Difference(a, b) => robust.difference_over(case, (a, b), range)?,
                };
                let Some(leaves) = self.half.model.leaves() else { return Ok((honest, f64::NAN)) };
                let policies = match self.asked {
                    Estimand::Value(policy) => (policy, None),
                    Estimand::Difference(a, b) => (a, Some(b)),
                };
                let of_model = (&*range.worst, leaves.all().len());
                let masses = robust.leaf_masses_over(case, policies, of_model)?;
                Ok((honest, noise_of_leaves(&self.half.log, leaves, &masses)))
            }
        }
    }

    fn listed_noise(&self, weights: &[f64]) -> f64 {
        let mut shares = vec![0.0; self.half.log.contexts().len()];
        self.on.robust.points().iter().zip(weights).for_each(|(&x, q)| shares[x] = *q);
        leaf_noise(&self.half.log, &self.half.model, &shares, self.chances).unwrap_or(f64::NAN)
    }
}

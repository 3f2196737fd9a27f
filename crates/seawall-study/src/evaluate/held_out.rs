//! How much of the worst cases is noise: populations found on one half of the rows and valued on the
//! other, and the limits that follow.
//!
//! Where there are many radii the halves are solved at a few of them; between these the distance of
//! the honest value to the value as fitted, its standard errors and the allowance for smoothing are
//! read off straight lines ([`between`]).

use super::basis::EvaluationBasis;
use super::estimates::Estimates;
use super::halves::both;
use super::models::by_kind;
use super::splits::{affordable, anchors};
use super::worst_cases::WorstCases;
use super::{DifferenceNoise, Doubled, Halving, Honest, Question, ValueNoise};
use crate::check::ModelNoise;
use seawall::evaluate::{Estimate, Support, ValueRange};
use seawall::inference::{
    Anchor, Correction, Estimand, HalfQuestion, Limits, SplitNoise, Splits, between, crossings,
    halves, nested,
};
use seawall::{Detail, Direction, Error, Result, Settings, Shift, Watch};

/// Held-out residuals correct a value if the log has rows of this share of it, worth so many rows.
const COVERED: f64 = 0.9;
const EFFECTIVE: f64 = 30.0;

/// How much of the worst cases is noise.
pub(super) struct HeldOut {
    /// How the rows were split; None if they were not.
    pub(super) halving: Option<Halving>,
    /// For each policy, in the order of its worst cases.
    pub(super) policies: Vec<Vec<ValueNoise>>,
    /// For each pair, in the order of its differences.
    pub(super) differences: Vec<Vec<DifferenceNoise>>,
    /// For each kind of model that was compared, where it was worked out.
    pub(super) models: Vec<Option<ModelNoise>>,
    /// What to know of the splits.
    pub(super) notes: Vec<String>,
}

impl HeldOut {
    /// Splits the rows as often as is asked and affordable; `range` is that of outcomes.
    pub(super) fn new(
        basis: &EvaluationBasis<'_>,
        estimates: &Estimates,
        worst: &WorstCases,
        range: (f64, f64),
        watch: Watch<'_>,
    ) -> Result<Self> {
        let question = &basis.question;
        // What is not fitted again says nothing of its noise.
        let refitted = basis.prepared.model.recipe.is_refitted();
        let asked = question.halves.filter(|_| refitted && !question.context.set.needs_actions());
        let Some(asked) = asked else { return Ok(HeldOut::nothing(worst, Vec::new())) };
        let (asked, mut notes) = affordable(question, asked, (basis.fitted.log(), &basis.robust));
        let Some(asked) = asked else { return Ok(HeldOut::nothing(worst, notes)) };
        let task = Task { basis, estimates, worst, asked, range, radii: anchors(question) };
        let numbers = match task.numbers(watch) {
            Ok(numbers) => numbers,
            Err(error) => {
                notes.push(refused(basis, error)?);
                return Ok(HeldOut::nothing(worst, notes));
            }
        };
        let count = numbers.first().map_or(asked.count, |n| n.noise.halvings);
        let asked = Halving { count, ..asked };
        let policies = task.of_policies(&numbers);
        let differences = task.of_differences(&numbers);
        let first = policies.first().map_or(&[][..], |noise| noise);
        let (halving, models) = match by_kind(basis, worst, first, &asked, watch) {
            Ok(models) => (Some(asked), models),
            Err(error) => {
                notes.push(refused(basis, error)?);
                (None, Vec::new())
            }
        };
        Ok(HeldOut { halving, policies, differences, models, notes })
    }

    /// Nothing is known of the noise.
    fn nothing(worst: &WorstCases, notes: Vec<String>) -> Self {
        let policies = worst.policies.iter().map(|p| vec![ValueNoise::default(); p.values.len()]);
        let differences =
            worst.differences.iter().map(|d| vec![DifferenceNoise::default(); d.values.len()]);
        HeldOut {
            halving: None,
            policies: policies.collect(),
            differences: differences.collect(),
            models: Vec::new(),
            notes,
        }
    }
}

/// Why a part of the rows cannot be made what is known of the target, or cannot meet it, where the whole
/// log can; other errors are passed on.
fn refused(basis: &EvaluationBasis<'_>, error: Error) -> Result<String> {
    let about_known =
        basis.reference.balance().is_some() || basis.question.context.set.needs_known();
    if error.is_stopped() || error.is_internal() || !about_known {
        return Err(error);
    }
    Ok(format!(
        "nothing says how much of the worst cases is noise: a half of the rows cannot answer: {error}"
    ))
}

/// What is asked of the halves.
struct Task<'a> {
    basis: &'a EvaluationBasis<'a>,
    estimates: &'a Estimates,
    worst: &'a WorstCases,
    asked: Halving,
    /// The least and the largest outcome.
    range: (f64, f64),
    /// The radii at which halves are solved.
    radii: Vec<f64>,
}

/// The noise of one number.
struct Number {
    noise: SplitNoise,
    /// By how much the worst case rises with what is left in the model's residuals added back.
    rise: f64,
    /// The share that residuals correct, and the rows that they are worth, if they do.
    cover: Option<(f64, f64)>,
}

/// What is told of one value.
struct Told {
    noise: SplitNoise,
    limits: Limits,
    cover: Option<(f64, f64)>,
}

impl Task<'_> {
    fn question(&self) -> &Question {
        &self.basis.question
    }

    fn direction(&self) -> Direction {
        self.basis.robust.direction()
    }

    fn clusters(&self) -> Option<usize> {
        self.basis.fitted.log().clusters()
    }

    /// What is asked: policies, then pairs.
    fn estimands(&self) -> Vec<Estimand<'_>> {
        let policy = |k: usize| &self.basis.policies[k].policy;
        let alone = (0..self.basis.policies.len()).map(|k| Estimand::Value(policy(k)));
        let pairs = self.basis.pairs.iter();
        alone.chain(pairs.map(|&(a, b)| Estimand::Difference(policy(a), policy(b)))).collect()
    }

    /// The noise of every number: cost radius by cost radius, estimand by estimand, radius by radius.
    fn numbers(&self, watch: Watch<'_>) -> Result<Vec<Number>> {
        let (basis, question, asked) = (self.basis, self.question(), self.asked);
        let (estimands, radii) = (self.estimands(), &self.radii);
        let costs: Vec<Shift> =
            question.cost.radii.iter().map(|r| question.cost.set.at(*r)).collect();
        let half_question = HalfQuestion {
            recipe: &basis.prepared.model.recipe,
            unseen: basis.prepared.study.unseen,
            costs: &costs,
            set: question.context.set,
            radii,
            support: question.support,
        };
        let correction = Correction::new(basis.fitted)?;
        let whole = *radii == question.context.radii;
        let cover = if whole {
            self.covers(&correction, &estimands, costs.len())
        } else {
            // Between the radii that are solved there is no population to correct.
            vec![None; costs.len() * estimands.len() * radii.len()]
        };
        let corrected: Vec<bool> = cover.iter().map(Option::is_some).collect();
        let rises = self.rises(&estimands, watch)?;
        // What is between the radii that somebody named changes no number of theirs.
        let named = |radius: f64| whole || question.wanted.named_radii.contains(&radius);
        let needed = |halved: &[SplitNoise]| {
            let all = halved.iter().zip(&rises).enumerate();
            let each =
                all.filter(|(at, _)| named(radii[at % radii.len()])).map(|(at, (noise, rise))| {
                    let (row, radius) = (at / radii.len(), radii[at % radii.len()]);
                    let value =
                        self.as_fitted(row % estimands.len(), row / estimands.len(), radius);
                    let ends = (value, value + rise);
                    let limits = noise.limits(ends, self.direction(), asked.level, self.clusters());
                    noise.splits_needed(&limits)
                });
            each.max().unwrap_or(0)
        };
        let splits = if asked.fewer {
            Splits::Enough(asked.count, &needed)
        } else {
            Splits::Exactly(asked.count)
        };
        let log = basis.fitted.log();
        let noise = halves(log, &splits, asked.seed, watch, &|a, b, halving, watch| {
            let settings = Settings { watch, ..Settings::default() };
            let (half, dealt) = ((&half_question, question.within()), (asked.seed, halving));
            let (a, b) = both(basis.prepared, half, (a, b), dealt, settings)?;
            crossings([&a, &b], &estimands, &half_question, (&correction, &corrected[..]), settings)
        })?;
        let all = noise.into_iter().zip(rises).zip(cover);
        Ok(all.map(|((noise, rise), cover)| Number { noise, rise, cover }).collect())
    }

    /// Where held-out residuals can correct a value: by the worst population of the whole log.
    fn covers(
        &self,
        correction: &Correction<'_>,
        estimands: &[Estimand<'_>],
        costs: usize,
    ) -> Vec<Option<(f64, f64)>> {
        let (question, robust) = (self.question(), &self.basis.robust);
        let radii = question.context.radii.len();
        if question.support == Support::Space {
            // Residuals are where rows are.
            return vec![None; costs * estimands.len() * radii];
        }
        let mut all = Vec::with_capacity(costs * estimands.len() * radii);
        for cost in 0..costs {
            let plain = question.cost.radii[cost] == 0.0 && question.cost.set.stays_at_zero();
            for (k, estimand) in estimands.iter().enumerate() {
                let worst = match k.checked_sub(self.worst.policies.len()) {
                    None => &self.worst.policies[k].worst,
                    Some(pair) => &self.worst.differences[pair].worst,
                };
                for at in 0..radii {
                    let weights = worst.get(cost * radii + at).map(|case| case.weights());
                    let weights = weights.filter(|w| plain && !w.is_empty());
                    let cover = weights.map(|w| correction.cover(*estimand, &w, robust.points()));
                    all.push(cover.filter(|(share, rows)| *share >= COVERED && *rows >= EFFECTIVE));
                }
            }
        }
        all
    }

    /// By how much the worst cases rise with what is left in the model's residuals added back, in the order
    /// of numbers.
    fn rises(&self, estimands: &[Estimand<'_>], watch: Watch<'_>) -> Result<Vec<f64>> {
        let (question, robust) = (self.question(), &self.basis.robust);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let (left, set) = (self.basis.fitted.left_over()?, question.context.set);
        let mut all = Vec::new();
        for (cost, &cost_radius) in question.cost.radii.iter().enumerate() {
            let costs = question.cost.set.at(cost_radius);
            let range: ValueRange =
                self.basis.fitted.value_range_on(robust.points(), costs, settings)?;
            // On the whole space what is left is valued by itself: the worst case of a sum is no worse than
            // the sum of the worst cases.
            let apart = question.support == Support::Space;
            let range = if apart { range.left_over(&left) } else { range.with_left_over(&left) };
            for (k, estimand) in estimands.iter().enumerate() {
                let (cases, _) = match *estimand {
                    Estimand::Value(policy) => {
                        robust.evaluate(policy, &range.worst, set, &self.radii, None, settings)?
                    }
                    Estimand::Difference(a, b) => {
                        robust.worst_difference((a, b), &range, set, &self.radii, None, settings)?
                    }
                };
                let without = |r: f64| if apart { 0.0 } else { self.as_fitted(k, cost, r) };
                let each = cases.iter().zip(&self.radii);
                all.extend(each.map(|(rough, r)| rough.value() - without(*r)));
            }
        }
        Ok(all)
    }

    /// The value as fitted of an estimand, policies before pairs, at a radius that was asked about.
    fn as_fitted(&self, estimand: usize, cost: usize, radius: f64) -> f64 {
        let radii = &self.question().context.radii;
        let at = cost * radii.len() + radii.iter().position(|r| *r == radius).unwrap_or(0);
        match estimand.checked_sub(self.worst.policies.len()) {
            None => self.worst.policies[estimand].values[at].worst.value,
            Some(pair) => self.worst.differences[pair].values[at].bounds.worst.value,
        }
    }

    /// The noise of every policy's worst cases.
    fn of_policies(&self, numbers: &[Number]) -> Vec<Vec<ValueNoise>> {
        let one = |(k, policy): (usize, &super::worst_cases::PolicyWorstCases)| {
            // On the safe side: a smoothed value alone is no bound.
            let values = policy.values.iter().map(|v| match self.direction() {
                Direction::Cost => v.solve.exact_upper.unwrap_or(v.worst.value),
                Direction::Reward => v.solve.exact_lower.unwrap_or(v.worst.value),
            });
            let values: Vec<f64> = values.collect();
            let all = self.told(numbers, k, &values);
            let plain = self.estimates.policies[k].best();
            let limits = self.limits(&all, &values, self.range, plain);
            let noise = |(told, limits): (&Told, Option<Limits>)| ValueNoise {
                honest: Some(told.honest()),
                limits,
                doubly_robust: told.doubled(),
                fitted_se: Some(told.noise.fitted_se),
            };
            all.iter().zip(limits).map(noise).collect::<Vec<ValueNoise>>()
        };
        self.worst.policies.iter().enumerate().map(one).collect()
    }

    /// The noise of every pair's differences; of the best ones that of the other order, turned round.
    fn of_differences(&self, numbers: &[Number]) -> Vec<Vec<DifferenceNoise>> {
        let first = self.worst.policies.len();
        let context = self.question();
        let smoothed = context.context.set.is_smoothed() || context.cost.set.is_smoothed();
        let (low, high) = self.range;
        let one = |(k, pair): (usize, &super::differences::SolvedDifferences)| {
            // Likewise: the bound on the bad side counts what a smoothed set leaves open.
            let values = pair.values.iter().map(|v| match (smoothed, self.direction()) {
                (false, _) => v.bounds.worst.value,
                (true, Direction::Cost) => v.bounds.worst.upper,
                (true, Direction::Reward) => v.bounds.worst.lower,
            });
            let values: Vec<f64> = values.collect();
            let all = self.told(numbers, first + k, &values);
            let plain = self.estimates.differences[k].best();
            let limits = self.limits(&all, &values, (low - high, high - low), plain);
            let noise = |(told, limits): (&Told, Option<Limits>)| DifferenceNoise {
                honest: Some(told.honest()),
                limits,
                doubly_robust: told.doubled(),
                ..DifferenceNoise::default()
            };
            all.iter().zip(limits).map(noise).collect::<Vec<DifferenceNoise>>()
        };
        let worst: Vec<Vec<DifferenceNoise>> =
            self.worst.differences.iter().enumerate().map(one).collect();
        let turned = |(own, &(a, b)): (&Vec<DifferenceNoise>, &(usize, usize))| {
            let other = self.basis.pairs.iter().position(|&pair| pair == (b, a));
            let best = |(at, own): (usize, &DifferenceNoise)| {
                let other = other.map(|k| worst[k][at]);
                DifferenceNoise {
                    best_honest: other.and_then(|o| o.honest).map(Honest::turned),
                    best_limits: other.and_then(|o| o.limits).map(Limits::negated),
                    ..*own
                }
            };
            own.iter().enumerate().map(best).collect::<Vec<DifferenceNoise>>()
        };
        worst.iter().zip(&self.basis.pairs).map(turned).collect()
    }

    /// What is told of an estimand's values, at every radius and cost radius that was asked about.
    fn told(&self, numbers: &[Number], estimand: usize, values: &[f64]) -> Vec<Told> {
        let (anchors, radii) = (&self.radii, &self.question().context.radii);
        let estimands = self.worst.policies.len() + self.worst.differences.len();
        let one = |(at, &value): (usize, &f64)| {
            let (cost, place) = (at / radii.len(), at % radii.len());
            let row = &numbers[(cost * estimands + estimand) * anchors.len()..][..anchors.len()];
            let (noise, rise, cover) = if anchors == radii {
                (row[place].noise, row[place].rise, row[place].cover)
            } else {
                let solved = |(&radius, number): (&f64, &Number)| {
                    let same = radii.iter().position(|r| *r == radius).unwrap_or(0);
                    let value = values[cost * radii.len() + same];
                    Anchor { radius, value, noise: number.noise, rise: number.rise }
                };
                let solved: Vec<Anchor> = anchors.iter().zip(row).map(solved).collect();
                let (noise, rise) = between(&solved, radii[place], value);
                (noise, rise, None)
            };
            // What is left over is counted from the value as it was solved.
            let ends = (value, value + rise);
            let limits = noise.limits(ends, self.direction(), self.asked.level, self.clusters());
            Told { noise, limits, cover }
        };
        values.iter().enumerate().map(one).collect()
    }

    /// Limits of values, within what means can be, no better than the estimate without a shift allows, and
    /// nested; none where the rows have no spread to tell them by.
    fn limits(
        &self,
        all: &[Told],
        values: &[f64],
        range: (f64, f64),
        plain: Option<Estimate>,
    ) -> Vec<Option<Limits>> {
        let (question, direction) = (self.question(), self.direction());
        let plain = plain.and_then(|e| e.at_level(self.asked.level, self.clusters()).interval);
        // The population of the data, or of the target, is in every such set: some population there costs at
        // least what the estimate's own lower limit says.
        let nominal = plain.filter(|_| question.context.set.contains_nominal());
        let one = |(told, &value): (&Told, &f64)| {
            let limits = told.limits.clamped(range, value);
            let limits = match nominal {
                Some(plain) => limits.no_better_than((plain.lower, plain.upper), value, direction),
                None => limits,
            };
            (told.noise.fitted_se > 0.0 || told.noise.honest_se > 0.0).then_some(limits)
        };
        let limits: Vec<Option<Limits>> = all.iter().zip(values).map(one).collect();
        let radii = &question.context.radii;
        let rows = limits.chunks(radii.len()).zip(values.chunks(radii.len()));
        rows.flat_map(|(limits, values)| nested(radii, values, limits, direction)).collect()
    }
}

impl Told {
    fn honest(&self) -> Honest {
        Honest { value: self.noise.honest, se: self.noise.honest_se }
    }

    fn doubled(&self) -> Option<Doubled> {
        let (covered, effective_rows) = self.cover?;
        let (value, se) = self.noise.corrected;
        Some(Doubled { value, se, covered, effective_rows })
    }
}

//! How much of the worst cases is noise: populations found on one part of the rows and valued on the other, and the
//! confidence limits that follow.
//!
//! Where there are many radii the parts are solved at a few of them; between these the distance of the held-out value to
//! the plug-in value, its standard errors and the allowances are on straight lines ([`between`]).

use super::basis::{ChosenBy, EvaluationBasis, KnownSplits};
use super::effects::{Effects, PairValues};
use super::estimates::Estimates;
use super::models::by_kind;
use super::parts::PartTask;
use super::splits::{affordable, anchors};
use super::worst_cases::WorstCases;
use super::{DifferenceNoise, Halving, HeldOutEstimate, Question, ValueNoise};
use crate::check::ModelNoise;
use seawall::evaluate::{Estimate, Support, ValueRange};
use seawall::inference::{
    Anchor, LimitPlan, Limits, NoisyValue, SplitNoise, Splits, between, nested, split_noise,
};
use seawall::outcome::{LeftOver, ResidualKind, Values};
use seawall::{Detail, Direction, Error, Result, Settings, Shift, Watch, WorstCase};

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
        (effects, estimates, worst): (&Effects, &Estimates, &WorstCases),
        range: (f64, f64),
        watch: Watch<'_>,
    ) -> Result<Self> {
        let question = &basis.question;
        // What is not fitted again says nothing of its noise.
        let refitted = basis.prepared.model.recipe.is_refitted();
        let asked = question.halves.filter(|_| refitted && !question.context.set.needs_actions());
        let Some(asked) = asked else { return Ok(HeldOut::nothing(worst, Vec::new())) };
        let (asked, mut notes) = match basis.known_splits {
            // A learned policy remembers what the parts of these splits learned, and of no others.
            Some(KnownSplits { seed, count }) => {
                (Some(Halving { count, seed, fewer: false, ..asked }), Vec::new())
            }
            None => affordable(question, asked, (basis.fitted.log(), &basis.robust)),
        };
        let Some(asked) = asked else { return Ok(HeldOut::nothing(worst, notes)) };
        let radii = anchors(question);
        let task = HeldOutTask { basis, effects, estimates, worst, asked, range, radii };
        let numbers = match task.numbers(watch) {
            Ok(numbers) => numbers,
            Err(error) => {
                notes.push(refused(basis, error)?);
                return Ok(HeldOut::nothing(worst, notes));
            }
        };
        let count = numbers.first().map_or(asked.count, |n| n.own.noise.splits);
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

/// What is asked of the splits.
struct HeldOutTask<'a> {
    basis: &'a EvaluationBasis<'a>,
    effects: &'a Effects,
    estimates: &'a Estimates,
    worst: &'a WorstCases,
    asked: Halving,
    /// The least and the largest outcome.
    range: (f64, f64),
    /// The radii at which parts are solved.
    radii: Vec<f64>,
}

/// One number: its plug-in value with its noise, and the same by under-smoothed models.
#[derive(Clone, Copy)]
struct Number {
    own: NoisyValue,
    rougher: [Option<NoisyValue>; 2],
}

/// What is told of one value.
struct ToldValue {
    noise: SplitNoise,
    limits: Limits,
}

impl HeldOutTask<'_> {
    fn question(&self) -> &Question {
        &self.basis.question
    }

    fn direction(&self) -> Direction {
        self.basis.robust.direction()
    }

    fn clusters(&self) -> Option<usize> {
        self.basis.fitted.log().clusters()
    }

    /// How many estimands there are: policies, then pairs.
    fn estimands(&self) -> usize {
        self.basis.policies.len() + self.basis.pairs.len()
    }

    /// What may be left in the residuals and is looked at; along pairs of columns it is known only where it is listed.
    fn residuals(&self) -> &'static [ResidualKind] {
        if self.apart() {
            &[ResidualKind::Additive]
        } else {
            &[ResidualKind::Additive, ResidualKind::Pairwise]
        }
    }

    /// The limits of policies hold together, and so do those of pairs.
    fn together(&self, estimand: usize) -> usize {
        let policies = self.basis.policies.len();
        if estimand < policies { policies } else { self.effects.contrasts() }
    }

    fn plan(&self, estimand: usize) -> LimitPlan {
        LimitPlan {
            direction: self.direction(),
            level: self.asked.level,
            together: self.together(estimand),
            clusters: self.clusters(),
            apart: self.apart(),
        }
    }

    /// Every number: cost radius by cost radius, estimand by estimand, radius by radius.
    fn numbers(&self, watch: Watch<'_>) -> Result<Vec<Number>> {
        let (basis, question, asked) = (self.basis, self.question(), self.asked);
        let (estimands, radii, residuals) = (self.estimands(), &self.radii, self.residuals());
        let costs: Vec<Shift> =
            question.cost.radii.iter().map(|r| question.cost.set.at(*r)).collect();
        let rough = self.rough(residuals, watch)?;
        let count = costs.len() * estimands * radii.len();
        let number = |noise: &[SplitNoise], at: usize| {
            let (row, radius) = (at / radii.len(), radii[at % radii.len()]);
            let plug_in = self.plug_in(row % estimands, row / estimands, radius);
            let rougher = |k: usize| {
                let plug_in = rough.get(k)?[at];
                Some(NoisyValue { plug_in, noise: noise[(k + 1) * count + at] })
            };
            let own = NoisyValue { plug_in, noise: noise[at] };
            Number { own, rougher: [rougher(0), rougher(1)] }
        };
        // What is between the radii that somebody named changes no number of theirs.
        let whole = *radii == question.context.radii;
        let named = |radius: f64| whole || question.wanted.named_radii.contains(&radius);
        let needed = |so_far: &[SplitNoise]| {
            let some = (0..count).filter(|at| named(radii[at % radii.len()]));
            let each = some.map(|at| {
                let estimand = at / radii.len() % estimands;
                let limits = number(so_far, at).limits(&self.plan(estimand));
                so_far[at].splits_needed(limits.upper - limits.lower)
            });
            each.max().unwrap_or(0)
        };
        let splits = if asked.fewer {
            Splits::Enough(asked.count, &needed)
        } else {
            Splits::Exactly(asked.count)
        };
        let (costs, seed) = (&costs[..], asked.seed);
        let task = PartTask { basis, effects: self.effects, costs, residuals, radii, seed };
        let log = basis.fitted.log();
        let noise = split_noise(log, &splits, seed, watch, &|folds, split, watch| {
            task.split(folds, split, Settings { watch, ..Settings::default() })
        })?;
        Ok((0..count).map(|at| number(&noise, at)).collect())
    }

    /// The plug-in values of the under-smoothed models, each in the order of numbers.
    fn rough(&self, residuals: &[ResidualKind], watch: Watch<'_>) -> Result<Vec<Vec<f64>>> {
        let steps = self.basis.fitted.residual_steps();
        let left = self.basis.fitted.left_over(residuals)?;
        let modelled = self.effects.modelled.iter();
        let modelled: Vec<Vec<LeftOver>> =
            modelled.map(|effect| effect.left_over(steps, residuals)).collect::<Result<_>>()?;
        let of_kind = |(k, left): (usize, &LeftOver)| {
            let modelled: Vec<&LeftOver> = modelled.iter().map(|effect| &effect[k]).collect();
            self.rough_values(left, &modelled, watch)
        };
        left.iter().enumerate().map(of_kind).collect()
    }

    /// The plug-in values of one under-smoothed model, given what is left in its residuals and in those of effects.
    fn rough_values(
        &self,
        left: &LeftOver,
        modelled: &[&LeftOver],
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let (question, robust, radii) = (self.question(), &self.basis.robust, &self.radii);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let set = question.context.set;
        let mut all = Vec::new();
        for (cost, &cost_radius) in question.cost.radii.iter().enumerate() {
            let costs = question.cost.set.at(cost_radius);
            let range = self.basis.fitted.value_range_on(robust.points(), costs, settings)?;
            let range = self.with_left_over(&range, left);
            let mut cases = Vec::new();
            for asked in &self.basis.policies {
                let (policy, values) = (&asked.policy, &range.worst);
                cases.push(robust.evaluate(policy, values, set, radii, None, settings)?.0);
            }
            for (&(a, b), pair) in self.basis.pairs.iter().zip(&self.effects.pairs) {
                let (own, _) = match pair {
                    PairValues::Actions { .. } => {
                        let pair = (&self.basis.policies[a].policy, &self.basis.policies[b].policy);
                        robust.worst_difference(pair, &range, set, radii, None, settings)?
                    }
                    PairValues::Effect { of, values } => {
                        let values =
                            self.effect_with(&values[cost], modelled[of.effect], of.factor);
                        let action = &self.effects.modelled[of.effect].action;
                        robust.evaluate(action, &values, set, radii, None, settings)?
                    }
                };
                cases.push(own);
            }
            all.extend(cases.iter().flatten().map(WorstCase::value));
        }
        Ok(all)
    }

    /// On the whole space what is left is valued by itself: the worst case of a sum is no worse than the sum of the
    /// worst cases.
    fn apart(&self) -> bool {
        self.question().support == Support::Space
    }

    fn with_left_over(&self, range: &ValueRange, left: &LeftOver) -> ValueRange {
        if self.apart() { range.left_over(left) } else { range.with_left_over(left) }
    }

    /// An effect's values with what is left in its residuals, which count by its factor.
    fn effect_with(&self, values: &Values, left: &LeftOver, factor: f64) -> Values {
        let alone = left.alone(values).times(factor);
        if self.apart() { alone } else { values.plus(alone.matrix(), 0.0) }
    }

    /// The plug-in value of an estimand, policies before pairs, at a radius that was asked about.
    fn plug_in(&self, estimand: usize, cost: usize, radius: f64) -> f64 {
        let radii = &self.question().context.radii;
        let at = cost * radii.len() + radii.iter().position(|r| *r == radius).unwrap_or(0);
        match estimand.checked_sub(self.worst.policies.len()) {
            None => self.worst.policies[estimand].values[at].worst.value,
            Some(pair) => self.worst.differences[pair].values[at].bounds.worst.value,
        }
    }

    /// Whether a policy was learned on the rows and nothing tells what their parts would have learned.
    fn is_unknown(&self, policy: usize) -> bool {
        matches!(self.basis.policies[policy].chosen, Some(ChosenBy::Unknown))
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
            let noise = |(told, limits): (&ToldValue, Option<Limits>)| ValueNoise {
                held_out: Some(told.held_out()),
                limits,
                plug_in_se: Some(told.noise.plug_in_se),
            };
            if self.is_unknown(k) {
                return vec![ValueNoise::default(); values.len()];
            }
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
            let noise = |(told, limits): (&ToldValue, Option<Limits>)| DifferenceNoise {
                held_out: Some(told.held_out()),
                limits,
                ..DifferenceNoise::default()
            };
            let (a, b) = self.basis.pairs[k];
            if self.is_unknown(a) || self.is_unknown(b) {
                return vec![DifferenceNoise::default(); values.len()];
            }
            all.iter().zip(limits).map(noise).collect::<Vec<DifferenceNoise>>()
        };
        let worst: Vec<Vec<DifferenceNoise>> =
            self.worst.differences.iter().enumerate().map(one).collect();
        let turned = |(own, &(a, b)): (&Vec<DifferenceNoise>, &(usize, usize))| {
            let other = self.basis.pairs.iter().position(|&pair| pair == (b, a));
            let best = |(at, own): (usize, &DifferenceNoise)| {
                let other = other.map(|k| worst[k][at]);
                DifferenceNoise {
                    best_held_out: other.and_then(|o| o.held_out).map(HeldOutEstimate::turned),
                    best_limits: other.and_then(|o| o.limits).map(Limits::negated),
                    ..*own
                }
            };
            own.iter().enumerate().map(best).collect::<Vec<DifferenceNoise>>()
        };
        worst.iter().zip(&self.basis.pairs).map(turned).collect()
    }

    /// What is told of an estimand's values, at every radius and cost radius that was asked about.
    fn told(&self, numbers: &[Number], estimand: usize, values: &[f64]) -> Vec<ToldValue> {
        let (anchors, radii) = (&self.radii, &self.question().context.radii);
        let one = |(at, &value): (usize, &f64)| {
            let (cost, place) = (at / radii.len(), at % radii.len());
            let row = (cost * self.estimands() + estimand) * anchors.len();
            let row = &numbers[row..][..anchors.len()];
            let solved = |number: &Number, value: f64| {
                // On the safe side of a smoothed value.
                let own = NoisyValue { plug_in: value, ..number.own };
                Number { own, ..*number }.limits(&self.plan(estimand))
            };
            let (noise, limits) = if anchors == radii {
                (row[place].own.noise, solved(&row[place], value))
            } else {
                let anchor = |(&radius, number): (&f64, &Number)| {
                    let same = radii.iter().position(|r| *r == radius).unwrap_or(0);
                    let value = values[cost * radii.len() + same];
                    Anchor { radius, value, noise: number.own.noise, limits: solved(number, value) }
                };
                let all: Vec<Anchor> = anchors.iter().zip(row).map(anchor).collect();
                between(&all, radii[place], value)
            };
            ToldValue { noise, limits }
        };
        values.iter().enumerate().map(one).collect()
    }

    /// Limits of values, within what means can be, no better than the estimate without a shift allows, and
    /// nested; none where the rows have no spread to tell them by.
    fn limits(
        &self,
        all: &[ToldValue],
        values: &[f64],
        range: (f64, f64),
        plain: Option<Estimate>,
    ) -> Vec<Option<Limits>> {
        let (question, direction) = (self.question(), self.direction());
        let plain = plain.and_then(|e| e.at_level(self.asked.level, self.clusters()).interval);
        // The population of the data, or of the target, is in every such set: some population there costs at
        // least what the estimate's own lower limit says.
        let nominal = plain.filter(|_| question.context.set.contains_nominal());
        let one = |(told, &value): (&ToldValue, &f64)| {
            let limits = told.limits.clamped(range, value);
            let limits = match nominal {
                Some(plain) => limits.no_better_than((plain.lower, plain.upper), value, direction),
                None => limits,
            };
            (told.noise.plug_in_se > 0.0 || told.noise.held_out_se > 0.0).then_some(limits)
        };
        let limits: Vec<Option<Limits>> = all.iter().zip(values).map(one).collect();
        let radii = &question.context.radii;
        let rows = limits.chunks(radii.len()).zip(values.chunks(radii.len()));
        rows.flat_map(|(limits, values)| nested(radii, values, limits, direction)).collect()
    }
}

impl Number {
    fn limits(&self, plan: &LimitPlan) -> Limits {
        plan.limits(&self.own, self.rougher.each_ref().map(Option::as_ref))
    }
}

impl ToldValue {
    fn held_out(&self) -> HeldOutEstimate {
        HeldOutEstimate { value: self.noise.held_out, se: self.noise.held_out_se }
    }
}

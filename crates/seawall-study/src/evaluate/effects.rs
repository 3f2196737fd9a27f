//! The values of every compared pair: the difference of two policies, modelled as itself where that can be done.

use super::EffectClass;
use super::basis::EvaluationBasis;
use seawall::evaluate::{EFFECT, Evaluator, Solved, Support, ValueRange};
use seawall::outcome::{
    LeftOver, ModelSearch, Recipe, ResidualKind, ResidualSteps, Unseen, Values,
};
use seawall::policy::Policy;
use seawall::{Log, Matrix, Result, Settings, Wasserstein, Watch};
use std::sync::Arc;

/// The differences of all compared pairs.
pub(super) struct Effects {
    /// For each pair of the basis, in its order.
    pub(super) pairs: Vec<PairValues>,
    /// The differences that are modelled: of pairs that differ by a factor one is.
    pub(super) modelled: Vec<PairEffect>,
    /// The worst and the best values of actions, by cost radius.
    pub(super) ranges: Vec<ValueRange>,
}

/// The modelled difference of two policies.
pub(super) struct PairEffect {
    /// The policies, by their places in the basis.
    pub(super) policies: (usize, usize),
    /// Pseudo-outcomes in place of outcomes, entry by entry as the study's log has them.
    pub(super) log: Log,
    /// The only action of that log.
    pub(super) action: Policy,
    /// What was chosen for it.
    pub(super) recipe: Recipe,
    /// What was fitted to it.
    pub(super) values: Values,
    /// The chances of the first policy less those of the second.
    chances: Matrix,
}

/// The difference of a pair in one direction, ready for worst cases.
pub(super) enum PairValues {
    /// So many times a modelled difference: values by cost radius.
    Effect { of: EffectShare, values: Vec<Arc<Values>> },
    /// By the values of actions, where the rows give no pseudo-outcomes.
    Actions { policies: (usize, usize) },
}

/// A multiple of a modelled difference.
#[derive(Clone, Copy)]
pub(super) struct EffectShare {
    /// The place of the effect.
    pub(super) effect: usize,
    /// The factor, negative for the other direction.
    pub(super) factor: f64,
}

impl EffectShare {
    /// What it shares its worst cases with, up to the size of the factor: the effect, and whether it is reversed.
    pub(super) fn direction(self) -> (usize, bool) {
        (self.effect, self.factor < 0.0)
    }
}

/// How the model of a difference is chosen.
pub(super) fn effect_search(fitted: &Evaluator) -> ModelSearch {
    ModelSearch::Effect(fitted.options().folds.into())
}

impl Effects {
    pub(super) fn new(basis: &EvaluationBasis<'_>, watch: Watch<'_>) -> Result<Self> {
        let settings = Settings { watch, ..Settings::default() };
        let (question, points) = (&basis.question, basis.robust.points());
        let mut effects = Effects { pairs: Vec::new(), modelled: Vec::new(), ranges: Vec::new() };
        if basis.pairs.is_empty() {
            return Ok(effects);
        }
        for &radius in &question.cost.radii {
            let costs = question.cost.set.at(radius);
            effects.ranges.push(basis.fitted.value_range_on(points, costs, settings)?);
        }
        let plain = basis.fitted.values_on(points, Wasserstein.at(0.0), settings)?;
        for &(a, b) in &basis.pairs {
            let policies = [a, b].map(|k| &basis.policies[k].policy);
            // What shifted outcomes add to an effect is known by context alone, not everywhere in a space.
            let listed = question.support != Support::Space || !question.shifts_outcomes();
            let of = if listed { effects.share_of(basis, (a, b), watch)? } else { None };
            let Some(of) = of else {
                effects.pairs.push(PairValues::Actions { policies: (a, b) });
                continue;
            };
            let own = effects.modelled[of.effect].values.times(of.factor);
            let shifted = |r: &ValueRange| with_shifted_outcomes(&own, r, &plain, policies);
            let values = effects.ranges.iter().map(shifted).map(Arc::new).collect();
            effects.pairs.push(PairValues::Effect { of, values });
        }
        Ok(effects)
    }

    /// How many differences there are that are no multiples of each other: what is said of one is said of its multiples.
    pub(super) fn contrasts(&self) -> usize {
        let apart = self.pairs.iter().filter(|pair| matches!(pair, PairValues::Actions { .. }));
        self.modelled.len() + apart.count().div_ceil(2)
    }

    /// How a pair's difference is modelled, where it is as an effect of its own.
    pub(super) fn class(&self, values: &PairValues) -> Option<EffectClass> {
        match values {
            PairValues::Effect { of, .. } => Some(self.modelled[of.effect].class()),
            PairValues::Actions { .. } => None,
        }
    }

    /// The difference of two policies as a multiple of one that is modelled, which it is if there is none yet; None where
    /// the rows give no pseudo-outcomes. A rule that rows choose is a different one on each part of them: its differences
    /// are multiples of themselves alone.
    fn share_of(
        &mut self,
        basis: &EvaluationBasis<'_>,
        (a, b): (usize, usize),
        watch: Watch<'_>,
    ) -> Result<Option<EffectShare>> {
        let policies = [a, b].map(|k| &basis.policies[k].policy);
        let chances = policies[0].probabilities().minus(policies[1].probabilities());
        let chosen = |k: usize| basis.policies[k].chosen.is_some();
        for (effect, known) in self.modelled.iter().enumerate() {
            let (first, second) = known.policies;
            let same = (first, second) == (b, a);
            let comparable = same || ![a, b, first, second].into_iter().any(chosen);
            let factor = comparable.then(|| chances.multiple_of(&known.chances)).flatten();
            if let Some(factor) = factor {
                return Ok(Some(EffectShare { effect, factor }));
            }
        }
        let Some(effect) = PairEffect::new(basis.fitted, policies, (a, b), watch)? else {
            return Ok(None);
        };
        self.modelled.push(effect);
        Ok(Some(EffectShare { effect: self.modelled.len() - 1, factor: 1.0 }))
    }
}

impl PairEffect {
    /// None where the rows give no pseudo-outcomes.
    pub(super) fn new(
        fitted: &Evaluator,
        [policy, against]: [&Policy; 2],
        policies: (usize, usize),
        watch: Watch<'_>,
    ) -> Result<Option<Self>> {
        let chances = policy.probabilities().minus(against.probabilities());
        let Some(log) = fitted.pseudo_outcomes(policy, against, watch)? else {
            return Ok(None);
        };
        let recipe = effect_search(fitted).find_on_part(&log, watch)?.recipe;
        let model = recipe.fit(&log, watch)?;
        let settings = Settings { watch, ..Settings::default() };
        let values = model.values(&log, Wasserstein.at(0.0), Unseen::Mean, settings)?;
        let action = Policy::constant(&log, EFFECT)?;
        Ok(Some(PairEffect { policies, log, action, recipe, values, chances }))
    }

    /// What is left in the residuals of its model, for each kind of structure that is looked for.
    pub(super) fn left_over(
        &self,
        steps: &ResidualSteps,
        kinds: &[ResidualKind],
    ) -> Result<Vec<LeftOver>> {
        steps.left_over(&self.log, &self.values, kinds)
    }

    /// How it is modelled.
    fn class(&self) -> EffectClass {
        match &self.recipe {
            Recipe::Additive(_) => EffectClass::Additive,
            Recipe::Tree(settings) if settings.iter().all(|s| s.max_depth == 0) => {
                EffectClass::Constant
            }
            _ => EffectClass::Tree,
        }
    }
}

impl PairValues {
    /// Worst cases of the difference at one cost radius, and the curve to a tolerance if one is given.
    pub(super) fn solve(
        &self,
        (basis, effects): (&EvaluationBasis<'_>, &Effects),
        cost: usize,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let (robust, set) = (&basis.robust, basis.question.context.set);
        match self {
            PairValues::Effect { of, values } => {
                let action = &effects.modelled[of.effect].action;
                robust.evaluate(action, &values[cost], set, radii, curve, settings)
            }
            PairValues::Actions { policies: (a, b) } => {
                let pair = (&basis.policies[*a].policy, &basis.policies[*b].policy);
                robust.worst_difference(pair, &effects.ranges[cost], set, radii, curve, settings)
            }
        }
    }

    /// The difference at every point of the support.
    pub(super) fn by_context(
        &self,
        (basis, effects): (&EvaluationBasis<'_>, &Effects),
        cost: usize,
    ) -> Result<Vec<f64>> {
        match self {
            PairValues::Effect { of, values } => {
                basis.robust.values(&effects.modelled[of.effect].action, &values[cost])
            }
            PairValues::Actions { policies: (a, b) } => {
                let (policy, against) = (&basis.policies[*a].policy, &basis.policies[*b].policy);
                basis.robust.difference(policy, against, &effects.ranges[cost])
            }
        }
    }
}

/// The values of an effect where outcomes may shift: by how much further the worst outcomes of one policy and the best
/// of the other part than the plain means do is added.
pub(super) fn with_shifted_outcomes(
    effect: &Values,
    range: &ValueRange,
    plain: &Values,
    [policy, against]: [&Policy; 2],
) -> Values {
    if range.is_single() {
        return effect.clone();
    }
    let added = |x: usize, _: usize| {
        let chances = policy.row(x).iter().zip(against.row(x)).map(|(p, q)| p - q);
        let apart = |(action, more): (usize, f64)| {
            let shifted = if more > 0.0 { &range.worst } else { &range.best };
            more * (shifted.at(x, action) - plain.at(x, action))
        };
        chances.enumerate().map(apart).sum()
    };
    effect.plus(&Matrix::from_fn(effect.contexts(), 1, added), range.slack())
}

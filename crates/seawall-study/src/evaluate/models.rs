//! The kinds of model that `auto` chose from, by what each makes of the first policy's worst case: as
//! fitted, honestly, and how much of it may be noise.

use super::basis::EvaluationBasis;
use super::halves::both;
use super::worst_cases::WorstCases;
use super::{Halving, ValueNoise};
use crate::check::ModelNoise;
use seawall::inference::{Correction, Estimand, HalfQuestion, Splits, crossings, halves};
use seawall::outcome::Recipe;
use seawall::policy::Policy;
use seawall::{Detail, Error, Result, Settings, Shift, Watch};

/// Halvings of a kind that was not chosen, at most: its row of a table, not an answer.
const HALVINGS: usize = 10;
/// The same where nobody asked for halvings: each values both halves on the other.
const UNASKED: usize = 2;

/// The worst cases of every kind, at the first positive radius; `first` is the noise of the first policy's.
pub(super) fn by_kind(
    basis: &EvaluationBasis<'_>,
    worst: &WorstCases,
    first: &[ValueNoise],
    asked: &Halving,
    watch: Watch<'_>,
) -> Result<Vec<Option<ModelNoise>>> {
    let question = &basis.question;
    let (Some(policy), Some(of_first)) = (basis.policies.first(), worst.policies.first()) else {
        return Ok(Vec::new());
    };
    let radii = &question.context.radii;
    let at = radii.iter().position(|r| *r > 0.0).unwrap_or(0);
    let shifts = question.cost.radii[0] > 0.0 || !question.cost.set.stays_at_zero();
    let sign = basis.robust.direction().sign();
    let ends = |(as_fitted, honest): (f64, f64)| ModelNoise {
        as_fitted,
        honest,
        gap: sign * (as_fitted - honest),
    };
    let mut all = Vec::new();
    for candidate in &basis.prepared.model.candidates {
        all.push(match (candidate.chosen, first.get(at).and_then(|noise| noise.honest)) {
            (true, Some(honest)) => Some(ends((of_first.values[at].worst.value, honest.value))),
            _ if shifts && !candidate.recipe.has_outcomes() => None,
            _ => {
                let kind = ModelAtRadius { basis, recipe: &candidate.recipe, radius: radii[at] };
                Some(ends(kind.ends(&policy.policy, asked, watch)?))
            }
        });
    }
    Ok(all)
}

/// One kind of model, asked about one policy at one radius.
struct ModelAtRadius<'a> {
    basis: &'a EvaluationBasis<'a>,
    recipe: &'a Recipe,
    radius: f64,
}

impl ModelAtRadius<'_> {
    /// The worst case as fitted, and the honest one.
    fn ends(&self, policy: &Policy, asked: &Halving, watch: Watch<'_>) -> Result<(f64, f64)> {
        let (prepared, question) = (self.basis.prepared, &self.basis.question);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let costs: [Shift; 1] = [question.cost.set.at(question.cost.radii[0])];
        let model = self.recipe.fit(prepared.log(), watch)?;
        let unseen = prepared.study.unseen.never_refusing();
        let values = model.values(prepared.log(), costs[0], unseen, settings)?;
        let within = question.context.set.at(self.radius);
        let fitted = self.basis.robust.worst_case(policy, &values, within, settings)?;
        let half_question = HalfQuestion {
            recipe: self.recipe,
            unseen,
            costs: &costs,
            set: question.context.set,
            radii: &[self.radius],
            support: question.support,
        };
        let correction = Correction::new(self.basis.fitted)?;
        let numbers = [Estimand::Value(policy)];
        let most = if asked.fewer { UNASKED } else { HALVINGS };
        let splits = Splits::Exactly(asked.count.min(most));
        let log = prepared.log();
        let halved = halves(log, &splits, asked.seed, watch, &|a, b, halving, watch| {
            let settings = Settings { watch, ..Settings::default() };
            let half = (&half_question, question.within());
            let (a, b) = both(prepared, half, (a, b), (asked.seed, halving), settings)?;
            crossings([&a, &b], &numbers, &half_question, (&correction, &[]), settings)
        })?;
        let honest = halved.first().map(|h| h.honest);
        let honest = honest.ok_or_else(|| Error::internal("one number was asked for"))?;
        Ok((fitted.value(), honest))
    }
}

//! The kinds of model that `auto` chose from, by what each makes of the first policy's worst case: as
//! fitted, honestly, and how much of it may be noise.

use super::halving::both;
use super::{Evaluation, Halving, Question};
use crate::prepare::PreparedStudy;
use seawall::evaluate::Robust;
use seawall::inference::{Estimand, Correction, HALF_GAP, HalfQuestion, Splits, crossings, halves};
use seawall::outcome::Recipe;
use seawall::policy::Policy;
use seawall::{Ambiguity, Detail, Error, Result, Settings, Watch};

/// Halvings of a kind that was not chosen, at most: its row of a table, not an answer.
const HALVINGS: usize = 10;
/// The same where nobody asked for halvings: each values both halves on the other.
const UNASKED: usize = 2;

/// Fills in the worst cases of every kind, at the first positive radius.
pub(super) fn by_kind(
    prepared: &PreparedStudy,
    question: &Question,
    asked: &Halving,
    robust: &Robust,
    found: &mut Evaluation,
    watch: Watch<'_>,
) -> Result<()> {
    let Some(first) = found.policies.first() else { return Ok(()) };
    let radii = &question.context.radii;
    let at = radii.iter().position(|r| *r > 0.0).unwrap_or(0);
    let result = &first.results[at];
    let shifts = question.cost.radii[0] > 0.0 || !question.cost.set.stays_at_zero();
    let mut rows = Vec::new();
    for candidate in &prepared.model.candidates {
        let ends = match (candidate.chosen, result.honest) {
            (true, Some(honest)) => Some((result.value, honest.value)),
            _ if shifts && !candidate.recipe.has_outcomes() => None,
            _ => {
                let kind = Kind { prepared, question, recipe: &candidate.recipe, radius: radii[at] };
                Some(kind.ends(&first.policy, robust, asked, watch)?)
            }
        };
        rows.push(ends);
    }
    let sign = found.direction.sign();
    for (row, ends) in found.diagnostics.models.iter_mut().zip(rows) {
        let Some((fitted, honest)) = ends else { continue };
        row.as_fitted = Some(fitted);
        row.honest = Some(honest);
        row.gap = Some(sign * (fitted - honest));
    }
    Ok(())
}

/// One kind of model, asked about one policy at one radius.
struct Kind<'a> {
    prepared: &'a PreparedStudy,
    question: &'a Question,
    recipe: &'a Recipe,
    radius: f64,
}

impl Kind<'_> {
    /// The worst case as fitted, and the honest one.
    fn ends(
        &self,
        policy: &Policy,
        robust: &Robust,
        asked: &Halving,
        watch: Watch<'_>,
    ) -> Result<(f64, f64)> {
        let (prepared, question) = (self.prepared, self.question);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let costs: [Ambiguity; 1] = [question.cost.set.at(question.cost.radii[0])];
        let model = self.recipe.fit(prepared.log(), watch)?;
        let unseen = prepared.study.unseen.never_refusing();
        let values = model.values(prepared.log(), costs[0], unseen, settings)?;
        let within = question.context.set.at(self.radius);
        let fitted = robust.worst_case(policy, &values, within, settings)?;
        let half_question = HalfQuestion {
            recipe: self.recipe,
            unseen,
            costs: &costs,
            set: question.context.set,
            radii: &[self.radius],
            support: question.support,
        };
        let whole = prepared.fitted(watch)?;
        let correction = Correction::new(whole)?;
        let numbers = [Estimand::Value(policy)];
        let most = if asked.fewer { UNASKED } else { HALVINGS };
        let splits = Splits::Exactly(asked.count.min(most));
        let halved = halves(prepared.log(), &splits, asked.seed, watch, &|a, b, halving, watch| {
            let settings = Settings { stop_at: HALF_GAP, watch, ..Settings::default() };
            let half = (&half_question, question.within());
            let (a, b) = both(prepared, half, (a, b), (asked.seed, halving), settings)?;
            crossings([&a, &b], &numbers, &half_question, (&correction, &[]), settings)
        })?;
        let honest = halved.first().map(|h| h.honest);
        let honest = honest.ok_or_else(|| Error::internal("one number was asked for"))?;
        Ok((fitted.value(), honest))
    }
}

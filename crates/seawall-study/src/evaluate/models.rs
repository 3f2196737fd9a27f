//! The kinds of model that `auto` chose from, by what each makes of the first policy's worst case: as
//! fitted, honestly, and how much of it may be noise.

use super::{Evaluation, Halving, Question};
use crate::load::Loaded;
use seawall::evaluate::Robust;
use seawall::inference::{Asked, Correction, Half, HalfQuestion, crossings, halves};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{Ambiguity, Detail, Error, Log, Result, Settings, Watch};

/// Halvings of a kind that was not chosen, at most: its row of a table, not an answer.
const HALVINGS: usize = 10;

/// Fills in the worst cases of every kind, at the first positive radius.
pub(super) fn by_kind(
    loaded: &Loaded,
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
    let mut rows = Vec::new();
    for candidate in &loaded.candidates {
        let ends = match (candidate.chosen, result.honest) {
            (true, Some(honest)) => (result.value, honest.value),
            _ => {
                let kind = Kind { loaded, question, recipe: &candidate.recipe, radius: radii[at] };
                kind.ends(&first.policy, robust, asked, watch)?
            }
        };
        rows.push(ends);
    }
    let sign = found.direction.sign();
    for (row, (fitted, honest)) in found.diagnostics.models.iter_mut().zip(rows) {
        row.as_fitted = Some(fitted);
        row.honest = Some(honest);
        row.gap = Some(sign * (fitted - honest));
    }
    Ok(())
}

/// One kind of model, asked about one policy at one radius.
struct Kind<'a> {
    loaded: &'a Loaded,
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
        let (loaded, question) = (self.loaded, self.question);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let costs: [Ambiguity; 1] = [question.cost.set.at(question.cost.radii[0])];
        let model = self.recipe.fit(loaded.log(), watch)?;
        let unseen = match loaded.study.unseen {
            Unseen::Error => Unseen::Mean,
            unseen => unseen,
        };
        let values = model.values(loaded.log(), costs[0], unseen, settings)?;
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
        let centre = loaded.target.as_ref().map(|t| t.sample.population());
        let whole = loaded.fitted(watch)?;
        let correction = Correction::new(whole)?;
        let numbers = [Asked::Value(policy)];
        let count = asked.count.min(HALVINGS);
        let halved = halves(loaded.log(), count, asked.seed, watch, &|a, b, _, watch| {
            let settings = Settings { watch, ..Settings::default() };
            let half = |log: &Log| Half::new(log, &half_question, centre, settings);
            let (a, b) = (half(a)?, half(b)?);
            crossings([&a, &b], &numbers, &half_question, (&correction, &[]), settings)
        })?;
        let honest = halved.first().map(|h| h.honest);
        let honest = honest.ok_or_else(|| Error::internal("one number was asked for"))?;
        Ok((fitted.value(), honest))
    }
}

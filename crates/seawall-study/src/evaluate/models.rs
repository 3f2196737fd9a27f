//! The kinds of model that `auto` chose from, by what each makes of the first policy's worst case: plug-in, held out, and
//! how much of it may be noise.

use super::basis::EvaluationBasis;
use super::parts::part_references;
use super::worst_cases::WorstCases;
use super::{Halving, ValueNoise};
use crate::check::ModelNoise;
use crate::reference::Reference;
use seawall::inference::{Estimand, PartFit, PartQuestion, Splits, split_noise, split_values};
use seawall::outcome::{ModelSearch, Recipe};
use seawall::policy::Policy;
use seawall::{Detail, Error, Log, Result, Settings, Shift, Watch};
use std::sync::Arc;

/// Sample splits of a kind that was not chosen, at most: its row of a table, not an answer.
const SPLITS: usize = 10;
/// The same where nobody asked for splits: each values both parts on the other.
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
    let ends = |(plug_in, held_out): (f64, f64)| ModelNoise {
        plug_in,
        held_out,
        gap: sign * (plug_in - held_out),
    };
    let mut all = Vec::new();
    for candidate in &basis.prepared.model.candidates {
        all.push(match (candidate.chosen, first.get(at).and_then(|noise| noise.held_out)) {
            (true, Some(held_out)) => Some(ends((of_first.values[at].worst.value, held_out.value))),
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
    /// The plug-in worst case, and the held-out one.
    fn ends(&self, policy: &Policy, asked: &Halving, watch: Watch<'_>) -> Result<(f64, f64)> {
        let (prepared, question) = (self.basis.prepared, &self.basis.question);
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let costs: [Shift; 1] = [question.cost.set.at(question.cost.radii[0])];
        let model = self.recipe.fit(prepared.log(), watch)?;
        let unseen = prepared.study.unseen.never_refusing();
        let values = model.values(prepared.log(), costs[0], unseen, settings)?;
        let within = question.context.set.at(self.radius);
        let plug_in = self.basis.robust.worst_case(policy, &values, within, settings)?;
        let of_part = PartQuestion { ranges: 1, set: question.context.set, radii: &[self.radius] };
        let search = match prepared.model.search {
            ModelSearch::Auto(search) => search.of_kind(self.recipe),
            _ => ModelSearch::Fixed(self.recipe.clone()),
        };
        let one = [Estimand::Value(policy)];
        let most = if asked.fewer { UNASKED } else { SPLITS };
        let splits = Splits::Exactly(asked.count.min(most));
        let noise =
            split_noise(prepared.log(), &splits, asked.seed, watch, &|folds, split, watch| {
                let settings = Settings { watch, ..Settings::default() };
                let logs = [folds.only(0)?, folds.only(1)?];
                let references = part_references(prepared, &logs, (asked.seed, split))?;
                let [a, b] = logs;
                let part = |log: Log, reference: &Reference| {
                    let robust = reference.robust(&log, question.support, question.within())?;
                    PartFit::new(log, (&search, unseen), &costs, Arc::new(robust), settings)
                };
                let parts = [part(a, &references[0])?, part(b, &references[1])?];
                split_values([&parts[0], &parts[1]], [&one, &one], &of_part, settings)
            })?;
        let held_out = noise.first().map(|n| n.held_out);
        Ok((plug_in.value(), held_out.ok_or_else(|| Error::internal("one number was asked for"))?))
    }
}

//! The two parts of a sample split, everything chosen and fitted on each alone: models, rules that rows choose, and the
//! modelled differences of pairs.

use super::basis::{AskedPolicy, ChosenBy, EvaluationBasis};
use super::effects::{Effects, PairValues, effect_search, with_shifted_outcomes};
use crate::prepare::PreparedStudy;
use crate::reference::Reference;
use seawall::evaluate::{EFFECT, Support};
use seawall::inference::{Estimand, PartFit, PartQuestion, SplitValue, split_values};
use seawall::outcome::{ResidualKind, Unseen, Values};
use seawall::policy::Policy;
use seawall::{Folds, Log, Result, Settings, Shift, Wasserstein};
use std::sync::Arc;

/// Streams of random numbers for the target's parts begin here, away from the log's.
const TARGET_STREAM: u64 = 1 << 33;

/// What is asked of the two parts of every split.
pub(super) struct PartTask<'a> {
    pub(super) basis: &'a EvaluationBasis<'a>,
    pub(super) effects: &'a Effects,
    /// The sets of outcomes.
    pub(super) costs: &'a [Shift],
    /// What may be left in the residuals: each adds the values of an under-smoothed model.
    pub(super) residuals: &'a [ResidualKind],
    /// The radii at which parts are solved.
    pub(super) radii: &'a [f64],
    pub(super) seed: u64,
}

/// One part of a split.
struct FittedPart {
    /// With the values of under-smoothed models.
    fit: PartFit,
    /// With the plain means after all others, where outcomes shift.
    plain: PartFit,
    /// The asked policies, those that rows choose chosen by the part's.
    policies: Vec<Policy>,
}

impl PartTask<'_> {
    /// Every number of a split: for the fitted model and then for each under-smoothed one, cost radius by cost radius,
    /// policies before pairs, radius by radius.
    pub(super) fn split(
        &self,
        folds: &Folds<'_>,
        split: usize,
        settings: Settings<'_>,
    ) -> Result<Vec<SplitValue>> {
        let ranges = self.costs.len() * (1 + self.residuals.len());
        let question =
            PartQuestion { ranges, set: self.basis.question.context.set, radii: self.radii };
        let parts = self.parts(folds, split, settings)?;
        let fits = parts.each_ref().map(|part| &part.fit);
        let alone = parts
            .each_ref()
            .map(|part| part.policies.iter().map(Estimand::Value).collect::<Vec<Estimand<'_>>>());
        let values = split_values(fits, [&alone[0], &alone[1]], &question, settings)?;
        let pairs = self.pairs(folds, &parts, &question, settings)?;
        let (radii, policies) = (self.radii.len(), self.basis.policies.len());
        let mut all = Vec::with_capacity(values.len() + pairs.iter().map(Vec::len).sum::<usize>());
        for range in 0..ranges {
            all.extend_from_slice(&values[range * policies * radii..][..policies * radii]);
            pairs.iter().for_each(|own| all.extend_from_slice(&own[range * radii..][..radii]));
        }
        Ok(all)
    }

    /// The numbers of every pair.
    fn pairs(
        &self,
        folds: &Folds<'_>,
        parts: &[FittedPart; 2],
        question: &PartQuestion<'_>,
        settings: Settings<'_>,
    ) -> Result<Vec<Vec<SplitValue>>> {
        let mut fitted = Vec::new();
        for effect in &self.effects.modelled {
            let logs = [0, 1].map(|side| part_of(&effect.log, folds, side));
            let own = !self.is_chosen(effect.policies);
            fitted.push(own.then(|| self.effect_fits(logs, parts, settings)).transpose()?);
        }
        let mut solved: Vec<((usize, bool), Vec<SplitValue>)> = Vec::new();
        let mut pairs = Vec::new();
        for (&(a, b), values) in self.basis.pairs.iter().zip(&self.effects.pairs) {
            let PairValues::Effect { of, .. } = values else {
                let apart = parts
                    .each_ref()
                    .map(|part| [Estimand::Difference(&part.policies[a], &part.policies[b])]);
                let fits = parts.each_ref().map(|part| &part.fit);
                pairs.push(split_values(fits, [&apart[0], &apart[1]], question, settings)?);
                continue;
            };
            let Some(fits) = &fitted[of.effect] else {
                pairs.push(self.chosen_effect((a, b), folds, parts, question, settings)?);
                continue;
            };
            let direction = of.direction();
            if !solved.iter().any(|(known, _)| *known == direction) {
                let effect = &self.effects.modelled[of.effect];
                let (a, b) = effect.policies;
                let (a, b) = if direction.1 { (b, a) } else { (a, b) };
                let policies = [a, b].map(|k| &self.basis.policies[k].policy);
                let fits = self.shifted(fits, direction.1, parts, policies);
                let one = [Estimand::Value(&effect.action)];
                let both = split_values([&fits[0], &fits[1]], [&one, &one], question, settings)?;
                solved.push((direction, both));
            }
            let own = solved.iter().find(|(known, _)| *known == direction);
            let times = |value: &SplitValue| value.times(of.factor.abs());
            pairs.push(own.iter().flat_map(|(_, values)| values).map(times).collect());
        }
        Ok(pairs)
    }

    /// Both parts, fitted.
    fn parts(
        &self,
        folds: &Folds<'_>,
        split: usize,
        settings: Settings<'_>,
    ) -> Result<[FittedPart; 2]> {
        let logs = [folds.only(0)?, folds.only(1)?];
        let references = part_references(self.basis.prepared, &logs, (self.seed, split))?;
        let ([a, b], [first, second]) = (logs, references);
        let part = |log, reference, side| self.part(log, reference, (split, side), settings);
        Ok([part(a, &first, 0)?, part(b, &second, 1)?])
    }

    /// Whether what a shift of outcomes adds to differences is to be counted from the plain means.
    fn shifts(&self) -> bool {
        !self.effects.modelled.is_empty() && self.basis.question.shifts_outcomes()
    }

    fn part(
        &self,
        log: Log,
        reference: &Reference,
        (split, side): (usize, usize),
        settings: Settings<'_>,
    ) -> Result<FittedPart> {
        let (basis, question) = (self.basis, &self.basis.question);
        let robust = Arc::new(reference.robust(&log, question.support, question.within())?);
        let search = (basis.fitted.search(), basis.prepared.study.unseen);
        let mut costs = self.costs.to_vec();
        costs.extend(self.shifts().then(|| Wasserstein.at(0.0)));
        let plain = PartFit::new(log, search, &costs, robust, settings)?;
        // The plain means, if they are there, are last and not asked about.
        let steps = basis.fitted.residual_steps();
        let fit = plain.first_ranges(self.costs.len()).with_rougher(
            steps,
            self.residuals,
            self.apart(),
        )?;
        let policy = |asked: &AskedPolicy| match &asked.chosen {
            None | Some(ChosenBy::Unknown) => Ok(asked.policy.clone()),
            Some(ChosenBy::Learned(parts)) => Ok(parts[split][side].clone()),
            Some(ChosenBy::Greedy(spec)) => {
                let part = (fit.log(), &*fit.range(0).worst);
                let chosen = basis.prepared.policy_on(spec, part, settings.watch)?;
                Ok(chosen.named(asked.policy.name()))
            }
        };
        let policies = basis.policies.iter().map(policy).collect::<Result<_>>()?;
        Ok(FittedPart { fit, plain, policies })
    }

    /// On the whole space what is left in residuals is valued by itself.
    fn apart(&self) -> bool {
        self.basis.question.support == Support::Space
    }

    /// Whether rows choose one of two policies.
    fn is_chosen(&self, pair: (usize, usize)) -> bool {
        [pair.0, pair.1].iter().any(|&k| self.basis.policies[k].chosen.is_some())
    }

    /// The modelled difference of two policies, fitted to each part's pseudo-outcomes.
    fn effect_fits(
        &self,
        logs: [Result<Log>; 2],
        parts: &[FittedPart; 2],
        settings: Settings<'_>,
    ) -> Result<[PartFit; 2]> {
        let search = effect_search(self.basis.fitted);
        let steps = self.basis.fitted.residual_steps();
        let fit = |log: Result<Log>, part: &FittedPart| {
            let (plain, robust) = ([Wasserstein.at(0.0)], part.fit.robust().clone());
            PartFit::new(log?, (&search, Unseen::Mean), &plain, robust, settings)?.with_rougher(
                steps,
                self.residuals,
                self.apart(),
            )
        };
        let [first, second] = logs;
        Ok([fit(first, &parts[0])?, fit(second, &parts[1])?])
    }

    /// The same in one order of the two, with what a shift of outcomes adds at each cost radius.
    fn shifted(
        &self,
        fits: &[PartFit; 2],
        reversed: bool,
        parts: &[FittedPart; 2],
        policies: [&Policy; 2],
    ) -> [PartFit; 2] {
        [0, 1].map(|side| {
            let range = |cost: usize| parts[side].plain.range(cost);
            let plain = &range(if self.shifts() { self.costs.len() } else { 0 }).worst;
            let variant = |variant: usize| {
                let own = &fits[side].range(variant).worst;
                let own = if reversed { own.times(-1.0) } else { Values::clone(own) };
                // What is left in residuals alone has no outcomes that could shift.
                let alone = self.apart() && variant > 0;
                (0..self.costs.len()).map(move |cost| {
                    if alone {
                        own.clone()
                    } else {
                        with_shifted_outcomes(&own, range(cost), plain, policies)
                    }
                })
            };
            fits[side].with_values((0..=self.residuals.len()).flat_map(variant))
        })
    }

    /// The difference of two policies of which the rows choose one: a part's own rule has an effect of its own, which
    /// is modelled on both parts, and one direction of the split is about it.
    fn chosen_effect(
        &self,
        pair: (usize, usize),
        folds: &Folds<'_>,
        parts: &[FittedPart; 2],
        question: &PartQuestion<'_>,
        settings: Settings<'_>,
    ) -> Result<Vec<SplitValue>> {
        let mut both: Vec<Vec<SplitValue>> = Vec::new();
        for part in parts {
            let policies = [&part.policies[pair.0], &part.policies[pair.1]];
            let [policy, against] = policies;
            let outcomes = self.basis.fitted.pseudo_outcomes(policy, against, settings.watch)?;
            let Some(log) = outcomes else {
                let apart = [Estimand::Difference(policy, against)];
                let fits = [&parts[0].fit, &parts[1].fit];
                both.push(split_values(fits, [&apart, &apart], question, settings)?);
                continue;
            };
            let logs = [0, 1].map(|side| part_of(&log, folds, side));
            let fits = self.effect_fits(logs, parts, settings)?;
            let fits = self.shifted(&fits, false, parts, policies);
            let rule = Policy::constant(&log, EFFECT)?;
            let one = [Estimand::Value(&rule)];
            both.push(split_values([&fits[0], &fits[1]], [&one, &one], question, settings)?);
        }
        let of = |(a, b): (&SplitValue, &SplitValue)| SplitValue {
            plug_in: [a.plug_in[0], b.plug_in[1]],
            held_out: [a.held_out[0], b.held_out[1]],
            noise: [a.noise[0], b.noise[1]],
        };
        Ok(both[0].iter().zip(&both[1]).map(of).collect())
    }
}

/// The populations that the worst cases of both parts start from: a target's rows are split, too, and what is known of
/// it is met by each part anew.
pub(super) fn part_references(
    prepared: &PreparedStudy,
    logs: &[Log; 2],
    (seed, split): (u64, usize),
) -> Result<[Reference; 2]> {
    match &prepared.target {
        None => Ok([prepared.reference(&logs[0])?, prepared.reference(&logs[1])?]),
        Some(target) => {
            let halves = target.sample.halves(seed, TARGET_STREAM + split as u64)?;
            Ok(halves.map(|sample| Reference::Sample(Arc::new(sample))))
        }
    }
}

/// The rows of one part of a log that has the entries of the one that was dealt.
fn part_of(log: &Log, folds: &Folds<'_>, side: usize) -> Result<Log> {
    log.reweighted(|entry, _| folds.weight(entry, side))
}

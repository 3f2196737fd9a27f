//! What follows for pairs from their worst cases and the noise of these: verdicts, what would reverse them, and how far
//! they hold.

use super::basis::EvaluationBasis;
use super::comparison::DifferenceNoise;
use super::differences::SolvedDifferences;
use super::effects::{Effects, PairValues};
use super::estimates::Estimates;
use super::held_out::HeldOut;
use super::reversal::{ReversalTask, ReversingSubgroup};
use super::robustness::{ConfirmTask, RobustnessRadius};
use super::verdict::{Decision, Evidence, Verdict};
use super::worst_cases::WorstCases;
use seawall::{Error, Result, Watch};

/// What follows for one pair.
pub(super) struct PairDecisions {
    /// For each of its differences.
    pub(super) decisions: Vec<Decision>,
    /// At each cost radius.
    pub(super) robustness: Vec<RobustnessRadius>,
}

/// The decisions of every pair of a basis.
pub(super) fn decisions(
    basis: &EvaluationBasis<'_>,
    (effects, estimates): (&Effects, &Estimates),
    (worst, held_out): (&WorstCases, &HeldOut),
    watch: Watch<'_>,
) -> Result<Vec<PairDecisions>> {
    let mut all = Vec::new();
    let mut subgroups: Vec<Vec<Option<ReversingSubgroup>>> = Vec::new();
    for pair in 0..basis.pairs.len() {
        let task = PairTask { basis, effects, estimates, pair, noise: &held_out.differences[pair] };
        let solved = &worst.differences[pair];
        let decisions = task.decisions(solved);
        subgroups.push(task.subgroups(&decisions, watch)?);
        let robustness = task.robustness(solved, watch)?;
        all.push(PairDecisions { decisions, robustness });
    }
    // What reverses that one is worse reverses that the other is better.
    for (pair, &(a, b)) in basis.pairs.iter().enumerate() {
        let other = basis.pairs.iter().position(|&p| p == (b, a));
        let other = other.ok_or_else(|| Error::internal("a pair in one order alone"))?;
        for (at, decision) in all[pair].decisions.iter_mut().enumerate() {
            let of = if decision.verdict == Verdict::Worse { other } else { pair };
            decision.reversed_by_subgroup.clone_from(&subgroups[of][at]);
        }
    }
    Ok(all)
}

/// One pair.
struct PairTask<'a> {
    basis: &'a EvaluationBasis<'a>,
    effects: &'a Effects,
    estimates: &'a Estimates,
    pair: usize,
    noise: &'a [DifferenceNoise],
}

impl PairTask<'_> {
    /// Verdicts, where enough rows support them and the rows did not choose one of the two.
    fn decisions(&self, solved: &SolvedDifferences) -> Vec<Decision> {
        let own = &self.estimates.differences[self.pair];
        let (a, b) = self.basis.pairs[self.pair];
        let chosen = [a, b].iter().any(|&k| self.basis.policies[k].chosen.is_some());
        let one = |(value, noise): (&super::differences::SolvedDifference, &DifferenceNoise)| {
            if own.is_thin() || chosen {
                return Decision::NONE;
            }
            let evidence = Evidence {
                bounds: &value.bounds,
                noise,
                plain: own.best(),
                effect: solved.effect,
                direction: self.basis.robust.direction(),
            };
            evidence.decision()
        };
        solved.values.iter().zip(self.noise).map(one).collect()
    }

    /// What would reverse that the first is better, wherever that assumes the class of the model.
    fn subgroups(
        &self,
        decisions: &[Decision],
        watch: Watch<'_>,
    ) -> Result<Vec<Option<ReversingSubgroup>>> {
        let (basis, values) = (self.basis, &self.effects.pairs[self.pair]);
        let radii = &basis.question.context.radii;
        let one = |(at, decision): (usize, &Decision)| {
            let (PairValues::Effect { of, .. }, Some(limits)) = (values, self.noise[at].limits)
            else {
                return Ok(None);
            };
            if decision.verdict != Verdict::Better || decision.is_strict() {
                return Ok(None);
            }
            let task = ReversalTask {
                basis,
                effect: &self.effects.modelled[of.effect],
                factor: of.factor,
                values,
                cost: at / radii.len(),
                radius: radii[at % radii.len()],
                limits,
            };
            task.largest(watch)
        };
        decisions.iter().enumerate().map(one).collect()
    }

    /// How far the first is no worse, by the fitted model and with confidence.
    fn robustness(
        &self,
        solved: &SolvedDifferences,
        watch: Watch<'_>,
    ) -> Result<Vec<RobustnessRadius>> {
        let (basis, values) = (self.basis, &self.effects.pairs[self.pair]);
        let count = basis.question.context.radii.len();
        let own = &self.estimates.differences[self.pair];
        let one = |(cost, plug_in): (usize, &super::robustness::PlugInRadius)| {
            let rows = solved.values.iter().zip(self.noise).skip(cost * count).take(count);
            let limits = rows.filter_map(|(value, noise)| {
                Some((value.radius, value.bounds.worst.value, noise.limits?))
            });
            let mut at: Vec<_> = limits.collect();
            at.sort_by(|a, b| a.0.total_cmp(&b.0));
            let plain = own.best().filter(|_| !own.is_thin());
            let task = ConfirmTask { basis, effects: self.effects, values, cost, at, plain };
            Ok(RobustnessRadius { plug_in: *plug_in, confirmed: task.confirmed(watch)? })
        };
        solved.robustness.iter().enumerate().map(one).collect()
    }
}

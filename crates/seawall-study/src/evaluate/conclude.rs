//! What the stages of an evaluation found, brought together: notes, withheld limits and verdicts.

use super::answer::{BoundTerms, count};
use super::basis::{ChosenBy, EvaluationBasis};
use super::claims::ClaimScope;
use super::comparison::ComparisonContext;
use super::decisions::PairDecisions;
use super::differences::{SolvedDifference, SolvedDifferences};
use super::estimates::{DifferenceEstimates, Estimates, PolicyEstimates};
use super::held_out::HeldOut;
use super::radii::saturated;
use super::values::{ShiftFacts, SolvedShift};
use super::worst_cases::{PolicyWorstCases, WorstCases};
use super::{
    Comparison, DataSummary, DifferenceNoise, DifferenceValue, Evaluation, FiniteSampleBounds,
    PolicyRadii, PolicyResult, Question, RobustValue, ValueNoise,
};
use crate::check::{
    Check, ModelFacts, ModelRow, StudyFacts, coding_note, given_note, overlap_notes,
};
use crate::reference::{FEW_ROWS, balance_note};
use crate::words::number;
use seawall::inference::{Constants, finite_sample};
use seawall::{Error, Field, Result};

/// What the stages found.
pub(super) struct Stages {
    pub(super) facts: StudyFacts,
    /// What to know of the data.
    pub(super) notes: Vec<String>,
    pub(super) bounds: Option<FiniteSampleBounds>,
    pub(super) estimates: Estimates,
    pub(super) worst: WorstCases,
    pub(super) held_out: HeldOut,
    pub(super) decisions: Vec<PairDecisions>,
}

/// Makes an evaluation of what the stages found.
pub(super) fn conclude(basis: &EvaluationBasis<'_>, stages: Stages) -> Evaluation {
    let notes = notes(basis, &stages);
    let Stages { facts, notes: _, bounds, estimates, worst, held_out, decisions } = stages;
    let scope = ClaimScope::new(basis);
    let mut models = held_out.models.into_iter();
    let row = |row: ModelRow| ModelRow { noise: models.next().flatten().or(row.noise), ..row };
    let candidates = facts.model.candidates.into_iter().map(row).collect();
    let facts = StudyFacts { model: ModelFacts { candidates, ..facts.model }, ..facts };
    let log = basis.fitted.log();
    let rows = log.actions().iter().zip(log.action_totals());
    let solved = worst.policies.into_iter().zip(held_out.policies);
    let policies = estimates.policies.iter().zip(solved).enumerate();
    let pairs = worst.differences.into_iter().zip(held_out.differences).zip(decisions);
    let pairs = estimates.differences.iter().zip(pairs).enumerate();
    Evaluation {
        data: DataSummary {
            rows: log.total(),
            left_out: facts.data.left_out.rows(),
            actions: rows.map(|(name, n)| (name.clone(), count(n))).collect(),
            cells: facts.space.cells,
            observed_cells: facts.space.observed_cells,
        },
        direction: facts.data.direction,
        diagnostics: Check { facts, notes, target: None, balance: None },
        policies: policies
            .map(|(k, (own, (solved, noise)))| {
                policy_result((basis, &scope), k, own, solved, noise)
            })
            .collect(),
        target: estimates.target,
        balance: basis.reference.summary(),
        comparisons: pairs
            .map(|(k, (own, ((solved, noise), decided)))| {
                comparison((basis, &scope), k, own, (solved, noise, decided))
            })
            .collect(),
        by: None,
        bounds,
        population: basis.robust.population().clone(),
        question: Question { halves: held_out.halving, ..basis.question.clone() },
    }
}

/// One policy's answers; limits and intervals only where enough rows support them.
fn policy_result(
    (basis, scope): (&EvaluationBasis<'_>, &ClaimScope),
    place: usize,
    estimates: &PolicyEstimates,
    solved: PolicyWorstCases,
    noise: Vec<ValueNoise>,
) -> PolicyResult {
    let asked = &basis.policies[place];
    let thin = estimates.effective_rows() < FEW_ROWS;
    let told = estimates.told(basis.question.level, basis.fitted.log().clusters());
    let why_not = why_not(thin, asked.chosen.is_some());
    let value = |(solved, noise): (SolvedShift, ValueNoise)| {
        let SolvedShift { shift, worst, solve, estimate } = solved;
        let noise = if why_not.is_some() { noise.withheld() } else { noise };
        let estimate = estimate.filter(|_| !thin);
        let told = (&shift, noise.limits, noise.plug_in_se);
        let claims = scope.of_value(asked.policy.name(), told, why_not);
        RobustValue { shift, worst, solve, estimate, noise, claims }
    };
    let results = solved.values.into_iter().zip(noise).map(value);
    PolicyResult {
        name: asked.policy.name().to_owned(),
        nominal: told.nominal,
        overlap: told.nominal.overlap,
        chosen_here: asked.chosen.is_some(),
        target: told.target,
        radii: solved.radii,
        results: results.collect(),
        worst: solved.worst,
        curves: solved.curves,
        values: solved.by_context,
        policy: asked.policy.clone(),
    }
}

/// Why nothing is claimed of a policy, or of a pair, whatever its limits.
fn why_not(thin: bool, chosen: bool) -> Option<&'static str> {
    match (thin, chosen) {
        (true, _) => Some("the effective sample size is too small"),
        (_, true) => Some("it was chosen on the very rows that value it"),
        _ => None,
    }
}

/// One policy against another, with verdicts.
fn comparison(
    (basis, scope): (&EvaluationBasis<'_>, &ClaimScope),
    place: usize,
    estimates: &DifferenceEstimates,
    (solved, noise, decided): (SolvedDifferences, Vec<DifferenceNoise>, PairDecisions),
) -> Comparison {
    let (policy, against) = basis.pairs[place];
    let name = |k: usize| basis.policies[k].policy.name();
    let thin = estimates.is_thin();
    let chosen = [policy, against].iter().any(|&k| basis.policies[k].chosen.is_some());
    let why_not = why_not(thin, chosen);
    let told = estimates.told(basis.question.level, basis.fitted.log().clusters());
    let shift = |value: &SolvedDifference| {
        ShiftFacts::new(&basis.question, value.radius, value.cost_radius, basis.question.support)
    };
    let values = solved.values.iter().zip(noise).zip(decided.decisions);
    let results = values.map(|((value, noise), decision)| {
        let noise = if why_not.is_some() { noise.withheld() } else { noise };
        let pair = (name(policy), name(against));
        let claims = scope.of_difference(pair, (&shift(value), &noise, &decision), why_not);
        DifferenceValue {
            radius: value.radius,
            cost_radius: value.cost_radius,
            bounds: value.bounds,
            decision,
            claims,
            unobserved_mass: value.unobserved_mass,
            noise,
        }
    });
    let robustness = decided.robustness;
    Comparison {
        policy: name(policy).to_owned(),
        against: name(against).to_owned(),
        nominal: told.nominal,
        target: told.target,
        effect: solved.effect,
        robustness_radius: robustness[0],
        results: results.collect(),
        robustness_radii: if robustness.len() > 1 { robustness } else { Vec::new() },
        worst: solved.worst,
        curves: solved.curves,
        values: solved.by_context,
        reversed_by: solved.reversed_by,
        about: ComparisonContext {
            effective_rows: estimates.effective_rows,
            knowing: basis.question.context.set.needs_known(),
            direction: basis.robust.direction(),
            chosen_here: chosen,
        },
    }
}

/// What a reader should know: first what bears on the numbers themselves.
fn notes(basis: &EvaluationBasis<'_>, stages: &Stages) -> Vec<String> {
    let (question, prepared) = (&basis.question, basis.prepared);
    let mut notes = overlap_notes(basis.fitted.log());
    let each = stages.estimates.policies.iter().zip(&stages.worst.policies).enumerate();
    for (k, (estimates, worst)) in each {
        notes.extend(estimates.notes(basis, k));
        notes.extend(worst.notes.iter().cloned());
    }
    notes.extend(basis.reference.balance().and_then(balance_note));
    notes.extend(prepared.means_note());
    notes.extend(given_note(prepared));
    notes.extend(stages.notes.iter().cloned());
    notes.extend(basis.policies.iter().filter(|p| p.chosen.is_some()).map(|p| {
        format!(
            "{} was chosen on the very rows that value it, so its estimates are too good and nothing is claimed of it; \
             {}",
            p.policy.name(),
            match &p.chosen {
                Some(ChosenBy::Unknown) => {
                    "nothing tells what parts of the rows would have chosen: value it on other rows"
                }
                _ => "held-out values are of the way it was chosen: on one part of the rows, valued on the other",
            }
        )
    }));
    let radii: Vec<PolicyRadii> = stages.worst.policies.iter().map(|p| p.radii.clone()).collect();
    notes.extend(saturated(&question.context.radii, &radii));
    notes.extend(coding_note(question.context.set));
    notes.extend(basis.notes.iter().cloned());
    notes.extend(stages.held_out.notes.iter().cloned());
    notes.extend(beyond_outcomes(basis, stages));
    notes
}

/// A note where a worst case is a mean that no population can have: the model leaves the outcomes' range.
fn beyond_outcomes(basis: &EvaluationBasis<'_>, stages: &Stages) -> Option<String> {
    let (low, high) = stages.facts.space.outcome_range;
    let slack = 1e-9 * (high - low) + 1e-12 * low.abs().max(high.abs());
    let beyond = |value: f64| value < low - slack || value > high + slack;
    let all = basis.policies.iter().zip(&stages.worst.policies);
    let mut all = all.flat_map(|(policy, worst)| worst.values.iter().map(move |v| (policy, v)));
    let (policy, solved) = all.find(|(_, v)| beyond(v.worst.value))?;
    Some(format!(
        "no population can have the worst case {} of {} at radius {}: outcomes are from {} to {}, and the \
         model goes beyond them where few rows are; a tree, a forest or a smaller radius does not",
        number(solved.worst.value),
        policy.policy.name(),
        number(solved.shift.radius),
        number(low),
        number(high)
    ))
}

/// The finite-sample bound of the question's sets, if it was asked for.
pub(super) fn finite_sample_bounds(
    basis: &EvaluationBasis<'_>,
) -> Result<Option<FiniteSampleBounds>> {
    let Some(delta) = basis.question.bounds else { return Ok(None) };
    if basis.reference.balance().is_some() {
        let what = "is for the log's own population, not for what is known of a target";
        return Err(Error::field(Field::Bounds, what));
    }
    let question = &basis.question;
    let sets = [question.context.set, question.cost.set];
    if let Some(set) = sets.iter().find(|set| !set.moves_mass() || !set.contains_nominal()) {
        return Err(Error::field(
            Field::Bounds,
            format!("is for Wasserstein and entropic sets, not for {}", set.name()),
        ));
    }
    let (log, support) = (basis.fitted.log(), basis.robust.points().len());
    let constants = Constants::from_log(log, basis.fitted.propensities(), support)?;
    let etas = (question.context.set.parameter("eta"), question.cost.set.parameter("eta"));
    let bound = finite_sample(&constants, delta, etas)?;
    Ok(Some(FiniteSampleBounds {
        delta,
        terms: BoundTerms {
            total: bound.total,
            sampling: bound.sampling,
            contexts: bound.contexts,
            costs: bound.costs,
            outcomes: bound.outcomes,
            smoothing: bound.smoothing,
        },
        needed_rows: bound.needed,
        rows: constants.rows,
        holds: constants.rows >= bound.needed,
        smallest_context_mass: constants.context_mass,
        smallest_propensity: constants.propensity,
        largest_outcome: constants.largest,
    }))
}

//! What policies would have cost, nominally and in the worst case: a study's main question.

mod answer;
mod by;
mod changes;
mod claims;
mod compare;
mod comparison;
mod halving;
mod models;
mod people;
mod radii;

pub use answer::*;
use by::by_level;
pub use by::{By, ByLevel, LevelAnswer};
pub use changes::{Changes, SetChange};
pub(crate) use changes::{changed_radii, changed_sets, check_radii, no_cost_set};
pub(crate) use compare::worst_populations;
pub use comparison::{CertainRadius, Comparison, DifferenceValue, Verdict};
pub(crate) use halving::affordable;
pub use radii::PolicyRadii;
use radii::saturated;
pub(crate) use radii::{policy_radii, policy_radii_on};

pub use crate::reference::TargetEstimates;

use crate::check::{coding_note, facts, given_note, overlap_notes, policy_notes, target_note};
use crate::prepare::PreparedStudy;
use crate::reference::{Bounded, TargetEstimator, balance_note};
use crate::study::{PolicySpec, SetSpec};
use crate::words::number;
use answer::count;
use seawall::evaluate::{Fitted, Nominal, Robust, Support};
use seawall::inference::{Constants, finite_sample};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{
    Detail, Error, Field, Log, Progress, Result, Settings, Stage, Status, Watch, WorstCase,
};
use std::sync::Arc;

/// How closely smooth curves are followed, relative to the values' range.
const CURVE_TOLERANCE: f64 = 1e-6;
/// Past so many vertices the exact curve is left unfinished, and its error said.
const CURVE_VERTICES: usize = 20_000;
/// Steps of evaluations that a curve may take which was not asked for; and vertices that it has in
/// any case.
const UNASKED: f64 = 3e9;
const FEW_VERTICES: usize = 24;
/// Halvings where nobody says otherwise, at most.
pub const HALVINGS: usize = 20;
/// More radii than these are read off curves where only their values are wanted.
const FEW_RADII: usize = 8;

/// What is asked of a study.
#[derive(Clone, Debug)]
pub struct Question {
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// The set of contexts and its radii.
    pub context: SetSpec,
    /// The set of outcomes and its radii.
    pub cost: SetSpec,
    /// Which contexts mass may move to.
    pub support: Support,
    /// Whether the policies are compared with each other.
    pub compare: bool,
    /// The level of every interval.
    pub level: f64,
    /// Whether the curves are wanted, as exact as they can be.
    pub curve: bool,
    /// Curves are wanted up to this radius.
    pub curve_up_to: f64,
    /// Whether the worst-case populations will be looked at.
    pub worst: bool,
    /// A column by whose levels the same is asked, too.
    pub by: Option<By>,
    /// How much is noise, by halves of the rows; None if nobody wants to know.
    pub halves: Option<Halving>,
    /// Where there are many radii, those whose limits are solved for and not read off their neighbours':
    /// the ones that somebody named.
    pub named_radii: Vec<f64>,
    /// The probability of error δ of finite-sample bounds, if wanted.
    pub bounds: Option<f64>,
}

/// How the rows are halved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// Halvings.
    pub count: usize,
    /// The level of the limits.
    pub level: f64,
    /// The seed.
    pub seed: u64,
    /// Whether there may be fewer where a solve takes long, or none: nobody asked for so many.
    pub fewer: bool,
}

impl Default for Halving {
    fn default() -> Self {
        Halving { count: HALVINGS, level: 0.95, seed: 1, fewer: true }
    }
}

impl Question {
    /// What the study file asks.
    pub fn from_study(prepared: &PreparedStudy) -> Self {
        let study = &prepared.study;
        Question {
            policies: study.policies.clone(),
            context: study.context_set.clone(),
            cost: study.cost_set.clone(),
            support: study.support,
            compare: true,
            level: 0.95,
            curve: false,
            curve_up_to: f64::INFINITY,
            worst: true,
            by: None,
            halves: Some(Halving::default()),
            named_radii: Vec::new(),
            bounds: None,
        }
    }
}

impl Question {
    /// The set of contexts, with the radii of single columns.
    pub(crate) fn within(&self) -> Bounded<'_> {
        Bounded { set: self.context.set, column_radii: &self.context.column_radii }
    }

    /// Whether policies are compared, there being several.
    fn compares(&self) -> bool {
        self.compare && self.policies.len() > 1
    }

    /// Vertices of a curve at most: where it was not asked for, as many as take little time.
    fn vertices(&self, robust: &Robust) -> usize {
        match self.curve {
            true => CURVE_VERTICES,
            false => ((UNASKED / robust.work()) as usize).clamp(FEW_VERTICES, CURVE_VERTICES),
        }
    }
}

/// Answers a question about a study.
pub fn evaluate(prepared: &PreparedStudy, question: &Question, watch: Watch<'_>) -> Result<Evaluation> {
    let shifts = !question.cost.set.stays_at_zero() || question.cost.radii.iter().any(|r| *r > 0.0);
    let wanted = shifts || question.context.set.needs_outcomes();
    let other = wanted.then(|| prepared.with_outcomes()).flatten();
    let prepared = other.as_ref().unwrap_or(prepared);
    let prepared = &prepared.on_support(question.support)?;
    let log = prepared.log();
    if let Some(by) = &question.by {
        by::feature(prepared, by)?;
    }
    if question.cost.set.needs_known() || question.cost.set.needs_actions() {
        return Err(changes::cost_set_refused(question.cost.set));
    }
    people::check(prepared, question, shifts)?;
    let fitted = prepared.fitted(watch)?;
    let mut diagnostics = facts(prepared, fitted, question.support, watch)?;
    let settings = Settings { watch, ..Settings::default() };
    let reference = prepared.reference(log)?;
    let robust = reference.robust_of(fitted, question.support, question.within())?;
    // What was left to be chosen by the population is told with the answer.
    let mut question = question.clone();
    question.context.set = question.context.set.resolved(robust.geometry())?;
    let question = &question;
    let mut costs = Vec::new();
    for &radius in &question.cost.radii {
        let values = fitted.values_on(robust.points(), question.cost.set.at(radius), settings);
        costs.push(values.map_err(|e| e.about_field(Field::CostRadius))?);
    }
    let estimator = reference.estimator(fitted, watch)?;
    let (mut policies, mut urgent) = (Vec::<PolicyResult>::new(), overlap_notes(log));
    for spec in &question.policies {
        let policy = prepared.policy(spec, &costs[0], watch).map_err(|e| {
            if let PolicySpec::File(_) = spec.plain() {
                e
            } else {
                e.within(prepared.study.path.display())
            }
        })?;
        let policy = told_apart(policy, |name| policies.iter().any(|p| p.name == name));
        let nominal = fitted.nominal(&policy, watch)?;
        let there = estimator.as_ref().map(|c| c.estimates(&policy)).transpose()?;
        urgent.extend(policy_notes(policy.name(), &nominal, log.effective_rows()));
        urgent.extend(there.and_then(|there| target_note(policy.name(), &there)));
        let direct = there.map(|there| there.direct()).filter(|e| !e.value.is_nan());
        let direct = match people::estimate(question, fitted, &policy, watch)? {
            Some(own) => own,
            None => direct.unwrap_or(nominal.dm),
        };
        let both = (&**fitted, &*robust);
        let radii = policy_radii(question, both, (&policy, &costs[0]), direct, watch)?;
        let mut result = policy_result(question, both, policy, nominal, &costs, watch)?;
        (result.target, result.radii) = (there, radii);
        urgent.extend(people::notes(question, &robust, &result, watch)?);
        result.chosen_here = prepared.study.is_greedy(spec);
        if result.chosen_here {
            diagnostics.notes.push(format!(
                "{} was chosen on the very rows that value it, so its estimates are too good",
                result.name
            ));
        }
        policies.push(result);
    }
    urgent.extend(reference.balance().and_then(balance_note));
    urgent.extend(prepared.means_note());
    urgent.extend(given_note(prepared));
    // What bears on the numbers themselves comes first.
    diagnostics.notes.splice(0..0, urgent);
    let all: Vec<PolicyRadii> = policies.iter().map(|p| p.radii.clone()).collect();
    diagnostics.notes.extend(saturated(&question.context.radii, &all));
    diagnostics.notes.extend(coding_note(question.context.set));
    let both = (&**fitted, &*robust);
    let notes = &mut diagnostics.notes;
    let there = estimator.as_ref();
    let comparisons = compare::comparisons(question, both, there, &policies, notes, watch)?;
    let bounds = match question.bounds {
        Some(_) if reference.balance().is_some() => {
            let what = "is for the log's own population, not for what is known of a target";
            return Err(Error::field(Field::Bounds, what));
        }
        Some(delta) => {
            let support = robust.points().len();
            Some(bounds(question, log, (fitted.propensities(), support), delta)?)
        }
        None => None,
    };
    let left_out = diagnostics.left_out;
    let rows = log.actions().iter().zip(log.action_totals());
    let mut found = Evaluation {
        rows: log.total(),
        left_out: left_out.rows(),
        actions: rows.map(|(name, n)| (name.clone(), count(n))).collect(),
        cells: diagnostics.cells,
        observed_cells: diagnostics.observed_cells,
        direction: diagnostics.direction,
        diagnostics,
        target: prepared
            .target
            .as_ref()
            .zip(estimator.as_ref().and_then(TargetEstimator::transport))
            .map(|(t, by)| t.answer(by)),
        balance: reference.summary(),
        comparisons,
        by: None,
        bounds,
        policies,
        population: robust.population().clone(),
        question: question.clone(),
    };
    if question.context.set.needs_actions() {
        found.question.halves = None;
    }
    if let Some(asked) = found.question.halves {
        // What is not fitted again says nothing of its noise.
        let affordable = match prepared.model.recipe.is_refitted() {
            true => affordable(question, asked, (log, &robust), &mut found.diagnostics.notes),
            false => None,
        };
        found.question.halves = affordable;
        if let Some(asked) = &affordable {
            let counted = halving::brackets(prepared, question, asked, both, &mut found, watch);
            let filled = counted.and_then(|count| {
                let asked = Halving { count, ..*asked };
                found.question.halves = Some(asked);
                models::by_kind(prepared, question, &asked, &robust, &mut found, watch)
            });
            if let Some(why) = part_refused(question, &found, filled)? {
                found.question.halves = None;
                found.diagnostics.notes.push(format!(
                    "nothing says how much of the worst cases is noise: a half of the rows cannot answer: \
                     {why}"
                ));
            }
        }
    }
    found.withhold_unsupported();
    for c in &mut found.comparisons {
        let verdicts: Vec<Verdict> = (0..c.results.len()).map(|k| c.verdict(k)).collect();
        c.results.iter_mut().zip(verdicts).for_each(|(r, verdict)| r.verdict = Some(verdict));
    }
    found.diagnostics.notes.extend(beyond_outcomes(&found));
    found.at_level(question.level);
    found.withhold_unsupported_estimates();
    if let Some(by) = &question.by {
        let chosen: Vec<bool> = found.policies.iter().map(|p| p.chosen_here).collect();
        let policies: Vec<Policy> = found.policies.iter().map(|p| p.policy.clone()).collect();
        let mut all = by_level(prepared, question, by, &policies, watch)?;
        for level in all.levels.iter_mut().filter_map(|l| l.evaluation.as_mut()) {
            level.policies.iter_mut().zip(&chosen).for_each(|(p, c)| p.chosen_here = *c);
        }
        found.by = Some(all);
    }
    Ok(found)
}

/// A note where a worst case is a mean that no population can have: the model leaves the outcomes' range.
fn beyond_outcomes(found: &Evaluation) -> Option<String> {
    let (low, high) = found.diagnostics.outcome_range;
    let slack = 1e-9 * (high - low) + 1e-12 * low.abs().max(high.abs());
    let all = found.policies.iter().flat_map(|p| p.results.iter().map(move |r| (p, r)));
    let (policy, result) =
        all.into_iter().find(|(_, r)| r.value < low - slack || r.value > high + slack)?;
    Some(format!(
        "no population can have the worst case {} of {} at radius {}: outcomes are from {} to {}, and the \
         model goes beyond them where few rows are; a tree, a forest or a smaller radius does not",
        number(result.value),
        policy.name,
        number(result.radius),
        number(low),
        number(high)
    ))
}

/// Why a part of the rows cannot be made what is known of the target, or cannot meet it, where the whole
/// log can; other errors are passed on.
fn part_refused(
    question: &Question,
    found: &Evaluation,
    filled: Result<()>,
) -> Result<Option<String>> {
    match filled {
        Ok(()) => Ok(None),
        Err(error) if error.is_stopped() || error.is_internal() => Err(error),
        Err(error) if found.balance.is_some() || question.context.set.needs_known() => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// A policy under a name that no other has: files of one kind of policy are called alike.
pub(crate) fn told_apart(policy: Policy, taken: impl Fn(&str) -> bool) -> Policy {
    let own = policy.name().to_owned();
    let free = (2..).map(|k| format!("{own} ({k})")).find(|name| !taken(name));
    match free.filter(|_| taken(&own)) {
        Some(name) => policy.named(name),
        None => policy,
    }
}

/// The finite-sample bound of the question's sets.
fn bounds(
    question: &Question,
    log: &Log,
    (propensities, support): (&[f64], usize),
    delta: f64,
) -> Result<FiniteSampleBounds> {
    let sets = [question.context.set, question.cost.set];
    if let Some(set) = sets.iter().find(|set| !set.moves_mass() || !set.contains_nominal()) {
        return Err(Error::field(
            Field::Bounds,
            format!("is for Wasserstein and entropic sets, not for {}", set.name()),
        ));
    }
    let constants = Constants::from_log(log, propensities, support)?;
    let etas = (question.context.set.parameter("eta"), question.cost.set.parameter("eta"));
    let bound = finite_sample(&constants, delta, etas)?;
    Ok(FiniteSampleBounds {
        delta,
        total: bound.total,
        sampling: bound.sampling,
        contexts: bound.contexts,
        costs: bound.costs,
        outcomes: bound.outcomes,
        smoothing: bound.smoothing,
        needed_rows: bound.needed,
        rows: constants.rows,
        holds: constants.rows >= bound.needed,
        smallest_context_mass: constants.context_mass,
        smallest_propensity: constants.propensity,
        largest_outcome: constants.largest,
    })
}

/// One policy's answers.
fn policy_result(
    question: &Question,
    (fitted, robust): (&Fitted, &Robust),
    policy: Policy,
    nominal: Nominal,
    costs: &[Arc<Values>],
    watch: Watch<'_>,
) -> Result<PolicyResult> {
    let follow = |progress: Progress<'_>| {
        watch.go_on(Progress { stage: Stage::Policy(policy.name()), ..progress })
    };
    let settings = Settings {
        detail: if question.worst { Detail::Plan } else { Detail::Population },
        plan_floor: 1e-5,
        max_vertices: question.vertices(robust),
        max_radius: question.curve_up_to,
        watch: Watch::new(&follow),
        ..Settings::default()
    };
    // All contexts of a space that was too large for a grid are those observed.
    let grid = matches!(robust.population().space().support(), seawall::Support::Grid(_));
    let support = match question.support {
        Support::All if !grid => Support::Observed,
        support => support,
    };
    let (set, radii) = (question.context.set, &question.context.radii);
    let (mut results, mut worst, mut curves) = (Vec::new(), Vec::new(), Vec::new());
    for (values, &cost_radius) in costs.iter().zip(&question.cost.radii) {
        // By how much entropic costs may be too good, on the safe side.
        let safe_side = robust.direction().sign() * values.smoothing();
        let tolerance = match (question.curve, set.has_exact_curve()) {
            (false, _) => None,
            (true, true) => Some(0.0),
            (true, false) => {
                let all = match set.needs_actions() {
                    true => fitted.log().values().to_vec(),
                    false => robust.values(&policy, values)?,
                };
                let low = all.iter().copied().fold(f64::INFINITY, f64::min);
                let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Some((CURVE_TOLERANCE * (high - low)).max(f64::MIN_POSITIVE))
            }
        };
        let (cases, curve) =
            fitted.worst_cases(robust, &policy, values, set, radii, tolerance, settings)?;
        let estimates = people::estimates(question, fitted, &policy, settings)?;
        // A curve has no status of its own, so the watch is asked once more.
        watch.tell(Progress::at(Stage::Policy(policy.name())))?;
        for ((&radius, case), estimate) in radii.iter().zip(cases).zip(estimates) {
            if case.status() == Status::Stopped {
                return Err(Error::stopped());
            }
            let value = robust_value(question, radius, cost_radius, &case, safe_side, support);
            results.push(RobustValue { estimate, ..value });
            worst.push(case);
        }
        curves.extend(curve);
    }
    Ok(PolicyResult {
        name: policy.name().to_owned(),
        nominal,
        overlap: nominal.overlap,
        chosen_here: false,
        target: None,
        radii: PolicyRadii::default(),
        results,
        worst,
        curves,
        values: costs.iter().map(|v| robust.values(&policy, v)).collect::<Result<_>>()?,
        policy,
    })
}

fn robust_value(
    question: &Question,
    radius: f64,
    cost_radius: f64,
    case: &WorstCase,
    safe_side: f64,
    support: Support,
) -> RobustValue {
    let smoothed = case.smoothed();
    let (lower, upper) =
        smoothed.map_or((case.lower(), case.upper()), |s| (s.exact_lower, s.exact_upper));
    let smoothed = smoothed.is_some() || safe_side != 0.0;
    RobustValue {
        set: question.context.set,
        radius,
        column_radii: question.context.column_radii.clone(),
        cost_set: question.cost.set,
        cost_radius,
        eta: question.context.set.parameter("eta"),
        cost_eta: question.cost.set.parameter("eta"),
        support,
        value: case.value(),
        lower: case.lower(),
        upper: case.upper(),
        gap: case.gap(),
        lambda: Some(case.lambda()).filter(|l| l.is_finite()),
        status: case.status(),
        engine: case.engine(),
        evaluations: case.evaluations(),
        unobserved_mass: case.unobserved_mass(),
        honest: None,
        limits: None,
        doubly_robust: None,
        fitted_se: None,
        estimate: None,
        best_coupling: case.best_coupling(),
        exact_lower: smoothed.then(|| lower + safe_side.min(0.0)),
        exact_upper: smoothed.then(|| upper + safe_side.max(0.0)),
    }
}

//! What policies would have cost, nominally and in the worst case: a study's main question.

mod answer;
mod changes;
mod resample;

pub use answer::*;
pub use changes::Changes;

use crate::bound::Set;
use crate::check::facts;
use crate::load::Loaded;
use crate::study::{PolicySpec, SetSpec};
use crate::words::number;
use answer::count;
use seawall::evaluate::{Estimator, Nominal, Robust, Support};
use seawall::inference::{Constants, Resampling, finite_sample};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{Curve, Detail, Direction, Error, Log, Progress, Result, Settings, WorstCase};
use std::sync::atomic::{AtomicBool, Ordering};

/// Folds of the doubly robust estimate.
const FOLDS: usize = 5;
/// How closely smooth curves are followed, relative to the values' range.
const CURVE_TOLERANCE: f64 = 1e-6;
/// Past so many vertices the exact curve is left unfinished, and its error said.
const CURVE_VERTICES: usize = 20_000;

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
    /// Whether the curves are wanted.
    pub curve: bool,
    /// Curves are wanted up to this radius.
    pub curve_up_to: f64,
    /// Whether the worst-case populations will be looked at.
    pub worst: bool,
    /// Intervals by resampling the rows, if wanted.
    pub bootstrap: Option<Bootstrap>,
    /// The probability of error δ of finite-sample bounds, if wanted.
    pub bounds: Option<f64>,
}

/// How intervals are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Replicates.
    pub replicates: usize,
    /// The level of the intervals.
    pub level: f64,
    /// How rows are drawn.
    pub resampling: Resampling,
    /// The seed.
    pub seed: u64,
}

impl Question {
    /// What the study file asks.
    pub fn of(loaded: &Loaded) -> Self {
        let study = &loaded.study;
        Question {
            policies: study.policies.clone(),
            context: study.context_set.clone(),
            cost: study.cost_set.clone(),
            support: study.support,
            curve: false,
            curve_up_to: f64::INFINITY,
            worst: true,
            bootstrap: None,
            bounds: None,
        }
    }
}

/// What is being done, for who watches.
#[derive(Clone, Copy, Debug)]
pub enum Doing<'a> {
    /// Fitting the outcome model and its cross-fits.
    Fitting,
    /// The worst cases of outcomes at a cost radius.
    Costs(f64),
    /// Solving for a policy; how far it got.
    Solving(&'a str, Progress),
    /// Resampling; so many replicates done.
    Resampling(usize),
}

/// Called as the work goes on; returning `false` stops it, and an error says so.
pub type Watch<'a> = &'a (dyn Fn(Doing<'_>) -> bool + Sync);

/// Answers a question about a study.
pub fn evaluate(loaded: &Loaded, question: &Question, watch: Watch<'_>) -> Result<Evaluation> {
    let log = loaded.log();
    go_on(watch, Doing::Fitting)?;
    let clip = loaded.study.clip;
    let unseen = loaded.study.unseen;
    let estimator = Estimator::new(log, &loaded.recipe, &loaded.propensity, clip, unseen, FOLDS)?;
    let mut diagnostics = facts(loaded, estimator.model(), estimator.propensities());
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let mut costs = Vec::new();
    for &radius in &question.cost.radii {
        go_on(watch, Doing::Costs(radius))?;
        let set = question.cost.set.at(radius);
        costs.push(estimator.model().values(log, set, loaded.study.unseen, &settings)?);
    }
    let robust = Robust::new(log, question.support)?;
    let mut policies: Vec<PolicyAnswer> = Vec::new();
    for spec in &question.policies {
        let policy = loaded.policy(spec, &costs[0]).map_err(|e| {
            if let PolicySpec::File(_) = spec { e } else { e.within(loaded.study.path.display()) }
        })?;
        let nominal = estimator.nominal(&policy);
        let ratio = nominal.overlap.mean_ratio;
        if (ratio - 1.0).abs() > 0.05 && ratio > 0.0 {
            diagnostics.notes.push(format!(
                "the ratios of {} to the propensities average {}, not 1: they do not cover it, or \
                 are wrong",
                policy.name(),
                number(ratio)
            ));
        }
        policies.push(answer(question, &robust, policy, nominal, &costs, watch)?);
        if *spec == PolicySpec::Greedy {
            diagnostics.notes.push(
                "greedy was chosen on the very rows that value it, so its estimates are too good"
                    .to_owned(),
            );
        }
    }
    let breakdown = breakdowns(question, &policies, log.direction());
    let bounds = match question.bounds {
        Some(delta) => Some(bounds_answer(question, log, estimator.propensities(), delta)?),
        None => None,
    };
    let left_out = diagnostics.left_out;
    let rows = log.actions().iter().zip(log.action_totals());
    let mut found = Evaluation {
        rows: log.total(),
        left_out: left_out.conditions + left_out.no_action,
        actions: rows.map(|(name, n)| (name.clone(), count(n))).collect(),
        cells: diagnostics.cells,
        observed_cells: diagnostics.observed_cells,
        direction: diagnostics.direction,
        diagnostics,
        breakdown,
        differences: Vec::new(),
        bounds,
        policies,
        population: robust.population().clone(),
    };
    if let Some(asked) = &question.bootstrap {
        resample::intervals(loaded, question, asked, &mut found, watch)?;
    }
    Ok(found)
}

/// The finite-sample bound of the question's sets.
fn bounds_answer(
    question: &Question,
    log: &Log,
    propensities: &[f64],
    delta: f64,
) -> Result<BoundsAnswer> {
    if question.context.set == Set::Kl || question.cost.set == Set::Kl {
        return Err(Error::config(
            "the finite-sample bounds are for Wasserstein and entropic sets, not for kl",
        ));
    }
    let constants = Constants::of(log, propensities)?;
    let eta = |set: Set| if let Set::Entropic { eta } = set { Some(eta) } else { None };
    let etas = (eta(question.context.set), eta(question.cost.set));
    let bound = finite_sample(&constants, delta, etas)?;
    Ok(BoundsAnswer {
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

const STOPPED: &str = "the evaluation was stopped";

/// Says what is being done, and whether to go on with it.
fn go_on(watch: Watch<'_>, doing: Doing<'_>) -> Result<()> {
    match watch(doing) {
        true => Ok(()),
        false => Err(Error::config(STOPPED)),
    }
}

/// One policy's answers.
fn answer(
    question: &Question,
    robust: &Robust,
    policy: Policy,
    nominal: Nominal,
    costs: &[Values],
    watch: Watch<'_>,
) -> Result<PolicyAnswer> {
    let stopped = AtomicBool::new(false);
    let follow = |progress| {
        let more = watch(Doing::Solving(policy.name(), progress));
        stopped.fetch_or(!more, Ordering::Relaxed);
        more
    };
    let settings = Settings {
        detail: if question.worst { Detail::Plan } else { Detail::Population },
        plan_floor: 1e-5,
        max_vertices: CURVE_VERTICES,
        max_radius: question.curve_up_to,
        watch: Some(&follow),
        ..Settings::default()
    };
    // All contexts of a space that was too large for a grid are those observed.
    let grid = matches!(robust.population().space().support(), seawall::Support::Grid(_));
    let support = match question.support {
        Support::All if grid => "grid",
        _ => "observed",
    };
    let radii = &question.context.radii;
    let (mut results, mut worst, mut curves) = (Vec::new(), Vec::new(), Vec::new());
    for (values, &cost_radius) in costs.iter().zip(&question.cost.radii) {
        let set = question.context.set.at(0.0);
        // By how much entropic costs may be too good, on the safe side.
        let safe_side = robust.direction().sign() * values.smoothing();
        let tolerance = match (question.curve, question.context.set) {
            (false, _) => None,
            (true, Set::Wasserstein) => Some(0.0),
            (true, _) => {
                let all = robust.values(&policy, values);
                let low = all.iter().copied().fold(f64::INFINITY, f64::min);
                let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Some((CURVE_TOLERANCE * (high - low)).max(f64::MIN_POSITIVE))
            }
        };
        let (cases, curve) = robust.evaluate(&policy, values, set, radii, tolerance, &settings)?;
        if stopped.load(Ordering::Relaxed) {
            return Err(Error::config(STOPPED));
        }
        for (&radius, case) in radii.iter().zip(cases) {
            results.push(robust_answer(question, radius, cost_radius, &case, safe_side, support));
            worst.push(case);
        }
        curves.extend(curve);
    }
    Ok(PolicyAnswer {
        name: policy.name().to_owned(),
        nominal: NominalAnswer {
            dm: nominal.dm.into(),
            ips: nominal.ips.into(),
            snips: nominal.snips.into(),
            dr: nominal.dr.into(),
        },
        overlap: OverlapAnswer {
            effective_sample_size: nominal.overlap.effective,
            mean_ratio: nominal.overlap.mean_ratio,
            uncovered: nominal.overlap.uncovered,
            clipped: nominal.overlap.clipped,
        },
        results,
        worst,
        curves,
        values: costs.iter().map(|values| robust.values(&policy, values)).collect(),
        policy,
    })
}

fn robust_answer(
    question: &Question,
    radius: f64,
    cost_radius: f64,
    case: &WorstCase,
    safe_side: f64,
    support: &'static str,
) -> RobustAnswer {
    let smoothed = case.entropic.is_some() || safe_side != 0.0;
    let (lower, upper) =
        case.entropic.map_or((case.lower, case.upper), |e| (e.exact_lower, e.exact_upper));
    let eta = |set: Set| if let Set::Entropic { eta } = set { Some(eta) } else { None };
    RobustAnswer {
        set: question.context.set.at(radius).name(),
        radius,
        cost_set: question.cost.set.at(cost_radius).name(),
        cost_radius,
        eta: eta(question.context.set),
        cost_eta: eta(question.cost.set),
        support,
        value: case.value,
        lower: case.lower,
        upper: case.upper,
        gap: case.gap(),
        lambda: Some(case.lambda).filter(|l| l.is_finite()),
        status: case.status.to_string(),
        unobserved_mass: case.unobserved_mass,
        interval: None,
        exact_lower: smoothed.then(|| lower + safe_side.min(0.0)),
        exact_upper: smoothed.then(|| upper + safe_side.max(0.0)),
    }
}

/// Where a curve becomes worse than another, as far as they were followed.
fn breakdown(question: &Question, curve: &Curve, against: &Curve) -> Option<f64> {
    let radius = curve.breakdown_against(against)?.radius;
    Some(radius).filter(|r| *r <= question.curve_up_to)
}

/// Whether a curve that became worse than another becomes better again further on.
fn crosses_again(question: &Question, sign: f64, curve: &Curve, against: &Curve) -> bool {
    let Some(first) = breakdown(question, curve, against) else { return false };
    let vertices = curve.vertices().iter().chain(against.vertices()).map(|v| v.radius);
    let mut beyond = vertices.filter(|r| *r > first && *r <= question.curve_up_to);
    let size = curve.at(first).value.abs();
    beyond.any(|r| sign * (curve.at(r).value - against.at(r).value) < -1e-9 * size)
}

/// Every pair of policies that have curves: from where on the better one is no longer better.
fn breakdowns(
    question: &Question,
    policies: &[PolicyAnswer],
    direction: Direction,
) -> Vec<BreakdownAnswer> {
    let mut found = Vec::new();
    for (at, &cost_radius) in question.cost.radii.iter().enumerate() {
        for (k, first) in policies.iter().enumerate() {
            for second in &policies[k + 1..] {
                let (Some(a), Some(b)) = (first.curves.get(at), second.curves.get(at)) else {
                    continue;
                };
                let sign = direction.sign();
                let first_is_better = sign * a.at(0.0).value <= sign * b.at(0.0).value;
                let ((policy, better), (against, other)) = if first_is_better {
                    ((first, a), (second, b))
                } else {
                    ((second, b), (first, a))
                };
                found.push(BreakdownAnswer {
                    policy: policy.name.clone(),
                    against: against.name.clone(),
                    cost_radius,
                    radius: breakdown(question, better, other),
                    interval: None,
                    up_to: question.curve_up_to,
                    crosses_again: crosses_again(question, sign, better, other),
                });
            }
        }
    }
    found
}

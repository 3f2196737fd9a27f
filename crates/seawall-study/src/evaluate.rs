//! What policies would have cost, nominally and in the worst case: a study's main question.

use crate::bound::Set;
use crate::check::{Check, facts};
use crate::load::Loaded;
use crate::study::{PolicySpec, SetSpec};
use seawall::evaluate::{Estimate, Estimator, Nominal, Robust, Support};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{Curve, Detail, Direction, Population, Progress, Result, Settings, WorstCase};
use serde::{Serialize, Serializer};

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
    /// Whether the whole curves are wanted.
    pub curve: bool,
    /// Whether the worst-case populations will be looked at.
    pub worst: bool,
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
            worst: true,
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
}

/// All answers, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Rows used, or their weights' sum.
    #[serde(serialize_with = "whole")]
    pub rows: f64,
    /// Rows left out.
    pub left_out: usize,
    /// Each action's rows.
    pub actions: serde_json::Map<String, serde_json::Value>,
    /// Points of the context space.
    pub cells: usize,
    /// Those with rows.
    pub observed_cells: usize,
    /// Whether lower or higher is better.
    pub direction: &'static str,
    /// Facts about the data.
    pub diagnostics: Check,
    /// The answers, policy by policy.
    pub policies: Vec<PolicyAnswer>,
    /// Where policies stop being better than one another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<BreakdownAnswer>,
    /// The population of contexts that the worst cases start from.
    #[serde(skip)]
    pub population: Population,
}

/// The answers for one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyAnswer {
    /// The policy's name.
    pub name: String,
    /// The nominal estimates.
    pub nominal: NominalAnswer,
    /// How well the log covers the policy.
    pub overlap: OverlapAnswer,
    /// The worst cases: every context radius at every cost radius.
    pub results: Vec<RobustAnswer>,
    /// The worst cases themselves, in the same order.
    #[serde(skip)]
    pub worst: Vec<WorstCase>,
    /// The curves, one per cost radius, if asked for.
    #[serde(skip)]
    pub curves: Vec<Curve>,
    /// `l(x)` on the support, one list per cost radius.
    #[serde(skip)]
    pub values: Vec<Vec<f64>>,
}

/// The nominal estimates.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NominalAnswer {
    /// The direct method.
    pub dm: EstimateAnswer,
    /// Inverse propensity scores.
    pub ips: EstimateAnswer,
    /// Self-normalised inverse propensity scores.
    pub snips: EstimateAnswer,
    /// Doubly robust, cross-fitted.
    pub dr: EstimateAnswer,
}

/// An estimate and its 95% interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EstimateAnswer {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl From<Estimate> for EstimateAnswer {
    fn from(e: Estimate) -> Self {
        EstimateAnswer { value: e.value, se: e.se, lower: e.lower, upper: e.upper }
    }
}

/// How well the log covers a policy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OverlapAnswer {
    /// How many rows the weighted ones are worth.
    pub effective_sample_size: f64,
    /// The mean ratio of the policy to the propensity.
    pub mean_ratio: f64,
    /// The policy's share of choices never made in the context they are made in.
    pub uncovered: f64,
    /// Rows whose ratio was clipped.
    pub clipped: f64,
}

/// One worst case.
#[derive(Clone, Debug, Serialize)]
pub struct RobustAnswer {
    /// The set of contexts.
    pub set: &'static str,
    /// Its radius.
    pub radius: f64,
    /// The set of outcomes.
    pub cost_set: &'static str,
    /// Its radius.
    pub cost_radius: f64,
    /// The sharpness of an entropic set of contexts.
    pub eta: Option<f64>,
    /// The sharpness of an entropic set of outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_eta: Option<f64>,
    /// Which contexts mass may move to.
    pub support: &'static str,
    /// The worst case.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How fast the worst case worsens with the radius; None where it is infinite.
    pub lambda: Option<f64>,
    /// How the solve ended.
    pub status: String,
    /// The share of the worst-case population on contexts never observed.
    pub unobserved_mass: f64,
    /// With an entropic set of contexts or outcomes: the exact worst case is not below this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// With an entropic set of contexts or outcomes: the exact worst case is not above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
}

/// From which radius on a policy is no longer better than another.
#[derive(Clone, Debug, Serialize)]
pub struct BreakdownAnswer {
    /// The policy that is better at radius 0.
    pub policy: String,
    /// The other.
    pub against: String,
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius, None if there is none.
    pub radius: Option<f64>,
}

fn whole<S: Serializer>(rows: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    count(*rows).serialize(serializer)
}

/// A number of rows: a whole number unless weights make it none.
fn count(rows: f64) -> serde_json::Value {
    if rows.fract() == 0.0 && rows < 1e15 {
        serde_json::Value::from(rows as u64)
    } else {
        serde_json::Value::from(rows)
    }
}

/// Answers a question about a study.
pub fn evaluate(
    loaded: &Loaded,
    question: &Question,
    watch: &(dyn Fn(Doing<'_>) + Sync),
) -> Result<Evaluation> {
    let log = loaded.log();
    watch(Doing::Fitting);
    let clip = loaded.study.clip;
    let unseen = loaded.study.unseen;
    let estimator = Estimator::new(log, &loaded.recipe, &loaded.propensity, clip, unseen, FOLDS)?;
    let mut diagnostics = facts(loaded, estimator.model(), estimator.propensities());
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let mut costs = Vec::new();
    for &radius in &question.cost.radii {
        watch(Doing::Costs(radius));
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
        policies.push(answer(question, &robust, &policy, nominal, &costs, watch)?);
        if *spec == PolicySpec::Greedy {
            diagnostics.notes.push(
                "greedy was chosen on the very rows that value it, so its estimates are too good"
                    .to_owned(),
            );
        }
    }
    let left_out = diagnostics.left_out;
    let rows = log.actions().iter().zip(log.action_totals());
    Ok(Evaluation {
        rows: log.total(),
        left_out: left_out.conditions + left_out.no_action,
        actions: rows.map(|(name, n)| (name.clone(), count(n))).collect(),
        cells: diagnostics.cells,
        observed_cells: diagnostics.observed_cells,
        direction: diagnostics.direction,
        diagnostics,
        breakdown: breakdowns(question, &policies, log.direction()),
        policies,
        population: robust.population().clone(),
    })
}

/// One policy's answers.
fn answer(
    question: &Question,
    robust: &Robust,
    policy: &Policy,
    nominal: Nominal,
    costs: &[Values],
    watch: &(dyn Fn(Doing<'_>) + Sync),
) -> Result<PolicyAnswer> {
    let follow = |progress| {
        watch(Doing::Solving(policy.name(), progress));
        true
    };
    let settings = Settings {
        detail: if question.worst { Detail::Plan } else { Detail::Population },
        plan_floor: 1e-5,
        max_vertices: CURVE_VERTICES,
        watch: Some(&follow),
        ..Settings::default()
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
                let all = robust.values(policy, values);
                let low = all.iter().copied().fold(f64::INFINITY, f64::min);
                let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Some((CURVE_TOLERANCE * (high - low)).max(f64::MIN_POSITIVE))
            }
        };
        let (cases, curve) = robust.evaluate(policy, values, set, radii, tolerance, &settings)?;
        for (&radius, case) in radii.iter().zip(cases) {
            results.push(robust_answer(question, radius, cost_radius, &case, safe_side));
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
        values: costs.iter().map(|values| robust.values(policy, values)).collect(),
    })
}

fn robust_answer(
    question: &Question,
    radius: f64,
    cost_radius: f64,
    case: &WorstCase,
    safe_side: f64,
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
        support: match question.support {
            Support::All => "grid",
            Support::Observed => "observed",
        },
        value: case.value,
        lower: case.lower,
        upper: case.upper,
        gap: case.gap(),
        lambda: Some(case.lambda).filter(|l| l.is_finite()),
        status: case.status.to_string(),
        unobserved_mass: case.unobserved_mass,
        exact_lower: smoothed.then(|| lower + safe_side.min(0.0)),
        exact_upper: smoothed.then(|| upper + safe_side.max(0.0)),
    }
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
                    radius: better.breakdown_against(other).map(|b| b.radius),
                });
            }
        }
    }
    found
}

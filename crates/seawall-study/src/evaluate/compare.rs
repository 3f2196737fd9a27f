//! Works out pairs of policies in one population: worst and best differences, and certain radii.

use super::{
    CURVE_TOLERANCE, CertainRadius, Comparison, DifferenceValue, FEW_RADII, PolicyResult, Question,
    TargetEstimates,
};
use crate::prepare::PreparedStudy;
use crate::reference::TargetEstimator;
use crate::shift;
use seawall::evaluate::{Fitted, NominalDifference, Robust, ValueRange};
use seawall::policy::Policy;
use seawall::{
    Curve, Detail, Direction, Error, Progress, Result, Settings, Stage, Status, Watch, WorstCase,
};

/// Steps of evaluations that comparing every pair may take; beyond it the first policy alone is
/// compared with each.
const COMPARING: f64 = 3e10;
/// How closely a population meets what is known.
const MEETS: f64 = 1e-9;
/// Evaluations that a radius takes, about.
const EVALUATIONS: f64 = 12.0;

/// Compares the policies pair by pair, in both orders.
pub(super) fn comparisons(
    question: &Question,
    (fitted, robust): (&Fitted, &Robust),
    estimator: Option<&TargetEstimator<'_>>,
    policies: &[PolicyResult],
    notes: &mut Vec<String>,
    watch: Watch<'_>,
) -> Result<Vec<Comparison>> {
    if !question.compares() {
        return Ok(Vec::new());
    }
    if question.context.set.needs_actions() {
        notes.push(format!(
            "policies are not compared in one population: under {} that would take what one person meets \
             under both, and a log has one of them",
            question.context.set.name()
        ));
        return Ok(Vec::new());
    }
    let count = policies.len();
    let pairs = count * (count - 1);
    let radii = question.context.radii.len() as f64;
    let work = pairs as f64 * (radii + 1.0) * EVALUATIONS * robust.work();
    let all = count <= 3 || work <= COMPARING;
    if !all {
        notes.push(format!(
            "{count} policies are too many to compare every pair of in this space: each is compared \
             with {} alone",
            policies[0].name
        ));
    }
    let wanted = |a: usize, b: usize| a != b && (all || a == 0 || b == 0);
    let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    let pairs: Vec<(usize, usize)> = pairs.filter(|&(a, b)| wanted(a, b)).collect();
    let settings = Settings { watch, ..Settings::default() };
    let mut ranges = Vec::new();
    for &radius in &question.cost.radii {
        ranges.push(fitted.value_range_on(
            robust.points(),
            question.cost.set.at(radius),
            settings,
        )?);
    }
    let mut found: Vec<Comparison> = Vec::new();
    for &(a, b) in &pairs {
        let (policy, against) = (&policies[a].policy, &policies[b].policy);
        let progress = Progress::at(Stage::Policy(policy.name()));
        watch.tell(progress)?;
        let nominal = fitted.nominal_difference(policy, against, watch)?;
        let target = estimator.map(|c| c.difference(policy, against)).transpose()?;
        let effective_rows = policies[a].effective_rows().min(policies[b].effective_rows());
        let pair = Pair { question, robust, policy, against, effective_rows };
        let one = pair.worst(&ranges, (nominal, target), watch)?;
        let reversed_by = pair.reversed_by(&one, &ranges, watch)?;
        found.push(Comparison { reversed_by, ..one });
    }
    // The best difference to another is the worst one of the other, turned round.
    for (k, &(a, b)) in pairs.iter().enumerate() {
        let Some(turned) = pairs.iter().position(|&p| p == (b, a)) else { continue };
        let other = found[turned].results.clone();
        for (own, other) in found[k].results.iter_mut().zip(other) {
            own.best = -other.worst;
            (own.best_lower, own.best_upper) = (-other.upper, -other.lower);
            if own.status == Status::Optimal {
                own.status = other.status;
            }
        }
    }
    Ok(found)
}

/// The populations in which a policy is worst beside another, at every context radius of a question
/// and its first cost radius.
pub(crate) fn worst_populations(
    prepared: &PreparedStudy,
    question: &Question,
    (policy, against): (&Policy, &Policy),
    watch: Watch<'_>,
) -> Result<Vec<WorstCase>> {
    let prepared = &prepared.on_support(question.support)?;
    let fitted = prepared.fitted(watch)?;
    let robust = prepared.robust(fitted, question.support, question.within())?;
    let settings = Settings { plan_floor: 1e-5, watch, ..Settings::default() };
    let costs = question.cost.set.at(question.cost.radii[0]);
    let range = fitted.value_range_on(robust.points(), costs, settings)?;
    let (set, radii) = (question.context.set, &question.context.radii);
    let pair = (policy, against);
    let (cases, _) = robust.worst_difference(pair, &range, set, radii, None, settings)?;
    match cases.iter().any(|case| case.status() == Status::Stopped) {
        true => Err(Error::stopped()),
        false => Ok(cases),
    }
}

/// Two policies being compared.
struct Pair<'a> {
    question: &'a Question,
    robust: &'a Robust,
    policy: &'a Policy,
    against: &'a Policy,
    effective_rows: f64,
}

impl Pair<'_> {
    /// The worst differences at every radius and cost radius, and the certain radius.
    fn worst(
        &self,
        ranges: &[ValueRange],
        (nominal, target): (NominalDifference, Option<TargetEstimates>),
        watch: Watch<'_>,
    ) -> Result<Comparison> {
        let (question, robust) = (self.question, self.robust);
        let (set, radii) = (question.context.set, &question.context.radii);
        // Many radii are read off the whole curve.
        let many = radii.len() > FEW_RADII;
        let whole = question.curve || many;
        let follow = |progress: Progress<'_>| {
            watch.go_on(Progress { stage: Stage::Policy(self.policy.name()), ..progress })
        };
        let settings = Settings {
            detail: if question.worst { Detail::Plan } else { Detail::Population },
            plan_floor: 1e-5,
            max_vertices: question.vertices(robust),
            max_radius: question.curve_up_to,
            crossing: (!whole).then_some(0.0),
            watch: Watch::new(&follow),
            ..Settings::default()
        };
        let (mut results, mut worst, mut curves) = (Vec::new(), Vec::new(), Vec::new());
        let (mut values, mut certain) = (Vec::new(), Vec::new());
        for (range, &cost_radius) in ranges.iter().zip(&question.cost.radii) {
            let own = robust.difference(self.policy, self.against, range)?;
            let size = own.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let tolerance = match set.has_exact_curve() {
                true => 0.0,
                false => (CURVE_TOLERANCE * size).max(f64::MIN_POSITIVE),
            };
            let solved = if many { &[] } else { &radii[..] };
            let pair = (self.policy, self.against);
            let decided = match whole {
                true => None,
                false => self.decided(range, &own, settings)?,
            };
            // A curve may take a hundred times as long as an answer: the radii asked about say between which
            // of them it is.
            let known = !set.quick_curve() && !whole;
            let asked = (decided.is_none() && !known).then_some(tolerance);
            let (cases, curve) =
                robust.worst_difference(pair, range, set, solved, asked, settings)?;
            watch.tell(Progress::at(Stage::Policy(self.policy.name())))?;
            // A smoothed value may be on the unsafe side of the exact one by so much.
            let smoothing = set.smoothing(robust.points().len()) + range.smoothing();
            let direction = robust.direction();
            for (at, &radius) in radii.iter().enumerate() {
                let mut found = match cases.get(at) {
                    Some(case) if case.status() == Status::Stopped => return Err(Error::stopped()),
                    Some(case) => solved_difference(radius, cost_radius, case),
                    None => match &curve {
                        Some(curve) => read_difference(radius, cost_radius, curve),
                        None => return Err(Error::internal("a curve was asked for")),
                    },
                };
                match direction {
                    Direction::Cost => found.upper += smoothing,
                    Direction::Reward => found.lower -= smoothing,
                }
                results.push(found);
            }
            // A curve that was followed only so far may pass 0 beyond.
            let rest = Settings { crossing: Some(0.0), max_radius: f64::INFINITY, ..settings };
            let focused = match whole {
                true => robust.worst_difference(pair, range, set, &[], Some(tolerance), rest)?.1,
                false => None,
            };
            certain.push(match (decided, focused.as_ref().or(curve.as_ref())) {
                (Some(value), _) => {
                    CertainRadius { cost_radius, value, lower: value, upper: value }
                }
                (None, Some(near)) => certain_radius(cost_radius, near, direction, smoothing),
                (None, None) if known => between_radii(cost_radius, radii, &cases, direction),
                (None, None) => return Err(Error::internal("a curve was asked for")),
            });
            worst.extend(cases);
            curves.extend(curve);
            values.push(own);
        }
        let several = certain.len() > 1;
        Ok(Comparison {
            policy: self.policy.name().to_owned(),
            against: self.against.name().to_owned(),
            nominal,
            target,
            certain_radius: certain[0],
            certain_radii: if several { certain } else { Vec::new() },
            results,
            worst,
            curves,
            values,
            reversed_by: None,
            effective_rows: self.effective_rows,
            knowing: set.needs_known(),
            direction: robust.direction(),
        })
    }

    /// The certain radius of couplings where no curve is needed to know it: infinite if no population that
    /// meets what is known is worse, 0 if that which worst cases start from is one of them, and worse.
    fn decided(
        &self,
        range: &ValueRange,
        own: &[f64],
        settings: Settings<'_>,
    ) -> Result<Option<f64>> {
        let (set, robust) = (self.question.context.set, self.robust);
        let Some(known) = robust.geometry().known().filter(|_| set.needs_known()) else {
            return Ok(None);
        };
        let (population, sign) = (robust.population(), robust.direction().sign());
        if sign * population.mean(own)? > 0.0 && known.holds_for(population, MEETS)? {
            return Ok(Some(0.0));
        }
        let (pair, settings) = ((self.policy, self.against), settings.detail(Detail::Value));
        let radii = [f64::INFINITY];
        let (cases, _) = robust.worst_difference(pair, range, set, &radii, None, settings)?;
        let worst = |case: &WorstCase| match robust.direction() {
            Direction::Cost => case.upper(),
            Direction::Reward => -case.lower(),
        };
        Ok(cases.first().filter(|case| worst(case) <= 0.0).map(|_| f64::INFINITY))
    }

    /// What the population looks like that makes the two equal.
    fn reversed_by(
        &self,
        one: &Comparison,
        ranges: &[ValueRange],
        watch: Watch<'_>,
    ) -> Result<Option<String>> {
        let (radius, set) = (one.certain_radius.value, self.question.context.set);
        if !(one.leads() && radius > 0.0 && radius.is_finite()) {
            return Ok(None);
        }
        let settings = Settings { detail: Detail::Plan, watch, ..Settings::default() };
        let pair = (self.policy, self.against);
        let (cases, _) =
            self.robust.worst_difference(pair, &ranges[0], set, &[radius], None, settings)?;
        Ok(cases.first().and_then(|case| shift::main_change(case, set)))
    }
}

fn solved_difference(radius: f64, cost_radius: f64, case: &WorstCase) -> DifferenceValue {
    let (lower, upper) = (case.lower(), case.upper());
    DifferenceValue {
        radius,
        cost_radius,
        worst: case.value(),
        best: f64::NAN,
        lower,
        upper,
        gap: case.gap(),
        status: case.status(),
        best_lower: f64::NAN,
        best_upper: f64::NAN,
        verdict: None,
        unobserved_mass: Some(case.unobserved_mass()).filter(|m| m.is_finite()),
        honest: None,
        limits: None,
        best_honest: None,
        best_limits: None,
        doubly_robust: None,
    }
}

fn read_difference(radius: f64, cost_radius: f64, curve: &Curve) -> DifferenceValue {
    let at = curve.at(radius);
    let gap = at.upper - at.lower;
    let optimal = gap <= 1e-9 * at.upper.abs().max(at.lower.abs()).max(1e-4);
    DifferenceValue {
        radius,
        cost_radius,
        worst: at.value,
        best: f64::NAN,
        lower: at.lower,
        upper: at.upper,
        gap,
        status: if optimal { Status::Optimal } else { Status::Inexact },
        best_lower: f64::NAN,
        best_upper: f64::NAN,
        verdict: None,
        unobserved_mass: None,
        honest: None,
        limits: None,
        best_honest: None,
        best_limits: None,
        doubly_robust: None,
    }
}

/// The certain radius as far as the radii asked about tell it: from the largest at which the policy is no
/// worse to the least at which it may be.
fn between_radii(
    cost_radius: f64,
    radii: &[f64],
    cases: &[WorstCase],
    direction: Direction,
) -> CertainRadius {
    let (mut lower, mut upper) = (0.0_f64, f64::INFINITY);
    for (&radius, case) in radii.iter().zip(cases) {
        let no_worse = match direction {
            Direction::Cost => case.upper() <= 0.0,
            Direction::Reward => case.lower() >= 0.0,
        };
        match no_worse {
            true => lower = lower.max(radius),
            false => upper = upper.min(radius),
        }
    }
    CertainRadius { cost_radius, value: lower, lower, upper }
}

/// Where a curve of differences passes 0. A smoothed curve is below the exact one by at most
/// `smoothing`.
fn certain_radius(
    cost_radius: f64,
    curve: &Curve,
    direction: Direction,
    smoothing: f64,
) -> CertainRadius {
    let at = curve.breakdown(0.0);
    let value = at.map_or(f64::INFINITY, |b| b.radius);
    let lower = match smoothing > 0.0 {
        true => curve.breakdown(-direction.sign() * smoothing).map_or(f64::INFINITY, |b| b.lower),
        false => at.map_or(f64::INFINITY, |b| b.lower),
    };
    let upper = at.map_or(f64::INFINITY, |b| b.upper);
    CertainRadius { cost_radius, value, lower: lower.min(value), upper }
}

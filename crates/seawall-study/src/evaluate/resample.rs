//! Intervals for robust values: the rows are drawn again and everything is worked out anew.

use super::{Bootstrap, Evaluation, PolicyDifference, Question, breakdown};
use crate::load::Loaded;
use crate::words::level;
use seawall::evaluate::Robust;
use seawall::inference::{Interval, Replicates, bootstrap};
use seawall::outcome::Unseen;
use seawall::policy::Policy;
use seawall::{Curve, Detail, Log, Result, Settings, Watch};

/// How closely a replicate's curve is followed, relative to the values.
const CURVE: f64 = 1e-4;
/// More radii than this are read off the replicate's curve instead of being solved for.
const FEW: usize = 8;

/// Fills in the intervals of worst cases, differences and breakdown radii.
pub(super) fn intervals(
    loaded: &Loaded,
    question: &Question,
    asked: &Bootstrap,
    found: &mut Evaluation,
    watch: Watch<'_>,
) -> Result<()> {
    // Where a replicate has lost an action, its mean stands in, as a refusal would lose the rest.
    let unseen = match loaded.study.unseen {
        Unseen::Error => Unseen::Mean,
        unseen => unseen,
    };
    let many = question.context.radii.len() > FEW;
    let curves = many || !found.breakdown.is_empty();
    let solved = if many { &[] } else { &question.context.radii[..] };
    let read = if many { &question.context.radii[..] } else { &[] };
    let policies: Vec<&Policy> = found.policies.iter().map(|p| &p.policy).collect();
    let ask = |log: &Log, watch: Watch<'_>| -> Result<Vec<f64>> {
        let model = loaded.recipe.fit(log, watch)?;
        let (detail, max_radius) = (Detail::Value, question.curve_up_to);
        let settings = Settings { detail, max_radius, watch, ..Settings::default() };
        let robust = Robust::new(log, question.support)?;
        let mut numbers = Vec::new();
        let mut all_curves: Vec<Vec<Curve>> = vec![Vec::new(); policies.len()];
        for &cost_radius in &question.cost.radii {
            let costs = question.cost.set.at(cost_radius);
            let values = model.values(log, costs, unseen, settings)?;
            let max_vertices = question.vertices(robust.geometry());
            let settings = Settings { max_vertices, ..settings };
            for (policy, own) in policies.iter().zip(&mut all_curves) {
                let context = question.context.set;
                let size = log.values().iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
                let tolerance = curves.then_some(CURVE * size);
                let (worst, curve) =
                    robust.evaluate(policy, &values, context, solved, tolerance, settings)?;
                numbers.extend(worst.iter().map(|w| w.value()));
                for &radius in read {
                    numbers.push(curve.as_ref().map_or(f64::NAN, |c| c.at(radius).value));
                }
                own.extend(curve);
            }
        }
        for b in &found.breakdown {
            let place = |name: &str| policies.iter().position(|p| p.name() == name).unwrap_or(0);
            let at = question.cost.radii.iter().position(|r| *r == b.cost_radius).unwrap_or(0);
            let (a, other) = (&all_curves[place(&b.policy)], &all_curves[place(&b.against)]);
            let pair = a.get(at).zip(other.get(at));
            let found = pair.and_then(|(a, b)| breakdown(question, a, b));
            numbers.push(found.map_or(f64::NAN, |b| b.radius));
        }
        Ok(numbers)
    };
    let (log, resampling) = (loaded.log(), asked.resampling);
    let replicates = bootstrap(log, asked.replicates, resampling, asked.seed, watch, &ask)?;
    fill(question, asked, &replicates, found)
}

/// Numbers come cost radius by cost radius, policy by policy, radius by radius; then breakdowns.
fn fill(
    question: &Question,
    asked: &Bootstrap,
    replicates: &Replicates,
    found: &mut Evaluation,
) -> Result<()> {
    let (radii, policies) = (question.context.radii.len(), found.policies.len());
    let place = |policy: usize, result: usize| {
        let (cost, radius) = (result / radii, result % radii);
        (cost * policies + policy) * radii + radius
    };
    let (low, high) = found.diagnostics.outcome_range;
    if 0.5 * (1.0 - asked.level) * (asked.replicates as f64) < 1.0 {
        found.diagnostics.notes.push(format!(
            "{} replicates are too few for {} intervals, which then are too narrow",
            asked.replicates,
            level(asked.level)
        ));
    }
    for (k, policy) in found.policies.iter_mut().enumerate() {
        for (at, result) in policy.results.iter_mut().enumerate() {
            let interval = replicates.interval(place(k, at), result.value, asked.level)?;
            // A mean of outcomes is never beyond them; a smoothed value may be.
            let clamp = |x: f64| match result.exact_lower {
                None => x.clamp(low, high),
                Some(_) => x,
            };
            let mut interval = interval;
            interval.basic = (clamp(interval.basic.0), clamp(interval.basic.1));
            result.interval = Some(interval);
        }
    }
    let first = question.cost.radii.len() * policies * radii;
    for (k, b) in found.breakdown.iter_mut().enumerate() {
        if let Some(radius) = b.radius {
            b.interval = Some(replicates.interval(first + k, radius, asked.level)?);
        }
    }
    let mut differences = Vec::new();
    for (k, a) in found.policies.iter().enumerate() {
        for (m, b) in found.policies.iter().enumerate().skip(k + 1) {
            for (at, (x, y)) in a.results.iter().zip(&b.results).enumerate() {
                let apart = |r: &Vec<f64>| vec![r[place(k, at)] - r[place(m, at)]];
                let apart = Replicates { all: replicates.all.iter().map(apart).collect() };
                let value = x.value - y.value;
                let interval: Interval = apart.interval(0, value, asked.level)?;
                differences.push(PolicyDifference {
                    policy: a.name.clone(),
                    against: b.name.clone(),
                    radius: x.radius,
                    cost_radius: x.cost_radius,
                    value,
                    interval,
                });
            }
        }
    }
    found.differences = differences;
    Ok(())
}

//! Intervals for robust values and differences: the rows are drawn again and everything is worked
//! out anew, every policy on the same draw. A target's rows are drawn again too; what is known of it is met
//! by each draw anew.

use super::compare::certain_on;
use super::{Bootstrap, Evaluation, FEW_RADII, Question};
use crate::prepare::PreparedStudy;
use crate::reference::Reference;
use crate::words::level;
use seawall::evaluate::{Fitted, Robust, ValueRange};
use seawall::inference::{Interval, Replicates, bootstrap};
use seawall::policy::Policy;
use seawall::{Curve, Detail, Log, Result, Settings, Watch};
use std::sync::Arc;

/// How closely a replicate's curve is followed, relative to the values: far below its noise. Where many
/// radii are read off it, a little less so.
const CURVE: f64 = 1e-4;
const ROUGH_CURVE: f64 = 1e-3;
/// Streams of random numbers for the target's rows begin here, away from the log's.
const TARGET_STREAM: u64 = 1 << 32;

/// Where a replicate's numbers are: cost radius by cost radius, policy by policy, radius by radius;
/// then pair by pair likewise, the certain radius last.
struct Layout {
    policies: usize,
    pairs: usize,
    radii: usize,
}

impl Layout {
    fn cost(&self, cost: usize) -> usize {
        cost * (self.policies * self.radii + self.pairs * (self.radii + 1))
    }

    /// A policy's result, counted as in its list.
    fn value(&self, policy: usize, result: usize) -> usize {
        self.cost(result / self.radii) + policy * self.radii + result % self.radii
    }

    /// A pair's result.
    fn difference(&self, pair: usize, result: usize) -> usize {
        self.pair(pair, result / self.radii) + result % self.radii
    }

    /// A pair's certain radius.
    fn certain(&self, pair: usize, cost: usize) -> usize {
        self.pair(pair, cost) + self.radii
    }

    fn pair(&self, pair: usize, cost: usize) -> usize {
        self.cost(cost) + self.policies * self.radii + pair * (self.radii + 1)
    }
}

/// Fills in the intervals of worst cases, differences and certain radii.
pub(super) fn intervals(
    prepared: &PreparedStudy,
    question: &Question,
    asked: &Bootstrap,
    found: &mut Evaluation,
    watch: Watch<'_>,
) -> Result<()> {
    let policies: Vec<&Policy> = found.policies.iter().map(|p| &p.policy).collect();
    let place = |name: &str| policies.iter().position(|p| p.name() == name).unwrap_or(0);
    let pairs: Vec<(usize, usize)> =
        found.comparisons.iter().map(|c| (place(&c.policy), place(&c.against))).collect();
    let radii = question.context.radii.len();
    let layout = Layout { policies: policies.len(), pairs: pairs.len(), radii };
    let ask = |log: &Log, replicate: usize, watch: Watch<'_>| {
        let seed = asked.seed;
        let drawn = Drawn::new(prepared, question, log, (seed, replicate as u64), watch)?;
        drawn.numbers(&policies, &pairs)
    };
    let (log, resampling) = (prepared.log(), asked.resampling);
    let replicates = bootstrap(log, asked.replicates, resampling, asked.seed, watch, &ask)?;
    fill(asked, &layout, &pairs, &replicates, found)
}

/// A log drawn again, with its model and the contexts that worst cases start from.
struct Drawn<'a> {
    question: &'a Question,
    robust: Robust,
    /// For a set that is about people with their outcomes.
    fitted: Option<Fitted>,
    ranges: Vec<ValueRange>,
    size: f64,
    settings: Settings<'a>,
}

impl<'a> Drawn<'a> {
    fn new(
        prepared: &PreparedStudy,
        question: &'a Question,
        log: &Log,
        (seed, replicate): (u64, u64),
        watch: Watch<'a>,
    ) -> Result<Self> {
        // Where a replicate has lost an action, its mean stands in, as a refusal would lose the rest.
        let unseen = prepared.study.unseen.never_refusing();
        let model = prepared.model.recipe.fit(log, watch)?;
        let (detail, max_radius) = (Detail::Value, question.curve_up_to);
        let settings = Settings { detail, max_radius, watch, ..Settings::default() };
        let robust = match &prepared.target {
            None => prepared.reference(log)?.robust(log, question.support, question.within())?,
            Some(target) => {
                let again = target.sample.drawn_again(seed, TARGET_STREAM + replicate)?;
                Reference::Sample(Arc::new(again)).robust(
                    log,
                    question.support,
                    question.within(),
                )?
            }
        };
        let mut ranges = Vec::new();
        for &radius in &question.cost.radii {
            let costs = question.cost.set.at(radius);
            ranges.push(ValueRange::from_model(&model, log, costs, unseen, settings)?);
        }
        let joint = question.context.set.needs_actions();
        let fitted = joint.then(|| prepared.fitted_to(&log.clone().shared(), watch)).transpose()?;
        let size = log.values().iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
        let max_vertices = question.vertices(&robust);
        let settings = Settings { max_vertices, ..settings };
        Ok(Drawn { question, robust, fitted, ranges, size, settings })
    }

    fn numbers(&self, policies: &[&Policy], pairs: &[(usize, usize)]) -> Result<Vec<f64>> {
        let (set, radii) = (self.question.context.set, &self.question.context.radii);
        // Many radii are read off the curve instead of being solved for.
        let many = radii.len() > FEW_RADII;
        let solved = if many { &[] } else { &radii[..] };
        let share = if many { ROUGH_CURVE } else { CURVE };
        let tolerance = share * self.size;
        let read = |curve: &Option<Curve>| -> Vec<f64> {
            let at = |r: &f64| curve.as_ref().map_or(f64::NAN, |c| c.at(*r).value);
            radii.iter().filter(|_| many).map(at).collect()
        };
        let mut numbers = Vec::new();
        for range in &self.ranges {
            for policy in policies {
                let wanted = many.then_some(tolerance);
                let worst = &range.worst;
                let (cases, curve) = match &self.fitted {
                    Some(fitted) => {
                        let robust = &self.robust;
                        let settings = self.settings;
                        fitted.worst_cases(robust, policy, worst, set, solved, wanted, settings)?
                    }
                    None => {
                        self.robust.evaluate(policy, worst, set, solved, wanted, self.settings)?
                    }
                };
                numbers.extend(cases.iter().map(|w| w.value()));
                numbers.extend(read(&curve));
            }
            let crossing = (!many).then_some(0.0);
            let settings = Settings { crossing, ..self.settings };
            for &(a, b) in pairs {
                let pair = (policies[a], policies[b]);
                let apart = self.robust.difference(pair.0, pair.1, range)?;
                let size = apart.iter().fold(1e-300, |m: f64, d| m.max(d.abs()));
                let wanted = Some(share * size);
                let (cases, curve) =
                    self.robust.worst_difference(pair, range, set, solved, wanted, settings)?;
                numbers.extend(cases.iter().map(|w| w.value()));
                numbers.extend(read(&curve));
                numbers.push(curve.as_ref().map_or(f64::NAN, certain_on));
            }
        }
        Ok(numbers)
    }
}

fn fill(
    asked: &Bootstrap,
    layout: &Layout,
    pairs: &[(usize, usize)],
    replicates: &Replicates,
    found: &mut Evaluation,
) -> Result<()> {
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
            let mut interval =
                replicates.interval(layout.value(k, at), result.value, asked.level)?;
            // A mean of outcomes is never beyond them; a smoothed value may be.
            let clamp = |x: f64| match result.exact_lower {
                None => x.clamp(low, high),
                Some(_) => x,
            };
            interval.basic = (clamp(interval.basic.0), clamp(interval.basic.1));
            result.interval = Some(interval);
        }
    }
    for (k, &(a, b)) in pairs.iter().enumerate() {
        let turned = pairs.iter().position(|&p| p == (b, a)).unwrap_or(k);
        let one = &mut found.comparisons[k];
        for (at, result) in one.results.iter_mut().enumerate() {
            let place = layout.difference(k, at);
            result.interval = Some(replicates.interval(place, result.worst, asked.level)?);
            let place = layout.difference(turned, at);
            let other = replicates.interval(place, -result.best, asked.level)?;
            let flip = |(low, high): (f64, f64)| (-high, -low);
            result.best_interval = Some(Interval {
                se: other.se,
                percentile: flip(other.percentile),
                basic: flip(other.basic),
            });
        }
        let certain = std::iter::once((0, &mut one.certain_radius))
            .chain(one.certain_radii.iter_mut().enumerate());
        for (cost, radius) in certain.filter(|(_, r)| r.value.is_finite()) {
            let place = layout.certain(k, cost);
            let mut interval = replicates.interval(place, radius.value, asked.level)?;
            // No radius is below 0.
            interval.basic = (interval.basic.0.max(0.0), interval.basic.1.max(0.0));
            radius.interval = Some(interval);
        }
    }
    Ok(())
}

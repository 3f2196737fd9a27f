//! How much of the worst cases is noise: populations found on one half of the rows and valued on the
//! other, and the limits that follow.
//!
//! Where there are many radii the halves are solved at a few of them; between these the distance of
//! the honest value to the value as fitted, its standard errors and the allowance for smoothing are
//! read off straight lines.

use super::{
    DifferenceValue, Doubled, Evaluation, FEW_RADII, Halving, Honest, Question, RobustValue,
};
use crate::prepare::PreparedStudy;
use crate::reference::{Bounded, Reference};
use crate::words::number;
use seawall::evaluate::{Estimate, Fitted, Robust, Support, ValueRange};
use seawall::inference::{
    Estimand, Correction, FIRST_SPLITS, HALF_GAP, HalfFit, HalfQuestion, SplitNoise, Limits, Splits,
    crossings, halves,
};
use seawall::policy::Policy;
use seawall::{Ambiguity, Detail, Direction, Log, Result, Settings, Watch};
use std::sync::Arc;

/// Held-out residuals correct a value if the log has rows of this share of it, worth so many rows.
const COVERED: f64 = 0.9;
const EFFECTIVE: f64 = 30.0;
/// Streams of random numbers for the target's halves begin here, away from the log's.
const TARGET_STREAM: u64 = 1 << 33;

/// Steps of evaluations that halves may take where nobody asked for them; beyond it there are fewer, and
/// beyond so many times that, none.
const UNASKED: f64 = 3e10;
const FAR_BEYOND: f64 = 10.0;
/// Evaluations that a radius takes, about.
const EVALUATIONS: f64 = 12.0;
/// Fewer rows, or clusters, of an action than these cannot be halved.
const FEWEST: f64 = 4.0;
/// Fewer halvings than these say too little.
const LEAST: usize = FIRST_SPLITS;
/// Numbers by context and action that every half would hold.
const MOST_VALUES: usize = 8_000_000;

/// How often rows are halved: as asked, or where nobody asked as often as takes no long time. Says so
/// where that is less.
pub(crate) fn affordable(
    question: &Question,
    asked: Halving,
    (log, robust): (&Log, &Robust),
    notes: &mut Vec<String>,
) -> Option<Halving> {
    if let Some(why) = too_few(log) {
        notes.push(format!("nothing says how much of the worst cases is noise: {why}"));
        return None;
    }
    let count = question.policies.len();
    let pairs = if question.compares() { count * (count - 1) } else { 0 };
    let radii = anchors(question).len() * question.cost.radii.len();
    let numbers = ((count + pairs) * radii) as f64;
    // A half has half the sources, and there are two.
    let own = question.context.set.work(robust.geometry());
    let each = numbers * own.map_or(EVALUATIONS * robust.work(), |steps| 2.0 * steps);
    let large = log.contexts().len() * log.actions().len() > MOST_VALUES;
    if !asked.fewer || (!large && asked.count as f64 * each <= UNASKED) {
        return Some(asked);
    }
    if large || LEAST as f64 * each > FAR_BEYOND * UNASKED {
        notes.push(format!(
            "this space takes long to solve, so nothing says how much of the worst cases is noise: \
             ask for it with halves of the rows (--halves {LEAST} or more)"
        ));
        return None;
    }
    let count = ((UNASKED / each) as usize).clamp(LEAST, asked.count);
    if 4 * count >= 3 * asked.count {
        return Some(asked);
    }
    notes.push(format!(
        "this space takes long to solve, so the rows were halved {count} times at most: limits are \
         wider than they need be (--halves {} would be the usual)",
        asked.count
    ));
    Some(Halving { count, ..asked })
}

/// Why a log cannot be halved, if it cannot.
fn too_few(log: &Log) -> Option<String> {
    let mut clusters = vec![Vec::new(); log.actions().len()];
    let mut rows = vec![0.0; log.actions().len()];
    for e in log.entries() {
        clusters[e.action as usize].push(e.cluster);
        rows[e.action as usize] += e.rows();
    }
    for (k, name) in log.actions().iter().enumerate() {
        clusters[k].sort_unstable();
        clusters[k].dedup();
        let (count, what) = match log.clusters() {
            Some(_) => (clusters[k].len() as f64, "clusters"),
            None => (rows[k], "rows"),
        };
        if count < FEWEST {
            return Some(format!(
                "{name:?} has rows in {} {what}, too few to be halved",
                number(count)
            ));
        }
    }
    None
}

/// One number's bracket.
#[derive(Clone, Copy)]
struct Bracket {
    halved: SplitNoise,
    /// By how much the worst case rises with what is left in the model's residuals added back.
    rise: f64,
    /// The share that residuals correct, and the rows that they are worth, if they do.
    cover: Option<(f64, f64)>,
}

/// Fills in honest values and limits of worst cases and differences; how often the rows were halved.
pub(super) fn brackets(
    prepared: &PreparedStudy,
    question: &Question,
    asked: &Halving,
    (fitted, robust): (&Fitted, &Robust),
    found: &mut Evaluation,
    watch: Watch<'_>,
) -> Result<usize> {
    let radii = anchors(question);
    let policies: Vec<&Policy> = found.policies.iter().map(|p| &p.policy).collect();
    let named = |name: &str| policies.iter().find(|p| p.name() == name).copied();
    let alone = policies.iter().map(|p| Estimand::Value(p));
    let pairs = found
        .comparisons
        .iter()
        .filter_map(|c| Some(Estimand::Difference(named(&c.policy)?, named(&c.against)?)));
    let questions: Vec<Estimand<'_>> = alone.chain(pairs).collect();
    let costs: Vec<Ambiguity> =
        question.cost.radii.iter().map(|r| question.cost.set.at(*r)).collect();
    let half_question = HalfQuestion {
        recipe: &prepared.model.recipe,
        unseen: prepared.study.unseen,
        costs: &costs,
        set: question.context.set,
        radii: &radii,
        support: question.support,
    };
    let correction = Correction::new(fitted)?;
    let whole = radii == question.context.radii;
    let cover = match whole {
        true => covers(&correction, found, &questions, robust, costs.len()),
        // Between the radii that are solved there is no population to correct.
        false => vec![None; costs.len() * questions.len() * radii.len()],
    };
    let corrected: Vec<bool> = cover.iter().map(Option::is_some).collect();
    let rises = rises(found, (fitted, robust), &questions, &radii, watch)?;
    let clusters = prepared.log().clusters();
    let needed = |halved: &[SplitNoise]| {
        // What is between the radii that somebody named changes no number of theirs.
        let named = |radius: f64| whole || question.named_radii.contains(&radius);
        let all = halved.iter().zip(&rises).enumerate();
        let each =
            all.filter(|(at, _)| named(radii[at % radii.len()])).map(|(at, (halved, rise))| {
                let (row, radius) = (at / radii.len(), radii[at % radii.len()]);
                let value = as_fitted(found, row % questions.len(), row / questions.len(), radius);
                let limits =
                    halved.limits((value, value + rise), found.direction, asked.level, clusters);
                halved.splits_needed(&limits)
            });
        each.max().unwrap_or(0)
    };
    let splits = match asked.fewer {
        true => Splits::Enough(asked.count, &needed),
        false => Splits::Exactly(asked.count),
    };
    let halved = halves(prepared.log(), &splits, asked.seed, watch, &|a, b, halving, watch| {
        let settings = Settings { stop_at: HALF_GAP, watch, ..Settings::default() };
        let dealt = (asked.seed, halving);
        let (a, b) = both(prepared, (&half_question, question.within()), (a, b), dealt, settings)?;
        let correcting = (&correction, &corrected[..]);
        crossings([&a, &b], &questions, &half_question, correcting, settings)
    })?;
    let count = halved.first().map_or(asked.count, |h| h.halvings);
    let brackets: Vec<Bracket> = halved
        .into_iter()
        .zip(rises)
        .zip(cover)
        .map(|((halved, rise), cover)| Bracket { halved, rise, cover })
        .collect();
    fill(question, asked, &radii, &brackets, clusters, found);
    Ok(count)
}

/// Both halves, fitted; a target's rows are halved, too, and what is known of it is met by each half anew.
pub(super) fn both(
    prepared: &PreparedStudy,
    (question, within): (&HalfQuestion<'_>, Bounded<'_>),
    (a, b): (&Log, &Log),
    (seed, halving): (u64, usize),
    settings: Settings<'_>,
) -> Result<(HalfFit, HalfFit)> {
    let half = |log: &Log, reference: &Reference| {
        let robust = reference.robust(log, question.support, within)?;
        HalfFit::new(log, question, Some(robust), settings)
    };
    match &prepared.target {
        None => Ok((half(a, &prepared.reference(a)?)?, half(b, &prepared.reference(b)?)?)),
        Some(target) => {
            let stream = TARGET_STREAM + halving as u64;
            let [one, other] = target.sample.halves(seed, stream)?;
            let [one, other] = [one, other].map(|sample| Reference::Sample(Arc::new(sample)));
            Ok((half(a, &one)?, half(b, &other)?))
        }
    }
}

/// The radii at which halves are solved: all, or a few of many, the ends among them and those that
/// somebody named.
fn anchors(question: &Question) -> Vec<f64> {
    let radii = &question.context.radii;
    if radii.len() <= FEW_RADII {
        return radii.clone();
    }
    let mut sorted = radii.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    let last = sorted.len() - 1;
    let mut places: Vec<usize> = (0..FEW_RADII).map(|k| k * last / (FEW_RADII - 1)).collect();
    let named = |radius: &f64| sorted.iter().position(|r| r == radius);
    places.extend(question.named_radii.iter().filter_map(named));
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|k| sorted[k]).collect()
}

/// Where held-out residuals can correct a value: by the worst population of the whole log.
fn covers(
    correction: &Correction<'_>,
    found: &Evaluation,
    questions: &[Estimand<'_>],
    robust: &Robust,
    costs: usize,
) -> Vec<Option<(f64, f64)>> {
    let radii = found.question.context.radii.len();
    if found.question.support == Support::Space {
        // Residuals are where rows are.
        return vec![None; costs * questions.len() * radii];
    }
    let mut all = Vec::with_capacity(costs * questions.len() * radii);
    for cost in 0..costs {
        for (k, asked) in questions.iter().enumerate() {
            let worst = match k.checked_sub(found.policies.len()) {
                None => &found.policies[k].worst,
                Some(pair) => &found.comparisons[pair].worst,
            };
            for at in 0..radii {
                let plain = found.question.cost.radii[cost] == 0.0
                    && found.question.cost.set.stays_at_zero();
                let weights = worst.get(cost * radii + at).map(|case| case.weights());
                let weights = weights.filter(|w| plain && !w.is_empty());
                let cover = weights.map(|w| correction.cover(*asked, &w, robust.points()));
                all.push(cover.filter(|(share, rows)| *share >= COVERED && *rows >= EFFECTIVE));
            }
        }
    }
    all
}

/// By how much the worst cases rise with what is left in the model's residuals added back, in the order
/// of brackets.
fn rises(
    found: &Evaluation,
    (fitted, robust): (&Fitted, &Robust),
    questions: &[Estimand<'_>],
    radii: &[f64],
    watch: Watch<'_>,
) -> Result<Vec<f64>> {
    let question = &found.question;
    let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
    let (left, set) = (fitted.left_over()?, question.context.set);
    let mut all = Vec::new();
    for (cost, &cost_radius) in question.cost.radii.iter().enumerate() {
        let costs = question.cost.set.at(cost_radius);
        let range: ValueRange = fitted.value_range_on(robust.points(), costs, settings)?;
        // On the whole space what is left is valued by itself: the worst case of a sum is no worse than
        // the sum of the worst cases.
        let apart = question.support == Support::Space;
        let range = if apart { range.left_over(&left) } else { range.with_left_over(&left) };
        for (k, asked) in questions.iter().enumerate() {
            let (cases, _) = match *asked {
                Estimand::Value(policy) => {
                    robust.evaluate(policy, &range.worst, set, radii, None, settings)?
                }
                Estimand::Difference(a, b) => {
                    robust.worst_difference((a, b), &range, set, radii, None, settings)?
                }
            };
            let each = cases.iter().zip(radii);
            let without = |r: f64| if apart { 0.0 } else { as_fitted(found, k, cost, r) };
            all.extend(each.map(|(rough, r)| rough.value() - without(*r)));
        }
    }
    Ok(all)
}

/// The value as fitted of a question, policies before pairs, at a radius that was asked about.
fn as_fitted(found: &Evaluation, question: usize, cost: usize, radius: f64) -> f64 {
    let radii = &found.question.context.radii;
    let at = cost * radii.len() + radii.iter().position(|r| *r == radius).unwrap_or(0);
    match question.checked_sub(found.policies.len()) {
        None => found.policies[question].results[at].value,
        Some(pair) => found.comparisons[pair].results[at].worst,
    }
}

fn fill(
    question: &Question,
    asked: &Halving,
    anchors: &[f64],
    brackets: &[Bracket],
    clusters: Option<usize>,
    found: &mut Evaluation,
) {
    let (count, radii) = (found.policies.len() + found.comparisons.len(), &question.context.radii);
    let direction = found.direction;
    let smoothed = question.context.set.is_smoothed() || question.cost.set.is_smoothed();
    let (low, high) = found.diagnostics.outcome_range;
    // The population of the data, or of the target, is in every such set: some population there costs at
    // least what the estimate's own lower limit says.
    let unshifted = |limits: Limits, estimate: Estimate, value: f64| {
        let plain = estimate.at_level(asked.level, clusters);
        if !question.context.set.contains_nominal() || plain.lower.is_nan() || plain.upper.is_nan()
        {
            return limits;
        }
        match direction {
            Direction::Cost => Limits { lower: limits.lower.max(plain.lower.min(value)), ..limits },
            Direction::Reward => {
                Limits { upper: limits.upper.min(plain.upper.max(value)), ..limits }
            }
        }
    };
    // The value as fitted at the radii that were solved, to read the others off.
    let of = |number: usize, values: &[f64], at: usize| -> (SplitNoise, Limits, Option<(f64, f64)>) {
        let (cost, place) = (at / radii.len(), at % radii.len());
        let row = &brackets[(cost * count + number) * anchors.len()..][..anchors.len()];
        let value = values[at];
        let bracket = match anchors == radii.as_slice() {
            true => row[place],
            false => {
                let own = |radius: f64| {
                    let same = radii.iter().position(|r| *r == radius).unwrap_or(0);
                    values[cost * radii.len() + same]
                };
                between(row, anchors, radii[place], value, own)
            }
        };
        // What is left over is counted from the value as it was solved.
        let ends = (value, value + bracket.rise);
        (
            bracket.halved,
            bracket.halved.limits(ends, direction, asked.level, clusters),
            bracket.cover,
        )
    };
    for (k, policy) in found.policies.iter_mut().enumerate() {
        // On the safe side: a smoothed value alone is no bound.
        let safe = |r: &RobustValue| match direction {
            Direction::Cost => r.exact_upper.unwrap_or(r.value),
            Direction::Reward => r.exact_lower.unwrap_or(r.value),
        };
        let values: Vec<f64> = policy.results.iter().map(safe).collect();
        let estimate = policy.estimate();
        for (at, result) in policy.results.iter_mut().enumerate() {
            let (halved, limits, cover) = of(k, &values, at);
            let limits = unshifted(within(limits, (low, high), values[at]), estimate, values[at]);
            result.honest = Some(Honest { value: halved.honest, se: halved.honest_se });
            result.doubly_robust = cover.map(|cover| doubled(&halved, cover));
            result.fitted_se = Some(halved.fitted_se);
            result.limits = known(&halved, limits);
        }
        for (row, values) in policy.results.chunks_mut(radii.len()).zip(values.chunks(radii.len()))
        {
            let each = row.iter_mut().zip(values).map(|(r, v)| (r.radius, *v, &mut r.limits));
            nested(each.collect(), direction);
        }
    }
    let first = found.policies.len();
    for (k, c) in found.comparisons.iter_mut().enumerate() {
        // Likewise: the bound on the bad side counts what a smoothed set leaves open.
        let safe = |r: &DifferenceValue| match (smoothed, direction) {
            (false, _) => r.worst,
            (true, Direction::Cost) => r.upper,
            (true, Direction::Reward) => r.lower,
        };
        let values: Vec<f64> = c.results.iter().map(safe).collect();
        let estimate = c.estimate();
        for (at, result) in c.results.iter_mut().enumerate() {
            let (halved, limits, cover) = of(first + k, &values, at);
            let limits = within(limits, (low - high, high - low), values[at]);
            let limits = unshifted(limits, estimate, values[at]);
            result.honest = Some(Honest { value: halved.honest, se: halved.honest_se });
            result.doubly_robust = cover.map(|cover| doubled(&halved, cover));
            result.limits = known(&halved, limits);
        }
        for (row, values) in c.results.chunks_mut(radii.len()).zip(values.chunks(radii.len())) {
            let each = row.iter_mut().zip(values).map(|(r, v)| (r.radius, *v, &mut r.limits));
            nested(each.collect(), direction);
        }
    }
    // The best difference to another is the worst one of the other, turned round.
    let turned: Vec<Vec<(Option<Honest>, Option<Limits>)>> = found
        .comparisons
        .iter()
        .map(|c| {
            let other =
                found.comparisons.iter().find(|o| o.policy == c.against && o.against == c.policy);
            let results = other.map_or(&[][..], |o| &o.results);
            results.iter().map(|r| (r.honest.map(Honest::turned), r.limits.map(flipped))).collect()
        })
        .collect();
    for (c, turned) in found.comparisons.iter_mut().zip(turned) {
        for (result, (honest, limits)) in c.results.iter_mut().zip(turned) {
            (result.best_honest, result.best_limits) = (honest, limits);
        }
    }
}

/// Limits within the range that means can have; a value beyond it, of a model that goes there, stays
/// within its limits.
fn within(limits: Limits, (low, high): (f64, f64), value: f64) -> Limits {
    let (low, high) = (low.min(value), high.max(value));
    let (lower, upper) = (limits.lower.clamp(low, high), limits.upper.clamp(low, high));
    Limits { lower, upper, ..limits }
}

/// Limits, unless the rows have no spread to tell them by.
fn known(halved: &SplitNoise, limits: Limits) -> Option<Limits> {
    (halved.fitted_se > 0.0 || halved.honest_se > 0.0).then_some(limits)
}

/// Larger sets hold smaller ones: what some population within a radius costs, one within any larger
/// radius does, and what none within a radius costs is no less for a larger one. Each is a radius, the
/// value there and its limits.
fn nested(mut all: Vec<(f64, f64, &mut Option<Limits>)>, direction: Direction) {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sign = direction.sign();
    let mut least = f64::NEG_INFINITY;
    let mut most = f64::NEG_INFINITY;
    for (_, value, limits) in all {
        let Some(limits) = limits else { continue };
        let (good, bad) = match direction {
            Direction::Cost => (&mut limits.lower, &mut limits.upper),
            Direction::Reward => (&mut limits.upper, &mut limits.lower),
        };
        least = least.max(sign * *good);
        most = most.max(sign * *bad);
        // A value is never outside its limits.
        (*good, *bad) = (sign * least.min(sign * value), sign * most);
    }
}

fn doubled(halved: &SplitNoise, (covered, effective_rows): (f64, f64)) -> Doubled {
    let (value, se) = halved.corrected;
    Doubled { value, se, covered, effective_rows }
}

fn flipped(limits: Limits) -> Limits {
    Limits { lower: -limits.upper, upper: -limits.lower, ..limits }
}

/// The bracket between two radii that were solved: how far the honest value is
/// from the value as fitted there, on a straight line.
fn between(
    row: &[Bracket],
    anchors: &[f64],
    radius: f64,
    value: f64,
    own: impl Fn(f64) -> f64,
) -> Bracket {
    let above = anchors.partition_point(|a| *a < radius).min(anchors.len() - 1);
    let below = above.saturating_sub(1);
    let (low, high) = (anchors[below], anchors[above]);
    let share = if high > low { ((radius - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
    let mix = |of: &dyn Fn(&Bracket, f64) -> f64| {
        (1.0 - share) * of(&row[below], own(low)) + share * of(&row[above], own(high))
    };
    let halved = SplitNoise {
        honest: value - mix(&|b, own| own - b.halved.honest),
        honest_se: mix(&|b, _| b.halved.honest_se),
        fitted_se: mix(&|b, _| b.halved.fitted_se),
        ..row[above].halved
    };
    Bracket { halved, rise: mix(&|b, _| b.rise), cover: None }
}

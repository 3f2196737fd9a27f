//! A policy learned from what was fitted: which learner answers which question.

use super::{AgainstResult, Method, Plan, Question, Spec, spec};
use crate::prepare::PreparedStudy;
use crate::study::{PolicySpec, Study};
use seawall::evaluate::{Evaluator, Robust, Support, ValueRange};
use seawall::learn::{
    self, Bounds, Bsgd, Budget, Class, Descent, Groups, JointTask, Learned, LearnedAnywhere,
    Schedule, State, Task, Trees, WholeTask,
};
use seawall::outcome::{Predictor, Values};
use seawall::policy::{Partition, Policy};
use seawall::transfer::BalanceSummary;
use seawall::{
    Detail, Direction, Error, Field, Log, Result, Settings, Shift, Wasserstein, Watch, WorstCase,
};
use seawall_table::read::named;

/// A difference to a baseline below this share of the largest value is rounding.
const ROUNDING: f64 = 1e-12;
/// Rounds of learning where mass may go anywhere: groups are quick, and a round of trees is a game.
const GROUP_ROUNDS: usize = 60;
const STUMP_ROUNDS: usize = 8;
const TREE_ROUNDS: usize = 3;

/// A learned policy and what it was learned from.
pub(super) struct Found {
    pub(super) learned: Learned,
    pub(super) floor: Bounds,
    /// Its mean if nothing shifts, by the outcome model.
    pub(super) nominal: f64,
    pub(super) descent: Option<(Descent, Schedule)>,
    /// Bounds of the exact worst case, where something is smoothed.
    pub(super) exact: Option<Bounds>,
    /// Whether the support was drawn from, being too large to list.
    pub(super) sampled: bool,
    /// What it was learned against.
    pub(super) against: Option<AgainstResult>,
    /// How the log was made what is known of the target.
    pub(super) balance: Option<BalanceSummary>,
}

impl Found {
    /// Learns from what was fitted, to the study's log or a part of it.
    pub(super) fn new(
        prepared: &PreparedStudy,
        fitted: &Evaluator,
        question: &Question,
        state: Option<State>,
        watch: Watch<'_>,
    ) -> Result<Self> {
        check_combination(question)?;
        if question.context.set.needs_actions() {
            return Found::of_people(prepared, fitted, question, watch);
        }
        let settings = Settings { watch, ..Settings::default() };
        let log = fitted.log();
        let of_costs = |e: Error| e.about_field(Field::CostRadius);
        let reference = prepared.reference(log)?;
        let robust = reference.robust_of(fitted, question.support, question.within())?;
        let range =
            fitted.value_range_on(robust.points(), question.cost, settings).map_err(of_costs)?;
        let values = range.worst.clone();
        let baseline = baseline(prepared, question, &values, watch)?;
        let (learned, floor, descent, sampled) = match question.support {
            Support::Space => {
                let (robust, against) = (&*robust, baseline.as_ref());
                let (range, within) = (&range, question.context);
                let task = WholeTask { log, robust, range, within, against };
                let found = anywhere(&prepared.study, question, &task, settings)?;
                (found.learned, found.floor, None, false)
            }
            _ => {
                let task = match &baseline {
                    None => Task::new(log, &robust, &values, question.context)?,
                    Some(policy) => Task::against(log, &robust, &range, question.context, policy)?,
                };
                let floor = task.floor(settings)?;
                let (learned, descent, sampled) =
                    listed(prepared, (fitted, &values), question, &task, state, settings)?;
                (learned, floor, descent, sampled)
            }
        };
        let pair = (learned.policy(), baseline.as_ref());
        let exact = match exact_bounds(&robust, question, pair, &range, watch) {
            Err(error) if error.is_stopped() => None,
            bounds => bounds?,
        };
        let plain = fitted.value_range_on(robust.points(), Wasserstein.at(0.0), settings)?;
        let mean = |other: Option<&Policy>| -> Result<f64> {
            let values = match other {
                None => robust.values(learned.policy(), &plain.worst)?,
                Some(other) => robust.difference(learned.policy(), other, &plain)?,
            };
            robust.population().mean(&values)
        };
        let nominal = mean(None)?;
        let mut against = None;
        if let Some(policy) = &baseline {
            let smoothed = question.context.set.is_smoothed();
            let own = Bounds { lower: learned.lower(), upper: learned.upper() };
            let bounds = exact.or((!smoothed).then_some(own));
            let worst = bounds.map(|b| match log.direction() {
                Direction::Cost => b.upper,
                Direction::Reward => -b.lower,
            });
            // To the last digits: a policy that is the baseline has a difference of rounding alone.
            let no_worse = worst.is_some_and(|worst| worst <= ROUNDING * largest(&values));
            let (name, nominal_difference) = (policy.name().to_owned(), mean(Some(policy))?);
            against = Some(AgainstResult { policy: name, no_worse, nominal_difference });
        }
        let balance = reference.summary();
        Ok(Found { learned, floor, nominal, descent, exact, sampled, against, balance })
    }
}

impl Found {
    /// Learns under a set that is about people with their outcomes.
    fn of_people(
        prepared: &PreparedStudy,
        fitted: &Evaluator,
        question: &Question,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let (set, settings) = (question.context.set, Settings { watch, ..Settings::default() });
        let refused =
            |field, what: &str| Err(Error::field(field, format!("under {}: {what}", set.name())));
        if question.against.is_some() {
            return refused(
                Field::Against,
                "one person's outcomes under two policies are not known",
            );
        }
        if question.cost.radius > 0.0 || question.cost.set.is_smoothed() {
            return refused(Field::CostRadius, "outcomes shift with people already; expected 0");
        }
        let reference = prepared.reference(fitted.log())?;
        if reference.population().is_some() {
            return refused(Field::Set, "it starts from the log's own people, not from a target");
        }
        let robust = reference.robust_of(fitted, question.support, question.within())?;
        let task = JointTask::new(fitted, &robust, question.context)?;
        let learned = match (&question.policy, question.method) {
            (Spec::Greedy, Method::Auto | Method::Exact) => task.greedy(settings)?,
            (Spec::Groups(text), Method::Auto | Method::Exact) => {
                task.groups(&groups(text, question, (fitted.log(), &prepared.study))?, settings)?
            }
            (Spec::Tree(depth), Method::Auto | Method::Exact) => {
                task.trees(trees(*depth, question), settings)?
            }
            (Spec::Softmax, Method::Auto | Method::Gradient) => {
                task.softmax(question.gradient, settings)?
            }
            (_, Method::Bsgd) => return refused(Field::Method, "bsgd takes no steps there"),
            _ => {
                let what = "greedy, groups and trees are learned exactly, softmax by gradients";
                return refused(Field::Policy, what);
            }
        };
        let floor = task.floor(settings)?;
        let nominal = fitted.nominal(learned.policy(), watch)?.snips;
        let nominal = nominal.map_or(f64::NAN, |e| e.value);
        let (descent, exact, against, balance) = (None, None, None, None);
        Ok(Found { learned, floor, nominal, descent, exact, sampled: false, against, balance })
    }
}

/// What was learned where mass may go anywhere.
fn anywhere(
    study: &Study,
    question: &Question,
    task: &WholeTask<'_>,
    settings: Settings<'_>,
) -> Result<LearnedAnywhere> {
    match (&question.policy, question.method) {
        (Spec::Greedy, _) => task.greedy(settings),
        (Spec::Groups(text), Method::Auto | Method::Exact) => {
            let asked = groups(text, question, (task.log, study))?;
            let learner = |task: &Task<'_>| learn::groups(task, &asked, settings);
            task.learn(&learner, (asked.tolerance, GROUP_ROUNDS), settings)
        }
        (Spec::Tree(depth), Method::Auto | Method::Exact) => {
            let asked = trees(*depth, question);
            let learner = |task: &Task<'_>| learn::trees(task, asked, settings);
            let rounds = if *depth == 1 { STUMP_ROUNDS } else { TREE_ROUNDS };
            task.learn(&learner, (asked.tolerance, rounds), settings)
        }
        _ => {
            let what =
                "is the whole space, where groups, trees and the greedy policy can be learned";
            Err(Error::field(Field::Support, what).advise(Field::Support, &["grid", "observed"]))
        }
    }
}

/// Groups as they are asked for.
fn groups(text: &str, question: &Question, (log, study): (&Log, &Study)) -> Result<Groups> {
    limits(question, spec::groups(text, log.contexts(), study)?, log)
}

/// Trees as they are asked for.
fn trees(depth: usize, question: &Question) -> Trees {
    let asked = Trees { least_share: question.limits.least_share, ..Trees::new(depth) };
    let tolerance = question.limits.tolerance.unwrap_or(asked.tolerance);
    Trees { tolerance, ..asked }
}

/// What was learned on a support that is listed, the descent if there was one, and whether its places
/// were drawn.
type OnList = (Learned, Option<(Descent, Schedule)>, bool);

/// Learns on a support that is listed.
fn listed(
    prepared: &PreparedStudy,
    (fitted, values): (&Evaluator, &Values),
    question: &Question,
    task: &Task<'_>,
    state: Option<State>,
    settings: Settings<'_>,
) -> Result<OnList> {
    let (log, watch) = (fitted.log(), settings.watch);
    let learned = match (&question.policy, question.method) {
        (Spec::Greedy, _) => learn::greedy(task, settings)?,
        (Spec::Groups(text), Method::Auto | Method::Exact) => {
            learn::groups(task, &groups(text, question, (log, &prepared.study))?, settings)?
        }
        (Spec::Tree(depth), Method::Auto | Method::Exact) => {
            learn::trees(task, trees(*depth, question), settings)?
        }
        (Spec::Softmax, Method::Auto | Method::Gradient) => {
            learn::softmax(task, question.gradient, settings)?
        }
        (policy, _) => {
            let (class, convex) = match policy {
                Spec::Given(spec) => (Class::Fixed(prepared.policy(spec, values, watch)?), true),
                Spec::Groups(text) => {
                    (Class::Groups(spec::groups(text, log.contexts(), &prepared.study)?), true)
                }
                _ => (Class::Softmax(question.gradient.temperature), false),
            };
            let schedule = match question.schedule {
                Plan::Accuracy(delta, contexts) => {
                    Schedule { contexts, ..Schedule::for_accuracy(delta, convex)? }
                }
                Plan::Steps(schedule) => schedule,
            };
            let asked = Bsgd {
                class,
                schedule,
                eta: question.gradient.sharpness / largest(values),
                seeds: question.seeds,
                seed: question.gradient.seed,
                traced: 200,
            };
            // Too many combinations to list: they are drawn instead.
            let listed = matches!(log.contexts().layout(), seawall::Layout::Grid(_));
            let product = match question.support {
                Support::All if !listed => {
                    Some(Predictor::new(log, fitted.model(), question.cost, settings)?)
                }
                _ => None,
            };
            let sampled = product.is_some();
            let found = learn::bsgd(task, &asked, product.as_ref(), state, settings)?;
            let learned = found.learned.clone();
            return Ok((learned, Some((found, schedule)), sampled));
        }
    };
    Ok((learned, None, false))
}

/// The policy that is learned against.
pub(super) fn baseline(
    prepared: &PreparedStudy,
    question: &Question,
    values: &Values,
    watch: Watch<'_>,
) -> Result<Option<Policy>> {
    let Some(spec) = &question.against else { return Ok(None) };
    let policy = prepared.policy(spec, values, watch).map_err(|e| match spec {
        PolicySpec::Constant(_) => Error::field(Field::Against, format!("cannot be used: {e}")),
        _ => e,
    });
    policy.map(Some)
}

/// Bounds of a policy's exact worst case, or difference to a baseline, where contexts or costs are
/// smoothed.
fn exact_bounds(
    robust: &Robust,
    question: &Question,
    (policy, baseline): (&Policy, Option<&Policy>),
    range: &ValueRange,
    watch: Watch<'_>,
) -> Result<Option<Bounds>> {
    let smoothing = match baseline {
        None => range.worst.smoothing(),
        Some(_) => range.smoothing(),
    };
    if !question.context.set.is_smoothed() && smoothing == 0.0 {
        return Ok(None);
    }
    let settings = Settings::default().detail(Detail::Value).watched(watch);
    let worst = worst_of(robust, question.context.exact(), policy, baseline, range, settings)?;
    let safe_side = robust.direction().sign() * smoothing;
    Ok(Some(Bounds {
        lower: worst.lower() + safe_side.min(0.0),
        upper: worst.upper() + safe_side.max(0.0),
    }))
}

/// A policy's worst case, or the worst difference to a baseline.
pub(super) fn worst_of(
    robust: &Robust,
    within: Shift,
    policy: &Policy,
    baseline: Option<&Policy>,
    range: &ValueRange,
    settings: Settings<'_>,
) -> Result<WorstCase> {
    let Some(baseline) = baseline else {
        return robust.worst_case(policy, &range.worst, within, settings);
    };
    let radii = [within.radius];
    let pair = (policy, baseline);
    let (mut all, _) = robust.worst_difference(pair, range, within.set, &radii, None, settings)?;
    all.pop().ok_or_else(|| Error::internal("one radius was asked for and none answered"))
}

/// The largest value in size.
fn largest(values: &Values) -> f64 {
    values.matrix().cells().iter().fold(1e-300, |size: f64, v| size.max(v.abs()))
}

/// Refuses combinations that make no sense.
fn check_combination(question: &Question) -> Result<()> {
    let bad = |field, what: &str| Err(Error::field(field, what));
    let smooth = question.policy == Spec::Softmax || question.method == Method::Bsgd;
    if question.context.set.needs_known() && (smooth || question.support == Support::Space) {
        let what = format!(
            "is {}, under which greedy, groups and trees are learned, exactly and on a support that is \
             listed; expected another one for softmax, stochastic gradients or the whole space",
            question.context.set.name()
        );
        return Err(Error::field(Field::Set, what));
    }
    match (&question.policy, question.method) {
        (Spec::Softmax, Method::Exact) => Err(Error::field(
            Field::Policy,
            "softmax has no exact method: its worst case is not convex",
        )
        .advise(Field::Method, &["gradient", "bsgd"])),
        (Spec::Groups(_) | Spec::Greedy | Spec::Tree(_), Method::Gradient) => bad(
            Field::Method,
            "gradient is for softmax; greedy, groups and trees are solved exactly",
        ),
        (Spec::Given(_), Method::Auto | Method::Exact | Method::Gradient) => Err(Error::field(
            Field::Policy,
            "is a given one, which has nothing to learn: evaluate it, or see its dual variable \
             converge",
        )
        .advise(Field::Method, &["bsgd"])),
        (Spec::Greedy | Spec::Tree(_), Method::Bsgd) => {
            bad(Field::Method, "bsgd is for groups and softmax")
        }
        (policy, method) => {
            let limits = &question.limits;
            let given = [
                (Field::AtLeast, limits.least.is_empty()),
                (Field::AtMost, limits.most.is_empty()),
                (Field::Budget, limits.budgets.is_empty()),
                (Field::WorstBudget, limits.worst_budgets.is_empty()),
            ];
            let exact = method != Method::Bsgd && matches!(policy, Spec::Groups(_));
            match given.iter().find(|(_, empty)| !empty && !exact) {
                Some((field, _)) => bad(*field, "is for groups, solved exactly"),
                None if limits.least_share > 0.0 && !matches!(policy, Spec::Tree(_)) => {
                    bad(Field::LeastShare, "of a leaf is for trees")
                }
                None => Ok(()),
            }
        }
    }
}

/// The action that a name means: `1` finds `1.0`.
fn action(log: &Log, name: &str) -> Result<usize> {
    log.action(named(log.actions(), name).map_or(name, String::as_str))
}

fn limits(question: &Question, by: Vec<Partition>, log: &Log) -> Result<Groups> {
    let bounds = |given: &[(String, f64)], usual: f64| -> Result<Vec<f64>> {
        if given.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = vec![usual; log.actions().len()];
        for (name, bound) in given {
            all[action(log, name)?] = *bound;
        }
        Ok(all)
    };
    let mut asked = Groups::new(by);
    asked.tolerance = question.limits.tolerance.unwrap_or(asked.tolerance);
    asked.least = bounds(&question.limits.least, 0.0)?;
    asked.most = bounds(&question.limits.most, 1.0)?;
    for (given, worst_case) in
        [(&question.limits.budgets, false), (&question.limits.worst_budgets, true)]
    {
        for (name, most) in given {
            asked.budgets.push(Budget { action: action(log, name)?, most: *most, worst_case });
        }
    }
    Ok(asked)
}

//! Learning a policy from a study: from the question to a policy file and what is known of it.

mod spec;

pub use spec::Spec;

use crate::bound::Set;
use crate::load::Loaded;
use seawall::evaluate::{Estimator, Robust, Support};
use seawall::learn::{
    Bsgd, Budget, Class, Descent, Gradient, Groups, Learned, Schedule, State, Task, Trees, bsgd,
    groups, softmax, trees,
};
use seawall::outcome::{Predictor, Values};
use seawall::policy::file::PolicyFile;
use seawall::policy::{Partition, Policy, Rule};
use seawall::{Ambiguity, Detail, Error, Log, Result, Settings, Status, Watch, WorstCase};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Instant;

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exactly where that is possible, else by gradients.
    Auto,
    /// Cutting planes, or the game of trees.
    Exact,
    /// Exact gradients.
    Gradient,
    /// Stochastic gradients.
    Bsgd,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which kind of policy.
    pub policy: Spec,
    /// How.
    pub method: Method,
    /// The set of contexts and its radius.
    pub context: (Set, f64),
    /// The set of outcomes and its radius.
    pub cost: (Set, f64),
    /// Which contexts mass may move to.
    pub support: Support,
    /// Limits on the policy, and when to stop.
    pub limits: Limits,
    /// Gradients' settings.
    pub gradient: Gradient,
    /// The stochastic schedule.
    pub schedule: Plan,
    /// Independent stochastic runs.
    pub seeds: usize,
    /// Whether to value the policy on rows that did not choose it, too.
    pub honest: bool,
}

impl Question {
    /// What the study file asks, at its first radii, by the usual settings.
    pub fn of(loaded: &Loaded, policy: Spec) -> Self {
        let study = &loaded.study;
        let first = |radii: &[f64]| radii.first().copied().unwrap_or(0.0);
        Question {
            policy,
            method: Method::Auto,
            context: (study.context_set.set, first(&study.context_set.radii)),
            cost: (study.cost_set.set, first(&study.cost_set.radii)),
            support: study.support,
            limits: Limits::default(),
            gradient: Gradient::default(),
            schedule: Plan::Accuracy(ACCURACY, CONTEXTS),
            seeds: 1,
            honest: false,
        }
    }
}

/// The accuracy of a stochastic schedule where nobody says otherwise.
pub const ACCURACY: f64 = 0.05;
/// Contexts drawn in a stochastic step where nobody says otherwise.
pub const CONTEXTS: usize = 1;

/// Limits on a policy, and when to stop.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The least probability of actions in every group.
    pub least: Vec<(String, f64)>,
    /// The largest probability of actions in every group.
    pub most: Vec<(String, f64)>,
    /// Limits on the overall share of actions, nominally.
    pub budgets: Vec<(String, f64)>,
    /// Limits on the overall share of actions, in the worst case.
    pub worst_budgets: Vec<(String, f64)>,
    /// The nominal share of every leaf of a tree, at least.
    pub least_share: f64,
    /// The gap, relative to the largest cost, at which exact methods stop.
    pub tolerance: Option<f64>,
}

/// How long to descend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// By the theorem, for an accuracy, with so many contexts a step.
    Accuracy(f64, usize),
    /// By hand.
    Steps(Schedule),
}

/// What came of it, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The policy's name.
    pub policy: String,
    /// How it was found.
    pub method: &'static str,
    /// The set of contexts.
    pub set: &'static str,
    /// Its radius.
    pub radius: f64,
    /// The set of outcomes.
    pub cost_set: &'static str,
    /// Its radius.
    pub cost_radius: f64,
    /// Which contexts mass may move to: `grid`, `observed`, or `sampled` where they are too many
    /// to list; the value is then over those observed.
    pub support: &'static str,
    /// Whether lower or higher is better.
    pub direction: &'static str,
    /// The policy's worst case.
    pub value: f64,
    /// See [`Learned::lower`].
    pub lower: f64,
    /// See [`Learned::upper`].
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How it ended.
    pub status: String,
    /// With an entropic set of contexts: bounds of the policy's exact worst case, for the smoothed
    /// value alone is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_lower: Option<f64>,
    /// See [`exact_lower`](Self::exact_lower).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_upper: Option<f64>,
    /// Steps taken.
    pub iterations: usize,
    /// The greedy policy's worst case, which no policy beats.
    pub greedy_floor: f64,
    /// The policy's mean if nothing shifts, by the outcome model.
    pub nominal_value: f64,
    /// What the policy does.
    pub parameters: Value,
    /// How long it took.
    pub seconds: f64,
    /// For trees: the best mixture of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixture: Option<MixtureAnswer>,
    /// For stochastic runs: λ, and the mean and spread of the runs' own worst cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsAnswer>,
    /// The value on rows that did not choose the policy, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honest: Option<HonestAnswer>,
    /// The policy itself.
    #[serde(skip)]
    pub file: PolicyFile,
    /// The policy in words.
    #[serde(skip)]
    pub words: Vec<String>,
    /// Where stochastic runs stand.
    #[serde(skip)]
    pub state: Option<State>,
    /// Names of the parameters of stochastic runs.
    #[serde(skip)]
    pub names: Vec<String>,
}

/// A mixture of trees.
#[derive(Clone, Debug, Serialize)]
pub struct MixtureAnswer {
    /// Its worst case.
    pub value: f64,
    /// See [`Learned::lower`].
    pub lower: f64,
    /// See [`Learned::upper`].
    pub upper: f64,
    /// The shares and rules of its trees.
    pub parts: Vec<Value>,
}

/// Stochastic runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunsAnswer {
    /// How many.
    pub count: usize,
    /// λ averaged over steps and runs.
    pub lambda: f64,
    /// The mean of the runs' own worst cases.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The schedule.
    pub schedule: Schedule,
}

/// Values on rows that did not choose the policy: learned on one half, valued on the other, both
/// ways.
#[derive(Clone, Debug, Serialize)]
pub struct HonestAnswer {
    /// The mean of the two halves' worst cases.
    pub value: f64,
    /// The mean of the two halves' doubly robust estimates.
    pub nominal_value: f64,
    /// Each half's worst case.
    pub halves: Vec<f64>,
}

/// Learns what is asked. `watch` may stop it; `state` goes on from where stochastic runs stopped.
pub fn learn(
    loaded: &Loaded,
    question: &Question,
    state: Option<State>,
    watch: Option<Watch<'_>>,
) -> Result<Answer> {
    let start = Instant::now();
    let log = loaded.log();
    let settings = Settings::default();
    let found = Found::new(loaded, log, question, state, watch, &settings)?;
    let honest =
        if question.honest { Some(honest(loaded, question, watch, &settings)?) } else { None };
    let learned = &found.learned;
    let population = log.population()?;
    let plain = question.context.0.at(question.context.1);
    let costs = question.cost.0.at(question.cost.1);
    let mut file = PolicyFile::new(&learned.policy, log.contexts(), log.actions())?;
    file.name = question.policy.text();
    Ok(Answer {
        policy: file.name.clone(),
        method: learned.method,
        set: plain.name(),
        radius: plain.radius(),
        cost_set: costs.name(),
        cost_radius: costs.radius(),
        support: match (question.support, found.sampled) {
            (_, true) => "sampled",
            (Support::All, _) => "grid",
            (Support::Observed, _) => "observed",
        },
        direction: log.direction().words(),
        value: learned.value,
        lower: learned.lower,
        upper: learned.upper,
        gap: learned.gap(),
        status: learned.status.to_string(),
        exact_lower: found.exact.map(|e| e.0),
        exact_upper: found.exact.map(|e| e.1),
        iterations: learned.iterations,
        greedy_floor: found.floor,
        nominal_value: population.mean(&learned.policy.values(&found.values)),
        parameters: parameters(learned.policy.rule(), log.actions()),
        seconds: start.elapsed().as_secs_f64(),
        mixture: learned.mixture.as_ref().map(|m| MixtureAnswer {
            value: m.value,
            lower: m.lower,
            upper: m.upper,
            parts: m
                .parts
                .iter()
                .map(|(share, p)| json!({"share": share, "parameters": parameters(p.rule(), log.actions())}))
                .collect(),
        }),
        runs: found.descent.as_ref().map(|(descent, schedule)| runs(descent, *schedule)),
        honest,
        file,
        words: learned.policy.rule().words(log.actions(), &|name| {
            let values = |k: usize| log.contexts().level_values(k);
            let missing = |k| values(k).any(|v| v == seawall::Value::Missing);
            log.contexts().feature(name).is_ok_and(missing)
        }),
        names: names(learned.policy.rule(), log.actions()),
        state: found.descent.map(|(descent, _)| descent.state),
    })
}

/// A learned policy and what it was learned from.
struct Found {
    learned: Learned,
    floor: f64,
    values: Values,
    descent: Option<(Descent, Schedule)>,
    /// Bounds of the exact worst case, where something is smoothed.
    exact: Option<(f64, f64)>,
    /// Whether the support was drawn from, being too large to list.
    sampled: bool,
}

impl Found {
    /// Learns from a log, which may be a part of the study's.
    fn new(
        loaded: &Loaded,
        log: &Log,
        question: &Question,
        state: Option<State>,
        watch: Option<Watch<'_>>,
        settings: &Settings<'_>,
    ) -> Result<Self> {
        let model = loaded.recipe.fit(log)?;
        let costs = question.cost.0.at(question.cost.1);
        let values = model.values(log, costs, loaded.study.unseen, settings)?;
        let robust = Robust::new(log, question.support)?;
        let set = question.context.0.at(question.context.1);
        let task = Task::new(log, &robust, &values, set);
        let floor = task.floor(settings)?;
        check(question)?;
        let (mut descent, mut sampled) = (None, false);
        let learned = match (&question.policy, question.method) {
            (Spec::Greedy, _) => greedy(log, &values, floor),
            (Spec::Groups(text), Method::Auto | Method::Exact) => {
                let by = spec::groups(text, log.contexts(), &loaded.study)?;
                groups(&task, &limits(question, by, log)?, watch, settings)?
            }
            (Spec::Tree(depth), Method::Auto | Method::Exact) => {
                let mut asked =
                    Trees { least_share: question.limits.least_share, ..Trees::new(*depth) };
                asked.tolerance = question.limits.tolerance.unwrap_or(asked.tolerance);
                trees(&task, asked, watch, settings)?
            }
            (Spec::Softmax, Method::Auto | Method::Gradient) => {
                softmax(&task, question.gradient, watch, settings)?
            }
            (policy, Method::Bsgd) => {
                let (class, convex) = match policy {
                    Spec::Given(spec) => (Class::Fixed(loaded.policy(spec, &values)?), true),
                    Spec::Groups(text) => {
                        (Class::Groups(spec::groups(text, log.contexts(), &loaded.study)?), true)
                    }
                    _ => (Class::Softmax(question.gradient.temperature), false),
                };
                let schedule = match question.schedule {
                    Plan::Accuracy(delta, contexts) => {
                        Schedule { contexts, ..Schedule::for_accuracy(delta, convex)? }
                    }
                    Plan::Steps(schedule) => schedule,
                };
                let size = values_size(&values);
                let asked = Bsgd {
                    class,
                    schedule,
                    eta: question.gradient.sharpness / size,
                    seeds: question.seeds,
                    seed: question.gradient.seed,
                    traced: 200,
                };
                // Too many combinations to list: they are drawn instead.
                let listed = matches!(log.contexts().support(), seawall::Support::Grid(_));
                let product = match question.support {
                    Support::All if !listed => Some(Predictor::new(log, &model, costs, settings)?),
                    _ => None,
                };
                sampled = product.is_some();
                let found = bsgd(&task, &asked, product.as_ref(), state, watch, settings)?;
                let learned = found.learned.clone();
                descent = Some((found, schedule));
                learned
            }
            _ => return Err(Error::config("this kind of policy cannot be learned by that method")),
        };
        let exact = exact(log, &robust, &learned.policy, &values, set, settings)?;
        Ok(Found { learned, floor, values, descent, exact, sampled })
    }
}

/// Bounds of a policy's exact worst case where contexts or costs are smoothed.
fn exact(
    log: &Log,
    robust: &Robust,
    policy: &Policy,
    values: &Values,
    set: Ambiguity,
    settings: &Settings<'_>,
) -> Result<Option<(f64, f64)>> {
    let smoothed = matches!(set, Ambiguity::Entropic { .. });
    if !smoothed && values.smoothing() == 0.0 {
        return Ok(None);
    }
    let set = if smoothed { Ambiguity::Wasserstein { radius: set.radius() } } else { set };
    let settings = Settings { detail: Detail::Value, ..*settings };
    let (worst, _) = robust.evaluate(policy, values, set, &[set.radius()], None, &settings)?;
    let safe_side = log.direction().sign() * values.smoothing();
    let bounds = |w: &WorstCase| (w.lower + safe_side.min(0.0), w.upper + safe_side.max(0.0));
    Ok(worst.first().map(bounds))
}

fn values_size(values: &Values) -> f64 {
    let all = (0..values.actions()).flat_map(|a| values.action(a));
    all.fold(1e-300, |size: f64, v| size.max(v.abs()))
}

/// Combinations that make no sense.
fn check(question: &Question) -> Result<()> {
    let bad = |words: &str| Err(Error::config(words));
    match (&question.policy, question.method) {
        (Spec::Softmax, Method::Exact) => {
            bad("a softmax policy has no exact method: its worst case is not convex; use --method \
             gradient or bsgd")
        }
        (Spec::Groups(_) | Spec::Greedy | Spec::Tree(_), Method::Gradient) => {
            bad("--method gradient is for softmax; groups and trees are solved exactly")
        }
        (Spec::Given(_), Method::Auto | Method::Exact | Method::Gradient) => bad(
            "a given policy has nothing to learn: use seawall evaluate, or --method bsgd to see its \
             dual variable converge",
        ),
        (Spec::Greedy | Spec::Tree(_), Method::Bsgd) => {
            bad("--method bsgd is for groups and softmax")
        }
        (policy, method) => {
            let limited = !question.limits.least.is_empty()
                || !question.limits.most.is_empty()
                || !question.limits.budgets.is_empty()
                || !question.limits.worst_budgets.is_empty();
            let exact = method != Method::Bsgd && matches!(policy, Spec::Groups(_));
            if limited && !exact {
                return bad("limits on probabilities and shares are for groups, solved exactly");
            }
            if question.limits.least_share > 0.0 && !matches!(policy, Spec::Tree(_)) {
                return bad("the least share of a leaf is for trees");
            }
            Ok(())
        }
    }
}

/// The greedy policy is optimal, whatever the set.
fn greedy(log: &Log, values: &Values, floor: f64) -> Learned {
    Learned {
        policy: Policy::greedy(log, values),
        method: "exact",
        value: floor,
        lower: floor,
        upper: floor,
        status: Status::Optimal,
        iterations: 0,
        mixture: None,
    }
}

fn limits(question: &Question, by: Vec<Partition>, log: &Log) -> Result<Groups> {
    let bounds = |given: &[(String, f64)], usual: f64| -> Result<Vec<f64>> {
        if given.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = vec![usual; log.actions().len()];
        for (name, bound) in given {
            all[log.action(name)?] = *bound;
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
            asked.budgets.push(Budget { action: log.action(name)?, most: *most, worst_case });
        }
    }
    Ok(asked)
}

/// Learned on one half of the rows, valued on the other, both ways.
fn honest(
    loaded: &Loaded,
    question: &Question,
    watch: Option<Watch<'_>>,
    settings: &Settings<'_>,
) -> Result<HonestAnswer> {
    let folds = loaded.log().folds(2)?;
    let (mut halves, mut nominal) = (Vec::new(), 0.0);
    for fold in 0..2 {
        let (rest, own) = (folds.without(fold)?, folds.only(fold)?);
        let policy = Found::new(loaded, &rest, question, None, watch, settings)?.learned.policy;
        let model = loaded.recipe.fit(&own)?;
        let costs = question.cost.0.at(question.cost.1);
        let values = model.values(&own, costs, loaded.study.unseen, settings)?;
        let robust = Robust::new(&own, question.support)?;
        let set = question.context.0.at(question.context.1);
        let (worst, _) = robust.evaluate(&policy, &values, set, &[set.radius()], None, settings)?;
        halves.extend(worst.iter().map(|w| w.value));
        let (unseen, clip) = (loaded.study.unseen, loaded.study.clip);
        let estimator = Estimator::new(&own, &loaded.recipe, &loaded.propensity, clip, unseen, 5)?;
        nominal += 0.5 * estimator.nominal(&policy).dr.value;
    }
    let value = halves.iter().sum::<f64>() / halves.len() as f64;
    Ok(HonestAnswer { value, nominal_value: nominal, halves })
}

fn runs(descent: &Descent, schedule: Schedule) -> RunsAnswer {
    let count = descent.values.len() as f64;
    let mean = descent.values.iter().sum::<f64>() / count;
    let squares: f64 = descent.values.iter().map(|v| (v - mean).powi(2)).sum();
    RunsAnswer {
        count: descent.values.len(),
        lambda: descent.lambda,
        mean,
        sd: (squares / (count - 1.0).max(1.0)).sqrt(),
        schedule,
    }
}

/// What a policy does, for programs.
fn parameters(rule: &Rule, actions: &[String]) -> Value {
    match rule {
        Rule::Groups { by, probabilities } => {
            let group = |(k, row): (usize, &Vec<f64>)| {
                let row: serde_json::Map<String, Value> =
                    actions.iter().cloned().zip(row.iter().map(|p| json!(p))).collect();
                json!({"group": Partition::describe(by, k), "probabilities": row})
            };
            Value::Array(probabilities.iter().enumerate().map(group).collect())
        }
        Rule::Table { rows, .. } => json!({"contexts": rows.len()}),
        rule => serde_json::to_value(rule).unwrap_or(Value::Null),
    }
}

/// Names of the parameters that stochastic runs trace.
fn names(rule: &Rule, actions: &[String]) -> Vec<String> {
    match rule {
        Rule::Groups { by, probabilities } => (0..probabilities.len())
            .flat_map(|k| {
                actions.iter().map(move |a| format!("{a} | {}", Partition::describe(by, k)))
            })
            .collect(),
        Rule::Softmax(softmax) => {
            let of = |action: &String| {
                let mut all = vec![format!("{action}: constant")];
                all.extend(softmax.columns.iter().map(|c| format!("{action}: {}", c.feature)));
                all
            };
            actions.iter().take(actions.len().saturating_sub(1)).flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

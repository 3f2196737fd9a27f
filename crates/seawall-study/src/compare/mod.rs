//! The same policies under several sets of populations, side by side: which sets agree on the decision,
//! and which population each fears.
//!
//! Radii of different sets are in different units, so each set's is chosen to just cover the same thing
//! (math.md 14): the least radius at which the first policy's worst case reaches what it costs in a
//! stated target or a recorded group that was left out, or else the confidence limit of its estimate
//! where nothing shifts; or the least at which the set contains the target's people.
//!
//! Sets are asked what they can do and never which one they are: a further set appears by itself.
//! Outcomes given context do not move here. Everything is as fitted: how much of a worst case is noise
//! is `evaluate`'s to say.

mod agreement;
mod answer;
mod choice;
mod cover;
mod sets;

pub use agreement::alike;
pub use answer::*;

use crate::evaluate::with_unique_name;
use crate::prepare::PreparedStudy;
use crate::reference::{FEW_ROWS, nothing_known, room};
use crate::set_text;
use crate::shift;
use crate::study::{PolicySpec, Scale};
use crate::transfer::listed;
use crate::words::{away, percent, short};
use choice::best;
use cover::{CoverTask, cover_task};
use seawall::distance::distance;
use seawall::evaluate::{Estimate, Evaluator, Robust, Solved, Support, ValueRange};
use seawall::policy::Policy;
use seawall::{
    Curve, Detail, Error, Field, LeastRadius, Population, Progress, Result, Set, Settings, Stage,
    Status, Wasserstein, Watch, WorstCase, least_radius,
};
use std::sync::{Arc, OnceLock};

/// How closely smooth curves are followed, relative to the values.
const CURVE_TOLERANCE: f64 = 1e-9;
/// A difference smaller than this share of the values is none.
const ROUNDING: f64 = 1e-9;
/// Steps of one answer beyond which a set is compared only where it was asked for: some ten answers are
/// wanted of each.
const MOST_STEPS: f64 = 1e9;
/// Mass off the support that is rounding.
const LEFT: f64 = 1e-12;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The policies, the one whose value is covered first; the study's own if there are none.
    pub policies: Vec<PolicySpec>,
    /// The sets as they are written, `sinkhorn:kappa=0.1`; every one that bounds the worst case and needs
    /// nothing but the log if there are none. What a set needs and is not said is its table's example.
    pub sets: Vec<String>,
    /// A recorded group to leave out and cover, in place of the study's target.
    pub group: Option<String>,
    /// Whether radii are to contain the people, and not to reach the value.
    pub containing: bool,
}

/// Compares sets on a study.
pub fn compare(prepared: &PreparedStudy, request: &Request, watch: Watch<'_>) -> Result<Compared> {
    let (sets, mut left_out) = if request.sets.is_empty() {
        sets::usual()?
    } else {
        (sets::asked(&request.sets)?, Vec::new())
    };
    let task = cover_task(&prepared.on_support(prepared.study.data.support)?, request, watch)?;
    let people = task.people()?;
    if request.containing && people.is_none() {
        let instead = "give a sample of the target, or a recorded group to leave out";
        return Err(Error::config(if prepared.known()?.is_some() {
            format!(
                "what is known of a target cannot be contained, means and shares being no people: {instead}"
            )
        } else {
            format!("there is nobody to contain: {instead}")
        }));
    }
    let fitted = task.prepared.fitted(watch)?.clone();
    let ground = Ground::new(&task, &fitted, request, watch)?;
    let (mut covers, mut notes) = ground.covers(people.as_ref(), request.containing)?;
    let geometry = ground.robust.geometry();
    let (slow, sets): (Vec<Set>, Vec<Set>) = sets.into_iter().partition(|set| {
        request.sets.is_empty() && set.work(geometry).is_some_and(|steps| steps > MOST_STEPS)
    });
    left_out.extend(slow.iter().map(|set| LeftOutSet {
        set: set.name().to_owned(),
        why: format!("{} contexts take it long: ask for it by name", ground.robust.points().len()),
    }));
    let contained = people.as_ref().filter(|_| request.containing);
    let (found, refused) = ground.each_set(&sets, &covers, contained, watch)?;
    let smoothed = found.iter().filter(|one| one.set.is_smoothed() && !one.best.is_empty());
    notes.extend(
        smoothed
            .map(|one| format!("{}: its values are smoothed, which alone are no bounds", one.set)),
    );
    // Where every set refuses there is nothing to show beside the first reason.
    if refused.len() == found.len() {
        return Err(refused.into_iter().next().unwrap_or_else(|| Error::internal("no set")));
    }
    covers.told_of_starts(&found);
    if prepared.study.cost_set.radii.iter().any(|r| *r > 0.0) {
        notes.push(
            "outcomes given context do not move here; the study's cost radii are evaluate's"
                .to_owned(),
        );
    }
    let policies: Vec<String> = ground.policies.iter().map(|p| p.name().to_owned()).collect();
    let agreement = Agreement::of(&found, &policies);
    let first = agreement.choices.first();
    let first = first.and_then(|c| policies.iter().position(|p| *p == c.policy));
    Ok(Compared {
        direction: ground.robust.direction(),
        covers,
        on_log: first.map(|k| ground.on_log(k, watch)).transpose()?.flatten(),
        policies,
        agreement,
        sets: found,
        left_out,
        notes,
    })
}

/// What every set starts from.
struct Ground<'a> {
    task: &'a CoverTask,
    fitted: &'a Evaluator,
    /// The best model that keeps outcomes, where the one fitted keeps none: for sets that need them.
    with_outcomes: OnceLock<Arc<Evaluator>>,
    robust: Arc<Robust>,
    range: ValueRange,
    policies: Vec<Policy>,
    /// Which of them was chosen on the rows that value it, if any.
    greedy: Option<usize>,
    /// What the first policy costs where nothing shifts, and the estimate's own noise.
    nominal: f64,
    estimate: Estimate,
    /// Whether too few rows support a confidence statement about each policy.
    thin: Vec<bool>,
    /// And in what is to be covered.
    there: Option<Estimate>,
}

impl<'a> Ground<'a> {
    fn new(
        task: &'a CoverTask,
        fitted: &'a Evaluator,
        request: &Request,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let prepared = &task.prepared;
        let settings = Settings { watch, ..Settings::default() };
        let robust = fitted.robust(prepared.study.data.support)?;
        let range = fitted.value_range_on(robust.points(), Wasserstein.at(0.0), settings)?;
        let specs =
            if request.policies.is_empty() { &prepared.study.policies } else { &request.policies };
        let mut policies: Vec<Policy> = Vec::new();
        for spec in specs {
            let policy =
                prepared.policy(spec, &range.worst, watch).map_err(|e| match spec.plain() {
                    PolicySpec::File(_) => e,
                    _ => e.within(prepared.study.path().display()),
                })?;
            let policy = with_unique_name(policy, |name| policies.iter().any(|p| p.name() == name));
            policies.push(policy);
        }
        let Some(first) = policies.first() else {
            return Err(Error::field(Field::Policy, "is none; expected one or more"));
        };
        let nominal = robust.population().mean(&robust.values(first, &range.worst)?)?;
        let estimate = fitted.nominal(first, watch)?.dm;
        let thin = |policy: &Policy| -> Result<bool> {
            Ok(fitted.nominal(policy, watch)?.overlap.effective_sample_size < FEW_ROWS)
        };
        let thin = policies.iter().map(thin).collect::<Result<_>>()?;
        let there = task.estimate(fitted, first, watch)?;
        let greedy = specs.iter().position(|spec| prepared.study.is_greedy(spec));
        let with_outcomes = OnceLock::new();
        Ok(Ground {
            task,
            fitted,
            with_outcomes,
            robust,
            range,
            policies,
            greedy,
            nominal,
            estimate,
            thin,
            there,
        })
    }

    /// How the study's costs are scaled.
    fn scale(&self) -> Scale {
        self.task.prepared.study.data.scale
    }

    /// Every set, and why those without an answer have none. `people` are those to be contained, if they are.
    fn each_set(
        &self,
        sets: &[Set],
        covers: &Covers,
        people: Option<&Population>,
        watch: Watch<'_>,
    ) -> Result<(Vec<ComparedSet>, Vec<Error>)> {
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for (k, &set) in sets.iter().enumerate() {
            let set = set.resolved(self.robust.geometry()).unwrap_or(set);
            let name = set.to_string();
            let follow = |progress: Progress<'_>| {
                watch.go_on(Progress {
                    stage: Stage::Policy(&name),
                    done: k,
                    of: Some(sets.len()),
                    ..progress
                })
            };
            let watch = Watch::new(&follow);
            watch.tell(Progress::at(Stage::Solving))?;
            match self.compared(set, covers, people, watch) {
                Err(e) if e.is_stopped() || e.is_internal() => return Err(e),
                Err(e) => {
                    found.push(ComparedSet::unanswered(set, self.scale(), e.to_string()));
                    refused.push(e);
                }
                Ok(one) => found.push(one),
            }
        }
        Ok((found, refused))
    }

    /// One set: its radius, and everything at it. `people` are those to be contained, if they are.
    fn compared(
        &self,
        set: Set,
        covers: &Covers,
        people: Option<&Population>,
        watch: Watch<'_>,
    ) -> Result<ComparedSet> {
        let settings = Settings { detail: Detail::Population, watch, ..Settings::default() };
        room(&self.robust, set)?;
        if set.needs_known() {
            // What is known takes the place of a radius.
            return self.at_radius(set, (f64::INFINITY, None), settings);
        }
        let (radius, goal) = match people {
            Some(people) => (self.containing(set, covers, people, watch)?, None),
            None => {
                let goal = self.goal(set, covers, settings)?;
                (self.reaching(set, goal, settings)?, Some(goal))
            }
        };
        match radius {
            Ok(radius) => self.at_radius(set, (radius, goal), settings),
            Err(why) => Ok(ComparedSet::unanswered(set, self.scale(), why)),
        }
    }

    /// The value that the first policy's worst case is to reach under a set.
    fn goal(&self, set: Set, covers: &Covers, settings: Settings<'_>) -> Result<f64> {
        if set.needs_actions() && covers.goal == Goal::Chance {
            // Such a set has an estimate of its own where nothing shifts: chance is counted from there.
            Ok(covers.value + self.start(0, set, settings)? - self.nominal)
        } else {
            Ok(covers.value)
        }
    }

    /// What a policy costs under a set where nothing shifts.
    fn start(&self, policy: usize, set: Set, settings: Settings<'_>) -> Result<f64> {
        let focused = settings.detail(Detail::Value);
        let (cases, _) = self.worst_cases(&self.policies[policy], set, &[0.0], None, focused)?;
        let case = cases.first().ok_or_else(|| Error::internal("one radius was asked for"))?;
        Ok(case.value())
    }

    /// The least radius whose worst case reaches a value; or why there is none.
    fn reaching(
        &self,
        set: Set,
        value: f64,
        settings: Settings<'_>,
    ) -> Result<std::result::Result<f64, String>> {
        let (policy, direction) = (&self.policies[0], self.robust.direction());
        let focused = settings.detail(Detail::Value);
        let own = self.robust.values(policy, &self.range.worst)?;
        let size = own.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let tolerance = if set.has_exact_curve() {
            0.0
        } else {
            (CURVE_TOLERANCE * size).max(f64::MIN_POSITIVE)
        };
        let near = Settings { crossing: Some(value), ..focused };
        let (_, curve) = self.worst_cases(policy, set, &[], Some(tolerance), near)?;
        let curve: Curve = curve.ok_or_else(|| Error::internal("a curve was asked for"))?;
        settings.watch.tell(Progress::at(Stage::Curve))?;
        let solve = |radius: f64| -> Result<WorstCase> {
            let (cases, _) = self.worst_cases(policy, set, &[radius], None, focused)?;
            cases.into_iter().next().ok_or_else(|| Error::internal("one radius was asked for"))
        };
        Ok(match least_radius(&curve, direction, value, &solve)? {
            LeastRadius::At(radius) => Ok(radius),
            LeastRadius::Never(most) => Err(format!(
                "no radius covers {}: however far it goes, the worst is {}",
                short(value),
                short(most)
            )),
        })
    }

    /// The least radius that contains people; or why there is none.
    fn containing(
        &self,
        set: Set,
        covers: &Covers,
        people: &Population,
        watch: Watch<'_>,
    ) -> Result<std::result::Result<f64, String>> {
        let lacking = covers.lacking.unwrap_or(0.0);
        let lacks = || {
            format!(
                "no radius contains them: {} of the people are in contexts that the log lacks",
                percent(lacking)
            )
        };
        let points = self.robust.points();
        let kept: Vec<f64> = points.iter().map(|&i| people.weights()[i]).collect();
        let off = 1.0 - kept.iter().sum::<f64>();
        let anywhere = self.task.prepared.study.data.support == Support::Space && set.moves_mass();
        if off > LEFT && !anywhere {
            return Ok(Err(lacks()));
        }
        if set == Set::from(Wasserstein) {
            let own = self.fitted.log().population()?;
            return match distance(&own, people, watch) {
                Ok(found) => Ok(Ok(found.value)),
                Err(e) if e.is_input() => Ok(Err(format!("no radius contains them: {e}"))),
                Err(e) => Err(e),
            };
        }
        let space = self.robust.population().space().clone();
        let other = Population::from_weights(space, kept)?;
        Ok(match set.containing(self.robust.geometry(), &other)? {
            Some(radius) if radius.is_finite() => Ok(radius),
            Some(_) if lacking > 0.0 && !set.reaches_unseen() => Err(lacks()),
            Some(_) => {
                Err("no radius contains them: the log has people in contexts where the group \
                            or target has none"
                    .to_owned())
            }
            None => {
                Err("the least radius that contains people is not worked out for this set"
                    .to_owned())
            }
        })
    }

    /// Everything at a radius, and whether that is beyond what is to be reached already where it starts.
    fn at_radius(
        &self,
        set: Set,
        (radius, goal): (f64, Option<f64>),
        settings: Settings<'_>,
    ) -> Result<ComparedSet> {
        let mut cases: Vec<WorstCase> = Vec::new();
        for policy in &self.policies {
            let (found, _) = self.worst_cases(policy, set, &[radius], None, settings)?;
            if found.iter().any(|case| case.status() == Status::Stopped) {
                return Err(Error::stopped());
            }
            cases.extend(found);
        }
        let sign = self.robust.direction().sign();
        let best = best(&cases, self.robust.direction());
        let first =
            *best.first().ok_or_else(|| Error::internal("a policy without a worst case"))?;
        let worst = &cases[first];
        let named = self.policies.iter().zip(&cases);
        let no_worse =
            if set.needs_actions() { None } else { self.no_worse(first, set, radius, settings)? };
        let told = match &best[..] {
            [only] => self.on_log(*only, settings.watch)?.map(|one| one.told),
            _ => None,
        };
        let fears = match (shift::widest_change(worst), set_text::of(set).fears) {
            (None, Some(fears)) => {
                let rises = sign * (worst.value() - self.start(first, set, settings)?);
                (rises > ROUNDING * worst.value().abs()).then(|| fears.to_owned())
            }
            (change, _) => change,
        };
        let past = |goal: f64| sign * (cases[0].value() - goal) > ROUNDING * goal.abs();
        Ok(ComparedSet {
            set,
            away: away(set, self.scale()),
            radius,
            covers: goal,
            beyond: radius == 0.0 && goal.is_some_and(past),
            why: radius.is_infinite().then(|| {
                "no radius: every population that meets what is known of the target".to_owned()
            }),
            policies: named.map(|(p, case)| PolicyWorst::new(p.name(), case)).collect(),
            best: best.iter().map(|&k| self.policies[k].name().to_owned()).collect(),
            told,
            no_worse,
            fears,
            unseen: Some(worst.unobserved_mass()).filter(|m| m.is_finite()),
        })
    }

    /// Worst cases of a policy over a set.
    fn worst_cases(
        &self,
        policy: &Policy,
        set: Set,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let (fitted, robust) = (self.fitted_for(set, settings.watch)?, self.robust_for(set)?);
        fitted.worst_cases(&robust, policy, &self.range.worst, set, radii, curve, settings)
    }

    /// What is fitted: for a set that needs outcomes with a model that keeps them, where one was compared.
    fn fitted_for(&self, set: Set, watch: Watch<'_>) -> Result<&Evaluator> {
        if !set.needs_outcomes() {
            return Ok(self.fitted);
        }
        if let Some(fitted) = self.with_outcomes.get() {
            return Ok(fitted);
        }
        let Some(other) = self.task.prepared.with_outcomes() else { return Ok(self.fitted) };
        let fitted = other.fitted(watch)?.clone();
        Ok(self.with_outcomes.get_or_init(|| fitted))
    }

    /// The contexts that a set is around: the log's own; of one that needs something known, with that.
    fn robust_for(&self, set: Set) -> Result<Arc<Robust>> {
        if !set.needs_known() {
            return Ok(self.robust.clone());
        }
        let log = self.fitted.log();
        let Some(known) = self.task.known()? else {
            return Err(nothing_known(set));
        };
        let support = listed(self.task.prepared.study.data.support);
        Ok(Arc::new(Robust::new(log, support)?.knowing(&known)?))
    }
}

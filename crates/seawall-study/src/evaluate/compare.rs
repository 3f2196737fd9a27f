//! Pairs of policies in one population: by how much one could be worse than the other, by how much
//! better, and how far nothing reverses that.

use super::{CURVE_TOLERANCE, FEW_RADII, PolicyResult, Question};
use crate::load::Loaded;
use crate::shift;
use crate::words::{number, short};
use seawall::evaluate::{Estimate, Fitted, NominalDifference, Robust, ValueRange};
use seawall::inference::Interval;
use seawall::policy::Policy;
use seawall::transfer::{Transport, Transported};
use seawall::{
    Curve, Detail, Direction, Error, Population, Progress, Result, Settings, Stage, Status, Watch,
    WorstCase,
};
use serde::Serialize;

/// Steps of evaluations that comparing every pair may take; beyond it the first policy alone is
/// compared with each.
const COMPARING: f64 = 3e10;
/// Fewer effective rows than these say nothing of a target.
pub(super) const FEW_ROWS: f64 = 30.0;
/// Evaluations that a radius takes, about.
const EVALUATIONS: f64 = 12.0;

/// One policy against another, in the same population.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The policy.
    pub policy: String,
    /// The other.
    pub against: String,
    /// By how much its value is above the other's if nothing shifts.
    pub nominal: NominalDifference,
    /// By how much in the target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Transported>,
    /// The largest radius within which it is no worse than the other in every population, at the
    /// first cost radius.
    pub certain_radius: CertainRadius,
    /// The same at every cost radius, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certain_radii: Vec<CertainRadius>,
    /// The differences: every context radius at every cost radius.
    pub results: Vec<DifferenceValue>,
    /// The populations of the worst differences, in the same order; none where there are many radii.
    #[serde(skip)]
    pub worst: Vec<WorstCase>,
    /// The curves of the worst difference, one per cost radius: whole if they were asked for.
    #[serde(skip)]
    pub curves: Vec<Curve>,
    /// The difference at every point of the support, one list per cost radius.
    #[serde(skip)]
    pub values: Vec<Vec<f64>>,
    /// What kind of population would reverse it just beyond the certain radius, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversed_by: Option<String>,
    /// Whether lower or higher is better.
    #[serde(skip)]
    pub direction: Direction,
}

/// The largest radius within which one policy is no worse than another in every population.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CertainRadius {
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius: 0 if the policy is worse already, infinite (null) if it is worse nowhere within
    /// reach.
    pub value: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// Its interval by the bootstrap, if asked for, among the replicates in which it is finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// The worst and the best difference within one radius.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceValue {
    /// The radius.
    pub radius: f64,
    /// The cost radius.
    pub cost_radius: f64,
    /// The policy less the other in the population where that is worst for the policy.
    pub worst: f64,
    /// In the population where it is best.
    pub best: f64,
    /// The worst difference is not below this.
    pub lower: f64,
    /// The worst difference is not above this.
    pub upper: f64,
    /// How far apart these bounds are.
    pub gap: f64,
    /// How the solves ended.
    pub status: Status,
    /// The best difference is not below this.
    pub best_lower: f64,
    /// The best difference is not above this.
    pub best_upper: f64,
    /// What can be said of the policy beside the other; None before everything is known.
    pub verdict: Option<Verdict>,
    /// The share of the worst population on contexts never observed; None where it was not looked at.
    pub unobserved_mass: Option<f64>,
    /// The interval of the worst difference by the paired bootstrap, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The interval of the best difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_interval: Option<Interval>,
}

/// What can be said of one policy beside another within a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is better in every population, noise allowed for.
    Better,
    /// It is worse in every population, noise allowed for.
    Worse,
    /// There is a population for each.
    Depends,
    /// Noise leaves it open.
    #[serde(rename = "too close to call")]
    TooClose,
}

impl DifferenceValue {
    /// The interval of the worst difference as it is shown: the basic one, and the value itself.
    pub fn shown(&self) -> Option<(f64, f64)> {
        self.interval.map(|i| holding(i.basic, self.worst))
    }

    /// The same of the best difference.
    pub fn best_shown(&self) -> Option<(f64, f64)> {
        self.best_interval.map(|i| holding(i.basic, self.best))
    }
}

/// An interval and what it is for.
fn holding((low, high): (f64, f64), value: f64) -> (f64, f64) {
    (low.min(value), high.max(value))
}

impl Comparison {
    /// The best estimate of the difference without a shift: doubly robust, else direct; in the
    /// target if there is one.
    pub fn estimate(&self) -> Estimate {
        let (dr, dm) = match &self.target {
            Some(there) => (there.dr, there.dm),
            None => (self.nominal.dr, self.nominal.dm),
        };
        if dr.value.is_nan() { dm } else { dr }
    }

    /// Whether too little of the log is like the target for anything to be said there.
    pub fn is_thin(&self) -> bool {
        self.target.is_some_and(|there| there.effective_rows < FEW_ROWS)
    }

    /// What can be said at one of the radii: by the bounds, and by the bootstrap's interval there, or
    /// without one by that of the estimate without a shift.
    pub fn verdict(&self, result: usize) -> Verdict {
        let Some(at) = self.results.get(result).filter(|_| !self.is_thin()) else {
            return Verdict::TooClose;
        };
        let turned = |low: f64, high: f64| match self.direction {
            Direction::Cost => (low, high),
            Direction::Reward => (-high, -low),
        };
        let plain = self.estimate();
        let noisy = |interval: Option<(f64, f64)>| {
            let (low, high) = interval.unwrap_or((plain.lower, plain.upper));
            low <= 0.0 && high >= 0.0
        };
        // Bounds of the worst difference, and of the best one, larger being worse.
        let (worst, best) = (turned(at.lower, at.upper), turned(at.best_lower, at.best_upper));
        match (worst.1 <= 0.0, best.0 >= 0.0) {
            (true, true) => Verdict::TooClose,
            (true, false) if noisy(at.shown()) => Verdict::TooClose,
            (true, false) => Verdict::Better,
            (false, true) if noisy(at.best_shown()) => Verdict::TooClose,
            (false, true) => Verdict::Worse,
            (false, false) if worst.0 > 0.0 && best.1 < 0.0 => Verdict::Depends,
            (false, false) => Verdict::TooClose,
        }
    }

    /// Whether the policy is the better of the two if nothing shifts, or in the target if there is
    /// one: where the certain radius starts from.
    pub fn leads(&self) -> bool {
        let start = self.target.as_ref().map_or(self.nominal.dm, |there| there.dm);
        self.direction.sign() * start.value <= 0.0
    }

    /// In a sentence, names as `tell` tells them.
    pub fn sentence(&self, tell: impl Fn(&str) -> String) -> String {
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let (less, more) = match self.direction {
            Direction::Cost => ("costs less than", "costs more than"),
            Direction::Reward => ("brings more than", "brings less than"),
        };
        let plain = self.estimate();
        let place = if self.target.is_some() { "in the target" } else { "if nothing shifts" };
        if let Some(there) = self.target.filter(|_| self.is_thin()) {
            return format!(
                "{policy} and {against} cannot be told apart in the target: the log weighed like it is \
                 worth {}.",
                crate::words::rows(there.effective_rows)
            );
        }
        if plain.lower <= 0.0 && plain.upper >= 0.0 {
            return format!(
                "{policy} and {against} are too close to call: {place} they differ by {}.",
                crate::words::estimate(&plain)
            );
        }
        if self.direction.sign() * plain.value > 0.0 {
            return format!("{policy} {more} {against} {place}.");
        }
        let certain = &self.certain_radius;
        let cost = match certain.cost_radius > 0.0 {
            true => format!(" (cost radius {})", number(certain.cost_radius)),
            false => String::new(),
        };
        let around = if self.target.is_some() { " of the target" } else { "" };
        if certain.value == 0.0 {
            return format!(
                "{policy} {less} {against} {place}, yet not in every population of any radius{cost}."
            );
        }
        // On the safe side where the curve is not exact.
        let within = match certain.lower.is_infinite() {
            true => "any radius".to_owned(),
            false => format!("{}{around}", short(certain.lower)),
        };
        let beyond = match (&self.reversed_by, certain.lower.is_infinite()) {
            (_, true) => String::new(),
            (Some(words), _) => format!("; beyond, a population with {words} would reverse it"),
            (None, _) => "; beyond, there is one that reverses it".to_owned(),
        };
        let claim = format!("{policy} {less} {against} in every population within");
        match self.beyond_noise() {
            None => format!("{claim} {within}{cost}{beyond}."),
            Some(Some(radius)) => format!(
                "{claim} {}{around}, noise allowed for (as fitted, within {within}{cost}{beyond}).",
                short(radius)
            ),
            Some(None) => format!(
                "{policy} and {against} are too close to call: as fitted {policy} {less} {against} in \
                 every population within {within}{cost}, but that may be noise."
            ),
        }
    }

    /// With intervals: the largest radius asked about up to which the policy is better at each,
    /// noise allowed for; None in it if there is none.
    fn beyond_noise(&self) -> Option<Option<f64>> {
        self.results.first()?.interval?;
        let first = self.results[0].cost_radius;
        let mut own: Vec<(f64, Verdict)> = (0..self.results.len())
            .filter(|&k| self.results[k].cost_radius == first)
            .map(|k| (self.results[k].radius, self.verdict(k)))
            .collect();
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        let better = own.iter().take_while(|(_, verdict)| *verdict == Verdict::Better);
        Some(better.last().map(|(radius, _)| *radius))
    }
}

/// Compares the policies pair by pair, in both orders.
pub(super) fn comparisons(
    question: &Question,
    (fitted, robust): (&Fitted, &Robust),
    transport: Option<&Transport<'_>>,
    policies: &[PolicyResult],
    notes: &mut Vec<String>,
    watch: Watch<'_>,
) -> Result<Vec<Comparison>> {
    if !question.compares() {
        return Ok(Vec::new());
    }
    let count = policies.len();
    let pairs = count * (count - 1);
    let radii = question.context.radii.len() as f64;
    let work = pairs as f64 * (radii + 1.0) * EVALUATIONS * robust.geometry().work();
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
        ranges.push(fitted.value_range(question.cost.set.at(radius), settings)?);
    }
    let mut found: Vec<Comparison> = Vec::new();
    for &(a, b) in &pairs {
        let (policy, against) = (&policies[a].policy, &policies[b].policy);
        let progress = Progress::at(Stage::Policy(policy.name()));
        watch.tell(progress)?;
        let pair = Pair { question, robust, policy, against };
        let mut one = pair.worst(&ranges, watch)?;
        one.nominal = fitted.nominal_difference(policy, against, watch)?;
        let there = transport.map(|t| t.difference(policy, against));
        one.target = there.transpose()?;
        found.push(one);
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
    for (one, &(a, b)) in found.iter_mut().zip(&pairs) {
        let pair =
            Pair { question, robust, policy: &policies[a].policy, against: &policies[b].policy };
        one.reversed_by = pair.reversed_by(one, &ranges, watch)?;
    }
    Ok(found)
}

/// The populations in which a policy is worst beside another, at every context radius of a question
/// and its first cost radius.
pub(crate) fn worst_populations(
    loaded: &Loaded,
    question: &Question,
    (policy, against): (&Policy, &Policy),
    watch: Watch<'_>,
) -> Result<Vec<WorstCase>> {
    let fitted = loaded.fitted(watch)?;
    let robust = loaded.robust(fitted, question.support)?;
    let settings = Settings { plan_floor: 1e-5, watch, ..Settings::default() };
    let costs = question.cost.set.at(question.cost.radii[0]);
    let range = fitted.value_range(costs, settings)?;
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
}

impl Pair<'_> {
    /// The worst differences at every radius and cost radius, and the certain radius.
    fn worst(&self, ranges: &[ValueRange], watch: Watch<'_>) -> Result<Comparison> {
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
            max_vertices: question.vertices(robust.geometry()),
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
            let (cases, curve) =
                robust.worst_difference(pair, range, set, solved, Some(tolerance), settings)?;
            watch.tell(Progress::at(Stage::Policy(self.policy.name())))?;
            let curve = curve.ok_or_else(|| Error::internal("a curve was asked for"))?;
            // A smoothed value may be on the unsafe side of the exact one by so much.
            let smoothing = set.smoothing(robust.points().len()) + range.smoothing();
            let direction = robust.direction();
            for (at, &radius) in radii.iter().enumerate() {
                let mut found = match cases.get(at) {
                    Some(case) if case.status() == Status::Stopped => return Err(Error::stopped()),
                    Some(case) => solved_difference(radius, cost_radius, case),
                    None => read_difference(radius, cost_radius, &curve),
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
            let near = focused.as_ref().unwrap_or(&curve);
            certain.push(certain_radius(cost_radius, near, direction, smoothing));
            worst.extend(cases);
            curves.push(curve);
            values.push(own);
        }
        let none = Estimate { value: f64::NAN, se: f64::NAN, lower: f64::NAN, upper: f64::NAN };
        let several = certain.len() > 1;
        Ok(Comparison {
            policy: self.policy.name().to_owned(),
            against: self.against.name().to_owned(),
            nominal: NominalDifference { dm: none, dr: none },
            target: None,
            certain_radius: certain[0],
            certain_radii: if several { certain } else { Vec::new() },
            results,
            worst,
            curves,
            values,
            reversed_by: None,
            direction: robust.direction(),
        })
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
        let population: &Population = self.robust.population();
        Ok(cases.first().and_then(|case| shift::main_change(population, case, set)))
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
        interval: None,
        best_interval: None,
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
        interval: None,
        best_interval: None,
    }
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
    CertainRadius { cost_radius, value, lower: lower.min(value), upper, interval: None }
}

/// The certain radius of a replicate's curve.
pub(super) fn certain_on(curve: &Curve) -> f64 {
    curve.breakdown(0.0).map_or(f64::INFINITY, |b| b.radius)
}

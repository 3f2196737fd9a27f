//! Pairs of policies in one population: worst and best differences, and robustness radii.

use super::EffectClass;
use super::basis::EvaluationBasis;
use super::comparison::DifferenceBounds;
use super::effects::{Effects, PairEffect, PairValues, with_shifted_outcomes};
use super::estimates::Estimates;
use super::robustness::PlugInRadius;
use super::{CURVE_TOLERANCE, FEW_RADII, Question};
use crate::prepare::PreparedStudy;
use crate::shift;
use seawall::evaluate::Solved;
use seawall::policy::Policy;
use seawall::{
    CertifiedValue, Curve, Detail, Direction, Error, Progress, Result, Settings, Stage, Status,
    Wasserstein, Watch, WorstCase,
};

/// How closely a population meets what is known.
const MEETS: f64 = 1e-9;

/// The differences of one policy to another.
pub(super) struct SolvedDifferences {
    /// Every context radius at every cost radius.
    pub(super) values: Vec<SolvedDifference>,
    /// The robustness radius at every cost radius.
    pub(super) robustness: Vec<PlugInRadius>,
    /// The populations of the worst differences, in the order of values; none where there are many radii.
    pub(super) worst: Vec<WorstCase>,
    /// The curves of the worst difference, one per cost radius: whole if they were asked for.
    pub(super) curves: Vec<Curve>,
    /// The difference at every point of the support, one list per cost radius.
    pub(super) by_context: Vec<Vec<f64>>,
    /// What kind of population would reverse it just beyond the robustness radius, in a few words.
    pub(super) reversed_by: Option<String>,
    /// How the difference is modelled, where it is as an effect of its own.
    pub(super) effect: Option<EffectClass>,
}

/// The worst and the best difference within one radius.
#[derive(Clone, Copy)]
pub(super) struct SolvedDifference {
    pub(super) radius: f64,
    pub(super) cost_radius: f64,
    pub(super) bounds: DifferenceBounds,
    /// The share of the worst population on contexts never observed; None where it was not looked at.
    pub(super) unobserved_mass: Option<f64>,
}

/// The worst difference alone.
#[derive(Clone, Copy)]
struct WorstDifference {
    radius: f64,
    cost_radius: f64,
    worst: CertifiedValue,
    unobserved_mass: Option<f64>,
}

/// One policy against another, in one direction.
struct OneSided {
    values: Vec<WorstDifference>,
    robustness: Vec<PlugInRadius>,
    worst: Vec<WorstCase>,
    curves: Vec<Curve>,
    by_context: Vec<Vec<f64>>,
    reversed_by: Option<String>,
    effect: Option<EffectClass>,
}

/// The differences of every pair of a basis.
pub(super) fn differences(
    basis: &EvaluationBasis<'_>,
    effects: &Effects,
    estimates: &Estimates,
    watch: Watch<'_>,
) -> Result<Vec<SolvedDifferences>> {
    let mut found: Vec<OneSided> = Vec::new();
    let pairs = basis.pairs.iter().zip(&effects.pairs).zip(&estimates.differences);
    for ((&(first, _), values), own) in pairs {
        let name = basis.policies[first].policy.name();
        let pair = Pair { basis, effects, values, name };
        let leads = own.leads(basis.robust.direction());
        found.push(pair.solved(leads, watch)?);
    }
    // The best difference to another is the worst one of the other, turned round.
    let turned = |&(a, b): &(usize, usize)| {
        let other = basis.pairs.iter().position(|&p| p == (b, a));
        other.map(|k| found[k].values.clone())
    };
    let turned: Option<Vec<Vec<WorstDifference>>> = basis.pairs.iter().map(turned).collect();
    let turned = turned.ok_or_else(|| Error::internal("a pair in one order alone"))?;
    Ok(found.into_iter().zip(turned).map(|(one, other)| one.with_best(&other)).collect())
}

impl OneSided {
    /// With the best differences: the worst ones of the other policy, turned round.
    fn with_best(self, other: &[WorstDifference]) -> SolvedDifferences {
        let both = |(own, other): (WorstDifference, &WorstDifference)| SolvedDifference {
            radius: own.radius,
            cost_radius: own.cost_radius,
            bounds: DifferenceBounds { worst: own.worst, best: other.worst.negated() },
            unobserved_mass: own.unobserved_mass,
        };
        SolvedDifferences {
            values: self.values.into_iter().zip(other).map(both).collect(),
            robustness: self.robustness,
            worst: self.worst,
            curves: self.curves,
            by_context: self.by_context,
            reversed_by: self.reversed_by,
            effect: self.effect,
        }
    }
}

/// The populations in which a policy is worst beside another, at every context radius of a question
/// and its first cost radius.
pub(crate) fn worst_populations(
    prepared: &PreparedStudy,
    question: &Question,
    policies: [&Policy; 2],
    watch: Watch<'_>,
) -> Result<Vec<WorstCase>> {
    let prepared = &prepared.on_support(question.support)?;
    let fitted = prepared.fitted(watch)?;
    let robust = prepared.robust(fitted, question.support, question.within())?;
    let settings = Settings { plan_floor: 1e-5, watch, ..Settings::default() };
    let costs = question.cost.set.at(question.cost.radii[0]);
    let range = fitted.value_range_on(robust.points(), costs, settings)?;
    let (set, radii) = (question.context.set, &question.context.radii);
    let (cases, _) = match PairEffect::new(fitted, policies, (0, 1), watch)? {
        Some(effect) => {
            let plain = fitted.values_on(robust.points(), Wasserstein.at(0.0), settings)?;
            let values = with_shifted_outcomes(&effect.values, &range, &plain, policies);
            robust.evaluate(&effect.action, &values, set, radii, None, settings)?
        }
        None => {
            let pair = (policies[0], policies[1]);
            robust.worst_difference(pair, &range, set, radii, None, settings)?
        }
    };
    if cases.iter().any(|case| case.status() == Status::Stopped) {
        return Err(Error::stopped());
    }
    Ok(cases)
}

/// Two policies being compared.
struct Pair<'a> {
    basis: &'a EvaluationBasis<'a>,
    effects: &'a Effects,
    values: &'a PairValues,
    /// The first policy's name.
    name: &'a str,
}

/// What there is at one cost radius.
struct PairAtCostRadius {
    values: Vec<WorstDifference>,
    worst: Vec<WorstCase>,
    curve: Option<Curve>,
    robustness: PlugInRadius,
    by_context: Vec<f64>,
}

impl Pair<'_> {
    /// The worst differences at every radius and cost radius, and the robustness radius.
    fn solved(&self, leads: bool, watch: Watch<'_>) -> Result<OneSided> {
        let (question, name) = (&self.basis.question, self.name);
        let follow = |progress: Progress<'_>| {
            watch.go_on(Progress { stage: Stage::Policy(name), ..progress })
        };
        let settings = Settings {
            detail: if question.wanted.worst { Detail::Plan } else { Detail::Population },
            plan_floor: 1e-5,
            max_vertices: question.vertices(&self.basis.robust),
            max_radius: question.wanted.curve_up_to,
            crossing: (!self.whole()).then_some(0.0),
            watch: Watch::new(&follow),
            ..Settings::default()
        };
        let (mut values, mut robustness) = (Vec::new(), Vec::new());
        let (mut worst, mut curves, mut by_context) = (Vec::new(), Vec::new(), Vec::new());
        for (cost, &cost_radius) in question.cost.radii.iter().enumerate() {
            let at = self.at_cost_radius(cost, cost_radius, settings)?;
            values.extend(at.values);
            robustness.push(at.robustness);
            worst.extend(at.worst);
            curves.extend(at.curve);
            by_context.push(at.by_context);
        }
        let reversed_by = if leads { self.reversed_by(robustness[0], watch)? } else { None };
        let effect = self.effects.class(self.values);
        Ok(OneSided { values, robustness, worst, curves, by_context, reversed_by, effect })
    }

    fn solve(
        &self,
        cost: usize,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        self.values.solve((self.basis, self.effects), cost, radii, curve, settings)
    }

    /// Many radii are read off the whole curve.
    fn many(&self) -> bool {
        self.basis.question.context.radii.len() > FEW_RADII
    }

    /// Whether the whole curve is wanted.
    fn whole(&self) -> bool {
        self.basis.question.wanted.curve || self.many()
    }

    fn at_cost_radius(
        &self,
        cost: usize,
        cost_radius: f64,
        settings: Settings<'_>,
    ) -> Result<PairAtCostRadius> {
        let (robust, question) = (&self.basis.robust, &self.basis.question);
        let direction = robust.direction();
        let (set, radii) = (question.context.set, &question.context.radii);
        let by_context = self.values.by_context((self.basis, self.effects), cost)?;
        let tolerance = if set.has_exact_curve() {
            0.0
        } else {
            let size = by_context.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            (CURVE_TOLERANCE * size).max(f64::MIN_POSITIVE)
        };
        let whole = self.whole();
        let decided = if whole { None } else { self.decided(cost, &by_context, settings)? };
        // A curve may take a hundred times as long as an answer: the radii asked about say between which
        // of them it is.
        let known = !set.quick_curve() && !whole;
        let asked = (decided.is_none() && !known).then_some(tolerance);
        let solved = if self.many() { &[] } else { &radii[..] };
        let (worst, curve) = self.solve(cost, solved, asked, settings)?;
        settings.watch.tell(Progress::at(Stage::Policy(self.name)))?;
        if worst.iter().any(|case| case.status() == Status::Stopped) {
            return Err(Error::stopped());
        }
        // A smoothed value may be on the unsafe side of the exact one by so much.
        let smoothing =
            set.smoothing(robust.points().len()) + self.effects.ranges[cost].smoothing();
        let value = |(at, &radius): (usize, &f64)| {
            let (value, unobserved_mass) = match (worst.get(at), &curve) {
                (Some(case), _) => {
                    let mass = Some(case.unobserved_mass()).filter(|m| m.is_finite());
                    (case.certified(), mass)
                }
                (None, Some(curve)) => (curve.at(radius).certified(), None),
                (None, None) => return Err(Error::internal("a curve was asked for")),
            };
            let worst = on_safe_side(value, smoothing, direction);
            Ok(WorstDifference { radius, cost_radius, worst, unobserved_mass })
        };
        let values = radii.iter().enumerate().map(value).collect::<Result<_>>()?;
        // A curve that was followed only so far may pass 0 beyond.
        let rest = Settings { crossing: Some(0.0), max_radius: f64::INFINITY, ..settings };
        let focused = if whole { self.solve(cost, &[], Some(tolerance), rest)?.1 } else { None };
        let robustness = match (decided, focused.as_ref().or(curve.as_ref())) {
            (Some(value), _) => PlugInRadius { cost_radius, value, lower: value, upper: value },
            (None, Some(near)) => plug_in_radius(cost_radius, near, direction, smoothing),
            (None, None) if known => between_radii(cost_radius, radii, &worst, direction),
            (None, None) => return Err(Error::internal("a curve was asked for")),
        };
        Ok(PairAtCostRadius { values, worst, curve, robustness, by_context })
    }

    /// The robustness radius of couplings where no curve is needed to know it: infinite if no population that
    /// meets what is known is worse, 0 if that which worst cases start from is one of them, and worse.
    fn decided(&self, cost: usize, own: &[f64], settings: Settings<'_>) -> Result<Option<f64>> {
        let (set, robust) = (self.basis.question.context.set, &self.basis.robust);
        let Some(known) = robust.geometry().known().filter(|_| set.needs_known()) else {
            return Ok(None);
        };
        let (population, sign) = (robust.population(), robust.direction().sign());
        if sign * population.mean(own)? > 0.0 && known.holds_for(population, MEETS)? {
            return Ok(Some(0.0));
        }
        let (settings, radii) = (settings.detail(Detail::Value), [f64::INFINITY]);
        let (cases, _) = self.solve(cost, &radii, None, settings)?;
        let worst = |case: &WorstCase| match robust.direction() {
            Direction::Cost => case.upper(),
            Direction::Reward => -case.lower(),
        };
        Ok(cases.first().filter(|case| worst(case) <= 0.0).map(|_| f64::INFINITY))
    }

    /// What the population looks like that makes the two equal.
    fn reversed_by(&self, plug_in: PlugInRadius, watch: Watch<'_>) -> Result<Option<String>> {
        let (radius, set) = (plug_in.value, self.basis.question.context.set);
        if !(radius > 0.0 && radius.is_finite()) {
            return Ok(None);
        }
        let settings = Settings { detail: Detail::Plan, watch, ..Settings::default() };
        let (cases, _) = self.solve(0, &[radius], None, settings)?;
        Ok(cases.first().and_then(|case| shift::main_change(case, set)))
    }
}

/// A worst difference that may be too good by some smoothing: its bound on the safe side is further by that.
fn on_safe_side(value: CertifiedValue, smoothing: f64, direction: Direction) -> CertifiedValue {
    match direction {
        Direction::Cost => CertifiedValue { upper: value.upper + smoothing, ..value },
        Direction::Reward => CertifiedValue { lower: value.lower - smoothing, ..value },
    }
}

/// The robustness radius as far as the radii asked about tell it: from the largest at which the policy is no
/// worse to the least at which it may be.
fn between_radii(
    cost_radius: f64,
    radii: &[f64],
    cases: &[WorstCase],
    direction: Direction,
) -> PlugInRadius {
    let (mut lower, mut upper) = (0.0_f64, f64::INFINITY);
    for (&radius, case) in radii.iter().zip(cases) {
        let no_worse = match direction {
            Direction::Cost => case.upper() <= 0.0,
            Direction::Reward => case.lower() >= 0.0,
        };
        if no_worse {
            lower = lower.max(radius);
        } else {
            upper = upper.min(radius);
        }
    }
    PlugInRadius { cost_radius, value: lower, lower, upper }
}

/// Where a curve of differences passes 0. A smoothed curve is below the exact one by at most
/// `smoothing`.
fn plug_in_radius(
    cost_radius: f64,
    curve: &Curve,
    direction: Direction,
    smoothing: f64,
) -> PlugInRadius {
    let at = curve.breakdown(0.0);
    let value = at.map_or(f64::INFINITY, |b| b.radius);
    let lower = if smoothing > 0.0 {
        curve.breakdown(-direction.sign() * smoothing).map_or(f64::INFINITY, |b| b.lower)
    } else {
        at.map_or(f64::INFINITY, |b| b.lower)
    };
    let upper = at.map_or(f64::INFINITY, |b| b.upper);
    PlugInRadius { cost_radius, value, lower: lower.min(value), upper }
}

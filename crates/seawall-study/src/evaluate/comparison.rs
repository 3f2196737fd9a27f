//! Pairs of policies in one population: by how much one could be worse than the other, by how much
//! better, how far nothing reverses that, and what can be said.

use super::estimates::leads;
use super::{Doubled, Honest, TargetEstimates};
use crate::reference::{FEW_ROWS, unshifted};
use crate::words::{number, short};
use seawall::evaluate::{Estimate, NominalDifference};
use seawall::inference::Limits;
use seawall::{CertifiedValue, Curve, Direction, Status, WorstCase};
use serde::Serialize;

/// One policy against another, in the same population.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The policy.
    pub policy: String,
    /// The other.
    pub against: String,
    /// By how much its value is above the other's if nothing shifts.
    pub nominal: NominalDifference,
    /// By how much in the target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetEstimates>,
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
    /// What its words go by.
    #[serde(skip)]
    pub about: ComparisonContext,
}

/// What a comparison's words go by.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonContext {
    /// The effective sample size of the two policies, the smaller one: in the target if there is one.
    pub effective_rows: f64,
    /// Whether only populations count that meet what is known of the target.
    pub knowing: bool,
    /// Whether lower or higher is better.
    pub direction: Direction,
}

/// The largest radius within which one policy is no worse than another in every population.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CertainRadius {
    /// The cost radius.
    pub cost_radius: f64,
    /// The radius: 0 if the policy is worse already, infinite (null) if it is worse nowhere within
    /// reach.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub value: f64,
    /// The truth is not below this.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub lower: f64,
    /// The truth is not above this.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub upper: f64,
}

/// The worst and the best difference within one radius.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferenceValue {
    /// The radius; infinite (null) where there is none.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub radius: f64,
    /// The cost radius.
    pub cost_radius: f64,
    /// The worst and the best difference with their bounds.
    #[serde(flatten)]
    pub bounds: DifferenceBounds,
    /// What can be said of the policy beside the other.
    pub verdict: Verdict,
    /// The share of the worst population on contexts never observed; None where it was not looked at.
    pub unobserved_mass: Option<f64>,
    /// How much of it is noise.
    #[serde(flatten)]
    pub noise: DifferenceNoise,
}

/// The worst and the best difference with their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "DifferenceFields")]
pub struct DifferenceBounds {
    /// The policy less the other in the population where that is worst for the policy.
    pub worst: CertifiedValue,
    /// In the population where it is best.
    pub best: CertifiedValue,
}

/// Both differences as they are written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DifferenceFields {
    /// The policy less the other in the population where that is worst for the policy.
    worst: f64,
    /// In the population where it is best.
    best: f64,
    /// The worst difference is not below this.
    lower: f64,
    /// The worst difference is not above this.
    upper: f64,
    /// How far apart these bounds are.
    gap: f64,
    /// How the solves ended.
    status: Status,
    /// The best difference is not below this.
    best_lower: f64,
    /// The best difference is not above this.
    best_upper: f64,
}

impl From<DifferenceBounds> for DifferenceFields {
    fn from(bounds: DifferenceBounds) -> Self {
        let (DifferenceBounds { worst, best }, status) = (bounds, bounds.status());
        DifferenceFields {
            worst: worst.value,
            best: best.value,
            lower: worst.lower,
            upper: worst.upper,
            gap: worst.gap,
            status,
            best_lower: best.lower,
            best_upper: best.upper,
        }
    }
}

impl DifferenceBounds {
    /// How the solves ended: as the one that is further from optimal.
    pub fn status(&self) -> Status {
        if self.worst.status == Status::Optimal { self.best.status } else { self.worst.status }
    }
}

/// How much of a worst and a best difference is noise, by sample splits: nothing without them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferenceNoise {
    /// What the population found on one half of the rows makes of the worst difference on the other;
    /// None without halves.
    pub honest: Option<Honest>,
    /// Limits of the worst difference; None without halves.
    pub limits: Option<Limits>,
    /// The same of the best difference.
    pub best_honest: Option<Honest>,
    /// The same of the best difference.
    pub best_limits: Option<Limits>,
    /// The honest worst difference corrected by held-out residuals, where the log covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubly_robust: Option<Doubled>,
}

impl DifferenceNoise {
    /// The same where too few rows support a confidence statement.
    pub(super) fn withheld(self) -> Self {
        let DifferenceNoise { honest, best_honest, .. } = self;
        DifferenceNoise { honest, best_honest, ..DifferenceNoise::default() }
    }
}

/// What can be said of one policy beside another within a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The interval of the worst difference as it is shown: the limits.
    pub fn shown(&self) -> Option<(f64, f64)> {
        self.noise.limits.map(|l| (l.lower, l.upper))
    }

    /// The same of the best difference.
    pub fn best_shown(&self) -> Option<(f64, f64)> {
        self.noise.best_limits.map(|l| (l.lower, l.upper))
    }

    /// The standard error that the digits shown go by, if there is one.
    pub fn shown_se(&self) -> Option<f64> {
        self.noise.honest.map(|h| h.se)
    }
}

impl Comparison {
    /// The best estimate of the difference without a shift: doubly robust, else direct; in the
    /// target if there is one; None where the data have no rows for either.
    pub fn estimate(&self) -> Option<Estimate> {
        unshifted(self.target.as_ref(), self.nominal.best())
    }

    /// Whether too few rows support a confidence statement.
    pub fn is_thin(&self) -> bool {
        self.about.effective_rows < FEW_ROWS
    }

    /// What can be said at one of the radii: by the bounds, and by the limits there, or without them by
    /// the interval of the estimate without a shift.
    pub fn verdict(&self, result: usize) -> Verdict {
        match self.results.get(result).filter(|_| !self.is_thin()) {
            None => Verdict::TooClose,
            Some(at) => verdict(&at.bounds, &at.noise, self.estimate(), self.about.direction),
        }
    }

    /// Whether the policy is the better of the two if nothing shifts, or in the target if there is
    /// one: where the certain radius starts from.
    pub fn leads(&self) -> bool {
        leads((&self.nominal, self.target.as_ref()), self.about.direction)
    }

    /// In a sentence, names as `tell` tells them.
    pub fn sentence(&self, tell: impl Fn(&str) -> String) -> String {
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let (less, more) = match self.about.direction {
            Direction::Cost => ("costs less than", "costs more than"),
            Direction::Reward => ("brings more than", "brings less than"),
        };
        let Some(plain) = self.estimate() else {
            return format!(
                "{policy} vs {against}: undecided. The data have no rows of what one of them does."
            );
        };
        let place = if self.target.is_some() { "in the target" } else { "if nothing shifts" };
        if self.is_thin() {
            let place = if self.target.is_some() { " after reweighting to the target" } else { "" };
            return format!(
                "{policy} vs {against}: undecided. The effective sample size{place} is {}, below {FEW_ROWS}.",
                number(self.about.effective_rows)
            );
        }
        if plain.covers(0.0) {
            return format!(
                "{policy} and {against} are too close to call: {place} they differ by {}.",
                crate::words::estimate(&plain)
            );
        }
        if self.about.direction.sign() * plain.value > 0.0 {
            return format!("{policy} {more} {against} {place}.");
        }
        let certain = &self.certain_radius;
        let cost = if certain.cost_radius > 0.0 {
            format!(" (cost radius {})", number(certain.cost_radius))
        } else {
            String::new()
        };
        let around = if self.target.is_some() { " of the target" } else { "" };
        if certain.value == 0.0 {
            return format!(
                "{policy} {less} {against} {place}, yet not in every population of any radius{cost}."
            );
        }
        // On the safe side where the curve is not exact.
        let within = self.among(certain.lower, around);
        let beyond = match (&self.reversed_by, certain.lower.is_infinite()) {
            (_, true) => String::new(),
            (Some(words), _) => format!("; beyond, a population with {words} would reverse it"),
            (None, _) => "; beyond, there is one that reverses it".to_owned(),
        };
        let claim = format!("{policy} {less} {against} in every population");
        // Radii that were asked about say nothing of smaller ones.
        let asked = self.results.iter().map(|r| r.radius).fold(f64::INFINITY, f64::min);
        match self.beyond_noise() {
            None => format!("{claim} {within}{cost}{beyond}."),
            Some(_) if asked > certain.lower => format!(
                "As fitted, {claim} {within}{cost}{beyond}; a radius as small as that was not asked about, so \
                 nothing says how much of it is noise."
            ),
            Some(Some(0.0)) => format!(
                "{policy} {less} {against} {place}, noise allowed for; in every population {within}{cost} \
                 only as fitted{beyond}."
            ),
            Some(Some(radius)) => format!(
                "{claim} {}, noise allowed for (as fitted, {within}{cost}{beyond}).",
                self.among(radius, around)
            ),
            Some(None) => format!(
                "{policy} and {against} are too close to call: as fitted {policy} {less} {against} in \
                 every population {within}{cost}, but that may be noise."
            ),
        }
    }

    /// Which populations are within a radius, in words.
    fn among(&self, radius: f64, around: &str) -> String {
        match (self.about.knowing, radius.is_infinite()) {
            (true, true) => "that meets what is known of the target".to_owned(),
            (true, false) => {
                format!("that meets what is known of the target and is within {}", short(radius))
            }
            (false, true) => "within any radius".to_owned(),
            (false, false) => format!("within {}{around}", short(radius)),
        }
    }

    /// With intervals: the largest radius asked about up to which the policy is better at each,
    /// noise allowed for; None in it if there is none.
    fn beyond_noise(&self) -> Option<Option<f64>> {
        self.results.first()?.shown()?;
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

/// What bounds, limits and the estimate without a shift say of a policy beside another, where enough rows
/// support it.
pub(super) fn verdict(
    bounds: &DifferenceBounds,
    noise: &DifferenceNoise,
    plain: Option<Estimate>,
    direction: Direction,
) -> Verdict {
    let turned = |low: f64, high: f64| match direction {
        Direction::Cost => (low, high),
        Direction::Reward => (-high, -low),
    };
    let holds_0 = |low: f64, high: f64| low <= 0.0 && high >= 0.0;
    // Without a shift the estimate has to tell them apart as well.
    let noisy = |limits: Option<Limits>| {
        plain.is_some_and(|plain| plain.covers(0.0))
            || limits.is_some_and(|l| holds_0(l.lower, l.upper))
    };
    // Bounds of the worst difference, and of the best one, larger being worse.
    let worst = turned(bounds.worst.lower, bounds.worst.upper);
    let best = turned(bounds.best.lower, bounds.best.upper);
    match (worst.1 <= 0.0, best.0 >= 0.0) {
        (true, true) => Verdict::TooClose,
        (true, false) if noisy(noise.limits) => Verdict::TooClose,
        (true, false) => Verdict::Better,
        (false, true) if noisy(noise.best_limits) => Verdict::TooClose,
        (false, true) => Verdict::Worse,
        (false, false) if worst.0 > 0.0 && best.1 < 0.0 => {
            match (noise.limits, noise.best_limits) {
                // A population for each is found on one half and holds on the other.
                (Some(w), Some(b))
                    if turned(w.lower, w.upper).0 <= 0.0 || turned(b.lower, b.upper).1 >= 0.0 =>
                {
                    Verdict::TooClose
                }
                _ => Verdict::Depends,
            }
        }
        (false, false) => Verdict::TooClose,
    }
}

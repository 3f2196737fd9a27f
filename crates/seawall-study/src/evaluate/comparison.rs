//! Pairs of policies in one population: by how much one could be worse than the other, by how much
//! better, how far nothing reverses that, and what can be said.

use super::claims::Claims;
use super::claims::capitalized;
use super::estimates::leads;
use super::robustness::RobustnessRadius;
use super::verdict::{Assumption, Decision, Established, Verdict};
use super::{HeldOutEstimate, TargetEstimates};
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
    /// How the difference is modelled: as an effect of its own; None where it is by the model of outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    /// The largest radius within which it is no worse than the other in every population, at the
    /// first cost radius.
    pub robustness_radius: RobustnessRadius,
    /// The same at every cost radius, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub robustness_radii: Vec<RobustnessRadius>,
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
    /// What kind of population would reverse it just beyond the robustness radius, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversed_by: Option<String>,
    /// What its words go by.
    #[serde(skip)]
    pub about: ComparisonContext,
}

/// The class of a modelled effect, chosen by cross-validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// The same for everybody.
    Constant,
    /// A sum of what each column adds.
    Additive,
    /// A tree of at most so many splits on the way to a leaf.
    #[serde(rename = "tree")]
    Tree,
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
    /// Whether one of the two was chosen on the rows that value it.
    pub chosen_here: bool,
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
    #[serde(flatten)]
    pub decision: Decision,
    /// What is claimed with confidence, or why nothing is.
    #[serde(flatten)]
    pub claims: Claims,
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
    /// What the population found on one part of the rows makes of the worst difference on the other;
    /// None without splits.
    pub held_out: Option<HeldOutEstimate>,
    /// Confidence limits of the worst difference; None without splits.
    pub limits: Option<Limits>,
    /// The same of the best difference.
    pub best_held_out: Option<HeldOutEstimate>,
    /// The same of the best difference.
    pub best_limits: Option<Limits>,
}

impl DifferenceNoise {
    /// The same where too few rows support a confidence statement.
    pub(super) fn withheld(self) -> Self {
        let DifferenceNoise { held_out, best_held_out, .. } = self;
        DifferenceNoise { held_out, best_held_out, ..DifferenceNoise::default() }
    }
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
        self.noise.held_out.map(|h| h.se)
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

    /// What can be said at one of the radii.
    pub fn verdict(&self, result: usize) -> Verdict {
        self.results.get(result).map_or(Verdict::Undecided, |at| at.decision.verdict)
    }

    /// Whether the policy is the better of the two if nothing shifts, or in the target if there is
    /// one: where the robustness radius starts from.
    pub fn leads(&self) -> bool {
        leads((&self.nominal, self.target.as_ref()), self.about.direction)
    }

    /// What can be said of the two, with confidence: the plain difference first, then the radii up to which one is better in
    /// every population, or from which on it depends; names as `tell` tells them.
    pub fn headline(&self, tell: impl Fn(&str) -> String) -> String {
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let place = if self.target.is_some() { "in the target" } else { "in the data" };
        let pair = format!("{policy} vs {against}");
        let Some(plain) = self.estimate() else {
            return format!("{pair}: undecided. The data have no rows of what one of them does.");
        };
        if self.is_thin() || self.about.chosen_here {
            return self.sentence(tell);
        }
        let plain = format!("{pair}: {} {place}", crate::words::estimate(&plain));
        let first = self.results.first().map_or(0.0, |r| r.cost_radius);
        let mut own: Vec<&DifferenceValue> =
            self.results.iter().filter(|r| r.cost_radius == first).collect();
        own.sort_by(|a, b| a.radius.total_cmp(&b.radius));
        let around = if self.target.is_some() { " of the target" } else { " of the data" };
        // The largest radius up to which all decisions are of a kind.
        let up_to = |holds: &dyn Fn(&Decision) -> bool| {
            own.iter().take_while(|r| holds(&r.decision)).last().map(|r| r.radius)
        };
        let mut said = Vec::new();
        for (verdict, word) in [(Verdict::Better, "better"), (Verdict::Worse, "worse")] {
            let strict = up_to(&|d: &Decision| d.verdict == verdict && d.is_strict());
            let any = up_to(&|d: &Decision| d.verdict == verdict);
            let assumed = any.filter(|radius| strict.is_none_or(|strict| strict < *radius));
            said.extend(strict.map(|radius| {
                format!("{policy} is {word} in every population {}", self.among(radius, around))
            }));
            let assumes =
                own.iter().find_map(|r| r.decision.assumes.filter(|_| !r.decision.is_strict()));
            let assumed = assumed.zip(assumes).map(|(radius, assumed)| {
                let every = self.among(radius, around);
                format!("{policy} is {word} in every population {every} if {}", assumed.words())
            });
            said.extend(assumed);
        }
        let at = |verdict: Verdict| own.iter().find(|r| r.decision.verdict == verdict);
        if let Some(result) = at(Verdict::Depends) {
            said.push(format!(
                "from {} on it depends on the population",
                crate::words::radius(result.radius)
            ));
        }
        if said.is_empty() {
            said.push("undecided".to_owned());
            let known = own.iter().find_map(|r| r.decision.established.map(|e| (r.radius, e)));
            said.extend(known.map(|(radius, established)| {
                let better = match established {
                    Established::SomewhereBetter => &policy,
                    Established::SomewhereWorse => &against,
                };
                format!("{better} is better in some populations {}", self.among(radius, around))
            }));
        }
        format!("{plain}. {}.", capitalized(&said.join("; ")))
    }

    /// In a sentence or two, names as `tell` tells them.
    pub fn sentence(&self, tell: impl Fn(&str) -> String) -> String {
        let (policy, against) = (tell(&self.policy), tell(&self.against));
        let (less, more) = match self.about.direction {
            Direction::Cost => ("costs less than", "costs more than"),
            Direction::Reward => ("brings more than", "brings less than"),
        };
        let pair = format!("{policy} vs {against}");
        let Some(plain) = self.estimate() else {
            return format!("{pair}: undecided. The data have no rows of what one of them does.");
        };
        let place = if self.target.is_some() { "in the target" } else { "in the data" };
        if self.is_thin() {
            return format!(
                "{pair}: undecided. The effective sample size {place} is {}, below {FEW_ROWS}.",
                number(self.about.effective_rows)
            );
        }
        if self.about.chosen_here {
            return format!(
                "{pair}: undecided. One of them was chosen on these very rows; nothing is claimed of it."
            );
        }
        if plain.covers(0.0) {
            return format!(
                "{pair}: undecided. Estimated difference {place} {}.",
                crate::words::estimate(&plain)
            );
        }
        if self.about.direction.sign() * plain.value > 0.0 {
            return format!("{policy} {more} {against} {place}.");
        }
        let robustness = &self.robustness_radius;
        let plug_in = robustness.plug_in;
        let cost = if plug_in.cost_radius > 0.0 {
            format!(" (cost radius {})", number(plug_in.cost_radius))
        } else {
            String::new()
        };
        let around = if self.target.is_some() { " of the target" } else { " of the data" };
        let here = format!("{policy} {less} {against} {place}");
        if plug_in.value == 0.0 {
            return format!("{here}, but not in every population of any radius{cost}.");
        }
        // On the safe side where the curve is not exact.
        let within = self.among(plug_in.lower, around);
        let beyond = match (&self.reversed_by, plug_in.lower.is_infinite()) {
            (_, true) => String::new(),
            (Some(words), _) => format!("; beyond, a population with {words} reverses it"),
            (None, _) => "; beyond, some population reverses it".to_owned(),
        };
        let fitted =
            format!("by the fitted model that holds in every population {within}{cost}{beyond}");
        let assuming = |radius: f64, assumed: Assumption| {
            format!("{} assuming that {}", self.among(radius, around), assumed.words())
        };
        let class = Assumption::class(self.effect);
        let Some(confirmed) = robustness.confirmed else {
            return match self.results.first().and_then(|r| r.noise.limits) {
                Some(_) => format!("{here}; {fitted}; with confidence in none but the data's own."),
                None => {
                    format!("{here}; {fitted}. Its noise is not known: the rows were not split.")
                }
            };
        };
        let most = |radius: f64| if radius < confirmed.up_to { radius } else { confirmed.up_to };
        let strict = confirmed.pairwise.filter(|radius| *radius > 0.0);
        let strict = strict.map(|radius| assuming(most(radius), Assumption::Pairwise));
        let mut words = vec![format!(
            "{here}, with confidence in every population {}",
            assuming(most(confirmed.in_class), class)
        )];
        words.extend(strict);
        format!("{} ({fitted}).", words.join(", and "))
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
}

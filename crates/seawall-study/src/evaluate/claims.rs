//! Confidence statements as data, and the sentences that are made from them: here and nowhere else.
//!
//! A claim names what is estimated, in which populations, at which confidence, what it takes for granted of the model and
//! under which conditions it holds. How often claims are true was simulated for some models, sets and kinds of data
//! (the book's page "Validation"): for any other no claim is made, and it is said why.

use super::basis::EvaluationBasis;
use super::verdict::{Assumption, Decision, Established, Verdict};
use super::{DifferenceNoise, Evaluation, PolicyResult, RobustValue, ShiftFacts};
use crate::prepare::PreparedStudy;
use crate::words::{level, limit, number, supported};
use seawall::Direction;
use seawall::evaluate::{Propensity, Support};
use seawall::inference::Limits;
use seawall::outcome::ModelKind;
use serde::Serialize;

/// Sets of contexts whose claims were simulated.
const SIMULATED_SETS: [&str; 7] = ["wasserstein", "kl", "tv", "chi2", "cvar", "hellinger", "burg"];
/// Where the simulations are.
const SIMULATED: &str = "book/validation.html";

/// A confidence statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// What is estimated.
    pub estimand: Estimand,
    /// The populations that it is about: "within … of the data".
    pub populations: String,
    /// What is said of them.
    pub statement: Statement,
    /// The number that is not passed.
    pub value: f64,
    /// The confidence, of all that is claimed of policies, or of pairs, together.
    pub level: f64,
    /// What is taken for granted of the model; None if nothing is.
    pub assumes: Option<Assumption>,
    /// The conditions under which it holds.
    pub conditions: Vec<Condition>,
    /// Where it was simulated how often such claims are true.
    pub simulated: &'static str,
    /// All that in a sentence.
    pub sentence: String,
}

/// What a claim is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimand {
    /// The policy whose mean outcome it is.
    pub policy: String,
    /// The policy whose mean outcome is subtracted, if it is a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

/// What a claim says of its populations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// None is worse than the value.
    NoneWorse,
    /// One is at least as bad as the value.
    SomeAsBad,
}

/// A condition of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Outcomes given the context columns do not change.
    StableOutcomes,
    /// Which action was taken is random by design.
    RandomByDesign,
    /// Which action was taken is as good as random given the context columns (ignorability).
    RandomGivenColumns,
    /// Every action may be taken in every context (overlap).
    Overlap,
}

impl Condition {
    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Condition::StableOutcomes => "outcomes given the context columns do not change",
            Condition::RandomByDesign => "actions were taken at random, as the design says",
            Condition::RandomGivenColumns => {
                "actions were as good as random given the context columns"
            }
            Condition::Overlap => "every action may be taken in every context",
        }
    }
}

/// Claims, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claims {
    /// The claims, that of most use first.
    pub claims: Vec<Claim>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_claim: Option<String>,
}

impl Claims {
    fn withheld(why: impl Into<String>) -> Self {
        Claims { claims: Vec::new(), no_claim: Some(why.into()) }
    }
}

/// What all claims of an evaluation go by.
pub(super) struct ClaimScope {
    direction: Direction,
    target: bool,
    conditions: Vec<Condition>,
    /// Why claims are not made, if they are not.
    refused: Option<String>,
}

impl ClaimScope {
    pub(super) fn new(basis: &EvaluationBasis<'_>) -> Self {
        let prepared = basis.prepared;
        let design = matches!(prepared.propensity, Propensity::Design(_) | Propensity::Known);
        let assigned =
            if design { Condition::RandomByDesign } else { Condition::RandomGivenColumns };
        ClaimScope {
            direction: basis.robust.direction(),
            target: prepared.target.is_some() || basis.reference.balance().is_some(),
            conditions: vec![Condition::StableOutcomes, assigned, Condition::Overlap],
            refused: unsimulated(basis),
        }
    }

    /// Of one worst case.
    pub(super) fn of_value(
        &self,
        policy: &str,
        (shift, limits, se): (&ShiftFacts, Option<Limits>, Option<f64>),
        why_not: Option<&str>,
    ) -> Claims {
        let limits = match self.limits(limits, why_not) {
            Ok(limits) => limits,
            Err(why) => return why,
        };
        let estimand = Estimand { policy: policy.to_owned(), against: None };
        let populations = among(shift, self.target);
        let se = se.unwrap_or(f64::NAN);
        let (bad, good) = self.ends(&limits);
        let claim = |statement, value: f64, assumes| {
            self.claim(&estimand, &populations, (statement, value, se), (limits.level, assumes))
        };
        let none = Statement::NoneWorse;
        // What takes less for granted comes first.
        let strict = limits.pairwise.map(|value| claim(none, value, Some(Assumption::Pairwise)));
        let mut claims: Vec<Claim> = strict.into_iter().collect();
        claims.push(claim(none, bad, Some(Assumption::Additive)));
        claims.push(claim(Statement::SomeAsBad, good, None));
        Claims { claims, no_claim: None }
    }

    /// Of a pair at one radius: what its verdict rests on.
    pub(super) fn of_difference(
        &self,
        (policy, against): (&str, &str),
        (shift, noise, decision): (&ShiftFacts, &DifferenceNoise, &Decision),
        why_not: Option<&str>,
    ) -> Claims {
        let limits = match self.limits(noise.limits, why_not) {
            Ok(limits) => limits,
            Err(why) => return why,
        };
        let Some(best) = noise.best_limits else { return Claims::default() };
        let estimand =
            |a: &str, b: &str| Estimand { policy: a.to_owned(), against: Some(b.to_owned()) };
        let (forth, back) = (estimand(policy, against), estimand(against, policy));
        let populations = among(shift, self.target);
        let se = noise.held_out.map_or(f64::NAN, |h| h.se);
        let claim = |of: &Estimand, statement, value: f64, assumes| {
            self.claim(of, &populations, (statement, value, se), (limits.level, assumes))
        };
        let strict = decision.is_strict();
        let end = |l: &Limits| l.pairwise.filter(|_| strict).unwrap_or(l.in_class);
        let none = Statement::NoneWorse;
        let worse = || claim(&forth, Statement::SomeAsBad, self.ends(&limits).1, None);
        // The smallest difference is the other policy's largest, turned round.
        let turned = best.negated();
        let better = || claim(&back, Statement::SomeAsBad, self.ends(&turned).1, None);
        let claims = match (decision.verdict, decision.established) {
            (Verdict::Better, _) => vec![claim(&forth, none, end(&limits), decision.assumes)],
            (Verdict::Worse, _) => vec![claim(&back, none, end(&turned), decision.assumes)],
            (Verdict::Depends, _) => vec![worse(), better()],
            (Verdict::Undecided, Some(Established::SomewhereWorse)) => vec![worse()],
            (Verdict::Undecided, Some(Established::SomewhereBetter)) => vec![better()],
            (Verdict::Undecided, None) => Vec::new(),
        };
        Claims { claims, no_claim: None }
    }

    fn limits(&self, limits: Option<Limits>, why_not: Option<&str>) -> Result<Limits, Claims> {
        if let Some(why) = why_not.or(self.refused.as_deref()) {
            return Err(Claims::withheld(why));
        }
        limits.ok_or_else(|| {
            Claims::withheld(
                "the rows were not split, so nothing tells the noise of the worst case",
            )
        })
    }

    /// The end on the bad side, and the one on the good side.
    fn ends(&self, limits: &Limits) -> (f64, f64) {
        match self.direction {
            Direction::Cost => (limits.upper, limits.lower),
            Direction::Reward => (limits.lower, limits.upper),
        }
    }

    fn claim(
        &self,
        estimand: &Estimand,
        populations: &str,
        (statement, value, se): (Statement, f64, f64),
        (confidence, assumes): (f64, Option<Assumption>),
    ) -> Claim {
        let costs = self.direction == Direction::Cost;
        let none = statement == Statement::NoneWorse;
        // On the side on which it holds: the bad limit is high for costs, low for rewards.
        let told = limit(value, se, none == costs);
        let (beyond, least) = match self.direction {
            Direction::Cost => ("costs more than", "costs at least"),
            Direction::Reward => ("brings less than", "brings at most"),
        };
        let than = match &estimand.against {
            Some(against) => format!("the difference {} − {against}", estimand.policy),
            None => format!("the mean of {}", estimand.policy),
        };
        let what = match (none, &estimand.against) {
            (true, None) => {
                format!("no population {populations} {beyond} {told} under {}", estimand.policy)
            }
            (false, None) => {
                format!("some population {populations} {least} {told} under {}", estimand.policy)
            }
            (true, Some(_)) => {
                let passed = if costs { "exceeds" } else { "is below" };
                format!("in no population {populations} {than} {passed} {told}")
            }
            (false, Some(_)) => {
                let least = if costs { "at least" } else { "at most" };
                format!("in some population {populations} {than} is {least} {told}")
            }
        };
        let sure = level(confidence);
        let assuming = match assumes {
            Some(assumed) => format!("{sure} confidence, assuming that {}", assumed.words()),
            None => format!("{sure} confidence"),
        };
        Claim {
            estimand: estimand.clone(),
            populations: populations.to_owned(),
            statement,
            value,
            level: confidence,
            assumes,
            conditions: self.conditions.clone(),
            simulated: SIMULATED,
            sentence: format!("{} ({assuming})", capitalized(&what)),
        }
    }
}

/// With a capital letter.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// Which populations a worst case is over: `within 0.03 of the target`.
fn among(shift: &ShiftFacts, target: bool) -> String {
    let around = if target { "the target" } else { "the data" };
    if !shift.set.needs_known() {
        return format!("within {} of {around}", number(shift.radius));
    }
    match (shift.column_radii.is_empty(), shift.radius.is_finite()) {
        (false, _) => "with the target's known facts, within the columns' radii,".to_owned(),
        (true, true) => format!("with the target's known facts within {}", number(shift.radius)),
        (true, false) => "with the target's known facts".to_owned(),
    }
}

/// Why no claim is made of a combination of model, set and data: its coverage was not simulated.
fn unsimulated(basis: &EvaluationBasis<'_>) -> Option<String> {
    let (prepared, question): (&PreparedStudy, _) = (basis.prepared, &basis.question);
    let kind = prepared.model.recipe.kind();
    let set = question.context.set;
    let not = |what: String| Some(format!("{what}: how often limits hold there was not simulated"));
    if !is_simulated(kind) {
        return not(format!("the model is {}", kind.name()));
    }
    if !SIMULATED_SETS.contains(&set.name()) {
        return not(format!("the set is {}", set.name()));
    }
    if question.shifts_outcomes() {
        return not("outcomes may shift".to_owned());
    }
    if question.support == Support::Space {
        return not("people may move anywhere in the space".to_owned());
    }
    if basis.reference.balance().is_some() {
        return not("the data are reweighted to facts of the target".to_owned());
    }
    let weighs = basis.fitted.log().entries().iter().any(|e| e.unit != 1.0);
    if weighs { not("rows have survey weights".to_owned()) } else { None }
}

/// Whether it was simulated how often the limits of a kind of model hold the truth.
fn is_simulated(model: ModelKind) -> bool {
    use ModelKind::{Additive, Boosted, Forest, Tree};
    matches!(model, Additive | Boosted | Forest | Tree)
}

impl Evaluation {
    /// What can be claimed of a policy at one of its results, and how much of it may be noise, in a few
    /// sentences; or why nothing is.
    pub fn claim(&self, policy: &PolicyResult, result: usize) -> Option<String> {
        let at = policy.results.get(result)?;
        let mut words: Vec<String> = match &at.claims.no_claim {
            Some(why) => vec![format!("No claim is made: {why}.")],
            None => at.claims.claims.iter().map(|c| format!("{}.", c.sentence)).collect(),
        };
        let noise = at.noise(self.direction, self.diagnostics.facts.model.kind);
        words.extend(noise.map(|noise| format!("The worst case is {noise}.")));
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What the limits rest on, in a sentence or two; None where nothing is claimed.
    pub fn conditions(&self) -> Option<String> {
        let mut claims =
            self.policies.iter().flat_map(|p| &p.results).flat_map(|r| &r.claims.claims);
        let own: Vec<&str> = claims.next()?.conditions.iter().map(|c| c.words()).collect();
        let together = if self.policies.len() > 1 {
            " Limits hold jointly for all policies, and for all pairs (Bonferroni)."
        } else {
            ""
        };
        Some(format!(
            "{}; no three columns act together beyond the model.{together}",
            own.join("; ")
        ))
    }
}

impl RobustValue {
    /// How much of the worst case may be noise, and what to try; None without splits, and where the
    /// difference is within its own error.
    pub fn noise(&self, direction: Direction, model: ModelKind) -> Option<String> {
        let held_out = self.noise.held_out?;
        let noise = direction.sign() * (self.worst.value - held_out.value);
        if noise <= held_out.se.max(self.shown_se().filter(|se| !se.is_nan()).unwrap_or(0.0)) {
            return None;
        }
        let tell = |x: f64| supported(x, 10.0 * held_out.se);
        Some(format!(
            "{} plug-in, {} held out: up to {} of it may be overfitting{}",
            tell(self.worst.value),
            tell(held_out.value),
            tell(noise),
            remedy(model)
        ))
    }
}

/// What makes a model less noisy.
fn remedy(model: ModelKind) -> &'static str {
    match model {
        ModelKind::Cells => "; try a tree or a forest",
        ModelKind::Tree => "; try larger leaves or a forest",
        _ => "",
    }
}

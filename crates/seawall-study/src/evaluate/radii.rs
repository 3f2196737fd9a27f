//! Radii that mean something to a policy: what covers chance, and where its worst case saturates.

use super::Question;
use crate::words::number;
use seawall::evaluate::{Estimate, Evaluator, Robust};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{
    Curve, Detail, Direction, Error, Geometry, Problem, Progress, Result, Settings, Stage, Watch,
};
use serde::Serialize;
use std::sync::Arc;

/// Radii that mean something to one policy.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRadii {
    /// The policy.
    pub policy: String,
    /// The confidence limit of its estimate on the worse side.
    pub limit: f64,
    /// The least radius whose worst case reaches that; None if no population within reach does.
    pub chance: Option<f64>,
    /// Beyond this radius its worst case worsens no more; infinite (null) for couplings, where nobody
    /// looked.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "infinite")))]
    pub saturation: f64,
}

/// What covers chance for a policy whose direct estimate is known, and where its worst case saturates.
pub(crate) fn policy_radii(
    question: &Question,
    (fitted, robust): (&Evaluator, &Robust),
    (policy, values): (&Policy, &Values),
    nominal: Estimate,
    watch: Watch<'_>,
) -> Result<PolicyRadii> {
    let set = question.context.set;
    let own = if set.needs_actions() {
        fitted.log().values().to_vec()
    } else {
        robust.values(policy, values)?
    };
    let (direction, name) = (robust.direction(), policy.name());
    radii_of(question, (direction, &own), (name, nominal), watch, &|tolerance, settings| {
        let (_, curve) =
            fitted.worst_cases(robust, policy, values, set, &[], Some(tolerance), settings)?;
        curve.ok_or_else(|| Error::internal("a curve was asked for and none answered"))
    })
}

/// The same where the policy's values are given on the points of a population.
pub(crate) fn policy_radii_on(
    question: &Question,
    (geometry, direction): (&Arc<Geometry>, Direction),
    (policy, values): (&Policy, &[f64]),
    nominal: Estimate,
    watch: Watch<'_>,
) -> Result<PolicyRadii> {
    let set = question.context.set;
    let (of_values, of_policy) = ((direction, values), (policy.name(), nominal));
    radii_of(question, of_values, of_policy, watch, &|tolerance, settings| {
        let problem = Problem::on(geometry, values)?.direction(direction);
        set.solver(&problem, settings)?.curve(tolerance)
    })
}

fn radii_of(
    question: &Question,
    (direction, values): (Direction, &[f64]),
    (name, nominal): (&str, Estimate),
    watch: Watch<'_>,
    curve: &dyn Fn(f64, Settings<'_>) -> Result<Curve>,
) -> Result<PolicyRadii> {
    let limit = nominal.limit(direction);
    let settings =
        Settings { detail: Detail::Value, crossing: Some(limit), watch, ..Settings::default() };
    let set = question.context.set;
    let size = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let tolerance = if set.has_exact_curve() { 0.0 } else { (1e-9 * size).max(f64::MIN_POSITIVE) };
    // Where there is no radius, none covers anything; and the curve of couplings takes a hundred times as
    // long as an answer, for radii that what is known makes mean less. Other slow curves likewise.
    if !set.quick_curve() {
        let policy = name.to_owned();
        return Ok(PolicyRadii { policy, limit, chance: None, saturation: f64::INFINITY });
    }
    let curve = curve(tolerance, settings)?;
    watch.tell(Progress::at(Stage::Policy(name)))?;
    Ok(PolicyRadii {
        policy: name.to_owned(),
        limit,
        chance: curve.breakdown(limit).map(|b| b.radius),
        saturation: curve.vertices().last().map_or(0.0, |v| v.radius),
    })
}

/// A note for radii past which a policy's worst case worsens no more.
pub(crate) fn saturated(radii: &[f64], policies: &[PolicyRadii]) -> Option<String> {
    let last = policies.iter().map(|p| p.saturation).fold(0.0, f64::max);
    let beyond = radii.iter().any(|r| *r > last);
    (beyond && last > 0.0).then(|| {
        format!(
            "beyond {} everyone sits where the values are worst: larger radii say nothing more",
            number(last)
        )
    })
}

//! Radii that mean something to a policy: what covers chance, and where its worst case saturates.

use super::Question;
use crate::words::number;
use seawall::evaluate::Estimate;
use seawall::policy::Policy;
use seawall::{Detail, Direction, Geometry, Problem, Progress, Result, Settings, Stage, Watch};
use serde::Serialize;
use std::sync::Arc;

/// Radii that mean something to one policy.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PolicyRadii {
    /// The policy.
    pub policy: String,
    /// The confidence limit of its estimate on the worse side.
    pub limit: f64,
    /// The least radius whose worst case reaches that; None if no population within reach does.
    pub chance: Option<f64>,
    /// Beyond this radius its worst case worsens no more.
    pub saturation: f64,
}

/// What covers chance for a policy whose direct estimate is known, and where its worst case saturates.
/// Its values are given on the points of a population.
pub(crate) fn policy_radii(
    question: &Question,
    (geometry, direction): (&Arc<Geometry>, Direction),
    (policy, values): (&Policy, &[f64]),
    nominal: Estimate,
    watch: Watch<'_>,
) -> Result<PolicyRadii> {
    let limit = if direction == Direction::Cost { nominal.upper } else { nominal.lower };
    let settings =
        Settings { detail: Detail::Value, crossing: Some(limit), watch, ..Settings::default() };
    let set = question.context.set;
    let size = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let tolerance = if set.has_exact_curve() { 0.0 } else { (1e-9 * size).max(f64::MIN_POSITIVE) };
    let problem = Problem::on(geometry, values)?.direction(direction);
    let curve = set.solver(&problem, settings)?.curve(tolerance)?;
    watch.tell(Progress::at(Stage::Policy(policy.name())))?;
    Ok(PolicyRadii {
        policy: policy.name().to_owned(),
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

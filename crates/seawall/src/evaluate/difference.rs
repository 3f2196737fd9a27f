//! Two policies in one population: by how much one could be worse than the other.
//!
//! ```text
//! D(ε) = worst over Q within ε of  E_Q[l_π − l_π'],      the same Q for both
//! ```
//!
//! Separate worst cases compare policies in different populations; this does not. Where outcomes
//! may shift, they are the same whoever chose the action, so with `δ_a(x) = π(a|x) − π'(a|x)` the
//! integrand is
//!
//! ```text
//! d(x) = Σ_a [δ_a(x)]₊ m⁺(x, a) − [δ_a(x)]₋ m⁻(x, a)
//! ```
//!
//! with `m⁺` the worst and `m⁻` the best mean of the context and action within the cost radius:
//! exact, for outcomes shift context by context and action by action. The best difference of π to
//! π' is the worst one of π' to π, turned round.

use super::robust::{Robust, Solved};
use crate::ambiguity::{Set, Settings, Shift};
use crate::error::Result;
use crate::log::Log;
use crate::outcome::{LeftOver, Model, Side, Unseen, Values};
use crate::policy::Policy;
use std::sync::Arc;

/// A sum smaller than this share of its terms is rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The worst and the best mean of every context and action within a set of outcomes.
#[derive(Clone, Debug)]
pub struct ValueRange {
    /// The worst: the highest cost, the lowest reward.
    pub worst: Arc<Values>,
    /// The best.
    pub best: Arc<Values>,
}

impl ValueRange {
    /// Of a model fitted to a log, within one set of outcomes.
    pub fn from_model(
        model: &Model,
        log: &Log,
        costs: Shift,
        unseen: Unseen,
        settings: Settings<'_>,
    ) -> Result<Self> {
        Self::from_sides(costs, |side| {
            Ok(Arc::new(model.extremes(log, costs, side, unseen, settings)?))
        })
    }

    /// Without a shift of outcomes the two sides are the same plain mean.
    pub(super) fn from_sides(
        costs: Shift,
        of: impl Fn(Side) -> Result<Arc<Values>>,
    ) -> Result<Self> {
        let worst = of(Side::Worst)?;
        let plain = costs.radius == 0.0 && costs.set.stays_at_zero();
        let best = if plain { worst.clone() } else { of(Side::Best)? };
        Ok(ValueRange { worst, best })
    }

    /// The same with what is left in the model's residuals added back.
    pub fn with_left_over(&self, left: &LeftOver) -> Self {
        let worst = Arc::new(left.added_to(&self.worst));
        let best =
            if self.is_single() { worst.clone() } else { Arc::new(left.added_to(&self.best)) };
        ValueRange { worst, best }
    }

    /// What is left in the model's residuals, by itself.
    pub fn left_over(&self, left: &LeftOver) -> Self {
        let alone = Arc::new(left.alone(&self.worst));
        ValueRange { worst: alone.clone(), best: alone }
    }

    /// Whether the two are the same, so that differences are linear in the policy.
    pub fn is_single(&self) -> bool {
        Arc::ptr_eq(&self.worst, &self.best)
    }

    /// What the inner step leaves open in a difference: each policy's part of it.
    pub fn slack(&self) -> f64 {
        self.worst.slack() + self.best.slack()
    }

    /// By how much entropic values may be on the unsafe side of the exact ones in a difference.
    pub fn smoothing(&self) -> f64 {
        self.worst.smoothing() + self.best.smoothing()
    }

    /// `d(x)` in a context where one policy's probabilities are `row` and the other's `other`. What
    /// cancels but for rounding is 0, so that policies that do equally well stay equal.
    pub(crate) fn difference_at(&self, context: usize, row: &[f64], other: &[f64]) -> f64 {
        let (mut sum, mut size) = (0.0, 0.0);
        for (action, (p, q)) in row.iter().zip(other).enumerate() {
            let term = match p - q {
                more if more > 0.0 => more * self.worst.at(context, action),
                less => less * self.best.at(context, action),
            };
            (sum, size) = (sum + term, size + f64::abs(term));
        }
        if f64::abs(sum) <= ROUNDING * size { 0.0 } else { sum }
    }
}

impl Robust {
    /// `d(x)` at every context of the support. Policies or values of another space are refused by
    /// the feature in which it differs.
    pub fn difference(
        &self,
        policy: &Policy,
        against: &Policy,
        values: &ValueRange,
    ) -> Result<Vec<f64>> {
        self.contexts().same_as(values.worst.space())?;
        self.contexts().same_as(values.best.space())?;
        for policy in [policy, against] {
            policy.check_against(self.contexts(), values.worst.actions())?;
        }
        let at = |&i: &usize| values.difference_at(i, policy.row(i), against.row(i));
        Ok(self.points().iter().map(at).collect())
    }

    /// The worst differences of a policy to another at several radii of a set, and the curve to a
    /// tolerance if one is given. A positive difference is worse for costs, a negative one for
    /// rewards.
    pub fn worst_difference(
        &self,
        (policy, against): (&Policy, &Policy),
        values: &ValueRange,
        set: impl Into<Set>,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let (set, slack) = (set.into(), values.slack());
        if let Some(whole) = self.whole_for(set)? {
            let function = self.step_difference(policy, against, values)?;
            let solver = whole.solver(&function, self.direction(), settings)?;
            return self.ask(solver, slack, radii, curve, settings);
        }
        let own = self.difference(policy, against, values)?;
        self.solve(&own, slack, set, radii, curve, settings)
    }
}

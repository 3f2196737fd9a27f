//! Worst cases over people with their actions and outcomes, and one way to ask for any set's.

mod wasserstein;

use super::fitted::Fitted;
use super::robust::{Robust, Solved};
use crate::ambiguity::{Set, Settings};
use crate::error::Result;
use crate::outcome::Values;
use crate::policy::Policy;

impl Fitted {
    /// The worst cases of a policy at several radii of any set, and the whole curve to a tolerance if
    /// one is given. Sets that are about people with their actions and outcomes
    /// ([`Set::needs_actions`]) look at the log and its model; the others at the values alone.
    #[expect(clippy::too_many_arguments, reason = "what Robust::evaluate asks for, and where")]
    pub fn worst_cases(
        &self,
        robust: &Robust,
        policy: &Policy,
        values: &Values,
        set: impl Into<Set>,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        match set.into() {
            Set::JointWasserstein(set) => {
                wasserstein::evaluate(self, robust, policy, set, radii, curve, settings)
            }
            set => robust.evaluate(policy, values, set, radii, curve, settings),
        }
    }
}

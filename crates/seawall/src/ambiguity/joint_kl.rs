//! Joint KL: people with their context, action and outcome are weighed anew (Si, Zhang, Zhou and
//! Blanchet 2020, 2023).
//!
//! With `w = π(A|X)/π₀(A|X)` the ratio of a policy to the propensity of what was done, and costs `Y`,
//!
//! ```text
//! V(δ) = min_{α≥0} αδ + α log (E[w e^{Y/α}] / E[w])
//! ```
//!
//! is the worst mean over all laws of (context, outcome of what the policy does) whose divergence from
//! the observed one is at most `δ` nats. Unlike [`Kl`](super::Kl) it also weighs anew what happens to
//! people of one context. It is asked of a log and a policy, in `evaluate::joint`; contexts and values
//! alone do not say what it is.

use super::Set;
use super::problem::Problem;
use super::set::{About, Shift, asked_of_a_log};
use super::settings::Settings;
use super::solver::Solve;
use crate::error::Result;

/// Every reweighting of people with their outcomes whose KL divergence is at most the radius, in nats;
/// valued by inverse propensity weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointKl;

impl JointKl {
    pub(super) const ABOUT: About = About {
        name: "joint-kl",
        away: "“Away” is a Kullback–Leibler divergence, in nats: nobody moves; people and what happens \
               to them are weighed anew together, so that outcomes too may be worse than those seen.",
        parameters: &[],
        make: |_| Set::JointKl(JointKl),
    };
}

impl Shift for JointKl {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn moves_mass(&self) -> bool {
        false
    }

    fn has_exact_curve(&self) -> bool {
        false
    }

    fn has_gradient(&self) -> bool {
        true
    }

    fn needs_actions(&self) -> bool {
        true
    }

    fn fears(&self) -> Option<&'static str> {
        Some("more people with bad outcomes")
    }

    fn solver<'a>(&self, _: &Problem<'a>, _: Settings<'a>) -> Result<Box<dyn Solve + 'a>> {
        Err(asked_of_a_log(Self::ABOUT.name))
    }
}

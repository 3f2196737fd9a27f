//! Joint KL, doubly robust (Kallus, Mao, Wang and Zhou 2022): the same set as [`JointKl`](super::JointKl),
//! its value estimated from an outcome model, too.
//!
//! Where they localise the nuisance `E[e^{Y/α}|x, a]` at a first guess of `α`, here the whole
//! *distribution* of the outcomes that the policy would have met is estimated doubly robustly, because a
//! leaf keeps its outcomes; every `α` follows from it at once, and nothing is iterated that could
//! diverge. See `evaluate::joint`.

use super::Set;
use super::problem::Problem;
use super::set::{About, Shift, asked_of_a_log};
use super::settings::Settings;
use super::solver::Solve;
use crate::error::Result;

/// Every reweighting of people with their outcomes whose KL divergence is at most the radius, in nats;
/// valued doubly robustly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointKlDr;

impl JointKlDr {
    pub(super) const ABOUT: About = About {
        name: "joint-kl-dr",
        away: "“Away” is a Kullback–Leibler divergence, in nats: nobody moves; people and what happens \
               to them are weighed anew together, so that outcomes too may be worse than those seen. \
               What the policy would have met is estimated doubly robustly.",
        parameters: &[],
        make: |_| Set::JointKlDr(JointKlDr),
    };
}

impl Shift for JointKlDr {
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
        false
    }

    fn needs_actions(&self) -> bool {
        true
    }

    fn fears(&self) -> Option<&'static str> {
        Some("more people with bad outcomes")
    }

    fn needs_outcomes(&self) -> bool {
        true
    }

    fn solver<'a>(&self, _: &Problem<'a>, _: Settings<'a>) -> Result<Box<dyn Solve + 'a>> {
        Err(asked_of_a_log(Self::ABOUT.name))
    }
}

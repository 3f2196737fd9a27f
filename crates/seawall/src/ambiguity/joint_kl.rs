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

use super::ambiguity_set::{About, AmbiguitySet};
use super::capabilities::Capabilities;

/// How the outcomes that a policy would have met are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JointEstimator {
    /// By inverse propensity weights alone.
    #[default]
    Weighted,
    /// Doubly robustly (Kallus, Mao, Wang and Zhou 2022): from an outcome model, too.
    ///
    /// Where they localise the nuisance `E[e^{Y/α}|x, a]` at a first guess of `α`, here the whole
    /// *distribution* of the outcomes that the policy would have met is estimated doubly robustly, because a
    /// leaf keeps its outcomes; every `α` follows from it at once, and nothing is iterated that could
    /// diverge.
    DoublyRobust,
}

/// Every reweighting of people with their outcomes whose KL divergence is at most the radius, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointKl {
    /// How it is valued.
    pub estimator: JointEstimator,
}

impl JointKl {
    pub(super) const ABOUT: About = About {
        name: "joint-kl",
        parameters: &[],
        capabilities: Capabilities { needs_log: true, ..Capabilities::REWEIGHTS },
        instead: &[],
    };

    /// With the outcome model; written by a name of its own.
    pub(super) const ABOUT_DOUBLY_ROBUST: About = About {
        name: "joint-kl-dr",
        capabilities: Capabilities {
            gradient: false,
            needs_outcomes: true,
            ..Self::ABOUT.capabilities
        },
        ..Self::ABOUT
    };
}

impl AmbiguitySet for JointKl {
    fn about(&self) -> &'static About {
        match self.estimator {
            JointEstimator::Weighted => &Self::ABOUT,
            JointEstimator::DoublyRobust => &Self::ABOUT_DOUBLY_ROBUST,
        }
    }
}

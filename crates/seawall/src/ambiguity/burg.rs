//! Burg worst case, or reverse KL: `Σ p (−log(q/p) + q/p − 1) ≤ ε`, in nats.
//!
//! The power divergence of order 0, so everything else is that one's ([`divergence`]). Nobody who was
//! seen loses all weight, for that costs more than any radius: the largest value is neared and never
//! reached. Places never observed may gain mass, at a cost of 1 a unit however far they are.
//!
//! [`divergence`]: super::divergence

use super::Set;
use super::divergence::{Power, Solver};
use super::geometry::Geometry;
use super::problem::Problem;
use super::set::{About, Shift};
use super::settings::Settings;
use super::solver::Solve;
use crate::error::Result;

/// Every population from which the observed one has a KL divergence of at most the radius, in nats;
/// where nobody was seen a unit of mass costs 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Burg;

impl Burg {
    pub(super) const ABOUT: About = About {
        name: "burg",
        away: "“Away” is a reverse Kullback–Leibler divergence (Burg), in nats: nobody moves, people are \
               weighed anew but none of them to nothing, and contexts that nobody was seen in may gain \
               weight, however far they are.",
        parameters: &[],
        make: |_| Set::Burg(Burg),
    };

    fn power() -> Power {
        Power::new(0.0, 1.0)
    }
}

impl Shift for Burg {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn method(&self) -> Option<String> {
        Some("reverse Kullback–Leibler (Burg), solved exactly".to_owned())
    }

    fn moves_mass(&self) -> bool {
        false
    }

    fn reaches_unseen(&self) -> bool {
        true
    }

    fn has_exact_curve(&self) -> bool {
        false
    }

    fn has_gradient(&self) -> bool {
        true
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        Ok(Some(Self::power().between(geometry.population().weights(), other)))
    }

    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        Ok(Box::new(Solver::new(Self::power(), problem, settings)))
    }
}

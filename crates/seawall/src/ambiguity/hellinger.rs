//! Hellinger worst case: `Σ p (√(q/p) − 1)² ≤ ε`, which is `Σ (√q − √p)²`, from 0 to 2.
//!
//! Half the power divergence of order ½, so everything else is that one's ([`divergence`]). Places
//! never observed may gain mass, at a cost of 1 a unit however far they are.
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

/// Every population whose squared Hellinger distance, `Σ (√q − √p)²`, is at most the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hellinger;

impl Hellinger {
    pub(super) const ABOUT: About = About {
        name: "hellinger",
        away: "“Away” is a squared Hellinger distance, from 0 to 2: nobody moves, people are weighed \
               anew, and contexts that nobody was seen in may gain weight, however far they are.",
        parameters: &[],
        make: |_| Set::Hellinger(Hellinger),
    };

    fn power() -> Power {
        Power::new(0.5, 0.5)
    }
}

impl Shift for Hellinger {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn method(&self) -> Option<String> {
        Some("Hellinger, solved exactly".to_owned())
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

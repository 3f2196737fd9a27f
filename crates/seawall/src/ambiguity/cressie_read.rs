//! Cressie–Read worst case: `Σ p φ_k(q/p) ≤ ε`, `φ_k(t) = (t^k − k t + k − 1) / (k (k − 1))`.
//!
//! The power divergence of order k ([`divergence`]): k → 1 is KL, k → 0 Burg, k = 2 half of χ², k = ½
//! twice Hellinger. Places never observed may gain mass where k < 1, at a cost of `1/(1 − k)` a unit
//! however far they are; where k ≤ 0 nobody who was seen loses all weight.
//!
//! [`divergence`]: super::divergence

use super::divergence::{Power, Solver};
use super::geometry::Geometry;
use super::problem::Problem;
use super::set::{About, Argument, Parameter, Shift, Takes};
use super::settings::Settings;
use super::solver::Solve;
use super::{Chi2, Hellinger, Set};
use crate::error::{Error, Result};

/// Every population whose Cressie–Read divergence of order k is at most the radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CressieRead {
    /// The order k: the larger, the dearer it is to weigh somebody up, and the cheaper to weigh
    /// somebody down.
    pub k: f64,
}

impl CressieRead {
    pub(super) const ABOUT: About = About {
        name: "cressie-read",
        away: "“Away” is a Cressie–Read divergence: nobody moves, people are weighed anew; contexts that \
               nobody was seen in may gain weight if k is below 1, however far they are, and keep none \
               otherwise.",
        parameters: &[Parameter {
            name: "k",
            hint: "its order; 2 is half of chi2, 0.5 twice hellinger, near 1 it is kl",
            examples: &["3", "0.5", "2"],
            takes: Takes::NeitherZeroNorOne,
            optional: false,
        }],
        make: |given| Set::CressieRead(CressieRead { k: given.number(0) }),
    };

    fn power(&self) -> Power {
        Power::new(self.k, 1.0)
    }
}

impl Shift for CressieRead {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Number(self.k))]
    }

    fn also(&self) -> Option<Set> {
        match self.k {
            2.0 => Some(Chi2.into()),
            0.5 => Some(Hellinger.into()),
            _ => None,
        }
    }

    fn method(&self) -> Option<String> {
        Some(format!("Cressie–Read, k = {}, solved exactly", self.k))
    }

    fn moves_mass(&self) -> bool {
        false
    }

    fn reaches_unseen(&self) -> bool {
        self.k < 1.0
    }

    fn has_exact_curve(&self) -> bool {
        false
    }

    fn has_gradient(&self) -> bool {
        true
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        Ok(Some(self.power().between(geometry.population().weights(), other)))
    }

    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let k = self.k;
        // The divergence divides by k (k − 1).
        if !(k * (k - 1.0)).is_finite() {
            let k = Argument::Number(k);
            return Err(Error::config(format!(
                "k = {k} is out of scale: choose one whose square is a number"
            )));
        }
        Ok(Box::new(Solver::new(self.power(), problem, settings)))
    }
}

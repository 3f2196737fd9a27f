//! Power divergences: `Σ p φ(q/p) ≤ ε` with `φ = factor · φ_k`,
//! `φ_k(t) = (t^k − k t + k − 1) / (k (k − 1))`.
//!
//! Cressie and Read's family is `factor = 1`; χ² (`Σ p (q/p − 1)²`), the squared Hellinger distance
//! (`Σ (√q − √p)²`, from 0 to 2) and Burg's reverse KL (`Σ p (−log(q/p) + q/p − 1)`, in nats) are constants
//! of it. KL is the limit k → 1, which has a file of its own.
//!
//! φ_k grows like `t/(1 − k)` for k < 1: then places without rows may gain mass at that price a unit,
//! however far they are. For k ≤ 0 nobody who was seen loses all weight, for that costs more than any
//! radius. Order 2 has a solver that finds its pole in closed form ([`chi2`]), which is exact to more digits
//! and faster; every other order is solved by a search for the pole ([`power_solver`]).
//!
//! [`chi2`]: super::chi2
//! [`power_solver`]: super::power_solver

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::chi2::Chi2Solver;
use super::geometry::Geometry;
use super::parameters::{Argument, Parameter, Takes};
use super::phi::Phi;
use super::power_solver::PowerSolver;
use super::problem::Problem;
use super::settings::Settings;
use super::solve::{PricedSolver, Solve};
use crate::error::{Error, Result};

/// Every population whose power divergence of order k is at most the radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerDivergence {
    /// The larger, the dearer it is to weigh somebody up, and the cheaper to weigh somebody down.
    order: f64,
    /// What multiplies Cressie and Read's divergence.
    factor: f64,
}

impl PowerDivergence {
    /// χ²: `Σ p (q/p − 1)²`.
    pub const CHI2: Self = PowerDivergence { order: 2.0, factor: 2.0 };
    /// The squared Hellinger distance: `Σ (√q − √p)²`, from 0 to 2.
    pub const HELLINGER: Self = PowerDivergence { order: 0.5, factor: 0.5 };
    /// Burg's, or reverse KL: `Σ p (−log(q/p) + q/p − 1)`, in nats.
    pub const BURG: Self = PowerDivergence { order: 0.0, factor: 1.0 };

    pub(super) const ABOUT_CHI2: About = About {
        name: "chi2",
        parameters: &[],
        capabilities: Capabilities::REWEIGHTS,
        instead: &[],
    };
    pub(super) const ABOUT_HELLINGER: About = About {
        name: "hellinger",
        capabilities: Capabilities { reaches_unseen: true, ..Capabilities::REWEIGHTS },
        ..Self::ABOUT_CHI2
    };
    pub(super) const ABOUT_BURG: About = About { name: "burg", ..Self::ABOUT_HELLINGER };
    pub(super) const ABOUT_CRESSIE_READ: About = About {
        name: "cressie-read",
        parameters: &[Parameter {
            name: "k",
            hint: "its order; 2 is half of chi2, 0.5 twice hellinger, near 1 it is kl",
            examples: &["3", "0.5", "2"],
            takes: Takes::NeitherZeroNorOne,
            optional: false,
        }],
        ..Self::ABOUT_CHI2
    };

    /// Cressie and Read's divergence of an order other than 0 and 1: near those it is Burg's and KL.
    pub const fn cressie_read(order: f64) -> Self {
        PowerDivergence { order, factor: 1.0 }
    }

    /// The divergence of another name that has the same populations, at a radius of its own.
    pub(super) fn also(self) -> Self {
        match self.order {
            2.0 => Self::CHI2,
            0.5 => Self::HELLINGER,
            _ => self,
        }
    }

    fn phi(&self) -> Phi {
        Phi::new(self.order, self.factor)
    }
}

impl AmbiguitySet for PowerDivergence {
    fn about(&self) -> &'static About {
        match *self {
            Self::CHI2 => &Self::ABOUT_CHI2,
            Self::HELLINGER => &Self::ABOUT_HELLINGER,
            Self::BURG => &Self::ABOUT_BURG,
            _ => &Self::ABOUT_CRESSIE_READ,
        }
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        self.about().parameters.iter().map(|_| Some(Argument::Number(self.order))).collect()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { reaches_unseen: self.order < 1.0, ..self.about().capabilities }
    }
}

impl SolvableSet for PowerDivergence {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let k = self.order;
        // The divergence divides by k (k − 1).
        if !(k * (k - 1.0)).is_finite() {
            let k = Argument::Number(k);
            return Err(Error::config(format!(
                "k = {k} is out of scale: choose one whose square is a number"
            )));
        }
        if k == 2.0 {
            let oracle = Chi2Solver::new(problem, settings, 0.5 * self.factor);
            return Ok(Box::new(PricedSolver::new(oracle, settings)));
        }
        let oracle = PowerSolver::new(self.phi(), problem, settings);
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        Ok(Some(self.phi().between(geometry.population().weights(), other)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::random::Random;
    use crate::population::Population;
    use crate::space::Feature;

    #[test]
    fn the_closed_form_of_order_2_agrees_with_the_search_for_its_pole() {
        let mut random = Random::new(5, 0);
        for round in 0..60 {
            let people = 2 + random.below(40);
            let column = vec![(0..people).map(|i| i as f64).collect()];
            let population = Population::from_samples([Feature::numeric("x")], column).unwrap();
            let values: Vec<f64> = (0..people).map(|_| (8.0 * random.normal()).round()).collect();
            let problem = Problem::new(&population, &values).unwrap();
            let settings = Settings::default();
            for factor in [1.0, 2.0] {
                let set = PowerDivergence { order: 2.0, factor };
                let search = PowerSolver::new(set.phi(), &problem, settings);
                let mut search = PricedSolver::new(search, settings);
                let mut closed = SolvableSet::solver(&set, &problem, settings).unwrap();
                for radius in [0.0, 1e-3, 0.1, 0.7, 3.0, 1e3] {
                    let (a, b) = (search.worst_case(radius), closed.worst_case(radius));
                    let (a, b) = (a.unwrap(), b.unwrap());
                    let what = format!("{round} {factor} {radius}: {} {}", a.value(), b.value());
                    assert!(
                        (a.value() - b.value()).abs() <= 1e-10 * (1.0 + b.value().abs()),
                        "{what}"
                    );
                    let slopes = (a.lambda() - b.lambda()).abs() <= 1e-6 * (1.0 + b.lambda().abs());
                    assert!(slopes || a.lambda() == b.lambda(), "{what}");
                }
                let (a, b) = (search.curve(1e-4).unwrap(), closed.curve(1e-4).unwrap());
                for radius in [0.05, 0.4, 2.0] {
                    assert!((a.at(radius).value - b.at(radius).value).abs() <= 3e-4, "{round}");
                }
            }
        }
    }
}

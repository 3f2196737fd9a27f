//! The two-step robust value [3.1–3.4].
//!
//! 1. `m(x, a)`: the worst case over outcomes, from the outcome model ([`crate::outcome`]).
//! 2. `l(x) = Σ_a π(a|x) m(x, a)`; then the worst case of `l` over contexts.
//!
//! What the first step leaves open (`Values::gap`) widens the bounds of the second: a worst case
//! moves by no more than its values do.
//!
//! The support of the second step is every point of the context space, or only those observed:
//! a lower bound, for the adversary likes places where no data are.

use crate::ambiguity::{Ambiguity, Curve, Direction, Problem, Settings, WorstCase};
use crate::error::Result;
use crate::log::Log;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use std::sync::Arc;

/// Which contexts mass may move to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Support {
    /// Every point of the context space.
    #[default]
    All,
    /// Those of the log.
    Observed,
}

/// A log's contexts, ready for the second step.
pub struct Robust {
    population: Population,
    /// The contexts of the support, by their index in the log's space.
    points: Vec<usize>,
    direction: Direction,
}

impl Robust {
    /// The contexts of a log on a support.
    pub fn new(log: &Log, support: Support) -> Result<Self> {
        let population = log.population()?;
        let weights = population.weights();
        let (points, population) = match support {
            Support::All => ((0..weights.len()).collect(), population),
            Support::Observed => {
                let seen: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
                let space = Arc::new(log.contexts().subset(&seen)?);
                let weights = seen.iter().map(|&i| weights[i]).collect();
                (seen, Population::from_weights(space, weights)?)
            }
        };
        Ok(Robust { population, points, direction: log.direction() })
    }

    /// The population of contexts on the support.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// Whether the log's values are costs or rewards.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The contexts of the support, by their index in the log's space.
    pub fn points(&self) -> &[usize] {
        &self.points
    }

    /// `l(x)` of a policy at every context of the support.
    pub fn values(&self, policy: &Policy, values: &Values) -> Vec<f64> {
        let all = policy.values(values);
        self.points.iter().map(|&i| all[i]).collect()
    }

    /// The worst cases of a policy at several radii of sets like `set`, and the whole curve to a
    /// tolerance if one is given.
    pub fn evaluate(
        &self,
        policy: &Policy,
        values: &Values,
        set: Ambiguity,
        radii: &[f64],
        curve: Option<f64>,
        settings: &Settings<'_>,
    ) -> Result<(Vec<WorstCase>, Option<Curve>)> {
        let (values, gap) = (self.values(policy, values), values.gap());
        let problem = Problem::new(&self.population, &values)?.direction(self.direction);
        let mut solver = set.solver(&problem, settings)?;
        let worst = radii.iter().map(|&radius| {
            let mut worst = solver.worst_case(radius)?;
            worst.widen(self.direction, gap, settings.tolerance);
            Ok(worst)
        });
        let worst = worst.collect::<Result<_>>()?;
        let curve = curve.map(|tolerance| solver.curve(tolerance)).transpose()?;
        Ok((worst, curve))
    }
}

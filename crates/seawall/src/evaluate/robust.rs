//! The two-step robust value [3.1–3.4].
//!
//! 1. `m(x, a)`: the worst case over outcomes, from the outcome model ([`crate::outcome`]).
//! 2. `l(x) = Σ_a π(a|x) m(x, a)`; then the worst case of `l` over contexts.
//!
//! What the first step leaves open (`Values::slack`) widens the bounds of the second: a worst case
//! moves by no more than its values do.
//!
//! The support of the second step is every point of the context space, or only those observed:
//! a lower bound, for the adversary likes places where no data are.

use crate::ambiguity::{Ambiguity, Curve, Direction, Geometry, Problem, Set, Settings, WorstCase};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::space::Space;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Which contexts mass may move to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Support {
    /// Every point of the context space.
    #[default]
    #[serde(rename = "grid")]
    All,
    /// Those of the log.
    #[serde(rename = "observed")]
    Observed,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Support::All => "grid",
            Support::Observed => "observed",
        })
    }
}

/// A log's contexts, ready for the second step.
pub struct Robust {
    geometry: Arc<Geometry>,
    /// The log's contexts.
    contexts: Arc<Space>,
    /// The contexts of the support, by their index in the log's space.
    points: Vec<usize>,
    direction: Direction,
    /// Where the population is not the log's: whether the log has rows at each point.
    seen: Option<Vec<bool>>,
}

/// Worst cases at the radii asked for, and the curve if it was.
pub type Solved = (Vec<WorstCase>, Option<Curve>);

impl Robust {
    /// The contexts of a log on a support.
    pub fn new(log: &Log, support: Support) -> Result<Self> {
        let own = log.population()?;
        Ok(Robust { seen: None, ..Self::centred(log, &own, &own, support)? })
    }

    /// Another population of the log's contexts in its place, on a support: every point, or those
    /// that the log or the population has. Places count as observed if the log has rows there.
    pub fn around(log: &Log, population: &Population, support: Support) -> Result<Self> {
        log.contexts().same_as(population.space())?;
        Self::centred(log, &log.population()?, population, support)
    }

    fn centred(log: &Log, own: &Population, centre: &Population, support: Support) -> Result<Self> {
        let (rows, weights) = (own.weights(), centre.weights());
        let (points, population): (Vec<usize>, Population) = match support {
            Support::All => ((0..weights.len()).collect(), centre.clone()),
            Support::Observed => {
                let some = |&i: &usize| rows[i] > 0.0 || weights[i] > 0.0;
                let points: Vec<usize> = (0..weights.len()).filter(some).collect();
                let space = Arc::new(log.contexts().subset(&points)?);
                let weights = points.iter().map(|&i| weights[i]).collect();
                (points, Population::from_weights(space, weights)?)
            }
        };
        let seen = points.iter().map(|&i| rows[i] > 0.0).collect();
        Ok(Robust {
            geometry: Geometry::new(&population).shared(),
            contexts: log.contexts().clone(),
            points,
            direction: log.direction(),
            seen: Some(seen),
        })
    }

    /// The population of contexts on the support.
    pub fn population(&self) -> &Population {
        self.geometry.population()
    }

    /// The population, prepared for inner maxima.
    pub fn geometry(&self) -> &Arc<Geometry> {
        &self.geometry
    }

    /// The log's contexts.
    pub fn contexts(&self) -> &Arc<Space> {
        &self.contexts
    }

    /// Whether the log's values are costs or rewards.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The contexts of the support, by their index in the log's space.
    pub fn points(&self) -> &[usize] {
        &self.points
    }

    /// `l(x)` of a policy at every context of the support. A policy or values of another space are
    /// refused by the feature in which it differs.
    pub fn values(&self, policy: &Policy, values: &Values) -> Result<Vec<f64>> {
        self.contexts.same_as(values.space())?;
        let all = policy.values(values)?;
        Ok(self.points.iter().map(|&i| all[i]).collect())
    }

    /// The worst case of a policy.
    pub fn worst_case(
        &self,
        policy: &Policy,
        values: &Values,
        within: Ambiguity,
        settings: Settings<'_>,
    ) -> Result<WorstCase> {
        let own = self.values(policy, values)?;
        let (set, radii) = (within.set, [within.radius]);
        let (mut worst, _) = self.solve(&own, values.slack(), set, &radii, None, settings)?;
        worst.pop().ok_or_else(|| Error::internal("one radius was asked for and none answered"))
    }

    /// The worst cases of a policy at several radii of a set, and the whole curve to a tolerance if
    /// one is given.
    pub fn evaluate(
        &self,
        policy: &Policy,
        values: &Values,
        set: impl Into<Set>,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let own = self.values(policy, values)?;
        self.solve(&own, values.slack(), set.into(), radii, curve, settings)
    }

    /// Worst cases of a function on the support, too bad by at most `slack`.
    pub(super) fn solve(
        &self,
        own: &[f64],
        slack: f64,
        set: Set,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
        let problem = Problem::on(&self.geometry, own)?.direction(self.direction);
        let mut solver = set.solver(&problem, settings)?;
        let worst = radii.iter().map(|&radius| {
            let worst = solver.worst_case(radius)?;
            let worst = match &self.seen {
                Some(seen) => worst.observed_where(seen),
                None => worst,
            };
            Ok(worst.widened(self.direction, slack, settings.tolerance))
        });
        let worst = worst.collect::<Result<_>>()?;
        let curve = curve.map(|tolerance| solver.curve(tolerance)).transpose()?;
        Ok((worst, curve.map(|curve| curve.widened(slack))))
    }
}

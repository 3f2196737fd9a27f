//! The two-step robust value [3.1–3.4].
//!
//! 1. `m(x, a)`: the worst case over outcomes, from the outcome model ([`crate::outcome`]).
//! 2. `l(x) = Σ_a π(a|x) m(x, a)`; then the worst case of `l` over contexts.
//!
//! What the first step leaves open (`Values::slack`) widens the bounds of the second: a worst case
//! moves by no more than its values do.
//!
//! The support of the second step is every point of the context space; or only those observed, a
//! lower bound, for the adversary likes places where no data are; or the whole space, listed or not.

use crate::ambiguity::sets::Wasserstein;
use crate::ambiguity::{
    Curve, Direction, Geometry, Problem, Set, Settings, Shift, Solver, Whole, WorstCase,
};
use crate::error::{Error, Field, Result};
use crate::known::Known;
use crate::log::Log;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::space::{self, Space};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Which contexts mass may move to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Support {
    /// Every point of the context space.
    #[default]
    #[serde(rename = "grid")]
    All,
    /// Those of the log.
    #[serde(rename = "observed")]
    Observed,
    /// Every value between each column's ends, every level, every combination, listed or not. Needs
    /// values and policies made of steps ([`Values::are_everywhere`]).
    #[serde(rename = "space")]
    Space,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Support::All => "grid",
            Support::Observed => "observed",
            Support::Space => "space",
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
    /// The whole of the space, where mass may go anywhere.
    whole: Option<Whole>,
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

    /// A population that was prepared, every point of its space a context.
    pub(crate) fn listed(geometry: Geometry, direction: Direction) -> Self {
        let contexts = geometry.population().space().clone();
        let (points, geometry) = ((0..contexts.len()).collect(), geometry.shared());
        Robust { geometry, contexts, points, direction, whole: None, seen: None }
    }

    /// The same, where something is known of the population that is asked about: facts of the log's
    /// contexts, or of another space with these columns and levels. For the set
    /// [`Couplings`](crate::Couplings).
    pub fn knowing(self, known: &Known) -> Result<Self> {
        let population = self.geometry.population();
        let known = Arc::new(known.on(population.space())?);
        let geometry = Geometry::new(population).knowing(known)?.shared();
        Ok(Robust { geometry, ..self })
    }

    fn centred(log: &Log, own: &Population, centre: &Population, support: Support) -> Result<Self> {
        let (rows, weights) = (own.weights(), centre.weights());
        let (points, population): (Vec<usize>, Population) = match support {
            Support::All => ((0..weights.len()).collect(), centre.clone()),
            Support::Observed | Support::Space => {
                let some = |&i: &usize| rows[i] > 0.0 || weights[i] > 0.0;
                let points: Vec<usize> = (0..weights.len()).filter(some).collect();
                let listed = matches!(log.contexts().layout(), space::Layout::Points(_));
                // A large list of points is not copied.
                let population = if listed && points.len() == weights.len() {
                    centre.clone()
                } else {
                    let space = Arc::new(log.contexts().subset(&points)?);
                    let weights = points.iter().map(|&i| weights[i]).collect();
                    Population::from_weights(space, weights)?
                };
                (points, population)
            }
        };
        let whole = (support == Support::Space).then(|| Whole::new(log.contexts(), &population));
        let seen = points.iter().map(|&i| rows[i] > 0.0).collect();
        Ok(Robust {
            geometry: Geometry::new(&population).shared(),
            contexts: log.contexts().clone(),
            points,
            direction: log.direction(),
            whole,
            seen: Some(seen),
        })
    }

    /// Whether the population is the log's own.
    pub(super) fn is_the_logs_own(&self) -> bool {
        self.seen.is_none()
    }

    /// The population of contexts on the support.
    pub fn population(&self) -> &Population {
        self.geometry.population()
    }

    /// The population, prepared for inner maxima.
    pub fn geometry(&self) -> &Arc<Geometry> {
        &self.geometry
    }

    /// The whole of the space, where mass may go anywhere.
    pub(crate) fn whole(&self) -> Option<&Whole> {
        self.whole.as_ref()
    }

    /// About how many steps one evaluation of the dual takes: what a long question can be told by
    /// before it is asked.
    pub fn work(&self) -> f64 {
        match &self.whole {
            Some(whole) => whole.work(),
            None => self.geometry.work(),
        }
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
        within: Shift,
        settings: Settings<'_>,
    ) -> Result<WorstCase> {
        let (set, radii) = (within.set, [within.radius]);
        let (mut worst, _) = self.evaluate(policy, values, set, &radii, None, settings)?;
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
        let (set, slack) = (set.into(), values.slack());
        if let Some(whole) = self.whole_for(set)? {
            let function = self.step_function(policy, values)?;
            let solver = whole.solver(&function, self.direction, settings)?;
            return self.ask(solver, slack, radii, curve, settings);
        }
        let own = self.values(policy, values)?;
        self.solve(&own, slack, set, radii, curve, settings)
    }

    /// The whole of the space, if that is the support and the set moves mass there; refused for a set
    /// that would have to list it. Where nobody moves, the points observed are all that matters.
    pub(super) fn whole_for(&self, set: Set) -> Result<Option<&Whole>> {
        match &self.whole {
            Some(whole) if set == Set::from(Wasserstein) => Ok(Some(whole)),
            Some(_) if set.reaches_unseen() => {
                let others = Set::names().filter_map(|name| Set::example(name, &[]).ok());
                let there = others.filter(|s| *s == Wasserstein.into() || !s.reaches_unseen());
                let there: Vec<String> = there.map(|s| s.to_string()).collect();
                let what = format!(
                    "is the whole space, which the set {} would have to list; expected one of {} there",
                    set.name(),
                    there.join(", ")
                );
                Err(Error::field(Field::Support, what)
                    .advise(Field::Support, &["grid", "observed"]))
            }
            _ => Ok(None),
        }
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
        self.ask(set.solver(&problem, settings)?, slack, radii, curve, settings)
    }

    /// What a solver says of the radii, and of the curve, values being too bad by at most `slack`.
    pub(super) fn ask(
        &self,
        mut solver: Solver<'_>,
        slack: f64,
        radii: &[f64],
        curve: Option<f64>,
        settings: Settings<'_>,
    ) -> Result<Solved> {
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

//! Stage 3. Ambiguity sets: the worst-case mean of a function over all populations within a
//! radius of the observed one, with a certificate; and the whole curve against the radius.
//!
//! ```
//! use seawall::{Ambiguity, Feature, Population, Problem, Settings, Space, Status};
//! use std::sync::Arc;
//!
//! // A loss that grows with age, seen on 30- and 40-year-olds; 50 and 60 are possible places.
//! let space = Arc::new(Space::grid([Feature::numeric("age").levels([30.0, 40.0, 50.0, 60.0])])?);
//! let seen = Population::from_counts(space, &[70, 30, 0, 0])?;
//! let loss = [1.0, 2.0, 5.0, 5.5];
//! let problem = Problem::new(&seen, &loss)?;
//!
//! let worst = Ambiguity::Wasserstein { radius: 0.1 }.worst_case(&problem, &Settings::default())?;
//! assert_eq!(worst.status, Status::Optimal);
//! assert!(worst.gap() <= 1e-12 && worst.value > problem.nominal());
//! assert!(worst.unobserved_mass > 0.25, "the adversary likes places where no data are");
//! # Ok::<(), seawall::Error>(())
//! ```

mod curve;
mod engine;
mod entropic;
mod kl;
mod plan;
mod problem;
mod settings;
mod wasserstein;
mod worst_case;

pub use curve::{Breakdown, Curve, CurveValue, CurveVertex};
pub use plan::{Move, Plan};
pub use problem::{Direction, Problem};
pub use settings::{Detail, Engine, Progress, Settings, Watch};
pub use worst_case::{Entropic, Marginal, Status, WorstCase};

use crate::error::{Error, Result};
use crate::kernel::order::Price;
use crate::population::Population;

/// A set of populations around the observed one.
///
/// A radius is in the units of the ground cost for the two Wasserstein sets (a bound on a mean
/// squared distance, not on its root), in nats for KL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ambiguity {
    /// Every population that moving mass can reach at a cost of at most `radius`.
    Wasserstein {
        /// The budget of ground cost.
        radius: f64,
    },
    /// The same, with the adversary's choice smoothed: larger `eta` is closer to exact.
    Entropic {
        /// The budget of ground cost.
        radius: f64,
        /// The sharpness η, in units of one over the values.
        eta: f64,
    },
    /// Every reweighting of the observed points with a KL divergence of at most `radius`.
    Kl {
        /// The divergence, in nats.
        radius: f64,
    },
}

impl Ambiguity {
    /// The set's name, as it is written everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Ambiguity::Wasserstein { .. } => "wasserstein",
            Ambiguity::Entropic { .. } => "entropic",
            Ambiguity::Kl { .. } => "kl",
        }
    }

    /// The radius.
    pub fn radius(self) -> f64 {
        match self {
            Ambiguity::Wasserstein { radius }
            | Ambiguity::Entropic { radius, .. }
            | Ambiguity::Kl { radius } => radius,
        }
    }

    /// The worst case over this set.
    pub fn worst_case(self, problem: &Problem<'_>, settings: &Settings<'_>) -> Result<WorstCase> {
        let mut solver = self.solver(problem, settings)?;
        solver.worst_case(self.radius())
    }

    /// A solver for sets like this one of any radius: evaluations are shared between them.
    pub fn solver<'a, 's>(
        self,
        problem: &Problem<'a>,
        settings: &'s Settings<'s>,
    ) -> Result<Solver<'a, 's>> {
        Ok(Solver(match self {
            Ambiguity::Wasserstein { .. } => {
                Inner::Wasserstein(wasserstein::Solver::new(problem, settings)?)
            }
            Ambiguity::Entropic { eta, .. } => {
                if !(eta > 0.0 && eta.is_finite()) {
                    return Err(Error::config(format!(
                        "eta is {eta}; expected a finite number > 0"
                    )));
                }
                Inner::Entropic(entropic::Solver::new(problem, settings, eta)?)
            }
            Ambiguity::Kl { .. } => Inner::Kl(kl::Solver::new(problem, settings)),
        }))
    }
}

/// Tells a watcher; false means stop.
pub(crate) fn told(watch: Option<Watch<'_>>, evaluations: usize, gap: f64) -> bool {
    watch.is_none_or(|watch| watch(Progress { evaluations, gap }))
}

/// Each source's target of the largest `f_j − c_ij`: source, then target, by point.
pub(crate) fn best_targets(population: &Population, values: &[f64]) -> Result<Vec<(u32, u32)>> {
    let problem = Problem::new(population, values)?;
    let mut engine = engine::maxima(&problem, Engine::Auto)?;
    let targets = engine.targets(Price::At(problem.factor));
    Ok(engine.sources().into_iter().zip(targets).collect())
}

/// Solves one problem over sets of one kind at any number of radii.
pub struct Solver<'a, 's>(Inner<'a, 's>);

enum Inner<'a, 's> {
    Wasserstein(wasserstein::Solver<'a, 's>),
    Entropic(entropic::Solver<'a, 's>),
    Kl(kl::Solver<'a, 's>),
}

impl Solver<'_, '_> {
    /// The worst case at a radius.
    pub fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(Error::config(format!(
                "the radius is {radius}; expected a finite number ≥ 0"
            )));
        }
        let worst = match &mut self.0 {
            Inner::Wasserstein(solver) => solver.worst_case(radius),
            Inner::Entropic(solver) => solver.worst_case(radius),
            Inner::Kl(solver) => solver.worst_case(radius),
        };
        if !(worst.lower.is_finite() && worst.upper.is_finite()) {
            return Err(Error::numeric(format!(
                "at radius {radius} the bounds came out as {} and {}: the values, costs or \
                 weights are out of scale with each other",
                worst.lower, worst.upper
            )));
        }
        Ok(worst)
    }

    /// The value at radius 0: the nominal mean, unless moves are free (a feature of weight 0,
    /// points in the same place) or the set is entropic.
    pub fn value_at_zero(&self) -> f64 {
        match &self.0 {
            Inner::Wasserstein(solver) => solver.value_at_zero(),
            Inner::Entropic(solver) => solver.value_at_zero(),
            Inner::Kl(solver) => solver.value_at_zero(),
        }
    }

    /// The whole curve to a tolerance in the values' units.
    ///
    /// A tolerance of 0 asks a Wasserstein set for its exact curve; the other sets' curves are
    /// smooth and need a positive one.
    pub fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let smooth = !matches!(self.0, Inner::Wasserstein(_));
        if !(tolerance >= 0.0 && tolerance.is_finite()) || (smooth && tolerance == 0.0) {
            let least = if smooth { "> 0 for a smooth curve" } else { "≥ 0" };
            return Err(Error::config(format!(
                "the curve's tolerance is {tolerance}; expected a finite number {least}"
            )));
        }
        Ok(match &mut self.0 {
            Inner::Wasserstein(solver) => solver.curve(tolerance),
            Inner::Entropic(solver) => solver.curve(tolerance),
            Inner::Kl(solver) => solver.curve(tolerance),
        })
    }
}

//! Solves one problem over sets of one kind at any number of radii.

use super::couplings::Couplings;
use super::curve::Curve;
use super::cvar::Cvar;
use super::entropic::Entropic;
use super::joint_sets::JointPeople;
use super::joint_wasserstein::{JointWasserstein, PeopleSolver};
use super::kl::Kl;
use super::mmd::Mmd;
use super::moments::Moments;
use super::parameters::Argument;
use super::power::PowerDivergence;
use super::problem::Problem;
use super::set::{ContextSet, Set, Shift, context_sets};
use super::settings::Settings;
use super::sinkhorn::Sinkhorn;
use super::solve::{PricedSolver, Solve};
use super::tv::TotalVariation;
use super::wasserstein::Wasserstein;
use super::worst_case::WorstCase;
use crate::error::{Error, Field, Result};

/// Solves one problem over sets of one kind at any number of radii: evaluations are shared
/// between them.
pub struct Solver<'a> {
    inner: Box<dyn Solve + 'a>,
    set: Set,
}

impl<'a> Solver<'a> {
    pub(super) fn new(inner: Box<dyn Solve + 'a>, set: Set) -> Self {
        Solver { inner, set }
    }

    /// The worst case at a radius; of a set that is about what is known of the target it may be
    /// infinite.
    pub fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        self.set.check_radius(radius)?;
        let worst = self.inner.worst_case(radius)?;
        if !(worst.lower().is_finite() && worst.upper().is_finite()) {
            let radius = Argument::Number(radius);
            return Err(Error::input(format!(
                "at radius {radius} the bounds of {} are no numbers: the values, costs or weights \
                 are out of scale with each other, or with the radius; give them in other units",
                self.set
            )));
        }
        Ok(worst)
    }

    /// The value at radius 0: the nominal mean, unless moves are free (a feature of weight 0,
    /// points in the same place) or the set is smoothed; not a number where nothing that meets what
    /// is known of the target is as near.
    pub fn value_at_zero(&self) -> f64 {
        self.inner.value_at_zero()
    }

    /// The whole curve to a tolerance in the values' units.
    ///
    /// A tolerance of 0 asks for the exact curve, which only some sets have
    /// ([`Capabilities::exact_curve`](super::Capabilities::exact_curve)); the others' are smooth and need a
    /// positive one.
    pub fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let smooth = !self.set.has_exact_curve();
        if !(tolerance >= 0.0 && tolerance.is_finite()) || (smooth && tolerance == 0.0) {
            let least = if smooth { "> 0 for a smooth curve" } else { "≥ 0" };
            return Err(Error::field(
                Field::Tolerance,
                format!("of the curve is {tolerance}; expected a finite number {least}"),
            ));
        }
        self.inner.curve(tolerance)
    }
}

impl ContextSet {
    /// A solver of a problem over sets of this kind, to be asked at any number of radii.
    pub fn solver<'a>(&self, problem: &Problem<'a>, settings: Settings<'a>) -> Result<Solver<'a>> {
        let set = Set::from(*self);
        set.check()?;
        Ok(Solver::new(self.solvable().solver(problem, settings)?, set))
    }
}

impl Set {
    /// A solver of a problem over sets of this kind, to be asked at any number of radii; refused for a set
    /// that is about people with their actions and outcomes.
    pub fn solver<'a>(&self, problem: &Problem<'a>, settings: Settings<'a>) -> Result<Solver<'a>> {
        self.check()?;
        self.of_contexts()?.solver(problem, settings)
    }
}

impl Shift {
    /// The worst case over this set.
    pub fn worst_case(&self, problem: &Problem<'_>, settings: Settings<'_>) -> Result<WorstCase> {
        self.set.solver(problem, settings)?.worst_case(self.radius)
    }
}

/// A solver of each type of set, without the way through the enum.
macro_rules! solvers {
    ($($kind:ident::$variant:ident($name:ident),)+) => {
        $(
            impl $name {
                /// A solver of a problem, to be asked at any number of radii.
                pub fn solver<'a>(
                    self,
                    problem: &Problem<'a>,
                    settings: Settings<'a>,
                ) -> Result<Solver<'a>> {
                    ContextSet::from(self).solver(problem, settings)
                }
            }
        )+
    };
}

context_sets!(solvers);

impl JointWasserstein {
    /// A solver for people and a policy.
    pub(crate) fn solver_for<'a>(
        self,
        people: JointPeople,
        settings: Settings<'a>,
    ) -> Result<Solver<'a>> {
        let set = Set::from(self);
        set.check()?;
        let oracle = PeopleSolver::new(people, self.kappa, settings)?;
        Ok(Solver::new(Box::new(PricedSolver::new(oracle, settings)), set))
    }
}

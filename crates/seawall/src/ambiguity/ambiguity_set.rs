//! What every ambiguity set is: a name, its parameters and [`Capabilities`], and what is computed of it.
//!
//! A set is one file of this folder. Everything else asks a set what it can do and never which one it is.
//! What is said of a set to people is said elsewhere.

use super::capabilities::Capabilities;
use super::geometry::Geometry;
use super::parameters::{Argument, Parameter};
use super::problem::Problem;
use super::settings::Settings;
use super::solve::Solve;
use crate::error::{Error, Field, Result};
use crate::population::Population;

/// What a set is called, takes and can do.
pub(super) struct About {
    pub name: &'static str,
    pub parameters: &'static [Parameter],
    pub capabilities: Capabilities,
    /// Parameters that it has not, and what says the same.
    pub instead: &'static [(&'static str, &'static str)],
}

/// An ambiguity set without a radius.
pub(super) trait AmbiguitySet {
    /// Its row of the table.
    fn about(&self) -> &'static About;

    /// Its parameters, in the table's order; those it does without are None.
    fn arguments(&self) -> Vec<Option<Argument>> {
        Vec::new()
    }

    /// What it can do, where that depends on its parameters.
    fn capabilities(&self) -> Capabilities {
        self.about().capabilities
    }
}

/// A set of populations of contexts: solved for a population and values.
pub(super) trait SolvableSet: AmbiguitySet {
    /// A solver of a problem.
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>>;

    /// What a radius must be beside not negative, if anything, where this one is not.
    fn refuses_radius(&self, _radius: f64) -> Option<&'static str> {
        None
    }

    /// The least radius at which the set contains another population of the same space, by its weights;
    /// infinite if there is none, None where that is not worked out for this set.
    fn containing(&self, _geometry: &Geometry, _other: &[f64]) -> Result<Option<f64>> {
        Ok(None)
    }

    /// About how many steps an answer takes, where that does not follow from the geometry.
    fn work(&self, _geometry: &Geometry) -> Option<f64> {
        None
    }

    /// About how many bytes an answer takes beside what every one takes.
    fn room(&self, _geometry: &Geometry) -> f64 {
        0.0
    }

    /// By how much the value may be below the exact worst case on a support of so many points.
    fn smoothing(&self, _points: usize) -> f64 {
        0.0
    }
}

/// What makes a problem smaller on any support.
pub(super) const SMALLER: &str =
    "take a sample of the rows, coarser values (wider bins, merged levels) or fewer columns";

/// The refusal of a population that is too large: on a grid with places where nobody is, those observed
/// are fewer.
pub(super) fn smaller(population: &Population, error: Error) -> Error {
    let grid = matches!(population.space().layout(), crate::space::Layout::Grid(_));
    if grid && population.weights().contains(&0.0) {
        error.advise(Field::Support, &["observed"])
    } else {
        error
    }
}

//! How to solve: how closely, how much is worked out, and who is watching.

use crate::progress::{Progress, Stage, Watch};

/// How much is worked out beside the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Detail {
    /// The value and its bounds.
    Value,
    /// Also the worst-case population.
    Population,
    /// Also the plan's entries; for a smoothed set that takes a look at every pair of points.
    #[default]
    Plan,
}

/// How to solve.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The gap, relative to the value, up to which the status is `optimal`. Solvers go on to
    /// rounding level in any case.
    pub tolerance: f64,
    /// The gap, as a share of the largest value, at which a solver may end early; with 0 it goes on to rounding level.
    pub enough: f64,
    /// Evaluations of the dual at most.
    pub max_evaluations: usize,
    /// Vertices of a curve at most; what is left out is bounded by the curve's error.
    pub max_vertices: usize,
    /// A curve is refined up to this radius; what is left out beyond it is bounded by its error.
    pub max_radius: f64,
    /// Of a curve only the stretch in which it passes this value is refined, for [`Curve::breakdown`]
    /// there; what is left out elsewhere is bounded by its error.
    ///
    /// [`Curve::breakdown`]: super::Curve::breakdown
    pub crossing: Option<f64>,
    /// How much is worked out beside the value.
    pub detail: Detail,
    /// Entries of an entropic plan lighter than this are left out and their total reported.
    pub plan_floor: f64,
    /// Who is watching.
    pub watch: Watch<'a>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            tolerance: 1e-9,
            enough: 0.0,
            max_evaluations: 1000,
            max_vertices: 100_000,
            max_radius: f64::INFINITY,
            crossing: None,
            detail: Detail::Plan,
            plan_floor: 1e-6,
            watch: Watch::NOBODY,
        }
    }
}

impl<'a> Settings<'a> {
    /// The same, with another detail.
    #[must_use]
    pub fn detail(self, detail: Detail) -> Self {
        Settings { detail, ..self }
    }

    /// The same, watched by somebody else.
    #[must_use]
    pub fn watched<'b>(self, watch: Watch<'b>) -> Settings<'b>
    where
        'a: 'b,
    {
        Settings { watch, ..self }
    }

    /// Tells the watcher of evaluations; false means stop.
    pub(super) fn go_on(&self, stage: Stage<'_>, evaluations: usize, gap: f64) -> bool {
        self.watch.go_on(Progress::at(stage).done(evaluations).gap(gap))
    }
}

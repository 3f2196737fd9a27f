//! How to solve: which engine, how closely, and who is watching.

use std::fmt;

/// How the inner maxima are found. Every engine is exact; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The one that suits the support.
    #[default]
    Auto,
    /// One max-plus pass per feature; for grids, and for points with few levels a feature.
    Grid,
    /// A kd-tree with branch and bound; for scattered points in few dimensions.
    Tree,
    /// All pairs.
    Scan,
}

impl Engine {
    /// The engine's name, as it is written everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Grid => "grid",
            Engine::Tree => "tree",
            Engine::Scan => "scan",
        }
    }
}

/// How much is worked out beside the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The value and its bounds.
    Value,
    /// Also the worst-case population.
    Population,
    /// Also the plan's entries, which takes a look at every pair of points.
    #[default]
    Plan,
}

/// What a solver says after each evaluation, in the user's units and direction.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Evaluations of the dual so far.
    pub evaluations: usize,
    /// How far apart the bounds are.
    pub gap: f64,
}

/// Called after each evaluation; returning `false` stops the solver, which then reports the
/// bounds it has.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> bool + Sync);

/// How to solve.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// Which engine.
    pub engine: Engine,
    /// The gap, relative to the value, up to which the status is `optimal`. Solvers go on to
    /// rounding level in any case.
    pub tolerance: f64,
    /// Evaluations of the dual at most.
    pub max_evaluations: usize,
    /// Vertices of a curve at most; what is left out is bounded by the curve's error.
    pub max_vertices: usize,
    /// A curve is refined up to this radius; what is left out beyond it is bounded by its error.
    pub max_radius: f64,
    /// How much an entropic solve works out beside its value; the other sets always tell all.
    pub detail: Detail,
    /// Entries of an entropic plan lighter than this are left out and their total reported.
    pub plan_floor: f64,
    /// Who is watching.
    pub watch: Option<Watch<'a>>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            engine: Engine::Auto,
            tolerance: 1e-9,
            max_evaluations: 1000,
            max_vertices: 100_000,
            max_radius: f64::INFINITY,
            detail: Detail::Plan,
            plan_floor: 1e-6,
            watch: None,
        }
    }
}

impl Settings<'_> {
    /// Tells the watcher; false means stop.
    pub(super) fn go_on(&self, evaluations: usize, gap: f64) -> bool {
        self.watch.is_none_or(|watch| watch(Progress { evaluations, gap }))
    }
}

impl fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("engine", &self.engine)
            .field("tolerance", &self.tolerance)
            .field("max_evaluations", &self.max_evaluations)
            .field("max_vertices", &self.max_vertices)
            .field("max_radius", &self.max_radius)
            .field("detail", &self.detail)
            .field("plan_floor", &self.plan_floor)
            .field("watch", &self.watch.is_some())
            .finish()
    }
}

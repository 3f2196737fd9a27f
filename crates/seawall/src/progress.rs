//! How far long work has got, told to whoever watches; and the one way to stop it.
//!
//! A [`Watch`] is handed to everything that may take long. It is called many times a second, from
//! any thread; when it answers `false` the work stops: with the bounds it has where it has any
//! ([`Status::Stopped`](crate::Status::Stopped)), else with an error that says so
//! ([`Error::is_stopped`](crate::Error::is_stopped)).
//!
//! ```
//! use seawall::{Progress, Stage, Watch};
//! let patience = |progress: Progress<'_>| progress.stage != Stage::Solving || progress.done < 1000;
//! let watch = Watch::new(&patience);
//! assert!(watch.go_on(Progress::at(Stage::Solving).done(10)));
//! ```

use crate::error::{Error, Result};
use std::fmt;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage<'a> {
    /// Reading rows.
    Reading,
    /// Fitting outcome models and propensities; so many fits.
    Fitting,
    /// The worst cases of outcomes; so many leaves.
    Outcomes,
    /// Solving for a worst case; so many evaluations of the dual.
    Solving,
    /// In the middle of one long evaluation; so many parts of it.
    Evaluating,
    /// Solving for a policy's worst cases.
    Policy(&'a str),
    /// Following a curve; so many evaluations.
    Curve,
    /// Solving for a distance; so many rounds.
    Distance,
    /// Distances between random halves, and draws; so many.
    Halves,
    /// Worst populations of one half valued on the other; so many halvings.
    Halving,
    /// Learning by cutting planes or gradients; so many steps.
    Learning,
    /// Searching trees; so many looked at.
    Searching,
    /// Stochastic steps; so many.
    Descending,
    /// Leaving recorded groups out, one after the other; so many.
    Groups,
    /// Writing a report's page.
    Writing,
}

impl fmt::Display for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Reading => "reading rows",
            Stage::Fitting => "fitting models",
            Stage::Outcomes => "worst cases of outcomes",
            Stage::Solving => "solving",
            Stage::Evaluating => "one evaluation",
            Stage::Policy(name) => return write!(f, "solving for {name}"),
            Stage::Curve => "following the curve",
            Stage::Distance => "solving for a distance",
            Stage::Halves => "distances by chance",
            Stage::Halving => "how much is noise",
            Stage::Learning => "learning",
            Stage::Searching => "searching trees",
            Stage::Descending => "stochastic steps",
            Stage::Groups => "recorded groups",
            Stage::Writing => "writing",
        })
    }
}

/// How far work has got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// What is being done.
    pub stage: Stage<'a>,
    /// How much of it is done, in the stage's own units.
    pub done: usize,
    /// Of how much, if that is known.
    pub of: Option<usize>,
    /// How far apart the bounds of the answer are, if it has any yet, in the user's units.
    pub gap: Option<f64>,
}

impl<'a> Progress<'a> {
    /// Nothing done yet.
    pub fn at(stage: Stage<'a>) -> Self {
        Progress { stage, done: 0, of: None, gap: None }
    }

    /// So much done.
    #[must_use]
    pub fn done(self, done: usize) -> Self {
        Progress { done, ..self }
    }

    /// Of so much.
    #[must_use]
    pub fn out_of(self, of: usize) -> Self {
        Progress { of: Some(of), ..self }
    }

    /// With bounds so far apart.
    #[must_use]
    pub fn gap(self, gap: f64) -> Self {
        Progress { gap: Some(gap).filter(|g| g.is_finite()), ..self }
    }
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage, self.done)?;
        if let Some(of) = self.of {
            write!(f, " of {of}")?;
        }
        if let Some(gap) = self.gap {
            write!(f, ", gap {gap:.1e}")?;
        }
        Ok(())
    }
}

/// A function that is told the progress; `false` stops the work.
type Told<'a> = &'a (dyn Fn(Progress<'_>) -> bool + Sync);

/// Who is watching, if anybody.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a>(Option<Told<'a>>);

impl<'a> Watch<'a> {
    /// Nobody watches.
    pub const NOBODY: Watch<'static> = Watch(None);

    /// A function that is told the progress and answers whether to go on.
    pub fn new(watcher: Told<'a>) -> Self {
        Watch(Some(watcher))
    }

    /// Tells the progress; whether to go on.
    pub fn go_on(self, progress: Progress<'_>) -> bool {
        self.0.is_none_or(|watcher| watcher(progress))
    }

    /// Tells the progress; an error if the work is to stop.
    pub fn tell(self, progress: Progress<'_>) -> Result<()> {
        if self.go_on(progress) { Ok(()) } else { Err(Error::stopped()) }
    }
}

/// A watch for the solves inside a longer work: it stops with the work, and tells the work's own
/// progress rather than theirs.
pub(crate) fn inside<'w>(
    watch: Watch<'w>,
    progress: Progress<'w>,
) -> impl Fn(Progress<'_>) -> bool + Sync + use<'w> {
    move |_| watch.go_on(progress)
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(somebody)" } else { "Watch(nobody)" })
    }
}

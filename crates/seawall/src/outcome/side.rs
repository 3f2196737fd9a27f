//! Which end of a set of outcomes is meant, and what stands in where an action was never seen.

use crate::ambiguity::Direction;
use serde::{Deserialize, Serialize};

/// What to do about contexts where an action was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unseen {
    /// Refuse, and say how many there are.
    #[default]
    Error,
    /// The action's mean over the whole log, at the same radius.
    Mean,
    /// The worst value of any outcome.
    Worst,
}

impl Unseen {
    /// The same, with the mean where this would refuse: parts of a log lose what the whole has.
    #[must_use]
    pub fn never_refusing(self) -> Self {
        if self == Unseen::Error { Unseen::Mean } else { self }
    }
}

/// Which end of a set of outcomes is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Side {
    /// The worst mean: the highest cost, the lowest reward.
    Worst,
    /// The best mean.
    Best,
}

impl Side {
    /// The direction in which this side is the worst one.
    pub(super) fn of(self, direction: Direction) -> Direction {
        match (self, direction) {
            (Side::Worst, direction) => direction,
            (Side::Best, Direction::Cost) => Direction::Reward,
            (Side::Best, Direction::Reward) => Direction::Cost,
        }
    }
}

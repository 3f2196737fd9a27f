//! Where a node of a tree is cut, and what it is cut by: the rows of one action, context by context.

use super::tally::Tally;

/// Where a split sends a context.
#[derive(Clone, Debug, PartialEq)]
pub enum Cut {
    /// Left if the coordinate is at most this; a missing value goes right.
    AtMost(f64),
    /// Left if the level is one of these, in order.
    Levels(Vec<u32>),
}

/// What one context's rows under one action sum to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub context: u32,
    pub rows: f64,
    pub sum: f64,
    pub squares: f64,
    pub tally: Tally,
}

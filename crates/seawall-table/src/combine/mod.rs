//! What counting is made of: numbers for combinations of values as they appear, sums that are rounded once,
//! and what the rows have in each bin.

mod moments;
mod pairs;
mod tuples;

pub use moments::BinMoments;
pub(crate) use moments::{BinColumn, BinSums, NumbersFrom, Sums};
pub use pairs::Combinations;
pub(crate) use pairs::Pairs;
pub(crate) use tuples::Tuples;

//! Stage 9. How sure: intervals for robust values, and finite-sample bounds.

mod bootstrap;
mod bounds;

pub use bootstrap::{Interval, Replicates, Resampling, bootstrap};
pub use bounds::{Bound, Constants, finite_sample};

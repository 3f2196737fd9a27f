//! Stage 7. Evaluation: what a policy would have cost, nominally and in the worst case.

mod nominal;
mod robust;

pub use nominal::{Estimate, Nominal, Overlap, Propensity, nominal};
pub use robust::{Robust, Support};

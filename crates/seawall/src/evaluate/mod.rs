//! Stage 7. Evaluation: what a policy would have cost, nominally and in the worst case.

mod nominal;
mod propensity;
mod robust;
mod rows;

pub use nominal::{Estimate, Estimator, Nominal, Overlap};
pub use propensity::{Propensity, logistic};
pub use robust::{Robust, Support};
pub use rows::Rows;

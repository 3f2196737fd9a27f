//! Stage 7. Evaluation: what a policy would have cost, nominally and in the worst case.

mod fitted;
mod nominal;
mod propensity;
mod robust;
mod rows;

pub use fitted::{FitOptions, Fitted};
pub use nominal::{Estimate, Nominal, Overlap};
pub use propensity::{Propensity, PropensitySource, logistic};
pub use robust::{Robust, Support};
pub use rows::{LoggedRows, Rows};

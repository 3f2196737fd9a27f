//! Stage 7. Evaluation: what a policy would have cost, nominally and in the worst case.

mod difference;
mod fitted;
mod nominal;
mod propensity;
mod robust;
mod rows;

pub use difference::ValueRange;
pub use fitted::{FitOptions, Fitted};
pub use nominal::{Estimate, Nominal, NominalDifference, Overlap};
pub use propensity::{Propensity, PropensitySource, logistic};
pub use robust::{Robust, Solved, Support};
pub use rows::{LoggedRows, Rows};

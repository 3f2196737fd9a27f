//! Stage 7. Evaluation: what a policy would have cost, nominally and in the worst case.

mod difference;
mod effect;
mod estimate;
mod evaluator;
mod joint;
mod nominal;
mod propensity;
mod robust;
mod rows;
mod whole;

pub use difference::ValueRange;
pub use effect::EFFECT;
pub use estimate::{Estimate, Interval, critical};
pub(crate) use estimate::{Term, variance};
pub use evaluator::{Evaluation, Evaluator, FitOptions};
pub use joint::JointEstimate;
pub use nominal::{Nominal, NominalDifference, Overlap};
pub(crate) use nominal::{leaf_noise, noise_of_leaves};
pub use propensity::{Propensity, PropensitySource, logistic};
pub use robust::{Robust, Solved, Support};
pub use rows::{LoggedRows, Rows};

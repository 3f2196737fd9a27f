//! Stage 10. Confidence: limits of worst cases by sample splits, and finite-sample bounds.
//!
//! ```
//! use seawall::inference::{Constants, finite_sample};
//!
//! // Two actions and three outcomes in ten contexts, the rarest of which 5% of the rows have.
//! let constants = Constants {
//!     rows: 1e6,
//!     contexts: 10,
//!     support: 24,
//!     actions: 2,
//!     outcomes: 3,
//!     largest: 2.0,
//!     context_mass: 0.05,
//!     propensity: 0.4,
//! };
//! let bound = finite_sample(&constants, 0.05, (None, None))?;
//! assert!(bound.total > 0.0 && bound.needed < 1e6);
//! # Ok::<(), seawall::Error>(())
//! ```

mod bounds;
mod limits;
mod part;
mod splits;

pub use bounds::{Constants, FiniteSampleBound, finite_sample};
pub use limits::{Anchor, LimitPlan, Limits, NoisyValue, between, nested, simultaneous};
pub use part::{Estimand, PartFit, PartQuestion, split_values};
pub use splits::{AskParts, FIRST_SPLITS, SplitNoise, SplitValue, Splits, split_noise};

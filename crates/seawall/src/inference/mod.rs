//! Stage 10. How sure: intervals for robust values, and finite-sample bounds.
//!
//! ```
//! use seawall::inference::{Resampling, bootstrap};
//! use seawall::{Direction, Feature, Log, Problem, Settings, Wasserstein, Watch};
//! let ages = vec![(0..40).map(|i| f64::from(40 + i % 10)).collect()];
//! let costs: Vec<f64> = (0..40).map(|i| f64::from(i % 10 / 4)).collect();
//! let features = [Feature::numeric("age")];
//! let log = Log::from_rows(features, ages, &["treat"; 40], &costs, None, Direction::Cost)?;
//!
//! // The worst mean cost, with every replicate's rows counted anew.
//! let loss: Vec<f64> = (0..10).map(|k| f64::from(k / 4)).collect();
//! let worst = |log: &Log, _: usize, watch: Watch<'_>| {
//!     let problem = Problem::new(&log.population()?, &loss)?;
//!     let settings = Settings::default().watched(watch);
//!     Ok(vec![Wasserstein.at(0.05).worst_case(&problem, settings)?.value()])
//! };
//! let estimate = worst(&log, 0, Watch::NOBODY)?[0];
//! let drawn = bootstrap(&log, 100, Resampling::Multinomial, 1, Watch::NOBODY, &worst)?;
//! let (low, high) = drawn.interval(0, estimate, 0.95)?.basic;
//! assert!(low < estimate && estimate < high);
//! # Ok::<(), seawall::Error>(())
//! ```

mod bootstrap;
mod bounds;
mod half;
mod halves;

pub use bootstrap::{Ask, Interval, Replicates, Resampling, bootstrap};
pub use bounds::{Bound, Constants, finite_sample};
pub use half::{Correction, Estimand, HalfFit, HalfQuestion, crossings};
pub use halves::{AskHalves, Crossing, FIRST_SPLITS, Limits, SplitNoise, Splits, halves};

//! Worst cases of values of your own on points of your own, sets and engines of your own, and distances.
//!
//! ```
//! use seawall::solve::{Population, Problem, Settings};
//! use seawall::{Feature, Wasserstein};
//!
//! // Losses of a model on four records, and what may shift.
//! let records = Population::from_samples(
//!     [Feature::numeric("age"), Feature::nominal("site", ["north", "south"])],
//!     vec![vec![31.0, 44.0, 52.0, 70.0], vec![0.0, 1.0, 0.0, 1.0]],
//! )?;
//! let loss = [0.2, 0.1, 0.4, 0.9];
//! let problem = Problem::new(&records, &loss)?;
//! let mut solver = Wasserstein.solver(&problem, Settings::default())?;
//! let worst = solver.worst_case(0.05)?;
//! println!("at most {:.3}, gap {:.1e}", worst.value(), worst.gap());
//! for step in worst.plan().largest(3) {
//!     let (from, to) = (records.space().describe(step.from), records.space().describe(step.to));
//!     println!("{:.1}% of the population: {from} → {to}", 100.0 * step.mass);
//! }
//! let curve = solver.curve(0.0)?;
//! assert!(curve.is_exact() && (curve.at(0.05).value - worst.value()).abs() < 1e-12);
//! # Ok::<(), seawall::Error>(())
//! ```

pub use crate::ambiguity::{
    Argument, Breakdown, Capabilities, ContextSet, CurveValue, Detail, Engine, EngineKind,
    Geometry, InnerMaximizer, JointSet, Kernel, Marginal, Parameter, Price, Problem, ScaledValues,
    Settings, Smoothed, Solver, Sums, Takes,
};
pub use crate::distance::{Distance, distance, kl, total_variation};
pub use crate::matrix::Matrix;
pub use crate::population::Population;
pub use crate::space::{Grid, Layout, Points, Value};

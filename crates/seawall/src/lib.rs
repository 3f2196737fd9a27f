//! Exact worst-case means over every population within a stated distance, with certificates.
//!
//! The problem: sources `x_i` with weights `p_i` (the observed population), targets `ζ_j` with
//! values `f_j` (the support; every source is also a target), a ground cost `c(x, ζ) ≥ 0` and a
//! radius `ε ≥ 0` in the units of that cost. The worst case is
//!
//! ```text
//! V(ε) = max { E_Q f : Q within ε of P }  =  min_{λ ≥ 0}  ελ + Σ_i p_i max_j (f_j − λ c_ij)
//! ```
//!
//! for exact Wasserstein distance, and its relatives for smoothed Wasserstein and KL sets.
//!
//! The stages, each using only those before it:
//!
//! 1. [`Space`]: features, ground cost, grid or points.
//! 2. [`Population`]: weights on a space. [`Known`]: means and shares of one that nobody has seen.
//! 3. [`Ambiguity`]: worst cases with bounds, status and plan; [`Curve`] against the radius.
//!    [`distance`]: how far apart two populations are.
//! 4. [`Log`]: logged decisions, counted.
//! 5. [`outcome`]: what each action would cost in each context, robustly.
//! 6. [`policy`]: for each context, a probability for each action.
//! 7. [`evaluate`]: what a policy would have cost, nominally and in the worst case.
//! 8. [`transfer`]: what a policy would cost in a target population of known contexts.
//! 9. [`learn`]: policies whose worst case is as good as it can be, with certified gaps.
//! 10. [`inference`]: confidence limits of worst cases, finite-sample bounds.
//!
//! Modules, each importing only from those before it: `kernel`, `error`, `progress`, `matrix`, `space`,
//! `population`, `known`, `shares`, `steps`, `ambiguity`, `distance`, `log`, `outcome`, `policy`, `evaluate`,
//! `transfer`, `learn`, `inference`.
//!
//! ```
//! use seawall::{Feature, Population, Problem, Settings, Wasserstein};
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
//!
//! Limits: a support has at most 2³²−1 points; values are `f64`; files, tables and terminals are
//! other crates' business.

#![deny(missing_docs)]

mod ambiguity;
pub mod distance;
mod error;
pub mod evaluate;
pub mod inference;
mod kernel;
mod known;
pub mod learn;
mod log;
mod matrix;
pub mod outcome;
pub mod policy;
mod population;
mod progress;
mod shares;
mod space;
mod steps;
pub mod transfer;

pub use ambiguity::sets::*;
pub use ambiguity::{
    Ambiguity, Argument, Breakdown, Capabilities, CertifiedValue, ContextSet, Curve, CurveValue,
    CurveVertex, Detail, Direction, Engine, EngineKind, Geometry, InnerMaximizer, JointSet, Kernel,
    LeastRadius, Marginal, Move, Parameter, Plan, Price, Problem, ScaledValues, Set, Settings,
    Smoothed, Solver, Status, Sums, Takes, WorstCase, least_radius,
};
pub use error::{Error, Field, Result, Wording, quoted};
pub use known::{Fact, Known, Quantity};
pub use log::{Entry, Folds, Log};
pub use matrix::Matrix;
pub use population::{DistinctRows, Population};
pub use progress::{Progress, Stage, Watch};
pub use shares::{sum_to_one, wilson_interval};
pub use space::{
    Extension, Feature, Grid, Kind, Layout, LevelMoments, NewLevel, Points, Space, Value,
};

//! What a decision rule would have cost in the worst population within a stated distance of the data, exactly
//! and with a certificate.
//!
//! Five nouns: a [`Log`] of decisions, a [`Policy`], a [`Shift`] (a set of populations with a radius), an
//! [`Evaluator`] (what is fitted to the log) and its [`Evaluation`].
//!
//! ```
//! use seawall::{Direction, Evaluator, Feature, Log, Policy, Recipe, Wasserstein};
//!
//! let ages = vec![35.0, 35.0, 45.0, 45.0, 55.0, 55.0, 75.0, 75.0];
//! let arms = ["treat", "wait", "treat", "wait", "treat", "wait", "treat", "wait"];
//! let cost = [0.1, 0.3, 0.2, 0.3, 0.3, 0.4, 0.9, 0.5];
//! let age = [Feature::numeric("age")];
//! let log = Log::from_rows(age, vec![ages], &arms, &cost, Some(&[0.5; 8]), Direction::Cost)?.shared();
//! let policy = Policy::constant(&log, "treat")?;
//! let found = Evaluator::fit(log, &Recipe::Cells)?.evaluate(&policy, &Wasserstein.at(0.05))?;
//! let worst = &found.worst_case;
//! println!("{:.2} in the data, at worst {:.2} (gap {:.0e})", found.estimate().value, worst.value(), worst.gap());
//! # assert!(worst.value() > found.estimate().value);
//! # Ok::<(), seawall::Error>(())
//! ```
//!
//! The problem that everything rests on: sources `x_i` with weights `p_i` (the observed population), targets
//! `ζ_j` with values `f_j` (the support; every source is also a target), a cost `c(x, ζ) ≥ 0` of moving and a
//! radius `ε ≥ 0` in the units of that cost. The worst case is
//!
//! ```text
//! V(ε) = max { E_Q f : Q within ε of P }  =  min_{λ ≥ 0}  ελ + Σ_i p_i max_j (f_j − λ c_ij)
//! ```
//!
//! and its relatives for other sets. [`solve`] has it by itself, for values of your own on points of your own.
//!
//! The stages, each using only those before it:
//!
//! 1. [`Space`]: features, the cost of moving, a grid or points.
//! 2. [`Population`]: weights on a space. [`Known`]: means and shares of one that nobody has seen.
//! 3. [`Shift`]: worst cases with bounds, status and plan; [`Curve`] against the radius.
//!    [`solve::distance`]: how far apart two populations are.
//! 4. [`Log`]: logged decisions, counted.
//! 5. [`outcome`]: what each action would cost in each context.
//! 6. [`policy`]: for each context, a probability for each action.
//! 7. [`Evaluator`]: what a policy would have cost, in the data and in the worst case.
//! 8. What a policy would cost in a target population of known contexts, or with known facts.
//! 9. [`learn`]: policies whose worst case is as good as it can be, with certified gaps.
//! 10. Confidence limits of worst cases by sample splits; finite-sample bounds.
//!
//! Stages 8 and 10, and the steps between the stages, are what `seawall-study` is made of. They are public for it,
//! not shown here, and may change in any version.
//!
//! Modules, each importing only from those before it: `kernel`, `error`, `progress`, `matrix`, `space`,
//! `population`, `known`, `shares`, `steps`, `ambiguity`, `distance`, `log`, `outcome`, `policy`, `evaluate`,
//! `transfer`, `learn`, `inference`, `solve`.
//!
//! Limits: a support has at most 2³²−1 points; values are `f64`; files, tables and terminals are other crates'
//! business.

#![deny(missing_docs)]

mod ambiguity;
#[doc(hidden)]
pub mod distance;
mod error;
#[doc(hidden)]
pub mod evaluate;
#[doc(hidden)]
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
pub mod solve;
mod space;
mod steps;
#[doc(hidden)]
pub mod transfer;

pub use ambiguity::sets::*;
pub use ambiguity::{
    CertifiedValue, Curve, CurveVertex, Direction, Move, Plan, Set, Shift, Status, WorstCase,
};
pub use error::{Error, Field, Result};
pub use evaluate::{
    Estimate, Evaluation, Evaluator, FitOptions, Interval, Nominal, Overlap, Propensity, Support,
};
pub use known::{Fact, Known, Quantity};
pub use log::{Entry, Fingerprint, Log};
pub use outcome::Recipe;
pub use policy::Policy;
pub use progress::{Progress, Stage, Watch};
pub use space::{Feature, Kind, Space};

// What the other crates of Seawall are made of, too.
#[doc(hidden)]
pub use self::{
    ambiguity::{
        Argument, Breakdown, Capabilities, ContextSet, CurveValue, Detail, Engine, EngineKind,
        Geometry, InnerMaximizer, JointSet, Kernel, LeastRadius, Marginal, Parameter, Price,
        Problem, ScaledValues, Settings, Smoothed, Solver, Sums, Takes, least_radius,
    },
    error::{Wording, quoted},
    kernel::exact_sum::{ExactSum, two_sum},
    log::Folds,
    matrix::Matrix,
    population::{DistinctRows, Population},
    shares::{sum_to_one, wilson_interval},
    space::{
        Extension, Grid, Layout, LevelMoments, NewLevel, Points, Value, mean_cost, mean_square,
    },
};

//! Stage 3. Ambiguity sets: the worst-case mean of a function over all populations within a
//! radius of the observed one, with a certificate; and the whole curve against the radius.
//!
//! ```
//! use seawall::{Feature, Population, Problem, Settings, Space, Status, Wasserstein};
//! use std::sync::Arc;
//!
//! // A loss that grows with age, seen on 30- and 40-year-olds; 50 and 60 are possible places.
//! let space = Arc::new(Space::grid([Feature::numeric("age").levels([30.0, 40.0, 50.0, 60.0])])?);
//! let seen = Population::from_counts(space, &[70, 30, 0, 0])?;
//! let loss = [1.0, 2.0, 5.0, 5.5];
//! let problem = Problem::new(&seen, &loss)?;
//!
//! let worst = Wasserstein.at(0.1).worst_case(&problem, Settings::default())?;
//! assert_eq!(worst.status(), Status::Optimal);
//! assert!(worst.gap() <= 1e-12 && worst.value() > problem.nominal());
//! assert!(worst.unobserved_mass() > 0.25, "the adversary likes places where no data are");
//! # Ok::<(), seawall::Error>(())
//! ```
//!
//! Modules, each importing only from those before it: `settings`, `plan`, `values`, `polyline`, `curve`,
//! `worst_case`, `certified`, `least_radius`, `solve`, `transport_oracle`, `shape`, `indexed`, `whole_space`, `engine`, `geometry`, `problem`,
//! `listed`, `parameters`, `capabilities`, `ambiguity_set`, `gibbs`, `tilted`, `curve_by_solves`, `wasserstein`,
//! `entropic`, `sinkhorn`, `kl`, `tv`, `cvar`, `phi`, `poles`, `power_solver`, `chi2`, `power`, `whitened`,
//! `moments`, `embedding`, `mmd`, `couplings`, `joint_sets`, `joint_kl`, `joint_wasserstein`, `set`, `spelling`,
//! `solver`, `whole`, `trials`.
//!
//! A further set is one file of this folder, a variant and a row of the table in `set`, and a paragraph of
//! text where people read of it.

mod ambiguity_set;
mod capabilities;
mod certified;
mod chi2;
mod couplings;
mod curve;
mod curve_by_solves;
mod cvar;
mod embedding;
pub(crate) mod engine;
mod entropic;
mod geometry;
mod gibbs;
mod indexed;
mod joint_kl;
mod joint_sets;
mod joint_wasserstein;
mod kl;
mod least_radius;
mod listed;
mod mmd;
mod moments;
mod parameters;
mod phi;
mod plan;
mod poles;
mod polyline;
mod power;
mod power_solver;
mod problem;
mod set;
mod settings;
mod shape;
mod sinkhorn;
mod solve;
mod solver;
mod spelling;
mod tilted;
mod transport_oracle;
#[cfg(test)]
mod trials;
mod tv;
mod values;
mod wasserstein;
mod whitened;
mod whole;
mod whole_space;
mod worst_case;

pub use crate::kernel::order::Price;
pub use capabilities::Capabilities;
pub use certified::CertifiedValue;
pub use curve::{Breakdown, Curve, CurveValue, CurveVertex};
pub use embedding::Kernel;
pub use engine::{Engine, EngineKind, InnerMaximizer, Sums};
pub use geometry::Geometry;
pub(crate) use joint_sets::{JointPeople, OutcomeMargins, PolicyRegions};
pub use least_radius::{LeastRadius, least_radius};
pub use parameters::{Argument, Parameter, Takes};
pub use plan::{Move, Plan};
pub use problem::Problem;
pub use set::{ContextSet, JointSet, Set, Shift};
pub use settings::{Detail, Settings};
pub use solver::Solver;
pub use values::{Direction, ScaledValues};
pub(crate) use whole::Whole;
pub use worst_case::{Marginal, Smoothed, Status, WorstCase};

/// Every set, by its type.
pub mod sets {
    pub use super::couplings::Couplings;
    pub use super::cvar::Cvar;
    pub use super::entropic::Entropic;
    pub use super::joint_kl::{JointEstimator, JointKl};
    pub use super::joint_wasserstein::JointWasserstein;
    pub use super::kl::Kl;
    pub use super::mmd::Mmd;
    pub use super::moments::Moments;
    pub use super::power::PowerDivergence;
    pub use super::sinkhorn::Sinkhorn;
    pub use super::tv::TotalVariation;
    pub use super::wasserstein::Wasserstein;
}

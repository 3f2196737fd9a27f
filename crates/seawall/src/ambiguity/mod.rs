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
//! Modules, each importing only from those before it: `settings`, `plan`, `problem`, `curve`, `worst_case`, `certified`,
//! `least_radius`, `solver`, `reach`, `engine`, `geometry`, `gibbs`, `set`, `entropic`, `wasserstein`, `whole`, `tv`,
//! `tilted`, `sinkhorn`, `people`, `ladder`, `moments`, `mmd`, `kl`, `divergence`, `hellinger`, `burg`,
//! `chi2`, `cvar`, `cressie_read`, `joint_wasserstein`, `joint_kl`, `joint_kl_dr`, `couplings`.
//!
//! A further set is one file of this folder and one line of the table below.

mod certified;
mod curve;
mod divergence;
pub(crate) mod engine;
mod geometry;
mod gibbs;
mod ladder;
mod least_radius;
mod people;
mod plan;
mod problem;
mod reach;
mod set;
mod settings;
mod solver;
mod tilted;
mod whole;
mod worst_case;

pub use crate::kernel::order::Price;
pub use certified::CertifiedValue;
pub use curve::{Breakdown, Curve, CurveValue, CurveVertex};
pub use engine::{Engine, EngineKind, Maxima, Sums};
pub use geometry::Geometry;
pub use least_radius::{LeastRadius, least_radius};
pub use mmd::Kernel;
pub(crate) use people::{Margins, People, Ways};
pub use plan::{Move, Plan};
pub use problem::{Direction, Heights, Problem};
pub use set::{Ambiguity, Argument, Parameter, Takes};
pub use settings::{Detail, Settings};
pub use solver::Solver;
pub(crate) use whole::Whole;
pub use worst_case::{Marginal, Smoothed, Status, WorstCase};

set::sets! {
    /// Every population that moving mass can reach at a mean cost of at most the radius.
    wasserstein::Wasserstein,
    /// The same, with the adversary's choice smoothed.
    entropic::Entropic,
    /// Every reweighting of the observed points with a KL divergence of at most the radius.
    kl::Kl,
    /// Every population of which at most a share, the radius, are other people.
    tv::TotalVariation,
    /// Every reweighting of the observed points with a χ² divergence of at most the radius.
    chi2::Chi2,
    /// Every reweighting with a Cressie–Read divergence of some order of at most the radius.
    cressie_read::CressieRead,
    /// Every reweighting with a squared Hellinger distance of at most the radius.
    hellinger::Hellinger,
    /// Every reweighting with a reverse KL divergence of at most the radius.
    burg::Burg,
    /// Every reweighting that gives nobody more than `1/(1 − radius)` times the weight they had.
    cvar::Cvar,
    /// Every population that meets what is known of the target, within the radius or at all.
    couplings::Couplings,
    /// Every population that people reach at a small mean cost while each of them is spread out.
    sinkhorn::Sinkhorn,
    /// Every population whose means and second moments are near those observed.
    moments::Moments,
    /// Every population whose mean in a kernel's features is near that observed.
    mmd::Mmd,
    /// Every reweighting of people with their outcomes with a KL divergence of at most the radius.
    joint_kl::JointKl,
    /// The same, valued doubly robustly.
    joint_kl_dr::JointKlDr,
    /// Every population of people, contexts and potential outcomes, that moving both can reach.
    joint_wasserstein::JointWasserstein,
}

//! Slices in, slices out: the numerical kernels under every stage.
//!
//! Nothing here knows of spaces, populations or ambiguity sets; the stages above give these
//! kernels plain numbers. Every kernel's answer is the same on any number of threads: work is
//! split by position, never by thread, and sums are taken in a fixed order.
//!
//! Modules, each importing only from those before it: `order`, `metric`, `exact_sum`, `exp`, `sum`, `random`, `lines`,
//! `envelope`, `max_plus`, `pass`, `pull`, `layers`, `kd_tree`, `packet`, `scan`, `screen`, `log_sum`, `bracket`,
//! `cholesky`, `eigen`, `cones`, `gram`, `double_double`, `program`, `precise`, `newton`, `interior`, `quadratic`,
//! `gub_simplex`, `flow`, `lbfgs`, `isotonic`, `plateaus`, `quantile`.

pub mod bracket;
pub mod cholesky;
pub mod cones;
mod double_double;
pub mod eigen;
pub mod envelope;
pub mod exact_sum;
pub mod exp;
pub mod flow;
pub mod gram;
pub mod gub_simplex;
pub mod interior;
pub mod isotonic;
pub mod kd_tree;
pub mod layers;
pub mod lbfgs;
mod lines;
pub mod log_sum;
pub mod max_plus;
pub mod metric;
mod newton;
pub mod order;
pub mod packet;
mod pass;
pub mod plateaus;
mod precise;
pub mod program;
mod pull;
/// Small dense quadratic programs: the cutting-plane method's master problem.
pub mod quadratic;
pub mod quantile;
pub mod random;
pub mod scan;
pub mod screen;
pub mod sum;

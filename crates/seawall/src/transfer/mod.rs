//! Stage 8. Transfers: what a policy would cost in a target population whose contexts are known
//! and whose outcomes are not.
//!
//! A [`TargetSample`] is a sample of contexts. Values come from the log; how much more common a context is
//! in the target than in the log are the [`Odds`], by a logistic model. With `l̂` the model's value
//! of a policy, `ω` the odds, `π/π₀` the ratios and `r = y − m̂` the residuals of rows that the
//! model was not fitted to:
//!
//! ```text
//! direct                    E_T[l̂]
//! inverse odds              Σ_log ω (π/π₀) y / Σ_log ω (π/π₀)
//! doubly robust transport   E_T[l̂] + Σ_log ω (π/π₀) r / Σ_log ω (π/π₀)
//! ```
//!
//! The last needs the outcome model or the odds to be right, not both. Standard errors count both
//! samples ([`Transport`]). How well the log covers the target is [`Coverage`]; the worst case around
//! the target is [`Robust::around`](crate::evaluate::Robust::around).
//!
//! Where only means and shares of single columns are known of a target, a [`Balance`] makes the log
//! like it, and [`BalancedEstimator`] is the doubly robust estimate there. What groups of the past cost beyond
//! their centres is an [`Allowance`] for the next.
//!
//! ```
//! use seawall::evaluate::{Evaluator, FitOptions, Propensity};
//! use seawall::outcome::Recipe;
//! use seawall::policy::Policy;
//! use seawall::transfer::{TargetSample, Transport};
//! use seawall::{Direction, Feature, Log, Watch};
//! let ages = [40.0, 40.0, 60.0, 60.0, 80.0, 80.0].repeat(20);
//! let taken = ["treat", "wait"].repeat(60);
//! let costs: Vec<f64> = ages.iter().map(|age| (age / 20.0) - 1.0).collect();
//! let age = [Feature::numeric("age")];
//! let log = Log::from_rows(age, vec![ages], &taken, &costs, None, Direction::Cost)?.shared();
//! let options = FitOptions::default();
//! let fitted = Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY)?;
//! // An older population: contexts are points of the log's space, here 40, 60 and 80.
//! let target = TargetSample::new(log.contexts(), &[(1, 1.0), (2, 1.0), (2, 1.0), (2, 1.0)])?;
//! let transport = Transport::new(&fitted, &target, Watch::NOBODY)?;
//! let wait = Policy::constant(&log, "wait")?;
//! let found = transport.estimates(&wait)?;
//! assert!((found.dm.value - 2.75).abs() < 1e-12);
//! # Ok::<(), seawall::Error>(())
//! ```

mod allowance;
mod balance;
mod balanced_estimator;
mod coverage;
mod cross_fitted;
mod goals;
mod odds;
mod realised;
mod record;
mod target_sample;
mod tilt;
mod transport;

pub use allowance::{Allowance, Method, Past, paule_mandel};
pub use balance::{Balance, BalanceStatus, BalanceSummary, ColumnBalance, EFFECTIVE, FactBalance};
pub use balanced_estimator::BalancedEstimator;
pub use coverage::{ActionCoverage, Coverage, FEW};
pub use odds::Odds;
pub use realised::Rows;
pub use record::{BoundRecord, recency_weight};
pub use target_sample::TargetSample;
pub use transport::{Transport, Transported};

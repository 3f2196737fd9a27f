//! How well a log covers a target: to be said before any number.

use super::{Odds, TargetSample};
use crate::evaluate::Evaluator;
use serde::Serialize;

/// Fewer rows than these are told.
pub const FEW: [f64; 3] = [1.0, 5.0, 20.0];

/// How well a log covers a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// The share of the target's people whose context the log never has.
    pub unobserved: f64,
    /// `(Σ ω)² / Σ ω²` over the log's rows: how many rows the reweighted log is worth, times the share
    /// of the target that rows of the log can stand for.
    pub effective_rows: f64,
    /// The largest odds of a row of the log, 1 being the mean.
    pub largest_odds: f64,
    /// Action by action.
    pub actions: Vec<ActionCoverage>,
}

/// How well one action's rows cover a target: shares of its people where there are fewer than 1, 5
/// and 20 rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionCoverage {
    /// The action.
    pub name: String,
    /// In the very same context.
    pub cells: [f64; 3],
    /// In the same leaf of the outcome model, on average over a forest's trees, if it has leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaves: Option<[f64; 3]>,
}

impl Coverage {
    /// Counts.
    pub fn new(fitted: &Evaluator, target: &TargetSample, odds: &Odds) -> Self {
        let log = fitted.log();
        let totals = log.cell_totals();
        let shares = target.population().weights();
        let with_mass = || shares.iter().enumerate().filter(|(_, q)| **q > 0.0);
        // From 0: an empty sum would be -0.
        let share = |among: &dyn Fn(usize) -> bool| {
            with_mass().filter(|(x, _)| among(*x)).fold(0.0, |sum, (_, q)| sum + q)
        };
        let fewer = |rows: &dyn Fn(usize) -> f64| FEW.map(|few| share(&|x| rows(x) < few));
        let action = |(action, name): (usize, &String)| ActionCoverage {
            name: name.clone(),
            cells: fewer(&|x| totals.at(x, action)),
            leaves: fitted
                .model()
                .rows_behind(0, action)
                .map(|_| fewer(&|x| fitted.model().rows_behind(x, action).unwrap_or(0.0))),
        };
        let seen = |x: usize| totals.row(x).iter().any(|n| *n > 0.0);
        let (mut sum, mut squares, mut largest) = (0.0, 0.0, 0.0_f64);
        for e in log.entries() {
            let ω = odds.at(e.context as usize);
            (sum, squares, largest) =
                (sum + e.weight * ω, squares + e.weight * e.unit * ω * ω, largest.max(ω));
        }
        Coverage {
            unobserved: share(&|x| !seen(x)),
            effective_rows: target.within() * sum * sum / squares,
            largest_odds: largest,
            actions: log.actions().iter().enumerate().map(action).collect(),
        }
    }
}

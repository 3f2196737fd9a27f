//! The noise of a model's values: how a weighted mean of them hangs on the rows it was fitted to.
//!
//! For weights `W(x, a)` let `w_i` be the derivative of `Σ W m` in the outcome of row `i`. Leaves,
//! forests and additive models are linear in the outcomes, given where their leaves are and what
//! their penalty is, so
//!
//! ```text
//! Var Σ W m = Σ_i w_i² σ_i²
//! ```
//!
//! In a forest `w_i` is averaged over the trees before it is squared, and `σ_i²` is the row's own
//! squared residual, divided by one less its share in its own fitted value: with one tree that is
//! the leaves' `Σ_L W_L² s_L² / n_L`. In an additive model `σ²` is one number per action. Boosted
//! trees fit each tree to the ones before, and predictions come from elsewhere: neither has a noise
//! that is known from one fit.

use super::Model;
use crate::log::Log;
use crate::matrix::Matrix;

/// A row with less than this of its fitted value left to others says nothing about the noise.
const ALONE: f64 = 1e-9;

impl Model {
    /// How `Σ mass(x, a) m(x, a)` hangs on the outcome of a row of each context and action; None
    /// for boosted trees and predictions, and for leaves, which tell it by leaf.
    /// With it a row's own share in its fitted value, where that is known.
    pub(crate) fn pulls(&self, mass: &Matrix) -> Option<(Matrix, Option<Matrix>)> {
        match self {
            Model::Forest(forest) => {
                let (pulls, own) = forest.pulls(mass);
                Some((pulls, Some(own)))
            }
            Model::Additive(additive) => Some((additive.pulls(mass).0, None)),
            _ => None,
        }
    }

    /// The variance of `Σ mass(x, a) m(x, a)` that the noise of outcomes brings; None where
    /// [`pulls`](Self::pulls) is.
    pub(crate) fn noise(&self, log: &Log, mass: &Matrix) -> Option<f64> {
        match self {
            Model::Forest(forest) => {
                let (pull, own) = forest.pulls(mass);
                Some(by_residuals(log, forest.means(), &pull, &own))
            }
            Model::Additive(additive) => {
                let (pull, variances) = additive.pulls(mass);
                let term = |e: &crate::log::Entry| {
                    let (x, action) = (e.context as usize, e.action as usize);
                    e.weight * pull.at(x, action).powi(2) * variances[action]
                };
                Some(log.entries().iter().map(term).sum())
            }
            _ => None,
        }
    }
}

/// `Σ_i w_i² e_i² / (1 − h_i)`; rows that are alone borrow the mean of the others of their action.
fn by_residuals(log: &Log, means: &Matrix, pull: &Matrix, own: &Matrix) -> f64 {
    let actions = log.actions().len();
    let (mut noise, mut alone) = (0.0, vec![0.0; actions]);
    let mut others = vec![(0.0, 0.0); actions];
    for e in log.entries() {
        let (x, action) = (e.context as usize, e.action as usize);
        let weight = e.weight * pull.at(x, action).powi(2);
        let rest = 1.0 - own.at(x, action);
        if rest < ALONE {
            alone[action] += weight;
            continue;
        }
        let square = (log.value(e) - means.at(x, action)).powi(2) / rest;
        noise += weight * square;
        others[action] = (others[action].0 + e.weight, others[action].1 + e.weight * square);
    }
    let borrowed = alone.iter().zip(&others).filter(|(_, o)| o.0 > 0.0);
    noise + borrowed.map(|(weight, o)| weight * o.1 / o.0).sum::<f64>()
}

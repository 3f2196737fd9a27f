//! Sums of trees with values at their leaves, weighed by the leaf of a policy's tree.

use super::{Extent, StepTree};
use std::sync::Arc;

/// `m(z) = base + Σ_t value_t[leaf_t(z)]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    /// What is added everywhere.
    pub base: f64,
    /// The trees, with a value for each leaf.
    pub trees: Vec<(Arc<StepTree>, Arc<[f64]>)>,
}

impl Terms {
    /// So many times the same.
    pub fn times(&self, factor: f64) -> Self {
        let tree = |(tree, values): &(Arc<StepTree>, Arc<[f64]>)| {
            (tree.clone(), values.iter().map(|v| factor * v).collect())
        };
        Terms { base: factor * self.base, trees: self.trees.iter().map(tree).collect() }
    }

    /// The value at a place given by its features' codes.
    pub fn at(&self, extent: &Extent, code: impl Fn(usize) -> f64 + Copy) -> f64 {
        let value = |(tree, values): &(Arc<StepTree>, Arc<[f64]>)| {
            values[tree.leaf_of(extent, code) as usize]
        };
        self.base + self.trees.iter().map(value).sum::<f64>()
    }
}

/// A sum of steps and what it is multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighed {
    /// The factor.
    pub factor: f64,
    /// Which sum.
    pub terms: usize,
}

/// `f(z) = Σ_j c_{leaf(z), j} m_j(z)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepFunction {
    /// Where the factors change.
    pub policy: StepTree,
    /// The factors of each of its leaves; none is 0.
    pub rows: Vec<Vec<Weighed>>,
    /// The sums.
    pub terms: Vec<Terms>,
}

/// What cancels but for rounding is 0, so that policies that do equally well stay equal.
pub(crate) const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl StepFunction {
    /// The value at a place given by its features' codes.
    pub fn at(&self, extent: &Extent, code: impl Fn(usize) -> f64 + Copy) -> f64 {
        let row = &self.rows[self.policy.leaf_of(extent, code) as usize];
        combined(row, |j| self.terms[j].at(extent, code))
    }
}

/// `Σ_j c_j m_j`, 0 where it cancels but for rounding.
pub(super) fn combined(row: &[Weighed], value: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut size) = (0.0, 0.0);
    for w in row {
        let term = w.factor * value(w.terms);
        (sum, size) = (sum + term, size + f64::abs(term));
    }
    if f64::abs(sum) <= ROUNDING * size { 0.0 } else { sum }
}

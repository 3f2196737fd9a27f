//! A target: a sample of another population's contexts, without outcomes.

use crate::error::{Error, Result};
use crate::kernel::random::Random;
use crate::population::Population;
use crate::space::Space;
use std::sync::Arc;

/// A sample of contexts, each a point of a log's space.
#[derive(Clone, Debug)]
pub struct TargetSample {
    population: Population,
    /// Each row's context and weight; what weighs nothing is left out.
    rows: Vec<(usize, f64)>,
    /// By context: the rows' weights, and their squares.
    weights: Vec<f64>,
    squares: Vec<f64>,
    /// The share of people whom nobody of the log is like.
    beyond: f64,
}

impl TargetSample {
    /// Rows, each a context of the space and a weight.
    pub fn new(space: &Arc<Space>, rows: &[(usize, f64)]) -> Result<Self> {
        let (mut weights, mut squares) = (vec![0.0; space.len()], vec![0.0; space.len()]);
        for (row, &(context, weight)) in rows.iter().enumerate() {
            if context >= space.len() {
                let points = space.len();
                return Err(Error::input(format!(
                    "row {}: context {context} of {points}",
                    row + 1
                )));
            }
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(Error::input(format!(
                    "row {}: the weight is {weight}; expected a finite number ≥ 0",
                    row + 1
                )));
            }
            weights[context] += weight;
            squares[context] += weight * weight;
        }
        let rows: Vec<(usize, f64)> = rows.iter().copied().filter(|r| r.1 > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::input("the target has no rows"));
        }
        let population = Population::from_weights(space.clone(), weights.clone())?;
        Ok(TargetSample { population, rows, weights, squares, beyond: 0.0 })
    }

    /// The same target, of whose people this share has values that the log does not have: no weights
    /// make the log like them, so it is worth that many rows less.
    #[must_use]
    pub fn partly_beyond(self, share: f64) -> Self {
        TargetSample { beyond: share.clamp(0.0, 1.0), ..self }
    }

    /// The share of its people whom rows of the log can stand for.
    pub(super) fn within(&self) -> f64 {
        1.0 - self.beyond
    }

    /// Its population.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// How many rows each context has.
    pub fn row_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.weights.len()];
        self.rows.iter().for_each(|r| counts[r.0] += 1);
        counts
    }

    /// `(Σ w)² / Σ w²`: how many rows of equal weight it is worth.
    pub fn effective_rows(&self) -> f64 {
        self.total().powi(2) / self.squares.iter().sum::<f64>()
    }

    /// The sum of the rows' weights.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The rows' weights by context.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// What makes the weights sum to the number of rows: odds must not depend on the weights' unit.
    pub(super) fn scale(&self) -> f64 {
        self.rows.len() as f64 / self.total()
    }

    /// The squares of the rows' weights, summed by context: what variances are made of.
    pub(super) fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// Its rows at some places, which are those of another space in their order.
    pub fn at_places(&self, space: &Arc<Space>, places: &[usize]) -> Result<Self> {
        let mut place = vec![None; self.weights.len()];
        places.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
        let rows = self.rows.iter().filter_map(|&(x, w)| place[x].map(|x| (x, w)));
        Ok(TargetSample::new(space, &rows.collect::<Vec<_>>())?.partly_beyond(self.beyond))
    }

    /// Its rows dealt to two halves at random; both are all of it if it has but one row.
    pub fn halves(&self, seed: u64, stream: u64) -> Result<[Self; 2]> {
        let mut random = Random::new(seed, stream);
        let mut rows = self.rows.clone();
        for last in (1..rows.len()).rev() {
            rows.swap(last, random.below(last + 1));
        }
        let half = |rows: &[(usize, f64)]| -> Result<Self> {
            Ok(TargetSample::new(self.population.space(), rows)?.partly_beyond(self.beyond))
        };
        match rows.split_at(rows.len() / 2) {
            ([], all) => Ok([half(all)?, half(all)?]),
            (a, b) => Ok([half(a)?, half(b)?]),
        }
    }

    /// As many rows drawn with replacement.
    pub fn drawn_again(&self, seed: u64, stream: u64) -> Result<Self> {
        let mut random = Random::new(seed, stream);
        let count = self.rows.len();
        let rows: Vec<(usize, f64)> = (0..count).map(|_| self.rows[random.below(count)]).collect();
        Ok(TargetSample::new(self.population.space(), &rows)?.partly_beyond(self.beyond))
    }
}

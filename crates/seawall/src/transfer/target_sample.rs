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
    /// What weighs nothing is left out.
    rows: Vec<TargetRows>,
    /// By context: the rows' weights, and their squares.
    weights: Vec<f64>,
    squares: Vec<f64>,
    /// The share of people whom nobody of the log is like.
    beyond: f64,
}

/// People of one context who weigh the same.
#[derive(Clone, Copy, Debug)]
struct TargetRows {
    context: usize,
    count: f64,
    /// What each weighs.
    unit: f64,
}

impl TargetSample {
    /// Rows, each a context of the space and a weight: one person who weighs so much.
    pub fn new(space: &Arc<Space>, rows: &[(usize, f64)]) -> Result<Self> {
        let row = |&(context, unit): &(usize, f64)| TargetRows { context, count: 1.0, unit };
        Self::from_rows(space, rows.iter().map(row).collect())
    }

    /// Counts, each a context of the space and how many people there are.
    pub fn counted(space: &Arc<Space>, counts: &[(usize, f64)]) -> Result<Self> {
        let row = |&(context, count): &(usize, f64)| TargetRows { context, count, unit: 1.0 };
        Self::from_rows(space, counts.iter().map(row).collect())
    }

    fn from_rows(space: &Arc<Space>, rows: Vec<TargetRows>) -> Result<Self> {
        let (mut weights, mut squares) = (vec![0.0; space.len()], vec![0.0; space.len()]);
        for (row, &TargetRows { context, count, unit }) in rows.iter().enumerate() {
            let weight = count * unit;
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
            squares[context] += weight * unit;
        }
        let rows: Vec<TargetRows> = rows.into_iter().filter(|r| r.count * r.unit > 0.0).collect();
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

    /// How many people it has.
    pub fn rows(&self) -> usize {
        self.rows.iter().map(|r| r.count).sum::<f64>().round() as usize
    }

    /// How many people each context has.
    pub fn row_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.weights.len()];
        self.rows.iter().for_each(|r| counts[r.context] += r.count.round() as usize);
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
        self.rows() as f64 / self.total()
    }

    /// The squares of the rows' weights, summed by context: what variances are made of.
    pub(super) fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// Its rows at some places, which are those of another space in their order.
    pub fn at_places(&self, space: &Arc<Space>, places: &[usize]) -> Result<Self> {
        let mut place = vec![None; self.weights.len()];
        places.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
        let rows =
            self.rows.iter().filter_map(|r| Some(TargetRows { context: place[r.context]?, ..*r }));
        Ok(TargetSample::from_rows(space, rows.collect())?.partly_beyond(self.beyond))
    }

    /// Its rows dealt to two halves at random; both are all of it if it has but one row.
    pub fn halves(&self, seed: u64, stream: u64) -> Result<[Self; 2]> {
        let mut random = Random::new(seed, stream);
        if self.is_counted() {
            return self.thinned(&mut random);
        }
        let mut rows = self.rows.clone();
        for last in (1..rows.len()).rev() {
            rows.swap(last, random.below(last + 1));
        }
        let half = |rows: &[TargetRows]| self.of(rows.to_vec());
        match rows.split_at(rows.len() / 2) {
            ([], all) => Ok([half(all)?, half(all)?]),
            (a, b) => Ok([half(a)?, half(b)?]),
        }
    }

    /// As many rows drawn with replacement.
    pub fn drawn_again(&self, seed: u64, stream: u64) -> Result<Self> {
        let mut random = Random::new(seed, stream);
        if self.is_counted() {
            let drawn = |r: &TargetRows| TargetRows { count: poisson(r.count, &mut random), ..*r };
            return self.of(self.rows.iter().map(drawn).collect()).or_else(|_| Ok(self.clone()));
        }
        let count = self.rows.len();
        self.of((0..count).map(|_| self.rows[random.below(count)]).collect())
    }

    /// Whether rows stand for several people.
    fn is_counted(&self) -> bool {
        self.rows.iter().any(|r| r.count != 1.0)
    }

    fn of(&self, rows: Vec<TargetRows>) -> Result<Self> {
        Ok(TargetSample::from_rows(self.population.space(), rows)?.partly_beyond(self.beyond))
    }

    /// Each person dealt to one of two halves; both are all of it if one were empty.
    fn thinned(&self, random: &mut Random) -> Result<[Self; 2]> {
        let first: Vec<f64> = self.rows.iter().map(|r| thin(r.count, random)).collect();
        let side = |count: &dyn Fn(usize) -> f64| {
            let rows = self.rows.iter().enumerate();
            self.of(rows.map(|(k, r)| TargetRows { count: count(k), ..*r }).collect())
        };
        match (side(&|k| first[k]), side(&|k| self.rows[k].count - first[k])) {
            (Ok(a), Ok(b)) => Ok([a, b]),
            _ => Ok([self.clone(), self.clone()]),
        }
    }
}

/// Counts up to this are drawn person by person, larger ones by a normal of the same mean and variance.
const FEW: f64 = 256.0;

/// How many of so many people fall to one of two halves.
fn thin(count: f64, random: &mut Random) -> f64 {
    if count <= FEW {
        return (0..count.round() as usize).filter(|_| random.unit() < 0.5).count() as f64;
    }
    (0.5 * count + 0.5 * count.sqrt() * random.normal()).round().clamp(0.0, count)
}

/// How many people there are in a sample drawn again where there were so many.
fn poisson(count: f64, random: &mut Random) -> f64 {
    if count > FEW {
        return (count + count.sqrt() * random.normal()).round().max(0.0);
    }
    let (end, mut product, mut drawn) = ((-count).exp(), random.unit(), 0.0);
    while product > end {
        product *= random.unit();
        drawn += 1.0;
    }
    drawn
}

//! Stage 2. A population: weights on the points of a space, `p_i ≥ 0`, `Σ p_i = 1`.
//!
//! Points of weight 0 are places that mass may move to. Not here: values, and how populations
//! differ.

use crate::error::{Error, Result};
use crate::kernel::sum::sum;
use crate::space::{Feature, Layout, Space, bits};
use std::collections::HashMap;
use std::sync::Arc;

/// Weights on the points of a space.
///
/// ```
/// use seawall::{Feature, Population};
/// // Three visits, two of them in the same place: the duplicates are merged.
/// let seen = Population::from_samples(
///     [Feature::numeric("age"), Feature::nominal("sex", ["F", "M"])],
///     vec![vec![30.0, 40.0, 30.0], vec![0.0, 1.0, 0.0]],
/// )?;
/// assert_eq!(seen.space().len(), 2);
/// assert!((seen.weights()[0] - 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), seawall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Population {
    space: Arc<Space>,
    /// Shared, so that a copy costs nothing.
    weights: Arc<[f64]>,
}

impl Population {
    /// One weight per point of the space; they are divided by their sum.
    pub fn from_weights(space: Arc<Space>, mut weights: Vec<f64>) -> Result<Self> {
        if weights.len() != space.len() {
            let (found, points) = (weights.len(), space.len());
            return Err(Error::input(format!("{found} weights for {points} points")));
        }
        if let Some(i) = weights.iter().position(|p| !(*p >= 0.0 && p.is_finite())) {
            let p = weights[i];
            return Err(Error::input(format!(
                "the weight of point {i} is {p}; expected a finite number ≥ 0"
            )));
        }
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return Err(Error::input("all weights are 0; expected at least one above 0"));
        }
        // By the largest first: the sum of huge weights may not exist.
        weights.iter_mut().for_each(|p| *p /= largest);
        let total = sum(weights.len(), |i| weights[i]);
        weights.iter_mut().for_each(|p| *p /= total);
        Ok(Population { space, weights: weights.into() })
    }

    /// One count per point of the space.
    pub fn from_counts(space: Arc<Space>, counts: &[u64]) -> Result<Self> {
        Self::from_weights(space, counts.iter().map(|&n| n as f64).collect())
    }

    /// The population of a sample: one column per feature as for [`Space::points`], duplicates
    /// merged into one point in order of appearance.
    pub fn from_samples(
        features: impl IntoIterator<Item = Feature>,
        columns: Vec<Vec<f64>>,
    ) -> Result<Self> {
        let rows = DistinctRows::new(&columns)?;
        let weights = rows.totals(&vec![1.0; rows.point_of.len()]);
        Self::from_weights(Arc::new(Space::points(features, rows.columns)?), weights)
    }

    /// Counts a sample on a grid: one column of level indices per feature.
    pub fn count(space: Arc<Space>, columns: &[Vec<usize>]) -> Result<Self> {
        let Layout::Grid(grid) = space.layout() else {
            return Err(Error::config("only on a grid can a sample be counted by level"));
        };
        let mut counts = vec![0u64; grid.len()];
        let rows = columns.first().map_or(0, Vec::len);
        if columns.len() != grid.levels().len() || columns.iter().any(|c| c.len() != rows) {
            return Err(Error::input(format!(
                "expected {} columns of level indices, all of one length",
                grid.levels().len()
            )));
        }
        for row in 0..rows {
            for ((column, &levels), name) in columns.iter().zip(grid.levels()).zip(space.names()) {
                if column[row] >= levels {
                    let found = column[row];
                    return Err(Error::input(format!(
                        "feature {name:?}: sample {row} has level {found}; there are {levels}"
                    )));
                }
            }
            counts[grid.cell(columns.iter().map(|c| c[row]))] += 1;
        }
        Self::from_counts(space.clone(), &counts)
    }

    /// The space it sits on.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// One weight per point of the space, summing to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How many points have weight.
    pub fn observed(&self) -> usize {
        self.weights.iter().filter(|w| **w > 0.0).count()
    }

    /// The mean of a function given by one value per point.
    pub fn mean(&self, values: &[f64]) -> Result<f64> {
        let (found, points) = (values.len(), self.weights.len());
        if found == points {
            Ok(sum(points, |i| self.weights[i] * values[i]))
        } else {
            Err(Error::input(format!("{found} values for {points} points")))
        }
    }
}

/// The distinct rows of columns, in order of appearance: the points of a sample.
///
/// Rows are the same if their numbers are: −0 is 0, and every NaN is the missing value.
///
/// ```
/// use seawall::DistinctRows;
/// let rows = DistinctRows::new(&[vec![0.0, 7.0, -0.0], vec![f64::NAN, 1.0, f64::NAN]])?;
/// assert_eq!(rows.point_of, [0, 1, 0]);
/// assert_eq!(rows.totals(&[1.0, 1.0, 0.5]), [1.5, 1.0]);
/// # Ok::<(), seawall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistinctRows {
    /// The columns of the distinct rows.
    pub columns: Vec<Vec<f64>>,
    /// Which of them each row is.
    pub point_of: Vec<usize>,
}

impl DistinctRows {
    /// The distinct rows of columns of one length.
    pub fn new(columns: &[Vec<f64>]) -> Result<Self> {
        let rows = columns.first().map_or(0, Vec::len);
        if let Some(column) = columns.iter().find(|c| c.len() != rows) {
            return Err(Error::input(format!(
                "columns of different lengths: {rows} and {}",
                column.len()
            )));
        }
        let mut points: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut distinct: Vec<Vec<f64>> = vec![Vec::new(); columns.len()];
        let mut point_of = Vec::with_capacity(rows);
        for row in 0..rows {
            let key = columns.iter().map(|c| bits(c[row])).collect();
            let next = points.len();
            let point = *points.entry(key).or_insert(next);
            if point == next {
                distinct.iter_mut().zip(columns).for_each(|(kept, c)| kept.push(c[row]));
            }
            point_of.push(point);
        }
        Ok(DistinctRows { columns: distinct, point_of })
    }

    /// What the rows' weights sum to at each distinct row; rows without a weight have none.
    pub fn totals(&self, weights: &[f64]) -> Vec<f64> {
        let mut totals = vec![0.0; self.columns.first().map_or(0, Vec::len)];
        for (&point, weight) in self.point_of.iter().zip(weights) {
            totals[point] += weight;
        }
        totals
    }
}

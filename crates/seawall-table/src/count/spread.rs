//! The weight of an axis whose columns are scaled by the spread of their rows.

use super::axis::Axis;
use seawall::{ExactSum, mean_cost, mean_square};

impl Axis {
    /// Weighs the axis by the spread of its rows, given how many each point has. A weight that was given
    /// stays.
    pub(super) fn spread(&mut self, rows: &[f64]) {
        if self.weighed {
            return;
        }
        let mut total = ExactSum::ZERO;
        rows.iter().for_each(|n| total.add(*n));
        let total = total.value();
        let mean = match self.levels {
            None => {
                let shares: Vec<f64> = rows.iter().map(|n| n / total).collect();
                Some(mean_square(&self.at, &shares))
            }
            Some(levels) => {
                let mut sums = vec![ExactSum::ZERO; levels];
                let each = self.at.iter().zip(rows);
                each.for_each(|(level, count)| sums[*level as usize].add(*count));
                let shares: Vec<f64> = sums.iter().map(|sum| sum.value() / total).collect();
                mean_cost(&self.feature, &shares)
            }
        };
        if let Some(mean) = mean.filter(|mean| *mean > 0.0 && mean.is_finite()) {
            self.feature = self.feature.clone().weight(1.0 / mean);
        }
    }
}

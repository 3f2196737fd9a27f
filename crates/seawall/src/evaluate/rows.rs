//! The nominal estimators on plain rows: no cells, predicted values given.
//!
//! ```text
//! w_i = π(a_i|x_i)/p_i          d_i = Σ_a π(a|x_i) q(x_i, a)
//! DM = mean d      IPS = mean w y      SNIPS = Σ w y / Σ w      DR = mean (d + w (y − q(x_i, a_i)))
//! ```
//!
//! For logs in which every row has chances of its own. Nothing is fitted here, and an action that
//! was never taken needs only its predicted value.

use super::estimate::{Estimate, Term};
use super::nominal::{Nominal, Overlap};
use crate::ambiguity::sets::Wasserstein;
use crate::ambiguity::{Direction, Problem, Set, Settings, WorstCase};
use crate::error::{Error, Result};
use crate::log::{Entry, Log};
use crate::outcome::{Recipe, TreeSettings, Unseen};
use crate::population::{DistinctRows, Population};
use crate::space::{Feature, Space};
use std::sync::Arc;

/// Logged rows, the policy's chances and predicted values, `[row · actions + action]`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The action taken in each row.
    pub actions: &'a [usize],
    /// What followed.
    pub outcomes: &'a [f64],
    /// The probability with which the action was taken.
    pub propensities: &'a [f64],
    /// The policy's chances.
    pub chances: &'a [f64],
    /// The predicted values.
    pub predicted: &'a [f64],
    /// How many actions there are.
    pub count: usize,
}

impl Rows<'_> {
    /// Refuses columns of different lengths and actions that there are not.
    fn check_lengths(&self) -> Result<()> {
        let rows = self.actions.len();
        if self.count == 0 {
            return Err(Error::input("there are no actions"));
        }
        let cells = rows.checked_mul(self.count).ok_or_else(|| {
            Error::input(format!("{rows} rows of {} actions are too many", self.count))
        })?;
        let lengths = [
            ("outcomes", self.outcomes.len(), rows),
            ("propensities", self.propensities.len(), rows),
            ("chances", self.chances.len(), cells),
            ("predicted values", self.predicted.len(), cells),
        ];
        if let Some((name, found, wanted)) = lengths.iter().find(|(_, a, b)| a != b) {
            return Err(Error::input(format!("{found} {name}; expected {wanted}")));
        }
        match self.actions.iter().position(|a| *a >= self.count) {
            Some(row) => Err(Error::input(format!(
                "row {}: action {} of {}",
                row + 1,
                self.actions[row],
                self.count
            ))),
            None => Ok(()),
        }
    }

    /// What the policy would bring in each row, by the predicted values.
    pub fn direct(&self) -> Result<Vec<f64>> {
        self.check_lengths()?;
        let rows = self.chances.chunks(self.count).zip(self.predicted.chunks(self.count));
        Ok(rows.map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * q).sum()).collect())
    }

    /// Estimates the policy's value.
    pub fn nominal(&self) -> Result<Nominal> {
        self.check_lengths()?;
        let rows = 0..self.actions.len();
        let place = |i: usize| i * self.count + self.actions[i];
        let ratios: Vec<f64> =
            rows.clone().map(|i| self.chances[place(i)] / self.propensities[i]).collect();
        let direct = self.direct()?;
        let one = Entry::default();
        let mean = |value: &dyn Fn(usize) -> f64| {
            let term = |i: usize| Term { entry: &one, weight: 1.0, value: value(i) };
            Estimate::mean(&rows.clone().map(term).collect::<Vec<_>>(), None)
        };
        let mass: f64 = ratios.iter().sum();
        let squares: f64 = ratios.iter().map(|w| w * w).sum();
        let overlap = Overlap {
            effective_sample_size: if mass > 0.0 { mass * mass / squares } else { 0.0 },
            mean_ratio: mass / self.actions.len() as f64,
            uncovered: None,
            clipped: 0.0,
        };
        let dm = mean(&|i| direct[i]);
        if mass == 0.0 {
            return Ok(Nominal { dm, ips: None, snips: None, dr: None, overlap });
        }
        let snips = rows.clone().map(|i| ratios[i] * self.outcomes[i]).sum::<f64>() / mass;
        let spread: f64 =
            rows.clone().map(|i| (ratios[i] * (self.outcomes[i] - snips)).powi(2)).sum();
        Ok(Nominal {
            dm,
            ips: Some(mean(&|i| ratios[i] * self.outcomes[i])),
            snips: Some(Estimate::new(snips, spread.sqrt() / mass, None)),
            dr: Some(mean(&|i| {
                direct[i] + ratios[i] * (self.outcomes[i] - self.predicted[place(i)])
            })),
            overlap,
        })
    }
}

/// Logged rows with their contexts, each row's point among the distinct ones.
pub struct LoggedRows {
    space: Arc<Space>,
    point_of: Vec<usize>,
}

impl LoggedRows {
    /// One column per feature as for [`Space::points`].
    pub fn new(
        features: impl IntoIterator<Item = Feature>,
        columns: Vec<Vec<f64>>,
    ) -> Result<Self> {
        let DistinctRows { columns, point_of } = DistinctRows::new(&columns)?;
        Ok(LoggedRows { space: Arc::new(Space::points(features, columns)?), point_of })
    }

    /// Predicted values of every row and action, `[row · actions + action]`, by a regression tree
    /// per action fitted to the same rows. What `rows` predicts is not looked at.
    pub fn predicted(
        &self,
        rows: &Rows<'_>,
        direction: Direction,
        settings: Settings<'_>,
    ) -> Result<Vec<f64>> {
        let count = rows.count;
        self.check_against(rows)?;
        if let Some(never) = (0..count).find(|a| !rows.actions.contains(a)) {
            return Err(Error::input(format!(
                "action {never} of {count} is never taken in the log, so nothing can be fitted to \
                 it; bring predicted values"
            )));
        }
        let mut levels: Vec<f64> = rows.outcomes.to_vec();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let entry = |row: usize| Entry {
            context: self.point_of[row] as u32,
            action: rows.actions[row] as u32,
            outcome: levels.partition_point(|l| *l < rows.outcomes[row]) as u32,
            propensity: rows.propensities[row],
            weight: 1.0,
            ..Entry::default()
        };
        let entries = (0..rows.actions.len()).map(entry).collect();
        let outcomes = Arc::new(Space::grid([Feature::numeric("outcome").levels(levels.clone())])?);
        let names = (0..count).map(|a| a.to_string()).collect();
        let log = Log::new(self.space.clone(), names, outcomes, levels, direction, entries)?;
        let recipe = Recipe::Tree(vec![TreeSettings::default(); count]);
        let model = recipe.fit(&log, settings.watch)?;
        let values = model.values(&log, Wasserstein.at(0.0), Unseen::Mean, settings)?;
        Ok(self.point_of.iter().flat_map(|&point| values.matrix().row(point)).copied().collect())
    }

    /// The worst cases of the policy's predicted value over shifts of the contexts: what a context
    /// brings is the mean over its rows of what the policy would bring there.
    pub fn worst_cases(
        &self,
        rows: &Rows<'_>,
        direction: Direction,
        set: Set,
        radii: &[f64],
        settings: Settings<'_>,
    ) -> Result<Vec<WorstCase>> {
        self.check_against(rows)?;
        if radii.is_empty() {
            return Ok(Vec::new());
        }
        let points = self.space.len();
        let (mut values, mut counts) = (vec![0.0; points], vec![0.0; points]);
        for (value, &point) in rows.direct()?.iter().zip(&self.point_of) {
            values[point] += value;
            counts[point] += 1.0;
        }
        values.iter_mut().zip(&counts).for_each(|(v, n)| *v /= n);
        let population = Population::from_weights(self.space.clone(), counts)?;
        let problem = Problem::new(&population, &values)?.direction(direction);
        let mut solver = set.solver(&problem, settings)?;
        radii.iter().map(|&radius| solver.worst_case(radius)).collect()
    }

    fn check_against(&self, rows: &Rows<'_>) -> Result<()> {
        let (found, wanted) = (rows.actions.len(), self.point_of.len());
        if rows.outcomes.len() != found || rows.propensities.len() != found {
            return Err(Error::input("actions, outcomes and propensities differ in length"));
        }
        if found == wanted {
            Ok(())
        } else {
            Err(Error::input(format!("{found} rows for {wanted} contexts")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_rows_by_hand() {
        let rows = Rows {
            actions: &[0, 1, 0, 1],
            outcomes: &[1.0, 0.0, 2.0, 4.0],
            propensities: &[0.5, 0.5, 0.25, 0.5],
            chances: &[1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0],
            predicted: &[1.0, 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 3.0],
            count: 2,
        };
        // Ratios 2, 1, 2, 2; direct 1, 1, 1, 3.
        let found = rows.nominal().unwrap();
        assert_eq!(found.dm.value, 1.5);
        assert_eq!(found.ips.unwrap().value, (2.0 + 0.0 + 4.0 + 8.0) / 4.0);
        assert_eq!(found.snips.unwrap().value, 14.0 / 7.0);
        assert_eq!(found.dr.unwrap().value, (1.0 + (1.0 - 1.0) + 1.0 + (3.0 + 2.0)) / 4.0);
        assert_eq!(found.overlap.effective_sample_size, 49.0 / 13.0);
        assert!(Rows { actions: &[0, 2, 0, 1], ..rows }.nominal().is_err());
        assert!(Rows { outcomes: &[1.0], ..rows }.nominal().is_err());
    }
}

//! Outcome radii that the size of a leaf suggests.
//!
//! ```text
//! ε = ½ D √k / √n
//! ```
//!
//! with D the cost of the dearest move between two outcomes, k the outcomes seen in the leaf and n its rows: of
//! the order of the distance between the outcomes of n rows and those that they are drawn from. In a forest the
//! cells that have rows stand for leaves, each with the rows behind it on average and all outcomes of its action.

use super::{Forest, Model};
use crate::log::{Entry, Log};
use crate::space::Space;

/// The radius that one leaf suggests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutcomeRadius {
    /// The rows of the leaf.
    pub rows: f64,
    /// The radius of a leaf of one row with the same outcomes.
    pub constant: f64,
}

impl OutcomeRadius {
    /// The radius.
    pub fn radius(&self) -> f64 {
        self.constant / self.rows.sqrt()
    }
}

/// The radii of a model's leaves, that of the fewest rows first; none of a model that has none.
pub fn outcome_radii(log: &Log, model: &Model) -> Vec<OutcomeRadius> {
    let dearest = dearest_move(log.outcomes());
    let radius = |rows: f64, outcomes: f64| OutcomeRadius {
        rows,
        constant: 0.5 * dearest * outcomes.sqrt(),
    };
    let mut all: Vec<OutcomeRadius> = match model {
        Model::Forest(forest) => {
            behind(log, forest).map(|(rows, outcomes)| radius(rows, outcomes)).collect()
        }
        model => {
            let leaves = model.leaves().map_or(&[][..], |l| l.all()).iter();
            leaves.map(|leaf| radius(leaf.weight(), leaf.outcomes.len() as f64)).collect()
        }
    };
    all.sort_by(|a, b| a.rows.total_cmp(&b.rows));
    all
}

/// The cost of the dearest move between two outcomes: corner to corner, feature by feature.
fn dearest_move(outcomes: &Space) -> f64 {
    let feature = |k: usize| {
        let cost = |j: usize| outcomes.feature_cost(k, 0, j);
        let last = |j: usize| outcomes.feature_cost(k, outcomes.len() - 1, j);
        (0..outcomes.len()).map(|j| cost(j).max(last(j))).fold(0.0, f64::max)
    };
    (0..outcomes.names().len()).map(feature).sum()
}

/// What stands for leaves in a forest: the rows behind each cell, and the outcomes of its action.
fn behind<'a>(log: &'a Log, forest: &'a Forest) -> impl Iterator<Item = (f64, f64)> + 'a {
    let mut seen = vec![vec![false; log.outcomes().len()]; log.actions().len()];
    log.entries().iter().for_each(|e| seen[e.action as usize][e.outcome as usize] = true);
    let outcomes: Vec<f64> =
        seen.iter().map(|seen| seen.iter().filter(|s| **s).count() as f64).collect();
    let same = |a: &Entry, b: &Entry| (a.context, a.action) == (b.context, b.action);
    let cells = log.entries().chunk_by(same).map(|cell| (cell[0].context, cell[0].action as usize));
    cells.map(move |(context, action)| {
        (forest.rows_behind(context as usize, action), outcomes[action])
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ambiguity::Direction;
    use crate::outcome::Recipe;
    use crate::progress::Watch;
    use crate::space::Feature;

    #[test]
    fn a_radius_falls_with_the_root_of_a_leafs_rows() {
        let ages = vec![vec![40.0, 40.0, 40.0, 40.0, 60.0, 60.0]];
        let taken = ["treat", "treat", "treat", "treat", "treat", "treat"];
        let costs = [1.0, 3.0, 1.0, 3.0, 2.0, 2.0];
        let age = [Feature::numeric("age")];
        let log = Log::from_rows(age, ages, &taken, &costs, None, Direction::Cost).unwrap();
        let model = Recipe::Cells.fit(&log, Watch::NOBODY).unwrap();
        let all = outcome_radii(&log, &model);
        assert_eq!(all.iter().map(|r| r.rows).collect::<Vec<_>>(), [2.0, 4.0]);
        let dearest = dearest_move(log.outcomes());
        assert!(dearest > 0.0);
        // One outcome in two rows, and two in four.
        assert!((all[0].radius() - 0.5 * dearest / 2f64.sqrt()).abs() < 1e-12);
        assert!((all[1].radius() - 0.5 * dearest * 2f64.sqrt() / 2.0).abs() < 1e-12);
    }
}

//! How far a column tells which action was taken. Where it does so nearly always, hardly anybody who had one
//! action could have had another: there is no overlap.
//!
//! With rows in groups by the column, and each group's commonest action as the guess:
//!
//! ```text
//! (rows guessed right − rows of the commonest action) / (all rows − rows of the commonest action)
//! ```

/// A column that tells as much as this determines the action.
pub(crate) const NEARLY_ALL: f64 = 0.95;
/// Groups of fewer rows than this are taken together, and fewer rows of all other actions tell nothing.
const FEWEST: f64 = 5.0;
/// Rows beyond the groups that are needed to tell.
const SPARE: f64 = 10.0;

/// How a column tells the action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeterminedAction {
    /// How much of what can be told, from 0 to 1.
    pub share: f64,
    /// The share of the rows that are guessed right.
    pub right: f64,
    /// The group that a threshold comes after, if one tells as much.
    pub after: Option<usize>,
}

impl DeterminedAction {
    /// By groups of rows, each a count for every action; `ordered` if they are numbers in order, so that a
    /// threshold between two of them may tell. None where there are too few rows to tell.
    pub(crate) fn by(groups: &[Vec<f64>], ordered: bool) -> Option<Self> {
        let actions = groups.first()?.len();
        let mut all = vec![0.0; actions];
        groups.iter().for_each(|group| add(&mut all, group));
        let (total, commonest) = (sum(&all), most(&all));
        let told = |(right, after): (f64, Option<usize>)| DeterminedAction {
            share: (right - commonest) / (total - commonest),
            right: right / total,
            after,
        };
        if total - commonest < FEWEST || total < SPARE {
            return None;
        }
        let by_threshold = ordered.then(|| threshold(groups, &all)).flatten().map(told);
        let mut small = vec![0.0; actions];
        let (mut right, mut used) = (0.0, 1.0);
        for group in groups {
            if sum(group) < FEWEST {
                add(&mut small, group)
            } else {
                (right, used) = (right + most(group), used + 1.0)
            }
        }
        let by_levels = (total > used + SPARE).then(|| told((right + most(&small), None)));
        match (by_threshold, by_levels) {
            // The simpler words where they tell as much.
            (Some(one), Some(other)) if one.share < NEARLY_ALL && other.share > one.share => {
                Some(other)
            }
            (one, other) => one.or(other),
        }
    }

    /// Whether the column determines the action.
    pub(crate) fn determines(&self) -> bool {
        self.share >= NEARLY_ALL
    }
}

/// The rows guessed right on both sides of the best threshold, and the group it comes after.
fn threshold(groups: &[Vec<f64>], all: &[f64]) -> Option<(f64, Option<usize>)> {
    let (mut below, mut best) = (vec![0.0; all.len()], None);
    for (k, group) in groups.iter().enumerate().take(groups.len().saturating_sub(1)) {
        add(&mut below, group);
        let above: Vec<f64> = all.iter().zip(&below).map(|(a, b)| a - b).collect();
        let right = most(&below) + most(&above);
        if best.is_none_or(|(known, _)| right > known) {
            best = Some((right, Some(k)));
        }
    }
    best
}

fn add(sums: &mut [f64], group: &[f64]) {
    sums.iter_mut().zip(group).for_each(|(sum, n)| *sum += n);
}

fn sum(group: &[f64]) -> f64 {
    group.iter().sum()
}

fn most(group: &[f64]) -> f64 {
    group.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_told_is_beyond_the_commonest_action() {
        let threshold =
            DeterminedAction::by(&[vec![40.0, 0.0], vec![0.0, 3.0], vec![0.0, 57.0]], true);
        assert_eq!(threshold, Some(DeterminedAction { share: 1.0, right: 1.0, after: Some(0) }));
        // Without an order: small groups tell nothing by themselves.
        let levels =
            DeterminedAction::by(&[vec![40.0, 0.0], vec![0.0, 60.0], vec![1.0, 2.0]], false)
                .unwrap();
        assert!(levels.determines() && levels.after.is_none() && levels.right < 1.0);
        // One in 50 is the other action everywhere: that is no more than the commonest action tells.
        let rare = DeterminedAction::by(&[vec![490.0, 10.0], vec![490.0, 10.0]], true).unwrap();
        assert!(rare.share < 0.01 && rare.right > 0.97);
        // Each row a group of its own, or few rows: nothing is told.
        let own: Vec<Vec<f64>> =
            (0..60).map(|k| if k % 2 == 0 { vec![1.0, 0.0] } else { vec![0.0, 1.0] }).collect();
        assert!(DeterminedAction::by(&own, false).is_none_or(|told| told.share < 0.1));
        assert_eq!(DeterminedAction::by(&[vec![4.0, 0.0], vec![0.0, 4.0]], true), None);
        // The middle group's action is no side of a threshold.
        let middle =
            DeterminedAction::by(&[vec![30.0, 0.0], vec![0.0, 40.0], vec![30.0, 0.0]], true)
                .unwrap();
        assert!(middle.determines() && middle.after.is_none());
    }
}

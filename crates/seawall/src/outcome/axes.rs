//! The levels of each feature, numbered without gaps: what histograms are counted by.
//!
//! A numeric or ordinal feature's levels are in order of position, the missing one last; a nominal
//! or fixed one's are as the space lists them. Numbers off a grid are grouped, once there are more
//! different ones than [`MOST`], into steps of about equal numbers of rows.

use crate::log::Log;
use crate::space::{Kind, Space};
use rayon::prelude::*;
use std::sync::Arc;

/// Different numbers of a feature off a grid that are told apart, at most.
const MOST: usize = 256;

/// One feature's levels.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Whether levels have an order.
    pub ordered: bool,
    /// How many levels there are, the missing one among them.
    pub count: usize,
    /// The missing level.
    pub missing: Option<usize>,
    /// The lowest and the highest position of each level; NaN where there is none.
    pub ends: Vec<(f64, f64)>,
    /// Which number each level of the space has; none for a feature off a grid.
    of_level: Vec<u32>,
}

/// Every feature's levels, and which of them each context has.
#[derive(Clone, Debug)]
pub(super) struct Axes {
    /// The contexts.
    pub space: Arc<Space>,
    /// Feature by feature.
    pub axes: Vec<Axis>,
    /// `[context · features + feature]`.
    codes: Vec<u32>,
}

impl Axes {
    /// The levels of a log's contexts.
    pub fn new(log: &Log) -> Self {
        let space = log.contexts();
        let mut rows = vec![0.0; space.len()];
        log.entries().iter().for_each(|e| rows[e.context as usize] += e.weight);
        let features = space.names().len();
        let each = (0..features).into_par_iter();
        let axes: Vec<Axis> = each.map(|k| Axis::new(space, k, &rows)).collect();
        let mut codes = vec![0; space.len() * features];
        for (k, axis) in axes.iter().enumerate() {
            for context in 0..space.len() {
                codes[context * features + k] = axis.place(space, k, space.code(context, k));
            }
        }
        Axes { space: space.clone(), axes, codes }
    }

    /// A context's level of every feature.
    #[inline(always)]
    pub fn row(&self, context: usize) -> &[u32] {
        &self.codes[context * self.axes.len()..][..self.axes.len()]
    }

    /// The levels of a place given by its features' codes, listed or not.
    pub fn places(&self, codes: &[f64]) -> Vec<u32> {
        let place = |(k, axis): (usize, &Axis)| axis.place(&self.space, k, codes[k]);
        self.axes.iter().enumerate().map(place).collect()
    }
}

impl Axis {
    fn new(space: &Space, feature: usize, rows: &[f64]) -> Self {
        let ordered = matches!(space.kind(feature), Kind::Numeric | Kind::Ordinal);
        match (space.levels(feature).is_empty(), ordered) {
            (true, _) => Axis::of_numbers(space, feature, rows),
            (false, true) => Axis::of_positions(space.coords(feature)),
            (false, false) => {
                let missing = space.level_values(feature).position(|v| v == crate::Value::Missing);
                let count = space.levels(feature).len();
                let ends = vec![(f64::NAN, f64::NAN); count];
                Axis { ordered, count, missing, ends, of_level: (0..count as u32).collect() }
            }
        }
    }

    /// Levels in order of position; those at the same place are one.
    fn of_positions(coords: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..coords.len()).collect();
        order.sort_by(|a, b| coords[*a].total_cmp(&coords[*b]));
        let (mut ends, mut of_level): (Vec<(f64, f64)>, _) = (Vec::new(), vec![0; coords.len()]);
        for level in order {
            let at = coords[level];
            if !ends.last().is_some_and(|last| last.0 == at) {
                ends.push((at, at));
            }
            of_level[level] = ends.len() as u32 - 1;
        }
        let missing = ends.iter().position(|e| e.0.is_nan());
        Axis { ordered: true, count: ends.len(), missing, ends, of_level }
    }

    /// Different numbers, grouped if there are many; the missing level last, rows or not.
    fn of_numbers(space: &Space, feature: usize, rows: &[f64]) -> Self {
        let ranks = space.kept_ranks(feature);
        let mut numbers = vec![(f64::NAN, 0.0); ranks.count];
        for (context, (rank, rows)) in ranks.of.iter().zip(rows).enumerate() {
            let number = &mut numbers[*rank as usize];
            let at = space.coordinate(feature, space.code(context, feature));
            *number = (at, number.1 + rows);
        }
        numbers.retain(|number| !number.0.is_nan());
        // Both zeros are one.
        numbers.dedup_by(|next, last| {
            let same = next.0 == last.0;
            last.1 += if same { next.1 } else { 0.0 };
            same
        });
        let steps = quantiles(&numbers.iter().map(|n| n.1).collect::<Vec<_>>(), MOST);
        let mut ends: Vec<(f64, f64)> = Vec::new();
        for ((at, _), step) in numbers.iter().zip(steps) {
            match ends.get_mut(step) {
                Some(end) => end.1 = *at,
                None => ends.push((*at, *at)),
            }
        }
        ends.push((f64::NAN, f64::NAN));
        let missing = Some(ends.len() - 1);
        Axis { ordered: true, count: ends.len(), missing, ends, of_level: Vec::new() }
    }

    /// The number of a level of the space.
    #[inline]
    pub fn number(&self, level: u32) -> u32 {
        self.of_level[level as usize]
    }

    /// The level of a code.
    fn place(&self, space: &Space, feature: usize, code: f64) -> u32 {
        if !self.of_level.is_empty() {
            return self.of_level[code as usize];
        }
        let at = space.coordinate(feature, code);
        let present = self.count - 1;
        if at.is_nan() || present == 0 {
            return present as u32;
        }
        // Between two levels: the nearer one.
        let next = self.ends[..present].partition_point(|e| e.1 < at).min(present - 1);
        let nearer = next > 0 && at - self.ends[next - 1].1 <= self.ends[next].0 - at;
        if nearer { next as u32 - 1 } else { next as u32 }
    }

    /// How many levels the space has; none for a feature off a grid.
    pub fn levels(&self) -> usize {
        self.of_level.len()
    }

    /// Off a grid: the largest position of which so many levels, in order, are the place.
    pub fn boundary(&self, levels: usize) -> f64 {
        let present = self.count - 1;
        if levels >= present {
            return f64::INFINITY;
        }
        if levels == 0 {
            return f64::NEG_INFINITY;
        }
        let (below, above) = (self.ends[levels - 1].1, self.ends[levels].0);
        // As `place` has it: nearer to the lower one, or as near.
        let lower = |at: f64| at - below <= above - at;
        let mut at = 0.5 * below + 0.5 * above;
        while !lower(at) {
            at = at.next_down();
        }
        while lower(at.next_up()) {
            at = at.next_up();
        }
        at
    }

    /// The steps from one level to another as a person would write them.
    pub fn label(&self, space: &Space, feature: usize, first: usize, last: usize) -> String {
        if Some(first) == self.missing {
            return "(missing)".to_owned();
        }
        let named = |level: usize| {
            let at = self.of_level.iter().position(|of| *of as usize == level);
            at.map_or(String::new(), |at| space.levels(feature)[at].clone())
        };
        // The scale is a power of two: the number is as it was.
        let number = |at: f64| (at / space.scale(feature)).to_string();
        let (low, high) = if self.of_level.is_empty() {
            (number(self.ends[first].0), number(self.ends[last].1))
        } else {
            (named(first), named(last))
        };
        if low == high { low } else { format!("{low} to {high}") }
    }

    /// Groups the levels into at most so many steps of about equal numbers of rows: the step of
    /// each level. A missing level has the last one to itself. Levels without an order keep the
    /// ones with most rows, and the others share a step.
    pub fn grouped(&self, rows: &[f64], most: usize) -> Vec<u32> {
        if !self.ordered {
            return self.grouped_nominal(rows, most);
        }
        let present = self.count - usize::from(self.missing.is_some());
        let mut steps: Vec<u32> =
            quantiles(&rows[..present], most).into_iter().map(|s| s as u32).collect();
        if self.missing.is_some() {
            steps.push(steps.last().map_or(0, |last| last + 1));
        }
        steps
    }

    fn grouped_nominal(&self, rows: &[f64], most: usize) -> Vec<u32> {
        if self.count <= most {
            return (0..self.count as u32).collect();
        }
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by(|a, b| rows[*b].total_cmp(&rows[*a]).then(a.cmp(b)));
        let mut steps = vec![most as u32 - 1; self.count];
        order
            .iter()
            .take(most - 1)
            .enumerate()
            .for_each(|(step, &level)| steps[level] = step as u32);
        steps
    }
}

/// Cuts levels into at most so many runs of about equal weight: the run of each.
fn quantiles(weights: &[f64], most: usize) -> Vec<usize> {
    if weights.len() <= most {
        return (0..weights.len()).collect();
    }
    let mut left: f64 = weights.iter().sum();
    let (mut run, mut taken) = (0, 0.0);
    let mut runs = Vec::with_capacity(weights.len());
    for weight in weights {
        let share = left / (most - run) as f64;
        // A new run once this one is as near to its share as it comes.
        if run + 1 < most && taken > 0.0 && taken + 0.5 * weight > share {
            left -= taken;
            (run, taken) = (run + 1, 0.0);
        }
        taken += weight;
        runs.push(run);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_about_equal_weight() {
        assert_eq!(quantiles(&[1.0, 2.0], 4), [0, 1]);
        assert_eq!(quantiles(&[1.0; 6], 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(quantiles(&[9.0, 1.0, 1.0, 1.0], 2), [0, 1, 1, 1]);
        let runs = quantiles(&vec![1.0; 1000], 32);
        assert_eq!(runs.last(), Some(&31));
        for run in 0..32 {
            let size = runs.iter().filter(|r| **r == run).count();
            assert!((30..=33).contains(&size), "{run}: {size}");
        }
    }
}

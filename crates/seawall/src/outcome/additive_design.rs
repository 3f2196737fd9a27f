//! Which unknowns make up an additive model, and its normal equations: counts of rows that two unknowns share, and
//! their penalty.

use super::axes::Axes;
use super::everywhere::of_axis;
use super::grower::ActionCells;
use crate::error::{Error, Field, Result};
use crate::kernel::cholesky::Cholesky;
use crate::log::Log;
use crate::steps::{StepNode, StepTree};

/// Steps of a feature within a pair, at most, a missing one apart.
pub(super) const COARSE: usize = 6;
/// What keeps a system of features without rows solvable, as a share of the rows.
const LEAST: f64 = 1e-10;

/// How one action's additive model is made.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveSettings {
    /// The penalty `λ`, in rows.
    pub penalty: f64,
    /// The pairs of features that have a term of their own.
    pub pairs: Vec<(usize, usize)>,
    /// Steps of a feature, at most.
    pub steps: usize,
}

impl Default for AdditiveSettings {
    fn default() -> Self {
        AdditiveSettings { penalty: 10.0, pairs: Vec::new(), steps: 32 }
    }
}

impl AdditiveSettings {
    pub(super) fn check_against(&self, features: usize) -> Result<()> {
        if !(self.penalty > 0.0 && self.penalty.is_finite()) {
            let what = format!("is {}; expected a finite number above 0", self.penalty);
            return Err(Error::field(Field::Penalty, what));
        }
        if self.steps < 2 {
            let what = format!("is {}; expected at least 2", self.steps);
            return Err(Error::field(Field::Steps, what));
        }
        match self.pairs.iter().find(|(j, k)| j >= k || *k >= features) {
            Some((j, k)) => Err(Error::field(
                Field::Pairs,
                format!("has the features {j} and {k}; expected two of {features}, in order"),
            )),
            None => Ok(()),
        }
    }
}

/// One term of the sum: a feature's steps, or those of a pair.
#[derive(Clone, Debug)]
pub(super) struct AdditiveTerm {
    /// The feature, and the second one of a pair.
    pub(super) features: (usize, Option<usize>),
    /// The step of each level of either.
    pub(super) step_of: (Vec<u32>, Vec<u32>),
    /// Steps of the second feature; 1 if there is none.
    pub(super) width: usize,
    /// Where the term's unknowns start, and how many there are.
    pub(super) first: usize,
    pub(super) count: usize,
    /// How many of them are neighbours in order.
    pub(super) in_order: usize,
}

/// Which unknowns make up the value of a place: the first is the mean.
#[derive(Clone, Debug)]
pub(super) struct AdditiveDesign {
    pub terms: Vec<AdditiveTerm>,
    pub size: usize,
}

impl AdditiveDesign {
    /// The terms of all features and some pairs; `rows` are those of each feature's levels.
    pub fn new(axes: &Axes, rows: &[Vec<f64>], settings: &AdditiveSettings) -> Self {
        let mut design = AdditiveDesign { terms: Vec::new(), size: 1 };
        for (k, axis) in axes.axes.iter().enumerate() {
            let steps = axis.grouped(&rows[k], settings.steps);
            let count = steps.iter().max().map_or(0, |s| *s as usize + 1);
            let in_order =
                if axis.ordered { count - usize::from(axis.missing.is_some()) } else { 0 };
            design.add((k, None), (steps, Vec::new()), (count, 1), in_order);
        }
        for &(j, k) in &settings.pairs {
            let coarse = |k: usize| axes.axes[k].grouped(&rows[k], COARSE);
            let (one, two) = (coarse(j), coarse(k));
            let count = |steps: &[u32]| steps.iter().max().map_or(0, |s| *s as usize + 1);
            let counts = (count(&one), count(&two));
            design.add((j, Some(k)), (one, two), counts, 0);
        }
        design
    }

    fn add(
        &mut self,
        features: (usize, Option<usize>),
        step_of: (Vec<u32>, Vec<u32>),
        (count, width): (usize, usize),
        in_order: usize,
    ) {
        let first = self.size;
        let count = count * width;
        self.size += count;
        self.terms.push(AdditiveTerm { features, step_of, width, first, count, in_order });
    }

    /// The unknowns of a place, the mean apart.
    #[inline]
    pub(super) fn unknowns<'d>(&'d self, levels: &'d [u32]) -> impl Iterator<Item = usize> + 'd {
        self.terms.iter().map(|term| term.first + term.step(levels))
    }

    /// The value of a place.
    #[inline]
    pub fn value(&self, levels: &[u32], solution: &[f64]) -> f64 {
        solution[0] + self.unknowns(levels).map(|u| solution[u]).sum::<f64>()
    }
}

impl AdditiveTerm {
    /// The term as a tree whose leaves are its steps.
    pub(super) fn steps(&self, axes: &Axes) -> StepTree {
        let of = |feature: usize, step_of: &[u32]| of_axis(&axes.axes[feature], feature, step_of);
        let one = of(self.features.0, &self.step_of.0);
        let Some(second) = self.features.1 else { return one };
        let (mut both, pairs) = one.paired(&of(second, &self.step_of.1));
        for node in &mut both.nodes {
            if let StepNode::Leaf(pair) = node {
                let (one, two) = pairs[*pair as usize];
                *pair = one * self.width as u32 + two;
            }
        }
        both
    }

    /// The step of a place.
    #[inline]
    pub fn step(&self, levels: &[u32]) -> usize {
        let one = self.step_of.0[levels[self.features.0] as usize] as usize;
        match self.features.1 {
            None => one,
            Some(k) => one * self.width + self.step_of.1[levels[k] as usize] as usize,
        }
    }
}

/// The rows of each feature's levels in a log.
pub(super) fn level_rows(log: &Log, axes: &Axes) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = axes.axes.iter().map(|a| vec![0.0; a.count]).collect();
    for e in log.entries() {
        let levels = axes.row(e.context as usize);
        levels.iter().zip(&mut rows).for_each(|(l, rows)| rows[*l as usize] += e.weight);
    }
    rows
}

/// The normal equations of one action's cells.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    /// Counts of rows that two unknowns share.
    pub(super) counts: Vec<f64>,
    sums: Vec<f64>,
}

impl Normal {
    /// Adds the cells up.
    pub fn new(
        design: &AdditiveDesign,
        axes: &Axes,
        cells: &ActionCells,
        sums: &[[f64; 2]],
    ) -> Self {
        let size = design.size;
        let mut normal = Normal { counts: vec![0.0; size * size], sums: vec![0.0; size] };
        let mut unknowns = Vec::new();
        for (&context, [rows, sum]) in cells.contexts.iter().zip(sums).filter(|(_, s)| s[0] > 0.0) {
            unknowns.clear();
            unknowns.push(0);
            unknowns.extend(design.unknowns(axes.row(context as usize)));
            for (k, &i) in unknowns.iter().enumerate() {
                normal.sums[i] += sum;
                // Unknowns rise: the lower half.
                unknowns[..=k].iter().for_each(|&j| normal.counts[i * size + j] += rows);
            }
        }
        for i in 0..size {
            for j in 0..i {
                normal.counts[j * size + i] = normal.counts[i * size + j];
            }
        }
        normal
    }

    /// The system with its penalty.
    pub fn system(&self, design: &AdditiveDesign, penalty: f64) -> Vec<f64> {
        let (size, mut system) = (design.size, self.counts.clone());
        let rows = self.counts[0];
        for term in &design.terms {
            let at = |k: usize| term.first + k;
            let steep = penalty * (term.in_order.max(1) - 1) as f64;
            for k in 1..term.in_order {
                let (a, b) = (at(k - 1), at(k));
                system[a * size + a] += steep;
                system[b * size + b] += steep;
                system[a * size + b] -= steep;
                system[b * size + a] -= steep;
            }
            let counts = |k: usize| self.counts[at(k)];
            let own: f64 = (0..term.in_order).map(counts).sum();
            let mean = |k: usize| if own > 0.0 { counts(k) / own } else { 0.0 };
            for j in 0..term.in_order {
                // Moving all steps in order changes nothing but the mean: their rows' sum is held
                // at 0, and what is missing is counted from there.
                for k in 0..term.in_order {
                    let missing = penalty * (term.count - term.in_order) as f64;
                    system[at(j) * size + at(k)] += (own + missing) * mean(j) * mean(k);
                }
                for k in term.in_order..term.count {
                    system[at(j) * size + at(k)] -= penalty * mean(j);
                    system[at(k) * size + at(j)] -= penalty * mean(j);
                }
            }
            for k in term.in_order..term.count {
                system[at(k) * size + at(k)] += penalty;
            }
        }
        for i in 0..size {
            // Without rows the mean, too, has nothing that holds it.
            let held = if i == 0 && rows > 0.0 { 0.0 } else { LEAST * (rows + penalty) };
            system[i * size + i] += held;
        }
        system
    }

    /// The factors of the system, and its solution.
    pub fn solve(&self, design: &AdditiveDesign, penalty: f64) -> Result<(Cholesky, Vec<f64>)> {
        let factors =
            Cholesky::new(design.size, self.system(design, penalty)).ok_or_else(|| {
                Error::config(format!(
                    "the additive model's system cannot be solved at a penalty of {penalty}; take a \
                     larger one"
                ))
            })?;
        let mut solution = self.sums.clone();
        factors.solve(&mut solution);
        Ok((factors, solution))
    }
}

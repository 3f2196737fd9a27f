//! Additive models: what each feature adds, to be read off a table.
//!
//! ```text
//! m(x) = μ + Σ_j f_j(x_j) + Σ_(j,k) f_jk(x_j, x_k)
//! ```
//!
//! for each action. `f_j` is a step for each level of a feature, or for at most so many groups of
//! levels of about equal numbers of rows; `f_jk` is a step for each pair of coarse steps of the few
//! pairs of features that matter. With `n_c`, `S_c` the rows and the sum of each cell, minimised is
//!
//! ```text
//! Σ rows (y − m(x))² + λ Σ_j (L_j − 1) Σ_l (f_j(l+1) − f_j(l))²  over numeric and ordinal features
//!                    + λ Σ f²  over levels of nominal ones, missing levels and pairs of steps,
//! ```
//!
//! `L_j` the steps of a feature: `λ` is in rows, and does not change with how finely a feature is
//! cut. A missing level's `f` is counted from the mean of the feature's other rows. Steps without
//! rows are interpolated, or 0. The minimum is one linear system, solved exactly;
//! each `f` is then centred on the log's rows. [`choose_additive`] chooses the penalty and the pairs
//! by cross-validation, once, on the whole log.
//!
//! What comes out is values, linear in the outcomes: their noise is known, but a cost radius has
//! nothing to act on.

use super::axes::Axes;
use super::everywhere::{Everywhere, constant, of_axis};
use super::grower::ActionCells;
use crate::error::{Error, Field, Result};
use crate::kernel::cholesky::Cholesky;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::steps::{StepNode, StepTree, Terms};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

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
    fn check_against(&self, features: usize) -> Result<()> {
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
    features: (usize, Option<usize>),
    /// The step of each level of either.
    step_of: (Vec<u32>, Vec<u32>),
    /// Steps of the second feature; 1 if there is none.
    width: usize,
    /// Where the term's unknowns start, and how many there are.
    first: usize,
    count: usize,
    /// How many of them are neighbours in order.
    in_order: usize,
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
    fn unknowns<'d>(&'d self, levels: &'d [u32]) -> impl Iterator<Item = usize> + 'd {
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
    fn steps(&self, axes: &Axes) -> StepTree {
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
    counts: Vec<f64>,
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

/// One action's model.
#[derive(Debug)]
struct AdditiveFit {
    design: AdditiveDesign,
    normal: Normal,
    factors: Cholesky,
    /// The mean of the action's rows, which the solution is above.
    centre: f64,
    solution: Vec<f64>,
    /// The sum of squared residuals.
    residuals: f64,
    /// The variance of a row, once somebody asked.
    variance: OnceLock<f64>,
}

/// A fitted additive model.
#[derive(Clone, Debug)]
pub struct Additive {
    axes: Arc<Axes>,
    settings: Vec<AdditiveSettings>,
    /// None where an action has no rows.
    sums: Vec<Option<Arc<AdditiveFit>>>,
    means: Matrix,
}

/// What one term adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The feature, or the two of a pair.
    pub features: Vec<usize>,
    /// Whether its steps are in order: a curve.
    pub in_order: bool,
    /// Its steps; a missing one last.
    pub steps: Vec<EffectStep>,
}

/// One step of a term.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectStep {
    /// The levels, as a person would write them: one text per feature.
    pub levels: Vec<String>,
    /// What is added here.
    pub effect: f64,
    /// The action's rows here.
    pub rows: f64,
}

/// Fits an additive model; `settings` has one entry per action.
pub fn additive(log: &Log, settings: &[AdditiveSettings], watch: Watch<'_>) -> Result<Additive> {
    if settings.len() != log.actions().len() {
        let (found, actions) = (settings.len(), log.actions().len());
        return Err(Error::config(format!("{found} additive settings for {actions} actions")));
    }
    let axes = Axes::new(log);
    settings.iter().try_for_each(|s| s.check_against(axes.axes.len()))?;
    let rows = level_rows(log, &axes);
    let one = |(action, settings): (usize, &AdditiveSettings)| {
        watch.tell(Progress::at(Stage::Fitting).done(action).out_of(log.actions().len()))?;
        let cells = ActionCells::new(log, &axes, action);
        cells.map(|cells| AdditiveFit::new(&axes, &rows, &cells, settings)).transpose()
    };
    let sums: Vec<Option<AdditiveFit>> =
        settings.par_iter().enumerate().map(one).collect::<Result<_>>()?;
    let sums: Vec<_> = sums.into_iter().map(|sum| sum.map(Arc::new)).collect();
    let value = |context: usize, action: usize| {
        sums[action].as_ref().map_or(f64::NAN, |sum| sum.value(axes.row(context)))
    };
    let means = Matrix::from_fn(axes.space.len(), sums.len(), value);
    Ok(Additive { axes: Arc::new(axes), settings: settings.to_vec(), sums, means })
}

impl AdditiveFit {
    fn new(
        axes: &Axes,
        rows: &[Vec<f64>],
        cells: &ActionCells,
        settings: &AdditiveSettings,
    ) -> Result<Self> {
        let design = AdditiveDesign::new(axes, rows, settings);
        let normal = Normal::new(&design, axes, cells, &cells.sums);
        let (factors, mut solution) = normal.solve(&design, settings.penalty)?;
        let mut residuals = cells.squares;
        for (&context, [rows, sum]) in cells.contexts.iter().zip(&cells.sums) {
            let v = design.value(axes.row(context as usize), &solution);
            residuals += v * (rows * v - 2.0 * sum);
        }
        // Centred: what each term adds to the mean row goes into the mean.
        let all = normal.counts[0];
        for term in &design.terms {
            let own = term.first..term.first + term.count;
            let mean = own.clone().map(|u| normal.counts[u] * solution[u]).sum::<f64>() / all;
            own.for_each(|u| solution[u] -= mean);
            solution[0] += mean;
        }
        let (residuals, variance) = (residuals.max(0.0), OnceLock::new());
        let centre = cells.mean;
        Ok(AdditiveFit { design, normal, factors, centre, solution, residuals, variance })
    }

    fn value(&self, levels: &[u32]) -> f64 {
        self.centre + self.design.value(levels, &self.solution)
    }

    /// The variance of a row around the model: squared residuals by the rows less the degrees of
    /// freedom, `tr(H⁻¹ ZᵀZ)`.
    fn variance(&self) -> f64 {
        *self.variance.get_or_init(|| {
            let size = self.design.size;
            let mut freedom = 0.0;
            for i in 0..size {
                let mut column: Vec<f64> = self.normal.counts[i * size..][..size].to_vec();
                self.factors.solve(&mut column);
                freedom += column[i];
            }
            let rows = self.normal.counts[0];
            self.residuals / (rows - freedom).max(1.0)
        })
    }
}

impl Additive {
    /// The values as sums of steps, `fill` standing in where an action has no rows.
    pub(super) fn everywhere(&self, fill: &[f64]) -> Arc<Everywhere> {
        let (axes, sums, fill) = (self.axes.clone(), self.sums.clone(), fill.to_vec());
        Everywhere::new(move || {
            let of = |(sum, fill): (&Option<Arc<AdditiveFit>>, &f64)| {
                let Some(sum) = sum else { return constant(*fill) };
                let step = |term: &AdditiveTerm| {
                    let values = &sum.solution[term.first..term.first + term.count];
                    (Arc::new(term.steps(&axes)), Arc::from(values))
                };
                let trees = sum.design.terms.iter().map(step).collect();
                Terms { base: sum.centre + sum.solution[0], trees }
            };
            sums.iter().zip(&fill).map(of).collect()
        })
    }

    /// Each action's settings.
    pub fn settings(&self) -> &[AdditiveSettings] {
        &self.settings
    }

    /// The mean that an action's effects are added to; None if it has no rows.
    pub fn base(&self, action: usize) -> Option<f64> {
        self.sums[action].as_ref().map(|sum| sum.centre + sum.solution[0])
    }

    /// What each feature adds under an action, and each pair; none if it has no rows. Every
    /// effect's mean over the action's rows is 0.
    pub fn effects(&self, action: usize) -> Vec<Effect> {
        let Some(sum) = &self.sums[action] else { return Vec::new() };
        sum.design.terms.iter().map(|term| self.effect(sum, term)).collect()
    }

    fn effect(&self, sum: &AdditiveFit, term: &AdditiveTerm) -> Effect {
        let labels = |feature: usize, steps: &[u32]| -> Vec<String> {
            let count = steps.iter().max().map_or(0, |s| *s as usize + 1);
            let label = |step: usize| {
                let levels = (0..steps.len()).filter(|l| steps[*l] as usize == step);
                self.step_label(feature, &levels.collect::<Vec<_>>())
            };
            (0..count).map(label).collect()
        };
        let one = labels(term.features.0, &term.step_of.0);
        let two = term.features.1.map(|k| labels(k, &term.step_of.1));
        let step = |k: usize| EffectStep {
            levels: match &two {
                None => vec![one[k].clone()],
                Some(two) => vec![one[k / term.width].clone(), two[k % term.width].clone()],
            },
            effect: sum.solution[term.first + k],
            rows: sum.normal.counts[term.first + k],
        };
        Effect {
            features: [Some(term.features.0), term.features.1].into_iter().flatten().collect(),
            in_order: term.in_order > 0,
            steps: (0..term.count).map(step).collect(),
        }
    }

    /// The levels of a step in words: from the first to the last, or each by its name.
    fn step_label(&self, feature: usize, levels: &[usize]) -> String {
        let axis = &self.axes.axes[feature];
        let label = |first: usize, last: usize| axis.label(&self.axes.space, feature, first, last);
        match levels {
            [] => String::new(),
            [first, .., last] if axis.ordered => label(*first, *last),
            [first, second, third, _, ..] if !axis.ordered => {
                let shown = [first, second, third].map(|l| label(*l, *l)).join(", ");
                format!("{shown} and {} more", levels.len() - 3)
            }
            some => some.iter().map(|l| label(*l, *l)).collect::<Vec<_>>().join(", "),
        }
    }

    pub(super) fn space(&self) -> &crate::Space {
        &self.axes.space
    }

    pub(super) fn means(&self) -> &Matrix {
        &self.means
    }

    /// The value at any place, by its features' codes.
    pub(super) fn mean_at(&self, codes: &[f64], action: usize) -> f64 {
        let levels = self.axes.places(codes);
        self.sums[action].as_ref().map_or(f64::NAN, |sum| sum.value(&levels))
    }

    /// How `Σ mass(x, a) m(x, a)` hangs on each row of each context and action,
    /// `z(x)ᵀ H⁻¹ Σ mass z`, and the variance of each action's rows.
    pub(super) fn pulls(&self, mass: &Matrix) -> (Matrix, Vec<f64>) {
        let (contexts, actions) = (mass.contexts(), mass.actions());
        let weights: Vec<Option<Vec<f64>>> = (0..actions)
            .map(|action| {
                let sum = self.sums[action].as_ref()?;
                let mut weights = vec![0.0; sum.design.size];
                for context in (0..contexts).filter(|x| mass.at(*x, action) != 0.0) {
                    let m = mass.at(context, action);
                    weights[0] += m;
                    sum.design.unknowns(self.axes.row(context)).for_each(|u| weights[u] += m);
                }
                sum.factors.solve(&mut weights);
                Some(weights)
            })
            .collect();
        let pull = |context: usize, action: usize| match (&self.sums[action], &weights[action]) {
            (Some(sum), Some(weights)) => sum.design.value(self.axes.row(context), weights),
            _ => 0.0,
        };
        let variances = self.sums.iter().map(|s| s.as_ref().map_or(0.0, |sum| sum.variance()));
        (Matrix::from_fn(contexts, actions, pull), variances.collect())
    }
}

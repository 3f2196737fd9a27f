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

use super::additive_design::{AdditiveDesign, AdditiveSettings, AdditiveTerm, Normal, level_rows};
use super::axes::Axes;
use super::everywhere::{Everywhere, constant};
use super::grower::ActionCells;
use crate::error::{Error, Result};
use crate::kernel::cholesky::Cholesky;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::steps::Terms;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

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

//! The choice of an additive model's penalty and pairs by cross-validation.
//!
//! First the penalty: of those offered, the largest whose error on rows left out is not above the lowest
//! one by more than the standard error of the difference over the folds. Then pairs, one at a
//! time: each pair of features is tried on what the model so far leaves over (its coarse steps' means,
//! shrunk), the one that lowers the error on rows left out most is added and everything fitted again,
//! and it stays if the error falls by more than the standard error of that fall over the folds. With
//! pairs, the penalty is chosen once more.

use super::additive_design::{AdditiveDesign, AdditiveSettings, COARSE, Normal, level_rows};
use super::axes::Axes;
use super::choose::standard_error;
use super::folding::{FoldPlan, HeldOut};
use super::grower::ActionCells;
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;

/// What may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveSearch {
    /// Penalties, in rows.
    pub penalties: Vec<f64>,
    /// Pairs of features, at most.
    pub pairs: usize,
    /// Steps of a feature, at most.
    pub steps: usize,
}

impl Default for AdditiveSearch {
    fn default() -> Self {
        let penalties = vec![1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e5];
        AdditiveSearch { penalties, pairs: 3, steps: 32 }
    }
}

/// What was chosen for one action.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveChoice {
    /// The settings.
    pub settings: AdditiveSettings,
    /// Their mean squared error on rows left out.
    pub error: f64,
    /// The sum of squared errors on each fold's rows; none if the action has no rows.
    pub squares: Vec<f64>,
}

/// Chooses each action's penalty and pairs.
pub fn choose_additive(
    log: &Log,
    search: &AdditiveSearch,
    folds: impl Into<FoldPlan>,
    watch: Watch<'_>,
) -> Result<Vec<AdditiveChoice>> {
    if search.penalties.is_empty() {
        return Err(Error::field(Field::Penalty, "is an empty list; expected at least one number"));
    }
    let dealt = folds.into().deal(log)?;
    let axes = Axes::new(log);
    let rows = level_rows(log, &axes);
    let one = |action: usize| {
        watch.tell(Progress::at(Stage::Fitting).done(action).out_of(log.actions().len()))?;
        let Some(cells) = ActionCells::new(log, &axes, action) else {
            let settings = AdditiveSettings { penalty: search.penalties[0], ..first(search) };
            return Ok(AdditiveChoice { settings, error: 0.0, squares: Vec::new() });
        };
        let held = HeldOut::new(&dealt, &cells);
        let trial = AdditiveTrial { axes: &axes, rows: &rows, cells: &cells, held: &held, watch };
        trial.choose(search)
    };
    (0..log.actions().len()).into_par_iter().map(one).collect()
}

fn first(search: &AdditiveSearch) -> AdditiveSettings {
    AdditiveSettings { steps: search.steps, ..AdditiveSettings::default() }
}

/// One action's rows, dealt to folds.
struct AdditiveTrial<'t> {
    axes: &'t Axes,
    rows: &'t [Vec<f64>],
    cells: &'t ActionCells,
    held: &'t HeldOut,
    watch: Watch<'t>,
}

impl AdditiveTrial<'_> {
    fn choose(&self, search: &AdditiveSearch) -> Result<AdditiveChoice> {
        let (mut settings, mut errors) = self.best_penalty(&first(search), search)?;
        while settings.pairs.len() < search.pairs {
            let Some(pair) = self.best_pair(&settings)? else { break };
            let mut more = settings.clone();
            more.pairs.push(pair);
            more.pairs.sort_unstable();
            let found = self.errors(&more)?;
            if !clearly_lower(&errors, &found) {
                break;
            }
            (settings, errors) = (more, found);
        }
        if !settings.pairs.is_empty() {
            (settings, errors) = self.best_penalty(&settings, search)?;
        }
        let error = errors.iter().sum::<f64>() / self.held.rows();
        Ok(AdditiveChoice { settings, error, squares: errors })
    }

    /// The largest penalty that cannot be told from the best; and each fold's sum of errors.
    fn best_penalty(
        &self,
        like: &AdditiveSettings,
        search: &AdditiveSearch,
    ) -> Result<(AdditiveSettings, Vec<f64>)> {
        let with = |penalty: &f64| AdditiveSettings { penalty: *penalty, ..like.clone() };
        let all: Vec<AdditiveSettings> = search.penalties.iter().map(with).collect();
        let found = self.errors_of(like, &search.penalties)?;
        let total = |k: &usize| found[*k].iter().sum::<f64>();
        let best = (0..all.len()).min_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or(0);
        let as_good = |k: &usize| !clearly_lower(&found[*k], &found[best]);
        let smoothest = (0..all.len()).filter(as_good).max_by(|a, b| {
            let penalty = |k: &usize| search.penalties[*k];
            penalty(a).total_cmp(&penalty(b))
        });
        let chosen = smoothest.unwrap_or(best);
        Ok((all[chosen].clone(), found[chosen].clone()))
    }

    fn errors(&self, settings: &AdditiveSettings) -> Result<Vec<f64>> {
        Ok(self.errors_of(settings, &[settings.penalty])?.remove(0))
    }

    /// For each penalty, each fold's sum of squared errors.
    fn errors_of(&self, like: &AdditiveSettings, penalties: &[f64]) -> Result<Vec<Vec<f64>>> {
        let design = AdditiveDesign::new(self.axes, self.rows, like);
        let of_fold = |fold: usize| -> Result<Vec<f64>> {
            let sums = self.held.others(self.cells, fold);
            let normal = Normal::new(&design, self.axes, self.cells, &sums);
            let error = |penalty: &f64| {
                self.watch.tell(Progress::at(Stage::Fitting).done(fold))?;
                let (_, solution) = normal.solve(&design, *penalty)?;
                Ok(self.held.error(fold, &self.values(&design, &solution)))
            };
            penalties.iter().map(error).collect()
        };
        let folds: Vec<Vec<f64>> =
            (0..self.held.folds()).into_par_iter().map(of_fold).collect::<Result<_>>()?;
        let of_penalty = |k: usize| folds.iter().map(|errors| errors[k]).collect();
        Ok((0..penalties.len()).map(of_penalty).collect())
    }

    /// Each cell's value.
    fn values(&self, design: &AdditiveDesign, solution: &[f64]) -> Vec<f64> {
        let value = |x: &u32| design.value(self.axes.row(*x as usize), solution);
        self.cells.contexts.iter().map(value).collect()
    }

    /// The pair that lowers the error on rows left out most, if any does.
    fn best_pair(&self, settings: &AdditiveSettings) -> Result<Option<(usize, usize)>> {
        let count = self.axes.axes.len();
        let pairs = (0..count).flat_map(|j| (j + 1..count).map(move |k| (j, k)));
        let pairs: Vec<(usize, usize)> = pairs.filter(|p| !settings.pairs.contains(p)).collect();
        let design = AdditiveDesign::new(self.axes, self.rows, settings);
        let coarse: Vec<Coarse> = (0..count).map(|k| self.coarse(k)).collect();
        let of_fold = |fold: usize| -> Result<Vec<f64>> {
            let sums = self.held.others(self.cells, fold);
            let normal = Normal::new(&design, self.axes, self.cells, &sums);
            let (_, solution) = normal.solve(&design, settings.penalty)?;
            let values = self.values(&design, &solution);
            let left = |sums: &[[f64; 2]]| -> Vec<[f64; 2]> {
                sums.iter().zip(&values).map(|([n, s], v)| [*n, s - n * v]).collect()
            };
            let (others, own) = (left(&sums), left(self.held.own(fold)));
            let change = |&(j, k): &(usize, usize)| {
                change((&coarse[j], &coarse[k]), settings.penalty, &others, &own)
            };
            Ok(pairs.iter().map(change).collect())
        };
        let folds: Vec<Vec<f64>> =
            (0..self.held.folds()).into_par_iter().map(of_fold).collect::<Result<_>>()?;
        let change = |k: &usize| folds.iter().map(|changes| changes[*k]).sum::<f64>();
        let best = (0..pairs.len()).min_by(|a, b| change(a).total_cmp(&change(b)));
        Ok(best.filter(|k| change(k) < 0.0).map(|k| pairs[k]))
    }

    /// A feature's coarse steps.
    fn coarse(&self, feature: usize) -> Coarse {
        let steps = self.axes.axes[feature].grouped(&self.rows[feature], COARSE);
        let count = steps.iter().max().map_or(0, |step| *step as usize + 1);
        // A handful of steps: they fit.
        let of = self.cells.column(feature).iter().map(|level| steps[*level as usize] as u8);
        Coarse { of: of.collect(), count }
    }
}

/// The coarse step of one feature that each cell is on, and how many steps there are.
struct Coarse {
    of: Vec<u8>,
    count: usize,
}

/// By how much the shrunk means of a pair's coarse steps change the squared error of rows left
/// out, both given as what is left over.
fn change(
    (one, two): (&Coarse, &Coarse),
    penalty: f64,
    others: &[[f64; 2]],
    own: &[[f64; 2]],
) -> f64 {
    let steps = one.of.iter().zip(&two.of);
    let steps = steps.map(|(j, k)| *j as usize * two.count + *k as usize);
    let mut sums = vec![[0.0; 2]; one.count * two.count];
    for (step, [rows, sum]) in steps.clone().zip(others) {
        let to: &mut [f64; 2] = &mut sums[step];
        *to = [to[0] + rows, to[1] + sum];
    }
    let changes = steps.zip(own).filter(|(_, own)| own[0] > 0.0).map(|(step, [rows, sum])| {
        let [n, s] = sums[step];
        let v = s / (n + penalty);
        v * (rows * v - 2.0 * sum)
    });
    changes.sum()
}

/// Whether errors fell by more than the standard error of their fall over the folds.
fn clearly_lower(before: &[f64], after: &[f64]) -> bool {
    let falls: Vec<f64> = before.iter().zip(after).map(|(b, a)| b - a).collect();
    falls.iter().sum::<f64>() / falls.len() as f64 > standard_error(&falls)
}

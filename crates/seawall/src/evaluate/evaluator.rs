//! What is fitted to a log, once: propensities, the outcome model and its values. Every question about the
//! log's policies is asked of this.

use super::difference::ValueRange;
use super::estimate::Estimate;
use super::nominal::Nominal;
use super::propensity::Propensity;
use super::robust::{Robust, Support};
use crate::ambiguity::sets::Wasserstein;
use crate::ambiguity::{Settings, Shift, WorstCase};
use crate::error::{Error, Field, Result};
use crate::log::{Entry, FOLD_SEED, Folds, Log};
use crate::outcome::{
    LeftOver, Model, ModelSearch, Recipe, ResidualKind, ResidualSteps, Side, Unseen, Values,
    lacking,
};
use crate::policy::Policy;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How a log is fitted beside its recipe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// Ratios of a policy to the propensity are clipped at this, and counted.
    pub clip: Option<f64>,
    /// What to do where an action was never seen. Nominal estimates take its mean where this would
    /// refuse.
    pub unseen: Unseen,
    /// Folds of the doubly robust estimate.
    pub folds: usize,
    /// How often the rows are dealt to folds anew: the estimate is the mean over the deals. Fewer
    /// where the space is so large that the models' values would not fit into memory.
    /// [`for_log`](Self::for_log) has one deal for a large log.
    pub repeats: usize,
    /// The seed of the deals.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions { clip: None, unseen: Unseen::Error, folds: 5, repeats: 5, seed: 0 }
    }
}

impl FitOptions {
    /// The default options for a log: of more than 50,000 rows (or clusters) one deal instead of
    /// five, for each deal is as many fits as there are folds.
    pub fn for_log(log: &Log) -> Self {
        let dealt = log.clusters().map_or(log.rows(), |count| count as f64);
        let usual = FitOptions::default();
        FitOptions { repeats: if dealt > MANY { 1 } else { usual.repeats }, ..usual }
    }
}

/// Rows, or clusters, beyond which one deal to folds is enough.
const MANY: f64 = 50_000.0;

/// For each fold of each deal, what was made of a model fitted without it, and what of each entry's
/// weight is in it, divided by the number of deals.
type Across<T> = Vec<(T, Vec<f64>)>;

/// The values of models fitted without a fold.
pub(crate) type CrossFits = Across<Values>;

/// Models fitted without a fold, and what of each entry's weight each was fitted to.
pub(crate) type CrossModels = Across<(Model, Vec<f64>)>;

/// Values of cross-fits that are kept at most.
const MOST_VALUES: usize = 1 << 25;

/// What robust values depend on: the set of outcomes, what stands in where an action was never seen,
/// and how closely they are solved for.
type ValuesKey = (Shift, Side, Unseen, f64, usize);

/// A log with everything that is fitted to it: what answers questions about policies.
///
/// What is asked for twice is computed once.
pub struct Evaluator {
    log: Arc<Log>,
    recipe: Recipe,
    /// How models of parts of the log are chosen.
    search: ModelSearch,
    options: FitOptions,
    propensities: Vec<f64>,
    model: Model,
    /// The plain means.
    plain: Values,
    cross_fits: OnceLock<CrossFits>,
    cross_models: OnceLock<CrossModels>,
    residual_steps: OnceLock<ResidualSteps>,
    values: Mutex<Vec<(ValuesKey, Arc<Values>)>>,
    supports: [OnceLock<Arc<Robust>>; 3],
}

/// A policy's value in the data, and in the worst population within a shift.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation {
    /// The estimates without a shift.
    pub estimates: Nominal,
    /// The worst case, with bounds, population and plan.
    pub worst_case: WorstCase,
}

impl Evaluation {
    /// The doubly robust estimate without a shift; the direct one where the log has no rows for it.
    pub fn estimate(&self) -> Estimate {
        self.estimates.best()
    }
}

impl Evaluator {
    /// Fits an outcome model to a log. Propensities are those of the log; where it has none, each action's
    /// share of its context's rows.
    pub fn fit(log: impl Into<Arc<Log>>, recipe: &Recipe) -> Result<Self> {
        let log = log.into();
        let known = log.knows_propensities();
        let propensity = if known { Propensity::Known } else { Propensity::Cells };
        Self::new(&log, recipe, &propensity, FitOptions::for_log(&log), Watch::NOBODY)
    }

    /// A policy's value in the data, and its worst case over every population of contexts within a shift.
    pub fn evaluate(&self, policy: &Policy, shift: &Shift) -> Result<Evaluation> {
        let settings = Settings::default();
        let values = self.values(Wasserstein.at(0.0), settings)?;
        let (mut cases, _) = self.worst_cases(
            &*self.robust(Support::All)?,
            policy,
            &values,
            shift.set,
            &[shift.radius],
            None,
            settings,
        )?;
        let one = || Error::internal("one radius was asked for and none answered");
        let worst_case = cases.pop().ok_or_else(one)?;
        Ok(Evaluation { estimates: self.nominal(policy, Watch::NOBODY)?, worst_case })
    }

    /// Fits propensities and the outcome model, each as it is said.
    pub fn new(
        log: &Arc<Log>,
        recipe: &Recipe,
        propensity: &Propensity,
        options: FitOptions,
        watch: Watch<'_>,
    ) -> Result<Self> {
        if let Some(clip) = options.clip.filter(|c| c.is_nan() || *c <= 0.0) {
            return Err(Error::field(Field::Clip, format!("is {clip}; expected a number > 0")));
        }
        let propensities = propensity.propensities(log, watch)?;
        let model = recipe.fit(log, watch)?;
        let plain = plain(&model, log, options.unseen)?;
        Ok(Evaluator {
            log: log.clone(),
            recipe: recipe.clone(),
            search: ModelSearch::Fixed(recipe.clone()),
            options,
            propensities,
            model,
            plain,
            cross_fits: OnceLock::new(),
            cross_models: OnceLock::new(),
            residual_steps: OnceLock::new(),
            values: Mutex::new(Vec::new()),
            supports: [const { OnceLock::new() }; 3],
        })
    }

    /// The same where each part of the log chooses its own model: a fold's rows say nothing of the settings of the
    /// model that values them.
    #[must_use]
    pub fn choosing(self, search: ModelSearch) -> Self {
        Evaluator { search, ..self }
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// How it was fitted.
    pub fn options(&self) -> FitOptions {
        self.options
    }

    /// How its model is made.
    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// How models of parts of its log are chosen.
    pub fn search(&self) -> &ModelSearch {
        &self.search
    }

    /// The outcome model fitted to the whole log.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The propensity of each entry's action.
    pub fn propensities(&self) -> &[f64] {
        &self.propensities
    }

    /// The plain means of the model.
    pub(crate) fn plain(&self) -> &Values {
        &self.plain
    }

    /// The robust value of every context and action, outcomes shifting within a set. What was
    /// worked out before is given again.
    pub fn values(&self, costs: Shift, settings: Settings<'_>) -> Result<Arc<Values>> {
        self.extremes(costs, Side::Worst, self.options.unseen, settings)
    }

    /// The same where only some contexts are asked about: those of a support. Elsewhere an action's
    /// mean stands in where it was never seen, whatever the options refuse.
    pub fn values_on(
        &self,
        contexts: &[usize],
        costs: Shift,
        settings: Settings<'_>,
    ) -> Result<Arc<Values>> {
        self.extremes(costs, Side::Worst, self.unseen_on(contexts)?, settings)
    }

    /// The worst and the best mean of every context and action, outcomes shifting within a set.
    pub fn value_range(&self, costs: Shift, settings: Settings<'_>) -> Result<ValueRange> {
        let unseen = self.options.unseen;
        ValueRange::from_sides(costs, |side| self.extremes(costs, side, unseen, settings))
    }

    /// The same where only some contexts are asked about, as [`values_on`](Self::values_on) has them.
    pub fn value_range_on(
        &self,
        contexts: &[usize],
        costs: Shift,
        settings: Settings<'_>,
    ) -> Result<ValueRange> {
        let unseen = self.unseen_on(contexts)?;
        ValueRange::from_sides(costs, |side| self.extremes(costs, side, unseen, settings))
    }

    /// What stands in where an action was never seen; refused if it is to be and one of the contexts
    /// asked about is such a one.
    fn unseen_on(&self, contexts: &[usize]) -> Result<Unseen> {
        let all = self.log.contexts().len();
        if let Some(context) = contexts.iter().find(|&&x| x >= all) {
            return Err(Error::input(format!("context {context} of {all}")));
        }
        if self.options.unseen != Unseen::Error || contexts.len() == all {
            return Ok(self.options.unseen);
        }
        let missing = self.model.unseen_at(contexts);
        if missing.iter().all(|&n| n == 0) {
            Ok(Unseen::Mean)
        } else {
            Err(lacking(&self.log, contexts.len(), &missing))
        }
    }

    fn extremes(
        &self,
        costs: Shift,
        side: Side,
        unseen: Unseen,
        settings: Settings<'_>,
    ) -> Result<Arc<Values>> {
        let key = (costs, side, unseen, settings.tolerance, settings.max_evaluations);
        let known = |all: &[(ValuesKey, Arc<Values>)]| {
            all.iter().find(|(known, _)| *known == key).map(|(_, values)| values.clone())
        };
        let lock = || self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(values) = known(&lock()) {
            return Ok(values);
        }
        let values = Arc::new(self.model.extremes(&self.log, costs, side, unseen, settings)?);
        lock().push((key, values.clone()));
        Ok(values)
    }

    /// The steps of the log's columns by which residuals are looked at, those of its parts as well.
    pub fn residual_steps(&self) -> &ResidualSteps {
        self.residual_steps.get_or_init(|| ResidualSteps::new(&self.log))
    }

    /// What is left in the residuals of the model, for each kind of structure that is looked for.
    pub fn left_over(&self, kinds: &[ResidualKind]) -> Result<Vec<LeftOver>> {
        self.residual_steps().left_over(&self.log, &self.plain, kinds)
    }

    /// The log's contexts on a support, ready for worst cases.
    pub fn robust(&self, support: Support) -> Result<Arc<Robust>> {
        let cell = match support {
            Support::All => &self.supports[0],
            Support::Observed => &self.supports[1],
            Support::Space => &self.supports[2],
        };
        if let Some(robust) = cell.get() {
            return Ok(robust.clone());
        }
        let made = Arc::new(Robust::new(&self.log, support)?);
        Ok(cell.get_or_init(|| made).clone())
    }

    /// For each action the model's squared error on rows left out, as a share of the variance of its
    /// outcomes; None where there is no variance, or the log is too small to fold.
    pub fn held_out_errors(&self, watch: Watch<'_>) -> Result<Vec<Option<f64>>> {
        let count = self.log.actions().len();
        let (mut rows, mut sums) = (vec![0.0; count], vec![(0.0, 0.0); count]);
        for e in self.log.entries() {
            let (y, action) = (self.log.value(e), e.action as usize);
            rows[action] += e.weight;
            sums[action].0 += e.weight * y;
            sums[action].1 += e.weight * y * y;
        }
        let mut errors = vec![0.0; count];
        let folds = self.cross_fits(watch)?;
        for (values, dealt) in folds {
            for (e, n) in self.log.entries().iter().zip(dealt).filter(|(_, n)| **n > 0.0) {
                let (x, action) = (e.context as usize, e.action as usize);
                errors[action] += n * (self.log.value(e) - values.at(x, action)).powi(2);
            }
        }
        let share = |action: usize| {
            let (sum, squares) = sums[action];
            let variance = squares - sum * sum / rows[action];
            let known = !folds.is_empty() && variance > 1e-12 * squares;
            known.then(|| errors[action] / variance)
        };
        Ok((0..count).map(share).collect())
    }

    /// For each fold of each deal the values of a model fitted without it; none if a fold holds
    /// everything.
    pub(crate) fn cross_fits(&self, watch: Watch<'_>) -> Result<&CrossFits> {
        if let Some(fits) = self.cross_fits.get() {
            return Ok(fits);
        }
        let values = |model: Model, others: &Log| plain(&model, others, self.options.unseen);
        let fits = self.fitted_across(watch, &values)?;
        Ok(self.cross_fits.get_or_init(|| fits))
    }

    /// The same folds with the models themselves, and what each was fitted to.
    pub(crate) fn cross_models(&self, watch: Watch<'_>) -> Result<&CrossModels> {
        if let Some(models) = self.cross_models.get() {
            return Ok(models);
        }
        let model = |model: Model, others: &Log| -> Result<(Model, Vec<f64>)> {
            let mut left = vec![0.0; self.log.entries().len()];
            let mut rest = others.entries().iter().peekable();
            let same = |a: &Entry, b: &Entry| {
                let key = |e: &Entry| (e.context, e.action, e.outcome, e.cluster, e.group);
                let exact = |e: &Entry| (e.propensity.to_bits(), e.unit.to_bits());
                key(a) == key(b) && exact(a) == exact(b)
            };
            // What is left is in the log's order.
            for (left, entry) in left.iter_mut().zip(self.log.entries()) {
                if let Some(own) = rest.next_if(|own| same(own, entry)) {
                    *left = own.weight;
                }
            }
            Ok((model, left))
        };
        let models = self.fitted_across(watch, &model)?;
        Ok(self.cross_models.get_or_init(|| models))
    }

    fn fitted_across<T: Send>(
        &self,
        watch: Watch<'_>,
        made_of: &(dyn Fn(Model, &Log) -> Result<T> + Sync),
    ) -> Result<Across<T>> {
        let most = self.log.clusters().map_or(self.log.rows(), |count| count as f64);
        let folds = self.options.folds.min(most as usize);
        if folds < 2 {
            return Ok(Vec::new());
        }
        let values = folds * self.log.contexts().len() * self.log.actions().len();
        let repeats = self.options.repeats.clamp(1, (MOST_VALUES / values).max(1));
        let deals = (0..repeats).map(|repeat| {
            let seed = self.options.seed.wrapping_add((repeat as u64) << 32);
            self.log.folds_of(folds, FOLD_SEED.wrapping_add(seed))
        });
        let deals: Vec<Folds<'_>> = deals.collect::<Result<_>>()?;
        let parts: Vec<(usize, usize)> =
            (0..repeats).flat_map(|r| (0..folds).map(move |fold| (r, fold))).collect();
        let done = AtomicUsize::new(0);
        let progress = || {
            let so_far = done.load(Ordering::Relaxed);
            Progress::at(Stage::Fitting).done(so_far).out_of(parts.len())
        };
        let inside = |_: Progress<'_>| watch.go_on(progress());
        let fit = |&(repeat, fold): &(usize, usize)| -> Result<Option<(T, Vec<f64>)>> {
            watch.tell(progress())?;
            let dealt = &deals[repeat];
            let Ok(others) = dealt.without(fold) else { return Ok(None) };
            let recipe = self.search.find_on_part(&others, Watch::new(&inside))?.recipe;
            let made = made_of(recipe.fit(&others, Watch::new(&inside))?, &others)?;
            let share = |i: usize| dealt.weight(i, fold) / repeats as f64;
            done.fetch_add(1, Ordering::Relaxed);
            Ok(Some((made, (0..self.log.entries().len()).map(share).collect())))
        };
        let fits: Vec<Option<(T, Vec<f64>)>> = parts.par_iter().map(fit).collect::<Result<_>>()?;
        // A fold that holds everything leaves nothing to fit.
        Ok(fits.into_iter().collect::<Option<_>>().unwrap_or_default())
    }
}

/// The plain means of a model; where an action was never seen its mean stands in, unless the worst
/// was asked for.
fn plain(model: &Model, log: &Log, unseen: Unseen) -> Result<Values> {
    let unseen = if unseen == Unseen::Worst { unseen } else { Unseen::Mean };
    model.values(log, Wasserstein.at(0.0), unseen, Settings::default())
}

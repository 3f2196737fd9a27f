//! A study with its data counted and its choices made: what every question starts from.
//!
//! ```text
//! Study ──count──▶ Counted ──prepare──▶ PreparedStudy ──on_support──▶ PreparedStudy ──fitted──▶ Evaluator
//! ```
//!
//! A prepared study is not changed: what asks something else of it (another model, target, support or part of
//! its rows) is another one.

mod model;
mod policies;
mod support;
mod target;

pub use model::ModelChoice;
pub use target::{BeyondFacts, PlacedTarget, TargetAnswer, TargetFacts};

use crate::study::{Deals, ModelSpec, PolicySpec, PropensitySpec, Study};
use model::choose_model;
use seawall::evaluate::{Evaluator, FitOptions, Propensity};
use seawall::outcome::{ModelKind, Recipe};
use seawall::{Error, Log, Result, Watch};
use seawall_table::count::{Counted, count};
use seawall_table::read::{files, same};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A study with its data counted and its choices made.
#[derive(Clone)]
pub struct PreparedStudy {
    /// The study.
    pub study: Study,
    /// Its data.
    pub counted: Counted,
    /// How outcomes are modelled.
    pub model: ModelChoice,
    /// Where propensities come from.
    pub propensity: Propensity,
    /// Another population that is asked about in place of the log's.
    pub target: Option<Arc<PlacedTarget>>,
    /// Past groups of a table beside the log, where they are counted already.
    pub(crate) past: Option<Arc<Counted>>,
    /// What is fitted to the log. Computed when a question first needs it, for some need none of it (distances,
    /// descriptions) and many are asked of one study; shared by all studies with this log and model.
    fitted: Arc<OnceLock<Arc<Evaluator>>>,
    /// The same study where mass may go anywhere, so that what is fitted there is fitted once, too.
    on_space: Arc<OnceLock<Box<PreparedStudy>>>,
}

/// Reads a study's data and makes the choices it leaves open.
pub fn load(study: Study, watch: Watch<'_>) -> Result<PreparedStudy> {
    let counted = count(&study.data, watch)?;
    prepare(study, counted, watch)
}

/// Makes the choices that a study leaves open, its data being counted.
pub fn prepare(study: Study, counted: Counted, watch: Watch<'_>) -> Result<PreparedStudy> {
    let log = &counted.log;
    if let (Some(place), Some(clusters)) = (&study.deals.place, log.clusters())
        && study.deals.folds > clusters
    {
        let folds = study.deals.folds;
        return Err(place.error(format!(
            "folds is {folds}, but the log has {clusters} clusters, which are kept whole"
        )));
    }
    let model = choose_model(&study, &counted, watch)?;
    let propensity = propensity(&study, log)?;
    let (target, past, fitted, on_space) = (None, None, Arc::default(), Arc::default());
    let prepared =
        PreparedStudy { study, counted, model, propensity, target, past, fitted, on_space };
    // What is said of a target that the log's columns cannot have is refused whatever is asked.
    prepared.known()?;
    Ok(prepared)
}

/// Where a study's propensities come from.
fn propensity(study: &Study, log: &Log) -> Result<Propensity> {
    Ok(match &study.propensity {
        PropensitySpec::Known => Propensity::Known,
        PropensitySpec::Cells => Propensity::Cells,
        PropensitySpec::Logistic { ridge } => Propensity::Logistic { ridge: *ridge },
        PropensitySpec::Design(shares) => {
            let share = |action: &String| {
                let found = shares.iter().find(|(name, _)| same(name, action));
                found.map(|s| s.1).ok_or_else(|| {
                    let path = study.path().display();
                    Error::config(format!(
                        "{path}: [propensity] design has no probability for {action:?}"
                    ))
                })
            };
            Propensity::Design(log.actions().iter().map(share).collect::<Result<_>>()?)
        }
    })
}

/// Whether two logs have the same rows, however they are counted: the same number, with the same mean
/// outcome, of each action in each context.
fn same_rows(one: &Log, other: &Log) -> bool {
    let cells = |log: &Log| {
        let mut cells: HashMap<(u32, u32), (f64, f64)> = HashMap::new();
        for e in log.entries() {
            let (weight, sum) = cells.entry((e.context, e.action)).or_default();
            *weight += e.weight;
            *sum += e.weight * log.value(e);
        }
        cells
    };
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()));
    let (own, there) = (cells(one), cells(other));
    one.contexts().len() == other.contexts().len()
        && one.actions() == other.actions()
        && own.len() == there.len()
        && own.iter().all(|(at, (weight, sum))| {
            there.get(at).is_some_and(|(w, s)| near(*weight, *w) && near(*sum, *s))
        })
}

impl PreparedStudy {
    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.counted.log
    }

    /// What is fitted to the log: once, whoever asks.
    pub fn fitted(&self, watch: Watch<'_>) -> Result<&Arc<Evaluator>> {
        if let Some(fitted) = self.fitted.get() {
            return Ok(fitted);
        }
        let fitted = Arc::new(self.fitted_to(self.log(), watch)?);
        Ok(self.fitted.get_or_init(|| fitted))
    }

    /// The same fitted to other rows of the log.
    pub(crate) fn fitted_to(&self, log: &Arc<Log>, watch: Watch<'_>) -> Result<Evaluator> {
        let (clip, unseen) = (self.study.clip, self.study.unseen);
        let Deals { folds, repeats, seed, .. } = self.study.deals;
        // The study's whole log says how many deals there are, also for a part of it.
        let repeats = repeats.unwrap_or(FitOptions::for_log(self.log()).repeats);
        let options = FitOptions { clip, unseen, folds, repeats, seed };
        let fitted = Evaluator::new(log, &self.model.recipe, &self.propensity, options, watch)?;
        Ok(fitted.choosing(self.model.search.clone()))
    }

    /// The same study with the best model that keeps outcomes, where it was left open which and the one
    /// chosen keeps none.
    pub(crate) fn with_outcomes(&self) -> Option<Self> {
        let model = self.model.with_outcomes()?;
        Some(PreparedStudy { model, ..self.unfitted() })
    }

    /// The same study with nothing fitted yet.
    fn unfitted(&self) -> Self {
        PreparedStudy { fitted: Arc::default(), on_space: Arc::default(), ..self.clone() }
    }

    /// The same study asked about another population.
    pub(crate) fn about(&self, target: Option<Arc<PlacedTarget>>) -> Self {
        PreparedStudy { target, on_space: Arc::default(), ..self.clone() }
    }

    /// The same study with one deal to folds, where the study does not say how many: for what is fitted as
    /// often as there are groups.
    pub(crate) fn with_one_deal(&self) -> Self {
        let mut quick = self.unfitted();
        quick.study.deals.repeats = quick.study.deals.repeats.or(Some(1));
        quick
    }

    /// The same study of other rows on its contexts: what is left of its log.
    pub(crate) fn with_log(&self, log: Arc<Log>) -> Self {
        let counted = Counted { log, ..self.counted.clone() };
        PreparedStudy { counted, ..self.unfitted() }
    }

    /// The same study asked about its own population.
    pub(crate) fn without_target(&self) -> Self {
        self.about(None)
    }

    /// Which kind of outcome model it has.
    pub fn model_kind(&self) -> ModelKind {
        match self.study.model {
            ModelSpec::Column if !self.model.supplied => ModelKind::Column,
            _ => self.model.recipe.kind(),
        }
    }

    /// The same study with another outcome model.
    #[must_use]
    pub fn with_recipe(&self, recipe: Recipe) -> Self {
        PreparedStudy { model: ModelChoice::only(recipe, true), ..self.unfitted() }
    }

    /// The same data, asked about what another study says of its target and of past groups: in all else
    /// the study is this one.
    pub fn asking(&self, study: Study) -> Result<Self> {
        let prepared = PreparedStudy { study, on_space: Arc::default(), ..self.clone() };
        prepared.known()?;
        Ok(prepared)
    }

    /// The same study with past groups of a table beside the log, which its history names.
    #[must_use]
    pub fn with_past(&self, past: Counted) -> Self {
        PreparedStudy { past: Some(Arc::new(past)), on_space: Arc::default(), ..self.clone() }
    }

    /// The same rows counted again, as another study has it: by group. A model that was handed in stays.
    /// Rows that are not those of the first count are refused.
    pub fn recounted(&self, study: Study, counted: Counted, watch: Watch<'_>) -> Result<Self> {
        if !same_rows(self.log(), &counted.log) {
            return Err(Error::input(format!(
                "{}: counted by group, its rows are not those that the study was made of: {} then, {} \
                 now; make the study again",
                study.data.path.display(),
                self.counted.rows,
                counted.rows
            )));
        }
        let again = prepare(study, counted, watch)?;
        Ok(if self.model.supplied { again.with_recipe(self.model.recipe.clone()) } else { again })
    }

    /// Every file that was read or may be, the target's and past groups' among them, and those that the
    /// policies will be read from.
    pub fn inputs(&self, policies: &[PolicySpec]) -> Vec<PathBuf> {
        let mut inputs = vec![self.study.path().to_owned()];
        inputs.extend(self.counted.files.iter().cloned());
        let table = match &self.study.model {
            ModelSpec::Table(path) => Some(path),
            _ => None,
        };
        let asked = self.target.as_ref().and_then(|target| target.file.as_ref());
        let past = self.study.history.as_ref().and_then(|history| history.path.as_ref());
        for path in [table, asked, self.study.target.path.as_ref(), past].into_iter().flatten() {
            inputs.extend(files(path).unwrap_or_else(|_| vec![path.clone()]));
        }
        inputs.extend(policies.iter().filter_map(|p| match self.study.meant(p).plain() {
            PolicySpec::File(path) => Some(path.clone()),
            _ => None,
        }));
        inputs
    }
}

//! The outcome model that a study means, and how it is chosen.

use crate::other_table::rows_on_contexts;
use crate::study::{ModelSpec, Study};
use seawall::evaluate::Support;
use seawall::outcome::{
    AutoSearch, Choice, Compared, FoundModel, ModelSearch, Predictions, Recipe,
};
use seawall::{Error, Log, Matrix, Result, Watch};
use seawall_table::count::Counted;
use std::path::Path;

/// An outcome model with every choice made, what there was to choose from, and how parts of the rows choose theirs.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    /// How outcomes are modelled.
    pub recipe: Recipe,
    /// What cross-validation chose, if it had a choice: one per action.
    pub choices: Option<Vec<Choice>>,
    /// The kinds of models that were compared, simplest first; none unless the study asks for that.
    pub candidates: Vec<Compared>,
    /// How the same choice is made for a part of the rows.
    pub search: ModelSearch,
    /// Whether the caller supplied it, in place of the study's own.
    pub(super) supplied: bool,
}

impl ModelChoice {
    /// A recipe that nothing was compared with.
    pub(super) fn only(recipe: Recipe, supplied: bool) -> Self {
        let search = ModelSearch::Fixed(recipe.clone());
        ModelChoice { recipe, choices: None, candidates: Vec::new(), search, supplied }
    }

    /// The same choice on another space, where predictions are others.
    pub(super) fn with_recipe(&self, recipe: Recipe) -> Self {
        let search = match &recipe {
            Recipe::Predictions(_) => ModelSearch::Fixed(recipe.clone()),
            _ => self.search.clone(),
        };
        ModelChoice { recipe, search, ..self.clone() }
    }

    /// What a search finds for a log.
    fn found(search: ModelSearch, log: &Log, watch: Watch<'_>) -> Result<Self> {
        let FoundModel { recipe, choices, candidates } = search.find(log, watch)?;
        Ok(ModelChoice { recipe, choices, candidates, search, supplied: false })
    }

    /// The best of the candidates that keep outcomes, where the one chosen keeps none.
    pub(super) fn with_outcomes(&self) -> Option<Self> {
        let ModelSearch::Auto(search) = self.search else { return None };
        // Parts of the rows choose for themselves, whatever the whole has chosen.
        if self.candidates.is_empty() || search.with_outcomes {
            return None;
        }
        let kept = self.candidates.iter().filter(|c| c.recipe.has_outcomes());
        let best = kept.min_by(|a, b| a.error.total_cmp(&b.error))?.recipe.kind();
        let mut candidates = self.candidates.clone();
        candidates.iter_mut().for_each(|c| c.chosen = c.recipe.kind() == best);
        let recipe = candidates.iter().find(|c| c.chosen)?.recipe.clone();
        let search = ModelSearch::Auto(AutoSearch { with_outcomes: true, ..search });
        Some(ModelChoice { recipe, candidates, search, ..self.clone() })
    }
}

/// Makes the choices that a study leaves open about its model, on the whole log.
pub(super) fn choose_model(
    study: &Study,
    counted: &Counted,
    watch: Watch<'_>,
) -> Result<ModelChoice> {
    ModelChoice::found(search(study, counted)?, &counted.log, watch)
}

/// How a study's model is chosen, for its log or a part of it.
fn search(study: &Study, counted: &Counted) -> Result<ModelSearch> {
    let log = &counted.log;
    Ok(match &study.model {
        ModelSpec::Cells => ModelSearch::Fixed(Recipe::Cells),
        ModelSpec::Table(path) => {
            ModelSearch::Fixed(Recipe::Predictions(predictions(path, study, log)?))
        }
        ModelSpec::Column => {
            let brought = counted.predictions.as_ref();
            let brought = brought.ok_or_else(|| Error::internal("no predictions were counted"))?;
            ModelSearch::Fixed(Recipe::Predictions(Predictions::new(brought.means.clone())?))
        }
        ModelSpec::Tree { folds, .. } => {
            let offered = study.model.offered(log.actions());
            let offered = offered.map_err(|e| e.within(study.path().display()))?;
            ModelSearch::Tree { offered: offered.unwrap_or_default(), folds: *folds }
        }
        ModelSpec::Forest(settings) => ModelSearch::Fixed(Recipe::Forest(*settings)),
        ModelSpec::Boosted { settings, folds } => {
            ModelSearch::Boosted { settings: *settings, folds: *folds }
        }
        ModelSpec::Additive { search, folds } => {
            ModelSearch::Additive { search: search.clone(), folds: *folds }
        }
        ModelSpec::Auto { folds, seed } => {
            let with_outcomes = study.cost_set.radii.iter().any(|r| *r > 0.0);
            let everywhere = study.data.support == Support::Space;
            ModelSearch::Auto(AutoSearch { folds: *folds, seed: *seed, with_outcomes, everywhere })
        }
    })
}

/// Predicted values from a file.
pub(super) fn predictions(path: &Path, study: &Study, log: &Log) -> Result<Predictions> {
    // A blank is no prediction.
    let fits = |v: f64| !v.is_infinite();
    Predictions::new(by_context(path, study, log, fits, "a finite number")?)
}

/// A file with a column per action: the numbers of its contexts, each listed once; NaN for the
/// others.
pub(super) fn by_context(
    path: &Path,
    study: &Study,
    log: &Log,
    fits: fn(f64) -> bool,
    expected: &str,
) -> Result<Matrix> {
    let space = log.contexts();
    let actions: Vec<&str> = log.actions().iter().map(String::as_str).collect();
    let placed = rows_on_contexts(path, study, space, &actions)?;
    let mut listed: Vec<Option<usize>> = vec![None; space.len()];
    let mut cells = vec![f64::NAN; space.len() * actions.len()];
    for (row, context) in placed.contexts.iter().enumerate() {
        let file = path.display();
        let values: Vec<f64> = placed.numbers.iter().map(|column| column[row]).collect();
        if let Some(action) = values.iter().position(|v| !fits(*v)) {
            let (name, value) = (actions[action], values[action]);
            return Err(Error::input(format!(
                "{file}: row {}, column {name:?}: {value}; expected {expected}",
                row + 1
            )));
        }
        // A context that the space does not have changes nothing.
        let Some(context) = *context else { continue };
        if let Some(before) = listed[context].replace(row) {
            return Err(Error::input(format!(
                "{file}: rows {} and {} are both for the context {}",
                before + 1,
                row + 1,
                space.describe(context)
            )));
        }
        cells[context * actions.len()..][..actions.len()].copy_from_slice(&values);
    }
    Matrix::new(space.len(), actions.len(), cells)
}

//! The outcome model that a study means: every choice made, once, on the whole log.

use crate::other_table::rows_on_contexts;
use crate::study::{ModelSpec, Study};
use seawall::evaluate::Support;
use seawall::outcome::{
    AutoSearch, BoostedSettings, Choice, Compared, Predictions, Recipe, auto, choose,
    choose_additive, choose_rounds,
};
use seawall::{Error, Log, Matrix, Result, Watch};
use seawall_table::count::Counted;
use std::path::Path;

/// An outcome model with every choice made, and what there was to choose from.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    /// How outcomes are modelled.
    pub recipe: Recipe,
    /// What cross-validation chose, if it had a choice: one per action.
    pub choices: Option<Vec<Choice>>,
    /// The kinds of models that were compared, simplest first; none unless the study asks for that.
    pub candidates: Vec<Compared>,
    /// Whether the caller supplied it, in place of the study's own.
    pub(super) supplied: bool,
}

impl ModelChoice {
    /// A recipe that nothing was compared with.
    pub(super) fn only(recipe: Recipe, supplied: bool) -> Self {
        ModelChoice { recipe, choices: None, candidates: Vec::new(), supplied }
    }

    /// The best of the candidates that keep outcomes, where the one chosen keeps none.
    pub(super) fn with_outcomes(&self) -> Option<Self> {
        if self.candidates.is_empty() || self.recipe.has_outcomes() {
            return None;
        }
        let kept = self.candidates.iter().filter(|c| c.recipe.has_outcomes());
        let best = kept.min_by(|a, b| a.error.total_cmp(&b.error))?.recipe.kind();
        let mut candidates = self.candidates.clone();
        candidates.iter_mut().for_each(|c| c.chosen = c.recipe.kind() == best);
        let recipe = candidates.iter().find(|c| c.chosen)?.recipe.clone();
        Some(ModelChoice { recipe, candidates, ..self.clone() })
    }
}

/// Makes the choices that a study leaves open about its model, once, on the whole log: what is
/// fitted again later has its settings given.
pub(super) fn choose_model(
    study: &Study,
    counted: &Counted,
    watch: Watch<'_>,
) -> Result<ModelChoice> {
    let log = &counted.log;
    let actions = log.actions().len();
    let recipe = match &study.model {
        ModelSpec::Cells => Recipe::Cells,
        ModelSpec::Table(path) => Recipe::Predictions(predictions(path, study, log)?),
        ModelSpec::Column => {
            let brought = counted.predictions.as_ref();
            let brought = brought.ok_or_else(|| Error::internal("no predictions were counted"))?;
            Recipe::Predictions(Predictions::new(brought.means.clone())?)
        }
        ModelSpec::Tree { folds, .. } => {
            let offered = study.model.offered(log.actions());
            let offered =
                offered.map_err(|e| e.within(study.path().display()))?.unwrap_or_default();
            if offered.iter().all(|settings| settings.len() == 1) {
                Recipe::Tree(offered.into_iter().flatten().collect())
            } else {
                let chosen = choose(log, &offered, *folds, watch)?;
                let recipe = Recipe::Tree(chosen.iter().map(|c| c.settings).collect());
                let only = ModelChoice::only(recipe, false);
                return Ok(ModelChoice { choices: Some(chosen), ..only });
            }
        }
        ModelSpec::Forest(settings) => Recipe::Forest(*settings),
        ModelSpec::Boosted { settings, folds } => {
            let rounds = choose_rounds(log, &vec![*settings; actions], *folds, watch)?;
            let with = |c| BoostedSettings { rounds: c, ..*settings };
            Recipe::Boosted(rounds.iter().map(|c| with(c.rounds)).collect())
        }
        ModelSpec::Additive { search, folds } => {
            let chosen = choose_additive(log, search, *folds, watch)?;
            Recipe::Additive(chosen.into_iter().map(|c| c.settings).collect())
        }
        ModelSpec::Auto { folds, seed } => {
            let with_outcomes = study.cost_set.radii.iter().any(|r| *r > 0.0);
            let everywhere = study.data.support == Support::Space;
            let search = AutoSearch { folds: *folds, seed: *seed, with_outcomes, everywhere };
            let found = auto(log, &search, watch)?;
            let only = ModelChoice::only(found.recipe, false);
            return Ok(ModelChoice { candidates: found.table, ..only });
        }
    };
    Ok(ModelChoice::only(recipe, false))
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

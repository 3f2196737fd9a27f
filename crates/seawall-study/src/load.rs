//! A study with its data counted and its choices made: what every command starts from.

use crate::other_table::rows_on_contexts;
use crate::study::{Deals, ModelSpec, PolicySpec, PropensitySpec, Study};
use crate::target::{PlacedTarget, TargetFacts};
use seawall::evaluate::{FitOptions, Fitted, Propensity, Support, logistic};
use seawall::outcome::{
    AutoSearch, BoostedSettings, Choice, Compared, ModelKind, Predictions, Recipe, Values, auto,
    choose, choose_additive, choose_rounds,
};
use seawall::policy::file::PolicyFile;
use seawall::policy::{Policy, Rule};
use seawall::{Error, Extension, Log, Matrix, Result, Space, Watch};
use seawall_table::count::{Counted, count};
use seawall_table::read::{files, named, same};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A study, ready to be asked.
#[derive(Clone)]
pub struct Loaded {
    /// The study.
    pub study: Study,
    /// Its data.
    pub counted: Counted,
    /// How outcomes are modelled.
    pub recipe: Recipe,
    /// What cross-validation chose, if it had a choice: one per action.
    pub choices: Option<Vec<Choice>>,
    /// The kinds of models that were compared, simplest first; none unless the study asks for that.
    pub candidates: Vec<Compared>,
    /// Where propensities come from.
    pub propensity: Propensity,
    /// What was fitted to the whole log, once somebody asked.
    fitted: OnceLock<Arc<Fitted>>,
    /// Whether the outcome model was handed in, in place of the study's own.
    handed_in: bool,
    /// Another population that is asked about in place of the log's.
    pub target: Option<Arc<PlacedTarget>>,
    /// Past groups of a table beside the log, where they are counted already.
    pub(crate) past: Option<Arc<Counted>>,
    /// The same on the whole space, once somebody asked.
    anywhere: OnceLock<Arc<Loaded>>,
}

/// Reads a study's data and makes the choices it leaves open.
pub fn load(study: Study, watch: Watch<'_>) -> Result<Loaded> {
    let counted = count(&study.data, watch)?;
    ready(study, counted, watch)
}

/// Makes the choices that a study leaves open, its data being counted.
pub fn ready(study: Study, counted: Counted, watch: Watch<'_>) -> Result<Loaded> {
    let log = &counted.log;
    if let (Some(place), Some(clusters)) = (&study.deals.place, log.clusters())
        && study.deals.folds > clusters
    {
        let folds = study.deals.folds;
        return Err(place.error(format!(
            "folds is {folds}, but the log has {clusters} clusters, which are kept whole"
        )));
    }
    let ModelChoice { recipe, choices, candidates } = choose_model(&study, &counted, watch)?;
    let propensity = match &study.propensity {
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
    };
    let fitted = OnceLock::new();
    let (handed_in, target) = (false, None);
    let loaded = Loaded {
        study,
        counted,
        recipe,
        choices,
        candidates,
        propensity,
        fitted,
        handed_in,
        target,
        past: None,
        anywhere: OnceLock::new(),
    };
    // What is said of a target that the log's columns cannot have is refused whatever is asked.
    loaded.known()?;
    Ok(loaded)
}

/// A model with every choice made, and what there was to choose from.
struct ModelChoice {
    recipe: Recipe,
    choices: Option<Vec<Choice>>,
    candidates: Vec<Compared>,
}

/// Makes the choices that a study leaves open about its model, once, on the whole log: what is
/// fitted again later has its settings given.
fn choose_model(study: &Study, counted: &Counted, watch: Watch<'_>) -> Result<ModelChoice> {
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
                return Ok(ModelChoice { recipe, choices: Some(chosen), candidates: Vec::new() });
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
            let (recipe, candidates) = (found.recipe, found.table);
            return Ok(ModelChoice { recipe, choices: None, candidates });
        }
    };
    Ok(ModelChoice { recipe, choices: None, candidates: Vec::new() })
}

/// Predicted values from a file.
fn predictions(path: &Path, study: &Study, log: &Log) -> Result<Predictions> {
    // A blank is no prediction.
    let fits = |v: f64| !v.is_infinite();
    Predictions::new(by_context(path, study, log, fits, "a finite number")?)
}

/// A file with a column per action: the numbers of its contexts, each listed once; NaN for the
/// others.
fn by_context(
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

impl Loaded {
    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.counted.log
    }

    /// What is fitted to the log: once, whoever asks.
    pub fn fitted(&self, watch: Watch<'_>) -> Result<&Arc<Fitted>> {
        if let Some(fitted) = self.fitted.get() {
            return Ok(fitted);
        }
        let fitted = Arc::new(self.fitted_to(self.log(), watch)?);
        Ok(self.fitted.get_or_init(|| fitted))
    }

    /// The same fitted to other rows of the log.
    pub(crate) fn fitted_to(&self, log: &Arc<Log>, watch: Watch<'_>) -> Result<Fitted> {
        let (clip, unseen) = (self.study.clip, self.study.unseen);
        let Deals { folds, repeats, seed, .. } = self.study.deals;
        // The study's whole log says how many deals there are, also for a part of it.
        let repeats = repeats.unwrap_or(FitOptions::for_log(self.log()).repeats);
        let options = FitOptions { clip, unseen, folds, repeats, seed };
        Fitted::new(log, &self.recipe, &self.propensity, options, watch)
    }

    /// The contexts of a support: all, or those with rows of the log or the target.
    pub fn contexts_on(&self, support: Support) -> Result<Vec<usize>> {
        let own = self.log().population()?;
        let there = self.target.as_ref().map(|t| t.sample.population().weights());
        let seen = |i: usize| own.weights()[i] > 0.0 || there.is_some_and(|t| t[i] > 0.0);
        let on = |i: &usize| support == Support::All || seen(*i);
        Ok((0..own.weights().len()).filter(on).collect())
    }

    /// The contexts that a larger space must keep: those with rows, and all that predictions are for.
    pub(crate) fn needed_contexts(&self) -> Result<Vec<usize>> {
        let population = self.log().population()?;
        let all = matches!(self.recipe, Recipe::Predictions(_));
        let needed = |&i: &usize| all || population.weights()[i] > 0.0;
        Ok((0..population.weights().len()).filter(needed).collect())
    }

    /// The same study on a larger space, the contexts `kept` being where it says.
    pub(crate) fn on_extension(&self, larger: &Extension, kept: &[usize]) -> Result<Self> {
        let mut place = vec![u32::MAX; self.log().contexts().len()];
        kept.iter().zip(&larger.kept).for_each(|(&old, new)| place[old] = *new);
        let log = self.log().on_contexts(&larger.space, |old| place[old as usize])?;
        let recipe = match (&self.recipe, &self.study.model) {
            (Recipe::Predictions(_), ModelSpec::Table(path)) if !self.handed_in => {
                Recipe::Predictions(predictions(path, &self.study, &log)?)
            }
            (Recipe::Predictions(own), _) => {
                let mut old = vec![None; larger.space.len()];
                kept.iter().zip(&larger.kept).for_each(|(&was, &is)| old[is as usize] = Some(was));
                Recipe::Predictions(own.on(&old)?)
            }
            (recipe, _) => recipe.clone(),
        };
        let counted = Counted { log: log.shared(), ..self.counted.clone() };
        Ok(Loaded { counted, recipe, ..self.unfitted() })
    }

    /// The same study with another support, if one is named.
    #[must_use]
    pub fn with_support(mut self, support: Option<Support>) -> Self {
        self.study.data.support = support.unwrap_or(self.study.data.support);
        self
    }

    /// The same study where mass may go anywhere, if that is the support: contexts are those with rows,
    /// or that the target has, and a numeric column that is not cut into bins takes any number.
    pub(crate) fn on_support(&self, support: Support) -> Result<Option<Arc<Self>>> {
        if support != Support::Space
            || self.study.data.support == Support::Space && self.is_anywhere()
        {
            return Ok(None);
        }
        if let Some(made) = self.anywhere.get() {
            return Ok(Some(made.clone()));
        }
        let places = self.contexts_on(Support::Observed)?;
        let contexts = &self.study.data.contexts;
        let space = Arc::new(self.log().contexts().with_any_number(&places, |k| {
            contexts.get(k).is_some_and(|c| c.bin.is_none() && c.levels.is_none())
        })?);
        let at = self.at_places(&space, &places)?;
        let mut study = self.study.clone();
        study.data.support = Support::Space;
        let (candidates, handed_in) = (self.candidates.clone(), self.handed_in);
        let made = Arc::new(Loaded { study, candidates, handed_in, ..at });
        Ok(Some(self.anywhere.get_or_init(|| made).clone()))
    }

    /// Whether contexts are those with rows, and numbers that are not cut into bins any numbers.
    fn is_anywhere(&self) -> bool {
        let space = self.log().contexts();
        let listed = matches!(space.support(), seawall::Support::Points(_));
        let any = |(k, c): (usize, &crate::study::Context)| {
            let free = c.kind == seawall::Kind::Numeric && c.bin.is_none() && c.levels.is_none();
            !free || space.levels(k).is_empty()
        };
        listed && self.study.data.contexts.iter().enumerate().all(any)
    }

    /// The same study with the rows of some places alone, those of a smaller space.
    pub(crate) fn at_places(&self, space: &Arc<Space>, places: &[usize]) -> Result<Self> {
        let log = self.log().at_places(space, places)?;
        let old: Vec<Option<usize>> = places.iter().map(|x| Some(*x)).collect();
        let recipe = match &self.recipe {
            Recipe::Predictions(own) => Recipe::Predictions(own.on(&old)?),
            recipe => recipe.clone(),
        };
        let target = match &self.target {
            None => None,
            Some(target) => {
                let sample = target.sample.at_places(space, places)?;
                let facts = TargetFacts { rows: sample.rows(), ..target.facts.clone() };
                let (file, moments) = (target.file.clone(), target.moments.clone());
                Some(Arc::new(PlacedTarget { sample, facts, file, moments }))
            }
        };
        let counted = Counted { log: log.shared(), ..self.counted.clone() };
        let candidates = Vec::new();
        Ok(Loaded { counted, recipe, target, candidates, handed_in: true, ..self.unfitted() })
    }

    /// The same study with the best model that keeps outcomes, where it was left open which and the one
    /// chosen keeps none.
    pub(crate) fn with_outcomes(&self) -> Option<Self> {
        if self.candidates.is_empty() || self.recipe.has_outcomes() {
            return None;
        }
        let kept = self.candidates.iter().filter(|c| c.recipe.has_outcomes());
        let best = kept.min_by(|a, b| a.error.total_cmp(&b.error))?.recipe.kind();
        let mut candidates = self.candidates.clone();
        candidates.iter_mut().for_each(|c| c.chosen = c.recipe.kind() == best);
        let recipe = candidates.iter().find(|c| c.chosen)?.recipe.clone();
        Some(Loaded { recipe, candidates, ..self.unfitted() })
    }

    /// The same study with nothing fitted yet.
    fn unfitted(&self) -> Self {
        Loaded { fitted: OnceLock::new(), anywhere: OnceLock::new(), ..self.clone() }
    }

    /// The same study of other rows on its contexts: what is left of its log.
    pub(crate) fn with_log(&self, log: Arc<Log>) -> Self {
        let counted = Counted { log, ..self.counted.clone() };
        Loaded { counted, ..self.unfitted() }
    }

    /// The same study asked about its own population.
    #[must_use]
    pub(crate) fn without_target(&self) -> Self {
        Loaded { target: None, anywhere: OnceLock::new(), ..self.clone() }
    }

    /// Which kind of outcome model it has.
    pub fn model_kind(&self) -> ModelKind {
        match self.study.model {
            ModelSpec::Column if !self.handed_in => ModelKind::Column,
            _ => self.recipe.kind(),
        }
    }

    /// The same study with another outcome model.
    #[must_use]
    pub fn with_recipe(&self, recipe: Recipe) -> Self {
        let (choices, candidates) = (None, Vec::new());
        Loaded { recipe, choices, candidates, handed_in: true, ..self.unfitted() }
    }

    /// The same data, asked about what another study says of its target and of past groups: in all else
    /// the study is this one.
    pub fn asking(&self, study: Study) -> Result<Self> {
        let loaded = Loaded { study, anywhere: OnceLock::new(), ..self.clone() };
        loaded.known()?;
        Ok(loaded)
    }

    /// The same study with past groups of a table beside the log, which its history names.
    #[must_use]
    pub fn with_past(&self, past: Counted) -> Self {
        Loaded { past: Some(Arc::new(past)), anywhere: OnceLock::new(), ..self.clone() }
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
        let again = ready(study, counted, watch)?;
        Ok(if self.handed_in { again.with_recipe(self.recipe.clone()) } else { again })
    }

    /// The policy that is meant, called as the study calls it; the greedy one by the values given.
    pub fn policy(&self, spec: &PolicySpec, values: &Values, watch: Watch<'_>) -> Result<Policy> {
        match self.study.meant(spec) {
            PolicySpec::Named(name, spec) => {
                Ok(self.unnamed_policy(spec, values, watch)?.named(name))
            }
            spec => self.unnamed_policy(spec, values, watch),
        }
    }

    fn unnamed_policy(
        &self,
        spec: &PolicySpec,
        values: &Values,
        watch: Watch<'_>,
    ) -> Result<Policy> {
        let log = self.log();
        match spec {
            PolicySpec::Uniform => Ok(Policy::uniform(log)),
            PolicySpec::Constant(action) => {
                Policy::constant(log, named(log.actions(), action).unwrap_or(action))
            }
            PolicySpec::Behaviour => self.behaviour(watch),
            PolicySpec::Greedy if self.study.data.support == Support::Space => {
                Policy::greedy_everywhere(log, values)
            }
            PolicySpec::Greedy => Policy::greedy(log, values),
            PolicySpec::File(path) => self.policy_file(path),
            PolicySpec::Made(file) => file.on(log.contexts(), log.actions()),
            PolicySpec::Named(_, spec) => self.unnamed_policy(spec, values, watch),
        }
    }

    /// What the log did, as far as the study's propensities tell: by design, or by the logistic
    /// model; where they are known row by row only, a logistic model of the actions taken.
    fn behaviour(&self, watch: Watch<'_>) -> Result<Policy> {
        let log = self.log();
        match &self.propensity {
            Propensity::Cells => Ok(Policy::behaviour(log)),
            Propensity::Design(shares) => {
                let rule = Rule::Groups { by: Vec::new(), probabilities: vec![shares.clone()] };
                Policy::new("behaviour", rule, log.contexts(), log.actions())
            }
            Propensity::Logistic { ridge } => Ok(logistic(log, *ridge, watch)?.named("behaviour")),
            _ => Ok(logistic(log, 1.0, watch)?.named("behaviour")),
        }
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

    /// A policy file, or a table of probabilities.
    fn policy_file(&self, path: &Path) -> Result<Policy> {
        let (log, name) = (self.log(), path.display());
        if path.extension().is_some_and(|e| e == "json") {
            let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
            let file =
                PolicyFile::from_json(&text).and_then(|f| f.on(log.contexts(), log.actions()));
            return file.map_err(|e| e.within(name));
        }
        if !path.exists() {
            return Err(Error::input(format!(
                "{name}: no such file; a policy is uniform, behaviour, greedy, constant:ACTION, a \
                 policy file (.json) or a table of probabilities (.csv, .parquet){}",
                self.study.policy_names()
            )));
        }
        let fits = |p: f64| (0.0..=1.0).contains(&p);
        let chances = by_context(path, &self.study, log, fits, "a probability from 0 to 1")?;
        let listed = |context: usize| !chances.at(context, 0).is_nan();
        let rule = Rule::table(log.contexts(), &chances, listed, None)?;
        let stem = path.file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned());
        Policy::new(stem, rule, log.contexts(), log.actions()).map_err(|e| e.within(name))
    }
}

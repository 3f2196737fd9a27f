//! The choice of a kind of model by the error on rows left out.
//!
//! The candidates are a tree, an additive model, a forest, boosted trees, and cells where every
//! context of the space has rows of every action. Each has its own settings chosen first;
//! then all are compared by their squared error on the rows of each of the same folds,
//! over all actions. The **simplest** is taken whose error is not above the lowest one by more than
//! the standard error of the difference of the two over the folds, in that order: a tree and an
//! additive model can be read, a forest keeps outcomes for a cost radius, boosted trees give values
//! only, and cells are the noisiest of all. Where there is to be a cost radius, models that give
//! values only are left out; where mass may go anywhere in a space, all but trees and additive models.
//!
//! The standard error is that of the difference, fold by fold: what is noise in the outcomes of a
//! fold is the same for every model, and tells nothing about which is better.
//!
//! Every leaf that is searched has at least 20 rows and a hundredth of its action's: small leaves
//! are what makes the worst case of a noisy model too bad.

use super::choose::standard_error;
use super::{
    AdditiveSearch, BoostedSettings, FoldPlan, ForestSettings, ModelKind, Recipe, TreeSettings,
    Unseen, choose, choose_additive, choose_rounds,
};
use crate::ambiguity::Settings;
use crate::ambiguity::sets::Wasserstein;
use crate::error::Result;
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};

/// Rows in a leaf, at least.
const LEAF: f64 = 20.0;
/// The smallest leaves that are searched, as shares of the rows of an action.
const SHARES: [f64; 3] = [0.01, 0.02, 0.05];
/// The depths of trees that are searched.
const DEPTHS: [usize; 4] = [1, 2, 3, 4];
/// With fewer rows there is nothing to compare.
const FEWEST: f64 = 20.0;

/// One kind of model beside others.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The recipe, its own settings chosen.
    pub recipe: Recipe,
    /// Its mean squared error on rows left out.
    pub error: f64,
    /// The standard error of that over the folds.
    pub se: f64,
    /// By how much its error is above the lowest one.
    pub above: f64,
    /// The standard error of that over the folds.
    pub above_se: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl Compared {
    /// Which kind it is.
    pub fn kind(&self) -> ModelKind {
        self.recipe.kind()
    }
}

/// A kind of model that was chosen.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The model chosen.
    pub recipe: Recipe,
    /// All candidates, simplest first; none if the log is too small to compare any.
    pub table: Vec<Compared>,
}

/// What a kind of model is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoSearch {
    /// How rows are left out.
    pub folds: FoldPlan,
    /// The seed of the forest.
    pub seed: u64,
    /// Whether only models with outcomes will do: there is to be a cost radius.
    pub with_outcomes: bool,
    /// Whether only models will do whose worst case over the whole of a space is exact: trees, and
    /// additive models.
    pub everywhere: bool,
}

impl Default for AutoSearch {
    fn default() -> Self {
        AutoSearch { folds: FoldPlan::from(5), seed: 0, with_outcomes: false, everywhere: false }
    }
}

/// What a tree's settings are chosen from.
pub(super) fn offered_trees(actions: usize) -> Vec<Vec<TreeSettings>> {
    let trees = DEPTHS.iter().flat_map(|depth| SHARES.iter().map(|share| small(*depth, *share)));
    vec![trees.collect(); actions]
}

/// The settings of boosted trees, with the most rounds.
pub(super) fn offered_boosting() -> BoostedSettings {
    BoostedSettings { min_samples_leaf: LEAF, ..BoostedSettings::default() }
}

fn small(max_depth: usize, min_share: f64) -> TreeSettings {
    TreeSettings { max_depth, min_samples_leaf: LEAF, min_share, ..TreeSettings::default() }
}

/// Chooses a kind of model and its settings. A log of fewer than 20 rows has a tree of one split
/// at most.
pub fn auto(log: &Log, search: &AutoSearch, watch: Watch<'_>) -> Result<Auto> {
    let (plan, seed, actions) = (search.folds, search.seed, log.actions().len());
    if log.total() < FEWEST.max(plan.folds as f64) {
        let recipe = Recipe::Tree(vec![small(1, SHARES[0]); actions]);
        return Ok(Auto { recipe, table: Vec::new() });
    }
    let (settings, squares) =
        apart(choose(log, &offered_trees(actions), plan, watch)?, |c| (c.settings, c.squares));
    let mut candidates = vec![Candidate::known(Recipe::Tree(settings), squares)];
    if !search.with_outcomes {
        let chosen = choose_additive(log, &AdditiveSearch::default(), plan, watch)?;
        let (settings, squares) = apart(chosen, |c| (c.settings, c.squares));
        candidates.push(Candidate::known(Recipe::Additive(settings), squares));
    }
    if !search.everywhere {
        let forest = ForestSettings {
            min_samples_leaf: LEAF,
            min_share: SHARES[0],
            seed,
            ..ForestSettings::default()
        };
        candidates.push(Recipe::Forest(forest).into());
    }
    if !search.with_outcomes && !search.everywhere {
        let boosted = offered_boosting();
        let rounds = choose_rounds(log, &vec![boosted; actions], plan, watch)?;
        let with = |rounds| BoostedSettings { rounds, ..boosted };
        let (settings, squares) = apart(rounds, |c| (with(c.rounds), c.squares));
        candidates.push(Candidate::known(Recipe::Boosted(settings), squares));
    }
    if !search.everywhere && log.cell_totals().cells().iter().all(|n| *n > 0.0) {
        candidates.push(Recipe::Cells.into());
    }
    let table = compare(log, candidates, plan, watch)?;
    let chosen = table.iter().find(|c| c.chosen).map(|c| c.recipe.clone());
    Ok(Auto { recipe: chosen.unwrap_or(Recipe::Cells), table })
}

/// A model to be compared.
#[derive(Clone, Debug)]
pub struct Candidate {
    recipe: Recipe,
    /// The sums of squared errors on each fold's rows, action by action, where its settings were chosen on the same
    /// folds.
    squares: Vec<Vec<f64>>,
}

impl From<Recipe> for Candidate {
    fn from(recipe: Recipe) -> Self {
        Candidate { recipe, squares: Vec::new() }
    }
}

impl Candidate {
    /// A model whose errors on rows left out are known, action by action.
    pub(super) fn known(recipe: Recipe, squares: Vec<Vec<f64>>) -> Self {
        Candidate { recipe, squares }
    }

    /// The sums of squared errors over all actions, if they are known.
    fn total(&self, folds: usize) -> Option<Vec<f64>> {
        let known = self.squares.iter().all(|own| own.len() == folds) && !self.squares.is_empty();
        known.then(|| (0..folds).map(|k| self.squares.iter().map(|own| own[k]).sum()).collect())
    }
}

/// Settings and errors of every action.
fn apart<C, S>(chosen: Vec<C>, of: impl Fn(C) -> (S, Vec<f64>)) -> (Vec<S>, Vec<Vec<f64>>) {
    chosen.into_iter().map(of).unzip()
}

/// Compares models on rows left out; of those that cannot be told from the best, the first is
/// chosen.
pub fn compare(
    log: &Log,
    candidates: Vec<Candidate>,
    folds: impl Into<FoldPlan>,
    watch: Watch<'_>,
) -> Result<Vec<Compared>> {
    let dealt = folds.into().deal(log)?;
    let count = dealt.count();
    // Each candidate's sum of squared errors in each fold; and the rows of each fold.
    let known: Vec<Option<Vec<f64>>> = candidates.iter().map(|c| c.total(count)).collect();
    let unknown = |k: &usize| known[*k].is_none();
    let fitted: Vec<usize> = (0..candidates.len()).filter(unknown).collect();
    let mut squares: Vec<Vec<f64>> =
        known.iter().map(|own| own.clone().unwrap_or(vec![0.0; count])).collect();
    let mut rows = vec![0.0; count];
    for fold in 0..count {
        let weight = |i: usize| dealt.weight(i, fold);
        rows[fold] = (0..log.entries().len()).map(weight).sum();
        if fitted.is_empty() {
            continue;
        }
        let others = dealt.without(fold)?;
        for (at, &k) in fitted.iter().enumerate() {
            let done = fold * fitted.len() + at;
            watch.tell(Progress::at(Stage::Fitting).done(done).out_of(count * fitted.len()))?;
            let model = candidates[k].recipe.fit(&others, watch)?;
            let set = Wasserstein.at(0.0);
            let values = model.values(&others, set, Unseen::Mean, Settings::default())?;
            let error = |(i, e): (usize, &crate::log::Entry)| {
                let at = values.at(e.context as usize, e.action as usize);
                weight(i) * (log.value(e) - at).powi(2)
            };
            squares[k][fold] = log.entries().iter().enumerate().map(error).sum();
        }
    }
    let all: f64 = rows.iter().sum();
    let errors: Vec<f64> = squares.iter().map(|s| s.iter().sum::<f64>() / all).collect();
    let best = (0..errors.len()).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
    let mean = |k: usize, fold: usize| squares[k][fold] / rows[fold];
    let with_rows: Vec<usize> = (0..count).filter(|fold| rows[*fold] > 0.0).collect();
    let spread = |of: &dyn Fn(usize) -> f64| {
        standard_error(&with_rows.iter().map(|fold| of(*fold)).collect::<Vec<_>>())
    };
    let compared = candidates.into_iter().enumerate().map(|(k, candidate)| Compared {
        recipe: candidate.recipe,
        error: errors[k],
        se: spread(&|fold| mean(k, fold)),
        above: errors[k] - errors[best],
        above_se: spread(&|fold| mean(k, fold) - mean(best, fold)),
        chosen: false,
    });
    let mut table: Vec<Compared> = compared.collect();
    if let Some(first) = table.iter_mut().find(|c| c.above <= c.above_se) {
        first.chosen = true;
    }
    Ok(table)
}

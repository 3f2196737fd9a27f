//! How a model is found for a log: which kind, and with which settings.
//!
//! Whatever is chosen by cross-validation is chosen on the log that the model is fitted to and on nothing else.
//! A part of a log (a half, a fold) therefore makes its own choices: settings that were chosen on all rows would
//! make the models of two parts agree more than two independent samples do.

use super::auto::{Candidate, offered_boosting, offered_trees};
use super::choose::depth_errors;
use super::{
    AdditiveSearch, AutoSearch, BoostedSettings, Choice, Compared, FoldPlan, Recipe, TreeSettings,
    auto, choose, choose_additive, choose_rounds, compare,
};
use crate::error::Result;
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};

/// How a model is found for a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelSearch {
    /// A recipe without a choice.
    Fixed(Recipe),
    /// A tree per action, each with the best of the settings offered to it.
    Tree {
        /// The settings offered to each action.
        offered: Vec<Vec<TreeSettings>>,
        /// How rows are left out.
        folds: FoldPlan,
    },
    /// Boosted trees per action, the number of rounds chosen.
    Boosted {
        /// Their settings, with the most rounds.
        settings: BoostedSettings,
        /// How rows are left out.
        folds: FoldPlan,
    },
    /// An additive model per action, penalty and pairs chosen.
    Additive {
        /// What may be chosen.
        search: AdditiveSearch,
        /// How rows are left out.
        folds: FoldPlan,
    },
    /// The simplest of the kinds that predict best.
    Auto(AutoSearch),
    /// The simplest of a constant, trees and an additive model that predicts best: for differences of actions,
    /// which often do not depend on the context.
    Effect(FoldPlan),
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct FoundModel {
    /// The recipe.
    pub recipe: Recipe,
    /// The settings that cross-validation chose for each action's tree, if it had a choice.
    pub choices: Option<Vec<Choice>>,
    /// The kinds that were compared, simplest first.
    pub candidates: Vec<Compared>,
}

impl FoundModel {
    /// A recipe that nothing was compared with.
    pub fn only(recipe: Recipe) -> Self {
        FoundModel { recipe, choices: None, candidates: Vec::new() }
    }
}

/// Depths of the trees that an effect may have: first a constant.
const EFFECT_DEPTHS: [usize; 4] = [0, 1, 2, 3];
/// Rows in a leaf of such a tree: at least so many, and this share of all.
const EFFECT_LEAF: (f64, f64) = (20.0, 0.02);
/// With fewer rows an effect is a constant.
const EFFECT_ROWS: f64 = 40.0;

impl AutoSearch {
    /// How the settings of one kind are chosen where the kinds are compared.
    pub fn of_kind(&self, recipe: &Recipe) -> ModelSearch {
        match recipe {
            Recipe::Tree(own) => {
                ModelSearch::Tree { offered: offered_trees(own.len()), folds: self.folds }
            }
            Recipe::Boosted(_) => {
                ModelSearch::Boosted { settings: offered_boosting(), folds: self.folds }
            }
            Recipe::Additive(_) => {
                ModelSearch::Additive { search: AdditiveSearch::default(), folds: self.folds }
            }
            other => ModelSearch::Fixed(other.clone()),
        }
    }
}

impl ModelSearch {
    /// Makes the choices for a log.
    pub fn find(&self, log: &Log, watch: Watch<'_>) -> Result<FoundModel> {
        match self {
            ModelSearch::Fixed(recipe) => Ok(FoundModel::only(recipe.clone())),
            ModelSearch::Tree { offered, folds } => {
                if offered.iter().all(|settings| settings.len() == 1) {
                    let only = offered.iter().flatten().copied().collect();
                    return Ok(FoundModel::only(Recipe::Tree(only)));
                }
                let chosen = choose(log, offered, *folds, watch)?;
                let recipe = Recipe::Tree(chosen.iter().map(|c| c.settings).collect());
                Ok(FoundModel { choices: Some(chosen), ..FoundModel::only(recipe) })
            }
            ModelSearch::Boosted { settings, folds } => {
                let each = vec![*settings; log.actions().len()];
                let rounds = choose_rounds(log, &each, *folds, watch)?;
                let with = |rounds| BoostedSettings { rounds, ..*settings };
                let settings = rounds.iter().map(|c| with(c.rounds)).collect();
                Ok(FoundModel::only(Recipe::Boosted(settings)))
            }
            ModelSearch::Additive { search, folds } => {
                let chosen = choose_additive(log, search, *folds, watch)?;
                let settings = chosen.into_iter().map(|c| c.settings).collect();
                Ok(FoundModel::only(Recipe::Additive(settings)))
            }
            ModelSearch::Auto(search) => {
                let found = auto(log, search, watch)?;
                Ok(FoundModel { candidates: found.table, ..FoundModel::only(found.recipe) })
            }
            ModelSearch::Effect(folds) => effect(log, *folds, watch),
        }
    }

    /// The same for a part of a log, which may be too small for what the whole log is asked: with no more folds
    /// than it has rows or clusters.
    pub fn find_on_part(&self, part: &Log, watch: Watch<'_>) -> Result<FoundModel> {
        let most = part.clusters().map_or(part.rows(), |count| count as f64) as usize;
        let fewer = |plan: FoldPlan| FoldPlan { folds: plan.folds.min(most).max(2), ..plan };
        if most < 2 {
            return self.find(part, watch);
        }
        match self.clone() {
            ModelSearch::Tree { offered, folds } => {
                ModelSearch::Tree { offered, folds: fewer(folds) }
            }
            ModelSearch::Boosted { settings, folds } => {
                ModelSearch::Boosted { settings, folds: fewer(folds) }
            }
            ModelSearch::Additive { search, folds } => {
                ModelSearch::Additive { search, folds: fewer(folds) }
            }
            ModelSearch::Auto(search) => {
                ModelSearch::Auto(AutoSearch { folds: fewer(search.folds), ..search })
            }
            ModelSearch::Effect(folds) => ModelSearch::Effect(fewer(folds)),
            ModelSearch::Fixed(recipe) => ModelSearch::Fixed(recipe),
        }
        .find(part, watch)
    }
}

/// A constant, a tree of one split, an additive model, deeper trees: the first of them whose error on rows left
/// out is within a standard error of the lowest one's.
fn effect(log: &Log, plan: FoldPlan, watch: Watch<'_>) -> Result<FoundModel> {
    let actions = log.actions().len();
    let tree = |max_depth| {
        let (min_samples_leaf, min_share) = EFFECT_LEAF;
        TreeSettings { max_depth, min_samples_leaf, min_share, ..TreeSettings::default() }
    };
    let recipe = |depth| Recipe::Tree(vec![tree(depth); actions]);
    if log.effective_rows() < EFFECT_ROWS {
        return Ok(FoundModel::only(recipe(0)));
    }
    let dealt = plan.deal(log)?;
    let parts: Vec<Log> =
        (0..dealt.count()).map(|fold| dealt.without(fold)).collect::<Result<_>>()?;
    let deepest = tree(EFFECT_DEPTHS[EFFECT_DEPTHS.len() - 1]);
    // By depth, action by action.
    let mut squares = vec![Vec::new(); EFFECT_DEPTHS.len()];
    for action in 0..actions {
        let of = (action, &deepest);
        let tell = || watch.tell(Progress::at(Stage::Fitting).done(action).out_of(actions));
        let errors = depth_errors((log, &dealt, &parts), of, &EFFECT_DEPTHS, (&tell, watch))?;
        errors.iter().zip(&mut squares).for_each(|(errors, all)| all.push(errors.squares()));
    }
    let trees = EFFECT_DEPTHS.iter().zip(squares);
    let mut candidates: Vec<Candidate> =
        trees.map(|(depth, squares)| Candidate::known(recipe(*depth), squares)).collect();
    let search = AdditiveSearch { pairs: 0, ..AdditiveSearch::default() };
    let additive = choose_additive(log, &search, plan, watch)?;
    let (settings, squares) = additive.into_iter().map(|c| (c.settings, c.squares)).unzip();
    // After the tree of one split.
    candidates.insert(2, Candidate::known(Recipe::Additive(settings), squares));
    let table = compare(log, candidates, plan, watch)?;
    let chosen = table.iter().find(|c| c.chosen).map(|c| c.recipe.clone());
    Ok(FoundModel { candidates: table, ..FoundModel::only(chosen.unwrap_or_else(|| recipe(0))) })
}

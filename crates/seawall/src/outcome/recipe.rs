//! A kind of outcome model with every setting given.

use super::model::Model;
use super::{
    AdditiveSettings, BoostedSettings, ForestSettings, Learner, Predictions, TreeSettings,
    additive, boosted, cells, forest, tree,
};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a model is made from a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Recipe {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action, with the settings of each.
    Tree(Vec<TreeSettings>),
    /// A forest per action.
    Forest(ForestSettings),
    /// Boosted trees per action, with the settings of each.
    Boosted(Vec<BoostedSettings>),
    /// An additive model per action, with the settings of each.
    Additive(Vec<AdditiveSettings>),
    /// Values that the user brings; the log changes nothing.
    Predictions(Predictions),
    /// A learner of the user's own, fitted to every log anew.
    Learner(Arc<dyn Learner>),
}

impl Recipe {
    /// Fits the model to a log.
    pub fn fit(&self, log: &Log, watch: Watch<'_>) -> Result<Model> {
        watch.tell(Progress::at(Stage::Fitting))?;
        Ok(match self {
            Recipe::Cells => Model::Leaves(cells(log)),
            Recipe::Tree(settings) => Model::Leaves(tree(log, settings, watch)?),
            Recipe::Forest(settings) => Model::Forest(forest(log, settings, watch)?),
            Recipe::Boosted(settings) => Model::Boosted(boosted(log, settings, watch)?),
            Recipe::Additive(settings) => Model::Additive(additive(log, settings, watch)?),
            Recipe::Predictions(predictions) => {
                predictions.check_against(log)?;
                Model::Predictions(predictions.clone())
            }
            Recipe::Learner(learner) => {
                let of_learner = |e: Error| e.within(learner.name());
                let predictions = learner.fit(log, watch).map_err(of_learner)?;
                predictions.check_against(log).map_err(of_learner)?;
                Model::Predictions(predictions)
            }
        })
    }

    /// Which kind of model it makes.
    pub fn kind(&self) -> ModelKind {
        match self {
            Recipe::Cells => ModelKind::Cells,
            Recipe::Tree(_) => ModelKind::Tree,
            Recipe::Forest(_) => ModelKind::Forest,
            Recipe::Boosted(_) => ModelKind::Boosted,
            Recipe::Additive(_) => ModelKind::Additive,
            Recipe::Predictions(_) => ModelKind::Table,
            Recipe::Learner(_) => ModelKind::Learner,
        }
    }

    /// Whether its models keep outcomes, so that a cost radius has something to act on.
    pub fn has_outcomes(&self) -> bool {
        matches!(self, Recipe::Cells | Recipe::Tree(_) | Recipe::Forest(_))
    }

    /// Whether another log makes another model. Predictions are taken as given: whatever resamples
    /// rows, or deals them to folds or halves, leaves out the noise of the model that made them.
    pub fn is_refitted(&self) -> bool {
        !matches!(self, Recipe::Predictions(_))
    }
}

/// A kind of outcome model, as it is written everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[doc(hidden)]
pub enum ModelKind {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action.
    Tree,
    /// Averaged trees per action.
    Forest,
    /// Boosted trees per action.
    Boosted,
    /// A sum of what each feature adds, per action.
    Additive,
    /// Values that the user brings, by context.
    Table,
    /// Values that the user brings, row by row.
    Column,
    /// A learner of the user's own.
    Learner,
}

impl ModelKind {
    /// The kind as it is written.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Cells => "cells",
            ModelKind::Tree => "tree",
            ModelKind::Forest => "forest",
            ModelKind::Boosted => "boosted",
            ModelKind::Additive => "additive",
            ModelKind::Table => "table",
            ModelKind::Column => "column",
            ModelKind::Learner => "learner",
        }
    }
}

//! The fitted outcome model as plain data: what each action's values hang on.
//!
//! A tree is told branch by branch, an additive model feature by feature, a forest and boosted trees
//! by how much each feature lowers the squared error of their rows (a share of 1 in all; it tells
//! what is used, not in which direction), cells by their number.

use crate::prepare::PreparedStudy;
use seawall::outcome::{Additive, Effect, Model, ModelKind, Recipe, Tree};
use seawall::{Direction, Error, Result, Space, Watch};
use seawall_table::read::named;
use serde::Serialize;

/// A fitted model, told.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Its kind.
    pub kind: ModelKind,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// Action by action.
    pub actions: Vec<ExplainedAction>,
}

/// What one action's values hang on.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedAction {
    /// The action.
    pub name: String,
    /// Its rows.
    pub rows: f64,
    /// Their mean outcome.
    pub mean: f64,
    /// The model.
    pub model: ExplainedModel,
}

/// One action's model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExplainedModel {
    /// Every context by itself.
    Cells {
        /// Contexts with rows.
        cells: usize,
    },
    /// A regression tree.
    Tree {
        /// Its branches, from the root down, left before right.
        branches: Vec<BranchFacts>,
    },
    /// A sum of what each feature adds.
    Additive {
        /// The mean that everything is added to.
        base: f64,
        /// The penalty, in rows.
        penalty: f64,
        /// What each feature adds, and each pair of features.
        effects: Vec<EffectFacts>,
    },
    /// Averaged trees.
    Forest {
        /// How many.
        trees: usize,
        /// Their leaves, on average.
        leaves: f64,
        /// What each feature is worth, the most first.
        importance: Vec<Importance>,
    },
    /// Boosted trees.
    Boosted {
        /// How many.
        rounds: usize,
        /// Splits from a tree's root to a leaf, at most.
        depth: usize,
        /// What each tree's values are multiplied by.
        shrinkage: f64,
        /// What each feature is worth, the most first.
        importance: Vec<Importance>,
    },
    /// Values that were handed in.
    Table {},
}

/// A branch of a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchFacts {
    /// Splits above it.
    pub depth: usize,
    /// Who comes here, in words; none at the root.
    pub when: Option<String>,
    /// Its rows.
    pub rows: f64,
    /// Their mean outcome.
    pub mean: f64,
    /// Whether it is not split further.
    pub leaf: bool,
}

/// What a feature or a pair adds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectFacts {
    /// The feature, or the two of a pair.
    pub features: Vec<String>,
    /// Whether its steps are in order: a curve.
    pub in_order: bool,
    /// Its steps; a missing one last.
    pub steps: Vec<StepFacts>,
}

/// One step of an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepFacts {
    /// The levels: one text per feature.
    pub levels: Vec<String>,
    /// What is added here.
    pub effect: f64,
    /// The action's rows here.
    pub rows: f64,
}

/// What a feature is worth to a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Importance {
    /// The feature.
    pub feature: String,
    /// Its share in lowering the squared error.
    pub share: f64,
}

/// Tells the fitted model of every action, or of one.
pub fn explain(
    prepared: &PreparedStudy,
    action: Option<&str>,
    watch: Watch<'_>,
) -> Result<Explanation> {
    let (log, fitted) = (prepared.log(), prepared.fitted(watch)?);
    let wanted = match action {
        None => None,
        Some(name) => Some(named(log.actions(), name).ok_or_else(|| {
            let all = log.actions().join(", ");
            Error::config(format!("no action named {name:?}; there are: {all}"))
        })?),
    };
    let mut sums = vec![0.0; log.actions().len()];
    log.entries().iter().for_each(|e| sums[e.action as usize] += e.weight * log.value(e));
    let each = log.actions().iter().zip(log.action_totals()).enumerate();
    let told = each.filter(|(_, (name, _))| wanted.is_none_or(|wanted| wanted == name.as_str()));
    let actions = told.map(|(action, (name, rows))| ExplainedAction {
        name: name.clone(),
        rows,
        mean: sums[action] / rows,
        model: model(prepared, fitted.model(), action),
    });
    let (kind, direction) = (prepared.model_kind(), log.direction());
    Ok(Explanation { kind, direction, actions: actions.collect() })
}

fn model(prepared: &PreparedStudy, model: &Model, action: usize) -> ExplainedModel {
    let space = prepared.log().contexts();
    match (model, &prepared.model.recipe) {
        (Model::Leaves(leaves), _) => match leaves.trees().get(action) {
            Some(tree) => ExplainedModel::Tree { branches: branches(tree, space) },
            None => ExplainedModel::Cells {
                cells: leaves.all().iter().filter(|l| l.action == action).count(),
            },
        },
        (Model::Additive(additive), _) => additive_model(additive, space, action),
        (Model::Forest(forest), Recipe::Forest(settings)) => ExplainedModel::Forest {
            trees: settings.trees,
            leaves: forest.leaf_count(action),
            importance: importance(forest.importance(action), space),
        },
        (Model::Boosted(boosted), _) => ExplainedModel::Boosted {
            rounds: boosted.settings()[action].rounds,
            depth: boosted.settings()[action].depth,
            shrinkage: boosted.settings()[action].shrinkage,
            importance: importance(boosted.importance(action), space),
        },
        _ => ExplainedModel::Table {},
    }
}

fn additive_model(additive: &Additive, space: &Space, action: usize) -> ExplainedModel {
    ExplainedModel::Additive {
        base: additive.base(action).unwrap_or(f64::NAN),
        penalty: additive.settings()[action].penalty,
        effects: additive.effects(action).into_iter().map(|e| effect(e, space)).collect(),
    }
}

fn effect(effect: Effect, space: &Space) -> EffectFacts {
    let name = |k: &usize| space.names().nth(*k).unwrap_or_default().to_owned();
    let steps = effect.steps.into_iter();
    EffectFacts {
        features: effect.features.iter().map(name).collect(),
        in_order: effect.in_order,
        steps: steps
            .map(|s| StepFacts { levels: s.levels, effect: s.effect, rows: s.rows })
            .collect(),
    }
}

fn importance(shares: &[f64], space: &Space) -> Vec<Importance> {
    let named = space.names().zip(shares);
    let mut all: Vec<Importance> =
        named.map(|(name, share)| Importance { feature: name.to_owned(), share: *share }).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}

/// A tree's branches, from the root down.
fn branches(tree: &Tree, space: &Space) -> Vec<BranchFacts> {
    let mut told = Vec::new();
    if tree.is_empty() {
        return told;
    }
    let mut waiting = vec![(0, 0, None)];
    while let Some((node, depth, when)) = waiting.pop() {
        let (rows, mean) = tree.summary(node);
        let split = tree.split(node);
        told.push(BranchFacts { depth, when, rows, mean, leaf: split.is_none() });
        if let Some(split) = split {
            let (left, right) = split.words(space);
            waiting.push((split.right, depth + 1, Some(right)));
            waiting.push((split.left, depth + 1, Some(left)));
        }
    }
    told
}

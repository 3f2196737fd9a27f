//! `[model]`: how outcomes are modelled.
//!
//! A tree's settings are each a number, a list to choose from by cross-validation, or a table of
//! either by action: `min_samples_leaf = { treat = 5, control = [2, 5] }`. Those of the other kinds
//! are numbers for all actions. `kind = "auto"` compares the kinds on rows left out.

use super::declared::{DeclaredTable, DeclaredValue};
use super::{Actions, Place, PredictionColumns};
use seawall::outcome::{
    AdditiveSearch, BoostedSettings, FoldPlan, ForestSettings, TreeSettings, Unseen,
};
use seawall::{Error, Result};
use seawall_table::read::{named, same};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// How outcomes are modelled.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpec {
    /// Every context and action by itself.
    Cells,
    /// A regression tree per action.
    Tree {
        /// Splits from the root to a leaf, at most.
        max_depth: Choices,
        /// Rows in a leaf, at least.
        min_samples_leaf: Choices,
        /// Rows in a leaf, at least, as a share of those of its action.
        min_share: Choices,
        /// Rows in a node that may be split, at least.
        min_samples_split: Choices,
        /// The strength of cost-complexity pruning.
        ccp_alpha: Choices,
        /// Folds of the cross-validation that chooses, where there is a choice.
        folds: FoldPlan,
    },
    /// Averaged trees per action.
    Forest(ForestSettings),
    /// Boosted trees per action.
    Boosted {
        /// Their settings, with the rounds that there are at most.
        settings: BoostedSettings,
        /// Folds of the cross-validation that chooses the rounds.
        folds: FoldPlan,
    },
    /// An additive model per action.
    Additive {
        /// What may be chosen.
        search: AdditiveSearch,
        /// Folds of the cross-validation that chooses.
        folds: FoldPlan,
    },
    /// Whichever of these is the simplest of those that predict best.
    Auto {
        /// Folds of the cross-validation that compares them.
        folds: FoldPlan,
        /// The seed of the forest.
        seed: u64,
    },
    /// Predicted values from a file: the context columns, and a column per action.
    Table(PathBuf),
    /// Predicted values of every row, in columns of the data.
    Column,
}

/// What a setting may be: for every action, and for those that have their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    all: Vec<f64>,
    own: Vec<(String, Vec<f64>)>,
}

impl Choices {
    fn for_action(&self, action: &str) -> &[f64] {
        self.own.iter().find(|(name, _)| same(name, action)).map_or(&self.all, |(_, own)| own)
    }
}

impl ModelSpec {
    /// The tree settings offered to each action; None if the model is no tree.
    pub fn offered(&self, actions: &[String]) -> Result<Option<Vec<Vec<TreeSettings>>>> {
        let ModelSpec::Tree {
            max_depth,
            min_samples_leaf,
            min_share,
            min_samples_split,
            ccp_alpha,
            ..
        } = self
        else {
            return Ok(None);
        };
        for choices in [max_depth, min_samples_leaf, min_share, min_samples_split, ccp_alpha] {
            if let Some((name, _)) =
                choices.own.iter().find(|(name, _)| named(actions, name).is_none())
            {
                return Err(Error::config(format!(
                    "[model] names the action {name:?}; there are: {}",
                    actions.join(", ")
                )));
            }
        }
        let each = |action: &String| {
            let mut offered = vec![TreeSettings::default()];
            let mut vary = |choices: &Choices, set: fn(&mut TreeSettings, f64)| {
                let with = |like: &TreeSettings| {
                    let like = *like;
                    choices.for_action(action).iter().map(move |x| {
                        let mut settings = like;
                        set(&mut settings, *x);
                        settings
                    })
                };
                offered = offered.iter().flat_map(with).collect();
            };
            vary(max_depth, |s, x| s.max_depth = x as usize);
            vary(min_samples_leaf, |s, x| s.min_samples_leaf = x);
            vary(min_share, |s, x| s.min_share = x);
            vary(min_samples_split, |s, x| s.min_samples_split = x);
            vary(ccp_alpha, |s, x| s.ccp_alpha = x);
            offered
        };
        Ok(Some(actions.iter().map(each).collect()))
    }
}

/// How rows are dealt to folds for the doubly robust estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deals {
    /// Folds of each deal.
    pub folds: usize,
    /// Deals; None for as many as the log's size asks for.
    pub repeats: Option<usize>,
    /// The seed.
    pub seed: u64,
    /// Where the number of folds is said, if it is.
    pub place: Option<Place>,
}

impl Default for Deals {
    fn default() -> Self {
        Deals { folds: 5, repeats: None, seed: 0, place: None }
    }
}

/// The model, what to do where an action was never seen, and how rows are dealt to folds.
pub(super) fn parse(
    value: Option<DeclaredValue>,
    actions: &Actions,
    folder: &Path,
) -> Result<(ModelSpec, Option<PredictionColumns>, Unseen, Deals)> {
    let Some(value) = value else {
        return Ok((ModelSpec::Cells, None, Unseen::Error, Deals::default()));
    };
    let mut table = value.table()?;
    let kind = table.need("kind")?.word(&KINDS)?;
    let words = [("error", Unseen::Error), ("mean", Unseen::Mean), ("worst", Unseen::Worst)];
    let unseen = table.take("unseen").map_or(Ok(Unseen::Error), |v| v.word(&words))?;
    let usual = Deals::default();
    let folds = table.take("folds");
    let deals = Deals {
        place: folds.as_ref().map(|v| v.place.clone()),
        folds: folds.map_or(Ok(usual.folds), |v| whole_number(&v, 2..=1000))?,
        repeats: table.take("repeats").map(|v| whole_number(&v, 1..=1000)).transpose()?,
        seed: whole(&mut table, "seed", 0, 0..=MOST)? as u64,
    };
    // The usual seed deals rows as every log is dealt.
    let seed = Some(deals.seed).filter(|s| *s > 0);
    let plan = FoldPlan { folds: deals.folds, seed };
    let mut predictions = None;
    let (spec, known): (ModelSpec, &[&str]) = match kind {
        Kind::Cells => (ModelSpec::Cells, &[]),
        Kind::Tree => (tree(&mut table, actions, plan)?, TREE),
        Kind::Forest => (forest(&mut table, deals.seed)?, FOREST),
        Kind::Boosted => (boosted(&mut table, plan)?, BOOSTED),
        Kind::Additive => (additive(&mut table, plan)?, ADDITIVE),
        Kind::Auto => (ModelSpec::Auto { folds: plan, seed: deals.seed }, &[]),
        Kind::Table => (ModelSpec::Table(folder.join(table.need("path")?.text()?)), &["path"]),
        Kind::Column => {
            predictions = Some(prediction_columns(table.need("predictions")?, actions)?);
            (ModelSpec::Column, &["predictions"])
        }
    };
    table.finish(&[&["kind", "unseen", "folds", "repeats", "seed"], known].concat())?;
    Ok((spec, predictions, unseen, deals))
}

/// `{ ACTION = "COL", ... }`: a column for every action.
fn prediction_columns(value: DeclaredValue, actions: &Actions) -> Result<PredictionColumns> {
    let (place, mut columns) = (value.whole_place(), Vec::new());
    let mut table = value.table()?;
    for (name, v) in table.rest() {
        check_action(actions, &name, &v)?;
        columns.push((name, v.text()?));
    }
    if let Actions::Rules(rules) = actions
        && let Some((name, _)) = rules.iter().find(|(n, _)| !columns.iter().any(|c| c.0 == *n))
    {
        return Err(Error::config(format!("{place}: no column for the action {name:?}")));
    }
    Ok(PredictionColumns { columns, place })
}

#[derive(Clone, Copy)]
enum Kind {
    Cells,
    Tree,
    Forest,
    Boosted,
    Additive,
    Auto,
    Table,
    Column,
}

const KINDS: [(&str, Kind); 8] = [
    ("auto", Kind::Auto),
    ("tree", Kind::Tree),
    ("additive", Kind::Additive),
    ("forest", Kind::Forest),
    ("boosted", Kind::Boosted),
    ("cells", Kind::Cells),
    ("table", Kind::Table),
    ("column", Kind::Column),
];

const TREE: &[&str] =
    &["max_depth", "min_samples_leaf", "min_share", "min_samples_split", "ccp_alpha"];
const FOREST: &[&str] = &["trees", "features", "min_samples_leaf", "min_share", "max_depth"];
const BOOSTED: &[&str] = &["rounds", "depth", "shrinkage", "min_samples_leaf"];
const ADDITIVE: &[&str] = &["pairs", "penalty", "steps"];

/// The largest whole number that a file's numbers tell apart.
const MOST: usize = 1 << 53;

/// Sizes of leaves: rows, and a share of all.
const LEAF_ROWS: (&str, fn(f64) -> bool) = ("a number ≥ 1", |x| x >= 1.0 && x.is_finite());
const LEAF_SHARE: (&str, fn(f64) -> bool) =
    ("a number from 0 to 0.5", |x| (0.0..=0.5).contains(&x));

fn tree(table: &mut DeclaredTable, actions: &Actions, folds: FoldPlan) -> Result<ModelSpec> {
    let usual = TreeSettings::default();
    let mut setting = |key, usual: f64, expected: (&str, fn(f64) -> bool)| {
        choices(table.take(key), usual, expected, actions)
    };
    let whole_depth = |x: f64| x >= 0.0 && x.fract() == 0.0 && x < 64.0;
    let at_least_0 = |x: f64| x >= 0.0 && x.is_finite();
    Ok(ModelSpec::Tree {
        max_depth: setting(
            "max_depth",
            usual.max_depth as f64,
            ("a whole number from 0 to 63", whole_depth),
        )?,
        min_samples_leaf: setting("min_samples_leaf", usual.min_samples_leaf, LEAF_ROWS)?,
        min_share: setting("min_share", usual.min_share, LEAF_SHARE)?,
        min_samples_split: setting(
            "min_samples_split",
            usual.min_samples_split,
            ("a number ≥ 2", |x| x >= 2.0 && x.is_finite()),
        )?,
        ccp_alpha: setting("ccp_alpha", usual.ccp_alpha, ("a number ≥ 0", at_least_0))?,
        folds,
    })
}

fn forest(table: &mut DeclaredTable, seed: u64) -> Result<ModelSpec> {
    let usual = ForestSettings::default();
    Ok(ModelSpec::Forest(ForestSettings {
        trees: whole(table, "trees", usual.trees, 1..=100_000)?,
        features: table.take("features").map(|v| whole_number(&v, 1..=MOST)).transpose()?,
        min_samples_leaf: one(table, "min_samples_leaf", usual.min_samples_leaf, LEAF_ROWS)?,
        min_share: one(table, "min_share", usual.min_share, LEAF_SHARE)?,
        max_depth: whole(table, "max_depth", usual.max_depth, 0..=63)?,
        seed,
        ..usual
    }))
}

fn boosted(table: &mut DeclaredTable, folds: FoldPlan) -> Result<ModelSpec> {
    let usual = BoostedSettings::default();
    let share = ("a number above 0 and at most 1", (|x| x > 0.0 && x <= 1.0) as fn(f64) -> bool);
    let settings = BoostedSettings {
        rounds: whole(table, "rounds", usual.rounds, 1..=100_000)?,
        depth: whole(table, "depth", usual.depth, 1..=16)?,
        shrinkage: one(table, "shrinkage", usual.shrinkage, share)?,
        min_samples_leaf: one(table, "min_samples_leaf", usual.min_samples_leaf, LEAF_ROWS)?,
    };
    Ok(ModelSpec::Boosted { settings, folds })
}

fn additive(table: &mut DeclaredTable, folds: FoldPlan) -> Result<ModelSpec> {
    let usual = AdditiveSearch::default();
    let penalties = match table.take("penalty") {
        None => usual.penalties,
        Some(v) => checked(&v, ("a number above 0", |x| x > 0.0 && x.is_finite()))?,
    };
    let search = AdditiveSearch {
        penalties,
        pairs: whole(table, "pairs", usual.pairs, 0..=20)?,
        steps: whole(table, "steps", usual.steps, 2..=256)?,
    };
    Ok(ModelSpec::Additive { search, folds })
}

/// A whole number.
fn whole(
    table: &mut DeclaredTable,
    key: &str,
    usual: usize,
    among: RangeInclusive<usize>,
) -> Result<usize> {
    table.take(key).map_or(Ok(usual), |v| whole_number(&v, among))
}

fn whole_number(value: &DeclaredValue, among: RangeInclusive<usize>) -> Result<usize> {
    let (low, high) = (*among.start(), *among.end());
    match value.number()? {
        x if x >= low as f64 && x <= high as f64 && x.fract() == 0.0 => Ok(x as usize),
        x if high == MOST => Err(value.error(format!("{x}; expected a whole number ≥ {low}"))),
        x => Err(value.error(format!("{x}; expected a whole number from {low} to {high}"))),
    }
}

/// A number that fits.
fn one(
    table: &mut DeclaredTable,
    key: &str,
    usual: f64,
    (expected, fits): (&str, fn(f64) -> bool),
) -> Result<f64> {
    let Some(value) = table.take(key) else { return Ok(usual) };
    match value.number()? {
        x if fits(x) => Ok(x),
        x => Err(value.error(format!("{x}; expected {expected}"))),
    }
}

/// A number or a list of them, all of which fit.
fn checked(v: &DeclaredValue, (expected, fits): (&str, fn(f64) -> bool)) -> Result<Vec<f64>> {
    let numbers = v.numbers()?;
    match numbers.iter().find(|x| !fits(**x)) {
        Some(x) => Err(v.error(format!("{x}; expected {expected}"))),
        None if numbers.is_empty() => Err(v.error("expected at least one number")),
        None => Ok(numbers),
    }
}

/// A number, a list of them, or a table of either by action.
fn choices(
    value: Option<DeclaredValue>,
    usual: f64,
    fits: (&str, fn(f64) -> bool),
    actions: &Actions,
) -> Result<Choices> {
    match value {
        None => Ok(Choices { all: vec![usual], own: Vec::new() }),
        Some(v) if v.is_table() => {
            let mut own = Vec::new();
            for (name, v) in v.table()?.rest() {
                check_action(actions, &name, &v)?;
                own.push((name, checked(&v, fits)?));
            }
            Ok(Choices { all: vec![usual], own })
        }
        Some(v) => Ok(Choices { all: checked(&v, fits)?, own: Vec::new() }),
    }
}

/// Refuses a key that is no action's name, where the study lists them.
pub(super) fn check_action(actions: &Actions, name: &str, value: &DeclaredValue) -> Result<()> {
    match actions {
        Actions::Rules(rules) if !rules.iter().any(|(n, _)| n == name) => {
            let known: Vec<&str> = rules.iter().map(|(n, _)| n.as_str()).collect();
            Err(value.error(format!("no such action; there are {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}

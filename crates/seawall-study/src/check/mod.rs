//! The data, overlap and outcome model of a study, to be looked at before evaluating.

mod determined;
mod notes;
mod twins;

pub(crate) use determined::overlap_notes;
pub(crate) use notes::{coding_note, data_notes, given_note, policy_notes, target_note};

use crate::prepare::{PreparedStudy, TargetAnswer};
use crate::reference::{TargetEstimator, balance_note};
use crate::study::{PolicySpec, Scale};

use crate::words::{percent, short};
use seawall::evaluate::{Evaluator, PropensitySource, Support};
use seawall::outcome::{Compared, ModelKind, Recipe, Unseen};
use seawall::transfer::BalanceSummary;
use seawall::{Direction, Kind, Matrix, Result, Settings, Space, Value, Wasserstein, Watch};
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer to `check`: facts about the data, and what to know before trusting a number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// The facts.
    #[serde(flatten)]
    pub facts: StudyFacts,
    /// What a reader should know before trusting a number.
    pub notes: Vec<String>,
    /// The study's target and how well the data cover it, where the data alone are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetAnswer>,
    /// How the data can be reweighted to what is known of the target, where the data alone are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<BalanceSummary>,
}

/// Facts about a study's data and about what is fitted to them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyFacts {
    /// The rows.
    #[serde(flatten)]
    pub data: DataFacts,
    /// The contexts and outcomes.
    #[serde(flatten)]
    pub space: SpaceFacts,
    /// The propensities.
    pub propensity: PropensityFacts,
    /// The outcome model.
    #[serde(flatten)]
    pub model: ModelFacts,
}

/// The rows of a study.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataFacts {
    /// The data files.
    pub files: Vec<String>,
    /// Rows read.
    pub rows_read: usize,
    /// Rows left out, by reason.
    pub left_out: LeftOut,
    /// Rows used, or their weights' sum.
    pub rows: f64,
    /// How many rows of equal weight a survey's weights leave; None where weights count rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_rows: Option<f64>,
    /// Clusters, if rows are in any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// Each action's rows and mean outcome.
    pub actions: Vec<ActionFacts>,
}

/// The context space and the outcome space of a study.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpaceFacts {
    /// Each context column.
    pub features: Vec<FeatureFacts>,
    /// How the columns' costs are scaled.
    pub scale: Scale,
    /// Points of the context space.
    pub cells: usize,
    /// Those with rows.
    pub observed_cells: usize,
    /// Contexts in which the outcome model must have values: the support's.
    pub needed_cells: usize,
    /// Whether the space is every combination of levels, rather than the contexts seen.
    pub grid: bool,
    /// Which contexts mass may move to.
    pub support: Support,
    /// Points of the outcome space.
    pub outcomes: usize,
    /// The lowest and the highest value of an outcome.
    pub outcome_range: (f64, f64),
}

/// The outcome model of a study.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelFacts {
    /// The outcome model: `tree`, `additive`, `forest`, `boosted`, `cells`, `table`, `column` or
    /// `learner`.
    #[serde(rename = "model")]
    pub kind: ModelKind,
    /// The kinds that it was chosen from, simplest first, where the study leaves that open.
    #[serde(rename = "models", skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ModelRow>,
    /// What to do about contexts where an action has no value of its own.
    pub unseen: Unseen,
}

/// One kind of model beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelRow {
    /// The kind.
    pub kind: ModelKind,
    /// Its mean squared error on rows left out.
    pub error: f64,
    /// The standard error of that over the folds.
    pub se: f64,
    /// By how much the error is above the lowest one.
    pub above: f64,
    /// The standard error of that.
    pub above_se: f64,
    /// Whether this kind was chosen.
    pub chosen: bool,
    /// What it makes of the study's first policy and radius, where it was worked out.
    #[serde(flatten)]
    pub noise: Option<ModelNoise>,
}

/// The worst case of the study's first policy and radius as a kind of model fits it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelNoise {
    /// The plug-in worst case of this kind.
    pub plug_in: f64,
    /// The same of populations found on one part of the rows and valued on the other.
    pub held_out: f64,
    /// How much of the worst case may be noise: plug-in less held-out.
    pub gap: f64,
}

impl ModelRow {
    /// Without worst cases.
    pub fn new(compared: &Compared) -> Self {
        ModelRow {
            kind: compared.kind(),
            error: compared.error,
            se: compared.se,
            above: compared.above,
            above_se: compared.above_se,
            chosen: compared.chosen,
            noise: None,
        }
    }
}

/// Rows left out, by reason.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// They do not meet the study's conditions.
    pub conditions: usize,
    /// They meet no action.
    pub no_action: usize,
    /// They have no outcome, and the study says to leave such rows out.
    pub no_outcome: usize,
}

impl LeftOut {
    /// All of them.
    pub fn rows(&self) -> usize {
        self.conditions + self.no_action + self.no_outcome
    }
}

/// One action.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionFacts {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: f64,
    /// Their mean outcome.
    pub mean: f64,
    /// Observed contexts in which it was never taken.
    pub observed_cells_without: usize,
    /// Contexts of the whole space in which it was never taken.
    pub cells_without: usize,
    /// Contexts of the support in which the outcome model has no value of its own for it.
    pub unseen: usize,
    /// Its leaves in the outcome model, if that has any.
    pub leaves: Option<usize>,
    /// Rows of the smallest one.
    pub smallest_leaf: Option<f64>,
    /// Its tree's settings, if it has one.
    pub tree: Option<TreeFacts>,
}

/// How a tree was grown.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeFacts {
    /// Splits from the root to a leaf, at most.
    pub max_depth: usize,
    /// Rows in a leaf, at least.
    pub min_samples_leaf: f64,
    /// Rows in a leaf, at least, as a share of the action's.
    pub min_share: f64,
    /// Rows in a node that may be split, at least.
    pub min_samples_split: f64,
    /// The strength of cost-complexity pruning.
    pub ccp_alpha: f64,
    /// The mean squared error on rows left out, where cross-validation chose these.
    pub cross_validated: Option<f64>,
}

/// One context column.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeatureFacts {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// How many levels it has.
    pub levels: usize,
    /// The first and the last level, or the lowest and the highest.
    pub ends: (String, String),
    /// The share of rows in which it is missing.
    pub missing: f64,
    /// Levels without rows.
    pub empty_levels: usize,
    /// What multiplies its cost.
    pub weight: Option<f64>,
    /// The width of its bins, if numbers are binned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin: Option<f64>,
    /// What a cost of 0.1 buys, in words.
    pub buys: String,
}

/// The propensities.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PropensityFacts {
    /// Where they come from.
    pub source: PropensitySource,
    /// The smallest.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// Ratios above this are clipped, if it was asked.
    pub clip: Option<f64>,
}

/// Checks a study's data, overlap and outcome model.
pub fn check(prepared: &PreparedStudy, watch: Watch<'_>) -> Result<Check> {
    let fitted = prepared.fitted(watch)?;
    let facts = StudyFacts::new(prepared, fitted, prepared.study.data.support)?;
    let reference = prepared.reference(prepared.log())?;
    let estimator = reference.estimator(fitted, watch)?;
    let transport = estimator.as_ref().and_then(TargetEstimator::transport);
    let target = prepared.target.as_ref().zip(transport).map(|(t, by)| t.answer(by));
    let mut notes = overlap_notes(prepared.log());
    notes.extend(data_notes(prepared, fitted, &facts, watch)?);
    let settings = Settings { watch, ..Settings::default() };
    // Policies of files may be written for later; what is wrong with them, evaluate says.
    let needed = prepared.contexts_on(prepared.study.data.support)?;
    if let Ok(values) = fitted.values_on(&needed, Wasserstein.at(0.0), settings) {
        let later = |spec: &&PolicySpec| matches!(spec.plain(), PolicySpec::File(_));
        for spec in prepared.study.policies.iter().filter(|spec| !later(spec)) {
            let policy = prepared.policy(spec, &values, watch)?;
            let nominal = fitted.nominal(&policy, watch)?;
            let rows = prepared.log().effective_rows();
            notes.extend(policy_notes(policy.name(), &nominal, rows));
        }
    }
    notes.extend(reference.balance().and_then(balance_note));
    notes.extend(prepared.means_note());
    notes.extend(coding_note(prepared.study.context_set.set));
    Ok(Check { facts, notes, target, balance: reference.summary() })
}

impl StudyFacts {
    /// Of a study's data and what is fitted to them, contexts of a support being asked about.
    pub(crate) fn new(
        prepared: &PreparedStudy,
        fitted: &Evaluator,
        support: Support,
    ) -> Result<Self> {
        let totals = prepared.log().cell_totals();
        let needed = prepared.contexts_on(support)?;
        Ok(StudyFacts {
            data: DataFacts::new(prepared, actions(prepared, fitted, &totals, &needed)),
            space: SpaceFacts::new(prepared, &totals, support, needed.len()),
            propensity: PropensityFacts::new(prepared, fitted.propensities()),
            model: ModelFacts {
                kind: prepared.model_kind(),
                candidates: prepared.model.candidates.iter().map(ModelRow::new).collect(),
                unseen: prepared.study.unseen,
            },
        })
    }
}

impl DataFacts {
    fn new(prepared: &PreparedStudy, actions: Vec<ActionFacts>) -> Self {
        let (counted, log) = (&prepared.counted, prepared.log());
        let survey = prepared.study.data.rows.survey_weight.as_ref();
        DataFacts {
            files: counted.files.iter().map(|f| f.display().to_string()).collect(),
            rows_read: counted.rows,
            left_out: LeftOut {
                conditions: counted.filtered,
                no_action: counted.no_action,
                no_outcome: counted.no_outcome,
            },
            rows: log.total(),
            effective_rows: survey.map(|_| log.effective_rows()),
            clusters: log.clusters(),
            direction: log.direction(),
            actions,
        }
    }
}

impl SpaceFacts {
    fn new(
        prepared: &PreparedStudy,
        totals: &Matrix,
        support: Support,
        needed_cells: usize,
    ) -> Self {
        let log = prepared.log();
        let space = log.contexts();
        let values = log.values().iter().copied();
        SpaceFacts {
            features: (0..space.names().len()).map(|k| feature(prepared, k, totals)).collect(),
            scale: prepared.study.data.scale,
            cells: space.len(),
            observed_cells: totals.rows().filter(|row| row.iter().any(|n| *n > 0.0)).count(),
            needed_cells,
            grid: matches!(space.layout(), seawall::Layout::Grid(_)),
            support,
            outcomes: log.outcomes().len(),
            outcome_range: (
                values.clone().fold(f64::INFINITY, f64::min),
                values.fold(f64::NEG_INFINITY, f64::max),
            ),
        }
    }
}

impl PropensityFacts {
    fn new(prepared: &PreparedStudy, propensities: &[f64]) -> Self {
        let fold = |of: fn(f64, f64) -> f64, start| propensities.iter().copied().fold(start, of);
        PropensityFacts {
            source: prepared.propensity.source(),
            smallest: fold(f64::min, f64::INFINITY),
            largest: fold(f64::max, 0.0),
            clip: prepared.study.clip,
        }
    }
}

fn actions(
    prepared: &PreparedStudy,
    fitted: &Evaluator,
    totals: &Matrix,
    needed: &[usize],
) -> Vec<ActionFacts> {
    let (log, model) = (prepared.log(), fitted.model());
    let count = log.actions().len();
    let mut sums = vec![0.0; count];
    log.entries().iter().for_each(|e| sums[e.action as usize] += e.weight * log.value(e));
    let without = |action: usize, among: &dyn Fn(&[f64]) -> bool| {
        totals.rows().filter(|row| row[action] == 0.0 && among(row)).count()
    };
    let leaves = |action: usize| {
        let own = model.leaves()?.all().iter().filter(move |l| l.action == action);
        Some((own.clone().count(), own.map(|l| l.weight()).fold(f64::INFINITY, f64::min)))
    };
    let tree = |action: usize| match &prepared.model.recipe {
        Recipe::Tree(settings) => Some(TreeFacts {
            max_depth: settings[action].max_depth,
            min_samples_leaf: settings[action].min_samples_leaf,
            min_share: settings[action].min_share,
            min_samples_split: settings[action].min_samples_split,
            ccp_alpha: settings[action].ccp_alpha,
            cross_validated: prepared.model.choices.as_ref().map(|c| c[action].error),
        }),
        _ => None,
    };
    let each =
        log.actions().iter().zip(log.action_totals()).zip(model.unseen_at(needed)).enumerate();
    each.map(|(a, ((name, rows), unseen))| ActionFacts {
        name: name.clone(),
        rows,
        mean: sums[a] / rows,
        observed_cells_without: without(a, &|row| row.iter().any(|n| *n > 0.0)),
        cells_without: without(a, &|_| true),
        unseen,
        leaves: leaves(a).map(|l| l.0),
        smallest_leaf: leaves(a).map(|l| l.1),
        tree: tree(a),
    })
    .collect()
}

fn feature(prepared: &PreparedStudy, k: usize, totals: &Matrix) -> FeatureFacts {
    let log = prepared.log();
    let space = log.contexts();
    if space.levels(k).is_empty() {
        return line(prepared, k, totals);
    }
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    for (context, row) in totals.rows().enumerate() {
        let rows: f64 = row.iter().sum();
        if rows > 0.0 {
            *shares.entry(space.code(context, k) as usize).or_default() += rows / log.total();
        }
    }
    let levels: Vec<Value<'_>> = space.level_values(k).collect();
    let missing = levels.iter().position(|v| *v == Value::Missing);
    let mut present = levels.iter().filter(|v| **v != Value::Missing);
    let text = |v: Option<&Value<'_>>| match v {
        Some(Value::Number(x)) => x.to_string(),
        Some(Value::Level(level)) => (*level).to_owned(),
        _ => String::new(),
    };
    FeatureFacts {
        name: space.names().nth(k).unwrap_or_default().to_owned(),
        kind: space.kind(k),
        levels: levels.len(),
        ends: (text(present.clone().next()), text(present.next_back())),
        missing: missing.and_then(|level| shares.get(&level).copied()).unwrap_or(0.0),
        empty_levels: levels.len() - shares.len(),
        weight: (space.kind(k) != Kind::Fixed).then(|| space.weight(k)),
        bin: prepared.study.data.contexts[k].bin,
        buys: buys(space, k),
    }
}

/// A numeric column whose numbers are no levels.
fn line(prepared: &PreparedStudy, k: usize, totals: &Matrix) -> FeatureFacts {
    let (log, space) = (prepared.log(), prepared.log().contexts());
    let mut numbers: Vec<f64> = (0..space.len()).filter_map(|i| space.number_at(i, k)).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    let lacks = |(context, _): &(usize, &[f64])| space.code(*context, k).is_nan();
    let missing = totals.rows().enumerate().filter(lacks).map(|(_, row)| row.iter().sum::<f64>());
    let text = |x: Option<&f64>| x.map_or(String::new(), f64::to_string);
    FeatureFacts {
        name: space.names().nth(k).unwrap_or_default().to_owned(),
        kind: space.kind(k),
        levels: numbers.len() + usize::from(prepared.study.data.contexts[k].missing.is_some()),
        ends: (text(numbers.first()), text(numbers.last())),
        missing: missing.sum::<f64>() / log.total(),
        empty_levels: 0,
        weight: Some(space.weight(k)),
        bin: None,
        buys: buys(space, k),
    }
}

/// What a cost of 0.1 buys along a column, in words.
fn buys(space: &Space, k: usize) -> String {
    const COST: f64 = 0.1;
    let everyone = |share: f64| {
        if share >= 1.0 { "everyone".to_owned() } else { format!("{} of people", percent(share)) }
    };
    match space.kind(k) {
        Kind::Fixed => "nothing: it may not change".to_owned(),
        Kind::Numeric => {
            let by = (COST / space.weight(k)).sqrt();
            if by.is_finite() {
                format!("moving everyone by {}", short(by))
            } else {
                "any move".to_owned()
            }
        }
        Kind::Nominal => format!("changing it for {}", everyone(COST / space.weight(k))),
        Kind::Ordinal => {
            let last = space.positions(k).iter().filter(|x| !x.is_nan()).count().saturating_sub(1);
            if last == 0 {
                return "nothing: it has one level".to_owned();
            }
            let steps = (0..last).map(|j| space.level_cost(k, j, j + 1));
            let mean = steps.sum::<f64>() / last as f64;
            format!("one step for {}", everyone(COST / mean))
        }
    }
}

//! The same question within each level of a column: contexts restricted to the level, the radius within
//! it, everything fitted to its rows alone. Policies are those of the whole.

use super::{Evaluation, PolicyResult, Question, Wanted, evaluate};
use crate::prepare::PreparedStudy;
use crate::study::PolicySpec;
use seawall::evaluate::Support;
use seawall::policy::file::{LearnedOn, PolicyFile};
use seawall::policy::{Policy, Rule};
use seawall::{Error, Field, Matrix, Result, Watch};
use serde::Serialize;
use std::sync::Arc;

/// A column whose levels are asked about one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// The column.
    pub column: String,
    /// Whether limits and intervals are widened so that those of all levels hold at once.
    pub simultaneous: bool,
}

/// The answers by level.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByLevel {
    /// The column.
    pub column: String,
    /// The level of confidence of each level's limits and intervals.
    #[cfg_attr(feature = "schema", schemars(extend("x-null" = "absent")))]
    pub confidence: f64,
    /// Whether they hold for all levels at once.
    pub simultaneous: bool,
    /// The answers.
    pub levels: Vec<LevelAnswer>,
}

/// The answers within one level.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelAnswer {
    /// The level.
    pub level: String,
    /// Its rows, or their weights' sum.
    pub rows: f64,
    /// The answers; None where there are none, and why.
    pub evaluation: Option<Box<Evaluation>>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The column's place among the contexts; refused if it has no levels.
pub(super) fn feature(prepared: &PreparedStudy, by: &By) -> Result<usize> {
    if prepared.known()?.is_some() {
        let what = format!(
            "is {:?}, but what is known of the target is about all of its people and says nothing of \
             those within a level",
            by.column
        );
        return Err(Error::field(Field::By, what));
    }
    let space = prepared.log().contexts();
    let names: Vec<&str> = space.names().collect();
    let feature = names.iter().position(|n| *n == by.column).ok_or_else(|| {
        let known = names.join(", ");
        Error::field(Field::By, format!("is {:?}; expected a context column: {known}", by.column))
    })?;
    if space.levels(feature).is_empty() {
        let what = format!("is {:?}, which has no levels: give it a bin in the study", by.column);
        Err(Error::field(Field::By, what))
    } else {
        Ok(feature)
    }
}

/// Answers the question within each level that has rows.
pub(super) fn by_level(
    prepared: &PreparedStudy,
    (question, whole): (&Question, &Evaluation),
    by: &By,
    watch: Watch<'_>,
) -> Result<ByLevel> {
    let space = prepared.log().contexts();
    let feature = feature(prepared, by)?;
    let mut rows = vec![0.0; space.levels(feature).len()];
    for e in prepared.log().entries() {
        rows[space.code(e.context as usize, feature) as usize] += e.weight;
    }
    let with_rows: Vec<usize> = (0..rows.len()).filter(|&k| rows[k] > 0.0).collect();
    let question = within(question, by, with_rows.len());
    let mut levels = Vec::new();
    for level in with_rows {
        let answer = at_level(prepared, &question, (feature, level), &whole.policies, watch);
        let (evaluation, problem) = match answer {
            Ok(found) => (Some(Box::new(found)), None),
            Err(e) if e.is_stopped() => return Err(e),
            // One level without rows of an action must not lose the others.
            Err(e) => (None, Some(e.to_string())),
        };
        let name = space.levels(feature)[level].clone();
        levels.push(LevelAnswer { level: name, rows: rows[level], evaluation, problem });
    }
    let column = by.column.clone();
    Ok(ByLevel { column, confidence: question.level, simultaneous: by.simultaneous, levels })
}

/// The question as it is asked of each level: limits that hold for all at once miss in none of them
/// but for the share that one would miss in.
fn within(question: &Question, by: &By, levels: usize) -> Question {
    let mut asked =
        Question { by: None, wanted: Wanted::default(), bounds: None, ..question.clone() };
    if by.simultaneous {
        let widened = |level: f64| 1.0 - (1.0 - level) / levels as f64;
        asked.level = widened(asked.level);
        asked.halves.iter_mut().for_each(|h| h.level = widened(h.level));
    }
    asked
}

fn at_level(
    prepared: &PreparedStudy,
    question: &Question,
    (feature, level): (usize, usize),
    policies: &[PolicyResult],
    watch: Watch<'_>,
) -> Result<Evaluation> {
    let (space, places) = prepared.log().contexts().at_level(feature, level)?;
    let space = Arc::new(space);
    let there = prepared.at_places(&space, &places)?;
    let actions = prepared.log().actions();
    let data = there.log().fingerprint();
    let on_level = |whole: &PolicyResult| -> Result<PolicySpec> {
        let policy = &whole.policy;
        let rule = if question.support == Support::Space {
            policy.rule().clone()
        } else {
            let cells = places.iter().flat_map(|&x| policy.row(x).to_vec()).collect();
            let chances = Matrix::new(places.len(), actions.len(), cells)?;
            Rule::table(&space, &chances, |_| true, None)?
        };
        let part = Policy::new(policy.name(), rule, &space, actions)?;
        let mut file = PolicyFile::new(&part, &space, actions)?;
        // Rows that chose a policy are of every level.
        let own = LearnedOn { data: data.clone(), seed: 0, parts: Vec::new() };
        file.learned_on = whole.chosen_here.then_some(own);
        Ok(PolicySpec::Made(Box::new(file)))
    };
    let mut asked = question.clone();
    asked.policies = policies.iter().map(on_level).collect::<Result<_>>()?;
    // All contexts of a space that was too large for a grid are those observed.
    let grid = matches!(space.layout(), seawall::Layout::Grid(_));
    if !grid && question.support == Support::All {
        asked.support = Support::Observed;
    }
    evaluate(&there, &asked, watch)
}

//! What a reader should know before trusting a number.

use super::{StudyFacts, twins};
use crate::prepare::PreparedStudy;
use crate::reference::{FEW_ROWS, TargetEstimates};
use crate::set_text;
use crate::words::{number, percent, supported};
use seawall::evaluate::{Evaluator, Nominal, PropensitySource, Support};
use seawall::{Kind, Result, Set, Watch};
use seawall_table::count::RowPredictions;
use seawall_table::memory::size;

/// More different numbers than this in a column are better binned.
const MANY_LEVELS: usize = 1000;
/// Below this, a propensity makes a ratio that one row can dominate.
const SMALL: f64 = 0.01;
/// Fewer rows a context than these, on average, make shares that are mostly 0 or 1.
const SINGLETONS: f64 = 5.0;
/// An error on rows left out below this share of the outcome's variance is too good to be true.
const TOO_GOOD: f64 = 1e-3;
/// Direct and doubly robust estimates further apart than so many standard errors disagree.
const APART: f64 = 2.0;

/// Notes about the data.
pub(crate) fn data_notes(
    prepared: &PreparedStudy,
    fitted: &Evaluator,
    facts: &StudyFacts,
    watch: Watch<'_>,
) -> Result<Vec<String>> {
    let errors = fitted.held_out_errors(watch)?;
    let (data, space) = (&facts.data, &facts.space);
    let mut notes = Vec::new();
    if let (Support::All, Some(grid)) = (space.support, &prepared.counted.too_large) {
        notes.push(format!(
            "the grid of all levels is too large, so the space is the {} contexts seen: its {} cells or \
             more would take about {}, and {} is allowed (support = \"space\" lists none; or bin columns \
             more coarsely, or raise --memory)",
            space.cells,
            number(grid.cells),
            size(grid.bytes as u64),
            size(grid.memory)
        ));
    }
    let listed = space.support != Support::Space;
    let many =
        |f: &&super::FeatureFacts| listed && f.kind == Kind::Numeric && f.levels > MANY_LEVELS;
    let many: Vec<_> = space.features.iter().filter(many).collect();
    let better = "bin = ... in the study makes everything faster, and contexts that recur";
    match many[..] {
        [] => {}
        [one] => notes
            .push(format!("column {:?} has {} different numbers: {better}", one.name, one.levels)),
        [first, ..] => notes.push(format!(
            "{} columns, {:?} the first, have more than {MANY_LEVELS} different numbers: {better}; \
             support = \"space\" needs none",
            many.len(),
            first.name
        )),
    }
    for action in data.actions.iter().filter(|a| a.rows < FEW_ROWS) {
        notes.push(format!(
            "the action {:?} has only {} rows: what is said of it is mostly noise",
            action.name,
            number(action.rows)
        ));
    }
    for (action, error) in data.actions.iter().zip(&errors) {
        if let Some(share) = error.filter(|share| *share < TOO_GOOD) {
            notes.push(format!(
                "the outcomes of {:?} are predicted almost exactly on rows left out (error {} of \
                 their variance): a context column seems to give the outcome away",
                action.name,
                percent(share.max(0.0))
            ));
        }
    }
    notes.extend(twins::twins(prepared.log()));
    propensities(facts, &mut notes);
    for (name, rows) in &prepared.counted.missing_outcomes {
        notes.push(format!("{rows} rows have no value in {name:?}, which then counts as 0"));
    }
    notes.extend(prepared.counted.predictions.as_ref().and_then(varying));
    Ok(notes)
}

/// A note about predictions that differ between rows of one context.
fn varying(brought: &RowPredictions) -> Option<String> {
    let (apart, action, context) = brought.largest.as_ref()?;
    Some(format!(
        "predictions differ between rows of the same context in {} of {} contexts, by up to {} \
         ({action:?} at {context}): each context has its rows' mean; what else the model knows is \
         lost unless it is a context column",
        brought.varying,
        brought.contexts,
        number(*apart)
    ))
}

/// A note about intervals of a model that is not fitted again.
pub(crate) fn given_note(prepared: &PreparedStudy) -> Option<String> {
    (!prepared.model.recipe.is_refitted()).then(|| {
        "the outcome model's values were brought along: folds, halves and resampling do not fit it \
         again, so intervals and standard errors leave out its noise"
            .to_owned()
    })
}

/// A note about how columns count under a set that the ground cost says nothing of.
pub(crate) fn coding_note(set: Set) -> Option<String> {
    set_text::of(set).coding.map(|coding| format!("{}: {coding}", set.name()))
}

fn propensities(facts: &StudyFacts, notes: &mut Vec<String>) {
    let (p, actions) = (&facts.propensity, &facts.data.actions);
    if p.source == PropensitySource::Cells {
        let alone: usize = actions.iter().map(|a| a.observed_cells_without).sum();
        let per_cell = facts.data.rows / facts.space.observed_cells as f64;
        let advice =
            "with a trial's design say [propensity] design = { … }, or estimate = \"logistic\"";
        if per_cell < SINGLETONS {
            notes.push(format!(
                "propensities are shares in each context, and contexts hold {per_cell:.1} rows on \
                 average: most shares are 0 or 1, and IPS and doubly robust estimates mean little; \
                 {advice}"
            ));
        } else if alone > 0 {
            notes.push(format!(
                "propensities are shares in each context, and {alone} of {} pairs of an observed \
                 context and an action have no row: there IPS counts nothing, and its and \
                 the doubly robust interval are too narrow; {advice}",
                facts.space.observed_cells * actions.len()
            ));
        }
    }
    if p.smallest < SMALL {
        notes.push(format!(
            "the smallest propensity is {:.3e}: rows with such ones dominate IPS; look at the \
             effective sample size",
            p.smallest
        ));
    }
}

/// Notes about a policy's estimates.
pub(crate) fn policy_notes(name: &str, nominal: &Nominal, rows: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let effective = nominal.overlap.effective_sample_size;
    if effective < FEW_ROWS {
        notes.push(format!(
            "the effective sample size of {name} is {}, below {FEW_ROWS}: no confidence limits are given",
            number(effective)
        ));
    }
    let ratio = nominal.overlap.mean_ratio;
    // By chance alone the mean of the ratios is off by this.
    let chance = (1.0 / nominal.overlap.effective_sample_size - 1.0 / rows).max(0.0).sqrt();
    if (ratio - 1.0).abs() > (3.0 * chance * ratio).max(0.05) && ratio > 0.0 {
        let clipped = if nominal.overlap.clipped > 0.0 { ", are clipped" } else { "" };
        notes.push(format!(
            "the ratios of {name} to the propensities average {}, not 1: they do not cover it{clipped}, \
             or are wrong",
            number(ratio)
        ));
    }
    let (dm, Some(dr)) = (nominal.dm, nominal.dr) else { return notes };
    let apart = dm.value - dr.value;
    let size = dm.value.abs().max(dr.value.abs());
    if apart.abs() > (APART * dr.se).max(1e-9 * size) {
        notes.push(format!(
            "the direct method and the doubly robust estimate of {name} differ by {}, more than \
             the standard error allows ({}): the outcome model or the propensities are wrong, or it was \
             chosen on these rows",
            supported(apart.abs(), dr.se),
            supported(dr.se, dr.se)
        ));
    }
    notes
}

/// A note about a policy's estimates in a target: too few rows like it, or estimates that disagree.
pub(crate) fn target_note(name: &str, there: &TargetEstimates) -> Option<String> {
    if there.effective_rows < FEW_ROWS {
        return Some(format!(
            "the effective sample size of {name} after reweighting to the target is {}, below {FEW_ROWS}: \
             no confidence limits are given",
            number(there.effective_rows)
        ));
    }
    let (dm, dr) = (there.dm?, there.dr?);
    let apart = (dm.value - dr.value).abs();
    (apart > APART * dr.se).then(|| {
        format!(
            "in the target the direct method and the doubly robust estimate of {name} differ by {}, \
             more than the standard error allows ({}): worst cases start from the former",
            supported(apart, dr.se),
            supported(dr.se, dr.se)
        )
    })
}

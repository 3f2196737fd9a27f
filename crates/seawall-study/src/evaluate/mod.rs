//! What policies would have cost, nominally and in the worst case: a study's main question.
//!
//! Each stage is a function of those before it, and nothing is filled in later:
//!
//! ```text
//! PreparedStudy, Question ──▶ EvaluationBasis { fitted, reference population, policies, pairs }
//! EvaluationBasis ──▶ Estimates       if nothing shifts, in the data and in the target
//! EvaluationBasis, Estimates ──▶ WorstCases    values with bounds, populations, curves, differences
//! EvaluationBasis, Estimates, WorstCases ──▶ HeldOut    held-out values and confidence limits, by sample splits
//! EvaluationBasis, WorstCases, HeldOut ──▶ Vec<PairDecisions>    verdicts, what reverses them, robustness radii
//! all of them ──conclude──▶ Evaluation    claims, notes, limits withheld where rows are few
//! ```

mod answer;
mod basis;
mod by;
mod changes;
mod claims;
mod comparison;
mod conclude;
mod decisions;
mod differences;
mod effects;
mod estimates;
mod held_out;
mod joint_sets;
mod models;
mod parts;
mod question;
mod radii;
mod reversal;
mod robustness;
mod splits;
mod values;
mod verdict;
mod worst_cases;

pub use answer::*;
pub(crate) use basis::with_unique_name;
pub use by::{By, ByLevel, LevelAnswer};
pub use changes::{Changes, SetChange};
pub(crate) use changes::{changed_radii, changed_sets, check_radii};
pub use claims::{Claim, Claims, Condition, Estimand, Statement};
pub use comparison::{
    Comparison, ComparisonContext, DifferenceBounds, DifferenceNoise, DifferenceValue, EffectClass,
};
pub(crate) use differences::worst_populations;
pub use question::{HALVINGS, Halving, Question, Wanted};
pub use radii::PolicyRadii;
pub(crate) use radii::{policy_radii, policy_radii_on};
pub use reversal::ReversingSubgroup;
pub use robustness::{ConfirmedRadius, PlugInRadius, RobustnessRadius};
pub(crate) use splits::affordable;
pub use values::{HeldOutEstimate, RobustValue, ShiftFacts, SolveFacts, ValueNoise};

pub use verdict::{Assumption, Decision, Established, Verdict};

pub use crate::reference::TargetEstimates;

use crate::check::{StudyFacts, data_notes};
use crate::prepare::PreparedStudy;
use basis::{EvaluationBasis, check, study_for};
use by::by_level;
use conclude::{Stages, conclude, finite_sample_bounds};
use decisions::decisions;
use effects::Effects;
use estimates::Estimates;
use held_out::HeldOut;
use seawall::{Result, Watch};
use worst_cases::WorstCases;

/// How closely smooth curves are followed, relative to the values' range.
const CURVE_TOLERANCE: f64 = 1e-6;
/// More radii than these are read off curves where only their values are wanted.
const FEW_RADII: usize = 8;

/// Answers a question about a study.
pub fn evaluate(
    prepared: &PreparedStudy,
    question: &Question,
    watch: Watch<'_>,
) -> Result<Evaluation> {
    let prepared = &study_for(prepared, question)?;
    let found = evaluate_whole(prepared, question, watch)?;
    match &question.by {
        None => Ok(found),
        Some(by) => {
            // As it was meant for the whole, with as many sample splits as were asked for.
            let asked = Question { halves: question.halves, ..found.question.clone() };
            let levels = by_level(prepared, (&asked, &found), by, watch)?;
            Ok(Evaluation { by: Some(levels), ..found })
        }
    }
}

/// Answers a question about all of a study's contexts.
fn evaluate_whole(
    prepared: &PreparedStudy,
    question: &Question,
    watch: Watch<'_>,
) -> Result<Evaluation> {
    check(prepared, question)?;
    let fitted = prepared.fitted(watch)?;
    let facts = StudyFacts::new(prepared, fitted, question.support)?;
    let notes = data_notes(prepared, fitted, &facts, watch)?;
    let reference = prepared.reference(prepared.log())?;
    let basis = EvaluationBasis::new(prepared, question, (fitted, &reference), watch)?;
    let bounds = finite_sample_bounds(&basis)?;
    let estimates = Estimates::new(&basis, watch)?;
    let effects = Effects::new(&basis, watch)?;
    let worst = WorstCases::new(&basis, &effects, &estimates, watch)?;
    let stages = (&effects, &estimates, &worst);
    let held_out = HeldOut::new(&basis, stages, facts.space.outcome_range, watch)?;
    let found = (&worst, &held_out);
    let decisions = decisions(&basis, (&effects, &estimates), found, watch)?;
    Ok(conclude(&basis, Stages { facts, notes, bounds, estimates, worst, held_out, decisions }))
}

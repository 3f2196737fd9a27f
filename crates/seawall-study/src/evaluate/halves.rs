//! Both halves of a log, fitted.

use crate::prepare::PreparedStudy;
use crate::reference::{Bounded, Reference};
use seawall::inference::{HalfFit, HalfQuestion};
use seawall::{Log, Result, Settings};
use std::sync::Arc;

/// Streams of random numbers for the target's halves begin here, away from the log's.
const TARGET_STREAM: u64 = 1 << 33;

/// Both halves, fitted; a target's rows are halved, too, and what is known of it is met by each half anew.
pub(super) fn both(
    prepared: &PreparedStudy,
    (question, within): (&HalfQuestion<'_>, Bounded<'_>),
    (a, b): (&Log, &Log),
    (seed, halving): (u64, usize),
    settings: Settings<'_>,
) -> Result<(HalfFit, HalfFit)> {
    let half = |log: &Log, reference: &Reference| {
        let robust = reference.robust(log, question.support, within)?;
        HalfFit::new(log, question, Some(robust), settings)
    };
    match &prepared.target {
        None => Ok((half(a, &prepared.reference(a)?)?, half(b, &prepared.reference(b)?)?)),
        Some(target) => {
            let halves = target.sample.halves(seed, TARGET_STREAM + halving as u64)?;
            let [one, other] = halves.map(|sample| Reference::Sample(Arc::new(sample)));
            Ok((half(a, &one)?, half(b, &other)?))
        }
    }
}

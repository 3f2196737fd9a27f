//! How often the rows are split, and at which radii the halves are solved.

use super::basis::EVALUATIONS;
use super::{FEW_RADII, Halving, Question};
use crate::words::number;
use seawall::Log;
use seawall::evaluate::Robust;
use seawall::inference::FIRST_SPLITS;

/// Steps of evaluations that halves may take where nobody asked for them; beyond it there are fewer, and
/// beyond so many times that, none.
const UNASKED: f64 = 3e10;
const FAR_BEYOND: f64 = 10.0;
/// Fewer rows, or clusters, of an action than these cannot be halved.
const FEWEST: f64 = 4.0;
/// Fewer halvings than these say too little.
const LEAST: usize = FIRST_SPLITS;
/// Numbers by context and action that every half would hold.
const MOST_VALUES: usize = 8_000_000;

/// How often rows are halved: as asked, or where nobody asked as often as takes no long time. Says so
/// where that is less.
pub(crate) fn affordable(
    question: &Question,
    asked: Halving,
    (log, robust): (&Log, &Robust),
) -> (Option<Halving>, Vec<String>) {
    if let Some(why) = too_few(log) {
        return (None, vec![format!("nothing says how much of the worst cases is noise: {why}")]);
    }
    let count = question.policies.len();
    let pairs = if question.compares() { count * (count - 1) } else { 0 };
    let radii = anchors(question).len() * question.cost.radii.len();
    let numbers = ((count + pairs) * radii) as f64;
    // A half has half the sources, and there are two.
    let own = question.context.set.work(robust.geometry());
    let each = numbers * own.map_or(EVALUATIONS * robust.work(), |steps| 2.0 * steps);
    let large = log.contexts().len() * log.actions().len() > MOST_VALUES;
    if !asked.fewer || (!large && asked.count as f64 * each <= UNASKED) {
        return (Some(asked), Vec::new());
    }
    if large || LEAST as f64 * each > FAR_BEYOND * UNASKED {
        let note = format!(
            "this space takes long to solve, so nothing says how much of the worst cases is noise: \
             ask for it with halves of the rows (--splits {LEAST} or more)"
        );
        return (None, vec![note]);
    }
    let count = ((UNASKED / each) as usize).clamp(LEAST, asked.count);
    if 4 * count >= 3 * asked.count {
        return (Some(asked), Vec::new());
    }
    let note = format!(
        "this space takes long to solve, so the rows were halved {count} times at most: limits are \
         wider than they need be (--splits {} would be the usual)",
        asked.count
    );
    (Some(Halving { count, ..asked }), vec![note])
}

/// Why a log cannot be halved, if it cannot.
fn too_few(log: &Log) -> Option<String> {
    let mut clusters = vec![Vec::new(); log.actions().len()];
    let mut rows = vec![0.0; log.actions().len()];
    for e in log.entries() {
        clusters[e.action as usize].push(e.cluster);
        rows[e.action as usize] += e.rows();
    }
    for (k, name) in log.actions().iter().enumerate() {
        clusters[k].sort_unstable();
        clusters[k].dedup();
        let (count, what) = match log.clusters() {
            Some(_) => (clusters[k].len() as f64, "clusters"),
            None => (rows[k], "rows"),
        };
        if count < FEWEST {
            return Some(format!(
                "{name:?} has rows in {} {what}, too few to be halved",
                number(count)
            ));
        }
    }
    None
}

/// The radii at which halves are solved: all, or a few of many, the ends among them and those that
/// somebody named.
pub(super) fn anchors(question: &Question) -> Vec<f64> {
    let radii = &question.context.radii;
    if radii.len() <= FEW_RADII {
        return radii.clone();
    }
    let mut sorted = radii.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    let last = sorted.len() - 1;
    let mut places: Vec<usize> = (0..FEW_RADII).map(|k| k * last / (FEW_RADII - 1)).collect();
    let named = |radius: &f64| sorted.iter().position(|r| r == radius);
    places.extend(question.wanted.named_radii.iter().filter_map(named));
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|k| sorted[k]).collect()
}

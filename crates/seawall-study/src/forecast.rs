//! What a long solve will take, said before it is begun.
//!
//! One evaluation of the dual takes [`Geometry::work`](seawall::Geometry::work) steps, a worst case
//! some dozen evaluations, and what an engine does in a second is a constant (DESIGN.md): right to a
//! factor of two or three, which is enough to go for a coffee or to bin a column. Nothing is said
//! of what takes less than ten seconds. The words are the front ends' own.

use crate::evaluate::Question;
use crate::learn;
use crate::load::Loaded;
use seawall::Result;
use seawall::evaluate::{Robust, Support};

/// A solve that takes less than this is not worth a word.
const SHORT: f64 = 10.0;
/// Evaluations of the dual in a worst case, about.
const EVALUATIONS: f64 = 12.0;
/// Worst cases in the search for a policy, about.
const SEARCH: f64 = 60.0;
/// Steps that one thread takes in a second: looks at one feature of a pair of points, and steps of
/// a cell in a pass over a grid.
const LOOKS: f64 = 8e9;
const PASSES: f64 = 1.5e9;

/// What a solve will take, about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// How long.
    pub seconds: f64,
    /// Places that mass may go to.
    pub points: usize,
    /// Features of each.
    pub columns: usize,
    /// Whether every pair of places is looked at; else the cells of a grid are passed over.
    pub pairs: bool,
}

/// What an evaluation will take, if that is long.
pub fn evaluation(loaded: &Loaded, question: &Question) -> Result<Option<Forecast>> {
    // Without a radius nobody's move is looked at.
    if question.context.radii.iter().all(|r| r.is_infinite()) {
        return Ok(None);
    }
    let count = question.policies.len();
    let pairs = if question.compare { count * count.saturating_sub(1) } else { 0 };
    let radii = (question.context.radii.len() + 1) * question.cost.radii.len().max(1);
    worst_cases(loaded, question.support, ((count + pairs) * radii) as f64)
}

/// What learning will take, if that is long.
pub fn learning(loaded: &Loaded, question: &learn::Question) -> Result<Option<Forecast>> {
    if question.context.radius.is_infinite() {
        return Ok(None);
    }
    let runs = if question.honest { 3.0 } else { 1.0 };
    worst_cases(loaded, question.support, SEARCH * runs)
}

/// So many worst cases on a support.
fn worst_cases(loaded: &Loaded, support: Support, count: f64) -> Result<Option<Forecast>> {
    // The whole space is not looked at place by place.
    if support == Support::Space {
        return Ok(None);
    }
    let robust = match &loaded.target {
        None => Robust::new(loaded.log(), support)?,
        Some(target) => Robust::around(loaded.log(), target.sample.population(), support)?,
    };
    let geometry = robust.geometry();
    let steps = count * EVALUATIONS * geometry.work();
    let threads = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    // Less than a tenth of what would be said, were it all passes: no engine needs to be built.
    if steps / (PASSES * threads) < SHORT {
        return Ok(None);
    }
    let pairs = match geometry.engine()?.name() {
        "scan" => true,
        "grid" => false,
        // Others leave out most of the steps, and nobody knows beforehand which.
        _ => return Ok(None),
    };
    let seconds = steps / (threads * if pairs { LOOKS } else { PASSES });
    let space = robust.population().space();
    let (points, columns) = (space.len(), space.names().len());
    Ok((seconds >= SHORT).then_some(Forecast { seconds, points, columns, pairs }))
}

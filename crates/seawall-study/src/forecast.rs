//! What a long command will take, said before it is begun.
//!
//! One evaluation of the dual takes [`Geometry::work`](seawall::Geometry::work) steps, a worst case
//! some dozen evaluations, and what an engine does in a second is a constant (DESIGN.md): right to a
//! factor of two or three, which is enough to go for a coffee or to bin a column. A set that solves
//! in another way says its own steps ([`Set::work`](seawall::Set::work)). Nothing is said of what
//! takes less than ten seconds. The words are the front ends' own.
//!
//! Not here: what is repeated, as draws and groups are. How long the rest takes is told by the first
//! of them, while they run.

use crate::evaluate::Question;
use crate::learn::{self, Spec};
use crate::load::Loaded;
use crate::memory;
use seawall::evaluate::{Robust, Support};
use seawall::learn::Trees;
use seawall::{Population, Result, Set, distance};

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
/// Steps in a second of sets that solve in their own way, on one thread: products in small systems.
const PRODUCTS: f64 = 5e8;
/// Searches for the best tree in learning one: two where it stands out, some hundred where many compete.
/// And sums that a search takes in a second.
const SEARCHES: f64 = 25.0;
const SUMS: f64 = 2e8;
/// Pairs of points that an exact distance takes in a second, all its rounds together: from 5 to 80
/// million.
const PAIRS: f64 = 1.5e7;
/// Rounds of an entropic distance over all its pairs, about, and pairs that a thread takes in a second.
const ROUNDS: f64 = 400.0;
const SOFT_PAIRS: f64 = 2e8;
/// Worst cases until a set's radius covers what it is to cover, about.
const COVERING: f64 = 20.0;

/// What a solve will take, about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// How long.
    pub seconds: f64,
    /// Places that mass may go to.
    pub points: usize,
    /// Features of each.
    pub columns: usize,
    /// What is done with them.
    pub work: Work,
}

/// What is done with the places of a support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Every pair of places is looked at.
    Pairs,
    /// The cells of a grid are passed over.
    Cells,
    /// Systems are solved that all places have a part in, for this set.
    Systems(Set),
    /// Trees of this depth are searched for.
    Trees(usize),
    /// A plan is found to the places of a second population, so many.
    Plan(usize),
    /// All pairs with a second population's places, so many, are gone over again and again.
    SoftPlan(usize),
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
    // Halves that nobody asked for are as many as take no long time. Two halves take as long as one
    // whole, and a draw as long as the log.
    let halves = question.halves.filter(|h| !h.fewer).map_or(0, |h| h.count);
    let again = halves + question.bootstrap.map_or(0, |b| b.replicates);
    let count = ((count + pairs) * radii * (1 + again)) as f64;
    let Some(robust) = support(loaded, question.support)? else { return Ok(None) };
    solves(&robust, question.context.set, count)
}

/// What learning will take, if that is long.
pub fn learning(loaded: &Loaded, question: &learn::Question) -> Result<Option<Forecast>> {
    if question.context.radius.is_infinite() {
        return Ok(None);
    }
    let runs = if question.honest { 1.0 + 2.0 * learn::SPLITS as f64 } else { 1.0 };
    let Some(robust) = support(loaded, question.support)? else { return Ok(None) };
    let worst_cases = solves(&robust, question.context.set, SEARCH * runs)?;
    let Spec::Tree(depth) = question.policy else { return Ok(worst_cases) };
    // A depth that is none is refused when it is asked for.
    let space = robust.population().space();
    let work = Trees::new(depth.min(3)).work(space, loaded.log().actions().len());
    let seconds = runs * SEARCHES * work / SUMS;
    let (points, columns) = (space.len(), space.names().len());
    let trees = Forecast { seconds, points, columns, work: Work::Trees(depth) };
    let longest = worst_cases.filter(|f| f.seconds > seconds).unwrap_or(trees);
    Ok(Some(longest).filter(|f| f.seconds >= SHORT))
}

/// What the distance of two populations will take, if that is long; with `eta` the entropic one, too.
/// Refuses pairs that do not fit into memory.
pub fn transport(from: &Population, to: &Population, eta: Option<f64>) -> Result<Option<Forecast>> {
    if eta.is_some() {
        room_for_pairs(from, to)?;
    }
    let (points, columns) = (from.observed(), from.space().names().len());
    let exact = distance::work(from, to) / PAIRS;
    let threads = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let soft = match eta {
        Some(_) => ROUNDS * pairs(from, to).iter().sum::<f64>() / (threads * SOFT_PAIRS),
        None => 0.0,
    };
    let work = match soft > exact {
        true => Work::SoftPlan(to.observed()),
        false => Work::Plan(to.observed()),
    };
    let seconds = exact + soft;
    Ok((seconds >= SHORT).then_some(Forecast { seconds, points, columns, work }))
}

/// Refuses an entropic distance whose pairs do not fit into memory.
fn room_for_pairs(from: &Population, to: &Population) -> Result<()> {
    // A cost each, and once more where a step of Newton's method has their masses. The larger population
    // has most pairs: those with itself.
    let most = from.observed().max(to.observed());
    let bytes = 16.0 * (most as f64).powi(2);
    let what = format!("{most} × {most} pairs of contexts take");
    memory::needs(bytes, &what, "the exact distance, without eta, looks at few of them")
}

/// Pairs of points with mass that a Sinkhorn divergence goes over: across, and within each population.
fn pairs(from: &Population, to: &Population) -> [f64; 3] {
    let (a, b) = (from.observed() as f64, to.observed() as f64);
    [a * b, a * a, b * b]
}

/// What comparing sets will take, if that is long: as long as the longest of those asked for by name;
/// where none is, those that take long are left out.
pub fn comparison(loaded: &Loaded, sets: &[String], policies: usize) -> Result<Option<Forecast>> {
    let Some(robust) = support(loaded, loaded.study.support)? else { return Ok(None) };
    let mut longest: Option<Forecast> = None;
    let usual = [Set::Wasserstein(seawall::Wasserstein)];
    let asked: Vec<Set> = match sets.is_empty() {
        true => usual.to_vec(),
        false => sets.iter().filter_map(|text| text.parse().ok()).collect(),
    };
    for set in asked {
        let found = solves(&robust, set, COVERING + policies as f64)?;
        if found.map_or(0.0, |f| f.seconds) > longest.map_or(0.0, |f| f.seconds) {
            longest = found;
        }
    }
    Ok(longest)
}

/// The places that mass may go to; None where they are not looked at one by one.
fn support(loaded: &Loaded, support: Support) -> Result<Option<Robust>> {
    if support == Support::Space {
        return Ok(None);
    }
    Ok(Some(match &loaded.target {
        None => Robust::new(loaded.log(), support)?,
        Some(target) => Robust::around(loaded.log(), target.sample.population(), support)?,
    }))
}

/// So many worst cases over a set.
fn solves(robust: &Robust, set: Set, count: f64) -> Result<Option<Forecast>> {
    let (geometry, space) = (robust.geometry(), robust.population().space());
    let (points, columns) = (space.len(), space.names().len());
    let told = |seconds: f64, work: Work| {
        (seconds >= SHORT).then_some(Forecast { seconds, points, columns, work })
    };
    room(robust, set)?;
    if let Some(steps) = set.work(geometry) {
        return Ok(told(count * steps / PRODUCTS, Work::Systems(set)));
    }
    // Weighing people anew takes no longer than sorting them.
    if !set.moves_mass() {
        return Ok(None);
    }
    let steps = count * EVALUATIONS * geometry.work();
    let threads = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    // Less than a tenth of what would be said, were it all passes: no engine needs to be built.
    if steps / (PASSES * threads) < SHORT {
        return Ok(None);
    }
    Ok(match geometry.engine()?.name() {
        "scan" => told(steps / (threads * LOOKS), Work::Pairs),
        "grid" => told(steps / (threads * PASSES), Work::Cells),
        // Others leave out most of the steps, and nobody knows beforehand which.
        _ => None,
    })
}

/// Refuses a set that takes more memory on a support than there is.
pub(crate) fn room(robust: &Robust, set: Set) -> Result<()> {
    let points = robust.population().space().len();
    let what = format!("{}: its matrices for {points} contexts take", set.name());
    let instead = "take another set, wider bins or fewer columns";
    memory::needs(set.room(robust.geometry()), &what, instead)
}

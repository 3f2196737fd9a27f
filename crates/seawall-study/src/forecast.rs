//! What a long command will take, said before it is begun.
//!
//! A long question is a number of solves that are about alike. One of them is timed, on the very problem or
//! on a part of it (some of the people, or some of the places), with each context's mean outcome in place
//! of the values that are not known yet:
//!
//! ```text
//! seconds = solves · seconds of the one that was timed · (steps of the whole / steps of the part)
//! ```
//!
//! Whether a solve may be long enough to be timed at all follows from its steps,
//! [`Geometry::work`] or [`Set::work`]. Nothing is said of what takes less than ten seconds. The words are
//! the front ends' own. Only what is said depends on the clock, never an answer.
//!
//! Not here: what is repeated, as draws and groups are. How long the rest takes is told by the first
//! of them, while they run.

use crate::evaluate::{Question, affordable};
use crate::learn::{self, Spec};
use crate::prepare::PreparedStudy;
use crate::reference::room;
use seawall::evaluate::{Robust, Support};
use seawall::learn::Trees;
use seawall::{
    Detail, EngineKind, Error, Geometry, Log, Population, Problem, Progress, Result, Set, Settings,
    Shift, Stage, Status, Wasserstein, Watch, distance,
};
use std::sync::Arc;
use std::time::Instant;

/// A solve that takes less than this is not worth a word.
const SHORT: f64 = 10.0;
/// What takes less by its steps than this share of what is worth a word is not timed.
const DOUBT: f64 = 1.0 / 60.0;
/// How long the timed solve takes by its steps, at most about; one that took less than `AGAIN` seconds is
/// timed once more, for the first one makes what others find made.
const PROBE: f64 = 0.3;
const AGAIN: f64 = 0.5;
/// People, or places, that are timed at least.
const LEAST: usize = 64;
/// Evaluations of the dual in a worst case, about.
const EVALUATIONS: f64 = 12.0;
/// Radii at most at which draws and halves are solved: others are read off between these.
const ANCHORS: usize = 8;
/// Worst cases in the search for a policy, about.
const SEARCH: f64 = 60.0;
/// Steps in a second, about: what is timed is chosen by them. Steps of an evaluation on one thread, and
/// of sets that solve in their own way, products in small systems.
const STEPS: f64 = 1.5e9;
const PRODUCTS: f64 = 5e8;
/// Searches for the best tree in learning one: two where it stands out, some hundred where many compete.
/// And sums that a search takes in a second.
const SEARCHES: f64 = 25.0;
const SUMS: f64 = 2e8;
/// Pairs of points that an exact distance takes in a second, all its rounds together: from 5 to 80
/// million.
const PAIRS: f64 = 1.5e7;
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

/// Solves that are about alike, before one of them was timed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    solves: f64,
    points: usize,
    columns: usize,
    work: Work,
}

impl Course {
    /// What they take if one takes so many seconds; None where that is short.
    fn at(self, seconds: f64) -> Option<Forecast> {
        let Course { solves, points, columns, work } = self;
        let seconds = solves * seconds;
        (seconds >= SHORT).then_some(Forecast { seconds, points, columns, work })
    }
}

/// What is done with the places of a support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Every pair of places is looked at.
    Pairs,
    /// A tree of the places is searched for each of them.
    Branches,
    /// The cells of a grid are passed over.
    Cells,
    /// Systems are solved that all places have a part in, for this set.
    Systems(Set),
    /// Trees of this depth are searched for.
    Trees(usize),
    /// A plan is found to the places of a second population, so many.
    Plan(usize),
}

/// What an evaluation will take, if that is long.
pub fn evaluation(
    prepared: &PreparedStudy,
    question: &Question,
    watch: Watch<'_>,
) -> Result<Option<Forecast>> {
    // Without a radius nobody's move is looked at.
    let Some(within) = typical(question.context.set, &question.context.radii) else {
        return Ok(None);
    };
    let Some(robust) = support(prepared, question.support)? else { return Ok(None) };
    let count = question.policies.len();
    let pairs = if question.compare { count * count.saturating_sub(1) } else { 0 };
    let (radii, costs) = (question.context.radii.len(), question.cost.radii.len().max(1));
    // Halves that nobody asked for are as many as take no long time.
    let fitted = prepared.model.recipe.is_refitted() && !within.set.needs_actions();
    let log = (&**prepared.log(), &robust);
    let halves = question.halves.filter(|_| fitted);
    let halves = halves.and_then(|h| affordable(question, h, log).0);
    // A half has half the people, which is half of the work only where each of them is looked at.
    let grid = kind(robust.geometry(), within.set)? == Some(EngineKind::Grid);
    let whole = within.set.work(robust.geometry()).is_some() || grid;
    let halves = halves.map_or(0, |h| if whole { 2 * h.count } else { h.count });
    // Beside the radii asked about, one that covers chance.
    let each = (radii + 1) as f64 + (halves as f64) * radii.min(ANCHORS) as f64;
    let solves = ((count + pairs) * costs) as f64 * each;
    solved((prepared.log(), &robust), within, solves, watch)
}

/// What learning will take, if that is long.
pub fn learning(
    prepared: &PreparedStudy,
    question: &learn::Question,
    watch: Watch<'_>,
) -> Result<Option<Forecast>> {
    let Some(within) = typical(question.context.set, &[question.context.radius]) else {
        return Ok(None);
    };
    let runs = if question.honest { 1.0 + 2.0 * learn::SPLITS as f64 } else { 1.0 };
    let Some(robust) = support(prepared, question.support)? else { return Ok(None) };
    let worst_cases = solved((prepared.log(), &robust), within, SEARCH * runs, watch)?;
    let Spec::Tree(depth) = question.policy else { return Ok(worst_cases) };
    // A depth that is none is refused when it is asked for.
    let space = robust.population().space();
    let work = Trees::new(depth.min(3)).work(space, prepared.log().actions().len());
    let seconds = runs * SEARCHES * work / SUMS;
    let (points, columns) = (space.len(), space.names().len());
    let trees = Forecast { seconds, points, columns, work: Work::Trees(depth) };
    let longest = worst_cases.filter(|f| f.seconds > seconds).unwrap_or(trees);
    Ok(Some(longest).filter(|f| f.seconds >= SHORT))
}

/// What the distance of two populations will take, if that is long.
pub fn transport(from: &Population, to: &Population) -> Option<Forecast> {
    let (points, columns) = (from.observed(), from.space().names().len());
    let seconds = distance::work(from, to) / PAIRS;
    let work = Work::Plan(to.observed());
    (seconds >= SHORT).then_some(Forecast { seconds, points, columns, work })
}

/// What comparing sets will take, if that is long: as long as the longest of those asked for by name;
/// where none is, those that take long are left out.
pub fn comparison(
    prepared: &PreparedStudy,
    sets: &[String],
    policies: usize,
    watch: Watch<'_>,
) -> Result<Option<Forecast>> {
    let Some(robust) = support(prepared, prepared.study.data.support)? else { return Ok(None) };
    let mut longest: Option<Forecast> = None;
    let asked: Vec<Set> = if sets.is_empty() {
        vec![Wasserstein.into()]
    } else {
        sets.iter().filter_map(|text| text.parse().ok()).collect()
    };
    for set in asked {
        let Some(within) = typical(set, &prepared.study.context_set.radii) else { continue };
        let solves = COVERING + policies as f64;
        let found = solved((prepared.log(), &robust), within, solves, watch)?;
        if found.map_or(0.0, |f| f.seconds) > longest.map_or(0.0, |f| f.seconds) {
            longest = found;
        }
    }
    Ok(longest)
}

/// A set at the radius whose solve stands for all: the largest; None where there is no radius.
fn typical(set: Set, radii: &[f64]) -> Option<Shift> {
    let largest = radii.iter().copied().filter(|r| r.is_finite()).reduce(f64::max)?;
    Some(set.at(largest))
}

/// What a set's evaluations look at. Smoothed maxima are sums over every place: no tree finds those.
fn kind(geometry: &Geometry, set: Set) -> Result<Option<EngineKind>> {
    let maxima = set.stays_at_zero() || set.needs_known();
    Ok(geometry.engine()?.kind().map(|kind| match kind {
        EngineKind::Tree if !maxima => EngineKind::Scan,
        kind => kind,
    }))
}

/// The places that mass may go to; None where they are not looked at one by one.
fn support(prepared: &PreparedStudy, support: Support) -> Result<Option<Robust>> {
    if support == Support::Space {
        return Ok(None);
    }
    Ok(Some(match &prepared.target {
        None => Robust::new(prepared.log(), support)?,
        Some(target) => Robust::around(prepared.log(), target.sample.population(), support)?,
    }))
}

/// So many worst cases over a set, one of which is timed if all may take long.
fn solved(
    (log, robust): (&Log, &Robust),
    within: Shift,
    solves: f64,
    watch: Watch<'_>,
) -> Result<Option<Forecast>> {
    let (set, geometry) = (within.set, robust.geometry());
    room(robust, set)?;
    let own = set.work(geometry);
    // Reweighting takes no longer than sorting.
    if own.is_none() && !set.moves_mass() {
        return Ok(None);
    }
    let by_steps = own.map_or_else(|| evaluated(geometry), |steps| steps / PRODUCTS);
    if solves * by_steps < DOUBT * SHORT {
        return Ok(None);
    }
    let work = match (own, kind(geometry, set)?) {
        (Some(_), _) => Work::Systems(set),
        (None, Some(EngineKind::Grid)) => Work::Cells,
        (None, Some(EngineKind::Scan)) => Work::Pairs,
        (None, Some(EngineKind::Tree)) => Work::Branches,
        // Nobody knows how the time of an engine that was handed in grows.
        (None, _) => return Ok(None),
    };
    let space = robust.population().space();
    let course = Course { solves, points: space.len(), columns: space.names().len(), work };
    match timed((log, robust), within, work, watch) {
        Ok(seconds) => Ok(course.at(seconds)),
        Err(error) if error.is_stopped() => Err(error),
        // What cannot be solved is refused by the solve itself.
        Err(_) => Ok(None),
    }
}

/// How long a worst case takes by the steps of its evaluations.
fn evaluated(geometry: &Geometry) -> f64 {
    let threads = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    EVALUATIONS * geometry.work() / (threads * STEPS)
}

/// How long one solve takes, in seconds.
fn timed(
    (log, robust): (&Log, &Robust),
    within: Shift,
    work: Work,
    watch: Watch<'_>,
) -> Result<f64> {
    let part = TimedPart::new(robust, within.set, work)?;
    let means = mean_outcomes(log, robust);
    let values: Vec<f64> = part.points.iter().map(|&point| means[point]).collect();
    // The same evaluations are at the bottom of sets that are asked of a log or of what is known.
    let within = if within.set.needs_actions() || within.set.needs_known() {
        Wasserstein.at(within.radius)
    } else {
        within
    };
    let inside = |_: Progress<'_>| watch.go_on(Progress::at(Stage::Solving));
    let settings = Settings { watch: Watch::new(&inside), ..Settings::default() };
    let problem = Problem::on(&part.geometry, &values)?.direction(robust.direction());
    let once = || -> Result<f64> {
        let begun = Instant::now();
        let case = within.worst_case(&problem, settings.detail(Detail::Value))?;
        match case.status() {
            Status::Stopped => Err(Error::stopped()),
            _ => Ok(begun.elapsed().as_secs_f64()),
        }
    };
    let first = once()?;
    let seconds = if first < AGAIN { first.min(once()?) } else { first };
    Ok(seconds * part.scale)
}

/// The mean outcome of the rows of each place, and of all rows where there are none.
fn mean_outcomes(log: &Log, robust: &Robust) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); log.contexts().len()];
    for e in log.entries() {
        let (weight, sum) = &mut sums[e.context as usize];
        (*weight, *sum) = (*weight + e.weight, *sum + e.weight * log.value(e));
    }
    let (weight, sum) = sums.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    let of_all = sum / weight;
    let mean = |&context: &usize| match sums[context] {
        (weight, sum) if weight > 0.0 => sum / weight,
        _ => of_all,
    };
    robust.points().iter().map(mean).collect()
}

/// The part of a problem that is timed.
struct TimedPart {
    geometry: Arc<Geometry>,
    /// Its places among those of the whole.
    points: Vec<usize>,
    /// How many times the steps of the part the whole takes.
    scale: f64,
}

impl TimedPart {
    fn new(robust: &Robust, set: Set, work: Work) -> Result<Self> {
        let (geometry, population) = (robust.geometry(), robust.population());
        match work {
            Work::Systems(_) => TimedPart::of_places(geometry, set),
            Work::Pairs | Work::Branches => TimedPart::of_people(geometry, set),
            _ => {
                let points = (0..population.space().len()).collect();
                Ok(TimedPart { geometry: geometry.clone(), points, scale: 1.0 })
            }
        }
    }

    /// Some of the people, who may go to all places: what is done for each of them is alike.
    fn of_people(geometry: &Geometry, set: Set) -> Result<Self> {
        let (population, sources) = (geometry.population(), geometry.sources());
        let share = (PROBE / evaluated(geometry)).min(1.0);
        let count = ((share * sources.len() as f64) as usize).max(LEAST).min(sources.len());
        let mut weights = vec![0.0; population.space().len()];
        for k in 0..count {
            let source = sources[k * sources.len() / count] as usize;
            weights[source] = population.weights()[source];
        }
        let some = Population::from_weights(population.space().clone(), weights)?;
        let kind = kind(geometry, set)?.unwrap_or_default();
        let geometry = Geometry::with(&some, kind).shared();
        geometry.engine()?;
        let points = (0..population.space().len()).collect();
        Ok(TimedPart { geometry, points, scale: sources.len() as f64 / count as f64 })
    }

    /// Some of the places, those with people first.
    fn of_places(geometry: &Geometry, set: Set) -> Result<Self> {
        let (population, whole) = (geometry.population(), set.work(geometry).unwrap_or_default());
        let (mut order, rest): (Vec<usize>, Vec<usize>) =
            (0..population.space().len()).partition(|&i| population.weights()[i] > 0.0);
        order.extend(rest);
        let mut count = LEAST;
        loop {
            count = count.min(order.len());
            let points: Vec<usize> = (0..count).map(|k| order[k * order.len() / count]).collect();
            let space = Arc::new(population.space().subset(&points)?);
            let weights = points.iter().map(|&i| population.weights()[i]).collect();
            let geometry = Geometry::new(&Population::from_weights(space, weights)?).shared();
            let own = set.work(&geometry).unwrap_or_default();
            if 2.0 * own >= PROBE * PRODUCTS || count == order.len() {
                return Ok(TimedPart { geometry, points, scale: whole / own });
            }
            count *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_grows_with_what_was_timed_and_with_the_number_of_solves() {
        let course = Course { solves: 300.0, points: 5000, columns: 4, work: Work::Cells };
        let seconds = |course: Course, unit: f64| course.at(unit).map(|f| f.seconds);
        assert_eq!(seconds(course, 0.5), Some(150.0));
        assert_eq!(seconds(course, 1.0), Some(300.0));
        assert_eq!(seconds(Course { solves: 600.0, ..course }, 0.5), Some(300.0));
        // Short ones are not worth a word.
        assert_eq!(seconds(course, 0.99 * SHORT / 300.0), None);
        let told = course.at(0.5).map(|f| (f.points, f.columns, f.work));
        assert_eq!(told, Some((5000, 4, Work::Cells)));
    }
}

//! The cutting-plane method for policies whose cost is convex in their parameters, linear as a rule.
//!
//! `θ ↦ V(l_θ)` is convex. Each solve at a θ gives its worst-case population `q`, and with it a
//! cut below V everywhere: `V(θ') ≥ lower + Σ_x q(x) (l_θ'(x) − l_θ(x))`, and below that a line
//! where `l` is not linear. The least height of all
//! cuts is a lower bound of the optimum, the best θ seen an upper bound. The next θ is the point
//! nearest to the best one where the cuts are low enough (a level method), which takes far fewer
//! solves than going to the cuts' minimum; near the end it is that minimum.
//!
//! The lower bound does not trust the master problem's solver: its multipliers only say how to
//! mix the cuts, and the least of a mixture over the simplices is worked out directly.

use super::class::{Convex, Polytope, add_scaled, dot};
use super::master::{CuttingPlane, least, nearest};
use super::{Task, Worst};
use crate::ambiguity::{Detail, Settings};
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage, Watch, inside};
use rayon::prelude::*;

/// How far the level is from the lower to the upper bound.
const LEVEL: f64 = 0.4;
/// Below this share of the values the next point is the cuts' minimum.
const CLOSE: f64 = 1e-6;
/// Cuts kept beside one per parameter; those that have not mattered for longest go first.
const SPARE: usize = 150;
/// Steps after which a cut that has not mattered is of no use to the next search.
const RECENT: usize = 8;
/// Solves at most.
pub(super) const MOST: usize = 3000;
/// Solves without progress after which rounding has the last word.
const STUCK: usize = 12;

/// What the method found.
pub(super) struct Found {
    pub(super) theta: Vec<f64>,
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) iterations: usize,
    pub(super) stopped: bool,
    /// Of a linear class: the population that proves the lower bound, a mixture of those met: every
    /// cost `l` of the class has `V(l) ≥ constant + Σ_x population(x) l(x)`.
    pub(super) population: Vec<f64>,
    pub(super) constant: f64,
    /// The populations that gave cuts, those that have not mattered for long apart.
    pub(super) cuts: Vec<Proof>,
}

/// A population and its constant: every cost `l` has `V(l) ≥ constant + Σ_x population(x) l(x)`.
pub(super) struct Proof {
    pub(super) population: Vec<f64>,
    pub(super) constant: f64,
}

/// A limit on the worst case of another linear cost: `V(s_θ) ≤ most`.
pub(super) struct WorstLimit<'c> {
    pub(super) class: &'c dyn Convex,
    pub(super) most: f64,
}

/// A cut, the population it came from, and when it last mattered.
struct Kept {
    cut: CuttingPlane,
    population: Vec<f64>,
    mattered: usize,
}

/// Where to begin and when to stop.
pub(super) struct SearchLimits {
    pub(super) starts: Vec<Vec<f64>>,
    /// No policy costs less than this.
    pub(super) floor: f64,
    /// The gap, relative to the largest cost, at which to stop.
    pub(super) tolerance: f64,
    /// Populations met before: cuts to begin with.
    pub(super) cuts: Vec<Proof>,
}

/// The method as it stands.
struct CutSearch<'a> {
    task: &'a Task<'a>,
    class: &'a dyn Convex,
    polytope: Polytope,
    kept: Vec<Kept>,
    /// The best worst case so far, and its parameters.
    best: Option<(f64, Vec<f64>)>,
    lower: f64,
    /// What proves the lower bound: a population and its constant.
    proof: Option<(Vec<f64>, f64)>,
    iterations: usize,
    /// Solves since the last progress.
    stuck: usize,
}

/// Where to go next.
enum Next {
    To(Vec<f64>),
    /// The bounds meet, or nothing moves them any more.
    Done,
}

/// Finds the parameters of the least worst case.
pub(super) fn minimise(
    task: &Task<'_>,
    class: &dyn Convex,
    polytope: Polytope,
    limits: &[WorstLimit<'_>],
    search: &SearchLimits,
    settings: Settings<'_>,
) -> Result<Found> {
    let bounded = !limits.is_empty() || !polytope.rows.is_empty();
    let safe =
        if bounded { safest(task, &polytope, limits, settings)? } else { search.starts[0].clone() };
    let mut state = CutSearch::new(task, class, polytope, search);
    let mut queue: Vec<Vec<f64>> = search.starts.iter().rev().cloned().collect();
    queue.push(safe.clone());
    let mut progress = Progress::at(Stage::Learning);
    let stopped = loop {
        let theta = match queue.pop() {
            Some(theta) => theta,
            None => {
                progress = progress.done(state.iterations).gap(state.gap()?);
                if state.is_finished(search.tolerance)? {
                    break false;
                }
                if !settings.watch.go_on(progress) {
                    break true;
                }
                match state.step()? {
                    Next::To(theta) => theta,
                    Next::Done => break false,
                }
            }
        };
        state.iterations += 1;
        let quiet = inside(settings.watch, progress);
        let settings = settings.watched(Watch::new(&quiet));
        let kept = within(task, limits, &safe, &mut state.polytope, theta, settings);
        let solved = kept.and_then(|theta| {
            let worst = task.worst(&class.costs(&theta), Detail::Population, settings)?;
            Ok((theta, worst))
        });
        match solved {
            Ok((theta, worst)) => state.add(theta, worst),
            // Stopped in the middle of a solve: what is known stands.
            Err(error) if error.is_stopped() && state.best.is_some() => break true,
            Err(error) => return Err(error),
        }
    };
    state.found(stopped)
}

impl<'a> CutSearch<'a> {
    fn new(
        task: &'a Task<'_>,
        class: &'a dyn Convex,
        polytope: Polytope,
        search: &SearchLimits,
    ) -> Self {
        let cut = |proof: &Proof| Kept {
            cut: CuttingPlane {
                constant: proof.constant,
                row: class.slopes(&search.starts[0], &proof.population),
            },
            population: proof.population.clone(),
            mattered: 0,
        };
        let kept = search.cuts.par_iter().map(cut).collect();
        // The nominal population proves a first bound, unless it may not be in the set: then the first
        // one that is found does.
        let nominal = task.within.set.contains_nominal();
        let nominal = nominal.then(|| nominal_bound(task, class, &polytope, &search.starts[0]));
        let lower = nominal.as_ref().map_or(search.floor, |(_, bound)| search.floor.max(*bound));
        CutSearch {
            task,
            class,
            polytope,
            kept,
            best: None,
            lower,
            proof: nominal.map(|(proof, _)| proof),
            iterations: 0,
            stuck: 0,
        }
    }

    fn best(&self) -> Result<&(f64, Vec<f64>)> {
        self.best.as_ref().ok_or_else(|| Error::config("no policy meets every limit"))
    }

    fn gap(&self) -> Result<f64> {
        Ok(self.best()?.0 - self.lower)
    }

    fn is_finished(&self, tolerance: f64) -> Result<bool> {
        let done = self.gap()? <= tolerance * self.task.size();
        Ok(done || self.iterations >= MOST || self.stuck >= STUCK)
    }

    /// The lower bound of the cuts so far, and the point nearest to the best one where they are low enough.
    fn step(&mut self) -> Result<Next> {
        let (upper, centre) = self.best()?.clone();
        let cuts: Vec<CuttingPlane> = self.kept.iter().map(|k| k.cut.clone()).collect();
        let Some(answer) = least(&self.polytope, &cuts) else { return Ok(Next::Done) };
        let before = self.lower;
        let mix = mixture(&answer.cuts);
        let bound = bound(&self.polytope, &cuts, &mix, &answer.rows);
        if bound > self.lower {
            self.lower = bound;
            let constants = self.kept.iter().zip(&mix).map(|(k, share)| share * k.cut.constant);
            self.proof = Some((mixed(&self.kept, &mix), constants.sum()));
        }
        for (kept, share) in self.kept.iter_mut().zip(&mix) {
            if *share > 1e-9 {
                kept.mattered = self.iterations;
            }
        }
        self.stuck = if self.lower > before { 0 } else { self.stuck + 1 };
        let close = upper - self.lower <= CLOSE * self.task.size();
        let level = self.lower + LEVEL * (upper - self.lower);
        let near = if close { None } else { nearest(&self.polytope, &cuts, level, &centre) };
        Ok(Next::To(self.polytope.tidy(&near.unwrap_or(answer).theta)))
    }

    /// Takes in the worst case of some parameters: perhaps a better policy, and a cut.
    fn add(&mut self, theta: Vec<f64>, worst: Worst) {
        let row = self.class.slopes(&theta, &worst.population);
        let constant = worst.lower - dot(&row, &theta);
        let better = self.best.as_ref().is_none_or(|(value, _)| worst.upper < *value);
        if better && self.polytope.holds(&theta, 1e-9) {
            self.best = Some((worst.upper, theta));
            self.stuck = 0;
        }
        // Of an exact set the population's mean is the bound; what is left is rounding.
        let constant = if constant.abs() <= 1e-13 * worst.lower.abs() { 0.0 } else { constant };
        if self.proof.is_none() {
            let prices = vec![0.0; self.polytope.rows.len()];
            self.lower = self.lower.max(constant + self.polytope.lower_bound(&row, &prices));
            self.proof = Some((worst.population.clone(), constant));
        }
        self.kept.push(Kept {
            cut: CuttingPlane { constant, row },
            population: worst.population,
            mattered: self.iterations,
        });
        if self.kept.len() > self.polytope.len() + SPARE {
            let all = self.kept.iter().enumerate();
            let oldest = all.min_by_key(|(_, k)| k.mattered).map(|(at, _)| at);
            self.kept.remove(oldest.unwrap_or(0));
        }
    }

    fn found(self, stopped: bool) -> Result<Found> {
        let CutSearch { best, kept, proof, lower, iterations, .. } = self;
        let (upper, theta) = best.ok_or_else(|| Error::config("no policy meets every limit"))?;
        let (population, constant) = proof
            .ok_or_else(|| Error::internal("a policy without a population that it was held to"))?;
        let recent = kept.into_iter().filter(|k| k.mattered + RECENT >= iterations);
        let proof = |k: Kept| Proof { population: k.population, constant: k.cut.constant };
        let cuts = recent.map(proof).collect();
        Ok(Found { theta, lower, upper, iterations, stopped, population, constant, cuts })
    }
}

/// What the nominal population proves: it and what its mean may be too high by, and the bound.
fn nominal_bound(
    task: &Task<'_>,
    class: &dyn Convex,
    polytope: &Polytope,
    theta: &[f64],
) -> ((Vec<f64>, f64), f64) {
    let (nominal, slack) = (task.population().weights().to_vec(), task.smoothing());
    let prices = vec![0.0; polytope.rows.len()];
    let row = class.slopes(theta, &nominal);
    let offset = dot(&class.costs(theta), &nominal) - dot(&row, theta);
    // Of a linear class what is left is rounding.
    let offset = if offset.abs() <= 1e-13 * task.size() { 0.0 } else { offset };
    let bound = offset + polytope.lower_bound(&row, &prices) - slack;
    ((nominal, -slack), bound)
}

/// Multipliers as shares.
fn mixture(multipliers: &[f64]) -> Vec<f64> {
    let total: f64 = multipliers.iter().map(|m| m.max(0.0)).sum();
    multipliers.iter().map(|m| m.max(0.0) / total.max(1e-300)).collect()
}

/// The least height of a mixture of cuts over the polytope.
fn bound(polytope: &Polytope, cuts: &[CuttingPlane], mix: &[f64], prices: &[f64]) -> f64 {
    let mut cost = vec![0.0; polytope.len()];
    let mut constant = 0.0;
    for (cut, share) in cuts.iter().zip(mix).filter(|(_, share)| **share > 0.0) {
        constant += share * cut.constant;
        cost.iter_mut().zip(&cut.row).for_each(|(c, r)| *c += share * r);
    }
    constant + polytope.lower_bound(&cost, prices)
}

fn mixed(kept: &[Kept], mix: &[f64]) -> Vec<f64> {
    let mut population = vec![0.0; kept.first().map_or(0, |k| k.population.len())];
    let each = kept.iter().zip(mix).filter(|(_, share)| **share > 0.0);
    let terms: Vec<(f64, &[f64])> = each.map(|(k, share)| (*share, &*k.population)).collect();
    add_scaled(&mut population, &terms);
    population
}

/// How far beyond a limit is still on it.
const SLACK: f64 = 1e-10;
/// Rounds of the search for parameters that keep every limit.
const ROUNDS: usize = 200;

/// The parameters with the most room under every row and limit; an error if none keeps them all.
pub(super) fn safest(
    task: &Task<'_>,
    polytope: &Polytope,
    limits: &[WorstLimit<'_>],
    settings: Settings<'_>,
) -> Result<Vec<f64>> {
    let cut = |row: &[f64], most: f64| CuttingPlane { constant: -most, row: row.to_vec() };
    let mut cuts: Vec<CuttingPlane> = polytope.rows.iter().map(|r| cut(&r.row, r.most)).collect();
    let free = Polytope { rows: Vec::new(), ..polytope.clone() };
    let mut theta = free.cheapest(&vec![0.0; free.len()]);
    let mut best = (f64::INFINITY, theta.clone());
    for _ in 0..ROUNDS {
        let rows = polytope.rows.iter().map(|r| dot(&r.row, &theta) - r.most);
        let mut excess = rows.fold(f64::NEG_INFINITY, f64::max);
        for limit in limits {
            let worst = task.share(&limit.class.costs(&theta), Detail::Population, settings)?;
            excess = excess.max(worst.upper - limit.most);
            cuts.push(cut(&limit.class.slopes(&theta, &worst.population), limit.most));
        }
        if excess < best.0 {
            best = (excess, theta);
        }
        let Some(answer) = least(&free, &cuts) else { break };
        let bound = bound(&free, &cuts, &mixture(&answer.cuts), &[]);
        if best.0 - bound <= SLACK || (best.0 < 0.0 && best.0 < 0.5 * bound) {
            break;
        }
        theta = free.tidy(&answer.theta);
    }
    if best.0 <= SLACK {
        Ok(best.1)
    } else {
        Err(Error::config(format!(
            "the budgets cannot all be met: at best one is exceeded by {:.3e}",
            best.0
        )))
    }
}

/// Parameters that keep the limits on worst cases: a violated one becomes a row of the polytope,
/// and the parameters are drawn towards safe ones until it holds.
fn within(
    task: &Task<'_>,
    limits: &[WorstLimit<'_>],
    safe: &[f64],
    polytope: &mut Polytope,
    mut theta: Vec<f64>,
    settings: Settings<'_>,
) -> Result<Vec<f64>> {
    let mut share = 1.0f64;
    for limit in limits {
        let worst = task.share(&limit.class.costs(&theta), Detail::Population, settings)?;
        if worst.upper <= limit.most + SLACK {
            continue;
        }
        let row = limit.class.slopes(&theta, &worst.population);
        polytope.rows.push(super::class::Row { row, most: limit.most });
        let room = task.share(&limit.class.costs(safe), Detail::Value, settings)?.upper;
        // Convex: a mixture's worst case is below the mixture of the worst cases.
        share = share.min((limit.most + SLACK - room) / (worst.upper - room));
    }
    let share = share.clamp(0.0, 1.0);
    if share < 1.0 {
        theta.iter_mut().zip(safe).for_each(|(t, s)| *t = s + share * (*t - s));
    }
    Ok(theta)
}

//! Shallow decision trees: a game between trees and populations.
//!
//! The tree player answers a population with the best tree against it (an exact search); the
//! population player answers a mixture of trees with its worst case. Between the trees found so
//! far the best mixture is a convex problem (cutting planes); the population that proves its
//! bound is answered with a new tree until none is better. That brackets the best **mixture**:
//! no mixture, and so no single tree, does better than the best tree against that population.
//!
//! The best **single** tree is then searched for below that mixture's bound ([`super::single`]).

use super::class::{Convex, Polytope, add_scaled, dot};
use super::cutting_plane::{self, Proof, SearchLimits, minimise};
use super::node::Node;
use super::search::{Costs, RankedPoints};
use super::single::SingleSearch;
use super::{Ending, Learned, Method, Mixture, Task, Worst, check_tolerance};
use crate::ambiguity::{Detail, Settings};
use crate::error::{Error, Field, Result};
use crate::policy::{Policy, Rule};
use crate::progress::{Progress, Stage, Watch, inside};
use crate::space::Space;
use rayon::prelude::*;

/// Trees of the game at most.
const ROUNDS: usize = 400;
/// How exactly mixtures are found, as a share of the game's gap.
const ROUGH: f64 = 0.1;

/// What is asked of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trees {
    /// Questions on the way to a leaf, at most: 1, 2 or 3.
    pub depth: usize,
    /// The nominal share of every leaf, at least.
    pub least_share: f64,
    /// The gap, relative to the largest cost, at which to stop.
    pub tolerance: f64,
}

impl Trees {
    /// Trees of a depth with no other limits, to a relative gap of 1e-9.
    pub fn new(depth: usize) -> Self {
        Trees { depth, least_share: 0.0, tolerance: 1e-9 }
    }

    /// Sums that one exact search for the best tree on a space takes, about; learning takes some dozens
    /// of searches.
    pub fn work(&self, space: &Space, actions: usize) -> f64 {
        RankedPoints::new(space, actions).work(self.depth)
    }

    /// Refuses a depth, a share or a tolerance that is none.
    pub(super) fn check(&self) -> Result<()> {
        check_tolerance(self.tolerance)?;
        if !(1..=3).contains(&self.depth) {
            let what = format!("is a tree of depth {}; expected 1, 2 or 3", self.depth);
            return Err(Error::field(Field::Policy, what));
        }
        if !(0.0..=0.5).contains(&self.least_share) {
            let what =
                format!("of a leaf is {}; expected a number from 0 to 0.5", self.least_share);
            return Err(Error::field(Field::LeastShare, what));
        }
        Ok(())
    }
}

/// Mixtures of trees: one parameter per tree.
struct Mixed<'c> {
    columns: &'c [Vec<f64>],
}

impl Convex for Mixed<'_> {
    fn costs(&self, theta: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.columns.first().map_or(0, Vec::len)];
        let each = theta.iter().zip(self.columns).filter(|(share, _)| **share > 0.0);
        let terms: Vec<(f64, &[f64])> = each.map(|(share, c)| (*share, &**c)).collect();
        add_scaled(&mut all, &terms);
        all
    }

    fn slopes(&self, _: &[f64], population: &[f64]) -> Vec<f64> {
        self.columns.par_iter().map(|column| dot(column, population)).collect()
    }
}

/// The game as it stands.
pub(super) struct Game<'a, 't> {
    pub(super) task: &'a Task<'t>,
    pub(super) asked: Trees,
    pub(super) points: RankedPoints,
    pub(super) all: Vec<u32>,
    pub(super) mass: Vec<f64>,
    pub(super) trees: Vec<Node>,
    /// The trees' costs at every point.
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) settings: Settings<'a>,
    pub(super) iterations: usize,
}

/// Bounds of the best mixture, and what proves the lower one.
pub(super) struct MixtureBounds {
    pub(super) lower: f64,
    upper: f64,
    shares: Vec<f64>,
    pub(super) population: Vec<f64>,
    pub(super) constant: f64,
    pub(super) stopped: bool,
}

/// Learns the best tree and the best mixture of trees.
pub fn trees(task: &Task<'_>, asked: Trees, settings: Settings<'_>) -> Result<Learned> {
    asked.check()?;
    let space = task.population().space();
    let mut game = Game {
        task,
        asked,
        points: RankedPoints::new(space, task.costs.len()),
        all: (0..space.len() as u32).collect(),
        mass: task.population().weights().to_vec(),
        trees: Vec::new(),
        columns: Vec::new(),
        settings,
        iterations: 0,
    };
    let bracket = game.mixture()?;
    let single = SingleSearch::new(&game, &bracket)?.best()?;
    game.iterations = single.iterations;
    let stopped = single.stopped || bracket.stopped;
    let (node, lower, upper) = (single.node, single.lower, single.upper);
    let policy = game.policy("tree", &node)?;
    let bounds = (lower.max(bracket.lower), upper);
    let ending = Ending { iterations: game.iterations, tolerance: asked.tolerance, stopped };
    let mut learned = task.learned(policy, Method::Exact, bounds, &ending);
    let parts = game.trees.iter().zip(&bracket.shares).filter(|(_, share)| **share > 1e-9);
    let parts: Vec<(f64, Policy)> = parts
        .enumerate()
        .map(|(k, (node, share))| Ok((*share, game.policy(&format!("tree {}", k + 1), node)?)))
        .collect::<Result<_>>()?;
    let lower = (bracket.lower - task.slack()).min(bracket.upper);
    let (value, bounds) = (task.sign() * bracket.upper, task.bounds(lower, bracket.upper));
    // Where a difference has a kink, drawing among trees costs less than the mean of their costs.
    learned.mixture = task.kink().is_none().then_some(Mixture { parts, value, bounds });
    Ok(learned)
}

impl Game<'_, '_> {
    pub(super) fn progress(&self) -> Progress<'static> {
        Progress::at(Stage::Searching)
    }

    /// What every point costs under every action, weighted by a population.
    pub(super) fn weighted(&self, population: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(population.len() * self.task.costs.len());
        for (i, q) in population.iter().enumerate() {
            all.extend(self.task.costs.iter().map(|c| q * c[i]));
        }
        all
    }

    /// The least mass of a leaf; a share that is exactly met may be a little below by rounding.
    pub(super) fn least(&self) -> f64 {
        (self.asked.least_share - 1e-9).max(0.0)
    }

    /// The best tree against a population, and its cost; None if it was stopped.
    fn response(&self, population: &[f64], gap: f64) -> Option<(f64, Node)> {
        let costs = self.weighted(population);
        let costs = Costs { costs: &costs, mass: &self.mass, least: self.least() };
        let progress = self.progress().done(self.iterations).gap(gap);
        let go_on = || self.settings.watch.go_on(progress);
        self.points.best(&costs, &self.all, self.asked.depth, &go_on)
    }

    fn column(&self, node: &Node) -> Vec<f64> {
        let cost = |i: usize| self.task.costs[self.points.chosen(node, i)][i];
        (0..self.all.len()).into_par_iter().map(cost).collect()
    }

    /// Adds a tree unless it is there; whether it was new.
    fn add(&mut self, node: Node) -> bool {
        let column = self.column(&node);
        let new = !self.columns.contains(&column);
        if new {
            self.trees.push(node);
            self.columns.push(column);
        }
        new
    }

    /// A tree's costs at every point, and their worst case.
    pub(super) fn solved(&self, node: &Node) -> Result<(Vec<f64>, Worst)> {
        let column = self.column(node);
        let worst = self.task.worst(&column, Detail::Population, self.settings)?;
        Ok((column, worst))
    }

    fn policy(&self, name: &str, node: &Node) -> Result<Policy> {
        let rule = Rule::Tree { root: self.points.branch(node) };
        Policy::new(name, rule, self.task.log.contexts(), self.task.log.actions())
    }

    /// Plays the game until the bounds of the best mixture meet.
    fn mixture(&mut self) -> Result<MixtureBounds> {
        let nominal = self.task.population().weights().to_vec();
        let mut best = MixtureBounds {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            shares: Vec::new(),
            population: nominal,
            constant: 0.0,
            stopped: false,
        };
        match self.response(&best.population, best.upper) {
            Some((_, node)) => self.add(node),
            None => {
                best.stopped = true;
                self.add(self.best_action(&best.population))
            }
        };
        // The mixture of the trees so far is found no more exactly than the game stands, until no
        // new tree answers it.
        let finest = 0.1 * self.asked.tolerance;
        let (mut cuts, mut tolerance) = (Vec::new(), ROUGH);
        loop {
            self.iterations += 1;
            let found = match self.restricted(&best, std::mem::take(&mut cuts), tolerance) {
                Ok(found) => found,
                // Stopped in the middle of a solve: the game stands as it is.
                Err(error) if error.is_stopped() && !best.shares.is_empty() => {
                    best.stopped = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            if found.upper < best.upper {
                best.upper = found.upper;
                best.shares = found.theta;
            }
            cuts = found.cuts;
            let response = if found.stopped || best.stopped {
                None
            } else {
                self.response(&found.population, best.upper - best.lower)
            };
            let Some((cost, node)) = response else {
                best.stopped = true;
                break;
            };
            if cost + found.constant > best.lower {
                best.lower = cost + found.constant;
                best.population = found.population;
                best.constant = found.constant;
            }
            let gap = best.upper - best.lower;
            let size = self.task.size();
            let done = gap <= self.asked.tolerance * size;
            let new = !done && self.add(node);
            let finished = gap <= finest * size || (!new && tolerance <= finest);
            if finished || self.iterations >= ROUNDS {
                break;
            }
            let rough = if new { ROUGH * gap / size } else { ROUGH * tolerance };
            tolerance = if done { finest } else { rough.clamp(finest, ROUGH) };
            if !self.settings.watch.go_on(self.progress().done(self.iterations).gap(gap)) {
                best.stopped = true;
                break;
            }
        }
        if best.lower == f64::NEG_INFINITY {
            best.lower = self.task.greedy_worst(self.settings)?.0;
        }
        best.shares.resize(self.columns.len(), 0.0);
        Ok(best)
    }

    /// The best mixture of the trees so far, to a tolerance.
    fn restricted(
        &self,
        best: &MixtureBounds,
        cuts: Vec<Proof>,
        tolerance: f64,
    ) -> Result<cutting_plane::Found> {
        let count = self.columns.len();
        let mut start = best.shares.clone();
        start.resize(count, 0.0);
        if best.shares.is_empty() {
            start[0] = 1.0;
        }
        let mut only_new = vec![0.0; count];
        only_new[count - 1] = 1.0;
        let starts = vec![only_new, start];
        let search = SearchLimits { starts, floor: f64::NEG_INFINITY, tolerance, cuts };
        let class = Mixed { columns: &self.columns };
        let polytope = Polytope::simplices(&[count]);
        let progress = self.progress().done(self.iterations).gap(best.upper - best.lower);
        let quiet = inside(self.settings.watch, progress);
        let settings = self.settings.watched(Watch::new(&quiet));
        minimise(self.task, &class, polytope, &[], &search, settings)
    }

    /// The best tree that asks nothing.
    fn best_action(&self, population: &[f64]) -> Node {
        let cost = |a: usize| dot(&self.task.costs[a], population);
        let actions = 0..self.task.costs.len();
        Node::Action(actions.min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0))
    }
}

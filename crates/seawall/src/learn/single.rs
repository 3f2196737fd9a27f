//! The best single tree, given the best mixture.
//!
//! Only trees that cost less than the best one so far against the population that proves the mixture's bound can be
//! better. They are listed cheapest first, in growing windows, and each is solved unless a population already met
//! rules it out. When the list ends below the best value, that is the optimum; when there are too many, the gap
//! says so.

use super::Worst;
use super::class::dot;
use super::game::{Game, MixtureBounds};
use super::listing::{Listing, Window};
use super::node::Node;
use super::rivals::Rivals;
use super::search::Costs;
use crate::ambiguity::Detail;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::collections::VecDeque;

/// Trees listed in one window at most.
const LISTED: usize = 100_000;
/// Trees of the list looked at together.
const CHUNK: usize = 512;
/// Trees solved at most.
const SOLVED: usize = 3000;

/// A tree's costs in its worst population, and that worst case.
type SolvedTree = Result<(Vec<f64>, Worst)>;

/// The best single tree, and bounds of any.
pub(super) struct BestTree {
    pub(super) node: Node,
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) stopped: bool,
    pub(super) iterations: usize,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing better is left, or too much to look at all of it.
    Done,
    /// It was stopped from outside.
    Stopped,
}

/// The search as it stands.
pub(super) struct SingleSearch<'g, 'a, 't> {
    game: &'g Game<'a, 't>,
    bracket: &'g MixtureBounds,
    rivals: Rivals<'g>,
    node: Node,
    upper: f64,
    lower: f64,
    /// Trees solved.
    solved: usize,
    stopped: bool,
}

impl<'g, 'a, 't> SingleSearch<'g, 'a, 't> {
    /// Begins with the trees of the game, each solved.
    pub(super) fn new(game: &'g Game<'a, 't>, bracket: &'g MixtureBounds) -> Result<Self> {
        let mut rivals = Rivals::new(&game.points, &game.task.costs, game.asked.depth);
        rivals.add(bracket.constant, &bracket.population);
        let mut best: Option<(f64, Node)> = None;
        let mut stopped = false;
        for (node, column) in game.trees.iter().zip(&game.columns) {
            if let Some((upper, _)) = &best {
                let progress = game.progress().done(game.iterations).gap(upper - bracket.lower);
                stopped = !game.settings.watch.go_on(progress);
            }
            if stopped {
                break;
            }
            let worst = match game.task.worst(column, Detail::Population, game.settings) {
                Ok(worst) => worst,
                Err(error) if error.is_stopped() && best.is_some() => {
                    stopped = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            let constant = worst.lower - dot(column, &worst.population);
            if best.as_ref().is_none_or(|(value, _)| worst.upper < *value) {
                best = Some((worst.upper, node.clone()));
            }
            rivals.add(constant, &worst.population);
        }
        let (upper, node) =
            best.ok_or_else(|| Error::numeric("no tree was found to begin with"))?;
        let (lower, stopped) = (bracket.lower, stopped || bracket.stopped);
        Ok(SingleSearch { game, bracket, rivals, node, upper, lower, solved: 0, stopped })
    }

    /// Goes through the list until nothing better can be left.
    pub(super) fn best(mut self) -> Result<BestTree> {
        if self.stopped {
            return Ok(self.ended(End::Stopped));
        }
        let game = self.game;
        let costs = game.weighted(&self.bracket.population);
        let costs = Costs { costs: &costs, mass: &game.mass, least: game.least() };
        self.lower = self.lower.max(game.task.greedy_worst(game.settings)?.0);
        let (mut share, mut seen) = (0.05, 0);
        while self.upper - self.lower > game.asked.tolerance * game.task.size() {
            let all = share >= 1.0;
            let value = if all {
                self.upper
            } else {
                self.bracket.lower + share * (self.upper - self.bracket.lower)
            };
            let window = Window { limit: value - self.bracket.constant, most: LISTED };
            let progress = game.progress().done(self.iterations()).gap(self.upper - self.lower);
            let go_on = || game.settings.watch.go_on(progress);
            let listed = match game.points.list(&costs, &game.all, game.asked.depth, window, &go_on)
            {
                Listing::All(listed) => listed,
                Listing::TooMany => return Ok(self.ended(End::Done)),
                Listing::Stopped => return Ok(self.ended(End::Stopped)),
            };
            for some in listed[seen.min(listed.len())..].chunks(CHUNK) {
                if let Some(end) = self.look_at(some, &go_on)? {
                    return Ok(self.ended(end));
                }
            }
            seen = listed.len();
            // Whatever is not listed costs at least the window.
            self.lower = self.lower.max(value.min(self.upper));
            if all {
                self.lower = self.lower.min(self.upper);
                break;
            }
            share = (2.0 * share).min(1.0);
        }
        Ok(self.ended(End::Done))
    }

    /// Solves those of some listed trees that no population rules out; how the search ended, if it did.
    fn look_at(
        &mut self,
        some: &[(f64, Node)],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<End>> {
        // Most are ruled out by a population already met: in parallel, with those so far.
        let (rivals, upper) = (&self.rivals, self.upper);
        let ruling_out: Option<Vec<Option<usize>>> = some
            .par_iter()
            .map(|(_, tree)| go_on().then(|| rivals.ruling_out(tree, upper)))
            .collect();
        let Some(ruling_out) = ruling_out else { return Ok(Some(End::Stopped)) };
        let known = self.rivals.len();
        // The next ones that are left are solved side by side; one that an earlier one of them
        // rules out is passed over, so the answer is the same as one after the other.
        let mut ahead: VecDeque<(usize, SolvedTree)> = VecDeque::new();
        for (at, (cost, candidate)) in some.iter().enumerate() {
            if cost + self.bracket.constant >= self.upper {
                break;
            }
            if ruling_out[at].is_some() {
                continue;
            }
            let found = ahead.pop_front_if(|(solved, _)| *solved == at);
            if self.rivals.newer_rules_out(known, candidate, self.upper) {
                continue;
            }
            if self.solved >= SOLVED {
                self.lower = self.lower.max(cost + self.bracket.constant);
                return Ok(Some(End::Done));
            }
            let gap = self.upper - self.lower;
            let progress = self.game.progress().done(self.iterations()).gap(gap);
            if !self.game.settings.watch.go_on(progress) {
                return Ok(Some(End::Stopped));
            }
            self.solved += 1;
            let found = found.or_else(|| {
                ahead = self.solved_ahead(some, at, (&ruling_out, known));
                ahead.pop_front()
            });
            let found = found.map_or_else(|| self.game.solved(candidate), |(_, found)| found);
            let (column, worst) = match found {
                Ok(found) => found,
                Err(error) if error.is_stopped() => return Ok(Some(End::Stopped)),
                Err(error) => return Err(error),
            };
            if worst.upper < self.upper {
                (self.upper, self.node) = (worst.upper, candidate.clone());
            }
            self.rivals.add(worst.lower - dot(&column, &worst.population), &worst.population);
        }
        self.rivals.learn(&ruling_out);
        Ok(None)
    }

    /// The next trees that nothing rules out yet, as many as there are threads, solved side by side.
    fn solved_ahead(
        &self,
        some: &[(f64, Node)],
        at: usize,
        (ruling_out, known): (&[Option<usize>], usize),
    ) -> VecDeque<(usize, SolvedTree)> {
        let left = (at..some.len()).filter(|&k| {
            ruling_out[k].is_none()
                && some[k].0 + self.bracket.constant < self.upper
                && !self.rivals.newer_rules_out(known, &some[k].1, self.upper)
        });
        let next: Vec<usize> = left.take(rayon::current_num_threads()).collect();
        next.into_par_iter().map(|at| (at, self.game.solved(&some[at].1))).collect()
    }

    fn iterations(&self) -> usize {
        self.game.iterations + self.solved
    }

    fn ended(self, end: End) -> BestTree {
        let iterations = self.iterations();
        let SingleSearch { node, lower, upper, .. } = self;
        BestTree { node, lower, upper, stopped: end == End::Stopped, iterations }
    }
}

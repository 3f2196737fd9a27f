//! The whole of a space as a support: every value between each feature's ends, every level, every
//! combination. There are no points to list; values have structure instead.
//!
//! For a function made of steps ([`StepFunction`]) the inner maximum is one over boxes,
//!
//! ```text
//! max_z (f(z) − λ c(x, z)) = max_b (f_b − λ Σ_k d_k(x_k, b_k)),
//! ```
//!
//! `d_k` the cost of reaching what box `b` holds of feature `k`. Which engine finds it goes by the
//! function: boxes that can be listed ([`Boxes`]), terms of one feature or a few each
//! ([`Separable`]), and else a descent of the trees together ([`Descent`]).
//!
//! Not here: what the function is (`evaluate`).

use super::engine::boxes::{Boxes, Hulls};
use super::engine::descent::Descent;
use super::engine::separable::Separable;
use super::plan::Plan;
use super::problem::{Direction, Units};
use super::reach::Reach;
use super::settings::Settings;
use super::solver::Solver;
use super::wasserstein;
use crate::error::Result;
use crate::population::Population;
use crate::space::{Places, Space, bits};
use crate::steps::{Extent, StepFunction, list, separate};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Boxes that are listed at most.
const MOST_BOXES: usize = 1 << 17;
/// Up to about so many boxes are less work, once, than features one by one, price by price.
const FEW_BOXES: usize = 1 << 10;

/// Steps of one evaluation for each source, about.
const STEPS: f64 = 64.0;

/// A population on the whole of a space.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(super) extent: Extent,
    pub(super) population: Population,
    /// The points that mass comes from.
    pub(super) sources: Vec<u32>,
    known: OnceLock<Known>,
    /// The function last asked about, and its hulls.
    last: Mutex<Option<(StepFunction, Direction, Arc<Hulls>)>>,
}

impl Whole {
    /// A population of points in a space, whose features' ends and levels are those of `space`.
    pub fn new(space: &Space, population: &Population) -> Self {
        let weights = population.weights();
        let sources = (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
        let (extent, population) = (Extent::new(space), population.clone());
        Whole { extent, population, sources, known: OnceLock::new(), last: Mutex::new(None) }
    }

    /// What turns the codes of the space into steps' answers.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// About how many steps one evaluation takes, boxes being as many as those of a few small trees.
    pub fn work(&self) -> f64 {
        STEPS * self.sources.len() as f64
    }

    /// A solver of a function's worst case over Wasserstein balls.
    pub fn solver<'a>(
        &'a self,
        function: &'a StepFunction,
        direction: Direction,
        settings: Settings<'a>,
    ) -> Result<Solver<'a>> {
        let reach = self.reach(function, direction, settings)?;
        let solver = wasserstein::Solver::new(reach, settings)?;
        Ok(Solver::new(Box::new(solver), super::Set::from(super::Wasserstein)))
    }

    /// The engine that suits a function. Hulls of the last one asked about are kept: a worst case and a
    /// curve, say, are asked for one after the other.
    fn reach<'a>(
        &'a self,
        function: &'a StepFunction,
        direction: Direction,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Reach + 'a>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|k| k.0 == *function && k.1 == direction) {
            return Ok(Box::new(Boxes { whole: self, hulls: known.2.clone() }));
        }
        // Let go before others are made: they are large.
        *last = None;
        let separated = separate(&self.extent, function);
        let most = separated.as_ref().map_or(MOST_BOXES, |s| FEW_BOXES + 8 * s.combinations());
        if let Some(boxes) = list(&self.extent, function, most.min(MOST_BOXES)) {
            let hulls = Arc::new(Hulls::new(self, boxes, direction, settings.watch)?);
            *last = Some((function.clone(), direction, hulls.clone()));
            return Ok(Box::new(Boxes { whole: self, hulls }));
        }
        if let Some(separated) = separated {
            return Ok(Box::new(Separable::new(self, separated, direction, settings.watch)));
        }
        Ok(Box::new(Descent::new(self, function, direction, settings.watch)?))
    }

    /// The mass of a source.
    pub(super) fn mass(&self, source: usize) -> f64 {
        self.population.weights()[self.sources[source] as usize]
    }

    /// What turns values of at most this size into heights.
    pub(super) fn units(largest: f64, direction: Direction) -> Units {
        Units::new(largest, direction)
    }

    /// The plan that takes sources, each with some mass, to the places that `place` tells: the features
    /// of the source that change, and their codes. And the population on the plan's points.
    pub(super) fn plan(
        &self,
        moves: impl Iterator<Item = (usize, f64, u32)>,
        mut place: impl FnMut(usize, u32, &mut Vec<(u32, f64)>),
    ) -> Result<(Plan, Population)> {
        let space = self.population.space();
        let mut changes = Vec::new();
        let (known, places) = (self.known(), Places::default());
        let mut arrivals = Arrivals { known, space, fresh: HashMap::new(), places };
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for (source, mass, to) in moves {
            let from = self.sources[source];
            changes.clear();
            place(source, to, &mut changes);
            let own = |k: u32| space.code(from as usize, k as usize);
            changes.retain(|(k, code)| bits(*code) != bits(own(*k)));
            let to = if changes.is_empty() { from } else { arrivals.point(from, &changes) };
            entries.push((from, to, mass));
        }
        let space = Arc::new(space.with_places(arrivals.places)?);
        let mut weights = self.population.weights().to_vec();
        weights.resize(space.len(), 0.0);
        let population = Population::from_weights(space.clone(), weights)?;
        let mut plan = Plan::new(&space);
        entries.into_iter().for_each(|(from, to, mass)| plan.push(from, to, mass));
        Ok((plan, population))
    }

    /// The codes of a source.
    pub(super) fn codes(&self, source: usize) -> Vec<f64> {
        let (space, point) = (self.population.space(), self.sources[source] as usize);
        (0..space.names().len()).map(|k| space.code(point, k)).collect()
    }

    fn known(&self) -> &Known {
        self.known.get_or_init(|| {
            let space = self.population.space();
            let features = space.names().len();
            let number = |i: usize| {
                (0..features).fold(0, |n: u64, k| n.wrapping_add(mixed(k, space.code(i, k))))
            };
            let numbers: Vec<u64> = (0..space.len()).into_par_iter().map(number).collect();
            let points = numbers.iter().enumerate().rev().map(|(i, n)| (*n, i as u32)).collect();
            Known { numbers, points }
        })
    }
}

/// A population's points by a number made of their codes.
#[derive(Debug)]
struct Known {
    numbers: Vec<u64>,
    points: HashMap<u64, u32>,
}

/// Places that mass arrives at, each a point once.
struct Arrivals<'w> {
    known: &'w Known,
    space: &'w Space,
    fresh: HashMap<u64, u32>,
    /// The points that are new.
    places: Places,
}

impl Arrivals<'_> {
    /// The point that another one is with some features changed.
    fn point(&mut self, from: u32, changes: &[(u32, f64)]) -> u32 {
        let space = self.space;
        let own = |k: usize| space.code(from as usize, k);
        let code =
            |k: usize| changes.iter().find(|c| c.0 as usize == k).map_or_else(|| own(k), |c| c.1);
        let mut number = self.known.numbers[from as usize];
        for &(k, new) in changes {
            let k = k as usize;
            number = number.wrapping_sub(mixed(k, own(k))).wrapping_add(mixed(k, new));
        }
        let features = space.names().len();
        let same =
            |there: &dyn Fn(usize) -> f64| (0..features).all(|k| bits(code(k)) == bits(there(k)));
        if let Some(&i) = self.known.points.get(&number)
            && same(&|k| space.code(i as usize, k))
        {
            return i;
        }
        let first = space.len() as u32;
        // Places whose numbers are the same have the next ones.
        while let Some(&at) = self.fresh.get(&number) {
            if same(&|k| self.places.code(at as usize, k, |i| space.code(i, k))) {
                return first + at;
            }
            number = number.wrapping_add(1);
        }
        let at = self.places.len() as u32;
        self.fresh.insert(number, at);
        self.places.push(from, changes);
        first + at
    }
}

/// A number made of a feature and a code.
fn mixed(feature: usize, code: f64) -> u64 {
    let mix = (bits(code) ^ (feature as u64) << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mix ^ mix >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mix >> 32
}

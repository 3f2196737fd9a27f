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

use super::engine::boxes::Boxes;
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
use crate::space::{Space, bits};
use crate::steps::{Extent, StepFunction, list, separate};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

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
    /// The population's points by a number made of their codes.
    known: OnceLock<HashMap<u64, u32>>,
}

impl Whole {
    /// A population of points in a space, whose features' ends and levels are those of `space`.
    pub fn new(space: &Space, population: &Population) -> Self {
        let weights = population.weights();
        let sources = (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
        let (extent, population) = (Extent::new(space), population.clone());
        Whole { extent, population, sources, known: OnceLock::new() }
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
        Ok(Solver::new(Box::new(solver), true))
    }

    /// The engine that suits a function.
    fn reach<'a>(
        &'a self,
        function: &'a StepFunction,
        direction: Direction,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Reach + 'a>> {
        let separated = separate(&self.extent, function);
        let most = separated.as_ref().map_or(MOST_BOXES, |s| FEW_BOXES + 8 * s.combinations());
        if let Some(boxes) = list(&self.extent, function, most.min(MOST_BOXES)) {
            return Ok(Box::new(Boxes::new(self, boxes, direction, settings.watch)?));
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

    /// The plan that takes sources, each with some mass, to the places of codes that `place` writes
    /// over the source's own; and the population on the plan's points.
    pub(super) fn plan(
        &self,
        moves: impl Iterator<Item = (usize, f64, u32)>,
        mut place: impl FnMut(usize, u32, &mut [f64]),
    ) -> Result<(Plan, Population)> {
        let space = self.population.space();
        let (count, features) = (space.len(), space.names().len());
        let mut codes = vec![0.0; features];
        let mut own = vec![0.0; features];
        let mut arrivals = Arrivals {
            known: self.known(),
            space,
            fresh: HashMap::new(),
            columns: vec![Vec::new(); features],
        };
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for (source, mass, to) in moves {
            let from = self.sources[source];
            (0..features).for_each(|k| own[k] = space.code(from as usize, k));
            codes.copy_from_slice(&own);
            place(source, to, &mut codes);
            let stays = codes.iter().zip(&own).all(|(a, b)| bits(*a) == bits(*b));
            let to = if stays { from } else { arrivals.point(&codes) };
            entries.push((from, to, mass));
        }
        let all: Vec<usize> = (0..count).collect();
        let space = Arc::new(space.with_places(&all, arrivals.columns)?);
        let mut weights = self.population.weights().to_vec();
        weights.resize(space.len(), 0.0);
        let population = Population::from_weights(space.clone(), weights)?;
        let mut plan = Plan::new(&space);
        entries.into_iter().for_each(|(from, to, mass)| plan.push(from, to, mass));
        Ok((plan, population))
    }

    fn known(&self) -> &HashMap<u64, u32> {
        self.known.get_or_init(|| {
            let space = self.population.space();
            let features = space.names().len();
            let number = |i: usize| mixed((0..features).map(|k| space.code(i, k)));
            (0..space.len()).rev().map(|i| (number(i), i as u32)).collect()
        })
    }
}

/// Places that mass arrives at, each a point once.
struct Arrivals<'w> {
    known: &'w HashMap<u64, u32>,
    space: &'w Space,
    fresh: HashMap<u64, Vec<u32>>,
    /// The codes of the points that are new.
    columns: Vec<Vec<f64>>,
}

impl Arrivals<'_> {
    fn point(&mut self, codes: &[f64]) -> u32 {
        let number = mixed(codes.iter().copied());
        let same = |a: f64, b: f64| bits(a) == bits(b);
        if let Some(&i) = self.known.get(&number) {
            let here = |(k, c): (usize, &f64)| same(self.space.code(i as usize, k), *c);
            if codes.iter().enumerate().all(here) {
                return i;
            }
        }
        let columns = &self.columns;
        let is_it = |&&at: &&u32| {
            codes.iter().zip(columns).all(|(c, column)| same(column[at as usize], *c))
        };
        let first = self.space.len() as u32;
        let listed = self.fresh.entry(number).or_default();
        if let Some(at) = listed.iter().find(is_it) {
            return first + at;
        }
        let at = columns[0].len() as u32;
        listed.push(at);
        self.columns.iter_mut().zip(codes).for_each(|(column, c)| column.push(*c));
        first + at
    }
}

/// A number made of codes.
fn mixed(codes: impl Iterator<Item = f64>) -> u64 {
    codes.fold(0, |mix: u64, code| {
        (mix.rotate_left(23) ^ bits(code)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

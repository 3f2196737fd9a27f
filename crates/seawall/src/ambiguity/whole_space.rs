//! A population on the whole of a space: where its people are, and the places that mass goes to, of
//! which only those that a plan uses are ever listed.

use super::plan::Plan;
use crate::error::Result;
use crate::population::Population;
use crate::space::{Places, Space, bits};
use crate::steps::Extent;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A population on the whole of a space.
#[derive(Debug)]
pub(super) struct WholeSpace {
    pub extent: Extent,
    pub population: Population,
    /// The points that mass comes from.
    pub sources: Vec<u32>,
    known: OnceLock<KnownPoints>,
}

impl WholeSpace {
    /// A population of points in a space, whose features' ends and levels are those of `space`.
    pub fn new(space: &Space, population: &Population) -> Self {
        let weights = population.weights();
        let sources = (0..weights.len() as u32).filter(|&i| weights[i as usize] > 0.0).collect();
        let (extent, population) = (Extent::new(space), population.clone());
        WholeSpace { extent, population, sources, known: OnceLock::new() }
    }

    /// The mass of a source.
    pub fn mass(&self, source: usize) -> f64 {
        self.population.weights()[self.sources[source] as usize]
    }

    /// The plan that takes sources, each with some mass, to the places that `place` tells: the features
    /// of the source that change, and their codes. And the population on the plan's points.
    pub fn plan(
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
    pub fn codes(&self, source: usize) -> Vec<f64> {
        let (space, point) = (self.population.space(), self.sources[source] as usize);
        (0..space.names().len()).map(|k| space.code(point, k)).collect()
    }

    fn known(&self) -> &KnownPoints {
        self.known.get_or_init(|| {
            let space = self.population.space();
            let features = space.names().len();
            let number = |i: usize| {
                (0..features).fold(0, |n: u64, k| n.wrapping_add(mixed(k, space.code(i, k))))
            };
            let numbers: Vec<u64> = (0..space.len()).into_par_iter().map(number).collect();
            let points = numbers.iter().enumerate().rev().map(|(i, n)| (*n, i as u32)).collect();
            KnownPoints { numbers, points }
        })
    }
}

/// A population's points by a number made of their codes.
#[derive(Debug)]
struct KnownPoints {
    numbers: Vec<u64>,
    points: HashMap<u64, u32>,
}

/// Places that mass arrives at, each a point once.
struct Arrivals<'w> {
    known: &'w KnownPoints,
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

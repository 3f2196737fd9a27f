//! The scan engine: every pair is looked at. What the other engines are tested against.

use super::{Engine, Group, Maxima, Sums, groups};
use crate::ambiguity::geometry::Geometry;
use crate::ambiguity::problem::Heights;
use crate::kernel::metric::Metric;
use crate::kernel::order::{CostFirst, Price, ValueFirst};
use crate::kernel::{scan, sum};
use crate::population::Population;
use rayon::prelude::*;
use std::sync::Arc;

/// The engine.
pub(in crate::ambiguity) struct Scan {
    population: Population,
    pub(in crate::ambiguity) metrics: Vec<Metric>,
    pub(in crate::ambiguity) groups: Vec<Group>,
    pub(in crate::ambiguity) sources: Vec<Source>,
}

/// The engine, loaded.
struct Loaded {
    engine: Arc<Scan>,
    /// The members' heights, group by group.
    heights: Vec<Vec<f64>>,
}

/// A source: the point, and where it is in its group.
#[derive(Clone, Copy)]
pub(in crate::ambiguity) struct Source {
    pub point: u32,
    pub group: u32,
    pub local: u32,
}

impl Scan {
    /// Sorts the points into groups.
    pub fn new(geometry: &Geometry) -> Self {
        let population = geometry.population().clone();
        let (metrics, groups) = groups(population.space());
        let weights = population.weights();
        let mut sources = Vec::new();
        for (group, g) in groups.iter().enumerate() {
            for (local, &point) in g.members.iter().enumerate() {
                if weights[point as usize] > 0.0 {
                    sources.push(Source { point, group: group as u32, local: local as u32 });
                }
            }
        }
        sources.sort_unstable_by_key(|s| s.point);
        Scan { population, metrics, groups, sources }
    }
}

impl Engine for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn load<'v>(self: Arc<Self>, heights: Heights<'v>) -> Box<dyn Maxima + 'v> {
        let of_group = |g: &Group| g.members.iter().map(|&i| heights.at(i as usize)).collect();
        let heights = self.groups.iter().map(of_group).collect();
        Box::new(Loaded { engine: self, heights })
    }
}

impl Loaded {
    /// The best target of a source, by its place in the source's group.
    fn best(&self, source: Source, price: Price, x: &mut Vec<f64>) -> usize {
        let (group, local) = (&self.engine.groups[source.group as usize], source.local as usize);
        let values = &self.heights[source.group as usize];
        group.row(local, x);
        let (metrics, columns) = (&self.engine.metrics[..], &group.columns[..]);
        match price {
            Price::Zero => scan::best(metrics, columns, values, x, ValueFirst, local),
            Price::At(price) => scan::best_priced(metrics, columns, values, x, price, local),
            Price::Infinite => scan::best(metrics, columns, values, x, CostFirst, local),
        }
    }
}

impl Maxima for Loaded {
    fn evaluate(&mut self, price: Price) -> Sums {
        let found: Vec<(f64, f64)> = self
            .engine
            .sources
            .par_iter()
            .map_init(Vec::new, |x, &source| {
                let target = self.best(source, price, x);
                let group = &self.engine.groups[source.group as usize];
                let cost = |(&m, (c, &x)): (&Metric, (&Vec<f64>, &f64))| m.cost(x, c[target]);
                let cost =
                    self.engine.metrics.iter().zip(group.columns.iter().zip(&*x)).map(cost).sum();
                (self.heights[source.group as usize][target], cost)
            })
            .collect();
        let weights = self.engine.population.weights();
        let [value, cost] = sum::sums(found.len(), &|s: usize| {
            let p = weights[self.engine.sources[s].point as usize];
            [p * found[s].0, p * found[s].1]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let target = |x: &mut Vec<f64>, &source: &Source| {
            let local = self.best(source, price, x);
            self.engine.groups[source.group as usize].members[local]
        };
        self.engine.sources.par_iter().map_init(Vec::new, target).collect()
    }
}

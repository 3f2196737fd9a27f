//! The scan engine: every pair is looked at. What the other engines are tested against.

use super::{Engine, Group, Maxima, Patience, Sums, groups};
use crate::ambiguity::geometry::Geometry;
use crate::ambiguity::problem::Heights;
use crate::kernel::metric::Metric;
use crate::kernel::order::{CostFirst, Price, ValueFirst};
use crate::kernel::scan::{self, Found};
use crate::kernel::sum;
use crate::population::Population;
use crate::progress::Watch;
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
struct Loaded<'v> {
    engine: Arc<Scan>,
    /// The members' heights, group by group.
    heights: Vec<Vec<f64>>,
    patience: Patience<'v>,
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

    /// A look at every pair under a watch.
    pub(in crate::ambiguity) fn patience<'v>(&self, watch: Watch<'v>) -> Patience<'v> {
        let steps = self.population.space().len() * self.metrics.len().max(1);
        Patience::new(watch, self.sources.len(), steps)
    }
}

impl Engine for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn load<'v>(self: Arc<Self>, heights: Heights<'v>, watch: Watch<'v>) -> Box<dyn Maxima + 'v> {
        let of_group = |g: &Group| g.members.iter().map(|&i| heights.at(i as usize)).collect();
        let heights = self.groups.iter().map(of_group).collect();
        let patience = self.patience(watch);
        Box::new(Loaded { engine: self, heights, patience })
    }
}

impl Loaded<'_> {
    /// The best target of a source, by its place in the source's group.
    fn best(&self, source: Source, price: Price, x: &mut Vec<f64>) -> usize {
        let (group, local) = (&self.engine.groups[source.group as usize], source.local as usize);
        let values = &self.heights[source.group as usize];
        group.row(local, x);
        let (metrics, columns) = (&self.engine.metrics[..], &group.columns[..]);
        match price {
            Price::Zero => scan::best(metrics, columns, values, x, ValueFirst, local),
            Price::At(price) => {
                let mut found = [Found::new(price, values[local], local)];
                scan::best_priced(metrics, columns, values, x, &mut found);
                found[0].target
            }
            Price::Infinite => scan::best(metrics, columns, values, x, CostFirst, local),
        }
    }

    /// Something of every source, in order; nothing once it is to stop.
    fn each<R: Default, T: Default + Send>(
        &self,
        one: impl Fn(&mut R, Source) -> T + Sync,
    ) -> Vec<T> {
        self.patience.begin();
        let patient = |room: &mut R, &source: &Source| match self.patience.go_on() {
            true => one(room, source),
            false => T::default(),
        };
        self.engine.sources.par_iter().map_init(R::default, patient).collect()
    }

    /// A target's value, and what it costs a source at `x` to go there.
    fn arrival(&self, source: Source, target: usize, x: &[f64]) -> [f64; 2] {
        let group = &self.engine.groups[source.group as usize];
        let cost = |(&m, (c, &x)): (&Metric, (&Vec<f64>, &f64))| m.cost(x, c[target]);
        let cost = self.engine.metrics.iter().zip(group.columns.iter().zip(x)).map(cost).sum();
        [self.heights[source.group as usize][target], cost]
    }

    /// The sums of arrivals, one per source.
    fn sums(&self, arrival: impl Fn(usize) -> [f64; 2] + Sync) -> Sums {
        let (weights, sources) = (self.engine.population.weights(), &self.engine.sources);
        let [value, cost] = sum::sums(sources.len(), &|s: usize| {
            let p = weights[sources[s].point as usize];
            arrival(s).map(|x| p * x)
        });
        Sums { value, cost }
    }
}

impl Maxima for Loaded<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let found: Vec<[f64; 2]> = self.each(|x: &mut Vec<f64>, source| {
            let target = self.best(source, price, x);
            self.arrival(source, target, x)
        });
        self.sums(|s| found[s])
    }

    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<Sums> {
        if prices.iter().any(|price| !matches!(price, Price::At(_))) {
            return prices.iter().map(|&price| self.evaluate(price)).collect();
        }
        // What a pair of points costs is worked out once for all prices.
        let all = |(x, found): &mut (Vec<f64>, Vec<Found>), source: Source| {
            let group = &self.engine.groups[source.group as usize];
            let (values, local) = (&self.heights[source.group as usize], source.local as usize);
            group.row(local, x);
            found.clear();
            found.extend(prices.iter().map(|p| Found::new(p.get(), values[local], local)));
            scan::best_priced(&self.engine.metrics, &group.columns, values, x, found);
            found.iter().map(|f| self.arrival(source, f.target, x)).collect::<Vec<_>>()
        };
        let found: Vec<Vec<[f64; 2]>> = self.each(all);
        let at = |s: usize, k: usize| found[s].get(k).copied().unwrap_or_default();
        (0..prices.len()).map(|k| self.sums(|s| at(s, k))).collect()
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        self.each(|x: &mut Vec<f64>, source| {
            let local = self.best(source, price, x);
            self.engine.groups[source.group as usize].members[local]
        })
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

//! The scan engine: every pair is looked at. What the other engines are tested against.

use super::{Group, Maxima, Problem, Sums, groups};
use crate::kernel::metric::Metric;
use crate::kernel::order::{CostFirst, Price, ValueFirst};
use crate::kernel::{scan, sum};
use rayon::prelude::*;

/// The engine.
pub(in crate::ambiguity) struct Scan<'a> {
    problem: Problem<'a>,
    pub(in crate::ambiguity) metrics: Vec<Metric>,
    pub(in crate::ambiguity) groups: Vec<Group>,
    /// The members' values, group by group.
    pub(in crate::ambiguity) values: Vec<Vec<f64>>,
    pub(in crate::ambiguity) sources: Vec<Source>,
}

/// A source: the point, and where it is in its group.
#[derive(Clone, Copy)]
pub(in crate::ambiguity) struct Source {
    pub point: u32,
    pub group: u32,
    pub local: u32,
}

impl<'a> Scan<'a> {
    /// Sorts the points into groups.
    pub fn new(problem: &Problem<'a>) -> Self {
        let (metrics, groups) = groups(problem.space());
        let weights = problem.population.weights();
        let mut sources = Vec::new();
        for (group, g) in groups.iter().enumerate() {
            for (local, &point) in g.members.iter().enumerate() {
                if weights[point as usize] > 0.0 {
                    sources.push(Source { point, group: group as u32, local: local as u32 });
                }
            }
        }
        sources.sort_unstable_by_key(|s| s.point);
        let value = |&i: &u32| problem.scaled(i as usize);
        let values = groups.iter().map(|g| g.members.iter().map(value).collect()).collect();
        Scan { problem: *problem, metrics, groups, values, sources }
    }

    /// The best target of a source, by its place in the source's group.
    fn best(&self, source: Source, price: Price, x: &mut Vec<f64>) -> usize {
        let (group, local) = (&self.groups[source.group as usize], source.local as usize);
        let values = &self.values[source.group as usize];
        group.row(local, x);
        let (metrics, columns) = (&self.metrics[..], &group.columns[..]);
        match price {
            Price::Zero => scan::best(metrics, columns, values, x, ValueFirst, local),
            Price::At(price) => scan::best_priced(metrics, columns, values, x, price, local),
            Price::Infinite => scan::best(metrics, columns, values, x, CostFirst, local),
        }
    }
}

impl Maxima for Scan<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let found: Vec<(f64, f64)> = self
            .sources
            .par_iter()
            .map_init(Vec::new, |x, &source| {
                let target = self.best(source, price, x);
                let group = &self.groups[source.group as usize];
                let cost = |(&m, (c, &x)): (&Metric, (&Vec<f64>, &f64))| m.cost(x, c[target]);
                let cost = self.metrics.iter().zip(group.columns.iter().zip(&*x)).map(cost).sum();
                (self.values[source.group as usize][target], cost)
            })
            .collect();
        let weights = self.problem.population.weights();
        let [value, cost] = sum::sums(found.len(), &|s: usize| {
            let p = weights[self.sources[s].point as usize];
            [p * found[s].0, p * found[s].1]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let target = |x: &mut Vec<f64>, &source: &Source| {
            let local = self.best(source, price, x);
            self.groups[source.group as usize].members[local]
        };
        self.sources.par_iter().map_init(Vec::new, target).collect()
    }

    fn sources(&self) -> Vec<u32> {
        self.problem.sources()
    }
}

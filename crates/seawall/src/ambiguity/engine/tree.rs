//! The tree engine: branch and bound over a kd-tree of targets, one for each combination of
//! fixed levels. Each query starts from the target that was best at the previous price.

use super::{Maxima, Problem, Sums, groups};
use crate::kernel::kd_tree::{Best, KdTree, Stack};
use crate::kernel::order::{CostFirst, Order, Price, Priced, ValueFirst, better};
use crate::kernel::sum;
use rayon::prelude::*;

/// Queries a thread takes at a time.
const CHUNK: usize = 256;

/// The engine.
pub(super) struct Tree<'a> {
    problem: Problem<'a>,
    trees: Vec<KdTree>,
    /// Queries in the order of their trees, so that neighbours follow each other.
    queries: Vec<Query>,
    /// The queries' coordinates, one row each.
    rows: Vec<f64>,
    features: usize,
    found: Vec<Best>,
}

#[derive(Clone, Copy)]
struct Query {
    tree: u32,
    source: u32,
    /// The place of this source among all sources.
    place: u32,
}

impl<'a> Tree<'a> {
    /// Builds the trees.
    pub fn new(problem: &Problem<'a>) -> Self {
        let (metrics, groups) = groups(problem.space());
        let mut place = vec![u32::MAX; problem.space().len()];
        for (at, &i) in problem.sources().iter().enumerate() {
            place[i as usize] = at as u32;
        }
        let (mut trees, mut queries, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (t, group) in groups.iter().enumerate() {
            let members = &group.members;
            let values: Vec<f64> = members.iter().map(|&i| problem.scaled(i as usize)).collect();
            let (tree, order) = KdTree::new(&metrics, &group.columns, &values, members);
            for l in order {
                let source = members[l as usize];
                let place = place[source as usize];
                if place != u32::MAX {
                    queries.push(Query { tree: t as u32, source, place });
                    rows.extend(group.columns.iter().map(|c| c[l as usize]));
                }
            }
            trees.push(tree);
        }
        let stay = |q: &Query| Best {
            target: q.source,
            value: problem.scaled(q.source as usize),
            cost: 0.0,
        };
        let found = queries.iter().map(stay).collect();
        Tree { problem: *problem, trees, queries, rows, features: metrics.len(), found }
    }

    fn query_all(&mut self, price: Price) {
        match price {
            Price::Zero => self.query(ValueFirst),
            Price::At(price) => self.query(Priced(price)),
            Price::Infinite => self.query(CostFirst),
        }
    }

    fn query(&mut self, order: impl Order) {
        let features = self.features;
        let (problem, trees, queries, rows) =
            (&self.problem, &self.trees, &self.queries, &self.rows);
        self.found.par_chunks_mut(CHUNK).enumerate().for_each_init(
            Stack::default,
            |stack, (chunk, found)| {
                for (at, found) in found.iter_mut().enumerate() {
                    let at = chunk * CHUNK + at;
                    let query = queries[at];
                    let x = &rows[at * features..][..features];
                    let value = problem.scaled(query.source as usize);
                    let stay = Best { target: query.source, value, cost: 0.0 };
                    let before = order.key(found.value, found.cost);
                    let known = if better(before, order.key(value, 0.0)) { *found } else { stay };
                    *found = trees[query.tree as usize].best(order, x, known, stack);
                }
            },
        );
    }
}

impl Maxima for Tree<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        self.query_all(price);
        let weights = self.problem.population.weights();
        let [value, cost] = sum::sums(self.found.len(), &|at: usize| {
            let p = weights[self.queries[at].source as usize];
            [p * self.found[at].value, p * self.found[at].cost]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        self.query_all(price);
        let mut targets = vec![0; self.found.len()];
        for (query, found) in self.queries.iter().zip(&self.found) {
            targets[query.place as usize] = found.target;
        }
        targets
    }

    fn sources(&self) -> Vec<u32> {
        self.problem.sources()
    }
}

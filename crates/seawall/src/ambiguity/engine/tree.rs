//! The tree engine: branch and bound over a kd-tree of targets, one for each combination of
//! fixed levels. Each query starts from the target that was best at the previous price.

use super::{Maxima, Problem, Sums, groups};
use crate::kernel::kd_tree::{Best, KdTree, Stack};
use crate::kernel::order::{CostFirst, Order, Price, Priced, ValueFirst, better};
use crate::kernel::{packet, sum};
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
            Price::Zero => self.query(ValueFirst, None),
            Price::At(price) => self.query(Priced(price), Some(price)),
            Price::Infinite => self.query(CostFirst, None),
        }
    }

    /// Asks every query; `price` is given where packets of queries may be used.
    fn query(&mut self, order: impl Order, price: Option<f64>) {
        let features = self.features;
        let (problem, trees, queries, rows) =
            (&self.problem, &self.trees, &self.queries, &self.rows);
        let ask = |stack: &mut Stack, (chunk, found): (usize, &mut [Best])| {
            let mut from = chunk * CHUNK;
            let mut rest = found;
            for queries in queries[from..from + rest.len()].chunk_by(|a, b| a.tree == b.tree) {
                let (found, after) = rest.split_at_mut(queries.len());
                let rows = &rows[from * features..(from + queries.len()) * features];
                for (query, found) in queries.iter().zip(&mut *found) {
                    *found = known(problem, order, query, *found);
                }
                let tree = &trees[queries[0].tree as usize];
                match price.filter(|_| tree.is_plain()) {
                    Some(price) => packet::best_all(tree, price, rows, found),
                    None => {
                        for (at, found) in found.iter_mut().enumerate() {
                            let x = &rows[at * features..][..features];
                            *found = tree.best(order, x, *found, stack);
                        }
                    }
                }
                from += queries.len();
                rest = after;
            }
        };
        self.found.par_chunks_mut(CHUNK).enumerate().for_each_init(Stack::default, ask);
    }
}

/// The better of staying and of what was best at the previous price.
fn known(problem: &Problem<'_>, order: impl Order, query: &Query, before: Best) -> Best {
    let value = problem.scaled(query.source as usize);
    if better(order.key(before.value, before.cost), order.key(value, 0.0)) {
        before
    } else {
        Best { target: query.source, value, cost: 0.0 }
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

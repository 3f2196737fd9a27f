//! The tree engine: branch and bound over a kd-tree of targets, one for each combination of
//! fixed levels. Each query starts from the target that was best at the previous price.

use super::{Engine, EngineKind, InnerMaximizer, Patience, Sums, groups};
use crate::ambiguity::indexed::IndexedPopulation;
use crate::ambiguity::values::ScaledValues;
use crate::kernel::kd_tree::{BestTarget, KdTree, Stack};
use crate::kernel::order::{CostFirst, Order, Price, Priced, ValueFirst, better};
use crate::kernel::{packet, sum};
use crate::population::Population;
use crate::progress::Watch;
use rayon::prelude::*;
use std::sync::Arc;

/// Queries a thread takes at a time.
const CHUNK: usize = 256;

/// The engine.
pub(super) struct TreeEngine {
    population: Population,
    /// A tree for each combination of fixed levels, and its points.
    trees: Vec<(KdTree, Vec<u32>)>,
    /// Queries in the order of their trees, so that neighbours follow each other.
    queries: Vec<Query>,
    /// The queries' coordinates, one row each.
    rows: Vec<f64>,
    features: usize,
}

/// The engine, loaded.
struct TreeMaximizer<'v> {
    engine: Arc<TreeEngine>,
    heights: ScaledValues<'v>,
    trees: Vec<KdTree>,
    found: Vec<BestTarget>,
    patience: Patience<'v>,
}

#[derive(Clone, Copy)]
struct Query {
    tree: u32,
    source: u32,
    /// The place of this source among all sources.
    rank: u32,
}

impl TreeEngine {
    /// Builds the trees.
    pub fn new(indexed: &IndexedPopulation) -> Self {
        let population = indexed.population().clone();
        let (metrics, groups) = groups(population.space());
        let mut rank = vec![u32::MAX; population.space().len()];
        for (at, &i) in indexed.sources().iter().enumerate() {
            rank[i as usize] = at as u32;
        }
        let (mut trees, mut queries, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (t, group) in groups.into_iter().enumerate() {
            let tree = KdTree::new(&metrics, &group.columns, &group.members);
            for &l in tree.order() {
                let source = group.members[l as usize];
                let rank = rank[source as usize];
                if rank != u32::MAX {
                    queries.push(Query { tree: t as u32, source, rank });
                    rows.extend(group.columns.iter().map(|c| c[l as usize]));
                }
            }
            trees.push((tree, group.members));
        }
        TreeEngine { population, trees, queries, rows, features: metrics.len() }
    }
}

impl Engine for TreeEngine {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn kind(&self) -> Option<EngineKind> {
        Some(EngineKind::Tree)
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        watch: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let height = |&i: &u32| heights.at(i as usize);
        let loaded = |(tree, members): &(KdTree, Vec<u32>)| {
            tree.loaded(&members.iter().map(height).collect::<Vec<f64>>())
        };
        let trees = self.trees.iter().map(loaded).collect();
        let stay = |q: &Query| BestTarget { target: q.source, value: height(&q.source), cost: 0.0 };
        let found = self.queries.iter().map(stay).collect();
        // How many points a query looks at is not known; some hundred, as a rule.
        let chunks = self.queries.len().div_ceil(CHUNK);
        let patience = Patience::new(watch, chunks, CHUNK * 256 * self.features.max(1));
        Box::new(TreeMaximizer { engine: self, heights, trees, found, patience })
    }
}

impl TreeMaximizer<'_> {
    fn query_all(&mut self, price: Price) {
        match price {
            Price::Zero => self.query(ValueFirst, None),
            Price::At(price) => self.query(Priced(price), Some(price)),
            Price::Infinite => self.query(CostFirst, None),
        }
    }

    /// Asks every query; `price` is given where packets of queries may be used.
    fn query(&mut self, order: impl Order, price: Option<f64>) {
        let features = self.engine.features;
        let (heights, trees) = (&self.heights, &self.trees);
        let (queries, rows) = (&self.engine.queries, &self.engine.rows);
        self.patience.begin();
        let patience = &self.patience;
        let ask = |stack: &mut Stack, (chunk, found): (usize, &mut [BestTarget])| {
            if !patience.go_on() {
                return;
            }
            let mut from = chunk * CHUNK;
            let mut rest = found;
            for queries in queries[from..from + rest.len()].chunk_by(|a, b| a.tree == b.tree) {
                let (found, after) = rest.split_at_mut(queries.len());
                let rows = &rows[from * features..(from + queries.len()) * features];
                for (query, found) in queries.iter().zip(&mut *found) {
                    *found = known(heights, order, query, *found);
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
fn known(
    heights: &ScaledValues<'_>,
    order: impl Order,
    query: &Query,
    before: BestTarget,
) -> BestTarget {
    let value = heights.at(query.source as usize);
    if better(order.key(before.value, before.cost), order.key(value, 0.0)) {
        before
    } else {
        BestTarget { target: query.source, value, cost: 0.0 }
    }
}

impl InnerMaximizer for TreeMaximizer<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        self.query_all(price);
        let weights = self.engine.population.weights();
        let [value, cost] = sum::sums(self.found.len(), &|at: usize| {
            let p = weights[self.engine.queries[at].source as usize];
            [p * self.found[at].value, p * self.found[at].cost]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        self.query_all(price);
        let mut targets = vec![0; self.found.len()];
        for (query, found) in self.engine.queries.iter().zip(&self.found) {
            targets[query.rank as usize] = found.target;
        }
        targets
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

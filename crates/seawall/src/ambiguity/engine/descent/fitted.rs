//! Forests and boosted trees fitted to drawn rows, to see how much is left open and what it takes.

use crate::kernel::random::Random;
use crate::population::Population;
use crate::space::{Feature, Space};
use crate::steps::{Question, StepNode, StepTree, Terms};
use std::sync::Arc;

/// Rows of numbers, and an outcome of 0 or 1 for each.
pub(super) struct LabelledRows {
    columns: Vec<Vec<f64>>,
    outcomes: Vec<f64>,
}

impl LabelledRows {
    pub fn drawn(random: &mut Random, rows: usize, features: usize) -> Self {
        let columns: Vec<Vec<f64>> =
            (0..features).map(|_| (0..rows).map(|_| random.normal()).collect()).collect();
        let outcome = |i: usize| {
            let x = |k: usize| columns[k % features][i];
            let score = x(0) + 0.7 * x(1) * x(2) + (2.0 * x(3)).sin() - 0.5 * x(4).abs();
            f64::from(random.unit() < 1.0 / (1.0 + (-score).exp()))
        };
        let outcomes = (0..rows).map(outcome).collect();
        LabelledRows { columns, outcomes }
    }

    /// The rows as a population.
    pub fn population(&self) -> Population {
        let rows = self.outcomes.len();
        let features = (0..self.columns.len()).map(|k| Feature::numeric(format!("f{k}")));
        let space = Space::points(features, self.columns.clone()).unwrap();
        Population::from_weights(Arc::new(space), vec![1.0 / rows as f64; rows]).unwrap()
    }

    /// A forest of trees on rows drawn, a third of the features tried at a split.
    pub fn forest(&self, random: &mut Random, scales: &[f64], trees: usize) -> Terms {
        let rows = self.outcomes.len();
        let grown = (0..trees).map(|_| {
            let drawn = (0..rows).map(|_| random.below(rows)).collect();
            let growth = (63, (rows / 63).max(32), self.columns.len().div_ceil(3));
            let (tree, values) = self.grow(random, scales, drawn, &self.outcomes, growth);
            (Arc::new(tree), values.iter().map(|v| v / trees as f64).collect())
        });
        Terms { base: 0.0, trees: grown.collect() }
    }

    /// Boosted trees of depth 3.
    pub fn boosted(&self, random: &mut Random, scales: &[f64], rounds: usize) -> Terms {
        let rows = self.outcomes.len();
        let base = self.outcomes.iter().sum::<f64>() / rows as f64;
        let mut left: Vec<f64> = self.outcomes.iter().map(|y| y - base).collect();
        let mut trees = Vec::new();
        for _ in 0..rounds {
            let all = (0..rows).collect();
            let growth = (3, 20, self.columns.len());
            let (tree, values) = self.grow(random, scales, all, &left, growth);
            let values: Vec<f64> = values.iter().map(|v| 0.1 * v).collect();
            for (i, residual) in left.iter_mut().enumerate() {
                *residual -= values[self.leaf(&tree, scales, i)];
            }
            trees.push((Arc::new(tree), values.into()));
        }
        Terms { base, trees }
    }

    fn leaf(&self, tree: &StepTree, scales: &[f64], row: usize) -> usize {
        let mut at = 0;
        loop {
            match &tree.nodes[at as usize] {
                StepNode::Leaf(leaf) => return *leaf as usize,
                StepNode::Split { feature, question: Question::AtMost(t), yes, no } => {
                    let x = self.columns[*feature][row] * scales[*feature];
                    at = if x <= *t { *yes } else { *no };
                }
                StepNode::Split { .. } => unreachable!(),
            }
        }
    }

    /// A tree by squared error: `(depth, rows in a leaf, features tried)`.
    fn grow(
        &self,
        random: &mut Random,
        scales: &[f64],
        rows: Vec<usize>,
        values: &[f64],
        (depth, least, tried): (usize, usize, usize),
    ) -> (StepTree, Vec<f64>) {
        let mut nodes = vec![StepNode::Leaf(0)];
        let mut means = Vec::new();
        let mut open = vec![(0usize, rows, depth)];
        while let Some((at, rows, depth)) = open.pop() {
            let total: f64 = rows.iter().map(|&i| values[i]).sum();
            let mut best: Option<(f64, usize, f64)> = None;
            if depth > 0 && rows.len() >= 2 * least {
                let mut features: Vec<usize> = (0..self.columns.len()).collect();
                for place in 0..tried {
                    let other = place + random.below(features.len() - place);
                    features.swap(place, other);
                    let k = features[place];
                    let mut order = rows.clone();
                    order.sort_by(|&a, &b| self.columns[k][a].total_cmp(&self.columns[k][b]));
                    let mut sum = 0.0;
                    for cut in 1..order.len() {
                        sum += values[order[cut - 1]];
                        let (x, y) = (self.columns[k][order[cut - 1]], self.columns[k][order[cut]]);
                        if cut < least || order.len() - cut < least || x == y {
                            continue;
                        }
                        let (left, right) = (cut as f64, (order.len() - cut) as f64);
                        let gain = sum * sum / left + (total - sum) * (total - sum) / right;
                        if best.is_none_or(|(known, ..)| gain > known) {
                            best = Some((gain, k, 0.5 * (x + y)));
                        }
                    }
                }
            }
            let nothing = total * total / rows.len() as f64;
            let Some((_, k, t)) = best.filter(|b| b.0 > nothing * (1.0 + 1e-9) + 1e-12) else {
                nodes[at] = StepNode::Leaf(means.len() as u32);
                means.push(total / rows.len() as f64);
                continue;
            };
            let (low, high): (Vec<usize>, Vec<usize>) =
                rows.into_iter().partition(|&i| self.columns[k][i] <= t);
            let (yes, no) = (nodes.len() as u32, nodes.len() as u32 + 1);
            nodes.extend([StepNode::Leaf(0), StepNode::Leaf(0)]);
            let question = Question::AtMost(t * scales[k]);
            nodes[at] = StepNode::Split { feature: k, question, yes, no };
            open.extend([(yes as usize, low, depth - 1), (no as usize, high, depth - 1)]);
        }
        (StepTree { nodes }, means)
    }
}

//! What a model has smoothed away: main effects that are left in its residuals.
//!
//! A model that smooths is too low where costs are highest, and a worst case on its values with it.
//! Residuals of the rows that it was fitted to still hold what it did not take; by action, and with
//! `s_j(x)` the step of feature j that a context is on,
//!
//! ```text
//! ρ(x, a) = Σ_j f_j(s_j(x)),   minimising  Σ_i w_i (y_i − m(x_i, a) − ρ(x_i, a))² + κ Σ_j Σ_s f_j(s)²
//! ```
//!
//! with κ one row. `m + ρ` is the model under-smoothed: nearer to the truth where it has smoothed,
//! and noisier, which a worst case only raises. It serves upper limits and nothing else. Interactions
//! that the model did not take are not in it.

use super::{Everywhere, Values};
use crate::error::Result;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::space::{Ranks, Space};
use crate::steps::{Question, StepNode, StepTree, Terms};
use rayon::prelude::*;
use std::sync::Arc;

/// Steps of a feature at most.
const STEPS: usize = 12;
/// How many rows of no effect each step is given.
const ROWS: f64 = 1.0;
/// Sweeps over the features at most, and the change relative to the outcomes' range that ends them.
const SWEEPS: usize = 50;
const CHANGE: f64 = 1e-6;

/// What is left in a model's residuals, by context and action.
#[derive(Clone, Debug)]
pub struct LeftOver {
    matrix: Matrix,
    /// The same as sums of steps.
    everywhere: Arc<Everywhere>,
    /// The least and the largest outcome.
    range: (f64, f64),
}

impl LeftOver {
    /// Of a model's plain means.
    pub fn new(log: &Log, plain: &Values) -> Result<Self> {
        log.contexts().same_as(plain.space())?;
        let features = (0..log.contexts().names().len()).into_par_iter();
        let steps: Vec<Steps> = features.map(|k| Steps::new(log, k)).collect();
        let ends = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
        let range = log.values().iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let of = |action| effects(log, plain, action, &steps, range.1 - range.0);
        let actions = (0..log.actions().len()).into_par_iter();
        let effects: Vec<Vec<Vec<f64>>> = actions.map(of).collect();
        let left = |context: usize, action: usize| {
            let parts = steps.iter().zip(&effects[action]);
            parts.map(|(s, f)| f[s.of[context] as usize]).sum()
        };
        let matrix = Matrix::from_fn(plain.contexts(), plain.actions(), left);
        let trees: Vec<Arc<StepTree>> = steps.into_iter().map(|s| Arc::new(s.tree)).collect();
        let everywhere = Everywhere::new(move || {
            let of = |effects: &Vec<Vec<f64>>| {
                // A level that nobody has adds nothing.
                let values = effects.iter().map(|f| f.iter().copied().chain([0.0]).collect());
                Terms { base: 0.0, trees: trees.iter().cloned().zip(values).collect() }
            };
            effects.iter().map(of).collect()
        });
        Ok(LeftOver { matrix, everywhere, range })
    }

    /// Values with what is left added back, within the range of the outcomes.
    pub fn added_to(&self, values: &Values) -> Values {
        let (low, high) = self.range;
        let value = |context: usize, action: usize| {
            let own = values.at(context, action);
            // Values that were beyond the outcomes already stay where they are.
            (own + self.matrix.at(context, action)).clamp(low.min(own), high.max(own))
        };
        let matrix = Matrix::from_fn(values.contexts(), values.actions(), value);
        Values { matrix, everywhere: None, ..values.clone() }
    }

    /// What is left, by itself.
    pub fn alone(&self, values: &Values) -> Values {
        let (matrix, everywhere) = (self.matrix.clone(), Some(self.everywhere.clone()));
        Values { matrix, everywhere, slack: 0.0, smoothing: 0.0, ..values.clone() }
    }
}

/// Which step of a feature each context is on.
struct Steps {
    of: Vec<u8>,
    count: usize,
    /// The same for every place.
    tree: StepTree,
}

impl Steps {
    /// Each level a step; where there are many, neighbours together so that steps have about equally
    /// many rows.
    fn new(log: &Log, feature: usize) -> Self {
        let space: &Space = log.contexts();
        let Ranks { of: ranks, count } = space.ranks(feature);
        let mut rows = vec![0.0; count];
        log.entries().iter().for_each(|e| rows[ranks[e.context as usize] as usize] += e.weight);
        let few = count <= STEPS;
        let (mut so_far, mut step_of) = (0.0, Vec::with_capacity(count));
        for (level, rows) in rows.iter().enumerate() {
            let quantile = ((so_far + 0.5 * rows) / log.total() * STEPS as f64) as usize;
            step_of.push(if few { level } else { quantile.min(STEPS - 1) } as u8);
            so_far += rows;
        }
        let of = ranks.iter().map(|rank| step_of[*rank as usize]).collect();
        let mut levels = vec![f64::NAN; count];
        ranks.iter().enumerate().for_each(|(x, r)| levels[*r as usize] = space.code(x, feature));
        let count = if few { count } else { STEPS };
        Steps { of, count, tree: step_tree(space, feature, count, &levels, &step_of) }
    }
}

/// The steps as a tree, given the codes that contexts have in order and the step of each; numbers
/// between two of them are on the lower one up to the middle, and a level that nobody has is on a
/// step after the last.
fn step_tree(
    space: &Space,
    feature: usize,
    steps: usize,
    levels: &[f64],
    step_of: &[u8],
) -> StepTree {
    let mut nodes = Vec::new();
    let split = |question: Question, at: usize| StepNode::Split {
        feature,
        question,
        yes: at as u32 + 1,
        no: at as u32 + 2,
    };
    let count = space.levels(feature).len();
    if count > 0 {
        for step in 0..steps as u32 {
            let mut own = vec![false; count];
            let levels = levels.iter().zip(step_of);
            levels.filter(|l| u32::from(*l.1) == step).for_each(|l| own[*l.0 as usize] = true);
            nodes.push(split(Question::levels(count, |l| own[l]), nodes.len()));
            nodes.push(StepNode::Leaf(step));
        }
        nodes.push(StepNode::Leaf(steps as u32));
        return StepTree { nodes };
    }
    let present = levels.iter().take_while(|l| !l.is_nan()).count();
    let step = |level: usize| step_of.get(level).map_or(steps as u32, |step| u32::from(*step));
    nodes.extend([split(Question::IsMissing, 0), StepNode::Leaf(step(present))]);
    for k in 1..present {
        if step_of[k] != step_of[k - 1] {
            let middle = 0.5 * levels[k - 1] + 0.5 * levels[k];
            let question = Question::AtMost(middle * space.scale(feature));
            nodes.push(split(question, nodes.len()));
            nodes.push(StepNode::Leaf(step(k - 1)));
        }
    }
    let last = present.checked_sub(1).map_or(steps as u32, step);
    nodes.push(StepNode::Leaf(last));
    StepTree { nodes }
}

/// The effects of one action's steps, feature by feature, by sweeping over the features.
fn effects(
    log: &Log,
    values: &Values,
    action: usize,
    steps: &[Steps],
    range: f64,
) -> Vec<Vec<f64>> {
    let mut effects: Vec<Vec<f64>> = steps.iter().map(|s| vec![0.0; s.count]).collect();
    let (contexts, mut cells) = residuals(log, values, action);
    // The cells' own steps side by side: every sweep goes through them all.
    let own_steps = |s: &Steps| contexts.iter().map(|x| s.of[*x]).collect::<Vec<u8>>();
    let of: Vec<Vec<u8>> = steps.iter().map(own_steps).collect();
    for _ in 0..SWEEPS {
        let mut most = 0.0f64;
        for (of, own) in of.iter().zip(&mut effects) {
            let mut sums = vec![(ROWS, 0.0); own.len()];
            for (step, (rows, left)) in of.iter().zip(&cells) {
                let sum = &mut sums[*step as usize];
                (sum.0, sum.1) = (sum.0 + rows, sum.1 + left);
            }
            // What is left of a step with its own effect put back.
            let fresh: Vec<f64> =
                sums.iter().zip(&*own).map(|((n, sum), f)| (sum + (n - ROWS) * f) / n).collect();
            let change: Vec<f64> = fresh.iter().zip(&*own).map(|(g, f)| g - f).collect();
            for (step, (rows, left)) in of.iter().zip(&mut cells) {
                *left -= *rows * change[*step as usize];
            }
            change.iter().for_each(|change| most = most.max(change.abs()));
            *own = fresh;
        }
        if most <= CHANGE * range {
            break;
        }
    }
    effects
}

/// The contexts of an action's rows, and each one's rows and what is left of them.
fn residuals(log: &Log, values: &Values, action: usize) -> (Vec<usize>, Vec<(f64, f64)>) {
    let (mut contexts, mut cells): (Vec<usize>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    for e in log.entries().iter().filter(|e| e.action as usize == action) {
        let context = e.context as usize;
        let left = e.weight * (log.value(e) - values.at(context, action));
        match cells.last_mut() {
            Some(cell) if contexts.last() == Some(&context) => {
                *cell = (cell.0 + e.weight, cell.1 + left);
            }
            _ => {
                contexts.push(context);
                cells.push((e.weight, left));
            }
        }
    }
    (contexts, cells)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ambiguity::Direction;
    use crate::kernel::random::Random;
    use crate::log::Entry;
    use crate::space::Feature;
    use std::sync::Arc;

    /// The slow, obvious version: each code is searched for among the different ones.
    fn by_search(log: &Log, feature: usize) -> Vec<u8> {
        let space: &Space = log.contexts();
        let code = |x: usize| space.code(x, feature);
        let mut levels: Vec<f64> = (0..space.len()).map(code).collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let place = |c: f64| levels.iter().position(|l| l.total_cmp(&c).is_eq()).unwrap();
        let mut rows = vec![0.0; levels.len()];
        log.entries().iter().for_each(|e| rows[place(code(e.context as usize))] += e.weight);
        let (mut so_far, mut step_of) = (0.0, Vec::new());
        for (level, rows) in rows.iter().enumerate() {
            let quantile = ((so_far + 0.5 * rows) / log.total() * STEPS as f64) as usize;
            step_of.push(if levels.len() <= STEPS { level } else { quantile.min(STEPS - 1) } as u8);
            so_far += rows;
        }
        (0..space.len()).map(|x| step_of[place(code(x))]).collect()
    }

    #[test]
    fn steps_are_those_of_a_search() {
        let mut random = Random::new(15, 5);
        for _ in 0..60 {
            let count = 5 + random.below(400);
            let mut column = |of: &dyn Fn(&mut Random) -> f64| -> Vec<f64> {
                (0..count).map(|_| of(&mut random)).collect()
            };
            let columns = vec![
                column(&|r| r.normal()),
                column(&|r| (3.0 * r.normal()).round()),
                column(&|r| [0.0, -0.0, f64::NAN, r.unit()][r.below(4)]),
                column(&|r| r.below(3) as f64),
                column(&|r| r.below(30) as f64),
            ];
            let names = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
            let mut features: Vec<Feature> = ["a", "b", "c"].map(Feature::numeric).to_vec();
            features.push(Feature::nominal("d", names(4)));
            features.push(Feature::ordinal("e", names(31)));
            let space = Arc::new(Space::points(features, columns).unwrap());
            let entry = |_| {
                let context = random.below(count) as u32;
                Entry { context, weight: random.unit() + 0.01, ..Entry::default() }
            };
            let entries: Vec<Entry> = (0..2 * count).map(entry).collect();
            let outcomes = Space::grid([Feature::numeric("y").levels([0.0])]).unwrap();
            let (outcomes, names) = (Arc::new(outcomes), vec!["a".to_owned()]);
            let log =
                Log::new(space, names, outcomes, vec![0.0], Direction::Cost, entries).unwrap();
            for feature in 0..5 {
                assert_eq!(Steps::new(&log, feature).of, by_search(&log, feature), "{feature}");
            }
        }
    }
}

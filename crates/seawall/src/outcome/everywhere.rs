//! Models as sums of steps, which say what an action costs anywhere in a space, listed or not.
//!
//! Trees, forests, boosted trees and additive models are made of steps along one feature at a time;
//! cells and predictions are known where they are listed and nowhere else.

use super::axes::{Axes, Axis};
use super::cut::Cut;
use super::grower::Grown;
use super::tree::Tree;
use crate::space::Space;
use crate::steps::{Question, StepNode, StepTree, Terms};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Every action's sum of steps, made when it is first asked for.
pub(crate) struct Everywhere {
    make: Box<dyn Fn() -> Vec<Terms> + Send + Sync>,
    made: OnceLock<Vec<Terms>>,
}

impl Everywhere {
    pub(super) fn new(make: impl Fn() -> Vec<Terms> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Everywhere { make: Box::new(make), made: OnceLock::new() })
    }

    /// Every action's sum of steps.
    pub(crate) fn terms(&self) -> &[Terms] {
        self.made.get_or_init(|| (self.make)())
    }
}

impl fmt::Debug for Everywhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Everywhere")
    }
}

/// One value everywhere.
pub(super) fn constant(value: f64) -> Terms {
    Terms { base: value, trees: Vec::new() }
}

/// A regression tree's steps, its leaves numbered as `leaf` says of its nodes.
pub(super) fn of_tree(space: &Space, tree: &Tree, leaf: impl Fn(usize) -> u32) -> StepTree {
    let node = |at: usize| match tree.split(at) {
        None => StepNode::Leaf(leaf(at)),
        Some(split) => {
            let (feature, coords) = (split.feature, space.coords(split.feature));
            let question = match &split.cut {
                Cut::AtMost(t) if coords.is_empty() => Question::AtMost(*t),
                Cut::AtMost(t) => Question::levels(coords.len(), |l| coords[l] <= *t),
                Cut::Levels(levels) => {
                    let mut left = vec![false; coords.len()];
                    levels.iter().for_each(|l| left[*l as usize] = true);
                    Question::levels(coords.len(), |l| left[l])
                }
            };
            StepNode::Split { feature, question, yes: split.left as u32, no: split.right as u32 }
        }
    };
    StepTree { nodes: (0..tree.len()).map(node).collect() }
}

/// A grown tree's steps; a leaf has the number of its node.
pub(super) fn of_grown(axes: &Axes, tree: &Grown) -> StepTree {
    let node = |at: usize| match tree.split(at) {
        None => StepNode::Leaf(at as u32),
        Some(split) => {
            let feature = split.feature();
            let axis = &axes.axes[feature];
            let left = |number: u32| tree.goes_left(split, number);
            let question = match axis.levels() {
                0 => {
                    // In order: as many numbers go left as there are before the first that does not.
                    let last = (0..axis.count as u32).take_while(|n| left(*n)).count();
                    Question::AtMost(axis.boundary(last))
                }
                count => Question::levels(count, |l| left(axis.number(l as u32))),
            };
            let yes = split.left() as u32;
            StepNode::Split { feature, question, yes, no: yes + 1 }
        }
    };
    StepTree { nodes: (0..tree.nodes.len()).map(node).collect() }
}

/// The steps of one feature, `step_of` saying the step of each of its numbers on an axis.
pub(super) fn of_axis(axis: &Axis, feature: usize, step_of: &[u32]) -> StepTree {
    let mut tree = StepTree { nodes: Vec::new() };
    if axis.levels() > 0 {
        let mut steps = step_of.to_vec();
        steps.sort_unstable();
        steps.dedup();
        let number = |l: usize| step_of[axis.number(l as u32) as usize];
        by_halves(&mut tree, &steps, &|below: &[u32]| {
            let question =
                Question::levels(axis.levels(), |l| below.binary_search(&number(l)).is_ok());
            (feature, question)
        });
        return tree;
    }
    let present = axis.count - 1;
    let root = StepNode::Split { feature, question: Question::IsMissing, yes: 1, no: 2 };
    tree.nodes.extend([root, StepNode::Leaf(step_of[present])]);
    let mut steps = step_of[..present].to_vec();
    steps.dedup();
    by_halves(&mut tree, &steps, &|below: &[u32]| {
        let last = below.last().copied().unwrap_or(0);
        let count = step_of[..present].iter().take_while(|s| **s <= last).count();
        (feature, Question::AtMost(axis.boundary(count)))
    });
    tree
}

/// Adds a tree that tells steps apart, half of them at a time; `question` is whether a place is on
/// one of the lower ones.
fn by_halves(
    tree: &mut StepTree,
    steps: &[u32],
    question: &dyn Fn(&[u32]) -> (usize, Question),
) -> u32 {
    let at = tree.nodes.len();
    tree.nodes.push(StepNode::Leaf(steps.first().copied().unwrap_or(0)));
    if steps.len() > 1 {
        let (below, above) = steps.split_at(steps.len() / 2);
        let (feature, question_here) = question(below);
        let yes = by_halves(tree, below, question);
        let no = by_halves(tree, above, question);
        tree.nodes[at] = StepNode::Split { feature, question: question_here, yes, no };
    }
    at as u32
}

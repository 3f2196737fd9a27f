//! Leaves: contexts that share their empirical outcomes under one action.

use super::everywhere::{Everywhere, constant, of_tree};
use super::leaf::{Leaf, NONE};
use super::tree::Tree;
use super::{Side, Values};
use crate::ambiguity::{Settings, Shift};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::space::Space;
use crate::steps::Terms;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which leaf each context is in under each action.
#[derive(Clone, Debug)]
pub struct Leaves {
    /// Where the log's contexts and outcomes are.
    pub(super) contexts: Arc<Space>,
    pub(super) outcomes: Arc<Space>,
    /// `[action · contexts + context]`, `NONE` where the action was never seen.
    pub(super) leaf_of: Vec<u32>,
    pub(super) leaves: Vec<Leaf>,
    /// The trees, one per action, if that is where the leaves come from, and the leaf of each of
    /// their nodes.
    pub(super) trees: Vec<Tree>,
    pub(super) leaf_of_node: Vec<Vec<u32>>,
}

impl Leaves {
    /// The leaves' values as steps of their trees, if there are trees.
    fn everywhere(&self, found: &[(f64, f64)], fill: &[f64]) -> Option<Arc<Everywhere>> {
        if self.trees.is_empty() {
            return None;
        }
        let values: Arc<[f64]> = found.iter().map(|v| v.0).collect();
        let (space, trees) = (self.contexts.clone(), self.trees.clone());
        let (numbers, fill) = (self.leaf_of_node.clone(), fill.to_vec());
        Some(Everywhere::new(move || {
            let each = trees.iter().zip(&numbers).zip(&fill);
            each.map(|((tree, numbers), fill)| {
                if tree.is_empty() {
                    constant(*fill)
                } else {
                    let steps = of_tree(&space, tree, |node| numbers[node]);
                    Terms { base: 0.0, trees: vec![(Arc::new(steps), values.clone())] }
                }
            })
            .collect()
        }))
    }

    /// The index in [`all`](Self::all) of a context's leaf, if the action was seen there.
    pub fn leaf_of(&self, context: usize, action: usize) -> Option<usize> {
        let leaf = self.leaf_of[action * self.contexts.len() + context];
        (leaf != NONE).then_some(leaf as usize)
    }

    /// Every leaf.
    pub fn all(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The regression trees, one per action; none if the leaves are cells.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Refuses another log than that of the leaves, by the feature in which it differs.
    pub(super) fn check_against(&self, log: &Log) -> Result<()> {
        self.contexts.same_as(log.contexts()).map_err(|e| e.within("contexts of another log"))?;
        self.outcomes.same_as(log.outcomes()).map_err(|e| e.within("outcomes of another log"))?;
        let (found, actions) = (self.leaf_of.len() / self.contexts.len(), log.actions().len());
        if found == actions {
            Ok(())
        } else {
            Err(Error::input(format!("a model of {found} actions for a log of {actions}")))
        }
    }

    pub(super) fn unseen(&self) -> Vec<usize> {
        let row = |row: &[u32]| row.iter().filter(|&&leaf| leaf == NONE).count();
        self.leaf_of.chunks(self.contexts.len()).map(row).collect()
    }

    pub(super) fn values(
        &self,
        log: &Log,
        costs: Shift,
        side: Side,
        fill: &[f64],
        settings: Settings<'_>,
    ) -> Result<Values> {
        let done = AtomicUsize::new(0);
        let progress = || Progress::at(Stage::Outcomes).out_of(self.leaves.len());
        let quiet =
            |_: Progress<'_>| settings.watch.go_on(progress().done(done.load(Ordering::Relaxed)));
        let inner = settings.watched(Watch::new(&quiet));
        let worst = |leaf: &Leaf| {
            settings.watch.tell(progress().done(done.fetch_add(1, Ordering::Relaxed)))?;
            leaf.extreme(log, costs, side, inner)
        };
        let found: Vec<(f64, f64)> = self.leaves.par_iter().map(worst).collect::<Result<_>>()?;
        settings.watch.tell(progress().done(self.leaves.len()))?;
        let value = |context: usize, action: usize| {
            let leaf = self.leaf_of[action * self.contexts.len() + context];
            found.get(leaf as usize).map_or(fill[action], |v| v.0)
        };
        let matrix = Matrix::from_fn(self.contexts.len(), fill.len(), value);
        let slack = found.iter().map(|v| v.1).fold(0.0, f64::max);
        let everywhere = self.everywhere(&found, fill);
        let smoothing = costs.set.smoothing(log.outcomes().len());
        Ok(Values { slack, smoothing, everywhere, ..Values::new(log.contexts(), matrix)? })
    }
}

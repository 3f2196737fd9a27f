//! Every context and action a leaf of its own.

use super::leaf::{Leaf, NONE};
use super::leaves::Leaves;
use crate::log::Log;

/// The model that shares nothing: a leaf is what was seen of one action in one context.
pub fn cells(log: &Log) -> Leaves {
    let (contexts, actions) = (log.contexts().len(), log.actions().len());
    let mut leaf_of = vec![NONE; contexts * actions];
    let mut leaves = Vec::new();
    // Entries are in order of context and action.
    for group in log.entries().chunk_by(|a, b| (a.context, a.action) == (b.context, b.action)) {
        let (context, action) = (group[0].context as usize, group[0].action as usize);
        leaf_of[action * contexts + context] = leaves.len() as u32;
        leaves.push(Leaf::new(action, group.iter().map(|e| (e.outcome, e.weight))));
    }
    let (contexts, outcomes) = (log.contexts().clone(), log.outcomes().clone());
    let (trees, leaf_of_node) = (Vec::new(), Vec::new());
    Leaves { contexts, outcomes, leaf_of, leaves, trees, leaf_of_node }
}

//! The leaves of regression trees, one tree per action, with the outcomes in them.

use super::leaf::{Leaf, NONE};
use super::leaves::Leaves;
use super::tree::{Tree, TreeSettings, fitted};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::progress::{Progress, Stage, Watch};

/// Fits a tree per action; `settings` has one entry per action.
pub fn tree(log: &Log, settings: &[TreeSettings], watch: Watch<'_>) -> Result<Leaves> {
    let (space, contexts) = (log.contexts(), log.contexts().len());
    if settings.len() != log.actions().len() {
        return Err(Error::config(format!(
            "{} tree settings for {} actions",
            settings.len(),
            log.actions().len()
        )));
    }
    let mut leaf_of = vec![NONE; contexts * settings.len()];
    let (mut leaves, mut trees, mut leaf_of_node) = (Vec::new(), Vec::new(), Vec::new());
    for (action, settings) in settings.iter().enumerate() {
        watch.tell(Progress::at(Stage::Fitting).done(action).out_of(log.actions().len()))?;
        let Some(tree) = fitted(log, action, settings, watch)? else {
            trees.push(Tree::empty());
            leaf_of_node.push(Vec::new());
            continue;
        };
        // The tree's leaves, numbered as they are met, then their outcomes.
        let row = &mut leaf_of[action * contexts..][..contexts];
        let mut number = vec![NONE; tree.len()];
        let first = leaves.len();
        let mut count = first;
        for (context, leaf) in row.iter_mut().enumerate() {
            let node = tree.leaf(space, context);
            if number[node] == NONE {
                number[node] = count as u32;
                count += 1;
            }
            *leaf = number[node];
        }
        let mut seen = vec![Vec::new(); count - first];
        for e in log.entries().iter().filter(|e| e.action as usize == action) {
            seen[row[e.context as usize] as usize - first].push((e.outcome, e.weight));
        }
        leaves.extend(seen.into_iter().map(|outcomes| Leaf::new(action, outcomes.into_iter())));
        trees.push(tree);
        leaf_of_node.push(number);
    }
    let (contexts, outcomes) = (space.clone(), log.outcomes().clone());
    Ok(Leaves { contexts, outcomes, leaf_of, leaves, trees, leaf_of_node })
}

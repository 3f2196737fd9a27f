//! How a model cuts contexts into leaves: once for cells and trees, once by every tree of a forest.
//!
//! A leaf's rows are its outcomes, so what a model says of an action's *distribution* of outcomes in a
//! context is the average over its cuttings of the rows in the context's leaf. Models that give values
//! only have no cuttings.

use super::Model;

impl Model {
    /// How often the contexts are cut into leaves under an action: 0 where it has no rows, or the model
    /// keeps no outcomes.
    pub(crate) fn cuttings(&self, action: usize) -> usize {
        match self {
            Model::Leaves(_) => 1,
            Model::Forest(forest) => forest.trees(action),
            _ => 0,
        }
    }

    /// A context's leaf in a cutting, if the action was seen there.
    pub(crate) fn leaf_in(&self, cutting: usize, context: usize, action: usize) -> Option<usize> {
        match self {
            Model::Leaves(leaves) => leaves.leaf_of(context, action),
            Model::Forest(forest) => Some(forest.leaf(cutting, context, action)),
            _ => None,
        }
    }

    /// Leaves are numbered below this.
    pub(crate) fn leaves_in(&self, cutting: usize, action: usize) -> usize {
        match self {
            Model::Leaves(leaves) => leaves.all().len(),
            Model::Forest(forest) => forest.nodes(cutting, action),
            _ => 0,
        }
    }
}

//! Trees of questions about one feature at a time, with numbered leaves.

use super::Extent;
use std::sync::Arc;

/// A question about a feature's value, as a coordinate or a level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Question {
    /// Is the number at most this? No if it is missing.
    AtMost(f64),
    /// Is the number missing?
    IsMissing,
    /// Is the level one of those whose bits are set?
    Levels(Arc<[u64]>),
}

impl Question {
    /// Is the level one that fits?
    pub fn levels(count: usize, fits: impl Fn(usize) -> bool) -> Self {
        let mut words = vec![0u64; count.div_ceil(64)];
        (0..count).filter(|l| fits(*l)).for_each(|l| words[l / 64] |= 1 << (l % 64));
        Question::Levels(words.into())
    }

    /// The answer at a code of the feature.
    pub fn holds(&self, extent: &Extent, feature: usize, code: f64) -> bool {
        match self {
            Question::AtMost(t) => code * extent.scales[feature] <= *t,
            Question::IsMissing => code.is_nan(),
            Question::Levels(words) => {
                let level = code as usize;
                words.get(level / 64).is_some_and(|w| w >> (level % 64) & 1 == 1)
            }
        }
    }
}

/// A node of a tree; node 0 is the root.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepNode {
    /// A numbered leaf.
    Leaf(u32),
    /// A question about a feature, and the nodes for yes and no.
    Split { feature: usize, question: Question, yes: u32, no: u32 },
}

/// A tree of questions. Branches may share nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepTree {
    /// The nodes; the first is the root.
    pub nodes: Vec<StepNode>,
}

impl StepTree {
    /// One leaf.
    pub fn leaf() -> Self {
        StepTree { nodes: vec![StepNode::Leaf(0)] }
    }

    /// The leaf of a place given by its features' codes.
    pub fn leaf_of(&self, extent: &Extent, code: impl Fn(usize) -> f64) -> u32 {
        let mut at = 0;
        loop {
            match &self.nodes[at as usize] {
                StepNode::Leaf(leaf) => return *leaf,
                StepNode::Split { feature, question, yes, no } => {
                    let holds = question.holds(extent, *feature, code(*feature));
                    at = if holds { *yes } else { *no };
                }
            }
        }
    }

    /// How many leaves are numbered.
    pub fn leaf_count(&self) -> usize {
        let label = |n: &StepNode| if let StepNode::Leaf(l) = n { *l as usize + 1 } else { 0 };
        self.nodes.iter().map(label).max().unwrap_or(0)
    }

    /// The one feature that is asked about, if there is no more than one: None within if none is.
    pub fn only_feature(&self) -> Option<Option<usize>> {
        let mut found = None;
        for node in &self.nodes {
            if let StepNode::Split { feature, .. } = node {
                match found {
                    None => found = Some(*feature),
                    Some(other) if other != *feature => return None,
                    Some(_) => {}
                }
            }
        }
        Some(found)
    }

    /// A tree whose leaves are pairs of two trees' leaves, and these pairs.
    pub fn paired(&self, other: &StepTree) -> (StepTree, Vec<(u32, u32)>) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut nodes = self.nodes.clone();
        for at in 0..self.nodes.len() {
            let StepNode::Leaf(own) = self.nodes[at] else { continue };
            // The other tree goes where the leaf was.
            let shift = nodes.len() as u32;
            let moved = |node: u32| if node == 0 { at as u32 } else { shift + node - 1 };
            for (k, node) in other.nodes.iter().enumerate() {
                let node = match node {
                    StepNode::Leaf(leaf) => {
                        let pair = (own, *leaf);
                        let number = pairs.iter().position(|p| *p == pair).unwrap_or(pairs.len());
                        if number == pairs.len() {
                            pairs.push(pair);
                        }
                        StepNode::Leaf(number as u32)
                    }
                    StepNode::Split { feature, question, yes, no } => StepNode::Split {
                        feature: *feature,
                        question: question.clone(),
                        yes: moved(*yes),
                        no: moved(*no),
                    },
                };
                if k == 0 { nodes[at] = node } else { nodes.push(node) }
            }
        }
        (StepTree { nodes }, pairs)
    }
}

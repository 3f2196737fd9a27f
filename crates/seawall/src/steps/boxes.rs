//! The boxes on which a step function is constant: the common refinement of its trees.
//!
//! The trees are descended one within the other: under each leaf of the first those of the second
//! that meet it, and so on. A box that holds nothing is left as soon as it is met.

use super::function::{StepFunction, Weighed, combined};
use super::{Extent, Sides, StepNode, StepTree};

/// Nodes visited for a list, at most, for each box that it may have.
const VISITS: usize = 64;

/// The boxes of a function, its values there, and the sides that they have.
#[derive(Clone, Debug)]
pub(crate) struct BoxList {
    /// All sides.
    pub sides: Sides,
    /// Where each box's sides begin, and where the last one's end.
    starts: Vec<u32>,
    /// The sides that do not hold everything, box by box.
    cuts: Vec<u32>,
    /// The function's value in each box.
    pub values: Vec<f64>,
}

impl BoxList {
    /// How many boxes there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// A box's sides that do not hold everything.
    pub fn sides_of(&self, index: usize) -> &[u32] {
        &self.cuts[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// The features that some box does not hold everything of.
    pub fn features(&self) -> Vec<usize> {
        let mut found: Vec<usize> =
            self.cuts.iter().map(|&side| self.sides.all[side as usize].0).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The boxes of a function; None if there are more than `most`, or it takes long to see that.
pub(crate) fn list(extent: &Extent, function: &StepFunction, most: usize) -> Option<BoxList> {
    let mut first = function.policy.nodes.len() as u32;
    let mut firsts = Vec::new();
    for terms in &function.terms {
        let mut of_term = Vec::new();
        for (tree, _) in &terms.trees {
            of_term.push(first);
            first += tree.nodes.len() as u32;
        }
        firsts.push(of_term);
    }
    let sides = Sides::new(extent);
    let box_list =
        BoxList { sides: sides.clone(), starts: vec![0], cuts: Vec::new(), values: Vec::new() };
    let sums = function.terms.iter().map(|t| t.base).collect();
    let mut lister = Lister {
        function,
        firsts,
        most,
        visits: most.saturating_mul(VISITS),
        at: sides.whole.clone(),
        found: box_list,
        sums,
    };
    lister.policy(0)?;
    Some(lister.found)
}

struct Lister<'f> {
    function: &'f StepFunction,
    /// The number of each tree's first question.
    firsts: Vec<Vec<u32>>,
    most: usize,
    visits: usize,
    /// The side of each feature on the way down.
    at: Vec<u32>,
    /// The sum of each term on the way down.
    sums: Vec<f64>,
    found: BoxList,
}

impl<'f> Lister<'f> {
    /// Descends the policy's tree, and at its leaves the others.
    fn policy(&mut self, node: u32) -> Option<()> {
        let function = self.function;
        match &function.policy.nodes[node as usize] {
            StepNode::Leaf(leaf) => {
                let row = &function.rows[*leaf as usize];
                let trees: Vec<(usize, usize)> = row
                    .iter()
                    .flat_map(|w| (0..function.terms[w.terms].trees.len()).map(|t| (w.terms, t)))
                    .collect();
                self.next(row, &trees)
            }
            split => self.split(split, node, &mut |lister, child| lister.policy(child)),
        }
    }

    /// Descends the first of the trees that are left; a box is found where none is.
    fn next(&mut self, row: &'f [Weighed], trees: &[(usize, usize)]) -> Option<()> {
        let Some((&(terms, which), others)) = trees.split_first() else {
            return self.emit(row);
        };
        let function = self.function;
        let (tree, first) = (&*function.terms[terms].trees[which].0, self.firsts[terms][which]);
        self.descend((tree, first), 0, (terms, which), row, others)
    }

    fn descend(
        &mut self,
        (tree, first): (&'f StepTree, u32),
        node: u32,
        (terms, which): (usize, usize),
        row: &'f [Weighed],
        others: &[(usize, usize)],
    ) -> Option<()> {
        match &tree.nodes[node as usize] {
            StepNode::Leaf(leaf) => {
                let before = self.sums[terms];
                self.sums[terms] += self.function.terms[terms].trees[which].1[*leaf as usize];
                let done = self.next(row, others);
                self.sums[terms] = before;
                done
            }
            split => self.split(split, first + node, &mut |lister, child| {
                lister.descend((tree, first), child, (terms, which), row, others)
            }),
        }
    }

    /// Goes to both sides of a split, as far as the box has them.
    fn split(
        &mut self,
        split: &StepNode,
        number: u32,
        go: &mut dyn FnMut(&mut Self, u32) -> Option<()>,
    ) -> Option<()> {
        let StepNode::Split { feature, question, yes, no } = split else { return Some(()) };
        self.visits = self.visits.checked_sub(1)?;
        let own = self.at[*feature];
        for (child, holds) in [(*yes, true), (*no, false)] {
            if let Some(part) = self.found.sides.part(own, (number, question), holds) {
                self.at[*feature] = part;
                go(self, child)?;
            }
        }
        self.at[*feature] = own;
        Some(())
    }

    fn emit(&mut self, row: &[Weighed]) -> Option<()> {
        if self.found.values.len() == self.most {
            return None;
        }
        let found = &mut self.found;
        let cut = self.at.iter().zip(&found.sides.whole).filter(|(at, whole)| at != whole);
        found.cuts.extend(cut.map(|(at, _)| *at));
        found.starts.push(found.cuts.len() as u32);
        found.values.push(combined(row, |j| self.sums[j]));
        Some(())
    }
}

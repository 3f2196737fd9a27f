//! Policies on the whole of a space: rules as trees of steps, and the greedy rule as a tree.

use super::branch::{Branch, Test};
use super::partition::{Partition, Parts};
use super::{Policy, Rule};
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::outcome::Values;
use crate::space::{Space, Value};
use crate::steps::{Extent, Question, Sides, StepNode, StepTree};

/// Leaves of a greedy tree at most.
const MOST_LEAVES: usize = 1 << 14;

impl Policy {
    /// The rule as a tree of steps, and the probabilities of each of its leaves. Refused if the rule
    /// is known for listed contexts only, or is no steps.
    pub(crate) fn steps(&self) -> Result<(StepTree, Vec<Vec<f64>>)> {
        let (space, actions) = (self.space(), self.probabilities().actions());
        match self.rule() {
            Rule::Uniform => Ok((StepTree::leaf(), vec![vec![1.0 / actions as f64; actions]])),
            Rule::Constant { .. } => Ok((StepTree::leaf(), vec![self.row(0).to_vec()])),
            Rule::Groups { by, probabilities } => {
                Ok((grouped(by, space)?, probabilities.clone()))
            }
            Rule::Tree { root } => {
                let (mut tree, mut rows) = (StepTree { nodes: Vec::new() }, Vec::new());
                branch(root, space, &mut tree, &mut rows)?;
                Ok((tree, rows))
            }
            Rule::Softmax(_) | Rule::Table { .. } => Err(Error::field(
                Field::Support,
                format!(
                    "is the whole space, and policy {:?} is known context by context only: expected \
                     a rule made of steps (the same for everyone, by group, a tree)",
                    self.name()
                ),
            )
            .advise(Field::Support, &["observed"])),
        }
    }

    /// In each place of a space, listed or not, the action of the best value: a tree where the values
    /// are those of trees, and refused where there is no such tree of a size that can be written down.
    pub fn greedy_everywhere(log: &Log, values: &Values) -> Result<Self> {
        let space = log.contexts();
        space.same_as(values.space())?;
        let refused = |what: &str| {
            Error::field(
                Field::Support,
                format!("is the whole space, where the greedy policy {what}"),
            )
            .advise(Field::Support, &["observed"])
        };
        let terms = values.everywhere().map(|e| e.terms());
        let terms = terms.ok_or_else(|| refused("needs values that are known everywhere"))?;
        let extent = Extent::new(space);
        let sides = Sides::new(&extent);
        let trees: Vec<(usize, &StepTree, &[f64])> = terms
            .iter()
            .enumerate()
            .flat_map(|(a, t)| t.trees.iter().map(move |(tree, v)| (a, &**tree, &**v)))
            .collect();
        let mut firsts = vec![0];
        trees.iter().for_each(|t| firsts.push(firsts[firsts.len() - 1] + t.1.nodes.len() as u32));
        let mut greedy = Greedy {
            space,
            at: sides.whole.clone(),
            sides,
            trees: &trees,
            firsts,
            sums: terms.iter().map(|t| t.base).collect(),
            sign: log.direction().sign(),
            left: MOST_LEAVES,
        };
        let too_large = || refused("of this model is no tree that can be written down");
        // Sums of many trees have more leaves than there is paper.
        if trees.len() > 2 * terms.len() {
            return Err(too_large());
        }
        let root = greedy.branch(0, 0).ok_or_else(too_large)?;
        Policy::new("greedy", Rule::Tree { root }, space, log.actions())
    }
}

/// The trees of all actions' values, descended one within the other.
struct Greedy<'v> {
    space: &'v Space,
    sides: Sides,
    /// The side of each feature on the way down.
    at: Vec<u32>,
    /// Action, tree and the values of its leaves.
    trees: &'v [(usize, &'v StepTree, &'v [f64])],
    firsts: Vec<u32>,
    /// Each action's value on the way down.
    sums: Vec<f64>,
    sign: f64,
    /// Leaves that may still be made.
    left: usize,
}

impl Greedy<'_> {
    fn branch(&mut self, tree: usize, node: u32) -> Option<Branch> {
        let trees = self.trees;
        let Some((action, steps, values)) = trees.get(tree) else {
            self.left = self.left.checked_sub(1)?;
            let mut best = 0;
            for a in 1..self.sums.len() {
                if self.sign * self.sums[a] < self.sign * self.sums[best] {
                    best = a;
                }
            }
            let chance = |a: usize| if a == best { 1.0 } else { 0.0 };
            return Some(Branch::Leaf((0..self.sums.len()).map(chance).collect()));
        };
        match &steps.nodes[node as usize] {
            StepNode::Leaf(leaf) => {
                let before = self.sums[*action];
                self.sums[*action] += values[*leaf as usize];
                let found = self.branch(tree + 1, 0);
                self.sums[*action] = before;
                found
            }
            StepNode::Split { feature, question, yes, no } => {
                let (own, number) = (self.at[*feature], self.firsts[tree] + node);
                let mut found = [None, None];
                for (k, child) in [*yes, *no].into_iter().enumerate() {
                    if let Some(part) = self.sides.part(own, (number, question), k == 0) {
                        self.at[*feature] = part;
                        found[k] = Some(self.branch(tree, child)?);
                    }
                }
                self.at[*feature] = own;
                match found {
                    [Some(yes), Some(no)] if yes != no => Some(Branch::Split {
                        test: self.test(*feature, question),
                        yes: Box::new(yes),
                        no: Box::new(no),
                    }),
                    [Some(one), _] | [None, Some(one)] => Some(one),
                    [None, None] => None,
                }
            }
        }
    }

    /// A question as rules ask it.
    fn test(&self, feature: usize, question: &Question) -> Test {
        let name = self.space.names().nth(feature).unwrap_or_default().to_owned();
        match question {
            Question::AtMost(t) => {
                Test::AtMost { feature: name, number: t / self.space.scale(feature) }
            }
            Question::IsMissing => Test::OneOf { feature: name, levels: vec![None] },
            Question::Levels(words) => {
                let has = |l: &usize| words[l / 64] >> (l % 64) & 1 == 1;
                let values: Vec<Value<'_>> = self.space.level_values(feature).collect();
                let levels = (0..values.len()).filter(has).map(|l| super::written(values[l]));
                Test::OneOf { feature: name, levels: levels.collect() }
            }
        }
    }
}

/// Adds a branch to a tree; its leaves are numbered as they come.
fn branch(
    from: &Branch,
    space: &Space,
    tree: &mut StepTree,
    rows: &mut Vec<Vec<f64>>,
) -> Result<u32> {
    let at = tree.nodes.len() as u32;
    match from {
        Branch::Leaf(row) => {
            tree.nodes.push(StepNode::Leaf(rows.len() as u32));
            rows.push(row.clone());
        }
        Branch::Split { test, yes, no } => {
            let feature = space.feature(test.feature())?;
            let chain = questions(space, feature, test)?;
            // The questions first, one after the other; the branches are added once.
            let (first, count) = (tree.nodes.len() as u32, chain.len() as u32);
            chain.iter().for_each(|_| tree.nodes.push(StepNode::Leaf(0)));
            let yes = branch(yes, space, tree, rows)?;
            let no = branch(no, space, tree, rows)?;
            for (k, (question, holds)) in (0..count).zip(chain) {
                let answer = if holds { yes } else { no };
                let next = if k + 1 < count { first + k + 1 } else { no };
                let split = StepNode::Split { feature, question, yes: answer, no: next };
                tree.nodes[(first + k) as usize] = split;
            }
        }
    }
    Ok(at)
}

/// A test as questions that are asked one after the other: whoever says yes to one has the answer that
/// stands beside it, and who says yes to none does not pass.
fn questions(space: &Space, feature: usize, test: &Test) -> Result<Vec<(Question, bool)>> {
    let values: Vec<Value<'_>> = space.level_values(feature).collect();
    if !values.is_empty() {
        let question = Question::levels(values.len(), |l| test.holds(values[l]));
        return Ok(vec![(question, true)]);
    }
    let at = |number: f64| number * space.scale(feature);
    Ok(match test {
        Test::AtMost { number, .. } => vec![(Question::AtMost(at(*number)), true)],
        Test::Below { number, .. } => vec![(Question::AtMost(at(*number).next_down()), true)],
        Test::OneOf { levels, .. } => {
            let missing = levels.iter().any(Option::is_none);
            let mut chain = vec![(Question::IsMissing, missing)];
            let mut numbers = Vec::new();
            for text in levels.iter().flatten() {
                numbers.push(text.parse::<f64>().map_err(|_| {
                    let name = test.feature();
                    Error::input(format!("feature {name:?}: {text:?} is no number"))
                })?);
            }
            numbers.sort_unstable_by(f64::total_cmp);
            for number in numbers {
                chain.push((Question::AtMost(at(number).next_down()), false));
                chain.push((Question::AtMost(at(number)), true));
            }
            chain
        }
    })
}

/// Groups as a tree whose leaves are their numbers.
fn grouped(by: &[Partition], space: &Space) -> Result<StepTree> {
    let mut tree = StepTree::leaf();
    for partition in by {
        let (parts, count) = (parts(partition, space)?, partition.len() as u32);
        let (joined, pairs) = tree.paired(&parts);
        tree = joined;
        for node in &mut tree.nodes {
            if let StepNode::Leaf(pair) = node {
                let (group, part) = pairs[*pair as usize];
                *pair = group * count + part;
            }
        }
    }
    Ok(tree)
}

/// One feature's parts as a tree whose leaves are their numbers.
fn parts(partition: &Partition, space: &Space) -> Result<StepTree> {
    let name = &partition.feature;
    let feature = space.feature(name)?;
    let values: Vec<Value<'_>> = space.level_values(feature).collect();
    let mut nodes = Vec::new();
    let mut ask = |question: Question, part: usize| {
        let at = nodes.len() as u32;
        nodes.push(StepNode::Split { feature, question, yes: at + 1, no: at + 2 });
        nodes.push(StepNode::Leaf(part as u32));
    };
    let in_none = |what: String| Error::input(format!("feature {name:?}: {what} is in no part"));
    let last = partition.len().saturating_sub(1);
    if !values.is_empty() {
        let part_of: Vec<usize> = values
            .iter()
            .map(|v| partition.part(*v).ok_or_else(|| in_none(format!("the level {v:?}"))))
            .collect::<Result<_>>()?;
        for part in 0..last {
            ask(Question::levels(values.len(), |l| part_of[l] == part), part);
        }
    } else if let Parts::Cuts(cuts) = &partition.parts {
        if partition.missing {
            ask(Question::IsMissing, cuts.len() + 1);
        }
        for (part, cut) in cuts.iter().enumerate() {
            ask(Question::AtMost((cut * space.scale(feature)).next_down()), part);
        }
        nodes.push(StepNode::Leaf(cuts.len() as u32));
        return Ok(StepTree { nodes });
    } else {
        return Err(in_none("a number between those listed".to_owned())
            .advise(Field::Support, &["observed"]));
    }
    nodes.push(StepNode::Leaf(last as u32));
    Ok(StepTree { nodes })
}

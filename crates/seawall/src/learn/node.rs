//! A decision tree over ranked features.

use super::ranks::RankQuestion;

/// A tree that chooses actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Action(usize),
    Ask(RankQuestion, Box<Node>, Box<Node>),
}

impl Node {
    /// A question and its two sides.
    pub(super) fn ask(question: RankQuestion, yes: Node, no: Node) -> Self {
        Node::Ask(question, Box::new(yes), Box::new(no))
    }

    /// The same tree without questions whose two sides are alike.
    pub(super) fn collapsed(&self) -> Node {
        match self {
            Node::Action(action) => Node::Action(*action),
            Node::Ask(question, yes, no) => {
                let (yes, no) = (yes.collapsed(), no.collapsed());
                if yes == no { yes } else { Node::ask(*question, yes, no) }
            }
        }
    }
}

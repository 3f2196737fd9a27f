//! Functions on the whole of a space that are made of steps.
//!
//! Trees are constant on boxes: an interval of each numeric feature, a set of levels of any other.
//! A [`StepTree`] asks one question of one feature at a time and ends in a numbered leaf; a
//! [`Terms`] is a sum of them with a value for each leaf,
//!
//! ```text
//! m(z) = base + Σ_t value_t[leaf_t(z)],
//! ```
//!
//! and a [`StepFunction`] weighs such sums by the leaf of one more tree, a policy's:
//!
//! ```text
//! f(z) = Σ_j c_{leaf(z), j} m_j(z)
//! ```
//!
//! The space is whole: every number between a feature's ends, every level, every combination, listed
//! or not. A number is a `f64`: what is above a threshold begins at the next number, so that a
//! supremum which no real number attains is attained here, to rounding.
//!
//! Not here: what is made of them (`ambiguity::engine`), and who makes them (`outcome`, `policy`).

mod boxes;
mod function;
mod separate;
mod side;
mod tree;

pub(crate) use boxes::{BoxList, list};
pub(crate) use function::{StepFunction, Terms, Weighed};
pub(crate) use separate::{FactorPart, Joint, Profile, Separated, separate};
pub(crate) use side::{BoxSide, Extent, Sides};
pub(crate) use tree::{Question, StepNode, StepTree};

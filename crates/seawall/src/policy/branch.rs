//! Decision trees: questions about one feature at a time, probabilities at the leaves.

use super::is;
use super::rule::Mention;
use crate::error::Result;
use crate::space::{Space, Value};
use serde::{Deserialize, Serialize};

/// A decision tree, or a branch of one.
///
/// As JSON: `{"if": {"feature": "age", "at_most": 60}, "then": …, "else": …}` or
/// `{"probabilities": [0.2, 0.8]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenBranch", into = "WrittenBranch")]
pub enum Branch {
    /// The probabilities of the actions.
    Leaf(Vec<f64>),
    /// A question and where its answers lead.
    Split {
        /// The question.
        test: Test,
        /// Where it holds.
        yes: Box<Branch>,
        /// Where it does not.
        no: Box<Branch>,
    },
}

/// A question about one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenTest", into = "WrittenTest")]
pub enum Test {
    /// Is the number at most this? No if it is missing.
    AtMost {
        /// The feature.
        feature: String,
        /// The number.
        number: f64,
    },
    /// Is the number below this? No if it is missing.
    Below {
        /// The feature.
        feature: String,
        /// The number.
        number: f64,
    },
    /// Is the level one of these? None is the missing one.
    OneOf {
        /// The feature.
        feature: String,
        /// The levels.
        levels: Vec<Option<String>>,
    },
}

impl Test {
    /// The feature that is asked about.
    pub fn feature(&self) -> &str {
        match self {
            Test::AtMost { feature, .. }
            | Test::Below { feature, .. }
            | Test::OneOf { feature, .. } => feature,
        }
    }

    pub(super) fn holds(&self, value: Value<'_>) -> bool {
        match self {
            Test::AtMost { number, .. } => matches!(value, Value::Number(x) if x <= *number),
            Test::Below { number, .. } => matches!(value, Value::Number(x) if x < *number),
            Test::OneOf { levels, .. } => levels.iter().any(|text| is(value, text.as_deref())),
        }
    }

    /// The question in words, or its opposite.
    pub fn phrase(&self, holds: bool) -> String {
        match self {
            Test::AtMost { feature, number } if holds => format!("{feature} ≤ {number}"),
            Test::AtMost { feature, number } => format!("{feature} > {number}"),
            Test::Below { feature, number } if holds => format!("{feature} < {number}"),
            Test::Below { feature, number } => format!("{feature} ≥ {number}"),
            Test::OneOf { feature, levels } => {
                let word = |l: &Option<String>| l.clone().unwrap_or("(missing)".to_owned());
                let all: Vec<String> = levels.iter().map(word).collect();
                match (holds, all.len()) {
                    (true, _) => format!("{feature} = {}", all.join(" or ")),
                    (false, 1) => format!("{feature} ≠ {}", all[0]),
                    (false, _) => format!("{feature} is none of {}", all.join(", ")),
                }
            }
        }
    }
}

impl Branch {
    /// What is asked about.
    pub(super) fn mentions(&self) -> Vec<(String, Mention)> {
        let Branch::Split { test, yes, no } = self else { return Vec::new() };
        let mut all: Vec<(String, Mention)> = match test {
            Test::AtMost { feature, .. } | Test::Below { feature, .. } => {
                vec![(feature.clone(), Mention::Number)]
            }
            Test::OneOf { feature, levels } => {
                let level = |l: &Option<String>| (feature.clone(), Mention::Level(l.clone()));
                levels.iter().map(level).collect()
            }
        };
        all.extend(yes.mentions());
        all.extend(no.mentions());
        all
    }

    /// Every leaf's probabilities.
    pub(super) fn leaves<'a>(&'a self, rows: &mut Vec<&'a [f64]>) {
        match self {
            Branch::Leaf(row) => rows.push(row),
            Branch::Split { yes, no, .. } => {
                yes.leaves(rows);
                no.leaves(rows);
            }
        }
    }

    /// The leaf of every context of a space.
    pub(super) fn rows(&self, space: &Space) -> Result<Vec<&[f64]>> {
        let mut rows: Vec<&[f64]> = vec![&[]; space.len()];
        self.fill(space, (0..space.len()).collect(), &mut rows)?;
        Ok(rows)
    }

    fn fill<'a>(&'a self, space: &Space, points: Vec<usize>, rows: &mut [&'a [f64]]) -> Result<()> {
        match self {
            Branch::Leaf(row) => {
                points.into_iter().for_each(|i| rows[i] = row);
                Ok(())
            }
            Branch::Split { test, yes, no } => {
                let holds = space.each(space.feature(test.feature())?, |value| test.holds(value));
                let (left, right) = points.into_iter().partition(|&i| holds[i]);
                yes.fill(space, left, rows)?;
                no.fill(space, right, rows)
            }
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBranch {
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    test: Option<Test>,
    #[serde(rename = "then", default, skip_serializing_if = "Option::is_none")]
    yes: Option<Box<Branch>>,
    #[serde(rename = "else", default, skip_serializing_if = "Option::is_none")]
    no: Option<Box<Branch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probabilities: Option<Vec<f64>>,
}

impl TryFrom<WrittenBranch> for Branch {
    type Error = &'static str;

    fn try_from(written: WrittenBranch) -> std::result::Result<Self, Self::Error> {
        match written {
            WrittenBranch { test: None, yes: None, no: None, probabilities: Some(row) } => {
                Ok(Branch::Leaf(row))
            }
            WrittenBranch {
                test: Some(test),
                yes: Some(yes),
                no: Some(no),
                probabilities: None,
            } => Ok(Branch::Split { test, yes, no }),
            _ => Err("a branch has either probabilities, or all of if, then and else"),
        }
    }
}

impl From<Branch> for WrittenBranch {
    fn from(branch: Branch) -> Self {
        match branch {
            Branch::Leaf(row) => {
                WrittenBranch { test: None, yes: None, no: None, probabilities: Some(row) }
            }
            Branch::Split { test, yes, no } => WrittenBranch {
                test: Some(test),
                yes: Some(yes),
                no: Some(no),
                probabilities: None,
            },
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTest {
    feature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    one_of: Option<Vec<Option<String>>>,
}

impl TryFrom<WrittenTest> for Test {
    type Error = &'static str;

    fn try_from(written: WrittenTest) -> std::result::Result<Self, Self::Error> {
        let feature = written.feature;
        match (written.at_most, written.below, written.one_of) {
            (Some(number), None, None) => Ok(Test::AtMost { feature, number }),
            (None, Some(number), None) => Ok(Test::Below { feature, number }),
            (None, None, Some(levels)) => Ok(Test::OneOf { feature, levels }),
            _ => Err("a question has one of at_most, below and one_of"),
        }
    }
}

impl From<Test> for WrittenTest {
    fn from(test: Test) -> Self {
        let feature = test.feature().to_owned();
        let none = WrittenTest { feature, at_most: None, below: None, one_of: None };
        match test {
            Test::AtMost { number, .. } => WrittenTest { at_most: Some(number), ..none },
            Test::Below { number, .. } => WrittenTest { below: Some(number), ..none },
            Test::OneOf { levels, .. } => WrittenTest { one_of: Some(levels), ..none },
        }
    }
}

//! What kind of policy is to be learned, as it is typed: `greedy`, `groups:COL[=PARTS][,COL…]`,
//! `tree:DEPTH`, `softmax`; or a given policy (`uniform`, `behaviour`, `constant:ACTION`, a policy
//! file), whose worst case alone stochastic gradients then look for.
//!
//! The parts of a numeric column are cut points, `AGE=60|75`; those of any other are lists of
//! levels, `RCONSC=F|D+U`. Without parts every level is a group of its own.

use crate::study::{PolicySpec, Study};
use seawall::policy::{Partition, Parts};
use seawall::{Error, Field, Kind, Result, Space, Value};

/// A kind of policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// The best action in each context.
    Greedy,
    /// Probabilities by group.
    Groups(String),
    /// A decision tree of a depth.
    Tree(usize),
    /// A softmax of linear scores.
    Softmax,
    /// A given policy, of which only the dual variable is descended on.
    Given(PolicySpec),
}

impl Spec {
    /// As it is typed.
    pub fn typed(text: &str) -> Result<Self> {
        let expected = "expected greedy, groups:COL[=PARTS][,COL...], tree:DEPTH or softmax";
        match text.split_once(':') {
            None if text == "greedy" => Ok(Spec::Greedy),
            None if text == "softmax" => Ok(Spec::Softmax),
            None if ["uniform", "behaviour"].contains(&text) || text.ends_with(".json") => {
                Ok(Spec::Given(PolicySpec::typed(text)))
            }
            Some(("constant", _)) => Ok(Spec::Given(PolicySpec::typed(text))),
            Some(("groups", by)) if !by.is_empty() => Ok(Spec::Groups(by.to_owned())),
            Some(("tree", depth)) => match depth.parse() {
                Ok(depth @ 1..=3) => Ok(Spec::Tree(depth)),
                _ => {
                    let what = format!("is {text}: a tree's depth is {depth}; expected 1, 2 or 3");
                    Err(Error::field(Field::Policy, what))
                }
            },
            _ => Err(Error::field(Field::Policy, format!("is {text:?}; {expected}"))),
        }
    }
}

impl Spec {
    /// How it is typed.
    pub fn text(&self) -> String {
        match self {
            Spec::Greedy => "greedy".to_owned(),
            Spec::Groups(by) => format!("groups:{by}"),
            Spec::Tree(depth) => format!("tree:{depth}"),
            Spec::Softmax => "softmax".to_owned(),
            Spec::Given(spec) => spec.text().unwrap_or_default(),
        }
    }
}

/// The groups that a text means on a space.
pub(super) fn groups(text: &str, space: &Space, study: &Study) -> Result<Vec<Partition>> {
    text.split(',').map(|part| partition(part, space, study)).collect()
}

fn partition(text: &str, space: &Space, study: &Study) -> Result<Partition> {
    let (name, parts) = match text.split_once('=') {
        Some((name, parts)) => (name.trim(), Some(parts)),
        None => (text.trim(), None),
    };
    let feature = space.feature(name).map_err(|_| {
        let all: Vec<&str> = space.names().collect();
        let near = crate::read::nearest(name, &all)
            .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        Error::config(format!(
            "groups: no feature named {name:?}{near} (there are: {})",
            all.join(", ")
        ))
    })?;
    let Some(parts) = parts else { return Partition::of_levels(space, name) };
    let missing = space.level_values(feature).any(|v| v == Value::Missing);
    if space.kind(feature) == Kind::Numeric {
        let cut = |cut: &str| {
            cut.trim().parse::<f64>().map_err(|_| {
                Error::config(format!("groups: {name}={parts}: {cut:?} is not a number to cut at"))
            })
        };
        let mut cuts: Vec<f64> = parts.split('|').map(cut).collect::<Result<_>>()?;
        cuts.sort_by(f64::total_cmp);
        let bin = study.contexts.iter().find(|c| c.name == name).and_then(|c| c.bin);
        if let Some(bin) = bin
            && let Some(cut) =
                cuts.iter().find(|c| ((*c / bin).round() * bin - **c).abs() > 1e-9 * bin)
        {
            let low = (cut / bin).floor() * bin;
            return Err(Error::config(format!(
                "groups: {name}={parts}: the cut {cut} is inside the bin from {low} to {}, whose \
                 people cannot be told apart; cut at one of its ends",
                low + bin
            )));
        }
        return Ok(Partition { feature: name.to_owned(), missing, parts: Parts::Cuts(cuts) });
    }
    let level = |level: &str| match level.trim() {
        "(missing)" => None,
        level => Some(level.to_owned()),
    };
    let list = |part: &str| part.split('+').map(level).collect::<Vec<_>>();
    let lists: Vec<Vec<Option<String>>> = parts.split('|').map(list).collect();
    for level in lists.iter().flatten() {
        let known = space.level_values(feature).any(|v| match (v, level) {
            (Value::Missing, None) => true,
            (Value::Level(a), Some(b)) => a == b,
            _ => false,
        });
        if !known {
            let all = space.levels(feature).join(", ");
            let level = level.as_deref().unwrap_or("(missing)");
            return Err(Error::config(format!(
                "groups: {name} has no level {level:?} (it has: {all})"
            )));
        }
    }
    Ok(Partition { feature: name.to_owned(), missing: false, parts: Parts::Levels(lists) })
}

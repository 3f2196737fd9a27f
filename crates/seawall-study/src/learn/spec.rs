//! What kind of policy is to be learned, as it is typed: `greedy`, `groups:COL[=PARTS][,COL…]`,
//! `tree:DEPTH`, `softmax`; or a given policy (`uniform`, `behaviour`, `constant:ACTION`, a policy
//! file), whose worst case alone stochastic gradients then look for.
//!
//! The parts of a numeric column are cut points, `AGE=60|75`; those of any other are lists of
//! levels, `RCONSC=F|D+U`. Without parts every level is a group of its own. A name or a level that
//! holds one of `=,|+` stands in double quotes, a quote in it doubled: `"a=b"="x|y"|z`.

use crate::study::{Context, PolicySpec, Study};
use seawall::policy::{Partition, Parts};
use seawall::{Error, Field, Kind, Result, Space, Value};
use seawall_table::read::{named, split, unquoted};

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
    if text.matches('"').count() % 2 == 1 {
        return Err(Error::config(format!("groups:{text}: a quote is opened and never closed")));
    }
    split(text, ',').into_iter().map(|part| partition(part, space, study)).collect()
}

fn partition(text: &str, space: &Space, study: &Study) -> Result<Partition> {
    let mut pieces = split(text, '=').into_iter();
    let name = unquoted(pieces.next().unwrap_or_default()).0;
    let parts = match (pieces.next(), pieces.next()) {
        (parts, None) => parts,
        (_, Some(_)) => {
            return Err(Error::config(format!(
                "groups: {text}: two equals signs; put names and levels that hold one into double \
                 quotes"
            )));
        }
    };
    let feature = space.feature(&name).map_err(|_| {
        let all: Vec<&str> = space.names().collect();
        let near = seawall_table::read::nearest(&name, &all)
            .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        Error::config(format!(
            "groups: no feature named {name:?}{near} (there are: {})",
            all.join(", ")
        ))
    })?;
    let Some(parts) = parts else { return Partition::of_levels(space, &name) };
    if space.kind(feature) == Kind::Numeric {
        let missing = space.level_values(feature).any(|v| v == Value::Missing);
        let cuts = Parts::Cuts(cuts(&name, parts, study)?);
        return Ok(Partition { feature: name, missing, parts: cuts });
    }
    let level = |typed: &str| level(typed, &name, space, feature);
    let list = |part: &str| split(part, '+').into_iter().map(level).collect();
    let lists = split(parts, '|').into_iter().map(list).collect::<Result<_>>()?;
    Ok(Partition { feature: name, missing: false, parts: Parts::Levels(lists) })
}

/// The numbers at which a numeric feature is cut: ends of its bins, if it is binned.
fn cuts(name: &str, parts: &str, study: &Study) -> Result<Vec<f64>> {
    let cut = |cut: &str| {
        unquoted(cut).0.parse::<f64>().map_err(|_| {
            Error::config(format!("groups: {name}={parts}: {cut:?} is not a number to cut at"))
        })
    };
    let mut cuts: Vec<f64> = split(parts, '|').into_iter().map(cut).collect::<Result<_>>()?;
    cuts.sort_by(f64::total_cmp);
    let bins = study.data.contexts.iter().find(|c| c.name == name).and_then(Context::bins);
    if let Some(bins) = bins
        && let Some((cut, bin)) = cuts.iter().find_map(|&c| bins.inside(c).map(|bin| (c, bin)))
    {
        return Err(Error::config(format!(
            "groups: {name}={parts}: the cut {cut} is inside the bin from {} to {}, whose people \
             cannot be told apart; cut at one of its ends",
            bins.start(bin),
            bins.start(bin + 1.0)
        )));
    }
    Ok(cuts)
}

/// The level that is typed; None for the missing one, unless quotes say that it is a level's name.
fn level(typed: &str, name: &str, space: &Space, feature: usize) -> Result<Option<String>> {
    let (text, quoted) = unquoted(typed);
    let missing = space.level_values(feature).any(|v| v == Value::Missing);
    if text == "(missing)" && !quoted && missing {
        return Ok(None);
    }
    let levels = space.level_values(feature).filter_map(|v| match v {
        Value::Level(level) => Some(level.to_owned()),
        _ => None,
    });
    let levels: Vec<String> = levels.collect();
    named(&levels, &text).cloned().map(Some).ok_or_else(|| {
        let all = space.levels(feature).join(", ");
        Error::config(format!("groups: {name} has no level {text:?} (it has: {all})"))
    })
}

//! Answers in a few words each: the same on the page and in the terminal.

use seawall::transfer::{BalanceStatus, BalanceSummary};
use seawall_study::compare::{ComparedSet, alike};
use seawall_study::transfer::LeftOutGroups;
use seawall_study::words::{percent, short};
use serde::Serialize;

/// One set of a comparison, column by column.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedWords {
    /// Its radius.
    pub radius: String,
    /// The policies that are best under it.
    pub best: String,
    /// Whether the log tells them from the others.
    pub told: &'static str,
    /// Whether the best of them is nowhere worse than any other, or by how much it is: `no: by 0.14`.
    pub no_worse: String,
    /// Which population it fears.
    pub fears: String,
    /// The share of that where nobody was seen.
    pub unseen: String,
}

/// A set of a comparison in words; names of policies as `tell` tells them.
pub fn compared(set: &ComparedSet, tell: impl Fn(&str) -> String) -> ComparedWords {
    let fears = match &set.fears {
        Some(fears) => fears.clone(),
        None if set.best.is_empty() => String::new(),
        None => "nothing".to_owned(),
    };
    ComparedWords {
        radius: if set.beyond {
            "0, beyond".to_owned()
        } else if set.radius.is_infinite() {
            "none".to_owned()
        } else {
            short(set.radius)
        },
        best: alike(&set.best, tell),
        told: match set.told {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        },
        no_worse: match &set.no_worse {
            None => "unknown".to_owned(),
            Some(found) if found.holds => "yes".to_owned(),
            Some(found) => format!("no: by {}", short(found.by)),
        },
        fears,
        unseen: set.unseen.map_or(String::new(), percent),
    }
}

/// Groups that are not counted: how many, and why, for each reason that there is.
pub fn left_out(groups: &LeftOutGroups) -> Vec<String> {
    let all = [
        (groups.few_rows, "with too few rows (--least)"),
        (groups.lacking_action, "without one of the actions"),
        (groups.unmatched, "that the others cannot be made like"),
    ];
    all.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect()
}

/// How far a log was made like a target, and why not further, in words.
pub fn balance(balance: &BalanceSummary) -> String {
    let mut why = Vec::new();
    if balance.mixed > 0.0 {
        why.push(format!("{} of the log's own margins mixed in", percent(balance.mixed)));
    }
    if balance.unseen > 0.0 {
        why.push(format!("{} of the target on levels never seen", percent(balance.unseen)));
    }
    let status = match balance.status {
        BalanceStatus::Matched => "matched",
        BalanceStatus::MatchedInPart => "matched in part",
        BalanceStatus::ByOdds => "by the odds of belonging to the target",
    };
    if why.is_empty() { status.to_owned() } else { format!("{status} ({})", why.join("; ")) }
}

//! What past groups really cost against what was predicted for each, as numbers for the page's SVG
//! template, and the same as tables.
//!
//! ```text
//! as predicted   real = predicted
//! the bound      real = predicted + allowance   (of rewards, −)
//! ```
//!
//! A group is held on the better side of the second line.

use crate::axis::{padded, ticks};
use crate::chart::{Tick, outline};
use crate::csv;
use crate::sentences::isolated;
use seawall::Direction;
use seawall_study::transfer::{GroupScore, Transfer};
use seawall_study::words::{number, rows, short};
use serde::Serialize;

/// Groups shown before one asks for all, those that needed most first.
const MOST: usize = 15;
/// The size of a group of no rows, and what the largest one has beyond.
const SIZES: (f64, f64) = (3.0, 6.0);

/// One policy's past groups, in units of the chart's view box.
#[derive(Debug, Serialize)]
pub(super) struct History {
    policy: String,
    held: usize,
    count: usize,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    as_predicted: String,
    bound: String,
    /// From the group that needed least to the one that needed most, which is drawn over the others.
    marks: Vec<Mark>,
    /// Those that needed most.
    most: Vec<Past>,
    /// How many more there are, and all of them as they were recorded; none if there are no more.
    more: usize,
    all: Vec<Past>,
    /// The numbers beneath the chart, to save.
    csv: String,
}

#[derive(Debug, Serialize)]
struct Mark {
    x: f64,
    y: f64,
    size: f64,
    held: bool,
    words: String,
}

#[derive(Debug, Serialize)]
struct Past {
    group: String,
    rows: String,
    predicted: String,
    real: String,
    needed: String,
    held: bool,
}

/// The past groups of a policy.
pub(super) fn history(of: &Transfer, direction: Direction) -> History {
    let (width, height) = (400.0, 360.0);
    let (left, right, top, bottom) = (56.0, width - 14.0, 26.0, height - 44.0);
    let groups = &of.groups;
    let beyond = direction.sign() * of.allowance.total();
    let (low, high) = ends(groups.iter().map(|g| g.predicted));
    let corners = [low, high, low + beyond, high + beyond];
    let (bottom_value, top_value) = ends(groups.iter().map(|g| g.real).chain(corners));
    let x = |v: f64| left + (right - left) * (v - low) / (high - low);
    let y = |v: f64| bottom - (bottom - top) * (v - bottom_value) / (top_value - bottom_value);
    let line = |up: f64| outline(&[(x(low), y(low + up)), (x(high), y(high + up))]);
    let most_rows = groups.iter().map(|g| g.rows).fold(0.0, f64::max);
    let mut by_need: Vec<&GroupScore> = groups.iter().collect();
    by_need.sort_by(|a, b| a.score.total_cmp(&b.score));
    let mark = |g: &&GroupScore| Mark {
        x: x(g.predicted),
        y: y(g.real),
        // Areas as rows.
        size: SIZES.0 + SIZES.1 * (g.rows / most_rows).sqrt(),
        held: g.held,
        words: mark_words(g),
    };
    let more = groups.len().saturating_sub(MOST);
    History {
        policy: of.policy.clone(),
        held: of.held,
        count: groups.len(),
        width,
        height,
        left,
        right,
        top,
        bottom,
        x_ticks: ticks(low, high, 4.0).map(|v| Tick { at: x(v), text: short(v) }).collect(),
        y_ticks: ticks(bottom_value, top_value, 5.0)
            .map(|v| Tick { at: y(v), text: short(v) })
            .collect(),
        as_predicted: line(0.0),
        bound: line(beyond),
        marks: by_need.iter().map(mark).collect(),
        most: by_need.iter().rev().take(MOST).map(|g| past(g)).collect(),
        more,
        all: if more > 0 { groups.iter().map(past).collect() } else { Vec::new() },
        csv: saved(groups),
    }
}

/// Every group, to save.
fn saved(groups: &[GroupScore]) -> String {
    let row = |g: &GroupScore| {
        let held = if g.held { "held" } else { "missed" };
        let numbers = [g.rows, g.predicted, g.real, g.real_se, g.score].map(csv::exact);
        [g.group.clone(), held.to_owned()].into_iter().chain(numbers).collect()
    };
    let columns = ["group", "bound", "rows", "predicted", "real", "real_se", "needed"];
    csv::table(&columns, groups.iter().map(row))
}

/// The least and the largest number, with some room.
fn ends(all: impl Iterator<Item = f64>) -> (f64, f64) {
    let around = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
    padded(all.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), around))
}

fn mark_words(g: &GroupScore) -> String {
    format!(
        "{}: {}, predicted {}, real {}, needed {}: {}",
        isolated(&g.group),
        rows(g.rows),
        short(g.predicted),
        short(g.real),
        short(g.score),
        if g.held { "held" } else { "missed" }
    )
}

fn past(g: &GroupScore) -> Past {
    Past {
        group: g.group.clone(),
        rows: number(g.rows),
        predicted: short(g.predicted),
        real: short(g.real),
        needed: short(g.score),
        held: g.held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seawall::transfer::{BalanceStatus, BalanceSummary};
    use seawall_study::transfer::{AllowanceParts, Method};

    fn transfer(direction: Direction) -> Transfer {
        let sign = direction.sign();
        let group = |k: usize| {
            let (predicted, needed) = (1.0 + 0.01 * k as f64, 0.02 * k as f64 - 0.1);
            GroupScore {
                group: format!("site {k}"),
                rows: 20.0 + k as f64,
                predicted,
                real: predicted + sign * needed,
                real_se: 0.1,
                score: needed,
                held: needed <= 0.25,
            }
        };
        let groups: Vec<GroupScore> = (0..20).map(group).collect();
        Transfer {
            policy: "uniform".to_owned(),
            against: None,
            centre: 1.0,
            se: 0.1,
            bound: Some(1.0 + sign * 0.25),
            level: 0.9,
            method: Method::Rank,
            allowance: AllowanceParts { sampling: 0.2, between: 0.05, couplings: 0.0 },
            balance: BalanceSummary {
                status: BalanceStatus::Matched,
                mixed: 0.0,
                effective_rows: Vec::new(),
                unseen: 0.0,
                columns: Vec::new(),
                facts: Vec::new(),
            },
            held: groups.iter().filter(|g| g.held).count(),
            groups,
        }
    }

    /// Where a line of the chart is at a place.
    fn height(path: &str, x: f64) -> f64 {
        let numbers = path.trim_start_matches('M').split(['L', ' ']);
        let at: Vec<f64> = numbers.map(|n| n.parse().unwrap_or(f64::NAN)).collect();
        at[1] + (at[3] - at[1]) * (x - at[0]) / (at[2] - at[0])
    }

    #[test]
    fn missed_groups_are_beyond_the_line_whatever_is_better() {
        for direction in [Direction::Cost, Direction::Reward] {
            let found = history(&transfer(direction), direction);
            assert_eq!((found.marks.len(), found.count, found.held), (20, 20, 18));
            for mark in &found.marks {
                // Up is down in a view box.
                let beyond = direction.sign() * (height(&found.bound, mark.x) - mark.y);
                assert_eq!(beyond <= 0.05, mark.held, "{} {beyond}", mark.words);
                assert!(mark.x > found.left && mark.x < found.right, "{mark:?}");
                assert!(mark.y > found.top && mark.y < found.bottom, "{mark:?}");
            }
            assert!(found.marks[19].words.starts_with("site 19: 39 rows"));
            assert_eq!((found.most.len(), found.more, found.all.len()), (15, 5, 20));
            assert_eq!(found.most[0].group, "site 19");
            assert!(!found.most[1].held && found.most[2].held);
        }
    }

    #[test]
    fn groups_that_are_all_alike_are_drawn() {
        let mut same = transfer(Direction::Cost);
        for g in &mut same.groups {
            (g.predicted, g.real, g.score, g.held) = (1.0, 1.0, 0.0, true);
        }
        same.groups.truncate(3);
        let found = history(&same, Direction::Cost);
        assert!(found.marks.iter().all(|m| m.x.is_finite() && m.y.is_finite()));
        assert_eq!((found.more, found.all.len()), (0, 0));
    }
}

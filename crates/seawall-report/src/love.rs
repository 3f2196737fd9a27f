//! The balance chart that trialists know (Love plot), as numbers for the page: a row a column, its
//! standardised difference to the target before and after weighing.
//!
//! Places are in percent of a row's width, so that one drawing fits every page.

use crate::axis::ticks;
use crate::chart::Tick;
use crate::csv;
use seawall::transfer::ColumnBalance;
use seawall_study::words::{percent, short, standardised};
use serde::Serialize;

/// A difference that trialists call small.
const SMALL: f64 = 0.1;
/// The chart reaches at least so far to the right, and to the left where anything is there.
const LEAST: (f64, f64) = (-0.15, 0.25);
/// Room at either side for half a label, as a share of what is between.
const ROOM: f64 = 0.12;

/// The chart.
#[derive(Debug, Serialize)]
pub(super) struct LovePlot {
    rows: Vec<LoveRow>,
    zero: f64,
    /// Where differences stop being small.
    small: Vec<f64>,
    ticks: Vec<Tick>,
    /// The numbers beneath the chart, to save.
    csv: String,
}

#[derive(Debug, Serialize)]
struct LoveRow {
    column: String,
    before: String,
    after: String,
    before_at: f64,
    after_at: f64,
    /// The target's share on levels that no row has, if any.
    unseen: Option<String>,
}

/// The chart; None where no column is known.
pub(super) fn love_plot(columns: &[ColumnBalance]) -> Option<LovePlot> {
    let all = columns.iter().flat_map(|c| [c.before, c.after]);
    // What is printed as nothing is nothing.
    let (mut low, mut high) = (0.0_f64, LEAST.1);
    for d in all.filter(|d| d.is_finite()) {
        high = high.max(d);
        if d < -0.005 {
            low = low.min(d).min(LEAST.0);
        }
    }
    let room = ROOM * (high - low);
    let (low, high) = (low - room, high + room);
    let at = |d: f64| (100.0 * (d - low) / (high - low)).clamp(0.0, 100.0);
    let row = |c: &ColumnBalance| LoveRow {
        column: c.name.clone(),
        before: standardised(c.before),
        after: standardised(c.after),
        before_at: at(c.before),
        after_at: at(c.after),
        unseen: (c.unseen > 0.0).then(|| percent(c.unseen)),
    };
    let labels = ticks(low + 0.5 * room, high - 0.5 * room, 4.0);
    (!columns.is_empty()).then(|| LovePlot {
        rows: columns.iter().map(row).collect(),
        zero: at(0.0),
        small: [-SMALL, SMALL].into_iter().filter(|d| *d > low).map(at).collect(),
        ticks: labels.map(|d| Tick { at: at(d), text: short(d) }).collect(),
        csv: csv::table(&["column", "before", "after", "unseen"], columns.iter().map(saved)),
    })
}

fn saved(c: &ColumnBalance) -> Vec<String> {
    vec![c.name.clone(), csv::exact(c.before), csv::exact(c.after), csv::exact(c.unseen)]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn column(before: f64, after: f64) -> ColumnBalance {
        ColumnBalance { name: "age".to_owned(), before, after, unseen: 0.0 }
    }

    #[test]
    fn every_mark_is_inside_and_on_its_side_of_zero() {
        assert!(love_plot(&[]).is_none());
        let plot = love_plot(&[column(-2.5, -0.0001), column(0.4, 0.02)]).unwrap();
        assert_eq!(plot.small.len(), 2);
        assert!(plot.small[0] < plot.zero && plot.zero < plot.small[1]);
        let [first, second] = &plot.rows[..] else { unreachable!() };
        assert!(0.0 < first.before_at && first.before_at < plot.small[0]);
        assert!((first.after_at - plot.zero).abs() < 0.1 && first.after == "0.00");
        assert!(second.before_at > plot.small[1] && second.before_at < 100.0);
        // Nothing to the left of zero: no line there.
        let plot = love_plot(&[column(0.4, -1e-9)]).unwrap();
        assert_eq!(plot.small.len(), 1);
        assert!(plot.ticks.iter().all(|t| t.at >= 0.0 && t.at <= 100.0 && t.text != "-0"));
    }
}

//! Radii that the data suggest, in words.

use super::{label, number, table};
use seawall_study::radius::{Spread, SuggestedRadii};
use std::io::{Result, Write};

/// Prints everything.
pub fn print(answer: &SuggestedRadii, out: &mut dyn Write) -> Result<()> {
    let mut shown =
        table(&["distance", "draws", "mean", "sd", "smallest", "median", "95%", "largest"]);
    let mut row = |name: &str, s: &Spread| {
        let numbers = [s.mean, s.sd, s.smallest, s.median, s.upper, s.largest].map(number);
        let mut row = vec![name.to_owned(), s.count.to_string()];
        row.extend(numbers);
        shown.add_row(row);
    };
    row("between random halves of the log", &answer.halves);
    row("from the log to itself drawn again", &answer.bootstrap);
    writeln!(out, "{shown}")?;
    if let Some(target) = answer.target {
        writeln!(out, "To the target: {}.", number(target))?;
    }
    let cost = &answer.cost;
    if cost.median.is_finite() {
        writeln!(
            out,
            "Cost radius, of the order {}/√n in a leaf of n rows: {} in the median leaf ({} {}), \
             {} in the smallest.",
            number(cost.constant),
            number(cost.median),
            number(cost.median_rows),
            if cost.median_rows == 1.0 { "row" } else { "rows" },
            number(cost.smallest_leaf)
        )?;
    }
    if !answer.breakdown.is_empty() {
        writeln!(out, "\nWhere the study's policies stop being better than one another:")?;
    }
    for b in &answer.breakdown {
        writeln!(out, " {}", b.sentence(label))?;
    }
    writeln!(out, "\nRecommended: {}. For the study file, under [robust]:", answer.words)?;
    writeln!(out, "{}", answer.line)
}

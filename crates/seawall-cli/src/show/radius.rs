//! Radii by what they must cover, in words.

use super::{label, number, percent, short, table, wrapped};
use seawall_study::radius::{CostRadius, SuggestedRadii};
use std::io::{Result, Write};

/// Prints everything.
pub fn print(answer: &SuggestedRadii, out: &mut dyn Write) -> Result<()> {
    let mut shown = table(&[
        "policy",
        "95% limit without a shift",
        "radius that covers chance",
        "saturated at",
    ]);
    for p in &answer.policies {
        shown.add_row([
            label(&p.policy),
            short(p.limit),
            p.chance.map_or("none within reach".to_owned(), short),
            short(p.saturation),
        ]);
    }
    writeln!(out, "{shown}\n")?;
    distances(answer, out)?;
    if !answer.comparisons.is_empty() {
        writeln!(out)?;
    }
    for c in &answer.comparisons {
        wrapped(&c.sentence(label), out)?;
    }
    writeln!(out)?;
    wrapped(&format!("Recommended: {}. For the study file, under [robust]:", answer.words), out)?;
    writeln!(out, "{}", answer.line)
}

/// Which distances there are to compare a radius with.
fn distances(answer: &SuggestedRadii, out: &mut dyn Write) -> Result<()> {
    if !answer.unused_columns.is_empty() {
        let list = |all: &[String]| all.iter().map(|c| label(c)).collect::<Vec<_>>().join(", ");
        wrapped(
            &format!(
                "Distances count {}; the values do not vary along {}.",
                if answer.used_columns.is_empty() {
                    "no column".to_owned()
                } else {
                    list(&answer.used_columns)
                },
                list(&answer.unused_columns)
            ),
            out,
        )?;
    }
    if let Some(h) = &answer.halves {
        wrapped(
            &format!(
                "Two random halves of the log are {} apart on average ({} pairs, sd {}): of interest \
                 with a handful of columns only.",
                short(h.mean),
                h.count,
                short(h.sd)
            ),
            out,
        )?;
    }
    if let Some(target) = &answer.target {
        wrapped(&format!("To the target: {}.", number(target.distance)), out)?;
        if let Some(strata) = &target.strata {
            wrapped(
                &format!(
                    "The strata of {} differ by {} in their shares, which no radius covers.",
                    strata.columns.join(", "),
                    percent(strata.total_variation)
                ),
                out,
            )?;
        }
    }
    let CostRadius { constant, median_rows, median, smallest_leaf } = answer.cost;
    if let (Some(constant), Some(rows), Some(median), Some(smallest)) =
        (constant, median_rows, median, smallest_leaf)
    {
        wrapped(
            &format!(
                "Cost radius, of the order {}/√n in a leaf of n rows: {} in the median leaf ({} {}), \
                 {} in the smallest.",
                short(constant),
                short(median),
                number(rows),
                if rows == 1.0 { "row" } else { "rows" },
                short(smallest)
            ),
            out,
        )?;
    }
    Ok(())
}

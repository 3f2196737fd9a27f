//! How every procedure did on every past group, in words.

use super::{label, number, percent, short, table, wrapped};
use seawall_study::transfer::Backtest;
use std::io::{Result, Write};

/// Prints everything.
pub fn print(answer: &Backtest, out: &mut dyn Write) -> Result<()> {
    wrapped(
        &format!(
            "{}, by {}: {} groups{}; {}.",
            label(&answer.policy),
            label(&answer.by),
            answer.groups.len(),
            if answer.in_time { ", each predicted from earlier ones" } else { ", each left out" },
            answer.direction
        ),
        out,
    )?;
    writeln!(out)?;
    let mut header = vec!["group", "rows", "real"];
    let names: Vec<String> = answer.procedures.iter().map(|p| p.name.to_string()).collect();
    header.extend(names.iter().map(String::as_str));
    let mut shown = table(&header);
    let sign = answer.direction.sign();
    for group in &answer.groups {
        let mut row = vec![label(&group.group), number(group.rows), short(group.real)];
        for procedure in &answer.procedures {
            row.push(match group.bounds.get(&procedure.name) {
                None => "–".to_owned(),
                Some(bound) if sign * (bound - group.real) < 0.0 => {
                    format!("{} missed", short(*bound))
                }
                Some(bound) => short(*bound),
            });
        }
        shown.add_row(row);
    }
    writeln!(out, "{shown}\n")?;
    let mut shown = table(&["procedure", "held", "of", "mean excess", "median excess"]);
    for p in &answer.procedures {
        shown.add_row([
            p.name.to_string(),
            p.held.to_string(),
            p.of.to_string(),
            short(p.mean_excess),
            short(p.median_excess),
        ]);
    }
    writeln!(out, "{shown}\n")?;
    wrapped(
        &format!(
            "Recommended: {}, the least excess among procedures that held as often as {} asks (of twenty \
             groups or more, give or take one), or the one that held most often.",
            answer.recommended,
            percent(answer.level)
        ),
        out,
    )?;
    super::transfer::left_out(&answer.left_out, out)?;
    for note in &answer.notes {
        wrapped(&format!("note: {note}"), out)?;
    }
    Ok(())
}

//! What policies would cost in a target, in words.

use super::{balance, label, number, percent, table, wrapped};
use seawall_report::wording;
use seawall_study::transfer::{LeftOutGroups, Transfer, Transfers};
use std::io::{Result, Write};

/// Prints everything: how the log was made like the target before any number.
pub fn print(answer: &Transfers, out: &mut dyn Write) -> Result<()> {
    let known = if answer.known.is_empty() {
        "nothing".to_owned()
    } else {
        answer.known.iter().map(|k| label(k)).collect::<Vec<_>>().join("; ")
    };
    wrapped(&format!("Known of the target: {known}."), out)?;
    if let Some(first) = answer.transfers.first() {
        balance::print(&first.balance, out)?;
    }
    writeln!(out)?;
    let mut shown =
        table(&["policy", "in the target", "se", "bound", "sampling", "between", "couplings"]);
    for t in answer.transfers.iter().chain(&answer.differences) {
        let name = match &t.against {
            None => label(&t.policy),
            Some(against) => format!("{} − {}", label(&t.policy), label(against)),
        };
        let told = |x: f64| to_noise(x, t.se);
        shown.add_row([
            name,
            told(t.centre),
            told(t.se),
            bound(t),
            told(t.allowance.sampling),
            told(t.allowance.between),
            told(t.allowance.couplings),
        ]);
    }
    writeln!(out, "{shown}")?;
    let Some(first) = answer.transfers.first() else { return Ok(()) };
    if answer.transfers.iter().chain(&answer.differences).all(|t| t.bound.is_none()) {
        for note in &answer.notes {
            wrapped(&format!("note: {note}"), out)?;
        }
        return Ok(());
    }
    let how = first.method.explained();
    wrapped(&format!("Bounds at {}: {how}; {}.", percent(first.level), answer.direction), out)?;
    if !first.groups.is_empty() {
        writeln!(out)?;
        groups(answer, first, out)?;
    }
    writeln!(out)?;
    wrapped(&answer.condition, out)?;
    left_out(&answer.left_out, out)?;
    for note in &answer.notes {
        wrapped(&format!("note: {note}"), out)?;
    }
    Ok(())
}

/// A number to the digits that its noise leaves it.
pub(super) fn to_noise(x: f64, se: f64) -> String {
    let digits = if se > 0.0 { (1.0 - se.log10().floor()).clamp(0.0, 6.0) } else { 6.0 };
    // Adding 0 takes a minus away from nothing.
    let unit = 10f64.powf(digits);
    format!("{:.*}", digits as usize, (x * unit).round() / unit + 0.0)
}

/// A bound in as many digits as its standard error supports; `none` where too few rows support one.
pub(super) fn bound(transfer: &Transfer) -> String {
    transfer.bound.map_or("none".to_owned(), |bound| to_noise(bound, transfer.se))
}

/// Past groups: predicted, real and needed.
fn groups(answer: &Transfers, first: &Transfer, out: &mut dyn Write) -> Result<()> {
    let by = answer.by.as_deref().unwrap_or_default();
    wrapped(
        &format!(
            "{}, past groups by {}: the bound would have held for {} of {}.",
            label(&first.policy),
            label(by),
            first.held,
            first.groups.len()
        ),
        out,
    )?;
    let mut shown = table(&["group", "rows", "predicted", "real", "needed", ""]);
    let mut worst: Vec<_> = first.groups.iter().collect();
    worst.sort_by(|a, b| b.score.total_cmp(&a.score));
    let few = worst.len() > MOST;
    for g in worst.iter().take(MOST) {
        shown.add_row([
            label(&g.group),
            number(g.rows),
            to_noise(g.predicted, g.real_se),
            to_noise(g.real, g.real_se),
            to_noise(g.score, g.real_se),
            if g.held { String::new() } else { "missed".to_owned() },
        ]);
    }
    writeln!(out, "{shown}")?;
    if few {
        writeln!(out, "and {} more that needed less (--json has all)", worst.len() - MOST)?;
    }
    Ok(())
}

/// Past groups shown, those that needed most first.
const MOST: usize = 15;

/// Groups that are not counted.
pub(super) fn left_out(groups: &LeftOutGroups, out: &mut dyn Write) -> Result<()> {
    let reasons = wording::left_out(groups);
    if reasons.is_empty() {
        Ok(())
    } else {
        wrapped(&format!("Groups left out: {}.", reasons.join(", ")), out)
    }
}

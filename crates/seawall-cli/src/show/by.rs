//! The answers within each level of a column: policies and differences, each with its limits.

use super::brief::short_names;
use super::{ends, label, level, number, radius, supported, table, verdict, wrapped};
use seawall_study::evaluate::{ByLevel, Evaluation, LevelAnswer};
use seawall_study::words::estimate_if;
use std::io::{Result, Write};

/// Prints the first positive radius of each level, or all of them.
pub fn print(found: &Evaluation, all: bool, out: &mut dyn Write) -> Result<()> {
    let Some(by) = &found.by else { return Ok(()) };
    let at = found.question.context.radii.iter().position(|r| *r > 0.0).unwrap_or(0);
    let shown = |k: usize| all || k == at;
    let sure = if by.confidence.is_nan() {
        String::new()
    } else {
        let each = if by.simultaneous { ", all levels at once" } else { "" };
        format!(" ({} limits{each})", level(by.confidence))
    };
    let radii = found.question.context.radii.len();
    let more = if all || radii < 2 { "" } else { ", at the first radius (all: --details)" };
    let column = label(&by.column);
    let names = short_names(found);
    let name = |policy: &str| {
        let at = found.policies.iter().position(|p| p.name == policy);
        at.map_or_else(|| label(policy), |k| names[k].clone())
    };
    writeln!(out)?;
    wrapped(
        &format!(
            "By {column}: the same within each level, everything fitted to its rows alone{sure}{more}:"
        ),
        out,
    )?;
    writeln!(out, "{}", policies(by, &column, &name, shown))?;
    if by.levels.iter().flat_map(answered).any(|e| !e.comparisons.is_empty()) {
        writeln!(out, "{}", pairs(by, &column, &name, shown))?;
    }
    for one in by.levels.iter().filter(|l| l.problem.is_some()) {
        let why = one.problem.as_deref().unwrap_or_default();
        wrapped(&format!("{column} {}: no answer: {why}.", label(&one.level)), out)?;
    }
    Ok(())
}

fn answered(level: &LevelAnswer) -> Option<&Evaluation> {
    level.evaluation.as_deref()
}

fn policies(
    by: &ByLevel,
    column: &str,
    name: &dyn Fn(&str) -> String,
    shown: impl Fn(usize) -> bool,
) -> comfy_table::Table {
    let mut rows =
        table(&[column, "rows", "policy", "doubly robust", "radius", "at worst", "limits"]);
    for one in &by.levels {
        let Some(found) = answered(one) else { continue };
        let mut first = [label(&one.level), number(one.rows)];
        for policy in &found.policies {
            let dr = policy.target.map_or(policy.nominal.dr, |there| there.dr);
            let mut own = [name(&policy.name), estimate_if(dr.as_ref())];
            let radii = found.question.context.radii.len();
            for (_, r) in policy.results.iter().take(radii).enumerate().filter(|(k, _)| shown(*k)) {
                let se = r.shown_se().unwrap_or(f64::NAN);
                let mut row = Vec::from(std::mem::take(&mut first));
                row.extend(std::mem::take(&mut own));
                row.extend([r.radius_words(), supported(r.worst.value, se), ends(r.shown(), se)]);
                rows.add_row(row);
            }
        }
    }
    rows
}

fn pairs(
    by: &ByLevel,
    column: &str,
    name: &dyn Fn(&str) -> String,
    shown: impl Fn(usize) -> bool,
) -> comfy_table::Table {
    let mut rows =
        table(&[column, "pair", "difference", "radius", "at worst", "limits", "the first is"]);
    for one in &by.levels {
        let Some(found) = answered(one) else { continue };
        let mut first = label(&one.level);
        for c in found.leading_pairs() {
            let mut own = [
                format!("{} − {}", name(&c.policy), name(&c.against)),
                estimate_if(c.estimate().as_ref()),
            ];
            let radii = found.question.context.radii.len();
            for (_, r) in c.results.iter().take(radii).enumerate().filter(|(k, _)| shown(*k)) {
                let se = r.shown_se().unwrap_or(f64::NAN);
                let mut row = vec![std::mem::take(&mut first)];
                row.extend(std::mem::take(&mut own));
                row.extend([
                    radius(r.radius),
                    supported(r.bounds.worst.value, se),
                    ends(r.shown(), se),
                ]);
                row.push(verdict(&r.decision));
                rows.add_row(row);
            }
        }
    }
    rows
}

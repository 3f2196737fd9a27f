//! A fitted outcome model in words.

use super::{label, number, percent, short, table};
use seawall_study::explain::{
    BranchFacts, EffectFacts, ExplainedAction, ExplainedModel, Explanation, Importance,
};
use std::io::{Result, Write};

/// Prints every action's model.
pub fn print(found: &Explanation, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "Outcome model: {}; outcome: {}.", found.kind.name(), found.direction)?;
    for action in &found.actions {
        one(action, out)?;
    }
    Ok(())
}

fn one(action: &ExplainedAction, out: &mut dyn Write) -> Result<()> {
    let (name, rows, mean) = (label(&action.name), number(action.rows), number(action.mean));
    writeln!(out, "\n{name}: {rows} rows, mean {mean}.")?;
    match &action.model {
        ExplainedModel::Cells { cells } => {
            writeln!(out, "Every context by itself: {cells} have rows.")
        }
        ExplainedModel::Tree { branches } => branches.iter().try_for_each(|b| branch(b, out)),
        ExplainedModel::Additive { base, penalty, effects } => {
            writeln!(
                out,
                "{} plus what each column adds; penalty {} rows.",
                number(*base),
                number(*penalty)
            )?;
            effects.iter().try_for_each(|e| effect(e, out))
        }
        ExplainedModel::Forest { trees, leaves, importance } => {
            writeln!(out, "The average of {trees} trees of {leaves:.1} leaves on average.")?;
            worth(importance, out)
        }
        ExplainedModel::Boosted { rounds, depth, shrinkage, importance } => {
            writeln!(
                out,
                "The sum of {rounds} trees of depth {depth}, each multiplied by {}.",
                number(*shrinkage)
            )?;
            worth(importance, out)
        }
        ExplainedModel::Table {} => writeln!(out, "Values as they were given."),
    }
}

fn branch(branch: &BranchFacts, out: &mut dyn Write) -> Result<()> {
    let indent = "  ".repeat(branch.depth);
    let when = branch.when.as_deref().map_or("everyone".to_owned(), label);
    let end = if branch.leaf { "" } else { ":" };
    let (rows, mean) = (number(branch.rows), number(branch.mean));
    writeln!(out, "{indent}{when}: {rows} rows, mean {mean}{end}")
}

fn effect(effect: &EffectFacts, out: &mut dyn Write) -> Result<()> {
    let names: Vec<String> = effect.features.iter().map(|f| label(f)).collect();
    let mut header: Vec<&str> = names.iter().map(String::as_str).collect();
    header.extend(["adds", "rows"]);
    let mut shown = table(&header);
    for step in &effect.steps {
        let mut row: Vec<String> = step.levels.iter().map(|l| label(l)).collect();
        row.extend([signed(step.effect), number(step.rows)]);
        shown.add_row(row);
    }
    writeln!(out, "\n{shown}")
}

fn worth(importance: &[Importance], out: &mut dyn Write) -> Result<()> {
    let mut shown = table(&["column", "share in lowering the squared error"]);
    for column in importance {
        shown.add_row([label(&column.feature), percent(column.share)]);
    }
    writeln!(out, "\n{shown}")
}

fn signed(x: f64) -> String {
    if x > 0.0 { format!("+{}", short(x)) } else { short(x) }
}

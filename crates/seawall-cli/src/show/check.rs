//! Facts about a study's data, as tables.

use super::{label, number, percent, short, supported, table};
use seawall::evaluate::PropensitySource;
use seawall::outcome::{ModelKind, Unseen};
use seawall_study::check::{Check, ModelRow};
use seawall_study::prepare::TargetAnswer;
use seawall_study::study::Scale;
use std::io::{Result, Write};

/// Prints everything.
pub fn print(found: &Check, out: &mut dyn Write) -> Result<()> {
    summary(found, out)?;
    let mut features = table(&[
        "context",
        "kind",
        "levels",
        "from",
        "to",
        "missing",
        "empty",
        "a cost of 0.1 buys",
    ]);
    for f in &found.facts.space.features {
        features.add_row([
            label(&f.name),
            f.kind.name().to_owned(),
            f.levels.to_string(),
            label(&f.ends.0),
            label(&f.ends.1),
            percent(f.missing),
            f.empty_levels.to_string(),
            f.buys.clone(),
        ]);
    }
    writeln!(out, "\n{features}\n")?;
    let scale = match found.facts.space.scale {
        Scale::Range => {
            "crossing the whole range of a column, or any change of a nominal one, costs 1"
        }
        Scale::Spread => "two people drawn at random are 1 apart in each column, on average",
    };
    writeln!(out, "Ground cost: {scale}, unless a weight is given.")?;
    writeln!(
        out,
        "Outcomes: {} points, values from {} to {}.",
        found.facts.space.outcomes,
        number(found.facts.space.outcome_range.0),
        number(found.facts.space.outcome_range.1)
    )?;
    model(found, out)?;
    if let Some(balance) = &found.balance {
        writeln!(out)?;
        super::balance::print(balance, out)?;
    }
    match &found.target {
        Some(found) => target(found, out),
        None => Ok(()),
    }
}

/// Actions told one by one.
const SHOWN: usize = 12;

/// The outcome model.
fn model(found: &Check, out: &mut dyn Write) -> Result<()> {
    let what = match found.facts.model.kind {
        ModelKind::Table => "predicted values from a table",
        ModelKind::Column => "predicted values of the rows, averaged in each context",
        ModelKind::Cells => "every context and action by itself",
        ModelKind::Tree => "a regression tree per action",
        ModelKind::Forest => "averaged trees per action",
        ModelKind::Boosted => "boosted trees per action",
        ModelKind::Additive => "per action a sum of what each column adds",
        _ => found.facts.model.kind.name(),
    };
    writeln!(out, "Outcome model: {what}.")?;
    models(found, out)?;
    if !matches!(found.facts.model.kind, ModelKind::Cells | ModelKind::Tree) {
        return Ok(());
    }
    writeln!(out)?;
    let trees = found.facts.model.kind == ModelKind::Tree;
    let chosen = found
        .facts
        .data
        .actions
        .iter()
        .any(|a| a.tree.is_some_and(|t| t.cross_validated.is_some()));
    let mut header = vec!["action", "leaves", "smallest leaf"];
    if trees {
        header.extend(["max depth", "min leaf", "min share", "min split", "pruning"]);
    }
    if chosen {
        header.push("cross-validated error");
    }
    let mut shown = table(&header);
    for a in found.facts.data.actions.iter().take(SHOWN) {
        let mut row = vec![
            label(&a.name),
            a.leaves.map_or(String::new(), |n| n.to_string()),
            a.smallest_leaf.map_or(String::new(), number),
        ];
        if let Some(tree) = a.tree {
            row.push(tree.max_depth.to_string());
            let sizes = [tree.min_samples_leaf, tree.min_share, tree.min_samples_split];
            row.extend(sizes.map(number));
            row.push(number(tree.ccp_alpha));
            row.extend(tree.cross_validated.map(number));
        }
        shown.add_row(row);
    }
    writeln!(out, "{shown}")?;
    more(found, out)
}

/// A number that a row may have.
type Column = fn(&ModelRow) -> Option<f64>;

/// The kinds of models that were compared, where the study left that open.
pub fn models(found: &Check, out: &mut dyn Write) -> Result<()> {
    if found.facts.model.candidates.is_empty() {
        return Ok(());
    }
    // Worst cases by kind, where somebody worked them out.
    let noise: [(&str, Column); 3] = [
        ("plug-in", |r| r.noise.map(|n| n.plug_in)),
        ("held-out", |r| r.noise.map(|n| n.held_out)),
        ("gap", |r| r.noise.map(|n| n.gap)),
    ];
    let known =
        noise.iter().filter(|(_, of)| found.facts.model.candidates.iter().any(|r| of(r).is_some()));
    let mut header = vec!["model", "error (se)", "above lowest (se)"];
    header.extend(known.clone().map(|(name, _)| *name));
    header.push("");
    let mut shown = table(&header);
    for row in &found.facts.model.candidates {
        let mut line = vec![row.kind.name().to_owned()];
        let tell = |x: f64, se: f64| format!("{} ({})", supported(x, se), supported(se, se));
        line.extend([tell(row.error, row.se), tell(row.above, row.above_se)]);
        line.extend(known.clone().map(|(_, of)| of(row).map_or(String::new(), short)));
        line.push(if row.chosen { "chosen" } else { "" }.to_owned());
        shown.add_row(line);
    }
    writeln!(out, "\n{shown}")?;
    super::wrapped(
        "Chosen is the simplest (the first) whose squared error on rows left out is not above the \
         lowest by more than the standard error of the difference.",
        out,
    )
}

fn more(found: &Check, out: &mut dyn Write) -> Result<()> {
    match found.facts.data.actions.len().checked_sub(SHOWN) {
        Some(more @ 1..) => writeln!(out, " and {more} more actions"),
        _ => Ok(()),
    }
}

/// The rows used, what a survey's weights leave of them, and their clusters.
pub fn rows(found: &Check) -> String {
    let mut words = number(found.facts.data.rows);
    if let Some(worth) = found.facts.data.effective_rows {
        words.push_str(&format!(" by weight, worth {} of equal weight", number(worth.round())));
    }
    if let Some(clusters) = found.facts.data.clusters {
        words.push_str(&format!(" in {clusters} clusters"));
    }
    words
}

/// What stands before any number: rows, actions, cells, propensities, notes.
pub fn summary(found: &Check, out: &mut dyn Write) -> Result<()> {
    let files = match found.facts.data.files.as_slice() {
        [one] => one.clone(),
        many => format!("{} files", many.len()),
    };
    let left = found.facts.data.left_out;
    write!(out, "{files}: {} rows read, {} used", found.facts.data.rows_read, rows(found))?;
    let outcome = match left.no_outcome {
        0 => String::new(),
        rows => format!(", {rows} have no outcome"),
    };
    match left.rows() {
        0 => writeln!(out, ", none left out.")?,
        _ => writeln!(
            out,
            "; left out: {} do not meet the conditions, {} meet no action{outcome}.",
            left.conditions, left.no_action
        )?,
    }
    writeln!(
        out,
        "Contexts: {} {}, {} of them observed. Outcome: {}.\n",
        found.facts.space.cells,
        if found.facts.space.grid { "cells" } else { "points" },
        found.facts.space.observed_cells,
        found.facts.data.direction
    )?;
    let mut actions =
        table(&["action", "rows", "mean outcome", "observed cells without", "unseen"]);
    for a in found.facts.data.actions.iter().take(SHOWN) {
        actions.add_row([
            label(&a.name),
            number(a.rows),
            number(a.mean),
            format!("{} of {}", a.observed_cells_without, found.facts.space.observed_cells),
            format!("{} of {}", a.unseen, found.facts.space.needed_cells),
        ]);
    }
    writeln!(out, "{actions}")?;
    more(found, out)?;
    let p = &found.facts.propensity;
    let source = match p.source {
        PropensitySource::Known => "from the log",
        PropensitySource::Design => "by design",
        PropensitySource::Cells => "estimated as shares in each context",
        _ => "estimated by a logistic model",
    };
    let clip = p.clip.map_or(String::new(), |c| format!("; ratios clipped at {}", number(c)));
    writeln!(
        out,
        "\nPropensities: {source}, from {} to {}{clip}.",
        number(p.smallest),
        number(p.largest)
    )?;
    if found.facts.data.actions.iter().any(|a| a.unseen > 0) {
        let words = match found.facts.model.unseen {
            Unseen::Mean => "the action's mean over the log stands in",
            Unseen::Worst => "the worst outcome stands in",
            _ => "evaluation will refuse until [model] unseen says what stands in",
        };
        writeln!(out, "Where the model has no value for an action: {words}.")?;
    }
    for note in &found.notes {
        writeln!(out, "Note: {note}.")?;
    }
    Ok(())
}

/// How well the log covers a target.
pub fn target(target: &TargetAnswer, out: &mut dyn Write) -> Result<()> {
    let c = &target.coverage;
    writeln!(
        out,
        "\nTarget {}: {} rows used, {} left out; {} of its people in contexts that the log never has. \
         The log weighed like it is worth {} rows; largest odds {}.\n",
        target.facts.path,
        target.facts.rows,
        target.facts.left_out,
        percent(c.unobserved),
        number(c.effective_rows),
        number(c.largest_odds)
    )?;
    for b in &target.facts.beyond {
        writeln!(
            out,
            "Beyond the log: {} ({} of the target): {}.",
            label(&b.column),
            percent(b.share),
            b.values.iter().take(10).map(|v| label(v)).collect::<Vec<_>>().join(", ")
        )?;
    }
    let mut few =
        table(&["people with few rows", "under", "in the same context", "in the same leaf"]);
    for a in &c.actions {
        for (k, under) in seawall::transfer::FEW.iter().enumerate() {
            few.add_row([
                if k == 0 { label(&a.name) } else { String::new() },
                number(*under),
                percent(a.cells[k]),
                a.leaves.map_or(String::new(), |l| percent(l[k])),
            ]);
        }
    }
    writeln!(out, "{few}")
}

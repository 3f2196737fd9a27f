//! The answer of `seawall bound` as a table, and the largest moves in words.

use super::{gap, label, number, percent, wrapped};
use crate::request::BoundOutputs;
use comfy_table::Table;
use seawall::{Direction, Kind, Layout, Set, Space, WorstCase};
use seawall_report::drivers;
use seawall_study::bound::{Bound, SupportKind};
use seawall_study::set_text;
use std::io::{Result, Write};

/// Moves told in words for each radius.
const MOVES: usize = 3;

/// Prints everything.
pub fn print(found: &Bound, outputs: &BoundOutputs, out: &mut dyn Write) -> Result<()> {
    let request = &found.request;
    let space = found.population.space();
    let support = match (found.support, space.layout()) {
        (SupportKind::Grid, Layout::Grid(grid)) => {
            let levels: Vec<String> = grid.levels().iter().map(usize::to_string).collect();
            format!("a grid of {} = {} cells", levels.join(" × "), space.len())
        }
        _ => format!("{} points", space.len()),
    };
    let observed = found.population.weights().iter().filter(|p| **p > 0.0).count();
    writeln!(
        out,
        "{}: {} rows, {support}, {observed} with weight.",
        request.path.display(),
        found.rows
    )?;
    let worst = match request.direction {
        Direction::Cost => "highest",
        Direction::Reward => "lowest",
    };
    writeln!(
        out,
        "Mean of {}: {} ({}). Below: the {worst} it could be within each radius.",
        request.value,
        number(found.nominal),
        found.direction
    )?;
    measure(request.set, space, out)?;
    writeln!(out, "\n{}\n", table(found))?;
    for note in &found.notes {
        writeln!(out, "Note: {note}.")?;
    }
    for (radius, worst) in request.radii.iter().zip(&found.worst) {
        moves(found, *radius, worst, out)?;
    }
    if let (Some(curve), Some(path)) = (&found.curve, &outputs.curve) {
        let exact = if curve.is_exact() {
            "exact".to_owned()
        } else {
            format!("within {:.1e}", curve.error())
        };
        writeln!(
            out,
            "The curve, {} vertices ({exact}), is in {}.",
            curve.vertices().len(),
            path.display()
        )?;
    }
    if let Some(path) = &outputs.plan {
        writeln!(out, "Where the mass goes is in {}.", path.display())?;
    }
    Ok(())
}

/// What the set measures by: what a move costs where that matters, how columns count where it does not, and
/// what a fixed column means where it is not that nobody moves across it.
fn measure(set: Set, space: &Space, out: &mut dyn Write) -> Result<()> {
    if set.uses_ground_cost() {
        writeln!(out, "What a move costs: {}.", costs(set, space))?;
    }
    if let Some(coding) = set_text::of(set).coding {
        wrapped(&format!("Columns: {coding}."), out)?;
    }
    let fixed = space.names().enumerate().filter(|(k, _)| space.kind(*k) == Kind::Fixed);
    let fixed: Vec<String> = fixed.map(|(_, name)| label(name)).collect();
    match set_text::of(set).fixed {
        Some(meaning) if !fixed.is_empty() => {
            wrapped(&format!("Fixed ({}): {meaning}.", fixed.join(", ")), out)
        }
        _ => Ok(()),
    }
}

/// The ground cost in words.
fn costs(set: Set, space: &Space) -> String {
    let words = space.names().enumerate().map(|(k, name)| {
        let weight = number(space.weight(k));
        match space.kind(k) {
            Kind::Numeric => format!("{name} {weight} × difference²"),
            Kind::Ordinal => {
                format!("{name} {}, {weight} across the range (squared)", order(space, k))
            }
            Kind::Nominal => format!("{name} {weight} for any change"),
            Kind::Fixed if set_text::of(set).fixed.is_some() => format!("{name} fixed, see below"),
            Kind::Fixed => format!("{name} may not change"),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Levels of an order that are told at either end, where there are many.
const ENDS: usize = 4;

/// An ordinal column's levels in order.
fn order(space: &Space, feature: usize) -> String {
    let levels: Vec<String> = space.levels(feature).iter().map(|l| label(l)).collect();
    if levels.len() > 2 * ENDS + 1 {
        let (first, last) = (&levels[..ENDS], &levels[levels.len() - ENDS..]);
        format!("{} < … < {}", first.join(" < "), last.join(" < "))
    } else {
        levels.join(" < ")
    }
}

fn table(found: &Bound) -> Table {
    let entropic = found.request.set.is_smoothed();
    let mut header =
        vec!["set", "radius", "worst case", "lower", "upper", "gap", "lambda", "status"];
    if entropic {
        header.extend(["exact lower", "exact upper"]);
    }
    header.extend(["unobserved", "evaluations", "time"]);
    let mut table = super::table(&header);
    for answer in &found.results {
        let mut row = vec![
            match answer.eta {
                Some(eta) => format!("{} η={eta}", answer.set.name()),
                None => answer.set.name().to_owned(),
            },
            answer.radius.to_string(),
            number(answer.worst.value),
            number(answer.worst.lower),
            number(answer.worst.upper),
            gap(answer.worst.gap),
            answer.solve.lambda.map_or("infinite".to_owned(), number),
            answer.worst.status.to_string(),
        ];
        if entropic {
            row.extend(
                [answer.solve.exact_lower, answer.solve.exact_upper]
                    .map(|x| x.map_or(String::new(), number)),
            );
        }
        row.push(percent(answer.solve.unobserved_mass));
        row.push(answer.solve.evaluations.to_string());
        row.push(format!("{:.1} ms", 1e3 * answer.seconds));
        table.add_row(row);
    }
    table
}

/// The largest moves at one radius.
fn moves(found: &Bound, radius: f64, worst: &WorstCase, out: &mut dyn Write) -> Result<()> {
    if !found.request.set.moves_mass() {
        return reweighted(found, radius, worst, out);
    }
    let largest = worst.plan().largest(MOVES);
    if largest.is_empty() {
        return writeln!(out, "Radius {radius}: nobody moves.");
    }
    let moved: f64 = worst.plan().iter().filter(|m| m.from != m.to).map(|m| m.mass).sum();
    writeln!(out, "Radius {radius}: {} of the population moves.", percent(moved))?;
    shifts(found, worst, out)?;
    writeln!(out, "  Largest moves:")?;
    for step in largest {
        let words = match drivers::phrase(&drivers::changes(found.population.space(), &step), label)
        {
            words if words.is_empty() => "to another row of the same context".to_owned(),
            words => words,
        };
        let (from, to) = (found.row_of[step.from], found.row_of[step.to]);
        writeln!(
            out,
            "    {} of the population: {words} (row {from} to row {to}, cost {} each)",
            percent(step.mass),
            number(step.cost)
        )?;
    }
    Ok(())
}

/// Levels told for each feature.
const LEVELS: usize = 5;

/// Each feature before and after: the mean of a numeric one, the shares of the levels that
/// change most of any other.
fn shifts(found: &Bound, worst: &WorstCase, out: &mut dyn Write) -> Result<()> {
    let space = found.population.space();
    let (before, after) = (found.population.weights(), worst.weights());
    for (k, name) in space.names().enumerate() {
        if space.kind(k) == Kind::Numeric {
            let mean = |weights: &[f64]| {
                let (mut total, mut mass, mut missing) = (0.0, 0.0, 0.0);
                for (i, p) in weights.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                    match space.number_at(i, k) {
                        Some(x) => {
                            total += p * x;
                            mass += p;
                        }
                        None => missing += p,
                    }
                }
                if mass > 0.0 { (total / mass, missing) } else { (f64::NAN, 1.0) }
            };
            let of = |weights: &[f64]| match mean(weights) {
                (_, 1.0..) => "all missing".to_owned(),
                (mean, missing) if missing > 5e-5 => {
                    format!("mean {} ({} missing)", number(mean), percent(missing))
                }
                (mean, _) => format!("mean {}", number(mean)),
            };
            writeln!(out, "  {name}: {} → {}", of(before), of(&after))?;
            continue;
        }
        let marginal = worst.marginal(k).map_err(std::io::Error::other)?;
        let shares = marginal.nominal.iter().zip(&marginal.worst);
        let mut levels: Vec<(&String, f64, f64)> =
            marginal.labels.iter().zip(shares).map(|(l, (a, b))| (l, *a, *b)).collect();
        levels.retain(|(_, a, b)| percent(*a) != percent(*b));
        levels.sort_by(|x, y| (y.2 - y.1).abs().total_cmp(&(x.2 - x.1).abs()));
        let told = levels.iter().take(LEVELS);
        let words: Vec<String> =
            told.map(|(l, a, b)| format!("{l} {} → {}", percent(*a), percent(*b))).collect();
        let words = if words.is_empty() { "unchanged".to_owned() } else { words.join(", ") };
        writeln!(out, "  {name}: {words}")?;
    }
    Ok(())
}

/// KL moves nobody: it weighs people anew.
fn reweighted(found: &Bound, radius: f64, worst: &WorstCase, out: &mut dyn Write) -> Result<()> {
    let nominal = found.population.weights();
    let mut gains: Vec<(f64, usize)> =
        worst.plan().iter().map(|m| (m.mass - nominal[m.to], m.to)).collect();
    gains.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    gains.retain(|g| g.0 > 0.0);
    if gains.is_empty() {
        return writeln!(out, "Radius {radius}: everyone keeps their weight.");
    }
    writeln!(out, "Radius {radius}: {}.", drivers::sentence(worst, found.request.set))?;
    shifts(found, worst, out)?;
    writeln!(out, "  Largest gains:")?;
    for (gain, point) in gains.into_iter().take(MOVES) {
        let words = found.population.space().describe(point);
        writeln!(
            out,
            "    {} → {} of the population: {words} (row {})",
            percent(nominal[point]),
            percent(nominal[point] + gain),
            found.row_of[point]
        )?;
    }
    Ok(())
}

//! The answers of `seawall evaluate` on one screen: what nothing shifting would bring, the worst mean
//! within each radius, and which policy in one population. `--full` prints the tables.

use super::{
    ends, label, number, percent, radius, shift, supported, table, verdict, width, wrapped,
};
use crate::request::EvaluateOutputs;
use seawall::Status;
use seawall::evaluate::{Estimate, Support};
use seawall_study::evaluate::{Comparison, Evaluation, PolicyResult, RobustValue, Verdict};
use seawall_study::words::estimate_if;
use std::io::{Result, Write};

/// Radii shown side by side; more are in the full tables.
const RADII: usize = 5;
/// Notes shown; more are counted.
const NOTES: usize = 2;
/// Pairs shown; more are counted.
const PAIRS: usize = 6;
/// Radii of a pair shown, a row each.
const ROWS: usize = 8;
/// Changes told of the worst population.
const CHANGES: usize = 2;

/// Prints one screen.
pub fn print(found: &Evaluation, outputs: &EvaluateOutputs, out: &mut dyn Write) -> Result<()> {
    let names = short_names(found);
    let check = &found.diagnostics;
    let (facts, space) = (&check.facts.data, &check.facts.space);
    let left = facts.left_out.rows();
    let left = if left > 0 { format!(", {left} left out") } else { String::new() };
    let files = match facts.files.as_slice() {
        [one] => file_name(one),
        many => format!("{} files", many.len()),
    };
    let rows = match (facts.effective_rows, facts.clusters) {
        (None, None) => format!("{} rows", number(facts.rows)),
        _ => format!("rows {}", super::check::rows(check)),
    };
    let seen = match space.support {
        Support::Space => {
            format!(
                "{} contexts seen, and anywhere between the columns' ends",
                space.observed_cells
            )
        }
        _ => format!("{} of {} contexts seen", space.observed_cells, space.cells),
    };
    let direction = capital(&found.direction.to_string());
    let head = format!("{files}: {rows}{left}; {seen}. {direction}.");
    wrapped(&head, out)?;
    target(found, out)?;
    if let Some(balance) = &found.balance {
        super::balance::print(balance, out)?;
    }
    for note in check.notes.iter().take(NOTES) {
        wrapped(&format!("Note: {note}."), out)?;
    }
    if check.notes.len() > NOTES {
        match check.notes.len() - NOTES {
            1 => writeln!(out, "(one more note: --full)")?,
            more => writeln!(out, "({more} more notes: --full)")?,
        }
    }
    super::check::models(check, out)?;
    writeln!(out)?;
    values(found, &names, out)?;
    if !found.comparisons.is_empty() {
        differences(found, &names, out)?;
    }
    claims(found, &names, out)?;
    hurts(found, &names, out)?;
    if found.policies.iter().flat_map(|p| &p.results).any(|r| r.estimate.is_some()) {
        wrapped("Intervals of worst cases: by the standard error of the estimate.", out)?;
    }
    super::by::print(found, false, out)?;
    super::evaluate::files(found, outputs, out)?;
    let crowned = |c: &Comparison| (0..c.results.len()).any(|k| c.verdict(k) == Verdict::Better);
    if found.question.halves.is_none() && found.comparisons.iter().any(crowned) {
        let words = "Verdicts rest on the interval without a shift alone: worst cases are plug-in. --halves 20 tells \
                     their noise.";
        wrapped(words, out)?;
    }
    writeln!(out, "{} --full prints every table.", certificates(found))
}

/// How well the log covers the target, before any number.
fn target(found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let Some(target) = &found.target else { return Ok(()) };
    let c = &target.coverage;
    let few = |a: &seawall::transfer::ActionCoverage| {
        let share = a.leaves.unwrap_or(a.cells)[2];
        (share > 0.0).then(|| format!("{} of {}", percent(share), label(&a.name)))
    };
    let thin: Vec<String> = c.actions.iter().filter_map(few).take(4).collect();
    let kind = if c.actions.iter().any(|a| a.leaves.is_some()) { "leaves" } else { "contexts" };
    let thin = if thin.is_empty() {
        format!("nobody is in {kind} of under 20 rows")
    } else {
        format!("in {kind} of under 20 rows are {}", thin.join(", "))
    };
    let mut words = format!(
        "Target {}: {} rows, {} of them in contexts the log never has. Weighed like it the log is \
         worth {} rows (largest odds {}); {thin}.",
        file_name(&target.facts.path),
        target.facts.rows,
        percent(c.unobserved),
        number(c.effective_rows.round()),
        super::short(c.largest_odds),
    );
    if !target.facts.beyond.is_empty() {
        let all: Vec<String> = target.facts.beyond.iter().map(|b| label(&b.column)).collect();
        words.push_str(&format!(
            " Beyond the log's values are {} of people ({}).",
            percent(target.facts.beyond_share),
            all.join(", ")
        ));
    }
    wrapped(&words, out)
}

/// The doubly robust and the direct estimate; in the target if there is one.
fn estimates(policy: &PolicyResult) -> (Option<Estimate>, Option<Estimate>) {
    match &policy.target {
        Some(there) => (there.dr, there.direct()),
        None => (policy.nominal.dr, Some(policy.nominal.dm)),
    }
}

/// A policy a row, a radius a column, and below each worst case its limits; as many radii as fit.
fn values(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let place = if found.has_target() { "in the target" } else { "if nothing shifts" };
    let extreme = match found.direction {
        seawall::Direction::Cost => "highest",
        seawall::Direction::Reward => "lowest",
    };
    let (radii, costs) = (&found.question.context.radii, shows_costs(found));
    let mut header = vec!["policy".to_owned(), "doubly robust".to_owned()];
    header.extend(costs.then(|| "cost radius".to_owned()));
    let first = header.len();
    let first_policy = found.policies.first().map_or(&[][..], |p| &p.results);
    header.extend(first_policy.iter().take(radii.len()).map(RobustValue::radius_words));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (policy, name) in found.policies.iter().zip(names) {
        let (dr, dm) = estimates(policy);
        for (k, row) in policy.results.chunks(radii.len()).enumerate() {
            let own =
                if k == 0 { [name.clone(), estimate_if(dr.as_ref())] } else { Default::default() };
            let mut cells = Vec::from(own);
            cells.extend(costs.then(|| number(row[0].shift.cost_radius)));
            let se = |r: &RobustValue| r.shown_se();
            cells.extend(
                row.iter().map(|r| safe(r, found, se(r).or(dm.map(|e| e.se)).unwrap_or(f64::NAN))),
            );
            rows.push(cells);
            let told = row.iter().any(|r| r.shown().is_some());
            if let Some(interval) = interval_name(found).filter(|_| told) {
                let mut cells = vec![String::new(), interval];
                cells.extend(costs.then(String::new));
                cells.extend(row.iter().map(|r| {
                    let safe = r.solve.exact_lower.is_some();
                    ends(
                        if safe { r.shown_safe() } else { r.shown() },
                        r.shown_se().unwrap_or(f64::NAN),
                    )
                }));
                rows.push(cells);
            }
        }
    }
    let kept = first + fitting(&header, &rows, first);
    let beyond = match header.len() - kept {
        0 => String::new(),
        1 => " (one more radius: --full)".to_owned(),
        more => format!(" ({more} more radii: --full)"),
    };
    let sets = if found.question.context.set.needs_known() {
        " where what is known holds"
    } else {
        " within each radius"
    };
    wrapped(&format!("The mean {place}, and the {extreme} it could be{sets}{beyond}:"), out)?;
    let header: Vec<&str> = header.iter().take(kept).map(String::as_str).collect();
    let mut shown = table(&header);
    for row in &rows {
        shown.add_row(row.iter().take(kept));
    }
    writeln!(out, "{shown}")
}

/// So many columns after the first ones fit side by side, at least one.
fn fitting(header: &[String], rows: &[Vec<String>], first: usize) -> usize {
    let wide = |k: usize| {
        let cells = rows.iter().map(|row| row[k].chars().count());
        2 + cells.chain([header[k].chars().count()]).max().unwrap_or(0)
    };
    let mut room = width().saturating_sub((0..first).map(wide).sum());
    let fits = |k: &usize| {
        let enough = room >= wide(*k);
        room = room.saturating_sub(wide(*k));
        enough
    };
    (first..header.len()).take(RADII).take_while(fits).count().max(1)
}

/// Whether outcomes shift, too.
fn shows_costs(found: &Evaluation) -> bool {
    let radii = &found.question.cost.radii;
    radii.len() > 1 || radii[0] > 0.0
}

/// What intervals are called, if there are any.
fn interval_name(found: &Evaluation) -> Option<String> {
    let limits = found.question.halves.map(|h| format!("{} limits", super::level(h.level)));
    let results = || found.policies.iter().flat_map(|p| &p.results);
    let estimated = results().any(|r| r.estimate.is_some());
    let by_error = || format!("{} interval", super::level(found.question.level));
    limits.or(estimated.then(by_error))
}

/// A worst case on the safe side: a smoothed value alone is none.
fn safe(r: &RobustValue, found: &Evaluation, se: f64) -> String {
    let bound = match found.direction {
        seawall::Direction::Cost => r.solve.exact_upper,
        seawall::Direction::Reward => r.solve.exact_lower,
    };
    supported(bound.unwrap_or(r.worst.value), se)
}

/// Pairs in one population: a row a radius, then a sentence each.
fn differences(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let of = |name: &str| {
        let at = found.policies.iter().position(|p| p.name == name);
        at.map_or_else(|| label(name), |k| names[k].clone())
    };
    let pairs = found.leading_pairs();
    let (costs, interval) = (shows_costs(found), interval_name(found));
    let verb = match found.direction {
        seawall::Direction::Cost => "costs",
        seawall::Direction::Reward => "brings",
    };
    wrapped(
        &format!("What the first {verb} above the second, in one and the same population:"),
        out,
    )?;
    let mut header = vec!["pair", "radius"];
    header.extend(costs.then_some("cost radius"));
    header.extend(["at worst", "at best"]);
    header.extend(interval.as_deref());
    header.push("the first is");
    let mut shown = table(&header);
    for c in pairs.iter().take(PAIRS) {
        let plain = c.estimate();
        for (k, r) in c.results.iter().take(ROWS).enumerate() {
            let se = r.shown_se().or(plain.map(|e| e.se)).unwrap_or(f64::NAN);
            let pair = format!("{} − {}", of(&c.policy), of(&c.against));
            let mut row = vec![if k == 0 { pair } else { String::new() }, radius(r.radius)];
            row.extend(costs.then(|| number(r.cost_radius)));
            row.extend([supported(r.bounds.worst.value, se), supported(r.bounds.best.value, se)]);
            row.extend(interval.as_ref().map(|_| ends(r.shown(), se)));
            row.push(verdict(&r.decision));
            shown.add_row(row);
        }
    }
    writeln!(out, "{shown}")?;
    for c in pairs.iter().take(PAIRS) {
        wrapped(&c.sentence(of), out)?;
        let mut subgroups =
            c.results.iter().filter_map(|r| r.decision.reversed_by_subgroup.as_ref());
        if let Some(subgroup) = subgroups.next_back() {
            wrapped(&subgroup.sentence(), out)?;
        }
    }
    if pairs.len() > PAIRS {
        writeln!(out, "({} more pairs: --full)", pairs.len() - PAIRS)?;
    }
    if pairs.iter().any(|c| c.results.len() > ROWS) {
        writeln!(out, "(more radii: --full)")?;
    }
    Ok(())
}

/// What can be claimed of the first policy at its first positive radius, and how much is noise.
fn claims(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let Some((policy, name)) = found.policies.iter().zip(names).next() else { return Ok(()) };
    let at = policy.results.iter().position(|r| r.shift.radius > 0.0);
    match at.and_then(|k| found.claim(policy, k)) {
        Some(words) => wrapped(&format!("{name}: {}", uncapital(&words)), out)?,
        None => return Ok(()),
    }
    found.conditions().map_or(Ok(()), |words| wrapped(&words, out))
}

/// What would hurt each policy most at the first positive radius, in a line.
fn hurts(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let set = found.question.context.set;
    // With limits to tell, the first policy's alone.
    let told = if found.question.halves.is_some() { 1 } else { 4 };
    for (policy, name) in found.policies.iter().zip(names).take(told) {
        let at = policy.results.iter().position(|r| r.shift.radius > 0.0);
        let Some((k, worst)) = at.and_then(|k| Some((k, policy.worst.get(k)?))) else { continue };
        let changes = shift::changes(worst, set, CHANGES);
        if !changes.is_empty() {
            let at = if policy.results[k].shift.radius.is_finite() {
                format!(" at {}", number(policy.results[k].shift.radius))
            } else {
                String::new()
            };
            wrapped(&format!("Worst for {name}{at}: {}.", changes.join("; ")), out)?;
        }
    }
    Ok(())
}

/// Whether every number is exact, or how far the bounds are apart.
fn certificates(found: &Evaluation) -> String {
    let all = found.policies.iter().flat_map(|p| &p.results);
    let smoothed = all.clone().any(|r| r.solve.exact_lower.is_some());
    let open = all.clone().filter(|r| r.worst.status != Status::Optimal).map(|r| r.worst.gap);
    let open = open.chain(
        found
            .comparisons
            .iter()
            .flat_map(|c| &c.results)
            .filter(|r| r.bounds.status() != Status::Optimal)
            .map(|r| r.bounds.worst.gap),
    );
    let open = open.fold(0.0, f64::max);
    match (smoothed, open > 0.0) {
        (true, _) => "Smoothed sets: bounds on the safe side of the exact values.".to_owned(),
        (false, true) => format!("Exact to {}.", super::gap(open)),
        (false, false) => "All exact.".to_owned(),
    }
}

/// Policies' names as short as they can be told apart: without what the kind adds, and not too long.
pub fn short_names(found: &Evaluation) -> Vec<String> {
    // A number alone would read as one.
    let plain = |action: &&str| action.parse::<f64>().is_err();
    let bare = |name: &str| name.strip_prefix("constant:").filter(plain).unwrap_or(name).to_owned();
    let all: Vec<String> = found.policies.iter().map(|p| bare(&p.name)).collect();
    let room = if width() >= 100 { 24 } else { 14 };
    let cut = |name: &String| -> String {
        let name = label(name);
        if name.chars().count() > room {
            name.chars().take(room - 1).chain(['…']).collect()
        } else {
            name
        }
    };
    let cuts: Vec<String> = all.iter().map(cut).collect();
    let alone = |names: &[String], k: usize| names.iter().filter(|n| **n == names[k]).count() == 1;
    let pick = |k: usize| match (alone(&cuts, k), alone(&all, k)) {
        (true, _) => cuts[k].clone(),
        (false, true) => label(&all[k]),
        (false, false) => label(&found.policies[k].name),
    };
    (0..all.len()).map(pick).collect()
}

/// A path without its folders.
fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(letters).collect()
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

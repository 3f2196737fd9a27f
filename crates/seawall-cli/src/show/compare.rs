//! Sets side by side, as a table and in sentences.

use super::{label, short, table, wrapped};
use seawall::Direction;
use seawall_report::wording::compared;
use seawall_study::compare::{Compared, ComparedSet};
use std::io::{Result, Write};

/// Policies with a column of their own; --json has all.
const COLUMNS: usize = 3;

/// Prints what is covered, the table, and which sets agree.
pub fn print(found: &Compared, out: &mut dyn Write) -> Result<()> {
    let better = match found.direction {
        Direction::Cost => "Lower is better.",
        Direction::Reward => "Higher is better.",
    };
    wrapped(&format!("{} {better}", found.covers.sentence), out)?;
    writeln!(out)?;
    let shown = shown(found);
    let names: Vec<String> = shown.iter().map(|&k| label(&found.policies[k])).collect();
    let mut header = vec!["set", "radius"];
    header.extend(names.iter().map(String::as_str));
    let several = found.policies.len() > 1;
    // What is the same for every set has no column: the sentence below says it.
    let mut told = found.answered().map(|s| s.told);
    let first = told.next();
    let noise = told.any(|other| Some(other) != first);
    let unseen = found.answered().any(|s| s.unseen != Some(0.0));
    if several {
        header.push("best as fitted");
        header.extend(noise.then_some("beyond noise"));
        header.push("nowhere worse");
    }
    header.push("fears");
    header.extend(unseen.then_some("unseen"));
    let mut rows = table(&header);
    for set in found.answered() {
        let words = compared(set, label);
        let mut row = vec![set.set.to_string(), words.radius];
        row.extend(shown.iter().map(|&k| value(set, k)));
        if several {
            row.push(words.best);
            row.extend(noise.then(|| words.told.to_owned()));
            row.push(words.no_worse);
        }
        row.push(label(&words.fears));
        row.extend(unseen.then_some(words.unseen));
        rows.add_row(row);
    }
    if found.answered().next().is_some() {
        writeln!(out, "{rows}")?;
    }
    if shown.len() < found.policies.len() {
        let more = found.policies.len() - shown.len();
        writeln!(out, "and {more} more policies that no set chooses (--json has all)")?;
    }
    writeln!(out)?;
    for (k, sentence) in found.agreement.sentences.iter().enumerate() {
        wrapped(sentence, out)?;
        // What chance leaves of the choice stands right behind it.
        if let Some(one) = found.on_log.as_ref().filter(|_| k == 0) {
            wrapped(&one.sentence, out)?;
        }
    }
    for set in &found.sets {
        if let Some(why) = &set.why {
            wrapped(&format!("{}: {}.", set.set, why.trim_end_matches('.')), out)?;
        }
    }
    if !found.left_out.is_empty() {
        let each = found.left_out.iter().map(|s| format!("{} ({})", s.set, s.why));
        let each: Vec<String> = each.collect();
        wrapped(&format!("Left out unless asked for with --set: {}.", each.join("; ")), out)?;
    }
    for note in &found.notes {
        wrapped(&format!("note: {note}"), out)?;
    }
    Ok(())
}

/// The policies that have a column: the first one and those that a set chooses, then others.
fn shown(found: &Compared) -> Vec<usize> {
    let chosen = |k: &usize| found.agreement.choices.iter().any(|c| c.policy == found.policies[*k]);
    let all = 0..found.policies.len();
    let (first, rest): (Vec<usize>, Vec<usize>) = all.partition(|k| *k == 0 || chosen(k));
    let room = COLUMNS.max(first.len());
    let mut kept: Vec<usize> = first.into_iter().chain(rest).take(room).collect();
    kept.sort_unstable();
    kept
}

fn value(set: &ComparedSet, policy: usize) -> String {
    set.policies.get(policy).map_or(String::new(), |p| short(p.worst.value))
}

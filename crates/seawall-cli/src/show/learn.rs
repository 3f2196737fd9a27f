//! What was learned, in words.

use super::transfer::{bound, to_noise};
use super::{balance, gap, number, one_line};
use crate::request::LearnOutputs;
use seawall::Direction;
use seawall::learn::Method;
use seawall_study::learn::{HeldOutDifference, LearnSupport, LearnedPolicy, Spec};
use std::io::{Result, Write};
use std::path::Path;

/// Lines of the policy told.
const LINES: usize = 40;

/// Prints everything; where files are only if they were written.
pub fn print(
    study: &Path,
    answer: &LearnedPolicy,
    outputs: &LearnOutputs,
    written: bool,
    out: &mut dyn Write,
) -> Result<()> {
    policy(answer, out)?;
    value(answer, out)?;
    certificate(answer, out)?;
    bounds(answer, out)?;
    details(answer, out)?;
    honest(answer, out)?;
    by_group(answer, out)?;
    if let Some(path) = outputs.out.as_ref().filter(|_| written) {
        writeln!(
            out,
            "The policy is in {0}: `seawall evaluate {1} --policy {0}`.",
            path.display(),
            study.display()
        )?;
    }
    if let Some(path) = outputs.trace.as_ref().filter(|_| written) {
        let picture = path.with_extension("svg");
        writeln!(out, "The runs are in {} and {}.", path.display(), picture.display())?;
    }
    Ok(())
}

/// What was learned, line by line.
fn policy(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let cost = match answer.shift.cost_radius {
        0.0 => String::new(),
        radius => format!(", {} costs of radius {}", answer.shift.cost_set.name(), number(radius)),
    };
    if let Some(balance) = &answer.details.balance {
        balance::print(balance, out)?;
        writeln!(out)?;
    }
    writeln!(
        out,
        "Learned {} ({}) over {}{cost}; {}.\n",
        one_line(&answer.policy),
        answer.method,
        over(answer),
        answer.value.direction
    )?;
    for line in answer.kept.words.iter().take(LINES) {
        writeln!(out, "  {}", one_line(line))?;
    }
    if answer.kept.words.len() > LINES {
        writeln!(out, "  … {} more lines", answer.kept.words.len() - LINES)?;
    }
    Ok(())
}

/// Its worst case, and its value without a shift.
fn value(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let against = answer.details.against.as_ref();
    let worst = against.map_or("Worst case".to_owned(), |against| {
        format!("Worst difference to {}", super::label(&against.policy))
    });
    let nominal = against.map_or(answer.value.nominal_value, |a| a.nominal_difference);
    let place = if answer.shift.in_target { "In the target itself" } else { "If nothing shifts" };
    let (value, nominal) = (number(answer.value.worst.value), number(nominal));
    match (answer.value.exact_lower, answer.value.exact_upper) {
        (Some(lower), Some(upper)) => writeln!(
            out,
            "\n{worst}, smoothed: {value} (alone no bound); exact: {} to {}. {place}: {nominal}.",
            number(lower),
            number(upper)
        ),
        _ => writeln!(out, "\n{worst}: {value}. {place}: {nominal}."),
    }
}

/// Whether it is certified to be no worse than what it was learned against.
fn certificate(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let Some(against) = &answer.details.against else { return Ok(()) };
    let name = super::label(&against.policy);
    let radius = number(answer.shift.radius);
    let among = match (answer.shift.set.needs_known(), answer.shift.radius.is_finite()) {
        (false, _) => format!("within {radius}"),
        (true, true) => format!("that meets what is known within {radius}"),
        (true, false) => "that meets what is known".to_owned(),
    };
    if !against.no_worse {
        return writeln!(out, "Not certified: in some population {among} it is worse than {name}.");
    }
    writeln!(
        out,
        "Certified for the fitted values: no worse than {name} in any population {among}."
    )?;
    let sign = answer.value.direction.sign();
    match answer.held_out.honest.as_ref().filter(|h| sign * h.value > 0.0) {
        Some(honest) => writeln!(
            out,
            "On rows that did not choose it the worst difference is {}: some of the certificate is noise.",
            number(honest.value)
        ),
        None => Ok(()),
    }
}

/// What no policy of its kind can beat, and what no policy whatever can.
fn bounds(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let (better, bound, floor) = match answer.value.direction {
        Direction::Cost => ("below", answer.value.worst.lower, "Floor"),
        Direction::Reward => ("above", answer.value.worst.upper, "Ceiling"),
    };
    let kind = if answer.details.against.is_some() { "worst difference" } else { "worst case" };
    let (joint, least) = (answer.shift.set.needs_actions(), number(answer.value.greedy_floor));
    let (iterations, seconds) = (answer.value.iterations, answer.seconds);
    match (&answer.question.policy, answer.method) {
        (Spec::Greedy, _) => {
            // Under a set of people with their outcomes another is best at another radius.
            let always = if joint { "" } else { ", at any radius greedy is best" };
            return writeln!(out, "No policy whatever has a {kind} {better} {least}{always}.");
        }
        (_, Method::Exact) => writeln!(
            out,
            "No policy of this kind{} has a {kind} {better} {}: gap {}, {}, {iterations} iterations, \
             {seconds:.2} s.",
            // What nobody got there has no outcomes to be weighed anew.
            if joint { " that does only what rows alike have" } else { "" },
            number(bound),
            gap(answer.value.worst.gap),
            answer.value.worst.status,
        )?,
        (_, Method::Bsgd) => writeln!(
            out,
            "Stochastic: {iterations} steps in all, {seconds:.2} s; there is no certificate but the floor."
        )?,
        _ => writeln!(
            out,
            "A local optimum: {iterations} iterations, {seconds:.2} s; there is no certificate but the floor."
        )?,
    }
    let whose =
        if joint { "what no row alike has counts as nobody there" } else { "the greedy one" };
    writeln!(out, "{floor}: no policy whatever has a {kind} {better} {least} ({whose}).")
}

/// What only some ways of learning give.
fn details(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    if answer.shift.support == LearnSupport::Sampled {
        let weaker = match answer.value.direction {
            Direction::Cost => "a lower",
            Direction::Reward => "an upper",
        };
        writeln!(
            out,
            "The combinations of levels are too many to list: they were drawn from, and the worst \
             case above is over the contexts observed, {weaker} bound of that over all."
        )?;
    }
    if let Some(mixture) = answer.details.mixture.as_ref().filter(|m| m.parts.len() > 1) {
        writeln!(
            out,
            "Drawing among {} trees would do {} (between {} and {}).",
            mixture.parts.len(),
            number(mixture.value),
            number(mixture.lower),
            number(mixture.upper)
        )?;
    }
    if let Some(runs) = &answer.details.runs {
        writeln!(
            out,
            "{} runs of {} steps, {} points each: their own worst cases {} ± {}, λ {}.",
            runs.count,
            runs.schedule.steps,
            runs.schedule.points,
            number(runs.mean),
            number(runs.sd),
            number(runs.lambda)
        )?;
    }
    Ok(())
}

/// The set that it was learned over.
fn over(answer: &LearnedPolicy) -> String {
    if !answer.shift.column_radii.is_empty() {
        return "all couplings of what is known within the columns' radii".to_owned();
    }
    if answer.shift.radius.is_infinite() {
        return format!("all {} of what is known", answer.shift.set.name());
    }
    let article = if answer.shift.set.name().starts_with('e') { "an" } else { "a" };
    format!("{article} {} set of radius {}", answer.shift.set.name(), number(answer.shift.radius))
}

/// Held-out values, beside the best constant's and the baseline's, and the differences with their standard
/// errors.
fn honest(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let Some(honest) = &answer.held_out.honest else {
        let why = match &answer.held_out.no_honest {
            Some(why) => format!("halves of the rows cannot be used: {why}"),
            None => "--honest values it on others".to_owned(),
        };
        return writeln!(out, "These values are from the rows that chose the policy; {why}.");
    };
    writeln!(
        out,
        "\nHeld-out estimates (learned on one half of the rows, valued on the other; {} sample splits, both \
         directions):\n",
        honest.splits
    )?;
    let place = if answer.shift.in_target { "in the target" } else { "in the data" };
    let mut header = vec!["policy", "worst case", place];
    let difference =
        answer.details.against.as_ref().map(|a| format!("worst minus {}", super::label(&a.policy)));
    header.extend(difference.as_deref());
    let mut shown = super::table(&header);
    let nominal = |x: f64| if x.is_finite() { number(x) } else { "too few rows".to_owned() };
    let mut row = |name: String, worst: f64, plain: f64, last: Option<String>| {
        let mut cells = vec![name, number(worst), nominal(plain)];
        cells.extend(difference.as_ref().map(|_| last.unwrap_or_default()));
        shown.add_row(cells);
    };
    let own = Some(number(honest.value));
    row(super::label(&answer.policy), honest.worst_case, honest.nominal_value, own);
    let others = [("best constant", &honest.best_constant), ("baseline", &honest.baseline)];
    for (what, v) in others {
        row(format!("{what}: {}", super::label(&v.policy)), v.value, v.nominal_value, None);
    }
    writeln!(out, "{shown}\n")?;
    let with_se = |d: &HeldOutDifference| {
        if d.value.is_finite() {
            format!("{} (SE {})", to_noise(d.value, d.se), to_noise(d.se, d.se))
        } else {
            "too few rows".to_owned()
        }
    };
    for (what, v) in others {
        writeln!(
            out,
            "{} minus {what}: worst case {}, {place} {}.",
            super::label(&answer.policy),
            with_se(&v.difference),
            with_se(&v.nominal_difference)
        )?;
    }
    Ok(())
}

/// The value on past groups that did not choose the policy.
fn by_group(answer: &LearnedPolicy, out: &mut dyn Write) -> Result<()> {
    let Some(found) = &answer.groups else { return Ok(()) };
    let own = &found.difference;
    let against = own.against.as_deref().map_or(String::new(), super::label);
    super::wrapped(
        &format!(
            "On past groups by {} that did not choose it (learned {} times without some of them): to \
             {against} {} in the target, {} with the allowance of {} ({}); by itself {}, {} with its \
             allowance. The bound would have held for {} of {} groups.",
            super::label(&found.by),
            found.folds,
            to_noise(own.centre, own.se),
            bound(own),
            super::percent(own.level),
            own.method,
            to_noise(found.value.centre, found.value.se),
            bound(&found.value),
            own.held,
            own.groups.len()
        ),
        out,
    )
}

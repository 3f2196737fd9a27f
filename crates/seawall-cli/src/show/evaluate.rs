//! The answers of `seawall evaluate --details`: diagnostics, nominal estimates, worst cases, and the worst
//! case in words.

use super::{
    balance, between, check, gap, label, level, number, percent, radius, shift, short, supported,
    table,
};
use crate::request::EvaluateOutputs;
use seawall::Curve;
use seawall::Direction;
use seawall::evaluate::Estimate;
use seawall_report::drivers::sentence;
use seawall_study::evaluate::{Comparison, Evaluation, PolicyResult, Question};
use std::io::{Result, Write};

/// Prints everything.
pub fn print(found: &Evaluation, outputs: &EvaluateOutputs, out: &mut dyn Write) -> Result<()> {
    let question = &found.question;
    check::summary(&found.diagnostics, out)?;
    check::models(&found.diagnostics, out)?;
    target(found, out)?;
    coverage(question, found, out)?;
    writeln!(out, "\nIf nothing shifts ({}; 95% intervals):\n", found.direction)?;
    writeln!(out, "{}", nominal(found))?;
    let worst = match found.direction {
        Direction::Cost => "highest",
        Direction::Reward => "lowest",
    };
    let sets = if question.context.set.needs_known() {
        "Where what is known of the target holds"
    } else {
        "Within each radius"
    };
    writeln!(out, "\n{sets}, the {worst} it could be:\n")?;
    writeln!(out, "{}\n", robust(question, found))?;
    if is_entropic(question) {
        writeln!(
            out,
            "Note: an entropic value alone is no bound of the worst case; the exact one is between exact lower and exact upper.\n"
        )?;
    }
    noise(question, found, out)?;
    sampling(question, found, out)?;
    comparisons(found, out)?;
    super::by::print(found, true, out)?;
    bounds(found, out)?;
    for policy in &found.policies {
        explain(question, policy, out)?;
    }
    files(found, outputs, out)
}

/// What was written where.
pub fn files(found: &Evaluation, outputs: &EvaluateOutputs, out: &mut dyn Write) -> Result<()> {
    if let Some(path) = &outputs.curve {
        let curves = || found.policies.iter().flat_map(|p| &p.curves);
        let vertices: usize = curves().map(|c| c.vertices().len()).sum();
        let error = curves().map(Curve::error).fold(0.0, f64::max);
        let exact = if curves().all(Curve::is_exact) {
            "exact".to_owned()
        } else {
            format!("within {error:.1e}")
        };
        writeln!(out, "The curves, {vertices} vertices ({exact}), are in {}.", path.display())?;
    }
    if let Some(path) = &outputs.worst {
        writeln!(out, "The worst-case populations are in {}.", path.display())?;
    }
    Ok(())
}

/// Whether contexts or outcomes are smoothed.
fn is_entropic(question: &Question) -> bool {
    [question.context.set, question.cost.set].iter().any(|set| set.is_smoothed())
}

fn estimate(e: Option<Estimate>) -> String {
    let Some(e) = e else { return "no such rows".to_owned() };
    match e.interval {
        Some(i) => format!("{} ({}, {})", number(e.value), short(i.lower), short(i.upper)),
        None => format!("{} (unknown)", number(e.value)),
    }
}

fn nominal(found: &Evaluation) -> comfy_table::Table {
    let mut shown = table(&["policy", "direct method", "IPS", "self-normalised", "doubly robust"]);
    for policy in &found.policies {
        let n = &policy.nominal;
        shown.add_row([
            label(&policy.name),
            estimate(Some(n.dm)),
            estimate(n.ips),
            estimate(n.snips),
            estimate(n.dr),
        ]);
    }
    shown
}

/// How well the log covers each policy, and how much of its worst case is where nobody was seen.
fn coverage(question: &Question, found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let clipped = found.policies.iter().any(|p| p.overlap.clipped > 0.0);
    let mut header = vec!["policy", "effective rows", "mean ratio", "never done in the context"];
    if clipped {
        header.push("rows clipped");
    }
    let unobserved: Vec<String> =
        question.context.radii.iter().map(|r| format!("unobserved at {}", radius(*r))).collect();
    header.extend(unobserved.iter().map(String::as_str));
    let mut shown = table(&header);
    for policy in &found.policies {
        let overlap = &policy.overlap;
        let mut row = vec![
            label(&policy.name),
            number((100.0 * overlap.effective_sample_size).round() / 100.0),
            number(overlap.mean_ratio),
            percent(overlap.uncovered.unwrap_or(0.0)),
        ];
        if clipped {
            row.push(number(overlap.clipped));
        }
        row.extend(
            policy.results.iter().take(unobserved.len()).map(|r| percent(r.solve.unobserved_mass)),
        );
        shown.add_row(row);
    }
    writeln!(
        out,
        "\nHow the log covers each policy, and the share of its worst case where nobody was seen:\n\n{shown}"
    )
}

fn robust(question: &Question, found: &Evaluation) -> comfy_table::Table {
    let entropic = is_entropic(question);
    let several_costs =
        !question.cost.set.stays_at_zero() || question.cost.radii.iter().any(|r| *r > 0.0);
    let mut header = vec!["policy", "set", "radius"];
    if several_costs {
        header.extend(["cost set", "cost radius"]);
    }
    header.extend(["worst case", "lower", "upper", "gap", "lambda", "status"]);
    if entropic {
        header.extend(["exact lower", "exact upper"]);
    }
    header.push("unobserved");
    let mut shown = table(&header);
    for policy in &found.policies {
        for answer in &policy.results {
            let name = |set: &str, eta: Option<f64>| match eta {
                Some(eta) => format!("{set} η={eta}"),
                None => set.to_owned(),
            };
            let mut row = vec![
                label(&policy.name),
                name(answer.shift.set.name(), answer.shift.eta),
                answer.radius_words(),
            ];
            if several_costs {
                row.push(name(answer.shift.cost_set.name(), answer.shift.cost_eta));
                row.push(number(answer.shift.cost_radius));
            }
            row.extend([
                number(answer.worst.value),
                number(answer.worst.lower),
                number(answer.worst.upper),
                gap(answer.worst.gap),
                answer.solve.lambda.map_or("infinite".to_owned(), number),
                answer.worst.status.to_string(),
            ]);
            if entropic {
                let exact = [answer.solve.exact_lower, answer.solve.exact_upper];
                row.extend(exact.map(|x| x.map_or(String::new(), number)));
            }
            row.push(percent(answer.solve.unobserved_mass));
            shown.add_row(row);
        }
    }
    shown
}

/// How much of each worst case may be noise: plug-in value, held-out value and limits.
fn noise(question: &Question, found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let Some(limits) = question.halves.map(|h| format!("{} limits", level(h.level))) else {
        return Ok(());
    };
    let several_costs = question.cost.radii.iter().any(|r| *r > 0.0);
    let mut header = vec!["policy", "radius"];
    header.extend(several_costs.then_some("cost radius"));
    header.extend(["plug-in", "held-out (se)", &limits, "allowing for pairs"]);
    let mut shown = table(&header);
    let tell =
        |(value, se): (f64, f64)| format!("{} ({})", supported(value, se), supported(se, se));
    for policy in &found.policies {
        for answer in &policy.results {
            let mut row = vec![label(&policy.name), answer.radius_words()];
            row.extend(several_costs.then(|| number(answer.shift.cost_radius)));
            row.push(number(answer.worst.value));
            if let (Some(h), Some(l)) = (answer.noise.held_out, answer.noise.limits) {
                let pairs = l.pairwise.map_or(String::new(), |end| supported(end, h.se));
                row.extend([tell((h.value, h.se)), between((l.lower, l.upper)), pairs]);
            }
            shown.add_row(row);
        }
    }
    writeln!(out, "How much of that may be noise:\n\n{shown}\n")?;
    for policy in &found.policies {
        let at = policy.results.iter().position(|r| r.shift.radius > 0.0);
        if let Some(words) = at.and_then(|k| found.claim(policy, k)) {
            writeln!(out, "{}: {words}", label(&policy.name))?;
        }
    }
    if let Some(words) = found.conditions() {
        writeln!(out, "Assumes: {words}")?;
    }
    writeln!(
        out,
        "Limits: from the held-out value (the worst population found on one part of the rows, valued on the other) towards the plug-in value, with their standard errors and an allowance for effects of single columns that the model missed; \"allowing for pairs\", also for effects of pairs of columns.\n"
    )
}

/// Worst cases as estimates, where the set has standard errors of its own.
fn sampling(question: &Question, found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let interval = format!("{} interval", level(question.level));
    let mut shown = table(&["policy", "radius", "worst case (se)", &interval, "freedom"]);
    let mut any = false;
    for policy in &found.policies {
        for answer in &policy.results {
            let Some(own) = &answer.estimate else { continue };
            any = true;
            let e = &own.estimate;
            let told = format!("{} ({})", supported(e.value, e.se), supported(e.se, e.se));
            let ends = e.interval.map_or(String::new(), |i| between((i.lower, i.upper)));
            let freedom = number(own.freedom.round());
            shown.add_row([label(&policy.name), answer.radius_words(), told, ends, freedom]);
        }
    }
    if any {
        writeln!(out, "As estimates from a sample of rows, by their standard errors:\n\n{shown}\n")
    } else {
        Ok(())
    }
}

/// Pairs of policies in one population: every order, radius and cost radius.
fn comparisons(found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    if found.comparisons.is_empty() {
        return Ok(());
    }
    let limits = found.question.halves.map(|h| format!("{} limits", level(h.level)));
    writeln!(out, "In one and the same population, the first policy less the second:\n")?;
    let mut header = vec!["policy", "against", "radius", "cost radius", "worst", "lower", "upper"];
    header.extend(["best", "gap", "status", "unobserved"]);
    if let Some(limits) = &limits {
        header.extend(["honest", limits]);
    }
    let mut shown = table(&header);
    for c in &found.comparisons {
        for r in &c.results {
            let mut row = vec![label(&c.policy), label(&c.against), radius(r.radius)];
            row.extend([
                number(r.cost_radius),
                number(r.bounds.worst.value),
                number(r.bounds.worst.lower),
                number(r.bounds.worst.upper),
            ]);
            row.extend([
                number(r.bounds.best.value),
                gap(r.bounds.worst.gap),
                r.bounds.status().to_string(),
            ]);
            row.push(r.unobserved_mass.map_or(String::new(), percent));
            if let (Some(h), Some(l)) = (r.noise.held_out, r.noise.limits) {
                row.extend([supported(h.value, h.se), between((l.lower, l.upper))]);
            }
            shown.add_row(row);
        }
    }
    writeln!(out, "{shown}\n")?;
    for c in found.comparisons.iter().filter(|c| c.leads()) {
        writeln!(out, "{}", c.sentence(label))?;
    }
    for c in &found.comparisons {
        who(c, found, out)?;
    }
    writeln!(out)
}

/// Who would have to become whom for a policy to be worst beside another, at the first radius.
fn who(c: &Comparison, found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let Some(k) = c.results.iter().position(|r| r.radius > 0.0) else { return Ok(()) };
    let (Some(worst), set) = (c.worst.get(k), found.question.context.set) else { return Ok(()) };
    let told = shift::changes(worst, set, 3);
    if told.is_empty() {
        Ok(())
    } else {
        writeln!(
            out,
            "Where {} is worst beside {}, {}: {}.",
            label(&c.policy),
            label(&c.against),
            match c.results[k].radius {
                r if r.is_finite() => format!("radius {}", number(r)),
                r => radius(r),
            },
            told.join("; ")
        )
    }
}

/// How the log was made like the target, and the estimates there.
fn balanced(found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let Some(summary) = &found.balance else { return Ok(()) };
    writeln!(out)?;
    balance::print(summary, out)?;
    writeln!(out, "\nIn the target ({}; 95% intervals):\n", found.direction)?;
    let mut shown = table(&["policy", "doubly robust", "effective rows"]);
    for policy in &found.policies {
        let Some(there) = &policy.target else { continue };
        let rows = number(there.effective_rows.round());
        shown.add_row([label(&policy.name), estimate(there.dr), rows]);
    }
    writeln!(out, "{shown}")
}

/// How well the log covers the target, and the estimates there.
fn target(found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    balanced(found, out)?;
    let Some(target) = &found.target else { return Ok(()) };
    check::target(target, out)?;
    writeln!(out, "\nIn the target ({}; 95% intervals):\n", found.direction)?;
    let mut shown =
        table(&["policy", "direct method", "inverse odds", "doubly robust", "effective rows"]);
    for policy in &found.policies {
        let Some(there) = &policy.target else { continue };
        let cell = |e: &Option<Estimate>| e.map_or(String::new(), |e| estimate(Some(e)));
        shown.add_row([
            label(&policy.name),
            cell(&there.dm),
            cell(&there.odds),
            estimate(there.dr),
            number(there.effective_rows.round()),
        ]);
    }
    writeln!(out, "{shown}")
}

/// The paper's bound, term by term.
fn bounds(found: &Evaluation, out: &mut dyn Write) -> Result<()> {
    let Some(b) = &found.bounds else { return Ok(()) };
    writeln!(
        out,
        "Finite-sample bound: with probability {} a robust value is off by at most {}: sampling \
         {}, contexts {}, costs {}, outcomes {}, smoothing {}.",
        percent(1.0 - b.delta),
        number(b.terms.total),
        number(b.terms.sampling),
        number(b.terms.contexts),
        number(b.terms.costs),
        number(b.terms.outcomes),
        number(b.terms.smoothing)
    )?;
    writeln!(
        out,
        "It asks for {} rows and there are {}{}; smallest context mass {}, smallest propensity {}, \
         largest outcome {}. Such bounds are very wide: read them beside the limits.\n",
        number(b.needed_rows),
        number(b.rows),
        if b.holds { "" } else { ", so it says nothing yet" },
        number(b.smallest_context_mass),
        number(b.smallest_propensity),
        number(b.largest_outcome)
    )
}

/// The worst case of one policy in words: all radii in a line each, the first one in full.
fn explain(question: &Question, policy: &PolicyResult, out: &mut dyn Write) -> Result<()> {
    let moves = question.context.set.moves_mass();
    writeln!(out, "What would hurt {}:", policy.name)?;
    let radii = question.context.radii.len();
    let cases = policy.results.iter().zip(&policy.worst).take(radii);
    for (answer, worst) in cases.clone() {
        let told = sentence(worst, question.context.set);
        if answer.shift.radius.is_finite() {
            writeln!(out, " Radius {}: {told}.", answer.shift.radius)?
        } else {
            writeln!(out, " {}: {told}.", super::brief::capital(&answer.radius_words()))?
        }
    }
    if let Some((answer, worst)) = cases.into_iter().find(|(answer, _)| answer.shift.radius > 0.0) {
        if answer.shift.radius.is_finite() {
            writeln!(out, " At radius {}:", answer.shift.radius)?
        } else {
            writeln!(out, " With {}:", answer.radius_words().replace("by", "radii by"))?
        }
        let moves = moves && worst.plan().iter().any(|m| m.from != m.to);
        shift::tables(worst, moves, out)?;
    }
    writeln!(out)
}

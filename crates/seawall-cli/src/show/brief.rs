//! The answers of `seawall evaluate` on one screen: what nothing shifting would bring, the worst mean
//! within each radius, and which policy in one population. `--details` prints the tables.

use super::{
    ends, label, number, percent, radius, shift, short, supported, table, verdict, width, wrapped,
};
use crate::request::EvaluateOutputs;
use seawall::evaluate::{Estimate, Support};
use seawall::{Kind, Status, WorstCase};
use seawall_report::drivers;
use seawall_study::evaluate::{Comparison, DifferenceValue, Evaluation, PolicyResult, RobustValue};
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
        Support::Space => format!("{} contexts, and anywhere between", space.observed_cells),
        _ => format!("{} of {} contexts seen", space.observed_cells, space.cells),
    };
    wrapped(&format!("{files} · {rows}{left} · {seen} · {}", found.direction), out)?;
    target(found, out)?;
    if let Some(balance) = &found.balance {
        super::balance::print(balance, out)?;
    }
    for note in check.notes.iter().take(NOTES) {
        wrapped(&format!("Note: {note}."), out)?;
    }
    if check.notes.len() > NOTES {
        match check.notes.len() - NOTES {
            1 => writeln!(out, "(one more note: --details)")?,
            more => writeln!(out, "({more} more notes: --details)")?,
        }
    }
    super::check::models(check, out)?;
    writeln!(out)?;
    let contrasts = contrasts(found);
    verdicts(found, &contrasts, &names, out)?;
    values(found, &contrasts, &names, out)?;
    below(found, &names, out)?;
    if outputs.pairs && !found.comparisons.is_empty() {
        writeln!(out)?;
        differences(found, &names, out)?;
    }
    super::by::print(found, false, out)?;
    super::evaluate::files(found, outputs, out)
}

/// Every other policy beside the reference: a constant policy of the action most often taken, else the first one.
fn contrasts(found: &Evaluation) -> Vec<&Comparison> {
    let taken = found.diagnostics.facts.data.actions.iter();
    let most =
        taken.max_by(|a, b| a.rows.total_cmp(&b.rows)).map(|a| format!("constant:{}", a.name));
    let usual = found.policies.iter().position(|p| Some(&p.name) == most.as_ref()).unwrap_or(0);
    let Some(reference) = found.policies.get(usual) else { return Vec::new() };
    found.comparisons.iter().filter(|c| c.against == reference.name).collect()
}

/// What can be said, in words.
fn verdicts(
    found: &Evaluation,
    contrasts: &[&Comparison],
    names: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    let lines: Vec<String> = match (contrasts, found.policies.first()) {
        ([], Some(policy)) => {
            let at = policy.results.iter().position(|r| r.shift.radius > 0.0);
            at.and_then(|k| found.claim(policy, k)).into_iter().collect()
        }
        _ => contrasts.iter().map(|c| c.headline(|name| named(found, names, name))).collect(),
    };
    for (k, line) in lines.iter().enumerate() {
        block(if k == 0 { "Verdict" } else { "" }, line, out)?;
    }
    let mut subgroups = contrasts.iter().flat_map(|c| &c.results);
    let subgroup = subgroups.find_map(|r| r.decision.reversed_by_subgroup.as_ref());
    subgroup.map_or(Ok(()), |subgroup| block("", &subgroup.sentence(), out))?;
    writeln!(out)
}

/// A policy by the short name that the screen has for it.
fn named(found: &Evaluation, names: &[String], name: &str) -> String {
    let at = found.policies.iter().position(|p| p.name == name);
    at.map_or_else(|| label(name), |k| names[k].clone())
}

/// A paragraph beside its title.
fn block(title: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    const INDENT: usize = 9;
    let room = width().clamp(40, 100) - INDENT;
    let mut line = String::new();
    let mut first = Some(title);
    let mut write = |line: &str, out: &mut dyn Write| {
        let title = first.take().unwrap_or_default();
        writeln!(out, "{}", format!("{title:<INDENT$}{line}").trim_end())
    };
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            write(&line, out)?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    write(&line, out)
}

/// What the radii mean, who drives the worst case, what all that assumes, and where to look next.
fn below(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let set = found.question.context.set;
    let first = found.policies.iter().zip(names).find_map(|(policy, name)| {
        let k = policy.results.iter().position(|r| r.shift.radius > 0.0)?;
        Some((name, &policy.results[k], policy.worst.get(k)?))
    });
    if let Some((name, at, worst)) = first {
        if let Some(words) = radii_in_words(found, worst) {
            block("Radius", &words, out)?;
        }
        let changes = shift::changes(worst, set, CHANGES);
        if !changes.is_empty() {
            let within = if at.shift.radius.is_finite() {
                format!(" at {}", number(at.shift.radius))
            } else {
                String::new()
            };
            let driver = format!("{name}{within}: {}{}", changes.join("; "), bins(found, worst));
            block("Driver", &driver, out)?;
        }
    }
    if let Some(words) = found.conditions() {
        block("Assumes", &words, out)?;
    } else if found.question.halves.is_none() {
        let words = "No sample splits: worst cases are plug-in, and verdicts rest on the interval without a shift \
                     alone (--splits 20).";
        block("Noise", words, out)?;
    }
    if found.policies.iter().flat_map(|p| &p.results).any(|r| r.estimate.is_some()) {
        block("Noise", "Intervals of worst cases: by the standard error of the estimate.", out)?;
    }
    let solved = certificates(found);
    block("More", &format!("--pairs · --details · seawall report STUDY · {solved}"), out)
}

/// Every radius by what it lets people move along the column that drives the worst case.
fn radii_in_words(found: &Evaluation, worst: &WorstCase) -> Option<String> {
    let set = found.question.context.set;
    if !set.moves_mass() || set.needs_known() {
        return None;
    }
    let space = worst.nominal().space();
    let moves = drivers::commonest(space, worst.plan().iter(), 1);
    let feature = &moves.first()?.changes.first()?.feature;
    let facts = found.diagnostics.facts.space.features.iter().find(|f| f.name == *feature)?;
    let weight = facts.weight?;
    let name = label(feature);
    let each = |radius: &f64| match facts.kind {
        Kind::Numeric => Some(format!(
            "{} ≈ {name} {} further",
            number(*radius),
            short(round((radius / weight).sqrt()))
        )),
        Kind::Nominal => Some(format!(
            "{} ≈ another {name} for {}",
            number(*radius),
            percent((radius / weight).min(1.0))
        )),
        _ => None,
    };
    let radii = found.question.context.radii.iter().filter(|r| **r > 0.0 && r.is_finite());
    let all: Vec<String> = radii.map(each).collect::<Option<_>>()?;
    let who = if facts.kind == Kind::Numeric { " for everyone" } else { "" };
    (!all.is_empty()).then(|| format!("{}{who}", all.join("; ")))
}

/// To two digits.
fn round(x: f64) -> f64 {
    let unit = 10f64.powf(x.abs().log10().floor() - 1.0);
    if unit > 0.0 && unit.is_finite() { (x / unit).round() * unit } else { x }
}

/// Which of the columns that people move along are binned.
fn bins(found: &Evaluation, worst: &WorstCase) -> String {
    let space = worst.nominal().space();
    let moves = drivers::commonest(space, worst.plan().iter(), CHANGES);
    let changed = |name: &str| moves.iter().flat_map(|m| &m.changes).any(|c| c.feature == name);
    let binned = found.diagnostics.facts.space.features.iter().filter(|f| changed(&f.name));
    let told: Vec<String> = binned
        .filter_map(|f| Some(format!("{} in bins of {}", label(&f.name), number(f.bin?))))
        .collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
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
        "Target {}: {} rows, {} of them in contexts the data never have. Effective sample size \
         after reweighting to it: {} (largest odds {}); {thin}.",
        file_name(&target.facts.path),
        target.facts.rows,
        percent(c.unobserved),
        number(c.effective_rows.round()),
        short(c.largest_odds),
    );
    if !target.facts.beyond.is_empty() {
        let all: Vec<String> = target.facts.beyond.iter().map(|b| label(&b.column)).collect();
        words.push_str(&format!(
            " Beyond the data's values are {} of people ({}).",
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

/// A policy a row, a radius a column, and beside each worst case its upper limit; then each policy beside the
/// reference, in one population; as many radii as fit.
fn values(
    found: &Evaluation,
    contrasts: &[&Comparison],
    names: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    let place = if found.has_target() { "in the target" } else { "in the data" };
    let (radii, costs) = (&found.question.context.radii, shows_costs(found));
    let fitted = shows_model(found);
    let mut header = vec!["policy".to_owned(), place.to_owned()];
    header.extend(fitted.then(|| "model".to_owned()));
    header.extend(costs.then(|| "outcome radius".to_owned()));
    let first = header.len();
    let first_policy = found.policies.first().map_or(&[][..], |p| &p.results);
    header.extend(first_policy.iter().take(radii.len()).map(RobustValue::radius_words));
    let mut rows: Vec<Vec<String>> = Vec::new();
    let head = |cells: [String; 3], cost_radius: f64| {
        let [name, own, by_model] = cells;
        let mut all = vec![name, own];
        all.extend(fitted.then_some(by_model));
        all.extend(costs.then(|| number(cost_radius)));
        all
    };
    for (policy, name) in found.policies.iter().zip(names) {
        let (dr, dm) = estimates(policy);
        for (k, row) in policy.results.chunks(radii.len()).enumerate() {
            let by_model = dm.map_or(String::new(), |e| supported(e.value, 10.0 * e.se));
            let own =
                if k == 0 { [name.clone(), interval(dr), by_model] } else { Default::default() };
            let mut cells = head(own, row[0].shift.cost_radius);
            cells.extend(row.iter().map(|r| worst_case(r, found, dm)));
            rows.push(cells);
        }
        let Some(c) = contrasts.iter().find(|c| c.policy == policy.name) else { continue };
        for (k, row) in c.results.chunks(radii.len()).enumerate() {
            let own = c.estimate().map_or(String::new(), |e| supported(e.value, 10.0 * e.se));
            let against = format!(" - {}", named(found, names, &c.against));
            let own = if k == 0 { [against, own, String::new()] } else { Default::default() };
            let mut cells = head(own, row[0].cost_radius);
            cells.extend(row.iter().map(|r| contrast(r, c)));
            rows.push(cells);
        }
    }
    let kept = first + fitting(&header, &rows, first);
    let beyond = match header.len() - kept {
        0 => String::new(),
        1 => " (one more radius: --details)".to_owned(),
        more => format!(" ({more} more radii: --details)"),
    };
    let sets = if found.question.context.set.needs_known() {
        " where what is known of the target holds"
    } else {
        " within each radius"
    };
    let limit = match (interval_level(found), found.direction) {
        (None, _) => String::new(),
        (Some(level), seawall::Direction::Cost) => format!(" ({level} upper limit)"),
        (Some(level), seawall::Direction::Reward) => format!(" ({level} lower limit)"),
    };
    let pairs = if contrasts.is_empty() {
        ""
    } else {
        "; below a policy, its difference in one population"
    };
    wrapped(&format!("Worst-case mean{limit}{sets}{pairs}{beyond}:"), out)?;
    let header: Vec<&str> = header.iter().take(kept).map(String::as_str).collect();
    let mut shown = table(&header);
    for row in &rows {
        shown.add_row(row.iter().take(kept));
    }
    writeln!(out, "{shown}")
}

/// Whether the model's own estimates are shown: where a worst case, which starts from them, is not beyond the estimate
/// beside it.
fn shows_model(found: &Evaluation) -> bool {
    let sign = found.direction.sign();
    let below = |policy: &PolicyResult| {
        let dr = estimates(policy).0.map_or(f64::NEG_INFINITY, |e| sign * e.value);
        policy.results.iter().any(|r| sign * r.worst.value < dr)
    };
    found.policies.iter().any(below)
}

/// An estimate and its interval, to one digit of the standard error.
fn interval(estimate: Option<Estimate>) -> String {
    let Some(e) = estimate else { return "no such rows".to_owned() };
    let tell = |x: f64| supported(x, 10.0 * e.se);
    match e.interval {
        Some(i) => format!("{} ({}, {})", tell(e.value), tell(i.lower), tell(i.upper)),
        None => format!("{} (unknown)", tell(e.value)),
    }
}

/// The level of the limits beside worst cases, if there are any.
fn interval_level(found: &Evaluation) -> Option<String> {
    let mut results = found.policies.iter().flat_map(|p| &p.results);
    let claimed = |r: &RobustValue| r.noise.limits.is_some() && r.claims.no_claim.is_none();
    let told = results.any(|r| claimed(r) || r.estimate.is_some());
    let level = found.question.halves.map_or(found.question.level, |h| h.level);
    told.then(|| super::level(level))
}

/// A worst case, and the limit on its bad side: that which allows for pairs of columns, where it is known.
fn worst_case(r: &RobustValue, found: &Evaluation, dm: Option<Estimate>) -> String {
    let se = r.shown_se().or(dm.map(|e| e.se)).unwrap_or(f64::NAN);
    let value = safe(r, found, se);
    let (up, sign) = match found.direction {
        seawall::Direction::Cost => (true, "≤"),
        seawall::Direction::Reward => (false, "≥"),
    };
    // A limit that nothing is claimed by is none to be read.
    let limits = r.noise.limits.filter(|_| r.claims.no_claim.is_none());
    let of_splits = limits.map(|l| l.pairwise.unwrap_or(if up { l.upper } else { l.lower }));
    let estimated = r.estimate.and_then(|e| e.estimate.interval);
    let own = estimated.map(|i| if up { i.upper } else { i.lower });
    match of_splits.or(own) {
        Some(limit) => format!("{value} ({sign}{})", super::limit(limit, se, up)),
        None => value,
    }
}

/// The smallest and the largest difference over all shifts: their limits, or without these the plug-in ones.
fn contrast(r: &DifferenceValue, c: &Comparison) -> String {
    let se = r.shown_se().or(c.estimate().map(|e| e.se)).unwrap_or(f64::NAN);
    let ends = match (r.noise.limits, r.noise.best_limits) {
        (Some(worst), Some(best)) if r.claims.no_claim.is_none() => {
            let cost = c.about.direction == seawall::Direction::Cost;
            let (worst, best) = (
                worst.pairwise.unwrap_or(if cost { worst.upper } else { worst.lower }),
                best.pairwise.unwrap_or(if cost { best.lower } else { best.upper }),
            );
            Some((worst.min(best), worst.max(best)))
        }
        _ => None,
    };
    match ends {
        Some((low, high)) => {
            format!("{} to {}", super::limit(low, se, false), super::limit(high, se, true))
        }
        None => {
            let (worst, best) = (r.bounds.worst.value, r.bounds.best.value);
            let tell = |x: f64| supported(x, 10.0 * se);
            format!("{} to {}", tell(worst.min(best)), tell(worst.max(best)))
        }
    }
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
    supported(bound.unwrap_or(r.worst.value), 10.0 * se)
}

/// Pairs in one population: a row a radius, then a sentence each.
fn differences(found: &Evaluation, names: &[String], out: &mut dyn Write) -> Result<()> {
    let of = |name: &str| named(found, names, name);
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
        writeln!(out, "({} more pairs: --details)", pairs.len() - PAIRS)?;
    }
    if pairs.iter().any(|c| c.results.len() > ROWS) {
        writeln!(out, "(more radii: --details)")?;
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
        (true, _) => "smoothed sets: bounds on the safe side".to_owned(),
        (false, true) => format!("solved to a gap of {}", super::gap(open)),
        (false, false) => "solved to optimality".to_owned(),
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

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

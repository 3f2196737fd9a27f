//! The question and the answer, a sentence each, in the study's own words and direction: together with
//! what they rest on they are the paragraph that people copy.

use crate::digits::{difference, estimated, worst_case};
use crate::live::{Live, Texts};
use seawall::Direction;
use seawall_study::evaluate::{
    Comparison, Evaluation, PolicyResult, Question, RobustValue, Verdict,
};
use seawall_study::report::{closest, leader};
use seawall_study::study::{Study, Term};
use seawall_study::words::number;

/// Policies named in a sentence; more are counted.
const NAMED: usize = 6;
/// Letters of a name within a sentence.
const LONGEST: usize = 40;
/// Terms of an outcome that are named; more are counted.
const TERMS: usize = 8;

/// What the study asks.
pub(super) fn question(
    study: &Study,
    question: &Question,
    found: &Evaluation,
    texts: &mut Texts,
) -> Live {
    let policies: Vec<String> = found.policies.iter().map(|p| isolated(&p.name)).collect();
    let who = match policies.len() {
        0..=NAMED => listed(&policies),
        n => format!("each of {n} policies"),
    };
    let verb = match study.data.outcome.direction {
        Direction::Cost => "cost",
        Direction::Reward => "bring",
    };
    let (outcome, better) = (outcome(study), found.direction);
    let data =
        study.data.path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let rows = number(found.data.rows);
    let centre = match &found.target {
        Some(target) => format!(
            "the {} people of {}, valued by the {rows} rows of {data}",
            target.facts.rows,
            isolated(&target.facts.path)
        ),
        None if found.balance.is_some() => {
            format!("the {rows} rows of {data}, weighed to be what is known of the target")
        }
        None => format!("the {rows} rows of {data}"),
    };
    let costs = match question.cost.radii.first() {
        Some(radius) if *radius > 0.0 => {
            format!(" whose outcomes may shift, too, by up to {}", number(*radius))
        }
        _ => String::new(),
    };
    texts.add(question.context.radii.iter().map(|radius| {
        format!(
            "This study asks what {who} would {verb} on average, counted as {outcome} ({better}), in \
             a population up to {} away from {centre}{costs}.",
            number(*radius)
        )
    }))
}

/// What the answer is at every stop: which policy in one and the same population, and what it would
/// come to.
pub(super) fn answer(
    found: &Evaluation,
    radii: &[f64],
    level: Option<f64>,
    texts: &mut Texts,
) -> Live {
    let sentence = |(k, radius): (usize, &f64)| {
        let radius = number(*radius);
        let leader = leader(found, k);
        let of = found
            .policies
            .get(leader)
            .map_or(String::new(), |p| bound(p, k, found.direction, level));
        match closest(found, leader, k) {
            Some(rival) => {
                // "No other" is said only where every other was compared.
                let name = &rival.policy;
                let compared = found.comparisons.iter().filter(|c| c.policy == *name).count();
                let others = found.policies.len() > 2 && compared + 1 == found.policies.len();
                format!("Within radius {radius}, {} {of}", verdict(rival, k, others, level))
            }
            None => format!("Within radius {radius}, nothing is compared. {of}"),
        }
    };
    let alone = |(k, radius): (usize, &f64)| {
        let of =
            found.policies.first().map_or(String::new(), |p| bound(p, k, found.direction, level));
        format!("Within radius {}: {of}", number(*radius))
    };
    if found.comparisons.is_empty() {
        texts.add(radii.iter().enumerate().map(alone))
    } else {
        texts.add(radii.iter().enumerate().map(sentence))
    }
}

/// What can be claimed of the leading policy, and how much of its worst case may be noise; None
/// without halves.
pub(super) fn claims(found: &Evaluation, start: usize, texts: &mut Texts) -> Option<Live> {
    let policy = found.policies.get(leader(found, start))?;
    policy.results.first()?.noise.limits?;
    let sentence = |k: usize| {
        let words = found.claim(policy, k).unwrap_or_default();
        format!("{}: {words}", isolated(&policy.name))
    };
    Some(texts.add((0..policy.results.len()).map(sentence)))
}

/// Who is better, as far as anybody can say.
fn verdict(rival: &Comparison, k: usize, others: bool, level: Option<f64>) -> String {
    let (policy, against) = (isolated(&rival.policy), isolated(&rival.against));
    let Some(at) = rival.results.get(k) else { return String::new() };
    let sign = rival.about.direction.sign();
    let (verb, less, more) = match rival.about.direction {
        Direction::Cost => ("cost", "less", "more"),
        Direction::Reward => ("bring", "more", "less"),
    };
    let digits = difference(at, rival.estimate().map_or(f64::NAN, |e| e.se));
    let size = |x: f64| digits.of(x.abs());
    let verdict = rival.verdict(k);
    // Of the end that is told.
    let ends = if verdict == Verdict::Worse { at.best_shown() } else { at.shown() };
    let name = if at.noise.limits.is_some() { "limits" } else { "interval" };
    let interval = match (ends, level) {
        (Some((low, high)), Some(level)) => format!(
            " ({} {name} of the difference {} to {})",
            seawall_study::words::level(level),
            digits.of(low),
            digits.of(high)
        ),
        _ => String::new(),
    };
    let word = |x: f64| if sign * x <= 0.0 { less } else { more };
    let assumed = at.decision.assumes;
    let assuming = assumed.map_or(String::new(), |a| format!(", assuming that {}", a.words()));
    match verdict {
        Verdict::Better => format!(
            "{policy} {verb}s {less} than {against} in every population, by at least {}{interval}{assuming}{}.",
            size(at.bounds.worst.value),
            if others { "; no other policy comes closer" } else { "" }
        ),
        Verdict::Worse => format!(
            "{policy} {verb}s {more} than {against} in every population, by at least {}{interval}{assuming}.",
            size(at.bounds.best.value)
        ),
        Verdict::Undecided => format!(
            "{policy} and {against} are undecided: in one and the same population {policy} \
             would {verb} from {} {} to {} {}{interval}.",
            size(at.bounds.best.value),
            word(at.bounds.best.value),
            size(at.bounds.worst.value),
            word(at.bounds.worst.value)
        ),
        Verdict::Depends => format!(
            "it depends on the population: beside {against}, {policy} could {verb} up to {} {more}\
             {interval} or up to {} {less}.",
            size(at.bounds.worst.value),
            size(at.bounds.best.value)
        ),
    }
}

/// What a policy would come to, at worst and if nothing shifts.
fn bound(policy: &PolicyResult, k: usize, direction: Direction, level: Option<f64>) -> String {
    let result = &policy.results[k];
    if policy.is_thin() {
        return format!(
            "For {} the effective sample size is {}: too few rows for a statement about its mean.",
            isolated(&policy.name),
            number(policy.effective_rows())
        );
    }
    let digits = worst_case(policy, result);
    // The interval of a smoothed value is not that of its bound.
    let level = level.filter(|_| result.solve.exact_lower.is_none());
    let interval = match (result.shown(), level) {
        (Some(ends), Some(level)) => {
            let name = if result.noise.limits.is_some() { "limits" } else { "interval" };
            format!(" ({} {name} {})", seawall_study::words::level(level), digits.ends(ends))
        }
        _ => String::new(),
    };
    let nominal = policy.estimate();
    let place = if policy.target.is_some() { "in the target" } else { "if nothing shifts" };
    format!(
        "The worst-case mean of {} is {} by the fitted model{interval}; {} {place} (doubly robust).",
        isolated(&policy.name),
        digits.of(safe_side(result, direction == Direction::Cost)),
        estimated(nominal)
    )
}

/// What the chart shows.
pub(super) fn caption(question: &Question, cost_radii: &[f64], direction: Direction) -> String {
    let worst = match direction {
        Direction::Cost => "highest",
        Direction::Reward => "lowest",
    };
    let mut words = match question.context.set.parameter("eta") {
        Some(eta) => format!(
            "Against each radius, the smoothed worst case (η = {}), which alone is no bound: it may \
             even be better than the mean ({direction}).",
            number(eta)
        ),
        _ => format!(
            "Within each radius, the {worst} mean that any population could have ({direction})."
        ),
    };
    if let Some(first) = cost_radii.first().filter(|r| **r > 0.0 || cost_radii.len() > 1) {
        words.push_str(&format!(" Outcomes may shift by the cost radius {}", number(*first)));
        words.push_str(match cost_radii.len() {
            1 => ".",
            _ => ", the first of the study's, everywhere but in the table at the study's radii.",
        });
    }
    words
}

/// A bound on the safe side: a smoothed value alone is none.
fn safe_side(result: &RobustValue, lower_is_better: bool) -> f64 {
    if lower_is_better {
        result.solve.exact_upper.unwrap_or(result.worst.value)
    } else {
        result.solve.exact_lower.unwrap_or(result.worst.value)
    }
}

/// What the outcome is.
pub(super) fn outcome(study: &Study) -> String {
    if let Some(name) = &study.report.outcome {
        return name.clone();
    }
    let term = |(name, term): &(String, Term)| match term {
        Term::Weight(1.0) => isolated(name),
        Term::Weight(w) => format!("{} × {}", number(*w), isolated(name)),
        Term::Levels(levels) => {
            let each =
                |(level, w): &(String, f64)| format!("{} for {}", number(*w), isolated(level));
            let all: Vec<String> = levels.iter().map(each).collect();
            format!("{} ({})", isolated(name), all.join(", "))
        }
    };
    let mut terms: Vec<String> = study.data.outcome.terms.iter().take(TERMS).map(term).collect();
    if study.data.outcome.terms.len() > TERMS {
        terms.push(format!("{} more columns", study.data.outcome.terms.len() - TERMS));
    }
    terms.join(" + ")
}

/// A name or level within a sentence: not too long, and its direction of writing its own affair.
pub(super) fn isolated(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut = if clean.chars().count() > LONGEST {
        clean.chars().take(LONGEST - 1).chain(['…']).collect()
    } else {
        clean
    };
    // Marks of direction that turn nothing but what they stand beside: isolates would be escaped.
    if cut.chars().any(right_to_left) { format!("\u{200e}{cut}\u{200e}") } else { cut }
}

/// Whether a letter is written from right to left.
fn right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
        || matches!(letter, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// `a, b and c`
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seawall_study::words::printable;

    #[test]
    fn a_name_in_a_sentence_is_shown_as_it_is() {
        assert_eq!(isolated("Übliche Pflege"), "Übliche Pflege");
        let arabic = isolated("سياسة");
        assert!(arabic.starts_with('\u{200e}') && arabic.ends_with('\u{200e}'));
        assert_eq!(printable(&arabic), arabic, "nothing of it is escaped");
        assert_eq!(isolated(&"x".repeat(99)).chars().count(), LONGEST);
    }
}

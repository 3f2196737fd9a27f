//! The question and the answer, a sentence each, in the study's own words and direction.

use super::live::{Live, Texts};
use crate::evaluate::{Evaluation, PolicyResult, Question, RobustValue};
use crate::study::{Study, Term};
use crate::words::{between, number};
use seawall::Direction;

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
    let verb = match study.direction {
        Direction::Cost => "cost",
        Direction::Reward => "bring",
    };
    let (outcome, better) = (outcome(study), found.direction);
    let data = study.data.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let rows = number(found.rows);
    let costs = match question.cost.radii.first() {
        Some(radius) if *radius > 0.0 => {
            format!(" whose outcomes may shift, too, by up to {}", number(*radius))
        }
        _ => String::new(),
    };
    texts.add(question.context.radii.iter().map(|radius| {
        format!(
            "What would {who} {verb} on average, counted as {outcome} ({better}), in a population \
             up to {} away from the {rows} rows of {data}{costs}?",
            number(*radius)
        )
    }))
}

/// What the answer is at every stop.
pub(super) fn answer(
    found: &Evaluation,
    radii: &[f64],
    level: Option<f64>,
    texts: &mut Texts,
) -> Live {
    let lower_is_better = found.direction == Direction::Cost;
    let sentence = |(k, radius): (usize, &f64)| {
        let mut order: Vec<&PolicyResult> = found.policies.iter().collect();
        let safe = |p: &PolicyResult| safe_side(&p.results[k], lower_is_better);
        order.sort_by(|a, b| match lower_is_better {
            true => safe(a).total_cmp(&safe(b)),
            false => safe(b).total_cmp(&safe(a)),
        });
        let (Some(best), Some(worst)) = (order.first(), order.last()) else {
            return String::new();
        };
        let limit = if lower_is_better { "at most" } else { "at least" };
        // The interval of a smoothed value is not that of its bound.
        let level = level.filter(|_| best.results[k].exact_lower.is_none());
        let interval = match (best.results[k].interval, level) {
            (Some(i), Some(level)) => {
                format!(", {} interval {}", crate::words::level(level), between(i.basic))
            }
            _ => String::new(),
        };
        let nominal = number(best.nominal.dm.value);
        let of = format!("{limit} {}{interval}; {nominal} if nothing shifts", number(safe(best)));
        let near = |p: &&&PolicyResult| (safe(p) - safe(best)).abs() <= 1e-9 * safe(best).abs();
        let equals: Vec<String> = order.iter().filter(near).map(|p| isolated(&p.name)).collect();
        match order.len() {
            n if n > 1 && equals.len() == n => format!(
                "Within radius {}, {} do equally well: the mean of each is {of}.",
                number(*radius),
                listed(&equals)
            ),
            n if n > 1 && equals.len() > 1 => format!(
                "Within radius {}, {} have the best worst case, the same for each: the mean is {of}; \
                 the mean of {} is {limit} {}.",
                number(*radius),
                listed(&equals),
                isolated(&worst.name),
                number(safe(worst))
            ),
            1 => format!(
                "Within radius {}, the mean of {} is {of}.",
                number(*radius),
                isolated(&best.name)
            ),
            _ => format!(
                "Within radius {}, {} has the best worst case: its mean is {of}; the mean of {} is {limit} {}.",
                number(*radius),
                isolated(&best.name),
                isolated(&worst.name),
                number(safe(worst))
            ),
        }
    };
    texts.add(radii.iter().enumerate().map(sentence))
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
    match lower_is_better {
        true => result.exact_upper.unwrap_or(result.value),
        false => result.exact_lower.unwrap_or(result.value),
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
    let mut terms: Vec<String> = study.outcome.iter().take(TERMS).map(term).collect();
    if study.outcome.len() > TERMS {
        terms.push(format!("{} more columns", study.outcome.len() - TERMS));
    }
    terms.join(" + ")
}

/// A name or level within a sentence: not too long, and its direction of writing its own affair.
pub(super) fn isolated(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut = match clean.chars().count() > LONGEST {
        true => clean.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => clean,
    };
    match cut.is_ascii() {
        true => cut,
        // First strong isolate, and its end.
        false => format!("\u{2068}{cut}\u{2069}"),
    }
}

/// `a, b and c`
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

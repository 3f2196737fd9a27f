//! The question and the answer, a sentence each, in the study's own words and direction.

use super::live::{Live, Texts};
use crate::evaluate::{Evaluation, PolicyAnswer, RobustAnswer};
use crate::study::{Study, Term};
use crate::words::{between, number};
use seawall::Direction;

/// Policies named in a sentence; more are counted.
const NAMED: usize = 6;
/// Terms of an outcome that are named; more are counted.
const TERMS: usize = 8;

/// What the study asks.
pub(super) fn question(
    study: &Study,
    found: &Evaluation,
    radii: &[f64],
    texts: &mut Texts,
) -> Live {
    let policies: Vec<&str> = found.policies.iter().map(|p| p.name.as_str()).collect();
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
    texts.place(radii.iter().map(|radius| {
        format!(
            "What would {who} {verb} on average, counted as {outcome} ({better}), in a population \
             up to {} away from the {rows} rows of {data}?",
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
    let lower_is_better = found.direction == "lower is better";
    let sentence = |(k, radius): (usize, &f64)| {
        let mut order: Vec<&PolicyAnswer> = found.policies.iter().collect();
        let safe = |p: &PolicyAnswer| safe_side(&p.results[k], lower_is_better);
        order.sort_by(|a, b| match lower_is_better {
            true => safe(a).total_cmp(&safe(b)),
            false => safe(b).total_cmp(&safe(a)),
        });
        let (Some(best), Some(worst)) = (order.first(), order.last()) else {
            return String::new();
        };
        let limit = if lower_is_better { "at most" } else { "at least" };
        let interval = match (best.results[k].interval, level) {
            (Some(i), Some(level)) => {
                format!(", {} interval {}", crate::words::level(level), between(i.basic))
            }
            _ => String::new(),
        };
        let nominal = number(best.results[0].value);
        let of = format!("{limit} {}{interval}; {nominal} if nothing shifts", number(safe(best)));
        match order.len() {
            1 => format!("Within radius {}, the mean of {} is {of}.", number(*radius), best.name),
            _ => format!(
                "Within radius {}, {} has the best worst case: its mean is {of}; the mean of {} is {limit} {}.",
                number(*radius),
                best.name,
                worst.name,
                number(safe(worst))
            ),
        }
    };
    texts.place(radii.iter().enumerate().map(sentence))
}

/// A bound on the safe side: a smoothed value alone is none.
fn safe_side(result: &RobustAnswer, lower_is_better: bool) -> f64 {
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
        Term::Weight(1.0) => name.clone(),
        Term::Weight(w) => format!("{} × {name}", number(*w)),
        Term::Levels(levels) => {
            let each = |(level, w): &(String, f64)| format!("{} for {level}", number(*w));
            let all: Vec<String> = levels.iter().map(each).collect();
            format!("{name} ({})", all.join(", "))
        }
    };
    let mut terms: Vec<String> = study.outcome.iter().take(TERMS).map(term).collect();
    if study.outcome.len() > TERMS {
        terms.push(format!("{} more columns", study.outcome.len() - TERMS));
    }
    terms.join(" + ")
}

/// `a, b and c`
pub(super) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

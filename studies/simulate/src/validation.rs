//! The tables of the book's page "Validation": how often claims are true, how wide limits are, and what verdicts reach.

use crate::run::{Case, Found, Numbers};
use crate::world::Truth;
use seawall::inference::Limits;
use seawall_study::evaluate::{Statement, Verdict};
use std::fmt::Write;

/// What is simulated for the page: `logs` logs where that is quick, fewer where it is not.
pub fn plan(logs: u64) -> Vec<(&'static str, u64, Case)> {
    let base = Case {
        truth: Truth::Flat,
        model: "tree".to_owned(),
        rows: 1000,
        rewards: false,
        target: None,
        set: "wasserstein".to_owned(),
        radii: vec![0.02, 0.1],
        support: "grid".to_owned(),
        splits: None,
    };
    let mut all = Vec::new();
    let mut add = |title, logs: u64, worlds: &[Truth], case: &Case| {
        all.extend(worlds.iter().map(|&truth| (title, logs, Case { truth, ..case.clone() })));
    };
    let (every, most) = (Truth::ALL, Truth::MOST);
    add("Trees, 1,000 rows", logs, &every, &base);
    add("Trees, 300 rows", logs, &every, &Case { rows: 300, ..base.clone() });
    add("Trees, 5,000 rows", logs, &every, &Case { rows: 5000, ..base.clone() });
    for (title, model, share) in [
        ("Additive models, 1,000 rows", "additive", 1.0),
        ("Forests, 1,000 rows", "forest", 0.5),
        ("Boosted trees, 1,000 rows", "boosted", 0.5),
        ("The kind chosen by `auto`, 1,000 rows", "auto", 0.34),
    ] {
        let logs = (logs as f64 * share).ceil() as u64;
        add(title, logs, &most, &Case { model: model.to_owned(), ..base.clone() });
    }
    add("Around a target of 400 people", logs, &most, &Case { target: Some(400), ..base.clone() });
    add("Rewards", logs, &most, &Case { rewards: true, ..base.clone() });
    let observed = Case { support: "observed".to_owned(), ..base.clone() };
    add("Support of observed contexts", logs, &most, &observed);
    for (title, set) in [
        ("Set kl", "kl"),
        ("Set tv", "tv"),
        ("Set chi2", "chi2"),
        ("Set cvar", "cvar"),
        ("Set hellinger", "hellinger"),
        ("Set burg", "burg"),
    ] {
        let worlds = [Truth::Flat, Truth::Tree, Truth::Both, Truth::Effect(10)];
        add(title, logs.div_ceil(2), &worlds, &Case { set: set.to_owned(), ..base.clone() });
    }
    all
}

/// A share with its 95% Wilson interval.
fn share(held: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let (p, n, z) = (held as f64 / of as f64, of as f64, 1.96_f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let reach = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    let (low, high) = ((middle - reach).max(0.0), (middle + reach).min(1.0));
    format!("{:.1}% ({:.1}–{:.1})", 100.0 * p, 100.0 * low, 100.0 * high)
}

/// The head of a table of values, and of differences.
pub fn heads() -> [&'static str; 2] {
    [
        "| world | radius | true worst case | none worse, additive | none worse, pairwise | some as bad | width | width, pairwise |\n\
         |---|---:|---:|---|---|---|---:|---:|\n",
        "| world | radius | true largest difference | plain test decides | better, strict | better, assuming | wrong, strict | wrong, assuming |\n\
         |---|---:|---:|---|---|---|---|---|\n",
    ]
}

/// The rows of a case: of the worst cases of the first policy that is not chosen by the rows, and of its differences to the second.
pub fn rows(case: &Case, logs: &[Vec<Numbers>]) -> [String; 2] {
    let mut tables = [String::new(), String::new()];
    let sign = if case.rewards { -1.0 } else { 1.0 };
    let Some(first) = logs.first() else { return tables };
    let pair = first.iter().position(|numbers| numbers.against.is_some());
    // Nothing is claimed of a policy that the rows chose.
    let claimed = |numbers: &Numbers| numbers.at.iter().any(|f| f.limits.is_some());
    let policy = first.iter().position(claimed).unwrap_or(0);
    for (r, radius) in case.radii.iter().enumerate() {
        let all: Vec<&Found> = logs.iter().map(|log| &log[policy].at[r]).collect();
        let known: Vec<(&Found, Limits)> =
            all.iter().filter_map(|f| f.limits.map(|l| (*f, l))).collect();
        let count = |holds: &dyn Fn(&Found, &Limits) -> bool| {
            share(known.iter().filter(|(f, l)| holds(f, l)).count(), known.len())
        };
        let width = |of: &dyn Fn(&Limits) -> f64| {
            known.iter().map(|(_, l)| of(l)).sum::<f64>() / known.len().max(1) as f64
        };
        let (bad, good) = (
            move |l: &Limits| sign * if sign > 0.0 { l.upper } else { l.lower },
            move |l: &Limits| sign * if sign > 0.0 { l.lower } else { l.upper },
        );
        let pairwise = move |l: &Limits| l.pairwise.map_or(f64::NAN, |end| sign * end);
        // Writing to a string cannot fail.
        let _ = writeln!(
            tables[0],
            "| {} | {radius} | {:.3} | {} | {} | {} | {:.3} | {:.3} |",
            case.truth.name(),
            mean(all.iter().map(|f| f.truth)),
            count(&|f, l| sign * f.truth <= bad(l) + 1e-9),
            count(&|f, l| sign * f.truth <= pairwise(l) + 1e-9),
            count(&|f, l| sign * f.truth >= good(l) - 1e-9),
            width(&|l| bad(l) - good(l)),
            width(&|l| pairwise(l) - good(l)),
        );
        let Some(pair) = pair else { continue };
        let all: Vec<&Found> = logs.iter().map(|log| &log[pair].at[r]).collect();
        let of = |holds: &dyn Fn(&Found) -> bool| {
            share(all.iter().filter(|f| holds(f)).count(), all.len())
        };
        let better = |f: &Found| f.verdict == Some(Verdict::Better);
        let decided = logs
            .iter()
            .filter(|log| log[pair].plain.is_some_and(|(_, low, high)| low * high > 0.0));
        let _ = writeln!(
            tables[1],
            "| {} | {radius} | {:.3} | {} | {} | {} | {} | {} |",
            case.truth.name(),
            mean(all.iter().map(|f| f.truth)),
            share(decided.count(), logs.len()),
            of(&|f| better(f) && f.strict),
            of(&|f| better(f)),
            of(&|f| f.wrong && f.strict),
            of(&|f| f.wrong && !f.strict),
        );
    }
    tables
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len().max(1) as f64;
    numbers.sum::<f64>() / count
}

/// How many claims of a kind of worlds there were, and how many were true: of those that a page may be judged by.
pub fn claims(logs: &[Vec<Numbers>], strict: bool) -> (usize, usize) {
    let all = logs.iter().flatten().flat_map(|numbers| &numbers.at).flat_map(|f| &f.claims);
    let judged = all.filter(|c| {
        use seawall_study::evaluate::Assumption::{Additive, Pairwise};
        match (c.statement, c.assumes) {
            (Statement::NoneWorse, Some(Additive)) => !strict,
            (Statement::NoneWorse, Some(Pairwise)) | (Statement::SomeAsBad, _) => strict,
            _ => false,
        }
    });
    judged.fold((0, 0), |(all, held), c| (all + 1, held + usize::from(c.holds)))
}

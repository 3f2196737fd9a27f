//! How it was done, so that anyone can do it again.

use seawall::evaluate::Support;
use seawall::outcome::{ModelKind, Recipe};
use seawall_study::report::{Basis, ReportAnswers};
use seawall_study::set_text;
use seawall_study::study::{Each, HistorySpec};
use seawall_study::words::{level, number, percent};

/// What was done, a term and its meaning each.
pub(super) fn methods(answers: &ReportAnswers) -> Vec<(&'static str, String)> {
    let (study, question) = (&answers.study, &answers.evaluation.question);
    let list = |radii: &[f64]| radii.iter().map(|r| number(*r)).collect::<Vec<_>>().join(", ");
    let support = match question.support {
        Support::All => "every point of the context space",
        Support::Space => "every value between each column's ends, every level, every combination",
        _ => "contexts that were observed",
    };
    let mut all = vec![
        ("Program", format!("seawall {}", env!("CARGO_PKG_VERSION"))),
        ("Set of contexts", set_text::method(question.context.set)),
        ("The study's radii", list(&study.context_set.radii)),
        ("Outcome model", outcome_model(&answers.basis)),
        ("Set of outcomes", set_text::method(question.cost.set)),
        ("Cost radii", list(&study.cost_set.radii)),
        (
            "Robust value",
            "the worst mean outcome of each context and action in its set; weighed by the policy; \
             then the worst mean over the set of contexts, with bounds from both sides"
                .to_owned(),
        ),
    ];
    if question.context.set.reaches_unseen() {
        all.push(("Mass may move to", support.to_owned()));
    }
    if let Some(facts) = &answers.basis.target {
        all.push((
            "Target",
            format!("{}, {} rows; worst cases start there", facts.path, facts.rows),
        ));
    }
    if let Some(h) = &question.halves {
        all.push((
            "Limits",
            format!(
                "{}: {} random halvings of the rows; the worst population found on one half is valued \
                 on the other (honest), the outcome model refitted each time; from the honest value to \
                 the value as fitted, with their standard errors and an allowance for what the \
                 model may smooth away; seed {}",
                level(h.level),
                h.count,
                h.seed
            ),
        ));
    }
    if question.context.set.needs_actions() {
        let what = "the worst case as an estimate, by its standard error: the rows' influence on it at the \
                    worst tilt, Student's quantile by Satterthwaite's degrees of freedom";
        all.push(("Intervals", format!("{}: {what}", level(question.level))));
    }
    all.push(("Seed", answers.request.seed.to_string()));
    all.push(("Command", command(answers)));
    all
}

/// What the outcome model is.
fn outcome_model(basis: &Basis) -> String {
    let given = |from: &str| {
        format!(
            "values brought along {from}: folds and halves do not fit them again, so \
             intervals and standard errors leave out the noise of the model that made them"
        )
    };
    match (&basis.recipe, basis.kind) {
        (Recipe::Learner(learner), _) => {
            format!("{}, fitted for each action", learner.name())
        }
        (_, ModelKind::Column) => given("row by row, averaged in each context"),
        (_, ModelKind::Table) => given("by context"),
        (recipe, _) if !recipe.is_refitted() => given("from elsewhere"),
        _ => model(basis),
    }
}

/// The outcome model and its settings, in words.
fn model(basis: &Basis) -> String {
    let actions = &basis.actions;
    // What each action has of its own; once if all agree.
    let each = |of: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..actions.len()).map(of).collect();
        if all.windows(2).all(|pair| pair[0] == pair[1]) {
            all.first().cloned().unwrap_or_default()
        } else {
            let named = actions.iter().zip(&all).map(|(name, text)| format!("{name}: {text}"));
            named.collect::<Vec<_>>().join("; ")
        }
    };
    let names: Vec<&str> = basis.contexts.names().collect();
    let told = match &basis.recipe {
        Recipe::Cells => "every context and action by itself".to_owned(),
        Recipe::Tree(settings) => {
            let one = |a: usize| {
                let s = &settings[a];
                let share = if s.min_share > 0.0 {
                    format!(" and {} of the action's", percent(s.min_share))
                } else {
                    String::new()
                };
                let rows = number(s.min_samples_leaf);
                format!("depth at most {}, leaves of at least {rows} rows{share}", s.max_depth)
            };
            format!("a regression tree per action, {}", each(&one))
        }
        Recipe::Forest(s) => {
            let share = if s.min_share > 0.0 {
                format!(" and {} of the action's", percent(s.min_share))
            } else {
                String::new()
            };
            format!(
                "per action the average of {} trees on rows drawn again, {} of {} columns tried a \
                 split, leaves of at least {} rows{share}; seed {}",
                s.trees,
                s.features.unwrap_or(names.len().div_ceil(3)).min(names.len()),
                names.len(),
                number(s.min_samples_leaf),
                s.seed
            )
        }
        Recipe::Boosted(settings) => {
            let one = |a: usize| {
                let s = &settings[a];
                let (leaf, by) = (number(s.min_samples_leaf), number(s.shrinkage));
                format!(
                    "{} rounds of depth {}, shrinkage {by}, leaves of at least {leaf} rows",
                    s.rounds, s.depth
                )
            };
            format!("boosted trees per action, {}", each(&one))
        }
        Recipe::Additive(settings) => {
            let one = |a: usize| {
                let s = &settings[a];
                let pairs = s.pairs.iter().map(|(j, k)| format!("{} × {}", names[*j], names[*k]));
                let pairs: Vec<String> = pairs.collect();
                let pairs = if pairs.is_empty() {
                    String::new()
                } else {
                    format!(", pairs {}", pairs.join(", "))
                };
                format!("penalty {} rows{pairs}", number(s.penalty))
            };
            format!("per action a sum of what each column adds, {}", each(&one))
        }
        _ => "predicted values that were handed in".to_owned(),
    };
    match basis.kinds {
        0 => told,
        kinds => format!(
            "{told}; chosen among {kinds} kinds as the simplest of those that cannot be told from \
             the best on rows left out"
        ),
    }
}

/// The command that makes the same report.
fn command(answers: &ReportAnswers) -> String {
    let ReportAnswers { request, study, .. } = answers;
    let question = &answers.evaluation.question;
    let mut words = vec!["seawall".to_owned(), "report".to_owned()];
    words.push(study.path().display().to_string());
    for policy in request.policies.iter().filter_map(|p| p.text()) {
        words.extend(["--policy".to_owned(), policy]);
    }
    if let Some(support) = request.support {
        words.extend(["--support".to_owned(), support.to_string()]);
    }
    for (text, _) in &request.learn {
        words.extend(["--learn".to_owned(), text.clone()]);
    }
    if request.learn.is_empty() {
        words.push("--no-learn".to_owned());
    }
    if let Some(path) = &answers.basis.target_file {
        words.extend(["--target".to_owned(), path.display().to_string()]);
    }
    let typed = study.target.known.iter().filter_map(|k| k.place.strip_prefix("--target-facts "));
    typed.for_each(|text| words.extend(["--target-facts".to_owned(), text.to_owned()]));
    let history = request.transfer.as_ref().and(study.history.as_ref());
    words.extend(history.map_or(Vec::new(), history_words));
    let halvings = question.halves.map_or(0, |h| h.count);
    words.extend(["--splits".to_owned(), halvings.to_string()]);
    words.extend(
        question
            .halves
            .map(|h| h.level)
            .into_iter()
            .flat_map(|l| ["--level".to_owned(), l.to_string()]),
    );
    words.extend(["--seed".to_owned(), request.seed.to_string()]);
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// What past groups are, as it is typed.
fn history_words(history: &HistorySpec) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    // A target of several groups at once is the study's own; so then is what groups are by.
    if history.at_once == 1.0 {
        add("--by", history.by.join(","));
    }
    if let Some(path) = &history.path {
        add("--history", path.display().to_string());
    }
    add("--least", number(history.least));
    if let Some(each) = history.each {
        let name = match each {
            Each::Year => "year",
            Each::Quarter => "quarter",
            Each::Month => "month",
            Each::Day => "day",
        };
        add("--each", name.to_owned());
    }
    if let Some(half_life) = history.half_life {
        add("--half-life", number(half_life));
    }
    words.extend(history.in_time.then(|| "--in-time".to_owned()));
    words
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

//! How it was done, so that anyone can do it again.

use super::Request;
use crate::evaluate::Question;
use crate::load::Loaded;
use crate::words::{level, number};
use seawall::Set;
use seawall::evaluate::Support;
use seawall::inference::Resampling;
use seawall::outcome::{ModelKind, Recipe};

const REFITTED: &str = "the outcome model refitted each time";

/// What was done, a term and its meaning each.
pub(super) fn methods(
    loaded: &Loaded,
    question: &Question,
    request: &Request,
) -> Vec<(&'static str, String)> {
    let study = &loaded.study;
    let set = |set: Set| match set {
        Set::Wasserstein(_) => "Wasserstein, solved exactly".to_owned(),
        Set::Entropic(set) => format!("entropic Wasserstein, η = {}", number(set.eta)),
        Set::Kl(_) => "Kullback–Leibler, solved exactly".to_owned(),
        other => format!("{other}, solved exactly"),
    };
    let list = |radii: &[f64]| radii.iter().map(|r| number(*r)).collect::<Vec<_>>().join(", ");
    let support = match question.support {
        Support::All => "every point of the context space",
        _ => "contexts that were observed",
    };
    let (model, refitted) = outcome_model(loaded);
    let mut all = vec![
        ("Program", format!("seawall {}", env!("CARGO_PKG_VERSION"))),
        ("Set of contexts", set(question.context.set)),
        ("The study's radii", list(&study.context_set.radii)),
        ("Set of outcomes", set(question.cost.set)),
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
    if let Some(target) = &loaded.target {
        let facts = &target.facts;
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
                 on the other (honest), everything refitted; from the honest value to the value as \
                 fitted, with their standard errors and an allowance for what the model may smooth \
                 away; seed {}",
                level(h.level),
                h.count,
                h.seed
            ),
        ));
    }
    if let Some(b) = &question.bootstrap {
        let how = match b.resampling {
            Resampling::Multinomial => "rows drawn again with replacement",
            _ => "rows weighed by exponential weights",
        };
        all.push((
            "Intervals",
            format!(
                "{}, basic bootstrap, {} replicates, {how}, {refitted}, \
                 the policies kept, values read off each replicate's curve to 1e-3 of the largest \
                 outcome; seed {}",
                level(b.level),
                b.replicates,
                b.seed
            ),
        ));
    }
    all.push(("Outcome model", model));
    all.push(("Seed", request.seed.to_string()));
    all.push(("Command", command(loaded, question, request)));
    all
}

/// What the outcome model is, and whether it is fitted to resampled rows.
fn outcome_model(loaded: &Loaded) -> (String, &'static str) {
    const GIVEN: &str = "the outcome model's values kept as given";
    let given = |from: &str| {
        format!(
            "values brought along {from}: folds, halves and resampling do not fit them again, so \
             intervals and standard errors leave out the noise of the model that made them"
        )
    };
    match (&loaded.recipe, loaded.model_kind()) {
        (Recipe::Learner(learner), _) => {
            (format!("{}, fitted for each action", learner.name()), REFITTED)
        }
        (_, ModelKind::Column) => (given("row by row, averaged in each context"), GIVEN),
        (_, ModelKind::Table) => (given("by context"), GIVEN),
        (_, ModelKind::Cells) => ("every context and action by itself".to_owned(), REFITTED),
        (_, ModelKind::Tree) => ("a regression tree for each action".to_owned(), REFITTED),
        (recipe, _) if !recipe.is_refitted() => (given("from elsewhere"), GIVEN),
        (_, kind) => (format!("{kind:?}").to_lowercase(), REFITTED),
    }
}

/// The command that makes the same report.
fn command(loaded: &Loaded, question: &Question, request: &Request) -> String {
    let mut words = vec!["seawall".to_owned(), "report".to_owned()];
    words.push(loaded.study.path.display().to_string());
    for policy in request.policies.iter().filter_map(|p| p.text()) {
        words.extend(["--policy".to_owned(), policy]);
    }
    for (text, _) in &request.learn {
        words.extend(["--learn".to_owned(), text.clone()]);
    }
    if request.learn.is_empty() {
        words.push("--no-learn".to_owned());
    }
    if let Some(path) = loaded.target.as_ref().and_then(|t| t.file.as_ref()) {
        words.extend(["--target".to_owned(), path.display().to_string()]);
    }
    let halvings = question.halves.map_or(0, |h| h.count);
    words.extend(["--halves".to_owned(), halvings.to_string()]);
    if let Some(b) = question.bootstrap {
        words.extend(["--bootstrap".to_owned(), b.replicates.to_string()]);
    }
    let level = request.halves.map(|h| h.level).or(request.bootstrap.map(|b| b.level));
    words.extend(level.into_iter().flat_map(|l| ["--level".to_owned(), l.to_string()]));
    words.extend(["--seed".to_owned(), request.seed.to_string()]);
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+%@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

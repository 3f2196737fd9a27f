//! What the answer rests on, a sentence each, and all of it in one sentence.

use seawall::evaluate::PropensitySource;
use seawall::outcome::ModelKind;
use seawall_study::evaluate::{Evaluation, Question};
use seawall_study::report::{Basis, ReportAnswers};
use seawall_study::words::{level, number};

/// What the answer rests on.
pub(super) fn assumptions(answers: &ReportAnswers) -> Vec<String> {
    let ReportAnswers { basis, question, evaluation: found, .. } = answers;
    let mut all = vec![outcomes(basis, question), model(basis)];
    all.push(decisions(found.diagnostics.facts.propensity.source).to_owned());
    all.push(noise(found, question));
    if found.policies.iter().any(|p| p.chosen_here) {
        let names = found.policies.iter().filter(|p| p.chosen_here);
        let names: Vec<String> = names.map(|p| crate::sentences::isolated(&p.name)).collect();
        let (verb, whose) = if names.len() == 1 { ("was", "its") } else { ("were", "their") };
        all.push(format!(
            "{} {verb} chosen on the very rows that value {}, so {whose} values are too good.",
            crate::sentences::listed(&names),
            if names.len() == 1 { "it" } else { "them" }
        ));
    }
    if basis.target.is_some() || found.balance.is_some() {
        all.push(
            "Radii are around the target, and what is said of it is taken as true.".to_owned(),
        );
    }
    all
}

/// The same in one sentence, for the summary.
pub(super) fn in_short(answers: &ReportAnswers) -> String {
    let ReportAnswers { basis, question, evaluation: found, .. } = answers;
    let alike = if question.context.set.needs_actions() {
        "outcomes may shift with people, within the set"
    } else {
        "people alike in the columns recorded fare alike in both populations"
    };
    let chosen = if found.policies.iter().any(|p| p.chosen_here) {
        "; what was learned here is valued by the rows that chose it, so too well"
    } else {
        ""
    };
    format!("Assumed: {alike}, and the outcome model ({}) is right{chosen}.", kind(basis))
}

fn outcomes(basis: &Basis, question: &Question) -> String {
    let columns = basis.contexts.names().count();
    let few = if columns == 1 { "column".to_owned() } else { format!("{columns} columns") };
    if question.context.set.needs_actions() {
        return format!("Outcomes may shift together with the {few} recorded, within the set.");
    }
    let beyond = match question.cost.radii.first() {
        Some(radius) if *radius > 0.0 => format!(" but for a shift of up to {}", number(*radius)),
        _ => String::new(),
    };
    format!("People alike in the {few} recorded fare alike in both populations{beyond}.")
}

fn model(basis: &Basis) -> String {
    format!(
        "The outcome model ({}) is taken as true: where a value rests on few rows, its worst case \
         inherits their noise.",
        kind(basis)
    )
}

/// What kind of outcome model it is, in a word or two.
fn kind(basis: &Basis) -> &'static str {
    match basis.kind {
        ModelKind::Cells => "every context and action by itself",
        ModelKind::Tree => "a regression tree per action",
        ModelKind::Forest => "averaged trees per action",
        ModelKind::Boosted => "boosted trees per action",
        ModelKind::Additive => "a sum of what each column adds, per action",
        ModelKind::Column | ModelKind::Table => "brought along",
        _ => "a learner that was brought along",
    }
}

fn decisions(source: PropensitySource) -> &'static str {
    match source {
        PropensitySource::Design => "Actions were drawn as the design says.",
        PropensitySource::Known => "Actions were drawn with the chances that the log records.",
        _ => {
            "Who was given what is explained by the columns recorded: the chances of actions are \
             estimated from them."
        }
    }
}

fn noise(found: &Evaluation, question: &Question) -> String {
    match found.question.halves {
        Some(h) => format!(
            "Noise is allowed for by {} limits from {} random halvings of the rows.",
            level(h.level),
            h.count
        ),
        None if question.context.set.needs_actions() => {
            format!("Intervals are {} by standard errors.", level(question.level))
        }
        None => "Noise in the rows is not allowed for: no halves were asked for.".to_owned(),
    }
}

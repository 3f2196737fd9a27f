//! The text of a study file.

use super::column::{Column, ColumnKind};
use super::contexts::{Chosen, Contexts};
use super::leaks::OutcomeColumn;
use super::roles::{Outcome, Roles};
use super::words::{key, many, number, quoted, shown};
use super::{ROWS, Table};
use crate::study::Term;

/// Cells with fewer rows than this on average are too small for shares.
const ROWS_IN_A_CELL: f64 = 5.0;
/// More combinations of levels than these are not listed.
const MOST_CELLS: f64 = 1e6;
/// More actions than this are not each evaluated by itself.
const POLICIES: usize = 4;
/// The longest line of a comment.
const WIDTH: usize = 100;

/// A study file; `path` is the data's path as it says it.
pub(super) fn study(
    table: &Table,
    roles: &Roles,
    contexts: &Contexts,
    target: &OutcomeColumn,
    path: &str,
) -> String {
    let all = &table.columns;
    let anywhere = contexts.combinations(all) > MOST_CELLS;
    let contexts = &if anywhere { contexts.unbinned() } else { contexts.clone() };
    let parts = [
        head(table, path),
        data(all, roles, path),
        context(all, contexts, anywhere),
        action(all, roles),
        propensity(all, roles, contexts, target),
        outcome(all, &roles.outcome),
        model(),
        policies(&all[roles.action]),
        robust(anywhere),
    ];
    parts.join("\n")
}

fn head(table: &Table, path: &str) -> String {
    let rows = table.rows;
    let looked = if rows > ROWS {
        format!(" (looked at: the first {ROWS} of each file)")
    } else {
        String::new()
    };
    format!(
        "# A study of {}, {}{looked}. Every choice below is a guess from what the\n\
         # columns hold, unless it says who asked for it: correct it, then run `seawall check` and\n\
         # `seawall evaluate` on this file.\n",
        shown(path.rsplit(['/', '\\']).next().unwrap_or(path)),
        many(rows, "row")
    )
}

/// Whether rows are left out because their outcome is not known.
pub(super) fn lacks_outcome(all: &[Column], outcome: &Outcome) -> bool {
    let missing = |(at, term): &(usize, Term)| {
        let column = &all[*at];
        let unknown = column.unknown_actions();
        match term {
            Term::Weight(_) => column.missing(),
            Term::Levels(levels) => {
                let listed = |text: &&str| levels.iter().any(|(level, _)| level == text);
                column.missing_as(ColumnKind::Nominal) || !unknown.iter().all(listed)
            }
        }
    };
    outcome.terms.iter().any(missing)
}

/// The condition that rows must meet where their action is not always known.
pub(super) fn condition(all: &[Column], roles: &Roles) -> Option<String> {
    let action = &all[roles.action];
    let unknown: Vec<String> = action.unknown_actions().into_iter().map(quoted).collect();
    let some = (!unknown.is_empty()).then(|| unknown.join(", "))?;
    Some(format!("{} = {{ not = [{some}] }}", key(&action.name)))
}

fn data(all: &[Column], roles: &Roles, path: &str) -> String {
    let mut text = format!("[data]\npath = {}\n", quoted(path));
    match condition(all, roles) {
        None => text.push_str(
            "# where = { COLUMN = { not = \"...\" } }   # rows to keep: a value, a list, not, min, max, missing\n",
        ),
        Some(condition) => {
            text.push_str(&format!("where = {{ {condition} }}   # the action is not always known\n"));
        }
    }
    if let Some(weight) = roles.weight {
        let name = quoted(&all[weight].name);
        text.push_str(&format!(
            "weight = {name}   # by its name: how many rows each row stands for\n"
        ));
    }
    text
}

fn robust(anywhere: bool) -> String {
    let mut text = "[robust]                 # how far the other population may be\n\
                    context = { set = \"wasserstein\", radius = [0.01, 0.03, 0.1] }\n"
        .to_owned();
    if anywhere {
        text.push_str(
            "support = \"space\"        # people may be anywhere between the columns' ends; no grid is listed\n",
        );
    }
    text
}

fn context(all: &[Column], contexts: &Contexts, anywhere: bool) -> String {
    let mut text = "[context]   # what may differ in another population; a move's cost follows from the kind\n".to_owned();
    // A column of that name has the key.
    if contexts.chosen.iter().all(|c| all[c.column].name != "scale") {
        text.push_str(
            "scale = \"spread\"   # two people drawn at random are 1 apart in each column, on average\n",
        );
    }
    for chosen in &contexts.chosen {
        text.push_str(&context_line(&all[chosen.column], chosen));
    }
    let cells = contexts.combinations(all);
    let cells = if cells < 1e6 { number(cells) } else { format!("{cells:.0e}") };
    text.push_str(&if anywhere { "# More combinations than can be listed: none is, and numbers are as they are (bin = 10 cuts\n\
                 # a column into bins).\n"
            .to_owned() } else { format!(
            "# These make about {cells} cells; bin more coarsely or leave columns out if that is too many.\n"
        ) });
    text.push_str(
        "# Kinds: numeric (squared difference), ordinal (levels in order: give levels = [...] for text),\n\
         # nominal (any change costs the same), fixed (may not change).\n",
    );
    text.push_str(&left_out(&contexts.left_out));
    text
}

fn context_line(column: &Column, chosen: &Chosen) -> String {
    let kind = match chosen.kind {
        ColumnKind::Ordinal => "kind = \"ordinal\"".to_owned(),
        ColumnKind::Nominal => "kind = \"nominal\"".to_owned(),
        ColumnKind::Numeric { bin: None } => "kind = \"numeric\"".to_owned(),
        ColumnKind::Numeric { bin: Some(bin) } => {
            format!("kind = \"numeric\", bin = {}", number(bin))
        }
    };
    let missing = if column.missing_as(chosen.kind) { ", missing = true" } else { "" };
    let note = chosen.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
    format!("{} = {{ {kind}{missing} }}   # {}{note}\n", key(&column.name), column.seen())
}

/// The columns left out and why; those that share a reason together.
fn left_out(all: &[(String, String)]) -> String {
    let mut reasons: Vec<(&String, Vec<String>)> = Vec::new();
    for (name, why) in all {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(shown(name)),
            None => reasons.push((why, vec![shown(name)])),
        }
    }
    let mut text = String::new();
    for (why, names) in reasons {
        let mut line = "#".to_owned();
        for (k, name) in names.iter().enumerate() {
            if line.chars().count() + name.chars().count() > WIDTH {
                text.push_str(&line);
                text.push('\n');
                line = "#  ".to_owned();
            }
            let comma = if k + 1 < names.len() { "," } else { "" };
            line.push_str(&format!(" {name}{comma}"));
        }
        text.push_str(&format!("{line}: left out: {why}\n"));
    }
    text
}

fn action(all: &[Column], roles: &Roles) -> String {
    let column = &all[roles.action];
    let (name, seen) = (quoted(&column.name), column.seen());
    let mut text = format!("[action]\ncolumn = {name}   # {}: {seen}\n", roles.action_why);
    if let Some(propensity) = roles.propensity {
        text.push_str(&format!(
            "propensity = {}   # by its name: with which probability the action was taken\n",
            quoted(&all[propensity].name)
        ));
    }
    text
}

fn propensity(
    all: &[Column],
    roles: &Roles,
    contexts: &Contexts,
    target: &OutcomeColumn,
) -> String {
    let (cells, rows) = contexts.cells(all, target);
    let each = rows as f64 / cells.max(1) as f64;
    if roles.propensity.is_some() || each >= ROWS_IN_A_CELL {
        return "# [propensity]   # left out: the column above, else shares in each context\n\
                # design = { ... = 0.5 }   # a trial's own probabilities; or estimate = \"logistic\"\n"
            .to_owned();
    }
    format!(
        "[propensity]\n\
         estimate = \"logistic\"   # cells hold {each:.1} rows on average, too few for shares\n\
         # design = {{ ... = 0.5 }}   # a trial's own probabilities, in place of estimates\n"
    )
}

fn outcome(all: &[Column], outcome: &Outcome) -> String {
    let head = "[outcome]   # cost: lower is better; reward: higher is better";
    let word = outcome.word();
    let missing = if lacks_outcome(all, outcome) {
        "missing = \"drop\"   # the outcome is not always known: such rows are left out; 0 counts them as 0\n"
    } else {
        ""
    };
    if let [(at, Term::Weight(1.0))] = outcome.terms[..] {
        let (name, seen) = (quoted(&all[at].name), all[at].seen());
        return format!("{head}\n{word} = {name}   # {}: {seen}\n{missing}", outcome.why);
    }
    let term = |(at, term): &(usize, Term)| {
        let amount = match term {
            Term::Weight(weight) => number(*weight),
            Term::Levels(levels) => {
                let level = |(level, x): &(String, f64)| format!("{} = {}", key(level), number(*x));
                format!("{{ {} }}", levels.iter().map(level).collect::<Vec<_>>().join(", "))
            }
        };
        format!("{} = {amount}", key(&all[*at].name))
    };
    let terms: Vec<String> = outcome.terms.iter().map(term).collect();
    let seen = match outcome.terms[..] {
        [(at, _)] => format!("; a number for each level, 0 for others: {}", all[at].seen()),
        _ => String::new(),
    };
    format!("{head}\n{word} = {{ {} }}   # {}{seen}\n{missing}", terms.join(", "), outcome.why)
}

fn model() -> String {
    "[model]\n\
     kind = \"auto\"            # the simplest of tree, additive, forest, boosted and cells that predicts\n\
     # rows left out best; or one of these by name, or \"table\" with your own predictions.\n\
     # `seawall explain` tells the model in words.\n"
        .to_owned()
}

fn policies(action: &Column) -> String {
    let names = action.actions();
    if names.len() > POLICIES {
        return "[policy]\nkind = \"uniform\"         # what to evaluate; see also --policy\n"
            .to_owned();
    }
    let policy = |name: &str| {
        format!(
            "[[policy]]               # what to evaluate; see also --policy\nkind = \"constant\"\naction = {}\n",
            quoted(name)
        )
    };
    names.into_iter().map(policy).collect::<Vec<_>>().join("\n")
}

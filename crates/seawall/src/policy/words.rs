//! A rule in words.

use super::{Branch, Encoding, Partition, Rule, Softmax, Test};
use serde::Serialize;

/// Rows of a table told in words.
const ROWS: usize = 20;

impl Rule {
    /// What the rule does, line by line; `missing` says which features can be missing.
    pub fn explain(&self, actions: &[String], missing: &dyn Fn(&str) -> bool) -> Vec<String> {
        match self {
            Rule::Uniform => vec!["Every action with the same probability.".to_owned()],
            Rule::Constant { action } => vec![format!("Always {action}.")],
            Rule::Groups { by, probabilities } if by.is_empty() => {
                vec![format!("Everyone: {}.", chances(&probabilities.concat(), actions))]
            }
            Rule::Groups { by, probabilities } => {
                let line = |(group, row): (usize, &Vec<f64>)| {
                    format!("{}: {}.", Partition::describe(by, group), chances(row, actions))
                };
                probabilities.iter().enumerate().map(line).collect()
            }
            Rule::Tree { root } => {
                let mut lines = Vec::new();
                root.outline(actions, missing).lines(0, &mut lines);
                lines
            }
            Rule::Softmax(softmax) => scores(softmax, actions),
            Rule::Table { features, rows, otherwise } => {
                let mut lines =
                    vec![format!("A table of {} contexts by {}.", rows.len(), features.join(", "))];
                for row in rows.iter().take(ROWS) {
                    let named = features.iter().zip(&row.context).map(|(name, value)| {
                        format!("{name}={}", value.as_deref().unwrap_or("(missing)"))
                    });
                    let context = named.collect::<Vec<_>>().join(", ");
                    lines.push(format!("{context}: {}.", chances(&row.probabilities, actions)));
                }
                if rows.len() > ROWS {
                    lines.push(format!("… and {} more.", rows.len() - ROWS));
                }
                if let Some(row) = otherwise {
                    lines.push(format!("Elsewhere: {}.", chances(row, actions)));
                }
                lines
            }
        }
    }
}

/// Probabilities in words, the likeliest first: `treat 60.4%, control 39.6%`.
pub fn chances(row: &[f64], actions: &[String]) -> String {
    let mut all: Vec<(&String, f64)> = actions.iter().zip(row.iter().copied()).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    if all.first().is_some_and(|(_, p)| *p >= 1.0 - 1e-9) {
        return all[0].0.clone();
    }
    let told = all.iter().filter(|(_, p)| *p >= 5e-4);
    told.map(|(name, p)| format!("{name} {:.1}%", 100.0 * p)).collect::<Vec<_>>().join(", ")
}

/// A decision tree in words: what leads here, and what is done or asked here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outline {
    /// The answer that leads here; empty at the root.
    pub when: String,
    /// The actions' chances, where nothing more is asked.
    pub chances: Option<String>,
    /// Where the answers lead, otherwise.
    pub branches: Vec<Outline>,
}

impl Branch {
    /// The tree in words; `missing` says which features can be missing.
    pub fn outline(&self, actions: &[String], missing: &dyn Fn(&str) -> bool) -> Outline {
        match self {
            Branch::Leaf(row) => Outline {
                when: String::new(),
                chances: Some(chances(row, actions)),
                branches: Vec::new(),
            },
            Branch::Split { test, yes, no } => {
                let side = |holds: bool, side: &Branch| {
                    let or_missing = match test {
                        Test::AtMost { feature, .. } | Test::Below { feature, .. }
                            if !holds && missing(feature) =>
                        {
                            " or missing"
                        }
                        _ => "",
                    };
                    let when = format!("{}{or_missing}", test.phrase(holds));
                    Outline { when, ..side.outline(actions, missing) }
                };
                let branches = vec![side(true, yes), side(false, no)];
                Outline { when: String::new(), chances: None, branches }
            }
        }
    }
}

impl Outline {
    fn lines(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        let end = self.chances.as_ref().map_or(String::new(), |c| format!(" {c}."));
        let deeper = match self.when.is_empty() {
            true if self.chances.is_some() => {
                lines.push(end.trim_start().to_owned());
                depth
            }
            true => depth,
            false => {
                lines.push(format!("{indent}If {}:{end}", self.when));
                depth + 1
            }
        };
        self.branches.iter().for_each(|b| b.lines(deeper, lines));
    }
}

/// Linear scores in words: relative to the last action, the strongest first.
fn scores(softmax: &Softmax, actions: &[String]) -> Vec<String> {
    let Some(last) = actions.last() else { return Vec::new() };
    let base = softmax.weights.last().cloned().unwrap_or_default();
    let mut lines = vec![format!(
        "Chances by a softmax of scores (temperature {}), against {last}:",
        softmax.temperature
    )];
    for (a, name) in actions.iter().enumerate().take(actions.len() - 1) {
        let apart = |all: &[f64]| all[a] - all[actions.len() - 1];
        let mut terms: Vec<(f64, String)> = Vec::new();
        for ((w, b), column) in softmax.weights[a].iter().zip(&base).zip(&softmax.columns) {
            let feature = &column.feature;
            let what = match &column.encoding {
                Encoding::Linear { centre, scale } => format!("({feature} − {centre})/{scale}"),
                Encoding::Levels(levels) if levels.len() == 1 => {
                    format!("[{feature} = {}]", levels[0].0.as_deref().unwrap_or("(missing)"))
                }
                Encoding::Levels(_) => format!("{feature} from −1 to 1"),
            };
            terms.push((w - b, what));
        }
        terms.sort_by(|x, y| y.0.abs().total_cmp(&x.0.abs()));
        let words: Vec<String> =
            terms.iter().map(|(w, what)| format!("{w:+.3} × {what}")).collect();
        let first = apart(&softmax.intercepts);
        lines.push(format!("  {name}: {first:+.3} {}", words.join(" ")));
    }
    lines
}

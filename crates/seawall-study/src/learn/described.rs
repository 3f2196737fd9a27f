//! What a learned policy does, for programs: its parameters, and their names.

use seawall::policy::{Partition, Rule};
use serde_json::{Value, json};

/// What a policy does, for programs.
pub(super) fn parameters(rule: &Rule, actions: &[String]) -> Value {
    match rule {
        Rule::Groups { by, probabilities } => {
            let group = |(k, row): (usize, &Vec<f64>)| {
                let row: serde_json::Map<String, Value> =
                    actions.iter().cloned().zip(row.iter().map(|p| json!(p))).collect();
                json!({"group": Partition::describe(by, k), "probabilities": row})
            };
            Value::Array(probabilities.iter().enumerate().map(group).collect())
        }
        Rule::Table { rows, .. } => json!({"contexts": rows.len()}),
        rule => serde_json::to_value(rule).unwrap_or(Value::Null),
    }
}

/// Names of the parameters that stochastic runs trace.
pub(super) fn names(rule: &Rule, actions: &[String]) -> Vec<String> {
    match rule {
        Rule::Groups { by, probabilities } => (0..probabilities.len())
            .flat_map(|k| {
                actions.iter().map(move |a| format!("{a} | {}", Partition::describe(by, k)))
            })
            .collect(),
        Rule::Softmax(softmax) => {
            let of = |action: &String| {
                let mut all = vec![format!("{action}: constant")];
                all.extend(softmax.columns.iter().map(|c| format!("{action}: {}", c.feature)));
                all
            };
            actions.iter().take(actions.len().saturating_sub(1)).flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

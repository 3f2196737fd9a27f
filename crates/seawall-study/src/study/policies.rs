//! `[propensity]` and `[policy]`: how decisions were made, and how others would be.

use super::Actions;
use super::toml_file::Value;
use seawall::Result;
use seawall::policy::file::PolicyFile;
use std::path::{Path, PathBuf};

/// Where propensities come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PropensitySpec {
    /// The column that `[action]` names.
    Known,
    /// By design: a probability for each action, the same for everyone.
    Design(Vec<(String, f64)>),
    /// Estimated as shares in each context cell.
    Cells,
    /// Estimated by a multinomial logistic model.
    Logistic {
        /// What multiplies half the squared weights.
        ridge: f64,
    },
}

/// A policy to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicySpec {
    /// Every action with the same probability.
    Uniform,
    /// Always the same action.
    Constant(String),
    /// What the log did.
    Behaviour,
    /// The best action by the model, context by context.
    Greedy,
    /// A policy file, or a table of probabilities by context.
    File(PathBuf),
    /// A policy made in the same run.
    Made(Box<PolicyFile>),
}

impl PolicySpec {
    /// As it is typed: `uniform`, `behaviour`, `greedy`, `constant:ACTION`, or a file.
    pub fn typed(text: &str) -> Self {
        match text {
            "uniform" => PolicySpec::Uniform,
            "behaviour" => PolicySpec::Behaviour,
            "greedy" => PolicySpec::Greedy,
            _ => match text.strip_prefix("constant:") {
                Some(action) => PolicySpec::Constant(action.to_owned()),
                None => PolicySpec::File(PathBuf::from(text)),
            },
        }
    }

    /// How it is typed; None for a policy that has no name outside its run.
    pub fn text(&self) -> Option<String> {
        match self {
            PolicySpec::Uniform => Some("uniform".to_owned()),
            PolicySpec::Behaviour => Some("behaviour".to_owned()),
            PolicySpec::Greedy => Some("greedy".to_owned()),
            PolicySpec::Constant(action) => Some(format!("constant:{action}")),
            PolicySpec::File(path) => Some(path.display().to_string()),
            PolicySpec::Made(_) => None,
        }
    }
}

/// `[policy]`, or several `[[policy]]`.
pub(super) fn policies(value: Option<Value<'_>>, folder: &Path) -> Result<Vec<PolicySpec>> {
    let Some(value) = value else { return Ok(vec![PolicySpec::Uniform]) };
    let mut policies = Vec::new();
    for mut table in value.tables()? {
        let words = [("uniform", 0), ("behaviour", 1), ("greedy", 2), ("constant", 3), ("file", 4)];
        let kind = table.need("kind")?.word(&words)?;
        policies.push(match kind {
            0 => PolicySpec::Uniform,
            1 => PolicySpec::Behaviour,
            2 => PolicySpec::Greedy,
            3 => PolicySpec::Constant(table.need("action")?.text()?),
            _ => PolicySpec::File(folder.join(table.need("path")?.text()?)),
        });
        table.finish(match kind {
            0..=2 => &["kind"],
            3 => &["kind", "action"],
            _ => &["kind", "path"],
        })?;
    }
    Ok(policies)
}

pub(super) fn propensity(
    value: Option<Value<'_>>,
    actions: &Actions,
) -> Result<(PropensitySpec, Option<f64>)> {
    let logged = matches!(actions, Actions::Column { propensity: Some(_), .. });
    let usual = if logged { PropensitySpec::Known } else { PropensitySpec::Cells };
    let Some(value) = value else { return Ok((usual, None)) };
    let mut table = value.table()?;
    let clip = match table.take("clip") {
        None => None,
        Some(v) => match v.number()? {
            x if x > 0.0 => Some(x),
            x => return Err(v.error(format!("{x}; expected a number > 0"))),
        },
    };
    let words = [("cells", false), ("logistic", true)];
    let estimate = table.take("estimate").map(|v| v.word(&words)).transpose()?;
    let ridge = table.take("ridge");
    let design = table.take("design");
    let spec = match (design, estimate) {
        (Some(v), Some(_)) => {
            return Err(v.error("propensities are by design or estimated, not both"));
        }
        (Some(v), None) => {
            let at = v.at;
            let mut shares = Vec::new();
            let mut table = v.table()?;
            for (name, v) in table.rest() {
                actions.check_name(&name, &v)?;
                shares.push((name, v.number()?));
            }
            table.at = at;
            let total: f64 = shares.iter().map(|s| s.1).sum();
            if shares.iter().any(|s| s.1.is_nan() || s.1 <= 0.0) || (total - 1.0).abs() > 1e-9 {
                return Err(table.error(format!(
                    "propensities by design must be above 0 and 1 in sum; the sum is {total}"
                )));
            }
            PropensitySpec::Design(shares)
        }
        (None, Some(true)) => {
            let ridge = match &ridge {
                None => 1.0,
                Some(v) => match v.number()? {
                    x if x >= 0.0 && x.is_finite() => x,
                    x => return Err(v.error(format!("{x}; expected a finite number ≥ 0"))),
                },
            };
            PropensitySpec::Logistic { ridge }
        }
        (None, Some(false)) => PropensitySpec::Cells,
        (None, None) => usual,
    };
    if let (Some(v), false) = (&ridge, matches!(spec, PropensitySpec::Logistic { .. })) {
        return Err(v.error("a ridge belongs to estimate = \"logistic\""));
    }
    table.finish(&["estimate", "ridge", "design", "clip"])?;
    Ok((spec, clip))
}

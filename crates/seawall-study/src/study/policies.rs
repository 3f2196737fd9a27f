//! `[propensity]` and `[policy]`: how decisions were made, and how others would be.

use super::Actions;
use super::declared::DeclaredValue;
use super::model::check_action;
use seawall::Result;
use seawall::policy::file::PolicyFile;
use seawall_table::words::commands;
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
    /// A policy that the study calls something.
    Named(String, Box<PolicySpec>),
}

/// Letters of a policy's name, at most.
const LONGEST_NAME: usize = 60;

impl PolicySpec {
    /// As it is typed: `uniform`, `behaviour`, `greedy`, `constant:ACTION`, or a file. A name that the
    /// study gives is read as a file here: the study knows which it is.
    pub fn typed(text: &str) -> Self {
        match text {
            "uniform" => PolicySpec::Uniform,
            "behaviour" | "behavior" => PolicySpec::Behaviour,
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
            PolicySpec::Named(name, _) => Some(name.clone()),
        }
    }

    /// The policy itself, whatever it is called.
    pub fn plain(&self) -> &PolicySpec {
        match self {
            PolicySpec::Named(_, spec) => spec.plain(),
            spec => spec,
        }
    }
}

/// `[policy]`, or several `[[policy]]`.
pub(super) fn policies(value: Option<DeclaredValue>, folder: &Path) -> Result<Vec<PolicySpec>> {
    let Some(value) = value else { return Ok(vec![PolicySpec::Uniform]) };
    let mut policies: Vec<PolicySpec> = Vec::new();
    let mut names = Vec::new();
    for mut table in value.tables()? {
        let words = [("uniform", 0), ("behaviour", 1), ("greedy", 2), ("constant", 3), ("file", 4)];
        let kind = table.need("kind")?.word(&words)?;
        let spec = match kind {
            0 => PolicySpec::Uniform,
            1 => PolicySpec::Behaviour,
            2 => PolicySpec::Greedy,
            3 => PolicySpec::Constant(table.need("action")?.text()?),
            _ => PolicySpec::File(folder.join(table.need("path")?.text()?)),
        };
        let called = table.take("name").map(|value| -> Result<_> { Ok((name(&value)?, value)) });
        let called = called.transpose()?;
        policies.push(match &called {
            Some((name, _)) => PolicySpec::Named(name.clone(), Box::new(spec)),
            None => spec,
        });
        names.extend(called);
        table.finish(match kind {
            0..=2 => &["kind", "name"],
            3 => &["kind", "action", "name"],
            _ => &["kind", "path", "name"],
        })?;
    }
    // A policy is found by what it is called: by its name, or as it is typed.
    for (name, value) in &names {
        let alike = policies.iter().filter(|p| p.text().as_ref() == Some(name)).count();
        if alike > 1 {
            return Err(value.error(format!("{name:?} is what another policy is called")));
        }
    }
    Ok(policies)
}

/// What people call a policy.
fn name(value: &DeclaredValue) -> Result<String> {
    let name = value.text()?;
    if name.trim().is_empty() {
        return Err(value.error("is empty; expected a name, or no key"));
    }
    if name.trim() != name || name.contains(|c: char| commands(c) || matches!(c, '\n' | '\t')) {
        let what = "is not a name: no blank at an end, no line end, no control character";
        return Err(value.error(format!("{name:?} {what}")));
    }
    let letters = name.chars().count();
    if letters > LONGEST_NAME {
        let what = format!("has {letters} letters; expected at most {LONGEST_NAME}");
        return Err(value.error(what));
    }
    match PolicySpec::typed(&name) {
        PolicySpec::File(_) => Ok(name),
        _ => Err(value.error(format!("{name:?} is how another policy is typed"))),
    }
}

pub(super) fn propensity(
    value: Option<DeclaredValue>,
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
            let mut shares = Vec::new();
            let mut table = v.table()?;
            for (name, v) in table.rest() {
                check_action(actions, &name, &v)?;
                shares.push((name, v.number()?));
            }
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

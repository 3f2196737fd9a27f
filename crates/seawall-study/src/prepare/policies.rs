//! The policies that a study names, on its contexts and actions.

use super::PreparedStudy;
use super::model::by_context;
use crate::study::PolicySpec;
use seawall::evaluate::{Propensity, Support, logistic};
use seawall::outcome::Values;
use seawall::policy::file::PolicyFile;
use seawall::policy::{Policy, Rule};
use seawall::{Error, Log, Result, Watch};
use seawall_table::read::named;
use std::path::Path;

impl PreparedStudy {
    /// The policy that is meant, called as the study calls it; the greedy one by the values given.
    pub fn policy(&self, spec: &PolicySpec, values: &Values, watch: Watch<'_>) -> Result<Policy> {
        self.policy_on(spec, (self.log(), values), watch)
    }

    /// The same for a part of the study's rows and the values that they have.
    pub(crate) fn policy_on(
        &self,
        spec: &PolicySpec,
        part: (&Log, &Values),
        watch: Watch<'_>,
    ) -> Result<Policy> {
        match self.study.meant(spec) {
            PolicySpec::Named(name, spec) => {
                Ok(self.unnamed_policy(spec, part, watch)?.named(name))
            }
            spec => self.unnamed_policy(spec, part, watch),
        }
    }

    fn unnamed_policy(
        &self,
        spec: &PolicySpec,
        (log, values): (&Log, &Values),
        watch: Watch<'_>,
    ) -> Result<Policy> {
        match spec {
            PolicySpec::Uniform => Ok(Policy::uniform(log)),
            PolicySpec::Constant(action) => {
                Policy::constant(log, named(log.actions(), action).unwrap_or(action))
            }
            PolicySpec::Behaviour => self.behaviour(watch),
            PolicySpec::Greedy if self.study.data.support == Support::Space => {
                Policy::greedy_everywhere(log, values)
            }
            PolicySpec::Greedy => Policy::greedy(log, values),
            PolicySpec::File(path) => self.policy_file(path),
            PolicySpec::Made(file) => file.on(log.contexts(), log.actions()),
            PolicySpec::Named(_, spec) => self.unnamed_policy(spec, (log, values), watch),
        }
    }

    /// What the log did, as far as the study's propensities tell: by design, or by the logistic
    /// model; where they are known row by row only, a logistic model of the actions taken.
    fn behaviour(&self, watch: Watch<'_>) -> Result<Policy> {
        let log = self.log();
        match &self.propensity {
            Propensity::Cells => Ok(Policy::behaviour(log)),
            Propensity::Design(shares) => {
                let rule = Rule::Groups { by: Vec::new(), probabilities: vec![shares.clone()] };
                Policy::new("behaviour", rule, log.contexts(), log.actions())
            }
            Propensity::Logistic { ridge } => Ok(logistic(log, *ridge, watch)?.named("behaviour")),
            _ => Ok(logistic(log, 1.0, watch)?.named("behaviour")),
        }
    }

    /// The policy file that is meant, if it is one.
    pub(crate) fn saved_policy(&self, spec: &PolicySpec) -> Result<Option<PolicyFile>> {
        match self.study.meant(spec).plain() {
            PolicySpec::Made(file) => Ok(Some(PolicyFile::clone(file))),
            PolicySpec::File(path) if is_saved(path) => read_saved(path).map(Some),
            _ => Ok(None),
        }
    }

    /// A policy file, or a table of probabilities.
    fn policy_file(&self, path: &Path) -> Result<Policy> {
        let (log, name) = (self.log(), path.display());
        if is_saved(path) {
            let policy = read_saved(path)?.on(log.contexts(), log.actions());
            return policy.map_err(|e| e.within(name));
        }
        if !path.exists() {
            // An action's name is the policy that always takes it.
            if let Some(action) = path.to_str().and_then(|text| named(log.actions(), text)) {
                return Policy::constant(log, action);
            }
            return Err(Error::input(format!(
                "{name}: no such file; a policy is an action ({}), uniform, behavior, greedy, a policy \
                 file (.json) or a table of probabilities (.csv, .parquet){}",
                some(log.actions()),
                self.study.policy_names()
            )));
        }
        let fits = |p: f64| (0.0..=1.0).contains(&p);
        let chances = by_context(path, &self.study, log, fits, "a probability from 0 to 1")?;
        let listed = |context: usize| !chances.at(context, 0).is_nan();
        let rule = Rule::table(log.contexts(), &chances, listed, None)?;
        let stem = path.file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned());
        Policy::new(stem, rule, log.contexts(), log.actions()).map_err(|e| e.within(name))
    }
}

/// Whether a path is that of a policy file.
fn is_saved(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json")
}

fn read_saved(path: &Path) -> Result<PolicyFile> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    PolicyFile::from_json(&text).map_err(|e| e.within(path.display()))
}

/// The first few of a study's actions, for a message.
fn some(actions: &[String]) -> String {
    const MOST: usize = 4;
    let more = if actions.len() > MOST { ", …" } else { "" };
    format!("{}{more}", actions.iter().take(MOST).cloned().collect::<Vec<_>>().join(", "))
}

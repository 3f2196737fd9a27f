//! What is asked differently from the study file.

use super::{Bootstrap, Question};
use crate::bound::Set;
use crate::study::{PolicySpec, SetSpec};
use seawall::evaluate::Support;
use seawall::{Error, Result};

/// What is asked differently from the study file.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Other policies.
    pub policies: Vec<PolicySpec>,
    /// Other radii.
    pub radii: Vec<f64>,
    /// Another set of contexts.
    pub set: Option<Set>,
    /// Another sharpness of the study's entropic sets.
    pub eta: Option<f64>,
    /// Other cost radii.
    pub cost_radii: Vec<f64>,
    /// Another set of outcomes.
    pub cost_set: Option<Set>,
    /// Another support.
    pub support: Option<Support>,
    /// Intervals by resampling the rows.
    pub bootstrap: Option<Bootstrap>,
    /// The probability of error of finite-sample bounds.
    pub bounds: Option<f64>,
}

impl Changes {
    /// The study's question with the changes made.
    pub fn apply(&self, mut question: Question) -> Result<Question> {
        if !self.policies.is_empty() {
            question.policies.clone_from(&self.policies);
        }
        change(&mut question.context, self.set, self.eta, &self.radii);
        change(&mut question.cost, self.cost_set, self.eta, &self.cost_radii);
        let entropic = |spec: &SetSpec| matches!(spec.set, Set::Entropic { .. });
        if self.eta.is_some() && !entropic(&question.context) && !entropic(&question.cost) {
            return Err(Error::config("eta belongs to an entropic set; there is none"));
        }
        question.support = self.support.unwrap_or(question.support);
        question.bootstrap = self.bootstrap;
        question.bounds = self.bounds;
        Ok(question)
    }
}

fn change(spec: &mut SetSpec, set: Option<Set>, eta: Option<f64>, radii: &[f64]) {
    spec.set = match (set.unwrap_or(spec.set), eta) {
        (Set::Entropic { .. }, Some(eta)) => Set::Entropic { eta },
        (set, _) => set,
    };
    if !radii.is_empty() {
        spec.radii = radii.to_vec();
    }
}

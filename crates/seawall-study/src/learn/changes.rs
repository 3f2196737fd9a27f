//! What is asked differently from the study file, the same for every front end.

use super::{ACCURACY, CONTEXTS, Limits, Method, Plan, Question, Spec};
use crate::evaluate::{changed_radii, changed_sets, check_radii};
use crate::prepare::PreparedStudy;
use crate::study::PolicySpec;
use seawall::evaluate::Support;
use seawall::learn::{Gradient, Schedule};
use seawall::{Error, Field, Result};

/// What is asked; None where the study file says, or the usual setting holds.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Which kind of policy.
    pub policy: Spec,
    /// How.
    pub method: Method,
    /// Another radius than the study's first.
    pub radius: Option<f64>,
    /// Another set of contexts, by name.
    pub set: Option<String>,
    /// Another sharpness of entropic sets.
    pub eta: Option<f64>,
    /// Another cost radius than the study's first.
    pub cost_radius: Option<f64>,
    /// Another set of outcomes, by name.
    pub cost_set: Option<String>,
    /// Another support.
    pub support: Option<Support>,
    /// Limits on the policy, and when to stop.
    pub limits: Limits,
    /// Gradients' settings; its seed is everything's.
    pub gradient: Gradient,
    /// The accuracy from which a stochastic schedule follows.
    pub delta: Option<f64>,
    /// Stochastic steps, by hand.
    pub steps: Option<usize>,
    /// Points drawn each step, by hand.
    pub batch: Option<usize>,
    /// The step sizes are this over the root of the steps.
    pub step: Option<f64>,
    /// Contexts drawn each step.
    pub contexts: usize,
    /// Independent stochastic runs.
    pub seeds: usize,
    /// Whether to value on rows left out too.
    pub honest: bool,
    /// A policy to learn against.
    pub against: Option<PolicySpec>,
    /// Whether the stochastic runs' traces are wanted, or a state is gone on from.
    pub traced: bool,
}

impl Changes {
    /// A kind of policy, and nothing else said.
    pub fn new(policy: Spec) -> Self {
        Changes {
            policy,
            method: Method::Auto,
            radius: None,
            set: None,
            eta: None,
            cost_radius: None,
            cost_set: None,
            support: None,
            limits: Limits::default(),
            gradient: Gradient::default(),
            delta: None,
            steps: None,
            batch: None,
            step: None,
            contexts: CONTEXTS,
            seeds: 1,
            honest: true,
            against: None,
            traced: false,
        }
    }

    /// The study's question with the changes made.
    pub fn apply(&self, prepared: &PreparedStudy) -> Result<Question> {
        self.check_numbers()?;
        let usual = Question::from_study(prepared, self.policy.clone());
        let own = (usual.context.set, usual.cost.set);
        let (context, cost) = changed_sets(own, (&self.set, &self.cost_set), self.eta)?;
        check_radii(Field::Radius, context, self.radius.as_slice())?;
        check_radii(Field::CostRadius, cost, self.cost_radius.as_slice())?;
        let own = &prepared.study.context_set;
        let context = changed_radii(own, context, self.radius.as_slice())?;
        Ok(Question {
            method: self.method,
            context: context.first(),
            column_radii: context.column_radii,
            cost: cost.at(self.cost_radius.unwrap_or(usual.cost.radius)),
            support: self.support.unwrap_or(usual.support),
            limits: self.limits.clone(),
            gradient: self.gradient,
            schedule: self.schedule(),
            seeds: self.seeds,
            honest: self.honest,
            against: self.against.clone(),
            ..usual
        })
    }

    /// The schedule: by hand if any part of it is given, else by the theorem.
    fn schedule(&self) -> Plan {
        if self.steps.is_some() || self.batch.is_some() || self.step.is_some() {
            Plan::Steps(Schedule {
                steps: self.steps.unwrap_or(10_000),
                points: self.batch.unwrap_or(200),
                step: self.step.unwrap_or(1.0),
                contexts: self.contexts,
            })
        } else {
            Plan::Accuracy(self.delta.unwrap_or(ACCURACY), self.contexts)
        }
    }

    fn check_numbers(&self) -> Result<()> {
        let stochastic = [
            (Field::Accuracy, self.delta.is_some()),
            (Field::Steps, self.steps.is_some()),
            (Field::Batch, self.batch.is_some()),
            (Field::Step, self.step.is_some()),
        ];
        let given = stochastic.iter().find(|(_, given)| *given);
        if let (Some((field, _)), true) = (given, self.method != Method::Bsgd) {
            return Err(Error::field(*field, "belongs to stochastic gradients")
                .advise(Field::Method, &["bsgd"]));
        }
        if self.traced && self.method != Method::Bsgd {
            return Err(Error::config("traces and states belong to stochastic gradients")
                .advise(Field::Method, &["bsgd"]));
        }
        let counts = [
            (Field::Seeds, self.seeds),
            (Field::Contexts, self.contexts),
            (Field::Restarts, self.gradient.restarts),
        ];
        if let Some((field, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::field(*field, "is 0; expected at least 1"));
        }
        if !(self.gradient.temperature > 0.0 && self.gradient.temperature.is_finite()) {
            let what = format!("is {}; expected a number > 0", self.gradient.temperature);
            return Err(Error::field(Field::Temperature, what));
        }
        if let Some(delta) = self.delta.filter(|d| !(*d > 0.0 && *d < 1.0)) {
            let what = format!("is {delta}; expected a number between 0 and 1");
            return Err(Error::field(Field::Accuracy, what));
        }
        let exact = matches!(self.policy, Spec::Groups(_) | Spec::Tree(_));
        if self.limits.tolerance.is_some() && !exact {
            let what = "is for groups and trees, solved exactly";
            return Err(Error::field(Field::Tolerance, what));
        }
        for (field, limits) in
            [(Field::AtLeast, &self.limits.least), (Field::AtMost, &self.limits.most)]
        {
            let twice = (1..limits.len()).find(|&k| limits[..k].iter().any(|l| l.0 == limits[k].0));
            if let Some(k) = twice {
                return Err(Error::field(field, format!("names {:?} twice", limits[k].0)));
            }
        }
        Ok(())
    }
}

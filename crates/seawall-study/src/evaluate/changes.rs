//! What is asked differently from the study file.

use super::{By, Halving, Question};
use crate::study::{PolicySpec, SetSpec, no_cost_set};
use seawall::evaluate::Support;
use seawall::{Error, Field, Result, Set};

/// Another set of populations, as it was asked for: by its name, and an η apart from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetChange {
    /// Its name, perhaps with parameters: `kl`, `entropic:eta=100`.
    pub name: Option<String>,
    /// The sharpness of an entropic set; of the study's own if no set is named.
    pub eta: Option<f64>,
}

impl SetChange {
    /// The set that is meant, given the study's own. An η where no set takes one is the caller's
    /// to refuse: it may be meant for another set.
    pub fn apply(&self, own: Set) -> Result<Set> {
        match (&self.name, self.eta) {
            (None, None) => Ok(own),
            (None, Some(eta)) => own.with_parameter("eta", eta),
            (Some(text), eta) => {
                let wants = |p: &seawall::Parameter| p.name == "eta";
                let name = text.split(':').next().unwrap_or_default();
                let takes = Set::parameters_of(name).is_some_and(|p| p.iter().any(wants));
                match eta.filter(|_| takes) {
                    Some(eta) if name == text => Set::named(name, &[("eta", eta.to_string())]),
                    Some(eta) => {
                        let what = format!("is {eta}, but the set {text} has one of its own");
                        Err(Error::field(Field::Eta, what))
                    }
                    None => text.parse(),
                }
            }
        }
    }
}

/// The sets of contexts and of outcomes with changes made; refuses an η that neither takes.
pub(crate) fn changed_sets(
    (context, cost): (Set, Set),
    (set, other): (&Option<String>, &Option<String>),
    eta: Option<f64>,
) -> Result<(Set, Set)> {
    let change = |name: &Option<String>| SetChange { name: name.clone(), eta };
    let context = change(set).apply(context)?;
    let cost = change(other).apply(cost).map_err(cost_set)?;
    if cost.needs_known() || cost.needs_actions() {
        return Err(cost_set_refused(cost));
    }
    let takes = |set: &Set| set.parameter("eta").is_some();
    match eta {
        Some(eta) if !takes(&context) && !takes(&cost) => Err(Error::field(
            Field::Eta,
            format!("is {eta}, but it belongs to an entropic set, and there is none"),
        )
        .advise(Field::Set, &["entropic"])),
        _ => Ok((context, cost)),
    }
}

/// Refuses a set of contexts as a set of outcomes.
pub(super) fn cost_set_refused(set: Set) -> Error {
    Error::field(Field::CostSet, format!("is {}, {}", set.name(), no_cost_set(set)))
}

/// Another set of contexts and other radii in place of the study's. A set that is about what is known of
/// the target has no radius where none is given.
pub(crate) fn changed_radii(own: &SetSpec, set: Set, radii: &[f64]) -> Result<SetSpec> {
    if !radii.is_empty() {
        return Ok(SetSpec { set, radii: radii.to_vec(), column_radii: Vec::new() });
    }
    match (own.set.needs_known(), set.needs_known()) {
        (false, true) => Ok(SetSpec { set, radii: vec![f64::INFINITY], column_radii: Vec::new() }),
        (true, false) if own.radii.iter().any(|r| r.is_infinite()) => Err(Error::field(
            Field::Radius,
            format!("is missing: the study has none, and the set {} needs one", set.name()),
        )),
        (true, false) => Ok(SetSpec { set, radii: own.radii.clone(), column_radii: Vec::new() }),
        _ => {
            own.radii.iter().try_for_each(|r| set.check_radius(*r))?;
            Ok(SetSpec { set, ..own.clone() })
        }
    }
}

/// An error about a set, said of the set of outcomes.
fn cost_set(error: Error) -> Error {
    if error.about() == Some(Field::Set) { error.about_field(Field::CostSet) } else { error }
}

/// What is asked differently from the study file.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Other policies.
    pub policies: Vec<PolicySpec>,
    /// Other radii.
    pub radii: Vec<f64>,
    /// Another set of contexts, by name.
    pub set: Option<String>,
    /// Another sharpness of entropic sets.
    pub eta: Option<f64>,
    /// Other cost radii.
    pub cost_radii: Vec<f64>,
    /// Another set of outcomes, by name.
    pub cost_set: Option<String>,
    /// Another support.
    pub support: Option<Support>,
    /// Halvings of the rows, the level of the limits and the seed; the usual ones where not said. None
    /// is for no halvings at all.
    pub halves: Option<Halving>,
    /// The level of every interval; 0.95 if not said.
    pub level: Option<f64>,
    /// The probability of error of finite-sample bounds.
    pub bounds: Option<f64>,
    /// Not to compare the policies with each other.
    pub no_compare: bool,
    /// A column by whose levels the same is asked, too.
    pub by: Option<By>,
}

impl Changes {
    /// The study's question with the changes made.
    pub fn apply(&self, mut question: Question) -> Result<Question> {
        if !self.policies.is_empty() {
            question.policies.clone_from(&self.policies);
        }
        let own = (question.context.set, question.cost.set);
        let (context, cost) = changed_sets(own, (&self.set, &self.cost_set), self.eta)?;
        check_radii(Field::Radius, context, &self.radii)?;
        check_radii(Field::CostRadius, cost, &self.cost_radii)?;
        question.context = changed_radii(&question.context, context, &self.radii)?;
        question.cost.set = cost;
        if !self.cost_radii.is_empty() {
            question.cost.radii.clone_from(&self.cost_radii);
        }
        question.support = self.support.unwrap_or(question.support);
        question.compare = !self.no_compare;
        if let Some(halving) = &self.halves {
            halving.check_counts()?;
        }
        question.halves = self.halves;
        question.level = self.level.unwrap_or(question.level);
        check_level(question.level)?;
        if let Some(delta) = self.bounds.filter(|d| !(*d > 0.0 && *d < 1.0)) {
            let what = format!("is {delta}; expected a number between 0 and 1");
            return Err(Error::field(Field::Bounds, what));
        }
        question.bounds = self.bounds;
        question.by.clone_from(&self.by);
        Ok(question)
    }
}

/// More halvings than these tell nothing more.
const MOST_HALVINGS: usize = 10_000;

impl Halving {
    /// Refuses no halvings and too many, and a level that is none.
    pub fn check_counts(&self) -> Result<()> {
        match self.count {
            1..=MOST_HALVINGS => check_level(self.level),
            count => {
                let what = format!("is {count}; expected a whole number from 1 to {MOST_HALVINGS}");
                Err(Error::field(Field::Halves, what))
            }
        }
    }
}

fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        Ok(())
    } else {
        let what = format!("is {level}; expected a number between 0 and 1");
        Err(Error::field(Field::Level, what))
    }
}

/// Refuses a radius that is none, or none of the set.
pub(crate) fn check_radii(field: Field, set: Set, radii: &[f64]) -> Result<()> {
    match radii.iter().find(|r| r.is_infinite()) {
        Some(r) => Err(Error::field(field, format!("is {r}; expected a finite number ≥ 0"))),
        None => {
            let fits = |r: &f64| set.check_radius(*r).map_err(|e| e.about_field(field));
            radii.iter().try_for_each(fits)
        }
    }
}

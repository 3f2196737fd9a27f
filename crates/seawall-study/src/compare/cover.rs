//! What radii are chosen by: what a target or a recorded group costs, the people of either, or chance.
//!
//! Every set is centred on the log. A group is left out of it first, so that nothing is covered that was
//! fitted to; what it really cost is its rows' own doubly robust estimate.

use super::answer::{Covers, Goal};
use super::{Ground, Request};
use crate::prepare::PreparedStudy;
use crate::reference::FEW_ROWS;
use crate::transfer::{History, PastGroup};
use seawall::evaluate::{Estimate, Evaluator};
use seawall::policy::Policy;
use seawall::{Error, Field, Known, Population, Result, Watch};

/// Groups that are told where one is unknown; more are counted.
const TOLD: usize = 12;

/// What is to be covered, and the study that is to cover it: without the group, if it is one.
pub(super) struct CoverTask {
    pub(super) prepared: PreparedStudy,
    pub(super) at: Covered,
}

/// What is to be covered.
pub(super) enum Covered {
    /// The study's target, of which there is a sample or something is known.
    Target,
    /// A group of those recorded.
    Group { history: Box<History>, at: usize },
    /// The noise of the estimate.
    Chance,
}

/// What a request is about: a group if it names one, else the study's target, else chance.
pub(super) fn cover_task(
    prepared: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<CoverTask> {
    if let Some(name) = &request.group {
        let (history, on) = History::new(prepared, watch)?;
        let found = history.groups.iter().position(|g| g.name == *name);
        let at = found.ok_or_else(|| unknown(&history, name))?;
        let rest = history.log_without(at, None)?;
        let prepared = on.without_target().with_log(rest);
        return Ok(CoverTask { prepared, at: Covered::Group { history: Box::new(history), at } });
    }
    let at = if prepared.target.is_some() || prepared.known()?.is_some() {
        Covered::Target
    } else {
        Covered::Chance
    };
    Ok(CoverTask { prepared: prepared.clone(), at })
}

/// A group that is none of those recorded.
fn unknown(history: &History, name: &str) -> Error {
    let names: Vec<&str> = history.groups.iter().map(|g| &*g.name).collect();
    let some = names[..names.len().min(TOLD)].join(", ");
    let more = match names.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let left_out = match history.few + history.lacking {
        0 => String::new(),
        _ => format!(
            " ({} with fewer than {} rows and {} without one of the actions are not counted)",
            history.few, history.by.least, history.lacking
        ),
    };
    Error::field(
        Field::By,
        format!("{}: no group {name:?}; there are: {some}{more}{left_out}", history.by.words()),
    )
}

impl Covered {
    pub(super) fn goal(&self) -> Goal {
        match self {
            Covered::Target => Goal::Target,
            Covered::Group { .. } => Goal::Group,
            Covered::Chance => Goal::Chance,
        }
    }

    fn group(&self) -> Option<(&History, &PastGroup)> {
        match self {
            Covered::Group { history, at } => history.groups.get(*at).map(|g| (&**history, g)),
            _ => None,
        }
    }
}

impl CoverTask {
    /// The target's file or the group's name, and what groups are named by.
    pub(super) fn names(&self) -> (Option<String>, Option<String>) {
        match self.at.group() {
            Some((history, group)) => (Some(group.name.clone()), Some(history.by.words())),
            None => (self.prepared.target.as_ref().map(|t| t.facts.path.clone()), None),
        }
    }

    /// A policy's estimate there; None where radii cover chance.
    pub(super) fn estimate(
        &self,
        fitted: &Evaluator,
        policy: &Policy,
        watch: Watch<'_>,
    ) -> Result<Option<Estimate>> {
        let found = match self.at.group() {
            Some((_, group)) => Some(group.rows().realised(fitted, policy, None)?),
            None => {
                let reference = self.prepared.reference(fitted.log())?;
                let Some(estimator) = reference.estimator(fitted, watch)? else { return Ok(None) };
                estimator.estimates(policy)?.best()
            }
        };
        if let Some(found) = found.filter(|e| e.value.is_finite()) {
            return Ok(Some(found));
        }
        Err(Error::input(format!(
            "{}: no estimate to cover: the log has no row of what it does, or is too small to fold",
            policy.name()
        )))
    }

    /// The people that are to be contained, where they are known one by one.
    pub(super) fn people(&self) -> Result<Option<Population>> {
        match self.at.group() {
            Some((_, group)) => group.log.population().map(Some),
            None => Ok(self.prepared.target.as_ref().map(|t| t.sample.population().clone())),
        }
    }

    /// What is known of them, column by column; None where nothing is.
    pub(super) fn known(&self) -> Result<Option<Known>> {
        if let Some(people) = self.people()? {
            return Known::margins_of(&people).map(Some);
        }
        self.prepared.known()
    }
}

impl Ground<'_> {
    /// What radii are to cover, and what to know of it.
    pub(super) fn covers(
        &self,
        people: Option<&Population>,
        containing: bool,
    ) -> Result<(Covers, Vec<String>)> {
        let direction = self.robust.direction();
        let limit = self.estimate.limit(direction);
        let there = self.there.map(|e| e.value);
        let nothing = there.is_some_and(|v| direction.sign() * (v - self.nominal) <= 0.0);
        let value = there.filter(|_| containing || !nothing).unwrap_or(limit);
        if (containing || nothing || there.is_none()) && self.thin[0] && value == limit {
            return Err(Error::input(format!(
                "{}: its effective sample size is below {FEW_ROWS}, so there is no confidence limit to \
                 cover; give a target (--target) or radii of your own (evaluate)",
                self.policies[0].name()
            )));
        }
        if !value.is_finite() {
            return Err(Error::input(format!(
                "{}: no confidence limit to cover: one cluster says nothing of the spread between them",
                self.policies[0].name()
            )));
        }
        let lacking = match people {
            None => None,
            Some(people) => {
                let own = self.fitted.log().population()?;
                let pairs = people.weights().iter().zip(own.weights());
                Some(pairs.filter(|(_, own)| **own == 0.0).map(|(there, _)| there).sum::<f64>())
            }
        };
        let mut notes = Vec::new();
        if let Some(greedy) = self.greedy {
            notes.push(format!(
                "{} was chosen on the very rows that value it, so its worst cases are too good",
                self.policies[greedy].name()
            ));
        }
        let (name, by) = self.task.names();
        let covers = Covers {
            goal: if nothing && !containing { Goal::Chance } else { self.task.at.goal() },
            containing,
            name,
            by,
            policy: self.policies[0].name().to_owned(),
            value,
            estimate: self.there,
            nominal: self.nominal,
            lacking,
            sentence: String::new(),
        };
        Ok((covers.worded(direction, nothing), notes))
    }
}

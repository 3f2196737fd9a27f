//! What radii are chosen by: what a target or a recorded group costs, the people of either, or chance.
//!
//! Every set is centred on the log. A group is left out of it first, so that nothing is covered that was
//! fitted to; what it really cost is its rows' own doubly robust estimate.

use super::Request;
use super::answer::Goal;
use crate::load::Loaded;
use crate::start::Start;
use crate::transfer::{Group, Recorded};
use seawall::evaluate::{Estimate, Fitted};
use seawall::policy::Policy;
use seawall::{Error, Field, Known, Log, Population, Result, Watch};

/// Groups that are told where one is unknown; more are counted.
const TOLD: usize = 12;

/// What is to be covered, and the study that is to cover it: without the group, if it is one.
pub(super) struct Aimed {
    pub(super) loaded: Loaded,
    pub(super) at: Aim,
}

/// What is to be covered.
pub(super) enum Aim {
    /// The study's target, of which there is a sample or something is known.
    Target,
    /// A group of those recorded.
    Group { recorded: Box<Recorded>, at: usize },
    /// The noise of the estimate.
    Chance,
}

/// What a request is about: a group if it names one, else the study's target, else chance.
pub(super) fn aimed(loaded: &Loaded, request: &Request, watch: Watch<'_>) -> Result<Aimed> {
    if let Some(name) = &request.group {
        let (recorded, on) = Recorded::new(loaded, watch)?;
        let found = recorded.groups.iter().position(|g| g.name == *name);
        let at = found.ok_or_else(|| unknown(&recorded, name))?;
        let rest = recorded.log_without(at, None)?;
        let loaded = on.without_target().with_log(rest);
        return Ok(Aimed { loaded, at: Aim::Group { recorded: Box::new(recorded), at } });
    }
    let at = match loaded.target.is_some() || loaded.known()?.is_some() {
        true => Aim::Target,
        false => Aim::Chance,
    };
    Ok(Aimed { loaded: loaded.clone(), at })
}

/// A group that is none of those recorded.
fn unknown(recorded: &Recorded, name: &str) -> Error {
    let names: Vec<&str> = recorded.groups.iter().map(|g| &*g.name).collect();
    let some = names[..names.len().min(TOLD)].join(", ");
    let more = match names.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let left_out = match recorded.few + recorded.lacking {
        0 => String::new(),
        _ => format!(
            " ({} with fewer than {} rows and {} without one of the actions are not counted)",
            recorded.few, recorded.by.least, recorded.lacking
        ),
    };
    Error::field(
        Field::By,
        format!("{}: no group {name:?}; there are: {some}{more}{left_out}", recorded.by.words()),
    )
}

impl Aim {
    pub(super) fn goal(&self) -> Goal {
        match self {
            Aim::Target => Goal::Target,
            Aim::Group { .. } => Goal::Group,
            Aim::Chance => Goal::Chance,
        }
    }

    fn group(&self) -> Option<(&Recorded, &Group)> {
        match self {
            Aim::Group { recorded, at } => recorded.groups.get(*at).map(|g| (&**recorded, g)),
            _ => None,
        }
    }
}

impl Aimed {
    /// The target's file or the group's name, and what groups are named by.
    pub(super) fn names(&self) -> (Option<String>, Option<String>) {
        match self.at.group() {
            Some((recorded, group)) => (Some(group.name.clone()), Some(recorded.by.words())),
            None => (self.loaded.target.as_ref().map(|t| t.facts.path.clone()), None),
        }
    }

    /// A policy's estimate there; None where radii cover chance.
    pub(super) fn estimate(
        &self,
        fitted: &Fitted,
        policy: &Policy,
        watch: Watch<'_>,
    ) -> Result<Option<Estimate>> {
        let found = match self.at.group() {
            Some((_, group)) => group.rows().realised(fitted, policy, None)?,
            None => {
                let start = self.loaded.start(fitted.log())?;
                let Some(carrier) = start.carrier(fitted, watch)? else { return Ok(None) };
                let there = carrier.estimates(policy)?;
                if there.dr.value.is_nan() { there.direct() } else { there.dr }
            }
        };
        match found.value.is_finite() {
            true => Ok(Some(found)),
            false => Err(Error::input(format!(
                "{}: no estimate to cover: the log has no row of what it does, or is too small to fold",
                policy.name()
            ))),
        }
    }

    /// The people that are to be contained, where they are known one by one.
    pub(super) fn people(&self) -> Result<Option<Population>> {
        match self.at.group() {
            Some((_, group)) => group.log.population().map(Some),
            None => Ok(self.loaded.target.as_ref().map(|t| t.sample.population().clone())),
        }
    }

    /// What is known of them, column by column; None where nothing is.
    pub(super) fn known(&self, log: &Log) -> Result<Option<Known>> {
        if let Some(people) = self.people()? {
            return Known::margins_of(&people).map(Some);
        }
        match self.loaded.start(log)? {
            Start::Balanced(both) => Ok(Some(both.1)),
            _ => Ok(None),
        }
    }
}

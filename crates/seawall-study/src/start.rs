//! What worst cases start from: the log's own contexts; those of a sample of the target; or the log, weighed
//! to be what is known of the target. And what carries estimates over to there.
//!
//! A set that is about what is known of the target ([`Set::needs_known`]) has it from here, too: what is
//! said of single columns, or the margins of a sample.

use crate::forecast;
use crate::load::Loaded;
use seawall::evaluate::{Estimate, Fitted, Robust, Support};
use seawall::policy::Policy;
use seawall::transfer::{
    Balance, BalanceStatus, BalanceSummary, Centre, EFFECTIVE, Target, Transport, Transported,
};
use seawall::{Error, Field, Known, Log, Population, Result, Set, Watch};
use serde::Serialize;
use std::sync::Arc;

/// What worst cases start from.
pub(crate) enum Start<'a> {
    /// The log's own contexts.
    Log,
    /// Those of a sample of the target.
    Sample(&'a Target),
    /// The log, weighed to be what is known of the target.
    Balanced(Box<(Balance, Known)>),
}

/// A set without its radius for all columns, and the radii of single columns.
#[derive(Clone, Copy)]
pub(crate) struct Bounded<'a> {
    pub(crate) set: Set,
    pub(crate) column_radii: &'a [(String, f64)],
}

impl Loaded {
    /// What worst cases start from, for this log or a part of it.
    pub(crate) fn start(&self, log: &Log) -> Result<Start<'_>> {
        if let Some(target) = &self.target {
            return Ok(Start::Sample(&target.sample));
        }
        Ok(match self.known()? {
            None => Start::Log,
            Some(known) => {
                Start::Balanced(Box::new((Balance::new(log, &known, EFFECTIVE)?, known)))
            }
        })
    }

    /// The contexts that worst cases start from, on a support.
    pub(crate) fn robust(
        &self,
        fitted: &Fitted,
        support: Support,
        within: Bounded<'_>,
    ) -> Result<Arc<Robust>> {
        self.start(fitted.log())?.robust_of(fitted, support, within)
    }
}

impl Start<'_> {
    /// The contexts on a support; those of the log's own are made once.
    pub(crate) fn robust_of(
        &self,
        fitted: &Fitted,
        support: Support,
        within: Bounded<'_>,
    ) -> Result<Arc<Robust>> {
        let robust = match self {
            Start::Log if !within.set.needs_known() => fitted.robust(support)?,
            _ => self.robust(fitted.log(), support, within).map(Arc::new)?,
        };
        forecast::room(&robust, within.set)?;
        Ok(robust)
    }

    /// The contexts on a support, for a log that nothing is fitted to.
    pub(crate) fn robust(
        &self,
        log: &Log,
        support: Support,
        within: Bounded<'_>,
    ) -> Result<Robust> {
        let robust = match self.population() {
            None => Robust::new(log, support)?,
            Some(population) => Robust::around(log, population, support)?,
        };
        if !within.set.needs_known() {
            return Ok(robust);
        }
        let mut known = self.known(within.set)?;
        for (column, radius) in within.column_radii {
            let feature = known.space().feature(column)?;
            known = known.moving_at_most(feature, *radius)?;
        }
        robust.knowing(&known)
    }

    /// Another population than the log's own.
    pub(crate) fn population(&self) -> Option<&Population> {
        match self {
            Start::Log => None,
            Start::Sample(sample) => Some(sample.population()),
            Start::Balanced(both) => Some(both.0.population()),
        }
    }

    /// How the log was made like the target, if it was.
    pub(crate) fn balance(&self) -> Option<&Balance> {
        match self {
            Start::Balanced(both) => Some(&both.0),
            _ => None,
        }
    }

    /// The same, to be written.
    pub(crate) fn summary(&self) -> Option<BalanceSummary> {
        self.balance().map(Balance::summary)
    }

    /// What is known of the target: refused if nothing is.
    fn known(&self, set: Set) -> Result<Known> {
        match self {
            Start::Balanced(both) => Ok(both.1.clone()),
            Start::Sample(sample) => Known::margins_of(sample.population()),
            Start::Log => Err(nothing_known(set)),
        }
    }

    /// What carries estimates over to the target, if there is one.
    pub(crate) fn carrier<'b>(
        &'b self,
        fitted: &'b Fitted,
        watch: Watch<'b>,
    ) -> Result<Option<Carrier<'b>>> {
        Ok(match self {
            Start::Log => None,
            Start::Sample(sample) => {
                Some(Carrier::Sample(Box::new(Transport::new(fitted, sample, watch)?)))
            }
            Start::Balanced(both) => {
                Some(Carrier::Balanced(Box::new(Centre::new(fitted, &both.0, watch)?)))
            }
        })
    }
}

/// What a reader should know of a log that was made like a target in part only.
pub(crate) fn balance_note(balance: &Balance) -> Option<String> {
    (balance.status() == BalanceStatus::MatchedInPart).then(|| {
        "the log could be made like the target in part only: the estimate is for what it was made like"
            .to_owned()
    })
}

/// What carries estimates over to a target.
pub(crate) enum Carrier<'a> {
    /// By the odds between the log and a sample.
    Sample(Box<Transport<'a>>),
    /// By the weights that make the log what is known.
    Balanced(Box<Centre<'a>>),
}

/// Fewer effective rows than these support no confidence statement.
pub(crate) const FEW_ROWS: f64 = 30.0;

/// What a policy would cost in the target; or by how much more than another.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetEstimates {
    /// The direct method: the model's values over a sample. None (absent) without a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dm: Option<Estimate>,
    /// Inverse odds weighting. None (absent) without a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odds: Option<Estimate>,
    /// Doubly robust: by the odds where there is a sample, else by the log made like what is known.
    pub dr: Estimate,
    /// How many rows of the log the reweighted ones are worth. Of a difference, the smaller of the two.
    pub effective_rows: f64,
}

/// The doubly robust of two estimates, in the target if there is one; the direct one where there is none.
pub(crate) fn unshifted(there: Option<&TargetEstimates>, dr: Estimate, dm: Estimate) -> Estimate {
    let (dr, dm) = there.map_or((dr, dm), |there| (there.dr, there.direct()));
    if dr.value.is_nan() { dm } else { dr }
}

impl From<Transported> for TargetEstimates {
    fn from(there: Transported) -> Self {
        let Transported { dm, odds, dr, effective_rows, .. } = there;
        TargetEstimates { dm: Some(dm), odds: Some(odds), dr, effective_rows }
    }
}

impl TargetEstimates {
    /// The direct estimate; without a sample the doubly robust one.
    pub fn direct(&self) -> Estimate {
        self.dm.unwrap_or(self.dr)
    }

    /// Every estimate that there is.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut Estimate> {
        self.dm.iter_mut().chain(&mut self.odds).chain([&mut self.dr])
    }
}

impl Carrier<'_> {
    /// What a policy would cost.
    pub(crate) fn estimates(&self, policy: &Policy) -> Result<TargetEstimates> {
        match self {
            Carrier::Sample(transport) => Ok(transport.estimates(policy)?.into()),
            Carrier::Balanced(centre) => Ok(TargetEstimates {
                dm: None,
                odds: None,
                dr: centre.estimate(policy)?,
                effective_rows: centre.effective_rows(policy)?,
            }),
        }
    }

    /// By how much more than another.
    pub(crate) fn difference(&self, policy: &Policy, against: &Policy) -> Result<TargetEstimates> {
        match self {
            Carrier::Sample(transport) => Ok(transport.difference(policy, against)?.into()),
            Carrier::Balanced(centre) => {
                let rows = [centre.effective_rows(policy)?, centre.effective_rows(against)?];
                Ok(TargetEstimates {
                    dm: None,
                    odds: None,
                    dr: centre.difference(policy, against)?,
                    effective_rows: rows[0].min(rows[1]),
                })
            }
        }
    }

    /// The transport, where there is a sample.
    pub(crate) fn transport(&self) -> Option<&Transport<'_>> {
        match self {
            Carrier::Sample(transport) => Some(transport),
            Carrier::Balanced(_) => None,
        }
    }
}

/// A set about what is known of a target, and nothing is.
pub(crate) fn nothing_known(set: Set) -> Error {
    let what = format!(
        "is {}, the populations that meet what is known of a target, and nothing is known of one; say it \
         with --known COL:mean=NUMBER or [target.known] (`seawall describe` writes it from a table), or \
         give a sample of the target's contexts",
        set.name()
    );
    Error::field(Field::Set, what)
}

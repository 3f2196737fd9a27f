//! The population that worst cases start from, and estimates in it.
//!
//! | [`Reference`] | worst cases start from | estimates there |
//! |---|---|---|
//! | `Data` | the log's own contexts | those of the log |
//! | `Sample` | the contexts of a sample of the target | by the odds between log and sample |
//! | `Reweighted` | the log, reweighted to what is known of the target | by the weights that do that |
//!
//! A set that is about what is known of the target ([`Set::needs_known`]) has it from here, too: what is
//! said of single columns, or the margins of a sample.

use crate::prepare::PreparedStudy;
use seawall::evaluate::{Estimate, Evaluator, Robust, Support};
use seawall::policy::Policy;
use seawall::transfer::{
    Balance, BalanceStatus, BalanceSummary, BalancedEstimator, EFFECTIVE, TargetSample, Transport,
    Transported,
};
use seawall::{Error, Field, Known, Log, Population, Result, Set, Watch};
use seawall_table::memory;
use serde::Serialize;
use std::sync::Arc;

/// What is known of a target population.
#[derive(Clone)]
pub(crate) enum Target {
    /// A sample of its contexts.
    Sample(Arc<TargetSample>),
    /// Means and shares of single columns; perhaps none.
    Facts(Known),
}

impl Target {
    /// A population of which nothing is known.
    pub(crate) fn unknown(log: &Log) -> Result<Self> {
        Ok(Target::Facts(Known::new(log.contexts().clone(), Vec::new())?))
    }

    /// Every column's margin in a log.
    pub(crate) fn margins(log: &Log) -> Result<Self> {
        Ok(Target::Facts(Known::margins_of(&log.population()?)?))
    }

    /// Whether anything is known.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Target::Facts(known) if known.facts().is_empty())
    }

    /// The same of a past group's rows: what will be known of the real target, and no more.
    pub(crate) fn measured_on(&self, group: &Log) -> Result<Self> {
        match self {
            Target::Sample(_) => Ok(Target::Sample(Arc::new(contexts_of(group)?))),
            Target::Facts(known) => Ok(Target::Facts(known.measured_on(&group.population()?)?)),
        }
    }
}

/// The contexts of a log's rows.
fn contexts_of(log: &Log) -> Result<TargetSample> {
    let mut rows = Vec::new();
    for e in log.entries() {
        let count = e.rows().round().max(1.0) as usize;
        rows.extend(std::iter::repeat_n((e.context as usize, e.weight / count as f64), count));
    }
    TargetSample::new(log.contexts(), &rows)
}

/// The population that worst cases start from.
pub(crate) enum Reference {
    /// The data's own.
    Data,
    /// A sample of the target.
    Sample(Arc<TargetSample>),
    /// The data, reweighted to what is known of the target.
    Reweighted(Box<Reweighted>),
}

/// A log reweighted to what is known of a target.
pub(crate) struct Reweighted {
    balance: Balance,
    known: Known,
}

/// A set without its radius for all columns, and the radii of single columns.
#[derive(Clone, Copy)]
pub(crate) struct Bounded<'a> {
    pub(crate) set: Set,
    pub(crate) column_radii: &'a [(String, f64)],
}

impl PreparedStudy {
    /// What is known of the target that the study is asked about; None if it is asked about its own population.
    pub(crate) fn target_population(&self) -> Result<Option<Target>> {
        match &self.target {
            Some(target) => Ok(Some(Target::Sample(target.sample.clone()))),
            None => Ok(self.known()?.map(Target::Facts)),
        }
    }

    /// What worst cases start from, for this log or a part of it.
    pub(crate) fn reference(&self, log: &Log) -> Result<Reference> {
        match self.target_population()? {
            None => Ok(Reference::Data),
            Some(target) => Reference::new(&target, log),
        }
    }

    /// The contexts that worst cases start from, on a support.
    pub(crate) fn robust(
        &self,
        fitted: &Evaluator,
        support: Support,
        within: Bounded<'_>,
    ) -> Result<Arc<Robust>> {
        self.reference(fitted.log())?.robust_of(fitted, support, within)
    }
}

impl Reference {
    /// A target, as a log makes it.
    pub(crate) fn new(target: &Target, log: &Log) -> Result<Self> {
        Ok(match target {
            Target::Sample(sample) => Reference::Sample(sample.clone()),
            Target::Facts(known) => {
                let balance = Balance::new(log, known, EFFECTIVE)?;
                Reference::Reweighted(Box::new(Reweighted { balance, known: known.clone() }))
            }
        })
    }

    /// The contexts on a support; those of the log's own are made once.
    pub(crate) fn robust_of(
        &self,
        fitted: &Evaluator,
        support: Support,
        within: Bounded<'_>,
    ) -> Result<Arc<Robust>> {
        let robust = match self {
            Reference::Data if !within.set.needs_known() => fitted.robust(support)?,
            _ => self.robust(fitted.log(), support, within).map(Arc::new)?,
        };
        room(&robust, within.set)?;
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
        let mut known = self.known()?.ok_or_else(|| nothing_known(within.set))?;
        for (column, radius) in within.column_radii {
            let feature = known.space().feature(column)?;
            known = known.moving_at_most(feature, *radius)?;
        }
        robust.knowing(&known)
    }

    /// Another population than the log's own.
    pub(crate) fn population(&self) -> Option<&Population> {
        match self {
            Reference::Data => None,
            Reference::Sample(sample) => Some(sample.population()),
            Reference::Reweighted(both) => Some(both.balance.population()),
        }
    }

    /// How the log was made like the target, if it was.
    pub(crate) fn balance(&self) -> Option<&Balance> {
        match self {
            Reference::Reweighted(both) => Some(&both.balance),
            _ => None,
        }
    }

    /// The same, to be written.
    pub(crate) fn summary(&self) -> Option<BalanceSummary> {
        self.balance().map(Balance::summary)
    }

    /// What is known of the target column by column: what was said, or a sample's margins; None of the data.
    pub(crate) fn known(&self) -> Result<Option<Known>> {
        match self {
            Reference::Data => Ok(None),
            Reference::Sample(sample) => Known::margins_of(sample.population()).map(Some),
            Reference::Reweighted(both) => Ok(Some(both.known.clone())),
        }
    }

    /// Estimates in the target, if there is one.
    pub(crate) fn estimator<'b>(
        &'b self,
        fitted: &'b Evaluator,
        watch: Watch<'b>,
    ) -> Result<Option<TargetEstimator<'b>>> {
        Ok(match self {
            Reference::Data => None,
            Reference::Sample(sample) => {
                let transport = Transport::new(fitted, sample, watch)?;
                Some(TargetEstimator::Transport(Box::new(transport)))
            }
            Reference::Reweighted(both) => {
                let balanced = BalancedEstimator::new(fitted, &both.balance, watch)?;
                Some(TargetEstimator::Balanced(Box::new(balanced)))
            }
        })
    }
}

/// Refuses a set that takes more memory on a support than there is.
pub(crate) fn room(robust: &Robust, set: Set) -> Result<()> {
    let points = robust.population().space().len();
    let what = format!("{}: its matrices for {points} contexts take", set.name());
    let instead = "take another set, wider bins or fewer columns";
    memory::needs(set.room(robust.geometry()), &what, instead)
}

/// What a reader should know of a log that was made like a target in part only.
pub(crate) fn balance_note(balance: &Balance) -> Option<String> {
    (balance.status() == BalanceStatus::MatchedInPart).then(|| {
        "the log could be made like the target in part only: the estimate is for what it was made like"
            .to_owned()
    })
}

/// Estimates in a target.
pub(crate) enum TargetEstimator<'a> {
    /// By the odds between the log and a sample.
    Transport(Box<Transport<'a>>),
    /// By the weights that make the log what is known.
    Balanced(Box<BalancedEstimator<'a>>),
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
    /// Doubly robust: by the odds where there is a sample, else by the log made like what is known. None where the
    /// data have no rows of what the policy does.
    pub dr: Option<Estimate>,
    /// How many rows of the log the reweighted ones are worth. Of a difference, the smaller of the two.
    pub effective_rows: f64,
}

/// The doubly robust of two estimates, in the target if there is one; the direct one where there is none.
pub(crate) fn unshifted(there: Option<&TargetEstimates>, own: Estimate) -> Option<Estimate> {
    there.map_or(Some(own), TargetEstimates::best)
}

impl From<Transported> for TargetEstimates {
    fn from(there: Transported) -> Self {
        let Transported { dm, odds, dr, effective_rows, .. } = there;
        TargetEstimates { dm: Some(dm), odds, dr, effective_rows }
    }
}

impl TargetEstimates {
    /// The direct estimate; without a sample the doubly robust one.
    pub fn direct(&self) -> Option<Estimate> {
        self.dm.or(self.dr)
    }

    /// The doubly robust estimate, else the direct one.
    pub fn best(&self) -> Option<Estimate> {
        self.dr.or(self.dm)
    }

    /// The same, every estimate being made another.
    pub(crate) fn map(&self, to: impl Fn(Estimate) -> Estimate) -> Self {
        let TargetEstimates { dm, odds, dr, effective_rows } = *self;
        TargetEstimates { dm: dm.map(&to), odds: odds.map(&to), dr: dr.map(&to), effective_rows }
    }
}

impl TargetEstimator<'_> {
    /// What a policy would cost.
    pub(crate) fn estimates(&self, policy: &Policy) -> Result<TargetEstimates> {
        match self {
            TargetEstimator::Transport(transport) => Ok(transport.estimates(policy)?.into()),
            TargetEstimator::Balanced(balanced) => Ok(TargetEstimates {
                dm: None,
                odds: None,
                dr: balanced.estimate(policy)?,
                effective_rows: balanced.effective_rows(policy)?,
            }),
        }
    }

    /// By how much more than another.
    pub(crate) fn difference(&self, policy: &Policy, against: &Policy) -> Result<TargetEstimates> {
        match self {
            TargetEstimator::Transport(transport) => {
                Ok(transport.difference(policy, against)?.into())
            }
            TargetEstimator::Balanced(balanced) => {
                let rows = [balanced.effective_rows(policy)?, balanced.effective_rows(against)?];
                Ok(TargetEstimates {
                    dm: None,
                    odds: None,
                    dr: balanced.difference(policy, against)?,
                    effective_rows: rows[0].min(rows[1]),
                })
            }
        }
    }

    /// The doubly robust estimate alone: of a policy, or of its difference to another.
    pub(crate) fn doubly_robust(
        &self,
        policy: &Policy,
        against: Option<&Policy>,
    ) -> Result<Option<Estimate>> {
        Ok(match (self, against) {
            (TargetEstimator::Transport(transport), None) => transport.estimates(policy)?.dr,
            (TargetEstimator::Transport(transport), Some(against)) => {
                transport.difference(policy, against)?.dr
            }
            (TargetEstimator::Balanced(balanced), None) => balanced.estimate(policy)?,
            (TargetEstimator::Balanced(balanced), Some(against)) => {
                balanced.difference(policy, against)?
            }
        })
    }

    /// How like the target its weights make the log.
    pub(crate) fn balance(&self) -> Result<BalanceSummary> {
        match self {
            TargetEstimator::Transport(transport) => transport.balance(),
            TargetEstimator::Balanced(balanced) => Ok(balanced.balance().summary()),
        }
    }

    /// The transport, where there is a sample.
    pub(crate) fn transport(&self) -> Option<&Transport<'_>> {
        match self {
            TargetEstimator::Transport(transport) => Some(transport),
            TargetEstimator::Balanced(_) => None,
        }
    }
}

/// A set about what is known of a target, and nothing is.
pub(crate) fn nothing_known(set: Set) -> Error {
    let what = format!(
        "is {}, the populations that meet what is known of a target, and nothing is known of one; say it \
         with --target-facts COL:mean=NUMBER or [target.known] (`seawall describe` writes it from a table), or \
         give a sample of the target's contexts",
        set.name()
    );
    Error::field(Field::Set, what)
}

//! What is known of a target, what would be known of a past group in its place, and the estimate that
//! the log gives with just that.

use super::recorded::Group;
use crate::load::Loaded;
use crate::study::PolicySpec;
use crate::target::PlacedTarget;
use seawall::evaluate::{Estimate, Fitted, Robust, Support};
use seawall::policy::Policy;
use seawall::transfer::{Balance, BalanceSummary, Centre, EFFECTIVE, Odds, Target, Transport};
use seawall::{Couplings, Kind, Known, Log, Result, Settings, Wasserstein, Watch};
use std::sync::Arc;

/// What is known of a target.
#[derive(Clone)]
pub(crate) enum Knowledge {
    /// A sample of its contexts.
    Sample(Target),
    /// Means and shares; perhaps none.
    Facts(Known),
}

/// A policy, or the difference of two.
#[derive(Clone)]
pub(crate) struct Contrast {
    pub(crate) policy: Policy,
    pub(crate) against: Option<Policy>,
    /// Whether the one and the other are the greedy policy, which the rows choose that it is fitted to.
    pub(crate) greedy: [bool; 2],
}

impl Contrast {
    /// A policy that no row has chosen, by itself or against another.
    pub(crate) fn given(policy: Policy, against: Option<Policy>) -> Self {
        Contrast { policy, against, greedy: [false; 2] }
    }

    /// The same where the greedy policy is chosen by other rows.
    pub(crate) fn chosen_by(
        &self,
        loaded: &Loaded,
        fitted: &Fitted,
        watch: Watch<'_>,
    ) -> Result<Self> {
        if self.greedy == [false; 2] {
            return Ok(self.clone());
        }
        let settings = Settings { watch, ..Settings::default() };
        let values = fitted.values_on(&observed(fitted.log())?, Wasserstein.at(0.0), settings)?;
        let greedy = loaded.policy(&PolicySpec::Greedy, &values, watch)?;
        let chosen = |own: &Policy, is: bool| match is {
            true => greedy.clone().named(own.name()),
            false => own.clone(),
        };
        let against = self.against.as_ref().map(|other| chosen(other, self.greedy[1]));
        Ok(Contrast { policy: chosen(&self.policy, self.greedy[0]), against, greedy: self.greedy })
    }
}

/// The contexts that rows have.
pub(crate) fn observed(log: &Log) -> Result<Vec<usize>> {
    let population = log.population()?;
    Ok((0..population.weights().len()).filter(|&i| population.weights()[i] > 0.0).collect())
}

/// What a log predicts where so much is known.
pub(crate) fn predicted(
    fitted: &Fitted,
    knowledge: &Knowledge,
    all: &[Contrast],
    watch: Watch<'_>,
) -> Result<Vec<Estimate>> {
    match knowledge {
        Knowledge::Sample(sample) => transported(fitted, sample, all, watch),
        Knowledge::Facts(_) => Aim::new(fitted, knowledge)?.estimates(all, watch),
    }
}

/// Doubly robust transport to a sample.
fn transported(
    fitted: &Fitted,
    sample: &Target,
    all: &[Contrast],
    watch: Watch<'_>,
) -> Result<Vec<Estimate>> {
    let transport = Transport::new(fitted, sample, watch)?;
    let estimate = |c: &Contrast| match &c.against {
        None => Ok(transport.estimates(&c.policy)?.dr),
        Some(against) => Ok(transport.difference(&c.policy, against)?.dr),
    };
    all.iter().map(estimate).collect()
}

impl Knowledge {
    /// What a study knows of its target: a sample, facts, or nothing.
    pub(crate) fn of_target(loaded: &Loaded) -> Result<Self> {
        match &loaded.target {
            Some(target) => Ok(Knowledge::Sample(PlacedTarget::clone(target).sample)),
            None => match loaded.known()? {
                Some(known) => Ok(Knowledge::Facts(known)),
                None => {
                    Ok(Knowledge::Facts(Known::new(loaded.log().contexts().clone(), Vec::new())?))
                }
            },
        }
    }

    /// Every column's margin, where nothing says what will be known.
    pub(crate) fn margins(loaded: &Loaded) -> Result<Self> {
        Ok(Knowledge::Facts(Known::margins_of(&loaded.log().population()?)?))
    }

    /// Whether anything is known.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Knowledge::Facts(known) if known.facts().is_empty())
    }

    /// The same of a past group: what will be known of the real target, and no more.
    pub(crate) fn of_group(&self, group: &Group) -> Result<Self> {
        match self {
            Knowledge::Sample(_) => Ok(Knowledge::Sample(sample(&group.log)?)),
            Knowledge::Facts(known) => {
                Ok(Knowledge::Facts(known.measured_on(&group.log.population()?)?))
            }
        }
    }

    /// As facts: those that there are, or a sample's margins.
    pub(crate) fn facts(&self) -> Result<Known> {
        match self {
            Knowledge::Sample(sample) => Known::margins_of(sample.population()),
            Knowledge::Facts(known) => Ok(known.clone()),
        }
    }
}

/// The contexts of a log's rows.
fn sample(log: &Log) -> Result<Target> {
    let mut rows = Vec::new();
    for e in log.entries() {
        let count = e.rows().round().max(1.0) as usize;
        rows.extend(std::iter::repeat_n((e.context as usize, e.weight / count as f64), count));
    }
    Target::new(log.contexts(), &rows)
}

/// A log that is weighed to be like a target.
pub(crate) struct Aim<'a> {
    fitted: &'a Fitted,
    known: Known,
    weights: Weights<'a>,
}

/// What rows weigh by.
enum Weights<'a> {
    /// The odds of belonging to a sample.
    Odds(&'a Target),
    /// What makes the log what is known.
    Balanced(Box<Balance>),
}

impl<'a> Aim<'a> {
    pub(crate) fn new(fitted: &'a Fitted, knowledge: &'a Knowledge) -> Result<Self> {
        let known = knowledge.facts()?;
        let weights = match knowledge {
            Knowledge::Sample(sample) => Weights::Odds(sample),
            Knowledge::Facts(_) => {
                Weights::Balanced(Box::new(Balance::new(fitted.log(), &known, EFFECTIVE)?))
            }
        };
        Ok(Aim { fitted, known, weights })
    }

    /// How like the target the weights of the estimates make the log.
    pub(crate) fn summary(&self, watch: Watch<'_>) -> Result<BalanceSummary> {
        let log = self.fitted.log();
        match &self.weights {
            Weights::Balanced(balance) => Ok(balance.summary()),
            Weights::Odds(sample) => {
                BalanceSummary::of_odds(log, sample, &Odds::new(log, sample, watch)?)
            }
        }
    }

    /// The balanced log, where single columns are all that is known.
    pub(crate) fn balance(&self) -> Option<&Balance> {
        match &self.weights {
            Weights::Balanced(balance) => Some(balance),
            Weights::Odds(_) => None,
        }
    }

    /// The doubly robust estimates in the target.
    pub(crate) fn estimates(&self, all: &[Contrast], watch: Watch<'_>) -> Result<Vec<Estimate>> {
        let balance = match &self.weights {
            Weights::Odds(sample) => return transported(self.fitted, sample, all, watch),
            Weights::Balanced(balance) => balance,
        };
        let centre = Centre::new(self.fitted, balance, watch)?;
        let estimate = |c: &Contrast| match &c.against {
            None => centre.estimate(&c.policy),
            Some(against) => centre.difference(&c.policy, against),
        };
        all.iter().map(estimate).collect()
    }

    /// By how much the worst coupling of what is known is above the balanced log or the sample, for a
    /// difference as for a policy.
    pub(crate) fn couplings(
        &self,
        all: &[Contrast],
        support: Support,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let log = self.fitted.log();
        let from = match &self.weights {
            Weights::Odds(sample) => sample.population(),
            Weights::Balanced(balance) => balance.population(),
        };
        let robust = Robust::around(log, from, support)?;
        // Nobody crosses a fixed column: its shares are those of where people come from.
        let known = self.known.clone().about(|k| log.contexts().kind(k) != Kind::Fixed);
        let robust = Arc::new(robust.knowing(&known)?);
        let settings = Settings { watch, ..Settings::default() };
        let costs = Wasserstein.at(0.0);
        let values = self.fitted.values_on(robust.points(), costs, settings)?;
        let range = self.fitted.value_range_on(robust.points(), costs, settings)?;
        let sign = log.direction().sign();
        let slack = |c: &Contrast| -> Result<f64> {
            let within = Couplings.at(f64::INFINITY);
            let (worst, own) = match &c.against {
                None => {
                    let worst = robust.worst_case(&c.policy, &values, within, settings)?;
                    (worst, robust.values(&c.policy, &values)?)
                }
                Some(against) => {
                    let own = robust.difference(&c.policy, against, &range)?;
                    let problem = seawall::Problem::on(robust.geometry(), &own)?;
                    let problem = problem.direction(log.direction());
                    (within.worst_case(&problem, settings)?, own)
                }
            };
            let here = robust.population().mean(&own)?;
            Ok((sign * (worst.value() - here)).max(0.0))
        };
        all.iter().map(slack).collect()
    }
}

//! A policy's worst case where people move and what would happen to them may change: the log's people,
//! its model's outcomes and the policy put together for [`JointWasserstein`].
//!
//! A person takes what would happen to them along when they move; the policy at the place where they
//! arrive decides which of it does. Outcomes are between the ends of the log's values.

use crate::ambiguity::sets::JointWasserstein;
use crate::ambiguity::{JointPeople, OutcomeMargins, PolicyRegions, Set, Settings};
use crate::error::{Error, Field, Result};
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::robust::{Robust, Solved};
use crate::policy::Policy;
use crate::progress::Watch;
use std::collections::HashMap;

/// Different ways to act that are looked at, at most: each is a pass over the support.
const MOST_WAYS: usize = 256;

/// The worst cases of a policy at several radii, and the curve if a tolerance is given.
pub(super) fn evaluate(
    fitted: &Evaluator,
    robust: &Robust,
    policy: &Policy,
    set: JointWasserstein,
    radii: &[f64],
    curve: Option<f64>,
    settings: Settings<'_>,
) -> Result<Solved> {
    let log = fitted.log();
    robust.contexts().same_as(log.contexts())?;
    policy.check_against(log.contexts(), log.actions().len())?;
    robust.whole_for(Set::from(set))?;
    let (ways, actions) = acting(robust, policy)?;
    let contexts: Vec<usize> =
        robust.geometry().sources().iter().map(|&i| robust.points()[i as usize]).collect();
    let leaves = fitted.model().leaves_at(log, &contexts, &actions, fitted.options().unseen)?;
    let margins = leaves.into_iter().map(|at| {
        let spread = |leaf: &crate::outcome::Leaf| {
            leaf.outcomes.iter().map(|&(o, weight)| (log.values()[o as usize], weight)).collect()
        };
        OutcomeMargins { of: at.of, spreads: at.leaves.iter().map(spread).collect() }
    });
    let people = JointPeople::new(
        robust.geometry(),
        ways,
        margins.collect(),
        log.values(),
        robust.direction(),
        settings.watch,
    )
    .map_err(|e| e.within(format!("policy {:?}", policy.name())))?;
    robust.ask(set.solver_for(people, settings)?, 0.0, radii, curve, settings)
}

/// The different ways a policy acts on a support, and the actions that it ever takes there.
fn acting(robust: &Robust, policy: &Policy) -> Result<(PolicyRegions, Vec<usize>)> {
    policy.check_against(robust.contexts(), policy.probabilities().actions())?;
    let mut ways: Vec<Vec<f64>> = Vec::new();
    let mut of = Vec::with_capacity(robust.points().len());
    let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
    for &point in robust.points() {
        // Probabilities sum to 1 but for rounding, and −0 is 0.
        let total: f64 = policy.row(point).iter().sum();
        let row: Vec<f64> = policy.row(point).iter().map(|p| p / total + 0.0).collect();
        let next = ways.len() as u32;
        let way = *known.entry(row.iter().map(|p| p.to_bits()).collect()).or_insert(next);
        if way == next {
            ways.push(row);
        }
        if ways.len() > MOST_WAYS {
            return Err(Error::field(
                Field::Set,
                format!(
                    "joint-wasserstein: the policy {:?} draws actions with more than {MOST_WAYS} \
                     different probabilities; expected fewer, such as those of groups or a tree",
                    policy.name()
                ),
            ));
        }
        of.push(way);
    }
    let taken = |action: &usize| ways.iter().any(|way| way[*action] > 0.0);
    let actions: Vec<usize> = (0..policy.probabilities().actions()).filter(taken).collect();
    let ways = ways.iter().map(|way| actions.iter().map(|&a| way[a]).collect()).collect();
    Ok((PolicyRegions { ways, of }, actions))
}

impl Robust {
    /// The sentence that a policy loses what every policy loses, if it does: where nobody can move to
    /// a context in which it takes another action, outcomes alone can change, and every policy that
    /// draws nothing at random loses `ε/κ` (Adjaho and Christensen). None where people can.
    pub fn loses_alike(
        &self,
        policy: &Policy,
        set: JointWasserstein,
        watch: Watch<'_>,
    ) -> Result<Option<String>> {
        let (ways, _) = acting(self, policy)?;
        if !ways.is_certain() {
            return Ok(None);
        }
        let (count, geometry) = (ways.ways.len(), self.geometry());
        let arrivals = ways.nearest(geometry, watch)?;
        let reached = arrivals.chunks(count).zip(geometry.sources()).any(|(all, &source)| {
            let own = ways.of[source as usize] as usize;
            all.iter().enumerate().any(|(way, there)| way != own && there.cost.is_finite())
        });
        Ok((!reached).then(|| {
            format!(
                "Nobody can move to a context in which {} takes another action, so it loses what every \
                 policy that draws nothing at random loses: {} for each unit of the radius, one over \
                 kappa, until every outcome is the worst there is.",
                policy.name(),
                set.kappa.recip()
            )
        }))
    }
}

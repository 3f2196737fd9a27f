//! Estimates if nothing shifts: of every policy and of every compared pair, in the data and in the target.

use super::basis::EvaluationBasis;
use super::{TargetEstimates, joint_sets};
use crate::check::{policy_notes, target_note};
use crate::prepare::TargetAnswer;
use crate::reference::{FEW_ROWS, TargetEstimator, unshifted};
use seawall::evaluate::{Estimate, Nominal, NominalDifference};
use seawall::{Direction, Progress, Result, Stage, Watch};

/// Estimates if nothing shifts.
pub(super) struct Estimates {
    pub(super) policies: Vec<PolicyEstimates>,
    /// Pair by pair, as the basis has them.
    pub(super) differences: Vec<DifferenceEstimates>,
    /// The sample of the target and how well the log covers it, if there is one.
    pub(super) target: Option<TargetAnswer>,
}

/// Estimates of one policy.
#[derive(Clone, Copy)]
pub(super) struct PolicyEstimates {
    pub(super) nominal: Nominal,
    pub(super) target: Option<TargetEstimates>,
    /// What a set of people with their outcomes says itself.
    joint: Option<Estimate>,
}

/// Estimates of the difference of two policies.
#[derive(Clone, Copy)]
pub(super) struct DifferenceEstimates {
    pub(super) nominal: NominalDifference,
    pub(super) target: Option<TargetEstimates>,
    /// The effective sample size of the two policies, the smaller one: in the target if there is one.
    pub(super) effective_rows: f64,
}

impl Estimates {
    pub(super) fn new(basis: &EvaluationBasis<'_>, watch: Watch<'_>) -> Result<Self> {
        let estimator = basis.reference.estimator(basis.fitted, watch)?;
        let there = estimator.as_ref();
        let policies: Vec<PolicyEstimates> = (0..basis.policies.len())
            .map(|k| PolicyEstimates::new(basis, k, there, watch))
            .collect::<Result<_>>()?;
        let rows = |k: usize| policies[k].effective_rows();
        let difference = |&(a, b): &(usize, usize)| {
            let (policy, against) = (&basis.policies[a].policy, &basis.policies[b].policy);
            watch.tell(Progress::at(Stage::Policy(policy.name())))?;
            Ok(DifferenceEstimates {
                nominal: basis.fitted.nominal_difference(policy, against, watch)?,
                target: there.map(|t| t.difference(policy, against)).transpose()?,
                effective_rows: rows(a).min(rows(b)),
            })
        };
        let differences = basis.pairs.iter().map(difference).collect::<Result<_>>()?;
        let transport = there.and_then(TargetEstimator::transport);
        let target = basis.prepared.target.as_ref().zip(transport);
        Ok(Estimates { policies, differences, target: target.map(|(t, by)| t.answer(by)) })
    }
}

impl PolicyEstimates {
    fn new(
        basis: &EvaluationBasis<'_>,
        policy: usize,
        estimator: Option<&TargetEstimator<'_>>,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let policy = &basis.policies[policy].policy;
        Ok(PolicyEstimates {
            nominal: basis.fitted.nominal(policy, watch)?,
            target: estimator.map(|t| t.estimates(policy)).transpose()?,
            joint: joint_sets::estimate(&basis.question, basis.fitted, policy, watch)?,
        })
    }

    /// What a reader should know of them.
    pub(super) fn notes(&self, basis: &EvaluationBasis<'_>, policy: usize) -> Vec<String> {
        let name = basis.policies[policy].policy.name();
        let rows = basis.fitted.log().effective_rows();
        let mut notes = policy_notes(name, &self.nominal, rows);
        notes.extend(self.target.and_then(|there| target_note(name, &there)));
        notes
    }

    /// The direct estimate, where worst cases start from.
    pub(super) fn direct(&self) -> Estimate {
        let there = self.target.and_then(|there| there.direct());
        self.joint.or(there).unwrap_or(self.nominal.dm)
    }

    /// The doubly robust estimate, in the target if there is one; the direct one if there is none.
    pub(super) fn best(&self) -> Option<Estimate> {
        unshifted(self.target.as_ref(), self.nominal.best())
    }

    /// The effective sample size: in the target if there is one.
    pub(super) fn effective_rows(&self) -> f64 {
        let own = self.nominal.overlap.effective_sample_size;
        self.target.map_or(own, |there| there.effective_rows)
    }

    /// With intervals of a level, and none where too few rows support them.
    pub(super) fn told(&self, level: f64, clusters: Option<usize>) -> Self {
        let thin = self.nominal.overlap.effective_sample_size < FEW_ROWS;
        let own = |e: Estimate| told(e, (level, clusters), thin);
        let n = self.nominal;
        let nominal = Nominal {
            dm: own(n.dm),
            ips: n.ips.map(own),
            snips: n.snips.map(own),
            dr: n.dr.map(own),
            ..n
        };
        let target = self.target.map(|there| {
            let thin = there.effective_rows < FEW_ROWS;
            there.map(|e| told(e, (level, clusters), thin))
        });
        PolicyEstimates { nominal, target, joint: self.joint }
    }
}

impl DifferenceEstimates {
    /// The best estimate of the difference: doubly robust, else direct; in the target if there is one.
    pub(super) fn best(&self) -> Option<Estimate> {
        unshifted(self.target.as_ref(), self.nominal.best())
    }

    /// Whether the policy is the better of the two.
    pub(super) fn leads(&self, direction: Direction) -> bool {
        leads((&self.nominal, self.target.as_ref()), direction)
    }

    /// Whether too few rows support a confidence statement.
    pub(super) fn is_thin(&self) -> bool {
        self.effective_rows < FEW_ROWS
    }

    /// With intervals of a level, and none where too few rows support them.
    pub(super) fn told(&self, level: f64, clusters: Option<usize>) -> Self {
        let own = |e: Estimate| told(e, (level, clusters), self.is_thin());
        let n = self.nominal;
        let nominal = NominalDifference { dm: own(n.dm), dr: n.dr.map(own) };
        DifferenceEstimates { nominal, target: self.target.map(|t| t.map(own)), ..*self }
    }
}

/// Whether the first of two policies is the better one by the direct estimate, in the target if there is one:
/// where worst cases start from.
pub(super) fn leads(
    (nominal, target): (&NominalDifference, Option<&TargetEstimates>),
    direction: Direction,
) -> bool {
    let direct = target.map_or(Some(nominal.dm), |there| there.direct());
    direct.is_some_and(|direct| direction.sign() * direct.value <= 0.0)
}

/// An estimate with an interval of a level; with none where too few rows support it.
fn told(estimate: Estimate, (level, clusters): (f64, Option<usize>), thin: bool) -> Estimate {
    let told = estimate.at_level(level, clusters);
    if thin { told.without_interval() } else { told }
}

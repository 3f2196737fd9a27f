//! Learning against a baseline: the worst-case difference to it in place of the worst case.
//!
//! With plain means the difference `l_θ − l_base` is linear in the policy's probabilities and every
//! method works as it does without a baseline: the costs are those of each action less the
//! baseline's. Where outcomes may shift,
//!
//! ```text
//! d_θ(x) = Σ_a [δ_a]₊ m⁺(x, a) − [δ_a]₋ m⁻(x, a),   δ = π_θ − π_base
//! ```
//!
//! is convex in the probabilities with a kink at the baseline's, since `m⁺ ≥ m⁻` (as costs). A policy
//! without chance costs `d_a(x) = (1 − π_base(a)) m⁺(x, a) − Σ_{b≠a} π_base(b) m⁻(x, b)` where it takes
//! a: a table again, so trees are exact. The best without restriction leaves the baseline alone
//! but where moving from b to a pays for sure, `m⁺(x, a) < m⁻(x, b)`.

use super::Task;
use crate::ambiguity::Shift;
use crate::error::{Error, Field, Result};
use crate::evaluate::{Robust, ValueRange};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::policy::Policy;
use std::sync::OnceLock;

/// What is learned against.
pub(super) struct Baseline<'a> {
    pub(super) policy: &'a Policy,
    pub(super) range: &'a ValueRange,
    /// Where outcomes may shift; None where differences are linear.
    pub(super) kink: Option<Kink>,
}

/// The slopes of a difference by each action's probability, on either side of the baseline's:
/// `[action][point of the support]`, as costs.
pub(super) struct Kink {
    pub(super) more: Vec<Vec<f64>>,
    pub(super) less: Vec<Vec<f64>>,
    pub(super) base: Vec<Vec<f64>>,
}

impl Kink {
    /// The slope at a point by an action's probability `p`.
    pub(super) fn slope(&self, point: usize, action: usize, p: f64) -> f64 {
        if p > self.base[action][point] {
            self.more[action][point]
        } else {
            self.less[action][point]
        }
    }

    /// The difference at a point.
    pub(super) fn cost(&self, point: usize, row: &[f64]) -> f64 {
        let term = |(a, p): (usize, &f64)| self.slope(point, a, *p) * (p - self.base[a][point]);
        row.iter().enumerate().map(term).sum()
    }
}

impl<'a> Task<'a> {
    /// Learning against a baseline: values and bounds are worst-case differences to it.
    pub fn against(
        log: &'a Log,
        robust: &'a Robust,
        range: &'a ValueRange,
        within: Shift,
        policy: &'a Policy,
    ) -> Result<Self> {
        let plain = Task::new(log, robust, &range.worst, within)?;
        if range.smoothing() > 0.0 {
            return Err(Error::field(
                Field::CostSet,
                "is smoothed, and an action's smoothed best mean may be above its worst one: nothing \
                 can be certified against a baseline",
            )
            .advise(Field::CostSet, &["wasserstein", "kl"]));
        }
        log.contexts().same_as(range.best.space())?;
        let actions = log.actions().len();
        policy.check_against(log.contexts(), actions)?;
        let (sign, points) = (log.direction().sign(), robust.points());
        let alone = |action: usize| -> Vec<f64> {
            let mut row = vec![0.0; actions];
            row[action] = 1.0;
            let cost = |&i: &usize| sign * range.difference_at(i, &row, policy.row(i));
            points.iter().map(cost).collect()
        };
        let costs = (0..actions).map(alone).collect();
        let table = |of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            (0..actions).map(|a| points.iter().map(|&i| of(i, a)).collect()).collect()
        };
        let kink = (!range.is_single()).then(|| Kink {
            more: table(&|i, a| sign * range.worst.at(i, a)),
            less: table(&|i, a| sign * range.best.at(i, a)),
            base: table(&|i, a| policy.probability(i, a)),
        });
        let baseline = Some(Baseline { policy, range, kink });
        Ok(Task { costs, baseline, greedy: OnceLock::new(), ..plain })
    }

    pub(super) fn kink(&self) -> Option<&Kink> {
        self.baseline.as_ref().and_then(|b| b.kink.as_ref())
    }

    /// The slope of the cost at a point of the support by an action's probability.
    pub(super) fn slope(&self, point: usize, action: usize, p: f64) -> f64 {
        self.kink().map_or_else(|| self.costs[action][point], |kink| kink.slope(point, action, p))
    }

    /// The cost at a point of the support, given the probabilities there.
    pub(super) fn cost_at(&self, point: usize, row: &[f64]) -> f64 {
        match self.kink() {
            Some(kink) => kink.cost(point, row),
            None => row.iter().zip(&self.costs).map(|(p, c)| p * c[point]).sum(),
        }
    }

    /// The best policy without any restriction.
    pub(super) fn unrestricted(&self) -> Result<Policy> {
        let Some(Baseline { policy, range, kink: Some(_) }) = &self.baseline else {
            // A difference with plain means is least where the cost is.
            return Policy::greedy(self.log, self.values);
        };
        let (sign, actions) = (self.sign(), self.log.actions().len());
        let worst = |x: usize, a: usize| sign * range.worst.at(x, a);
        let contexts = self.log.contexts().len();
        let mut chances = Matrix::from_fn(contexts, actions, |x, a| policy.probability(x, a));
        for x in 0..contexts {
            for from in 0..actions {
                let others = (0..actions).filter(|a| *a != from);
                let to = others.min_by(|&a, &b| worst(x, a).total_cmp(&worst(x, b)));
                let pays = |to: &usize| worst(x, *to) < sign * range.best.at(x, from);
                if let Some(to) = to.filter(pays) {
                    let moved = policy.probability(x, from);
                    chances.row_mut(x)[from] -= moved;
                    chances.row_mut(x)[to] += moved;
                }
            }
        }
        Policy::table("greedy", self.log.contexts(), self.log.actions(), &chances)
    }
}

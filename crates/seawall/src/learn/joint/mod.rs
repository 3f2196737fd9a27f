//! Learning under a joint KL ball: exactly, for every class over which a linear cost can be minimised;
//! softmax policies by gradients ([`softmax`]).
//!
//! With `w_i(π) = n_i π(a_i|x_i)/p_i` and `s = 1/α` the worst case of a policy is at most `u` if and only
//! if for some `s`
//!
//! ```text
//! G_π(s, u) = Σ_i w_i(π) (e^{s(y_i − u)} − e^{−δ}) ≤ 0
//! ```
//!
//! which is linear in the policy, convex in `s` and falls as `u` grows; self-normalised weights change
//! nothing. So at fixed `(s, u)` the best policy is that of a linear cost by context and action: a linear
//! program for groups, the exact search for trees, the cheapest action for the greedy policy.
//!
//! - *Descent*: at a policy's own `(s, u)`, a policy of a negative `G` has a lower worst case.
//! - *Proof*: that no policy reaches `u` with `s` in an interval is seen from the tangents
//!   `e^{st} ≥ e^{ct}(1 + (s − c)t)` at its middle `c`, or from constants where those are far off: linear
//!   in `s`, so the two ends are enough, and short of the truth by the square of the interval's length.
//!   Intervals that are not settled are tried
//!   for better policies and halved. Below `s = δ/(u − min y)` nothing reaches `u`, and above an `s` at
//!   which `E e^{s(y−u)} > 1` for every policy nothing does either.
//!
//! An action that has no rows where a policy takes it weighs nothing: those people then count as little as
//! if they were not there, which would be a gain of nothing but blindness. So the greedy policy takes in
//! each context only what rows of it have, groups and trees in each group and leaf; softmax policies give
//! every action a chance. The floor is that of every policy, those included.

mod classes;
mod softmax;

use self::classes::{ByContext, ByTree, GroupChances};
use super::class::{Row, dot};
use super::groups::bounded;
use super::search::RankedPoints;
use super::{Bounds, Groups, Learned, Method, Trees, check_tolerance};
use crate::ambiguity::sets::JointKl;
use crate::ambiguity::{Detail, Set, Settings, Shift, Status};
use crate::error::{Error, Field, Result};
use crate::evaluate::{Evaluator, Robust};
use crate::policy::{Partition, Policy};
use crate::progress::{Progress, Stage};

/// Linear problems that a search may solve.
const MOST: usize = 20_000;
/// A linear cost above this share of all that it is made of is above 0, whatever rounding did.
const ROUNDING: f64 = 1e-14;
/// Exponents that change by no more than this over half an interval have tangents.
const NEAR: f64 = 0.5;

/// Learning from people of a log under a joint KL ball.
pub struct JointTask<'a> {
    fitted: &'a Evaluator,
    robust: &'a Robust,
    within: Shift,
    actions: usize,
    /// The cell of each entry, `point · actions + action`; its weight over its propensity; its cost.
    rows: Vec<(usize, f64, f64)>,
    /// Whether rows have the cell.
    seen: Vec<bool>,
}

/// A class of policies: which of them has the least linear cost by point and action.
pub(super) trait Linear {
    /// A policy, and a number that no policy of the class costs less than; None if it was stopped.
    fn best(&self, costs: &[f64]) -> Result<Option<(f64, Policy)>>;
}

/// The best policy so far, with its worst case and `s`.
struct BestPolicy {
    policy: Policy,
    upper: f64,
    tilt: f64,
}

impl<'a> JointTask<'a> {
    /// Learning over `joint-kl`, from the log's own people.
    pub fn new(fitted: &'a Evaluator, robust: &'a Robust, within: Shift) -> Result<Self> {
        if within.set != Set::from(JointKl::default()) {
            let what = format!("is {}, under which nothing is learned", within.set.name());
            return Err(Error::field(Field::Set, what).advise(Field::Set, &["joint-kl"]));
        }
        within.set.check_radius(within.radius)?;
        if let Some(clip) = fitted.options().clip {
            let what = format!("is {clip}, and joint-kl is learned from ratios as they are");
            return Err(Error::field(Field::Clip, what));
        }
        let log = fitted.log();
        log.contexts().same_as(robust.contexts())?;
        let actions = log.actions().len();
        let mut place = vec![usize::MAX; log.contexts().len()];
        robust.points().iter().enumerate().for_each(|(at, &x)| place[x] = at);
        let sign = log.direction().sign();
        let each = log.entries().iter().zip(fitted.propensities());
        let rows: Vec<(usize, f64, f64)> = each
            .map(|(e, p)| {
                let cell = place[e.context as usize] * actions + e.action as usize;
                (cell, e.weight / p, sign * log.value(e))
            })
            .collect();
        let mut seen = vec![false; robust.points().len() * actions];
        rows.iter().for_each(|row| seen[row.0] = true);
        Ok(JointTask { fitted, robust, within, actions, rows, seen })
    }

    /// The greedy policy among those that take only what rows have in each context.
    pub fn greedy(&self, settings: Settings<'_>) -> Result<Learned> {
        self.learn(&ByContext { task: self, only_seen: true }, 1e-9, settings)
    }

    /// Bounds of the least worst case of any policy at all: if stopped at once, the least and the largest
    /// cost of a row.
    pub fn floor(&self, settings: Settings<'_>) -> Result<Bounds> {
        match self.learn(&ByContext { task: self, only_seen: false }, 1e-9, settings) {
            Ok(found) => Ok(Bounds { lower: found.lower(), upper: found.upper() }),
            Err(error) if error.is_stopped() => {
                let (low, high) = self.range();
                let (lower, upper) = self.fitted.log().direction().turned(low, high);
                Ok(Bounds { lower, upper })
            }
            Err(error) => Err(error),
        }
    }

    /// Probabilities by group, of what rows of the group have; budgets are those of the log's own population.
    pub fn groups(&self, asked: &Groups, settings: Settings<'_>) -> Result<Learned> {
        check_tolerance(asked.tolerance)?;
        if asked.budgets.iter().any(|b| b.worst_case) {
            let what =
                "is not learned under joint-kl: shares hold in the log's own population there";
            return Err(Error::field(Field::WorstBudget, what).advise(Field::Budget, &["0.5"]));
        }
        let log = self.fitted.log();
        let count: usize = asked.by.iter().map(Partition::len).product();
        let all = Partition::groups(&asked.by, log.contexts())?;
        let group: Vec<usize> = self.robust.points().iter().map(|&x| all[x]).collect();
        let mut polytope = bounded(asked, log.actions(), count)?;
        // What no row of a group has, its policy does not take.
        let mut seen = vec![false; count * self.actions];
        for (cell, _) in self.seen.iter().enumerate().filter(|(_, seen)| **seen) {
            seen[group[cell / self.actions] * self.actions + cell % self.actions] = true;
        }
        for (g, block) in seen.chunks(self.actions).enumerate().filter(|(_, b)| b.contains(&true)) {
            for (a, _) in block.iter().enumerate().filter(|(_, seen)| !**seen) {
                let j = g * self.actions + a;
                polytope.most[j] = polytope.least[j];
            }
        }
        polytope.check_bounds(&|j| format!("{:?}", log.actions()[j % self.actions]))?;
        let weights = self.robust.population().weights();
        for budget in &asked.budgets {
            let mut row = vec![0.0; polytope.len()];
            for (g, share) in group.iter().zip(weights) {
                row[g * self.actions + budget.action] += share;
            }
            let least = dot(&row, &polytope.cheapest(&row));
            if least > budget.most + 1e-12 {
                return Err(Error::config(format!(
                    "the budget {} on the share of {:?} cannot be met: the limits on probabilities \
                     make it at least {least:.6}",
                    budget.most,
                    log.actions()[budget.action]
                )));
            }
            polytope.rows.push(Row { row, most: budget.most });
        }
        let class = GroupChances { task: self, by: &asked.by, group, polytope };
        self.learn(&class, asked.tolerance, settings)
    }

    /// The best single tree whose leaves take only what rows of them have.
    pub fn trees(&self, asked: Trees, settings: Settings<'_>) -> Result<Learned> {
        asked.check()?;
        let space = self.robust.population().space();
        let points = RankedPoints::new(space, self.actions).taking_only(self.seen.clone());
        let all = (0..space.len() as u32).collect();
        let class = ByTree { task: self, asked, points, all, settings };
        self.learn(&class, asked.tolerance, settings)
    }

    /// The least and the largest cost of a row.
    fn range(&self) -> (f64, f64) {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        self.rows.iter().fold(none, |(low, high), row| (low.min(row.2), high.max(row.2)))
    }

    /// What every cell costs where a row of a cost does this much.
    fn costs(&self, of: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut costs = vec![0.0; self.seen.len()];
        self.rows.iter().for_each(|(cell, weight, y)| costs[*cell] += weight * of(*y));
        costs
    }

    /// A policy's worst case and `s`; None if no row has what it does.
    fn value(&self, policy: &Policy, settings: Settings<'_>) -> Result<Option<(f64, f64)>> {
        let (ratios, _) = self.fitted.ratios(policy)?;
        if ratios.iter().all(|r| *r == 0.0) {
            return Ok(None);
        }
        let Shift { set, radius } = self.within;
        let settings = settings.detail(Detail::Value);
        let (robust, plain) = (self.robust, self.fitted.plain());
        let (cases, _) =
            self.fitted.worst_cases(robust, policy, plain, set, &[radius], None, settings)?;
        let sign = self.fitted.log().direction().sign();
        Ok(cases.first().map(|case| (sign * case.value(), case.lambda().recip())))
    }

    /// What every cell costs, at least, where `s` is at an end of an interval: `Σ w (e^{st} − e^{−spent})`,
    /// `t` being a cost less `u`, with a line in `s` below every exponential: the tangent at the middle, or
    /// where that is far off a constant.
    ///
    /// No more than twice what everything else could take off is kept, which leaves a lower bound one.
    fn below(&self, u: f64, (from, to): (f64, f64), end: f64, spent: f64) -> Vec<f64> {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let taken = (-spent).exp();
        let mut costs = self.costs(|y| {
            let t = y - u;
            let line = if half * t.abs() <= NEAR {
                (middle * t).exp() * (1.0 + (end - middle) * t)
            } else {
                (from * t).min(to * t).exp()
            };
            line - taken
        });
        let most = 2.0 * taken * self.rows.iter().map(|r| r.1).sum::<f64>();
        costs.iter_mut().for_each(|c| *c = c.min(most));
        costs
    }

    fn learn(&self, class: &dyn Linear, tolerance: f64, settings: Settings<'_>) -> Result<Learned> {
        let (low, high) = self.range();
        let size = low.abs().max(high.abs()).max(1e-300);
        let mut search = ClassSearch { task: self, class, settings, solved: 0, stopped: false };
        let mut best = search.start(low + 0.5 * (high - low))?;
        search.descend(&mut best)?;
        let (mut lower, mut share) = (low.min(best.upper), 1e-2_f64.max(tolerance));
        loop {
            if search.proves(&mut best, share * size, low)? {
                lower = lower.max(best.upper - share * size)
            } else {
                break;
            }
            if share <= tolerance {
                break;
            }
            share = (0.01 * share).max(tolerance);
        }
        let lower = lower.min(best.upper);
        let status = match (best.upper - lower <= tolerance * size * 1.01, search.stopped) {
            (true, _) => Status::Optimal,
            (false, true) => Status::Stopped,
            (false, false) => Status::Inexact,
        };
        let direction = self.fitted.log().direction();
        let (lower_end, upper_end) = direction.turned(lower, best.upper);
        Ok(Learned {
            policy: best.policy,
            method: Method::Exact,
            value: direction.sign() * best.upper,
            bounds: Bounds { lower: lower_end, upper: upper_end },
            status,
            iterations: search.solved,
            mixture: None,
        })
    }
}

/// A search over a class.
struct ClassSearch<'s, 'a> {
    task: &'s JointTask<'a>,
    class: &'s dyn Linear,
    settings: Settings<'s>,
    solved: usize,
    stopped: bool,
}

impl ClassSearch<'_, '_> {
    /// The policy of the least linear cost; None once the search is to stop.
    fn best(&mut self, costs: &[f64]) -> Result<Option<(f64, Policy)>> {
        self.solved += 1;
        let progress = Progress::at(Stage::Searching).done(self.solved);
        if !self.settings.watch.go_on(progress) {
            self.stopped = true;
        }
        if self.stopped || self.solved > MOST {
            return Ok(None);
        }
        let found = self.class.best(costs)?;
        self.stopped |= found.is_none();
        Ok(found)
    }

    /// A policy to begin with: that of the least mean about the middle of all costs.
    fn start(&mut self, middle: f64) -> Result<BestPolicy> {
        for costs in [self.task.costs(|y| y - middle), self.task.costs(|_| -1.0)] {
            let Some((_, policy)) = self.best(&costs)? else { return Err(Error::stopped()) };
            if let Some((upper, tilt)) = self.task.value(&policy, self.settings)? {
                return Ok(BestPolicy { policy, upper, tilt });
            }
        }
        Err(Error::input("no row of the log has what a policy of this class does"))
    }

    /// Goes to better policies at the best one's own tilt, as long as there are any.
    fn descend(&mut self, best: &mut BestPolicy) -> Result<()> {
        let spent = self.task.within.radius;
        while best.tilt.is_finite() {
            let (u, s) = (best.upper, best.tilt);
            let costs = if s > 0.0 {
                self.task.below(u, (s, s), s, spent)
            } else {
                self.task.costs(|y| y - u)
            };
            let Some((_, policy)) = self.best(&costs)? else { return Ok(()) };
            if !self.improves(best, policy)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes a policy in place of the best if it is better.
    fn improves(&mut self, best: &mut BestPolicy, policy: Policy) -> Result<bool> {
        match self.task.value(&policy, self.settings)? {
            Some((upper, tilt)) if upper < best.upper => {
                *best = BestPolicy { policy, upper, tilt };
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether no policy of the class is better than the best by more than this, which may become a better
    /// one on the way.
    fn proves(&mut self, best: &mut BestPolicy, by: f64, low: f64) -> Result<bool> {
        let radius = self.task.within.radius;
        if best.upper - by <= low {
            return Ok(true);
        }
        if radius == 0.0 {
            // The mean is at most u if a linear cost is at most 0.
            loop {
                let u = best.upper - by;
                let costs = self.task.costs(|y| y - u);
                let Some((lower, policy)) = self.best(&costs)? else { return Ok(false) };
                if is_positive(lower, &costs) {
                    return Ok(true);
                }
                if !self.improves(best, policy)? {
                    return Ok(false);
                }
            }
        }
        let first = radius / (best.upper - by - low);
        let Some(last) = self.beyond(best, by, first)? else { return Ok(false) };
        let mut open = vec![(first, last)];
        while let Some((from, to)) = open.pop() {
            // Wide intervals are cut where their ends are as far in proportion.
            if to > 4.0 * from {
                let middle = (from * to).sqrt();
                open.extend([(from, middle), (middle, to)]);
                continue;
            }
            let (c, half) = (0.5 * (from + to), 0.5 * (to - from));
            let mut settled = true;
            for end in [from, to] {
                let u = best.upper - by;
                let costs = self.task.below(u, (from, to), end, radius);
                let Some((lower, policy)) = self.best(&costs)? else { return Ok(false) };
                if is_positive(lower, &costs) {
                    continue;
                }
                settled = false;
                if self.improves(best, policy)? {
                    self.descend(best)?;
                }
            }
            if !settled {
                if half <= 1e-12 * c {
                    return Ok(false);
                }
                open.extend([(from, c), (c, to)]);
            }
        }
        Ok(true)
    }

    /// An `s` from which on no policy reaches what is to be excluded.
    fn beyond(&mut self, best: &mut BestPolicy, by: f64, first: f64) -> Result<Option<f64>> {
        let mut s = 4.0 * first;
        for _ in 0..200 {
            // Rising means of exponentials: once above 1 for every policy, always.
            let costs = self.task.below(best.upper - by, (s, s), s, 0.0);
            let Some((lower, policy)) = self.best(&costs)? else { return Ok(None) };
            if is_positive(lower, &costs) {
                return Ok(Some(s));
            }
            if self.improves(best, policy)? {
                self.descend(best)?;
            }
            s *= 2.0;
        }
        Ok(None)
    }
}

/// Whether a sum of parts of costs is above 0.
fn is_positive(sum: f64, costs: &[f64]) -> bool {
    sum > ROUNDING * costs.iter().map(|c| c.abs()).sum::<f64>()
}

//! Probabilities by group: `π(a|x) = θ_{g(x), a}`, exactly.

use super::class::{Convex, Polytope, Row, dot};
use super::cutting_plane::{SearchLimits, WorstLimit, minimise};
use super::regret::Kink;
use super::{Ending, Learned, Method, Task, check_tolerance};
use crate::ambiguity::Settings;
use crate::error::{Error, Field, Result};
use crate::policy::{Partition, Policy, Rule};

/// What is asked of a policy by group.
#[derive(Clone, Debug)]
pub struct Groups {
    /// What the groups are made of.
    pub by: Vec<Partition>,
    /// The least probability of each action in every group; none are asked if empty.
    pub least: Vec<f64>,
    /// The largest probability of each action in every group; none are asked if empty.
    pub most: Vec<f64>,
    /// Limits on the overall share of an action.
    pub budgets: Vec<Budget>,
    /// The gap, relative to the largest cost, at which to stop.
    pub tolerance: f64,
}

impl Groups {
    /// Groups with no other limits, to a relative gap of 1e-10.
    pub fn new(by: Vec<Partition>) -> Self {
        Groups { by, least: Vec::new(), most: Vec::new(), budgets: Vec::new(), tolerance: 1e-10 }
    }
}

/// A limit on the overall share of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The action.
    pub action: usize,
    /// Its share, at most.
    pub most: f64,
    /// Whether it must hold in every population of the set, rather than the nominal one.
    pub worst_case: bool,
}

/// The class: `c_{g,a}(x) = [g(x) = g] m(x, a)`; or `[g(x) = g]` for one action's share.
struct ByGroup<'t> {
    blocks: Vec<usize>,
    actions: usize,
    /// The group of each point of the support.
    group: Vec<usize>,
    /// `[action][point]`; None for an action that adds nothing.
    costs: Vec<Option<&'t [f64]>>,
}

impl Convex for ByGroup<'_> {
    fn costs(&self, theta: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.group.len()];
        for (a, costs) in self.costs.iter().enumerate() {
            let Some(costs) = costs else { continue };
            for ((l, &g), c) in all.iter_mut().zip(&self.group).zip(*costs) {
                *l += theta[g * self.actions + a] * c;
            }
        }
        all
    }

    fn slopes(&self, _: &[f64], population: &[f64]) -> Vec<f64> {
        let mut row = vec![0.0; self.blocks.len() * self.actions];
        for (a, costs) in self.costs.iter().enumerate() {
            let Some(costs) = costs else { continue };
            for ((&q, &g), c) in population.iter().zip(&self.group).zip(*costs) {
                row[g * self.actions + a] += q * c;
            }
        }
        row
    }
}

/// The class where outcomes shift beside a baseline: convex, with a kink at the baseline's chances.
struct KinkedGroups<'t> {
    kink: &'t Kink,
    actions: usize,
    groups: usize,
    group: &'t [usize],
}

impl Convex for KinkedGroups<'_> {
    fn costs(&self, theta: &[f64]) -> Vec<f64> {
        let row = |g: usize| &theta[g * self.actions..][..self.actions];
        self.group.iter().enumerate().map(|(i, &g)| self.kink.cost(i, row(g))).collect()
    }

    fn slopes(&self, theta: &[f64], population: &[f64]) -> Vec<f64> {
        let mut row = vec![0.0; self.groups * self.actions];
        for (i, (&q, &g)) in population.iter().zip(self.group).enumerate() {
            for a in 0..self.actions {
                let j = g * self.actions + a;
                row[j] += q * self.kink.slope(i, a, theta[j]);
            }
        }
        row
    }
}

/// The probabilities of so many groups that keep what is asked of each, budgets apart; refuses budgets
/// that are none.
pub(super) fn bounded(asked: &Groups, names: &[String], groups: usize) -> Result<Polytope> {
    let actions = names.len();
    let mut polytope = Polytope::simplices(&vec![actions; groups]);
    for (bounds, given, field) in [
        (&mut polytope.least, &asked.least, Field::AtLeast),
        (&mut polytope.most, &asked.most, Field::AtMost),
    ] {
        if given.is_empty() {
            continue;
        }
        if given.len() != actions {
            let found = given.len();
            let what = format!("has {found} limits for {actions} actions");
            return Err(Error::field(field, what));
        }
        bounds.iter_mut().enumerate().for_each(|(j, bound)| *bound = given[j % actions]);
    }
    polytope.check_bounds(&|j| format!("{:?}", names[j % actions]))?;
    if let Some(budget) = asked.budgets.iter().find(|b| b.action >= actions) {
        return Err(Error::input(format!("a budget on action {} of {actions}", budget.action)));
    }
    if let Some(budget) = asked.budgets.iter().find(|b| !(0.0..=1.0).contains(&b.most)) {
        let field = if budget.worst_case { Field::WorstBudget } else { Field::Budget };
        let what = format!("on a share is {}; expected a number from 0 to 1", budget.most);
        return Err(Error::field(field, what));
    }
    Ok(polytope)
}

/// Learns probabilities by group.
pub fn groups(task: &Task<'_>, asked: &Groups, settings: Settings<'_>) -> Result<Learned> {
    check_tolerance(asked.tolerance)?;
    let (space, names) = (task.log.contexts(), task.log.actions());
    let actions = names.len();
    let all = Partition::groups(&asked.by, space)?;
    let count: usize = asked.by.iter().map(Partition::len).product();
    let group: Vec<usize> = task.robust.points().iter().map(|&i| all[i]).collect();
    let blocks = vec![actions; count];
    let costs = task.costs.iter().map(|c| Some(c.as_slice())).collect();
    let class = ByGroup { blocks: blocks.clone(), actions, group: group.clone(), costs };
    let mut polytope = bounded(asked, names, count)?;

    let ones = vec![1.0; group.len()];
    let share = |action: usize| ByGroup {
        blocks: blocks.clone(),
        actions,
        group: group.clone(),
        costs: (0..actions).map(|a| (a == action).then_some(ones.as_slice())).collect(),
    };
    let shares: Vec<ByGroup<'_>> = asked.budgets.iter().map(|b| share(b.action)).collect();
    let mut limits = Vec::new();
    for (budget, class) in asked.budgets.iter().zip(&shares) {
        let row = class.slopes(&[], task.population().weights());
        // The least that the bounds allow, the same for every group and so for every population.
        let safe = polytope.cheapest(&row);
        let least = dot(&row, &safe);
        if least > budget.most + 1e-12 {
            return Err(Error::config(format!(
                "the budget {} on the share of {:?} cannot be met: the limits on probabilities \
                 make it at least {least:.6}",
                budget.most, names[budget.action]
            )));
        }
        if budget.worst_case {
            limits.push(WorstLimit { class, most: budget.most });
        } else {
            polytope.rows.push(Row { row, most: budget.most });
        }
    }
    let starts = starts(task, &class, &polytope);
    let floor = task.greedy_worst(settings)?.0;
    let (tolerance, cuts) = (asked.tolerance, Vec::new());
    let search = SearchLimits { starts, floor, tolerance, cuts };
    let kinked =
        task.kink().map(|kink| KinkedGroups { kink, actions, groups: count, group: &group });
    let objective: &dyn Convex = match &kinked {
        Some(kinked) => kinked,
        None => &class,
    };
    let found = minimise(task, objective, polytope, &limits, &search, settings)?;
    let probabilities = found.theta.chunks(actions).map(<[f64]>::to_vec).collect();
    let rule = Rule::Groups { by: asked.by.clone(), probabilities };
    let policy = Policy::new("groups", rule, space, names)?;
    let ending =
        Ending { iterations: found.iterations, tolerance: asked.tolerance, stopped: found.stopped };
    Ok(task.learned(policy, Method::Exact, (found.lower, found.upper), &ending))
}

/// Parameters to begin with: the best against the nominal population, and the middle.
fn starts(task: &Task<'_>, class: &ByGroup<'_>, polytope: &Polytope) -> Vec<Vec<f64>> {
    let nominal = class.slopes(&[], task.population().weights());
    let even = polytope.blocks.iter().flat_map(|&n| std::iter::repeat_n(1.0 / n as f64, n));
    vec![polytope.cheapest(&nominal), polytope.tidy(&even.collect::<Vec<_>>())]
}

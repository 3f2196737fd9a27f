//! Policies by context, by group and as trees, under a joint KL ball.

use super::super::Trees;
use super::super::class::{Polytope, dot};
use super::super::master::{CuttingPlane, least};
use super::super::node::Node;
use super::super::search::{Costs, RankedPoints};
use super::{JointTask, Linear};
use crate::ambiguity::Settings;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::policy::{Partition, Policy, Rule};
use crate::progress::{Progress, Stage};

/// Any action in any context.
pub(super) struct ByContext<'s, 'a> {
    pub(super) task: &'s JointTask<'a>,
    /// Whether only actions that rows have in a context are taken there.
    pub(super) only_seen: bool,
}

impl Linear for ByContext<'_, '_> {
    fn best(&self, costs: &[f64]) -> Result<Option<(f64, Policy)>> {
        let (task, actions) = (self.task, self.task.actions);
        let log = task.fitted.log();
        // Where nobody is, what the model says is best.
        let plain = Policy::greedy(log, task.fitted.plain())?;
        let mut chances = plain.probabilities().clone();
        let mut total = 0.0;
        for (at, &x) in task.robust.points().iter().enumerate() {
            let cells = at * actions..(at + 1) * actions;
            let some = task.seen[cells.clone()].contains(&true);
            if !some {
                continue;
            }
            let allowed = cells.filter(|&cell| !self.only_seen || task.seen[cell]);
            if let Some(cell) = allowed.min_by(|a, b| costs[*a].total_cmp(&costs[*b])) {
                total += costs[cell];
                let row = chances.row_mut(x);
                row.fill(0.0);
                row[cell % actions] = 1.0;
            }
        }
        Ok(Some((total, table("greedy", task, &chances)?)))
    }
}

fn table(name: &str, task: &JointTask<'_>, chances: &Matrix) -> Result<Policy> {
    let log = task.fitted.log();
    Policy::table(name, log.contexts(), log.actions(), chances)
}

/// Probabilities by group.
pub(super) struct GroupChances<'s, 'a> {
    pub(super) task: &'s JointTask<'a>,
    pub(super) by: &'s [Partition],
    /// The group of each point.
    pub(super) group: Vec<usize>,
    pub(super) polytope: Polytope,
}

impl Linear for GroupChances<'_, '_> {
    fn best(&self, costs: &[f64]) -> Result<Option<(f64, Policy)>> {
        let (actions, log) = (self.task.actions, self.task.fitted.log());
        let mut row = vec![0.0; self.polytope.len()];
        for (cell, cost) in costs.iter().enumerate() {
            row[self.group[cell / actions] * actions + cell % actions] += cost;
        }
        let (lower, theta) = if self.polytope.rows.is_empty() {
            let theta = self.polytope.cheapest(&row);
            (dot(&row, &theta), theta)
        } else {
            let cuts = [CuttingPlane { constant: 0.0, row: row.clone() }];
            let found = least(&self.polytope, &cuts);
            let found = found.ok_or_else(|| Error::numeric("a linear program has no answer"))?;
            let theta = self.polytope.tidy(&found.theta);
            (self.polytope.lower_bound(&row, &found.rows), theta)
        };
        let probabilities = theta.chunks(actions).map(<[f64]>::to_vec).collect();
        let rule = Rule::Groups { by: self.by.to_vec(), probabilities };
        Ok(Some((lower, Policy::new("groups", rule, log.contexts(), log.actions())?)))
    }
}

/// One action a leaf.
pub(super) struct ByTree<'s, 'a> {
    pub(super) task: &'s JointTask<'a>,
    pub(super) asked: Trees,
    pub(super) points: RankedPoints,
    pub(super) all: Vec<u32>,
    pub(super) settings: Settings<'s>,
}

impl Linear for ByTree<'_, '_> {
    fn best(&self, costs: &[f64]) -> Result<Option<(f64, Policy)>> {
        let mass = self.task.robust.population().weights();
        let least = (self.asked.least_share - 1e-9).max(0.0);
        let costs = Costs { costs, mass, least };
        let go_on = || self.settings.watch.go_on(Progress::at(Stage::Searching));
        let found: Option<(f64, Node)> =
            self.points.best(&costs, &self.all, self.asked.depth, &go_on);
        let Some((cost, node)) = found else { return Ok(None) };
        let log = self.task.fitted.log();
        let rule = Rule::Tree { root: self.points.branch(&node) };
        Ok(Some((cost, Policy::new("tree", rule, log.contexts(), log.actions())?)))
    }
}

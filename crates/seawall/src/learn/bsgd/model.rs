//! A class of policies during a descent: its parameters, costs and gradients.

use super::Class;
use super::draw::DrawnPlace;
use crate::error::{Error, Result};
use crate::learn::Task;
use crate::learn::gradient::Design;
use crate::policy::{Partition, Policy, Rule};

/// A class on a task's support.
pub(super) enum ClassModel {
    Fixed(Vec<f64>),
    Groups { actions: usize, group: Vec<usize>, by: Vec<Partition> },
    Softmax { design: Design, temperature: f64 },
}

/// What the class needs to know of a place.
pub(super) enum Seen {
    /// The fixed policy's cost.
    Cost(f64),
    /// The group.
    Group(usize),
    /// The encoded features, a constant first.
    Features(Vec<f64>),
}

impl ClassModel {
    pub(super) fn new(task: &Task<'_>, class: &Class) -> Result<Self> {
        Ok(match class {
            Class::Fixed(policy) => ClassModel::Fixed(task.policy_costs(policy)?),
            Class::Groups(by) => {
                let all = Partition::groups(by, task.log.contexts())?;
                let group = task.robust.points().iter().map(|&i| all[i]).collect();
                ClassModel::Groups { actions: task.costs.len(), group, by: by.clone() }
            }
            Class::Softmax(temperature) => ClassModel::Softmax {
                design: Design::new(task.log.contexts(), task.robust.points())?,
                temperature: *temperature,
            },
        })
    }

    pub(super) fn start(&self, actions: usize) -> Vec<f64> {
        match self {
            ClassModel::Fixed(_) => Vec::new(),
            ClassModel::Groups { by, .. } => {
                let groups: usize = by.iter().map(Partition::len).product();
                vec![1.0 / actions as f64; groups * actions]
            }
            ClassModel::Softmax { design, .. } => vec![0.0; (actions - 1) * design.width],
        }
    }

    /// What is seen of a point of the support.
    pub(super) fn seen(&self, point: usize) -> Seen {
        match self {
            ClassModel::Fixed(costs) => Seen::Cost(costs[point]),
            ClassModel::Groups { group, .. } => Seen::Group(group[point]),
            ClassModel::Softmax { design, .. } => Seen::Features(design.row(point)),
        }
    }

    /// The cost of a place, and the probabilities there.
    pub(super) fn cost(
        &self,
        task: &Task<'_>,
        theta: &[f64],
        place: &DrawnPlace,
        row: &mut [f64],
    ) -> f64 {
        match (self, &place.seen) {
            (ClassModel::Groups { actions, .. }, Seen::Group(group)) => {
                row.copy_from_slice(&theta[group * actions..][..*actions]);
            }
            (ClassModel::Softmax { design, temperature }, Seen::Features(features)) => {
                design.at(features, theta, *temperature, row);
            }
            (_, Seen::Cost(cost)) => return *cost,
            _ => {}
        }
        match place.kinked {
            Some(point) => task.cost_at(point, row),
            None => row.iter().zip(&place.costs).map(|(p, c)| p * c).sum(),
        }
    }

    /// Adds `weight · ∇l_θ(place)` to a gradient.
    pub(super) fn add(
        &self,
        task: &Task<'_>,
        place: &DrawnPlace,
        row: &[f64],
        weight: f64,
        gradient: &mut [f64],
    ) {
        let slope = |a: usize| match place.kinked {
            Some(point) => task.slope(point, a, row[a]),
            None => place.costs[a],
        };
        match (self, &place.seen) {
            (ClassModel::Groups { actions, .. }, Seen::Group(group)) => {
                let block = &mut gradient[group * actions..][..*actions];
                block.iter_mut().enumerate().for_each(|(a, g)| *g += weight * slope(a));
            }
            (ClassModel::Softmax { design, temperature }, Seen::Features(features)) => {
                let mean: f64 = row.iter().enumerate().map(|(a, p)| p * slope(a)).sum();
                for (a, block) in gradient.chunks_mut(design.width).enumerate() {
                    let pull = weight * row[a] * (slope(a) - mean) / temperature;
                    block.iter_mut().zip(features).for_each(|(g, x)| *g += pull * x);
                }
            }
            _ => {}
        }
    }

    /// Back into the set of parameters.
    pub(super) fn project(&self, theta: &mut [f64]) {
        match self {
            ClassModel::Fixed(_) => {}
            ClassModel::Groups { actions, .. } => theta.chunks_mut(*actions).for_each(onto_simplex),
            ClassModel::Softmax { .. } => theta.iter_mut().for_each(|t| *t = t.clamp(-10.0, 10.0)),
        }
    }

    pub(super) fn policy(&self, task: &Task<'_>, theta: &[f64], class: &Class) -> Result<Policy> {
        let (space, names) = (task.log.contexts(), task.log.actions());
        match self {
            ClassModel::Fixed(_) => match class {
                Class::Fixed(policy) => Ok(policy.clone()),
                _ => Err(Error::config("no policy was given")),
            },
            ClassModel::Groups { actions, by, .. } => {
                let mut probabilities: Vec<Vec<f64>> =
                    theta.chunks(*actions).map(<[f64]>::to_vec).collect();
                probabilities.iter_mut().for_each(|row| onto_simplex(row));
                Policy::new("groups", Rule::Groups { by: by.clone(), probabilities }, space, names)
            }
            ClassModel::Softmax { design, temperature } => {
                let rule = design.rule(theta, names.len(), *temperature);
                Policy::new("softmax", rule, space, names)
            }
        }
    }
}

/// The nearest point of the simplex: what exceeds a common height is cut to sum to 1.
fn onto_simplex(row: &mut [f64]) {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut height) = (0.0, 0.0);
    for (k, x) in sorted.iter().enumerate() {
        sum += x;
        let level = (sum - 1.0) / (k + 1) as f64;
        if *x > level {
            height = level;
        }
    }
    row.iter_mut().for_each(|x| *x = (*x - height).max(0.0));
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= total);
}

//! Policies and their differences as functions on the whole of a space.

use super::difference::ValueRange;
use super::nominal::LeafMasses;
use super::robust::Robust;
use crate::ambiguity::{Set, WorstCase};
use crate::error::{Error, Field, Result};
use crate::outcome::{Everywhere, Values};
use crate::policy::Policy;
use crate::steps::{StepFunction, StepTree, Weighed};
use std::sync::Arc;

impl Robust {
    /// `l(z) = Σ_a π(a|z) m(z, a)` anywhere.
    pub(super) fn step_function(&self, policy: &Policy, values: &Values) -> Result<StepFunction> {
        self.contexts().same_as(values.space())?;
        policy.check_against(values.space(), values.actions())?;
        let (policy, chances) = policy.steps()?;
        let weighed = |row: &Vec<f64>| {
            let some = row.iter().enumerate().filter(|(_, p)| **p != 0.0);
            some.map(|(terms, &factor)| Weighed { factor, terms }).collect()
        };
        let rows = chances.iter().map(weighed).collect();
        Ok(StepFunction { policy, rows, terms: everywhere(values)?.terms().to_vec() })
    }

    /// `d(z) = Σ_a (π − ρ)(a|z) m(z, a)` anywhere: the worst values where a policy does more of an
    /// action, the best where it does less.
    pub(super) fn step_difference(
        &self,
        policy: &Policy,
        against: &Policy,
        values: &ValueRange,
    ) -> Result<StepFunction> {
        self.contexts().same_as(values.worst.space())?;
        let actions = values.worst.actions();
        for policy in [policy, against] {
            policy.check_against(self.contexts(), actions)?;
        }
        let ((one, chances), (other, others)) = (policy.steps()?, against.steps()?);
        let (policy, pairs) = one.paired(&other);
        let best = if values.is_single() { 0 } else { actions };
        let weighed = |(a, b): &(u32, u32)| {
            let more = chances[*a as usize].iter().zip(&others[*b as usize]).map(|(p, q)| p - q);
            let some = more.enumerate().filter(|(_, factor)| *factor != 0.0);
            let of = |(action, factor)| Weighed {
                factor,
                terms: if factor > 0.0 { action } else { best + action },
            };
            some.map(of).collect()
        };
        let rows = pairs.iter().map(weighed).collect();
        let mut terms = everywhere(&values.worst)?.terms().to_vec();
        if !values.is_single() {
            terms.extend_from_slice(everywhere(&values.best)?.terms());
        }
        Ok(StepFunction { policy, rows, terms })
    }

    /// The mean of a policy's values over a worst case of the whole space, by whatever values.
    pub(crate) fn mean_over(
        &self,
        case: &WorstCase,
        policy: &Policy,
        values: &Values,
    ) -> Result<f64> {
        let function = self.step_function(policy, values)?;
        self.mean_of(case, &function)
    }

    /// The same of the difference to another policy.
    pub(crate) fn difference_over(
        &self,
        case: &WorstCase,
        (policy, against): (&Policy, &Policy),
        values: &ValueRange,
    ) -> Result<f64> {
        let function = self.step_difference(policy, against, values)?;
        self.mean_of(case, &function)
    }

    /// What a policy, or the difference of two, weighs on the leaves of a model's trees over a worst case
    /// of the whole space; `values` are the model's.
    pub(crate) fn leaf_masses_over(
        &self,
        case: &WorstCase,
        (policy, against): (&Policy, Option<&Policy>),
        (values, leaves): (&Values, usize),
    ) -> Result<LeafMasses> {
        let whole = self.whole().ok_or_else(|| Error::internal("the support is listed"))?;
        let (extent, terms) = (whole.extent(), everywhere(values)?.terms());
        let (own, other) = (policy.steps()?, against.map(Policy::steps).transpose()?);
        let (space, weights) = (case.nominal().space(), case.weights());
        let mut mass = vec![0.0; leaves];
        let mut elsewhere = vec![0.0; terms.len()];
        for (i, q) in weights.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            let code = |k: usize| space.code(i, k);
            let row = |(tree, rows): &(StepTree, Vec<Vec<f64>>)| {
                rows[tree.leaf_of(extent, code) as usize].clone()
            };
            let (own, other) = (row(&own), other.as_ref().map(row));
            for (action, terms) in terms.iter().enumerate() {
                let less = other.as_ref().map_or(0.0, |o| o[action]);
                let share = q * (own[action] - less);
                match terms.trees.first() {
                    Some((tree, _)) => mass[tree.leaf_of(extent, code) as usize] += share,
                    None => elsewhere[action] += share,
                }
            }
        }
        Ok(LeafMasses { mass, elsewhere })
    }

    /// Refuses a set, or values, that the support cannot be asked about: on the whole of a space a set must not
    /// have to list it, and values must say what actions cost anywhere.
    pub fn check_support(&self, set: Set, values: &Values) -> Result<()> {
        if self.whole_for(set)?.is_some() {
            everywhere(values)?;
        }
        Ok(())
    }

    fn mean_of(&self, case: &WorstCase, function: &StepFunction) -> Result<f64> {
        let whole = self.whole().ok_or_else(|| Error::internal("the support is listed"))?;
        let (space, weights) = (case.nominal().space(), case.weights());
        let some = weights.iter().enumerate().filter(|(_, q)| **q > 0.0);
        Ok(some.map(|(i, q)| q * function.at(whole.extent(), |k| space.code(i, k))).sum())
    }
}

/// What says what actions cost anywhere.
fn everywhere(values: &Values) -> Result<&Arc<Everywhere>> {
    values.everywhere().ok_or_else(|| {
        Error::field(
            Field::Support,
            "is the whole space, where the model has to say what an action costs in places that are \
             not listed: expected a tree, boosted trees, an additive model, or a forest with a cost \
             radius of 0",
        )
        .advise(Field::Support, &["observed"])
    })
}

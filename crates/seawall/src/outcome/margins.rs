//! The outcomes that a model keeps: how they are spread under each action in some contexts.
//!
//! Cells, trees and forests keep them; the other models say means only and are refused.

use super::leaf::whole;
use super::{Leaf, Model, Unseen, lacking};
use crate::error::{Error, Field, Result};
use crate::log::Log;

/// The outcomes of some contexts under one action.
pub(crate) struct LeavesAt {
    /// Which of the leaves each context is in.
    pub of: Vec<u32>,
    /// The leaves; what stands in where the action was never seen is one more.
    pub leaves: Vec<Leaf>,
}

impl Model {
    /// The outcomes of some contexts under each of some actions. Where an action was never seen, what
    /// `unseen` says stands in: all outcomes of the action, or the worst there is.
    pub(crate) fn leaves_at(
        &self,
        log: &Log,
        contexts: &[usize],
        actions: &[usize],
        unseen: Unseen,
    ) -> Result<Vec<LeavesAt>> {
        let what = match self {
            Model::Leaves(_) | Model::Forest(_) => None,
            Model::Boosted(_) => Some("boosted trees"),
            Model::Additive(_) => Some("an additive model"),
            Model::Predictions(_) => Some("predicted values"),
        };
        if let Some(what) = what {
            return Err(Error::field(
                Field::Model,
                format!(
                    "is {what}: means without outcomes, and the set asks how outcomes are spread; \
                     expected cells, a tree or a forest"
                ),
            ));
        }
        let mut missing = self.unseen_at(contexts);
        let used = |action: &usize| actions.contains(action);
        missing.iter_mut().enumerate().filter(|(a, _)| !used(a)).for_each(|(_, n)| *n = 0);
        if unseen == Unseen::Error && missing.iter().any(|n| *n > 0) {
            return Err(lacking(log, contexts.len(), &missing));
        }
        Ok(actions.iter().map(|&action| self.leaves_under(log, contexts, action, unseen)).collect())
    }

    fn leaves_under(
        &self,
        log: &Log,
        contexts: &[usize],
        action: usize,
        unseen: Unseen,
    ) -> LeavesAt {
        let kept = match self {
            Model::Forest(forest) => forest.outcomes_at(log, contexts, action),
            _ => None,
        };
        if let Some((of, leaves)) = kept {
            return LeavesAt { of, leaves };
        }
        let all = self.leaves().map_or(&[][..], |leaves| leaves.all());
        // Leaves are numbered as they are met, so that only those asked about are kept.
        let mut number = vec![u32::MAX; all.len()];
        let (mut of, mut leaves, mut standing) = (Vec::new(), Vec::new(), None);
        for &context in contexts {
            let own = self.leaves().and_then(|leaves| leaves.leaf_of(context, action));
            let next = leaves.len() as u32;
            let at = match own {
                Some(leaf) if number[leaf] != u32::MAX => number[leaf],
                Some(leaf) => {
                    leaves.push(all[leaf].clone());
                    number[leaf] = next;
                    next
                }
                None => *standing.get_or_insert_with(|| {
                    leaves.push(stand_in(log, action, unseen));
                    next
                }),
            };
            of.push(at);
        }
        LeavesAt { of, leaves }
    }
}

/// What stands in for the outcomes of an action where it was never seen.
fn stand_in(log: &Log, action: usize, unseen: Unseen) -> Leaf {
    if unseen != Unseen::Worst {
        return whole(log, action);
    }
    let sign = log.direction().sign();
    let worse = |a: &usize, b: &usize| {
        (sign * log.values()[*a]).total_cmp(&(sign * log.values()[*b])).then(b.cmp(a))
    };
    let worst = (0..log.values().len()).max_by(worse).unwrap_or(0);
    Leaf::new(action, std::iter::once((worst as u32, 1.0)))
}

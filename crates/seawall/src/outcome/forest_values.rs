//! The values of a forest: a context's outcomes are the average of its leaves' outcomes, so its worst mean is that of
//! one mixture.

use super::boxes::each_leaf;
use super::forest::{Forest, ForestTree, Stand};
use super::leaf::{Leaf, NONE};
use super::{Side, Values};
use crate::ambiguity::{Settings, Shift};
use crate::error::Result;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

impl Forest {
    pub(super) fn unseen(&self) -> Vec<usize> {
        let contexts = self.axes.space.len();
        self.stands.iter().map(|s| if s.is_some() { 0 } else { contexts }).collect()
    }

    pub(super) fn values(
        &self,
        log: &Log,
        costs: Shift,
        side: Side,
        fill: &[f64],
        settings: Settings<'_>,
    ) -> Result<Values> {
        let actions = self.stands.len();
        let mut cells: Vec<f64> = self.means.cells().to_vec();
        let mut slack = 0.0_f64;
        for action in 0..actions {
            match &self.stands[action] {
                None => {
                    cells.iter_mut().skip(action).step_by(actions).for_each(|v| *v = fill[action])
                }
                Some(stand) if costs.radius > 0.0 || !costs.set.stays_at_zero() => {
                    let found = self.mixtures(log, stand, action, costs, side, settings)?;
                    for (context, (value, gap)) in found.into_iter().enumerate() {
                        cells[context * actions + action] = value;
                        slack = slack.max(gap);
                    }
                }
                Some(_) => {}
            }
        }
        let matrix = Matrix::new(self.axes.space.len(), actions, cells)?;
        let smoothing = costs.set.smoothing(log.outcomes().len());
        let plain = costs.radius == 0.0 && costs.set.stays_at_zero();
        let everywhere = plain.then(|| self.everywhere(fill));
        Ok(Values { slack, smoothing, everywhere, ..Values::new(log.contexts(), matrix)? })
    }

    /// The worst (or best) mean of each context's mixture, and its gap; contexts that share all
    /// their leaves are solved once.
    fn mixtures(
        &self,
        log: &Log,
        stand: &Stand,
        action: usize,
        costs: Shift,
        side: Side,
        settings: Settings<'_>,
    ) -> Result<Vec<(f64, f64)>> {
        let every: Vec<usize> = (0..self.axes.space.len()).collect();
        let Mixtures { outcomes, different, group_of } = self.grouped(log, stand, action, &every);
        let done = AtomicUsize::new(0);
        let progress = || Progress::at(Stage::Outcomes).out_of(different.len());
        let quiet =
            |_: Progress<'_>| settings.watch.go_on(progress().done(done.load(Ordering::Relaxed)));
        let inner = settings.watched(Watch::new(&quiet));
        let worst = |leaves: &Vec<u32>| {
            settings.watch.tell(progress().done(done.fetch_add(1, Ordering::Relaxed)))?;
            mixture(action, leaves, &outcomes).extreme(log, costs, side, inner)
        };
        let found: Vec<(f64, f64)> = different.par_iter().map(worst).collect::<Result<_>>()?;
        Ok(group_of.into_iter().map(|group| found[group as usize]).collect())
    }

    /// The outcomes of some contexts under an action: which mixture each has, and the mixtures; None
    /// where the action has no rows.
    pub(super) fn outcomes_at(
        &self,
        log: &Log,
        contexts: &[usize],
        action: usize,
    ) -> Option<(Vec<u32>, Vec<Leaf>)> {
        let stand = self.stands[action].as_ref()?;
        let Mixtures { outcomes, different, group_of } = self.grouped(log, stand, action, contexts);
        let of = |leaves: &Vec<u32>| mixture(action, leaves, &outcomes);
        Some((group_of, different.par_iter().map(of).collect()))
    }

    /// Contexts that share all their leaves, together.
    fn grouped(&self, log: &Log, stand: &Stand, action: usize, contexts: &[usize]) -> Mixtures {
        let outcomes: Vec<Vec<Vec<(u32, f64)>>> =
            stand.trees.par_iter().map(|tree| self.shares(log, tree, action)).collect();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut different: Vec<Vec<u32>> = Vec::new();
        let mut group_of = Vec::with_capacity(contexts.len());
        let by_tree: Vec<Vec<u32>> = stand
            .trees
            .par_iter()
            .map(|tree| {
                let mut leaf_of = vec![0; self.axes.space.len()];
                each_leaf(&tree.grown, &self.axes, &mut |x, leaf| leaf_of[x] = leaf as u32);
                leaf_of
            })
            .collect();
        for &context in contexts {
            let leaves: Vec<u32> = by_tree.iter().map(|leaf_of| leaf_of[context]).collect();
            let next = different.len() as u32;
            let group = *known.entry(leaves).or_insert_with_key(|leaves| {
                different.push(leaves.clone());
                next
            });
            group_of.push(group);
        }
        Mixtures { outcomes, different, group_of }
    }

    /// The outcomes of the log's rows in each leaf of a tree, as shares.
    fn shares(&self, log: &Log, tree: &ForestTree, action: usize) -> Vec<Vec<(u32, f64)>> {
        let mut seen = vec![Vec::new(); tree.leaves.len()];
        let (mut context, mut leaf) = (NONE, 0);
        for e in log.entries().iter().filter(|e| e.action as usize == action) {
            if e.context != context {
                (context, leaf) = (e.context, tree.grown.leaf(self.axes.row(e.context as usize)));
            }
            seen[leaf].push((e.outcome, e.weight / tree.leaves[leaf].0));
        }
        seen.into_iter().map(|outcomes| Leaf::new(action, outcomes.into_iter()).outcomes).collect()
    }
}

/// Contexts by the leaves that they are in.
struct Mixtures {
    /// Of each tree and leaf the outcomes, as shares.
    outcomes: Vec<Vec<Vec<(u32, f64)>>>,
    /// The different lists of leaves, one of each tree.
    different: Vec<Vec<u32>>,
    /// Which of them each context has.
    group_of: Vec<u32>,
}

/// The outcomes of the leaves of each tree, averaged.
fn mixture(action: usize, leaves: &[u32], outcomes: &[Vec<Vec<(u32, f64)>>]) -> Leaf {
    let each = 1.0 / leaves.len() as f64;
    let own = leaves.iter().zip(outcomes).flat_map(|(leaf, of)| &of[*leaf as usize]);
    Leaf::new(action, own.map(|(outcome, share)| (*outcome, each * share)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::forest::{ForestSettings, forest};
    use super::*;
    use crate::ambiguity::sets::{Entropic, Wasserstein};
    use crate::ambiguity::{Direction, Problem};
    use crate::kernel::random::Random;
    use crate::outcome::Unseen;
    use crate::{Feature, Population};

    /// The mean and the worst case of a context are those of the mixture of its leaves' rows, put
    /// together row by row.
    #[test]
    fn outcomes_are_the_average_of_the_leaves() {
        let mut random = Random::new(5, 0);
        let rows = 60;
        let columns: Vec<Vec<f64>> =
            [4, 3, 5].map(|n| (0..rows).map(|_| random.below(n) as f64).collect()).to_vec();
        let outcomes: Vec<f64> = (0..rows).map(|_| random.below(4) as f64).collect();
        let actions: Vec<&str> = (0..rows).map(|_| ["a", "b"][random.below(2)]).collect();
        let features =
            [Feature::numeric("u"), Feature::nominal("v", ["x", "y", "z"]), Feature::numeric("w")];
        let direction = Direction::Cost;
        let log = Log::from_rows(features, columns, &actions, &outcomes, None, direction).unwrap();
        let settings = ForestSettings {
            trees: 7,
            min_samples_leaf: 3.0,
            seed: 3,
            ..ForestSettings::default()
        };
        let forest = forest(&log, &settings, Watch::NOBODY).unwrap();
        let model = crate::outcome::Model::Forest(forest.clone());
        for set in [Wasserstein.at(0.0), Wasserstein.at(0.02), Entropic { eta: 5.0 }.at(0.02)] {
            let found = model.values(&log, set, Unseen::Error, Settings::default()).unwrap();
            for context in 0..log.contexts().len() {
                for action in 0..log.actions().len() {
                    let mut mixture = vec![0.0; log.outcomes().len()];
                    let stand = forest.stands[action].as_ref().unwrap();
                    assert_eq!(stand.trees.len(), 7);
                    for tree in &stand.trees {
                        let leaf = |x: usize| tree.grown.leaf(forest.axes.row(x));
                        let own = log.entries().iter().filter(|e| {
                            e.action as usize == action && leaf(e.context as usize) == leaf(context)
                        });
                        let own: Vec<(u32, f64)> = own.map(|e| (e.outcome, e.weight)).collect();
                        let all: f64 = own.iter().map(|o| o.1).sum();
                        own.iter().for_each(|o| mixture[o.0 as usize] += o.1 / all / 7.0);
                    }
                    let population =
                        Population::from_weights(log.outcomes().clone(), mixture).unwrap();
                    let problem = Problem::new(&population, log.values()).unwrap();
                    let problem = problem.direction(direction);
                    let worst = set.worst_case(&problem, Settings::default()).unwrap().value();
                    let value = found.at(context, action);
                    assert!((value - worst).abs() < 1e-9, "{set:?}: {value} {worst}");
                }
            }
        }
    }
}

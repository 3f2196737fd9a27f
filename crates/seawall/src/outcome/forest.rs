//! A forest: the average of trees, each grown on rows drawn again from the log.
//!
//! Each of a tree's rows is drawn with replacement (a Poisson number of copies of every row, so
//! that counted rows are drawn in one go), and each split looks at some of the features only, drawn
//! at random. A leaf then holds the rows of the *log* that fall into it, not those drawn: drawing
//! decides where the leaves are, and every row is used for what they say. So
//!
//! ```text
//! m(x, a) = (1/T) Σ_t mean of the log's rows in the leaf of (x, a) in tree t
//! ```
//!
//! is linear in the outcomes, and the outcomes of a context are the average of its leaves'
//! distributions: a mixture, on which a cost radius acts context by context.
//!
//! One seed gives one forest on any number of threads: each tree has a stream of its own.

use super::axes::Axes;
use super::boxes::each_leaf;
use super::everywhere::{Everywhere, constant, of_grown};
use super::grower::{ActionCells, Drawable, Grower, Grown, Growth};
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::space::Space;
use crate::steps::Terms;
use rayon::prelude::*;
use std::sync::Arc;

/// Equal rows beyond this are drawn by the normal limit.
const MANY: f64 = 64.0;
/// The share of different rows among those drawn, `1 − 1/e`.
const DIFFERENT: f64 = 0.632_120_558_828_557_7;
/// Numbers beyond which only two sums are kept beside each other.
const LARGE: usize = 1 << 20;

/// How a forest is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForestSettings {
    /// Trees of each action.
    pub trees: usize,
    /// Features that a split looks at; a third of them, rounded up, if not said.
    pub features: Option<usize>,
    /// Rows in a leaf, at least: different ones of those drawn, of which 63 in 100 are.
    pub min_samples_leaf: f64,
    /// Rows in a leaf, at least, as a share of the rows of its action; the larger of the two counts.
    pub min_share: f64,
    /// Splits from the root to a leaf, at most.
    pub max_depth: usize,
    /// Whether each tree draws rows; else all have those of the log.
    pub resample: bool,
    /// The seed of everything drawn.
    pub seed: u64,
}

impl Default for ForestSettings {
    fn default() -> Self {
        ForestSettings {
            trees: 100,
            features: None,
            min_samples_leaf: 20.0,
            min_share: 0.01,
            max_depth: 63,
            resample: true,
            seed: 0,
        }
    }
}

impl ForestSettings {
    fn check_numbers(&self) -> Result<()> {
        if self.trees == 0 {
            return Err(Error::field(Field::Trees, "is 0; expected at least 1"));
        }
        if self.features == Some(0) {
            return Err(Error::field(Field::Features, "is 0; expected at least 1"));
        }
        super::tree::check_leaf(self.min_samples_leaf, self.min_share)
    }

    /// How a tree grows on so many rows of so many features.
    fn growth(&self, features: usize, rows: f64) -> Growth {
        let least = self.min_samples_leaf.max(self.min_share * rows);
        Growth {
            max_depth: self.max_depth,
            min_leaf: if self.resample { least / DIFFERENT } else { least },
            tried: self.features.unwrap_or(features.div_ceil(3)).clamp(1, features),
        }
    }
}

/// One tree of a forest, with the log's rows in its leaves.
#[derive(Clone, Debug)]
pub(super) struct ForestTree {
    pub(super) grown: Grown,
    /// Rows and mean of each node that is a leaf.
    pub(super) leaves: Vec<(f64, f64)>,
}

/// One action's trees.
#[derive(Clone, Debug)]
pub(super) struct Stand {
    pub(super) trees: Vec<ForestTree>,
    /// The mean of the action's rows, which the leaves' means are above.
    mean: f64,
    /// Each feature's share in lowering the squared error.
    importance: Vec<f64>,
}

/// A fitted forest.
#[derive(Clone, Debug)]
pub struct Forest {
    pub(super) axes: Arc<Axes>,
    outcomes: Arc<Space>,
    /// None where an action has no rows.
    pub(super) stands: Arc<Vec<Option<Stand>>>,
    /// The plain means; NaN where an action has no rows.
    pub(super) means: Matrix,
}

/// Fits a forest per action.
pub fn forest(log: &Log, settings: &ForestSettings, watch: Watch<'_>) -> Result<Forest> {
    settings.check_numbers()?;
    let axes = Axes::new(log);
    let actions = log.actions().len();
    let mut stands = Vec::new();
    for action in 0..actions {
        watch.tell(Progress::at(Stage::Fitting).done(action).out_of(actions))?;
        let Some(cells) = ActionCells::new(log, &axes, action) else {
            stands.push(None);
            continue;
        };
        stands.push(Some(stand(&axes, &cells, settings, action, watch)?));
    }
    watch.tell(Progress::at(Stage::Fitting).done(actions).out_of(actions))?;
    let means = means(&axes, &stands);
    let (axes, stands) = (Arc::new(axes), Arc::new(stands));
    Ok(Forest { axes, outcomes: log.outcomes().clone(), stands, means })
}

fn stand(
    axes: &Axes,
    cells: &ActionCells,
    settings: &ForestSettings,
    action: usize,
    watch: Watch<'_>,
) -> Result<Stand> {
    let growth = settings.growth(axes.axes.len(), cells.rows());
    let nobody: Vec<f64> = cells.entries.iter().map(|e| (-e.3.rows).exp()).collect();
    let grown = |grower: &mut Grower<'_>, number: usize| -> Result<ForestTree> {
        watch.tell(Progress::at(Stage::Fitting).done(number).out_of(settings.trees))?;
        let stream = action * settings.trees + number;
        let mut random = Random::new(settings.seed, stream as u64);
        let drawn = settings.resample.then(|| drawn(cells, &nobody, &mut random)).flatten();
        let sums = drawn.as_deref().unwrap_or(&cells.sums);
        let grown = grower.grow(sums, growth, &mut random);
        let mut leaves = vec![(0.0, 0.0); grown.nodes.len()];
        for (&leaf, [rows, sum]) in grower.leaf_of.iter().zip(&cells.sums) {
            let leaf: &mut (f64, f64) = &mut leaves[leaf as usize];
            *leaf = (leaf.0 + rows, leaf.1 + sum);
        }
        leaves.iter_mut().filter(|l| l.0 > 0.0).for_each(|l| l.1 /= l.0);
        Ok(ForestTree { grown, leaves })
    };
    let numbers = (0..settings.trees).into_par_iter();
    let trees: Vec<ForestTree> = numbers
        .map_init(|| Grower::new(axes, cells), |grower, number| grown(grower, number))
        .collect::<Result<_>>()?;
    let mut importance = vec![0.0; axes.axes.len()];
    trees.iter().for_each(|tree| tree.grown.add_gains(&mut importance));
    as_shares(&mut importance);
    Ok(Stand { trees, mean: cells.mean, importance })
}

/// Numbers as shares of their sum.
pub(super) fn as_shares(numbers: &mut [f64]) {
    let all: f64 = numbers.iter().sum();
    if all > 0.0 {
        numbers.iter_mut().for_each(|x| *x /= all);
    }
}

/// Each cell's rows and sum where every row is drawn a Poisson number of times; None if none was.
fn drawn(cells: &ActionCells, nobody: &[f64], random: &mut Random) -> Option<Vec<[f64; 2]>> {
    let mut sums = vec![[0.0; 2]; cells.len()];
    let mut any = false;
    for (&(_, cell, value, Drawable { rows, unit }), &none) in cells.entries.iter().zip(nobody) {
        let copies = if rows > MANY {
            (rows + rows.sqrt() * random.normal()).round().max(0.0)
        } else {
            poisson(rows, none, random.unit())
        };
        let copies = copies * unit;
        if copies > 0.0 {
            any = true;
            let to: &mut [f64; 2] = &mut sums[cell as usize];
            to[0] += copies;
            to[1] += copies * value;
        }
    }
    any.then_some(sums)
}

/// The Poisson number of a mean that a number from 0 to 1 stands for; `none` is the chance of 0.
fn poisson(mean: f64, none: f64, unit: f64) -> f64 {
    let (mut copies, mut chance, mut below) = (0.0, none, none);
    // The last chances are lost in rounding.
    while unit >= below && copies < 4.0 * mean + 40.0 {
        copies += 1.0;
        chance *= mean / copies;
        below += chance;
    }
    copies
}

/// The mean of every context and action.
fn means(axes: &Axes, stands: &[Option<Stand>]) -> Matrix {
    let of = |stand: &Option<Stand>| -> Vec<f64> {
        let Some(stand) = stand else { return vec![f64::NAN; axes.space.len()] };
        let sums = summed(&stand.trees, axes.space.len(), |tree, sums| {
            each_leaf(&tree.grown, axes, &mut |x, leaf| sums[x] += tree.leaves[leaf].1);
        });
        sums.iter().map(|sum| stand.mean + sum / stand.trees.len() as f64).collect()
    };
    let all: Vec<Vec<f64>> = stands.iter().map(of).collect();
    Matrix::from_fn(axes.space.len(), stands.len(), |context, action| all[action][context])
}

/// One number per context, summed over trees: a few trees at a time, the same ones on any number of
/// threads.
pub(super) fn summed<T: Sync>(
    trees: &[T],
    contexts: usize,
    add: impl Fn(&T, &mut [f64]) + Sync,
) -> Vec<f64> {
    // Large spaces have room for few sums.
    let parts = if contexts > LARGE { 2 } else { 8 };
    let together = trees.len().div_ceil(parts).max(1);
    let part = |trees: &[T]| {
        let mut sums = vec![0.0; contexts];
        trees.iter().for_each(|tree| add(tree, &mut sums));
        sums
    };
    let parts: Vec<Vec<f64>> = trees.par_chunks(together).map(part).collect();
    let mut sums = vec![0.0; contexts];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sums
}

impl Forest {
    /// The plain means as sums of the trees' steps, `fill` standing in where an action has no rows.
    pub(super) fn everywhere(&self, fill: &[f64]) -> Arc<Everywhere> {
        let (axes, stands, fill) = (self.axes.clone(), self.stands.clone(), fill.to_vec());
        Everywhere::new(move || {
            let of = |(stand, fill): (&Option<Stand>, &f64)| {
                let Some(stand) = stand else { return constant(*fill) };
                let share = 1.0 / stand.trees.len() as f64;
                let trees = stand.trees.iter().map(|tree| {
                    let values: Arc<[f64]> = tree.leaves.iter().map(|l| share * l.1).collect();
                    (Arc::new(of_grown(&axes, &tree.grown)), values)
                });
                Terms { base: stand.mean, trees: trees.collect() }
            };
            stands.iter().zip(&fill).map(of).collect()
        })
    }

    /// Each feature's share in lowering the squared error of an action's trees; none if it has no
    /// rows.
    pub fn importance(&self, action: usize) -> &[f64] {
        self.stands[action].as_ref().map_or(&[], |s| &s.importance)
    }

    /// The leaves of an action's trees, on average.
    pub fn leaf_count(&self, action: usize) -> f64 {
        self.stands[action].as_ref().map_or(0.0, |stand| {
            let leaves = |t: &ForestTree| t.leaves.iter().filter(|l| l.0 > 0.0).count();
            stand.trees.iter().map(|t| leaves(t) as f64).sum::<f64>() / stand.trees.len() as f64
        })
    }

    /// The rows that a context's mean under an action hangs on: those of its leaves, on average
    /// over the trees; 0 if the action has no rows.
    pub fn rows_behind(&self, context: usize, action: usize) -> f64 {
        self.stands[action].as_ref().map_or(0.0, |stand| {
            let levels = self.axes.row(context);
            let rows = |t: &ForestTree| t.leaves[t.grown.leaf(levels)].0;
            stand.trees.iter().map(rows).sum::<f64>() / stand.trees.len() as f64
        })
    }

    /// How many trees an action has; none if it has no rows.
    pub(super) fn trees(&self, action: usize) -> usize {
        self.stands[action].as_ref().map_or(0, |stand| stand.trees.len())
    }

    /// The node that is a context's leaf in a tree; the action has rows.
    pub(super) fn leaf(&self, tree: usize, context: usize, action: usize) -> usize {
        let levels = self.axes.row(context);
        self.stands[action].as_ref().map_or(0, |stand| stand.trees[tree].grown.leaf(levels))
    }

    /// How many nodes a tree has.
    pub(super) fn nodes(&self, tree: usize, action: usize) -> usize {
        self.stands[action].as_ref().map_or(0, |stand| stand.trees[tree].leaves.len())
    }

    pub(super) fn space(&self) -> (&Space, &Space) {
        (&self.axes.space, &self.outcomes)
    }

    pub(super) fn means(&self) -> &Matrix {
        &self.means
    }

    /// The plain mean at any place, by its features' codes.
    pub(super) fn mean_at(&self, codes: &[f64], action: usize) -> f64 {
        let levels = self.axes.places(codes);
        self.stands[action].as_ref().map_or(f64::NAN, |stand| {
            let sum: f64 = stand.trees.iter().map(|t| t.leaves[t.grown.leaf(&levels)].1).sum();
            stand.mean + sum / stand.trees.len() as f64
        })
    }

    /// How `Σ mass(x, a) m(x, a)` hangs on each row of each context and action, and a row's own
    /// share in its fitted value: `(1/T) Σ_t W_t(L) / n_t(L)`, and the same with `W = 1`.
    pub(super) fn pulls(&self, mass: &Matrix) -> (Matrix, Matrix) {
        let (contexts, actions) = (mass.contexts(), mass.actions());
        let of = |action: usize| -> Vec<(f64, f64)> {
            let Some(stand) = &self.stands[action] else { return vec![(0.0, 0.0); contexts] };
            let each = 1.0 / stand.trees.len() as f64;
            let sums = summed(&stand.trees, 2 * contexts, |tree, sums| {
                let mut weight = vec![0.0; tree.leaves.len()];
                let mut leaf_of = vec![0u32; contexts];
                each_leaf(&tree.grown, &self.axes, &mut |x, leaf| {
                    weight[leaf] += mass.at(x, action);
                    leaf_of[x] = leaf as u32;
                });
                let (pulls, own) = sums.split_at_mut(contexts);
                for ((pull, own), &leaf) in pulls.iter_mut().zip(own).zip(&leaf_of) {
                    let rows = tree.leaves[leaf as usize].0;
                    *pull += each * weight[leaf as usize] / rows;
                    *own += each / rows;
                }
            });
            let (pulls, own) = sums.split_at(contexts);
            pulls.iter().copied().zip(own.iter().copied()).collect()
        };
        let all: Vec<Vec<(f64, f64)>> = (0..actions).map(of).collect();
        let matrix = |of: fn(&(f64, f64)) -> f64| {
            Matrix::from_fn(contexts, actions, |x, action| of(&all[action][x]))
        };
        (matrix(|f| f.0), matrix(|f| f.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_drawn_about_as_often_as_they_are_there() {
        let mut random = Random::new(1, 2);
        for mean in [0.3_f64, 1.0, 7.0, 50.0] {
            let draws = 20_000;
            let all: Vec<f64> =
                (0..draws).map(|_| poisson(mean, (-mean).exp(), random.unit())).collect();
            let found = all.iter().sum::<f64>() / f64::from(draws);
            let spread =
                all.iter().map(|x| (x - found).powi(2)).sum::<f64>() / f64::from(draws - 1);
            assert!(
                (found - mean).abs() < 5.0 * (mean / f64::from(draws)).sqrt(),
                "{mean} {found}"
            );
            assert!((spread / mean - 1.0).abs() < 0.06, "{mean} {spread}");
        }
    }
}

//! Boosted trees: each small tree is fitted to what those before it left over.
//!
//! ```text
//! F_0 = mean,   F_r(x) = F_{r−1}(x) + ν · tree_r(x),   tree_r fitted to y − F_{r−1}
//! ```
//!
//! by squared error, from the sums of each context's residuals. More rounds fit more closely, and
//! noise too in the end: [`choose_rounds`] takes the number whose error on rows left out is lowest,
//! once, on the whole log, so that what is fitted again has its rounds given.
//!
//! What comes out is values. They belong to no rows, so a cost radius has nothing to act on, and
//! there is no closed form for their noise.

use super::axes::Axes;
use super::boxes::each_leaf;
use super::everywhere::{Everywhere, constant, of_grown};
use super::folding::{FoldPlan, HeldOut};
use super::forest::as_shares;
use super::forest::summed;
use super::grower::{ActionCells, Grower, Grown, Growth};
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::progress::{Progress, Stage, Watch};
use crate::steps::Terms;
use rayon::prelude::*;
use std::sync::Arc;

/// Rounds between two looks at the error on rows left out.
const BLOCK: usize = 10;
/// So many rounds without a lower error end the search.
const PATIENCE: usize = 50;

/// How one action's trees are boosted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoostedSettings {
    /// Trees; where they are chosen, at most.
    pub rounds: usize,
    /// Splits from the root of a tree to a leaf, at most.
    pub depth: usize,
    /// What each tree's values are multiplied by, above 0 and at most 1.
    pub shrinkage: f64,
    /// Rows in a leaf, at least.
    pub min_samples_leaf: f64,
}

impl Default for BoostedSettings {
    fn default() -> Self {
        BoostedSettings { rounds: 500, depth: 3, shrinkage: 0.1, min_samples_leaf: 20.0 }
    }
}

impl BoostedSettings {
    fn check_numbers(&self) -> Result<()> {
        if self.rounds == 0 {
            return Err(Error::field(Field::Rounds, "is 0; expected at least 1"));
        }
        if self.depth == 0 {
            return Err(Error::field(Field::Depth, "is 0; expected at least 1"));
        }
        if !(self.shrinkage > 0.0 && self.shrinkage <= 1.0) {
            let what = format!("is {}; expected a number above 0 and at most 1", self.shrinkage);
            return Err(Error::field(Field::Shrinkage, what));
        }
        super::tree::check_leaf(self.min_samples_leaf, 0.0)
    }
}

/// The rounds chosen for one action.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundChoice {
    /// The rounds: where the curve is lowest.
    pub rounds: usize,
    /// The mean squared error on rows left out after 0, 1, 2, … rounds, as far as it was followed.
    pub curve: Vec<f64>,
    /// The sum of squared errors on each fold's rows; none if the action has no rows.
    pub squares: Vec<f64>,
}

/// One action's trees.
#[derive(Clone, Debug)]
struct Sequence {
    start: f64,
    trees: Vec<Grown>,
    importance: Vec<f64>,
}

/// Fitted boosted trees.
#[derive(Clone, Debug)]
pub struct Boosted {
    axes: Arc<Axes>,
    settings: Vec<BoostedSettings>,
    /// None where an action has no rows.
    sequences: Arc<Vec<Option<Sequence>>>,
    means: Matrix,
}

/// Boosting under way: what is fitted so far to one action's cells.
struct Booster<'c> {
    grower: Grower<'c>,
    growth: Growth,
    shrinkage: f64,
    /// Each cell's rows, and the sum of what is left over.
    left: Vec<[f64; 2]>,
    /// Each cell's value so far.
    values: Vec<f64>,
    start: f64,
    trees: Vec<Grown>,
}

impl<'c> Booster<'c> {
    fn new(
        axes: &'c Axes,
        cells: &'c ActionCells,
        sums: Vec<[f64; 2]>,
        settings: &BoostedSettings,
    ) -> Self {
        let [rows, sum] = sums.iter().fold([0.0; 2], |[n, s], [rows, sum]| [n + rows, s + sum]);
        let start = if rows > 0.0 { sum / rows } else { 0.0 };
        let mut left = sums;
        left.iter_mut().for_each(|cell| cell[1] -= cell[0] * start);
        let growth = Growth {
            max_depth: settings.depth,
            min_leaf: settings.min_samples_leaf,
            tried: axes.axes.len(),
        };
        Booster {
            grower: Grower::new(axes, cells),
            growth,
            shrinkage: settings.shrinkage,
            values: vec![start; left.len()],
            left,
            start,
            trees: Vec::new(),
        }
    }

    /// Adds a tree.
    fn round(&mut self) {
        // All features are tried, so nothing is drawn.
        let tree = self.grower.grow(&self.left, self.growth, &mut Random::new(0, 0));
        for (cell, &leaf) in self.grower.leaf_of.iter().enumerate() {
            let step = self.shrinkage * tree.nodes[leaf as usize].mean;
            self.values[cell] += step;
            self.left[cell][1] -= self.left[cell][0] * step;
        }
        self.trees.push(tree);
    }
}

/// Fits boosted trees; `settings` has one entry per action.
pub fn boosted(log: &Log, settings: &[BoostedSettings], watch: Watch<'_>) -> Result<Boosted> {
    check_settings(log, settings)?;
    let axes = Axes::new(log);
    let one = |(action, settings): (usize, &BoostedSettings)| -> Result<Option<Sequence>> {
        let Some(cells) = ActionCells::new(log, &axes, action) else { return Ok(None) };
        let mut booster = Booster::new(&axes, &cells, cells.sums.clone(), settings);
        for round in 0..settings.rounds {
            watch.tell(Progress::at(Stage::Fitting).done(round).out_of(settings.rounds))?;
            booster.round();
        }
        let mut importance = vec![0.0; axes.axes.len()];
        booster.trees.iter().for_each(|tree| tree.add_gains(&mut importance));
        as_shares(&mut importance);
        let start = cells.mean + booster.start;
        Ok(Some(Sequence { start, trees: booster.trees, importance }))
    };
    let sequences: Vec<Option<Sequence>> =
        settings.par_iter().enumerate().map(one).collect::<Result<_>>()?;
    let means = means(&axes, &sequences, settings);
    let (axes, sequences) = (Arc::new(axes), Arc::new(sequences));
    Ok(Boosted { axes, settings: settings.to_vec(), sequences, means })
}

fn check_settings(log: &Log, settings: &[BoostedSettings]) -> Result<()> {
    if settings.len() != log.actions().len() {
        let (found, actions) = (settings.len(), log.actions().len());
        return Err(Error::config(format!("{found} boosting settings for {actions} actions")));
    }
    settings.iter().try_for_each(BoostedSettings::check_numbers)
}

fn means(axes: &Axes, sequences: &[Option<Sequence>], settings: &[BoostedSettings]) -> Matrix {
    let contexts = axes.space.len();
    let of = |(sequence, settings): (&Option<Sequence>, &BoostedSettings)| -> Vec<f64> {
        let Some(sequence) = sequence else { return vec![f64::NAN; contexts] };
        let sums = summed(&sequence.trees, contexts, |tree, sums| {
            each_leaf(tree, axes, &mut |x, leaf| sums[x] += tree.nodes[leaf].mean);
        });
        sums.iter().map(|sum| sequence.start + settings.shrinkage * sum).collect()
    };
    let all: Vec<Vec<f64>> = sequences.iter().zip(settings).map(of).collect();
    Matrix::from_fn(contexts, sequences.len(), |context, action| all[action][context])
}

impl Sequence {
    fn at(&self, levels: &[u32], shrinkage: f64) -> f64 {
        let step = |tree: &Grown| shrinkage * tree.nodes[tree.leaf(levels)].mean;
        self.start + self.trees.iter().map(step).sum::<f64>()
    }
}

/// Chooses each action's rounds, at most those of its settings.
pub fn choose_rounds(
    log: &Log,
    settings: &[BoostedSettings],
    folds: impl Into<FoldPlan>,
    watch: Watch<'_>,
) -> Result<Vec<RoundChoice>> {
    check_settings(log, settings)?;
    let dealt = folds.into().deal(log)?;
    let axes = Axes::new(log);
    let mut choices = Vec::new();
    for (action, settings) in settings.iter().enumerate() {
        let Some(cells) = ActionCells::new(log, &axes, action) else {
            choices.push(RoundChoice { rounds: 1, curve: Vec::new(), squares: Vec::new() });
            continue;
        };
        let held = HeldOut::new(&dealt, &cells);
        let mut fits: Vec<(Booster<'_>, Vec<f64>)> = (0..dealt.count())
            .map(|fold| {
                let booster = Booster::new(&axes, &cells, held.others(&cells, fold), settings);
                let error = held.error(fold, &booster.values);
                (booster, vec![error])
            })
            .collect();
        let mut curve = pooled(&fits, held.rows());
        loop {
            let best = lowest(&curve);
            if curve.len() > settings.rounds || curve.len() - 1 - best >= PATIENCE {
                let rounds = best.max(1);
                let squares = fits.iter().map(|(_, errors)| errors[rounds]).collect();
                choices.push(RoundChoice { rounds, curve, squares });
                break;
            }
            watch.tell(Progress::at(Stage::Fitting).done(curve.len()).out_of(settings.rounds))?;
            let more = BLOCK.min(settings.rounds + 1 - curve.len());
            fits.par_iter_mut().enumerate().for_each(|(fold, (booster, errors))| {
                for _ in 0..more {
                    booster.round();
                    errors.push(held.error(fold, &booster.values));
                }
            });
            curve = pooled(&fits, held.rows());
        }
    }
    Ok(choices)
}

/// The mean squared error over all folds after each round.
fn pooled(fits: &[(Booster<'_>, Vec<f64>)], rows: f64) -> Vec<f64> {
    let rounds = fits.iter().map(|f| f.1.len()).min().unwrap_or(0);
    (0..rounds).map(|round| fits.iter().map(|f| f.1[round]).sum::<f64>() / rows).collect()
}

/// The place of the lowest number, the first of equals.
fn lowest(curve: &[f64]) -> usize {
    (0..curve.len()).min_by(|a, b| curve[*a].total_cmp(&curve[*b])).unwrap_or(0)
}

impl Boosted {
    /// The values as sums of the trees' steps, `fill` standing in where an action has no rows.
    pub(super) fn everywhere(&self, fill: &[f64]) -> Arc<Everywhere> {
        let (axes, sequences, fill) = (self.axes.clone(), self.sequences.clone(), fill.to_vec());
        let shrinkage: Vec<f64> = self.settings.iter().map(|s| s.shrinkage).collect();
        Everywhere::new(move || {
            let of = |action: usize| {
                let Some(sequence) = &sequences[action] else { return constant(fill[action]) };
                let trees = sequence.trees.iter().map(|tree| {
                    let values = tree.nodes.iter().map(|node| shrinkage[action] * node.mean);
                    (Arc::new(of_grown(&axes, tree)), values.collect::<Arc<[f64]>>())
                });
                Terms { base: sequence.start, trees: trees.collect() }
            };
            (0..sequences.len()).map(of).collect()
        })
    }

    /// Each action's settings.
    pub fn settings(&self) -> &[BoostedSettings] {
        &self.settings
    }

    /// Each feature's share in lowering the squared error of an action; none if it has no rows.
    pub fn importance(&self, action: usize) -> &[f64] {
        self.sequences[action].as_ref().map_or(&[], |s| &s.importance)
    }

    pub(super) fn space(&self) -> &crate::Space {
        &self.axes.space
    }

    pub(super) fn means(&self) -> &Matrix {
        &self.means
    }

    /// The value at any place, by its features' codes.
    pub(super) fn mean_at(&self, codes: &[f64], action: usize) -> f64 {
        let levels = self.axes.places(codes);
        let shrinkage = self.settings[action].shrinkage;
        self.sequences[action].as_ref().map_or(f64::NAN, |s| s.at(&levels, shrinkage))
    }
}

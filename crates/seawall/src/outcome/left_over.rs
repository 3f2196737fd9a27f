//! What a model has smoothed away: what is left in its residuals, column by column or by pairs of columns.
//!
//! A model that smooths is too low where costs are highest, and a worst case on its values with it.
//! ResidualKind of the rows that it was fitted to still hold what it did not take; by action, and with
//! `s_j(x)` the step of feature j that a context is on,
//!
//! ```text
//! additive   ρ₁(x, a) = Σ_j f_j(s_j(x))
//! pairwise   ρ₂(x, a) = ρ₁(x, a) + Σ_{j<k} f_jk(s_j(x), s_k(x))        steps of pairs are coarser
//! minimizing  Σ_i w_i (y_i − m(x_i, a_i) − ρ(x_i, a_i))² + κ Σ f²
//! ```
//!
//! with κ one row. `m + ρ` is the model under-smoothed: nearer to the truth where it has smoothed, and noisier. It serves
//! limits on the bad side and nothing else: one that allows for `ρ₁` is valid if what the model missed is additive in the
//! columns, one that allows for `ρ₂` if it is at most pairwise. Most of the noise of `ρ₁` is shrunk away ([`shrink`]);
//! `ρ₂` keeps all of it, because what it is for, an effect in a small corner of two columns, looks like noise.

use super::{Everywhere, Values};
use crate::error::Result;
use crate::log::{Entry, Log};
use crate::matrix::Matrix;
use crate::space::{Kind, Ranks, Space};
use crate::steps::{Question, StepNode, StepTree, Terms};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Steps of a feature at most; and of each of two features together.
const STEPS: usize = 12;
const PAIR_STEPS: usize = 5;
/// How many rows of no effect each step is given.
const ROWS: f64 = 1.0;
/// Sweeps over the features at most, and the change of any sum of effects, relative to the outcomes' range, that ends
/// them.
const SWEEPS: usize = 50;
const CHANGE: f64 = 1e-3;
/// Standard errors beyond which a step's own effect is kept for the most part.
const STANDS_OUT: f64 = 1.0;

/// How much structure is looked for in the residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResidualKind {
    /// Effects of single columns.
    Additive,
    /// Effects of single columns and of pairs of them.
    Pairwise,
}

/// The steps of every column, by which residuals are looked at: once for a log, for its parts as well.
#[derive(Clone, Debug)]
pub struct ResidualSteps {
    space: Arc<Space>,
    /// Feature by feature.
    fine: Vec<Steps>,
    /// The same, for pairs of features.
    coarse: Vec<Steps>,
}

impl ResidualSteps {
    /// Steps of about equally many rows of a log.
    pub fn new(log: &Log) -> Self {
        let of = |most: usize| {
            let features = (0..log.contexts().names().len()).into_par_iter();
            features.map(|k| Steps::new(log, k, most)).collect()
        };
        ResidualSteps { space: log.contexts().clone(), fine: of(STEPS), coarse: of(PAIR_STEPS) }
    }

    /// Pairs of features.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let count = self.fine.len();
        (0..count).flat_map(move |j| (j + 1..count).map(move |k| (j, k)))
    }

    /// What is left of a log's outcomes around a model's plain means, for each kind of structure that is looked for.
    pub fn left_over(
        &self,
        log: &Log,
        plain: &Values,
        kinds: &[ResidualKind],
    ) -> Result<Vec<LeftOver>> {
        self.space.same_as(log.contexts())?;
        self.space.same_as(plain.space())?;
        let ends = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
        let range = log.values().iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let actions = (0..log.actions().len()).into_par_iter();
        let of = |action| ActionResiduals::new(self, log, plain, action);
        let mut actions: Vec<ActionResiduals> = actions.map(of).collect();
        let one = |kind: &ResidualKind| {
            let effects = actions.iter_mut().map(|own| own.effects(*kind, range.1 - range.0));
            let effects: Vec<StepEffects> = effects.collect();
            self.told(plain, *kind, effects, range)
        };
        Ok(kinds.iter().map(one).collect())
    }

    /// Every corner of two columns that a log has rows in, with what is left of the outcomes of one action there around a
    /// model's plain means: the ends of ordered columns, and single steps of nominal ones. Largest first.
    pub fn corners(&self, log: &Log, plain: &Values, action: usize) -> Result<Vec<ColumnCorner>> {
        self.space.same_as(log.contexts())?;
        let entries: Vec<&Entry> =
            log.entries().iter().filter(|e| e.action as usize == action).collect();
        let left = |e: &Entry| log.value(e) - plain.at(e.context as usize, action);
        let squares: f64 = entries.iter().map(|e| e.weight * left(e).powi(2)).sum();
        let total: f64 = entries.iter().map(|e| e.weight).sum();
        let variance = squares / total;
        let mut all = Vec::new();
        for (j, k) in self.pairs() {
            let (first, second) = (&self.coarse[j], &self.coarse[k]);
            let mut cells = vec![(0.0, 0.0, 0.0); first.count * second.count];
            for e in &entries {
                let x = e.context as usize;
                let cell = &mut cells[first.of[x] as usize * second.count + second.of[x] as usize];
                *cell =
                    (cell.0 + e.weight, cell.1 + e.weight * left(e), cell.2 + e.weight * e.unit);
            }
            for a in first.ends(self.space.kind(j)) {
                for b in second.ends(self.space.kind(k)) {
                    let (mut weight, mut sum, mut units) = (0.0, 0.0, 0.0);
                    for row in a.clone() {
                        for cell in &cells[row * second.count..][b.clone()] {
                            (weight, sum, units) = (weight + cell.0, sum + cell.1, units + cell.2);
                        }
                    }
                    // Effective rows, where rows weigh differently.
                    if weight > 0.0 {
                        all.push(ColumnCorner {
                            columns: [j, k],
                            steps: [a.clone(), b],
                            share: weight / total,
                            mean: sum / weight,
                            se: (variance * units).sqrt() / weight,
                        });
                    }
                }
            }
        }
        all.sort_by(|a, b| b.share.total_cmp(&a.share));
        Ok(all)
    }

    /// The contexts of a corner.
    pub fn contexts_of<'a>(&'a self, corner: &'a ColumnCorner) -> impl Fn(usize) -> bool + 'a {
        let on = |x: usize, side: usize| {
            let step = self.coarse[corner.columns[side]].of[x] as usize;
            corner.steps[side].contains(&step)
        };
        move |x| on(x, 0) && on(x, 1)
    }

    /// Effects of steps as what they add in every context.
    fn told(
        &self,
        plain: &Values,
        kind: ResidualKind,
        effects: Vec<StepEffects>,
        range: (f64, f64),
    ) -> LeftOver {
        let left = |context: usize, action: usize| {
            let own = &effects[action];
            let step = |steps: &[Steps], k: usize| steps[k].of[context] as usize;
            let single: f64 =
                (0..self.fine.len()).map(|k| own.single[k][step(&self.fine, k)]).sum();
            let pairs = self.pairs().zip(&own.pairs);
            let pair = |((j, k), effects): ((usize, usize), &Vec<f64>)| {
                effects[step(&self.coarse, j) * self.coarse[k].count + step(&self.coarse, k)]
            };
            single + pairs.map(pair).sum::<f64>()
        };
        let matrix = Matrix::from_fn(plain.contexts(), plain.actions(), left);
        let everywhere = (kind == ResidualKind::Additive).then(|| {
            let trees: Vec<Arc<StepTree>> = self.fine.iter().map(|s| s.tree.clone()).collect();
            Everywhere::new(move || {
                let of = |own: &StepEffects| {
                    // A level that no row has adds nothing.
                    let values =
                        own.single.iter().map(|f| f.iter().copied().chain([0.0]).collect());
                    Terms { base: 0.0, trees: trees.iter().cloned().zip(values).collect() }
                };
                effects.iter().map(of).collect()
            })
        });
        LeftOver { matrix, everywhere, range }
    }
}

/// Contexts at the ends of two columns at once, and what a model has left of their outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnCorner {
    /// The columns.
    pub columns: [usize; 2],
    /// Their steps.
    pub steps: [Range<usize>; 2],
    /// The share of all rows.
    pub share: f64,
    /// The mean of what is left.
    pub mean: f64,
    /// Its standard error.
    pub se: f64,
}

/// What is left in a model's residuals, by context and action.
#[derive(Clone, Debug)]
pub struct LeftOver {
    matrix: Matrix,
    /// The same as sums of steps: of single columns alone.
    everywhere: Option<Arc<Everywhere>>,
    /// The least and the largest outcome.
    range: (f64, f64),
}

impl LeftOver {
    /// Values with what is left added back, within the range of the outcomes.
    pub fn added_to(&self, values: &Values) -> Values {
        let (low, high) = self.range;
        let value = |context: usize, action: usize| {
            let own = values.at(context, action);
            // Values that were beyond the outcomes already stay where they are.
            (own + self.matrix.at(context, action)).clamp(low.min(own), high.max(own))
        };
        let matrix = Matrix::from_fn(values.contexts(), values.actions(), value);
        Values { matrix, everywhere: None, ..values.clone() }
    }

    /// What is left, by itself.
    pub fn alone(&self, values: &Values) -> Values {
        let (matrix, everywhere) = (self.matrix.clone(), self.everywhere.clone());
        Values { matrix, everywhere, slack: 0.0, smoothing: 0.0, ..values.clone() }
    }
}

/// Which step of a feature each context is on.
#[derive(Clone, Debug)]
struct Steps {
    of: Vec<u8>,
    count: usize,
    /// The same for every place.
    tree: Arc<StepTree>,
}

impl Steps {
    /// The first few and the last few steps of an ordered column, each single one of any other; never all.
    fn ends(&self, kind: Kind) -> Vec<Range<usize>> {
        let n = self.count;
        match kind {
            Kind::Numeric | Kind::Ordinal => (1..n).flat_map(|k| [0..k, k..n]).collect(),
            _ if n > 1 => (0..n).map(|k| k..k + 1).collect(),
            _ => Vec::new(),
        }
    }

    /// Each level a step; where there are many, neighbours together so that steps have about equally
    /// many rows.
    fn new(log: &Log, feature: usize, most: usize) -> Self {
        let space: &Space = log.contexts();
        let Ranks { of: ranks, count } = space.ranks(feature);
        let mut rows = vec![0.0; count];
        log.entries().iter().for_each(|e| rows[ranks[e.context as usize] as usize] += e.weight);
        let few = count <= most;
        let (mut so_far, mut step_of) = (0.0, Vec::with_capacity(count));
        for (level, rows) in rows.iter().enumerate() {
            let quantile = ((so_far + 0.5 * rows) / log.total() * most as f64) as usize;
            step_of.push(if few { level } else { quantile.min(most - 1) } as u8);
            so_far += rows;
        }
        let of = ranks.iter().map(|rank| step_of[*rank as usize]).collect();
        let mut levels = vec![f64::NAN; count];
        ranks.iter().enumerate().for_each(|(x, r)| levels[*r as usize] = space.code(x, feature));
        let count = if few { count } else { most };
        Steps { of, count, tree: Arc::new(step_tree(space, feature, count, &levels, &step_of)) }
    }
}

/// The steps as a tree, given the codes that contexts have in order and the step of each; numbers
/// between two of them are on the lower one up to the middle, and a level that nobody has is on a
/// step after the last.
fn step_tree(
    space: &Space,
    feature: usize,
    steps: usize,
    levels: &[f64],
    step_of: &[u8],
) -> StepTree {
    let mut nodes = Vec::new();
    let split = |question: Question, at: usize| StepNode::Split {
        feature,
        question,
        yes: at as u32 + 1,
        no: at as u32 + 2,
    };
    let count = space.levels(feature).len();
    if count > 0 {
        for step in 0..steps as u32 {
            let mut own = vec![false; count];
            let levels = levels.iter().zip(step_of);
            levels.filter(|l| u32::from(*l.1) == step).for_each(|l| own[*l.0 as usize] = true);
            nodes.push(split(Question::levels(count, |l| own[l]), nodes.len()));
            nodes.push(StepNode::Leaf(step));
        }
        nodes.push(StepNode::Leaf(steps as u32));
        return StepTree { nodes };
    }
    let present = levels.iter().take_while(|l| !l.is_nan()).count();
    let step = |level: usize| step_of.get(level).map_or(steps as u32, |step| u32::from(*step));
    nodes.extend([split(Question::IsMissing, 0), StepNode::Leaf(step(present))]);
    for k in 1..present {
        if step_of[k] != step_of[k - 1] {
            let middle = 0.5 * levels[k - 1] + 0.5 * levels[k];
            let question = Question::AtMost(middle * space.scale(feature));
            nodes.push(split(question, nodes.len()));
            nodes.push(StepNode::Leaf(step(k - 1)));
        }
    }
    let last = present.checked_sub(1).map_or(steps as u32, step);
    nodes.push(StepNode::Leaf(last));
    StepTree { nodes }
}

/// The effects of steps, feature by feature, and of steps of two features together, pair by pair.
struct StepEffects {
    single: Vec<Vec<f64>>,
    pairs: Vec<Vec<f64>>,
}

/// One action's residuals and what its steps make of them so far.
struct ActionResiduals {
    /// Each cell's rows, and the sum of what is left of them.
    cells: Vec<(f64, f64)>,
    /// Each cell's step, feature by feature and then pair by pair.
    steps: Vec<Vec<u8>>,
    /// The effects found so far, in the same order.
    effects: Vec<Vec<f64>>,
    /// How many of them are of single features.
    single: usize,
    /// The variance of outcomes around the model.
    variance: f64,
}

impl ActionResiduals {
    fn new(steps: &ResidualSteps, log: &Log, values: &Values, action: usize) -> Self {
        let (mut contexts, mut cells): (Vec<usize>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
        let (mut rows, mut squares) = (0.0, 0.0);
        for e in log.entries().iter().filter(|e| e.action as usize == action) {
            let context = e.context as usize;
            let left = log.value(e) - values.at(context, action);
            (rows, squares) = (rows + e.weight, squares + e.weight * left * left);
            if contexts.last() != Some(&context) {
                contexts.push(context);
                cells.push((0.0, 0.0));
            }
            let cell = cells.len() - 1;
            cells[cell] = (cells[cell].0 + e.weight, cells[cell].1 + e.weight * left);
        }
        let of = |s: &Steps| contexts.iter().map(|x| s.of[*x]).collect::<Vec<u8>>();
        let mut own: Vec<Vec<u8>> = steps.fine.iter().map(of).collect();
        let mut effects: Vec<Vec<f64>> = steps.fine.iter().map(|s| vec![0.0; s.count]).collect();
        let coarse: Vec<Vec<u8>> = steps.coarse.iter().map(of).collect();
        for (j, k) in steps.pairs() {
            let count = steps.coarse[k].count as u8;
            own.push(coarse[j].iter().zip(&coarse[k]).map(|(a, b)| a * count + b).collect());
            effects.push(vec![0.0; steps.coarse[j].count * steps.coarse[k].count]);
        }
        let variance = if rows > 0.0 { squares / rows } else { 0.0 };
        ActionResiduals { cells, steps: own, effects, single: steps.fine.len(), variance }
    }

    /// The effects of one kind of structure, from where the last one left them.
    fn effects(&mut self, kind: ResidualKind, range: f64) -> StepEffects {
        let swept = match kind {
            ResidualKind::Additive => self.single,
            ResidualKind::Pairwise => self.effects.len(),
        };
        for _ in 0..SWEEPS {
            let before = self.cells.clone();
            self.sweep(swept);
            let moved = |(a, b): (&(f64, f64), &(f64, f64))| (a.1 - b.1).abs() / a.0;
            // Effects may still trade constants with each other, which changes no sum of them.
            if before.iter().zip(&self.cells).map(moved).fold(0.0, f64::max) <= CHANGE * range {
                break;
            }
        }
        let mut single = self.effects[..self.single].to_vec();
        if kind == ResidualKind::Pairwise {
            return StepEffects { single, pairs: self.effects[self.single..].to_vec() };
        }
        for (of, own) in self.steps.iter().zip(&mut single) {
            let mut rows = vec![0.0; own.len()];
            of.iter().zip(&self.cells).for_each(|(step, (n, _))| rows[*step as usize] += n);
            shrink(own, &rows, self.variance);
        }
        StepEffects { single, pairs: Vec::new() }
    }

    /// Fits the first few features and pairs in turn, each to what all others leave.
    fn sweep(&mut self, count: usize) {
        for (of, own) in self.steps.iter().zip(&mut self.effects).take(count) {
            let mut sums = vec![(ROWS, 0.0); own.len()];
            for (step, (rows, left)) in of.iter().zip(&self.cells) {
                let sum = &mut sums[*step as usize];
                (sum.0, sum.1) = (sum.0 + rows, sum.1 + left);
            }
            // What is left of a step with its own effect put back.
            let fresh: Vec<f64> =
                sums.iter().zip(&*own).map(|((n, sum), f)| (sum + (n - ROWS) * f) / n).collect();
            let change: Vec<f64> = fresh.iter().zip(&*own).map(|(g, f)| g - f).collect();
            for (step, (rows, left)) in of.iter().zip(&mut self.cells) {
                *left -= *rows * change[*step as usize];
            }
            *own = fresh;
        }
    }
}

/// Takes most of the noise off a feature's effects, and little of what stands out: by the share that the effects
/// together may be more than noise,
///
/// ```text
/// T = Σ_s n_s f_s² / σ²,   e = (T − d)⁺,   u = e + √(2d + 4e),   share = u / (u + d)        d steps less one
/// ```
///
/// (u is one standard deviation above what T says of their size), or by what a step alone stands out, `1 − (1.5/z)²`,
/// if that is more.
fn shrink(effects: &mut [f64], rows: &[f64], variance: f64) {
    if variance <= 0.0 {
        return;
    }
    let squares: f64 = effects.iter().zip(rows).map(|(f, n)| n * f * f / variance).sum();
    let free = (effects.len() as f64 - 1.0).max(1.0);
    let excess = (squares - free).max(0.0);
    let most = excess + (2.0 * free + 4.0 * excess).sqrt();
    let share = most / (most + free);
    for (f, n) in effects.iter_mut().zip(rows) {
        let z = n * *f * *f / variance;
        let alone = if z > 0.0 { 1.0 - STANDS_OUT * STANDS_OUT / z } else { 0.0 };
        *f *= share.max(alone);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ambiguity::Direction;
    use crate::kernel::random::Random;
    use crate::log::Entry;
    use crate::space::Feature;
    use std::sync::Arc;

    /// The slow, obvious version: each code is searched for among the different ones.
    fn by_search(log: &Log, feature: usize) -> Vec<u8> {
        let space: &Space = log.contexts();
        let code = |x: usize| space.code(x, feature);
        let mut levels: Vec<f64> = (0..space.len()).map(code).collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let place = |c: f64| levels.iter().position(|l| l.total_cmp(&c).is_eq()).unwrap();
        let mut rows = vec![0.0; levels.len()];
        log.entries().iter().for_each(|e| rows[place(code(e.context as usize))] += e.weight);
        let (mut so_far, mut step_of) = (0.0, Vec::new());
        for (level, rows) in rows.iter().enumerate() {
            let quantile = ((so_far + 0.5 * rows) / log.total() * STEPS as f64) as usize;
            step_of.push(if levels.len() <= STEPS { level } else { quantile.min(STEPS - 1) } as u8);
            so_far += rows;
        }
        (0..space.len()).map(|x| step_of[place(code(x))]).collect()
    }

    #[test]
    fn steps_are_those_of_a_search() {
        let mut random = Random::new(15, 5);
        for _ in 0..60 {
            let count = 5 + random.below(400);
            let mut column = |of: &dyn Fn(&mut Random) -> f64| -> Vec<f64> {
                (0..count).map(|_| of(&mut random)).collect()
            };
            let columns = vec![
                column(&|r| r.normal()),
                column(&|r| (3.0 * r.normal()).round()),
                column(&|r| [0.0, -0.0, f64::NAN, r.unit()][r.below(4)]),
                column(&|r| r.below(3) as f64),
                column(&|r| r.below(30) as f64),
            ];
            let names = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
            let mut features: Vec<Feature> = ["a", "b", "c"].map(Feature::numeric).to_vec();
            features.push(Feature::nominal("d", names(4)));
            features.push(Feature::ordinal("e", names(31)));
            let space = Arc::new(Space::points(features, columns).unwrap());
            let entry = |_| {
                let context = random.below(count) as u32;
                Entry { context, weight: random.unit() + 0.01, ..Entry::default() }
            };
            let entries: Vec<Entry> = (0..2 * count).map(entry).collect();
            let outcomes = Space::grid([Feature::numeric("y").levels([0.0])]).unwrap();
            let (outcomes, names) = (Arc::new(outcomes), vec!["a".to_owned()]);
            let log =
                Log::new(space, names, outcomes, vec![0.0], Direction::Cost, entries).unwrap();
            for feature in 0..5 {
                assert_eq!(
                    Steps::new(&log, feature, STEPS).of,
                    by_search(&log, feature),
                    "{feature}"
                );
            }
        }
    }
}

//! A step function taken apart by features.
//!
//! Where the factors do not change, a sum of trees that ask about one feature each is
//!
//! ```text
//! f(z) = base + Σ_k h_k(z_k),
//! ```
//!
//! `h_k` a step function of one feature: a [`Profile`]. Trees that ask about a few features tie these
//! together: each of the features has *kinds* of values that such trees do not tell apart, there is a
//! profile for each kind, and a table has what the trees add for each combination of kinds.
//!
//! The factors change with the leaf of the policy's tree, so all this is said for each of its boxes;
//! what boxes with the same factors share is said once ([`FactorPart`]).

use super::boxes::list;
use super::function::{ROUNDING, StepFunction, Terms, Weighed};
use super::{BoxSide, Extent, Question, StepNode, StepTree};
use crate::kernel::plateaus::Plateau;
use std::collections::HashMap;
use std::sync::Arc;

/// Boxes of a policy at most.
const MOST_BOXES: usize = 1 << 12;
/// Combinations of kinds that a table holds at most.
const MOST_COMBINATIONS: usize = 1 << 12;
/// Profiles' steps altogether, at most.
const MOST_STEPS: usize = 1 << 24;

/// The values of one feature and a height for each.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Whose values.
    pub feature: usize,
    /// The numbers, by rising coordinate; a level is a single number.
    pub steps: Vec<Plateau>,
    /// The level of each step, where the feature has levels.
    pub levels: Vec<u32>,
    /// The height of what is missing, and its level where the feature has levels.
    pub missing: Option<(f64, u32)>,
}

/// Features that some trees ask about together.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    /// The profile of each kind of each feature's values; none where a box has no such values.
    pub kinds: Vec<Vec<Option<u32>>>,
    /// What the trees add for each combination of kinds, the last feature's fastest.
    pub table: Arc<[f64]>,
}

/// A box of the policy's, as far as it differs from others with the same factors.
#[derive(Clone, Debug)]
pub(crate) struct PolicyBox {
    /// Profiles that add up.
    pub profiles: Vec<u32>,
    /// Features that go together.
    pub joints: Vec<Joint>,
}

impl PolicyBox {
    /// Combinations of kinds that its joint features have.
    pub fn combinations(&self) -> usize {
        self.joints.iter().map(|joint| joint.table.len()).sum()
    }
}

/// The boxes that have the same factors.
#[derive(Clone, Debug)]
pub(crate) struct FactorPart {
    /// What is added everywhere.
    pub base: f64,
    /// Profiles that all its boxes have.
    pub shared: Vec<u32>,
    /// The boxes.
    pub places: Vec<PolicyBox>,
}

/// A function, feature by feature.
#[derive(Clone, Debug)]
pub(crate) struct Separated {
    /// All profiles.
    pub profiles: Vec<Profile>,
    /// The boxes by their factors.
    pub parts: Vec<FactorPart>,
    /// No value is larger than this.
    pub largest: f64,
}

impl Separated {
    /// Puts something else in the place of every value; sums of values must turn into sums.
    pub fn turn(&mut self, value: impl Fn(f64) -> f64) {
        for profile in &mut self.profiles {
            profile.steps.iter_mut().for_each(|step| step.height = value(step.height));
            profile.missing.iter_mut().for_each(|(height, _)| *height = value(*height));
        }
        for part in &mut self.parts {
            part.base = value(part.base);
            for joint in part.places.iter_mut().flat_map(|place| &mut place.joints) {
                joint.table = joint.table.iter().map(|v| value(*v)).collect();
            }
        }
    }

    /// The most combinations of kinds that a box has.
    pub fn combinations(&self) -> usize {
        let places = self.parts.iter().flat_map(|part| &part.places);
        places.map(PolicyBox::combinations).max().unwrap_or(0)
    }

    /// The features that some profile is of.
    pub fn features(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.profiles.iter().map(|p| p.feature).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Takes a function apart; None if it has too many combinations or boxes for that.
pub(crate) fn separate(extent: &Extent, function: &StepFunction) -> Option<Separated> {
    let features = extent.whole.len();
    let trees = function.terms.iter().flat_map(|t| &t.trees).map(|(tree, _)| &**tree);
    let cells: Vec<FeatureCells> = cells(extent, trees);
    // A box's value is the number of its leaf: the policy's tree as the only term of a sum.
    let numbers: Vec<f64> = (0..function.policy.leaf_count()).map(|leaf| leaf as f64).collect();
    let of_leaf =
        Terms { base: 0.0, trees: vec![(Arc::new(function.policy.clone()), numbers.into())] };
    let leaves = StepFunction {
        policy: StepTree::leaf(),
        rows: vec![vec![Weighed { factor: 1.0, terms: 0 }]],
        terms: vec![of_leaf],
    };
    let boxes = list(extent, &leaves, MOST_BOXES)?;

    // Boxes by their factors.
    let mut parts: Vec<(&[Weighed], Vec<usize>)> = Vec::new();
    for b in 0..boxes.len() {
        let row = &function.rows[boxes.values[b] as usize][..];
        match parts.iter_mut().find(|(known, _)| *known == row) {
            Some((_, members)) => members.push(b),
            None => parts.push((row, vec![b])),
        }
    }
    let mut found = Separated { profiles: Vec::new(), parts: Vec::new(), largest: 0.0 };
    let mut steps = 0;
    for (row, members) in parts {
        let sum = FactorSum::new(extent, &cells, function, row)?;
        found.largest = found.largest.max(sum.largest());
        let mut known: HashMap<(u32, u32), Option<u32>> = HashMap::new();
        let mut profile = |side: u32, feature: usize, kind: u32| {
            *known.entry((side, kind)).or_insert_with(|| {
                let made = sum.profile(feature, &boxes.sides.all[side as usize].1, kind)?;
                steps += made.steps.len();
                found.profiles.push(made);
                Some(found.profiles.len() as u32 - 1)
            })
        };
        let places = members.iter().map(|&b| {
            let mut sides = boxes.sides.whole.clone();
            for &side in boxes.sides_of(b) {
                sides[boxes.sides.all[side as usize].0] = side;
            }
            let matters = |k: &usize| sides[*k] != boxes.sides.whole[*k] || sum.varies(*k);
            let single = (0..features).filter(|k| !sum.is_joined(*k)).filter(matters);
            let joint = |(of, table): &(Vec<usize>, Arc<[f64]>)| {
                let kinds = |&k: &usize| sum.kind_count(k) as u32;
                let kinds = |k: &usize| (0..kinds(k)).map(|s| profile(sides[*k], *k, s)).collect();
                Joint { kinds: of.iter().map(kinds).collect(), table: table.clone() }
            };
            let joints = sum.joints.iter().map(joint).collect();
            PolicyBox { profiles: single.filter_map(|k| profile(sides[k], k, 0)).collect(), joints }
        });
        let mut places: Vec<PolicyBox> = places.collect();
        let (first, others) = places.split_first()?;
        let everywhere = |p: &&u32| others.iter().all(|place| place.profiles.contains(p));
        let shared: Vec<u32> = first.profiles.iter().filter(everywhere).copied().collect();
        places.iter_mut().for_each(|place| place.profiles.retain(|p| !shared.contains(p)));
        found.parts.push(FactorPart { base: sum.base, shared, places });
        if steps > MOST_STEPS {
            return None;
        }
    }
    Some(found)
}

/// The values of a feature that no tree tells apart, those of numbers by rising coordinate.
struct FeatureCells {
    /// The ends of numbers; a level is a single number.
    numbers: Vec<(f64, f64)>,
    /// A code of each cell; what is missing last, if it is.
    codes: Vec<f64>,
}

/// The cells of each feature under the questions of all trees.
fn cells<'f>(extent: &Extent, trees: impl Iterator<Item = &'f StepTree>) -> Vec<FeatureCells> {
    let mut thresholds: Vec<Vec<f64>> = vec![Vec::new(); extent.whole.len()];
    for node in trees.flat_map(|tree| &tree.nodes) {
        if let StepNode::Split { feature, question: Question::AtMost(t), .. } = node {
            thresholds[*feature].push(*t);
        }
    }
    let of_feature = |(k, mut at): (usize, Vec<f64>)| match &extent.whole[k] {
        &BoxSide::Line { low, high, missing } => {
            at.retain(|t| *t >= low && *t < high);
            at.sort_unstable_by(f64::total_cmp);
            at.dedup();
            let lows = std::iter::once(low).chain(at.iter().map(|t| t.next_up()));
            let ends = lows.zip(at.iter().copied().chain([high])).filter(|(low, high)| low <= high);
            let numbers: Vec<(f64, f64)> = ends.collect();
            let codes = numbers.iter().map(|(_, high)| high / extent.scales[k]);
            let codes = codes.chain(missing.then_some(f64::NAN)).collect();
            FeatureCells { numbers, codes }
        }
        BoxSide::Levels(_) => {
            let coords = &extent.coords[k];
            let mut order: Vec<usize> = (0..coords.len()).collect();
            // NaN, the missing level's coordinate, comes last.
            order.sort_by(|&a, &b| coords[a].total_cmp(&coords[b]));
            let numbers = order.iter().map(|&l| coords[l]).filter(|x| !x.is_nan());
            FeatureCells {
                numbers: numbers.map(|x| (x, x)).collect(),
                codes: order.iter().map(|&l| l as f64).collect(),
            }
        }
    };
    thresholds.into_iter().enumerate().map(of_feature).collect()
}

/// A sum of trees with the factors of one leaf of the policy's, cell by cell.
struct FactorSum<'f> {
    extent: &'f Extent,
    cells: &'f [FeatureCells],
    base: f64,
    /// What each feature's own trees add in each cell.
    heights: Vec<Vec<f64>>,
    /// The kind of each cell: which cells trees of several features do not tell apart.
    kinds: Vec<Vec<u32>>,
    /// Features that go together, and what their trees add for each combination of kinds.
    joints: Vec<(Vec<usize>, Arc<[f64]>)>,
}

impl<'f> FactorSum<'f> {
    fn new(
        extent: &'f Extent,
        cells: &'f [FeatureCells],
        function: &'f StepFunction,
        row: &[Weighed],
    ) -> Option<Self> {
        let none = |of: &FeatureCells| vec![0.0; of.codes.len()];
        let mut base = 0.0;
        let mut heights: Vec<Vec<f64>> = cells.iter().map(none).collect();
        let mut sizes: Vec<Vec<f64>> = cells.iter().map(none).collect();
        let mut several: Vec<(f64, &StepTree, &[f64])> = Vec::new();
        for w in row {
            let terms = &function.terms[w.terms];
            base += w.factor * terms.base;
            for (tree, values) in &terms.trees {
                match tree.only_feature() {
                    Some(None) => base += w.factor * values[tree.leaf_of(extent, |_| 0.0) as usize],
                    Some(Some(k)) => {
                        let all = heights[k].iter_mut().zip(&mut sizes[k]).zip(&cells[k].codes);
                        for ((height, size), &code) in all {
                            let value = values[tree.leaf_of(extent, |_| code) as usize];
                            *height += w.factor * value;
                            *size += (w.factor * value).abs();
                        }
                    }
                    None => several.push((w.factor, tree, values)),
                }
            }
        }
        for (of_feature, sizes) in heights.iter_mut().zip(&sizes) {
            level_out(of_feature, sizes);
        }
        let kinds = cells.iter().map(|of| vec![0; of.codes.len()]).collect();
        let mut sum = FactorSum { extent, cells, base, heights, kinds, joints: Vec::new() };
        sum.tie(&several)?;
        Some(sum)
    }

    /// Joins the features that trees ask about together.
    fn tie(&mut self, several: &[(f64, &StepTree, &[f64])]) -> Option<()> {
        for features in joined(self.cells.len(), several.iter().map(|(_, tree, _)| *tree)) {
            let own: Vec<_> = several
                .iter()
                .filter(|(_, t, _)| asked(t).all(|(k, _)| features.contains(&k)))
                .collect();
            // A code of each kind of each feature.
            let mut first: Vec<Vec<f64>> = Vec::new();
            for &k in &features {
                let mut known: HashMap<Vec<bool>, u32> = HashMap::new();
                let mut codes = Vec::new();
                for (kind, &code) in self.kinds[k].iter_mut().zip(&self.cells[k].codes) {
                    let of_feature = own.iter().flat_map(|(_, t, _)| asked(t)).filter(|a| a.0 == k);
                    let answers = of_feature.map(|(_, q)| q.holds(self.extent, k, code)).collect();
                    *kind = *known.entry(answers).or_insert(codes.len() as u32);
                    if *kind as usize == codes.len() {
                        codes.push(code);
                    }
                }
                first.push(codes);
            }
            let count = first.iter().try_fold(1usize, |n, kinds| n.checked_mul(kinds.len()))?;
            if count > MOST_COMBINATIONS {
                return None;
            }
            let mut codes = vec![0.0; self.cells.len()];
            let value = |combination: usize| {
                let mut left = combination;
                for (&k, kinds) in features.iter().zip(&first).rev() {
                    codes[k] = kinds[left % kinds.len()];
                    left /= kinds.len();
                }
                let value = |(factor, tree, values): &&(f64, &StepTree, &[f64])| {
                    factor * values[tree.leaf_of(self.extent, |k| codes[k]) as usize]
                };
                own.iter().map(value).sum()
            };
            let table: Vec<f64> = (0..count).map(value).collect();
            self.joints.push((features, table.into()));
        }
        Some(())
    }

    /// Whether a feature's own trees tell its values apart.
    fn varies(&self, feature: usize) -> bool {
        self.heights[feature].iter().any(|h| *h != 0.0)
    }

    fn is_joined(&self, feature: usize) -> bool {
        self.joints.iter().any(|(features, _)| features.contains(&feature))
    }

    fn kind_count(&self, feature: usize) -> usize {
        self.kinds[feature].iter().max().map_or(1, |most| *most as usize + 1)
    }

    /// No value of the sum is larger.
    fn largest(&self) -> f64 {
        let most = |all: &[f64]| all.iter().fold(0.0, |most: f64, h| most.max(h.abs()));
        let alone: f64 = self.heights.iter().map(|of| most(of)).sum();
        let together: f64 = self.joints.iter().map(|(_, table)| most(table)).sum();
        self.base.abs() + alone + together
    }

    /// The values of a side that are of a kind, with their heights; None if there are none.
    fn profile(&self, feature: usize, side: &BoxSide, kind: u32) -> Option<Profile> {
        let (cells, heights) = (&self.cells[feature], &self.heights[feature]);
        let is_line = self.extent.is_line(feature);
        let mut found = Profile { feature, steps: vec![], levels: vec![], missing: None };
        for (cell, &height) in heights.iter().enumerate() {
            if self.kinds[feature][cell] != kind {
                continue;
            }
            let level = if is_line { 0 } else { cells.codes[cell] as u32 };
            match (cells.numbers.get(cell), side) {
                (Some((from, to)), BoxSide::Line { low, high, .. }) => {
                    let (low, high) = (from.max(*low), to.min(*high));
                    if low <= high {
                        found.steps.push(Plateau { low, high, height });
                    }
                }
                (None, BoxSide::Line { missing, .. }) => {
                    found.missing = missing.then_some((height, 0));
                }
                (number, BoxSide::Levels(_)) if side.has_level(level as usize) => match number {
                    Some(&(low, high)) => {
                        found.steps.push(Plateau { low, high, height });
                        found.levels.push(level);
                    }
                    None => found.missing = Some((height, level)),
                },
                (_, BoxSide::Levels(_)) => {}
            }
        }
        // Neighbours of one height are one step.
        if is_line {
            found.steps.dedup_by(|next, kept| {
                let same = next.height == kept.height && next.low == kept.high.next_up();
                if same {
                    kept.high = next.high;
                }
                same
            });
        }
        (!found.steps.is_empty() || found.missing.is_some()).then_some(found)
    }
}

/// The questions of a tree and whom they are about.
fn asked(tree: &StepTree) -> impl Iterator<Item = (usize, &Question)> {
    tree.nodes.iter().filter_map(|node| match node {
        StepNode::Split { feature, question, .. } => Some((*feature, question)),
        StepNode::Leaf(_) => None,
    })
}

/// The features that trees ask about together, directly or through others.
fn joined<'t>(features: usize, trees: impl Iterator<Item = &'t StepTree>) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..features).collect();
    let mut tied = vec![false; features];
    for tree in trees {
        let mut of_tree = asked(tree).map(|(k, _)| k);
        let Some(first) = of_tree.next() else { continue };
        tied[first] = true;
        for k in of_tree {
            tied[k] = true;
            let (from, to) = (group[k], group[first]);
            group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
        }
    }
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    for k in (0..features).filter(|k| tied[*k]) {
        found.entry(group[k]).or_default().push(k);
    }
    let mut found: Vec<Vec<usize>> = found.into_values().collect();
    found.sort_unstable();
    found
}

/// Heights that are equal but for the rounding of their sums are made equal, so that the cheaper of
/// two places as high is preferred.
fn level_out(heights: &mut [f64], sizes: &[f64]) {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_unstable_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    for pair in 1..order.len() {
        let (lower, upper) = (order[pair - 1], order[pair]);
        let apart = heights[upper] - heights[lower];
        if apart <= ROUNDING * sizes[upper].max(sizes[lower]) {
            heights[upper] = heights[lower];
        }
    }
}

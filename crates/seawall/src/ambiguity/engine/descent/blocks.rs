//! Sums of trees as sums of fewer step functions, each with its boxes listed.
//!
//! ```text
//! f(z) = base + Σ_t v_t[box_t(z)]    in each box of the policy's
//! ```
//!
//! Trees of one sum that ask about the same features are added up to one *block* as long as it has few
//! boxes: the maximum of a sum of trees is below the sum of their maxima, and the fewer maxima are
//! added the smaller the difference. Trees of a single feature become one block a feature.

use crate::ambiguity::values::ValueUnits;
use crate::error::{Error, Result};
use crate::steps::{BoxSide, Extent, StepFunction, StepNode, StepTree, Terms, Weighed, list};
use std::collections::HashMap;
use std::sync::Arc;

/// Boxes of the policy's, at most.
const MOST_REGIONS: usize = 1 << 12;
/// Boxes of one tree, or of the trees of one feature, at most.
const MOST_BOXES: usize = 1 << 14;
/// Trees of several features are added up while the sum has no more boxes.
const MERGED: usize = 128;

/// A side of a box, and which of the block's features it is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionCut {
    pub side: u32,
    pub slot: u32,
}

/// A sum of some trees.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Which sum of the function's it is part of.
    terms: usize,
    /// The features that its boxes have sides of.
    pub features: Vec<usize>,
    /// Where each box's cuts begin, and where the last one's end.
    starts: Vec<u32>,
    cuts: Vec<RegionCut>,
    /// The value in each box.
    pub values: Vec<f64>,
}

impl Block {
    /// The sides of a box that do not hold everything.
    #[inline(always)]
    pub fn cuts(&self, of_box: u32) -> &[RegionCut] {
        let of_box = of_box as usize;
        &self.cuts[self.starts[of_box] as usize..self.starts[of_box + 1] as usize]
    }
}

/// A box of the policy's.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// Its side of each feature.
    pub sides: Vec<BoxSide>,
    /// Those that do not hold everything.
    pub cuts: Vec<u32>,
    pub base: f64,
    /// The blocks and what their values are multiplied with.
    pub members: Vec<(usize, f64)>,
    /// The boxes of each member that meet the region.
    pub alive: Vec<Vec<u32>>,
    /// No value in the region is larger.
    pub top: f64,
}

/// All of a function, in heights.
#[derive(Debug)]
pub(super) struct Blocks {
    /// All sides and whose they are.
    pub sides: Vec<(usize, BoxSide)>,
    /// What each side costs from each level of its feature, where that has levels.
    pub by_level: Vec<Option<Vec<f64>>>,
    pub blocks: Vec<Block>,
    pub regions: Vec<Region>,
    pub units: ValueUnits,
}

impl Blocks {
    pub fn new(
        extent: &Extent,
        function: &StepFunction,
        units: impl Fn(f64) -> ValueUnits,
    ) -> Result<Self> {
        let mut sides = SideNumbers { all: Vec::new(), known: HashMap::new() };
        let mut blocks = Vec::new();
        for (number, terms) in function.terms.iter().enumerate() {
            for trees in grouped(extent, terms) {
                blocks.push(block(extent, &mut sides, number, trees)?);
            }
        }
        // A box's value is the number of its leaf.
        let leaves = (0..function.policy.leaf_count()).map(|leaf| leaf as f64).collect();
        let policy = [(Arc::new(function.policy.clone()), leaves)];
        let places = list(extent, &alone(&policy), MOST_REGIONS).ok_or_else(too_many)?;
        let mut regions = Vec::new();
        for place in 0..places.len() {
            let mut own = extent.whole.clone();
            let mut cuts = Vec::new();
            for &side in places.sides_of(place) {
                let (feature, side) = &places.sides.all[side as usize];
                cuts.push(sides.number(*feature, side));
                own[*feature] = side.clone();
            }
            let row = &function.rows[places.values[place] as usize];
            regions.push(region((own, cuts), row, function, &blocks, &sides.all));
        }
        let largest = regions.iter().map(|region| size(region, &blocks)).fold(0.0, f64::max);
        let units = units(largest);
        for region in &mut regions {
            region.base = units.scaled(region.base);
            region.members.iter_mut().for_each(|(_, factor)| *factor = units.scaled(*factor));
            region.top = region.base;
            for ((block, factor), alive) in region.members.iter().zip(&region.alive) {
                let values = alive.iter().map(|b| factor * blocks[*block].values[*b as usize]);
                region.top += values.fold(f64::NEG_INFINITY, f64::max);
            }
        }
        let by_level = sides.all.iter().map(|(feature, side)| {
            (!extent.is_line(*feature)).then(|| extent.level_costs(*feature, side))
        });
        Ok(Blocks { by_level: by_level.collect(), sides: sides.all, blocks, regions, units })
    }

    /// The features that some box has a side of.
    pub fn features(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.sides.iter().map(|(feature, _)| *feature).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn too_many() -> Error {
    Error::config("a tree has more boxes than can be listed")
}

/// Sides, each kept once.
struct SideNumbers {
    all: Vec<(usize, BoxSide)>,
    known: HashMap<(usize, Vec<u64>), u32>,
}

impl SideNumbers {
    fn number(&mut self, feature: usize, side: &BoxSide) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.known.entry((feature, side.key())).or_insert(next);
        if number == next {
            self.all.push((feature, side.clone()));
        }
        number
    }
}

type ValuedBoxes = (Arc<StepTree>, Arc<[f64]>);

/// The sum of some trees, whatever the policy.
fn alone(trees: &[ValuedBoxes]) -> StepFunction {
    StepFunction {
        policy: StepTree::leaf(),
        rows: vec![vec![Weighed { factor: 1.0, terms: 0 }]],
        terms: vec![Terms { base: 0.0, trees: trees.to_vec() }],
    }
}

/// Trees that go into one block each.
fn grouped(extent: &Extent, terms: &Terms) -> Vec<Vec<ValuedBoxes>> {
    let features = |tree: &StepTree| {
        let mut asked: Vec<usize> = Vec::new();
        for node in &tree.nodes {
            if let StepNode::Split { feature, .. } = node
                && !asked.contains(feature)
            {
                asked.push(*feature);
            }
        }
        asked.sort_unstable();
        asked
    };
    let mut trees: Vec<(Vec<usize>, ValuedBoxes)> =
        terms.trees.iter().map(|valued| (features(&valued.0), valued.clone())).collect();
    // Those of few features first, those of the same features side by side.
    trees.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(&b.0)));
    let mut groups: Vec<(Vec<usize>, Vec<ValuedBoxes>)> = Vec::new();
    for (asked, valued) in trees {
        if let Some((of_group, group)) = groups.last_mut() {
            let same = *of_group == asked;
            let most = if asked.len() < 2 { MOST_BOXES } else { MERGED };
            if same || of_group.len() >= 2 {
                group.push(valued.clone());
                if list(extent, &alone(group), most).is_some() {
                    of_group.extend(
                        asked.iter().filter(|k| !of_group.contains(k)).copied().collect::<Vec<_>>(),
                    );
                    continue;
                }
                group.pop();
            }
        }
        groups.push((asked, vec![valued]));
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The boxes of a sum of trees.
fn block(
    extent: &Extent,
    sides: &mut SideNumbers,
    terms: usize,
    trees: Vec<ValuedBoxes>,
) -> Result<Block> {
    let boxes = list(extent, &alone(&trees), MOST_BOXES).ok_or_else(too_many)?;
    let features = boxes.features();
    let (mut starts, mut cuts) = (vec![0], Vec::new());
    for b in 0..boxes.len() {
        for &side in boxes.sides_of(b) {
            let (feature, side) = &boxes.sides.all[side as usize];
            let slot = features.partition_point(|k| k < feature) as u32;
            cuts.push(RegionCut { side: sides.number(*feature, side), slot });
        }
        starts.push(cuts.len() as u32);
    }
    Ok(Block { terms, features, starts, cuts, values: boxes.values })
}

/// A box of the policy's with the blocks of its row.
fn region(
    (sides, cuts): (Vec<BoxSide>, Vec<u32>),
    row: &[Weighed],
    function: &StepFunction,
    blocks: &[Block],
    all: &[(usize, BoxSide)],
) -> Region {
    let base = row.iter().map(|w| w.factor * function.terms[w.terms].base).sum();
    let mut members = Vec::new();
    for w in row {
        let own = blocks.iter().enumerate().filter(|(_, block)| block.terms == w.terms);
        members.extend(own.map(|(number, _)| (number, w.factor)));
    }
    let meets = |block: &Block, of_box: u32| {
        let cuts = block.cuts(of_box).iter().map(|cut| &all[cut.side as usize]);
        cuts.fold(true, |all, (feature, side)| all && side.meets(&sides[*feature]))
    };
    let alive = |(number, _): &(usize, f64)| {
        let block = &blocks[*number];
        (0..block.values.len() as u32).filter(|b| meets(block, *b)).collect()
    };
    let alive = members.iter().map(alive).collect();
    Region { sides, cuts, base, members, alive, top: 0.0 }
}

/// No value in a region is larger in size.
fn size(region: &Region, blocks: &[Block]) -> f64 {
    let most = |(number, factor): &(usize, f64)| {
        blocks[*number].values.iter().fold(0.0, |most: f64, v| most.max((factor * v).abs()))
    };
    region.base.abs() + region.members.iter().map(most).sum::<f64>()
}

//! Every context's leaf in a grown tree, a leaf at a time.
//!
//! On a grid a leaf is a box: so many levels of each feature. Going down the tree once and filling
//! the boxes touches each context once, where looking up its leaf would follow a path for each.

use super::axes::Axes;
use super::grower::Grown;
use crate::space::{Grid, Layout};

/// Calls `visit` with every context and its leaf, each once.
pub(super) fn each_leaf(tree: &Grown, axes: &Axes, visit: &mut impl FnMut(usize, usize)) {
    match axes.space.layout() {
        Layout::Grid(grid) => {
            let levels = grid.levels().iter().map(|&n| (0..n as u32).collect()).collect();
            Boxes { tree, axes, grid, levels }.descend(0, visit);
        }
        _ => (0..axes.space.len()).for_each(|x| visit(x, tree.leaf(axes.row(x)))),
    }
}

/// A node's box on its way down a tree.
struct Boxes<'a> {
    tree: &'a Grown,
    axes: &'a Axes,
    grid: &'a Grid,
    /// The space's levels of each feature within the box.
    levels: Vec<Vec<u32>>,
}

impl Boxes<'_> {
    fn descend(&mut self, node: usize, visit: &mut impl FnMut(usize, usize)) {
        let Some(split) = self.tree.split(node) else {
            return self.fill(0, 0, node, visit);
        };
        let feature = split.feature();
        let axis = &self.axes.axes[feature];
        let goes_left = |level: &u32| self.tree.goes_left(split, axis.number(*level));
        let own = std::mem::take(&mut self.levels[feature]);
        let (left, right): (Vec<u32>, Vec<u32>) = own.iter().partition(|l| goes_left(l));
        let first = split.left();
        for (levels, child) in [(left, first), (right, first + 1)] {
            if !levels.is_empty() {
                self.levels[feature] = levels;
                self.descend(child, visit);
            }
        }
        self.levels[feature] = own;
    }

    /// Visits every context of the box.
    fn fill(&self, feature: usize, base: usize, leaf: usize, visit: &mut impl FnMut(usize, usize)) {
        let stride = self.grid.stride(feature);
        let last = feature + 1 == self.levels.len();
        for &level in &self.levels[feature] {
            let at = base + level as usize * stride;
            if last { visit(at, leaf) } else { self.fill(feature + 1, at, leaf, visit) }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::kernel::random::Random;
    use crate::outcome::grower::{ActionCells, Grower, Growth};
    use crate::{Direction, Entry, Feature, Log, Space};
    use std::sync::Arc;

    /// Boxes give every context the leaf that it is looked up in, missing and nominal levels too.
    #[test]
    fn boxes_are_the_leaves_that_are_looked_up() {
        let mut random = Random::new(3, 0);
        for round in 0..40 {
            let levels = [2.0, 5.0, 1.0, 9.0];
            let space = Space::grid([
                Feature::numeric("u").levels(levels[..3 + round % 2].to_vec()).missing_cost(1.0),
                Feature::nominal("v", ["a", "b", "c", "d", "e"]),
                Feature::ordinal("w", ["low", "middle", "high"]),
            ]);
            let space = Arc::new(space.unwrap());
            let outcomes =
                Space::grid([Feature::numeric("y").levels(vec![0.0, 1.0, 2.0])]).unwrap();
            let entry = |_| Entry {
                context: random.below(space.len()) as u32,
                outcome: random.below(3) as u32,
                ..Entry::default()
            };
            let entries: Vec<Entry> = (0..80).map(entry).collect();
            let (names, values) = (vec!["only".to_owned()], vec![0.0, 1.0, 2.0]);
            let log = Log::new(
                space.clone(),
                names,
                Arc::new(outcomes),
                values,
                Direction::Cost,
                entries,
            );
            let log = log.unwrap();
            let axes = Axes::new(&log);
            let cells = ActionCells::new(&log, &axes, 0).unwrap();
            let growth = Growth { max_depth: 6, min_leaf: 2.0, tried: 2 };
            let mut draws = Random::new(round as u64, 1);
            let tree = Grower::new(&axes, &cells).grow(&cells.sums, growth, &mut draws);
            let mut found = vec![usize::MAX; space.len()];
            each_leaf(&tree, &axes, &mut |x, leaf| {
                assert_eq!(found[x], usize::MAX, "context {x} twice");
                found[x] = leaf;
            });
            let expected: Vec<usize> = (0..space.len()).map(|x| tree.leaf(axes.row(x))).collect();
            assert_eq!(found, expected);
        }
    }
}

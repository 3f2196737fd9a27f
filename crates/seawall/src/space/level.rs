//! The part of a space with one level of a feature.

use super::checked::Checked;
use super::{Grid, Layout, Points, Space};
use crate::error::{Error, Result};

impl Space {
    /// The places with one level of a feature, which there has that level alone, and which of these
    /// places they are; all other features and costs as they are. A feature without levels is refused.
    pub fn at_level(&self, feature: usize, level: usize) -> Result<(Self, Vec<usize>)> {
        let Some(own) = self.features.get(feature) else {
            return Err(Error::input(format!("feature {feature} of {}", self.features.len())));
        };
        let count = own.level_count();
        if level >= count {
            return Err(own.error(format!("level {level} of {count}")));
        }
        let places: Vec<usize> =
            (0..self.len()).filter(|&i| self.code(i, feature) as usize == level).collect();
        let mut features: Vec<Checked> = self.features.clone();
        features[feature] = own.only(level);
        let layout = match &self.layout {
            Layout::Grid(grid) => {
                let mut levels = grid.levels().to_vec();
                levels[feature] = 1;
                Layout::Grid(Grid::new(levels)?)
            }
            Layout::Points(_) => {
                let code = |k: usize, i: usize| if k == feature { 0.0 } else { self.code(i, k) };
                let column = |k: usize| places.iter().map(|&i| code(k, i)).collect();
                let columns = (0..features.len()).map(column).collect();
                Layout::Points(Points::new(&features, columns)?)
            }
        };
        Ok((Space { features, layout }, places))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Feature;

    #[test]
    fn a_part_has_the_costs_and_labels_of_the_whole() {
        let grid = Space::grid([
            Feature::numeric("age").levels(vec![1.0, 2.0, 4.0]),
            Feature::nominal("sex", ["F", "M"]).with_missing(),
            Feature::ordinal("severity", ["low", "middle", "high"]),
        ]);
        let grid = grid.unwrap();
        let points = grid.subset(&[0, 3, 5, 7, 11, 14, 20, 26]).unwrap();
        for space in [&grid, &points] {
            for feature in 0..3 {
                for level in 0..space.levels(feature).len() {
                    let found = space.at_level(feature, level);
                    let all = 0..space.len();
                    let expected: Vec<usize> =
                        all.filter(|&i| space.code(i, feature) as usize == level).collect();
                    if expected.is_empty() {
                        assert!(found.is_err());
                        continue;
                    }
                    let (part, places) = found.unwrap();
                    assert_eq!(places, expected);
                    assert_eq!(part.len(), places.len());
                    for (i, &x) in places.iter().enumerate() {
                        assert_eq!(part.describe(i), space.describe(x));
                        for (j, &z) in places.iter().enumerate() {
                            assert_eq!(part.cost(i, j), space.cost(x, z));
                        }
                    }
                }
            }
        }
        assert!(grid.at_level(3, 0).is_err() && grid.at_level(0, 3).is_err());
        let line = Space::points([Feature::numeric("x")], vec![vec![1.0, 2.0]]).unwrap();
        assert!(line.at_level(0, 0).is_err());
    }
}

//! More levels for a space: places that another population has and this one never saw.
//!
//! Positions and weights stay as they are, so no distance between old places changes. Not here:
//! which values are new, and whether they are meant.

use super::checked::{Checked, Codes};
use super::{Grid, Layout, Points, Space, Value, bits, check_dearest};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// A level that a feature does not have yet.
#[derive(Clone, Debug, PartialEq)]
pub enum NewLevel {
    /// A number of a numeric feature.
    Number(f64),
    /// A level of a nominal or fixed feature.
    Level(String),
    /// A level of an ordinal feature, and its position as [`Space::positions`] tells them.
    Placed(String, f64),
}

/// A space with more places.
#[derive(Clone, Debug)]
pub struct Extension {
    /// The larger space.
    pub space: Arc<Space>,
    /// Where each point kept is in it.
    pub kept: Vec<u32>,
    /// Where each added place is in it.
    pub placed: Vec<u32>,
}

impl Space {
    /// The same features with more levels: every combination if the space is a grid and that has at
    /// most `most` cells, else the points of `keep` and the `places`, each a value per feature.
    pub fn extended(
        &self,
        more: &[Vec<NewLevel>],
        keep: &[usize],
        places: &[Vec<Value<'_>>],
        most: f64,
    ) -> Result<Extension> {
        let count = self.features.len();
        if more.len() != count || places.iter().any(|p| p.len() != count) {
            return Err(Error::input(format!("expected levels and places of {count} features")));
        }
        let (mut features, mut moved) = (Vec::new(), Vec::new());
        for (feature, more) in self.features.iter().zip(more) {
            let (feature, of_old) = feature.with_levels(more)?;
            features.push(feature);
            moved.push(of_old);
        }
        check_dearest(&features)?;
        let old = |&i: &usize| -> Vec<f64> {
            let code = |k: usize| match self.code(i, k) {
                code if moved[k].is_empty() || code.is_nan() => code,
                code => moved[k][code as usize] as f64,
            };
            (0..count).map(code).collect()
        };
        let codes: Vec<Codes<'_>> = features.iter().map(Checked::codes).collect();
        let new = |place: &Vec<Value<'_>>| -> Result<Vec<f64>> {
            codes.iter().zip(place).map(|(codes, value)| codes.find(*value)).collect()
        };
        let kept: Vec<Vec<f64>> = keep.iter().map(old).collect();
        let placed: Vec<Vec<f64>> = places.iter().map(new).collect::<Result<_>>()?;
        drop(codes);
        let cells: f64 = features.iter().map(|f| f.level_count() as f64).product();
        if matches!(self.layout, Layout::Grid(_)) && cells <= most {
            let grid = Grid::new(features.iter().map(Checked::level_count).collect())?;
            let cell = |codes: &Vec<f64>| grid.cell(codes.iter().map(|c| *c as usize)) as u32;
            let (kept, placed) =
                (kept.iter().map(cell).collect(), placed.iter().map(cell).collect());
            let space = Arc::new(Space { features, layout: Layout::Grid(grid) });
            return Ok(Extension { space, kept, placed });
        }
        let mut numbers: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); count];
        let mut number = |codes: &Vec<f64>| {
            let next = numbers.len() as u32;
            let key = codes.iter().map(|&c| bits(c)).collect();
            let found = *numbers.entry(key).or_insert(next);
            if found == next {
                columns.iter_mut().zip(codes).for_each(|(column, c)| column.push(*c));
            }
            found
        };
        let kept = kept.iter().map(&mut number).collect();
        let placed = placed.iter().map(&mut number).collect();
        let points = Points::new(&features, columns)?;
        let space = Arc::new(Space { features, layout: Layout::Points(points) });
        Ok(Extension { space, kept, placed })
    }

    /// Where an ordinal or numeric feature's levels are, in the units that its weight multiplies;
    /// NaN for the missing one.
    pub fn positions(&self, feature: usize) -> Vec<f64> {
        let f = &self.features[feature];
        f.coords.iter().map(|x| x / f.scale).collect()
    }
}

//! The points of a population in coordinates in which it has mean 0 and second moments I; how columns are
//! coded is told in [`moments`](super::moments).

use super::ambiguity_set::{SMALLER, smaller};
use super::geometry::Geometry;
use crate::error::{Error, Field, Result};
use crate::kernel::eigen::symmetric;
use crate::kernel::program::products;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::space::{Kind, Space, bits};
use std::sync::Arc;

/// A variance below this share of the squared range is none.
pub(super) const LEAST_SHARE: f64 = 1e-12;
/// An eigenvalue of the correlations below this is none.
const LEAST_EIGENVALUE: f64 = 1e-10;
/// A point this far along a direction in which nobody varies, in standard deviations of the columns, is
/// off it.
const OFF: f64 = 1e-6;
/// Coordinates at most.
const MOST_COORDINATES: usize = 30;
/// Points times unknowns at most.
const MOST_NUMBERS: usize = 20_000_000;

/// The points that may have mass, in coordinates in which the population has mean 0 and second moments I.
pub(super) struct WhitenedPoints {
    pub points: Vec<u32>,
    pub nominal: Vec<f64>,
    pub features: usize,
    /// Ones, the coordinates and their packed products, column by column.
    pub columns: Vec<f64>,
}

impl WhitenedPoints {
    /// That of a geometry, made once.
    pub fn of(geometry: &Geometry) -> Result<Arc<Self>> {
        geometry.prepared("moments", || WhitenedPoints::new(geometry.population()))
    }

    fn new(population: &Population) -> Result<Self> {
        let (space, weights) = (population.space(), population.weights());
        let coordinates = coordinates(space, weights)?;
        let mut inside = vec![true; space.len()];
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for mut column in coordinates {
            let (least, largest) = column.iter().copied().fold(NOTHING, ends);
            if largest == least {
                continue;
            }
            // Twice: what rounding left of a large mean goes, too.
            for _ in 0..2 {
                let mean = sum(column.len(), |j| weights[j] * column[j]);
                column.iter_mut().for_each(|x| *x -= mean);
            }
            let most = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let variance = sum(column.len(), |j| weights[j] * column[j] * column[j]);
            if variance <= LEAST_SHARE * most * most {
                let off = |x: f64| x.abs() > OFF * most;
                inside.iter_mut().zip(&column).for_each(|(inside, x)| *inside &= !off(*x));
            } else {
                column.iter_mut().for_each(|x| *x /= variance.sqrt());
                columns.push(column);
            }
        }
        let k = columns.len();
        let mut correlations = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                let both = sum(weights.len(), |s| weights[s] * columns[i][s] * columns[j][s]);
                (correlations[i * k + j], correlations[j * k + i]) = (both, both);
            }
        }
        let eigen = symmetric(k, correlations);
        let mut white = Vec::new();
        for (v, &value) in eigen.values.iter().enumerate() {
            let along =
                |s: usize| (0..k).map(|i| eigen.vectors[i * k + v] * columns[i][s]).sum::<f64>();
            if value <= LEAST_EIGENVALUE {
                inside
                    .iter_mut()
                    .enumerate()
                    .for_each(|(s, inside)| *inside &= along(s).abs() <= OFF);
            } else {
                let root = value.sqrt();
                white.push((0..space.len()).map(|s| along(s) / root).collect::<Vec<f64>>());
            }
        }
        let points: Vec<u32> = (0..space.len() as u32).filter(|&j| inside[j as usize]).collect();
        let total = sum(points.len(), |s| weights[points[s] as usize]);
        let nominal: Vec<f64> = points.iter().map(|&j| weights[j as usize] / total).collect();
        let (features, n) = (white.len(), points.len());
        let mut columns = vec![1.0; n];
        for column in white {
            columns.extend(points.iter().map(|&j| column[j as usize]));
        }
        let unknowns = 1 + features + features * (features + 1) / 2;
        if n * unknowns > MOST_NUMBERS {
            let what = format!(
                "{n} points of {features} coordinates, {n} × (1 + {features} + {features} × {} / 2) = {} \
                 numbers",
                features + 1,
                n * unknowns
            );
            return Err(smaller(population, too_many(space, &what, SMALLER)));
        }
        let squares = products(&columns[n..], n);
        columns.extend(squares);
        Ok(WhitenedPoints { points, nominal, features, columns })
    }
}

/// Refuses a space that is too large, saying what makes it so.
fn too_many(space: &Space, what: &str, instead: &str) -> Error {
    let mut levels: Vec<(usize, &str)> = (0..)
        .zip(space.names())
        .map(|(k, name)| (space.levels(k).len(), name))
        .filter(|(count, _)| *count > 1)
        .collect();
    levels.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let most: Vec<String> =
        levels.iter().take(3).map(|(count, name)| format!("{name:?} has {count} levels")).collect();
    let told = if most.is_empty() { String::new() } else { format!(" ({})", most.join(", ")) };
    Error::field(
        Field::Set,
        format!(
            "is moments, which is solved for at most {MOST_COORDINATES} coordinates and \
             {MOST_NUMBERS} numbers; here are {what}{told}: {instead}"
        ),
    )
}

/// The ends of no numbers.
const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Ends that take in one more number; a missing one changes nothing.
fn ends((least, most): (f64, f64), x: f64) -> (f64, f64) {
    (least.min(x), most.max(x))
}

/// Every point's coordinates, column by column; see the module for how columns are coded.
fn coordinates(space: &Space, weights: &[f64]) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::new();
    let indicator = |column: &[f64], level: u64| -> Vec<f64> {
        column.iter().map(|x| if bits(*x) == level { 1.0 } else { 0.0 }).collect()
    };
    for k in 0..space.names().len() {
        let column = space.column(k);
        let missing = bits(f64::NAN);
        match space.kind(k) {
            Kind::Numeric | Kind::Ordinal => {
                let known = |j: usize| if column[j].is_nan() { 0.0 } else { weights[j] };
                let mass = sum(column.len(), known);
                let total = sum(column.len(), |j| {
                    if column[j].is_nan() { 0.0 } else { weights[j] * column[j] }
                });
                // Of equal values the mean is theirs: what rounding adds would be a coordinate.
                let (least, most) = column.iter().copied().fold(NOTHING, ends);
                let mean = if mass > 0.0 { (total / mass).max(least).min(most) } else { 0.0 };
                if column.iter().any(|x| x.is_nan()) {
                    all.push(indicator(&column, missing));
                }
                all.push(column.iter().map(|x| if x.is_nan() { mean } else { *x }).collect());
            }
            _ => {
                let mut shares: Vec<(u64, f64)> = Vec::new();
                for (x, p) in column.iter().zip(weights) {
                    match shares.iter_mut().find(|(level, _)| *level == bits(*x)) {
                        Some((_, share)) => *share += p,
                        None => shares.push((bits(*x), *p)),
                    }
                }
                let most = shares.iter().map(|s| s.1).fold(0.0, f64::max);
                let commonest = shares.iter().position(|s| s.1 == most).unwrap_or(0);
                shares.remove(commonest);
                if all.len() + shares.len() > MOST_COORDINATES {
                    let what = format!("more than {MOST_COORDINATES} coordinates");
                    return Err(too_many(space, &what, "merge levels or leave columns out"));
                }
                all.extend(shares.iter().map(|(level, _)| indicator(&column, *level)));
            }
        }
    }
    if all.len() > MOST_COORDINATES {
        let what = format!("{} coordinates", all.len());
        Err(too_many(space, &what, "merge levels or leave columns out"))
    } else {
        Ok(all)
    }
}

//! `Φᵀ diag(d) Φ` of many rows and some columns: what a Newton step over many points costs.
//!
//! Φ is given column by column. The products are taken over tiles of columns and stretches of rows
//! that stay in the cache, in parallel over tiles, always in the same order.

use pulp::Arch;
use rayon::prelude::*;

/// Columns of a tile.
const TILE: usize = 32;
/// Rows of a stretch.
const STRETCH: usize = 256;
/// Rows side by side, which become vector instructions.
const LANES: usize = 4;

/// The whole symmetric matrix, row by row.
pub fn gram(columns: &[f64], rows: usize, weights: &[f64]) -> Vec<f64> {
    let count = columns.len() / rows.max(1);
    let tiles = count.div_ceil(TILE);
    let pairs: Vec<(usize, usize)> =
        (0..tiles).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let found: Vec<Vec<f64>> = pairs
        .par_iter()
        .map(|&(a, b)| {
            let ends = |t: usize| (t * TILE, ((t + 1) * TILE).min(count));
            Arch::new().dispatch(|| tile(columns, rows, weights, ends(a), ends(b)))
        })
        .collect();
    let mut matrix = vec![0.0; count * count];
    for ((a, b), tile) in pairs.into_iter().zip(found) {
        for (i, row) in tile.chunks(TILE).enumerate().take(count - a * TILE) {
            for (j, x) in row.iter().enumerate().take(count - b * TILE) {
                let (i, j) = (a * TILE + i, b * TILE + j);
                matrix[i * count + j] = *x;
                matrix[j * count + i] = *x;
            }
        }
    }
    matrix
}

/// The products of one tile of columns with another.
#[inline(always)]
fn tile(
    columns: &[f64],
    rows: usize,
    weights: &[f64],
    (a0, a1): (usize, usize),
    (b0, b1): (usize, usize),
) -> Vec<f64> {
    let mut total = vec![0.0; TILE * TILE];
    let mut scaled = [0.0; TILE * STRETCH];
    let mut from = 0;
    while from < rows {
        let length = STRETCH.min(rows - from);
        for a in a0..a1 {
            let column = &columns[a * rows + from..][..length];
            let out = &mut scaled[(a - a0) * STRETCH..][..length];
            for ((out, x), d) in out.iter_mut().zip(column).zip(&weights[from..]) {
                *out = x * d;
            }
        }
        let left = |a: usize| &scaled[(a - a0) * STRETCH..][..length];
        let right = |b: usize| &columns[b * rows + from..][..length];
        let mut a = a0;
        while a < a1 {
            let four = [a, (a + 1).min(a1 - 1), (a + 2).min(a1 - 1), (a + 3).min(a1 - 1)];
            let mut b = b0;
            while b < b1 {
                let two = [b, (b + 1).min(b1 - 1)];
                let found = products(four.map(left), two.map(right));
                for i in 0..4.min(a1 - a) {
                    for j in 0..2.min(b1 - b) {
                        total[(a + i - a0) * TILE + b + j - b0] += found[i][j];
                    }
                }
                b += 2;
            }
            a += 4;
        }
        from += length;
    }
    total
}

/// Four columns times two.
#[inline(always)]
fn products(left: [&[f64]; 4], right: [&[f64]; 2]) -> [[f64; 2]; 4] {
    let mut sums = [[[0.0; LANES]; 2]; 4];
    let (l, r) = (left.map(|x| x.as_chunks::<LANES>()), right.map(|x| x.as_chunks::<LANES>()));
    let chunks = l[0].0.len();
    let (l4, r2) = (l.map(|x| &x.0[..chunks]), r.map(|x| &x.0[..chunks]));
    for c in 0..chunks {
        for i in 0..4 {
            for j in 0..2 {
                for lane in 0..LANES {
                    sums[i][j][lane] += l4[i][c][lane] * r2[j][c][lane];
                }
            }
        }
    }
    let mut found = [[0.0; 2]; 4];
    for i in 0..4 {
        for j in 0..2 {
            let rest: f64 = l[i].1.iter().zip(r[j].1).map(|(x, y)| x * y).sum();
            found[i][j] = sums[i][j].iter().sum::<f64>() + rest;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    #[test]
    fn products_are_sums_over_rows() {
        let mut random = Random::new(7, 0);
        for (rows, count) in [(1, 1), (5, 3), (300, 35), (517, 70)] {
            let columns: Vec<f64> = (0..rows * count).map(|_| random.normal()).collect();
            let weights: Vec<f64> = (0..rows).map(|_| random.normal().abs()).collect();
            let found = gram(&columns, rows, &weights);
            for a in 0..count {
                for b in 0..count {
                    let term =
                        |j: usize| weights[j] * columns[a * rows + j] * columns[b * rows + j];
                    let sum: f64 = (0..rows).map(term).sum();
                    assert!((found[a * count + b] - sum).abs() < 1e-9, "{rows} {count}");
                }
            }
        }
    }
}

//! The problem of an interior-point search, as numbers; and slacks and multipliers of its inequalities.
//! What is solved is told in `interior`.

use super::cholesky::dot;
use super::cones::{inner, triangle, unpacked};
use super::eigen::symmetric;
use super::sum::sum;
use rayon::prelude::*;

/// Products of a step in twice the digits at most: some seconds for an answer.
const MOST_PRECISE: usize = 30_000_000;
/// Rows worked on by one thread at a time.
const ROWS: usize = 1024;

/// The problem.
#[derive(Clone, Copy)]
pub struct BallProgram<'a> {
    /// Column by column: ones, the features z, and, where second moments are bounded, their packed
    /// products ([`products`]).
    pub columns: &'a [f64],
    /// How many features there are.
    pub features: usize,
    /// f.
    pub heights: &'a [f64],
    /// The nominal weights, of mean 0 and second moments I.
    pub nominal: &'a [f64],
    /// a, above 0.
    pub mean: f64,
    /// ρ, above 1, if second moments are bounded.
    pub second: Option<f64>,
}

/// Columns of the packed products of features that are given column by column.
pub fn products(features: &[f64], rows: usize) -> Vec<f64> {
    let count = features.len() / rows.max(1);
    let column = |k: usize| &features[k * rows..][..rows];
    let mut out = Vec::with_capacity(triangle(count) * rows);
    for i in 0..count {
        for j in i..count {
            let factor = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
            out.extend(column(i).iter().zip(column(j)).map(|(x, y)| factor * x * y));
        }
    }
    out
}

impl BallProgram<'_> {
    /// Points.
    pub fn rows(&self) -> usize {
        self.heights.len()
    }

    /// Unknowns, without the ball's slack.
    pub fn width(&self) -> usize {
        self.columns.len() / self.rows()
    }

    /// Whether steps in twice the digits may be taken.
    pub fn precise(&self) -> bool {
        self.rows().saturating_mul(self.width() * self.width() / 2) <= MOST_PRECISE
    }

    /// A column of Φ.
    pub fn column(&self, k: usize) -> &[f64] {
        &self.columns[k * self.rows()..][..self.rows()]
    }

    /// `Φ x` at every point.
    pub fn at_points(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        out.par_chunks_mut(ROWS).enumerate().for_each(|(block, out)| {
            for (k, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                let column = &self.column(k)[block * ROWS..][..out.len()];
                out.iter_mut().zip(column).for_each(|(out, phi)| *out += x * phi);
            }
        });
        out
    }

    /// `Φᵀ w`.
    pub fn means(&self, w: &[f64]) -> Vec<f64> {
        (0..self.width()).into_par_iter().map(|k| dot(self.column(k), w)).collect()
    }

    /// The dual's objective: t, then q, then Q; the ball's slack comes last.
    pub fn objective(&self) -> Vec<f64> {
        let mut c = vec![0.0; self.width() + 1];
        c[0] = 1.0;
        if let Some(second) = self.second {
            self.diagonal().for_each(|k| c[k] = second);
        }
        c[self.width()] = self.mean;
        c
    }

    /// Where Q's diagonal is among the unknowns.
    pub fn diagonal(&self) -> impl Iterator<Item = usize> + use<> {
        let d = self.features;
        (0..d).map(move |i| 1 + d + i * d - i * i.saturating_sub(1) / 2)
    }

    /// The value of a dual point, t being what the inequalities need; and t.
    pub fn upper(&self, x: &[f64]) -> (f64, f64) {
        let mut without = x.to_vec();
        without[0] = 0.0;
        let high = self.at_points(&without);
        let most = |m: f64, (f, h): (&f64, &f64)| m.max(f - h);
        let t = self.heights.iter().zip(&high).fold(f64::NEG_INFINITY, most);
        let q = &x[1..=self.features];
        let trace: f64 = self.diagonal().filter(|_| self.second.is_some()).map(|k| x[k]).sum();
        (t + self.mean * inner(q, q).sqrt() + self.second.unwrap_or(0.0) * trace, t)
    }

    /// The part of the way from the nominal population to another that stays inside.
    pub fn share(&self, means: &[f64]) -> f64 {
        let d = self.features;
        let length = inner(&means[1..=d], &means[1..=d]).sqrt();
        let mut share = if length > self.mean { self.mean / length } else { 1.0 };
        if let Some(second) = self.second {
            let most = symmetric(d, unpacked(d, &means[1 + d..])).values;
            let most = most.into_iter().fold(0.0, f64::max);
            if most > second {
                share = share.min((second - 1.0) / (most - 1.0));
            }
        }
        share
    }
}

/// Slacks, or multipliers, of all inequalities: of the points, of the ball, of the matrix.
#[derive(Clone)]
pub struct ConeParts {
    pub points: Vec<f64>,
    pub ball: Vec<f64>,
    pub matrix: Vec<f64>,
}

impl ConeParts {
    pub fn inner(&self, other: &ConeParts) -> f64 {
        let points = sum(self.points.len(), |j| self.points[j] * other.points[j]);
        points + inner(&self.ball, &other.ball) + inner(&self.matrix, &other.matrix)
    }

    pub fn step(&mut self, length: f64, by: &ConeParts) {
        let add = |x: &mut Vec<f64>, d: &[f64]| {
            x.iter_mut().zip(d).for_each(|(x, d)| *x += length * d);
        };
        add(&mut self.points, &by.points);
        add(&mut self.ball, &by.ball);
        add(&mut self.matrix, &by.matrix);
    }
}

//! A Newton step's system, `Φᵀ W⁻² Φ dx = r`, in twice the digits of a double: where the set of
//! populations is thin, a double cannot tell it from a singular one.

use super::cones::{Ball, Definite};
use super::double_double::{DoubleDouble, Factor, inner};
use super::program::{BallProgram, ConeParts};
use rayon::prelude::*;

/// The system, factored, with W⁻² as it was taken.
pub struct Precise<'a> {
    program: BallProgram<'a>,
    ratio: &'a [f64],
    /// W⁻² of the ball and of the packed matrix, row by row.
    ball: Vec<DoubleDouble>,
    block: Vec<DoubleDouble>,
    factor: Factor,
}

impl<'a> Precise<'a> {
    /// None if rounding makes it indefinite even so.
    pub fn new(
        program: BallProgram<'a>,
        ratio: &'a [f64],
        ball: &Ball,
        definite: Option<&Definite>,
    ) -> Option<Self> {
        let (d, width) = (program.features, program.width());
        let size = width + 1;
        let rows: Vec<Vec<DoubleDouble>> = (0..width)
            .into_par_iter()
            .map(|a| {
                let pairs = program.column(a).iter().zip(ratio);
                let one: Vec<DoubleDouble> =
                    pairs.map(|(x, r)| DoubleDouble::product(*x, *r)).collect();
                (0..=a).map(|b| mixed(&one, program.column(b))).collect()
            })
            .collect();
        let mut matrix = vec![DoubleDouble::default(); size * size];
        for (a, row) in rows.iter().enumerate() {
            for (b, x) in row.iter().enumerate() {
                (matrix[a * size + b], matrix[b * size + a]) = (*x, *x);
            }
        }
        let (ball, block) = (ball_square(ball), definite.map_or_else(Vec::new, |m| block(d, m)));
        let place = |k: usize| if k == 0 { width } else { k };
        for (k, x) in ball.iter().enumerate() {
            let at = place(k / (d + 1)) * size + place(k % (d + 1));
            matrix[at] = matrix[at] + *x;
        }
        let side = width - 1 - d;
        for (k, x) in block.iter().enumerate() {
            let at = (1 + d + k / side) * size + 1 + d + k % side;
            matrix[at] = matrix[at] + *x;
        }
        let factor = Factor::new(size, matrix)?;
        Some(Precise { program, ratio, ball, block, factor })
    }

    /// The step of the unknowns, that of the slacks, and `W⁻²` times it.
    pub fn solve(&self, right: &[f64]) -> (Vec<f64>, ConeParts, ConeParts) {
        let (d, width) = (self.program.features, self.program.width());
        let x = self.factor.solve(right);
        let points: Vec<DoubleDouble> = (0..self.program.rows())
            .into_par_iter()
            .map(|j| {
                let each = x[..width].iter().enumerate();
                each.fold(DoubleDouble::default(), |sum, (k, x)| {
                    sum + *x * DoubleDouble::from(self.program.column(k)[j])
                })
            })
            .collect();
        let mut ball = vec![x[width]];
        ball.extend(&x[1..=d]);
        let matrix = &x[1 + d..width];
        let slacks =
            ConeParts { points: single(&points), ball: single(&ball), matrix: single(matrix) };
        let times = |square: &[DoubleDouble], x: &[DoubleDouble]| -> Vec<f64> {
            square.chunks(x.len().max(1)).map(|row| inner(row, x).into()).collect()
        };
        let points = points.iter().zip(self.ratio);
        let scaled = ConeParts {
            points: points.map(|(s, r)| (*s * DoubleDouble::from(*r)).into()).collect(),
            ball: times(&self.ball, &ball),
            matrix: times(&self.block, matrix),
        };
        (single(&x), slacks, scaled)
    }
}

fn single(x: &[DoubleDouble]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// A sum of products with doubles.
fn mixed(a: &[DoubleDouble], b: &[f64]) -> DoubleDouble {
    a.iter().zip(b).fold(DoubleDouble::default(), |sum, (a, b)| sum + *a * DoubleDouble::from(*b))
}

/// `(2 Jw wᵀJ − J)/η²`, the unit point's first entry being what makes it one.
fn ball_square(ball: &Ball) -> Vec<DoubleDouble> {
    let one = DoubleDouble::from(1.0);
    let mut turned: Vec<DoubleDouble> = ball.unit.iter().map(|w| DoubleDouble::from(-w)).collect();
    turned[0] = (one + inner(&turned[1..], &turned[1..])).root();
    let by = one.over(DoubleDouble::product(ball.eta, ball.eta));
    let mut out = Vec::with_capacity(turned.len() * turned.len());
    for (i, x) in turned.iter().enumerate() {
        for (j, y) in turned.iter().enumerate() {
            let own = match i == j {
                true if i == 0 => DoubleDouble::from(-1.0),
                true => one,
                false => DoubleDouble::default(),
            };
            out.push((*x * *y * DoubleDouble::from(2.0) + own) * by);
        }
    }
    out
}

/// `X → P X P` for packed matrices.
fn block(d: usize, definite: &Definite) -> Vec<DoubleDouble> {
    let column = |i: usize| -> Vec<DoubleDouble> {
        (0..d).map(|k| DoubleDouble::from(definite.inverse[k * d + i])).collect()
    };
    let columns: Vec<Vec<DoubleDouble>> = (0..d).map(column).collect();
    let p: Vec<DoubleDouble> =
        (0..d * d).map(|k| inner(&columns[k / d], &columns[k % d])).collect();
    let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).collect();
    let (one, half) = (DoubleDouble::from(1.0), DoubleDouble::from(0.5).root());
    let factor = |i: usize, j: usize| if i == j { half } else { one };
    let mut out = Vec::with_capacity(pairs.len() * pairs.len());
    for &(i, j) in &pairs {
        for &(k, l) in &pairs {
            let both = p[i * d + k] * p[j * d + l] + p[i * d + l] * p[j * d + k];
            out.push(factor(i, j) * factor(k, l) * both);
        }
    }
    out
}

//! The system of an interior-point step, `Φᵀ W⁻² Φ dx = r`, in doubles or in twice their digits.

use super::cholesky::{Cholesky, dot};
use super::cones::{Ball, Definite};
use super::gram::gram;
use super::precise::Precise;
use super::program::{BallProgram, ConeParts};

/// In how many digits a system is taken.
#[derive(Clone, Copy, PartialEq)]
pub enum Digits {
    Single,
    Double,
}

/// A system, factored.
pub enum Newton<'a> {
    Plain(Box<PlainSystem<'a>>),
    Precise(Box<Precise<'a>>),
}

impl<'a> Newton<'a> {
    /// The system of a scaling, `ratio` being that of the points; None where rounding makes it indefinite.
    pub fn new(
        program: BallProgram<'a>,
        ratio: &'a [f64],
        ball: &'a Ball,
        definite: Option<&'a Definite>,
        digits: Digits,
    ) -> Option<Self> {
        match digits {
            Digits::Single => {
                let plain = PlainSystem::new(program, ratio, ball, definite)?;
                Some(Newton::Plain(Box::new(plain)))
            }
            Digits::Double => {
                let precise = Precise::new(program, ratio, ball, definite)?;
                Some(Newton::Precise(Box::new(precise)))
            }
        }
    }

    /// The step of the unknowns, that of the slacks, and `W⁻²` times it.
    pub fn solve(&self, right: Vec<f64>) -> (Vec<f64>, ConeParts, ConeParts) {
        match self {
            Newton::Plain(plain) => plain.solve(right),
            Newton::Precise(precise) => precise.solve(&right),
        }
    }
}

/// `Φᵀ W⁻² Φ` and its factor, every unknown in units in which its own entry is 1.
pub struct PlainSystem<'a> {
    program: BallProgram<'a>,
    ratio: &'a [f64],
    ball: &'a Ball,
    definite: Option<&'a Definite>,
    matrix: Vec<f64>,
    unit: Vec<f64>,
    factor: Cholesky,
}

impl<'a> PlainSystem<'a> {
    fn new(
        program: BallProgram<'a>,
        ratio: &'a [f64],
        ball: &'a Ball,
        definite: Option<&'a Definite>,
    ) -> Option<Self> {
        let (d, width) = (program.features, program.width());
        let size = width + 1;
        let points = gram(program.columns, program.rows(), ratio);
        let mut matrix = vec![0.0; size * size];
        for (to, from) in matrix.chunks_mut(size).zip(points.chunks(width)) {
            to[..width].copy_from_slice(from);
        }
        // The ball's: (2 Jw wᵀJ − J)/η², its first entry last among the unknowns.
        let place = |k: usize| if k == 0 { width } else { k };
        let turned = |k: usize| if k == 0 { ball.unit[0] } else { -ball.unit[k] };
        let eta = ball.eta * ball.eta;
        for i in 0..=d {
            for j in 0..=d {
                let own = if i != j {
                    0.0
                } else if i == 0 {
                    -1.0
                } else {
                    1.0
                };
                matrix[place(i) * size + place(j)] += (2.0 * turned(i) * turned(j) + own) / eta;
            }
        }
        if let Some(definite) = definite {
            let metric = definite.metric();
            let p = |i: usize, j: usize| metric[i * d + j];
            let pairs: Vec<(usize, usize)> =
                (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).collect();
            let factor =
                |(i, j): (usize, usize)| if i == j { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
            for (a, &(i, j)) in pairs.iter().enumerate() {
                for (b, &(k, l)) in pairs.iter().enumerate() {
                    let both = p(i, k) * p(j, l) + p(i, l) * p(j, k);
                    matrix[(1 + d + a) * size + 1 + d + b] +=
                        factor((i, j)) * factor((k, l)) * both;
                }
            }
        }
        let unit: Vec<f64> = (0..size).map(|k| 1.0 / matrix[k * size + k].sqrt()).collect();
        if unit.iter().any(|u| !u.is_finite()) {
            return None;
        }
        for (k, x) in matrix.iter_mut().enumerate() {
            *x *= unit[k / size] * unit[k % size];
        }
        // Where rounding makes it indefinite, a ridge is added that refinement takes off again.
        let factor = [0.0, 1e-15, 1e-13, 1e-11, 1e-9].into_iter().find_map(|ridge| {
            let mut more = matrix.clone();
            (0..size).for_each(|k| more[k * size + k] += ridge);
            Cholesky::new(size, more)
        })?;
        Some(PlainSystem { program, ratio, ball, definite, matrix, unit, factor })
    }

    fn unknowns(&self, mut right: Vec<f64>) -> Vec<f64> {
        let size = self.unit.len();
        right.iter_mut().zip(&self.unit).for_each(|(r, u)| *r *= u);
        let mut x = right.clone();
        self.factor.solve(&mut x);
        for _ in 0..2 {
            let row = |k: usize| &self.matrix[k * size..][..size];
            let mut left: Vec<f64> = (0..size).map(|k| right[k] - dot(row(k), &x)).collect();
            self.factor.solve(&mut left);
            x.iter_mut().zip(&left).for_each(|(x, more)| *x += more);
        }
        x.iter_mut().zip(&self.unit).for_each(|(x, u)| *x *= u);
        x
    }

    fn solve(&self, right: Vec<f64>) -> (Vec<f64>, ConeParts, ConeParts) {
        let (d, width) = (self.program.features, self.program.width());
        let dx = self.unknowns(right);
        let mut ball = vec![dx[width]];
        ball.extend(&dx[1..=d]);
        let points = self.program.at_points(&dx[..width]);
        let slacks = ConeParts { points, ball, matrix: dx[1 + d..width].to_vec() };
        let points = slacks.points.iter().zip(self.ratio);
        let matrix = |definite: &Definite| definite.inverse_square(&slacks.matrix);
        let scaled = ConeParts {
            points: points.map(|(ds, ratio)| ratio * ds).collect(),
            ball: self.ball.inverse_square(&slacks.ball),
            matrix: self.definite.map_or_else(Vec::new, matrix),
        };
        (dx, slacks, scaled)
    }
}

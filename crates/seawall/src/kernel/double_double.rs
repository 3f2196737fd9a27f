//! Numbers of twice as many digits, as sums of two (Dekker 1971), and Cholesky factors of them: for
//! systems that a double cannot tell from singular ones.

use std::ops::{Add, Mul, Sub};

/// `high + low`, low being what rounding took from high.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        DoubleDouble { high, low: 0.0 }
    }
}

impl From<DoubleDouble> for f64 {
    fn from(x: DoubleDouble) -> f64 {
        x.high
    }
}

impl DoubleDouble {
    /// The product of two doubles, all of it.
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        DoubleDouble { high, low: a.mul_add(b, -high) }
    }

    pub fn over(self, b: DoubleDouble) -> Self {
        let first = self.high / b.high;
        let left = self - b * DoubleDouble::from(first);
        quick(first, left.high / b.high)
    }

    pub fn root(self) -> Self {
        let first = self.high.sqrt();
        let left = self - DoubleDouble::product(first, first);
        quick(first, left.high / (2.0 * first))
    }
}

/// A sum whose first part is the larger.
fn quick(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;

    fn add(self, b: DoubleDouble) -> DoubleDouble {
        let high = self.high + b.high;
        let part = high - self.high;
        let low = (self.high - (high - part)) + (b.high - part);
        quick(high, low + self.low + b.low)
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;

    fn sub(self, b: DoubleDouble) -> DoubleDouble {
        self + DoubleDouble { high: -b.high, low: -b.low }
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;

    fn mul(self, b: DoubleDouble) -> DoubleDouble {
        let all = DoubleDouble::product(self.high, b.high);
        quick(all.high, all.low + (self.high * b.low + self.low * b.high))
    }
}

/// Sums of products.
pub fn inner(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
    a.iter().zip(b).fold(DoubleDouble::default(), |sum, (a, b)| sum + *a * *b)
}

/// The lower factor of a symmetric positive definite matrix, row by row.
pub struct Factor {
    size: usize,
    lower: Vec<DoubleDouble>,
}

impl Factor {
    /// None if the matrix is not positive definite.
    pub fn new(size: usize, mut matrix: Vec<DoubleDouble>) -> Option<Self> {
        for j in 0..size {
            let (done, rest) = matrix.split_at_mut(j * size + size);
            let row = &mut done[j * size..];
            let own = row[j] - inner(&row[..j], &row[..j]);
            if own.high.is_nan() || own.high <= 0.0 {
                return None;
            }
            let diagonal = own.root();
            row[j] = diagonal;
            for below in rest.chunks_mut(size) {
                let cross = inner(&below[..j], &row[..j]);
                below[j] = (below[j] - cross).over(diagonal);
            }
        }
        Some(Factor { size, lower: matrix })
    }

    /// The solution of `H x = b`.
    pub fn solve(&self, b: &[f64]) -> Vec<DoubleDouble> {
        let mut x: Vec<DoubleDouble> = b.iter().map(|b| DoubleDouble::from(*b)).collect();
        let row = |k: usize| &self.lower[k * self.size..][..self.size];
        for k in 0..self.size {
            let known = inner(&row(k)[..k], &x[..k]);
            x[k] = (x[k] - known).over(row(k)[k]);
        }
        for k in (0..self.size).rev() {
            let known =
                (k + 1..self.size).fold(DoubleDouble::default(), |sum, i| sum + row(i)[k] * x[i]);
            x[k] = (x[k] - known).over(row(k)[k]);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_matrix_that_doubles_take_for_singular_is_solved() {
        // Hilbert's, of condition 1e19 in 14 rows.
        let size = 14;
        let one = DoubleDouble::from(1.0);
        let entry = |k: usize| one.over(DoubleDouble::from((k / size + k % size + 1) as f64));
        let matrix: Vec<DoubleDouble> = (0..size * size).map(entry).collect();
        let right: Vec<f64> = (0..size).map(|k| f64::from(u8::from(k == 0))).collect();
        let x = Factor::new(size, matrix.clone()).unwrap().solve(&right);
        // The first entry of the inverse is the square of the size.
        assert!((f64::from(x[0]) - 196.0).abs() < 1e-9, "{:?}", x[0]);
        for (row, b) in matrix.chunks(size).zip(&right) {
            assert!((f64::from(inner(row, &x)) - b).abs() < 1e-12);
        }
        assert!(Factor::new(1, vec![DoubleDouble::from(-1.0)]).is_none());
    }
}

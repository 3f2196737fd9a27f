//! Symmetric positive definite systems, `H x = b`, by Cholesky factors: small and dense.

/// The lower factor of a matrix, row by row.
#[derive(Clone, Debug)]
pub struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix given row by row; None if it is not positive definite.
    pub fn new(size: usize, mut matrix: Vec<f64>) -> Option<Self> {
        for j in 0..size {
            let (done, rest) = matrix.split_at_mut(j * size + size);
            let row = &mut done[j * size..];
            let own = row[j] - row[..j].iter().map(|x| x * x).sum::<f64>();
            if own.is_nan() || own <= 0.0 {
                return None;
            }
            let diagonal = own.sqrt();
            row[j] = diagonal;
            for below in rest.chunks_mut(size) {
                let cross = dot(&below[..j], &row[..j]);
                below[j] = (below[j] - cross) / diagonal;
            }
        }
        Some(Cholesky { size, lower: matrix })
    }

    /// The lower factor, row by row, zeros above the diagonal.
    pub fn into_lower(mut self) -> Vec<f64> {
        for k in 0..self.size {
            self.lower[k * self.size + k + 1..(k + 1) * self.size].fill(0.0);
        }
        self.lower
    }

    /// The solution of `H x = b`, in place of `b`.
    pub fn solve(&self, b: &mut [f64]) {
        let row = |k: usize| &self.lower[k * self.size..][..self.size];
        for k in 0..self.size {
            let known: f64 = row(k)[..k].iter().zip(&b[..k]).map(|(l, x)| l * x).sum();
            b[k] = (b[k] - known) / row(k)[k];
        }
        for k in (0..self.size).rev() {
            let known: f64 = (k + 1..self.size).map(|i| row(i)[k] * b[i]).sum();
            b[k] = (b[k] - known) / row(k)[k];
        }
    }
}

/// Products of shorter rows are added one after the other.
const SIDE: usize = 8;

/// `Σ a_k b_k`; of long rows several sums side by side, which become vector instructions.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 8 * SIDE {
        return a.iter().zip(b).map(|(a, b)| a * b).sum();
    }
    let ((some_a, rest_a), (some_b, rest_b)) = (a.as_chunks::<SIDE>(), b.as_chunks::<SIDE>());
    let mut total = [0.0; SIDE];
    for (a, b) in some_a.iter().zip(some_b) {
        for l in 0..SIDE {
            total[l] += a[l] * b[l];
        }
    }
    total.iter().sum::<f64>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::random::Random;

    #[test]
    fn solutions_solve() {
        let mut random = Random::new(3, 0);
        for size in 1..12 {
            let a: Vec<f64> = (0..size * size).map(|_| random.normal()).collect();
            let dot = |i: usize, j: usize| -> f64 {
                (0..size).map(|k| a[i * size + k] * a[j * size + k]).sum()
            };
            let matrix: Vec<f64> = (0..size * size)
                .map(|k| dot(k / size, k % size) + if k / size == k % size { 0.1 } else { 0.0 })
                .collect();
            let b: Vec<f64> = (0..size).map(|_| random.normal()).collect();
            let mut x = b.clone();
            Cholesky::new(size, matrix.clone()).unwrap().solve(&mut x);
            for i in 0..size {
                let found: f64 = (0..size).map(|j| matrix[i * size + j] * x[j]).sum();
                assert!((found - b[i]).abs() < 1e-8, "{size} {i}");
            }
        }
        assert!(Cholesky::new(2, vec![1.0, 2.0, 2.0, 1.0]).is_none());
    }
}

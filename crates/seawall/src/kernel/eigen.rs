//! Eigenvalues of small symmetric matrices and singular values of small square ones, by Jacobi's
//! rotations: a few sweeps, small values to as many digits as large ones.
//!
//! Matrices are row by row. Not for more than a few hundred rows.

/// Sweeps at most; ten are enough for any matrix that has been seen.
const SWEEPS: usize = 60;

/// Eigenvalues, and the eigenvectors as columns.
#[derive(Clone, Debug)]
pub struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// `A = V diag(values) Vᵀ` of a symmetric matrix.
pub fn symmetric(size: usize, mut a: Vec<f64>) -> Eigen {
    let mut vectors = identity(size);
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..size {
            for q in p + 1..size {
                let (app, aqq, apq) = (a[p * size + p], a[q * size + q], a[p * size + q]);
                if apq == 0.0 || apq.abs() <= f64::EPSILON * 0.01 * (app.abs() * aqq.abs()).sqrt() {
                    continue;
                }
                turned = true;
                let (c, s) = rotation((aqq - app) / (2.0 * apq));
                for k in 0..size {
                    let (x, y) = (a[k * size + p], a[k * size + q]);
                    (a[k * size + p], a[k * size + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..size {
                    let (x, y) = (a[p * size + k], a[q * size + k]);
                    (a[p * size + k], a[q * size + k]) = (c * x - s * y, s * x + c * y);
                }
                turn(&mut vectors, size, (p, q), (c, s));
            }
        }
        if !turned {
            break;
        }
    }
    Eigen { values: (0..size).map(|k| a[k * size + k]).collect(), vectors }
}

/// `B = U diag(λ) Vᵀ` of a square matrix: U, λ and V.
pub fn singular(size: usize, mut b: Vec<f64>) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut right = identity(size);
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..size {
            for q in p + 1..size {
                let (mut pp, mut qq, mut pq) = (0.0, 0.0, 0.0);
                for row in b.chunks(size) {
                    pp += row[p] * row[p];
                    qq += row[q] * row[q];
                    pq += row[p] * row[q];
                }
                if pq == 0.0 || pq.abs() <= 4.0 * f64::EPSILON * (pp * qq).sqrt() {
                    continue;
                }
                turned = true;
                let by = rotation((qq - pp) / (2.0 * pq));
                turn(&mut b, size, (p, q), by);
                turn(&mut right, size, (p, q), by);
            }
        }
        if !turned {
            break;
        }
    }
    let length = |k: usize| b.chunks(size).map(|row| row[k] * row[k]).sum::<f64>().sqrt();
    let values: Vec<f64> = (0..size).map(length).collect();
    for row in b.chunks_mut(size) {
        for (x, length) in row.iter_mut().zip(&values).filter(|(_, l)| **l > 0.0) {
            *x /= length;
        }
    }
    (b, values, right)
}

/// The smaller of the two angles that turn an off-diagonal entry into 0, as cosine and sine.
fn rotation(cotangent: f64) -> (f64, f64) {
    let tangent = cotangent.signum() / (cotangent.abs() + cotangent.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, tangent * cosine)
}

/// Turns two columns.
fn turn(matrix: &mut [f64], size: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    for row in matrix.chunks_mut(size) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|k| if k / size == k % size { 1.0 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    #[test]
    fn factors_give_the_matrix_back() {
        let mut random = Random::new(5, 0);
        for size in 1..9 {
            let b: Vec<f64> = (0..size * size).map(|_| random.normal()).collect();
            let (left, values, right) = singular(size, b.clone());
            let a: Vec<f64> =
                (0..size * size).map(|k| b[k] + b[k % size * size + k / size]).collect();
            let own = symmetric(size, a.clone());
            for i in 0..size {
                for j in 0..size {
                    let sum = |of: &dyn Fn(usize) -> f64| (0..size).map(of).sum::<f64>();
                    let back = sum(&|k| left[i * size + k] * values[k] * right[j * size + k]);
                    assert!((back - b[i * size + j]).abs() < 1e-12, "{size}");
                    let v = &own.vectors;
                    let back = sum(&|k| v[i * size + k] * own.values[k] * v[j * size + k]);
                    assert!((back - a[i * size + j]).abs() < 1e-12, "{size}");
                }
            }
        }
    }
}

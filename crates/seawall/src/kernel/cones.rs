//! The two curved cones of an interior-point step, with their scaling: `W z = W⁻¹ s = λ` for a slack s
//! and its multiplier z (Nesterov and Todd), as in Vandenberghe's notes on CVXOPT.

use super::cholesky::Cholesky;
use super::eigen::{singular, symmetric};

/// `Σ a_k b_k`.
pub fn inner(a: &[f64], b: &[f64]) -> f64 {
    super::cholesky::dot(a, b)
}

fn length(x: &[f64]) -> f64 {
    inner(x, x).sqrt()
}

/// The scaling of a pair in the second-order cone, `x₀ ≥ ‖x₁‖`.
pub struct Ball {
    /// The unit point of the scaling.
    pub unit: Vec<f64>,
    /// What multiplies it.
    pub eta: f64,
    lambda: Vec<f64>,
}

impl Ball {
    /// The scaling of a slack and its multiplier, both inside the cone; None if one is not.
    pub fn new(s: &[f64], z: &[f64]) -> Option<Self> {
        let root = |x: &[f64]| {
            let rest = length(&x[1..]);
            let square = (x[0] - rest) * (x[0] + rest);
            (x[0] > 0.0 && square > 0.0).then(|| square.sqrt())
        };
        let (root_s, root_z) = (root(s)?, root(z)?);
        let product = inner(s, z) / (root_s * root_z);
        let gamma = (0.5 * (1.0 + product)).sqrt();
        let turned = |k: usize| if k == 0 { z[0] } else { -z[k] };
        let unit: Vec<f64> =
            (0..s.len()).map(|k| (s[k] / root_s + turned(k) / root_z) / (2.0 * gamma)).collect();
        let mut ball = Ball { unit, eta: (root_s / root_z).sqrt(), lambda: Vec::new() };
        ball.lambda = ball.times(z, 1.0);
        Some(ball)
    }

    /// `W x`, or with −1 `W⁻¹ x`.
    fn times(&self, x: &[f64], sign: f64) -> Vec<f64> {
        let factor = if sign > 0.0 { self.eta } else { 1.0 / self.eta };
        let (first, rest) = (self.unit[0], &self.unit[1..]);
        let along = sign * inner(rest, &x[1..]);
        let more = sign * (x[0] + along / (first + 1.0));
        let mut out = vec![factor * (first * x[0] + along)];
        out.extend(x[1..].iter().zip(rest).map(|(x, w)| factor * (x + more * w)));
        out
    }

    /// `W⁻² x`.
    pub fn inverse_square(&self, x: &[f64]) -> Vec<f64> {
        self.times(&self.times(x, -1.0), -1.0)
    }

    /// `W⁻¹ (λ ⋄ (−λ∘λ − W⁻¹ds ∘ W dz + σμ e))`: where the corrected step leads.
    pub fn corrected(&self, ds: &[f64], dz: &[f64], target: f64) -> Vec<f64> {
        let (s, z, lambda) = (self.times(ds, -1.0), self.times(dz, 1.0), &self.lambda);
        let mut b = vec![target - inner(lambda, lambda) - inner(&s, &z)];
        let cross = |k: usize| 2.0 * lambda[0] * lambda[k] + s[0] * z[k] + z[0] * s[k];
        b.extend((1..lambda.len()).map(|k| -cross(k)));
        let rest = length(&lambda[1..]);
        let square = (lambda[0] - rest) * (lambda[0] + rest);
        let first = (lambda[0] * b[0] - inner(&lambda[1..], &b[1..])) / square;
        let mut g = vec![first];
        g.extend((1..lambda.len()).map(|k| (b[k] - first * lambda[k]) / lambda[0]));
        self.times(&g, -1.0)
    }

    /// How far one may go from x along d.
    pub fn reach(x: &[f64], d: &[f64]) -> f64 {
        // det(x + αd) = a α² + 2 b α + c.
        let det = |x: &[f64], y: &[f64]| x[0] * y[0] - inner(&x[1..], &y[1..]);
        let (a, b, c) = (det(d, d), det(x, d), det(x, x));
        let linear = if d[0] < 0.0 { -x[0] / d[0] } else { f64::INFINITY };
        let discriminant = b * b - a * c;
        if discriminant < 0.0 {
            return linear;
        }
        // The least positive root, without cancellation.
        let root = discriminant.sqrt();
        let t = -(b + b.signum() * root);
        let roots =
            [if a != 0.0 { t / a } else { f64::NAN }, if t != 0.0 { c / t } else { f64::NAN }];
        let least = roots.into_iter().filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min);
        least.min(linear)
    }
}

/// The scaling of a pair of positive definite matrices, packed: the upper triangle row by row, entries
/// off the diagonal times √2.
pub struct Definite {
    size: usize,
    /// `R⁻¹`, row by row: `W⁻² X` is `P X P` of `P = R⁻ᵀ R⁻¹`.
    pub inverse: Vec<f64>,
    r: Vec<f64>,
    lambda: Vec<f64>,
}

impl Definite {
    /// The scaling of a slack and its multiplier; None if one is not positive definite.
    pub fn new(size: usize, s: &[f64], z: &[f64]) -> Option<Self> {
        let first = Cholesky::new(size, unpacked(size, s))?.into_lower();
        let second = Cholesky::new(size, unpacked(size, z))?.into_lower();
        let product = multiply(size, &transposed(size, &second), &first);
        let (left, lambda, right) = singular(size, product);
        if lambda.iter().any(|l| l.is_nan() || *l <= 0.0) {
            return None;
        }
        let mut r = multiply(size, &first, &right);
        let mut inverse = multiply(size, &transposed(size, &left), &transposed(size, &second));
        for i in 0..size {
            for j in 0..size {
                r[i * size + j] /= lambda[j].sqrt();
                inverse[i * size + j] /= lambda[i].sqrt();
            }
        }
        Some(Definite { size, inverse, r, lambda })
    }

    /// `W⁻² x`, that is `P X P`, and P itself.
    pub fn metric(&self) -> Vec<f64> {
        multiply(self.size, &transposed(self.size, &self.inverse), &self.inverse)
    }

    pub fn inverse_square(&self, x: &[f64]) -> Vec<f64> {
        let metric = self.metric();
        let n = self.size;
        packed(n, &multiply(n, &multiply(n, &metric, &unpacked(n, x)), &metric))
    }

    /// `R⁻¹ X R⁻ᵀ`: a slack, scaled.
    fn scaled_slack(&self, x: &[f64]) -> Vec<f64> {
        let n = self.size;
        let half = multiply(n, &self.inverse, &unpacked(n, x));
        multiply(n, &half, &transposed(n, &self.inverse))
    }

    /// `Rᵀ X R`: a multiplier, scaled.
    fn scaled_multiplier(&self, x: &[f64]) -> Vec<f64> {
        let n = self.size;
        multiply(n, &multiply(n, &transposed(n, &self.r), &unpacked(n, x)), &self.r)
    }

    /// See [`Ball::corrected`].
    pub fn corrected(&self, ds: &[f64], dz: &[f64], target: f64) -> Vec<f64> {
        let (n, lambda) = (self.size, &self.lambda);
        let (s, z) = (self.scaled_slack(ds), self.scaled_multiplier(dz));
        let (one, other) = (multiply(n, &s, &z), multiply(n, &z, &s));
        let mut g = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let own = if i == j { target - lambda[i] * lambda[i] } else { 0.0 };
                let b = own - 0.5 * (one[i * n + j] + other[i * n + j]);
                g[i * n + j] = 2.0 * b / (lambda[i] + lambda[j]);
            }
        }
        let half = multiply(n, &transposed(n, &self.inverse), &g);
        packed(n, &multiply(n, &half, &self.inverse))
    }

    /// How far one may go along a step of the slack, and along one of the multiplier.
    pub fn reach(&self, ds: &[f64], dz: &[f64]) -> (f64, f64) {
        let most = |mut matrix: Vec<f64>| {
            for i in 0..self.size {
                for j in 0..self.size {
                    matrix[i * self.size + j] /= (self.lambda[i] * self.lambda[j]).sqrt();
                }
            }
            let least = symmetric(self.size, matrix).values.into_iter().fold(0.0, f64::min);
            if least < 0.0 { -1.0 / least } else { f64::INFINITY }
        };
        (most(self.scaled_slack(ds)), most(self.scaled_multiplier(dz)))
    }
}

/// How many numbers a packed symmetric matrix has.
pub fn triangle(size: usize) -> usize {
    size * (size + 1) / 2
}

/// A symmetric matrix of its packed entries.
pub fn unpacked(size: usize, packed: &[f64]) -> Vec<f64> {
    let mut matrix = vec![0.0; size * size];
    let mut at = 0;
    for i in 0..size {
        for j in i..size {
            let x = if i == j { packed[at] } else { packed[at] * std::f64::consts::FRAC_1_SQRT_2 };
            (matrix[i * size + j], matrix[j * size + i]) = (x, x);
            at += 1;
        }
    }
    matrix
}

/// The packed entries of a matrix that is symmetric but for rounding.
pub fn packed(size: usize, matrix: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(triangle(size));
    for i in 0..size {
        out.push(matrix[i * size + i]);
        for j in i + 1..size {
            let both = matrix[i * size + j] + matrix[j * size + i];
            out.push(both * std::f64::consts::FRAC_1_SQRT_2);
        }
    }
    out
}

fn transposed(size: usize, matrix: &[f64]) -> Vec<f64> {
    (0..size * size).map(|k| matrix[k % size * size + k / size]).collect()
}

fn multiply(size: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    for i in 0..size {
        for k in 0..size {
            let x = a[i * size + k];
            for j in 0..size {
                out[i * size + j] += x * b[k * size + j];
            }
        }
    }
    out
}

//! The function φ of a power divergence `Σ p φ(q/p)`, exact where ratios are near 1 and where the order is
//! near 0 and 1.

use crate::kernel::sum::sum;

/// Terms of the series of φ about 1, and how far it is used.
const TERMS: usize = 12;
const SERIES: f64 = 0.25;

/// A power divergence: `factor · φ_k`, k other than 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phi {
    pub k: f64,
    pub factor: f64,
    /// `φ_k(exp t) = t² Σ_n series[n] tⁿ`.
    series: [f64; TERMS],
}

impl Phi {
    pub fn new(k: f64, factor: f64) -> Self {
        let mut series = [0.0; TERMS];
        // (k^{n−1} − 1)/(k − 1) over n!
        let (mut powers, mut factorial) = (1.0, 2.0);
        for (n, term) in series.iter_mut().enumerate() {
            *term = powers / factorial;
            powers = powers * k + 1.0;
            factorial *= (n + 3) as f64;
        }
        Phi { k, factor, series }
    }

    /// What a unit of mass pays where nobody was seen.
    pub fn slope(&self) -> f64 {
        if self.k < 1.0 { self.factor / (1.0 - self.k) } else { f64::INFINITY }
    }

    /// φ(0).
    pub fn at_zero(&self) -> f64 {
        if self.k > 0.0 { self.factor / self.k } else { f64::INFINITY }
    }

    /// φ of `r = exp t`, with `w = r^(k−1)`: never negative, and exact where t is small.
    #[inline(always)]
    pub fn of(&self, t: f64, r: f64, w: f64) -> f64 {
        let k = self.k;
        if r == 0.0 {
            return self.at_zero();
        }
        let found = if t.abs() * k.abs().max(1.0) < SERIES {
            t * t * self.series.iter().rev().fold(0.0, |total, c| total * t + c)
        } else if (k - 1.0).abs() < 0.1 {
            // The limit k → 1 is r log r − r + 1.
            let grows = if t == 0.0 { 0.0 } else { r * ((k - 1.0) * t).exp_m1() / (k - 1.0) };
            (grows - (r - 1.0)) / k
        } else if k.abs() < 0.1 {
            // The limit k → 0 is −log r + r − 1.
            let falls = if k == 0.0 { t } else { (k * t).exp_m1() / k };
            (falls - (r - 1.0)) / (k - 1.0)
        } else {
            (r * w - k * (r - 1.0) - 1.0) / (k * (k - 1.0))
        };
        self.factor * found
    }

    /// φ of a ratio.
    pub fn of_ratio(&self, r: f64) -> f64 {
        let t = r.ln();
        self.of(t, r, ((self.k - 1.0) * t).exp())
    }

    /// What a unit of the new mass pays, so that all of it together pays what is spent: whoever keeps no
    /// weight cannot pay, so `t − 1`, which is 0 on the whole, takes its part along.
    pub fn paid(&self, r: f64) -> f64 {
        if self.k > 0.0 {
            (self.of_ratio(r) + self.at_zero() * (r - 1.0)) / r
        } else {
            self.of_ratio(r) / r
        }
    }

    /// The same where nobody was seen.
    pub fn paid_unseen(&self) -> f64 {
        self.slope() + if self.k > 0.0 { self.at_zero() } else { 0.0 }
    }

    /// How far another population is, by its weights.
    pub fn between(&self, own: &[f64], other: &[f64]) -> f64 {
        sum(own.len(), |j| match (own[j], other[j]) {
            (0.0, 0.0) => 0.0,
            (0.0, q) => q * self.slope(),
            (p, 0.0) => p * self.at_zero(),
            (p, q) => p * self.of_ratio(q / p),
        })
    }
}

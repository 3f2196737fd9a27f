//! Sums in the log domain, one at a time: what the passes along axes are made of.

use crate::kernel::exp::exp;
use pulp::{Arch, Simd, WithSimd};

/// Terms side by side in a sum.
pub(super) const SIDE: usize = 16;

/// `log Σ_j exp(e_j)`, and the mean and variance of costs under those weights. The exponents are
/// used up.
pub fn log_sum(exponents: &mut [f64], costs: &[f64]) -> (f64, f64, f64) {
    Arch::new().dispatch(LogTotal { exponents, costs, variances: &[] })
}

/// `Σ_j exp(e_j)`.
pub fn exp_sum(exponents: &[f64]) -> f64 {
    Arch::new().dispatch(ExpSum(exponents))
}

/// One sum in the log domain. Each term may be a distribution itself, of this variance.
pub(super) struct LogTotal<'a> {
    pub exponents: &'a mut [f64],
    pub costs: &'a [f64],
    pub variances: &'a [f64],
}

impl WithSimd for LogTotal<'_> {
    type Output = (f64, f64, f64);

    // Plain loops over lanes: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let LogTotal { exponents, costs, variances } = self;
        let mut tops = [f64::NEG_INFINITY; SIDE];
        for some in exponents.chunks(SIDE) {
            for (t, &e) in tops.iter_mut().zip(some) {
                *t = if e > *t { e } else { *t };
            }
        }
        let top = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return (top, 0.0, 0.0);
        }
        exponents.iter_mut().for_each(|e| *e = exp(*e - top));
        let weights = &*exponents;
        let (mut total, mut first) = ([0.0; SIDE], [0.0; SIDE]);
        for (w, c) in weights.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for ((t, f), (&w, &c)) in total.iter_mut().zip(&mut first).zip(w.iter().zip(c)) {
                *t += w;
                // A place out of reach has no weight and an infinite cost.
                *f += if w > 0.0 { w * c } else { 0.0 };
            }
        }
        let (total, first): (f64, f64) = (total.iter().sum(), first.iter().sum());
        let mean = first / total;
        let mut second = [0.0; SIDE];
        for (w, c) in weights.chunks(SIDE).zip(costs.chunks(SIDE)) {
            for (s, (&w, &c)) in second.iter_mut().zip(w.iter().zip(c)) {
                let off = c - mean;
                *s += if w > 0.0 { w * (off * off) } else { 0.0 };
            }
        }
        for (w, v) in weights.chunks(SIDE).zip(variances.chunks(SIDE)) {
            for (s, (&w, &v)) in second.iter_mut().zip(w.iter().zip(v)) {
                *s += w * v;
            }
        }
        (top + total.ln(), mean, second.iter().sum::<f64>() / total)
    }
}

/// A sum of exponentials.
struct ExpSum<'a>(&'a [f64]);

impl WithSimd for ExpSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut total = [0.0; SIDE];
        for some in self.0.chunks(SIDE) {
            for (t, &e) in total.iter_mut().zip(some) {
                *t += exp(e);
            }
        }
        total.iter().sum()
    }
}

/// Weighted mean and variance, updated one term at a time without cancellation.
#[derive(Clone, Copy, Default)]
pub struct RunningMoments {
    /// The weights' sum.
    pub weight: f64,
    /// The weighted mean.
    pub mean: f64,
    spread: f64,
}

impl RunningMoments {
    /// Adds a term of this weight whose own distribution has this mean and variance.
    #[inline(always)]
    pub fn add(&mut self, weight: f64, mean: f64, variance: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let off = mean - self.mean;
            self.mean += off * (weight / self.weight);
            self.spread += weight * (variance + off * (mean - self.mean));
        }
    }

    /// The weighted variance.
    pub fn variance(&self) -> f64 {
        if self.weight > 0.0 { self.spread / self.weight } else { 0.0 }
    }
}

/// The sum of a few terms: logarithm, mean and variance of each and of all.
pub(super) fn total(parts: &[(f64, f64, f64)]) -> (f64, f64, f64) {
    let top = parts.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return (top, 0.0, 0.0);
    }
    let mut moments = RunningMoments::default();
    for &(log, mean, variance) in parts {
        moments.add((log - top).exp(), mean, variance);
    }
    (top + moments.weight.ln(), moments.mean, moments.variance())
}
